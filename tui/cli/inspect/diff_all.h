/*
 * diff_all.h - confab diff --all: two templates over every saved conversation,
 * and with --likelihood the model's own judgement of its replies after each.
 *
 * Threads:  one thread; servers are asked on others.
 */
#ifndef CF_TUI_CLI_INSPECT_DIFF_ALL_H
#define CF_TUI_CLI_INSPECT_DIFF_ALL_H

#include "tui/cli/shell/cli.h"
#include "tui/lab/prompt/diff_pair.h"

typedef struct cf_diff_all {
    const cf_cli *cli;
    const cf_diff_pair *pair;
    const char *a, *b; /* names of the templates */
    bool has_likelihood;
    uint32_t jobs; /* 0: the default */
    /* Results: conversations, and questions that no server answered. */
    size_t n_differ, n_done, n_failed, n_unanswered;
    bool is_unsaved; /* some answers are not in the history */
} cf_diff_all;

/* Prints a line for each conversation that differs, with --likelihood also for
 * each that has replies, and one for all.  Errors of the store, of the engine
 * and of rendering; CF_ECANCELLED. */
CF_MUST_USE cf_status cf_diff_all_run(cf_diff_all *all, cf_error *err);

/* Appends ,"error_a": ... of the templates that failed. */
void cf_diff_all_errors(cf_buf *out, const cf_diff_renders *r);

#endif
