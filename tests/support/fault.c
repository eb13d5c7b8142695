/*
 * fault.c - counting and failing allocations.  Atomic, because worker
 * threads allocate too.
 */
#include "tests/support/fault.h"

#include <stdatomic.h>

#include "core/base/alloc.h"
#include "tests/support/slow.h"
#include "tests/support/t.h"

static atomic_size_t live, total, countdown;
static atomic_bool is_armed, is_persistent, has_fired;

static bool must_fail(void)
{
    if (!atomic_load(&is_armed)) {
        return false;
    }
    if (atomic_load(&has_fired)) {
        return atomic_load(&is_persistent);
    }
    if (atomic_fetch_sub(&countdown, 1) == 1) {
        atomic_store(&has_fired, true);
        return true;
    }
    return false;
}

static void *fault_resize(void *ud, void *p, size_t n)
{
    (void)ud;
    if (must_fail()) {
        return NULL;
    }
    void *q = realloc(p, n);
    if (q != NULL) {
        atomic_fetch_add(&total, 1);
        if (p == NULL) {
            atomic_fetch_add(&live, 1);
        }
    }
    return q;
}

static void fault_release(void *ud, void *p)
{
    (void)ud;
    atomic_fetch_sub(&live, 1);
    free(p);
}

void cf_fault_install(void)
{
    static const cf_allocator table = {fault_resize, fault_release, NULL};
    cf_alloc_use(&table);
}

void cf_fault_arm(size_t nth, bool persist)
{
    atomic_store(&countdown, nth);
    atomic_store(&has_fired, false);
    atomic_store(&is_persistent, persist);
    atomic_store(&is_armed, true);
}

bool cf_fault_disarm(void)
{
    atomic_store(&is_armed, false);
    return atomic_load(&has_fired);
}

size_t cf_fault_live(void)
{
    return atomic_load(&live);
}

size_t cf_fault_total(void)
{
    return atomic_load(&total);
}

void cf_fault_every_alloc(cf_status (*body)(void *), void *ud, bool persist)
{
    size_t before = cf_fault_live();
    for (size_t nth = 1;; nth += T_SWEEP_STEP(nth)) {
        cf_fault_arm(nth, persist);
        cf_status st = body(ud);
        bool fired = cf_fault_disarm();
        assert_int_equal(cf_fault_live(), before);
        if (!fired) {
            assert_int_equal(st, CF_OK);
            return;
        }
        if (st != CF_ENOMEM && st != CF_OK) {
            fail_msg("allocation %zu failed: %s, expected out of memory", nth, cf_status_name(st));
        }
    }
}
