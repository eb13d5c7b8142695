/*
 * lab_case.h - a reply of the workbench's conversation as the object of a
 * study, under the conditions that it was written with.
 *
 * Threads:  the interface thread, while no reply is being written.
 * Memory:   the case owns what the engine's template text points to.
 */
#ifndef CF_TUI_STUDY_ASK_LAB_CASE_H
#define CF_TUI_STUDY_ASK_LAB_CASE_H

#include "tui/lab/state/lab_state.h"
#include "tui/study/ask/study_case.h"

/*
 * Fills a case and the engine that answers it; `turn` nil: the last reply of
 * the path.  `own` is zeroed, and outlives the use of *engine.  `store` may be
 * NULL: then the tools are those that a send would have now.  Errors of
 * cf_study_case_of(), cf_study_case_record() and cf_study_own_init().
 */
CF_MUST_USE cf_status cf_study_case_of_lab(cf_study_case *out, cf_study_engine *engine,
                                           cf_study_own *own, cf_lab *lab, cf_store *store,
                                           cf_uuid turn, cf_error *err);

#endif
