/*
 * influence.h - measures what a reply depends on: each part of its prompt is
 * left out in turn, the reply is scored again, and the change of its
 * log-likelihood is the influence of that part.
 *
 * Place in the flow:  a case --> parts --> prompts without each of them -->
 *                     [influence] --> a number for each part, and for each
 *                     token of the reply.
 * Knows: what of a reply is asked about, what is done with each part.  Does not
 * know: screens, the command line.
 *
 * delta = log-likelihood of the target without the part, minus with it, in
 * nats.  Below zero the part made the target more likely.  docs/study.md says
 * what the options mean and where such numbers mislead.
 *
 * Threads:  one thread at a time; `cancel` may be set from any.
 * Memory:   an influence owns everything in it; the case is borrowed while it
 *           is made.
 */
#ifndef CF_TUI_STUDY_INFLUENCE_INFLUENCE_H
#define CF_TUI_STUDY_INFLUENCE_INFLUENCE_H

#include "templates/prompt_part.h"
#include "tui/study/ask/study_case.h"
#include "tui/study/ask/study_score.h"

typedef enum cf_part_change {
    CF_CHANGE_LEAVE_OUT, /* the prompt is rendered without the part */
    CF_CHANGE_NEUTRAL,   /* its tokens become as many neutral ones */
    CF_CHANGE_HIDE,      /* the reply does not see its tokens; nothing moves */
    CF_CHANGE_SWAP       /* it is replaced by the same part of another conversation */
} cf_part_change;

typedef struct cf_influence_options {
    uint32_t kinds; /* bits by cf_part_kind; 0: messages and tools */
    size_t message; /* sentences and words of this one only; SIZE_MAX: all */
    size_t tool;    /* fields of this one only; SIZE_MAX: all */
    cf_part_change change;
    const cf_study_case *other; /* CF_CHANGE_SWAP */
    bool keeps_positions;       /* CF_CHANGE_LEAVE_OUT: tokens after the part keep
                             their positions, and a gap remains */
    bool has_span;
    size_t span_from, span_to; /* of the reply's bytes: the target */
    bool asks_end;             /* the target is that the reply ends after its text */
    const char *instead;       /* NULL, or what is compared with the target: a text, "end", or
                            "no call" */
    uint32_t budget;           /* passes of random ablations; 0: each part is left out */
    uint64_t seed;             /* of these */
    bool empties;              /* messages stay, without content */
    bool has_no_groups;        /* rows only */
} cf_influence_options;

typedef struct cf_influence_row {
    cf_part part;
    bool has_delta;
    double without;     /* log-likelihood of the target */
    double delta;       /* without - with */
    const float *log_p; /* [n_target] without the part */
    size_t n_tokens;    /* that the prompt lost (or that became neutral) */
    bool is_emptied;    /* the template wants the message: its content was left
                         out instead */
    bool was_known;     /* the history had its scores */
    const char *why;    /* !has_delta: why not, in one line */
    bool decides;       /* `instead`: without it, the other would have come */
    cf_str would_say;   /* where it decides: the greedy reply; p NULL: not known */
} cf_influence_row;

/* Parts whose effect only shows when they are left out together. */
typedef struct cf_influence_group {
    cf_part_group of; /* of rows */
    bool decides;
    cf_str would_say;
} cf_influence_group;

/* A token of the target. */
typedef struct cf_influence_token {
    cf_token id;
    size_t off, len; /* bytes of the reply */
    float log_p;     /* with everything */
} cf_influence_token;

typedef struct cf_influence {
    cf_arena arena;
    cf_prompt prompt;           /* with everything */
    cf_token_list tokens;       /* of it */
    cf_prompt_match match;      /* of the prompt with that of the run */
    cf_str match_why;           /* a line, where it is not the same */
    cf_influence_token *target; /* [n_target] */
    size_t n_target;
    double with;           /* log-likelihood of the target */
    cf_influence_row *row; /* [n_row] */
    size_t n_row;
    size_t n_scored, n_known; /* of the rows */
    bool is_constrained;      /* scored under the run's constraint ... */
    size_t n_forced;          /* ... with so many tokens of the target forced */
    cf_str instead;           /* the text compared with; `with` is then the logarithm of the odds */
    cf_str target_text;
    cf_influence_group group[CF_PART_GROUPS_MAX];
    size_t n_group;
    size_t n_pass;       /* prompts scored, that with everything included */
    const bool *kept;    /* of a budget [n_ablation, n_row at first]: which parts were there */
    const double *score; /* [n_ablation] and the score then; the first is of the whole */
    size_t n_ablation;
    bool has_lds;
    double lds; /* of the budget: rank correlation on ablations that the fit has not seen */
    bool has_failed_store;
} cf_influence;

void cf_influence_init(cf_influence *v);
void cf_influence_deinit(cf_influence *v);

/* Called with the number of prompts scored so far. */
typedef void (*cf_influence_fn)(void *ud, size_t n_done, size_t n_all);

/*
 * Computes it.  A part that cannot be taken out says why in its row.
 * CF_EUNSUPPORTED for an engine that gives no likelihoods; CF_EINVAL for a
 * span outside the reply and options that exclude each other; CF_ELIMIT for
 * too many parts, or a prompt that does not fit the context; errors of the
 * template for the whole prompt; CF_ECANCELLED, CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_influence_make(cf_influence *out, const cf_study_case *c,
                                        const cf_study_engine *engine, cf_study_scorer *scorer,
                                        const cf_influence_options *options, cf_influence_fn fn,
                                        void *ud, cf_error *err);

/* Spearman's rank correlation of a[n] and b[n]; scratch[2 * n].  False, and 0,
 * where all values of one are equal. */
bool cf_influence_rank_correlation(const double *a, const double *b, size_t n, double *scratch,
                                   double *out);

/* Indices of the rows, by how much they raise the likelihood of the target, highest
 * first; rows without a number last: order[0..n_row). */
void cf_influence_sort(const cf_influence *v, size_t *order);

/* A part in a few words: "message 3 (user)", "tool get_time",
 * "sentence 2 of message 1", counted from 1. */
void cf_part_label(const cf_part *part, const cf_study_case *c, cf_buf *out);

/* The members of a group and how they act: "message 1 (user) + tool f  either
 * suffices". */
void cf_influence_group_label(const cf_influence *v, const cf_influence_group *g,
                              const cf_study_case *c, cf_buf *out);

/* A call of the reply ("0"), or an argument of one ("0.city",
 * "1.filter.tags[2]"): its bytes. */
typedef struct cf_influence_target {
    cf_str name;
    size_t from, to;
} cf_influence_target;

/* All calls of the reply, each with its arguments after it; (*out)[0..n) lives
 * in the arena.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_influence_targets(const cf_study_case *c, cf_tool_family family,
                                           cf_arena *arena, cf_influence_target **out, size_t *n,
                                           cf_error *err);

/* The bytes of the one with this name.  CF_EINVAL, CF_ENOTFOUND. */
CF_MUST_USE cf_status cf_influence_argument(const cf_study_case *c, const cf_study_engine *engine,
                                            const char *name, size_t *from, size_t *to,
                                            cf_error *err);

#endif
