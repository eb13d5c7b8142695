/*
 * forward.h - one pass over the weights for a batch of tokens.
 *
 * A row is one token at one position of one timeline.  Rows of different
 * timelines may share a pass; rows of one timeline are in the order of their
 * positions, without a gap.  What is computed for a row depends on its
 * timeline only, bit for bit, not on the other rows.
 *
 * The model is a pre-norm decoder; x is the residual stream of a row:
 *
 *   x = embedding(token)
 *   for each layer:  x += attention(norm(x));  x += feed_forward(norm(x))
 *   logits = output * norm(x)
 *
 * Places kept for what comes next: embeddings of images or audio enter where
 * embed_rows() reads the token's (a row would carry a pointer to them);
 * per-layer embeddings are added at the head of the layer loop; experts take
 * the place of feed_forward(); a recurrent layer that of attention(), with
 * its state in the timeline's cache (kv_cache.h).
 *
 * Threads:  the caller holds the engine's pass lock for both calls.
 */
#ifndef CF_CORE_INFER_FORWARD_H
#define CF_CORE_INFER_FORWARD_H

#include "core/api/session.h"
#include "core/infer/engine_impl.h"

typedef struct cf_row {
    cf_kv *kv;    /* writable at pos */
    uint32_t pos; /* everything before it is cached, or in earlier rows */
    cf_token id;  /* < n_vocab */
    uint32_t rope_variant; /* CF_ROPE_SHORT or CF_ROPE_LONG */
} cf_row;

/*
 * Computes rows[0..n_row), n_row at most the workspace's, and caches their
 * keys and values.  Rows from first_out on can be asked for their logits
 * until the next pass.  CF_ECANCELLED within a layer's work after *cancel
 * (may be NULL) became true; the cache then holds nothing new of use.
 */
CF_MUST_USE cf_status cf_forward(cf_engine *e, const cf_row *rows, size_t n_row,
                                 size_t first_out, const cf_cancel *cancel,
                                 cf_error *err);

/* out[n, n_vocab]: logits of rows row0..row0+n-1 of the pass before, n at
 * most the workspace's n_logit. */
void cf_forward_logits(cf_engine *e, size_t row0, size_t n, float *out);

#endif
