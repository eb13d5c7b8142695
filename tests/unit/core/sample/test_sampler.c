/*
 * test_sampler.c - the chain step by step, its trace, its options, its cost.
 */
#include <math.h>

#include "core/api/sampling.h"
#include "core/sample/candidates.h"
#include "core/sample/rng.h"
#include "core/sample/sample_filters.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"

enum { V = 8 };

static const float logits8[V] = {1.0f, 3.0f, 2.0f, 3.0f, -1.0f, 0.5f, 2.5f, 0};

static cf_token draw_one(const cf_sampling *o, const float *logits, size_t n, const cf_token *past,
                         size_t n_past, const uint32_t *allowed, cf_draw *draw)
{
    cf_sampler *s;
    cf_error err;
    T_OK(cf_sampler_new(&s, o, n, &err), err);
    cf_token id = CF_TOKEN_NONE;
    T_OK(cf_sampler_draw(s, logits, past, n_past, allowed, draw != NULL ? 8 : 0, &id, draw, &err),
         err);
    cf_sampler_free(s);
    return id;
}

/* ---- rng ---------------------------------------------------------------- */

/* The answers published with the algorithm's reference implementation. */
static void test_rng__published_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } t[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        uint32_t out[4];
        cf_rng_philox(out, t[i].counter, t[i].key);
        assert_memory_equal(out, t[i].want, sizeof out);
    }
}

static void test_rng__uniform_is_uniform(void **state)
{
    (void)state;
    enum { N = 40000, BINS = 20 };
    size_t bin[BINS] = {0};
    double sum = 0;
    for (uint64_t i = 0; i < N; i++) {
        double r = cf_rng_uniform(3, i);
        assert_true(r >= 0 && r < 1);
        sum += r;
        bin[(size_t)(r * BINS)]++;
    }
    assert_true(fabs(sum / N - 0.5) < 0.01);
    double chi2 = 0;
    for (size_t i = 0; i < BINS; i++) {
        double d = (double)bin[i] - (double)N / BINS;
        chi2 += d * d / ((double)N / BINS);
    }
    assert_true(chi2 < 50); /* 19 degrees of freedom */
    assert_true(cf_rng_uniform(3, 0) != cf_rng_uniform(4, 0));
}

/* ---- candidates --------------------------------------------------------- */

static void test_candidates__ties_and_oddities(void **state)
{
    (void)state;
    const float odd[] = {NAN, -INFINITY, 2, 2, NAN, 1};
    cf_cand top[6];
    assert_int_equal(cf_cand_best(odd, 6), 2);
    assert_int_equal(cf_cand_best(odd, 2), CF_TOKEN_NONE);
    assert_int_equal(cf_cand_best(odd, 0), CF_TOKEN_NONE);
    assert_int_equal(cf_cand_top(top, 6, odd, 6), 3);
    assert_int_equal(top[0].id, 2);
    assert_int_equal(top[1].id, 3);
    assert_int_equal(top[2].id, 5);
    assert_int_equal(cf_cand_top(top, 0, odd, 6), 0);
    const uint32_t allowed[] = {1u << 3 | 1u << 5};
    assert_int_equal(cf_cand_best_masked(odd, 6, allowed), 3);
    const float inf[] = {1, INFINITY, INFINITY};
    assert_int_equal(cf_cand_best(inf, 3), 1);
}

/* ---- greedy ------------------------------------------------------------- */

static void test_greedy__smaller_id_wins(void **state)
{
    (void)state;
    cf_sampling o = {0};
    assert_int_equal(draw_one(&o, logits8, V, NULL, 0, NULL, NULL), 1);
    o.temperature = 5;
    o.top_k = 1;
    assert_int_equal(draw_one(&o, logits8, V, NULL, 0, NULL, NULL), 1);
    const uint32_t allowed = 1u << 4 | 1u << 2;
    assert_int_equal(draw_one(&o, logits8, V, NULL, 0, &allowed, NULL), 2);
}

static void test_greedy__trace(void **state)
{
    (void)state;
    cf_sampling o = {0};
    cf_draw d;
    draw_one(&o, logits8, V, NULL, 0, NULL, &d);
    assert_int_equal(d.id, 1);
    assert_int_equal(d.chosen.rank, 1);
    assert_int_equal(d.chosen.removed_by, CF_KEPT);
    assert_true(d.chosen.p_post == 1);
    assert_int_equal(d.n_top, 8);
    assert_int_equal(d.top[1].id, 3);
    assert_int_equal(d.top[1].removed_by, CF_REMOVED_TEMPERATURE);
    assert_true(d.top[1].p_post == 0);
    assert_true(d.top[1].p_raw == d.top[0].p_raw);
    assert_int_equal(d.n_step, 2);
    assert_string_equal(d.step[0].name, "vocabulary");
    assert_int_equal(d.step[0].n_left, V);
    assert_string_equal(d.step[1].name, "temperature");
    assert_true(d.r == 0);
    assert_true(d.allowed_mass == 1);
}

static void test_greedy__nothing_left(void **state)
{
    (void)state;
    const uint32_t none = 0;
    const cf_token all[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const cf_sampling o[] = {{0}, {.temperature = 1}, {.suppress = all, .n_suppress = 8}};
    for (size_t i = 0; i < 3; i++) {
        cf_sampler *s;
        cf_error err;
        T_OK(cf_sampler_new(&s, &o[i], V, &err), err);
        cf_token id = 77;
        T_FAILS(cf_sampler_draw(s, logits8, NULL, 0, i < 2 ? &none : NULL, 0, &id, NULL, &err),
                CF_ELIMIT);
        assert_int_equal(id, 77);
        cf_sampler_free(s);
    }
}

/* ---- edits -------------------------------------------------------------- */

static void test_edit__suppress_and_bias(void **state)
{
    (void)state;
    const cf_token suppress[] = {1, 99, -4};
    const cf_logit_bias bias[] = {{3, -INFINITY}, {0, 0.25f}, {6, -1}};
    cf_sampling o = {.suppress = suppress, .n_suppress = 3, .bias = bias, .n_bias = 3};
    cf_draw d;
    assert_int_equal(draw_one(&o, logits8, V, NULL, 0, NULL, &d), 2);
    assert_int_equal(d.chosen.rank, 4);
    assert_int_equal(d.top[0].removed_by, CF_REMOVED_SUPPRESS);
    assert_int_equal(d.top[1].removed_by, CF_REMOVED_SUPPRESS);
    assert_true(d.top[2].logit_post == 1.5f); /* id 6 */
    assert_string_equal(d.step[1].name, "suppress");
    assert_int_equal(d.step[1].n_left, 6);
}

/* The lists are the sampler's own. */
static void test_edit__lists_are_copied(void **state)
{
    (void)state;
    cf_sampler *s;
    cf_error err;
    cf_token id, suppress[] = {1};
    cf_logit_bias bias[] = {{3, -9}};
    cf_sampling o = {.suppress = suppress, .n_suppress = 1, .bias = bias, .n_bias = 1};
    T_OK(cf_sampler_new(&s, &o, V, &err), err);
    suppress[0] = 6;
    bias[0] = (cf_logit_bias){6, -9};
    T_OK(cf_sampler_draw(s, logits8, NULL, 0, NULL, 0, &id, NULL, &err), err);
    assert_int_equal(id, 6);
    cf_sampler_free(s);
}

/* Multiplicative first: 3 -> 3/2 - 0.5 - 2*0.25; -1 -> -1*2 - 0.5 - 0.25. */
static void test_edit__penalties_in_order(void **state)
{
    (void)state;
    const cf_token past[] = {1, 7, 1, 4, 1000, -1};
    cf_sampling o = {.repetition_penalty = 2, .presence_penalty = 0.5f, .frequency_penalty = 0.25f};
    cf_draw d;
    assert_int_equal(draw_one(&o, logits8, V, past, 6, NULL, &d), 3);
    assert_int_equal(d.top[0].id, 1);
    assert_true(d.top[0].logit_post == 0.5f);
    assert_int_equal(d.top[7].id, 4);
    assert_true(d.top[7].logit_post == -2.75f);
    assert_int_equal(d.top[6].id, 7);
    assert_true(d.top[6].logit_post == -0.75f); /* zero is not positive */

    o.penalty_window = 3; /* 4, 1000, -1 */
    draw_one(&o, logits8, V, past, 6, NULL, &d);
    assert_int_equal(d.id, 1);
    assert_true(d.top[7].logit_post == -2.75f);

    /* A penalty below 1 would reward; it counts as none. */
    o = (cf_sampling){.repetition_penalty = 0.5f};
    draw_one(&o, logits8, V, past, 6, NULL, &d);
    assert_true(d.top[0].logit_post == 3);
}

static void test_edit__no_repeat_ngram(void **state)
{
    (void)state;
    const cf_token past[] = {5, 1, 3, 6, 5};
    cf_sampling o = {.no_repeat_ngram = 2};
    cf_draw d;
    /* "5 1" was seen, so 1 may not follow 5 again. */
    assert_int_equal(draw_one(&o, logits8, V, past, 5, NULL, &d), 3);
    assert_int_equal(d.top[0].removed_by, CF_REMOVED_NGRAM);
    assert_string_equal(d.step[1].name, "no-repeat");
    assert_int_equal(d.step[1].n_left, V - 1);
    /* A window of 4 starts after the first 5. */
    o.no_repeat_window = 4;
    assert_int_equal(draw_one(&o, logits8, V, past, 5, NULL, NULL), 1);
    /* One-grams: nothing seen may come again. */
    o = (cf_sampling){.no_repeat_ngram = 1};
    assert_int_equal(draw_one(&o, logits8, V, past, 5, NULL, NULL), 2);
    /* A window smaller than the n-gram is raised to it. */
    const cf_token same[] = {1, 1, 1};
    o = (cf_sampling){.no_repeat_ngram = 2, .no_repeat_window = 1};
    assert_int_equal(draw_one(&o, logits8, V, same, 3, NULL, NULL), 3);
    /* Too little past for one n-gram. */
    o = (cf_sampling){.no_repeat_ngram = 4};
    assert_int_equal(draw_one(&o, logits8, V, past, 2, NULL, NULL), 1);
}

/* The trace of one draw must not leak into the next. */
static void test_edit__bans_are_forgotten(void **state)
{
    (void)state;
    cf_sampling o = {.no_repeat_ngram = 1};
    cf_sampler *s;
    cf_error err;
    T_OK(cf_sampler_new(&s, &o, V, &err), err);
    cf_draw d;
    cf_token id;
    const cf_token one = 1, two = 2;
    T_OK(cf_sampler_draw(s, logits8, &one, 1, NULL, 8, &id, &d, &err), err);
    assert_int_equal(d.top[0].removed_by, CF_REMOVED_NGRAM);
    T_OK(cf_sampler_draw(s, logits8, &two, 1, NULL, 8, &id, &d, &err), err);
    assert_int_equal(d.top[0].removed_by, CF_KEPT);
    assert_int_equal(d.n_draw, 1);
    cf_sampler_free(s);
}

/* ---- filters ------------------------------------------------------------ */

static void test_filter__who_removed_whom(void **state)
{
    (void)state;
    /* p: 0.4 0.3 0.15 0.1 0.05 in shuffled places */
    const float l[] = {logf(0.1f), logf(0.4f), logf(0.05f), logf(0.3f), logf(0.15f)};
    cf_sampling o = {.temperature = 1, .top_k = 4, .top_p = 0.8f};
    cf_draw d;
    draw_one(&o, l, 5, NULL, 0, NULL, &d);
    /* top-k leaves 0.4 0.3 0.15 0.1 of 0.95; 0.8 of it is 0.76: three. */
    assert_int_equal(d.n_step, 3);
    assert_int_equal(d.step[1].n_left, 4);
    assert_int_equal(d.step[2].n_left, 3);
    assert_int_equal(d.top[2].removed_by, CF_KEPT);
    assert_int_equal(d.top[3].removed_by, CF_REMOVED_TOP_P);
    assert_int_equal(d.top[4].removed_by, CF_REMOVED_TOP_K);
    assert_true(fabsf(d.top[0].p_post - 0.4f / 0.85f) < 1e-5f);
    assert_true(fabsf(d.top[0].p_raw - 0.4f) < 1e-5f);

    o = (cf_sampling){.temperature = 0.5f, .min_p = 0.3f};
    draw_one(&o, l, 5, NULL, 0, NULL, &d);
    assert_int_equal(d.top[2].removed_by, CF_KEPT); /* 0.15 >= 0.12 */
    assert_int_equal(d.top[3].removed_by, CF_REMOVED_MIN_P);
    /* tempered after the filter: squares of 0.4, 0.3, 0.15 */
    assert_true(fabsf(d.top[0].p_post - 0.16f / (0.16f + 0.09f + 0.0225f)) < 1e-5f);
    assert_string_equal(d.step[1].name, "min-p");
    assert_string_equal(d.step[2].name, "temperature");
}

/* min-p after top-k, on both sides of its limit: p is 0.4 0.3 0.15 0.1 0.05. */
static void test_filter__min_p_after_top_k(void **state)
{
    (void)state;
    static const struct {
        float min_p;
        uint32_t n_left;
    } v[] = {{0.2f, 4}, {0.3f, 3}, {0.5f, 2}, {0.74f, 2}, {0.76f, 1}, {1, 1}};
    const float l[] = {logf(0.1f), logf(0.4f), logf(0.05f), logf(0.3f), logf(0.15f)};
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        cf_draw d;
        const cf_sampling o = {.temperature = 1, .top_k = 4, .min_p = v[i].min_p};
        draw_one(&o, l, 5, NULL, 0, NULL, &d);
        assert_string_equal(d.step[2].name, "min-p");
        assert_int_equal(d.step[2].n_left, v[i].n_left);
        for (uint32_t k = 0; k < d.n_top; k++) {
            assert_int_equal(d.top[k].rank, k + 1);
        }
    }
}

/* No sum takes what lies after the candidates. */
static void test_filter__sums_end_in_time(void **state)
{
    (void)state;
    const float l[] = {1, 1, 50};
    const cf_cand c[] = {{1, 0}, {1, 1}, {50, 2}};
    float weight[3] = {0, 0, 7};
    bool is_enough;
    assert_true(cf_filter_sum_all(l, 2, 1) == 2);
    assert_true(cf_filter_sum(c, 2, 1) == 2);
    assert_int_equal(cf_filter_top_p(c, 2, 1, 4, &is_enough), 2);
    assert_false(is_enough);
    assert_int_equal(cf_filter_top_p(c, 2, 0.5f, 2, &is_enough), 1);
    assert_true(is_enough);
    assert_true(cf_filter_temper(weight, c, 2, 1, 1) == 2);
    assert_true(weight[2] == 7);
    assert_int_equal(cf_filter_pick(weight, 2, 2, 0), 0);
    assert_int_equal(cf_filter_pick(weight, 2, 2, 0.499), 0);
    assert_int_equal(cf_filter_pick(weight, 2, 2, 0.501), 1);
    assert_int_equal(cf_filter_pick(weight, 2, 2, 0.9999999), 1);
}

static void test_filter__tiny_p_keeps_the_best(void **state)
{
    (void)state;
    cf_sampling o = {.temperature = 1, .top_p = 1e-9f};
    for (o.seed = 0; o.seed < 20; o.seed++) {
        assert_int_equal(draw_one(&o, logits8, V, NULL, 0, NULL, NULL), 1);
    }
}

static void test_trace__entropy_and_mass(void **state)
{
    (void)state;
    const float flat[] = {2, 2, 2, 2};
    const uint32_t allowed = 1u << 1 | 1u << 2 | 1u << 3;
    cf_sampling o = {.temperature = 1};
    cf_draw d;
    cf_token id = draw_one(&o, flat, 4, NULL, 0, &allowed, &d);
    assert_true(id != 0);
    assert_true(fabsf(d.entropy_bits - 2) < 1e-6f);
    assert_true(fabsf(d.log_z - (2 + logf(4))) < 1e-5f);
    assert_true(fabsf(d.allowed_mass - 0.75f) < 1e-6f);
    assert_int_equal(d.top[0].removed_by, CF_REMOVED_CONSTRAINT);
    assert_true(d.top[0].logit_post == -INFINITY);
    assert_string_equal(d.step[1].name, "constraint");
    assert_int_equal(d.step[1].n_left, 3);
    o.temperature = 0;
    id = draw_one(&o, flat, 4, NULL, 0, &allowed, &d);
    assert_int_equal(id, 1);
    assert_true(fabsf(d.allowed_mass - 0.75f) < 1e-6f);
    assert_int_equal(d.top[0].removed_by, CF_REMOVED_CONSTRAINT);
}

/* ---- options ------------------------------------------------------------ */

static void test_options__refused(void **state)
{
    (void)state;
    const cf_logit_bias outside = {8, 1}, nan_bias = {0, NAN}, inf_bias = {0, INFINITY};
    const struct {
        cf_sampling o;
        const char *names;
    } t[] = {
        {{.temperature = -1}, "temperature"},
        {{.temperature = NAN}, "temperature"},
        {{.temperature = INFINITY}, "temperature"},
        {{.top_p = -0.1f}, "top_p"},
        {{.min_p = 1.5f}, "min_p"},
        {{.repetition_penalty = NAN}, "repetition_penalty"},
        {{.presence_penalty = NAN}, "presence_penalty"},
        {{.frequency_penalty = INFINITY}, "frequency_penalty"},
        {{.bias = &outside, .n_bias = 1}, "bias"},
        {{.bias = &nan_bias, .n_bias = 1}, "bias"},
        {{.bias = &inf_bias, .n_bias = 1}, "bias"},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        cf_sampler *s = NULL;
        cf_error err = {0};
        T_FAILS(cf_sampler_new(&s, &t[i].o, V, &err), CF_EINVAL);
        assert_null(s);
        assert_non_null(strstr(err.text, t[i].names));
    }
    cf_sampler *s;
    T_FAILS(cf_sampler_new(&s, &t[0].o, 0, NULL), CF_EINVAL);
}

static void test_options__described(void **state)
{
    (void)state;
    const cf_token x = 1;
    const struct {
        cf_sampling o;
        const char *want;
    } t[] = {
        {{0}, "greedy because temperature=0"},
        {{.temperature = 1, .top_k = 1, .top_p = 0.95f},
         "greedy because top_k=1 (no effect: temperature 1, top_p 0.95)"},
        {{.top_k = 40}, "greedy because temperature=0 (no effect: top_k 40)"},
        {{.temperature = 0.8f, .top_k = 40, .top_p = 1, .min_p = 0.05f},
         "temperature 0.8, top_k 40, min_p 0.05, seed 0"},
        {{.repetition_penalty = 1.1f,
          .penalty_window = 64,
          .no_repeat_ngram = 3,
          .no_repeat_window = 2,
          .suppress = &x,
          .n_suppress = 1},
         "greedy because temperature=0, repetition penalty 1.1 over the last "
         "64 tokens, no repeated 3-gram of the last 3 tokens, 1 token "
         "suppressed"},
    };
    cf_buf b = CF_BUF_INIT;
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        cf_sampler *s;
        cf_error err;
        T_OK(cf_sampler_new(&s, &t[i].o, V, &err), err);
        cf_buf_reset(&b);
        cf_sampler_describe(s, &b);
        assert_string_equal(cf_buf_cstr(&b), t[i].want);
        cf_sampler_free(s);
    }
    cf_buf_deinit(&b);
    for (int i = CF_KEPT; i <= CF_REMOVED_TEMPERATURE; i++) {
        assert_true(cf_removed_by_name((cf_removed_by)i)[0] != '\0');
    }
}

/* ---- cost --------------------------------------------------------------- */

static const cf_sampling everything = {.temperature = 0.9f,
                                       .top_p = 0.9f,
                                       .min_p = 0.01f,
                                       .repetition_penalty = 1.2f,
                                       .no_repeat_ngram = 3,
                                       .seed = 5};

static void test_cost__draws_allocate_nothing(void **state)
{
    (void)state;
    float big[1000];
    cf_rand r = {1};
    for (size_t i = 0; i < 1000; i++) {
        big[i] = 3 * cf_rand_float(&r);
    }
    cf_sampler *s;
    cf_error err;
    T_OK(cf_sampler_new(&s, &everything, 1000, &err), err);
    cf_token past[50];
    cf_draw d;
    size_t before = cf_fault_total();
    for (size_t i = 0; i < 50; i++) {
        T_OK(cf_sampler_draw(s, big, past, i, NULL, 16, &past[i], i % 2 == 0 ? &d : NULL, &err),
             err);
    }
    assert_int_equal(cf_fault_total(), before);
    cf_sampler_free(s);
}

static cf_status make_one(void *ud)
{
    (void)ud;
    cf_sampler *s = NULL;
    cf_status st = cf_sampler_new(&s, &everything, 100, NULL);
    cf_sampler_free(s);
    return st;
}

static void test_cost__out_of_memory(void **state)
{
    (void)state;
    cf_fault_every_alloc(make_one, NULL, false);
    cf_fault_every_alloc(make_one, NULL, true);
    cf_sampler_free(NULL);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rng__published_answers),
        cmocka_unit_test(test_rng__uniform_is_uniform),
        cmocka_unit_test(test_candidates__ties_and_oddities),
        cmocka_unit_test(test_greedy__smaller_id_wins),
        cmocka_unit_test(test_greedy__trace),
        cmocka_unit_test(test_greedy__nothing_left),
        cmocka_unit_test(test_edit__suppress_and_bias),
        cmocka_unit_test(test_edit__lists_are_copied),
        cmocka_unit_test(test_filter__min_p_after_top_k),
        cmocka_unit_test(test_filter__sums_end_in_time),
        cmocka_unit_test(test_edit__penalties_in_order),
        cmocka_unit_test(test_edit__no_repeat_ngram),
        cmocka_unit_test(test_edit__bans_are_forgotten),
        cmocka_unit_test(test_filter__who_removed_whom),
        cmocka_unit_test(test_filter__tiny_p_keeps_the_best),
        cmocka_unit_test(test_trace__entropy_and_mass),
        cmocka_unit_test(test_options__refused),
        cmocka_unit_test(test_options__described),
        cmocka_unit_test(test_cost__draws_allocate_nothing),
        cmocka_unit_test(test_cost__out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
