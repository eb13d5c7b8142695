/*
 * renderer.h - how messages become a prompt, seen from core.
 *
 * Place in the flow:  messages --> [renderer] --> prompt with spans -->
 *                     tokenizer.
 * Knows: the form of a prompt and its spans.  Does not know: a template
 * language.  core needs prompts and chat templates live in another room, so
 * this header says what a renderer is, templates/chat_template.h makes one
 * from a template, and the program connects the two.
 *
 * A rendered prompt is bytes with spans.  Every byte lies in exactly one
 * span; a span knows where in the template it was written and what it shows.
 * Only spans of template text may become control tokens.
 *
 * Threads:  a renderer is constant; render may be called from any thread.
 * Memory:   results live in the arena given.
 */
#ifndef CF_CORE_API_RENDERER_H
#define CF_CORE_API_RENDERER_H

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/json.h"
#include "core/base/status.h"

CF_BEGIN_DECLS

typedef enum cf_span_source {
    CF_SPAN_TEMPLATE, /* literal text of the template, or a string literal in
                         one of its expressions */
    CF_SPAN_MESSAGE,  /* messages[index], at `path` */
    CF_SPAN_TOOL,     /* tools[index], at `path` */
    CF_SPAN_VARIABLE, /* another variable of the context: `path` names it */
    CF_SPAN_COMPUTED  /* not traceable to one place; `path` lists inputs */
} cf_span_source;

/* "template", "message", "tool", "variable", "computed" */
const char *cf_span_source_name(cf_span_source source);

typedef struct cf_prompt_span {
    uint32_t off, len; /* bytes of the prompt */
    cf_span_source source;
    uint32_t index;     /* of message or tool; 0 otherwise */
    cf_str media;       /* of the markers that a picture or sound of the
                           message becomes, and the stand-in for its rows:
                           what it is, cf_media_words(); empty for all else */
    bool is_copy;       /* the bytes are the source's bytes, unchanged */
    uint32_t src_off;   /* is_copy: where in the source string they start
                           (bytes) */
    uint32_t line, col; /* of the template, 1-based; col in bytes */
    cf_str path;        /* ".content", "[0].function.name", "bos_token" */
} cf_prompt_span;

typedef struct cf_prompt {
    cf_str text;
    cf_prompt_span *spans; /* [n_spans], in order, no gap, no overlap */
    size_t n_spans;
} cf_prompt;

/* The span that covers byte `off` of the prompt; NULL at its end and after
 * it.  Cost: the logarithm of n_spans. */
const cf_prompt_span *cf_prompt_span_at(const cf_prompt *prompt, size_t off);

/* Whether the span was written by neither the template nor a message: its path
 * says why it was added ("added by confab: ..."). */
bool cf_prompt_span_is_added(const cf_prompt_span *span);

typedef enum cf_loss_kind {
    CF_LOSS_MESSAGE,
    CF_LOSS_RESULT,
    CF_LOSS_PART,
    CF_LOSS_CALL,
    CF_LOSS_REASONING,
    CF_LOSS_REFUSAL,
    CF_LOSS_TOOL
} cf_loss_kind;

/* Something of a context of which nothing is in its prompt. */
typedef struct cf_loss {
    cf_loss_kind kind;
    size_t index; /* of the message, or of the tool */
    cf_str line;  /* for the user, without a line end; messages from 1 */
} cf_loss;

typedef void (*cf_loss_fn)(void *ud, const cf_loss *loss);

/*
 * Reports every message, part, call, result, reasoning, refusal and tool of a
 * context of which nothing is in its prompt; nothing for a whole prompt.
 * messages and tools: arrays, or NULL.  With spans a message is looked for
 * only in its own bytes and in computed ones; without spans in the whole
 * text.  CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_prompt_each_loss(const cf_prompt *prompt,
                                          const json_t *messages,
                                          const json_t *tools, cf_loss_fn fn,
                                          void *ud, cf_error *err);

/* The same as lines of text. */
CF_MUST_USE cf_status cf_prompt_losses(const cf_prompt *prompt,
                                       const json_t *messages,
                                       const json_t *tools, cf_buf *out,
                                       cf_error *err);

/* Whether the first words of `text` are, as they are or as JSON spells them, in
 * the bytes that come from messages[i] or tools[i] (source: CF_SPAN_MESSAGE or
 * CF_SPAN_TOOL), or from no single place; anywhere in a prompt without
 * spans. */
bool cf_prompt_has(const cf_prompt *prompt, cf_span_source source, size_t i,
                   cf_str text);

typedef struct cf_prompt_renderer {
    /* Renders a context (an object with "messages", "tools",
     * "add_generation_prompt" and any other variable).  Errors carry the
     * template's line and column. */
    cf_status (*render)(const void *ud, const json_t *context, cf_arena *arena,
                        cf_prompt *out, cf_error *err);
    const void *ud;
    /* The same with messages and tools exactly as they are, whatever the
     * template makes of them; NULL where `render` does that. */
    cf_status (*render_as_is)(const void *ud, const json_t *context,
                              cf_arena *arena, cf_prompt *out, cf_error *err);
} cf_prompt_renderer;

/* The renderer without a template: "role: text" a line.  For base models and
 * tests. */
cf_prompt_renderer cf_renderer_plain(void);

CF_END_DECLS

#endif
