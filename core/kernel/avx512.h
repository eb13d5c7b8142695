/*
 * avx512.h - what the AVX-512 files share.  Private to core/kernel.
 *
 * The order of a sum, which decode and prefill both keep, so that they agree
 * bit for bit:  every output starts at 0 and takes its blocks from left to
 * right,
 *   class 0   y = fma(w, x, y)                             a column at a time
 *   class 1   y = fma(dw * dx, (float)i, y), then y = fma(m, dx * s, y)
 *             where the type has minima
 *   class 2   y = fma(dw * 256 dx, (float)i, y), then y = fma(-dmin * 256 dx,
 *             (float)j, y) where the type has minima, with the high bytes of
 *             x; then both again with dx and the low bytes
 * with i and j exact integer sums, for which order does not matter.
 */
#ifndef CF_CORE_KERNEL_AVX512_H
#define CF_CORE_KERNEL_AVX512_H

#include "core/kernel/kernel.h"
#include "core/kernel/prepared.h"

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
