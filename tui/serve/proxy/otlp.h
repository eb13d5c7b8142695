/*
 * otlp.h - takes traces of programs that tell of their requests themselves
 * (OTLP over HTTP, in JSON) and keeps them in a file of sessions.
 *
 * Place in the flow:  program --> http server --> [otlp] --> a file, a line a
 *                     request --> storage/trail.
 * Knows: the paths and answers of OTLP.  Does not know: what a span means.
 *
 * Threads:  any; the file is guarded.
 * Memory:   nothing of a request stays.
 */
#ifndef CF_TUI_SERVE_OTLP_H
#define CF_TUI_SERVE_OTLP_H

#include "core/net/http_server.h"

/* What came of a request. */
typedef struct cf_otlp_taken {
    size_t n_sessions, n_steps;
    cf_str title;    /* of the first session */
    const char *why; /* nothing was kept; NULL: it was */
} cf_otlp_taken;

typedef struct cf_otlp_options {
    const char *path; /* of the file, borrowed; made with mode 0600 */
    /* Called for each request; on any thread.  May be NULL. */
    void (*told)(void *ud, const cf_otlp_taken *taken);
    void *ud;
} cf_otlp_options;

typedef struct cf_otlp cf_otlp;

CF_MUST_USE cf_status cf_otlp_new(cf_otlp **out, const cf_otlp_options *options, cf_error *err);
void cf_otlp_free(cf_otlp *o);
cf_http_handler cf_otlp_handler(cf_otlp *o);

#endif
