/*
 * test_loop.c - loops are found with their period and beginning, whatever
 * came before and however long they are; nothing else is called a loop.
 */
#include "core/api/loop.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"

enum { MAX = 6000 };

static cf_loop after(const cf_token *ids, size_t n)
{
    cf_loop_watch *w;
    cf_error err;
    T_OK(cf_loop_watch_new(&w, &err), err);
    for (size_t i = 0; i < n; i++) {
        T_OK(cf_loop_watch_add(w, ids[i], &err), err);
    }
    cf_loop l = cf_loop_watch_get(w);
    cf_loop_watch_free(w);
    return l;
}

static void test_loop__finds_it(void **state)
{
    (void)state;
    static cf_token ids[MAX];
    static const struct {
        size_t before, period, length;
        bool is_loop;
    } cases[] = {
        {0, 1, 31, false},      {0, 1, 32, true},      {5, 1, 40, true},      {100, 8, 31, false},
        {100, 8, 32, true},     {100, 8, 35, true},    {0, 20, 79, false},    {0, 20, 80, true},
        {300, 100, 299, false}, {300, 100, 300, true}, {3000, 7, 2500, true}, {2040, 3, 64, true},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        size_t n = 0;
        for (size_t i = 0; i < cases[c].before; i++) {
            ids[n++] = (cf_token)(10000 + i); /* never again */
        }
        for (size_t i = 0; i < cases[c].length; i++) {
            ids[n++] = (cf_token)(i % cases[c].period);
        }
        cf_loop l = after(ids, n);
        assert_int_equal(l.length > 0, cases[c].is_loop);
        if (cases[c].is_loop) {
            assert_int_equal(l.period, cases[c].period);
            assert_int_equal(l.first, cases[c].before);
            assert_int_equal(l.length, cases[c].length);
        }
        cf_error err;
        cf_loop found;
        ids[n++] = 9999; /* comes out */
        assert_int_equal(after(ids, n).length, 0);
        T_OK(cf_loop_find(&found, ids, n, &err), err);
        assert_int_equal(found.length > 0, cases[c].is_loop);
    }
}

/* Whatever is called a loop repeats, in texts of few different tokens. */
static void test_loop__is_one(void **state)
{
    (void)state;
    static cf_token ids[MAX];
    cf_rand seed = {7};
    for (int round = 0; round < 40; round++) {
        cf_loop_watch *w;
        cf_error err;
        T_OK(cf_loop_watch_new(&w, &err), err);
        unsigned n_kinds = 2 + (unsigned)(cf_rand_u64(&seed) % 3);
        for (size_t n = 0; n < 3000; n++) {
            size_t back = 1 + cf_rand_u64(&seed) % 40;
            ids[n] = n >= back && cf_rand_u64(&seed) % 50 != 0
                         ? ids[n - (n > 60 ? 1 + n / 200 % 40 : back)]
                         : (cf_token)(cf_rand_u64(&seed) % n_kinds);
            T_OK(cf_loop_watch_add(w, ids[n], &err), err);
            cf_loop l = cf_loop_watch_get(w);
            if (l.length == 0) {
                continue;
            }
            assert_int_equal(l.first + l.length, n + 1);
            for (size_t i = l.first; i + l.period <= n; i++) {
                assert_int_equal(ids[i], ids[i + l.period]);
            }
        }
        cf_loop_watch_free(w);
    }
}

static void test_loop__trap(void **state)
{
    (void)state;
    const cf_loop l = {2, 2, 8}; /* tokens 2 .. 9 */
    float p[10] = {0.1f, 0.1f, 0.5f, 0.5f, 0.6f, 0.7f, 0.9f, 0.995f, 0.999f, 1};
    assert_int_equal(cf_loop_trap(&l, p, 0.01f), 7);
    assert_int_equal(cf_loop_trap(&l, p, 0.2f), 6);
    p[9] = 0.5f;
    assert_true(cf_loop_trap(&l, p, 0.01f) == SIZE_MAX);
    /* The first round is no repetition, whatever it was drawn with. */
    const cf_loop late = {2, 3, 8};
    for (int i = 0; i < 10; i++) {
        p[i] = 1;
    }
    assert_int_equal(cf_loop_trap(&late, p, 0.01f), 5);
    const cf_loop none = {0, 0, 0};
    assert_true(cf_loop_trap(&none, p, 0.5f) == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop__finds_it),
        cmocka_unit_test(test_loop__is_one),
        cmocka_unit_test(test_loop__trap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
