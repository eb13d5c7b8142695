/*
 * command_model.h - the commands about the model.
 *
 * Private to tui/app.
 */
#ifndef CF_TUI_APP_COMMAND_MODEL_H
#define CF_TUI_APP_COMMAND_MODEL_H

#include "tui/app/app.h"

/* ":lora": adapters in place of those in use; alone: shows them. */
void cf_cmd_lora(cf_app *app, const char *arg);

#endif
