/*
 * diff_survey.h - both templates applied to many saved conversations: which of them
 * differ, how, and what each template costs in tokens and gains in likelihood.
 *
 * Place in the flow:  ids (ticked ones, or everything saved) --> a task of the
 * workbench --> a row each.
 *
 * Threads:  the interface thread; the task runs on the worker's.
 * Memory:   owns everything; it must not move while a task runs.
 */
#ifndef CF_TUI_LAB_COMPARE_DIFF_SURVEY_H
#define CF_TUI_LAB_COMPARE_DIFF_SURVEY_H

#include "tui/lab/compare/diff_model.h"
#include "tui/lab/compare/diff_score.h"

enum { CF_SURVEY_ROWS = 10000, CF_SURVEY_LINES = 12 };

/* One conversation. */
typedef struct cf_survey_row {
    cf_uuid id;
    char title[80];
    bool differs; /* at the survey's level, or only one side fails */
    int failed;   /* 0: no side; 1: A's, 2: B's, 3: both, or the reading */
    char why[120];
    size_t n_removed, n_added, n_changed; /* lines or tokens */
    size_t n_tokens[2];                   /* of the prompts; 0: not known */
    /* By source: lines of each template that wrote what differs. */
    uint32_t line[2][CF_SURVEY_LINES];
    size_t n_line[2];
    bool has_more_lines[2];
    /* Calls that each template's tool family finds in the stored replies, and
     * what it finds wrong. */
    size_t n_calls[2], n_bad[2];
    size_t n_lost[2]; /* calls of the history that are not in the prompt */
    cf_score_sum score;
} cf_survey_row;

typedef struct cf_survey {
    bool has, is_on, was_swapped, was_stopped;
    cf_diff_level level;
    bool has_scores, has_calls;
    bool is_ticked;   /* over the ticked ones, not all */
    size_t n, n_done; /* conversations */
    size_t n_differ, n_failed;
    size_t n_lose, n_lose_on[2]; /* lose a call on any side, on each side */
    uint64_t n_tokens[2];
    cf_score_sum score;
    cf_survey_row *row; /* [n_row], owned: the ones that differ, and with
                           scores all; at most CF_SURVEY_ROWS */
    size_t n_row, cap_row;
    struct cf_survey_job *job;
    cf_lab *lab;
} cf_survey;

typedef struct cf_survey_options {
    cf_diff_level level;
    bool scores;       /* likelihoods too */
    const cf_uuid *id; /* [n_id] which ones; n_id 0: everything saved */
    size_t n_id;
} cf_survey_options;

void cf_survey_deinit(cf_survey *s); /* stops it first */

/* CF_EBUSY, CF_ENOTFOUND (no other template, no history), CF_EUNSUPPORTED
 * (scores, from this engine). */
CF_MUST_USE cf_status cf_survey_start(cf_survey *s, cf_diff_model *model,
                                      const cf_survey_options *options, cf_error *err);

#endif
