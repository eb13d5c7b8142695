/*
 * sweep_table.h - a sweep as a task of the workbench, and as a table: a row a
 * prompt, a column a combination of the other axes.
 *
 * Place in the flow:  ":sweep PLAN" --> [table] --> a task that runs the sweep
 * --> cells, told one by one --> the Sweep view.
 *
 * Invariant: while the task runs, the interface thread reads only cells
 * 0 .. n_told of the sweep, which the task no longer changes.
 *
 * Threads:  the interface thread; the task runs on the worker's.
 * Memory:   owns everything; it must not move while a task runs.
 */
#ifndef CF_TUI_STUDY_SWEEP_SWEEP_TABLE_H
#define CF_TUI_STUDY_SWEEP_SWEEP_TABLE_H

#include "tui/lab/lab.h"
#include "tui/study/sweep/sweep_compare.h"
#include "tui/sys/trust.h"

typedef enum cf_sweep_order {
    CF_SWEEP_BY_PLAN,
    CF_SWEEP_WORST_FIRST,
    CF_SWEEP_MOST_APART, /* rows whose cells differ most */
    CF_SWEEP_ORDERS
} cf_sweep_order;

typedef struct cf_sweep_table {
    cf_lab *lab;
    bool is_on;    /* the task runs */
    bool is_ready; /* plan and cells are there */
    bool was_stopped;
    char path[300];
    char model[300]; /* of the workbench; where the plan has none */
    cf_store *store;
    const cf_trust *trust;
    cf_uuid *ticked; /* [n_ticked] */
    size_t n_ticked;
    cf_sweep_plan plan;
    cf_sweep sweep;
    bool has_plan, has_sweep;
    size_t n_told, n_reused, n_failed;
    size_t n_row, n_col; /* columns of the sweep, a combination each */
    size_t group;        /* the axis that the columns shown are grouped by;
                            CF_SWEEP_NONE: each is a column */
    size_t *first;       /* [n_col] the first column of the sweep in column i
                            of those shown */
    size_t n_shown;
    size_t *row; /* [n_row] prompts, in the order shown */
    cf_sweep_order order;
    cf_sweep_versus *versus; /* [n_versus], at the end */
    size_t n_versus;
} cf_sweep_table;

void cf_sweep_table_deinit(cf_sweep_table *t); /* stops it first */

/* Starts to run a plan, which replaces the table.  Addresses of the plan are
 * refused unless `trust` (borrowed; NULL: none) has them; the user is not asked.
 * CF_EBUSY, CF_ENOMEM. */
CF_MUST_USE cf_status cf_sweep_table_start(cf_sweep_table *t, cf_lab *lab, cf_store *store,
                                           const cf_trust *trust, const char *path, cf_error *err);

/* Groups the columns by the next axis on which they differ, after the last one
 * by none. */
void cf_sweep_table_group(cf_sweep_table *t);
/* Whether column `col` of the sweep is in column `shown`. */
bool cf_sweep_table_is_in(const cf_sweep_table *t, size_t shown, size_t col);

/* The mean score of the cells of a row in column `shown` that are done and have
 * a score; negative if none has. */
double cf_sweep_table_mean(const cf_sweep_table *t, size_t row, size_t shown);

/* The same over all rows. */
double cf_sweep_table_sum(const cf_sweep_table *t, size_t shown);

/* Appends, at the end of a sweep, which value of each axis is best, and against
 * which others that is clear. */
void cf_sweep_table_put_verdict(const cf_sweep_table *t, cf_buf *out);

/* The cell in a row and a column of the sweep; NULL: not done yet. */
const cf_sweep_cell *cf_sweep_table_cell(const cf_sweep_table *t, size_t row, size_t col);

/* The first cell of a column, for its names. */
const cf_sweep_cell *cf_sweep_table_column(const cf_sweep_table *t, size_t col);

/* Sorts the rows. */
void cf_sweep_table_sort(cf_sweep_table *t, cf_sweep_order order);

/*
 * A cell as a saved conversation with the tag "sweep": made at the first call,
 * found at the next.  CF_ENOTFOUND without a history, CF_EINVAL for a cell
 * that failed; errors of the store.
 */
CF_MUST_USE cf_status cf_sweep_table_open(const cf_sweep_table *t, const cf_sweep_cell *c,
                                          cf_uuid *out, cf_error *err);

#endif
