/*
 * forward.h - one pass over the weights for a batch of rows.
 *
 * A row is one token, or one row of embeddings in a token's place, at one
 * position of one timeline.  Rows of different timelines may share a pass;
 * rows of one timeline follow each other in the order of their positions,
 * without a gap.  What is computed for a row depends on its timeline only, bit
 * for bit, not on the other rows.
 *
 * x is the residual stream of a row, a the families' residual_scale:
 *
 *   x = embedding(token)
 *   for each layer:  x += a mixer(norm(x));  x += a feed_forward(norm(x))
 *   logits = output * norm(x)
 *
 * The mixer is attention (attention.c) or a recurrent part (recurrent.c); the
 * feed-forward part one block, experts, or both (feed_forward.c, experts.c).
 * Some families add embeddings of each layer's own (per_layer.c), and gemma3n
 * computes on one of several streams (altup.c).
 *
 * Threads:  the caller holds the engine's pass lock for both calls.
 */
#ifndef CF_CORE_INFER_FORWARD_H
#define CF_CORE_INFER_FORWARD_H

#include "core/api/batch.h"
#include "core/infer/engine_impl.h"
#include "core/infer/lora.h"
#include "core/infer/pass_probe.h"
#include "core/infer/recurrent_state.h"

typedef struct cf_row {
    cf_kv *kv;                 /* writable at pos; NULL in an encoder */
    uint32_t pos;              /* everything before it is cached, or in earlier rows */
    cf_token id;               /* < n_vocab, unless there is embd */
    const float *embd;         /* [(1 + n_deepstack) * n_embd] in place of the token's
                          embedding, or NULL */
    uint32_t at[CF_ROPE_AXES]; /* where rotary embeddings put it; pos in text */
    uint32_t see_end;          /* it also sees the positions after it and before this;
                         they are rows of the same pass.  0: none */
    uint32_t rope_variant;     /* CF_ROPE_SHORT or CF_ROPE_LONG */
    const cf_lora_set *lora;   /* its session's adapters, or NULL */
    const cf_probe *probe;     /* its session's, or NULL */

    /* Models with recurrent layers. */
    const cf_state *before; /* the state before a timeline's first row */
    cf_state *after;        /* where the state after its last one goes; both
                               set in every row of the timeline */
    cf_state *keep;         /* where the state after this row goes, or NULL */
} cf_row;

/*
 * In an encoder all rows of a pass see each other; they are one text from
 * position 0 on, and have no timeline.
 *
 * Computes rows[0..n_row), n_row at most the workspace's, and caches their
 * keys, values and states.  Rows from first_out on can be asked for their
 * logits until the next pass.  CF_ECANCELLED within a layer's work after
 * *cancel (may be NULL) became true; the cache then holds nothing new of use.
 *
 * pause->fn (pause may be NULL) is called before each half of a layer, without the pass
 * lock and with the engine's spare buffers in place of its own, which
 * cf_forward_spare() has made.
 */
CF_MUST_USE cf_status cf_forward(cf_engine *e, const cf_row *rows, size_t n_row, size_t first_out,
                                 const cf_pause *pause, const cf_cancel *cancel, cf_error *err);

/* Makes the spare buffers as large as the engine's own, for one pass at a time;
 * false: they are in use, or there is no memory. */
bool cf_forward_spare(cf_engine *e);
/* The pass that used them is over; the larger buffers are the engine's own. */
void cf_forward_end_spare(cf_engine *e);

/* out[n, n_vocab]: logits of rows row[0..n) of the pass before, ascending; n
 * at most the workspace's n_logit. */
void cf_forward_logits(cf_engine *e, const uint32_t *row, size_t n, float *out);

/* out[n, n_vocab]: the same for residual streams that a probe was shown, as it
 * was shown them: x[n, streams, n_embd], n at most the workspace's n_row.  What
 * the pass before left is lost. */
void cf_forward_read(cf_engine *e, const float *x, size_t n, float *out);

/* [n_embd] the state that the logits of a row of the pass before are made of;
 * borrowed until the next call of any of these. */
const float *cf_forward_hidden(cf_engine *e, uint32_t row);

#endif
