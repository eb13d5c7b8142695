/*
 * test_load_as.c - weights quantised while they are loaded.
 */
#include "tests/support/t.h"

#include <math.h>

#include "core/api/engine.h"
#include "core/api/session.h"
#include "core/kernel/quantise.h"
#include "tests/support/rand.h"
#include "tests/support/tiny_gguf.h"

enum { VOCAB = 320, N = 4096 };

/* Each weight is at most half a step of its block away. */
static void test_quantise__within_half_a_step(void **state)
{
    static float x[N], y[N];
    static unsigned char q[N * 2];
    static const struct {
        cf_dtype type;
        float steps;
    } types[] = {{CF_Q8_0, 127}, {CF_Q4_0, 8}};
    cf_rand r = {.s = 3};
    (void)state;
    for (size_t i = 0; i < N; i++) {
        x[i] = i < 32 ? 0 : cf_rand_float(&r);
    }
    for (size_t k = 0; k < 2; k++) {
        assert_true(cf_quantise_can(types[k].type));
        cf_quantise(types[k].type, q, x, N);
        cf_dtype_to_f32(types[k].type, y, q, N);
        for (size_t i = 0; i < N; i++) {
            float most = 0;
            for (size_t b = i / 32 * 32; b < i / 32 * 32 + 32; b++) {
                most = fmaxf(most, fabsf(x[b]));
            }
            /* Q4_0's far side ends one step early. */
            float step = most / types[k].steps * (k == 0 ? 0.6f : 1.05f);
            assert_true(fabsf(x[i] - y[i]) <= step);
        }
    }
    assert_false(cf_quantise_can(CF_Q4_K));
}

static void compute(const cf_tiny_options *o, const char *as, float *out, cf_engine_info *info)
{
    size_t n;
    void *bytes = cf_tiny_gguf(o, &n);
    cf_error err = {0};
    cf_engine *e = NULL;
    cf_session *s = NULL;
    const cf_token ids[] = {5, 80, 140, 33, 9, 201};
    T_OK(cf_engine_open_memory(&e, bytes, n, &(cf_engine_options){.load_as = as}, &err), err);
    T_OK(cf_session_new(&s, e, NULL, &err), err);
    T_OK(cf_session_sync(s, ids, 6, NULL, NULL, &err), err);
    memcpy(out, cf_session_logits(s), VOCAB * sizeof *out);
    *info = cf_engine_get_info(e);
    assert_true(as == NULL || strcmp(info->file_type, as[1] == '8' ? "Q8_0" : "Q4_0") == 0);
    cf_session_free(s);
    cf_engine_close(e);
    cf_tiny_free(bytes);
}

static void test_load_as__close_and_small(void **state)
{
    (void)state;
    static float want[VOCAB], got[VOCAB];
    cf_engine_info plain, small;
    for (size_t i = 0; cf_tiny_archs[i] != NULL; i++) {
        cf_tiny_options o = {.arch = cf_tiny_archs[i], .seed = 4};
        double far = 0, size = 0;
        compute(&o, NULL, want, &plain);
        compute(&o, "q8_0", got, &small);
        assert_true(small.weight_bytes < plain.weight_bytes / 2);
        for (size_t k = 0; k < VOCAB; k++) {
            far += pow((double)want[k] - (double)got[k], 2);
            size += pow((double)want[k], 2);
        }
        /* Another expert may be chosen. */
        if (small.n_expert == 0 && far > 0.02 * size) {
            fail_msg("%s: %g of %g", o.arch, far, size);
        }
    }
    compute(&(cf_tiny_options){.seed = 4}, "q4_0", got, &small);
}

static void test_load_as__unknown_type(void **state)
{
    (void)state;
    size_t n;
    void *bytes = cf_tiny_gguf(&(cf_tiny_options){.seed = 1}, &n);
    cf_error err = {0};
    cf_engine *e = NULL;
    assert_int_equal(
        cf_engine_open_memory(&e, bytes, n, &(cf_engine_options){.load_as = "q9"}, &err),
        CF_EINVAL);
    assert_non_null(strstr(err.text, "q9"));
    cf_tiny_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantise__within_half_a_step),
        cmocka_unit_test(test_load_as__close_and_small),
        cmocka_unit_test(test_load_as__unknown_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
