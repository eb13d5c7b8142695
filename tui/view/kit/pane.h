/*
 * pane.h - what views are put together from: boxes with a title, the rows of a
 * list, and questions that are answered with y or n.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_KIT_PANE_H
#define CF_TUI_VIEW_KIT_PANE_H

#include "tui/app/app.h"
#include "tui/widget/list.h"

/* The inside of a box. */
static inline cf_rect cf_inside(cf_rect r)
{
    return (cf_rect){r.x + 1, r.y + 1, r.w - 2, r.h - 2};
}

/* Draws a box, with a highlighted title if it has the focus; returns the inside. */
cf_rect cf_pane(cf_grid *g, cf_rect r, const char *title, bool has_focus);

/*
 * The rows of a list that are in sight, one a line:
 *
 *   cf_rows rows = cf_rows_begin(g, r, &s->list, n, has_focus);
 *   while (cf_rows_next(&rows, SPOT_ROW)) {
 *       draw_row(g, rows.at, &s->row[rows.i], rows.is_on);
 *   }
 */
typedef struct cf_rows {
    size_t i;   /* the row */
    cf_rect at; /* its line */
    bool is_on; /* the cursor is on it */
    /* private */
    cf_grid *g;
    const cf_list *list;
    cf_rect r;
    int n_drawn;
} cf_rows;

/* Fits the list to n rows of which r.h are in sight; with the focus the grid's
 * cursor goes to the row under the list's. */
cf_rows cf_rows_begin(cf_grid *g, cf_rect r, cf_list *list, size_t n, bool has_focus);

/* Goes to the next row and makes it a spot `what` with its number; a negative
 * `what` makes none.  False: there is no more. */
bool cf_rows_next(cf_rows *rows, int what);

/* Draws the box of a question, with what its keys do in the last line, where
 * the cursor is; returns the room of the question itself. */
cf_rect cf_question(cf_grid *g, cf_rect r, const char *title, const char *keys);

typedef enum cf_answer {
    CF_ANSWER_NONE, /* another key */
    CF_ANSWER_YES,  /* y, Y */
    CF_ANSWER_NO    /* n, q, Esc, ^C */
} cf_answer;

cf_answer cf_answer_of(cf_key key);

#endif
