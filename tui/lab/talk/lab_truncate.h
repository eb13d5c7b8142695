/*
 * lab_truncate.h - the conversation in the workbench without its oldest turns,
 * as a branch that the history keeps.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_TALK_LAB_TRUNCATE_H
#define CF_TUI_LAB_TALK_LAB_TRUNCATE_H

#include "core/api/truncate.h"
#include "tui/lab/state/lab_state.h"

/* Plans what goes; nothing is changed.  by_tokens: n is of the prompt, as a
 * reply to the head would have it.  CF_EBUSY while a reply is written; errors
 * of truncate.h. */
CF_MUST_USE cf_status cf_lab_plan_truncation(cf_lab *lab, bool by_tokens, size_t n,
                                             cf_truncation *out, cf_error *err);
/* Makes the branch, and shows it. */
CF_MUST_USE cf_status cf_lab_truncate(cf_lab *lab, const cf_truncation *plan, cf_error *err);

/* Appends the turns of the path that go, a line each: role and first words. */
void cf_lab_truncation_text(const cf_lab *lab, const cf_truncation *plan, cf_buf *out);

#endif
