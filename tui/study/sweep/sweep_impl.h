/*
 * sweep_impl.h - the inside of a sweep, shared by sweep*.c.
 */
#ifndef CF_TUI_STUDY_SWEEP_SWEEP_IMPL_H
#define CF_TUI_STUDY_SWEEP_SWEEP_IMPL_H

#include "tui/lab/reply/recorded.h"
#include "tui/study/sweep/sweep.h"

/* The model of a cell, for its key. */
typedef struct cf_sweep__engine {
    const char *model;         /* a hash, or an address */
    const char *template_hash; /* "": a server */
} cf_sweep__engine;

/* ---- sweep_result.c ----------------------------------------------------- */

/* The cell's key by what answers it. */
CF_MUST_USE cf_status cf_sweep__key(const cf_sweep *s, cf_sweep_cell *c, const cf_sweep__engine *e,
                                    cf_error *err);

/* A cell as a conversation that waits for its reply. */
typedef struct cf_sweep__request {
    json_t *messages, *tools, *extra;
    cf_conversation *conv;
    cf_turn_options options;
    cf_uuid head;
    cf_arena arena; /* of the conditions */
    cf_recorded was;
} cf_sweep__request;

/* Texts are copied, so that a request belongs to its thread.  A constraint is
 * compiled for `tok` (NULL: it goes to a server as it is).  On failure, too, it
 * is to be deinitialised. */
CF_MUST_USE cf_status cf_sweep__request_init(cf_sweep__request *r, const cf_sweep *s,
                                             const cf_sweep_cell *c, const cf_role_map *roles,
                                             const cf_tokenizer *tok, cf_error *err);
void cf_sweep__request_deinit(cf_sweep__request *r);

/* The result of a response: {"message","raw","status","findings","ids",
 * "stop","usage","ms","family"}. */
CF_MUST_USE cf_status cf_sweep__result(json_t **out, const cf_chat_response *r,
                                       cf_tool_family family, cf_error *err);

/* Likelihoods after the prompt that checks ask for, into the result; null where
 * the engine gives none (`backend` NULL: none of them).  CF_ENOMEM. */
CF_MUST_USE cf_status cf_sweep__add_scores(const cf_sweep *s, const cf_sweep_cell *c,
                                           cf_backend *backend, cf_str prompt, json_t *result,
                                           cf_error *err);

/* ---- sweep.c ------------------------------------------------------------ */

/* Looks for the cell in the history, and for an earlier one with its key;
 * true: nothing is to be run, because it is known or has failed. */
bool cf_sweep__is_known(cf_sweep *s, size_t cell);

/* The cell has this result (taken over; whether the history has it), or
 * failed; on the calling thread. */
void cf_sweep__finish(cf_sweep *s, size_t cell, json_t *result, bool is_saved, const cf_error *err);

/* Puts a result into the history, if there is one; on any thread. */
CF_MUST_USE cf_status cf_sweep__save(const cf_sweep *s, const cf_sweep_cell *c,
                                     const json_t *result, cf_error *err);

bool cf_sweep__is_cancelled(const cf_sweep *s);

/* ---- sweep_local.c, sweep_servers.c, sweep_judge.c ----------------------- */

/* The cells of one model that is not a server. */
CF_MUST_USE cf_status cf_sweep__run_local(cf_sweep *s, size_t model, cf_error *err);
/* The cells of all servers. */
CF_MUST_USE cf_status cf_sweep__run_servers(cf_sweep *s, cf_error *err);

/* Asks judges for answers that a result lacks; sets *is_changed if it got one.
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_sweep__ask_judges(cf_sweep *s, const cf_sweep_cell *c, json_t *result,
                                           bool *is_changed, cf_error *err);
void cf_sweep__free_judges(cf_sweep *s);

/* The options that open model number `model` of the plan with an adapter;
 * CF_SWEEP_NONE: what the plan does not say. */
cf_open_options cf_sweep__open_options(const cf_sweep *s, size_t model, size_t adapter);

#endif
