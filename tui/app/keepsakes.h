/*
 * keepsakes.h - what the workbench keeps between starts, besides the
 * conversations: the lines written after ":" and "/", and the register (what
 * was copied last).  Small private files in the state folder:
 *
 *   lines      one a line, after the ':' or '/' that it was typed with
 *   register   the bytes
 *
 * Nothing else depends on them: if the folder cannot be written, only they are lost.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_APP_KEEPSAKES_H
#define CF_TUI_APP_KEEPSAKES_H

#include "tui/app/app.h"

/* Makes the folder, and loads its files into `app`; the folder is
 * borrowed and outlives it.  Errors are appended to
 * `problems`. */
void cf_keepsakes_open(cf_app *app, const char *folder, cf_buf *problems);

/* Remembers a line; `kind` is ':' or '/'. */
void cf_keepsakes_line(cf_app *app, char kind, const char *text);

/* Writes the register. */
void cf_keepsakes_register(cf_app *app);

#endif
