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

/* The button was released: copies what was selected. */
void cf_drag_release(cf_app *app);

/* Shows what is selected, on top of a whole frame. */
void cf_drag_draw(const cf_app *app, cf_grid *g);

#endif
