/*
 * arch.h - the traits in which model families differ, as a table.
 *
 * Every family that confab computes is a row of layers (forward.h): a mixer of
 * positions (attention, or a recurrent part with a state), then a feed-forward
 * part (one block, or experts), each added to the residual stream.  In a
 * decoder a position sees those before it; in an encoder all see each other.  A row here says which parts a family has and how.  Sizes come from
 * the file (hparams.h), presence of biases and of an output matrix of its own
 * too (weights.h).
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
    CF_ACT_GELU,        /* the tanh form */
    CF_ACT_CLAMPED_GLU, /* gpt-oss, see recurrent.h */
    CF_ACT_RELU,
    CF_ACT_GELU_ERF,       /* x (1 + erf(x / sqrt 2)) / 2 */
    CF_ACT_GELU_ERF_PLAIN, /* the same of up, without a gate */
    CF_ACT_RELU2,          /* squared ReLU of up, without a gate */
    CF_ACT_XIELU           /* xIELU of up, without a gate, see recurrent.h */
} cf_activation;

static inline bool cf_activation_has_gate(cf_activation a)
{
    return a != CF_ACT_RELU2 && a != CF_ACT_XIELU && a != CF_ACT_GELU_ERF_PLAIN;
}

/* How a ranker makes a score: which rows it pools, and what comes before the
 * output matrix. */
typedef enum cf_ranking {
    CF_RANK_FIRST_TANH, /* the first row; tanh of a matrix, where there is one */
    CF_RANK_MEAN_GELU,  /* the mean; norm of gelu of a matrix, likewise */
    CF_RANK_LAST_YES    /* the last row; the share of the first of two outputs */
} cf_ranking;

/* What the file's logit_scale, embedding_scale and residual_scale do. */
typedef enum cf_multipliers {
    CF_MULTIPLY_NOTHING,
    CF_MULTIPLY_GRANITE, /* all three; logits are divided */
    CF_MULTIPLY_MINICPM, /* likewise, with values of its own where they are absent */
    CF_MULTIPLY_LOGITS   /* logits are multiplied, no other is read */
} cf_multipliers;

/* How a layer mixes positions. */
typedef enum cf_mixer {
    CF_MIX_ATTENTION,
    CF_MIX_DELTA_NET,  /* Gated DeltaNet (Yang et al. 2024) */
    CF_MIX_SHORT_CONV, /* gated short convolution (LFM2) */
    CF_MIX_MAMBA2      /* Mamba-2 (Dao and Gu 2024) */
} cf_mixer;

/* Which layers of a family with a recurrent mixer have it. */
typedef enum cf_recurrent_rule {
    CF_RECURRENT_INTERVAL, /* all but each n-th, or a flag by layer */
    CF_RECURRENT_NO_KV,    /* those with no key/value heads */
    CF_RECURRENT_ALL       /* all, parallel to attention on the same input */
} cf_recurrent_rule;

/* Period of "a window on every layer". */
#define CF_EVERY_LAYER UINT32_MAX

typedef struct cf_arch {
    const char *name; /* general.architecture, and the prefix of its keys */
    cf_rope_style rope_style;
    cf_activation act;
    bool has_qk_norm;       /* RMSNorm of each query and key head */
    bool has_opt_qk_norm;   /* likewise, in files that have its weights */
    bool has_late_qk_norm;  /* it comes after the rotation */
    bool has_row_qk_norm;   /* RMSNorm of all query heads at once, all keys */
    bool has_v_norm;        /* RMSNorm of each value head, without weights */
    bool has_post_norm;     /* RMSNorm after attention and feed-forward */
    bool has_no_pre_norm;   /* and none before them */
    bool has_layer_norm;    /* LayerNorm in place of RMSNorm */
    bool has_norm_bias;     /* with a bias */
    bool has_sum_norm;      /* no norm before a part: x = norm(x + part(x)) */
    bool has_opt_sum_norm;  /* after attention once more, where the file has the
                               weights: x = norm(x + what it was before) */
    bool has_bare_start;    /* the first layer has no norm before attention */
    bool has_one_norm;      /* both parts read norm(x) of the layer's start */
    bool has_fused_qkv;     /* attn_qkv: rows of q, then k, then v */
    bool has_fused_gate_up; /* ffn_up: rows of gate, then up */
    bool has_embd_scale;    /* embeddings times sqrt(n_embd) */
    bool has_embd_norm;     /* embeddings are normalised (token_embd_norm) */
    bool has_positions;     /* position_embd has a row for each position */
    bool has_soft_caps;     /* the file may cap scores and logits */
    bool has_q_gate;        /* attn_q: a head's query, then its output gate */
    bool has_attn_gate;     /* attn_gate: output gates of all heads */
    bool has_latent;        /* multi-head latent attention, latent.c of core/infer */
    bool is_encoder;        /* all positions see each other, and there are no logits */
    bool has_alibi;         /* scores fall with the distance, see attention_encoder.c */
    bool has_sinks;         /* one score more in each head's softmax */
    bool has_experts;       /* layers may be mixtures of experts */
    bool has_dense_beside;  /* with experts beside a block of their own */
    bool has_early_router;  /* it reads x of the layer's start, without a norm */
    bool has_sigmoid_gates; /* of experts, unless the file says otherwise */
    bool has_raw_weights;   /* of experts, unless expert_weights_norm is true */
    cf_ranking ranking;
    cf_multipliers multipliers;
    bool has_temperature;   /* queries grow with their position */
    bool has_layer_scale;   /* layer_output_scale */
    bool has_per_layer;     /* embeddings of their own for each layer */
    bool has_altup;         /* alternating updates and LAuReL, altup.h */
    bool has_embd_out_norm; /* the last norm is called token_embd_norm */
    bool has_single_parts;  /* a layer is a mixer or feed-forward, not both */
    bool has_deepstack;     /* image rows add to the first layers' outputs */
    const char *ffn_norm;   /* name of the norm before it; NULL: ffn_norm */

    /* Layers that are not attention. */
    cf_mixer recurrent; /* CF_MIX_ATTENTION: none */
    cf_recurrent_rule recurrent_rule;
    bool has_grouped_heads; /* value heads of a key head follow each other;
                               else they are n_group apart */

    /* Of each `window_period` layers all but the last see only a window;
     * 0: no layer does. */
    uint32_t window_period;
    bool has_full_first;       /* all but the first, instead */
    bool has_nope_full;        /* with windows, the other layers have no rotary
                                  embedding */
    uint32_t window_default;   /* when the file names none; 0: no window then */
    float rope_base_local;     /* of windowed layers; 0: as the others */
    bool has_plain_rope_local; /* windowed layers are never stretched */
    bool has_exact_yarn;       /* the ends of YaRN's ramp are not rounded */
    bool has_interleaved_axes; /* M-RoPE: pairs take turns, see rope.h */

    /* Each layer whose number + 1 is a multiple has no rotary embedding; 0:
     * all have it. */
    uint32_t nope_period;

    float attn_soft_cap_default;  /* 0: none unless the file names one */
    float final_soft_cap_default; /* likewise */
    float attn_scale;             /* 0: 1/sqrt(head_size) */

    /* With this many layers queries are scaled by 1/sqrt(n_embd / n_head)
     * instead of 1/sqrt(head_size); 0: never. */
    uint32_t n_layer_embd_scaled;
} cf_arch;

/* NULL when confab does not compute that architecture. */
const cf_arch *cf_arch_find(cf_str name);

#endif
