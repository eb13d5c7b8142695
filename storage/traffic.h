/*
 * traffic.h - requests of other programs and their answers, in the history.
 *
 * Place in the flow:  proxy, server --> [traffic] --> the list of exchanges,
 *                     `history raw`, replays.
 * Knows: bodies, headers, times, and the turns that came of them.  Does not
 * know: HTTP, the formats of bodies, what a finding means.
 *
 * An exchange is one HTTP request with its answer.  Its messages are turns of
 * a conversation like any other (store.h); the exchange keeps what turns
 * cannot: the exact bodies, headers, times.
 *
 * Threads:  as store.h: any.
 * Memory:   inputs are copied; results live in the arena given.
 */
#ifndef CF_STORAGE_TRAFFIC_H
#define CF_STORAGE_TRAFFIC_H

#include "core/base/decls.h"
#include "storage/store.h"

CF_BEGIN_DECLS

/* Absent numbers are -1, absent texts {NULL, 0}. */
typedef struct cf_exchange {
    cf_uuid id;
    cf_uuid conversation; /* nil: not a conversation */
    cf_uuid turn;         /* the reply, or the last message; nil: none */
    int64_t started_ms;
    int64_t first_us;    /* from the start to the first byte of the reply */
    int64_t total_us;    /* to its end; -1: it has not ended */
    cf_str client;       /* the program that asked */
    cf_str method, path; /* path without query */
    cf_str upstream;     /* address without credentials; empty: confab serve */
    cf_str api;          /* "openai-chat" ...; empty: not known */
    cf_str model;
    int64_t status;     /* of HTTP; -1: no answer yet */
    cf_str request_id;  /* X-Request-Id of the answer, or ours */
    cf_str response_id; /* of the answer's body */
    int64_t n_messages, n_prompt, n_cached, n_reply;
    int64_t n_written, n_thinking; /* of the prompt to a cache; of the reply */
    cf_str end;                    /* "stop", "length", "aborted" ... */
    cf_str note;                   /* what went wrong with the recording, or is worth knowing */
    cf_str findings;               /* JSON list of objects */
    cf_str request_headers, response_headers; /* JSON lists of [name, value] */
    cf_str request, response;                 /* exact bodies; not read by lists */
    int64_t request_bytes, response_bytes;
    const uint64_t *chunks; /* [n_chunks] pairs: bytes of the answer, and
                               microseconds since the start; not in lists */
    size_t n_chunks;
    cf_str request_hash, reply_hash;
} cf_exchange;

/* An exchange with every number absent. */
cf_exchange cf_exchange_none(void);

/* A beginning of a conversation: `hash` of its messages up to `turn`. */
typedef struct cf_exchange_key {
    cf_str hash;
    cf_uuid turn;
} cf_exchange_key;

/*
 * Stores an exchange, or replaces what is known of it; an empty request,
 * response or list of chunks leaves the stored one.  `tree` (may be NULL) is
 * stored with it as cf_store_put_trees() does, and the keys (turns of that
 * tree, or older ones) replace equal ones.  All or nothing, and kept: with a
 * disk that is full or locked it returns CF_EBUSY and waits in memory.
 */
CF_MUST_USE cf_status cf_store_put_exchange(cf_store *store, const cf_exchange *exchange,
                                            const cf_store_tree *tree, const cf_exchange_key *keys,
                                            size_t n_keys, cf_error *err);

/* Which exchanges; empty fields do not filter.  At most one of request_hash,
 * response_id and conversation counts, in this order. */
typedef struct cf_exchange_query {
    cf_uuid conversation;
    cf_str request_hash;
    cf_str response_id;
    cf_uuid before; /* only exchanges stored before this one; all, while it
                       is not stored */
    bool has_ended; /* only those with a status and an end */
    size_t limit;   /* the newest; 0: 1000 */
} cf_exchange_query;

/* rows[0..n), oldest first, without bodies and chunks. */
CF_MUST_USE cf_status cf_store_exchanges(cf_store *store, const cf_exchange_query *q,
                                         cf_arena *arena, const cf_exchange **rows, size_t *n,
                                         cf_error *err);

/* One with bodies and chunks.  CF_ENOTFOUND; CF_EFORMAT for a body that
 * cannot be inflated. */
CF_MUST_USE cf_status cf_store_get_exchange(cf_store *store, cf_uuid id, cf_arena *arena,
                                            cf_exchange *out, cf_error *err);

/* By UUID, or a beginning of one (4 characters or more).  CF_ENOTFOUND,
 * CF_EINVAL when several fit. */
CF_MUST_USE cf_status cf_store_find_exchange(cf_store *store, cf_str name, cf_uuid *out,
                                             cf_error *err);

/* The last of hashes[0..n) that is a key.  *at is its index, and n when none
 * is. */
CF_MUST_USE cf_status cf_store_find_key(cf_store *store, const cf_str *hashes, size_t n, size_t *at,
                                        cf_store_ref *where, cf_error *err);

CF_END_DECLS

#endif
