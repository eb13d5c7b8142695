/*
 * prepared.h - activations as the fast kernel sets want them, and the order
 * of every sum.
 *
 * Activations that meet quantised weights become 16-bit integers with a scale
 * a block of 32:  x = d * t,  t = round(x / d),  d = largest / 32512.  Eight
 * bits, the usual choice, cost half the multiplications and make up nearly
 * the whole error of a pass; sixteen put it a hundred times lower.
 *
 * Two classes; one row each:
 *   floats   float x[n_col], zero up to a multiple of 16
 *   codes    t[n_col], float d[n_col / 32], int32 s[n_col / 16]
 * t is either int16, or two planes of signed bytes with t = 256 hi + lo, for
 * machines that multiply bytes.  s is the sum of the t of 16 columns.  Each
 * part starts at a multiple of 64 bytes, zero to its end.
 *
 * The order of sums is the same in every set, for any number of lanes, rows
 * and threads, so that all of them give the same bits:
 *   matrices   An output starts at 0 and takes its columns from left to right,
 *              each step rounded once:
 *                floats   y = w * x + y                     a column at a time
 *                codes    y = (dw * dx) * i + y, then, where the type has
 *                         minima, y = m * (dx * s) + y      16 or 32 columns,
 *                         the columns that share a scale of weights, at a time
 *              with i = sum of (code - bias) * t, exact in 32 bits; it becomes
 *              a float to the nearest.
 *   norms      32 running sums: element i goes to sum i % 32; then sum i and
 *              sum i + 16 are added, then i + 8, + 4, + 2, + 1.
 *   attention  Scores over the dimensions and values over the positions, from
 *              the first to the last, each step rounded once.  Exponentials in
 *              16 running sums: position p goes to sum p % 16; then as above.
 *              Exponents are relative to the largest score of the positions so
 *              far, taken by chunks of 512 (0..511, 512..1023, ..): where a
 *              chunk has a larger one, the running sums and the sums over the
 *              values are first multiplied by exp(old - new).
 *
 * Private to core/kernel.
 */
#ifndef CF_CORE_KERNEL_PREPARED_H
#define CF_CORE_KERNEL_PREPARED_H

#include "core/kernel/dtype.h"

enum { CLASS_FLOAT = 0, CLASS_CODES = 1 };

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
static inline size_t cf_xp_s(size_t n_col)
{
    return cf_xp_d(n_col) + cf_up64(n_col / 32 * sizeof(float));
}

/* The largest t: 127 * 256, so that hi stays within a byte after lo's sign
 * was carried into it. */
#define CF_T_MAX 32512.0f

/* 1 / d, or 0 for a block so small that this would overflow: its t are 0. */
static inline float cf_inverse_step(float largest)
{
    return largest > 1e-33f ? CF_T_MAX / largest : 0.0f;
}

/* The functions of the same name in cf_kernels.  Types whose codes the sets
 * do not know are dequantised, and meet floats. */
unsigned cf_prepared_class(cf_dtype type);
size_t cf_prepared_bytes(cf_dtype type, size_t n_col);

#endif
