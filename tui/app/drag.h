/*
 * drag.h - the mouse moved with its button held: text is selected inside the
 * pane where the button was pressed, and copied when it is released; the border
 * between two views side by side is moved.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_APP_DRAG_H
#define CF_TUI_APP_DRAG_H

#include "tui/app/app.h"

/* A press at (x, y), before anything else happens with it. */
void cf_drag_press(cf_app *app, int x, int y);

void cf_drag_move(cf_app *app, int x, int y);

/* The button was released: copies the selection. */
void cf_drag_release(cf_app *app);

/* Highlights the selection in a frame that is already drawn. */
void cf_drag_draw(const cf_app *app, cf_grid *g);

#endif
