/*
 * hparams.h - a model's sizes and constants, from the file's metadata, checked
 * so that everything computed from them fits.
 *
 * Sizes that a family could vary by layer are kept by layer.
 *
 * Threads:  constant after reading.
 * Memory:   owns the array of layers.
 */
#ifndef CF_CORE_MODEL_HPARAMS_H
#define CF_CORE_MODEL_HPARAMS_H

#include "core/base/status.h"
#include "core/kernel/recurrent.h"
#include "core/model/arch.h"
#include "core/model/gguf.h"

/* Bounds on what a file may ask for; larger than any model we know. */
enum {
    CF_LAYER_MAX = 1024,
    CF_HEAD_MAX = 4096,
    CF_WIDTH_MAX = 1 << 20, /* of an embedding, a feed-forward, all heads */
    CF_VOCAB_MAX = 1 << 24,
    CF_CTX_MAX = 1 << 24,
    CF_EXPERT_MAX = 4096,
    CF_EXPERT_USED_MAX = 64,
    CF_STATE_MAX = 1024, /* keys, or values, of one head's state */
    CF_ALTUP_MAX = 8
};

typedef enum cf_rope_scaling {
    CF_ROPE_NONE,
    CF_ROPE_LINEAR,  /* positions divided by factor (Chen et al. 2023) */
    CF_ROPE_YARN,    /* by frequency (Peng et al. 2023) */
    CF_ROPE_LONGROPE /* factors from tensors (Ding et al. 2024) */
} cf_rope_scaling;

/* A row's position has this many numbers: time, height, width, and one more
 * that no model uses so far.  Text has the same number four times. */
enum { CF_ROPE_AXES = 4 };

/* How a set of layers turns positions into angles (rope.h). */
typedef struct cf_rope_params {
    uint32_t n_rot; /* dimensions of a head that turn; even */
    double base;
    cf_rope_scaling scaling;
    double factor;                  /* >= what; 1 without scaling */
    double attn_factor;             /* multiplies sine and cosine */
    double ext_factor;              /* YaRN: weight of the ramp, 1 */
    double beta_fast;               /* YaRN: 32 */
    double beta_slow;               /* YaRN: 1 */
    double magnitude;               /* YaRN: of sine and cosine; 0: 1 + 0.1 ln factor */
    bool is_exact;                  /* YaRN: the ramp's ends are not rounded */
    uint32_t n_ctx_orig;            /* context before it was stretched */
    uint32_t section[CF_ROPE_AXES]; /* M-RoPE: pairs of each axis; all 0: one */
    bool is_interleaved;            /* their pairs take turns */
} cf_rope_params;

/* Rotary settings by layer: of all layers, or of those with a window. */
enum { CF_ROPE_GLOBAL = 0, CF_ROPE_LOCAL = 1, CF_ROPE_SETS = 2 };

typedef struct cf_layer_hparams {
    cf_mixer mixer;       /* CF_MIX_ATTENTION: no recurrent one */
    uint32_t n_head;      /* query heads; 0: no attention */
    uint32_t n_head_kv;   /* key/value heads; divides n_head */
    uint32_t head_size;   /* of a query and a key */
    uint32_t head_size_v; /* of a value */
    uint32_t kv_layer;    /* whose keys and values it reads; its own mostly */
    uint32_t n_ff;        /* of its one block, or its shared expert; 0: none */
    bool has_experts;
    uint32_t window;   /* positions a query sees, its own included; 0: all.  Of an
                          encoder: half of it to either side */
    uint32_t rope_set; /* CF_ROPE_GLOBAL or CF_ROPE_LOCAL */
    bool has_rope;
    bool sees_blocks; /* positions of a block of embeddings see each other, where
                         the projector asks for it */
    float attn_scale; /* multiplies q . k */
    cf_xielu xielu;   /* of its block */
    size_t state_off; /* recurrent: floats before its own in a state */
    float sparsity;   /* gates below mean + sparsity * deviation are 0; 0: off
                         (gemma3n) */
} cf_layer_hparams;

/* How scores of the router become weights of the chosen experts. */
typedef enum cf_expert_gating {
    CF_GATING_SOFTMAX = 1, /* numbered as in the file */
    CF_GATING_SIGMOID = 2
} cf_expert_gating;

typedef struct cf_expert_hparams {
    uint32_t n;      /* experts of a layer; 0: the model has none */
    uint32_t n_used; /* chosen for a token */
    uint32_t n_ff;   /* of one */
    cf_expert_gating gating;
    uint32_t n_group;      /* runs of equally many experts; 1: no groups */
    uint32_t n_group_used; /* those of best score, from which experts are chosen */
    bool is_normalised;    /* weights are divided by their sum */
    float scale;           /* and multiplied by this */
} cf_expert_hparams;

/* Of every recurrent layer: a convolution over the last n_tap inputs, and
 * n_head states [n_key, n_value]. */
typedef struct cf_state_hparams {
    uint32_t n_tap;     /* 0: the model has no recurrent layer */
    uint32_t n_channel; /* of the convolution */
    uint32_t n_head;    /* 0: no state but the convolution's */
    uint32_t n_group;   /* key heads; divides n_head */
    uint32_t n_key, n_value;
} cf_state_hparams;

/* Multi-head latent attention (DeepSeek-AI 2024, arXiv 2405.04434): what a
 * head is before its keys and values are compressed.  A layer's head_size,
 * head_size_v and n_head_kv describe the compressed ones, which are cached. */
typedef struct cf_latent_hparams {
    uint32_t n;       /* numbers of a position's latent; 0: other attention */
    uint32_t n_q;     /* of a compressed query; 0: queries are not */
    uint32_t n_plain; /* of a head's query and key: those that do not turn, */
    uint32_t n_rot;   /* and then those that do */
    uint32_t n_value; /* of a head's value */
} cf_latent_hparams;

typedef struct cf_hparams {
    const cf_arch *arch;
    cf_activation act; /* the family's, or the file's */
    uint32_t n_layer, n_embd, n_vocab, n_ctx_train;
    uint32_t pooling;               /* numbered as in the file; 0: none */
    uint32_t n_draft_layer;         /* further layers of the file, for drafts */
    uint32_t first_block;           /* the file's number of layer 0 */
    bool is_draft;                  /* of the first of them alone */
    float norm_eps;                 /* of RMSNorm, or of LayerNorm */
    float embd_scale;               /* multiplies embeddings; 1 mostly */
    float residual_scale;           /* multiplies what a part adds; 1 mostly */
    float logit_scale;              /* multiplies logits; 1 mostly */
    float attn_soft_cap;            /* 0: none; else s = cap * tanh(s / cap) */
    float final_soft_cap;           /* likewise, of logits */
    double temperature;             /* queries times 1 + this ln(1 + floor(position /
                             n_ctx_orig)); 0: no */
    uint32_t n_per_layer;           /* width of a layer's own embeddings; 0: none */
    uint32_t n_altup, altup_active; /* streams, and the one that is computed */
    uint32_t n_deepstack;           /* layers whose output a row of embeddings adds to;
                             such rows are 1 + n_deepstack times n_embd wide */
    cf_expert_hparams expert;
    cf_state_hparams state;
    cf_latent_hparams latent;
    cf_rope_params rope[CF_ROPE_SETS];
    cf_layer_hparams *layer; /* [n_layer] */
} cf_hparams;

/* Width of the output row of a recurrent layer's first matrix: the part that
 * enters the convolution, and the rest. */
uint32_t cf_hparams_n_in(const cf_hparams *hp, cf_mixer mixer);

/* Numbers that each head of a layer gives to its output matrix. */
static inline uint32_t cf_hparams_head_out(const cf_hparams *hp, uint32_t layer)
{
    return hp->latent.n != 0 ? hp->latent.n_value : hp->layer[layer].head_size_v;
}

/* Floats of all recurrent layers' states; 0 without one. */
size_t cf_hparams_n_state(const cf_hparams *hp);

/*
 * Reads and checks.  CF_EUNSUPPORTED for an architecture, a rotary scaling or
 * a part that confab does not compute; CF_EFORMAT, naming the key,
 * for what is missing, zero, too large or does not divide; CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_hparams_init(cf_hparams *out, const cf_gguf *g, cf_error *err);
/* Those of the first draft layer as a model of one layer, which reads rows of
 * embeddings; the file has one (n_draft_layer). */
CF_MUST_USE cf_status cf_hparams_init_draft(cf_hparams *out, const cf_gguf *g, cf_error *err);
void cf_hparams_deinit(cf_hparams *hp);

/* Describes a file without (usable) weights: fills the scalar sizes that are
 * there, leaves the rest zero, allocates nothing. */
void cf_hparams_glance(cf_hparams *out, const cf_gguf *g);

#endif
