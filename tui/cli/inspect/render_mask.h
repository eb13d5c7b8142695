/*
 * render_mask.h - which bytes and tokens of a prompt the assistant wrote, for
 * training on completions.
 *
 * The answer is read off the provenance of the prompt, so it holds for any
 * template, with or without {% generation %}.
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

/*
 * The bytes that come from fields of assistant messages (role "assistant" or
 * "model"): content, reasoning, names and arguments of calls, as they are or
 * changed, but not the role itself, and nothing that the template wrote.
 * `context` is what the prompt was rendered from.  CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_render_mask_spans(cf_mask_spans *out, const cf_prompt *prompt,
                                           const json_t *context, cf_arena *arena, cf_error *err);

/* Whether a token has a byte in one of the spans. */
bool cf_render_mask_has(const cf_mask_spans *spans, const cf_token_span *token);

#endif
