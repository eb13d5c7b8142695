/*
 * test_vision.c - a projector file made here: what is refused, and that rows
 * depend neither on the number of threads nor on what came before.
 */
#include "core/base/alloc.h"
#include "core/media/vision.h"
#include "core/media/vision_parts.h"
#include "tests/support/t.h"
#include "tests/support/tiny_vision.h"

enum { N_OUT = 8, N_TENSOR = CF_TINY_VISION_TENSORS };

static cf_status load(const cf_tiny_buf *b, cf_mmproj *m, cf_vision *v, void **copy, cf_error *err)
{
    *copy = cf_alloc_aligned(64, b->n + 64);
    memcpy(*copy, b->p, b->n);
    CF_TRY(cf_mmproj_open_memory(m, *copy, b->n, err));
    cf_status st = cf_vision_init(v, m, err);
    if (st != CF_OK) {
        cf_mmproj_close(m);
    }
    return st;
}

static void expect_refused(const cf_tiny_buf *b, cf_status status)
{
    cf_mmproj m;
    cf_vision v;
    cf_error err;
    void *copy;
    T_FAILS(load(b, &m, &v, &copy, &err), status);
    assert_true(err.text[0] != '\0');
    cf_free_aligned(copy);
}

static void test_vision__refused(void **state)
{
    (void)state;
    for (size_t skip = 0; skip < N_TENSOR; skip++) {
        cf_tiny_buf b = cf_tiny_vision("gemma3", skip, 2, N_OUT);
        if (strstr(cf_tiny_vision_tensor(skip), ".bias") == NULL) {
            expect_refused(&b, CF_EFORMAT);
        }
        cf_tiny_free(b.p);
    }
    cf_tiny_buf odd = cf_tiny_vision("gemma3", N_TENSOR, 3, N_OUT);
    expect_refused(&odd, CF_EFORMAT);
    cf_tiny_free(odd.p);
    cf_tiny_buf unknown = cf_tiny_vision("nobody", N_TENSOR, 2, N_OUT);
    expect_refused(&unknown, CF_EUNSUPPORTED);
    cf_tiny_free(unknown.p);
}

static void encode(const cf_vision *v, unsigned n_thread, float *rows)
{
    cf_error err;
    cf_pixels p;
    cf_vision_blocks blocks = {.v = NULL};
    cf_dense d = {.k = cf_kernels_pick(NULL), .stop = NULL};
    T_OK(cf_pixels_init(&p, 31, 11, &err), err);
    for (uint32_t i = 0; i < 31 * 11 * 3; i++) {
        p.rgb[i] = (unsigned char)(i * 7);
    }
    T_OK(cf_pool_new(&d.pool, n_thread, &err), err);
    T_OK(cf_vision_cut(v, &p, &blocks, &err), err);
    assert_int_equal(blocks.n, 1);
    assert_int_equal(blocks.v[0].cols * blocks.v[0].rows, 4);
    T_OK(cf_vision_encode(v, &d, rows, &blocks.v[0], &err), err);
    cf_vision_blocks_deinit(&blocks);
    cf_pixels_deinit(&p);
    cf_pool_free(d.pool);
}

static void test_vision__same_rows(void **state)
{
    (void)state;
    cf_tiny_buf b = cf_tiny_vision("gemma3", N_TENSOR, 2, N_OUT);
    cf_mmproj m;
    cf_vision v;
    cf_error err;
    void *copy;
    T_OK(load(&b, &m, &v, &copy, &err), err);
    float one[4 * N_OUT], again[4 * N_OUT];
    encode(&v, 1, one);
    for (unsigned n = 1; n <= 3; n++) {
        encode(&v, n, again);
        assert_memory_equal(one, again, sizeof one);
    }
    cf_mmproj_close(&m);
    cf_free_aligned(copy);
    cf_tiny_free(b.p);
}

/* Changes every number of the range, and none after it. */
static void test_vision__add_scaled(void **state)
{
    (void)state;
    static const float p[4] = {1, -2, 4, 8};
    for (size_t n = 0; n <= 4; n++) {
        float x[5] = {16, 16, 16, 16, 16};
        cf_vision__add_scaled(x, p, n, 0.5);
        for (size_t c = 0; c < 5; c++) {
            assert_true(x[c] == (c < n ? 16 + p[c] / 2 : 16));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vision__refused),
        cmocka_unit_test(test_vision__add_scaled),
        cmocka_unit_test(test_vision__same_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
