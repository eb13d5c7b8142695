/*
 * sweep_plan.h - a sweep's plan: a text file that names prompts, system
 * prompts, templates, models, samplers and checks, a line each.
 *
 * Place in the flow:  FILE --> [plan] --> cells (sweep.h).
 * Knows: the lines of a plan, files of prompts, saved conversations.  Does not
 * know: engines, how a cell is run.
 *
 *   prompts FILE.jsonl         lines {"name","prompt"}, or "messages" in place
 *                              of "prompt"; "system" and "tools" may be there
 *   conversations QUERY        saved ones, by the filters of the library; the
 *                              reply at their end is asked for again, with its
 *                              constraint and thinking, and its sampler and seed
 *                              where no line names a sampler
 *   conversations ticked       those of the caller
 *   tools FILE                 declarations for prompts that have none
 *   system NAME [TEXT]         without TEXT: no system prompt
 *   template NAME              a file, a built-in one, or "model" for the model's own
 *   model M [M ...]            as -m; several addresses share the work of one
 *   adapter NAME [FILE[=SCALE] ...]   LoRA adapters of model files; none
 *   sampler [NAME] greedy|OPTION=VALUE|tokens=N|repeat=N ...
 *                              options as on the command line: temperature,
 *                              top-k, seed ...; without a line: greedy
 *   check NAME KIND [VALUE]    sweep_check.h
 *   # comment
 *
 * A plan may also come from another format (tui/study/import/plan_load.h).
 *
 * Every prompt is answered with every combination of the other lines.  Files
 * are looked up relative to the plan, then as given.
 *
 * Threads:  reading on one thread; a plan that was read is constant.
 * Memory:   a plan owns its parts.
 */
#ifndef CF_TUI_STUDY_PLAN_SWEEP_PLAN_H
#define CF_TUI_STUDY_PLAN_SWEEP_PLAN_H

#include "core/api/adapter.h"
#include "core/api/conversation.h"
#include "storage/store.h"
#include "tui/study/plan/sweep_check.h"

enum {
    CF_SWEEP_VALUES_MAX = 64, /* of one axis */
    CF_SWEEP_REPEATS_MAX = 1000,
    CF_SWEEP_ITEMS_MAX = 100000, /* prompts */
    CF_SWEEP_CELLS_MAX = 1000000,
    CF_SWEEP_ADDRESSES_MAX = 32 /* of one model */
};

/* A prompt that is to be answered. */
typedef struct cf_sweep_item {
    cf_str name;
    json_t *messages;        /* array, without a reply at its end; of a plan with
                             wordings a list of such arrays, one of each */
    json_t *tools;           /* declarations; NULL: none */
    json_t *extra;           /* template variables; NULL: none */
    json_t *fields;          /* the line of the file; NULL: none */
    cf_uuid conversation;    /* nil: of a file */
    const cf_store_run *run; /* of the reply that is asked for again: what it was drawn
                                with, and no more; NULL: nothing was recorded */
    size_t first_own, n_own; /* its checks in plan->own */
} cf_sweep_item;

typedef struct cf_sweep_system {
    cf_str name;
    cf_str text; /* empty: no system prompt */
} cf_sweep_system;

typedef struct cf_sweep_sampler {
    cf_str name;
    cf_chat_options chat; /* sampling and max_tokens */
    uint32_t n_repeat;    /* replies to each prompt, each with the next seed; > 0 */
} cf_sweep_sampler;

typedef struct cf_sweep_model {
    cf_str name;    /* as the plan has it */
    bool is_server; /* all of its words are addresses */
    const char *address[CF_SWEEP_ADDRESSES_MAX];
    size_t n_address;         /* 1 for what is not a server */
    const char *server_model; /* NULL: that of the command line */
    const char *key;          /* NULL: none; plan_trust.h */
    const char *key_variable; /* that has it; NULL: none */
    bool is_service;          /* the variable is for this address */
    bool has_sampler;         /* its own, whatever the plan's are */
    cf_sweep_sampler sampler;
} cf_sweep_model;

typedef struct cf_sweep_adapter {
    cf_str name;
    const char *file[CF_ADAPTERS_MAX]; /* [n_file] "FILE" or "FILE=SCALE" */
    size_t n_file;
} cf_sweep_adapter;

/* A check of one prompt: it answers column `column` of the plan's checks. */
typedef struct cf_sweep_own_check {
    size_t column;
    cf_sweep_check check;
} cf_sweep_own_check;

typedef struct cf_sweep_plan {
    cf_arena arena;
    const char *path;
    cf_sweep_item *item;
    size_t n_item, cap_item;
    cf_str wording[CF_SWEEP_VALUES_MAX]; /* names */
    size_t n_wording;
    cf_sweep_system system[CF_SWEEP_VALUES_MAX];
    size_t n_system;
    cf_str template_name[CF_SWEEP_VALUES_MAX];      /* as the plan has it */
    const char *template_path[CF_SWEEP_VALUES_MAX]; /* NULL: the model's own */
    size_t n_template;
    cf_sweep_model model[CF_SWEEP_VALUES_MAX];
    size_t n_model;
    cf_sweep_adapter adapter[CF_SWEEP_VALUES_MAX];
    size_t n_adapter;
    cf_sweep_sampler sampler[CF_SWEEP_VALUES_MAX];
    size_t n_sampler;
    cf_sweep_check check[CF_SWEEP_VALUES_MAX];
    size_t n_check;
    bool has_own; /* prompts have checks of their own; `check` has names */
    cf_sweep_own_check *own;
    size_t n_own, cap_own;
    json_t *tools;
    bool draws_as_recorded; /* no sampler is named: as `run` of each prompt says */
} cf_sweep_plan;

/* The source of saved conversations. */
typedef struct cf_sweep_saved {
    cf_store *store;       /* NULL: none */
    const cf_uuid *ticked; /* [n_ticked] */
    size_t n_ticked;
} cf_sweep_saved;

/* For a plan that names no model: addresses of servers, which share the work of
 * one model.  A single name that is not an address changes nothing, nor do none;
 * CF_EINVAL for several that are not all addresses, CF_ENOMEM. */
CF_MUST_USE cf_status cf_sweep_plan_servers(cf_sweep_plan *plan, const char *const *names, size_t n,
                                            cf_error *err);
/* The check of prompt `item` in column `check`; NULL: none. */
const cf_sweep_check *cf_sweep_plan_check(const cf_sweep_plan *plan, size_t item, size_t check);
void cf_sweep_plan_deinit(cf_sweep_plan *plan);

#endif
