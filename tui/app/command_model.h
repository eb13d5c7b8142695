/*
 * command_model.h - the commands about the model.
 *
 * Private to tui/app.
 */
#ifndef CF_TUI_APP_COMMAND_MODEL_H
#define CF_TUI_APP_COMMAND_MODEL_H

#include "tui/app/app.h"

/* ":model": ends the workbench to start it again with another model; alone:
 * shows those on this machine. */
void cf_cmd_use_model(cf_app *app, const char *arg);
/* How many models the stores of this machine have. */
size_t cf_models_here(void);

/* ":lora": adapters in place of those in use; alone: shows them. */
void cf_cmd_lora(cf_app *app, const char *arg);

#endif
