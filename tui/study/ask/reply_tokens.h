/*
 * reply_tokens.h - a case's prompt and reply as tokens.
 *
 * Threads:  pure functions.
 * Memory:   lists live in the arena given.
 */
#ifndef CF_TUI_STUDY_ASK_REPLY_TOKENS_H
#define CF_TUI_STUDY_ASK_REPLY_TOKENS_H

#include "tui/study/ask/study_case.h"

typedef struct cf_reply_token {
    cf_token id;
    size_t off, len; /* bytes of the reply */
} cf_reply_token;

/* The tokens of the prompt, and the reply's [*n]: its own where the model at
 * hand wrote it, else those that its text has after the prompt; without the
 * token that ended it.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_study_reply_tokens(const cf_study_case *c, const cf_study_engine *engine,
                                            const cf_prompt *prompt, cf_token_list *of_prompt,
                                            cf_reply_token **out, size_t *n, cf_arena *arena,
                                            cf_error *err);

#endif
