/*
 * command_undo.h - takes back what the user did last, and does it again.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_APP_COMMAND_UNDO_H
#define CF_TUI_APP_COMMAND_UNDO_H

#include "tui/app/app.h"

/* The last branch, template, setting, constraint, rating, note, import or change
 * of the Library in this session; the file of a template that was edited as well.
 * `again`: 1 does what was taken back last. */
void cf_cmd_undo(cf_app *app, int again);

/* Shows all of them. */
void cf_cmd_undo_list(cf_app *app);

/* Notes a ":" line that was run, and the one that takes it back. */
void cf_cmd_did_line(cf_app *app, const char *back, const char *line);

#endif
