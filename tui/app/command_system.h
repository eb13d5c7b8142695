/*
 * command_system.h - ":system" and ":again": the system prompt of the
 * conversation, and everything asked again under it.
 */
#ifndef CF_TUI_APP_COMMAND_SYSTEM_H
#define CF_TUI_APP_COMMAND_SYSTEM_H

#include "tui/app/app.h"

/* Sets the text, or the content of a file; alone: begins to edit it. */
void cf_cmd_system(cf_app *app, const char *arg);
/* Asks everything on the branch again, from its first question on. */
void cf_cmd_again(cf_app *app);

/* Says that a branch with another system prompt was made. */
void cf_app_say_system(cf_app *app, size_t n_copied);

#endif
