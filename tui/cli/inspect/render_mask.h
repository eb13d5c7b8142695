/*
 * render_mask.h - which bytes and tokens of a prompt the assistant wrote, for
 * training on completions.
 *
 * The answer is read off the provenance of the prompt and its tokens, so it holds
 * for any template, with or without {% generation %}.
 *
 * Threads:  no state.
 * Memory:   results live in the arena given.
 */
#ifndef CF_TUI_CLI_INSPECT_RENDER_MASK_H
#define CF_TUI_CLI_INSPECT_RENDER_MASK_H

#include "core/api/renderer.h"
#include "core/api/tokenizer.h"

/* Bytes [from, to) of the prompt. */
typedef struct cf_mask_span {
    uint32_t from, to;
} cf_mask_span;

typedef struct cf_mask_spans {
    const cf_mask_span *v; /* [n] in order; no two touch */
    size_t n;
} cf_mask_spans;

/* A prompt with its tokens. */
typedef struct cf_mask_prompt {
    const cf_prompt *prompt;
    const cf_token_list *tokens;
    const cf_tokenizer *tok;
    cf_str asks; /* what the template adds to ask for a reply; may be empty */
} cf_mask_prompt;

/*
 * The bytes that the model would have written of the assistant's messages (role
 * "assistant" or "model"): from the end of what asks for a reply, through
 * content, reasoning and calls with the marks that the template writes around
 * them, to the token that ends the reply; without a token of that kind to
 * the end of what the template writes for the message, but for blanks.  `context` is what the prompt was rendered from.
 * CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_render_mask_spans(cf_mask_spans *out, const cf_mask_prompt *prompt,
                                           const json_t *context, cf_arena *arena, cf_error *err);

/* Whether a token has a byte in one of the spans. */
bool cf_render_mask_has(const cf_mask_spans *spans, const cf_token_span *token);

#endif
