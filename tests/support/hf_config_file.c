/*
 * hf_config_file.c - the names of transformers for the keys of a GGUF.
 */
#include "tests/support/hf_config_file.h"

#include <math.h>

#include "tests/support/t.h"

uint64_t cf_hf_number(const cf_hf_model *m, const char *name, uint64_t otherwise)
{
    char key[128];
    uint64_t v = otherwise;
    snprintf(key, sizeof key, "%s.%s", m->arch, name);
    cf_gguf_get_u64(m->g, key, &v);
    return v;
}

double cf_hf_real(const cf_hf_model *m, const char *name, double otherwise)
{
    char key[128];
    double v = otherwise;
    snprintf(key, sizeof key, "%s.%s", m->arch, name);
    cf_gguf_get_f64(m->g, key, &v);
    return v;
}

int64_t cf_hf_item(const cf_hf_model *m, const char *name, uint64_t i)
{
    char key[128];
    snprintf(key, sizeof key, "%s.%s", m->arch, name);
    const cf_gguf_value *v = cf_gguf_find(m->g, key);
    assert_non_null(v);
    return v->type == CF_GGUF_ARRAY ? cf_gguf_item_i64(v, i) : cf_gguf_item_i64(v, 0);
}

const cf_arch *cf_hf_arch(const cf_hf_model *m)
{
    return cf_arch_find(cf_str_from(m->arch));
}

bool cf_hf_is_of(const cf_hf_model *m, const char *archs)
{
    char word[40];
    snprintf(word, sizeof word, " %s ", m->arch);
    return archs[0] == '\0' || strstr(archs, word) != NULL;
}

static const char *type_of(const cf_hf_model *m)
{
    static const char *const names[][2] = {
        {"gemma3", "gemma3_text"},        {"gemma3n", "gemma3n_text"},
        {"gemma4", "gemma4_text"},        {"qwen3moe", "qwen3_moe"},
        {"qwen35", "qwen3_5_text"},       {"qwen35moe", "qwen3_5_moe_text"},
        {"qwen3next", "qwen3_next"},      {"gpt-oss", "gpt_oss"},
        {"lfm2moe", "lfm2_moe"},          {"granitehybrid", "granitemoehybrid"},
        {"mistral3", "ministral3"},       {"qwen3vl", "qwen3_vl_text"},
        {"falcon-h1", "falcon_h1"},       {"olmo2", "olmo3"},
        {"nemotron_h_moe", "nemotron_h"}, {"nomic-bert", "nomic_bert"},
        {"modern-bert", "modernbert"},    {"gemma-embedding", "gemma3_text"},
    };
    if (strcmp(m->arch, "llama") == 0 && cf_hf_number(m, "expert_count", 0) != 0) {
        return "mixtral";
    }
    if (m->is_roberta) {
        return "xlm-roberta";
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(m->arch, names[i][0]) == 0) {
            return names[i][1];
        }
    }
    return m->arch;
}

static void put_u(cf_buf *b, const cf_hf_model *m, const char *to, const char *from)
{
    uint64_t v = cf_hf_number(m, from, UINT64_MAX);
    if (v != UINT64_MAX) {
        cf_buf_addf(b, ",\"%s\":%llu", to, (unsigned long long)v);
    }
}

static void put_d(cf_buf *b, const cf_hf_model *m, const char *to, const char *from)
{
    double v = cf_hf_real(m, from, NAN);
    if (!isnan(v)) {
        cf_buf_addf(b, ",\"%s\":%.17g", to, v);
    }
}

/* Nemotron-H's letters, or the layers' types. */
static void put_layers(cf_buf *b, const cf_hf_model *m)
{
    const cf_arch *a = cf_hf_arch(m);
    uint64_t n = cf_hf_number(m, "block_count", 0);
    bool experts = a->has_experts;
    if (a->has_single_parts) {
        cf_buf_adds(b, ",\"hybrid_override_pattern\":\"");
        for (uint64_t i = 0; i < n; i++) {
            bool attn = cf_hf_item(m, "attention.head_count_kv", i) != 0;
            bool ffn = cf_hf_item(m, "feed_forward_length", i) != 0;
            cf_buf_addc(b, attn ? '*' : !ffn ? 'M' : experts ? 'E' : '-');
        }
        cf_buf_adds(b, "\"");
        return;
    }
    bool by_kv = a->recurrent_rule == CF_RECURRENT_NO_KV && a->recurrent != CF_MIX_ATTENTION;
    if (!by_kv && !a->has_per_layer) {
        return;
    }
    cf_buf_adds(b, ",\"layer_types\":[");
    for (uint64_t i = 0; i < n; i++) {
        bool full = by_kv ? cf_hf_item(m, "attention.head_count_kv", i) != 0
                          : cf_hf_item(m, "attention.sliding_window_pattern", i) == 0;
        cf_buf_addf(b, "%s\"%s\"", i == 0 ? "" : ",",
                    full                            ? "full_attention"
                    : !by_kv                        ? "sliding_attention"
                    : a->recurrent == CF_MIX_MAMBA2 ? "mamba"
                                                    : "conv");
    }
    cf_buf_adds(b, "]");
}

static void put_rope(cf_buf *b, const cf_hf_model *m)
{
    cf_str type = {NULL, 0};
    char key[96];
    snprintf(key, sizeof key, "%s.rope.scaling.type", m->arch);
    cf_gguf_get_str(m->g, key, &type);
    double base = cf_hf_real(m, "rope.freq_base", 10000);
    if (cf_hf_arch(m)->has_per_layer) {
        cf_buf_addf(b,
                    ",\"rope_parameters\":{\"full_attention\":{\"rope_type\":"
                    "\"default\",\"rope_theta\":%.17g},\"sliding_attention\":{"
                    "\"rope_type\":\"default\",\"rope_theta\":10000.0}}",
                    base);
        return;
    }
    cf_buf_addf(b, ",\"rope_theta\":%.17g", base);
    if (type.p == NULL) {
        cf_buf_adds(b, ",\"rope_scaling\":null");
        return;
    }
    cf_buf_addf(b, ",\"rope_scaling\":{\"type\":\"%.*s\"", (int)type.n, type.p);
    put_d(b, m, "factor", "rope.scaling.factor");
    put_u(b, m, "original_max_position_embeddings", "rope.scaling.original_context_length");
    put_d(b, m, "attention_factor", "rope.scaling.attn_factor");
    put_d(b, m, "llama_4_scaling_beta", "attention.temperature_scale");
    put_d(b, m, "mscale_all_dim", "rope.scaling.yarn_log_multiplier");
    static const char *const lists[][2] = {{"rope_factors_long.weight", "long_factor"},
                                           {"rope_factors_short.weight", "short_factor"}};
    for (size_t k = 0; k < 2; k++) {
        const cf_gguf_tensor *t = cf_gguf_find_tensor(m->g, lists[k][0]);
        for (uint64_t i = 0; t != NULL && i < t->dim[0]; i++) {
            float f;
            memcpy(&f, t->p + 4 * i, sizeof f);
            if (i == 0) {
                cf_buf_addf(b, ",\"%s\":[", lists[k][1]);
            }
            cf_buf_addf(b, "%s%.9g", i == 0 ? "" : ",", (double)f);
            cf_buf_adds(b, i + 1 == t->dim[0] ? "]" : "");
        }
    }
    cf_buf_adds(b, "}");
}

static void put_special(cf_buf *b, const cf_hf_model *m)
{
    const cf_arch *a = cf_hf_arch(m);
    uint64_t n = cf_hf_number(m, "block_count", 0);
    bool is_moe_ff = cf_hf_is_of(m, " granitemoe granitehybrid gpt-oss ") ||
                     cf_hf_number(m, "expert_count", 0) * cf_hf_is_of(m, " llama ") != 0;
    if (a->ranking != CF_RANK_MEAN_GELU) {
        put_u(b, m, "sliding_window", "attention.sliding_window");
    }
    if (a->has_experts) {
        put_u(b, m,
              cf_hf_is_of(m, " granitemoe granitehybrid gpt-oss llama ") ? "num_local_experts"
              : a->has_single_parts                                      ? "n_routed_experts"
                                                                         : "num_experts",
              "expert_count");
        put_u(b, m, a->has_dense_beside ? "top_k_experts" : "num_experts_per_tok",
              "expert_used_count");
        put_u(b, m, is_moe_ff ? "intermediate_size" : "moe_intermediate_size",
              "expert_feed_forward_length");
        put_u(b, m,
              a->has_q_gate         ? "shared_expert_intermediate_size"
              : a->has_single_parts ? "moe_shared_expert_intermediate_size"
                                    : "shared_intermediate_size",
              "expert_shared_feed_forward_length");
        put_u(b, m, "num_dense_layers", "leading_dense_block_count");
        put_d(b, m, "routed_scaling_factor", "expert_weights_scale");
        cf_buf_addf(b, ",\"norm_topk_prob\":%s,\"enable_moe_block\":true",
                    a->has_raw_weights ? "false" : "true");
    }
    if (!is_moe_ff && strcmp(m->arch, "nomic-bert") != 0) {
        cf_buf_addf(b, ",\"intermediate_size\":%lld",
                    (long long)cf_hf_item(m, "feed_forward_length", a->has_single_parts ? 1 : 0));
    }
    if (a->has_deepstack) {
        cf_buf_adds(b, ",\"vision_config\":{\"deepstack_visual_indexes\":[0");
        for (uint64_t i = 1; i < cf_hf_number(m, "n_deepstack_layers", 1); i++) {
            cf_buf_addf(b, ",%d", (int)i);
        }
        cf_buf_addf(b,
                    "]},\"rope_parameters\":{\"rope_theta\":%.17g,"
                    "\"rope_type\":\"default\",\"mrope_section\":[2,2,2]}",
                    cf_hf_real(m, "rope.freq_base", 0));
    }
    if (a->recurrent == CF_MIX_DELTA_NET) {
        put_u(b, m, "linear_conv_kernel_dim", "ssm.conv_kernel");
        put_u(b, m, "linear_key_head_dim", "ssm.state_size");
        put_u(b, m, "linear_value_head_dim", "ssm.state_size");
        put_u(b, m, "linear_num_key_heads", "ssm.group_count");
        put_u(b, m, "linear_num_value_heads", "ssm.time_step_rank");
        put_u(b, m, "full_attention_interval", "full_attention_interval");
        cf_buf_addf(b,
                    ",\"partial_rotary_factor\":1.0,\"rope_parameters\":{"
                    "\"rope_theta\":%.17g,\"rope_type\":\"default\","
                    "\"mrope_section\":[2,2,2]}",
                    cf_hf_real(m, "rope.freq_base", 0));
    }
    if (a->recurrent == CF_MIX_MAMBA2) {
        bool is_nemotron = a->has_single_parts;
        put_u(b, m, is_nemotron ? "conv_kernel" : "mamba_d_conv", "ssm.conv_kernel");
        put_u(b, m, is_nemotron ? "ssm_state_size" : "mamba_d_state", "ssm.state_size");
        put_u(b, m, is_nemotron ? "mamba_num_heads" : "mamba_n_heads", "ssm.time_step_rank");
        put_u(b, m, is_nemotron ? "n_groups" : "mamba_n_groups", "ssm.group_count");
        cf_buf_addf(b, ",\"%s\":%llu,\"position_embedding_type\":\"rope\"",
                    is_nemotron ? "mamba_head_dim" : "mamba_d_head",
                    (unsigned long long)(cf_hf_number(m, "ssm.inner_size", 0) /
                                         cf_hf_number(m, "ssm.time_step_rank", 1)));
        put_u(b, m, "mamba_d_ssm", "ssm.inner_size");
    }
    if (a->recurrent == CF_MIX_SHORT_CONV) {
        put_u(b, m, "conv_L_cache", "shortconv.l_cache");
        cf_buf_adds(b, ",\"block_auto_adjust_ff_dim\":false");
    }
    put_d(b, m, "embedding_multiplier", "embedding_scale");
    put_d(b, m, "residual_multiplier", "residual_scale");
    put_d(b, m, "logits_scaling", "logit_scale");
    put_d(b, m, "attention_multiplier", "attention.scale");
    if ((a->has_soft_caps || a->is_encoder) && a->has_post_norm && !a->has_v_norm) {
        cf_buf_addf(b, ",\"query_pre_attn_scalar\":%llu",
                    (unsigned long long)cf_hf_number(m, "attention.key_length", 0));
    }
    put_u(b, m, "num_kv_shared_layers", "attention.shared_kv_layers");
    put_u(b, m, "hidden_size_per_layer_input", "embedding_length_per_layer_input");
    put_u(b, m, "global_head_dim", "attention.key_length");
    put_u(b, m, "altup_num_inputs", "altup.num_inputs");
    put_u(b, m, "altup_active_idx", "altup.active_idx");
    if (a->has_altup) {
        cf_buf_adds(b, ",\"final_logit_softcapping\":null,"
                       "\"activation_sparsity_pattern\":[");
        for (uint64_t i = 0; i < n; i++) {
            cf_buf_addf(b, "%s%.17g", i == 0 ? "" : ",",
                        i % 2 == 0 ? 0.5 * erfc(-(double)0.7f / sqrt(2.0)) : 0.0);
        }
        cf_buf_adds(b, "]");
    }
}

/* What encoders call their sizes, and what makes an encoder of Gemma 3. */
static void put_encoder(cf_buf *b, const cf_hf_model *m)
{
    const cf_arch *a = cf_hf_arch(m);
    bool is_nomic = strcmp(m->arch, "nomic-bert") == 0;
    if (cf_gguf_find_tensor(m->g, "cls.output.weight") != NULL && a->is_encoder) {
        cf_buf_adds(b, ",\"architectures\":[\"TinyForSequenceClassification\"]");
    }
    if (a->has_layer_norm) {
        put_d(b, m,
              is_nomic                          ? "layer_norm_epsilon"
              : a->ranking == CF_RANK_MEAN_GELU ? "norm_eps"
                                                : "layer_norm_eps",
              "attention.layer_norm_epsilon");
    }
    if (is_nomic) {
        put_u(b, m, "n_embd", "embedding_length");
        put_u(b, m, "n_layer", "block_count");
        put_u(b, m, "n_head", "attention.head_count");
        put_u(b, m, "n_inner", "feed_forward_length");
        put_u(b, m, "n_positions", "context_length");
        put_d(b, m, "rotary_emb_base", "rope.freq_base");
        cf_buf_adds(b, ",\"activation_function\":\"swiglu\",\"rotary_emb_fraction\":1.0,"
                       "\"prenorm\":false,\"rotary_scaling_factor\":null");
    } else if (a->ranking == CF_RANK_MEAN_GELU) {
        put_d(b, m, "global_rope_theta", "rope.freq_base");
        put_u(b, m, "local_attention", "attention.sliding_window");
        cf_buf_adds(b, ",\"local_rope_theta\":10000.0,\"global_attn_every_n_layers\":3,"
                       "\"hidden_activation\":\"gelu\",\"classifier_pooling\":\"mean\"");
    } else if (a->is_encoder && a->has_embd_scale) {
        cf_buf_adds(b, ",\"use_bidirectional_attention\":true");
    } else if (a->is_encoder) {
        cf_buf_addf(b, ",\"hidden_act\":\"gelu\",\"pad_token_id\":%d", m->is_roberta ? 1 : 0);
    }
}

void cf_hf_config(cf_buf *b, const cf_hf_model *m)
{
    const cf_arch *a = cf_hf_arch(m);
    bool tied = cf_gguf_find_tensor(m->g, "output.weight") == NULL;
    cf_buf_addf(b, "{\"model_type\":\"%s\",\"tie_word_embeddings\":%s", type_of(m),
                tied ? "true" : "false");
    bool is_nomic = strcmp(m->arch, "nomic-bert") == 0;
    put_encoder(b, m);
    if (!is_nomic) {
        put_u(b, m, "hidden_size", "embedding_length");
        put_u(b, m, "num_hidden_layers", "block_count");
        put_u(b, m, "num_attention_heads", "attention.head_count");
        cf_buf_addf(b, ",\"max_position_embeddings\":%llu",
                    (unsigned long long)cf_hf_number(m, "context_length", 0) +
                        (m->is_roberta ? 2 : 0));
    }
    cf_buf_addf(b, ",\"num_key_value_heads\":2");
    cf_buf_addf(b, ",\"head_dim\":%llu",
                (unsigned long long)cf_hf_number(m, "attention.key_length_swa",
                                                 cf_hf_number(m, "attention.key_length", 0)));
    put_u(b, m, "vocab_size", "vocab_size");
    put_d(b, m,
          a->recurrent == CF_MIX_SHORT_CONV ? "norm_eps"
          : a->has_single_parts             ? "layer_norm_epsilon"
                                            : "rms_norm_eps",
          "attention.layer_norm_rms_epsilon");
    if (strcmp(m->arch, "glm4") == 0) {
        cf_buf_adds(b, ",\"partial_rotary_factor\":1.0");
    }
    put_layers(b, m);
    if (!is_nomic && a->ranking != CF_RANK_MEAN_GELU) {
        put_rope(b, m);
    }
    put_special(b, m);
    cf_buf_adds(b, "}");
}
