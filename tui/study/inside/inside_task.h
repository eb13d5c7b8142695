/*
 * inside_task.h - looking into the model as a task of the workbench.
 *
 * Threads:  the interface thread, but for what runs inside the task.
 * Memory:   the finished work is the caller's.
 */
#ifndef CF_TUI_STUDY_INSIDE_INSIDE_TASK_H
#define CF_TUI_STUDY_INSIDE_INSIDE_TASK_H

#include "tui/lab/state/lab_task.h"
#include "tui/study/inside/inside_work.h"

/*
 * Starts to look at what chose a token of a reply; `turn` nil: the last reply of
 * the path.  `end` is called with the finished work, which is then the caller's,
 * even if it failed.  CF_EUNSUPPORTED without the built-in engine, CF_ENOTFOUND,
 * CF_EBUSY.
 */
CF_MUST_USE cf_status cf_inside_start(cf_lab *lab, cf_store *store, cf_uuid turn,
                                      const cf_inside_question *q,
                                      void (*end)(void *ud, cf_inside_work *work), void *ud,
                                      cf_error *err);

#endif
