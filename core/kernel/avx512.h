/*
 * avx512.h - what the AVX-512 files share.  Private to core/kernel.
 *
 * Three classes of prepared activations, one row each:
 *   0 floats   float x[n_col], zero up to a multiple of 16
 *   1 blocks   int8 q[n_col], float d[n_col / 32], int32 s[n_col / 32]
 *   2 supers   int8 q[n_col], float d[n_col / 256], int16 s16[n_col / 16],
 *              int16 s32[n_col / 32]
 * where x = d * q and s is the sum of the q of its 16 or 32 columns.  Each
 * part starts at a multiple of 64 bytes.
 *
 * The order of a sum, which decode and prefill both keep, so that they agree
 * bit for bit:  every output starts at 0 and takes its blocks from left to
 * right,
 *   class 0   y = fma(w, x, y)                             a column at a time
 *   class 1   y = fma(dw * dx, (float)i, y), then y = fma(m, dx * s, y)
 *             where the type has minima
 *   class 2   y = fma(dw * dx, (float)i, y), then y = fma(-dmin * dx,
 *             (float)j, y) where the type has minima
 * with i and j exact integer sums, for which order does not matter.
 */
#ifndef CF_CORE_KERNEL_AVX512_H
#define CF_CORE_KERNEL_AVX512_H

#include <stdalign.h>
#include <string.h>

#include "core/kernel/kernel.h"

enum { CLASS_FLOAT = 0, CLASS_BLOCK = 1, CLASS_SUPER = 2 };

static inline size_t cf_up64(size_t n)
{
    return (n + 63) / 64 * 64;
}

/* Offsets in a prepared row. */
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

unsigned cf_avx512__class(cf_dtype type);
size_t cf_avx512__prepared_bytes(cf_dtype type, size_t n_col);
void cf_avx512__prepare(void *restrict out, cf_dtype type,
                        const float *restrict x, size_t n_x, size_t n_col);
size_t cf_avx512__scratch_bytes(cf_dtype type, size_t n_col);
void cf_avx512__matmul(float *y, size_t y_stride, const cf_mat *w,
                       const void *xp, size_t n_x, size_t row0, size_t row1,
                       void *scratch);

/* The same for a quantised type and few rows of x: the file is read once and
 * each row of x costs as much again, so that up to CF_AVX512_FEW of them are
 * cheaper than unpacking. */
enum { CF_AVX512_FEW = 3 };
void cf_avx512__matvec(float *y, size_t y_stride, const cf_mat *w,
                       const void *xp, size_t n_x, size_t row0, size_t row1);

#endif
