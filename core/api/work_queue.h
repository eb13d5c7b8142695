/*
 * work_queue.h - many jobs over several servers: a queue with retries, pauses
 * that a server asks for, and a journal that a later run resumes from.
 *
 * Place in the flow:  keys of jobs --> [work queue] --> a try on a thread, at
 *                     one place --> results, each once, on the caller's
 *                     thread.
 * Knows: keys, places as numbers, results as JSON text.  Does not know: what
 * a job is, backends, conversations.
 *
 * A place is one server's address, or anything else that jobs take turns at.
 * A place whose tries fail as "lost" three times in a row is given up; its
 * jobs go to the others.  A place that asks to wait (Retry-After) gets no job
 * until then; the others continue.
 *
 * Threads:  cf_work_run() starts its workers and joins them.  `try_fn` runs
 *           on a worker, one call at a time for each worker; `done_fn` runs on
 *           the thread that called cf_work_run().
 * Memory:   options and keys are borrowed for the call; what a callback gets
 *           is borrowed until it returns.
 */
#ifndef CF_CORE_API_WORK_QUEUE_H
#define CF_CORE_API_WORK_QUEUE_H

#include "core/api/session.h"
#include "core/base/buf.h"
#include "core/base/decls.h"

CF_BEGIN_DECLS

enum {
    CF_WORK_WORKERS_MAX = 256,
    CF_WORK_PLACES_MAX = 64,
    CF_WORK_WAIT_MAX_S = 3600 /* a longer Retry-After gives the place up */
};

/* How to continue after a failed attempt. */
typedef enum cf_work_again {
    CF_WORK_NEVER, /* the job has failed */
    CF_WORK_RETRY, /* the same may succeed later, after retry_after_s */
    CF_WORK_LOST   /* the place does not answer: elsewhere, if there is one */
} cf_work_again;

/* One try at a job. */
typedef struct cf_work_try {
    size_t job;             /* index into the keys */
    size_t place;           /* below n_places */
    size_t worker;          /* below n_workers: for what each worker owns */
    unsigned n_before;      /* tries of this job that failed */
    cf_cancel *cancel;      /* of the options; may be NULL */
    cf_buf *result;         /* to be filled with one JSON value on success */
    cf_work_again again;    /* to be set where the try fails */
    uint32_t retry_after_s; /* likewise; 0: the queue's own pause */
} cf_work_try;

typedef cf_status (*cf_work_try_fn)(void *ud, cf_work_try *t, cf_error *err);

/* A job's end. */
typedef struct cf_work_end {
    size_t job;
    cf_str result;    /* JSON text; empty after a failure */
    cf_status status; /* CF_OK, or why the last try failed */
    const cf_error *err;
    unsigned n_tries;
    bool is_resumed; /* the result is the journal's; nothing was computed */
} cf_work_end;

/* A failure ends the run like a cancel, and is returned. */
typedef cf_status (*cf_work_done_fn)(void *ud, const cf_work_end *end, cf_error *err);

typedef struct cf_work_options {
    size_t n_places;     /* 0: 1 */
    size_t n_workers;    /* at one time, over all places; 0: one a place.  Worker
                         w serves place w % n_places, and the next one when
                         that is given up. */
    unsigned n_tries;    /* of a job; 0: 6 */
    uint32_t backoff_ms; /* first pause, doubled each time; 0: 500 */
    const char *journal; /* file of finished jobs; NULL: none */
    cf_cancel *cancel;   /* may be NULL */
} cf_work_options;

/*
 * Does the jobs with keys[0..n), and calls done_fn once for each: first those
 * that the journal has, in the order of the keys, then the others as they
 * finish.  A result is in the journal, on disk, before done_fn sees it; jobs
 * that failed are not there, and are tried again by the next run.  Keys say
 * everything that a result depends on, and equal keys are one job, computed
 * once.
 *
 * The journal is a text file of lines {"key": KEY, "result": VALUE}.  A last
 * line that a crash cut short is removed.
 *
 * CF_OK also when jobs failed.  CF_ECANCELLED; CF_EBUSY while another process
 * has the journal; CF_EFORMAT for a journal that is not one; CF_EIO;
 * CF_ENOMEM; what done_fn returned.  In every case the workers have ended.
 */
CF_MUST_USE cf_status cf_work_run(const cf_work_options *options, const cf_str *keys, size_t n,
                                  cf_work_try_fn try_fn, cf_work_done_fn done_fn, void *ud,
                                  cf_error *err);

CF_END_DECLS

#endif
