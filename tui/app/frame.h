/*
 * frame.h - the layout of the screen: which view is where.
 *
 * One view fills the screen, or, on a wide one, Chat is on the left and
 * the Prompt, Tokens or Tools view on its right: the one of the two that is on
 * top of the stack takes the keys, the other follows.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_APP_FRAME_H
#define CF_TUI_APP_FRAME_H

#include "tui/app/app.h"

enum { CF_MIN_W = 60, CF_MIN_H = 16 };

/* Whether the screen is too small to show the effect of a key. */
bool cf_frame_is_too_small(const cf_app *app);

/* The view that is shown next to the top one; CF_VIEW_COUNT: none. */
cf_view_id cf_frame_beside(const cf_app *app);

/* The view that is shown at a cell; CF_VIEW_COUNT: a bar. */
cf_view_id cf_frame_view_at(const cf_app *app, int x, int y);

/* Whether column x is the border between the two views, and moving it there. */
bool cf_frame_is_split(const cf_app *app, int x);
void cf_frame_move_split(cf_app *app, int x);

/* Tells a view next to Chat which turn Chat's cursor is on. */
void cf_frame_follow(cf_app *app, cf_view_id view);

#endif
