/*
 * test_token_worst.c - the order of a reply's tokens by what they cost.
 */
#include <math.h>

#include "tests/support/t.h"
#include "tui/lab/tokens/token_worst.h"

enum { N = 100 };

static void test_token_worst__order_and_total(void **state)
{
    (void)state;
    cf_chat_token t[4] = {{.p = 0.5f}, {.p = 0.001f}, {.p = -1}, {.p = 0.999f}};
    const cf_reply r = {.token = t, .n_token = 4};
    cf_worst w;
    cf_worst_find(&w, &r, CF_LOSS_SURPRISE);
    assert_int_equal(w.n, 2); /* the last one lost nothing to speak of */
    assert_int_equal(w.n_known, 3);
    assert_int_equal(w.at[0], 1);
    assert_int_equal(w.at[1], 0);
    assert_int_equal(w.n_most, 1);
    double want = -log(0.5) - log((double)0.001f) - log((double)0.999f);
    assert_true(fabs(w.total - want) < 1e-9);
}

static void test_token_worst__mass(void **state)
{
    (void)state;
    cf_draw d[3] = {{.allowed_mass = 1e-7f}, {.allowed_mass = 1}, {.allowed_mass = 0.2f}};
    cf_chat_token t[3] = {{.p = 1, .draw = &d[0], .is_held = true},
                          {.p = 1, .draw = &d[1], .is_held = true},
                          {.p = 1, .draw = &d[2]}};
    const cf_reply r = {.token = t, .n_token = 3};
    cf_worst w;
    cf_worst_find(&w, &r, CF_LOSS_MASS);
    assert_int_equal(w.n, 1);
    assert_int_equal(w.n_known, 2); /* the third one was free */
    assert_int_equal(w.at[0], 0);
    assert_true(fabs(w.total + log(1e-7)) < 1e-3);
}

/* More tokens than are listed: the greatest ones are, in order. */
static void test_token_worst__long(void **state)
{
    (void)state;
    cf_chat_token t[N];
    for (size_t i = 0; i < N; i++) {
        size_t k = i * 37 % N; /* every number once */
        t[i] = (cf_chat_token){.p = (float)exp(-(double)(k + 1) / 10)};
    }
    const cf_reply r = {.token = t, .n_token = N};
    cf_worst w;
    cf_worst_find(&w, &r, CF_LOSS_SURPRISE);
    assert_int_equal(w.n, CF_WORST_MAX);
    for (size_t i = 0; i < w.n; i++) {
        assert_int_equal(w.at[i] * 37 % N, N - 1 - i);
    }
    cf_chat_token none = {.p = 0}; /* underflowed: as bad as can be */
    assert_true(isfinite(cf_token_loss_of(&none, CF_LOSS_SURPRISE)));
    assert_true(cf_token_loss_of(&none, CF_LOSS_SURPRISE) > 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token_worst__order_and_total),
        cmocka_unit_test(test_token_worst__mass),
        cmocka_unit_test(test_token_worst__long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
