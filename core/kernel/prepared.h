/*
 * prepared.h - activations as the fast kernel sets want them, and the order
 * of every sum.
 *
 * Activations that meet quantised weights become integers with a scale a block
 * of 32:  x = d * t,  t = round(x / d),  d = largest / top.  There are two
 * arithmetics, which differ in `top` alone: 32512 for 16 bits, the default,
 * and 127 for 8 bits.  Eight bits, the usual choice of other engines, cost half
 * the multiplications and make up nearly the whole error of a pass; sixteen put
 * it a hundred times lower.
 *
 * Three classes; one row each:
 *   floats   float x[n_col], zero up to a multiple of 16
 *   codes    t[n_col], float d[n_col / 32], int32 s[n_col / 16]
 *   bytes    the same with t as bytes: of 8 bits only
 * t of class codes is either int16, or two planes of signed bytes with
 * t = 256 hi + lo, for machines that multiply bytes.  With 8 bits a set has
 * class bytes for the weight types that it multiplies by bytes, and class codes
 * for the rest.  s is the sum of the t of 16 columns.  Each part starts at a
 * multiple of 64 bytes, zero to its end.
 *
 * The order of sums is the same in every set, for any number of lanes, rows
 * and threads, so that all of them give the same bits in either arithmetic:
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

enum { CLASS_FLOAT = 0, CLASS_CODES = 1, CLASS_BYTES = 2 };

static inline size_t cf_up64(size_t n)
{
    return (n + 63) / 64 * 64;
}

/* Offsets of the parts of a row whose t take t_bytes each, and its size. */
static inline size_t cf_xp_lo(size_t n_col)
{
    return cf_up64(n_col);
}
static inline size_t cf_xp_d(size_t n_col, size_t t_bytes)
{
    return t_bytes * cf_up64(n_col);
}
static inline size_t cf_xp_s(size_t n_col, size_t t_bytes)
{
    return cf_xp_d(n_col, t_bytes) + cf_up64(n_col / 32 * sizeof(float));
}
static inline size_t cf_xp_bytes(size_t n_col, size_t t_bytes)
{
    return cf_xp_s(n_col, t_bytes) + cf_up64(n_col / 16 * sizeof(int32_t));
}

/* The largest t of 16 bits is 127 * 256, so that hi stays within a byte after
 * lo's sign was carried into it. */
#define CF_T_MAX_16 32512.0f
#define CF_T_MAX_8  127.0f

/* 1 / d, or 0 for a block so small that this would overflow: its t are 0. */
static inline float cf_inverse_step(float largest, float top)
{
    return largest > 1e-33f ? top / largest : 0.0f;
}

/* The functions of the same name in cf_kernels, for activations of 16 bits.
 * Types whose codes the sets do not know are recoded first (recode.h). */
unsigned cf_prepared_class(cf_dtype type);
size_t cf_prepared_bytes(cf_dtype type, size_t n_col);

#endif
