/*
 * diff_replies.h - what a model answers to two prompts, or with two sets of
 * adapters: two replies, written side by side in one pass over the weights.
 *
 * Both are drawn with the same seed, so that what differs comes from the
 * prompts and the adapters.
 *
 * Threads:  one.
 * Memory:   cf_diff_replies owns its parts until close; texts of replies live
 *           in the arena of the call.
 */
#ifndef CF_TUI_CLI_INSPECT_DIFF_REPLIES_H
#define CF_TUI_CLI_INSPECT_DIFF_REPLIES_H

#include "templates/open.h"
#include "templates/template_diff.h"

typedef struct cf_diff_replies_options {
    uint32_t max_tokens;
    float temperature; /* 0: the likeliest token each time */
    uint64_t seed;
    uint32_t n_ctx;             /* 0: the model's */
    const char *const *lora[2]; /* [n_lora[i]] adapters of each side */
    size_t n_lora[2];
} cf_diff_replies_options;

typedef struct cf_diff_replies {
    cf_diff_replies_options o;
    cf_engine *engine; /* the caller's */
    cf_opened_adapters adapters[2];
    cf_session *session[2];
} cf_diff_replies;

/* One side's reply. */
typedef struct cf_diff_reply {
    cf_prompt text; /* the bytes of its tokens, without the one that ends it */
    cf_token_list tokens;
    bool is_cut; /* it reached max_tokens or the end of the context */
} cf_diff_reply;

/* Opens the adapters for an engine with weights.  Errors of
 * cf_open_adapters() and cf_session_new(); close it whatever is returned. */
CF_MUST_USE cf_status cf_diff_replies_open(cf_diff_replies *r, cf_engine *engine,
                                           const cf_diff_replies_options *o, cf_error *err);
void cf_diff_replies_close(cf_diff_replies *r);

/* Answers prompt i with side i.  CF_ELIMIT for a prompt that does not fit,
 * CF_ECANCELLED, CF_ENOMEM. */
CF_MUST_USE cf_status cf_diff_replies_write(cf_diff_replies *r, const cf_prompt prompt[2],
                                            cf_cancel *cancel, cf_arena *arena,
                                            cf_diff_reply out[2], cf_error *err);

#endif
