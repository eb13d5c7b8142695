/*
 * core_decode.h - the built-in engine as a backend, and one reply of it.
 *
 * backend_core.c has the table of operations and replies side by side,
 * core_decode.c what happens from a request to its reply.  Private to
 * core/backend.
 *
 * Threads:  one at a time for a backend.
 * Memory:   a decode is on its caller's stack and holds buffers between begin
 *           and finish.
 */
#ifndef CF_CORE_BACKEND_CORE_DECODE_H
#define CF_CORE_BACKEND_CORE_DECODE_H

#include "core/api/draft.h"
#include "core/backend/backend_impl.h"
#include "core/backend/media_prompt.h"
#include "core/backend/reply_watch.h"

typedef struct cf_chat__core {
    cf_backend base;
    cf_engine *engine; /* borrowed */
    cf_session *session;
    cf_draft *draft;
    cf_core_options options;
    cf_thinking_habit habit; /* of the model, since it was opened */
} cf_chat__core;

typedef struct cf_chat__decode {
    cf_chat__core *c;
    cf_chat__run *run;
    const cf_tokenizer *tok;
    cf_chat__reply reply;
    cf_sampler *sampler;
    cf_chat__media media; /* of the prompt */
    cf_buf ids;           /* cf_token: prompt, then reply */
    size_t n_prompt;      /* of them */
    size_t n_given;       /* of them, that the draft or the session has */
    cf_advance part;      /* what the next pass computes */
    bool needs_pass;
    uint64_t decode_from;       /* when decoding began */
    cf_backend *const *earlier; /* [n_earlier]: replies side by side */
    size_t n_earlier;
    cf_buf forced; /* cf_token still to be forced (thinking budget) */
    size_t forced_at;
    bool grammar_forces; /* they are the grammar's */
    uint32_t n_thinking;
    bool budget_spent;
    cf_reply_watch watch;
    bool is_endless; /* the watch saw it, and it is to end the reply */
    cf_buf piece;
    cf_buf start;              /* bytes the reply has already, thinking excepted */
    cf_constraint *constraint; /* NULL: none; its place is after the content */
    uint32_t *mask;            /* [(n_vocab + 31) / 32] */
} cf_chat__decode;

/* Renders, with the media of the messages in place; release them after a
 * failure, too.  Where the template has no place for pictures of tools'
 * results, or one cannot be read, the results are text. */
CF_MUST_USE cf_status cf_chat__core_render(const cf_chat__core *c, const cf_chat_request *request,
                                           cf_arena *arena, cf_chat__media *media, cf_prompt *out,
                                           cf_error *err);

/* A reply of backend b to run's request; begin() comes next. */
cf_chat__decode cf_chat__decode_make(cf_backend *b, cf_chat__run *run);

/* Everything before the first token.  finish() is due after a failure, too. */
CF_MUST_USE cf_status cf_chat__decode_begin(cf_chat__decode *d, cf_error *err);

/* Whether another token is wanted after one that ended with st. */
bool cf_chat__decode_goes_on(const cf_chat__decode *d, cf_status st);

/* Chooses and reports one token.  Sets d->needs_pass where the model has to
 * run: pass() until it is false, or d->part in a pass with others. */
CF_MUST_USE cf_status cf_chat__decode_step(cf_chat__decode *d, cf_error *err);

/* Runs d->part alone. */
CF_MUST_USE cf_status cf_chat__decode_pass(cf_chat__decode *d, cf_error *err);

/* Everything after the last token, however it came to it; returns st, or why
 * the reply could not be kept. */
CF_MUST_USE cf_status cf_chat__decode_finish(cf_chat__decode *d, cf_status st, cf_error *err);

#endif
