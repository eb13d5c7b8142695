/*
 * prepared.h - how the fast kernel sets lay out prepared activations.
 *
 * Activations that meet quantised weights become 16-bit integers with a scale
 * a block:  x = d * t,  t = round(x / d),  d = largest / 32512.  Eight bits,
 * the usual choice, cost half the multiplications and make up nearly the
 * whole error of a pass; sixteen put it a hundred times lower.
 *
 * Three classes, by the block of the weights they meet; one row each:
 *   0 floats   float x[n_col], zero up to a multiple of 16
 *   1 blocks   t[n_col], float d[n_col / 32], int32 s[n_col / 32]
 *   2 supers   t[n_col], float d[n_col / 256], then sums of t
 * t is either int16, or two planes of signed bytes with t = 256 hi + lo, for
 * machines that multiply bytes.  s is the sum of the t of a block; the sums
 * of class 2 are
 *   int16:   int32 s[n_col / 16]
 *   planes:  int16 s16[2][n_col / 16], s32[2][n_col / 32], of hi, then of lo,
 *            of 16 and of 32 columns
 * Each part starts at a multiple of 64 bytes, zero to its end.
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
static inline size_t cf_xp_lo(size_t n_col)
{
    return cf_up64(n_col);
}
static inline size_t cf_xp_d(size_t n_col)
{
    return 2 * cf_up64(n_col);
}
static inline size_t cf_xp_s(size_t n_col, size_t n_block)
{
    return cf_xp_d(n_col) + cf_up64(n_col / n_block * sizeof(float));
}
/* Sums of part 0 (hi) or 1 (lo). */
static inline size_t cf_xp_s16(size_t n_col, size_t part)
{
    return cf_xp_s(n_col, 256) + part * cf_up64(n_col / 16 * sizeof(int16_t));
}
static inline size_t cf_xp_s32(size_t n_col, size_t part)
{
    return cf_xp_s16(n_col, 2) + part * cf_up64(n_col / 32 * sizeof(int16_t));
}

/* The largest t: 127 * 256, so that hi stays within a byte after lo's sign
 * was carried into it. */
#define CF_T_MAX 32512.0f

/* 1 / d, or 0 for a block so small that this would overflow: its t are 0. */
static inline float cf_inverse_step(float largest)
{
    return largest > 1e-33f ? CF_T_MAX / largest : 0.0f;
}

/* The functions of the same name in cf_kernels. */
unsigned cf_prepared_class(cf_dtype type);
size_t cf_prepared_bytes(cf_dtype type, size_t n_col);

#endif
