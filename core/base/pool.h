/*
 * pool.h - helper threads that each take a fixed slice of a job.
 *
 * Place in the flow:  a forward pass --> [pool] --> kernels on every core.
 * Knows: threads and barriers.  Does not know: what a job computes.
 *
 * Fork and join: cf_pool_run() calls fn(ud, i, n) for every i in 0..n-1, one
 * of them on the calling thread, and returns when all are done.  A slice is
 * fixed by its index, never "next free", so results do not depend on timing.
 *
 * Waiting: a helper (and the caller at the join) spins for a short bounded
 * time, then sleeps, so that other programs on the machine get their share.
 *
 * Threads:  one thread at a time may call run; it must not be entered from
 *           inside a job (asserted).
 * Memory:   one block a pool, released by cf_pool_free(); a run allocates
 *           nothing.
 */
#ifndef CF_CORE_BASE_POOL_H
#define CF_CORE_BASE_POOL_H

#include "core/base/decls.h"
#include "core/base/status.h"

CF_BEGIN_DECLS

typedef struct cf_pool cf_pool;

/* Part i of n of a job; ud is what cf_pool_run() was given. */
typedef void (*cf_pool_fn)(void *ud, unsigned i, unsigned n);

/* n_threads >= 1 counts the caller: n_threads - 1 helpers are started.
 * CF_ENOMEM; CF_EIO when a thread cannot be created. */
CF_MUST_USE cf_status cf_pool_new(cf_pool **out, unsigned n_threads, cf_error *err);
void cf_pool_free(cf_pool *pool);

unsigned cf_pool_n_threads(const cf_pool *pool);

void cf_pool_run(cf_pool *pool, cf_pool_fn fn, void *ud);

/* Inside a job: returns when every part has arrived here.  Each part of the
 * job must call it equally often. */
void cf_pool_barrier(cf_pool *pool);

CF_END_DECLS

#endif
