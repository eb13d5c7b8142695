/*
 * prepared.c - which prepared activations a weight type meets.
 */
#include "core/kernel/prepared.h"

unsigned cf_prepared_class(cf_dtype type)
{
    switch (cf_dtype_get(type).n_block) {
    case 32: /* MXFP4 is unpacked to floats */
        return type == CF_MXFP4 ? CLASS_FLOAT : CLASS_BLOCK;
    case 256:
        return CLASS_SUPER;
    default: /* 1, and 64 and 128: also unpacked to floats */
        return CLASS_FLOAT;
    }
}

size_t cf_prepared_bytes(cf_dtype type, size_t n_col)
{
    switch (cf_prepared_class(type)) {
    case CLASS_FLOAT:
        return cf_up64(n_col * sizeof(float));
    case CLASS_BLOCK:
        return cf_xp_s(n_col, 32) + cf_up64(n_col / 32 * sizeof(int32_t));
    default:
        return cf_xp_s32(n_col, 2);
    }
}
