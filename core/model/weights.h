/*
 * weights.h - a model's tensors by role, with shapes and types checked.
 *
 * Matrices stay where they are, in the mapped file.  A fused matrix is seen
 * as the slices of rows it consists of, so that who computes with it need not
 * know.  A tensor that the family does not use is refused: leaving it out
 * would give another model's answers.
 *
 * A layer of experts, per-layer embeddings or recurrent state would add their
 * matrices to cf_layer_weights.
 *
 * Threads:  constant after init.
 * Memory:   borrows from the cf_gguf; owns the array of layers and copies of
 *           the few vectors that are not float32 in the file.
 */
#ifndef CF_CORE_MODEL_WEIGHTS_H
#define CF_CORE_MODEL_WEIGHTS_H

#include "core/kernel/kernel.h"
#include "core/model/hparams.h"

/* Vectors are float32; those marked "or NULL" may be absent. */
typedef struct cf_layer_weights {
    const float *attn_norm; /* [n_embd] */
    cf_mat q;               /* [n_head * head_size, n_embd] */
    cf_mat k;               /* [n_head_kv * head_size, n_embd] */
    cf_mat v;               /* [n_head_kv * head_size_v, n_embd] */
    const float *q_bias, *k_bias, *v_bias; /* as q, k, v; or NULL */
    const float *q_norm, *k_norm;          /* [head_size] or NULL */
    cf_mat o;                              /* [n_embd, n_head * head_size_v] */
    const float *o_bias;                   /* [n_embd] or NULL */
    const float *post_attn_norm;           /* [n_embd] or NULL */
    const float *ffn_norm;                 /* [n_embd] */
    cf_mat gate, up;                       /* [n_ff, n_embd] */
    cf_mat down;                           /* [n_embd, n_ff] */
    const float *gate_bias, *up_bias, *down_bias; /* or NULL */
    const float *post_ffn_norm;                   /* [n_embd] or NULL */
} cf_layer_weights;

typedef struct cf_weights {
    cf_mat embd;              /* [n_vocab, n_embd] */
    cf_mat output;            /* [n_vocab, n_embd]; embd when tied */
    const float *output_bias; /* [n_vocab] or NULL */
    const float *output_norm; /* [n_embd] */
    /* Divisors of the rotary frequencies, [n_rot / 2] or NULL. */
    const float *rope_freqs, *rope_long, *rope_short;
    cf_layer_weights *layer; /* [n_layer] */
    uint32_t n_layer;
    uint64_t bytes;   /* of all tensors in the file */
    uint64_t n_param; /* numbers in them */
    float *owned;     /* vectors converted to float32 */
    size_t n_owned;
} cf_weights;

/* CF_EFORMAT for a missing tensor or a wrong shape, CF_EUNSUPPORTED for a
 * type confab does not read or a tensor the family does not have,
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_weights_init(cf_weights *out, const cf_gguf *g,
                                      const cf_hparams *hp, cf_error *err);
void cf_weights_deinit(cf_weights *w);

#endif
