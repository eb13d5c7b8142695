/*
 * pool.c - fork and join over threads that spin briefly and then sleep.
 *
 * Three things are waited for, each a counter that only grows: `job` (a new
 * job is there; helpers wait), `n_done` (all helpers finished it; the caller
 * waits) and `barrier_round` (all parts of a job arrived).  A waiter reads
 * the counter, pauses spin_pauses times at most, and then sleeps on the one
 * condition variable until the counter has moved.
 *
 * Rules that always hold:
 *  1. `fn` and `ud` are written before `job` moves and read after.
 *  2. A waiter adds itself to `n_asleep` before its last look at the counter,
 *     and who moves a counter looks at `n_asleep` afterwards; both are
 *     sequentially consistent, so one of the two sees the other and no
 *     wake-up is lost.
 *  3. Moving a counter costs a system call only if a thread sleeps.
 */
#include "core/base/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"

/* About a tenth of a millisecond: longer than the gap between two steps of a
 * forward pass, far shorter than a scheduler's slice. */
enum { SPIN_PAUSES = 1500 };

typedef struct helper {
    cf_pool *pool;
    unsigned index;
    pthread_t thread;
} helper;

struct cf_pool {
    cf_pool_fn fn; /* NULL: the helpers end */
    void *ud;
    unsigned n_threads;
    int spin_pauses; /* 0 with more threads than processors: who spins keeps another from working */
    bool is_running;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    /* Each on a line of its own: they are written by different threads. */
    _Alignas(64) atomic_uint job;           /* cf_pool_run -> helper_main */
    _Alignas(64) atomic_uint n_done;        /* helper_main -> cf_pool_run */
    _Alignas(64) atomic_uint n_arrived;     /* parts inside the barrier */
    _Alignas(64) atomic_uint barrier_round; /* last part in -> the others */
    _Alignas(64) atomic_uint n_asleep;      /* waiters -> move() */
    helper helpers[];
};

static void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Waits until *counter differs from `old` (`until` false) or equals it. */
static void wait_for(cf_pool *pool, atomic_uint *counter, unsigned value, bool until)
{
    for (int i = 0; i < pool->spin_pauses; i++) {
        if ((atomic_load_explicit(counter, memory_order_acquire) == value) == until) {
            return;
        }
        pause_cpu();
    }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->n_asleep, 1);
    while ((atomic_load(counter) == value) != until) {
        pthread_cond_wait(&pool->moved, &pool->lock);
    }
    atomic_fetch_sub(&pool->n_asleep, 1);
    pthread_mutex_unlock(&pool->lock);
}

/* Called after a counter has moved (rule 2). */
static void wake(cf_pool *pool)
{
    if (atomic_load(&pool->n_asleep) > 0) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->moved);
        pthread_mutex_unlock(&pool->lock);
    }
}

static void *helper_main(void *arg)
{
    helper *h = arg;
    cf_pool *pool = h->pool;
    for (unsigned job = 0;;) {
        wait_for(pool, &pool->job, job, false);
        job++;
        if (!pool->fn) {
            return NULL;
        }
        pool->fn(pool->ud, h->index, pool->n_threads);
        if (atomic_fetch_add(&pool->n_done, 1) + 2 == pool->n_threads) {
            wake(pool);
        }
    }
}

/* Signals belong to the threads that were there before, except those that a
 * helper's own reading raises (cf_os_guard_maps). */
static cf_status start_helper(helper *h, cf_error *err)
{
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};
    sigset_t all, old;
    sigfillset(&all);
    for (size_t f = 0; f < sizeof faults / sizeof faults[0]; f++) {
        sigdelset(&all, faults[f]);
    }
    pthread_sigmask(SIG_SETMASK, &all, &old);
    cf_status st = cf_os_thread(&h->thread, helper_main, h, err);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return st;
}

static void end_helpers(cf_pool *pool, unsigned n)
{
    pool->fn = NULL;
    atomic_fetch_add(&pool->job, 1);
    wake(pool);
    for (unsigned i = 0; i < n; i++) {
        pthread_join(pool->helpers[i].thread, NULL);
    }
    pthread_cond_destroy(&pool->moved);
    pthread_mutex_destroy(&pool->lock);
    cf_free_aligned(pool);
}

cf_status cf_pool_new(cf_pool **out, unsigned n_threads, cf_error *err)
{
    size_t bytes;
    CF_ASSERT(n_threads >= 1);
    if (!cf_mul_size(&bytes, n_threads, sizeof(helper)) ||
        !cf_add_size(&bytes, bytes, sizeof(cf_pool))) {
        return cf_fail(err, CF_ENOMEM, "%u threads are too many", n_threads);
    }
    cf_pool *pool = cf_alloc_aligned(64, bytes);
    if (!pool) {
        return cf_fail(err, CF_ENOMEM, "no memory for %u threads", n_threads);
    }
    pool->n_threads = n_threads;
    pool->spin_pauses = n_threads <= cf_os_n_cpus() ? SPIN_PAUSES : 0;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->moved, NULL);
    for (unsigned i = 0; i + 1 < n_threads; i++) {
        helper *h = &pool->helpers[i];
        h->pool = pool;
        h->index = i + 1;
        cf_status st = start_helper(h, err);
        if (st != CF_OK) {
            char what[40];
            end_helpers(pool, i);
            snprintf(what, sizeof what, "thread %u of %u", i + 2, n_threads);
            return cf_fail_in(err, st, what);
        }
    }
    *out = pool;
    return CF_OK;
}

void cf_pool_free(cf_pool *pool)
{
    if (pool) {
        end_helpers(pool, pool->n_threads - 1);
    }
}

unsigned cf_pool_n_threads(const cf_pool *pool)
{
    return pool->n_threads;
}

void cf_pool_run(cf_pool *pool, cf_pool_fn fn, void *ud)
{
    CF_ASSERT(fn && !pool->is_running);
    pool->is_running = true;
    if (pool->n_threads > 1) {
        pool->fn = fn;
        pool->ud = ud;
        atomic_store_explicit(&pool->n_done, 0, memory_order_relaxed);
        atomic_fetch_add(&pool->job, 1);
        wake(pool);
    }
    fn(ud, 0, pool->n_threads);
    if (pool->n_threads > 1) {
        wait_for(pool, &pool->n_done, pool->n_threads - 1, true);
    }
    pool->is_running = false;
}

void cf_pool_barrier(cf_pool *pool)
{
    if (pool->n_threads == 1) {
        return;
    }
    /* The round cannot move before this part has arrived. */
    unsigned round = atomic_load_explicit(&pool->barrier_round, memory_order_relaxed);
    if (atomic_fetch_add(&pool->n_arrived, 1) + 1 == pool->n_threads) {
        atomic_store_explicit(&pool->n_arrived, 0, memory_order_relaxed);
        atomic_fetch_add(&pool->barrier_round, 1);
        wake(pool);
    } else {
        wait_for(pool, &pool->barrier_round, round, false);
    }
}
