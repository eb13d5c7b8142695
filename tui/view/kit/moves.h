/*
 * moves.h - the moving commands of views that are a list or a text: j k g G
 * and the others, once for all of them.
 */
#ifndef CF_TUI_VIEW_KIT_MOVES_H
#define CF_TUI_VIEW_KIT_MOVES_H

#include "tui/app/app.h"

/* Rows of a cf_command table.  `fn(app, move)` moves the view's list or text
 * by a cf_move. */
/* clang-format off */
#define CF_MOVE_ROWS(fn, views) \
    {"up", views, "k <Up> <WheelUp>", "", "up", CF_BY(fn, CF_MOVE_UP)}, \
    {"down", views, "j <Down> <WheelDown>", "", "down", \
     CF_BY(fn, CF_MOVE_DOWN)}, \
    {"page-up", views, "<C-b> <PgUp>", "", "a page up", \
     CF_BY(fn, CF_MOVE_PAGE_UP)}, \
    {"page-down", views, "<C-f> <PgDn>", "", "a page down", \
     CF_BY(fn, CF_MOVE_PAGE_DOWN)}, \
    {"half-up", views, "<C-u>", "", "half a page up", \
     CF_BY(fn, CF_MOVE_HALF_UP)}, \
    {"half-down", views, "<C-d>", "", "half a page down", \
     CF_BY(fn, CF_MOVE_HALF_DOWN)}, \
    {"first", views, "gg <Home>", "", "to the top", \
     CF_BY(fn, CF_MOVE_FIRST)}, \
    {"last", views, "G <End>", "", "to the end", CF_BY(fn, CF_MOVE_LAST)}

/* More rows, for views that are read. */
#define CF_READ_ROWS(fn, views) \
    {"page", views, "<Space>", "", "a page down", \
     CF_BY(fn, CF_MOVE_PAGE_DOWN)}, \
    {"page-before", views, "b", "", "a page up", CF_BY(fn, CF_MOVE_PAGE_UP)}
/* clang-format on */

#endif
