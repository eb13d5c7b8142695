/*
 * pager.h - a read-only text, wrapped, scrolled and searched.
 */
#ifndef CF_TUI_WIDGET_PAGER_H
#define CF_TUI_WIDGET_PAGER_H

#include "tui/grid/grid.h"
#include "tui/grid/wrap.h"
#include "tui/widget/list.h"

/* Width of a comfortably readable line, in cells. */
enum { CF_READ_WIDTH = 100 };

typedef struct cf_pager {
    cf_buf text; /* the text; change it with cf_pager_set */
    cf_wrapped lines;
    cf_list list;    /* the cursor is a wrapped line */
    char match[256]; /* highlighted; "" for nothing */
} cf_pager;

void cf_pager_deinit(cf_pager *p);

/* Replaces the text; the cursor goes to the first line. */
void cf_pager_set(cf_pager *p, cf_str text);

/* Scrolls; the cursor moves to the first visible line. */
void cf_pager_move(cf_pager *p, cf_move move);

/* Moves the cursor to the next (1), this or the next (0), or the previous
 * (-1) line that holds `what`, ignoring ASCII case when `what` has no capital
 * letter; wraps round.  False when there is none. */
bool cf_pager_search(cf_pager *p, const char *what, int direction);

/* Lines that begin with '#' are heads. */
void cf_pager_draw(cf_pager *p, cf_grid *g, cf_rect r);

/* Offset of `what` in text, SIZE_MAX when it is not there; smart case. */
size_t cf_find_smart(cf_str text, const char *what);

#endif
