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
#include "core/base/status.h"
#include "core/json/json.h"

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

/* A kind of decision that a template takes. */
typedef enum cf_cause_kind {
    CF_CAUSE_IF,     /* {% if %} or {% elif %} */
    CF_CAUSE_CHOICE, /* a if TEST else b */
    CF_CAUSE_FILTER, /* the `if` of a loop, for one item */
    CF_CAUSE_ROUND   /* whether a loop had a further item */
} cf_cause_kind;

/* "if", "choice", "filter", "round" */
const char *cf_cause_kind_name(cf_cause_kind kind);

/* A condition with its outcome in one render. */
typedef struct cf_prompt_cause {
    const struct cf_prompt_cause *outer; /* decided before it; NULL: none */
    cf_cause_kind kind;
    bool is_true;
    uint32_t round;     /* FILTER, ROUND: of the loop, from 1 */
    uint32_t message;   /* FILTER, ROUND: 1 + the index of the message that
                           is the item, as the template got it; 0: another */
    uint32_t tool;      /* the same of a tool */
    uint32_t line, col; /* of the test in the template, from 1 */
    cf_str test;        /* its source text; of a ROUND what is looped over */
    uint64_t way;       /* the same in two renders of one template where the
                           same condition was reached by the same outcomes */
    bool is_copy;       /* of another cause: a value that was chosen or made
                           under it was written later */
} cf_prompt_cause;

typedef struct cf_prompt_span {
    uint32_t off, len; /* bytes of the prompt */
    cf_span_source source;
    uint32_t index;               /* of message or tool; 0 otherwise */
    cf_str media;                 /* of the markers that a picture or sound of the
                           message becomes, and the stand-in for its rows:
                           what it is, cf_media_words(); empty for all else */
    bool is_copy;                 /* the bytes are the source's bytes, unchanged */
    uint32_t src_off;             /* is_copy: where in the source string they start
                           (bytes) */
    uint32_t line, col;           /* of the template, 1-based; col in bytes */
    cf_str path;                  /* ".content", "[0].function.name", "bos_token" */
    const cf_prompt_cause *cause; /* the innermost condition under which it
                                     was written; NULL: none, or the render
                                     did not record any */
} cf_prompt_span;

typedef struct cf_prompt {
    cf_str text;
    cf_prompt_span *spans; /* [n_spans], in order, no gap, no overlap */
    size_t n_spans;
    bool is_foreign;  /* a server wrote it: its spans were found by their text and
                         prove nothing */
    bool shows_tools; /* is_foreign: it is another one without the tools */
} cf_prompt;

/* The span that covers byte `off` of the prompt; NULL at its end and after
 * it.  Cost: the logarithm of n_spans. */
const cf_prompt_span *cf_prompt_span_at(const cf_prompt *prompt, size_t off);

/* Appends "because `loop.last` is true (line 12)", or "for item 3 of
 * `messages` (line 9)"; the test as it is in the template, with line ends and
 * controls. */
void cf_prompt_cause_text(cf_buf *out, const cf_prompt_cause *cause);

/* The reasons for which a message's calls are written into its content. */
#define CF_ADDED_CALLS             "added by confab: the template writes no calls"
#define CF_ADDED_CALLS_BESIDE_TEXT "added by confab: the template writes no text beside calls"

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

/* Something of a context that is not in its prompt. */
typedef struct cf_loss {
    cf_loss_kind kind;
    size_t index;     /* of the message, or of the tool */
    cf_str what, why; /* for the user, on one line; messages from 1 */
    cf_str path;      /* "messages[2].content[1]", "tools[0]" */
    cf_str line;      /* "WHAT is lost: WHY", without a line end */
} cf_loss;

typedef void (*cf_loss_fn)(void *ud, const cf_loss *loss);

/*
 * Reports every message, part, call, result, reasoning, refusal and tool of a
 * context that is not in its prompt, the end of a text that is cut, and what
 * cannot be read at all; nothing for a whole prompt.  messages: an array or
 * one message, tools: declarations in any form; NULL: none.
 *
 * Proved from spans: what none of them comes from is lost.  Of a prompt
 * without spans, and of a server's, nothing is known but what cannot be read,
 * and that the server writes the same without the tools.  CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_prompt_each_loss(const cf_prompt *prompt, const json_t *messages,
                                          const json_t *tools, cf_loss_fn fn, void *ud,
                                          cf_error *err);

/* Whether any byte of the prompt comes from `path` of messages[i] or tools[i]
 * (source: CF_SPAN_MESSAGE or CF_SPAN_TOOL): from the member itself, from one
 * inside it, or from a value computed of it.  True where it is unknown: without
 * spans, and of a server's prompt that may show it. */
bool cf_prompt_shows(const cf_prompt *prompt, cf_span_source source, size_t i, cf_str path);

typedef struct cf_prompt_renderer {
    /* Renders a context (an object with "messages", "tools",
     * "add_generation_prompt" and any other variable).  Errors carry the
     * template's line and column. */
    cf_status (*render)(const void *ud, const json_t *context, cf_arena *arena, cf_prompt *out,
                        cf_error *err);
    const void *ud;
    /* The same with messages and tools exactly as they are, whatever the
     * template makes of them; NULL where `render` does that. */
    cf_status (*render_as_is)(const void *ud, const json_t *context, cf_arena *arena,
                              cf_prompt *out, cf_error *err);
} cf_prompt_renderer;

/* The renderer without a template: "role: text" a line.  For base models and
 * tests. */
cf_prompt_renderer cf_renderer_plain(void);

CF_END_DECLS

#endif
