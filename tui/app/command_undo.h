/*
 * command_undo.h - takes back what the user did last.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_APP_COMMAND_UNDO_H
#define CF_TUI_APP_COMMAND_UNDO_H

#include "tui/app/app.h"

/* The last branch, template, rating, note, import or change of the Library in
 * this session; the file of a template that was edited as well. */
void cf_cmd_undo(cf_app *app);

#endif
