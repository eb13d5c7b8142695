/*
 * prepared.h - how the fast kernel sets lay out prepared activations.
 *
 * Three classes, by the block of the weights they meet; one row each:
 *   0 floats   float x[n_col], zero up to a multiple of 16
 *   1 blocks   int8 q[n_col], float d[n_col / 32], int32 s[n_col / 32]
 *   2 supers   int8 q[n_col], float d[n_col / 256], int16 s16[n_col / 16],
 *              int16 s32[n_col / 32]
 * where x = d * q, d = largest / 127, and s is the sum of the q of its 16 or
 * 32 columns.  Each part starts at a multiple of 64 bytes, zero to its end.
 *
 * Private to core/kernel.
 */
#ifndef CF_CORE_KERNEL_PREPARED_H
#define CF_CORE_KERNEL_PREPARED_H

#include "core/kernel/dtype.h"

enum { CLASS_FLOAT = 0, CLASS_BLOCK = 1, CLASS_SUPER = 2 };

static inline size_t cf_up64(size_t n)
{
    return (n + 63) / 64 * 64;
}

/* Offsets of the parts of a row. */
static inline size_t cf_xp_d(size_t n_col)
{
    return cf_up64(n_col);
}
static inline size_t cf_xp_s(size_t n_col, size_t n_block)
{
    return cf_xp_d(n_col) + cf_up64(n_col / n_block * sizeof(float));
}
static inline size_t cf_xp_s32(size_t n_col)
{
    return cf_xp_s(n_col, 256) + cf_up64(n_col / 16 * sizeof(int16_t));
}

/* 1 / d, or 0 for a block so small that this would overflow: its q are 0. */
static inline float cf_inverse_step(float largest)
{
    return largest > 1e-35f ? 127.0f / largest : 0.0f;
}

/* The functions of the same name in cf_kernels. */
unsigned cf_prepared_class(cf_dtype type);
size_t cf_prepared_bytes(cf_dtype type, size_t n_col);

#endif
