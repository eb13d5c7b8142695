/*
 * test_dense.c - products of encoders: OpenBLAS gives what confab's kernels
 * give, the same bits with any number of threads, and says why it does not
 * serve.
 */
#include <math.h>

#include "core/base/alloc.h"
#include "core/media/dense.h"
#include "tests/support/t.h"

enum { N = 300, ROWS = 530, COLS = 96 };

static void fill(float *v, size_t n, uint32_t x)
{
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525U + 1013904223U;
        v[i] = (float)(x >> 8) / (1 << 24) - 0.5f;
    }
}

static float *product(const cf_blas *blas, cf_dtype type, unsigned n_thread)
{
    cf_error err;
    cf_dense d = {.k = cf_kernels_pick(NULL), .blas = blas};
    float *x = cf_calloc(N * COLS, sizeof *x);
    float *w = cf_alloc_aligned(64, sizeof *w * ROWS * COLS);
    float *bias = cf_calloc(ROWS, sizeof *bias);
    float *y = cf_calloc(N * ROWS, sizeof *y);
    fill(x, N * COLS, 1);
    fill(w, ROWS * COLS, 2);
    fill(bias, ROWS, 3);
    if (type == CF_F16) {
        d.k->f32_to_f16((uint16_t *)(void *)w, w, ROWS * COLS);
    }
    cf_linear l = {.w = {.p = w,
                         .type = type,
                         .n_row = ROWS,
                         .n_col = COLS,
                         .row_bytes = cf_dtype_row_bytes(type, COLS)},
                   .bias = bias,
                   .is_clamped = true,
                   .in_min = -0.4f,
                   .in_max = 0.4f,
                   .out_min = -2,
                   .out_max = 2};
    T_OK(cf_pool_new(&d.pool, n_thread, &err), err);
    T_OK(cf_dense_linear(&d, y, x, N, &l, &err), err);
    cf_pool_free(d.pool);
    cf_free(x);
    cf_free_aligned(w);
    cf_free(bias);
    return y;
}

static void test_dense__blas(void **state)
{
    (void)state;
    cf_blas blas;
    cf_blas_open(&blas, cf_kernels_pick(NULL), true);
    if (!cf_blas_serves(&blas)) {
        printf("%s\n", blas.why);
        T_SKIP("OpenBLAS cannot be loaded");
    }
    const cf_dtype types[] = {CF_F32, CF_F16};
    for (size_t i = 0; i < 2; i++) {
        float *ours = product(NULL, types[i], 1);
        float *one = product(&blas, types[i], 1);
        float *three = product(&blas, types[i], 3);
        assert_memory_equal(one, three, sizeof *one * N * ROWS);
        for (size_t k = 0; k < N * ROWS; k++) {
            assert_true(fabsf(ours[k] - one[k]) < 1e-4f);
        }
        cf_free(ours);
        cf_free(one);
        cf_free(three);
    }
    cf_blas_close(&blas);
}

static void test_dense__why(void **state)
{
    (void)state;
    cf_blas blas;
    cf_blas_open(&blas, cf_kernels_ref(), true);
    assert_false(cf_blas_serves(&blas));
    assert_string_equal(blas.why, "reference arithmetic is chosen");
    cf_blas_open(&blas, cf_kernels_pick(NULL), false);
    assert_true(cf_blas_serves(&blas) == (blas.why[0] == '\0'));
    cf_blas_close(&blas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense__blas),
        cmocka_unit_test(test_dense__why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
