/*
 * sweep_past.h - the sweeps of a plan by date: what passed then, and whether the
 * newest differs from the one before.
 *
 * Place in the flow:  a finished sweep --> [past] --> a record in the history -->
 *                     a chart of all of one plan.
 *
 * A plan is known by the path of its file.  A record has the rates of each row
 * and the score of each prompt, and a hash of all that the replies depend on; a
 * sweep that is like the last one in all of it is not kept again.
 *
 * Threads:  one thread at a time.
 */
#ifndef CF_TUI_STUDY_SWEEP_SWEEP_PAST_H
#define CF_TUI_STUDY_SWEEP_SWEEP_PAST_H

#include "tui/study/sweep/sweep_output.h"

enum { CF_SWEEP_PAST_MAX = 200 }; /* of a plan; the oldest go */

/* Keeps a sweep that has ended; does nothing without a store.  Errors of the
 * store; CF_ENOMEM. */
CF_MUST_USE cf_status cf_sweep_past_add(const cf_sweep *s, cf_error *err);

/* Appends the chart, or as JSON a line a sweep and one with the comparison.
 * CF_ENOTFOUND where none of the plan is kept. */
CF_MUST_USE cf_status cf_sweep_past_put(cf_buf *out, cf_store *store, const char *plan,
                                        bool is_json, cf_error *err);

#endif
