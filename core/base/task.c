/*
 * task.c - one task at a time over a worker.
 *
 * Always true:
 *   1. `end` is made before the task starts, so a task that runs can always
 *      end; it is the last event of its task.
 *   2. While is_on, `task` does not change: the thread reads it.
 *   3. end() is called with is_on false and the thread idle, so it may start
 *      the next task.
 *   4. drop() is called exactly once for every task that was given to
 *      cf_runner_start().
 */
#include "core/base/task.h"

#include "core/base/alloc.h"

typedef struct cf_task_event {
    bool is_end;
    void *item;
    cf_status status; /* of the end */
    cf_error err;
} task_event;

void cf_runner_init(cf_runner *r)
{
    *r = (cf_runner){.wake_fd = -1};
}

void cf_runner_deinit(cf_runner *r)
{
    while (r->is_on) {
        cf_runner_stop(r);
    }
    cf_worker_free(r->worker, NULL);
    r->worker = NULL;
}

cf_status cf_runner_need_thread(cf_runner *r, cf_error *err)
{
    if (r->worker == NULL) {
        CF_TRY(cf_worker_new(&r->worker, err));
        cf_worker_wake_with(r->worker, r->wake_fd);
    }
    return CF_OK;
}

void cf_runner_wake_with(cf_runner *r, int fd)
{
    r->wake_fd = fd;
    if (r->worker != NULL) {
        cf_worker_wake_with(r->worker, fd);
    }
}

static void run(cf_worker *worker, void *ud)
{
    cf_runner *r = ud;
    task_event *end = r->end;
    r->end = NULL;
    end->status = r->task.run(r->task.ud, r, &end->err);
    cf_worker_post(worker, end);
}

static cf_status begin(cf_runner *r, const cf_task *task, cf_error *err)
{
    if (r->is_on) {
        return cf_fail(err, CF_EBUSY, "still %s", r->task.name);
    }
    CF_TRY(cf_runner_need_thread(r, err));
    r->end = cf_calloc(1, sizeof *r->end);
    if (r->end == NULL) {
        return cf_oom(err);
    }
    r->end->is_end = true;
    r->task = *task;
    r->n_started++;
    r->is_on = true;
    cf_status st = cf_worker_start(r->worker, run, r, err);
    if (st != CF_OK) {
        r->is_on = false;
        cf_free(r->end);
        r->end = NULL;
    }
    return st;
}

cf_status cf_runner_start(cf_runner *r, const cf_task *task, cf_error *err)
{
    cf_status st = begin(r, task, err);
    if (st != CF_OK && task->drop != NULL) {
        task->drop(task->ud);
    }
    return st;
}

void cf_runner_tell(cf_runner *r, void *item)
{
    task_event *event = cf_calloc(1, sizeof *event);
    if (event == NULL) {
        r->task.free_item(item);
        return;
    }
    event->item = item;
    cf_worker_post(r->worker, event);
}

cf_cancel *cf_runner_cancel_flag(cf_runner *r)
{
    return cf_worker_cancel_flag(r->worker);
}

static void end_task(cf_runner *r, const task_event *end, cf_error *err)
{
    const cf_task task = r->task;
    while (cf_worker_is_busy(r->worker)) {
        cf_worker_wait(r->worker); /* it is about to return */
    }
    r->is_on = false;
    if (end->status != CF_OK && end->status != CF_ECANCELLED && err->code == CF_OK) {
        *err = end->err;
        err->code = end->status;
    }
    task.end(task.ud, end->status, &end->err);
    if (task.drop != NULL) {
        task.drop(task.ud);
    }
}

bool cf_runner_poll(cf_runner *r, cf_error *err)
{
    bool has_changed = false;
    task_event *event;
    while (r->is_on && (event = cf_worker_take(r->worker)) != NULL) {
        has_changed = true;
        if (event->is_end) {
            end_task(r, event, err);
        } else {
            r->task.take(r->task.ud, event->item);
        }
        cf_free(event);
    }
    return has_changed;
}

void cf_runner_wait(cf_runner *r)
{
    if (r->is_on) {
        cf_worker_wait(r->worker);
    }
}

/* Waits for the end() of the task that runs now; not of one that it starts. */
static void await(cf_runner *r, bool cancels)
{
    uint64_t which = r->n_started;
    while (r->is_on && r->n_started == which) {
        cf_error ignored = {0}; /* end() gets it */
        if (cancels) {
            cf_worker_cancel(r->worker);
        }
        cf_runner_wait(r);
        (void)cf_runner_poll(r, &ignored);
    }
}

void cf_runner_stop(cf_runner *r)
{
    await(r, true);
}

void cf_runner_finish(cf_runner *r)
{
    await(r, false);
}
