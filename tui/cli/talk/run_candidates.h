/*
 * run_candidates.h - confab run --candidates: several replies to one message,
 * made side by side.
 *
 * Threads:  the calling one.
 * Memory:   nothing is left.
 */
#ifndef CF_TUI_CLI_TALK_RUN_CANDIDATES_H
#define CF_TUI_CLI_TALK_RUN_CANDIDATES_H

#include "tui/cli/talk/keep.h"

enum { CF_CANDIDATES_MAX = 32 };

typedef struct cf_candidates {
    const cf_cli *cli;
    cf_conversation *conv;
    const cf_opened *engine;
    cf_keep *keep;       /* NULL: nothing is stored */
    cf_str constraint;   /* JSON, for the history */
    const cf_send *send; /* the message and the options */
    size_t n;            /* 1 .. CF_CANDIDATES_MAX */
    uint32_t n_draft;
} cf_candidates;

/*
 * Candidate i is drawn with the seed of the options plus i, so that a run with
 * that seed gives it alone.  With --json every event goes to standard output
 * as it happens, and each candidate has a stop event with its seed; otherwise
 * the texts are written one after the other at the end.  Calls are shown and
 * not answered.  The replies become siblings, with the head at the first.
 *
 * Returns CF_OK when every candidate ended well, else the first failure;
 * *is_engine tells whether it was the engine's.
 */
CF_MUST_USE cf_status cf_run_candidates(const cf_candidates *c, bool *is_engine, cf_error *err);

#endif
