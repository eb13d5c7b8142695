/*
 * workbench.h - a session of the workbench, from its parts to its end.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_APP_WORKBENCH_H
#define CF_TUI_APP_WORKBENCH_H

#include "tui/app/app.h"
#include "tui/lab/start.h"
#include "tui/lab/state/defaults.h"
#include "tui/sys/word_index.h"

/* Runs it until the user quits.  Errors of the terminal, of the store, of
 * confabrc. */
CF_MUST_USE cf_status cf_workbench_run(const cf_start *start, cf_error *err);

/* The same with another source of events than the terminal: the loop gives
 * them to `app` and returns when the user quits. */
typedef cf_status cf_workbench_loop(cf_app *app, const cf_start *start, cf_error *err);
CF_MUST_USE cf_status cf_workbench_run_by(const cf_start *start, cf_workbench_loop *loop,
                                          cf_error *err);

/* Reads the settings in the file `path` (confabrc) that stand for options of
 * commands.  All of its lines are checked; each mistake is a line of
 * `problems`: "PATH: line N: ...".  A missing file is empty. */
CF_MUST_USE cf_status cf_workbench_defaults(cf_defaults *defaults, const char *path,
                                            cf_buf *problems, cf_error *err);

/* Adds every command of the workbench with the keys that reach it, and every
 * setting, as the file `path` (confabrc) leaves them. */
CF_MUST_USE cf_status cf_workbench_find(cf_word_index *index, const char *path, cf_error *err);

/* Opens the guided conversation in the Chat view, at its beginning. */
CF_MUST_USE cf_status cf_workbench_welcome(cf_app *app, cf_uuid welcome, cf_error *err);

#endif
