/*
 * task.h - long work on a thread of its own, one piece at a time: it runs
 * there, hands items over, and ends on the interface thread.  Sends,
 * comparisons, readings of the history and lints are all tasks.
 *
 * Place in the flow:  interface --> start --> run() on the thread --> items
 * --> poll on the interface thread --> take(), end(), drop().
 * Knows: the worker.  Does not know: what a task does.
 *
 * Threads:  everything but cf_runner_tell() and cf_runner_cancel_flag() on
 *           the interface thread.
 * Memory:   an item belongs to the task from take() on; the runner frees with
 *           free_item() what memory does not suffice to hand over.
 */
#ifndef CF_CORE_BASE_TASK_H
#define CF_CORE_BASE_TASK_H

#include "core/base/buf.h"
#include "core/base/worker.h"

typedef struct cf_runner cf_runner;

typedef struct cf_task {
    const char *name; /* "comparing"; constant */
    /* On the task's thread. */
    cf_status (*run)(void *ud, cf_runner *runner, cf_error *err);
    /* On the interface thread: what run() handed over, in order (NULL: it
     * hands nothing over); then the end, once. */
    void (*take)(void *ud, void *item);
    void (*end)(void *ud, cf_status status, const cf_error *err);
    /* Frees `ud` after end(), or when the task cannot start; NULL: it is not
     * the task's. */
    void (*drop)(void *ud);
    /* Appends "3 of 12"; may be NULL. */
    void (*progress)(const void *ud, cf_buf *out);
    void (*free_item)(void *item);
    void *ud;
    bool gives_way; /* stopped when a reply or another task is to begin */
} cf_task;

/* A thread with its task. */
struct cf_runner {
    cf_worker *worker; /* NULL until it is needed */
    int wake_fd;       /* -1: none */
    bool is_on;        /* from start until end() begins */
    uint64_t n_started;
    cf_task task;
    struct cf_task_event *end; /* made before the start, posted at the end */
};

void cf_runner_init(cf_runner *r);
/* Stops what runs, its end() included, and ends the thread. */
void cf_runner_deinit(cf_runner *r);

/* Makes the thread, if there is none yet. */
CF_MUST_USE cf_status cf_runner_need_thread(cf_runner *r, cf_error *err);
/* A descriptor that gets a byte when there is something to poll. */
void cf_runner_wake_with(cf_runner *r, int fd);

/* CF_EBUSY "still comparing" while a task runs; CF_ENOMEM, CF_EIO. */
CF_MUST_USE cf_status cf_runner_start(cf_runner *r, const cf_task *task, cf_error *err);

/* From run(): hands an item over, waiting while the queue is full. */
void cf_runner_tell(cf_runner *r, void *item);
/* The thread must exist. */
cf_cancel *cf_runner_cancel_flag(cf_runner *r);

/* Takes items and the end; true when there was something.  A failure other
 * than CF_ECANCELLED is put into *err where that holds none. */
bool cf_runner_poll(cf_runner *r, cf_error *err);

/* Waits until there is something to poll. */
void cf_runner_wait(cf_runner *r);
/* Cancels the task that runs, if any, and waits for its end(). */
void cf_runner_stop(cf_runner *r);
/* The same without cancelling it. */
void cf_runner_finish(cf_runner *r);

#endif
