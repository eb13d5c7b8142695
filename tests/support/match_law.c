/*
 * match_law.c - a text counts as a step a byte.
 */
#include "tests/support/match_law.h"

#include "core/constrain/position.h"

void cf_match_law(const cf_grammar *g, const char *p, size_t n, const cf_law_band *band)
{
    cf_constraint *c = NULL;
    cf_error err;
    size_t taken;
    uint32_t set[8];
    cf_law law = cf_law_begin();
    if (cf_constraint_new(&c, g, NULL, &err) != CF_OK) {
        return;
    }
    if (cf_constraint_bytes(c, p, n, &taken, &err) == CF_OK) {
        cf_constraint_next_bytes(c, set);
    }
    cf_law_check(&law, band, n + c->m.work);
    cf_constraint_free(c);
}
