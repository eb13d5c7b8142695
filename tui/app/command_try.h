/*
 * command_try.h - ":template", and ":try", which ticks values for a sweep that
 * stand in no list.
 *
 * Private to tui/app.
 */
#ifndef CF_TUI_APP_COMMAND_TRY_H
#define CF_TUI_APP_COMMAND_TRY_H

#include "tui/app/app.h"

/* A template by name or file; "model" is the one of the start; alone: shows what
 * the one in use can do. */
void cf_cmd_template(cf_app *app, const char *arg);

/* "system TEXT|FILE", "template NAME|FILE", "model M", "sampler NAME OPTIONS",
 * "off"; alone: says what is ticked. */
void cf_cmd_try(cf_app *app, const char *arg);

#endif
