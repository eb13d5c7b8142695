/*
 * hf_weights_file.c - writes a GGUF's tensors and sizes as transformers would.
 */
#include "tests/support/t.h"

#include "tests/support/hf_weights_file.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/os.h"
#include "core/kernel/dtype.h"
#include "core/kernel/half.h"
#include "core/model/arch.h"
#include "core/model/gguf.h"
#include "tests/support/hf_config_file.h"
#include "tests/support/hf_file.h"

/* What was done to a tensor on its way into the GGUF. */
typedef enum how {
    COPY,
    LESS_ONE, /* norms kept as weight - 1 */
    LOG,      /* A_log */
    HALVES_Q, /* pairs back to halves */
    HALVES_K,
    EACH,       /* a stack to one tensor an expert */
    ABOVE,      /* with the `up` of the same kind: gate rows, then up rows */
    TURNED,     /* [E, out, in] to [E, in, out] */
    TURNED_MIX, /* with `up`: [E, in, 2 out], columns taking turns */
    BIAS_MIX,   /* with `up`: [E, 2 out] */
    TAPS,       /* [channels, taps] to [channels, 1, taps] */
    V_ROWS,     /* DeltaNet's value heads, tiled to grouped */
    V_TAIL,
    V_TAPS, /* V_TAIL and TAPS */
    V_ONES,
    V_LOG, /* V_ONES and LOG */
    V_COLS,
    QKVZ,  /* with attn_gate */
    FLAT,  /* a vector */
    PARTS, /* queries, keys and values, a tensor each */
    SKIP
} how;

typedef struct rule {
    const char *archs; /* with spaces around each; "" for all */
    const char *from;  /* without "blk.N." */
    const char *to;    /* '@' is the layer, '#' the expert */
    how how;
} rule;

#define PAIRS    " llama smollm3 granite granitemoe granitehybrid mistral3 arcee "
#define PLUS_ONE " gemma gemma2 gemma3 gemma-embedding qwen35 qwen35moe qwen3next "
#define GEMMA2   " gemma2 gemma3 gemma4 gemma3n gemma-embedding "
#define QWEN     " qwen35 qwen35moe qwen3next "
#define LFM      " lfm2 lfm2moe "
#define NEMOTRON " nemotron_h nemotron_h_moe "
#define L        "model.layers.@."

#define BERT   " bert "
#define NOMIC  " nomic-bert "
#define MODERN " modern-bert "
#define BL     "bert.encoder.layer.@."
#define NL     "encoder.layers.@."

static const rule rules[] = {
    /* encoders */
    {BERT, "token_embd.weight", "bert.embeddings.word_embeddings.weight", COPY},
    {BERT, "position_embd.weight", "bert.embeddings.position_embeddings.weight", COPY},
    {BERT, "token_types.weight", "bert.embeddings.token_type_embeddings.weight", COPY},
    {BERT, "token_embd_norm.weight", "bert.embeddings.LayerNorm.weight", COPY},
    {BERT, "token_embd_norm.bias", "bert.embeddings.LayerNorm.bias", COPY},
    {BERT, "attn_qkv.weight", BL "attention.self.query.weight", PARTS},
    {BERT, "attn_qkv.bias", BL "attention.self.query.bias", PARTS},
    {BERT, "attn_output.weight", BL "attention.output.dense.weight", COPY},
    {BERT, "attn_output.bias", BL "attention.output.dense.bias", COPY},
    {BERT, "attn_output_norm.weight", BL "attention.output.LayerNorm.weight", COPY},
    {BERT, "attn_output_norm.bias", BL "attention.output.LayerNorm.bias", COPY},
    {BERT, "ffn_up.weight", BL "intermediate.dense.weight", COPY},
    {BERT, "ffn_up.bias", BL "intermediate.dense.bias", COPY},
    {BERT, "ffn_down.weight", BL "output.dense.weight", COPY},
    {BERT, "ffn_down.bias", BL "output.dense.bias", COPY},
    {BERT, "layer_output_norm.weight", BL "output.LayerNorm.weight", COPY},
    {BERT, "layer_output_norm.bias", BL "output.LayerNorm.bias", COPY},
    {BERT, "cls.weight", "bert.pooler.dense.weight", COPY},
    {BERT, "cls.bias", "bert.pooler.dense.bias", COPY},
    {NOMIC, "token_embd.weight", "embeddings.word_embeddings.weight", COPY},
    {NOMIC, "token_types.weight", "embeddings.token_type_embeddings.weight", COPY},
    {NOMIC, "token_embd_norm.weight", "emb_ln.weight", COPY},
    {NOMIC, "token_embd_norm.bias", "emb_ln.bias", COPY},
    {NOMIC, "attn_qkv.weight", NL "attn.Wqkv.weight", COPY},
    {NOMIC, "attn_output.weight", NL "attn.out_proj.weight", COPY},
    {NOMIC, "attn_output_norm.weight", NL "norm1.weight", COPY},
    {NOMIC, "attn_output_norm.bias", NL "norm1.bias", COPY},
    {NOMIC, "ffn_up.weight", NL "mlp.fc11.weight", COPY},
    {NOMIC, "ffn_gate.weight", NL "mlp.fc12.weight", COPY},
    {NOMIC, "ffn_down.weight", NL "mlp.fc2.weight", COPY},
    {NOMIC, "layer_output_norm.weight", NL "norm2.weight", COPY},
    {NOMIC, "layer_output_norm.bias", NL "norm2.bias", COPY},
    {MODERN, "token_embd.weight", "model.embeddings.tok_embeddings.weight", COPY},
    {MODERN, "token_embd_norm.weight", "model.embeddings.norm.weight", COPY},
    {MODERN, "output_norm.weight", "model.final_norm.weight", COPY},
    {MODERN, "attn_norm.weight", L "attn_norm.weight", COPY},
    {MODERN, "attn_qkv.weight", L "attn.Wqkv.weight", COPY},
    {MODERN, "attn_output.weight", L "attn.Wo.weight", COPY},
    {MODERN, "ffn_norm.weight", L "mlp_norm.weight", COPY},
    {MODERN, "ffn_up.weight", L "mlp.Wi.weight", COPY},
    {MODERN, "ffn_down.weight", L "mlp.Wo.weight", COPY},
    {MODERN, "cls.weight", "head.dense.weight", COPY},
    {MODERN, "cls.norm.weight", "head.norm.weight", COPY},
    {"", "cls.output.weight", "classifier.weight", COPY},
    {"", "cls.output.bias", "classifier.bias", COPY},
    {" gemma-embedding ", "dense_2.weight", "", SKIP},
    {" gemma-embedding ", "dense_3.weight", "", SKIP},
    /* outer */
    {NEMOTRON, "token_embd.weight", "backbone.embeddings.weight", COPY},
    {NEMOTRON, "output_norm.weight", "backbone.norm_f.weight", COPY},
    {"", "token_embd.weight", "model.embed_tokens.weight", COPY},
    {LFM, "token_embd_norm.weight", "model.embedding_norm.weight", COPY},
    {" falcon-h1 ", "output_norm.weight", "model.final_layernorm.weight", COPY},
    {PLUS_ONE, "output_norm.weight", "model.norm.weight", LESS_ONE},
    {"", "output_norm.weight", "model.norm.weight", COPY},
    {"", "output.weight", "lm_head.weight", COPY},
    {"", "per_layer_token_embd.weight", "model.embed_tokens_per_layer.weight", COPY},
    {"", "per_layer_model_proj.weight", "model.per_layer_model_projection.weight", COPY},
    {"", "per_layer_proj_norm.weight", "model.per_layer_projection_norm.weight", COPY},
    {"", "altup_proj.weight", "model.altup_projections.#.weight", EACH},
    {"", "altup_unembd_proj.weight", "model.altup_unembed_projections.#.weight", EACH},
    /* Nemotron-H: every part is the mixer */
    {NEMOTRON, "attn_norm.weight", "backbone.layers.@.norm.weight", COPY},
    {NEMOTRON, "attn_q.weight", "backbone.layers.@.mixer.q_proj.weight", COPY},
    {NEMOTRON, "attn_k.weight", "backbone.layers.@.mixer.k_proj.weight", COPY},
    {NEMOTRON, "attn_v.weight", "backbone.layers.@.mixer.v_proj.weight", COPY},
    {NEMOTRON, "attn_output.weight", "backbone.layers.@.mixer.o_proj.weight", COPY},
    {NEMOTRON, "ffn_up.weight", "backbone.layers.@.mixer.up_proj.weight", COPY},
    {NEMOTRON, "ffn_down.weight", "backbone.layers.@.mixer.down_proj.weight", COPY},
    {NEMOTRON, "ssm_in.weight", "backbone.layers.@.mixer.in_proj.weight", COPY},
    {NEMOTRON, "ssm_conv1d.weight", "backbone.layers.@.mixer.conv1d.weight", TAPS},
    {NEMOTRON, "ssm_conv1d.bias", "backbone.layers.@.mixer.conv1d.bias", COPY},
    {NEMOTRON, "ssm_dt.bias", "backbone.layers.@.mixer.dt_bias", COPY},
    {NEMOTRON, "ssm_a", "backbone.layers.@.mixer.A_log", LOG},
    {NEMOTRON, "ssm_d", "backbone.layers.@.mixer.D", FLAT},
    {NEMOTRON, "ssm_norm.weight", "backbone.layers.@.mixer.norm.weight", FLAT},
    {NEMOTRON, "ssm_out.weight", "backbone.layers.@.mixer.out_proj.weight", COPY},
    {NEMOTRON, "ffn_gate_inp.weight", "backbone.layers.@.mixer.gate.weight", COPY},
    {NEMOTRON, "exp_probs_b.bias", "backbone.layers.@.mixer.gate.e_score_correction_bias", COPY},
    {NEMOTRON, "ffn_up_exps.weight", "backbone.layers.@.mixer.experts.#.up_proj.weight", EACH},
    {NEMOTRON, "ffn_down_exps.weight", "backbone.layers.@.mixer.experts.#.down_proj.weight", EACH},
    {NEMOTRON, "ffn_up_shexp.weight", "backbone.layers.@.mixer.shared_experts.up_proj.weight",
     COPY},
    {NEMOTRON, "ffn_down_shexp.weight", "backbone.layers.@.mixer.shared_experts.down_proj.weight",
     COPY},
    /* norms */
    {LFM, "attn_norm.weight", L "operator_norm.weight", COPY},
    {LFM, "ffn_norm.weight", L "ffn_norm.weight", COPY},
    {LFM, "attn_q_norm.weight", L "self_attn.q_layernorm.weight", COPY},
    {LFM, "attn_k_norm.weight", L "self_attn.k_layernorm.weight", COPY},
    {PLUS_ONE, "attn_norm.weight", L "input_layernorm.weight", LESS_ONE},
    {"", "attn_norm.weight", L "input_layernorm.weight", COPY},
    {" gemma2 gemma3 gemma-embedding ", "ffn_norm.weight", L "pre_feedforward_layernorm.weight",
     LESS_ONE},
    {GEMMA2, "ffn_norm.weight", L "pre_feedforward_layernorm.weight", COPY},
    {" falcon-h1 ", "ffn_norm.weight", L "pre_ff_layernorm.weight", COPY},
    {PLUS_ONE, "ffn_norm.weight", L "post_attention_layernorm.weight", LESS_ONE},
    {"", "ffn_norm.weight", L "post_attention_layernorm.weight", COPY},
    {" glm4 ", "post_attention_norm.weight", L "post_self_attn_layernorm.weight", COPY},
    {" glm4 ", "post_ffw_norm.weight", L "post_mlp_layernorm.weight", COPY},
    {PLUS_ONE, "post_attention_norm.weight", L "post_attention_layernorm.weight", LESS_ONE},
    {"", "post_attention_norm.weight", L "post_attention_layernorm.weight", COPY},
    {PLUS_ONE, "post_ffw_norm.weight", L "post_feedforward_layernorm.weight", LESS_ONE},
    {"", "post_ffw_norm.weight", L "post_feedforward_layernorm.weight", COPY},
    {"", "post_ffw_norm_1.weight", L "post_feedforward_layernorm_1.weight", COPY},
    {"", "post_ffw_norm_2.weight", L "post_feedforward_layernorm_2.weight", COPY},
    {"", "pre_ffw_norm_2.weight", L "pre_feedforward_layernorm_2.weight", COPY},
    {PLUS_ONE, "attn_q_norm.weight", L "self_attn.q_norm.weight", LESS_ONE},
    {PLUS_ONE, "attn_k_norm.weight", L "self_attn.k_norm.weight", LESS_ONE},
    {"", "attn_q_norm.weight", L "self_attn.q_norm.weight", COPY},
    {"", "attn_k_norm.weight", L "self_attn.k_norm.weight", COPY},
    /* attention, or DeltaNet under the same names */
    {" qwen3next ", "attn_qkv.weight", L "linear_attn.in_proj_qkvz.weight", QKVZ},
    {" qwen3next ", "attn_gate.weight", "", SKIP},
    {" qwen3next ", "ssm_ba.weight", L "linear_attn.in_proj_ba.weight", COPY},
    {QWEN, "attn_qkv.weight", L "linear_attn.in_proj_qkv.weight", V_TAIL},
    {QWEN, "attn_gate.weight", L "linear_attn.in_proj_z.weight", V_ROWS},
    {QWEN, "ssm_beta.weight", L "linear_attn.in_proj_b.weight", V_ONES},
    {QWEN, "ssm_alpha.weight", L "linear_attn.in_proj_a.weight", V_ONES},
    {" qwen3next ", "ssm_conv1d.weight", L "linear_attn.conv1d.weight", TAPS},
    {" qwen3next ", "ssm_dt.bias", L "linear_attn.dt_bias", COPY},
    {" qwen3next ", "ssm_a", L "linear_attn.A_log", LOG},
    {" qwen3next ", "ssm_out.weight", L "linear_attn.out_proj.weight", COPY},
    {QWEN, "ssm_conv1d.weight", L "linear_attn.conv1d.weight", V_TAPS},
    {QWEN, "ssm_dt.bias", L "linear_attn.dt_bias", V_ONES},
    {QWEN, "ssm_a", L "linear_attn.A_log", V_LOG},
    {QWEN, "ssm_norm.weight", L "linear_attn.norm.weight", COPY},
    {QWEN, "ssm_out.weight", L "linear_attn.out_proj.weight", V_COLS},
    {"", "attn_qkv.weight", L "self_attn.qkv_proj.weight", COPY},
    {"", "attn_qkv.bias", L "self_attn.qkv_proj.bias", COPY},
    {PAIRS, "attn_q.weight", L "self_attn.q_proj.weight", HALVES_Q},
    {PAIRS, "attn_q.bias", L "self_attn.q_proj.bias", HALVES_Q},
    {PAIRS, "attn_k.weight", L "self_attn.k_proj.weight", HALVES_K},
    {PAIRS, "attn_k.bias", L "self_attn.k_proj.bias", HALVES_K},
    {"", "attn_q.weight", L "self_attn.q_proj.weight", COPY},
    {"", "attn_q.bias", L "self_attn.q_proj.bias", COPY},
    {"", "attn_k.weight", L "self_attn.k_proj.weight", COPY},
    {"", "attn_k.bias", L "self_attn.k_proj.bias", COPY},
    {"", "attn_v.weight", L "self_attn.v_proj.weight", COPY},
    {"", "attn_v.bias", L "self_attn.v_proj.bias", COPY},
    {LFM, "attn_output.weight", L "self_attn.out_proj.weight", COPY},
    {"", "attn_output.weight", L "self_attn.o_proj.weight", COPY},
    {"", "attn_output.bias", L "self_attn.o_proj.bias", COPY},
    {"", "attn_sinks.weight", L "self_attn.sinks", COPY},
    /* recurrent */
    {"", "shortconv.in_proj.weight", L "conv.in_proj.weight", COPY},
    {"", "shortconv.conv.weight", L "conv.conv.weight", TAPS},
    {"", "shortconv.out_proj.weight", L "conv.out_proj.weight", COPY},
    {"", "ssm_in.weight", L "mamba.in_proj.weight", COPY},
    {"", "ssm_conv1d.weight", L "mamba.conv1d.weight", TAPS},
    {"", "ssm_conv1d.bias", L "mamba.conv1d.bias", COPY},
    {"", "ssm_dt.bias", L "mamba.dt_bias", COPY},
    {"", "ssm_a", L "mamba.A_log", LOG},
    {"", "ssm_d", L "mamba.D", FLAT},
    {"", "ssm_norm.weight", L "mamba.norm.weight", FLAT},
    {"", "ssm_out.weight", L "mamba.out_proj.weight", COPY},
    /* feed-forward */
    {LFM, "ffn_gate.weight", L "feed_forward.w1.weight", COPY},
    {LFM, "ffn_up.weight", L "feed_forward.w3.weight", COPY},
    {LFM, "ffn_down.weight", L "feed_forward.w2.weight", COPY},
    {LFM, "ffn_gate_inp.weight", L "feed_forward.gate.weight", COPY},
    {LFM, "exp_probs_b.bias", L "feed_forward.expert_bias", COPY},
    {LFM, "ffn_gate_exps.weight", L "feed_forward.experts.#.w1.weight", EACH},
    {LFM, "ffn_up_exps.weight", L "feed_forward.experts.#.w3.weight", EACH},
    {LFM, "ffn_down_exps.weight", L "feed_forward.experts.#.w2.weight", EACH},
    {" falcon-h1 ", "ffn_gate.weight", L "feed_forward.gate_proj.weight", COPY},
    {" falcon-h1 ", "ffn_up.weight", L "feed_forward.up_proj.weight", COPY},
    {" falcon-h1 ", "ffn_down.weight", L "feed_forward.down_proj.weight", COPY},
    {" phi3 glm4 ", "ffn_up.weight", L "mlp.gate_up_proj.weight", COPY},
    {" phi3 glm4 ", "ffn_up.bias", L "mlp.gate_up_proj.bias", COPY},
    {"", "ffn_gate.weight", L "mlp.gate_proj.weight", COPY},
    {"", "ffn_gate.bias", L "mlp.gate_proj.bias", COPY},
    {"", "ffn_up.weight", L "mlp.up_proj.weight", COPY},
    {"", "ffn_up.bias", L "mlp.up_proj.bias", COPY},
    {"", "ffn_down.weight", L "mlp.down_proj.weight", COPY},
    {"", "ffn_down.bias", L "mlp.down_proj.bias", COPY},
    /* experts */
    {" gemma4 ", "ffn_gate_inp.weight", L "router.proj.weight", COPY},
    {" gemma4 ", "ffn_gate_inp.scale", L "router.scale", COPY},
    {" gemma4 ", "ffn_down_exps.scale", L "router.per_expert_scale", COPY},
    {" gemma4 ", "ffn_gate_up_exps.weight", L "experts.gate_up_proj", COPY},
    {" gemma4 ", "ffn_down_exps.weight", L "experts.down_proj", COPY},
    {" granitemoe granitehybrid ", "ffn_gate_inp.weight", L "block_sparse_moe.router.layer.weight",
     COPY},
    {" granitemoe granitehybrid ", "ffn_gate_exps.weight", L "block_sparse_moe.input_linear.weight",
     ABOVE},
    {" granitemoe granitehybrid ", "ffn_up_exps.weight", "", SKIP},
    {" granitemoe granitehybrid ", "ffn_down_exps.weight",
     L "block_sparse_moe.output_linear.weight", COPY},
    {" granitemoe granitehybrid ", "ffn_gate_shexp.weight", L "shared_mlp.input_linear.weight",
     ABOVE},
    {" granitemoe granitehybrid ", "ffn_up_shexp.weight", "", SKIP},
    {" granitemoe granitehybrid ", "ffn_down_shexp.weight", L "shared_mlp.output_linear.weight",
     COPY},
    {" gpt-oss ", "ffn_gate_inp.weight", L "mlp.router.weight", COPY},
    {" gpt-oss ", "ffn_gate_inp.bias", L "mlp.router.bias", COPY},
    {" gpt-oss ", "ffn_gate_exps.weight", L "mlp.experts.gate_up_proj", TURNED_MIX},
    {" gpt-oss ", "ffn_up_exps.weight", "", SKIP},
    {" gpt-oss ", "ffn_gate_exps.bias", L "mlp.experts.gate_up_proj_bias", BIAS_MIX},
    {" gpt-oss ", "ffn_up_exps.bias", "", SKIP},
    {" gpt-oss ", "ffn_down_exps.weight", L "mlp.experts.down_proj", TURNED},
    {" gpt-oss ", "ffn_down_exps.bias", L "mlp.experts.down_proj_bias", COPY},
    {" qwen35moe ", "ffn_gate_exps.weight", L "mlp.experts.gate_up_proj", ABOVE},
    {" qwen35moe ", "ffn_up_exps.weight", "", SKIP},
    {" qwen35moe ", "ffn_down_exps.weight", L "mlp.experts.down_proj", COPY},
    {" llama ", "ffn_gate_inp.weight", L "block_sparse_moe.gate.weight", COPY},
    {" llama ", "ffn_gate_exps.weight", L "block_sparse_moe.experts.#.w1.weight", EACH},
    {" llama ", "ffn_up_exps.weight", L "block_sparse_moe.experts.#.w3.weight", EACH},
    {" llama ", "ffn_down_exps.weight", L "block_sparse_moe.experts.#.w2.weight", EACH},
    {"", "ffn_gate_inp.weight", L "mlp.gate.weight", COPY},
    {"", "ffn_gate_exps.weight", L "mlp.experts.#.gate_proj.weight", EACH},
    {"", "ffn_up_exps.weight", L "mlp.experts.#.up_proj.weight", EACH},
    {"", "ffn_down_exps.weight", L "mlp.experts.#.down_proj.weight", EACH},
    {"", "ffn_gate_shexp.weight", L "mlp.shared_expert.gate_proj.weight", COPY},
    {"", "ffn_up_shexp.weight", L "mlp.shared_expert.up_proj.weight", COPY},
    {"", "ffn_down_shexp.weight", L "mlp.shared_expert.down_proj.weight", COPY},
    {"", "ffn_gate_inp_shexp.weight", L "mlp.shared_expert_gate.weight", COPY},
    /* Gemma 3n and 4 */
    {"", "layer_output_scale.weight", L "layer_scalar", COPY},
    {"", "inp_gate.weight", L "per_layer_input_gate.weight", COPY},
    {"", "proj.weight", L "per_layer_projection.weight", COPY},
    {"", "post_norm.weight", L "post_per_layer_input_norm.weight", COPY},
    {"", "altup_router.weight", L "altup.modality_router.weight", COPY},
    {"", "altup_router_norm.weight", L "altup.router_norm.weight", COPY},
    {"", "altup_predict_coef.weight", L "altup.prediction_coefs.weight", COPY},
    {"", "altup_correct_coef.weight", L "altup.correction_coefs.weight", COPY},
    {"", "altup_correct_scale.weight", L "altup.correct_output_scale", COPY},
    {"", "laurel_l.weight", L "laurel.linear_left.weight", COPY},
    {"", "laurel_r.weight", L "laurel.linear_right.weight", COPY},
    {"", "laurel_post_norm.weight", L "laurel.post_laurel_norm.weight", COPY},
};

/* ---- reading the GGUF ---------------------------------------------------- */

typedef struct writer {
    cf_hf_model m;
    cf_buf header, data; /* of a safetensors file */
    cf_buf index;
    const char *dir;
    unsigned n_file;
} writer;

static const rule *rule_of(const writer *w, const char *name)
{
    const char *rest = name;
    if (strncmp(name, "blk.", 4) == 0) {
        rest = strchr(name + 4, '.') + 1;
    }
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(rules[i].from, rest) == 0 && cf_hf_is_of(&w->m, rules[i].archs)) {
            return &rules[i];
        }
    }
    fail_msg("%s: no rule for %s", w->m.arch, name);
    return NULL;
}

/* ---- one tensor ---------------------------------------------------------- */

static size_t size_of(uint32_t type)
{
    return type == CF_F32 ? 4 : 2;
}

/* Declares a tensor of `n` numbers and returns room for it. */
static unsigned char *declare(writer *w, const char *name, uint32_t type, const uint64_t *dim,
                              size_t n_dim)
{
    uint64_t n = 1;
    cf_buf_adds(&w->header, w->header.n == 0 ? "{" : ",");
    cf_buf_addf(&w->header, "\"%s\":{\"dtype\":\"%s\",\"shape\":[", name,
                type == CF_F32   ? "F32"
                : type == CF_F16 ? "F16"
                                 : "BF16");
    for (size_t i = 0; i < n_dim; i++) {
        cf_buf_addf(&w->header, "%s%llu", i == 0 ? "" : ",", (unsigned long long)dim[i]);
        n *= dim[i];
    }
    size_t bytes = n * size_of(type);
    cf_buf_addf(&w->header, "],\"data_offsets\":[%zu,%zu]}", w->data.n, w->data.n + bytes);
    cf_buf_addf(&w->index, "%s\"%s\":\"part-%u.safetensors\"", w->index.n == 0 ? "" : ",", name,
                w->n_file);
    char *p = cf_buf_reserve(&w->data, bytes);
    assert_non_null(p);
    memset(p, 0, bytes);
    w->data.n += bytes;
    return (unsigned char *)p;
}

static void full_name(char out[160], const char *form, const char *layer, unsigned expert)
{
    size_t n = 0;
    for (; *form != '\0'; form++) {
        if (*form == '@') {
            n += (size_t)snprintf(out + n, 160 - n, "%d", atoi(layer + 4));
        } else if (*form == '#') {
            n += (size_t)snprintf(out + n, 160 - n, "%u", expert);
        } else {
            out[n++] = *form;
        }
    }
    out[n] = '\0';
}

/* A view of [a][b][c] numbers of `size` bytes. */
typedef struct cube {
    const unsigned char *p;
    size_t a, b, c, size;
} cube;

static const unsigned char *at(const cube *m, size_t a, size_t b, size_t c)
{
    return m->p + ((a * m->b + b) * m->c + c) * m->size;
}

static cube cube_of(const cf_gguf_tensor *t)
{
    return (cube){t->p, t->dim[2], t->dim[1], t->dim[0], size_of(t->type)};
}

/* Where the folder has value head j: a key head's are together. */
static size_t group_of(const writer *w, size_t j)
{
    size_t n_key = cf_hf_number(&w->m, "ssm.group_count", 1);
    size_t n_value = cf_hf_number(&w->m, "ssm.time_step_rank", 1);
    return j % n_key * (n_value / n_key) + j / n_key;
}

/* The GGUF tensor of the same layer whose name has `from` in place of `to`. */
static const cf_gguf_tensor *partner(const writer *w, const char *name, const char *from,
                                     const char *to)
{
    char other[96];
    const char *hit = strstr(name, from);
    assert_non_null(hit);
    snprintf(other, sizeof other, "%.*s%s%s", (int)(hit - name), name, to, hit + strlen(from));
    const cf_gguf_tensor *t = cf_gguf_find_tensor(w->m.g, other);
    assert_non_null(t);
    return t;
}

static void write_f32(unsigned char *p, float f)
{
    memcpy(p, &f, sizeof f);
}

static float read_f32(const unsigned char *p)
{
    float f;
    memcpy(&f, p, sizeof f);
    return f;
}

/* Shape of a copy: as in the GGUF, slowest first. */
static size_t dims_of(const cf_gguf_tensor *t, uint64_t dim[4])
{
    for (uint32_t i = 0; i < t->n_dim; i++) {
        dim[i] = t->dim[t->n_dim - 1 - i];
    }
    return t->n_dim;
}

static void write_plain(writer *w, const cf_gguf_tensor *t, const char *to, how h)
{
    uint64_t dim[4] = {0};
    size_t n_dim = dims_of(t, dim);
    if (h == TAPS) {
        dim[2] = dim[1];
        dim[1] = 1;
        n_dim = 3;
    } else if (h == FLAT || h == LOG) {
        dim[0] = t->dim[0] * t->dim[1];
        n_dim = 1;
    }
    unsigned char *p = declare(w, to, t->type, dim, n_dim);
    size_t n = t->dim[0] * t->dim[1] * t->dim[2];
    memcpy(p, t->p, n * size_of(t->type));
    for (size_t i = 0; (h == LESS_ONE || h == LOG) && i < n; i++) {
        float f = read_f32(t->p + 4 * i);
        write_f32(p + 4 * i, h == LOG ? logf(-f) : f - 1);
    }
}

/* Rows from pairs to halves, a head at a time. */
static void write_halves(writer *w, const cf_gguf_tensor *t, const char *to, size_t n_head)
{
    uint64_t dim[4] = {0};
    size_t n_dim = dims_of(t, dim);
    size_t rows = (size_t)dim[0], row = t->dim[0] * size_of(t->type);
    row = n_dim == 1 ? size_of(t->type) : row;
    unsigned char *p = declare(w, to, t->type, dim, n_dim);
    size_t size = rows / n_head;
    for (size_t h = 0; h < n_head; h++) {
        for (size_t half = 0; half < 2; half++) {
            for (size_t i = 0; i < size / 2; i++) {
                memcpy(p + (h * size + half * (size / 2) + i) * row,
                       t->p + (h * size + 2 * i + half) * row, row);
            }
        }
    }
}

static void write_each(writer *w, const cf_gguf_tensor *t, const char *form, const char *name)
{
    size_t bytes = t->dim[0] * t->dim[1] * size_of(t->type);
    for (unsigned e = 0; e < t->dim[2]; e++) {
        char to[160];
        uint64_t dim[2] = {t->dim[1], t->dim[0]};
        full_name(to, form, name, e);
        memcpy(declare(w, to, t->type, dim, 2), t->p + e * bytes, bytes);
    }
}

static void write_above(writer *w, const cf_gguf_tensor *t, const char *to, const char *name)
{
    cube gate = cube_of(t), up = cube_of(partner(w, name, "gate", "up"));
    uint64_t dim[3] = {gate.a, 2 * gate.b, gate.c};
    bool flat = t->n_dim == 2;
    size_t bytes = gate.b * gate.c * gate.size;
    unsigned char *p = declare(w, to, t->type, flat ? dim + 1 : dim, flat ? 2 : 3);
    for (size_t e = 0; e < gate.a; e++) {
        memcpy(p + 2 * e * bytes, at(&gate, e, 0, 0), bytes);
        memcpy(p + (2 * e + 1) * bytes, at(&up, e, 0, 0), bytes);
    }
}

static void write_turned(writer *w, const cf_gguf_tensor *t, const char *to, const char *name,
                         bool mix)
{
    cube m[2] = {cube_of(t), cube_of(t)};
    size_t n = mix ? 2 : 1;
    if (mix) {
        m[1] = cube_of(partner(w, name, "gate", "up"));
    }
    uint64_t dim[3] = {m[0].a, m[0].c, n * m[0].b};
    unsigned char *p = declare(w, to, t->type, dim, 3);
    for (size_t e = 0; e < m[0].a; e++) {
        for (size_t c = 0; c < m[0].c; c++) {
            for (size_t r = 0; r < n * m[0].b; r++, p += m[0].size) {
                memcpy(p, at(&m[r % n], e, r / n, c), m[0].size);
            }
        }
    }
}

static void write_bias_mix(writer *w, const cf_gguf_tensor *t, const char *to, const char *name)
{
    const cf_gguf_tensor *up = partner(w, name, "gate", "up");
    uint64_t dim[2] = {t->dim[1], 2 * t->dim[0]};
    unsigned char *p = declare(w, to, t->type, dim, 2);
    for (size_t i = 0; i < t->dim[0] * t->dim[1]; i++) {
        memcpy(p + 8 * i, t->p + 4 * i, 4);
        memcpy(p + 8 * i + 4, up->p + 4 * i, 4);
    }
}

/* Rows after the first `head`: units of `unit` rows, one a value head. */
static void write_v_rows(writer *w, const cf_gguf_tensor *t, const char *to, size_t head,
                         size_t unit, how h)
{
    uint64_t dim[4] = {0};
    size_t n_dim = dims_of(t, dim);
    size_t rows = (size_t)dim[0];
    size_t row = n_dim == 1 ? size_of(t->type) : t->dim[0] * size_of(t->type);
    if (h == V_TAPS) {
        dim[2] = dim[1];
        dim[1] = 1;
        n_dim = 3;
    }
    unsigned char *p = declare(w, to, t->type, dim, n_dim);
    memcpy(p, t->p, head * row);
    for (size_t r = head; r < rows; r++) {
        size_t j = (r - head) / unit, i = (r - head) % unit;
        unsigned char *q = p + (head + group_of(w, j) * unit + i) * row;
        memcpy(q, t->p + r * row, row);
        if (h == V_LOG) {
            write_f32(q, logf(-read_f32(q)));
        }
    }
}

static void write_v_cols(writer *w, const cf_gguf_tensor *t, const char *to, size_t unit)
{
    uint64_t dim[2] = {t->dim[1], t->dim[0]};
    size_t size = size_of(t->type);
    unsigned char *p = declare(w, to, t->type, dim, 2);
    for (size_t r = 0; r < t->dim[1]; r++) {
        for (size_t c = 0; c < t->dim[0]; c++) {
            size_t col = group_of(w, c / unit) * unit + c % unit;
            memcpy(p + (r * t->dim[0] + col) * size, t->p + (r * t->dim[0] + c) * size, size);
        }
    }
}

/* q, k, v and z of one key head together. */
static void write_qkvz(writer *w, const cf_gguf_tensor *t, const char *to, const char *name)
{
    const cf_gguf_tensor *z = partner(w, name, "attn_qkv", "attn_gate");
    size_t n_key = cf_hf_number(&w->m, "ssm.group_count", 1);
    size_t s = cf_hf_number(&w->m, "ssm.state_size", 1);
    size_t v = cf_hf_number(&w->m, "ssm.time_step_rank", 1) / n_key * s;
    size_t row = t->dim[0] * size_of(t->type);
    uint64_t dim[2] = {t->dim[1] + z->dim[1], t->dim[0]};
    unsigned char *p = declare(w, to, t->type, dim, 2);
    for (size_t k = 0; k < n_key; k++) {
        memcpy(p, t->p + k * s * row, s * row);
        memcpy(p + s * row, t->p + (n_key * s + k * s) * row, s * row);
        memcpy(p + 2 * s * row, t->p + (2 * n_key * s + k * v) * row, v * row);
        memcpy(p + (2 * s + v) * row, z->p + k * v * row, v * row);
        p += (2 * s + 2 * v) * row;
    }
}

/* Rows of queries, then of keys, then of values. */
static void write_parts(writer *w, const cf_gguf_tensor *t, const char *to)
{
    static const char *const names[] = {"query", "key", "value"};
    const char *hit = strstr(to, names[0]);
    uint64_t n_head = cf_hf_number(&w->m, "attention.head_count", 1);
    uint64_t n_kv = cf_hf_number(&w->m, "attention.head_count_kv", n_head);
    uint64_t rows = t->n_dim == 1 ? t->dim[0] : t->dim[1];
    size_t row = (t->n_dim == 1 ? 1 : t->dim[0]) * size_of(t->type);
    const unsigned char *from = t->p;
    assert_non_null(hit);
    for (size_t i = 0; i < 3; i++) {
        char name[160];
        uint64_t dim[2] = {rows / (n_head + 2 * n_kv) * (i == 0 ? n_head : n_kv), t->dim[0]};
        snprintf(name, sizeof name, "%.*s%s%s", (int)(hit - to), to, names[i],
                 hit + strlen(names[0]));
        memcpy(declare(w, name, t->type, dim, t->n_dim), from, dim[0] * row);
        from += dim[0] * row;
    }
}

/* RoBERTa's prefix and classifier in place of BERT's. */
static void rename_roberta(char to[160])
{
    static const char *const names[][2] = {{"bert.pooler.dense", "classifier.dense"},
                                           {"classifier.", "classifier.out_proj."},
                                           {"bert.", "roberta."}};
    for (size_t i = 0; i < 3; i++) {
        char rest[160];
        size_t n = strlen(names[i][0]);
        if (strncmp(to, names[i][0], n) == 0) {
            snprintf(rest, sizeof rest, "%s", to + n);
            snprintf(to, 160, "%.40s%.110s", names[i][1], rest);
            return;
        }
    }
}

/* Positions with two rows before them that are not used. */
static void write_positions(writer *w, const cf_gguf_tensor *t, const char *to)
{
    size_t row = t->dim[0] * size_of(t->type);
    uint64_t dim[2] = {t->dim[1] + 2, t->dim[0]};
    memcpy(declare(w, to, t->type, dim, 2) + 2 * row, t->p, t->dim[1] * row);
}

static void write_tensor(writer *w, const cf_gguf_tensor *t)
{
    char name[96], to[160];
    snprintf(name, sizeof name, "%.*s", (int)t->name.n, t->name.p);
    const rule *r = rule_of(w, name);
    size_t s = cf_hf_number(&w->m, "ssm.state_size", 1);
    size_t keys = 2 * cf_hf_number(&w->m, "ssm.group_count", 0) * s;
    full_name(to, r->to, name, 0);
    if (w->m.is_roberta) {
        rename_roberta(to);
    }
    if (w->m.is_roberta && strcmp(name, "position_embd.weight") == 0) {
        write_positions(w, t, to);
        return;
    }
    switch (r->how) {
    case PARTS:
        write_parts(w, t, to);
        break;
    case SKIP:
        break;
    case HALVES_Q:
        write_halves(w, t, to, cf_hf_number(&w->m, "attention.head_count", 1));
        break;
    case HALVES_K: {
        size_t n = t->n_dim == 1 ? t->dim[0] : t->dim[1];
        write_halves(w, t, to, n / cf_hf_number(&w->m, "attention.key_length", 1));
        break;
    }
    case EACH:
        write_each(w, t, r->to, name);
        break;
    case ABOVE:
        write_above(w, t, to, name);
        break;
    case TURNED:
    case TURNED_MIX:
        write_turned(w, t, to, name, r->how == TURNED_MIX);
        break;
    case BIAS_MIX:
        write_bias_mix(w, t, to, name);
        break;
    case V_ROWS:
        write_v_rows(w, t, to, 0, s, r->how);
        break;
    case V_TAIL:
    case V_TAPS:
        write_v_rows(w, t, to, keys, s, r->how);
        break;
    case V_ONES:
    case V_LOG:
        write_v_rows(w, t, to, 0, 1, r->how);
        break;
    case V_COLS:
        write_v_cols(w, t, to, s);
        break;
    case QKVZ:
        write_qkvz(w, t, to, name);
        break;
    default:
        write_plain(w, t, to, r->how);
    }
}

/* ---- files --------------------------------------------------------------- */

static void flush(writer *w, const char *name)
{
    cf_buf all = CF_BUF_INIT;
    char path[256];
    cf_error err = {0};
    cf_buf_adds(&w->header, "}");
    while (w->header.n % 8 != 0) {
        cf_buf_addc(&w->header, ' ');
    }
    for (size_t i = 0; i < 8; i++) {
        cf_buf_addc(&all, (char)(unsigned char)(w->header.n >> (8 * i)));
    }
    cf_buf_add(&all, w->header.p, w->header.n);
    cf_buf_add(&all, w->data.p, w->data.n);
    snprintf(path, sizeof path, "%s/%s", w->dir, name);
    T_OK(cf_os_write_file(path, all.p, all.n, 0600, &err), err);
    cf_buf_deinit(&all);
    cf_buf_reset(&w->header);
    cf_buf_reset(&w->data);
    w->n_file++;
}

static void write_text(const writer *w, const char *name, const cf_buf *b)
{
    char path[256];
    cf_error err = {0};
    snprintf(path, sizeof path, "%s/%s", w->dir, name);
    T_OK(cf_os_write_file(path, b->p, b->n, 0600, &err), err);
}

/* The matrices after pooling, which sentence-transformers keeps apart. */
static void write_dense(writer *w)
{
    for (int i = 2; i <= 3; i++) {
        char name[80], path[256];
        cf_error err = {0};
        cf_buf config = CF_BUF_INIT;
        snprintf(name, sizeof name, "dense_%d.weight", i);
        const cf_gguf_tensor *t = cf_gguf_find_tensor(w->m.g, name);
        if (t == NULL) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%d_Dense", w->dir, i);
        T_OK(cf_os_make_dirs(path, &err), err);
        write_plain(w, t, "linear.weight", COPY);
        snprintf(name, sizeof name, "%d_Dense/model.safetensors", i);
        flush(w, name);
        cf_buf_adds(&config, "{\"bias\":false,\"activation_function\":"
                             "\"torch.nn.modules.linear.Identity\"}");
        snprintf(name, sizeof name, "%d_Dense/config.json", i);
        write_text(w, name, &config);
        cf_buf_deinit(&config);
    }
}

static void write_folder(const char *dir, const void *gguf, size_t n, bool in_parts,
                         bool is_roberta)
{
    cf_gguf *g = NULL;
    cf_error err = {0};
    cf_str arch = {NULL, 0};
    T_OK(cf_gguf_open_memory(&g, gguf, n, &err), err);
    writer w = {.m = {.g = g, .is_roberta = is_roberta}, .dir = dir, .n_file = 1};
    assert_true(cf_gguf_get_str(g, "general.architecture", &arch));
    snprintf(w.m.arch, sizeof w.m.arch, "%.*s", (int)arch.n, arch.p);
    size_t n_tensor = cf_gguf_n_tensors(g);
    for (size_t i = 0; i < n_tensor; i++) {
        const cf_gguf_tensor *t = cf_gguf_tensor_at(g, i);
        if (memcmp(t->name.p, "rope_", 5) != 0) {
            write_tensor(&w, t);
        }
        if (in_parts && i == n_tensor / 2) {
            flush(&w, "part-1.safetensors");
        }
    }
    flush(&w, in_parts ? "part-2.safetensors" : "model.safetensors");
    cf_buf text = CF_BUF_INIT;
    if (in_parts) {
        cf_buf_addf(&text, "{\"metadata\":{},\"weight_map\":{%s}}", cf_buf_cstr(&w.index));
        write_text(&w, "model.safetensors.index.json", &text);
        cf_buf_reset(&text);
    }
    cf_hf_file(&text, CF_HF_BYTES);
    write_text(&w, "tokenizer.json", &text);
    cf_buf_reset(&text);
    cf_hf_config(&text, &w.m);
    write_text(&w, "config.json", &text);
    write_dense(&w);
    cf_buf_deinit(&text);
    cf_buf_deinit(&w.header);
    cf_buf_deinit(&w.data);
    cf_buf_deinit(&w.index);
    cf_gguf_close(g);
}

void cf_hf_write_folder(const char *dir, const void *gguf, size_t n, bool in_parts)
{
    write_folder(dir, gguf, n, in_parts, false);
}

void cf_hf_write_roberta(const char *dir, const void *gguf, size_t n)
{
    write_folder(dir, gguf, n, false, true);
}

void cf_hf_remove_files(const char *dir)
{
    static const char *const names[] = {"config.json",         "model.safetensors",
                                        "part-1.safetensors",  "part-2.safetensors",
                                        "tokenizer.json",      "model.safetensors.index.json",
                                        "2_Dense/config.json", "2_Dense/model.safetensors",
                                        "3_Dense/config.json", "3_Dense/model.safetensors"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    for (int i = 2; i <= 3; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%d_Dense", dir, i);
        rmdir(path);
    }
}

void cf_hf_round(void *gguf, size_t n)
{
    cf_gguf *g = NULL;
    cf_error err = {0};
    cf_str arch = {NULL, 0};
    T_OK(cf_gguf_open_memory(&g, gguf, n, &err), err);
    writer w = {.m = {.g = g}};
    cf_gguf_get_str(g, "general.architecture", &arch);
    snprintf(w.m.arch, sizeof w.m.arch, "%.*s", (int)arch.n, arch.p);
    for (size_t i = 0; i < cf_gguf_n_tensors(g); i++) {
        const cf_gguf_tensor *t = cf_gguf_tensor_at(g, i);
        char name[96];
        snprintf(name, sizeof name, "%.*s", (int)t->name.n, t->name.p);
        how h = memcmp(name, "rope_", 5) == 0 ? COPY : rule_of(&w, name)->how;
        unsigned char *p = (unsigned char *)gguf + (t->p - (const unsigned char *)gguf);
        for (size_t k = 0; k < t->dim[0] * t->dim[1]; k++) {
            float f = t->type == CF_F32 ? read_f32(p + 4 * k) : 0;
            if (h == LESS_ONE) {
                write_f32(p + 4 * k, (f - 1) + 1);
            } else if (h == LOG || h == V_LOG) {
                write_f32(p + 4 * k, (float)-exp((double)logf(-f)));
            }
        }
    }
    cf_gguf_close(g);
}
