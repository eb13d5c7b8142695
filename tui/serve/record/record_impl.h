/*
 * record_impl.h - a record, as its queue and its storing share it.
 */
#ifndef CF_TUI_SERVE_RECORD_IMPL_H
#define CF_TUI_SERVE_RECORD_IMPL_H

#include <stdatomic.h>

#include "core/wire/wire.h"
#include "tui/serve/record/record.h"

/* What the recorder's thread knows of a record. */
typedef struct cf_record__kept {
    /* The request and the answer, each read once: the answer as it comes, as
     * far as it was shown, and the rest at its end. */
    bool has_request;
    cf_wire_request request;
    bool is_reading, is_unreadable;
    cf_wire_reader reader;
    size_t n_read;              /* bytes of the answer */
    int64_t first_us;           /* when the first of the reply came; -1: not yet */
    bool has_begun;             /* its request is stored */
    bool is_live;               /* its answer so far is in a file */
    cf_uuid conversation, turn; /* nil: none */
    char talk[65], all[65];     /* keys of the path to `turn` */
    size_t n_talk;
    int64_t n_messages;
    char model[128];
    char request_hash[65];
    cf_buf findings; /* JSON list */
    char note[CF_ERROR_TEXT_MAX];
} cf_record__kept;

struct cf_record {
    cf_recorder *recorder;
    cf_arena arena;
    size_t n_bytes; /* counted in the recorder */
    /* Fixed when it begins. */
    cf_uuid id;
    int64_t started_ms;
    uint64_t started_us;
    cf_str method, path, client, upstream;
    cf_api api;
    cf_buf request, request_headers;
    /* Filled while the answer comes. */
    unsigned status; /* 0: none */
    cf_str request_id, encoding;
    cf_buf response, response_headers;
    uint64_t *chunks; /* [n_chunks] bytes, microseconds ... */
    size_t n_chunks, cap_chunks;
    int64_t first_us, total_us;
    uint64_t live_us;             /* when it was last shown */
    size_t n_live, n_live_chunks; /* of the answer, shown so far */
    char note[CF_ERROR_TEXT_MAX]; /* of who answers, read after its end; "": none */
    cf_wire_usage usage;          /* where the answer does not say it */
    bool has_usage;
    atomic_bool has_ended;
    bool is_cut; /* the answer is longer than what is kept of it */
    cf_record_end how;
    cf_str why;
    struct cf_record__item *end; /* owned until it is queued */
    /* The recorder's thread alone. */
    cf_record__kept kept;
};

/* Bytes of an answer in the chunks that they came in. */
typedef struct cf_record__piece {
    cf_str bytes;
    const uint64_t *chunks; /* [n_chunks] bytes, microseconds ... */
    size_t n_chunks;
} cf_record__piece;

void cf_record__free(cf_record *x);
/* Counts what was read, for cf_recorder_work(). */
void cf_record__count(cf_recorder *r, size_t n_requests, size_t n_bytes);

/* The request of the exchange that was stored last, which is often the one
 * before the next; NULL for any other exchange. */
const cf_wire_request *cf_record__last_request(const cf_recorder *r, cf_uuid exchange);
/* Keeps it; takes the request. */
void cf_record__set_last_request(cf_recorder *r, cf_uuid exchange, cf_wire_request *request);
void cf_record__say(const cf_recorder *r, const char *line);

/* Store what is known; called on the recorder's thread.  A record that had
 * ended before its beginning was stored is stored at once by the latter. */
void cf_record__store_begin(const cf_recorder_options *o, cf_record *x);
void cf_record__store_end(const cf_recorder_options *o, cf_record *x);
/* Reads more of the answer, and shows it to programs that watch the history. */
void cf_record__show_live(const cf_recorder_options *o, cf_record *x, const cf_record__piece *more);

/* A body without its Content-Encoding: *out is `in` itself, or
 * made in `room`.  CF_EUNSUPPORTED for an encoding that is not known, CF_EFORMAT for
 * damage and, if it must be whole, for an end that is missing or followed by other
 * bytes; CF_ELIMIT for what expands too far. */
CF_MUST_USE cf_status cf_record__decode(cf_str *out, cf_buf *room, cf_str encoding, cf_str in,
                                        bool must_be_whole, cf_error *err);

#endif
