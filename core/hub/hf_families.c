/*
 * hf_families.c - holds the tables.  A list ends with a row without `to`.
 */
#include "core/hub/hf_families.h"

#include <string.h>

/* ---- lists of tensors ---------------------------------------------------- */

static const cf_hf_row outer[] = {
    {"token_embd.weight", "embed_tokens.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"output_norm.weight", "norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row outer_plus_one[] = {
    {"token_embd.weight", "embed_tokens.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"output_norm.weight", "norm.weight", CF_HF_SAME, CF_HF_PLUS_ONE},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row outer_lfm2[] = {
    {"token_embd.weight", "embed_tokens.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"token_embd_norm.weight", "embedding_norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row outer_gemma4[] = {
    {"token_embd.weight", "embed_tokens.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"output_norm.weight", "norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"per_layer_token_embd.weight", "embed_tokens_per_layer.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"per_layer_model_proj.weight", "per_layer_model_projection.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"per_layer_proj_norm.weight", "per_layer_projection_norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"altup_proj.weight", "altup_projections.#.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"altup_unembd_proj.weight", "altup_unembed_projections.#.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row outer_falcon[] = {
    {"token_embd.weight", "embed_tokens.weight", CF_HF_SAME, CF_HF_TIMES},
    {"output_norm.weight", "final_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row outer_nemotron[] = {
    {"token_embd.weight", "embeddings.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"output_norm.weight", "norm_f.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row norms[] = {
    {"attn_norm.weight", "input_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_norm.weight", "post_attention_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row norms_plus_one[] = {
    {"attn_norm.weight", "input_layernorm.weight", CF_HF_SAME, CF_HF_PLUS_ONE},
    {"ffn_norm.weight", "post_attention_layernorm.weight", CF_HF_SAME, CF_HF_PLUS_ONE},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

/* Families whose GGUF calls the norm before the feed-forward part by its
 * place after attention. */
static const cf_hf_row norms_post_attn[] = {
    {"attn_norm.weight", "input_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"post_attention_norm.weight", "post_attention_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row norms_qwen[] = {
    {"attn_norm.weight", "input_layernorm.weight", CF_HF_SAME, CF_HF_PLUS_ONE},
    {"post_attention_norm.weight", "post_attention_layernorm.weight", CF_HF_SAME, CF_HF_PLUS_ONE},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row norms_gemma2[] = {
    {"attn_norm.weight", "input_layernorm.weight", CF_HF_SAME, CF_HF_PLUS_ONE},
    {"post_attention_norm.weight", "post_attention_layernorm.weight", CF_HF_SAME, CF_HF_PLUS_ONE},
    {"ffn_norm.weight", "pre_feedforward_layernorm.weight", CF_HF_SAME, CF_HF_PLUS_ONE},
    {"post_ffw_norm.weight", "post_feedforward_layernorm.weight", CF_HF_SAME, CF_HF_PLUS_ONE},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row norms_gemma4[] = {
    {"attn_norm.weight", "input_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"post_attention_norm.weight", "post_attention_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_norm.weight", "pre_feedforward_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"post_ffw_norm.weight", "post_feedforward_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"post_ffw_norm_1.weight", "post_feedforward_layernorm_1.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"post_ffw_norm_2.weight", "post_feedforward_layernorm_2.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"pre_ffw_norm_2.weight", "pre_feedforward_layernorm_2.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"layer_output_scale.weight", "layer_scalar", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row norms_olmo[] = {
    {"post_attention_norm.weight", "post_attention_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"post_ffw_norm.weight", "post_feedforward_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row norms_glm[] = {
    {"attn_norm.weight", "input_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"post_attention_norm.weight", "post_self_attn_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_norm.weight", "post_attention_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"post_ffw_norm.weight", "post_mlp_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row attention[] = {
    {"attn_q.weight", "self_attn.q_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_q.bias", "self_attn.q_proj.bias", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_k.weight", "self_attn.k_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_k.bias", "self_attn.k_proj.bias", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_v.weight", "self_attn.v_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_v.bias", "self_attn.v_proj.bias", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_output.weight", "self_attn.o_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_output.bias", "self_attn.o_proj.bias", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

/* Where a GGUF's rotary embedding turns neighbours, and the folder's the two
 * halves of a head. */
static const cf_hf_row attention_pairs[] = {
    {"attn_q.weight", "self_attn.q_proj.weight", CF_HF_PAIRS_Q, CF_HF_AS_IS},
    {"attn_q.bias", "self_attn.q_proj.bias", CF_HF_PAIRS_Q, CF_HF_AS_IS},
    {"attn_k.weight", "self_attn.k_proj.weight", CF_HF_PAIRS_K, CF_HF_AS_IS},
    {"attn_k.bias", "self_attn.k_proj.bias", CF_HF_PAIRS_K, CF_HF_AS_IS},
    {"attn_v.weight", "self_attn.v_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_v.bias", "self_attn.v_proj.bias", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_output.weight", "self_attn.o_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_output.bias", "self_attn.o_proj.bias", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row attention_fused[] = {
    {"attn_qkv.weight", "self_attn.qkv_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_qkv.bias", "self_attn.qkv_proj.bias", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_output.weight", "self_attn.o_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_output.bias", "self_attn.o_proj.bias", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row attention_falcon[] = {
    {"attn_norm.weight", "input_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_norm.weight", "pre_ff_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_q.weight", "self_attn.q_proj.weight", CF_HF_SAME, CF_HF_TIMES},
    {"attn_k.weight", "self_attn.k_proj.weight", CF_HF_SAME, CF_HF_TIMES},
    {"attn_v.weight", "self_attn.v_proj.weight", CF_HF_SAME, CF_HF_TIMES},
    {"attn_output.weight", "self_attn.o_proj.weight", CF_HF_SAME, CF_HF_TIMES},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row qk_norms[] = {
    {"attn_q_norm.weight", "self_attn.q_norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_k_norm.weight", "self_attn.k_norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row qk_norms_plus_one[] = {
    {"attn_q_norm.weight", "self_attn.q_norm.weight", CF_HF_SAME, CF_HF_PLUS_ONE},
    {"attn_k_norm.weight", "self_attn.k_norm.weight", CF_HF_SAME, CF_HF_PLUS_ONE},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row mlp[] = {
    {"ffn_gate.weight", "mlp.gate_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate.bias", "mlp.gate_proj.bias", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_up.weight", "mlp.up_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_up.bias", "mlp.up_proj.bias", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down.weight", "mlp.down_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down.bias", "mlp.down_proj.bias", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row mlp_fused[] = {
    {"ffn_up.weight", "mlp.gate_up_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_up.bias", "mlp.gate_up_proj.bias", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down.weight", "mlp.down_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down.bias", "mlp.down_proj.bias", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row mlp_falcon[] = {
    {"ffn_gate.weight", "feed_forward.gate_proj.weight", CF_HF_SAME, CF_HF_TIMES},
    {"ffn_up.weight", "feed_forward.up_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down.weight", "feed_forward.down_proj.weight", CF_HF_SAME, CF_HF_TIMES},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

/* Matrices of an expert each, or all in one tensor. */
static const cf_hf_row experts[] = {
    {"ffn_gate_inp.weight", "mlp.gate.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate_exps.weight", "mlp.experts.#.gate_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_up_exps.weight", "mlp.experts.#.up_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down_exps.weight", "mlp.experts.#.down_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down_exps.weight", "mlp.experts.down_proj", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

/* Qwen3-VL: [experts, columns, rows], gate before up. */
static const cf_hf_row experts_turned[] = {
    {"ffn_gate_inp.weight", "mlp.gate.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj", CF_HF_TURNED, CF_HF_AS_IS},
    {"ffn_down_exps.weight", "mlp.experts.down_proj", CF_HF_TURNED, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row shared_expert[] = {
    {"ffn_gate_shexp.weight", "mlp.shared_expert.gate_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_up_shexp.weight", "mlp.shared_expert.up_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down_shexp.weight", "mlp.shared_expert.down_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate_inp_shexp.weight", "mlp.shared_expert_gate.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row experts_gemma4[] = {
    {"ffn_gate_inp.weight", "router.proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate_inp.scale", "router.scale", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down_exps.scale", "router.per_expert_scale", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate_up_exps.weight", "experts.gate_up_proj", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down_exps.weight", "experts.down_proj", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row experts_granite[] = {
    {"ffn_gate_inp.weight", "block_sparse_moe.router.layer.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate_up_exps.weight", "block_sparse_moe.input_linear.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down_exps.weight", "block_sparse_moe.output_linear.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate_shexp.weight", "shared_mlp.input_linear.weight", CF_HF_FIRST_HALF, CF_HF_AS_IS},
    {"ffn_up_shexp.weight", "shared_mlp.input_linear.weight", CF_HF_SECOND_HALF, CF_HF_AS_IS},
    {"ffn_down_shexp.weight", "shared_mlp.output_linear.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

/* Granite 4 without experts: the shared part is the layer's one block. */
static const cf_hf_row mlp_granite[] = {
    {"ffn_gate.weight", "shared_mlp.input_linear.weight", CF_HF_FIRST_HALF, CF_HF_AS_IS},
    {"ffn_up.weight", "shared_mlp.input_linear.weight", CF_HF_SECOND_HALF, CF_HF_AS_IS},
    {"ffn_down.weight", "shared_mlp.output_linear.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row experts_gpt_oss[] = {
    {"attn_sinks.weight", "self_attn.sinks", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate_inp.weight", "mlp.router.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate_inp.bias", "mlp.router.bias", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate_exps.weight", "mlp.experts.gate_up_proj", CF_HF_TURNED_EVEN, CF_HF_AS_IS},
    {"ffn_up_exps.weight", "mlp.experts.gate_up_proj", CF_HF_TURNED_ODD, CF_HF_AS_IS},
    {"ffn_down_exps.weight", "mlp.experts.down_proj", CF_HF_TURNED, CF_HF_AS_IS},
    {"ffn_gate_exps.weight", "mlp.experts.gate_up_proj_blocks", CF_HF_MX_EVEN, CF_HF_AS_IS},
    {"ffn_up_exps.weight", "mlp.experts.gate_up_proj_blocks", CF_HF_MX_ODD, CF_HF_AS_IS},
    {"ffn_down_exps.weight", "mlp.experts.down_proj_blocks", CF_HF_MX, CF_HF_AS_IS},
    {"ffn_gate_exps.bias", "mlp.experts.gate_up_proj_bias", CF_HF_EVEN, CF_HF_AS_IS},
    {"ffn_up_exps.bias", "mlp.experts.gate_up_proj_bias", CF_HF_ODD, CF_HF_AS_IS},
    {"ffn_down_exps.bias", "mlp.experts.down_proj_bias", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

/* Qwen3.5: the GGUF's value heads are as far apart as there are key heads. */
static const cf_hf_row delta_net[] = {
    {"attn_qkv.weight", "linear_attn.in_proj_qkv.weight", CF_HF_VALUE_TAIL, CF_HF_AS_IS},
    {"attn_gate.weight", "linear_attn.in_proj_z.weight", CF_HF_VALUE_ROWS, CF_HF_AS_IS},
    {"ssm_beta.weight", "linear_attn.in_proj_b.weight", CF_HF_VALUE_ONES, CF_HF_AS_IS},
    {"ssm_alpha.weight", "linear_attn.in_proj_a.weight", CF_HF_VALUE_ONES, CF_HF_AS_IS},
    {"ssm_conv1d.weight", "linear_attn.conv1d.weight", CF_HF_VALUE_TAIL, CF_HF_AS_IS},
    {"ssm_dt.bias", "linear_attn.dt_bias", CF_HF_VALUE_ONES, CF_HF_AS_IS},
    {"ssm_a", "linear_attn.A_log", CF_HF_VALUE_ONES, CF_HF_NEG_EXP},
    {"ssm_norm.weight", "linear_attn.norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_out.weight", "linear_attn.out_proj.weight", CF_HF_VALUE_COLS, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row delta_net_next[] = {
    {"attn_qkv.weight", "linear_attn.in_proj_qkvz.weight", CF_HF_QKV_OF_QKVZ, CF_HF_AS_IS},
    {"attn_gate.weight", "linear_attn.in_proj_qkvz.weight", CF_HF_Z_OF_QKVZ, CF_HF_AS_IS},
    {"ssm_ba.weight", "linear_attn.in_proj_ba.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_conv1d.weight", "linear_attn.conv1d.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_dt.bias", "linear_attn.dt_bias", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_a", "linear_attn.A_log", CF_HF_SAME, CF_HF_NEG_EXP},
    {"ssm_norm.weight", "linear_attn.norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_out.weight", "linear_attn.out_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row mamba[] = {
    {"ssm_in.weight", "mamba.in_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_conv1d.weight", "mamba.conv1d.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_conv1d.bias", "mamba.conv1d.bias", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_dt.bias", "mamba.dt_bias", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_a", "mamba.A_log", CF_HF_SAME, CF_HF_NEG_EXP},
    {"ssm_d", "mamba.D", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_norm.weight", "mamba.norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_out.weight", "mamba.out_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row mamba_falcon[] = {
    {"ssm_in.weight", "mamba.in_proj.weight", CF_HF_SAME, CF_HF_TIMES},
    {"ssm_conv1d.weight", "mamba.conv1d.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_conv1d.bias", "mamba.conv1d.bias", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_dt.bias", "mamba.dt_bias", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_a", "mamba.A_log", CF_HF_SAME, CF_HF_NEG_EXP},
    {"ssm_d", "mamba.D", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_norm.weight", "mamba.norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_out.weight", "mamba.out_proj.weight", CF_HF_SAME, CF_HF_TIMES},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row short_conv[] = {
    {"attn_norm.weight", "operator_norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_norm.weight", "ffn_norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"shortconv.in_proj.weight", "conv.in_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"shortconv.conv.weight", "conv.conv.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"shortconv.out_proj.weight", "conv.out_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_q.weight", "self_attn.q_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_k.weight", "self_attn.k_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_v.weight", "self_attn.v_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_output.weight", "self_attn.out_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_q_norm.weight", "self_attn.q_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_k_norm.weight", "self_attn.k_layernorm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate.weight", "feed_forward.w1.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_up.weight", "feed_forward.w3.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down.weight", "feed_forward.w2.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row experts_lfm2[] = {
    {"ffn_gate_inp.weight", "feed_forward.gate.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"exp_probs_b.bias", "feed_forward.expert_bias", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate_exps.weight", "feed_forward.experts.#.w1.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_up_exps.weight", "feed_forward.experts.#.w3.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down_exps.weight", "feed_forward.experts.#.w2.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate_up_exps.weight", "feed_forward.experts.gate_up_proj", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down_exps.weight", "feed_forward.experts.down_proj", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row per_layer[] = {
    {"inp_gate.weight", "per_layer_input_gate.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"proj.weight", "per_layer_projection.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"post_norm.weight", "post_per_layer_input_norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row altup[] = {
    {"altup_router.weight", "altup.modality_router.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"altup_router_norm.weight", "altup.router_norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"altup_predict_coef.weight", "altup.prediction_coefs.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"altup_correct_coef.weight", "altup.correction_coefs.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"altup_correct_scale.weight", "altup.correct_output_scale", CF_HF_SAME, CF_HF_AS_IS},
    {"laurel_l.weight", "laurel.linear_left.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"laurel_r.weight", "laurel.linear_right.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"laurel_post_norm.weight", "laurel.post_laurel_norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

static const cf_hf_row nemotron[] = {
    {"attn_norm.weight", "norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_q.weight", "mixer.q_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_k.weight", "mixer.k_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_v.weight", "mixer.v_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"attn_output.weight", "mixer.o_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_up.weight", "mixer.up_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down.weight", "mixer.down_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_in.weight", "mixer.in_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_conv1d.weight", "mixer.conv1d.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_conv1d.bias", "mixer.conv1d.bias", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_dt.bias", "mixer.dt_bias", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_a", "mixer.A_log", CF_HF_SAME, CF_HF_NEG_EXP},
    {"ssm_d", "mixer.D", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_norm.weight", "mixer.norm.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ssm_out.weight", "mixer.out_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_gate_inp.weight", "mixer.gate.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"exp_probs_b.bias", "mixer.gate.e_score_correction_bias", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_up_exps.weight", "mixer.experts.#.up_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down_exps.weight", "mixer.experts.#.down_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_up_exps.weight", "mixer.experts.up_proj", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down_exps.weight", "mixer.experts.down_proj", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_up_shexp.weight", "mixer.shared_experts.up_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {"ffn_down_shexp.weight", "mixer.shared_experts.down_proj.weight", CF_HF_SAME, CF_HF_AS_IS},
    {NULL, NULL, CF_HF_SAME, CF_HF_AS_IS}};

/* ---- families ------------------------------------------------------------ */

#define GEMMA_SIZES                                                         \
    "\"num_attention_heads\":8,\"num_key_value_heads\":4,\"head_dim\":256," \
    "\"rms_norm_eps\":1e-6,"

static const cf_hf_family families[] = {
    {"llama",
     "llama",
     "{\"rms_norm_eps\":1e-6,\"rope_theta\":1e4,"
     "\"max_position_embeddings\":2048}",
     outer,
     {norms, attention_pairs, mlp}},
    {"mistral",
     "llama",
     "{\"rms_norm_eps\":1e-6,\"rope_theta\":1e4,\"num_key_value_heads\":8,"
     "\"max_position_embeddings\":131072}",
     outer,
     {norms, attention_pairs, mlp}},
    {"qwen2",
     "qwen2",
     "{\"rms_norm_eps\":1e-6,\"rope_theta\":1e4,\"num_key_value_heads\":32,"
     "\"max_position_embeddings\":32768}",
     outer,
     {norms, attention, mlp}},
    {"qwen3",
     "qwen3",
     "{\"rms_norm_eps\":1e-6,\"rope_theta\":1e4,\"num_key_value_heads\":32,"
     "\"head_dim\":128,\"max_position_embeddings\":32768}",
     outer,
     {norms, attention, qk_norms, mlp}},
    {"qwen3_moe",
     "qwen3moe",
     "{\"rms_norm_eps\":1e-6,\"rope_theta\":1e4,\"num_key_value_heads\":4,"
     "\"num_experts\":128,\"num_experts_per_tok\":8,"
     "\"moe_intermediate_size\":768,\"norm_topk_prob\":false,"
     "\"max_position_embeddings\":32768}",
     outer,
     {norms, attention, qk_norms, experts}},
    {"qwen3_vl qwen3_vl_text",
     "qwen3vl",
     "{\"rms_norm_eps\":1e-6,\"rope_theta\":5e6,\"num_key_value_heads\":32,"
     "\"head_dim\":128,\"max_position_embeddings\":128000}",
     outer,
     {norms, attention, qk_norms, mlp}},
    {"qwen3_vl_moe qwen3_vl_moe_text",
     "qwen3vlmoe",
     "{\"rms_norm_eps\":1e-6,\"rope_theta\":5e6,\"num_key_value_heads\":16,"
     "\"head_dim\":128,\"num_experts\":60,\"num_experts_per_tok\":4,"
     "\"moe_intermediate_size\":1408,\"max_position_embeddings\":128000}",
     outer,
     {norms, attention, qk_norms, experts_turned}},
    {"gemma",
     "gemma",
     "{\"num_attention_heads\":16,\"num_key_value_heads\":16,\"head_dim\":256,"
     "\"rms_norm_eps\":1e-6,\"rope_theta\":1e4,"
     "\"max_position_embeddings\":8192,\"tie_word_embeddings\":true}",
     outer_plus_one,
     {norms_plus_one, attention, mlp}},
    {"gemma2",
     "gemma2",
     "{" GEMMA_SIZES "\"rope_theta\":1e4,\"query_pre_attn_scalar\":256,"
     "\"sliding_window\":4096,\"attn_logit_softcapping\":50.0,"
     "\"final_logit_softcapping\":30.0,\"max_position_embeddings\":8192,"
     "\"tie_word_embeddings\":true}",
     outer_plus_one,
     {norms_gemma2, attention, mlp}},
    {"gemma3 gemma3_text",
     "gemma3",
     "{" GEMMA_SIZES "\"rope_theta\":1e6,\"rope_local_base_freq\":1e4,"
     "\"query_pre_attn_scalar\":256,\"sliding_window\":4096,"
     "\"max_position_embeddings\":131072,\"tie_word_embeddings\":true}",
     outer_plus_one,
     {norms_gemma2, attention, qk_norms_plus_one, mlp}},
    {"gemma3n gemma3n_text",
     "gemma3n",
     "{\"num_attention_heads\":8,\"num_key_value_heads\":2,\"head_dim\":256,"
     "\"rms_norm_eps\":1e-6,\"rope_theta\":1e6,\"rope_local_base_freq\":1e4,"
     "\"sliding_window\":512,\"final_logit_softcapping\":30.0,"
     "\"num_kv_shared_layers\":15,\"hidden_size_per_layer_input\":256,"
     "\"altup_num_inputs\":4,\"altup_active_idx\":0,"
     "\"max_position_embeddings\":32768,\"tie_word_embeddings\":true}",
     outer_gemma4,
     {norms_gemma4, attention, qk_norms, mlp, per_layer, altup}},
    {"gemma4 gemma4_text",
     "gemma4",
     "{" GEMMA_SIZES "\"global_head_dim\":512,\"sliding_window\":512,"
     "\"hidden_size_per_layer_input\":256,\"rope_theta\":1e6,"
     "\"rope_local_base_freq\":1e4,"
     "\"max_position_embeddings\":131072,\"tie_word_embeddings\":true}",
     outer_gemma4,
     {norms_gemma4, attention, qk_norms, mlp, experts_gemma4, per_layer}},
    {"phi3",
     "phi3",
     "{\"rms_norm_eps\":1e-5,\"rope_theta\":1e4,"
     "\"max_position_embeddings\":4096}",
     outer,
     {norms, attention_fused, mlp_fused}},
    {"smollm3",
     "smollm3",
     "{\"rms_norm_eps\":1e-6,\"rope_theta\":2e6,\"num_attention_heads\":16,"
     "\"num_key_value_heads\":4,\"max_position_embeddings\":32768}",
     outer,
     {norms, attention_pairs, mlp}},
    {"qwen3_5 qwen3_5_text",
     "qwen35",
     "{\"rms_norm_eps\":1e-6,\"rope_theta\":1e4,\"num_key_value_heads\":4,"
     "\"head_dim\":256,\"partial_rotary_factor\":0.25,"
     "\"linear_conv_kernel_dim\":4,\"linear_key_head_dim\":128,"
     "\"linear_value_head_dim\":128,\"linear_num_key_heads\":16,"
     "\"linear_num_value_heads\":32,\"max_position_embeddings\":32768}",
     outer_plus_one,
     {norms_qwen, attention, qk_norms_plus_one, delta_net, mlp}},
    {"qwen3_5_moe qwen3_5_moe_text",
     "qwen35moe",
     "{\"rms_norm_eps\":1e-6,\"rope_theta\":1e4,\"num_key_value_heads\":2,"
     "\"head_dim\":256,\"partial_rotary_factor\":0.25,"
     "\"linear_conv_kernel_dim\":4,\"linear_key_head_dim\":128,"
     "\"linear_value_head_dim\":128,\"linear_num_key_heads\":16,"
     "\"linear_num_value_heads\":32,\"num_experts\":256,"
     "\"num_experts_per_tok\":8,\"moe_intermediate_size\":512,"
     "\"shared_expert_intermediate_size\":512,"
     "\"max_position_embeddings\":32768}",
     outer_plus_one,
     {norms_qwen, attention, qk_norms_plus_one, delta_net, experts, shared_expert}},
    {"qwen3_next",
     "qwen3next",
     "{\"rms_norm_eps\":1e-6,\"rope_theta\":1e4,\"num_key_value_heads\":2,"
     "\"head_dim\":256,\"partial_rotary_factor\":0.25,"
     "\"linear_conv_kernel_dim\":4,\"linear_key_head_dim\":128,"
     "\"linear_value_head_dim\":128,\"linear_num_key_heads\":16,"
     "\"linear_num_value_heads\":32,\"num_experts\":512,"
     "\"num_experts_per_tok\":10,\"moe_intermediate_size\":512,"
     "\"shared_expert_intermediate_size\":512,\"norm_topk_prob\":true,"
     "\"max_position_embeddings\":32768}",
     outer_plus_one,
     {norms_qwen, attention, qk_norms_plus_one, delta_net_next, experts, shared_expert}},
    {"gpt_oss",
     "gpt-oss",
     "{\"rms_norm_eps\":1e-5,\"rope_theta\":1.5e5,\"head_dim\":64,"
     "\"num_key_value_heads\":8,\"num_local_experts\":128,"
     "\"num_experts_per_tok\":4,\"sliding_window\":128,"
     "\"max_position_embeddings\":131072,\"rope_scaling\":{\"rope_type\":"
     "\"yarn\",\"factor\":32.0,\"beta_fast\":32.0,\"beta_slow\":1.0,"
     "\"original_max_position_embeddings\":4096}}",
     outer,
     {norms_post_attn, attention, experts_gpt_oss}},
    {"lfm2",
     "lfm2",
     "{\"norm_eps\":1e-5,\"rope_theta\":1e6,\"num_key_value_heads\":8,"
     "\"conv_L_cache\":3,\"block_auto_adjust_ff_dim\":true,"
     "\"block_ffn_dim_multiplier\":1.0,\"block_multiple_of\":256,"
     "\"max_position_embeddings\":128000}",
     outer_lfm2,
     {short_conv}},
    {"lfm2_moe",
     "lfm2moe",
     "{\"norm_eps\":1e-5,\"rope_theta\":1e6,\"num_key_value_heads\":8,"
     "\"conv_L_cache\":3,\"num_dense_layers\":2,\"num_experts\":32,"
     "\"num_experts_per_tok\":4,\"moe_intermediate_size\":1792,"
     "\"norm_topk_prob\":true,\"routed_scaling_factor\":1.0,"
     "\"max_position_embeddings\":128000}",
     outer_lfm2,
     {short_conv, experts_lfm2}},
    {"granite",
     "granite",
     "{\"rms_norm_eps\":1e-6,\"rope_theta\":1e4,\"embedding_multiplier\":1.0,"
     "\"residual_multiplier\":1.0,\"attention_multiplier\":1.0,"
     "\"logits_scaling\":1.0,\"max_position_embeddings\":2048}",
     outer,
     {norms, attention_pairs, mlp}},
    {"granitemoe granitemoeshared",
     "granitemoe",
     "{\"rms_norm_eps\":1e-6,\"rope_theta\":1e4,\"embedding_multiplier\":1.0,"
     "\"residual_multiplier\":1.0,\"attention_multiplier\":1.0,"
     "\"logits_scaling\":1.0,\"num_local_experts\":8,"
     "\"num_experts_per_tok\":2,\"max_position_embeddings\":2048}",
     outer,
     {norms, attention_pairs, experts_granite}},
    {"granitemoehybrid",
     "granitehybrid",
     "{\"rms_norm_eps\":1e-6,\"rope_theta\":1e4,\"embedding_multiplier\":1.0,"
     "\"residual_multiplier\":1.0,\"attention_multiplier\":1.0,"
     "\"logits_scaling\":1.0,\"num_local_experts\":8,"
     "\"num_experts_per_tok\":2,\"shared_intermediate_size\":1024,"
     "\"mamba_n_heads\":128,\"mamba_n_groups\":1,\"mamba_d_state\":256,"
     "\"mamba_d_conv\":4,\"mamba_expand\":2,"
     "\"max_position_embeddings\":2048}",
     outer,
     {norms, attention_pairs, mamba, experts_granite}},
    {"mistral3 ministral3",
     "mistral3",
     "{\"rms_norm_eps\":1e-5,\"rope_theta\":1e6,\"num_key_value_heads\":8,"
     "\"head_dim\":128,\"max_position_embeddings\":262144}",
     outer,
     {norms, attention_pairs, mlp}},
    {"olmo2",
     "olmo2",
     "{\"rms_norm_eps\":1e-5,\"rope_theta\":1e4,"
     "\"max_position_embeddings\":2048}",
     outer,
     {norms_olmo, attention, qk_norms, mlp}},
    {"olmo3",
     "olmo2",
     "{\"rms_norm_eps\":1e-5,\"rope_theta\":1e4,\"sliding_window\":4096,"
     "\"max_position_embeddings\":2048}",
     outer,
     {norms_olmo, attention, qk_norms, mlp}},
    {"ernie4_5",
     "ernie4_5",
     "{\"rms_norm_eps\":1e-5,\"rope_theta\":5e5,\"head_dim\":128,"
     "\"num_key_value_heads\":2,\"max_position_embeddings\":131072}",
     outer,
     {norms, attention, mlp}},
    {"glm4",
     "glm4",
     "{\"rms_norm_eps\":1.5625e-7,\"rope_theta\":1e4,\"head_dim\":128,"
     "\"num_key_value_heads\":2,\"partial_rotary_factor\":0.5,"
     "\"max_position_embeddings\":131072}",
     outer,
     {norms_glm, attention, mlp_fused}},
    {"falcon_h1",
     "falcon-h1",
     "{\"rms_norm_eps\":1e-5,\"rope_theta\":1e5,\"num_key_value_heads\":8,"
     "\"mamba_d_ssm\":1024,\"mamba_n_heads\":128,\"mamba_n_groups\":1,"
     "\"mamba_d_state\":256,\"mamba_d_conv\":4,"
     "\"max_position_embeddings\":8192}",
     outer_falcon,
     {attention_falcon, mamba_falcon, mlp_falcon}},
    {"nemotron_h",
     "nemotron_h",
     "{\"layer_norm_epsilon\":1e-5,\"num_attention_heads\":32,"
     "\"num_key_value_heads\":8,\"head_dim\":128,\"ssm_state_size\":128,"
     "\"mamba_num_heads\":128,\"mamba_head_dim\":64,\"n_groups\":8,"
     "\"conv_kernel\":4,\"max_position_embeddings\":4096}",
     outer_nemotron,
     {nemotron}},
    /* Variants that the sizes decide, see cf_hf_config_family(). */
    {"nemotron_h+moe", "nemotron_h_moe", "{}", outer_nemotron, {nemotron}},
    {"granitemoehybrid+dense",
     "granitehybrid",
     "{}",
     outer,
     {norms, attention_pairs, mamba, mlp_granite}},
};

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

const cf_hf_family *cf_hf_family_of_arch(const char *arch)
{
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        if (strcmp(families[i].arch, arch) == 0) {
            return &families[i];
        }
    }
    return NULL;
}
