/*
 * arch.c - holds the table of traits.  docs/models/ describes each family.
 *
 * Norm weights are used as the file has them: converters store Gemma's
 * "weight + 1" as the sum.
 */
#include "core/model/arch.h"

static const cf_arch table[] = {
    {
        .name = "llama", /* Llama 1 to 3, Mistral, SmolLM2 */
        .rope_style = CF_ROPE_NORMAL,
        .act = CF_ACT_SILU,
    },
    {
        .name = "qwen2", /* Qwen2, Qwen2.5, Hammer 2.1 */
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
    },
    {
        .name = "qwen3",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_qk_norm = true,
        .ranking = CF_RANK_LAST_YES,
    },
    {
        .name = "gemma",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_GELU,
        .has_embd_scale = true,
        .has_soft_caps = true,
    },
    {
        .name = "gemma2",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_GELU,
        .has_post_norm = true,
        .has_embd_scale = true,
        .has_soft_caps = true,
        .window_period = 2,
        .window_default = 4096,
        .attn_soft_cap_default = 50.0f,
        .final_soft_cap_default = 30.0f,
        .n_layer_embd_scaled = 46, /* the 27B model */
    },
    {
        .name = "gemma3", /* and FunctionGemma */
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_GELU,
        .has_qk_norm = true,
        .has_post_norm = true,
        .has_embd_scale = true,
        .has_soft_caps = true,
        .window_period = 6,
        .rope_base_local = 10000.0f,
        .n_layer_embd_scaled = 62, /* the 27B model */
    },
    {
        .name = "phi3", /* Phi-3, Phi-3.5-mini, Phi-4-mini */
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_fused_qkv = true,
        .has_fused_gate_up = true,
        .window_period = CF_EVERY_LAYER,
    },
    {
        .name = "smollm3",
        .rope_style = CF_ROPE_NORMAL,
        .act = CF_ACT_SILU,
        .nope_period = 4,
    },
    {
        .name = "qwen3moe",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_qk_norm = true,
        .has_experts = true,
    },
    {
        .name = "qwen3vl", /* Qwen3-VL */
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_qk_norm = true,
        .has_interleaved_axes = true,
        .has_deepstack = true,
    },
    {
        .name = "qwen3vlmoe",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_qk_norm = true,
        .has_experts = true,
        .has_interleaved_axes = true,
        .has_deepstack = true,
    },
    {
        .name = "qwen35", /* Qwen3.5 */
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_qk_norm = true,
        .has_q_gate = true,
        .ffn_norm = "post_attention_norm",
        .recurrent = CF_MIX_DELTA_NET,
        .recurrent_rule = CF_RECURRENT_INTERVAL,
        .has_interleaved_axes = true,
    },
    {
        .name = "qwen35moe",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_qk_norm = true,
        .has_q_gate = true,
        .has_experts = true,
        .ffn_norm = "post_attention_norm",
        .recurrent = CF_MIX_DELTA_NET,
        .recurrent_rule = CF_RECURRENT_INTERVAL,
        .has_interleaved_axes = true,
    },
    {
        .name = "qwen3next",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_qk_norm = true,
        .has_q_gate = true,
        .has_experts = true,
        .ffn_norm = "post_attention_norm",
        .recurrent = CF_MIX_DELTA_NET,
        .recurrent_rule = CF_RECURRENT_INTERVAL,
        .has_grouped_heads = true,
    },
    {
        .name = "gemma4",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_GELU,
        .has_qk_norm = true,
        .has_v_norm = true,
        .has_post_norm = true,
        .has_embd_scale = true,
        .has_soft_caps = true,
        .has_experts = true,
        .has_dense_beside = true,
        .has_layer_scale = true,
        .has_per_layer = true,
        .window_period = 6,
        .rope_base_local = 10000.0f,
        .attn_scale = 1.0f,
    },
    {
        .name = "gemma3n",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_GELU,
        .has_qk_norm = true,
        .has_v_norm = true,
        .has_post_norm = true,
        .has_embd_scale = true,
        .has_soft_caps = true,
        .has_per_layer = true,
        .has_altup = true,
        .window_period = 5,
        .rope_base_local = 10000.0f,
        .attn_scale = 1.0f,
    },
    {
        .name = "gpt-oss",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_CLAMPED_GLU,
        .has_sinks = true,
        .has_experts = true,
        .ffn_norm = "post_attention_norm",
        .window_period = 2,
        .has_exact_yarn = true,
    },
    {
        .name = "lfm2",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_qk_norm = true,
        .has_embd_out_norm = true,
        .recurrent = CF_MIX_SHORT_CONV,
        .recurrent_rule = CF_RECURRENT_NO_KV,
    },
    {
        .name = "lfm2moe",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_qk_norm = true,
        .has_experts = true,
        .has_embd_out_norm = true,
        .recurrent = CF_MIX_SHORT_CONV,
        .recurrent_rule = CF_RECURRENT_NO_KV,
    },
    {
        .name = "granite", /* Granite 3 */
        .rope_style = CF_ROPE_NORMAL,
        .act = CF_ACT_SILU,
        .multipliers = CF_MULTIPLY_GRANITE,
    },
    {
        .name = "granitemoe",
        .rope_style = CF_ROPE_NORMAL,
        .act = CF_ACT_SILU,
        .has_experts = true,
        .multipliers = CF_MULTIPLY_GRANITE,
    },
    {
        .name = "granitehybrid", /* Granite 4 */
        .rope_style = CF_ROPE_NORMAL,
        .act = CF_ACT_SILU,
        .has_experts = true,
        .multipliers = CF_MULTIPLY_GRANITE,
        .recurrent = CF_MIX_MAMBA2,
        .recurrent_rule = CF_RECURRENT_NO_KV,
    },
    {
        .name = "mistral3", /* Ministral 3 */
        .rope_style = CF_ROPE_NORMAL,
        .act = CF_ACT_SILU,
        .has_temperature = true,
    },
    {
        .name = "olmo2", /* and Olmo 3 */
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_row_qk_norm = true,
        .has_post_norm = true,
        .has_no_pre_norm = true,
        .window_period = 4,
        .has_plain_rope_local = true,
    },
    {
        .name = "ernie4_5",
        .rope_style = CF_ROPE_NORMAL,
        .act = CF_ACT_SILU,
    },
    {
        .name = "glm4",
        .rope_style = CF_ROPE_NORMAL,
        .act = CF_ACT_SILU,
        .has_post_norm = true,
        .has_fused_gate_up = true,
    },
    {
        .name = "falcon-h1",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .recurrent = CF_MIX_MAMBA2,
        .recurrent_rule = CF_RECURRENT_ALL,
    },
    {
        .name = "nemotron_h", /* Nemotron-H, Nemotron Nano 2 */
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_RELU2,
        .has_single_parts = true,
        .recurrent = CF_MIX_MAMBA2,
        .recurrent_rule = CF_RECURRENT_NO_KV,
        .nope_period = 1,
    },
    {
        .name = "nemotron_h_moe", /* Nemotron 3 Nano */
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_RELU2,
        .has_experts = true,
        .has_single_parts = true,
        .recurrent = CF_MIX_MAMBA2,
        .recurrent_rule = CF_RECURRENT_NO_KV,
        .nope_period = 1,
    },
    {
        .name = "olmoe",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_row_qk_norm = true,
        .has_experts = true,
        .has_raw_weights = true,
    },
    {
        .name = "ernie4_5-moe",
        .rope_style = CF_ROPE_NORMAL,
        .act = CF_ACT_SILU,
        .has_experts = true,
    },
    {
        .name = "hunyuan-dense",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_qk_norm = true,
        .has_late_qk_norm = true,
    },
    {
        .name = "seed_oss",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .ffn_norm = "post_attention_norm",
    },
    {
        .name = "arcee",
        .rope_style = CF_ROPE_NORMAL,
        .act = CF_ACT_RELU2,
    },
    {
        .name = "apertus",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_XIELU,
        .has_qk_norm = true,
    },
    {
        .name = "exaone4",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_qk_norm = true,
        .has_post_norm = true,
        .has_no_pre_norm = true,
        .window_period = 4,
        .has_nope_full = true,
    },
    {
        .name = "minicpm", /* MiniCPM 1B and 2B, MiniCPM4 */
        .rope_style = CF_ROPE_NORMAL,
        .act = CF_ACT_SILU,
        .multipliers = CF_MULTIPLY_MINICPM,
    },
    {
        .name = "smallthinker",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_RELU,
        .has_experts = true,
        .has_early_router = true,
        .window_period = 4,
        .has_full_first = true,
        .has_nope_full = true,
    },
    {
        .name = "deepseek2", /* DeepSeek-V2 and V3, Moonlight, GLM-4.7-Flash */
        .rope_style = CF_ROPE_NORMAL,
        .act = CF_ACT_SILU,
        .has_latent = true,
        .has_experts = true,
        .has_raw_weights = true,
    },
    {
        .name = "bailingmoe2", /* Ling 2, Ring 2 */
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_qk_norm = true,
        .has_fused_qkv = true,
        .has_experts = true,
        .has_raw_weights = true,
    },
    {
        .name = "glm4moe", /* GLM-4.5, 4.6, GLM-4.5-Air */
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_opt_qk_norm = true,
        .has_experts = true,
        .has_sigmoid_gates = true,
        .has_raw_weights = true,
        .ffn_norm = "post_attention_norm",
    },
    {
        .name = "afmoe", /* Trinity */
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .has_qk_norm = true,
        .has_post_norm = true,
        .has_embd_scale = true,
        .has_attn_gate = true,
        .has_experts = true,
        .has_sigmoid_gates = true,
        .has_raw_weights = true,
        .window_period = 4,
        .has_nope_full = true,
    },
    {
        .name = "cohere2", /* Command R7B, Aya */
        .rope_style = CF_ROPE_NORMAL,
        .act = CF_ACT_SILU,
        .has_layer_norm = true,
        .has_one_norm = true,
        .multipliers = CF_MULTIPLY_LOGITS,
        .window_period = 4,
        .has_nope_full = true,
    },
    {
        .name = "bert", /* BGE, E5, MiniLM, GTE; XLM-RoBERTa rerankers */
        .act = CF_ACT_GELU_ERF_PLAIN,
        .is_encoder = true,
        .has_fused_qkv = true,
        .has_layer_norm = true,
        .has_norm_bias = true,
        .has_sum_norm = true,
        .has_embd_norm = true,
        .has_positions = true,
        .nope_period = 1,
    },
    {
        .name = "nomic-bert", /* nomic-embed-text */
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_SILU,
        .is_encoder = true,
        .has_fused_qkv = true,
        .has_layer_norm = true,
        .has_norm_bias = true,
        .has_sum_norm = true,
        .has_embd_norm = true,
    },
    {
        .name = "jina-bert-v2",
        .act = CF_ACT_GELU_ERF,
        .is_encoder = true,
        .has_opt_qk_norm = true,
        .has_row_qk_norm = true,
        .has_fused_qkv = true,
        .has_fused_gate_up = true,
        .has_layer_norm = true,
        .has_norm_bias = true,
        .has_sum_norm = true,
        .has_opt_sum_norm = true,
        .has_embd_norm = true,
        .has_alibi = true,
        .nope_period = 1,
    },
    {
        .name = "modern-bert", /* ModernBERT, GTE, Granite Embedding R2 */
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_GELU_ERF,
        .is_encoder = true,
        .has_fused_qkv = true,
        .has_fused_gate_up = true,
        .has_layer_norm = true,
        .has_bare_start = true,
        .has_embd_norm = true,
        .ranking = CF_RANK_MEAN_GELU,
        .window_period = 3,
        .has_full_first = true,
        .rope_base_local = 10000.0f,
    },
    {
        .name = "gemma-embedding",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_GELU,
        .is_encoder = true,
        .has_qk_norm = true,
        .has_post_norm = true,
        .has_embd_scale = true,
        .window_period = 6,
        .rope_base_local = 10000.0f,
    },
};

const cf_arch *cf_arch_find(cf_str name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (cf_str_is(name, table[i].name)) {
            return &table[i];
        }
    }
    return NULL;
}
