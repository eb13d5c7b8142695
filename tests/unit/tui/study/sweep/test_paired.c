/*
 * test_paired.c - published answers of the tests and intervals, and the level
 * of the intervals in simulated sweeps without a difference.
 */
#include "tests/support/t.h"

#include <math.h>

#include "core/sample/rng.h"
#include "tui/study/sweep/paired.h"

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-6;
}

/* n differences with a deviation of 1 and this t after the correction, which
 * takes the smallest of them, over n, off the mean. */
static cf_paired with_t(double t, size_t n)
{
    double v[300];
    double step = sqrt((double)(n - 1) / (double)n);
    double mean = (t / sqrt((double)n) + step / (double)n) / (1 + 1 / (double)n);
    assert_true(n % 2 == 0 && n <= 300);
    for (size_t i = 0; i < n; i++) {
        v[i] = mean + (i % 2 == 0 ? step : -step);
    }
    return cf_paired_find(v, n);
}

/* The exact probabilities of coins. */
static void test_sign_test__exact(void **state)
{
    (void)state;
    assert_true(is_near(cf_paired_sign_test(0, 0), 1));
    assert_true(is_near(cf_paired_sign_test(0, 1), 1));
    assert_true(is_near(cf_paired_sign_test(0, 4), 0.125));
    assert_true(is_near(cf_paired_sign_test(6, 0), 0.03125));
    assert_true(is_near(cf_paired_sign_test(2, 7), 0.1796875));
    assert_true(is_near(cf_paired_sign_test(4, 4), 1));
    assert_true(cf_paired_sign_test(0, 100000) < 1e-300);
}

/* Probabilities of Student's t, by its integral, for both parities. */
static void test_students_t__published(void **state)
{
    (void)state;
    assert_true(is_near(with_t(2.5, 10).p, 0.033861828));
    assert_true(is_near(with_t(2.2, 50).p, 0.032552959));
    assert_true(is_near(with_t(4.5, 300).p, 0.000009742857));
    cf_paired v = with_t(2.2621571628540993, 10); /* the quantile for 9 degrees */
    assert_true(is_near(v.p, 0.05));
    assert_true(v.has_interval && is_near(v.low, 0));
    assert_true(is_near(v.high, 2 * v.mean));
}

static void test_find__few_prompts_have_no_interval(void **state)
{
    (void)state;
    double v[40] = {0};
    for (size_t i = 0; i < 9; i++) {
        v[i] = -1;
    }
    cf_paired found = cf_paired_find(v, 40);
    assert_false(found.has_interval);
    assert_int_equal(found.worse, 9);
    assert_int_equal(found.same, 31);
    assert_true(is_near(found.p, 0.00390625));
    v[39] = 0.5;
    assert_true(cf_paired_find(v, 40).has_interval);
    found = cf_paired_find(v, 0);
    assert_true(found.p == 1 && !found.has_interval);
    assert_int_equal(cf_paired_needed(&found, 0.05), 0);
}

/* Twelve prompts that differ alike still have an interval with a width, and the
 * sign test's probability. */
static void test_find__no_spread(void **state)
{
    (void)state;
    double v[12];
    for (size_t i = 0; i < 12; i++) {
        v[i] = -1;
    }
    cf_paired found = cf_paired_find(v, 12);
    assert_true(found.has_interval && is_near(found.low, -1));
    assert_true(is_near(found.high, -1 + 2 * 0.2646484)); /* 1 - 0.025^(1/12) */
    assert_true(is_near(found.p, 2.0 / 4096));
}

static void test_holm(void **state)
{
    (void)state;
    const double p[] = {0.01, 0.04, 0.03, 0.005};
    const double even[] = {0.02, 0.02, 0.02};
    assert_true(cf_paired_is_clear(0.005, p, 4));
    assert_true(cf_paired_is_clear(0.01, p, 4));
    assert_false(cf_paired_is_clear(0.03, p, 4)); /* 0.03 > 0.05 / 2 */
    assert_false(cf_paired_is_clear(0.04, p, 4)); /* a smaller one has stopped it */
    assert_false(cf_paired_is_clear(0.02, even, 3));
    assert_true(cf_paired_is_clear(0.02, even, 1));
}

static void test_wilson__published(void **state)
{
    (void)state;
    double low, high;
    cf_paired_wilson(11, 20, &low, &high);
    assert_true(fabs(low - 0.34208) < 1e-5 && fabs(high - 0.74180) < 1e-5);
    cf_paired_wilson(0, 5, &low, &high);
    assert_true(low == 0 && fabs(high - 0.43448) < 1e-5);
    cf_paired_wilson(5, 5, &low, &high);
    assert_true(fabs(low - 0.56552) < 1e-5 && high == 1);
}

/* As many prompts as it says, each like those seen, are clear. */
static void test_needed__is_enough(void **state)
{
    (void)state;
    double v[2000];
    static const double seen[] = {1, 1, 0, 0, -1, 0, 1, 0};
    cf_paired found = cf_paired_find(seen, 8);
    size_t n = cf_paired_needed(&found, 0.05);
    assert_true(n > 8 && n < 200);
    for (size_t i = 0; i < n; i++) {
        v[i] = seen[i % 8];
    }
    assert_true(cf_paired_find(v, n).p < 0.05);
    static const double three[] = {-1, -1, -1};
    found = cf_paired_find(three, 3);
    assert_int_equal(cf_paired_needed(&found, 0.05), 6);
}

/* ---- simulation --------------------------------------------------------- */

enum { TABLES = 4000 };

typedef struct stream {
    uint64_t seed, n;
} stream;

static double next(stream *s)
{
    return cf_rng_uniform(s->seed, s->n++);
}

/* The mean difference of one prompt over its seeds, where both sides pass
 * equally often; a server that ignores the seed gives `is_copied` cells. */
static double simulate_prompt(stream *rng, size_t n_seed, bool is_copied)
{
    double hardness = next(rng), sum = 0;
    for (size_t k = 0; k < (is_copied ? 1 : n_seed); k++) {
        sum += (double)(next(rng) < hardness) - (double)(next(rng) < hardness);
    }
    return is_copied ? sum : sum / (double)n_seed;
}

static void check_level(size_t n_prompt, size_t n_seed, bool is_copied)
{
    stream rng = {.seed = 1000 * n_prompt + 10 * n_seed + is_copied};
    double v[50];
    size_t n_interval = 0, without_zero = 0, clear = 0;
    for (size_t i = 0; i < TABLES; i++) {
        for (size_t k = 0; k < n_prompt; k++) {
            v[k] = simulate_prompt(&rng, n_seed, is_copied);
        }
        cf_paired found = cf_paired_find(v, n_prompt);
        n_interval += found.has_interval;
        without_zero += found.has_interval && (found.low > 0 || found.high < 0);
        clear += found.p <= 0.05;
    }
    assert_in_range(without_zero, 0, (n_interval < 100 ? TABLES : n_interval) * 6 / 100);
    assert_in_range(clear, 0, TABLES * 6 / 100);
}

static void test_simulation__level_without_a_difference(void **state)
{
    (void)state;
    static const size_t prompts[] = {10, 12, 15, 20, 30, 50};
    static const size_t seeds[] = {1, 2, 5, 10};
    for (size_t i = 0; i < sizeof prompts / sizeof prompts[0]; i++) {
        for (size_t k = 0; k < sizeof seeds / sizeof seeds[0]; k++) {
            check_level(prompts[i], seeds[k], false);
        }
        check_level(prompts[i], 10, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sign_test__exact),
        cmocka_unit_test(test_students_t__published),
        cmocka_unit_test(test_find__few_prompts_have_no_interval),
        cmocka_unit_test(test_find__no_spread),
        cmocka_unit_test(test_holm),
        cmocka_unit_test(test_wilson__published),
        cmocka_unit_test(test_needed__is_enough),
        cmocka_unit_test(test_simulation__level_without_a_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
