/*
 * diff_run.h - what each side answers: one turn, asked with the prompt of
 * side A and with that of side B, drawn with the same seed.
 *
 * Place in the flow:  both sides' conversations and templates --> a task of
 * the workbench --> two replies and where they part.
 * Nothing is stored, and the conversation in the workbench stays as it is: a task
 * works on copies, and on a clone of the engine's timeline.
 *
 * Threads:  the interface thread; the task runs on the worker's.
 * Memory:   owns everything; it must not move while a task runs.
 */
#ifndef CF_TUI_LAB_DIFF_RUN_H
#define CF_TUI_LAB_DIFF_RUN_H

#include "tui/lab/diff_model.h"

typedef struct cf_run_token {
    cf_token id;  /* CF_TOKEN_NONE where the engine hides it */
    uint32_t off; /* of its bytes in the raw reply */
} cf_run_token;

/* One side's reply. */
typedef struct cf_run_side {
    bool is_begun, is_done;
    cf_buf raw;          /* every byte; what is shown while it is written */
    cf_run_token *token; /* [n_token], owned; empty where tokens are hidden */
    size_t n_token, cap_token;
    uint64_t n_prefilled, n_prompt; /* tokens */
    cf_status status;
    cf_error err; /* with a status that is not CF_OK */
    cf_stop_reason stop;
    cf_timings timings;
    cf_tool_family family;
    size_t n_calls, n_bad; /* calls found, and blocks or calls that are wrong */
} cf_run_side;

typedef struct cf_diff_run {
    bool has, is_on; /* replies to show; they are being written */
    bool was_swapped;
    uint64_t seed;
    uint32_t max_tokens;
    size_t n_path;       /* turns before the replies, the draft included */
    cf_run_side side[2]; /* as the model's sides were at the start */

    /* Where complete replies part: tokens that are the same (when both sides
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

/* Asks both sides of the model; max_tokens 0: as the workbench does.  CF_EBUSY,
 * CF_ENOTFOUND (nothing to answer), CF_EUNSUPPORTED (an engine that renders
 * by itself) and what rendering and loading may fail with. */
CF_MUST_USE cf_status cf_diff_run_start(cf_diff_run *run, cf_diff_model *model,
                                        uint32_t max_tokens, cf_error *err);

/* Bytes of token i of a side. */
cf_str cf_diff_run_token(const cf_run_side *side, size_t i);

/* Fills in where both replies part; for complete ones.  Public for tests. */
void cf_diff_run_compare(cf_diff_run *run);

#endif
