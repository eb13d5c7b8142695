/*
 * gemm.h - matrix products for gradients.c
 *
 * Where the processor multiplies float16 (AVX512-FP16), large products run in
 * it: factors are rounded to float16, 64 products at a time are summed in it,
 * and these sums in float32. That is twice as fast as float32 and as exact as
 * mixed-precision training needs. Elsewhere, and for small products, BLAS.
 */
#ifndef GEMM_H
#define GEMM_H

/* c [m, n] = beta c + A B, beta 0 or 1, with A(i, p) = a[i * a_row + p * a_col]
 * and B(p, j) = b[p * b_row + j * b_col]; of each pair of strides one is 1.
 * Rows of c are ldc apart. One thread. */
void gemm(int m, int n, int k, const float *a, int a_row, int a_col, const float *b, int b_row,
          int b_col, float beta, float *c, int ldc);

#endif
