/*
 * record.h - stores requests and their answers, as exchanges, in the history.
 *
 * Place in the flow:  proxy, server --> [record] --> conversations, exchanges,
 *                     findings.
 * Knows: the history, formats of bodies, what is secret in headers.  Does not
 * know: HTTP, who answers.
 *
 * Traffic never waits for a record: bytes are copied into memory, and a thread
 * of the recorder reads and stores them.  Where memory or the disk fails, the
 * record is lost and the reason is reported once; the traffic continues.
 *
 * Threads:  a record belongs to the thread that began it until it has ended;
 *           begin and end may be called from any thread.
 * Memory:   a recorder holds at most CF_RECORD_WAITING_MAX bytes.
 */
#ifndef CF_TUI_SERVE_RECORD_H
#define CF_TUI_SERVE_RECORD_H

#include "core/json/json.h"
#include "core/net/http_server.h"
#include "storage/traffic.h"
#include "tui/serve/record/findings.h"

enum {
    CF_RECORD_WAITING_MAX = 512 << 20, /* bytes of all records */
    CF_RECORD_BODY_MAX = 48 << 20      /* bytes of one answer */
};

typedef struct cf_recorder cf_recorder;
typedef struct cf_record cf_record;

typedef struct cf_recorder_options {
    cf_store *store;
    const cf_finder *finder; /* NULL: no findings that need a template */
    /* Reports one line about the recording; called on any thread. */
    void (*say)(void *ud, const char *line);
    /* An exchange has ended and is stored; on the recorder's thread. */
    void (*stored)(void *ud, const cf_exchange *exchange);
    void *ud;
} cf_recorder_options;

CF_MUST_USE cf_status cf_recorder_new(cf_recorder **out, const cf_recorder_options *options,
                                      cf_error *err);
/* Stores the exchanges that have ended, and stops the thread. */
void cf_recorder_free(cf_recorder *r);

/* What the recorder's thread has read so far: requests, and bytes of answers. */
typedef struct cf_recorder_work_done {
    uint64_t n_requests, n_bytes;
} cf_recorder_work_done;
cf_recorder_work_done cf_recorder_work(cf_recorder *r);

/* Begins the record of a request.  `upstream` is shown as it is.  NULL when it
 * is not recorded, which every other function accepts. */
cf_record *cf_record_begin(cf_recorder *r, const cf_http_request *request, cf_str body,
                           const char *upstream);
cf_uuid cf_record_id(const cf_record *x); /* nil for NULL */

/* The answer's status and headers. */
void cf_record_head(cf_record *x, unsigned status, const cf_http_header *headers, size_t n);
/* More bytes of the answer, as they were passed on. */
void cf_record_bytes(cf_record *x, const char *p, size_t n);

/* The usage of an answer that may not report it itself. */
void cf_record_usage(cf_record *x, uint64_t n_prompt, uint64_t n_cached, uint64_t n_reply);

/* What is worth knowing about the exchange, one line. */
void cf_record_note(cf_record *x, const char *line);

/* How the exchange ended. */
typedef enum cf_record_end {
    CF_RECORD_WHOLE,  /* the answer is out */
    CF_RECORD_LEFT,   /* the client disconnected before its end */
    CF_RECORD_BROKEN, /* the server broke off */
    CF_RECORD_FAILED  /* the server could not be reached */
} cf_record_end;

/* Hands the record to the recorder; the caller must not use it again.  `why` may be NULL. */
void cf_record_end_with(cf_record *x, cf_record_end how, const char *why);

/* The hash of a request: equal ones have the same method, path and body.
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_record_hash(char out[65], cf_str method, cf_str path, cf_str body,
                                     cf_error *err);

#endif
