/*
 * plan_load.h - reads a plan from a file in any of the formats.
 *
 * Place in the flow:  FILE --> [plan_load] --> a plan (sweep_plan.h).
 *
 * A file whose name ends in .yaml or .yml is a configuration of promptfoo
 * (promptfoo.h): its prompts are wordings, its tests prompts with checks of
 * their own.  Any other file has the lines of sweep_plan.h.
 *
 * Threads:  one thread.
 * Memory:   what is read belongs to the plan.
 */
#ifndef CF_TUI_STUDY_IMPORT_PLAN_LOAD_H
#define CF_TUI_STUDY_IMPORT_PLAN_LOAD_H

#include "tui/study/plan/sweep_plan.h"

/* Reads the file.  CF_EINVAL and CF_EFORMAT name it and the line:
 * "plan.txt:3: ..."; CF_ENOTFOUND, CF_EIO, CF_ELIMIT, CF_ENOMEM. */
CF_MUST_USE cf_status cf_plan_load(cf_sweep_plan *out, const char *path,
                                   const cf_sweep_saved *saved, cf_error *err);

#endif
