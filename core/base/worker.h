/*
 * worker.h - a thread that runs one long job at a time and reports through a
 * bounded queue, so that its owner never waits.
 *
 * Place in the flow:  owner --> start --> [worker] job --> events --> owner.
 * Knows: threads, a pipe to wake the owner.  Does not know: what a job does.
 *
 * A job runs on the worker's thread with a cancel flag.  It posts events (any
 * heap objects), which the owner takes and frees.  When the queue is full the
 * job waits, so nothing is dropped.  cf_worker_is_busy() turns false only after
 * the job has returned.
 *
 * Threads:  shared: start, cancel, take and join on the owner's thread; post
 *           on the worker's.
 * Memory:   events belong to whoever takes them; a queue of fixed size.
 */
#ifndef CF_CORE_BASE_WORKER_H
#define CF_CORE_BASE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/cancel.h"
#include "core/base/status.h"

typedef struct cf_worker cf_worker;

/* Runs on the worker's thread. */
typedef void (*cf_job_fn)(cf_worker *worker, void *ud);

/* Starts the thread.  CF_ENOMEM, CF_EIO. */
CF_MUST_USE cf_status cf_worker_new(cf_worker **out, cf_error *err);

/* Cancels what runs, waits for it, and frees what was not taken with
 * `free_event` (may be NULL). */
void cf_worker_free(cf_worker *worker, void (*free_event)(void *event));

/* A descriptor that gets a byte when there is an event; -1: none. */
void cf_worker_wake_with(cf_worker *worker, int fd);

/* CF_EBUSY while a job runs. */
CF_MUST_USE cf_status cf_worker_start(cf_worker *worker, cf_job_fn fn, void *ud, cf_error *err);

bool cf_worker_is_busy(cf_worker *worker);

/* Asks the job to stop; the flag is cleared when the next one starts. */
void cf_worker_cancel(cf_worker *worker);
cf_cancel *cf_worker_cancel_flag(cf_worker *worker);

/* From the job: hands an event over, waiting while the queue is full. */
void cf_worker_post(cf_worker *worker, void *event);

/* The oldest event, now the caller's; NULL when there is none. */
void *cf_worker_take(cf_worker *worker);

/* Wakes the owner without an event.  Any thread. */
void cf_worker_nudge(cf_worker *worker);

/* Waits until there is an event or no job runs; or for no longer than
 * `timeout_ms` (UINT32_MAX: without end), and says whether it is so. */
void cf_worker_wait(cf_worker *worker);
bool cf_worker_wait_for(cf_worker *worker, uint32_t timeout_ms);

#endif
