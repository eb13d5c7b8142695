/*
 * tiny_gguf.c - writes random models.
 */
#include "tests/support/tiny_gguf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/engine.h"
#include "core/kernel/half.h"
#include "core/model/arch.h"
#include "core/model/gguf.h"
#include "tests/support/rand.h"

const char *const cf_tiny_archs[] = {
    "llama",         "qwen2",          "qwen3",       "gemma",      "gemma2",
    "gemma3",        "phi3",           "smollm3",     "qwen3moe",   "qwen35",
    "qwen35moe",     "qwen3next",      "gemma4",      "gemma3n",    "gpt-oss",
    "lfm2",          "lfm2moe",        "granite",     "granitemoe", "granitehybrid",
    "mistral3",      "olmo2",          "ernie4_5",    "glm4",       "falcon-h1",
    "nemotron_h",    "nemotron_h_moe", "qwen3vl",     "olmoe",      "ernie4_5-moe",
    "hunyuan-dense", "seed_oss",       "arcee",       "apertus",    "exaone4",
    "minicpm",       "smallthinker",   "bailingmoe2", "glm4moe",    "afmoe",
    "cohere2",       "deepseek2",      NULL};

/* The first of them, whose layers are attention and one block. */
const char *const cf_tiny_plain_archs[] = {
    "llama", "qwen2",   "qwen3",    "gemma",   "gemma2",        "gemma3",
    "phi3",  "smollm3", "ernie4_5", "glm4",    "hunyuan-dense", "seed_oss",
    "arcee", "apertus", "exaone4",  "minicpm", "cohere2",       NULL};

const char *const cf_tiny_encoder_archs[] = {"bert",        "nomic-bert",      "jina-bert-v2",
                                             "modern-bert", "gemma-embedding", NULL};

/* Sizes of parts that options do not name. */
enum {
    N_EXPERT = 6,
    N_EXPERT_USED = 2,
    N_GROUP = 3, /* of experts */
    N_GROUP_USED = 2,
    N_EXPERT_FF = 32,
    N_SHARED_FF = 32,
    N_TAP = 4,
    N_STATE = 8, /* keys of a state, and DeltaNet's values */
    N_STATE_HEAD = 4,
    N_STATE_GROUP = 2, /* DeltaNet's key heads, Mamba-2's groups */
    N_MAMBA_VALUE = 16,
    N_PER_LAYER = 32,
    N_ALTUP = 3,
    N_LAUREL = 8,
    N_LATENT = 32, /* of latent attention */
    N_QUERY = 40,
    N_SHARED_KV = 2
};

/* ---- weights ------------------------------------------------------------ */

/* Where a block's scale and its second half float lie, and what its largest
 * weight is for a scale of one. */
typedef struct block_form {
    size_t scale, second;
    float largest, second_part; /* of the scale */
} block_form;

static block_form form_of(cf_dtype type)
{
    enum { NONE = 1 << 20 };
    switch (type) {
    case CF_Q8_0:
        return (block_form){0, NONE, 127, 0};
    case CF_Q4_0:
        return (block_form){0, NONE, 8, 0};
    case CF_Q4_1:
        return (block_form){0, 2, 8, -7.5f};
    case CF_Q5_0:
        return (block_form){0, NONE, 16, 0};
    case CF_Q5_1:
        return (block_form){0, 2, 16, -15.5f};
    case CF_Q2_K:
        return (block_form){80, 82, 24, 1.5f};
    case CF_Q3_K:
        return (block_form){108, NONE, 128, 0};
    case CF_Q4_K:
        return (block_form){0, 2, 500, 7.5f};
    case CF_Q5_K:
        return (block_form){0, 2, 1000, 15.5f};
    case CF_Q6_K:
        return (block_form){208, NONE, 4096, 0};
    case CF_IQ4_NL:
        return (block_form){0, NONE, 127, 0};
    case CF_IQ4_XS:
        return (block_form){0, NONE, 4064, 0};
    case CF_Q1_0:
        return (block_form){0, NONE, 1, 0};
    case CF_Q2_0:
        return (block_form){0, NONE, 2, 0};
    case CF_IQ1_S:
    case CF_IQ1_M:
        return (block_form){0, NONE, 17, 0};
    case CF_IQ2_XXS:
    case CF_IQ2_XS:
    case CF_IQ2_S:
        return (block_form){0, NONE, 167, 0};
    case CF_IQ3_XXS:
    case CF_IQ3_S:
        return (block_form){0, NONE, 480, 0};
    case CF_IQ2_K:
        return (block_form){0, NONE, 248, 0};
    case CF_IQ3_K:
        return (block_form){0, NONE, 1953, 0};
    case CF_IQ4_K:
    case CF_IQ5_K:
        return (block_form){0, NONE, 4064, 0};
    case CF_IQ6_K:
        return (block_form){0, NONE, 15000, 0};
    case CF_TQ1_0:
        return (block_form){52, NONE, 1, 0};
    case CF_TQ2_0:
        return (block_form){64, NONE, 2, 0};
    default:
        return (block_form){NONE, NONE, 1, 0};
    }
}

static void put_half(unsigned char *p, float f)
{
    uint16_t h = cf_float_to_half(f);
    p[0] = (unsigned char)h;
    p[1] = (unsigned char)(h >> 8);
}

/* n weights of about -size..size. */
static void add_weights(cf_tiny_buf *b, cf_rand *r, cf_dtype type, size_t n, float size)
{
    cf_dtype_info info = cf_dtype_get(type);
    block_form form = form_of(type);
    for (size_t i = 0; i < n / info.n_block; i++) {
        unsigned char block[256];
        for (size_t j = 0; j < info.blk_bytes; j++) {
            block[j] = (unsigned char)cf_rand_u64(r);
        }
        float w = cf_rand_float(r) * size;
        if (type == CF_F32) {
            uint32_t bits = cf_float_bits(w);
            memcpy(block, &bits, sizeof bits);
        } else if (type == CF_F16) {
            put_half(block, w);
        } else if (type == CF_BF16) {
            uint32_t bits = cf_float_bits(w);
            block[0] = (unsigned char)(bits >> 16);
            block[1] = (unsigned char)(bits >> 24);
        } else if (type == CF_MXFP4) {
            block[0] = (unsigned char)(127 + ilogbf(size / 6));
        } else if (type == CF_IQ1_M) { /* the scale's bits by nibble */
            uint32_t half = cf_float_to_half(size / form.largest);
            for (size_t j = 0; j < 4; j++) {
                unsigned char *top = block + 49 + 2 * j;
                *top = (unsigned char)((*top & 15) | (half >> (4 * j) & 15) << 4);
            }
        } else if (type == CF_NVFP4) { /* scales of a power of two */
            memset(block, 8 * (7 + ilogbf(size / 6)), 4);
        } else {
            float d = size / form.largest * (1.5f + cf_rand_float(r));
            put_half(block + form.scale, d);
            if (form.second < info.blk_bytes) {
                put_half(block + form.second, d * form.second_part);
            }
        }
        cf_tiny_bytes(b, block, info.blk_bytes);
    }
}

/* ---- the model ---------------------------------------------------------- */

typedef struct model {
    cf_tiny_options o;
    const cf_arch *arch;
    cf_rand r;
    cf_tiny_buf values;  /* metadata */
    cf_tiny_buf tensors; /* declarations */
    cf_tiny_buf data;
    uint64_t n_values, n_tensors;
    uint32_t n_stack; /* third dimension of the next matrix */
} model;

static void key(const model *m, char out[96], const char *name)
{
    snprintf(out, 96, "%s.%s", m->o.arch, name);
}

static void add_u32(model *m, const char *name, uint32_t v)
{
    char k[96];
    key(m, k, name);
    cf_tiny_kv_u32(&m->values, k, v);
    m->n_values++;
}

static void add_f32(model *m, const char *name, float v)
{
    char k[96];
    key(m, k, name);
    cf_tiny_kv_f32(&m->values, k, v);
    m->n_values++;
}

static void add_bool(model *m, const char *name, bool v)
{
    char k[96];
    key(m, k, name);
    cf_tiny_str(&m->values, k);
    cf_tiny_uint(&m->values, CF_GGUF_BOOL, 4);
    cf_tiny_uint(&m->values, v, 1);
    m->n_values++;
}

static void array_head(model *m, const char *k, uint32_t item, uint64_t n)
{
    cf_tiny_str(&m->values, k);
    cf_tiny_uint(&m->values, CF_GGUF_ARRAY, 4);
    cf_tiny_uint(&m->values, item, 4);
    cf_tiny_uint(&m->values, n, 8);
    m->n_values++;
}

/* A size of every layer, or of even and odd ones. */
static void add_by_layer(model *m, const char *name, uint32_t even, uint32_t odd)
{
    char k[96];
    if (!m->o.by_layer) {
        add_u32(m, name, even);
        return;
    }
    key(m, k, name);
    array_head(m, k, CF_GGUF_U32, m->o.n_layer);
    for (uint32_t i = 0; i < m->o.n_layer; i++) {
        cf_tiny_uint(&m->values, i % 2 == 0 ? even : odd, 4);
    }
}

/* ---- which parts a layer has -------------------------------------------- */

/* Layers of one part: recurrent, feed-forward, attention, and again. */
static bool is_ffn_only(const model *m, uint32_t i)
{
    return m->arch->has_single_parts && i % 3 == 1;
}

static bool is_recurrent(const model *m, uint32_t i)
{
    uint32_t period = m->arch->has_single_parts                     ? 3
                      : m->arch->recurrent_rule == CF_RECURRENT_ALL ? 1
                                                                    : 2;
    return m->arch->recurrent != CF_MIX_ATTENTION && i % period == 0;
}

static bool has_attention(const model *m, uint32_t i)
{
    return !is_ffn_only(m, i) &&
           (!is_recurrent(m, i) || m->arch->recurrent_rule == CF_RECURRENT_ALL);
}

static bool has_ffn(const model *m, uint32_t i)
{
    return !m->arch->has_single_parts || is_ffn_only(m, i);
}

static bool is_one_of(const model *m, const char *const archs[])
{
    while (*archs != NULL && strcmp(m->o.arch, *archs) != 0) {
        archs++;
    }
    return *archs != NULL;
}

/* Mixtures with a bias for choosing and a first layer without experts. */
static bool is_late_mixture(const model *m)
{
    static const char *const archs[] = {"lfm2moe", "ernie4_5-moe", "bailingmoe2", "glm4moe",
                                        "afmoe",   "deepseek2",    NULL};
    return is_one_of(m, archs);
}

static bool is_mixture(const model *m)
{
    return m->arch->has_experts &&
           (m->o.has_experts || m->o.has_split_experts || strcmp(m->o.arch, "llama") != 0);
}

static bool has_experts(const model *m, uint32_t i)
{
    return is_mixture(m) && (!is_late_mixture(m) || i > 0);
}

static bool has_choice_bias(const model *m)
{
    return is_late_mixture(m) || m->arch->has_single_parts;
}

/* Shared experts that are counted. */
static bool has_shared_count(const model *m)
{
    return is_late_mixture(m) && strcmp(m->o.arch, "lfm2moe") != 0;
}

static bool has_shared_expert(const model *m)
{
    return is_mixture(m) &&
           (has_shared_count(m) || m->arch->has_q_gate ||
            m->arch->multipliers == CF_MULTIPLY_GRANITE || m->arch->has_single_parts);
}

/* Layers 2 and 5 of Gemmas with shared keys see everything, so that both kinds
 * come before the shared ones. */
static bool is_windowed(const model *m, uint32_t i)
{
    return m->arch->has_per_layer && i % 3 != 2;
}

/* Windowed layers of gemma4 have smaller heads. */
static uint32_t head_size(const model *m, uint32_t i)
{
    return m->arch->has_layer_scale && is_windowed(m, i) ? m->o.head_size / 2 : m->o.head_size;
}

static uint32_t n_conv_channel(const model *m)
{
    uint32_t sides = 2 * N_STATE_GROUP * N_STATE;
    switch (m->arch->recurrent) {
    case CF_MIX_DELTA_NET:
        return N_STATE_HEAD * N_STATE + sides;
    case CF_MIX_MAMBA2:
        return N_STATE_HEAD * N_MAMBA_VALUE + sides;
    default:
        return m->o.n_embd;
    }
}

/* ---- metadata ----------------------------------------------------------- */

/* Key/value heads where some layers have none. */
static void add_kv_heads(model *m)
{
    char k[96];
    if (m->arch == NULL || m->arch->recurrent == CF_MIX_ATTENTION ||
        m->arch->recurrent_rule != CF_RECURRENT_NO_KV) {
        add_by_layer(m, "attention.head_count_kv", m->o.n_head_kv, m->o.n_head_kv / 2);
        return;
    }
    key(m, k, "attention.head_count_kv");
    array_head(m, k, CF_GGUF_U32, m->o.n_layer);
    for (uint32_t i = 0; i < m->o.n_layer; i++) {
        cf_tiny_uint(&m->values, has_attention(m, i) ? m->o.n_head_kv : 0, 4);
    }
}

static void add_ff_lengths(model *m)
{
    char k[96];
    if (m->arch == NULL || !m->arch->has_single_parts) {
        add_by_layer(m, "feed_forward_length", m->o.n_ff, m->o.n_ff - 8);
        return;
    }
    key(m, k, "feed_forward_length");
    array_head(m, k, CF_GGUF_U32, m->o.n_layer);
    for (uint32_t i = 0; i < m->o.n_layer; i++) {
        cf_tiny_uint(&m->values, is_ffn_only(m, i) ? m->o.n_ff : 0, 4);
    }
}

static void add_state_sizes(model *m)
{
    bool is_delta = m->arch->recurrent == CF_MIX_DELTA_NET;
    if (m->arch->recurrent == CF_MIX_SHORT_CONV) {
        add_u32(m, "shortconv.l_cache", N_TAP);
        return;
    }
    if (is_delta) {
        add_u32(m, "full_attention_interval", 2);
    }
    add_u32(m, "ssm.conv_kernel", N_TAP);
    add_u32(m, "ssm.state_size", N_STATE);
    add_u32(m, "ssm.time_step_rank", N_STATE_HEAD);
    add_u32(m, "ssm.group_count", N_STATE_GROUP);
    add_u32(m, "ssm.inner_size", N_STATE_HEAD * (is_delta ? N_STATE : N_MAMBA_VALUE));
}

static void add_expert_sizes(model *m)
{
    bool is_sigmoid = has_choice_bias(m) && strcmp(m->o.arch, "ernie4_5-moe") != 0;
    add_u32(m, "expert_count", N_EXPERT);
    add_u32(m, "expert_used_count", N_EXPERT_USED);
    add_u32(m, "expert_feed_forward_length", N_EXPERT_FF);
    if (has_shared_expert(m)) {
        add_u32(m, "expert_shared_feed_forward_length", N_SHARED_FF);
    }
    if (is_sigmoid) {
        add_u32(m, "expert_gating_func", 2);
        add_f32(m, "expert_weights_scale", 1.5f);
    }
    if (has_shared_count(m)) {
        add_u32(m, "expert_shared_count", 2);
    }
    if (is_late_mixture(m)) {
        add_u32(m, "leading_dense_block_count", 1);
    }
    if (is_late_mixture(m) && m->arch->has_raw_weights) {
        add_bool(m, "expert_weights_norm", true);
    }
    if (strcmp(m->o.arch, "bailingmoe2") == 0 || m->arch->has_latent) {
        add_u32(m, "expert_group_count", N_GROUP);
        add_u32(m, "expert_group_used_count", N_GROUP_USED);
    }
}

static void add_gemma_sizes(model *m)
{
    char k[96];
    add_u32(m, "embedding_length_per_layer_input", N_PER_LAYER);
    add_u32(m, "attention.shared_kv_layers", N_SHARED_KV);
    key(m, k, "attention.sliding_window_pattern");
    array_head(m, k, CF_GGUF_BOOL, m->o.n_layer);
    for (uint32_t i = 0; i < m->o.n_layer; i++) {
        cf_tiny_uint(&m->values, is_windowed(m, i), 1);
    }
    if (m->arch->has_layer_scale) {
        add_u32(m, "attention.key_length_swa", m->o.head_size / 2);
        add_u32(m, "attention.value_length_swa", m->o.head_size / 2);
        add_u32(m, "rope.dimension_count_swa", m->o.head_size / 2);
    }
    if (m->arch->has_altup) {
        add_u32(m, "altup.num_inputs", N_ALTUP);
        add_u32(m, "altup.active_idx", 1);
        key(m, k, "activation_sparsity_scale");
        array_head(m, k, CF_GGUF_F32, m->o.n_layer);
        for (uint32_t i = 0; i < m->o.n_layer; i++) {
            cf_tiny_f32(&m->values, i % 2 == 0 ? 0.7f : 0.0f);
        }
    }
}

static void add_scaling(model *m)
{
    char k[96];
    key(m, k, "rope.scaling.type");
    cf_tiny_kv_str(&m->values, k, m->o.rope_scaling);
    m->n_values++;
    add_u32(m, "rope.scaling.original_context_length", m->o.n_ctx / 4);
    if (strcmp(m->o.rope_scaling, "longrope") == 0) {
        add_f32(m, "rope.scaling.attn_factor", 1.19f);
    } else {
        add_f32(m, "rope.scaling.factor", 4.0f);
    }
}

/* Sizes of latent attention.  Files with biases have the older form, where heads
 * are described as if nothing were compressed, and plain queries. */
static void add_latent_sizes(model *m)
{
    const cf_tiny_options *o = &m->o;
    uint32_t n_rot = o->n_rot / 2;
    bool is_old = o->has_bias;
    add_u32(m, "attention.kv_lora_rank", N_LATENT);
    add_u32(m, "rope.dimension_count", n_rot);
    add_u32(m, "attention.head_count_kv", is_old ? o->n_head : 1);
    add_u32(m, "attention.key_length", is_old ? o->head_size + n_rot : N_LATENT + n_rot);
    add_u32(m, "attention.value_length", is_old ? o->head_size_v : N_LATENT);
    if (!is_old) {
        add_u32(m, "attention.q_lora_rank", N_QUERY);
        add_u32(m, "attention.key_length_mla", o->head_size + n_rot);
        add_u32(m, "attention.value_length_mla", o->head_size_v);
    }
}

/* xIELU's numbers by layer. */
static void add_xielu(model *m)
{
    static const char *const keys[] = {"xielu.alpha_n", "xielu.alpha_p", "xielu.beta", "xielu.eps"};
    static const float first[] = {0.4f, -0.2f, 0.5f, -1e-6f};
    for (size_t k = 0; k < 4; k++) {
        array_head(m, keys[k], CF_GGUF_F32, m->o.n_layer);
        for (uint32_t i = 0; i < m->o.n_layer; i++) {
            cf_tiny_f32(&m->values, first[k] * (1 + 0.1f * (float)i));
        }
    }
}

/* The tensors that only some families have. */
static void add_special_sizes(model *m)
{
    if (m->arch->act == CF_ACT_XIELU) {
        add_xielu(m);
    }
    if (m->arch->window_period != 0) {
        add_u32(m, "attention.sliding_window", m->o.window);
    }
    if (m->arch->is_encoder) {
        add_bool(m, "attention.causal", false);
    }
    if (m->arch->recurrent != CF_MIX_ATTENTION) {
        add_state_sizes(m);
    }
    if (is_mixture(m)) {
        add_expert_sizes(m);
    }
    if (m->arch->has_per_layer) {
        add_gemma_sizes(m);
    }
    if (m->arch->has_deepstack) {
        add_u32(m, "n_deepstack_layers", CF_TINY_DEEPSTACK);
    }
    if (m->arch->has_interleaved_axes) {
        char k[96];
        key(m, k, "rope.dimension_sections");
        array_head(m, k, CF_GGUF_U32, 4);
        for (uint32_t i = 0; i < 4; i++) {
            cf_tiny_uint(&m->values, i < 3 ? m->o.n_rot / 6 : 0, 4);
        }
    }
    if (m->arch->multipliers != CF_MULTIPLY_NOTHING) {
        add_f32(m, "embedding_scale", 3.0f);
        add_f32(m, "residual_scale", 0.5f);
        add_f32(m, "logit_scale", 4.0f);
        add_f32(m, "attention.scale", 0.2f);
    }
    if (m->arch->has_temperature) {
        add_f32(m, "attention.temperature_scale", 0.3f);
        add_f32(m, "rope.scaling.yarn_log_multiplier", 1.0f);
    }
}

static void add_sizes(model *m)
{
    const cf_tiny_options *o = &m->o;
    cf_tiny_kv_str(&m->values, "general.architecture", o->arch);
    cf_tiny_kv_str(&m->values, "general.name", "tiny");
    m->n_values += 2;
    add_u32(m, "context_length", o->n_ctx);
    if (o->pooling != 0) {
        add_u32(m, "pooling_type", o->pooling);
    }
    add_u32(m, "embedding_length", o->n_embd);
    add_u32(m, "block_count", o->n_layer + o->n_nextn);
    if (o->n_nextn != 0) {
        add_u32(m, "nextn_predict_layers", o->n_nextn);
    }
    add_ff_lengths(m);
    add_by_layer(m, "attention.head_count", o->n_head, o->n_head / 2);
    if (m->arch != NULL && m->arch->has_latent) {
        add_latent_sizes(m);
    } else {
        add_kv_heads(m);
        add_u32(m, "attention.key_length", o->head_size);
        add_u32(m, "attention.value_length", o->head_size_v);
        add_u32(m, "rope.dimension_count", o->n_rot);
    }
    add_u32(m, "vocab_size", o->n_vocab);
    add_f32(m,
            m->arch != NULL && m->arch->has_layer_norm ? "attention.layer_norm_epsilon"
                                                       : "attention.layer_norm_rms_epsilon",
            1e-5f);
    add_f32(m, "rope.freq_base", 10000.0f);
    if (m->arch != NULL) {
        add_special_sizes(m);
    }
    if (o->rope_scaling != NULL) {
        add_scaling(m);
    }
}

/* Piece i: <unk>, <s>, </s>, the bytes, U+2581, letters, then more. */
static void piece(char out[32], uint32_t i)
{
    static const char *const first[] = {"<unk>", "<s>", "</s>"};
    if (i < 3) {
        snprintf(out, 32, "%s", first[i]);
    } else if (i < 259) {
        snprintf(out, 32, "<0x%02X>", i - 3);
    } else if (i == 259) {
        snprintf(out, 32, "\xE2\x96\x81");
    } else if (i < 286) {
        snprintf(out, 32, "%c", 'a' + (char)(i - 260));
    } else if (i < 312) {
        snprintf(out, 32, "\xE2\x96\x81%c", 'a' + (char)(i - 286));
    } else {
        snprintf(out, 32, "word%u", i);
    }
}

static void add_vocab(model *m)
{
    uint32_t n = m->o.n_vocab;
    cf_tiny_kv_str(&m->values, "tokenizer.ggml.model", "llama");
    array_head(m, "tokenizer.ggml.tokens", CF_GGUF_STRING, n);
    for (uint32_t i = 0; i < n; i++) {
        char p[32];
        piece(p, i);
        cf_tiny_str(&m->values, p);
    }
    array_head(m, "tokenizer.ggml.scores", CF_GGUF_F32, n);
    for (uint32_t i = 0; i < n; i++) {
        cf_tiny_f32(&m->values, i < 259 ? 0.0f : -(float)i);
    }
    array_head(m, "tokenizer.ggml.token_type", CF_GGUF_I32, n);
    for (uint32_t i = 0; i < n; i++) {
        cf_tiny_uint(&m->values, i == 0 ? 2 : i < 3 ? 3 : i < 259 ? 6 : 1, 4);
    }
    cf_tiny_kv_u32(&m->values, "tokenizer.ggml.bos_token_id", 1);
    cf_tiny_kv_u32(&m->values, "tokenizer.ggml.eos_token_id", 2);
    m->n_values += 3;
    if (m->o.chat_template != NULL) {
        cf_tiny_kv_str(&m->values, "tokenizer.chat_template", m->o.chat_template);
        m->n_values++;
    }
}

static void declare(model *m, const char *name, uint32_t n_dim, uint32_t n_col, uint32_t n_row,
                    cf_dtype type)
{
    uint64_t dim[3] = {n_col, n_row, m->n_stack};
    cf_tiny_pad(&m->data, 32);
    cf_tiny_tensor(&m->tensors, name, n_dim, dim, type, m->data.n);
    m->n_tensors++;
}

/* Numbers around `mean`. */
static void add_vec(model *m, const char *name, uint32_t n, float mean, float spread)
{
    declare(m, name, 1, n, 1, CF_F32);
    for (uint32_t i = 0; i < n; i++) {
        cf_tiny_f32(&m->data, mean + spread * cf_rand_float(&m->r));
    }
}

static void add_mat(model *m, const char *name, uint32_t n_row, uint32_t n_col)
{
    cf_dtype type = m->o.type;
    if (n_col % cf_dtype_get(type).n_block != 0) {
        type = n_col % 32 == 0 ? CF_Q8_0 : CF_F32;
    }
    declare(m, name, 2, n_col, n_row, type);
    add_weights(&m->data, &m->r, type, (size_t)n_row * n_col, 2.0f / sqrtf((float)n_col));
}

static const char *layer_name(char out[64], uint32_t i, const char *name)
{
    snprintf(out, 64, "blk.%u.%s", i, name);
    return out;
}

/* A projection and, where asked for, its bias. */
static void add_linear(model *m, uint32_t i, const char *name, uint32_t n_row, uint32_t n_col,
                       bool has_bias)
{
    char full[64];
    char part[48];
    snprintf(part, sizeof part, "%s.weight", name);
    add_mat(m, layer_name(full, i, part), n_row, n_col);
    if (m->o.has_scales) {
        snprintf(part, sizeof part, "%s.scale", name);
        add_vec(m, layer_name(full, i, part), 1, 1, 0.5f);
        snprintf(part, sizeof part, "%s.input_scale", name);
        add_vec(m, layer_name(full, i, part), 1, 1, 0.5f);
    }
    if (has_bias) {
        snprintf(part, sizeof part, "%s.bias", name);
        add_vec(m, layer_name(full, i, part), n_row, 0, 0.2f);
    }
}

static void add_norm(model *m, uint32_t i, const char *name, uint32_t n)
{
    char full[64];
    char part[48];
    snprintf(part, sizeof part, "%s.weight", name);
    add_vec(m, layer_name(full, i, part), n, 1, 0.3f);
    if (m->arch->has_norm_bias) {
        snprintf(part, sizeof part, "%s.bias", name);
        add_vec(m, layer_name(full, i, part), n, 0, 0.2f);
    }
}

/* A vector of any mean. */
static void add_own(model *m, uint32_t i, const char *name, uint32_t n, float mean, float spread)
{
    char full[64];
    add_vec(m, layer_name(full, i, name), n, mean, spread);
}

/* Float32 numbers [n_row, n_col]. */
static void add_floats(model *m, uint32_t i, const char *name, uint32_t n_row, uint32_t n_col,
                       float spread)
{
    char full[64];
    declare(m, layer_name(full, i, name), 2, n_col, n_row, CF_F32);
    for (uint32_t j = 0; j < n_row * n_col; j++) {
        cf_tiny_f32(&m->data, spread * cf_rand_float(&m->r));
    }
}

/* n matrices, one after the other. */
static void add_stack(model *m, const char *name, uint32_t n, uint32_t n_row, uint32_t n_col)
{
    cf_dtype type = m->o.type;
    if (n_col % cf_dtype_get(type).n_block != 0) {
        type = n_col % 32 == 0 ? CF_Q8_0 : CF_F32;
    }
    m->n_stack = n;
    declare(m, name, n == 1 ? 2 : 3, n_col, n_row, type);
    m->n_stack = 1;
    add_weights(&m->data, &m->r, type, (size_t)n * n_row * n_col, 2.0f / sqrtf((float)n_col));
    if (m->o.has_scales) {
        char scale[64];
        snprintf(scale, sizeof scale, "%.*s.scale", (int)(strlen(name) - strlen(".weight")), name);
        add_vec(m, scale, n, 1, 0.5f);
    }
}

static void add_attention(model *m, uint32_t i)
{
    const cf_tiny_options *o = &m->o;
    const cf_arch *arch = m->arch;
    uint32_t half = o->by_layer && i % 2 == 1 ? 2 : 1;
    uint32_t size = head_size(m, i);
    uint32_t size_v = arch->has_layer_scale ? size : o->head_size_v;
    uint32_t nq = o->n_head / half * size;
    uint32_t nk = o->n_head_kv / half * size;
    uint32_t nv = o->n_head_kv / half * size_v;
    bool bias = o->has_bias && !arch->has_per_layer;
    bool qkv_bias = bias || strcmp(o->arch, "qwen2") == 0 || arch->has_sinks;
    bool is_shared = arch->has_per_layer && i + N_SHARED_KV >= o->n_layer;
    if (arch->has_fused_qkv) {
        add_linear(m, i, "attn_qkv", nq + nk + nv, o->n_embd, qkv_bias);
    } else {
        add_linear(m, i, "attn_q", arch->has_q_gate ? 2 * nq : nq, o->n_embd, qkv_bias);
    }
    if (!arch->has_fused_qkv && (!is_shared || arch->has_altup)) {
        add_linear(m, i, "attn_k", nk, o->n_embd, qkv_bias);
        if (!arch->has_layer_scale || i % 3 != 0) { /* else keys serve */
            add_linear(m, i, "attn_v", nv, o->n_embd, qkv_bias);
        }
    }
    bool has_qk_norm = arch->has_opt_qk_norm ? bias : arch->has_qk_norm || arch->has_row_qk_norm;
    if (has_qk_norm) {
        add_norm(m, i, "attn_q_norm", arch->has_row_qk_norm ? nq : size);
    }
    if (has_qk_norm && !is_shared) {
        add_norm(m, i, "attn_k_norm", arch->has_row_qk_norm ? nk : size);
    }
    if (arch->has_sinks) {
        add_own(m, i, "attn_sinks.weight", o->n_head, 0, 2);
    }
    if (arch->has_attn_gate) {
        add_linear(m, i, "attn_gate", o->n_head / half * size_v, o->n_embd, false);
    }
    add_linear(m, i, "attn_output", o->n_embd, o->n_head / half * size_v, bias || arch->has_sinks);
}

static void add_latent(model *m, uint32_t i)
{
    const cf_tiny_options *o = &m->o;
    uint32_t n_rot = o->n_rot / 2;
    uint32_t n_query = o->n_head * (o->head_size + n_rot);
    char full[64];
    if (o->has_bias) {
        add_linear(m, i, "attn_q", n_query, o->n_embd, false);
        add_linear(m, i, "attn_kv_b", o->n_head * (o->head_size + o->head_size_v), N_LATENT, false);
    } else {
        add_linear(m, i, "attn_q_a", N_QUERY, o->n_embd, false);
        add_norm(m, i, "attn_q_a_norm", N_QUERY);
        add_linear(m, i, "attn_q_b", n_query, N_QUERY, false);
        add_stack(m, layer_name(full, i, "attn_k_b.weight"), o->n_head, N_LATENT, o->head_size);
        add_stack(m, layer_name(full, i, "attn_v_b.weight"), o->n_head, o->head_size_v, N_LATENT);
    }
    add_linear(m, i, "attn_kv_a_mqa", N_LATENT + n_rot, o->n_embd, false);
    add_norm(m, i, "attn_kv_a_norm", N_LATENT);
    add_linear(m, i, "attn_output", o->n_embd, o->n_head * o->head_size_v, false);
}

static void add_recurrent(model *m, uint32_t i)
{
    const cf_tiny_options *o = &m->o;
    uint32_t n_channel = n_conv_channel(m);
    bool is_delta = m->arch->recurrent == CF_MIX_DELTA_NET;
    uint32_t inner = N_STATE_HEAD * (is_delta ? N_STATE : N_MAMBA_VALUE);
    if (m->arch->recurrent == CF_MIX_SHORT_CONV) {
        add_linear(m, i, "shortconv.in_proj", 3 * n_channel, o->n_embd, false);
        add_floats(m, i, "shortconv.conv.weight", n_channel, N_TAP, 1);
        add_linear(m, i, "shortconv.out_proj", o->n_embd, n_channel, false);
        return;
    }
    if (is_delta) {
        add_linear(m, i, "attn_qkv", n_channel, o->n_embd, false);
        add_linear(m, i, "attn_gate", inner, o->n_embd, false);
        if (m->arch->has_grouped_heads) {
            add_linear(m, i, "ssm_ba", 2 * N_STATE_HEAD, o->n_embd, false);
        } else {
            add_linear(m, i, "ssm_beta", N_STATE_HEAD, o->n_embd, false);
            add_linear(m, i, "ssm_alpha", N_STATE_HEAD, o->n_embd, false);
        }
        add_norm(m, i, "ssm_norm", N_STATE);
    } else {
        add_linear(m, i, "ssm_in", inner + n_channel + N_STATE_HEAD, o->n_embd, false);
        add_own(m, i, "ssm_conv1d.bias", n_channel, 0, 0.3f);
        add_floats(m, i, "ssm_d", N_STATE_HEAD, 1, 1);
    }
    if (!is_delta && m->arch->recurrent_rule != CF_RECURRENT_ALL) {
        add_floats(m, i, "ssm_norm.weight", N_STATE_GROUP, inner / N_STATE_GROUP, 1);
    }
    add_floats(m, i, "ssm_conv1d.weight", n_channel, N_TAP, 1);
    add_own(m, i, "ssm_dt.bias", N_STATE_HEAD, 0, 1);
    add_own(m, i, "ssm_a", N_STATE_HEAD, -1, 0.9f);
    add_linear(m, i, "ssm_out", o->n_embd, inner, false);
}

static void add_block(model *m, uint32_t i)
{
    const cf_tiny_options *o = &m->o;
    uint32_t n_ff = o->by_layer && i % 2 == 1 ? o->n_ff - 8 : o->n_ff;
    bool bias = o->has_bias && !m->arch->has_per_layer;
    if (!cf_activation_has_gate(m->arch->act)) {
        add_linear(m, i, "ffn_up", n_ff, o->n_embd, bias);
    } else if (m->arch->has_fused_gate_up) {
        add_linear(m, i, "ffn_up", 2 * n_ff, o->n_embd, bias);
    } else {
        add_linear(m, i, "ffn_gate", n_ff, o->n_embd, bias);
        add_linear(m, i, "ffn_up", n_ff, o->n_embd, bias);
    }
    add_linear(m, i, "ffn_down", o->n_embd, n_ff, bias);
}

/* The matrices of all experts: a stack, or the same numbers as a tensor each. */
static void add_each(model *m, uint32_t i, const char *part, uint32_t n_row, uint32_t n_col)
{
    char full[64], name[40];
    if (!m->o.has_split_experts) {
        snprintf(name, sizeof name, "ffn_%s_exps.weight", part);
        add_stack(m, layer_name(full, i, name), N_EXPERT, n_row, n_col);
    }
    for (unsigned e = 0; m->o.has_split_experts && e < N_EXPERT; e++) {
        snprintf(name, sizeof name, "ffn_%s.%u.weight", part, e);
        add_stack(m, layer_name(full, i, name), 1, n_row, n_col);
    }
}

static void add_experts(model *m, uint32_t i)
{
    uint32_t n_embd = m->o.n_embd;
    char full[64];
    add_floats(m, i, "ffn_gate_inp.weight", N_EXPERT, n_embd, 1);
    if (m->arch->has_dense_beside) {
        add_stack(m, layer_name(full, i, "ffn_gate_up_exps.weight"), N_EXPERT, 2 * N_EXPERT_FF,
                  n_embd);
        add_own(m, i, "ffn_gate_inp.scale", n_embd, 1, 0.3f);
        add_own(m, i, "ffn_down_exps.scale", N_EXPERT, 1, 0.3f);
        add_norm(m, i, "pre_ffw_norm_2", n_embd);
        add_norm(m, i, "post_ffw_norm_1", n_embd);
        add_norm(m, i, "post_ffw_norm_2", n_embd);
    } else {
        if (cf_activation_has_gate(m->arch->act)) {
            add_each(m, i, "gate", N_EXPERT_FF, n_embd);
        }
        add_each(m, i, "up", N_EXPERT_FF, n_embd);
    }
    add_each(m, i, "down", n_embd, N_EXPERT_FF);
    if (has_choice_bias(m)) {
        add_own(m, i, "exp_probs_b.bias", N_EXPERT, 0, 0.5f);
    }
    if (m->arch->act == CF_ACT_CLAMPED_GLU) {
        add_own(m, i, "ffn_gate_inp.bias", N_EXPERT, 0, 0.5f);
        add_floats(m, i, "ffn_gate_exps.bias", N_EXPERT, N_EXPERT_FF, 0.2f);
        add_floats(m, i, "ffn_up_exps.bias", N_EXPERT, N_EXPERT_FF, 0.2f);
        add_floats(m, i, "ffn_down_exps.bias", N_EXPERT, n_embd, 0.2f);
    }
    if (has_shared_expert(m)) {
        if (cf_activation_has_gate(m->arch->act)) {
            add_linear(m, i, "ffn_gate_shexp", N_SHARED_FF, n_embd, false);
        }
        add_linear(m, i, "ffn_up_shexp", N_SHARED_FF, n_embd, false);
        add_linear(m, i, "ffn_down_shexp", n_embd, N_SHARED_FF, false);
    }
    if (has_shared_expert(m) && m->arch->has_q_gate) {
        add_own(m, i, "ffn_gate_inp_shexp.weight", n_embd, 0, 0.3f);
    }
}

/* Per-layer embeddings and gemma3n's streams. */
static void add_extras(model *m, uint32_t i)
{
    uint32_t n_embd = m->o.n_embd;
    add_linear(m, i, "inp_gate", N_PER_LAYER, n_embd, false);
    add_linear(m, i, "proj", n_embd, N_PER_LAYER, false);
    add_norm(m, i, "post_norm", n_embd);
    if (m->arch->has_layer_scale) {
        add_own(m, i, "layer_output_scale.weight", 1, 1, 0.3f);
    }
    if (!m->arch->has_altup) {
        return;
    }
    add_floats(m, i, "altup_router.weight", N_ALTUP, n_embd, 1);
    add_norm(m, i, "altup_router_norm", n_embd);
    add_floats(m, i, "altup_predict_coef.weight", N_ALTUP * N_ALTUP, N_ALTUP, 0.3f);
    add_floats(m, i, "altup_correct_coef.weight", N_ALTUP, N_ALTUP, 0.3f);
    add_own(m, i, "altup_correct_scale.weight", n_embd, 1, 0.3f);
    add_linear(m, i, "laurel_l", N_LAUREL, n_embd, false);
    add_linear(m, i, "laurel_r", n_embd, N_LAUREL, false);
    add_norm(m, i, "laurel_post_norm", n_embd);
}

static void add_layer(model *m, uint32_t i)
{
    const cf_arch *arch = m->arch;
    uint32_t n_embd = m->o.n_embd;
    bool has_pre_norm = !arch->has_no_pre_norm && !arch->has_sum_norm;
    if (has_pre_norm && !(arch->has_bare_start && i == 0)) {
        add_norm(m, i, "attn_norm", n_embd);
    }
    if (arch->has_sum_norm) {
        add_norm(m, i, "attn_output_norm", n_embd);
        add_norm(m, i, "layer_output_norm", n_embd);
    }
    if (arch->has_opt_sum_norm && m->o.has_bias) {
        add_norm(m, i, "attn_norm_2", n_embd);
    }
    if (has_pre_norm && !arch->has_single_parts && !arch->has_one_norm) {
        add_norm(m, i, arch->ffn_norm != NULL ? arch->ffn_norm : "ffn_norm", n_embd);
    }
    if (is_recurrent(m, i)) {
        add_recurrent(m, i);
    }
    if (arch->has_latent) {
        add_latent(m, i);
    } else if (has_attention(m, i)) {
        add_attention(m, i);
    }
    if (arch->has_post_norm) {
        add_norm(m, i, "post_attention_norm", n_embd);
        add_norm(m, i, "post_ffw_norm", n_embd);
    }
    if (has_ffn(m, i) && (!has_experts(m, i) || arch->has_dense_beside)) {
        add_block(m, i);
    }
    if (has_ffn(m, i) && has_experts(m, i)) {
        add_experts(m, i);
    }
    if (arch->has_per_layer) {
        add_extras(m, i);
    }
}

static void add_outer_extras(model *m)
{
    const cf_tiny_options *o = &m->o;
    uint32_t all = o->n_layer * N_PER_LAYER;
    add_mat(m, "per_layer_token_embd.weight", o->n_vocab, all);
    add_mat(m, "per_layer_model_proj.weight", all, o->n_embd);
    add_vec(m, "per_layer_proj_norm.weight", N_PER_LAYER, 1, 0.3f);
    if (m->arch->has_altup) {
        add_stack(m, "altup_proj.weight", N_ALTUP - 1, o->n_embd, o->n_embd);
        add_stack(m, "altup_unembd_proj.weight", N_ALTUP - 1, o->n_embd, o->n_embd);
    }
}

/* What encoders and rankers have around their layers. */
static void add_ends(model *m)
{
    const cf_tiny_options *o = &m->o;
    const cf_arch *arch = m->arch;
    if (arch->has_norm_bias) {
        add_mat(m, "token_types.weight", 2, o->n_embd);
        add_vec(m, "token_embd_norm.bias", o->n_embd, 0, 0.2f);
    }
    if (arch->has_positions) {
        add_mat(m, "position_embd.weight", o->n_ctx, o->n_embd);
    }
    if (arch->has_embd_norm) {
        add_vec(m, "token_embd_norm.weight", o->n_embd, 1, 0.3f);
    }
    if (arch->is_encoder && arch->has_embd_scale) {
        add_mat(m, "dense_2.weight", 2 * o->n_embd, o->n_embd);
        add_mat(m, "dense_3.weight", o->n_embd, 2 * o->n_embd);
    }
    if (o->pooling != CF_POOLING_RANK) {
        return;
    }
    add_mat(m, "cls.output.weight", arch->ranking == CF_RANK_LAST_YES ? 2 : 1, o->n_embd);
    if (arch->is_encoder) {
        add_mat(m, "cls.weight", o->n_embd, o->n_embd);
        add_vec(m, "cls.output.bias", 1, 0, 0.2f);
    }
    if (arch->ranking == CF_RANK_MEAN_GELU) {
        add_vec(m, "cls.norm.weight", o->n_embd, 1, 0.3f);
    } else if (arch->is_encoder) {
        add_vec(m, "cls.bias", o->n_embd, 0, 0.2f);
    }
}

/* A draft layer's own ends: the embedding is the model's. */
static void add_nextn(model *m, uint32_t i)
{
    add_linear(m, i, "nextn.eh_proj", m->o.n_embd, 2 * m->o.n_embd, false);
    add_norm(m, i, "nextn.enorm", m->o.n_embd);
    add_norm(m, i, "nextn.hnorm", m->o.n_embd);
    add_norm(m, i, "nextn.shared_head_norm", m->o.n_embd);
    add_linear(m, i, "nextn.shared_head_head", m->o.n_vocab, m->o.n_embd, false);
}

static void add_tensors(model *m)
{
    const cf_tiny_options *o = &m->o;
    add_mat(m, "token_embd.weight", o->n_vocab, o->n_embd);
    if (!m->arch->has_sum_norm) {
        add_vec(m, m->arch->has_embd_out_norm ? "token_embd_norm.weight" : "output_norm.weight",
                o->n_embd, 1, 0.3f);
    }
    add_ends(m);
    if (o->has_output) {
        add_mat(m, "output.weight", o->n_vocab, o->n_embd);
    }
    if (o->has_rope_freqs) {
        add_vec(m, "rope_freqs.weight", o->n_rot / 2, 3, 2);
    }
    if (o->rope_scaling != NULL && strcmp(o->rope_scaling, "longrope") == 0) {
        add_vec(m, "rope_factors_long.weight", o->n_rot / 2, 8, 6);
        add_vec(m, "rope_factors_short.weight", o->n_rot / 2, 1.2f, 0.2f);
    }
    if (m->arch->has_per_layer) {
        add_outer_extras(m);
    }
    for (uint32_t i = 0; i < o->n_layer + o->n_nextn; i++) {
        add_layer(m, i);
    }
    if (o->n_nextn != 0) {
        add_nextn(m, o->n_layer);
    }
}

static void fill_defaults(model *m)
{
    cf_tiny_options *o = &m->o;
#define DEFAULT(field, value) o->field = o->field != 0 ? o->field : (value)
    o->arch = o->arch != NULL ? o->arch : "llama";
    m->arch = cf_arch_find(cf_str_from(o->arch));
    bool pattern = m->arch != NULL && (m->arch->window_period > 1 || m->arch->nope_period != 0);
    bool alternates = m->arch != NULL && m->arch->recurrent != CF_MIX_ATTENTION;
    DEFAULT(n_layer, pattern && m->arch->window_period != CF_EVERY_LAYER ? 6 : alternates ? 4 : 2);
    DEFAULT(n_embd, cf_dtype_get(o->type).n_block == 256 ? 256 : 64);
    DEFAULT(n_head, 4);
    DEFAULT(n_head_kv, 2);
    DEFAULT(head_size, 16);
    DEFAULT(head_size_v, o->head_size);
    DEFAULT(n_rot, o->head_size);
    DEFAULT(n_ff, 2 * o->n_embd);
    DEFAULT(n_vocab, 320);
    DEFAULT(n_ctx, 512);
    DEFAULT(window, 12);
#undef DEFAULT
}

void *cf_tiny_gguf(const cf_tiny_options *options, size_t *n)
{
    model m = {.o = *options, .n_stack = 1};
    cf_tiny_buf out = {NULL, 0, 0};
    fill_defaults(&m);
    m.r.s = m.o.seed;
    add_sizes(&m);
    add_vocab(&m);
    if (!m.o.vocab_only && m.arch != NULL) {
        add_tensors(&m);
    }
    cf_tiny_head(&out, 3, m.n_tensors, m.n_values);
    cf_tiny_bytes(&out, m.values.p, m.values.n);
    cf_tiny_bytes(&out, m.tensors.p, m.tensors.n);
    cf_tiny_pad(&out, 32);
    cf_tiny_bytes(&out, m.data.p, m.data.n);
    free(m.values.p);
    free(m.tensors.p);
    free(m.data.p);
    *n = out.n;
    return out.p;
}
