/*
 * answer.h - gets the answer of a local model or a server to a context.
 *
 * Place in the flow:  context, template, options --> [answer] --> the prompt,
 *                     the reply (for predicate.h).
 * Knows: that a context is an object with messages, tools and variables.  Does
 * not know: where contexts come from, how answers are checked.
 *
 * Threads:  that of the backend.
 * Memory:   prompts live in the arena given, replies in the response.
 */
#ifndef CF_TUI_STUDY_ASK_ANSWER_H
#define CF_TUI_STUDY_ASK_ANSWER_H

#include "core/api/backend.h"
#include "core/json/json.h"

/* Everything is borrowed. */
typedef struct cf_question {
    const json_t *context;
    const cf_tool_set *tools; /* of the context; NULL: none */
    const cf_chat_options *options;
    cf_str prefix;     /* the reply begins with it */
    bool forces_reply; /* whatever the context's add_generation_prompt says */
    cf_cancel *cancel;
} cf_question;

/* Errors as those of cf_backend_generate(); `r` says whose fault it was. */
CF_MUST_USE cf_status cf_answer(cf_backend *backend, const cf_question *q, cf_chat_response *r,
                                cf_error *err);

/* The prompt of the context with its first n messages (more than it has: all),
 * and with the special tokens of `tok` (may be NULL).  Errors of the renderer;
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_answer_prompt(cf_prompt *out, const cf_prompt_renderer *renderer,
                                       const cf_tokenizer *tok, const json_t *context, size_t n,
                                       cf_arena *arena, cf_error *err);

#endif
