/*
 * arch.c - the table of traits.  docs/models/ describes each family.
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
    },
    {
        .name = "gemma",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_GELU,
        .has_embd_scale = true,
    },
    {
        .name = "gemma2",
        .rope_style = CF_ROPE_NEOX,
        .act = CF_ACT_GELU,
        .has_post_norm = true,
        .has_embd_scale = true,
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
};

const cf_arch *cf_arch_at(size_t i)
{
    return i < sizeof table / sizeof *table ? &table[i] : NULL;
}

const cf_arch *cf_arch_find(cf_str name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (cf_str_is(name, table[i].name)) {
            return &table[i];
        }
    }
    return NULL;
}
