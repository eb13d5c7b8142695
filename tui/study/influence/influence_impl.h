/*
 * influence_impl.h - shared by the files of influence: prompts without some
 * parts, and how likely the target is after each.
 *
 * Threads:  one thread at a time.
 * Memory:   results live in the influence's arena.
 */
#ifndef CF_TUI_STUDY_INFLUENCE_INFLUENCE_IMPL_H
#define CF_TUI_STUDY_INFLUENCE_INFLUENCE_IMPL_H

#include "core/api/inside.h"
#include "tui/study/ask/reply_plan.h"
#include "tui/study/influence/influence.h"

/* What of a prompt is changed: the parts of some rows, which do not lie in each
 * other. */
typedef struct cf_influence_set {
    const size_t *row; /* [n] */
    size_t n;
} cf_influence_set;

/* A prompt as tokens, then the target. */
typedef struct cf_influence_variant {
    cf_token *ids; /* [n] with the whole reply after `first` tokens of the prompt */
    uint32_t *at;  /* [n] or NULL */
    size_t n, first;
    cf_inside_change *hidden; /* [n_hidden], CF_CHANGE_HIDE */
    size_t n_hidden;
    size_t n_lost; /* tokens less than the whole prompt, or made neutral */
} cf_influence_variant;

/* One prompt that is scored. */
typedef struct cf_influence_trial {
    cf_influence_set set;
    cf_influence_variant v;
    bool is_scored; /* else `why` says why not */
    const char *why;
    double score;
    const float *log_p; /* [n_target] */
    size_t n_lost;
    bool is_emptied, was_known;
} cf_influence_trial;

typedef struct cf_influence_work {
    cf_influence *out;
    const cf_study_case *c;
    const cf_study_engine *engine;
    cf_study_scorer *scorer;
    const cf_influence_options *o;
    cf_part_context context;
    cf_influence_trial whole;
    cf_influence_token *all; /* [n_reply] the reply, up to the target's end */
    size_t n_reply;
    size_t from, n_target;     /* tokens of the reply that are the target */
    size_t span_from, span_to; /* bytes of it that are asked about */
    cf_text_plan plan;         /* of the target */
    cf_text_plan other;        /* of what is compared with it, in its place */
    cf_token *other_ids;       /* [other.n] */
    bool has_other, is_odds;   /* is_odds: with everything that is not the target */
    float *base[2];            /* what was read after the whole prompt */
    cf_token neutral;
    size_t n_done, n_all;
    cf_influence_fn fn;
    void *ud;
} cf_influence_work;

/* CF_EINVAL for options that exclude each other. */
CF_MUST_USE cf_status cf_influence__check(const cf_influence_options *o, cf_error *err);

/* Compares out->prompt with the prompt of the run; `tokens` as in
 * cf_study_case_match().  CF_ENOMEM. */
CF_MUST_USE cf_status cf_influence__match(cf_influence *out, const cf_study_case *c,
                                          const cf_token_list *tokens, cf_error *err);

/* Makes out->row of the parts of out->prompt's context.  CF_ELIMIT, CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_influence__list(cf_influence *out, const cf_part_context *context,
                                         const cf_influence_options *o, cf_error *err);

/* The context without the parts of a set, or with what takes their place;
 * `empties`: messages stay, without content.  To be dropped by
 * cf_parts_drop().  CF_EUNSUPPORTED for what a template writes. */
CF_MUST_USE cf_status cf_influence__context(cf_part_context *changed, const cf_influence *inf,
                                            const cf_part_context *context,
                                            const cf_influence_options *o, cf_influence_set set,
                                            bool empties, cf_error *err);

/*
 * The prompt with the set's change, which is neither CF_CHANGE_NEUTRAL nor
 * CF_CHANGE_HIDE.  A template that refuses a conversation without a message, or
 * writes nothing of it, gets it without content, and *is_emptied says so.
 */
CF_MUST_USE cf_status cf_influence__prompt(cf_influence *out, const cf_study_engine *engine,
                                           const cf_part_context *context,
                                           const cf_influence_options *o, cf_influence_set set,
                                           bool *is_emptied, cf_prompt *prompt, cf_error *err);

/* Whether a failure concerns one part only. */
bool cf_influence__is_of_part(cf_status st);

double cf_influence__sum(const float *v, size_t n);

/* Sets the target, its plan, and that of what is compared with it.  CF_EINVAL
 * for a span outside the reply and for what the constraint does not allow. */
CF_MUST_USE cf_status cf_influence__aim(cf_influence_work *w, cf_error *err);

/* Scores the target after the whole prompt, then after trials.  What fails for
 * one trial alone is its `why`. */
CF_MUST_USE cf_status cf_influence__whole(cf_influence_work *w, cf_error *err);
CF_MUST_USE cf_status cf_influence__try(cf_influence_work *w, cf_influence_trial *v, size_t n,
                                        cf_error *err);

/* Scores random ablations in place of the rows one by one, and fits them. */
CF_MUST_USE cf_status cf_influence__fit(cf_influence_work *w, cf_error *err);

/* Marks the rows and groups that decide, and has the model answer without
 * them. */
CF_MUST_USE cf_status cf_influence__say(cf_influence_work *w, cf_error *err);

/* cf_influence_make() with a server that scores texts. */
CF_MUST_USE cf_status cf_influence__by_server(cf_influence *out, const cf_study_case *c,
                                              const cf_study_engine *engine,
                                              cf_study_scorer *scorer,
                                              const cf_influence_options *o, cf_influence_fn fn,
                                              void *ud, cf_error *err);

#endif
