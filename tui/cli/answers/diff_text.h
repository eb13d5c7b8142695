/*
 * diff_text.h - a difference as text for people and as JSON.
 */
#ifndef CF_TUI_CLI_ANSWERS_DIFF_TEXT_H
#define CF_TUI_CLI_ANSWERS_DIFF_TEXT_H

#include "core/base/buf.h"
#include "templates/template_diff.h"

typedef struct cf_diff_style {
    bool is_side;            /* side by side, else unified */
    bool is_color;           /* SGR colours; signs are there anyway */
    bool is_safe;            /* unified: escape what could steer a terminal */
    uint32_t n_context;      /* equal rows kept around a change */
    uint32_t width;          /* cells of a side-by-side line */
    const cf_tokenizer *tok; /* of token rows; NULL for lines */
} cf_diff_style;

/*
 * Appends the changed parts with the lines around them, each under a line
 * "@@ -line,count +line,count @@" that says what the first change on each
 * side shows.
 * Equal sides give no output.
 *
 * Unified: ' ', '-' and '+' begin a line; without colour a line that begins
 * with '?' has a '^' below every changed cell.  Side by side: the sign is
 * between number and text, '~' is a changed line; long lines are wrapped.
 */
void cf_diff_print(cf_buf *out, const cf_diff *d, const cf_diff_style *style);

/* Appends the members "equal", "kept", "removed", "added", "changed" and
 * "rows" of an object; rows that are kept are left out. */
void cf_diff_json(cf_buf *out, const cf_diff *d, const cf_tokenizer *tok);

#endif
