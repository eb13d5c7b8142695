/*
 * keep_reply.h - writes a reply to the history while it streams.
 *
 * Flow:  cf_keep_reply_begin() before the send, with the reply's UUID;
 *        cf_keep_reply_event() for every event of the send (only the first
 *        one waits for the disk); cf_keep_reply_end() with what came of it.
 *        A program that is killed in between leaves a turn marked interrupted
 *        with what there was of it.
 *
 * The prompt is the one that the send reports: nothing is rendered here.  So the
 * turn of a built-in engine goes into the store when its prompt is known, and
 * those of other engines before they are asked.
 *
 * Kept is all that is needed to run the turn again: model and template by
 * hash, tools, variables, every sampler option and the seed, the prompt's
 * tokens, context and cache, which tokens were given or forced.
 *
 * Threads:  all three on one thread, the one that sends.
 */
#ifndef CF_TUI_LAB_REPLY_KEEP_REPLY_H
#define CF_TUI_LAB_REPLY_KEEP_REPLY_H

#include "core/api/conversation.h"
#include "storage/store.h"
#include "tui/lab/reply/run_options.h"

/* Who answers; everything borrowed. */
typedef struct cf_keep_engine {
    cf_backend *backend;
    const cf_engine *engine;   /* NULL: not the built-in core */
    const char *template_name; /* where the source comes from */
    cf_str template_source;    /* empty: no template */
} cf_keep_engine;

/* The send; everything borrowed until the end. */
typedef struct cf_keep_start {
    cf_uuid conversation; /* in the store, as is the parent */
    cf_uuid parent;
    const cf_send *send; /* has reply_id and the parent, and no message */
    cf_uuid fork_of;     /* nil: no fork */
    int64_t fork_token;  /* -1: no fork */
    cf_str constraint;   /* JSON, run.constraint_spec; empty: none */
} cf_keep_start;

enum { CF_KEEP_CALLS_MAX = 32 }; /* calls of one reply; more are not listed */

typedef struct cf_keep_reply {
    bool is_on, is_tried; /* begun and not ended; the store was asked */
    cf_store *store;
    cf_keep_engine engine;
    cf_keep_start start;
    const cf_conversation *conv;
    cf_error why;      /* the store's refusal */
    cf_stream *stream; /* NULL: nothing is being kept */
    const cf_tokenizer *tok;
    cf_run_options options; /* its lists live in the arena */
    cf_buf forced;          /* uint32_t: indices of forced ids */
    cf_buf held;            /* uint32_t: stretches the constraint took */
    cf_buf drafted;         /* likewise: stretches that were drafted */
    size_t n_ids;           /* ids of the reply so far */
    uint64_t last_us;
    cf_store_call call[CF_KEEP_CALLS_MAX]; /* texts in the arena */
    size_t n_calls;
    cf_arena arena;
} cf_keep_reply;

/* A failure leaves nothing to do: event and end may be called.  `k` is
 * zeroed or ended before; what the arguments point to stays until the end. */
CF_MUST_USE cf_status cf_keep_reply_begin(cf_keep_reply *k, cf_store *store,
                                          const cf_keep_engine *engine, const cf_conversation *conv,
                                          const cf_keep_start *start, cf_error *err);

void cf_keep_reply_event(cf_keep_reply *k, const cf_chat_event *event);

/* Completes the turn; a kept write that waits in memory is CF_OK.  A failure
 * may be one of the first event. */
CF_MUST_USE cf_status cf_keep_reply_end(cf_keep_reply *k, const cf_conversation *conv,
                                        const cf_sent *sent, cf_error *err);

/* Stores a finished turn (the user's message, a tool's result). */
CF_MUST_USE cf_status cf_keep_turn(cf_store *store, cf_uuid conversation, const cf_turn *turn,
                                   cf_error *err);

/* The same for a turn that is a copy of the stored turn `from` (nil: of none):
 * with its run and calls. */
CF_MUST_USE cf_status cf_keep_copy(cf_store *store, cf_uuid conversation, const cf_turn *turn,
                                   cf_uuid from, cf_error *err);

/* For a caller that goes on after a failed write (`st` and `err` are its
 * results): the store counts it as lost, so that the screen and the exit
 * status report it.  CF_EBUSY is kept in memory and not lost. */
void cf_keep_note(cf_store *store, cf_status st, const cf_error *err);

#endif
