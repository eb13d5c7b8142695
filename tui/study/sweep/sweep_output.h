/*
 * sweep_output.h - a sweep as JSON, as text and as JUnit's XML.
 *
 * Threads:  no state.
 * Memory:   appended to the caller's buffer.
 */
#ifndef CF_TUI_STUDY_SWEEP_SWEEP_OUTPUT_H
#define CF_TUI_STUDY_SWEEP_SWEEP_OUTPUT_H

#include "tui/study/sweep/sweep_compare.h"

/* A cell as one line of JSON. */
void cf_sweep_put_cell(cf_buf *out, const cf_sweep *s, size_t cell);

/* The last line: figures and comparisons. */
void cf_sweep_put_end(cf_buf *out, const cf_sweep *s, const cf_sweep_versus *v, size_t n);

/* One sentence: "template chatml against llama2: better on 31 ...". */
void cf_sweep_put_versus(cf_buf *out, const cf_sweep_versus *v);

/* Cells by model, template, system prompt and sampler, a row each, and the
 * comparisons. */
void cf_sweep_put_table(cf_buf *out, const cf_sweep *s, const cf_sweep_versus *v, size_t n);

/* JUnit: a suite for each row of that table, a case a cell. */
void cf_sweep_put_junit(cf_buf *out, const cf_sweep *s);

/* Cells with a check that does not pass. */
size_t cf_sweep_n_unpassed(const cf_sweep *s);

#endif
