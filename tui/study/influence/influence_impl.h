/*
 * influence_impl.h - shared by the files of influence: prompts without a part,
 * and the rows to fill.
 *
 * Threads:  one thread at a time.
 * Memory:   results live in the influence's arena.
 */
#ifndef CF_TUI_STUDY_INFLUENCE_INFLUENCE_IMPL_H
#define CF_TUI_STUDY_INFLUENCE_INFLUENCE_IMPL_H

#include "tui/study/influence/influence.h"

/* CF_EINVAL for options that exclude each other. */
CF_MUST_USE cf_status cf_influence__check(const cf_influence_options *o, cf_error *err);

/* Compares out->prompt with the prompt of the run; `tokens` as in
 * cf_study_case_match().  CF_ENOMEM. */
CF_MUST_USE cf_status cf_influence__match(cf_influence *out, const cf_study_case *c,
                                          const cf_token_list *tokens, cf_error *err);

/* Makes out->row of the parts of out->prompt's context.  CF_ELIMIT, CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_influence__list(cf_influence *out, const cf_study_context *context,
                                         const cf_influence_options *o, cf_error *err);

/*
 * The prompt with the row's change, which is not CF_CHANGE_NEUTRAL.  A template
 * that refuses a conversation without the message gets it without content, and
 * the row says so.
 */
CF_MUST_USE cf_status cf_influence__prompt(cf_influence *out, const cf_study_engine *engine,
                                           const cf_study_context *context,
                                           const cf_influence_options *o, cf_influence_row *row,
                                           cf_prompt *prompt, cf_error *err);

/* Whether a failure concerns one part only. */
bool cf_influence__is_of_part(cf_status st);

double cf_influence__sum(const float *v, size_t n);

/* cf_influence_make() with a server that scores texts. */
CF_MUST_USE cf_status cf_influence__by_server(cf_influence *out, const cf_study_case *c,
                                              const cf_study_engine *engine,
                                              cf_study_scorer *scorer,
                                              const cf_influence_options *o, cf_influence_fn fn,
                                              void *ud, cf_error *err);

#endif
