/*
 * test_bisect.c - the change that matters is found, in few questions, wherever
 * it is; versions that are no good and bad are refused.
 */
#include "tests/support/t.h"

#include "tui/study/shrink/bisect.h"

enum { N = 100 };

typedef struct want {
    const char *item; /* a version with it is bad */
    size_t n_asked;
} want;

static cf_status has_item(void *ud, const cf_str *v, size_t n, bool *is_bad, cf_error *err)
{
    want *w = ud;
    (void)err;
    w->n_asked++;
    *is_bad = false;
    for (size_t i = 0; i < n; i++) {
        *is_bad = *is_bad || cf_str_is(v[i], w->item);
    }
    return CF_OK;
}

static void test_bisect__finds_it(void **state)
{
    (void)state;
    static char text[2][N][8];
    cf_str good[N], bad[N];
    for (int at = 1; at < N; at += 7) {
        for (int i = 0; i < N; i++) {
            snprintf(text[0][i], 8, "g%d", i);
            snprintf(text[1][i], 8, i % 3 == 0 ? "b%d" : "g%d", i);
            good[i] = cf_str_from(text[0][i]);
            bad[i] = cf_str_from(text[1][i]);
        }
        bad[at] = cf_str_from("X");
        cf_bisect b;
        cf_error err;
        want w = {"X", 0};
        T_OK(cf_bisect_init(&b, good, N, bad, N, &err), err);
        T_OK(cf_bisect_run(&b, has_item, &w, &err), err);
        const cf_change *c = &b.change[b.found];
        assert_true((size_t)at >= c->b && (size_t)at < c->b + c->n_b);
        assert_true(b.is_enough);
        assert_true(w.n_asked <= 10);
        assert_int_equal(w.n_asked, b.n_runs);
        cf_bisect_deinit(&b);
    }
}

static void test_bisect__changes(void **state)
{
    (void)state;
    const cf_str good[] = {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}};
    const cf_str bad[] = {{"x", 1}, {"a", 1}, {"c", 1}, {"e", 1}, {"d", 1}};
    cf_bisect b;
    cf_error err;
    T_OK(cf_bisect_init(&b, good, 4, bad, 5, &err), err);
    assert_int_equal(b.n_change, 3);
    assert_int_equal(b.change[0].n_a, 0);
    assert_int_equal(b.change[0].n_b, 1);
    assert_int_equal(b.change[1].a, 1);
    assert_int_equal(b.change[1].n_a, 1);
    assert_int_equal(b.change[1].n_b, 0);
    assert_int_equal(b.change[2].a, 3);
    assert_int_equal(b.change[2].b, 3);
    cf_bisect_deinit(&b);
}

static void test_bisect__refuses(void **state)
{
    (void)state;
    const cf_str good[] = {{"a", 1}}, bad[] = {{"b", 1}};
    cf_bisect b;
    cf_error err;
    want w = {"a", 0};
    T_OK(cf_bisect_init(&b, good, 1, good, 1, &err), err);
    T_FAILS(cf_bisect_run(&b, has_item, &w, &err), CF_EINVAL);
    cf_bisect_deinit(&b);
    T_OK(cf_bisect_init(&b, good, 1, bad, 1, &err), err);
    T_FAILS(cf_bisect_run(&b, has_item, &w, &err), CF_EINVAL);
    w.item = "c";
    T_FAILS(cf_bisect_run(&b, has_item, &w, &err), CF_EINVAL);
    cf_bisect_deinit(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bisect__finds_it),
        cmocka_unit_test(test_bisect__changes),
        cmocka_unit_test(test_bisect__refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
