/*
 * pass_probe.h - somebody who looks into a pass, or changes it on its way.
 *
 * A session may carry a probe; a pass then shows it, row by row, what passes
 * between the parts of the model, and computes on with what the probe left
 * there.  Without one the pass only finds a NULL.  Rows of other sessions in
 * the same pass are not shown to it.
 *
 * Words, for a row at position pos:  x_0 is the residual stream that enters
 * layer 0, x_l what leaves layer l - 1, after everything that belongs to it.  A
 * part is the output of a layer's mixer or feed-forward block, before the norm
 * that some architectures apply to that output and before the factor that it
 * is multiplied by when it is added to the stream.
 *
 * A probe that has something to change in the rows from a position on is set
 * with that position (cf_session__set_probe()), so that what the cache has
 * before it stays.
 *
 * Threads:  the functions are called by the threads of a pass, for different
 *           rows, or heads of one row, at the same time.
 *
 * Private to core/infer and core/inside.
 */
#ifndef CF_CORE_INFER_PASS_PROBE_H
#define CF_CORE_INFER_PASS_PROBE_H

#include "core/kernel/kernel.h"

typedef enum cf_layer_part {
    CF_LAYER_PART_ATTENTION,
    CF_LAYER_PART_RECURRENT,
    CF_LAYER_PART_MLP,       /* dense block, experts, shared expert together */
    CF_LAYER_PART_PER_LAYER, /* a layer's own embeddings (gemma3n, gemma4) */
    CF_LAYER_PART_LOW_RANK,  /* gemma3n: LAuReL, all of it */
    CF_LAYER_PART_COUNT
} cf_layer_part;

/* Each function may be NULL.  What is not const may be changed. */
typedef struct cf_probe {
    const struct cf_probe *next; /* looks after this one; or NULL */
    void *ud;
    bool wants_rows; /* the last layer is computed for all rows, not only for
                        those whose logits are wanted */

    /* x_l, [n] streams of [n_embd]: one, gemma3n's all. */
    void (*stream)(void *ud, uint32_t l, uint32_t pos, float *const *x, size_t n);
    /* A part, [n_embd]. */
    void (*part)(void *ud, uint32_t layer, uint32_t pos, cf_layer_part kind, float *x);
    /* Outputs of all heads, [n_head, head_size_v], after their gate. */
    void (*heads)(void *ud, uint32_t layer, uint32_t pos, float *out);
    /* Each expert that was chosen: out[n_embd] is added times *weight. */
    void (*expert)(void *ud, uint32_t layer, uint32_t pos, uint32_t expert, float *weight,
                   const float *out);
    /* gemma3n: the coefficients of the prediction [streams, streams], later
     * those of the correction less 1 [streams]; the other one is NULL. */
    void (*mixing)(void *ud, uint32_t layer, uint32_t pos, const float *predict,
                   const float *correct);
    /* Which keys are hidden in a layer, [*n]. */
    const cf_attn_hide *(*hidden)(void *ud, uint32_t layer, size_t *n);
    /* Attention of n_q heads from `head` on, computed: a has one row. */
    void (*weights)(void *ud, uint32_t layer, uint32_t pos, uint32_t head, const cf_attn *a);
} cf_probe;

/* The calls of all probes in a chain, which may be NULL. */
void cf_probe_stream(const cf_probe *p, uint32_t l, uint32_t pos, float *const *x, size_t n);
void cf_probe_part(const cf_probe *p, uint32_t layer, uint32_t pos, cf_layer_part kind, float *x);
void cf_probe_heads(const cf_probe *p, uint32_t layer, uint32_t pos, float *out);
void cf_probe_expert(const cf_probe *p, uint32_t layer, uint32_t pos, uint32_t expert,
                     float *weight, const float *out);
void cf_probe_mixing(const cf_probe *p, uint32_t layer, uint32_t pos, const float *predict,
                     const float *correct);
/* Of the first one that hides anything. */
const cf_attn_hide *cf_probe_hidden(const cf_probe *p, uint32_t layer, size_t *n);
void cf_probe_weights(const cf_probe *p, uint32_t layer, uint32_t pos, uint32_t head,
                      const cf_attn *a);
bool cf_probe_wants_rows(const cf_probe *p);

#endif
