/*
 * sweep.h - every prompt of a plan answered with every combination of its
 * system prompts, templates, models and samplers, checked, and compared.
 *
 * Place in the flow:  plan --> cells --> [sweep] --> a result a cell, in the
 *                     history --> checks --> comparisons (sweep_compare.h).
 * Knows: engines, servers, results.  Does not know: commands, screens.
 *
 * A cell's key is a hash of everything that its reply depends on: messages,
 * tools, variables, template, model and sampler.  A result with that key in the
 * history is used as it is, so that a sweep that was stopped resumes where it
 * ended, and cells with the same key are run once.
 *
 * Cells of a model file are batched, several in one pass; cells of servers are
 * run by `jobs` workers over all addresses.  A server's 429 and 5xx are retried,
 * and Retry-After is obeyed (core/backend/backend_remote.c); any other failure
 * is the cell's error and is retried by the next sweep.  A server renders
 * prompts itself, so templates do not apply to it.
 *
 * Threads:  the calling one, and workers for servers while cf_sweep_run()
 *           runs, which write to the store, too; `fn` is called on the
 *           calling one.
 * Memory:   a sweep owns cells and results; plan and options are borrowed.
 */
#ifndef CF_TUI_STUDY_SWEEP_SWEEP_H
#define CF_TUI_STUDY_SWEEP_SWEEP_H

#include "core/base/hash.h"
#include "templates/open.h"
#include "tui/study/plan/sweep_plan.h"

#define CF_SWEEP_NONE SIZE_MAX

enum { CF_SWEEP_JOBS = 8, CF_SWEEP_JOBS_MAX = 256, CF_SWEEP_PASS_MAX = 32 };

/* The outcome of a check. */
typedef struct cf_sweep_answer {
    bool is_absent; /* the prompt has no such check */
    bool is_known;  /* false: it could not be asked */
    bool passes;
    bool has_value;
    double value; /* of a likelihood: its mean */
    char *why;    /* a line; NULL: none */
} cf_sweep_answer;

typedef struct cf_sweep_cell {
    size_t item;
    size_t system, tpl, model, adapter, sampler, wording; /* of the plan;
                                           CF_SWEEP_NONE: it has none */
    size_t repeat;                                        /* of its sampler, from 0 */
    char key[CF_HASH_TEXT + 1];                           /* "": not known */
    size_t next_twin; /* a later cell with the same key; CF_SWEEP_NONE */
    bool is_done;
    bool is_reused;          /* nothing was computed */
    json_t *result;          /* NULL: it failed */
    char *error;             /* NULL: it did not */
    cf_sweep_answer *answer; /* [plan->n_check] */
} cf_sweep_cell;

typedef struct cf_sweep cf_sweep;

/* Called when a cell is done, in the order of the plan. */
typedef void (*cf_sweep_fn)(void *ud, const cf_sweep *sweep, size_t cell);

typedef struct cf_sweep_options {
    cf_open_options open; /* the model where the plan has none, with its key; threads */
    cf_store *store;      /* NULL: nothing is kept */
    uint32_t jobs;        /* 0: CF_SWEEP_JOBS */
    cf_cancel *cancel;    /* may be NULL */
    cf_sweep_fn fn;       /* may be NULL */
    /* Called when a cell ends, in any order; may be NULL. */
    void (*progress)(void *ud, size_t n_done, size_t n);
    void *ud;
} cf_sweep_options;

struct cf_sweep {
    const cf_sweep_plan *plan;
    cf_sweep_options o;
    cf_sweep_cell *cell; /* [n] models, adapters, templates, systems, wordings, samplers,
                            repeats, prompts: the last changes fastest */
    size_t n, n_done, n_told;
    size_t n_reused, n_failed; /* cells */
    size_t n_unsaved;
    cf_error store_why;
    json_t *seen; /* key -> first cell */
    struct cf_sweep__judge *judge;
};

/* Makes the cells; nothing is run.  CF_ELIMIT, CF_ENOMEM. */
CF_MUST_USE cf_status cf_sweep_init(cf_sweep *s, const cf_sweep_plan *plan,
                                    const cf_sweep_options *o, cf_error *err);
void cf_sweep_deinit(cf_sweep *s);

/* Runs the cells that are not done.  A cell that fails does not end the sweep.
 * CF_ECANCELLED, CF_ENOMEM; errors of opening a model or a template. */
CF_MUST_USE cf_status cf_sweep_run(cf_sweep *s, cf_error *err);

/* Names as the plan has them; "" for an axis without lines. */
cf_str cf_sweep_system_name(const cf_sweep *s, const cf_sweep_cell *c);
cf_str cf_sweep_template_name(const cf_sweep *s, const cf_sweep_cell *c);
cf_str cf_sweep_model_name(const cf_sweep *s, const cf_sweep_cell *c);
cf_str cf_sweep_adapter_name(const cf_sweep *s, const cf_sweep_cell *c);
cf_str cf_sweep_sampler_name(const cf_sweep *s, const cf_sweep_cell *c);
cf_str cf_sweep_wording_name(const cf_sweep *s, const cf_sweep_cell *c);

/* The cell's sampler: its model's own, else the plan's. */
const cf_sweep_sampler *cf_sweep_sampler_of(const cf_sweep *s, const cf_sweep_cell *c);
/* Its options with the seed of the cell: each repeat has the next one. */
cf_chat_options cf_sweep_chat_of(const cf_sweep *s, const cf_sweep_cell *c);

/* The reply's text; empty for a failed cell. */
void cf_sweep_reply(const cf_sweep_cell *c, cf_buf *out);

/* The messages of a cell, including the system prompt: a new reference, NULL
 * when memory ran out. */
json_t *cf_sweep_messages(const cf_sweep *s, const cf_sweep_cell *c);
/* The tools of its prompt; borrowed, NULL: none. */
const json_t *cf_sweep_tools(const cf_sweep *s, const cf_sweep_cell *c);

/* The share of its checks that a cell passes; negative if it failed or has no
 * checks. */
double cf_sweep_score(const cf_sweep *s, const cf_sweep_cell *c);

/* Whether the cell has a reply that passes all of its checks. */
bool cf_sweep_passes(const cf_sweep *s, const cf_sweep_cell *c);

#endif
