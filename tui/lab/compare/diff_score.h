/*
 * diff_score.h - the likelihood of stored replies after each side's prompt.
 *
 * Place in the flow:  the prompt before a reply, by each template --> tokens
 * of prompt and reply --> log-likelihood of the reply's tokens.
 * The reply's text is what the model wrote, delimiters and all (where that
 * was not kept, its content); the token that ended it is not scored.  The
 * text is tokenised again after each prompt, so both sides' counts may differ
 * by where prompt and reply meet.
 * An engine of this program scores on timelines of its own; a server is asked
 * with prompt and reply as text.
 *
 * Threads:  one thread; the engine's own timeline is left alone.
 */
#ifndef CF_TUI_LAB_COMPARE_DIFF_SCORE_H
#define CF_TUI_LAB_COMPARE_DIFF_SCORE_H

#include "tui/lab/prompt/diff_pair.h"

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
    cf_backend *server;     /* a copy of its settings, in place of sessions */
    cf_cancel *cancel;
} cf_scorer;

/* CF_EUNSUPPORTED for an engine that gives no likelihoods, CF_ENOMEM.  The
 * pair must outlive the scorer; that of an engine of this program must have
 * been opened with its tokenizer. */
CF_MUST_USE cf_status cf_scorer_init(cf_scorer *s, const cf_diff_pair *pair, cf_backend *backend,
                                     cf_cancel *cancel, cf_error *err);
void cf_scorer_deinit(cf_scorer *s);

/* How many replies are on the path to the conversation's head. */
CF_MUST_USE cf_status cf_scorer_count(const cf_conversation *conv, size_t *n, cf_error *err);

/* A reply after the prompt that one side makes before it; both in the arena. */
typedef struct cf_score_text {
    cf_str prompt, reply;
    cf_uuid turn; /* of the reply */
} cf_score_text;

/* The i-th reply of the path and its prompt by one side's template; nothing
 * is scored.  CF_ENOTFOUND for a reply whose text was not kept, CF_ENOMEM, and
 * what the template returns.  `vars` may be NULL. */
CF_MUST_USE cf_status cf_scorer_text(const cf_diff_pair *pair, int side, cf_conversation *conv,
                                     size_t i, const json_t *vars, cf_arena *arena,
                                     cf_score_text *out, cf_error *err);

/* Scores that reply on that side: tokens and the sum of their logarithms.
 * Errors of cf_scorer_text() and of the engine; cf_backend_last_trouble() of
 * s->server says whether a server may answer later. */
CF_MUST_USE cf_status cf_scorer_one(cf_scorer *s, int side, cf_conversation *conv, size_t i,
                                    const json_t *vars, size_t *n, double *sum, cf_error *err);

typedef void (*cf_scored_fn)(void *ud, const cf_reply_score *score, size_t i, size_t n_replies);

/*
 * Scores every reply on the path to each conversation's head: conv[0] under
 * side A, conv[1] (it may be the same one) under side B, reply by reply.
 * `vars` may be NULL.  A reply that cannot be scored says why; only
 * CF_ENOMEM and CF_ECANCELLED end it early.
 */
CF_MUST_USE cf_status cf_scorer_run(cf_scorer *s, cf_conversation *const conv[2],
                                    const json_t *vars, cf_scored_fn fn, void *ud, cf_error *err);

#endif
