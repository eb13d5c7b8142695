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
#include "core/model/arch.h"
#include "core/model/gguf.h"

/* Bounds on what a file may ask for; larger than any model we know. */
enum {
    CF_LAYER_MAX = 1024,
    CF_HEAD_MAX = 4096,
    CF_WIDTH_MAX = 1 << 20, /* of an embedding, a feed-forward, all heads */
    CF_VOCAB_MAX = 1 << 24,
    CF_CTX_MAX = 1 << 24
};

typedef enum cf_rope_scaling {
    CF_ROPE_NONE,
    CF_ROPE_LINEAR,  /* positions divided by factor (Chen et al. 2023) */
    CF_ROPE_YARN,    /* by frequency (Peng et al. 2023) */
    CF_ROPE_LONGROPE /* factors from tensors (Ding et al. 2024) */
} cf_rope_scaling;

/* How a set of layers turns positions into angles (rope.h). */
typedef struct cf_rope_params {
    uint32_t n_rot; /* dimensions of a head that turn; even */
    double base;
    cf_rope_scaling scaling;
    double factor;       /* >= what; 1 without scaling */
    double attn_factor;  /* multiplies sine and cosine */
    double ext_factor;   /* YaRN: weight of the ramp, 1 */
    double beta_fast;    /* YaRN: 32 */
    double beta_slow;    /* YaRN: 1 */
    uint32_t n_ctx_orig; /* context before it was stretched */
} cf_rope_params;

/* Rotary settings by layer: of all layers, or of those with a window. */
enum { CF_ROPE_GLOBAL = 0, CF_ROPE_LOCAL = 1, CF_ROPE_SETS = 2 };

typedef struct cf_layer_hparams {
    uint32_t n_head;      /* query heads */
    uint32_t n_head_kv;   /* key/value heads; divides n_head */
    uint32_t head_size;   /* of a query and a key */
    uint32_t head_size_v; /* of a value */
    uint32_t n_ff;
    uint32_t window;   /* positions a query sees, its own included; 0: all */
    uint32_t rope_set; /* CF_ROPE_GLOBAL or CF_ROPE_LOCAL */
    bool has_rope;
    float attn_scale; /* multiplies q . k */
} cf_layer_hparams;

typedef struct cf_hparams {
    const cf_arch *arch;
    uint32_t n_layer, n_embd, n_vocab, n_ctx_train;
    float norm_eps;
    float embd_scale;     /* multiplies embeddings; 1 mostly */
    float attn_soft_cap;  /* 0: none; else s = cap * tanh(s / cap) */
    float final_soft_cap; /* likewise, of logits */
    cf_rope_params rope[CF_ROPE_SETS];
    cf_layer_hparams *layer; /* [n_layer] */
} cf_hparams;

/*
 * Reads and checks.  CF_EUNSUPPORTED for an architecture, a rotary scaling or
 * a part (experts) that confab does not compute; CF_EFORMAT, naming the key,
 * for what is missing, zero, too large or does not divide; CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_hparams_init(cf_hparams *out, const cf_gguf *g,
                                      cf_error *err);
void cf_hparams_deinit(cf_hparams *hp);

/* What a file without (usable) weights says about itself: fills the scalar
 * sizes that are there, leaves the rest zero, allocates nothing. */
void cf_hparams_glance(cf_hparams *out, const cf_gguf *g);

#endif
