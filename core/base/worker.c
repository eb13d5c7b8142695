/*
 * worker.c - a thread, a slot for a job, and a ring of events under one lock.
 *
 * Always true:
 *   1. Every field but `cancel` is read and written under `lock`.
 *   2. `job` is set by cf_worker_start() and cleared by the thread after the
 *      job has returned; events are added only while it is set.
 *   3. 0 <= n_events <= RING; the oldest is at `first`.  No event is dropped:
 *      a job waits for room, unless the worker ends.
 *   4. is_ending never becomes false again.
 */
#include "core/base/worker.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os.h"

#ifdef CF_TIGHT
enum { RING = 2 };
#else
enum { RING = 1024 };
#endif

struct cf_worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t has_work; /* job, is_ending */
    pthread_cond_t has_room; /* n_events < RING, is_ending */
    pthread_cond_t has_news; /* n_events > 0, or no job any more */
    cf_job_fn job;
    void *ud;
    void *events[RING];
    size_t first, n_events;
    bool is_ending;
    int wake_fd;
    cf_cancel cancel; /* set here, read by the job between pieces of work */
};

static void *run(void *arg)
{
    cf_worker *w = arg;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->job == NULL && !w->is_ending) {
            pthread_cond_wait(&w->has_work, &w->lock);
        }
        if (w->job == NULL) {
            break;
        }
        cf_job_fn job = w->job;
        void *ud = w->ud;
        pthread_mutex_unlock(&w->lock);
        job(w, ud);
        pthread_mutex_lock(&w->lock);
        w->job = NULL;
        pthread_cond_broadcast(&w->has_news);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

cf_status cf_worker_new(cf_worker **out, cf_error *err)
{
    cf_worker *w = cf_calloc(1, sizeof *w);
    if (w == NULL) {
        return cf_oom_for(err, "the worker");
    }
    w->wake_fd = -1;
    atomic_init(&w->cancel, false);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->has_work, NULL);
    pthread_cond_init(&w->has_room, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->has_news, &attr);
    pthread_condattr_destroy(&attr);
    cf_status st = cf_os_thread(&w->thread, run, w, err);
    if (st != CF_OK) {
        cf_free(w);
        return st;
    }
    *out = w;
    return CF_OK;
}

void cf_worker_free(cf_worker *worker, void (*free_event)(void *event))
{
    if (worker == NULL) {
        return;
    }
    cf_worker_cancel(worker);
    pthread_mutex_lock(&worker->lock);
    worker->is_ending = true;
    pthread_cond_broadcast(&worker->has_work);
    pthread_cond_broadcast(&worker->has_room);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    for (size_t i = 0; free_event != NULL && i < worker->n_events; i++) {
        free_event(worker->events[(worker->first + i) % RING]);
    }
    pthread_cond_destroy(&worker->has_news);
    pthread_cond_destroy(&worker->has_room);
    pthread_cond_destroy(&worker->has_work);
    pthread_mutex_destroy(&worker->lock);
    cf_free(worker);
}

void cf_worker_wake_with(cf_worker *worker, int fd)
{
    pthread_mutex_lock(&worker->lock);
    worker->wake_fd = fd;
    pthread_mutex_unlock(&worker->lock);
}

cf_status cf_worker_start(cf_worker *worker, cf_job_fn fn, void *ud, cf_error *err)
{
    cf_status st = CF_OK;
    pthread_mutex_lock(&worker->lock);
    if (worker->job != NULL) {
        st = cf_fail(err, CF_EBUSY, "still at work; Esc stops it");
    } else {
        atomic_store_explicit(&worker->cancel, false, memory_order_relaxed);
        worker->job = fn;
        worker->ud = ud;
        pthread_cond_signal(&worker->has_work);
    }
    pthread_mutex_unlock(&worker->lock);
    return st;
}

bool cf_worker_is_busy(cf_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    bool is_busy = worker->job != NULL;
    pthread_mutex_unlock(&worker->lock);
    return is_busy;
}

void cf_worker_cancel(cf_worker *worker)
{
    atomic_store_explicit(&worker->cancel, true, memory_order_relaxed);
}

cf_cancel *cf_worker_cancel_flag(cf_worker *worker)
{
    return &worker->cancel;
}

static void wake(int fd)
{
    if (fd >= 0) {
        ssize_t n = write(fd, "e", 1);
        (void)n; /* a full pipe wakes as well */
    }
}

void cf_worker_nudge(cf_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    int fd = worker->wake_fd;
    pthread_mutex_unlock(&worker->lock);
    wake(fd);
}

void cf_worker_post(cf_worker *worker, void *event)
{
    pthread_mutex_lock(&worker->lock);
    while (worker->n_events == RING && !worker->is_ending) {
        pthread_cond_wait(&worker->has_room, &worker->lock);
    }
    if (worker->n_events < RING) {
        worker->events[(worker->first + worker->n_events) % RING] = event;
        worker->n_events++;
        event = NULL;
    }
    int fd = worker->wake_fd;
    pthread_cond_broadcast(&worker->has_news);
    pthread_mutex_unlock(&worker->lock);
    cf_free(event); /* only when ending with a full queue: it is not read any more */
    wake(fd);
}

void *cf_worker_take(cf_worker *worker)
{
    void *event = NULL;
    pthread_mutex_lock(&worker->lock);
    if (worker->n_events > 0) {
        event = worker->events[worker->first];
        worker->first = (worker->first + 1) % RING;
        worker->n_events--;
        pthread_cond_signal(&worker->has_room);
    }
    pthread_mutex_unlock(&worker->lock);
    return event;
}

void cf_worker_wait(cf_worker *worker)
{
    (void)cf_worker_wait_for(worker, UINT32_MAX);
}

bool cf_worker_wait_for(cf_worker *worker, uint32_t timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + (uint64_t)timeout_ms * 1000000;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    int late = 0;
    pthread_mutex_lock(&worker->lock);
    while (worker->n_events == 0 && worker->job != NULL && late == 0) {
        late = timeout_ms == UINT32_MAX
                   ? pthread_cond_wait(&worker->has_news, &worker->lock)
                   : pthread_cond_timedwait(&worker->has_news, &worker->lock, &until);
    }
    bool has_news = worker->n_events > 0 || worker->job == NULL;
    pthread_mutex_unlock(&worker->lock);
    return has_news;
}
