/*
 * weights.h - a model's tensors by role, with shapes and types checked.
 *
 * Matrices stay where they are, in the mapped file.  A fused matrix is seen
 * as the slices of rows it consists of, so that the code that computes with it
 * need not know.  A tensor that the family does not use is refused: leaving it
 * out would give another model's answers.
 *
 * Threads:  constant after init.
 * Memory:   borrows from the cf_gguf; owns the array of layers and copies of
 *           the few vectors that are not float32 in the file.
 */
#ifndef CF_CORE_MODEL_WEIGHTS_H
#define CF_CORE_MODEL_WEIGHTS_H

#include "core/base/arena.h"
#include "core/kernel/kernel.h"
#include "core/model/hparams.h"

/* The same matrix of every expert (or stream), `step` bytes apart, or anywhere;
 * all have the shape and type of the first. */
typedef struct cf_mat_stack {
    cf_mat first;
    size_t step;
    const float *by;    /* of each, or NULL */
    const cf_mat *each; /* [n], or NULL: they are a step apart */
} cf_mat_stack;

static inline cf_mat cf_mat_stack_at(const cf_mat_stack *s, size_t i)
{
    if (s->each != NULL) {
        return s->each[i];
    }
    cf_mat m = s->first;
    m.p = (const unsigned char *)m.p + i * s->step;
    m.by = s->by != NULL ? s->by[i] : m.by;
    return m;
}

/* Vectors are float32; those marked "or NULL" may be absent, and so may
 * matrices, whose p is then NULL.  In families with biases of norms a norm's
 * bias follows its weights: its vector is twice as long. */

/* A mixture: router, experts, and what gemma4 has around them. */
typedef struct cf_expert_weights {
    cf_mat router;                    /* [n, n_embd]; p is NULL without experts */
    const float *router_bias;         /* [n] or NULL */
    const float *choice_bias;         /* [n] or NULL: for choosing only */
    const float *router_scale;        /* [n_embd] or NULL: the router reads
                                      norm(x) / sqrt(n_embd) times this */
    cf_mat_stack gate, up;            /* [n_ff, n_embd]; up alone is in gate */
    cf_mat_stack down;                /* [n_embd, n_ff] */
    const float *gate_bias, *up_bias; /* [n, n_ff] or NULL */
    const float *down_bias;           /* [n, n_embd] or NULL */
    const float *shared_gate;         /* [n_embd] or NULL: the shared expert
                                         times sigmoid(h . this) */
    const float *pre_norm;            /* [n_embd] or NULL: of what they read */
    const float *post_norm;           /* [n_embd] or NULL: of their sum */
    const float *dense_post_norm;     /* [n_embd] or NULL: of the dense block */
} cf_expert_weights;

/* A recurrent mixer; see recurrent.c of core/infer for what each is. */
typedef struct cf_recurrent_weights {
    cf_mat in;              /* [cf_hparams_n_in(), n_embd] */
    cf_mat gate;            /* DeltaNet: [n_head * n_value, n_embd] */
    cf_mat beta, alpha;     /* DeltaNet: [n_head, n_embd]; or both in beta,
                               [2 n_head, n_embd], by key head */
    const float *conv;      /* [n_channel, n_tap] */
    const float *conv_bias; /* [n_channel] or NULL */
    const float *dt_bias;   /* [n_head] */
    const float *a;         /* [n_head], negative */
    const float *d;         /* Mamba-2: [n_head] */
    const float *norm;      /* DeltaNet: [n_value]; Mamba-2: [n_head n_value]
                               or NULL */
    cf_mat out;             /* [n_embd, n_head * n_value] */
} cf_recurrent_weights;

/* gemma3n's alternating updates and its low-rank residual. */
typedef struct cf_altup_weights {
    cf_mat router;            /* [n_altup, n_embd] */
    const float *router_norm; /* [n_embd] */
    const float *predict;     /* [n_altup * n_altup, n_altup] */
    const float *correct;     /* [n_altup, n_altup] */
    const float *scale;       /* [n_embd] */
    cf_mat laurel_l;          /* [rank, n_embd] */
    cf_mat laurel_r;          /* [n_embd, rank] */
    const float *laurel_norm; /* [n_embd] */
} cf_altup_weights;

/* Multi-head latent attention; q is a matrix of the layer. */
typedef struct cf_latent_weights {
    cf_mat q_a;             /* [n_q, n_embd]; p is NULL where queries are not compressed */
    const float *q_a_norm;  /* [n_q] */
    cf_mat kv_a;            /* [n + n_rot, n_embd] */
    const float *kv_a_norm; /* [n] */
    cf_mat_stack k_b;       /* [n, n_plain], one for each head */
    cf_mat_stack v_b;       /* [n_value, n], likewise */
} cf_latent_weights;

typedef struct cf_layer_weights {
    const float *attn_norm;                /* [n_embd] or NULL: of what the mixer reads */
    cf_mat q;                              /* [n_head * head_size, n_embd]; twice the rows
                               with an output gate */
    cf_mat k;                              /* [n_head_kv * head_size, n_embd] */
    cf_mat v;                              /* [n_head_kv * head_size_v, n_embd]; p is NULL
                               where k serves, and both where kv_layer's do */
    const float *q_bias, *k_bias, *v_bias; /* as q, k, v; or NULL */
    const float *q_norm, *k_norm;          /* [head_size], or [rows of q, of k]
                                              by row; or NULL */
    const float *sinks;                    /* [n_head] or NULL */
    cf_mat attn_gate;                      /* [n_head * head_size_v, n_embd] */
    cf_mat o;                              /* [n_embd, n_head * head_size_v] */
    const float *o_bias;                   /* [n_embd] or NULL */
    cf_latent_weights latent;
    const float *post_attn_norm; /* [n_embd] or NULL */
    const float *again_norm;     /* [n_embd] or NULL: of has_opt_sum_norm */
    cf_recurrent_weights recurrent;
    const float *ffn_norm;                        /* [n_embd] or NULL */
    cf_mat gate, up;                              /* [n_ff, n_embd]; up alone is in gate */
    cf_mat down;                                  /* [n_embd, n_ff] */
    const float *gate_bias, *up_bias, *down_bias; /* or NULL */
    cf_expert_weights expert;
    const float *post_ffn_norm;  /* [n_embd] or NULL */
    cf_mat per_layer_gate;       /* [n_per_layer, n_embd] */
    cf_mat per_layer_proj;       /* [n_embd, n_per_layer] */
    const float *per_layer_norm; /* [n_embd] or NULL */
    const float *scale;          /* [1] or NULL: of the whole stream */
    cf_altup_weights altup;
} cf_layer_weights;

/* The ends of an encoder or of a ranker, see forward.c and embed.c of
 * core/infer. */
typedef struct cf_encoder_weights {
    const float *type_row;     /* [n_embd] or NULL: added to each embedding */
    cf_mat position;           /* [n_ctx_train, n_embd]: likewise, its row */
    const float *embd_norm;    /* [n_embd] or NULL */
    cf_mat dense[2];           /* of the pooled row, one after the other */
    cf_mat classify;           /* [n_embd, n_embd]: before the outputs */
    const float *bias, *norm;  /* [n_embd] or NULL: after it */
    cf_mat outputs;            /* [labels, n_embd]; p is NULL where it ranks nothing */
    const float *outputs_bias; /* [labels] or NULL */
} cf_encoder_weights;

/* What makes rows for a draft layer of a state and the next token:
 * join (norm(embedding), norm(state)). */
typedef struct cf_nextn_weights {
    cf_mat join;                          /* [n_embd, 2 n_embd] */
    const float *embd_norm, *hidden_norm; /* [n_embd] */
} cf_nextn_weights;

typedef struct cf_weights {
    cf_mat embd;              /* [n_vocab, n_embd] */
    cf_mat output;            /* [n_vocab, n_embd]; embd when tied */
    const float *output_bias; /* [n_vocab] or NULL */
    const float *output_norm; /* [n_embd] or NULL */
    /* Divisors of the rotary frequencies, [n_rot / 2] or NULL. */
    const float *rope_freqs, *rope_long, *rope_short;
    cf_mat per_layer_embd;       /* [n_vocab, n_layer * n_per_layer] */
    cf_mat per_layer_model_proj; /* [n_layer * n_per_layer, n_embd] */
    const float *per_layer_norm; /* [n_per_layer] */
    cf_mat_stack altup_proj;     /* [n_embd, n_embd], n_altup - 1 of them */
    cf_mat_stack altup_unproj;   /* likewise */
    cf_encoder_weights encoder;
    cf_nextn_weights nextn;  /* of a draft layer's only */
    cf_layer_weights *layer; /* [n_layer] */
    uint32_t n_layer;
    uint64_t bytes;   /* of all tensors in the file */
    uint64_t n_param; /* numbers in them */
    cf_arena owned;   /* vectors converted to float32 */
} cf_weights;

/* Whether a tensor has the name of experts' matrices, of all or of one. */
bool cf_weights_is_expert(cf_str name);

/* CF_EFORMAT for a missing tensor or a wrong shape, CF_EUNSUPPORTED for a
 * type confab does not read or a tensor the family does not have,
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_weights_init(cf_weights *out, const cf_gguf *g, const cf_hparams *hp,
                                      cf_error *err);
void cf_weights_deinit(cf_weights *w);

#endif
