/*
 * session_lines.h - an agent's session as lines that the command and the Steps
 * view share: requests, sums, what changed between two requests.
 *
 * Threads:  any; no state.
 * Memory:   lines are appended without their ends; marks lie in the arena given.
 */
#ifndef CF_TUI_LAB_TALK_SESSION_LINES_H
#define CF_TUI_LAB_TALK_SESSION_LINES_H

#include "core/api/tokenizer.h"
#include "storage/trail.h"

/* The user's prices: those of a file, or with NULL those of session-prices.json
 * beside confabrc, none where it is not there. */
CF_MUST_USE cf_status cf_session_prices(cf_trail_prices *out, const char *path, cf_error *err);

/* The titles of the columns; costs have one where there are prices. */
void cf_session_head(cf_buf *out, bool has_cost);
/* The columns of numbers, after `label` in the first one. */
void cf_session_sum(cf_buf *out, const char *label, int depth, const cf_trail_sum *s,
                    bool has_cost);
/* A request, which begins `depth` columns to the right. */
void cf_session_row(cf_buf *out, const cf_trail *t, const cf_trail_row *row, int depth,
                    bool has_cost);
/* What a row has before its last column: how full the context was, and a mark. */
void cf_session_full(cf_buf *out, int percent, bool is_marked); /* -1: not known */
/* "NAME: SENTENCE" */
void cf_session_finding(cf_buf *out, const cf_trail_finding *f);
/* At most `max` bytes of a text on one line. */
void cf_session_text_line(cf_buf *out, cf_str text, size_t max);

/* What a template makes of the items of a context. */
typedef struct cf_session_mark {
    int64_t tokens; /* -1: not known */
    unsigned line;  /* of the template, that writes its text; 0: not known */
} cf_session_mark;

typedef struct cf_session_how {
    const cf_tokenizer *tokenizer; /* NULL: tokens are not known */
    cf_str template_source;        /* empty: none; tokens are those of the text alone */
} cf_session_how;

/* Two requests beside each other. */
typedef struct cf_session_change {
    cf_trail_context before, after;
    cf_trail_diff diff;
    cf_session_mark *marks; /* [diff.n], in the diff's arena */
    size_t n_same;
} cf_session_change;

/* Of the steps whose events are at places.  CF_ENOMEM, and errors of a template
 * that cannot be read; one that refuses the messages leaves its marks unknown. */
CF_MUST_USE cf_status cf_session_change_make(cf_session_change *out, const cf_trail *t,
                                             size_t before, size_t after, const cf_session_how *how,
                                             cf_error *err);
void cf_session_change_deinit(cf_session_change *c);
/* One row of the diff that is not the same in both. */
void cf_session_change_line(cf_buf *out, const cf_session_change *c, size_t i);
/* The item that a row is about. */
const cf_trail_item *cf_session_change_item(const cf_trail_diff_row *row);

#endif
