/*
 * test_pool.c - every part runs once, barriers hold, nothing leaks.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "core/base/pool.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"

enum { N_MAX = 9, N_ROUND = 60 };

typedef struct tally {
    cf_pool *pool;
    atomic_uint ran[N_MAX];
    atomic_uint value[N_ROUND];
    atomic_uint n_bad;
    unsigned n_slow; /* this part sleeps, so that the others do too */
} tally;

static void nap(void)
{
    struct timespec t = {0, 2000000};
    nanosleep(&t, NULL);
}

static void count_parts(void *ud, unsigned i, unsigned n)
{
    tally *t = ud;
    if (n != cf_pool_n_threads(t->pool) || i >= n) {
        atomic_fetch_add(&t->n_bad, 1);
        return;
    }
    atomic_fetch_add(&t->ran[i], 1);
}

static void test_pool__each_part_once(void **state)
{
    (void)state;
    cf_error err;
    for (unsigned n = 1; n <= N_MAX; n++) {
        tally t = {0};
        T_OK(cf_pool_new(&t.pool, n, &err), err);
        assert_int_equal(cf_pool_n_threads(t.pool), n);
        for (int i = 0; i < 200; i++) {
            cf_pool_run(t.pool, count_parts, &t);
            for (unsigned p = 0; p < n; p++) {
                assert_int_equal(t.ran[p], i + 1);
            }
        }
        assert_int_equal(t.n_bad, 0);
        cf_pool_free(t.pool);
    }
    cf_pool_free(NULL);
}

/* After a barrier every part's addition of the round is there. */
static void add_rounds(void *ud, unsigned i, unsigned n)
{
    tally *t = ud;
    for (int r = 0; r < N_ROUND; r++) {
        if (i == t->n_slow && r % 20 == 7) {
            nap();
        }
        atomic_fetch_add_explicit(&t->value[r], 1, memory_order_relaxed);
        cf_pool_barrier(t->pool);
        if (atomic_load_explicit(&t->value[r], memory_order_relaxed) != n) {
            atomic_fetch_add(&t->n_bad, 1);
        }
    }
}

static void test_pool__barrier_holds(void **state)
{
    (void)state;
    cf_error err;
    for (unsigned n = 1; n <= 5; n++) {
        cf_pool *pool;
        T_OK(cf_pool_new(&pool, n, &err), err);
        for (unsigned slow = 0; slow < n; slow++) {
            tally t = {.pool = pool, .n_slow = slow};
            cf_pool_run(pool, add_rounds, &t);
            assert_int_equal(t.n_bad, 0);
        }
        cf_pool_free(pool);
    }
}

/* Helpers that fell asleep between two jobs wake up for the second. */
static void test_pool__wakes_from_sleep(void **state)
{
    (void)state;
    cf_error err;
    tally t = {0};
    T_OK(cf_pool_new(&t.pool, 4, &err), err);
    for (int i = 0; i < 5; i++) {
        nap();
        cf_pool_run(t.pool, count_parts, &t);
        assert_int_equal(t.ran[3], i + 1);
    }
    cf_pool_free(t.pool);
}

static cf_status make_one(void *ud)
{
    cf_pool *pool;
    cf_error err;
    (void)ud;
    CF_TRY(cf_pool_new(&pool, 3, &err));
    cf_pool_free(pool);
    return CF_OK;
}

static void test_pool__out_of_memory(void **state)
{
    (void)state;
    cf_fault_every_alloc(make_one, NULL, true);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool__each_part_once),
        cmocka_unit_test(test_pool__barrier_holds),
        cmocka_unit_test(test_pool__wakes_from_sleep),
        cmocka_unit_test(test_pool__out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
