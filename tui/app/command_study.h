/*
 * command_study.h - experiments on the reply under the cursor: ":shrink",
 * ":bisect" and ":guard", which run as tasks and show what they found.
 *
 * Private to tui/app.
 */
#ifndef CF_TUI_APP_COMMAND_STUDY_H
#define CF_TUI_APP_COMMAND_STUDY_H

#include "tui/app/app.h"

/* The smallest conversation that still fails, beside this one in Diff.  `arg` is
 * the failure, a predicate; alone: an invalid call, else this call, else this
 * answer.  "-o DIR" writes the files of the last one. */
void cf_cmd_shrink_here(cf_app *app, const char *arg);

/* What turned the conversation that is marked A into this one, which fails. */
void cf_cmd_bisect_here(cf_app *app, const char *arg);

/* Whether the user or a tool's result drove the calls of the reply. */
void cf_cmd_guard_here(cf_app *app, const char *arg);

/* Frees what ":shrink -o" would write. */
void cf_cmd_study_close(cf_app *app);

#endif
