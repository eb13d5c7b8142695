/*
 * lab_reply.h - all that is known of one reply, in one record: events append to
 * it while it streams, the history's reader fills it, views read it.
 *
 * Place in the flow:  sampler --> cf_chat_event --> [reply] --> views, token
 * studies, comparisons; stored run --> [reply].
 * Knows: events, runs of the history, vocabularies.  Does not know: threads,
 * screens, conversations.
 *
 * Threads:  one thread at a time; a copied event may cross threads.
 * Memory:   a reply owns all that it points to.
 */
#ifndef CF_TUI_LAB_REPLY_LAB_REPLY_H
#define CF_TUI_LAB_REPLY_LAB_REPLY_H

#include "core/api/backend.h"
#include "core/base/uuid.h"
#include "storage/store.h"
#include "storage/trace.h"

typedef struct cf_lab_rule cf_lab_rule;

typedef struct cf_reply {
    cf_uuid turn;
    cf_lab_rule *rule;    /* held; what constrained it; NULL: nothing */
    cf_token *prompt_ids; /* [n_prompt_ids] */
    size_t n_prompt_ids;
    cf_chat_token *token; /* [n_token]; raw_off is an offset in `raw` */
    size_t n_token, cap_token;
    size_t n_start;       /* tokens it was given, not sampled */
    size_t start_content; /* bytes at the end of theirs that are content, which
                             a constraint sees, and not thinking */
    cf_buf raw;           /* every byte, delimiters included */
    cf_buf chunks;        /* uint32_t lengths of the pieces in which raw came; empty
                      when that is not known */
    cf_usage usage;
    cf_timings timings;
    cf_stop stop;
    cf_sync_result sync;
    char cause[240];    /* why the cache was lost; "" when it was not */
    uint32_t lost_line; /* of the template, which wrote what differs; 0: not known */
    bool found_other;   /* the cache held another conversation */
    char sampler[160];
    char model[64], template_name[64]; /* that it was written with; "" where that is not known */
    char drawn[80];                    /* the settings of its sampler, as short words */
    bool is_foreign;       /* its tokens are of another model's vocabulary than the one at hand */
    cf_trace_writer steps; /* names of the chain's steps, where the draws came
                              from the history */
    uint32_t n_calls;
    cf_buf notes;    /* lines for the user about the request and its end */
    cf_buf facts;    /* what a server reports of its answer: model, fingerprint,
                     id; one line */
    cf_buf adapters; /* "FILE x SCALE, ..." that it was computed with; empty:
                        none */

    /* While it is written. */
    bool is_live;
    cf_uuid parent;               /* the turn it answers */
    cf_buf text, thinking, calls; /* as parsed so far */
    uint64_t n_done, n_total;     /* prefill, in tokens */
    char encoding[48];            /* "image 1, layer 3 of 27", being encoded; "" when
                          nothing is */
    uint64_t start_us, first_us;  /* monotonic; first_us 0: no token yet */
    char failure[200];            /* why it came to nothing; "" when it did not */
    cf_status failure_code;

    size_t n_placed; /* bytes of the tokens so far, for the next raw_off */
    bool is_partial; /* memory ran out for a token, its draw or the prompt */
} cf_reply;

/* Begins a live reply to `parent`. */
void cf_reply_begin(cf_reply *reply, cf_uuid parent);
void cf_reply_deinit(cf_reply *reply);

/* A copy of an event in one block, for another thread; to be freed with
 * cf_free().  Of a prompt it has only what the reply starts with; calls are
 * left out.  NULL when memory runs out. */
cf_chat_event *cf_reply_copy_event(const cf_chat_event *event);

/* Appends an event.  `tok` is the vocabulary (NULL: the engine hides it).
 * Where memory runs out the reply is shown without that token. */
void cf_reply_add(cf_reply *reply, const cf_tokenizer *tok, const cf_chat_event *event);

/* Takes bytes, ids and figures from the response at its end. */
void cf_reply_finish(cf_reply *reply, const cf_tokenizer *tok, cf_chat_response *response);

/* Fills an empty reply from a stored run. */
void cf_reply_load(cf_reply *reply, const cf_tokenizer *tok, const cf_store_run *run);

/* A text as a model reads it: the tokens and what it would have drawn. */
typedef struct cf_reply_read {
    const cf_token *prompt_ids; /* [n_prompt_ids] */
    size_t n_prompt_ids;
    const cf_token *ids; /* [n] of the reply */
    const cf_draw *draw; /* [n] */
    size_t n;
    cf_str text;
} cf_reply_read;

/* Gives a reply these tokens in place of its own; usage and timings stay. */
void cf_reply_take_read(cf_reply *reply, const cf_tokenizer *tok, const cf_reply_read *read);

/* Bytes of token i in the raw reply. */
cf_str cf_reply_token_text(const cf_reply *reply, size_t i);

/* "schema weather.json": what constrained it; "" for nothing. */
const char *cf_reply_constraint(const cf_reply *reply);

/* Tokens per second while decoding; 0 for fewer than n_least of them, too few
 * to measure. */
double cf_decode_rate(const cf_timings *t, uint32_t n_least);

#endif
