/*
 * prepared.c - picks the form of prepared activations for a weight type.
 */
#include "core/kernel/prepared.h"

unsigned cf_prepared_class(cf_dtype type)
{
    return cf_dtype_get(type).n_block == 1 ? CLASS_FLOAT : CLASS_CODES;
}

size_t cf_prepared_bytes(cf_dtype type, size_t n_col)
{
    if (cf_prepared_class(type) == CLASS_FLOAT) {
        return cf_up64(n_col * sizeof(float));
    }
    return cf_xp_bytes(n_col, 2);
}
