/*
 * pointer.h - the mouse: clicks and the wheel.
 *
 * Views say what their cells stand for (cf_grid_spot) and get that back
 * (cf_view_ops.click).  A second press on the same cell within 400 ms is Enter.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_APP_POINTER_H
#define CF_TUI_APP_POINTER_H

#include "tui/app/app.h"

void cf_pointer_press(cf_app *app, int x, int y);

/* The wheel (CF_KEY_MOUSE_UP or CF_KEY_MOUSE_DOWN) moves the pane under the
 * pointer, whichever has the focus; in the menu it chooses. */
void cf_pointer_wheel(cf_app *app, int x, int y, cf_key key);

#endif
