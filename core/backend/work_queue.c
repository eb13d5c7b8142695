/*
 * work_queue.c - workers that take jobs, and the calling thread that writes
 * down and passes on what they finish.
 *
 * A job that is to be tried again waits in `delayed`; untouched jobs are
 * those from `next` on.  So a long queue costs nothing to walk, and a server
 * in trouble holds up DELAYED_MAX jobs at most.
 *
 * Always true:
 *   1. Every field but `o`, `keys`, `n`, `try_fn`, `ud` and `twin` is read and
 *      written under `lock`; those do not change while workers run.
 *   2. A job is in exactly one state; n_running counts those RUNNING.
 *   3. `ready` links the FINISHED jobs in order; only the calling thread
 *      takes from it, and makes them ENDED.
 *   4. A result reaches done_fn after the journal has it.
 */
#include "core/api/work_queue.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "core/backend/work_journal.h"
#include "core/base/alloc.h"
#include "core/base/os.h"

enum {
    DELAYED_MAX = 64,
    LOSSES_MAX = 3, /* in a row, then the place is given up */
    N_TRIES = 6,
    BACKOFF_MS = 500,
    BACKOFF_MAX_MS = 60000,
    SLICE_MS = 10 /* how soon a pause's end and a cancel are seen */
};

typedef enum job_state {
    JOB_NEW, /* or a twin: it ends with the first job of its key */
    JOB_DELAYED,
    JOB_RUNNING,
    JOB_FINISHED,
    JOB_ENDED
} job_state;

typedef struct job {
    job_state state;
    cf_status status;
    unsigned n_tries;
    uint64_t not_before_us;
    size_t refused_by; /* the place of its last try; NONE: none */
    size_t next_ready; /* of `ready`; NONE: the last */
    size_t next_twin;  /* a later job with the same key; NONE: none */
    cf_buf result;
    cf_error *err; /* NULL: none */
} job;

typedef struct place {
    bool is_lost;
    unsigned n_losses;   /* in a row */
    unsigned n_refusals; /* likewise */
    uint64_t not_before_us;
    uint64_t lost_us; /* when the last loss was counted */
} place;

#define NONE ((size_t)-1)

typedef struct queue {
    const cf_work_options *o;
    const cf_str *keys;
    size_t n;
    cf_work_try_fn try_fn;
    void *ud;
    bool *twin; /* [n] an earlier job has the same key */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    job *jobs; /* [n] */
    place places[CF_WORK_PLACES_MAX];
    size_t n_places;
    size_t next; /* untouched jobs begin here */
    size_t delayed[DELAYED_MAX + CF_WORK_WORKERS_MAX];
    size_t n_delayed, n_running;
    size_t ready_first, ready_last;
    size_t n_workers; /* that have not returned */
    bool is_ending;
    cf_error lost_why; /* of the place that was given up last */
} queue;

typedef struct worker {
    queue *q;
    size_t index, place;
    size_t at; /* the place of the job at hand */
    pthread_t thread;
} worker;

/* ---- what a worker does next -------------------------------------------- */

static bool is_cancelled(const queue *q)
{
    return q->o->cancel != NULL && atomic_load(q->o->cancel);
}

/* Whether a place other than this one may still answer. */
static bool has_other(const queue *q, size_t at)
{
    for (size_t i = 0; i < q->n_places; i++) {
        if (i != at && !q->places[i].is_lost) {
            return true;
        }
    }
    return false;
}

/* A delayed job whose pause is over, taken out of the list; NONE.  One that
 * this place refused is left to the others. */
static size_t take_delayed(queue *q, size_t at, uint64_t now)
{
    const bool leaves = has_other(q, at);
    for (size_t i = 0; i < q->n_delayed; i++) {
        size_t k = q->delayed[i];
        if (q->jobs[k].not_before_us <= now && !(leaves && q->jobs[k].refused_by == at)) {
            memmove(&q->delayed[i], &q->delayed[i + 1],
                    (q->n_delayed - i - 1) * sizeof q->delayed[0]);
            q->n_delayed--;
            return k;
        }
    }
    return NONE;
}

/* Whether a job waits for another place than this one, which refused it. */
static bool has_refused(const queue *q, size_t at, uint64_t now)
{
    for (size_t i = 0; i < q->n_delayed && has_other(q, at); i++) {
        const job *j = &q->jobs[q->delayed[i]];
        if (j->not_before_us <= now && j->refused_by == at) {
            return true;
        }
    }
    return false;
}

static size_t take_new(queue *q)
{
    while (q->next < q->n && (q->jobs[q->next].state != JOB_NEW || q->twin[q->next])) {
        q->next++;
    }
    return q->next < q->n && q->n_delayed < DELAYED_MAX ? q->next++ : NONE;
}

static bool is_over(const queue *q, const place *p)
{
    return q->is_ending || p->is_lost || is_cancelled(q) ||
           (q->next >= q->n && q->n_delayed == 0 && q->n_running == 0);
}

/* Goes to the next place that answers, if this worker's was given up. */
static void move_on(queue *q, worker *w)
{
    for (size_t i = 0; i < q->n_places && q->places[w->place].is_lost; i++) {
        w->place = (w->place + 1) % q->n_places;
    }
}

/* A job for a place that does not pause. */
static size_t take_at(queue *q, size_t at, uint64_t now)
{
    if (q->places[at].is_lost || q->places[at].not_before_us > now) {
        return NONE;
    }
    size_t k = take_delayed(q, at, now);
    return k != NONE ? k : take_new(q);
}

/* A job for this worker's place, or, while that refuses what it is asked, for
 * another one. */
static size_t take_anywhere(queue *q, worker *w, uint64_t now)
{
    w->at = w->place;
    size_t k = take_at(q, w->at, now);
    if (k == NONE && (q->places[w->place].n_refusals > 0 || has_refused(q, w->place, now))) {
        for (size_t i = 1; k == NONE && i < q->n_places; i++) {
            w->at = (w->place + i) % q->n_places;
            k = take_at(q, w->at, now);
        }
    }
    return k;
}

/* Waits for a job; NONE: there is nothing more to do.  Called and returns
 * with the lock. */
static size_t wait_job(queue *q, worker *w)
{
    const struct timespec slice = {0, SLICE_MS * 1000000L};
    for (;;) {
        move_on(q, w);
        const place *p = &q->places[w->place];
        if (is_over(q, p)) {
            return NONE;
        }
        uint64_t now = cf_os_monotonic_us();
        size_t k = take_anywhere(q, w, now);
        if (k != NONE) {
            return k;
        }
        if (is_over(q, p)) {
            return NONE;
        }
        if (q->n_delayed == 0 && p->not_before_us <= now) {
            pthread_cond_wait(&q->changed, &q->lock);
        } else {
            pthread_mutex_unlock(&q->lock);
            nanosleep(&slice, NULL);
            pthread_mutex_lock(&q->lock);
        }
    }
}

/* ---- after a try -------------------------------------------------------- */

/* The job's end, for the calling thread. */
static void finish(queue *q, size_t k, cf_status st, const cf_error *err)
{
    job *j = &q->jobs[k];
    j->state = JOB_FINISHED;
    j->status = st;
    j->next_ready = NONE;
    if (st != CF_OK) {
        j->err = cf_alloc(sizeof *j->err); /* NULL: the code says it alone */
        if (j->err != NULL) {
            *j->err = *err;
        }
    }
    if (q->ready_first == NONE) {
        q->ready_first = k;
    } else {
        q->jobs[q->ready_last].next_ready = k;
    }
    q->ready_last = k;
}

static void delay(queue *q, size_t k, uint64_t until_us)
{
    q->jobs[k].state = JOB_DELAYED;
    q->jobs[k].not_before_us = until_us;
    q->delayed[q->n_delayed++] = k;
}

static uint64_t pause_us(const queue *q, unsigned n)
{
    uint64_t ms = q->o->backoff_ms != 0 ? q->o->backoff_ms : BACKOFF_MS;
    for (unsigned i = 0; i < n && ms < BACKOFF_MAX_MS; i++) {
        ms *= 2;
    }
    return (ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS) * 1000;
}

static void give_up(queue *q, place *p, const cf_error *err)
{
    p->is_lost = true;
    q->lost_why = *err;
}

/* Whether any place is left. */
static bool has_place(const queue *q)
{
    for (size_t i = 0; i < q->n_places; i++) {
        if (!q->places[i].is_lost) {
            return true;
        }
    }
    return false;
}

/* A place that does not answer.  Tries that ran side by side count as one. */
static void note_loss(queue *q, place *p, uint64_t began_us, uint64_t now, const cf_error *err)
{
    if (began_us >= p->lost_us) {
        p->lost_us = now;
        if (++p->n_losses >= LOSSES_MAX) {
            give_up(q, p, err);
        }
        p->not_before_us = now + pause_us(q, p->n_losses - 1);
    }
}

static void try_again(queue *q, size_t k, const cf_work_try *t, place *p, uint64_t began_us,
                      const cf_error *err)
{
    job *j = &q->jobs[k];
    uint64_t now = cf_os_monotonic_us();
    uint64_t until = now;
    if (t->again == CF_WORK_LOST) {
        note_loss(q, p, began_us, now, err);
    } else if (t->retry_after_s > CF_WORK_WAIT_MAX_S) {
        give_up(q, p, err);
    } else if (t->retry_after_s > 0) {
        uint64_t told = now + (uint64_t)t->retry_after_s * 1000000;
        p->not_before_us = told > p->not_before_us ? told : p->not_before_us;
        until = q->n_places > 1 ? now : told;
    } else if (has_other(q, (size_t)(p - q->places))) {
        /* It pauses, and the others go on. */
        p->not_before_us = now + pause_us(q, p->n_refusals++);
    } else {
        until = now + pause_us(q, j->n_tries - 1);
    }
    j->refused_by = (size_t)(p - q->places);
    unsigned n_max = q->o->n_tries != 0 ? q->o->n_tries : N_TRIES;
    if (j->n_tries >= n_max || !has_place(q)) {
        finish(q, k, err->code, err);
    } else {
        delay(q, k, until);
    }
}

/* One try, without the lock; the result becomes one line. */
static cf_status try_once(queue *q, cf_work_try *t, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    json_t *v = NULL;
    t->result = &text;
    cf_status st = q->try_fn(q->ud, t, err);
    CF_THEN(st, cf_buf_check(&text, err));
    CF_THEN(st, cf_json_read(&v, cf_buf_cstr(&text), text.n, err));
    if (st == CF_OK) {
        cf_buf *result = &q->jobs[t->job].result;
        cf_json_write(result, v);
        st = cf_buf_check(result, err);
    }
    json_decref(v);
    cf_buf_deinit(&text);
    return st;
}

static void do_job(queue *q, size_t k, const worker *w)
{
    place *p = &q->places[w->at];
    job *j = &q->jobs[k];
    cf_error err = {.off = CF_NO_OFFSET};
    cf_work_try t = {.job = k,
                     .place = w->at,
                     .worker = w->index,
                     .n_before = j->n_tries,
                     .cancel = q->o->cancel};
    j->state = JOB_RUNNING;
    q->n_running++;
    uint64_t began_us = cf_os_monotonic_us();
    pthread_mutex_unlock(&q->lock);
    cf_status st = try_once(q, &t, &err);
    pthread_mutex_lock(&q->lock);
    q->n_running--;
    j->n_tries += t.again == CF_WORK_LOST && st != CF_OK ? 0 : 1;
    if (st == CF_OK) {
        p->n_losses = p->n_refusals = 0;
        finish(q, k, CF_OK, NULL);
    } else if (st == CF_ECANCELLED && is_cancelled(q)) {
        delay(q, k, 0); /* neither done nor failed */
    } else if (t.again == CF_WORK_NEVER) {
        finish(q, k, st, &err);
    } else {
        err.code = st;
        try_again(q, k, &t, p, began_us, &err);
    }
    pthread_cond_broadcast(&q->changed);
}

static void *work(void *arg)
{
    worker *w = arg;
    queue *q = w->q;
    pthread_mutex_lock(&q->lock);
    for (;;) {
        size_t k = wait_job(q, w);
        if (k == NONE) {
            break;
        }
        do_job(q, k, w);
    }
    q->n_workers--;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* ---- the calling thread ------------------------------------------------- */

typedef struct run_state {
    queue q;
    cf_work__journal journal;
    cf_work_done_fn done_fn;
    worker workers[CF_WORK_WORKERS_MAX];
    size_t n_started;
} run_state;

/* Passes a job's end on, and that of its twins. */
static cf_status pass_on(run_state *r, size_t first, bool is_resumed, cf_error *err)
{
    job *j = &r->q.jobs[first];
    cf_status st = CF_OK;
    for (size_t k = first; st == CF_OK && k != NONE; k = r->q.jobs[k].next_twin) {
        const cf_work_end end = {.job = k,
                                 .result = cf_buf_str(&j->result),
                                 .status = j->status,
                                 .err = j->err,
                                 .n_tries = j->n_tries,
                                 .is_resumed = is_resumed};
        st = r->done_fn(r->q.ud, &end, err);
    }
    j->state = JOB_ENDED;
    cf_buf_deinit(&j->result);
    cf_free(j->err);
    j->err = NULL;
    return st;
}

/* Marks later jobs with a key that came before, and links them to it. */
static cf_status find_twins(run_state *r, cf_error *err)
{
    json_t *last = json_object(); /* key -> its last job so far */
    cf_status st = last != NULL ? CF_OK : cf_oom_for(err, "the queue");
    for (size_t i = 0; st == CF_OK && i < r->q.n; i++) {
        cf_str key = r->q.keys[i];
        if (key.n > 0 && memchr(key.p, '\0', key.n) != NULL) {
            st = cf_fail(err, CF_EINVAL, "a job's key holds a NUL");
            break;
        }
        const json_t *before = json_object_getn(last, key.p, key.n);
        if (before != NULL) {
            size_t k = (size_t)json_integer_value(before);
            r->q.jobs[k].next_twin = i;
            r->q.twin[i] = true;
        }
        if (json_object_setn_new(last, key.p, key.n, json_integer((json_int_t)i)) != 0) {
            st = cf_fail(err, CF_EINVAL, "a job's key is not UTF-8");
        }
    }
    json_decref(last);
    return st;
}

/* Passes on what the journal has. */
static cf_status resume(run_state *r, cf_error *err)
{
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < r->q.n; i++) {
        const json_t *old = r->q.twin[i] ? NULL : cf_work__journal_find(&r->journal, r->q.keys[i]);
        if (old != NULL) {
            cf_json_write(&r->q.jobs[i].result, old);
            st = cf_buf_check(&r->q.jobs[i].result, err);
            CF_THEN(st, pass_on(r, i, true, err));
        }
    }
    return st;
}

static cf_status start(run_state *r, cf_error *err)
{
    queue *q = &r->q;
    size_t n = q->o->n_workers != 0 ? q->o->n_workers : q->n_places;
    n = n < CF_WORK_WORKERS_MAX ? n : CF_WORK_WORKERS_MAX;
    n = n < q->n ? n : q->n;
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        worker *w = &r->workers[i];
        *w = (worker){.q = q, .index = i, .place = i % q->n_places};
        pthread_mutex_lock(&q->lock);
        q->n_workers++;
        pthread_mutex_unlock(&q->lock);
        st = cf_os_thread(&w->thread, work, w, err);
        if (st == CF_OK) {
            r->n_started++;
        } else {
            pthread_mutex_lock(&q->lock);
            q->n_workers--;
            pthread_mutex_unlock(&q->lock);
        }
    }
    return st;
}

/* Takes finished jobs until the workers are gone and none is left. */
static cf_status collect(run_state *r, cf_error *err)
{
    queue *q = &r->q;
    cf_status st = CF_OK;
    pthread_mutex_lock(&q->lock);
    while (st == CF_OK && (q->n_workers > 0 || q->ready_first != NONE)) {
        size_t k = q->ready_first;
        if (k == NONE) {
            pthread_cond_wait(&q->changed, &q->lock);
            continue;
        }
        q->ready_first = q->jobs[k].next_ready;
        pthread_mutex_unlock(&q->lock);
        if (q->jobs[k].status == CF_OK) {
            st = cf_work__journal_add(&r->journal, q->keys[k], cf_buf_str(&q->jobs[k].result), err);
        }
        CF_THEN(st, pass_on(r, k, false, err));
        pthread_mutex_lock(&q->lock);
    }
    q->is_ending = true;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    return st;
}

/* Jobs that no place was left for. */
static cf_status fail_rest(run_state *r, cf_error *err)
{
    queue *q = &r->q;
    cf_status st = CF_OK;
    for (size_t k = 0; st == CF_OK && k < q->n; k++) {
        job *j = &q->jobs[k];
        if (j->state != JOB_ENDED && !q->twin[k]) {
            finish(q, k, q->lost_why.code, &q->lost_why);
            st = pass_on(r, k, false, err);
        }
    }
    return st;
}

static cf_status run_all(run_state *r, cf_error *err)
{
    queue *q = &r->q;
    CF_TRY(find_twins(r, err));
    CF_TRY(cf_work__journal_open(&r->journal, q->o->journal, err));
    CF_TRY(resume(r, err));
    cf_status st = start(r, err);
    if (st == CF_OK) {
        st = collect(r, err);
    } else {
        pthread_mutex_lock(&q->lock);
        q->is_ending = true;
        pthread_cond_broadcast(&q->changed);
        pthread_mutex_unlock(&q->lock);
    }
    for (size_t i = 0; i < r->n_started; i++) {
        pthread_join(r->workers[i].thread, NULL);
    }
    if (st == CF_OK && is_cancelled(q)) {
        return cf_fail(err, CF_ECANCELLED, "stopped");
    }
    CF_THEN(st, fail_rest(r, err));
    return st;
}

cf_status cf_work_run(const cf_work_options *o, const cf_str *keys, size_t n, cf_work_try_fn try_fn,
                      cf_work_done_fn done_fn, void *ud, cf_error *err)
{
    if (o->n_places > CF_WORK_PLACES_MAX) {
        return cf_fail(err, CF_EINVAL, "at most %d addresses", CF_WORK_PLACES_MAX);
    }
    if (n == 0) {
        return CF_OK;
    }
    run_state *r = cf_calloc(1, sizeof *r);
    job *jobs = cf_calloc(n, sizeof *jobs);
    bool *twin = cf_calloc(n, sizeof *twin);
    cf_status st = r != NULL && jobs != NULL && twin != NULL ? CF_OK : cf_oom_for(err, "the queue");
    if (st == CF_OK) {
        r->q = (queue){.o = o,
                       .keys = keys,
                       .n = n,
                       .try_fn = try_fn,
                       .ud = ud,
                       .twin = twin,
                       .jobs = jobs,
                       .n_places = o->n_places != 0 ? o->n_places : 1,
                       .ready_first = NONE,
                       .ready_last = NONE};
        r->done_fn = done_fn;
        r->journal.fd = -1;
        for (size_t i = 0; i < n; i++) {
            jobs[i].next_ready = jobs[i].next_twin = jobs[i].refused_by = NONE;
        }
        pthread_mutex_init(&r->q.lock, NULL);
        pthread_cond_init(&r->q.changed, NULL);
        st = run_all(r, err);
        pthread_cond_destroy(&r->q.changed);
        pthread_mutex_destroy(&r->q.lock);
        cf_work__journal_close(&r->journal);
        for (size_t i = 0; i < n; i++) {
            cf_buf_deinit(&jobs[i].result);
            cf_free(jobs[i].err);
        }
    }
    cf_free(twin);
    cf_free(jobs);
    cf_free(r);
    return st;
}
