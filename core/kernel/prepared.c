/*
 * prepared.c - picks the form of prepared activations for a weight type.
 */
#include "core/kernel/prepared.h"

unsigned cf_prepared_class(cf_dtype type)
{
    switch ((unsigned)type) {
    case CF_Q8_0:
    case CF_Q4_0:
    case CF_Q4_1:
    case CF_Q5_0:
    case CF_Q5_1:
    case CF_Q2_K:
    case CF_Q3_K:
    case CF_Q4_K:
    case CF_Q5_K:
    case CF_Q6_K:
    case CF_IQ4_NL:
    case CF_IQ4_XS:
        return CLASS_CODES;
    default:
        return CLASS_FLOAT;
    }
}

size_t cf_prepared_bytes(cf_dtype type, size_t n_col)
{
    if (cf_prepared_class(type) == CLASS_FLOAT) {
        return cf_up64(n_col * sizeof(float));
    }
    return cf_xp_bytes(n_col, 2);
}
