/*
 * proposer.h - who proposes what a model may say next: a small model of the same
 * vocabulary, or the draft layer of the model's own file (nextn.h).
 *
 * It keeps a timeline of its own, which follows the one it is asked about, and
 * proposes its most likely token, then the one after that.
 *
 * Threads:  one thread at a time; passes take the small model's turns.
 * Memory:   a session of the small model, whose engine is borrowed, or of the
 *           layer.
 *
 * Private to core/infer.
 */
#ifndef CF_CORE_INFER_PROPOSER_H
#define CF_CORE_INFER_PROPOSER_H

#include "core/api/session.h"

typedef struct cf_proposer cf_proposer;

/* For timelines of up to n_ctx tokens of `of`, by the small model `engine`; NULL:
 * by the layer of `of`.  *out is NULL where it has none.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_proposer_new(cf_proposer **out, cf_engine *engine, const cf_engine *of,
                                      uint32_t n_ctx, cf_error *err);
void cf_proposer_free(cf_proposer *p);

/* Whether it is for timelines of up to n_ctx tokens of `of`; it forgets the
 * states that it was shown. */
bool cf_proposer_suits(cf_proposer *p, const cf_engine *of, uint32_t n_ctx);

/* Its pass over one token, as a share of one of `of`. */
double cf_proposer_step_price(const cf_proposer *p, const cf_engine *of);

/* Whether it reads states, and those of a position, [n_embd]: copied. */
bool cf_proposer_wants_hidden(const cf_proposer *p);
void cf_proposer_hidden(cf_proposer *p, uint32_t pos, const float *hidden);

/* How many of ids[0..n) it has not computed yet. */
size_t cf_proposer_n_behind(const cf_proposer *p, const cf_token *ids, size_t n);

/* Computes ids[0..n), of which none stands for a row of embeddings.  Errors as
 * cf_session_sync(). */
CF_MUST_USE cf_status cf_proposer_follow(cf_proposer *p, const cf_token *ids, size_t n,
                                         cf_cancel *cancel, cf_error *err);

/* Fills out[0..cap) with what it has follow ids[0..n): how many, fewer where
 * the context ends or a pass does not succeed. */
size_t cf_proposer_ask(cf_proposer *p, const cf_token *ids, size_t n, cf_token *out, size_t cap);

/* The largest of logits[n]; of equals the first. */
cf_token cf_proposer__top(const float *logits, size_t n);

/* CF_EINVAL where two models do not have the same vocabulary: where a token
 * that both have stands for other bytes. */
CF_MUST_USE cf_status cf_proposer_check(const cf_engine *small, const cf_engine *large,
                                        cf_error *err);

#endif
