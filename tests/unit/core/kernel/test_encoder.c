/*
 * test_encoder.c - attention of all positions to each other and the
 * activations of encoders: against their formulas in double, and the same bits
 * on every instruction set.
 */
#include <math.h>

#include "core/base/alloc.h"
#include "core/kernel/kernel.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"

enum { ACTS = 4001 };

typedef struct trial {
    size_t n_q, n_key, size, stride;
    float *q, *k, *v; /* [.., stride] */
} trial;

static void fill(cf_rand *r, float *x, size_t n, float size)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = cf_rand_float(r) * size;
    }
}

static float *attend(const cf_encoder_kernels *e, const trial *t)
{
    float *out = cf_calloc(t->n_q * t->stride, sizeof *out);
    float *packed = cf_alloc_aligned(64, sizeof(float) * e->packed_floats(t->n_key, t->size));
    float *scratch = cf_alloc_aligned(64, sizeof(float) * e->scratch_floats(t->n_key, t->size));
    e->pack(packed, t->k, t->v, t->stride, t->n_key, t->size);
    const cf_encoder_attn a = {.out = out,
                               .q = t->q,
                               .n_q = t->n_q,
                               .q_stride = t->stride,
                               .out_stride = t->stride,
                               .packed = packed,
                               .n_key = t->n_key,
                               .size = t->size,
                               .scale = 0.3f,
                               .scratch = scratch};
    e->attend(&a);
    cf_free_aligned(packed);
    cf_free_aligned(scratch);
    return out;
}

static void compare(const trial *t, const float *want)
{
    float *first = NULL;
    cf_kernels_entry entry;
    for (size_t i = 0; cf_kernels_list(i, &entry); i++) {
        const cf_kernels *k = cf_kernels_pick(entry.name);
        if (k == NULL || k == cf_kernels_ref()) {
            continue;
        }
        float *have = attend(k->encoder, t);
        for (size_t j = 0; j < t->n_q * t->stride; j++) {
            if (!(fabsf(have[j] - want[j]) < 1e-5f)) {
                fail_msg("%s: %zu queries, %zu keys of %zu: number %zu is %g, "
                         "want %g",
                         k->name, t->n_q, t->n_key, t->size, j, (double)have[j], (double)want[j]);
            }
        }
        if (first == NULL) {
            first = have;
            continue;
        }
        assert_memory_equal(first, have, sizeof *have * t->n_q * t->stride);
        cf_free(have);
    }
    cf_free(first);
}

static void test_encoder__attention(void **state)
{
    (void)state;
    static const size_t shape[][3] = {{1, 1, 4},     {5, 31, 8},    {48, 256, 72}, {47, 257, 64},
                                      {13, 600, 80}, {48, 513, 96}, {7, 300, 12}};
    cf_rand r = {7};
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        trial t = {.n_q = shape[i][0],
                   .n_key = shape[i][1],
                   .size = shape[i][2],
                   .stride = shape[i][2] + 3};
        t.q = cf_calloc(t.n_q * t.stride, sizeof *t.q);
        t.k = cf_calloc(t.n_key * t.stride, sizeof *t.k);
        t.v = cf_calloc(t.n_key * t.stride, sizeof *t.v);
        fill(&r, t.q, t.n_q * t.stride, 3);
        fill(&r, t.k, t.n_key * t.stride, 3);
        fill(&r, t.v, t.n_key * t.stride, 1);
        float *want = attend(&cf_encoder_ref, &t);
        compare(&t, want);
        cf_free(want);
        cf_free(t.q);
        cf_free(t.k);
        cf_free(t.v);
    }
}

/* Each query gets what it gets alone. */
static void test_encoder__alone(void **state)
{
    (void)state;
    cf_rand r = {8};
    const cf_encoder_kernels *e = cf_kernels_pick(NULL)->encoder;
    trial t = {.n_q = 20, .n_key = 300, .size = 40, .stride = 40};
    float q[20 * 40];
    float *k = cf_calloc(300 * 40, sizeof *k);
    fill(&r, q, 20 * 40, 3);
    fill(&r, k, 300 * 40, 3);
    t.q = q;
    t.k = t.v = k;
    float *all = attend(e, &t);
    for (size_t i = 0; i < 20; i++) {
        trial one = t;
        one.n_q = 1;
        one.q = q + i * 40;
        float *alone = attend(e, &one);
        assert_memory_equal(alone, all + i * 40, 40 * sizeof *all);
        cf_free(alone);
    }
    cf_free(all);
    cf_free(k);
}

static void activations(const cf_kernels *k, float erf_out[ACTS], float quick_out[ACTS])
{
    for (size_t i = 0; i < ACTS; i++) {
        erf_out[i] = quick_out[i] = ((float)i - 2000) / 100;
    }
    k->encoder->gelu_erf(erf_out, ACTS);
    k->encoder->gelu_quick(quick_out, ACTS);
}

static void test_encoder__activations(void **state)
{
    (void)state;
    static float first[2][ACTS], have[2][ACTS];
    bool has_first = false;
    cf_kernels_entry entry;
    for (size_t i = 0; cf_kernels_list(i, &entry); i++) {
        const cf_kernels *k = cf_kernels_pick(entry.name);
        if (k == NULL) {
            continue;
        }
        activations(k, have[0], have[1]);
        for (size_t j = 0; j < ACTS; j++) {
            double x = (double)((float)j - 2000) / 100;
            x = (double)(float)x;
            double want[2] = {x / 2 * (1 + erf(x / sqrt(2))), x / (1 + exp(-1.702 * x))};
            for (int a = 0; a < 2; a++) {
                assert_true(fabs((double)have[a][j] - want[a]) < 3e-7 * (1 + fabs(x)) + 1e-6);
            }
        }
        if (k != cf_kernels_ref()) {
            if (has_first) {
                assert_memory_equal(first, have, sizeof have);
            }
            memcpy(first, have, sizeof have);
            has_first = true;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoder__attention),
        cmocka_unit_test(test_encoder__alone),
        cmocka_unit_test(test_encoder__activations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
