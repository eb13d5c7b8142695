/*
 * sse.h - server-sent events (the HTML standard's text/event-stream) out of
 * bytes in any chunks.
 *
 * Place in the flow:  bytes of an answer --> [sse] --> the data of each event.
 * Knows: lines, "data", "id" and "retry" fields.  Does not know: what the data
 * means; names of events, which are in the data, too.
 *
 * Threads:  one thread at a time.
 * Memory:   holds the event that has not ended, at most CF_SSE_EVENT_MAX.
 */
#ifndef CF_CORE_NET_SSE_H
#define CF_CORE_NET_SSE_H

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/base/str.h"

enum { CF_SSE_EVENT_MAX = 16 << 20 }; /* bytes of one event */

typedef struct cf_sse {
    cf_buf line;      /* not ended yet */
    cf_buf data;      /* of the event so far, a newline after each line */
    cf_buf id;        /* of the last event that had one: where to continue */
    int64_t retry_ms; /* how long to wait before reconnecting; -1: unknown */
    bool after_cr;
} cf_sse;

void cf_sse_init(cf_sse *s);
void cf_sse_deinit(cf_sse *s);

/* Called for each event with its data; a status other than CF_OK stops. */
typedef cf_status (*cf_sse_fn)(cf_str data, void *ud, cf_error *err);

/* CF_ELIMIT for an event over the limit, CF_ENOMEM, or what fn returned. */
CF_MUST_USE cf_status cf_sse_feed(cf_sse *s, const char *p, size_t n, cf_sse_fn fn, void *ud,
                                  cf_error *err);

#endif
