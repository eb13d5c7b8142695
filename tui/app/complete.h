/*
 * complete.h - Tab on the ":" line: names of commands, then what a command
 * takes (settings, constraints, templates, files).
 */
#ifndef CF_TUI_APP_COMPLETE_H
#define CF_TUI_APP_COMPLETE_H

#include "tui/app/app.h"

/* Tab (by 1) and Shift-Tab (-1): completes the word at the end of the line as
 * far as all that fits agrees.  When that is nothing more, what fits is listed;
 * from then on the next of it takes the place of the word. */
void cf_complete(cf_app *app, int by);

#endif
