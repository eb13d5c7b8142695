/*
 * bars.h - the bars around a view: the first line (views), the key hints, and the last
 * line (mode, messages, command line).
 */
#ifndef CF_TUI_APP_BARS_H
#define CF_TUI_APP_BARS_H

#include "tui/app/app.h"

void cf_bars_draw(cf_app *app, cf_grid *g);

/* The command of hint `i` on the line of keys, "help" past the last. */
void cf_bars_command(const cf_app *app, size_t i, char name[64]);

#endif
