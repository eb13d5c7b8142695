/*
 * sweep_compare.h - compares two values of an axis over the same prompts: how
 * often one is better, and by how much.
 *
 * Place in the flow:  a finished sweep --> [compare] --> a row for each pair
 *                     of values of each axis.
 *
 * Cells are paired if they differ in the axis only.  A pair counts
 * for B where B's score (cf_sweep_score) is higher.  The interval is that of
 * the mean difference B - A, by a paired percentile bootstrap with 2,000
 * resamples and a fixed seed, at 95 %: B. Efron, R. Tibshirani, "An
 * Introduction to the Bootstrap", 1993, chapter 13.
 *
 * Threads:  no state.
 * Memory:   rows are the caller's to free with cf_free().
 */
#ifndef CF_TUI_STUDY_SWEEP_SWEEP_COMPARE_H
#define CF_TUI_STUDY_SWEEP_SWEEP_COMPARE_H

#include "tui/study/sweep/sweep.h"

enum { CF_SWEEP_AXES = 6 };

/* "model", "template", "system", "wording", "adapter", "sampler" */
const char *cf_sweep_axis_name(size_t axis);
/* Which of the axis's values a cell has; CF_SWEEP_NONE: none. */
size_t cf_sweep_axis_value(const cf_sweep_cell *c, size_t axis);
/* Its name, as the plan has it. */
cf_str cf_sweep_axis_label(const cf_sweep *s, const cf_sweep_cell *c, size_t axis);

typedef struct cf_sweep_versus {
    const char *axis; /* cf_sweep_axis_name() */
    cf_str a, b;
    size_t better, worse, same; /* pairs where b is that, compared with a */
    size_t differ;              /* pairs whose replies are not the same text */
    size_t missing;             /* pairs in which a cell failed */
    bool has_interval;          /* false: no pair has scores */
    double mean, low, high;     /* of score(b) - score(a) */
} cf_sweep_versus;

/* All pairs of values of all axes, in the order of the plan; *out is NULL
 * where there are none.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_sweep_compare(const cf_sweep *s, cf_sweep_versus **out, size_t *n,
                                       cf_error *err);

#endif
