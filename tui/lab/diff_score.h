/*
 * diff_score.h - how likely stored replies are after each side's prompt.
 *
 * Place in the flow:  the prompt before a reply, by each template --> tokens
 * of prompt and reply --> log-likelihood of the reply's tokens.
 * The reply's text is what the model wrote, delimiters and all (where that
 * was not kept, its content); the token that ended it is not scored.  The
 * text is tokenised again after each prompt, so both sides' counts may differ
 * by where prompt and reply meet.
 *
 * Threads:  one thread; the engine's own timeline is left alone.
 */
#ifndef CF_TUI_LAB_DIFF_SCORE_H
#define CF_TUI_LAB_DIFF_SCORE_H

#include "tui/lab/diff_pair.h"

/* One reply, scored on both sides. */
typedef struct cf_reply_score {
    size_t place[2]; /* turns before it on its path */
    bool has[2];     /* scored */
    bool is_once;    /* both sides have the same tokens: computed once */
    size_t n[2];     /* tokens scored */
    double sum[2];   /* natural logarithms of their probabilities */
    char why[100];   /* why a side has no score; "" when both have */
} cf_reply_score;

/* Sums over replies that both sides could score. */
typedef struct cf_score_sum {
    size_t n_replies, n_left_out;
    size_t n[2];
    double sum[2];
} cf_score_sum;

void cf_score_sum_add(cf_score_sum *to, const cf_reply_score *score);
/* Mean negative log-likelihood of a token, in nats; NaN without tokens. */
double cf_score_mean(double sum, size_t n);

typedef struct cf_scorer {
    const cf_diff_pair *pair;
    cf_session *session[2]; /* forks of the engine's timeline */
    cf_cancel *cancel;
} cf_scorer;

/* CF_EUNSUPPORTED for an engine that gives no likelihoods, CF_ENOMEM.  The
 * pair must outlive the scorer and have been opened with the tokenizer. */
CF_MUST_USE cf_status cf_scorer_init(cf_scorer *s, const cf_diff_pair *pair,
                                     cf_backend *backend, cf_cancel *cancel,
                                     cf_error *err);
void cf_scorer_deinit(cf_scorer *s);

typedef void (*cf_scored_fn)(void *ud, const cf_reply_score *score, size_t i,
                             size_t n_replies);

/*
 * Scores every reply on the path to each conversation's head: conv[0] under
 * side A, conv[1] (it may be the same one) under side B, reply by reply.
 * `vars` may be NULL.  A reply that cannot be scored says why; only
 * CF_ENOMEM and CF_ECANCELLED end it early.
 */
CF_MUST_USE cf_status cf_scorer_run(cf_scorer *s,
                                    cf_conversation *const conv[2],
                                    const json_t *vars, cf_scored_fn fn,
                                    void *ud, cf_error *err);

#endif
