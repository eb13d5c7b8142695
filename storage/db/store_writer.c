/*
 * store_writer.c - the queue of operations and the thread that runs them.
 *
 * Operations run in order, many to a transaction, each in a savepoint.  One
 * that is refused for good is undone alone.  One that fails for a reason that
 * may go away undoes the transaction: kept operations stay in the queue and
 * are run again, the others are given back to their callers with the reason.
 *
 * Rules:
 *  1. The queue, the flags, the counters and every cf_op in the queue are
 *     guarded by store->lock.  The connection `w` belongs to the writer
 *     thread, which holds no lock while it uses it.
 *  2. The first n_busy operations of the queue are in the transaction that is
 *     running.  Only the writer takes operations off, and always from the
 *     front, so those do not move.
 *  3. Kept operations reach the disk in the order they were handed over.
 *     give_back() removes the others and keeps that order.
 *  4. An operation leaves nothing outside the database changed except what
 *     running it again sets again, since it may run any number of times.
 *  5. Exactly one side frees an operation: its waiter while has_waiter is set,
 *     complete_first() otherwise.  has_waiter changes under the lock only.
 *  6. CF_OK reaches a caller only after the COMMIT that holds its operation.
 *  7. n_queued and queued_bytes are the number and the bytes of the operations
 *     in the queue.  Only a kept write is refused for being over the limit.
 *  8. is_failing is set if and only if the last transaction failed; `why` is
 *     its reason, or that of the last kept write that was lost.
 *  9. Once is_closing is set the writer tries LAST_TRIES more times, then
 *     completes every operation with CF_EIO and ends.
 */
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/db/store_int.h"

enum {
    BATCH_MAX = 256,
    LAST_TRIES = 3, /* when closing */
    LAST_BUSY_MS = 500,
    RETRY_MIN_US = 5000,   /* between attempts while writing fails, */
    RETRY_MAX_US = 1000000 /* doubled each time */
};

/* The reason of a wait that has not failed yet. */
static const char still_busy[] = "another program holds the database, or the disk is slow";

static void wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t rest_us)
{
    struct timespec ts;
#if defined(__APPLE__)
    clock_gettime(CLOCK_REALTIME, &ts);
#else
    clock_gettime(CLOCK_MONOTONIC, &ts);
#endif
    ts.tv_sec += (time_t)(rest_us / 1000000);
    ts.tv_nsec += (long)(rest_us % 1000000) * 1000;
    if (ts.tv_nsec >= 1000000000) {
        ts.tv_sec++;
        ts.tv_nsec -= 1000000000;
    }
    (void)pthread_cond_timedwait(cond, lock, &ts);
}

/* ---- one transaction ---------------------------------------------------- */

static void roll_back(cf_store *s)
{
    if (s->w.db == NULL) {
        return;
    }
    if (sqlite3_get_autocommit(s->w.db) == 0) {
        cf_sql__try(&s->w, "ROLLBACK");
    }
    if (sqlite3_get_autocommit(s->w.db) == 0) {
        cf_sql__close(&s->w); /* opened again at the next attempt */
    }
}

/* Runs one operation in its savepoint; only a failure that may heal, or that
 * of the savepoint itself, is returned. */
static cf_status run_one(cf_store *s, cf_op *op, cf_error *err)
{
    CF_TRY(cf_sql__script(&s->w, "SAVEPOINT op", err));
    op->err = (cf_error){0};
    op->st = op->fn(s, &s->w, op->arg, &op->err);
    if (op->st == CF_OK) {
        return cf_sql__script(&s->w, "RELEASE op", err);
    }
    if (cf_sql__may_heal(op->st)) {
        *err = op->err;
        return op->st;
    }
    return cf_sql__script(&s->w, "ROLLBACK TO op; RELEASE op", err);
}

static cf_status run_batch(cf_store *s, cf_op *const *ops, size_t n, uint64_t min_age_us,
                           cf_error *err)
{
    CF_TRY(cf_store__open_writer(s, err));
    if (s->refused.code != CF_OK) { /* replaced by a newer one */
        *err = s->refused;
        return CF_EIO;
    }
    CF_TRY(cf_sql__script(&s->w, "BEGIN IMMEDIATE", err));
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        st = run_one(s, ops[i], err);
    }
    cf_stream_batch *batch = NULL;
    CF_THEN(st, cf_stream__write(s, &s->w, min_age_us, &batch, err));
    CF_THEN(st, cf_sql__script(&s->w, "COMMIT", err));
    if (st != CF_OK) {
        roll_back(s);
    }
    cf_stream__written(s, batch, st == CF_OK);
    return st;
}

/* ---- the queue ---------------------------------------------------------- */

cf_op *cf_op__new(cf_op_fn fn)
{
    cf_op *op = cf_calloc(1, sizeof *op);
    if (op != NULL) {
        op->fn = fn;
        op->is_kept = true;
        cf_arena_init(&op->arena, 0);
    }
    return op;
}

void cf_op__free(cf_op *op)
{
    cf_arena_deinit(&op->arena);
    cf_stream__free(op->stream);
    cf_free(op);
}

/* Takes the first operation off the queue; its waiter frees it, or else this
 * function does. */
static void complete_first(cf_store *s, cf_status st, const cf_error *err)
{
    cf_op *op = s->head;
    s->head = op->next;
    if (s->head == NULL) {
        s->tail = NULL;
    }
    s->n_queued--;
    s->queued_bytes -= op->bytes;
    op->st = st;
    if (err != NULL) {
        op->err = *err;
    }
    op->is_done = true;
    if (!op->has_waiter) {
        if (st != CF_OK && op->is_kept) {
            s->n_lost++;
            s->lost_why = op->err;
            s->why = op->err;
        }
        cf_op__free(op);
    }
}

/* Completes the operations that are not kept; the others keep their order. */
static void give_back(cf_store *s, cf_status st, const cf_error *err)
{
    cf_op *kept = NULL;
    cf_op *kept_tail = NULL;
    while (s->head != NULL) {
        cf_op *op = s->head;
        if (!op->is_kept) {
            complete_first(s, st, err);
            continue;
        }
        s->head = op->next;
        op->next = NULL;
        if (kept_tail != NULL) {
            kept_tail->next = op;
        } else {
            kept = op;
        }
        kept_tail = op;
    }
    s->head = kept;
    s->tail = kept_tail;
}

/* Runs the queued operations.  Locked before and after the call. */
static void work(cf_store *s, uint64_t min_age_us)
{
    cf_op *ops[BATCH_MAX];
    size_t n = 0;
    for (cf_op *op = s->head; op != NULL && n < BATCH_MAX; op = op->next) {
        ops[n++] = op;
    }
    s->n_busy = n;
    pthread_mutex_unlock(&s->lock);
    cf_error err = {0};
    cf_status st = run_batch(s, ops, n, min_age_us, &err);
    pthread_mutex_lock(&s->lock);
    s->n_busy = 0;
    if (st == CF_OK) {
        for (size_t i = 0; i < n; i++) {
            complete_first(s, ops[i]->st, NULL);
        }
        if (s->is_failing) {
            s->is_failing = false;
            s->why = (cf_error){0};
        }
    } else {
        s->is_failing = true;
        s->why = err;
        give_back(s, st, &err);
    }
    pthread_cond_broadcast(&s->done);
}

static void *writer_main(void *arg)
{
    cf_store *s = arg;
    uint64_t retry_us = RETRY_MIN_US;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        uint64_t due = cf_stream__due(s);
        if (s->is_closing) {
            break;
        }
        if (!s->is_failing && (s->head != NULL || due == 0)) {
            work(s, UINT64_C(500) * CF_STORE_FLUSH_MS);
        } else if (s->head == NULL && due == UINT64_MAX) {
            pthread_cond_wait(&s->work, &s->lock);
        } else if (s->is_failing) {
            /* A fresh operation that is not kept gets its answer at once. */
            uint64_t until = cf_os_monotonic_us() + retry_us;
            retry_us = retry_us < RETRY_MAX_US ? retry_us * 2 : retry_us;
            for (;;) {
                uint64_t now = cf_os_monotonic_us();
                if (now >= until || s->is_closing) {
                    break;
                }
                wait_until(&s->work, &s->lock, until - now);
                give_back(s, s->why.code != CF_OK ? s->why.code : CF_EIO, &s->why);
                pthread_cond_broadcast(&s->done);
            }
            if (!s->is_closing) {
                work(s, 0);
            }
            if (!s->is_failing) {
                retry_us = RETRY_MIN_US;
            }
        } else {
            wait_until(&s->work, &s->lock, due);
        }
    }
    /* The last attempts, without much waiting for another program's lock;
     * unwritten operations are lost. */
    if (s->w.db != NULL) {
        sqlite3_busy_timeout(s->w.db, LAST_BUSY_MS);
    }
    if (s->opts.busy_ms > LAST_BUSY_MS) {
        s->opts.busy_ms = LAST_BUSY_MS;
    }
    for (int tries = 0; tries < LAST_TRIES;) {
        if (s->head == NULL && cf_stream__due(s) == UINT64_MAX) {
            break;
        }
        work(s, 0);
        tries += s->is_failing;
    }
    while (s->head != NULL) {
        cf_error err = s->why;
        complete_first(s, CF_EIO, &err);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

cf_status cf_writer__start(cf_store *s, cf_error *err)
{
    CF_TRY(cf_os_thread(&s->thread, writer_main, s, err));
    s->has_thread = true;
    return CF_OK;
}

void cf_writer__stop(cf_store *s)
{
    if (!s->has_thread) {
        return;
    }
    pthread_mutex_lock(&s->lock);
    s->is_closing = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    s->has_thread = false;
}

static void enqueue(cf_store *s, cf_op *op)
{
    op->next = NULL;
    if (s->tail != NULL) {
        s->tail->next = op;
    } else {
        s->head = op;
    }
    s->tail = op;
    s->n_queued++;
    s->queued_bytes += op->bytes;
    pthread_cond_signal(&s->work);
}

static cf_status check_open(const cf_store *s, cf_error *err)
{
    if (s->refused.code == CF_OK) {
        return CF_OK;
    }
    if (err != NULL) {
        *err = s->refused;
    }
    return s->refused.code;
}

/* Enqueues a kept operation, or frees it; the store is locked. */
static cf_status accept(cf_store *s, cf_op *op, bool has_waiter, cf_error *err)
{
    cf_status st = check_open(s, err);
    op->bytes = op->arena.total;
    if (st == CF_OK && op->arena.failed) {
        st = cf_sql__oom(err);
    }
    if (st == CF_OK && s->queued_bytes + op->bytes > s->opts.max_kept_bytes) {
        st = cf_fail(err, CF_ELIMIT, "too much is waiting to be written (%s)", s->why.text);
    }
    if (st != CF_OK) {
        cf_op__free(op);
        return st;
    }
    op->has_waiter = has_waiter;
    enqueue(s, op);
    return CF_OK;
}

cf_status cf_op__post(cf_store *s, cf_op *op, cf_error *err)
{
    pthread_mutex_lock(&s->lock);
    cf_status st = accept(s, op, false, err);
    pthread_mutex_unlock(&s->lock);
    return st;
}

cf_status cf_op__submit(cf_store *s, cf_op *op, cf_error *err)
{
    pthread_mutex_lock(&s->lock);
    cf_status st = accept(s, op, true, err);
    if (st != CF_OK) {
        pthread_mutex_unlock(&s->lock);
        return st;
    }
    uint64_t until = cf_os_monotonic_us() + (uint64_t)s->opts.patience_ms * 1000;
    for (;;) {
        uint64_t now = cf_os_monotonic_us();
        if (op->is_done || s->is_failing || now >= until) {
            break;
        }
        wait_until(&s->done, &s->lock, until - now);
    }
    op->has_waiter = false;
    if (op->is_done) {
        st = op->st;
        if (st != CF_OK && err != NULL) {
            *err = op->err;
        }
        cf_op__free(op);
    } else {
        st = cf_fail(err, CF_EBUSY, "not written yet, kept in memory: %s",
                     s->is_failing ? s->why.text : still_busy);
    }
    pthread_mutex_unlock(&s->lock);
    return st;
}

cf_status cf_op__call(cf_store *s, cf_op_fn fn, void *arg, cf_error *err)
{
    CF_TRY(check_open(s, err));
    cf_op *op = cf_op__new(fn);
    if (op == NULL) {
        return cf_sql__oom(err);
    }
    op->arg = arg;
    op->is_kept = false;
    op->has_waiter = true;
    pthread_mutex_lock(&s->lock);
    enqueue(s, op);
    while (!op->is_done) {
        pthread_cond_wait(&s->done, &s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    cf_status st = op->st;
    if (st != CF_OK && err != NULL) {
        *err = op->err;
    }
    cf_op__free(op);
    return st;
}

static cf_status nothing(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    (void)sql;
    (void)arg;
    (void)err;
    return CF_OK;
}

cf_status cf_store_flush(cf_store *s, uint32_t timeout_ms, cf_error *err)
{
    if (s->refused.code != CF_OK) {
        return CF_OK; /* nothing can be waiting */
    }
    cf_op *op = cf_op__new(nothing);
    if (op == NULL) {
        return cf_sql__oom(err);
    }
    pthread_mutex_lock(&s->lock);
    op->has_waiter = true;
    for (cf_stream *st = s->streams; st != NULL; st = st->next) {
        if (st->dirty_us != 0) {
            st->dirty_us = 1; /* older than any age */
        }
    }
    enqueue(s, op);
    uint64_t until = cf_os_monotonic_us() + (uint64_t)timeout_ms * 1000;
    for (;;) {
        uint64_t now = cf_os_monotonic_us();
        if (op->is_done || now >= until) {
            break;
        }
        wait_until(&s->done, &s->lock, until - now);
    }
    op->has_waiter = false;
    cf_status st = CF_OK;
    if (op->is_done) {
        st = op->st;
        cf_op__free(op);
    } else {
        st = cf_fail(err, CF_EBUSY, "writes are waiting in memory (%zu): %s", s->n_queued - 1,
                     s->is_failing ? s->why.text : still_busy);
    }
    pthread_mutex_unlock(&s->lock);
    return st;
}
