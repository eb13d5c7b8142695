/*
 * hf_families.c - the tables. A list ends with a row without `to`.
 */
#include "core/hub/hf_families.h"

#include <string.h>

/* ROW is any tensor, WEIGHT a weight, BOTH a weight and its bias. The forms with
 * _AS also give the order of rows or the value of numbers; by default both are
 * taken over unchanged. */
#define ROW_AS(to_, from_, ...)               \
    {                                         \
        .to = to_, .from = from_, __VA_ARGS__ \
    }
#define WEIGHT_AS(to_, from_, ...) ROW_AS(to_ ".weight", from_ ".weight", __VA_ARGS__)
#define BOTH_AS(to_, from_, ...) \
    WEIGHT_AS(to_, from_, __VA_ARGS__), ROW_AS(to_ ".bias", from_ ".bias", __VA_ARGS__)
#define ROW(to_, from_)    ROW_AS(to_, from_, .order = CF_HF_SAME)
#define WEIGHT(to_, from_) WEIGHT_AS(to_, from_, .order = CF_HF_SAME)
#define BOTH(to_, from_)   BOTH_AS(to_, from_, .order = CF_HF_SAME)

/* The members of an object, as JSON text. */
#define JSON(...) "{" #__VA_ARGS__ "}"

/* ---- lists of tensors ---------------------------------------------------- */

static const cf_hf_row outer[] = {
    WEIGHT("token_embd", "embed_tokens"), WEIGHT("output_norm", "norm"), {0}};

static const cf_hf_row outer_plus_one[] = {
    WEIGHT("token_embd", "embed_tokens"),
    WEIGHT_AS("output_norm", "norm", .value = CF_HF_PLUS_ONE),
    {0}};

static const cf_hf_row outer_lfm2[] = {
    WEIGHT("token_embd", "embed_tokens"), WEIGHT("token_embd_norm", "embedding_norm"), {0}};

static const cf_hf_row outer_gemma4[] = {
    WEIGHT("token_embd", "embed_tokens"),
    WEIGHT("output_norm", "norm"),
    WEIGHT("per_layer_token_embd", "embed_tokens_per_layer"),
    WEIGHT("per_layer_model_proj", "per_layer_model_projection"),
    WEIGHT("per_layer_proj_norm", "per_layer_projection_norm"),
    WEIGHT("altup_proj", "altup_projections.#"),
    WEIGHT("altup_unembd_proj", "altup_unembed_projections.#"),
    {0}};

static const cf_hf_row outer_falcon[] = {
    WEIGHT_AS("token_embd", "embed_tokens", .value = CF_HF_TIMES),
    WEIGHT("output_norm", "final_layernorm"),
    {0}};

static const cf_hf_row outer_nemotron[] = {
    WEIGHT("token_embd", "embeddings"), WEIGHT("output_norm", "norm_f"), {0}};

static const cf_hf_row norms[] = {
    WEIGHT("attn_norm", "input_layernorm"), WEIGHT("ffn_norm", "post_attention_layernorm"), {0}};

static const cf_hf_row norms_plus_one[] = {
    WEIGHT_AS("attn_norm", "input_layernorm", .value = CF_HF_PLUS_ONE),
    WEIGHT_AS("ffn_norm", "post_attention_layernorm", .value = CF_HF_PLUS_ONE),
    {0}};

/* Families whose GGUF names the norm before the feed-forward part after its position
 * behind attention. */
static const cf_hf_row norms_post_attn[] = {
    WEIGHT("attn_norm", "input_layernorm"),
    WEIGHT("post_attention_norm", "post_attention_layernorm"),
    {0}};

static const cf_hf_row norms_qwen[] = {
    WEIGHT_AS("attn_norm", "input_layernorm", .value = CF_HF_PLUS_ONE),
    WEIGHT_AS("post_attention_norm", "post_attention_layernorm", .value = CF_HF_PLUS_ONE),
    {0}};

static const cf_hf_row norms_gemma2[] = {
    WEIGHT_AS("attn_norm", "input_layernorm", .value = CF_HF_PLUS_ONE),
    WEIGHT_AS("post_attention_norm", "post_attention_layernorm", .value = CF_HF_PLUS_ONE),
    WEIGHT_AS("ffn_norm", "pre_feedforward_layernorm", .value = CF_HF_PLUS_ONE),
    WEIGHT_AS("post_ffw_norm", "post_feedforward_layernorm", .value = CF_HF_PLUS_ONE),
    {0}};

static const cf_hf_row norms_gemma4[] = {WEIGHT("attn_norm", "input_layernorm"),
                                         WEIGHT("post_attention_norm", "post_attention_layernorm"),
                                         WEIGHT("ffn_norm", "pre_feedforward_layernorm"),
                                         WEIGHT("post_ffw_norm", "post_feedforward_layernorm"),
                                         WEIGHT("post_ffw_norm_1", "post_feedforward_layernorm_1"),
                                         WEIGHT("post_ffw_norm_2", "post_feedforward_layernorm_2"),
                                         WEIGHT("pre_ffw_norm_2", "pre_feedforward_layernorm_2"),
                                         ROW("layer_output_scale.weight", "layer_scalar"),
                                         {0}};

static const cf_hf_row norms_olmo[] = {WEIGHT("post_attention_norm", "post_attention_layernorm"),
                                       WEIGHT("post_ffw_norm", "post_feedforward_layernorm"),
                                       {0}};

static const cf_hf_row norms_glm[] = {WEIGHT("attn_norm", "input_layernorm"),
                                      WEIGHT("post_attention_norm", "post_self_attn_layernorm"),
                                      WEIGHT("ffn_norm", "post_attention_layernorm"),
                                      WEIGHT("post_ffw_norm", "post_mlp_layernorm"),
                                      {0}};

static const cf_hf_row attention[] = {BOTH("attn_q", "self_attn.q_proj"),
                                      BOTH("attn_k", "self_attn.k_proj"),
                                      BOTH("attn_v", "self_attn.v_proj"),
                                      BOTH("attn_output", "self_attn.o_proj"),
                                      {0}};

/* For families where a GGUF rotates adjacent pairs and the folder rotates the two halves
 * of a head. */
static const cf_hf_row attention_pairs[] = {
    BOTH_AS("attn_q", "self_attn.q_proj", .order = CF_HF_PAIRS_Q),
    BOTH_AS("attn_k", "self_attn.k_proj", .order = CF_HF_PAIRS_K),
    BOTH("attn_v", "self_attn.v_proj"),
    BOTH("attn_output", "self_attn.o_proj"),
    {0}};

static const cf_hf_row attention_fused[] = {
    BOTH("attn_qkv", "self_attn.qkv_proj"), BOTH("attn_output", "self_attn.o_proj"), {0}};

static const cf_hf_row attention_falcon[] = {
    WEIGHT("attn_norm", "input_layernorm"),
    WEIGHT("ffn_norm", "pre_ff_layernorm"),
    WEIGHT_AS("attn_q", "self_attn.q_proj", .value = CF_HF_TIMES),
    WEIGHT_AS("attn_k", "self_attn.k_proj", .value = CF_HF_TIMES),
    WEIGHT_AS("attn_v", "self_attn.v_proj", .value = CF_HF_TIMES),
    WEIGHT_AS("attn_output", "self_attn.o_proj", .value = CF_HF_TIMES),
    {0}};

static const cf_hf_row qk_norms[] = {
    WEIGHT("attn_q_norm", "self_attn.q_norm"), WEIGHT("attn_k_norm", "self_attn.k_norm"), {0}};

static const cf_hf_row qk_norms_plus_one[] = {
    WEIGHT_AS("attn_q_norm", "self_attn.q_norm", .value = CF_HF_PLUS_ONE),
    WEIGHT_AS("attn_k_norm", "self_attn.k_norm", .value = CF_HF_PLUS_ONE),
    {0}};

static const cf_hf_row mlp[] = {BOTH("ffn_gate", "mlp.gate_proj"),
                                BOTH("ffn_up", "mlp.up_proj"),
                                BOTH("ffn_down", "mlp.down_proj"),
                                {0}};

static const cf_hf_row mlp_fused[] = {
    BOTH("ffn_up", "mlp.gate_up_proj"), BOTH("ffn_down", "mlp.down_proj"), {0}};

static const cf_hf_row mlp_falcon[] = {
    WEIGHT_AS("ffn_gate", "feed_forward.gate_proj", .value = CF_HF_TIMES),
    WEIGHT("ffn_up", "feed_forward.up_proj"),
    WEIGHT_AS("ffn_down", "feed_forward.down_proj", .value = CF_HF_TIMES),
    {0}};

/* ---- encoders and rankers ------------------------------------------------ */

#define OUTER_BERT(order_)                                                             \
    WEIGHT("token_embd", "embeddings.word_embeddings"),                                \
        WEIGHT_AS("position_embd", "embeddings.position_embeddings", .order = order_), \
        WEIGHT("token_types", "embeddings.token_type_embeddings"),                     \
        BOTH("token_embd_norm", "embeddings.LayerNorm")

static const cf_hf_row outer_bert[] = {OUTER_BERT(CF_HF_SAME), {0}};

static const cf_hf_row outer_bert_rank[] = {
    OUTER_BERT(CF_HF_SAME), BOTH("cls", "pooler.dense"), BOTH("cls.output", "/classifier"), {0}};

static const cf_hf_row outer_roberta[] = {OUTER_BERT(CF_HF_AFTER_PAD), {0}};

static const cf_hf_row outer_roberta_rank[] = {OUTER_BERT(CF_HF_AFTER_PAD),
                                               BOTH("cls", "/classifier.dense"),
                                               BOTH("cls.output", "/classifier.out_proj"),
                                               {0}};

static const cf_hf_row layer_bert[] = {BOTH("attn_q", "attention.self.query"),
                                       BOTH("attn_k", "attention.self.key"),
                                       BOTH("attn_v", "attention.self.value"),
                                       BOTH("attn_output", "attention.output.dense"),
                                       BOTH("attn_output_norm", "attention.output.LayerNorm"),
                                       BOTH("ffn_up", "intermediate.dense"),
                                       BOTH("ffn_down", "output.dense"),
                                       BOTH("layer_output_norm", "output.LayerNorm"),
                                       {0}};

static const cf_hf_row outer_nomic[] = {WEIGHT("token_embd", "embeddings.word_embeddings"),
                                        WEIGHT("token_types", "embeddings.token_type_embeddings"),
                                        BOTH("token_embd_norm", "emb_ln"),
                                        {0}};

static const cf_hf_row layer_nomic[] = {
    BOTH("attn_qkv", "attn.Wqkv"),      BOTH("attn_output", "attn.out_proj"),
    BOTH("attn_output_norm", "norm1"),  BOTH("ffn_up", "mlp.fc11"),
    BOTH("ffn_gate", "mlp.fc12"),       BOTH("ffn_down", "mlp.fc2"),
    BOTH("layer_output_norm", "norm2"), {0}};

#define OUTER_MODERN                                   \
    WEIGHT("token_embd", "embeddings.tok_embeddings"), \
        WEIGHT("token_embd_norm", "embeddings.norm"), WEIGHT("output_norm", "final_norm")

static const cf_hf_row outer_modern[] = {OUTER_MODERN, {0}};

static const cf_hf_row outer_modern_rank[] = {OUTER_MODERN,
                                              WEIGHT("cls", "/head.dense"),
                                              WEIGHT("cls.norm", "/head.norm"),
                                              BOTH("cls.output", "/classifier"),
                                              {0}};

static const cf_hf_row layer_modern[] = {WEIGHT("attn_norm", "attn_norm"),
                                         WEIGHT("attn_qkv", "attn.Wqkv"),
                                         WEIGHT("attn_output", "attn.Wo"),
                                         WEIGHT("ffn_norm", "mlp_norm"),
                                         WEIGHT("ffn_up", "mlp.Wi"),
                                         WEIGHT("ffn_down", "mlp.Wo"),
                                         {0}};

/* ---- experts -------------------------------------------------------------- */

static const cf_hf_row experts_mixtral[] = {
    WEIGHT("ffn_gate_inp", "block_sparse_moe.gate"),
    WEIGHT("ffn_gate_exps", "block_sparse_moe.experts.#.w1"),
    WEIGHT("ffn_up_exps", "block_sparse_moe.experts.#.w3"),
    WEIGHT("ffn_down_exps", "block_sparse_moe.experts.#.w2"),
    {0}};

/* One matrix for each expert, or all of them in one tensor. */
static const cf_hf_row experts[] = {WEIGHT("ffn_gate_inp", "mlp.gate"),
                                    WEIGHT("ffn_gate_exps", "mlp.experts.#.gate_proj"),
                                    WEIGHT("ffn_up_exps", "mlp.experts.#.up_proj"),
                                    WEIGHT("ffn_down_exps", "mlp.experts.#.down_proj"),
                                    ROW("ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj"),
                                    ROW("ffn_down_exps.weight", "mlp.experts.down_proj"),
                                    {0}};

/* Qwen3-VL: [experts, columns, rows], gate before up. */
static const cf_hf_row experts_turned[] = {
    WEIGHT("ffn_gate_inp", "mlp.gate"),
    ROW_AS("ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj", .order = CF_HF_TURNED),
    ROW_AS("ffn_down_exps.weight", "mlp.experts.down_proj", .order = CF_HF_TURNED),
    {0}};

static const cf_hf_row shared_expert[] = {WEIGHT("ffn_gate_shexp", "mlp.shared_expert.gate_proj"),
                                          WEIGHT("ffn_up_shexp", "mlp.shared_expert.up_proj"),
                                          WEIGHT("ffn_down_shexp", "mlp.shared_expert.down_proj"),
                                          WEIGHT("ffn_gate_inp_shexp", "mlp.shared_expert_gate"),
                                          {0}};

static const cf_hf_row experts_gemma4[] = {WEIGHT("ffn_gate_inp", "router.proj"),
                                           ROW("ffn_gate_inp.scale", "router.scale"),
                                           ROW("ffn_down_exps.scale", "router.per_expert_scale"),
                                           ROW("ffn_gate_up_exps.weight", "experts.gate_up_proj"),
                                           ROW("ffn_down_exps.weight", "experts.down_proj"),
                                           {0}};

static const cf_hf_row experts_granite[] = {
    WEIGHT("ffn_gate_inp", "block_sparse_moe.router.layer"),
    WEIGHT("ffn_gate_up_exps", "block_sparse_moe.input_linear"),
    WEIGHT("ffn_down_exps", "block_sparse_moe.output_linear"),
    WEIGHT_AS("ffn_gate_shexp", "shared_mlp.input_linear", .order = CF_HF_FIRST_HALF),
    WEIGHT_AS("ffn_up_shexp", "shared_mlp.input_linear", .order = CF_HF_SECOND_HALF),
    WEIGHT("ffn_down_shexp", "shared_mlp.output_linear"),
    {0}};

/* Granite 4 without experts: the shared part is the layer's one block. */
static const cf_hf_row mlp_granite[] = {
    WEIGHT_AS("ffn_gate", "shared_mlp.input_linear", .order = CF_HF_FIRST_HALF),
    WEIGHT_AS("ffn_up", "shared_mlp.input_linear", .order = CF_HF_SECOND_HALF),
    WEIGHT("ffn_down", "shared_mlp.output_linear"),
    {0}};

static const cf_hf_row experts_gpt_oss[] = {
    ROW("attn_sinks.weight", "self_attn.sinks"),
    BOTH("ffn_gate_inp", "mlp.router"),
    ROW_AS("ffn_gate_exps.weight", "mlp.experts.gate_up_proj", .order = CF_HF_TURNED_EVEN),
    ROW_AS("ffn_up_exps.weight", "mlp.experts.gate_up_proj", .order = CF_HF_TURNED_ODD),
    ROW_AS("ffn_down_exps.weight", "mlp.experts.down_proj", .order = CF_HF_TURNED),
    ROW_AS("ffn_gate_exps.weight", "mlp.experts.gate_up_proj_blocks", .order = CF_HF_MX_EVEN),
    ROW_AS("ffn_up_exps.weight", "mlp.experts.gate_up_proj_blocks", .order = CF_HF_MX_ODD),
    ROW_AS("ffn_down_exps.weight", "mlp.experts.down_proj_blocks", .order = CF_HF_MX),
    ROW_AS("ffn_gate_exps.bias", "mlp.experts.gate_up_proj_bias", .order = CF_HF_EVEN),
    ROW_AS("ffn_up_exps.bias", "mlp.experts.gate_up_proj_bias", .order = CF_HF_ODD),
    ROW("ffn_down_exps.bias", "mlp.experts.down_proj_bias"),
    {0}};

/* Qwen3.5: the GGUF's value heads are as far apart as there are key heads. */
static const cf_hf_row delta_net[] = {
    WEIGHT_AS("attn_qkv", "linear_attn.in_proj_qkv", .order = CF_HF_VALUE_TAIL),
    WEIGHT_AS("attn_gate", "linear_attn.in_proj_z", .order = CF_HF_VALUE_ROWS),
    WEIGHT_AS("ssm_beta", "linear_attn.in_proj_b", .order = CF_HF_VALUE_ONES),
    WEIGHT_AS("ssm_alpha", "linear_attn.in_proj_a", .order = CF_HF_VALUE_ONES),
    WEIGHT_AS("ssm_conv1d", "linear_attn.conv1d", .order = CF_HF_VALUE_TAIL),
    ROW_AS("ssm_dt.bias", "linear_attn.dt_bias", .order = CF_HF_VALUE_ONES),
    ROW_AS("ssm_a", "linear_attn.A_log", .order = CF_HF_VALUE_ONES, .value = CF_HF_NEG_EXP),
    WEIGHT("ssm_norm", "linear_attn.norm"),
    WEIGHT_AS("ssm_out", "linear_attn.out_proj", .order = CF_HF_VALUE_COLS),
    {0}};

static const cf_hf_row delta_net_next[] = {
    WEIGHT_AS("attn_qkv", "linear_attn.in_proj_qkvz", .order = CF_HF_QKV_OF_QKVZ),
    WEIGHT_AS("attn_gate", "linear_attn.in_proj_qkvz", .order = CF_HF_Z_OF_QKVZ),
    WEIGHT("ssm_ba", "linear_attn.in_proj_ba"),
    WEIGHT("ssm_conv1d", "linear_attn.conv1d"),
    ROW("ssm_dt.bias", "linear_attn.dt_bias"),
    ROW_AS("ssm_a", "linear_attn.A_log", .value = CF_HF_NEG_EXP),
    WEIGHT("ssm_norm", "linear_attn.norm"),
    WEIGHT("ssm_out", "linear_attn.out_proj"),
    {0}};

static const cf_hf_row mamba[] = {WEIGHT("ssm_in", "mamba.in_proj"),
                                  BOTH("ssm_conv1d", "mamba.conv1d"),
                                  ROW("ssm_dt.bias", "mamba.dt_bias"),
                                  ROW_AS("ssm_a", "mamba.A_log", .value = CF_HF_NEG_EXP),
                                  ROW("ssm_d", "mamba.D"),
                                  WEIGHT("ssm_norm", "mamba.norm"),
                                  WEIGHT("ssm_out", "mamba.out_proj"),
                                  {0}};

static const cf_hf_row mamba_falcon[] = {
    WEIGHT_AS("ssm_in", "mamba.in_proj", .value = CF_HF_TIMES),
    BOTH("ssm_conv1d", "mamba.conv1d"),
    ROW("ssm_dt.bias", "mamba.dt_bias"),
    ROW_AS("ssm_a", "mamba.A_log", .value = CF_HF_NEG_EXP),
    ROW("ssm_d", "mamba.D"),
    WEIGHT("ssm_norm", "mamba.norm"),
    WEIGHT_AS("ssm_out", "mamba.out_proj", .value = CF_HF_TIMES),
    {0}};

static const cf_hf_row short_conv[] = {WEIGHT("attn_norm", "operator_norm"),
                                       WEIGHT("ffn_norm", "ffn_norm"),
                                       WEIGHT("shortconv.in_proj", "conv.in_proj"),
                                       WEIGHT("shortconv.conv", "conv.conv"),
                                       WEIGHT("shortconv.out_proj", "conv.out_proj"),
                                       WEIGHT("attn_q", "self_attn.q_proj"),
                                       WEIGHT("attn_k", "self_attn.k_proj"),
                                       WEIGHT("attn_v", "self_attn.v_proj"),
                                       WEIGHT("attn_output", "self_attn.out_proj"),
                                       WEIGHT("attn_q_norm", "self_attn.q_layernorm"),
                                       WEIGHT("attn_k_norm", "self_attn.k_layernorm"),
                                       WEIGHT("ffn_gate", "feed_forward.w1"),
                                       WEIGHT("ffn_up", "feed_forward.w3"),
                                       WEIGHT("ffn_down", "feed_forward.w2"),
                                       {0}};

static const cf_hf_row experts_lfm2[] = {
    WEIGHT("ffn_gate_inp", "feed_forward.gate"),
    ROW("exp_probs_b.bias", "feed_forward.expert_bias"),
    WEIGHT("ffn_gate_exps", "feed_forward.experts.#.w1"),
    WEIGHT("ffn_up_exps", "feed_forward.experts.#.w3"),
    WEIGHT("ffn_down_exps", "feed_forward.experts.#.w2"),
    ROW("ffn_gate_up_exps.weight", "feed_forward.experts.gate_up_proj"),
    ROW("ffn_down_exps.weight", "feed_forward.experts.down_proj"),
    {0}};

static const cf_hf_row per_layer[] = {WEIGHT("inp_gate", "per_layer_input_gate"),
                                      WEIGHT("proj", "per_layer_projection"),
                                      WEIGHT("post_norm", "post_per_layer_input_norm"),
                                      {0}};

static const cf_hf_row altup[] = {WEIGHT("altup_router", "altup.modality_router"),
                                  WEIGHT("altup_router_norm", "altup.router_norm"),
                                  WEIGHT("altup_predict_coef", "altup.prediction_coefs"),
                                  WEIGHT("altup_correct_coef", "altup.correction_coefs"),
                                  ROW("altup_correct_scale.weight", "altup.correct_output_scale"),
                                  WEIGHT("laurel_l", "laurel.linear_left"),
                                  WEIGHT("laurel_r", "laurel.linear_right"),
                                  WEIGHT("laurel_post_norm", "laurel.post_laurel_norm"),
                                  {0}};

static const cf_hf_row nemotron[] = {WEIGHT("attn_norm", "norm"),
                                     WEIGHT("attn_q", "mixer.q_proj"),
                                     WEIGHT("attn_k", "mixer.k_proj"),
                                     WEIGHT("attn_v", "mixer.v_proj"),
                                     WEIGHT("attn_output", "mixer.o_proj"),
                                     WEIGHT("ffn_up", "mixer.up_proj"),
                                     WEIGHT("ffn_down", "mixer.down_proj"),
                                     WEIGHT("ssm_in", "mixer.in_proj"),
                                     BOTH("ssm_conv1d", "mixer.conv1d"),
                                     ROW("ssm_dt.bias", "mixer.dt_bias"),
                                     ROW_AS("ssm_a", "mixer.A_log", .value = CF_HF_NEG_EXP),
                                     ROW("ssm_d", "mixer.D"),
                                     WEIGHT("ssm_norm", "mixer.norm"),
                                     WEIGHT("ssm_out", "mixer.out_proj"),
                                     WEIGHT("ffn_gate_inp", "mixer.gate"),
                                     ROW("exp_probs_b.bias", "mixer.gate.e_score_correction_bias"),
                                     WEIGHT("ffn_up_exps", "mixer.experts.#.up_proj"),
                                     WEIGHT("ffn_down_exps", "mixer.experts.#.down_proj"),
                                     ROW("ffn_up_exps.weight", "mixer.experts.up_proj"),
                                     ROW("ffn_down_exps.weight", "mixer.experts.down_proj"),
                                     WEIGHT("ffn_up_shexp", "mixer.shared_experts.up_proj"),
                                     WEIGHT("ffn_down_shexp", "mixer.shared_experts.down_proj"),
                                     {0}};

/* ---- families ------------------------------------------------------------ */

/* clang-format off */
static const cf_hf_family families[] = {
    {"llama", "llama", outer, {norms, attention_pairs, mlp},
     JSON("rms_norm_eps": 1e-6, "rope_theta": 1e4, "max_position_embeddings": 2048)},
    {"mistral", "llama", outer, {norms, attention_pairs, mlp},
     JSON("rms_norm_eps": 1e-6, "rope_theta": 1e4, "num_key_value_heads": 8,
          "max_position_embeddings": 131072)},
    {"mixtral", "llama", outer, {norms, attention_pairs, experts_mixtral},
     JSON("rms_norm_eps": 1e-5, "rope_theta": 1e6, "num_key_value_heads": 8,
          "num_local_experts": 8, "num_experts_per_tok": 2, "max_position_embeddings": 131072)},
    {"qwen2", "qwen2", outer, {norms, attention, mlp},
     JSON("rms_norm_eps": 1e-6, "rope_theta": 1e4, "num_key_value_heads": 32,
          "max_position_embeddings": 32768)},
    {"qwen3", "qwen3", outer, {norms, attention, qk_norms, mlp},
     JSON("rms_norm_eps": 1e-6, "rope_theta": 1e4, "num_key_value_heads": 32, "head_dim": 128,
          "max_position_embeddings": 32768)},
    {"qwen3_moe", "qwen3moe", outer, {norms, attention, qk_norms, experts},
     JSON("rms_norm_eps": 1e-6, "rope_theta": 1e4, "num_key_value_heads": 4, "num_experts": 128,
          "num_experts_per_tok": 8, "moe_intermediate_size": 768, "norm_topk_prob": false,
          "max_position_embeddings": 32768)},
    {"qwen3_vl qwen3_vl_text", "qwen3vl", outer, {norms, attention, qk_norms, mlp},
     JSON("rms_norm_eps": 1e-6, "rope_theta": 5e6, "num_key_value_heads": 32, "head_dim": 128,
          "max_position_embeddings": 128000)},
    {"qwen3_vl_moe qwen3_vl_moe_text", "qwen3vlmoe", outer,
     {norms, attention, qk_norms, experts_turned},
     JSON("rms_norm_eps": 1e-6, "rope_theta": 5e6, "num_key_value_heads": 16, "head_dim": 128,
          "num_experts": 60, "num_experts_per_tok": 4, "moe_intermediate_size": 1408,
          "max_position_embeddings": 128000)},
    {"gemma", "gemma", outer_plus_one, {norms_plus_one, attention, mlp},
     JSON("num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 256,
          "rms_norm_eps": 1e-6, "rope_theta": 1e4, "max_position_embeddings": 8192,
          "tie_word_embeddings": true)},
    {"gemma2", "gemma2", outer_plus_one, {norms_gemma2, attention, mlp},
     JSON("num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
          "rms_norm_eps": 1e-6, "rope_theta": 1e4, "query_pre_attn_scalar": 256,
          "sliding_window": 4096, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0,
          "max_position_embeddings": 8192, "tie_word_embeddings": true)},
    {"gemma3 gemma3_text", "gemma3", outer_plus_one,
     {norms_gemma2, attention, qk_norms_plus_one, mlp},
     JSON("num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
          "rms_norm_eps": 1e-6, "rope_theta": 1e6, "rope_local_base_freq": 1e4,
          "query_pre_attn_scalar": 256, "sliding_window": 4096, "max_position_embeddings": 131072,
          "tie_word_embeddings": true)},
    {"gemma3n gemma3n_text", "gemma3n", outer_gemma4,
     {norms_gemma4, attention, qk_norms, mlp, per_layer, altup},
     JSON("num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256,
          "rms_norm_eps": 1e-6, "rope_theta": 1e6, "rope_local_base_freq": 1e4,
          "sliding_window": 512, "final_logit_softcapping": 30.0, "num_kv_shared_layers": 15,
          "hidden_size_per_layer_input": 256, "altup_num_inputs": 4, "altup_active_idx": 0,
          "max_position_embeddings": 32768, "tie_word_embeddings": true)},
    {"gemma4 gemma4_text", "gemma4", outer_gemma4,
     {norms_gemma4, attention, qk_norms, mlp, experts_gemma4, per_layer},
     JSON("num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
          "rms_norm_eps": 1e-6, "global_head_dim": 512, "sliding_window": 512,
          "hidden_size_per_layer_input": 256, "rope_theta": 1e6, "rope_local_base_freq": 1e4,
          "max_position_embeddings": 131072, "tie_word_embeddings": true)},
    {"phi3", "phi3", outer, {norms, attention_fused, mlp_fused},
     JSON("rms_norm_eps": 1e-5, "rope_theta": 1e4, "max_position_embeddings": 4096)},
    {"smollm3", "smollm3", outer, {norms, attention_pairs, mlp},
     JSON("rms_norm_eps": 1e-6, "rope_theta": 2e6, "num_attention_heads": 16,
          "num_key_value_heads": 4, "max_position_embeddings": 32768)},
    {"qwen3_5 qwen3_5_text", "qwen35", outer_plus_one,
     {norms_qwen, attention, qk_norms_plus_one, delta_net, mlp},
     JSON("rms_norm_eps": 1e-6, "rope_theta": 1e4, "num_key_value_heads": 4, "head_dim": 256,
          "partial_rotary_factor": 0.25, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
          "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
          "max_position_embeddings": 32768)},
    {"qwen3_5_moe qwen3_5_moe_text", "qwen35moe", outer_plus_one,
     {norms_qwen, attention, qk_norms_plus_one, delta_net, experts, shared_expert},
     JSON("rms_norm_eps": 1e-6, "rope_theta": 1e4, "num_key_value_heads": 2, "head_dim": 256,
          "partial_rotary_factor": 0.25, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
          "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
          "num_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 512,
          "shared_expert_intermediate_size": 512, "max_position_embeddings": 32768)},
    {"qwen3_next", "qwen3next", outer_plus_one,
     {norms_qwen, attention, qk_norms_plus_one, delta_net_next, experts, shared_expert},
     JSON("rms_norm_eps": 1e-6, "rope_theta": 1e4, "num_key_value_heads": 2, "head_dim": 256,
          "partial_rotary_factor": 0.25, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128,
          "linear_value_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
          "num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512,
          "shared_expert_intermediate_size": 512, "norm_topk_prob": true,
          "max_position_embeddings": 32768)},
    {"gpt_oss", "gpt-oss", outer, {norms_post_attn, attention, experts_gpt_oss},
     JSON("rms_norm_eps": 1e-5, "rope_theta": 1.5e5, "head_dim": 64, "num_key_value_heads": 8,
          "num_local_experts": 128, "num_experts_per_tok": 4, "sliding_window": 128,
          "max_position_embeddings": 131072, "rope_scaling": {"rope_type": "yarn", "factor": 32.0,
          "beta_fast": 32.0, "beta_slow": 1.0, "original_max_position_embeddings": 4096})},
    {"lfm2", "lfm2", outer_lfm2, {short_conv},
     JSON("norm_eps": 1e-5, "rope_theta": 1e6, "num_key_value_heads": 8, "conv_L_cache": 3,
          "block_auto_adjust_ff_dim": true, "block_ffn_dim_multiplier": 1.0,
          "block_multiple_of": 256, "max_position_embeddings": 128000)},
    {"lfm2_moe", "lfm2moe", outer_lfm2, {short_conv, experts_lfm2},
     JSON("norm_eps": 1e-5, "rope_theta": 1e6, "num_key_value_heads": 8, "conv_L_cache": 3,
          "num_dense_layers": 2, "num_experts": 32, "num_experts_per_tok": 4,
          "moe_intermediate_size": 1792, "norm_topk_prob": true, "routed_scaling_factor": 1.0,
          "max_position_embeddings": 128000)},
    {"granite", "granite", outer, {norms, attention_pairs, mlp},
     JSON("rms_norm_eps": 1e-6, "rope_theta": 1e4, "embedding_multiplier": 1.0,
          "residual_multiplier": 1.0, "attention_multiplier": 1.0, "logits_scaling": 1.0,
          "max_position_embeddings": 2048)},
    {"granitemoe granitemoeshared", "granitemoe", outer, {norms, attention_pairs, experts_granite},
     JSON("rms_norm_eps": 1e-6, "rope_theta": 1e4, "embedding_multiplier": 1.0,
          "residual_multiplier": 1.0, "attention_multiplier": 1.0, "logits_scaling": 1.0,
          "num_local_experts": 8, "num_experts_per_tok": 2, "max_position_embeddings": 2048)},
    {"granitemoehybrid", "granitehybrid", outer, {norms, attention_pairs, mamba, experts_granite},
     JSON("rms_norm_eps": 1e-6, "rope_theta": 1e4, "embedding_multiplier": 1.0,
          "residual_multiplier": 1.0, "attention_multiplier": 1.0, "logits_scaling": 1.0,
          "num_local_experts": 8, "num_experts_per_tok": 2, "shared_intermediate_size": 1024,
          "mamba_n_heads": 128, "mamba_n_groups": 1, "mamba_d_state": 256, "mamba_d_conv": 4,
          "mamba_expand": 2, "max_position_embeddings": 2048)},
    {"mistral3 ministral3", "mistral3", outer, {norms, attention_pairs, mlp},
     JSON("rms_norm_eps": 1e-5, "rope_theta": 1e6, "num_key_value_heads": 8, "head_dim": 128,
          "max_position_embeddings": 262144)},
    {"olmo2", "olmo2", outer, {norms_olmo, attention, qk_norms, mlp},
     JSON("rms_norm_eps": 1e-5, "rope_theta": 1e4, "max_position_embeddings": 2048)},
    {"olmo3", "olmo2", outer, {norms_olmo, attention, qk_norms, mlp},
     JSON("rms_norm_eps": 1e-5, "rope_theta": 1e4, "sliding_window": 4096,
          "max_position_embeddings": 2048)},
    {"ernie4_5", "ernie4_5", outer, {norms, attention, mlp},
     JSON("rms_norm_eps": 1e-5, "rope_theta": 5e5, "head_dim": 128, "num_key_value_heads": 2,
          "max_position_embeddings": 131072)},
    {"glm4", "glm4", outer, {norms_glm, attention, mlp_fused},
     JSON("rms_norm_eps": 1.5625e-7, "rope_theta": 1e4, "head_dim": 128, "num_key_value_heads": 2,
          "partial_rotary_factor": 0.5, "max_position_embeddings": 131072)},
    {"arcee", "arcee", outer, {norms, attention_pairs, mlp},
     JSON("rms_norm_eps": 1e-5, "rope_theta": 1e4, "max_position_embeddings": 4096)},
    {"seed_oss", "seed_oss", outer, {norms_post_attn, attention, mlp},
     JSON("rms_norm_eps": 1e-6, "rope_theta": 1e4, "head_dim": 128, "num_key_value_heads": 8,
          "max_position_embeddings": 524288)},
    {"exaone4", "exaone4", outer, {norms_olmo, attention, qk_norms, mlp},
     JSON("rms_norm_eps": 1e-5, "rope_theta": 1e4, "num_key_value_heads": 32,
          "sliding_window": 4096, "max_position_embeddings": 2048)},
    {"olmoe", "olmoe", outer, {norms, attention, qk_norms, experts},
     JSON("rms_norm_eps": 1e-5, "rope_theta": 1e4, "num_experts": 64, "num_experts_per_tok": 8,
          "norm_topk_prob": false, "max_position_embeddings": 4096)},
    {"falcon_h1", "falcon-h1", outer_falcon, {attention_falcon, mamba_falcon, mlp_falcon},
     JSON("rms_norm_eps": 1e-5, "rope_theta": 1e5, "num_key_value_heads": 8, "mamba_d_ssm": 1024,
          "mamba_n_heads": 128, "mamba_n_groups": 1, "mamba_d_state": 256, "mamba_d_conv": 4,
          "max_position_embeddings": 8192)},
    {"nemotron_h", "nemotron_h", outer_nemotron, {nemotron},
     JSON("layer_norm_epsilon": 1e-5, "num_attention_heads": 32, "num_key_value_heads": 8,
          "head_dim": 128, "ssm_state_size": 128, "mamba_num_heads": 128, "mamba_head_dim": 64,
          "n_groups": 8, "conv_kernel": 4, "max_position_embeddings": 4096)},
    {"bert", "bert", outer_bert, {layer_bert},
     JSON("layer_norm_eps": 1e-12, "max_position_embeddings": 512)},
    {"roberta xlm-roberta", "bert", outer_roberta, {layer_bert},
     JSON("layer_norm_eps": 1e-12, "max_position_embeddings": 512)},
    {"nomic_bert", "nomic-bert", outer_nomic, {layer_nomic},
     JSON("layer_norm_epsilon": 1e-12, "rope_theta": 1e4)},
    {"modernbert", "modern-bert", outer_modern, {layer_modern},
     JSON("norm_eps": 1e-5, "rope_theta": 1.6e5, "rope_local_base_freq": 1e4, "sliding_window": 128,
          "max_position_embeddings": 8192)},
    /* Variants that the sizes or the class decide, see variant() of hf_config.c. */
    {"bert+rank", "bert", outer_bert_rank, {layer_bert}, JSON()},
    {"roberta+rank xlm-roberta+rank", "bert", outer_roberta_rank, {layer_bert},
     JSON()},
    {"modernbert+rank", "modern-bert", outer_modern_rank, {layer_modern}, JSON()},
    {"gemma3_text+both-ways", "gemma-embedding", outer_plus_one,
     {norms_gemma2, attention, qk_norms_plus_one, mlp},
     JSON()},
    {"nemotron_h+moe", "nemotron_h_moe", outer_nemotron, {nemotron},
     JSON()},
    {"granitemoehybrid+dense", "granitehybrid", outer, {norms, attention_pairs, mamba, mlp_granite},
     JSON()},
};
/* clang-format on */

/* Whether the word is one of `list`. */
static bool is_among(cf_str word, const char *list)
{
    for (const char *at = list; *at != '\0';) {
        size_t n = strcspn(at, " ");
        if (cf_str_eq(word, cf_str_make(at, n))) {
            return true;
        }
        at += n + strspn(at + n, " ");
    }
    return false;
}

const cf_hf_family *cf_hf_family_find(cf_str model_type)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (is_among(model_type, families[i].types)) {
            return &families[i];
        }
    }
    return NULL;
}

const char *cf_hf_family_layers(const cf_hf_family *f)
{
    return strcmp(f->arch, "bert") == 0         ? "encoder.layer."
           : strcmp(f->arch, "nomic-bert") == 0 ? "encoder.layers."
                                                : "layers.";
}

const cf_hf_family *cf_hf_family_of_arch(const char *arch)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (strcmp(families[i].arch, arch) == 0) {
            return &families[i];
        }
    }
    return NULL;
}
