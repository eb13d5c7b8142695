/*
 * bars.h - the frame around a view: first line (views), the line of keys, and
 * the last line (mode, messages, command line).
 */
#ifndef CF_TUI_APP_BARS_H
#define CF_TUI_APP_BARS_H

#include "tui/app/app.h"

void cf_bars_draw(cf_app *app, cf_grid *g);

#endif
