/*
 * view_diff.h - the Diff view's state, shared by view_diff.c (its commands),
 * diff_lines.c (the lines of the two sides), diff_draw.c (the screen) and
 * diff_panels.c (the panels below the sides).
 */
#ifndef CF_TUI_VIEW_DIFF_VIEW_DIFF_H
#define CF_TUI_VIEW_DIFF_VIEW_DIFF_H

#include "tui/app/app.h"
#include "tui/grid/cluster.h"
#include "tui/lab/compare/diff_likely.h"
#include "tui/lab/compare/diff_model.h"
#include "tui/lab/compare/diff_run.h"
#include "tui/lab/compare/diff_survey.h"
#include "tui/lab/lab.h"
#include "tui/widget/list.h"

/* One side of a line of the screen. */
typedef struct cf_diff_piece {
    uint32_t off, len; /* of the unit's text */
    bool is_there;
    bool is_first; /* shows number and sign */
} cf_diff_piece;

typedef struct cf_diff_line {
    uint32_t row;      /* of the difference */
    uint32_t n_folded; /* rows from this one on that are folded into it; else 0 */
    cf_diff_piece side[2];
} cf_diff_line;

#define CF_DIFF_ALL SIZE_MAX

/* What can be clicked. */
enum { CF_DIFF_SPOT_LINE, CF_DIFF_SPOT_PANEL };

/* Below the sides. */
typedef enum cf_diff_panel {
    CF_PANEL_NONE,
    CF_PANEL_REPLIES, /* what both sides answer */
    CF_PANEL_LIKELY,  /* how likely the stored replies are */
    CF_PANEL_SURVEY,  /* many conversations */
    CF_PANEL_CAPS,    /* what both templates can do */
    CF_PANEL_COUNT
} cf_diff_panel;

typedef struct cf_diff_view {
    cf_diff_model m;
    bool is_stale; /* the model must be made again */
    cf_buf kept;   /* names of the history's templates, as of the last entry */
    bool shows_white;
    bool wants_unified;
    size_t context;     /* rows shown around a difference, or CF_DIFF_ALL */
    cf_diff_line *line; /* [n], owned */
    size_t n, cap;
    int width; /* what they were broken for; 0: not yet */
    bool was_unified;
    bool wants_hunk; /* when it is laid out, the cursor goes to the first difference */
    cf_list list; /* of lines */

    cf_diff_run run;
    cf_likely likely;
    cf_survey survey;
    cf_diff_panel panel;
    bool in_panel;                /* it has the focus */
    cf_list rows[CF_PANEL_COUNT]; /* of each panel */
    bool goes_to_first;           /* the replies show where they part, when complete */
} cf_diff_view;

cf_diff_view *cf_diff_state(cf_app *app);

/* Puts the cursor on a line, in the upper third of the screen. */
void cf_diff_go_line(cf_diff_view *s, size_t line);

/* ---- diff_lines.c ------------------------------------------------------- */

/* Breaks the rows into s->line for columns of `width` cells, unless they are;
 * the cursor stays at its row. */
void cf_diff_lay_out(cf_diff_view *s, int width, bool is_unified);

bool cf_diff_is_tokens(const cf_diff_view *s);
/* Cells before a line's text. */
int cf_diff_gutter(const cf_diff_view *s);
cf_space_mode cf_diff_spaces(const cf_diff_view *s);
const cf_diff_side *cf_diff_side_of(const cf_diff_view *s, int i);
/* The unit of side i in a row, or CF_DIFF_NONE. */
uint32_t cf_diff_unit_of(const cf_diff_row *r, int i);
/* Whether a stretch of differences starts at this line. */
bool cf_diff_begins_hunk(const cf_diff_view *s, size_t line);

/* ---- diff_draw.c -------------------------------------------------------- */

/* By cf_diff_level. */
extern const char *const cf_diff_level_names[];

/* Draws the comparison as it is in the state. */
void cf_diff_draw(cf_app *app, cf_grid *g, cf_rect r);

/* ---- diff_panels.c ------------------------------------------------------ */

/* Whether a panel has anything to show. */
bool cf_diff_panel_has(const cf_diff_view *s, cf_diff_panel panel);

/* Draws the shown panel, a box and what is in it. */
void cf_diff_panel_draw(cf_app *app, cf_grid *g, cf_rect r);

/* "nll 2.31 2.75" of the stored replies, when it is known. */
void cf_diff_panel_summary(const cf_diff_view *s, cf_buf *out);

/* Moves to where the replies part. */
void cf_diff_panel_to_first(cf_diff_view *s);

#endif
