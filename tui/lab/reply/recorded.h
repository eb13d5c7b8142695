/*
 * recorded.h - the conditions that a stored reply was written under, as the
 * history keeps them: its prompt's tokens, template, variables, thinking,
 * tools, constraint, sampler and seed.
 *
 * Place in the flow:  a turn's run in the history --> [recorded] --> replays,
 *                     studies and reports ask again under the same conditions.
 * Knows: runs, constraints as JSON.  Does not know: engines, messages.
 *
 * A turn without a run, such as an imported one, has no conditions; every
 * field is then empty.
 *
 * Threads:  one thread at a time; constant after it was loaded and compiled.
 * Memory:   owns its JSON, grammar and vocabulary; texts and lists of the run
 *           and its options live in the arena given.
 */
#ifndef CF_TUI_LAB_REPLY_RECORDED_H
#define CF_TUI_LAB_REPLY_RECORDED_H

#include "core/api/constraint.h"
#include "storage/store.h"
#include "tui/lab/reply/run_options.h"

typedef struct cf_recorded {
    const cf_store_run *run; /* NULL: nothing was recorded */
    cf_run_options options;
    cf_str template_source; /* empty: none was kept */
    json_t *tools;          /* array of declarations; NULL: none, or not recorded */
    json_t *vars;           /* object; NULL: none */
    json_t *constraint;     /* spec; NULL: none */
    /* Set by cf_recorded_compile(). */
    cf_grammar *grammar;
    cf_constraint_vocab *vocab;
} cf_recorded;

void cf_recorded_deinit(cf_recorded *r);

/* The conditions of a run (NULL: none), which lives as long as *out.  Nothing
 * is to be released after a failure.  CF_EFORMAT, CF_ENOMEM, and errors of the
 * store. */
CF_MUST_USE cf_status cf_recorded_read(cf_recorded *out, cf_store *store, const cf_store_run *run,
                                       cf_arena *arena, cf_error *err);

/* The same for the run of a turn; empty for a turn that the history does not
 * have, and for one without a run.  `store` may be NULL. */
CF_MUST_USE cf_status cf_recorded_load(cf_recorded *out, cf_store *store, cf_uuid turn,
                                       cf_arena *arena, cf_error *err);

/* Whether the run says which tools the model was offered: every reply that was
 * written here does, even where there were none. */
bool cf_recorded_has_tools(const cf_store_run *run);

/* The declarations of a run as a new array.  CF_EFORMAT, CF_ENOMEM. */
CF_MUST_USE cf_status cf_recorded_tools(json_t **out, const cf_store_run *run, cf_error *err);

/* Compiles the constraint, where there is one, for the vocabulary of `tok`.
 * Does nothing where that was done before.  Errors of
 * cf_constraint_spec_compile(); CF_ENOMEM. */
CF_MUST_USE cf_status cf_recorded_compile(cf_recorded *r, const cf_tokenizer *tok, cf_error *err);

/* A constraint after the beginning that the reply was given, at its first
 * drawn byte.  *out is NULL where the reply was free.  The recorded conditions
 * were compiled and outlive it.  CF_EFORMAT, CF_ENOMEM. */
CF_MUST_USE cf_status cf_recorded_constraint(cf_constraint **out, const cf_recorded *r,
                                             cf_error *err);

/* Variables of the prompt: `preface` (may be NULL), then thinking, then the
 * run's own over both.  A new object, or *out NULL where there are none.
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_recorded_variables(json_t **out, const cf_recorded *r,
                                            const json_t *preface, cf_error *err);

/* Sets in `out` what the reply was drawn with: sampler and seed, limit, stop
 * strings, thinking and its budget, the compiled constraint.  Fields that the
 * run did not record stay as they are.  Lists stay those of `r`. */
void cf_recorded_chat(const cf_recorded *r, cf_chat_options *out);

#endif
