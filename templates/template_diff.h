/*
 * template_diff.h - two prompts, or the sources of two templates, side by
 * side.
 *
 * Place in the flow:  two templates over one context --> two prompts -->
 * [diff] --> rows for a screen or a command.
 * Knows: bytes, spans, token ids.  Does not know: how prompts are made, how
 * rows are drawn, what is safe on a terminal.
 *
 * Rows are made in three steps.  First what shows the same bytes of the same
 * message or tool faces each other, whatever surrounds it.  Between these
 * rows equal text faces equal text, but never the text of one message the
 * text of another.  What is left over is paired where it is similar (lines
 * only), so that the pairs have as much in common as possible.
 *
 * The prompts of two conversations have no message in common.  They are
 * compared by their text alone, whatever message it belongs to.
 *
 * Threads:  no state.
 * Memory:   results live in the arena given; texts are borrowed and must
 *           outlive them.
 */
#ifndef CF_TEMPLATES_TEMPLATE_DIFF_H
#define CF_TEMPLATES_TEMPLATE_DIFF_H

#include "core/api/renderer.h"
#include "core/api/tokenizer.h"
#include "core/base/decls.h"

CF_BEGIN_DECLS

#define CF_DIFF_NONE UINT32_MAX

enum { CF_DIFF_MAX_UNITS = 1 << 22 }; /* lines or tokens on one side */

/* A line, or a token. */
typedef struct cf_diff_unit {
    uint32_t off, len; /* bytes of the side's text, without the line end */
    cf_token id;       /* CF_TOKEN_NONE for a line */
    bool has_newline;  /* a line that ends with one */
    /* The source of most of its bytes, when that is a message or a tool; else
     * CF_SPAN_TEMPLATE and 0. */
    cf_span_source source;
    uint32_t index;
    uint32_t template_line;       /* that wrote its first byte; 0: not known */
    const cf_prompt_cause *cause; /* of that byte; NULL: none is known */
} cf_diff_unit;

typedef struct cf_diff_side {
    cf_str text;
    const cf_diff_unit *v; /* [n] in order; lines cover the text */
    uint32_t n;
} cf_diff_side;

typedef enum cf_diff_kind {
    CF_DIFF_KEPT,    /* the same on both sides */
    CF_DIFF_REMOVED, /* a alone */
    CF_DIFF_ADDED,   /* b alone */
    CF_DIFF_CHANGED  /* paired, but different */
} cf_diff_kind;

/* Changed bytes of a unit. */
typedef struct cf_diff_mark {
    uint32_t off, len; /* from the start of the unit */
} cf_diff_mark;

typedef struct cf_diff_row {
    cf_diff_kind kind;
    bool by_source;    /* paired because it shows the same bytes */
    uint32_t a, b;     /* units; CF_DIFF_NONE: nothing on that side */
    uint32_t mark;     /* CHANGED lines: first of their marks, a's, then b's */
    uint32_t n_mark_a; /* outside the marks both lines have the same bytes */
    uint32_t n_mark_b;
} cf_diff_row;

typedef struct cf_diff {
    cf_diff_side a, b;
    const cf_diff_row *rows; /* [n_rows] in the order of both sides */
    size_t n_rows;
    const cf_diff_mark *marks; /* [n_marks] of all rows */
    size_t n_marks;
    size_t n_of[CF_DIFF_CHANGED + 1]; /* rows of each kind */
} cf_diff;

/* "kept", "removed", "added", "changed" */
const char *cf_diff_kind_name(cf_diff_kind kind);

static inline bool cf_diff_is_equal(const cf_diff *d)
{
    return d->n_rows == d->n_of[CF_DIFF_KEPT];
}

/* The bytes of a unit. */
static inline cf_str cf_diff_text_of(const cf_diff_side *s, uint32_t unit)
{
    return cf_str_make(s->text.p + s->v[unit].off, s->v[unit].len);
}

/*
 * Compares texts line by line.
 *
 * Returns CF_OK, CF_ENOMEM, or CF_ELIMIT for more than CF_DIFF_MAX_UNITS
 * lines or 2 GiB on one side.
 * Cost    near linear for texts that are alike; never more than a few hundred
 *         steps a line or word, then a longer difference than need be is
 *         given.  Up to 4,096 lines on each side it is a shortest one.
 * Holds   the units of all rows in order are the units of a, and of b.
 */
CF_MUST_USE cf_status cf_diff_texts(cf_diff *out, cf_str a, cf_str b, cf_arena *arena,
                                    cf_error *err);

/* The same for prompts, faced by what they show. */
CF_MUST_USE cf_status cf_diff_prompts(cf_diff *out, const cf_prompt *a, const cf_prompt *b,
                                      cf_arena *arena, cf_error *err);

/* The same token by token; each list is its prompt's. */
CF_MUST_USE cf_status cf_diff_tokens(cf_diff *out, const cf_prompt *a,
                                     const cf_token_list *a_tokens, const cf_prompt *b,
                                     const cf_token_list *b_tokens, cf_arena *arena, cf_error *err);

/* The prompts of two conversations, token by token, or line by line where both
 * lists are NULL. */
CF_MUST_USE cf_status cf_diff_conversations(cf_diff *out, const cf_prompt *a,
                                            const cf_token_list *a_tokens, const cf_prompt *b,
                                            const cf_token_list *b_tokens, cf_arena *arena,
                                            cf_error *err);

CF_END_DECLS

#endif
