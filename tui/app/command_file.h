/*
 * command_file.h - the commands that write and read files, for the table of
 * command.c: ":w", ":screen" and ":report" (command_file.c), ":export" and
 * ":import" (command_exchange.c).
 */
#ifndef CF_TUI_APP_COMMAND_FILE_H
#define CF_TUI_APP_COMMAND_FILE_H

#include "tui/app/app.h"

void cf_cmd_write_file(cf_app *app, const char *arg);
void cf_cmd_overwrite_file(cf_app *app, const char *arg);
void cf_cmd_screen(cf_app *app, const char *arg);
void cf_cmd_screen_over(cf_app *app, const char *arg);
void cf_cmd_report_file(cf_app *app, const char *arg);
void cf_cmd_report_over(cf_app *app, const char *arg);
void cf_cmd_export(cf_app *app, const char *arg);
void cf_cmd_export_over(cf_app *app, const char *arg);
void cf_cmd_import(cf_app *app, const char *arg);

#endif
