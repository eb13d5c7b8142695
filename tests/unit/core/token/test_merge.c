/*
 * test_merge.c - scan and heap against the definition, word for word.
 */
#include "tests/support/t.h"

#include "core/token/merge.h"
#include "tests/support/rand.h"

/* A toy rule over ids 0 to 15: some pairs join, some with equal priority. */
static bool joins(uint32_t a, uint32_t b, uint32_t *prio, uint32_t *id)
{
    uint32_t mixed = a * 31 + b * 17;
    *prio = mixed % 5;
    *id = (a * 7 + b * 3 + 1) % 16;
    return mixed % 3 != 0;
}

static void pair(void *ud, cf_symbol *left, const cf_symbol *right)
{
    ++*(size_t *)ud;
    uint32_t id;
    bool ok = joins((uint32_t)left->id, (uint32_t)right->id, &left->prio, &id);
    left->joined = ok ? (cf_token)id : CF_TOKEN_NONE;
    left->prio = ok ? left->prio : CF_MERGE_NONE;
}

/* The definition: join the lowest, leftmost pair until there is none. */
static size_t naive(uint32_t *id, uint32_t *len, size_t n)
{
    for (;;) {
        size_t best = n;
        uint32_t best_prio = UINT32_MAX;
        uint32_t best_id = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            uint32_t prio, joined;
            if (joins(id[i], id[i + 1], &prio, &joined) && prio < best_prio) {
                best = i;
                best_prio = prio;
                best_id = joined;
            }
        }
        if (best == n) {
            return n;
        }
        id[best] = best_id;
        len[best] += len[best + 1];
        n--;
        memmove(id + best + 1, id + best + 2, (n - best - 1) * sizeof *id);
        memmove(len + best + 1, len + best + 2, (n - best - 1) * sizeof *len);
    }
}

static void test_run__equals_definition(void **state)
{
    (void)state;
    enum { MOST = 120 };
    cf_rand r = {7};
    cf_merge m = {0};
    cf_error err = {0};
    for (int round = 0; round < 4000; round++) {
        size_t n = cf_rand_below(&r, MOST);
        uint32_t id[MOST], len[MOST];
        T_OK(cf_merge__reserve(&m, n, &err), err);
        for (size_t i = 0; i < n; i++) {
            id[i] = (uint32_t)cf_rand_below(&r, 16);
            len[i] = 1;
            m.sym[i] = (cf_symbol){.off = (uint32_t)i,
                                   .len = 1,
                                   .src = (uint32_t)i,
                                   .src_len = 1,
                                   .id = (cf_token)id[i],
                                   .prio = CF_MERGE_NONE,
                                   .joined = CF_TOKEN_NONE};
        }
        size_t want = naive(id, len, n);
        size_t got;
        size_t calls = 0;
        T_OK(cf_merge__run(&m, n, &got, pair, &calls, &err), err);
        assert_int_equal(got, want);
        uint32_t at = 0;
        for (size_t i = 0; i < got; i++) {
            assert_int_equal(m.sym[i].id, id[i]);
            assert_int_equal(m.sym[i].len, len[i]);
            assert_int_equal(m.sym[i].src, at);
            assert_int_equal(m.sym[i].src_len, len[i]);
            at += len[i];
        }
        assert_true(calls <= 3 * n + 1);
    }
    cf_merge__deinit(&m);
}

/* The number of looked-up pairs stays linear for one long run. */
static void test_run__long_is_linear(void **state)
{
    (void)state;
    enum { N = 300000 };
    cf_merge m = {0};
    cf_error err = {0};
    cf_rand r = {3};
    T_OK(cf_merge__reserve(&m, N, &err), err);
    for (size_t i = 0; i < N; i++) {
        m.sym[i] = (cf_symbol){.off = (uint32_t)i,
                               .len = 1,
                               .src = (uint32_t)i,
                               .src_len = 1,
                               .id = (cf_token)cf_rand_below(&r, 16)};
    }
    size_t got;
    size_t calls = 0;
    T_OK(cf_merge__run(&m, N, &got, pair, &calls, &err), err);
    assert_true(calls <= 3 * N);
    uint32_t at = 0;
    for (size_t i = 0; i < got; i++) {
        assert_int_equal(m.sym[i].src, at);
        at += m.sym[i].src_len;
    }
    assert_int_equal(at, N);
    cf_merge__deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run__equals_definition),
        cmocka_unit_test(test_run__long_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
