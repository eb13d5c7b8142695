/*
 * complete.h - Tab on the ":" line: names of commands, then what a command
 * takes (settings, constraints, templates, files).
 */
#ifndef CF_TUI_APP_COMPLETE_H
#define CF_TUI_APP_COMPLETE_H

#include "tui/app/app.h"

/* Completes the word at the end of the line, as far as all that fits agrees;
 * what fits is listed when that is nothing more. */
void cf_complete(cf_app *app);

#endif
