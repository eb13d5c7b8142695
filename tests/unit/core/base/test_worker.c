/*
 * test_worker.c - jobs, events in order, cancel, back-pressure.
 */
#include <poll.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/worker.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"

enum { MANY = 5000 };

static void post_number(cf_worker *w, int number)
{
    int *event = cf_alloc(sizeof *event);
    assert_non_null(event);
    *event = number;
    cf_worker_post(w, event);
}

static void count_up(cf_worker *w, void *ud)
{
    for (int i = 0; i < *(int *)ud; i++) {
        post_number(w, i);
    }
}

static void until_cancelled(cf_worker *w, void *ud)
{
    (void)ud;
    for (int i = 0; !atomic_load(cf_worker_cancel_flag(w)); i++) {
        post_number(w, i);
    }
}

static void nudge_while(cf_worker *w, void *ud)
{
    atomic_bool *goes_on = ud;
    cf_worker_nudge(w);
    while (atomic_load(goes_on)) {
        poll(NULL, 0, 1);
    }
}

/* More events than the queue holds arrive, all and in order. */
static void test_worker__events_in_order(void **state)
{
    (void)state;
    cf_worker *w;
    cf_error err;
    int n = MANY;
    T_OK(cf_worker_new(&w, &err), err);
    T_OK(cf_worker_start(w, count_up, &n, &err), err);
    T_FAILS(cf_worker_start(w, count_up, &n, &err), CF_EBUSY);
    int next = 0;
    while (next < MANY) {
        cf_worker_wait(w);
        int *event = cf_worker_take(w);
        if (event != NULL) {
            assert_int_equal(*event, next);
            next++;
            cf_free(event);
        }
    }
    while (cf_worker_is_busy(w)) {
        cf_worker_wait(w);
    }
    assert_null(cf_worker_take(w));
    T_OK(cf_worker_start(w, count_up, &n, &err), err); /* and again */
    cf_worker_free(w, cf_free);
}

static void test_worker__cancel_ends_the_job(void **state)
{
    (void)state;
    cf_worker *w;
    cf_error err;
    T_OK(cf_worker_new(&w, &err), err);
    T_OK(cf_worker_start(w, until_cancelled, NULL, &err), err);
    cf_worker_wait(w);
    cf_worker_cancel(w);
    while (cf_worker_is_busy(w)) {
        cf_free(cf_worker_take(w));
    }
    cf_worker_free(w, cf_free);
}

/* Freeing a worker whose job waits for room ends it and leaks nothing. */
static void test_worker__free_while_full(void **state)
{
    (void)state;
    size_t live = cf_fault_live();
    cf_worker *w;
    cf_error err;
    T_OK(cf_worker_new(&w, &err), err);
    T_OK(cf_worker_start(w, until_cancelled, NULL, &err), err);
    cf_worker_wait(w);
    cf_worker_free(w, cf_free);
    assert_int_equal(cf_fault_live(), live);
}

/* A wait with a limit ends without news, and with them; a nudge is a byte and
 * no event. */
static void test_worker__wait_and_nudge(void **state)
{
    (void)state;
    cf_worker *w;
    cf_error err;
    int ends[2];
    char got = '\0';
    atomic_bool goes_on = true;
    assert_int_equal(pipe(ends), 0);
    T_OK(cf_worker_new(&w, &err), err);
    cf_worker_wake_with(w, ends[1]);
    assert_true(cf_worker_wait_for(w, UINT32_MAX)); /* no job */
    T_OK(cf_worker_start(w, nudge_while, &goes_on, &err), err);
    assert_int_equal(read(ends[0], &got, 1), 1);
    assert_null(cf_worker_take(w));
    assert_false(cf_worker_wait_for(w, 0));
    assert_false(cf_worker_wait_for(w, 10));
    atomic_store(&goes_on, false);
    assert_true(cf_worker_wait_for(w, UINT32_MAX));
    assert_false(cf_worker_is_busy(w));
    cf_worker_free(w, NULL);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worker__wait_and_nudge),
        cmocka_unit_test(test_worker__events_in_order),
        cmocka_unit_test(test_worker__cancel_ends_the_job),
        cmocka_unit_test(test_worker__free_while_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
