/*
 * rules_version.c - I009: what the catalogue knows of this very text.
 */
#include "templates/lint/lint_impl.h"

cf_status cf_lint__superseded(cf_linter *l, cf_error *err)
{
    const cf_known_template *t = l->report->known;
    const cf_known_template *newer = t != NULL ? cf_template_newer(t) : NULL;
    if (newer == NULL || t->fault[0] == '\0') {
        return CF_OK;
    }
    return cf_lint__add(l, NULL, SIZE_MAX, err,
                        "this is %s of %s, which %s; there is one of %s (%s)", t->name, t->date,
                        t->fault, newer->date, newer->source);
}
