/*
 * trail_talk.h - requests that send all of their history again.
 *
 * Invariants:
 * 1. An agent's history is what its last request sent and was answered.
 * 2. A request that begins with the whole history adds to it; any other one
 *    is a compaction, and the history is what it sent.
 * 3. Reasoning does not count for sameness.
 *
 * Threads:  one thread at a time.
 * Memory:   a talk ends with the reader, a request with trail_request_end().
 */
#ifndef CF_STORAGE_TRAIL_TRAIL_TALK_H
#define CF_STORAGE_TRAIL_TRAIL_TALK_H

#include "storage/trail/trail_build.h"

/* An agent's history. */
typedef struct trail_talk {
    trail_lane *lane;
    cf_trail_message **v; /* [n] */
    size_t n;
} trail_talk;

/* A request while its input is compared with the history. */
typedef struct trail_request {
    trail_reader *r;
    trail_talk *talk;
    size_t n_common; /* how much of the history it begins with */
    struct trail_sent {
        cf_trail_message *m;
        bool is_new;
    } * rest; /* [n_rest], what it sent after that */
    size_t n_rest;
    cf_trail_message **bare; /* [n_bare], replies that lost their reasoning */
    size_t n_bare;
    trail_index places; /* keys of messages -> places in the history */
    cf_arena arena;
} trail_request;

/* The next message that was sent.  One that is in the history is given back to
 * the trail's arena from `mark` on (NULL: it is the caller's).  False: it is
 * not new. */
bool trail_send(trail_request *q, cf_trail_message *m, const cf_arena_mark *mark);
/* Puts what was sent anew; the history is then what was sent. */
void trail_request_put(trail_request *q);
/* The request's step, with what came back without its reasoning; the reply
 * (NULL: none) goes into the history. */
cf_trail_step *trail_request_step(trail_request *q, cf_trail_message *reply);
void trail_request_end(trail_request *q);

#endif
