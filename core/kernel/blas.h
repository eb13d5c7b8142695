/*
 * blas.h - OpenBLAS, where it is installed and knows the processor.
 *
 * Dense float products of an encoder have fixed shapes and no neighbours that
 * were computed before, so the library's own order of sums does no harm there:
 * on one machine the bits are always the same.  It is loaded when an encoder
 * is opened, not linked: loading it starts threads, and nothing else needs it.
 * Each thread of a pool calls it for tiles of its own, so it is set to one.
 *
 * It serves where its kernel for this processor uses instructions as wide as
 * those of confab's set (docs/notes/0011 has the figures).
 */
#ifndef CF_CORE_KERNEL_BLAS_H
#define CF_CORE_KERNEL_BLAS_H

#include "core/kernel/kernel.h"

enum { CF_BLAS_TEXT = 128 };

typedef struct cf_blas {
    void *library; /* NULL: confab's kernels serve */
    /* cblas_sgemm, row by row: y[m, n] = x[m, k] times the transpose of
     * w[n, k]; strides in floats. */
    void (*sgemm)(int order, int trans_x, int trans_w, int m, int n, int k, float alpha,
                  const float *x, int x_stride, const float *w, int w_stride, float beta, float *y,
                  int y_stride);
    char name[CF_BLAS_TEXT]; /* "OpenBLAS 0.3.21, SkylakeX" */
    char why[CF_BLAS_TEXT];  /* why it does not serve, "" where it does */
} cf_blas;

/* Loads it for use beside the set `kernels`; it does not serve beside the
 * reference set.  `always`: also with a kernel for older processors. */
void cf_blas_open(cf_blas *out, const cf_kernels *kernels, bool always);
void cf_blas_close(cf_blas *b);

static inline bool cf_blas_serves(const cf_blas *b)
{
    return b->library != NULL;
}

/* y[m, n] with y_stride, x[m, k], w[n, k]. */
void cf_blas_product(const cf_blas *b, float *y, size_t y_stride, const float *x, const float *w,
                     size_t m, size_t n, size_t k);

#endif
