/*
 * command_truncate.h - ":truncate": shows which turns are the oldest, then drops them.
 */
#ifndef CF_TUI_APP_COMMAND_TRUNCATE_H
#define CF_TUI_APP_COMMAND_TRUNCATE_H

#include "tui/app/app.h"

/* "N [turns]" or "N tokens": shows what would go and asks. */
void cf_cmd_truncate(cf_app *app, const char *arg);
/* The same at once. */
void cf_cmd_truncate_now(cf_app *app, const char *arg);

#endif
