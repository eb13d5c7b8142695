/*
 * beside.h - two files of one model beside each other: how far their
 * distributions are apart along a saved reply, and where their own replies part.
 *
 * Place in the flow:  the tokens of a saved prompt and reply --> both sessions
 *                     --> [beside] --> figures, two greedy replies, their calls.
 * Knows: sessions, tokenizers, families of calls.  Does not know: the history,
 * where sessions come from.
 *
 * The distance after each token is the Kullback-Leibler divergence of B from A,
 * sum of p_A (log p_A - log p_B) over the vocabulary, in nats (S. Kullback, R. A.
 * Leibler, "On Information and Sufficiency", 1951), of the raw distributions at
 * temperature 1.  Replies of their own are greedy and without a constraint.
 *
 * Threads:  one thread; the sessions are changed.
 * Memory:   a result owns its texts.
 */
#ifndef CF_TUI_STUDY_SHRINK_BESIDE_H
#define CF_TUI_STUDY_SHRINK_BESIDE_H

#include "core/api/session.h"
#include "core/api/tool.h"
#include "core/base/buf.h"

/* Borrowed.  Both have the same vocabulary. */
typedef struct cf_beside_side {
    cf_session *session;
    const cf_tokenizer *tok;
    cf_tool_family family;
    size_t n_vocab;
} cf_beside_side;

typedef struct cf_beside_text {
    const cf_token *prompt, *reply; /* [n_prompt], [n_reply], both > 0 */
    size_t n_prompt, n_reply;
    uint32_t max_tokens; /* of the replies of their own */
    cf_cancel *cancel;   /* may be NULL */
} cf_beside_text;

typedef struct cf_beside {
    /* Along the saved reply. */
    size_t n;                 /* tokens */
    double kl_sum, kl_max;    /* nats */
    size_t kl_at;             /* the token with the largest */
    size_t n_other, other_at; /* tokens where the first choices differ, and the first of them */
    cf_token choice[2];       /* there */
    /* Their own replies. */
    cf_buf reply[2], calls[2];
    size_t n_same; /* tokens that both begin with */
    bool parts;    /* they differ */
} cf_beside;

/* CF_ELIMIT for a text that does not fit, CF_ECANCELLED, CF_ENOMEM. */
CF_MUST_USE cf_status cf_beside_run(cf_beside *out, const cf_beside_side side[2],
                                    const cf_beside_text *text, cf_error *err);
void cf_beside_deinit(cf_beside *b);

#endif
