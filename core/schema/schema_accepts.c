/*
 * schema_accepts.c - whether a value satisfies a schema, by the same reading
 * of it that constraints are made from.
 */
#include "core/schema/schema.h"

cf_verdict cf_schema_accepts(const json_t *root, const json_t *schema,
                             const json_t *v)
{
    cf_gbuild b;
    cf_schema s;
    cf_verdict verdict = CF_VERDICT_UNKNOWN;
    cf_gbuild_init(&b, NULL);
    cf_schema_init(&s, &b, root, NULL);
    s.is_tool = true;
    uint32_t whole = cf_schema_root(&s, root, "parameters");
    if (cf_schema_ok(&s)) {
        uint32_t part = cf_schema__child(&s, whole, schema, "value");
        cf_conj c = cf_conj_one(&s, part, false);
        bool yes = cf_conj__accepts(&s, c, v);
        const cf_dnf *d = cf_conj_expand(&s, c);
        bool is_narrowed = false;
        for (size_t i = 0; i < d->n; i++) {
            is_narrowed = is_narrowed || d->v[i]->is_narrowed;
        }
        if (cf_schema_ok(&s)) {
            verdict = yes           ? CF_VERDICT_YES
                      : is_narrowed ? CF_VERDICT_UNKNOWN
                                    : CF_VERDICT_NO;
        }
    }
    cf_schema_deinit(&s);
    cf_gbuild_deinit(&b);
    return verdict;
}
