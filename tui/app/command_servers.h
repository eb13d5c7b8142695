/*
 * command_servers.h - the tool servers of the workbench: ":mcp", and what their servers
 * report while the workbench runs.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_APP_COMMAND_SERVERS_H
#define CF_TUI_APP_COMMAND_SERVERS_H

#include "tui/app/app.h"
#include "tui/lab/tools/tool_servers.h"

/* A command line, an address, or a file of servers; alone: the view. */
void cf_cmd_start_servers(cf_app *app, const char *arg);

/* Adds the servers of a file, which wait for the user's yes. */
CF_MUST_USE cf_status cf_app_add_servers(cf_app *app, const char *path, cf_error *err);

/* Takes over what the servers have done; true when something changed. */
bool cf_app_step_servers(cf_app *app);

#endif
