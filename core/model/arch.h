/*
 * arch.h - what tells one model family from another, as a table of traits.
 *
 * Every family that confab computes is the same pre-norm transformer decoder
 * (forward.h); a row here says which of its parts are present and how.  Sizes
 * come from the file (hparams.h), presence of biases and of an output matrix
 * of its own too (weights.h).
 *
 * What comes next gets traits here: mixture of experts (which block a layer's
 * feed-forward is), per-layer embeddings, recurrent or convolutional layers
 * (a kind per layer).
 *
 * Threads:  constant.
 */
#ifndef CF_CORE_MODEL_ARCH_H
#define CF_CORE_MODEL_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"

/* Which two numbers of a head of n_rot rotated dimensions turn together. */
typedef enum cf_rope_style {
    CF_ROPE_NORMAL, /* 2i and 2i + 1 */
    CF_ROPE_NEOX    /* i and i + n_rot / 2 */
} cf_rope_style;

/* Of the feed-forward block's gate. */
typedef enum cf_activation {
    CF_ACT_SILU,
    CF_ACT_GELU /* the tanh form */
} cf_activation;

/* Period of "a window on every layer". */
#define CF_EVERY_LAYER UINT32_MAX

typedef struct cf_arch {
    const char *name; /* general.architecture, and the prefix of its keys */
    cf_rope_style rope_style;
    cf_activation act;
    bool has_qk_norm;       /* RMSNorm of each query and key head */
    bool has_post_norm;     /* RMSNorm behind attention and feed-forward */
    bool has_fused_qkv;     /* attn_qkv: rows of q, then k, then v */
    bool has_fused_gate_up; /* ffn_up: rows of gate, then up */
    bool has_embd_scale;    /* embeddings times sqrt(n_embd) */

    /* Of each `window_period` layers all but the last see only a window;
     * 0: no layer does. */
    uint32_t window_period;
    uint32_t window_default; /* when the file names none; 0: no window then */
    float rope_base_local;   /* of windowed layers; 0: as the others */

    /* Each layer whose number + 1 is a multiple has no rotary embedding; 0:
     * all have it. */
    uint32_t nope_period;

    float attn_soft_cap_default;  /* 0: none unless the file names one */
    float final_soft_cap_default; /* likewise */

    /* With this many layers queries are scaled by 1/sqrt(n_embd / n_head)
     * instead of 1/sqrt(head_size); 0: never. */
    uint32_t n_layer_embd_scaled;
} cf_arch;

/* NULL when confab does not compute that architecture. */
const cf_arch *cf_arch_find(cf_str name);

/* The i-th row of the table; NULL past the end. */
const cf_arch *cf_arch_at(size_t i);

#endif
