/*
 * embed.h - vectors of texts, and scores of pairs of texts.
 *
 * Place in the flow:  token ids --> [embedder] --> one vector, or a score.
 * Knows: how the model pools the states after its tokens, and its classifier.
 * Does not know: what the vectors are compared with.
 *
 * An encoder (cf_engine_info.is_encoder) computes a text in one pass, so its
 * memory grows with the longest text; a decoder has a timeline of its own.
 *
 * Threads:  an embedder belongs to one thread at a time; those of one engine
 *           may be on different threads and take turns.
 * Memory:   owns its buffers; the engine must outlive it.
 */
#ifndef CF_CORE_API_EMBED_H
#define CF_CORE_API_EMBED_H

#include "core/api/engine.h"
#include "core/base/cancel.h"

CF_BEGIN_DECLS

typedef struct cf_embedder cf_embedder;

/* For texts of at most n_ctx tokens; 0 means those the model was trained for,
 * with a decoder 8192 at most.  CF_EUNSUPPORTED for a model whose file declares
 * no pooling, CF_EINVAL for one without weights, CF_ENOMEM. */
CF_MUST_USE cf_status cf_embedder_new(cf_embedder **out, cf_engine *engine, uint32_t n_ctx,
                                      cf_error *err);
void cf_embedder_free(cf_embedder *e);

/*
 * Pools the states after ids[0..n) as the model says into pooled[n_embd], not
 * normalised.  ids are complete: nothing is put around them.  For a ranker
 * (CF_POOLING_RANK) that is the vector that enters its classifier, and *score
 * the first of its outputs, or the share of "yes" among two; else *score is 0.
 * score may be NULL.
 *
 * CF_EINVAL for n = 0 and for an id outside the vocabulary, CF_ELIMIT for more
 * than n_ctx, CF_ECANCELLED, CF_ENOMEM, CF_EIO.
 */
CF_MUST_USE cf_status cf_embedder_run(cf_embedder *e, const cf_token *ids, size_t n,
                                      cf_cancel *cancel, float *pooled, float *score,
                                      cf_error *err);

/* Negative where a is the better of two scores or similarities, positive where
 * b is, 0 for equals.  What is not a number comes last, so that the scores of
 * any file can be sorted. */
int cf_rank_compare(double a, double b);

/* Gives v[n] the length 1; a vector of zeros stays as it is. */
void cf_embedding_normalise(float *v, size_t n);

/*
 * The ids that a ranker reads for a query and a document: the template "rerank"
 * of its file with {query} and {document} in it, or both texts with the tokens
 * that the vocabulary puts around and between them.  No control token comes
 * from the texts.  *ids in the arena.  CF_EINVAL for an empty query,
 * CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_rank_ids(cf_token **ids, size_t *n, const cf_engine *engine, cf_str query,
                                  cf_str document, cf_arena *arena, cf_error *err);

CF_END_DECLS

#endif
