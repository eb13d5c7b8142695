/*
 * list.h - a cursor in a list of rows that scrolls in a window.
 *
 * It knows only row numbers; the caller draws the rows that it reports visible.
 */
#ifndef CF_TUI_WIDGET_LIST_H
#define CF_TUI_WIDGET_LIST_H

#include <stddef.h>

typedef struct cf_list {
    size_t n;      /* rows */
    size_t cursor; /* < n, or 0 when there are none */
    size_t top;    /* first visible row */
    size_t height; /* visible rows */
} cf_list;

typedef enum cf_move {
    CF_MOVE_UP,
    CF_MOVE_DOWN,
    CF_MOVE_PAGE_UP,
    CF_MOVE_PAGE_DOWN,
    CF_MOVE_HALF_UP,
    CF_MOVE_HALF_DOWN,
    CF_MOVE_FIRST,
    CF_MOVE_LAST
} cf_move;

/* Sets the number of rows and of visible rows; the cursor stays on its row if that
 * still exists, and is scrolled into view. */
void cf_list_set(cf_list *l, size_t n, size_t height);

void cf_list_move(cf_list *l, cf_move move);

/* Puts the cursor on a row (the last one when there are fewer). */
void cf_list_go(cf_list *l, size_t row);

#endif
