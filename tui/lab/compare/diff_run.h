/*
 * diff_run.h - the replies of both sides: one turn answered after the prompt of side A
 * and after that of side B, with the same seed.
 *
 * Place in the flow:  both sides' conversations and templates --> a task of
 * the workbench --> two replies and where they differ.
 * Nothing is stored, and the conversation in the workbench is not changed: the
 * task works on copies and on a clone of the engine's cache.
 *
 * Threads:  the interface thread; the task runs on the worker's.
 * Memory:   owns everything; it must not move while a task runs.
 */
#ifndef CF_TUI_LAB_COMPARE_DIFF_RUN_H
#define CF_TUI_LAB_COMPARE_DIFF_RUN_H

#include "tui/lab/compare/diff_model.h"
#include "tui/lab/reply/lab_reply.h"

/* One side's reply. */
typedef struct cf_run_side {
    bool is_begun, is_done;
    cf_reply reply; /* its raw bytes are what is shown while it is written */
    cf_status status;
    cf_error err; /* with a status that is not CF_OK */
    cf_tool_family family;
    size_t n_bad; /* blocks or calls that are wrong; reply.n_calls were found */
} cf_run_side;

typedef struct cf_diff_run {
    bool has, is_on; /* replies to show; they are being written */
    bool was_swapped;
    uint64_t seed;
    uint32_t max_tokens;
    size_t n_path;       /* turns before the replies, the unsent text included */
    cf_run_side side[2]; /* as the model's sides were at the start */

    /* Where complete replies differ: tokens that are the same (when both sides
     * show tokens), and the bytes of the first one that differs. */
    bool is_same, by_token;
    size_t n_same;
    struct {
        size_t off, len; /* len 0: the reply ends there */
    } first[2];

    struct cf_diff_run_job *job; /* while it runs */
    cf_lab *lab;                 /* that runs it */
} cf_diff_run;

void cf_diff_run_deinit(cf_diff_run *run); /* stops it first */

/* Sends to both sides of the model; max_tokens 0: as the workbench does.  CF_EBUSY,
 * CF_ENOTFOUND (nothing to answer), CF_EUNSUPPORTED (an engine that renders
 * by itself) and what rendering and loading may fail with. */
CF_MUST_USE cf_status cf_diff_run_start(cf_diff_run *run, cf_diff_model *model, uint32_t max_tokens,
                                        cf_error *err);

/* Fills in where both replies differ; for complete ones.  Public for tests. */
void cf_diff_run_compare(cf_diff_run *run);

#endif
