/*
 * ledger.h - how the tokens of a prompt are spent: each message and each tool
 * declaration with what the template wrote for it, each line of the template
 * outside of them, each variable.
 *
 * Place in the flow:  a rendered prompt and its tokens --> [ledger] --> a
 *                     table on paper or screen.
 * Knows: origins of bytes and tokens.  Does not know: engines, screens.
 *
 * Template text belongs to a message or tool when it was written in its round
 * of a loop, or next to it under the same condition.
 *
 * A token counts for what wrote its first byte; a byte of a character spread
 * over several tokens, for what wrote the character; the token that a
 * tokenizer puts in front, for the tokenizer.
 *
 * Threads:  no state.
 * Memory:   rows live in the arena given; names point into it.
 */
#ifndef CF_TUI_LAB_PROMPT_LEDGER_H
#define CF_TUI_LAB_PROMPT_LEDGER_H

#include "core/api/renderer.h"
#include "core/api/tokenizer.h"
#include "core/json/json_writer.h"

typedef enum cf_ledger_kind {
    CF_LEDGER_MESSAGE,
    CF_LEDGER_TOOL,
    CF_LEDGER_TEMPLATE,
    CF_LEDGER_VARIABLE, /* and what is computed from several places */
    CF_LEDGER_TOKENIZER
} cf_ledger_kind;

typedef struct cf_ledger_row {
    cf_ledger_kind kind;
    uint32_t index; /* of the message or tool, from 0; the template's line,
                       from 1; else 0 */
    cf_str name;    /* role, tool, text of the line, variable */
    uint64_t tokens, bytes;
    uint64_t template_tokens, template_bytes; /* MESSAGE, TOOL: those of them
                                                 that the template wrote */
} cf_ledger_row;

typedef struct cf_ledger {
    const cf_ledger_row *v; /* [n], most tokens first */
    size_t n;
    uint64_t tokens, bytes; /* of all */
} cf_ledger;

/*
 * `messages` and `tools` (arrays, may be NULL) name what spans refer to;
 * `source` is the template's text, or empty.  A prompt without causes gives the
 * template's text a row a line.  CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_ledger_make(cf_ledger *out, const cf_prompt *prompt,
                                     const cf_token_span *tokens, size_t n_tokens,
                                     const json_t *messages, const json_t *tools, cf_str source,
                                     cf_arena *arena, cf_error *err);

/* As a table, a row a line and a line of totals.  `per_second` is the speed of
 * prefill in tokens; 0: unknown, and the column is left out. */
void cf_ledger_text(cf_buf *out, const cf_ledger *ledger, double per_second);

/* As members of the object being written: "rows", a list of {"kind","index",
 * "name","tokens","bytes","seconds"}, and "tokens", "bytes", "seconds" of
 * all; seconds are null where the speed is unknown.  "index",
 * "template_tokens" and "template_bytes" are there for messages and tools,
 * "line" for lines. */
void cf_ledger_json(cf_jw *w, const cf_ledger *ledger, double per_second);

#endif
