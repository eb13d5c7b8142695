/*
 * sweep_output.h - a sweep as JSON, as text and as JUnit's XML.
 *
 * Threads:  no state.
 * Memory:   appended to the caller's buffer.
 */
#ifndef CF_TUI_STUDY_SWEEP_SWEEP_OUTPUT_H
#define CF_TUI_STUDY_SWEEP_SWEEP_OUTPUT_H

#include "core/json/json_writer.h"
#include "tui/study/sweep/sweep_compare.h"

/* A cell as one line of JSON. */
void cf_sweep_put_cell(cf_buf *out, const cf_sweep *s, size_t cell);

/* The last line: figures and comparisons. */
void cf_sweep_put_end(cf_buf *out, const cf_sweep *s, const cf_sweep_versus *v, size_t n);

/* Comparisons as the member `compare` of an object. */
void cf_sweep_put_compare(cf_jw *w, const cf_sweep_versus *v, size_t n);

/* Rows: cells that differ in prompts and repeats only, from `first` on; their
 * name; and a check over them, in which the repeats of a prompt count as one. */
size_t cf_sweep_row_length(const cf_sweep *s, size_t first);
void cf_sweep_put_row_name(cf_buf *out, const cf_sweep *s, const cf_sweep_cell *c);

typedef struct cf_sweep_rate {
    double passed;    /* prompts, each by the share of its repeats */
    size_t n;         /* prompts with an answer */
    double sum_value; /* of likelihoods */
    size_t n_value;
} cf_sweep_rate;

cf_sweep_rate cf_sweep_rate_of(const cf_sweep *s, size_t first, size_t check);

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
