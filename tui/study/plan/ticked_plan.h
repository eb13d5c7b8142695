/*
 * ticked_plan.h - writes a plan for a sweep from what is ticked in the workbench.
 *
 * Place in the flow:  ticks of lab_marks.h, the conversation at hand -->
 * [ticked_plan] --> a plan's files --> sweep_plan.h.
 *
 * Prompts are the ticked conversations, or else the questions of the one at hand,
 * each with what was said before it.  An axis without ticks has the value that is
 * in use.
 *
 * Threads:  the interface thread.
 * Memory:   what is appended is the caller's.
 */
#ifndef CF_TUI_STUDY_PLAN_TICKED_PLAN_H
#define CF_TUI_STUDY_PLAN_TICKED_PLAN_H

#include "tui/lab/lab.h"

/* Writes the files into `folder`, which is made; `check` is KIND VALUE, "" for
 * none.  Appends the plan's path to `path`, and its text and that of its prompts
 * to `text`.  CF_ENOTFOUND where nothing was asked yet, CF_EINVAL for a check. */
CF_MUST_USE cf_status cf_ticked_plan_write(cf_lab *lab, const char *folder, const char *check,
                                           cf_buf *path, cf_buf *text, cf_error *err);

#endif
