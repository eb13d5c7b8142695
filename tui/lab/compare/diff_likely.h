/*
 * diff_likely.h - the likelihood of the replies that the compared
 * conversation holds, under each side's prompt: one row a reply.
 *
 * Threads:  the interface thread; the task runs on the worker's.
 * Memory:   owns everything; it must not move while a task runs.
 */
#ifndef CF_TUI_LAB_COMPARE_DIFF_LIKELY_H
#define CF_TUI_LAB_COMPARE_DIFF_LIKELY_H

#include "tui/lab/compare/diff_model.h"
#include "tui/lab/compare/diff_score.h"

typedef struct cf_likely {
    bool has, is_on, was_swapped, was_stopped;
    cf_reply_score *v; /* [n], owned */
    size_t n, cap;
    size_t n_all; /* replies, as far as known */
    cf_score_sum sum;
    struct cf_likely_job *job;
    cf_lab *lab;
} cf_likely;

void cf_likely_deinit(cf_likely *l); /* stops it first */

/* CF_EBUSY, CF_EUNSUPPORTED, and what rendering and loading may fail with. */
CF_MUST_USE cf_status cf_likely_start(cf_likely *l, cf_diff_model *model, cf_error *err);

#endif
