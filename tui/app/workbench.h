/*
 * workbench.h - a session of the workbench, from its parts to its end.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_APP_WORKBENCH_H
#define CF_TUI_APP_WORKBENCH_H

#include "tui/app/app.h"
#include "tui/lab/start.h"

/* Runs it until the user quits.  Errors of the terminal, of the store, of
 * confabrc. */
CF_MUST_USE cf_status cf_workbench_run(const cf_start *start, cf_error *err);

/* Opens the guided conversation in the Chat view, at its beginning. */
CF_MUST_USE cf_status cf_workbench_welcome(cf_app *app, cf_uuid welcome,
                                           cf_error *err);

#endif
