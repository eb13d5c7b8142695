/*
 * plan_file.h - plans of sweeps, given as text.
 */
#ifndef CF_TESTS_SUPPORT_PLAN_FILE_H
#define CF_TESTS_SUPPORT_PLAN_FILE_H

#include "tui/study/plan/sweep_plan.h"

/* Writes the plan to the file `name` of store_dir.h and reads it; fails the
 * test where it is refused. */
void cf_plan_read(cf_sweep_plan *plan, const char *name, const char *text);

/* Fails the test unless the plan is refused, with `want` in the reason. */
void cf_plan_refused(const char *name, const char *text, const char *want);

#endif
