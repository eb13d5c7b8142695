/*
 * sweep_compare.h - compares two values of an axis over the same prompts: how
 * often one is better, and by how much.
 *
 * Place in the flow:  a finished sweep --> [compare] --> a row for each pair
 *                     of values of each axis.
 *
 * Cells are paired if they differ in the axis only, and their difference is that
 * of the shares of checks passed.  The pairs of one prompt (seeds, other axes) are
 * averaged first, since they are not independent of each other; a prompt counts
 * once.  The comparisons of an axis share the level of 5 %.
 *
 * Threads:  no state.
 * Memory:   rows are the caller's to free with cf_free().
 */
#ifndef CF_TUI_STUDY_SWEEP_SWEEP_COMPARE_H
#define CF_TUI_STUDY_SWEEP_SWEEP_COMPARE_H

#include "tui/study/sweep/paired.h"
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
    size_t differ;   /* pairs whose replies are not the same text; CF_SWEEP_NONE:
                        not known */
    size_t missing;  /* pairs in which a cell failed */
    cf_paired found; /* over prompts: b compared with a */
    bool is_clear;   /* at 5 % for all comparisons of the axis together (Holm) */
    size_t needed;   /* prompts that may make it clear; 0: it is, or cannot be said */
} cf_sweep_versus;

/* All pairs of values of all axes, in the order of the plan; *out is NULL
 * where there are none.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_sweep_compare(const cf_sweep *s, cf_sweep_versus **out, size_t *n,
                                       cf_error *err);

#endif
