/*
 * weights_parts.c - finds the tensors of recurrent layers, latent attention, experts, per-layer
 * embeddings and alternating updates.
 */
#include <stdio.h>
#include <string.h>

#include "core/model/tensor_finder.h"

/* ---- recurrent ---------------------------------------------------------- */

/* DeltaNet's two numbers a head: one matrix each, or both in one, where a key
 * head's rows are its value heads' betas, then their alphas. */
static cf_status find_beta_alpha(cf_tensor_finder *f, uint32_t i, cf_recurrent_weights *w)
{
    uint32_t n_head = f->hp->state.n_head;
    uint32_t n_embd = f->hp->n_embd;
    cf_tensor__name_in(f, i, "ssm_ba.weight");
    if (cf_tensor__is_there(f)) {
        return cf_tensor__mat(f, 2 * n_head, n_embd, &w->beta);
    }
    cf_tensor__name_in(f, i, "ssm_beta.weight");
    CF_TRY(cf_tensor__mat(f, n_head, n_embd, &w->beta));
    cf_tensor__name_in(f, i, "ssm_alpha.weight");
    return cf_tensor__mat(f, n_head, n_embd, &w->alpha);
}

/* What DeltaNet and Mamba-2 share. */
static cf_status find_ssm(cf_tensor_finder *f, uint32_t i, cf_recurrent_weights *w)
{
    const cf_state_hparams *s = &f->hp->state;
    cf_tensor__name_in(f, i, "ssm_conv1d.weight");
    CF_TRY(cf_tensor__floats(f, s->n_channel, s->n_tap, &w->conv));
    cf_tensor__name_in(f, i, "ssm_conv1d.bias");
    CF_TRY(cf_tensor__opt_vec(f, s->n_channel, &w->conv_bias));
    cf_tensor__name_in(f, i, "ssm_dt.bias");
    CF_TRY(cf_tensor__floats(f, s->n_head, 1, &w->dt_bias));
    cf_tensor__name_in(f, i, "ssm_a");
    CF_TRY(cf_tensor__floats(f, s->n_head, 1, &w->a));
    cf_tensor__name_in(f, i, "ssm_out.weight");
    return cf_tensor__mat(f, f->hp->n_embd, s->n_head * s->n_value, &w->out);
}

static cf_status find_delta_net(cf_tensor_finder *f, uint32_t i, cf_recurrent_weights *w)
{
    const cf_state_hparams *s = &f->hp->state;
    uint32_t n_embd = f->hp->n_embd;
    cf_tensor__name_in(f, i, "attn_qkv.weight");
    CF_TRY(cf_tensor__mat(f, s->n_channel, n_embd, &w->in));
    cf_tensor__name_in(f, i, "attn_gate.weight");
    CF_TRY(cf_tensor__mat(f, s->n_head * s->n_value, n_embd, &w->gate));
    CF_TRY(find_beta_alpha(f, i, w));
    cf_tensor__name_in(f, i, "ssm_norm.weight");
    CF_TRY(cf_tensor__vec(f, s->n_value, &w->norm));
    return find_ssm(f, i, w);
}

static cf_status find_mamba2(cf_tensor_finder *f, uint32_t i, cf_recurrent_weights *w)
{
    const cf_state_hparams *s = &f->hp->state;
    cf_tensor__name_in(f, i, "ssm_in.weight");
    CF_TRY(cf_tensor__mat(f, cf_hparams_n_in(f->hp, CF_MIX_MAMBA2), f->hp->n_embd, &w->in));
    cf_tensor__name_in(f, i, "ssm_d");
    CF_TRY(cf_tensor__floats(f, s->n_head, 1, &w->d));
    cf_tensor__name_in(f, i, "ssm_norm.weight");
    CF_TRY(cf_tensor__opt_floats(f, s->n_group, s->n_head / s->n_group * s->n_value, &w->norm));
    if (w->norm == NULL && f->hp->arch->recurrent_rule != CF_RECURRENT_ALL) {
        return cf_tensor__missing(f);
    }
    return find_ssm(f, i, w);
}

static cf_status find_short_conv(cf_tensor_finder *f, uint32_t i, cf_recurrent_weights *w)
{
    uint32_t n_embd = f->hp->n_embd;
    cf_tensor__name_in(f, i, "shortconv.in_proj.weight");
    CF_TRY(cf_tensor__mat(f, 3 * n_embd, n_embd, &w->in));
    cf_tensor__name_in(f, i, "shortconv.conv.weight");
    CF_TRY(cf_tensor__floats(f, n_embd, f->hp->state.n_tap, &w->conv));
    cf_tensor__name_in(f, i, "shortconv.out_proj.weight");
    return cf_tensor__mat(f, n_embd, n_embd, &w->out);
}

cf_status cf_weights__find_recurrent(cf_tensor_finder *f, uint32_t i, cf_layer_weights *w)
{
    switch (f->hp->layer[i].mixer) {
    case CF_MIX_DELTA_NET:
        return find_delta_net(f, i, &w->recurrent);
    case CF_MIX_SHORT_CONV:
        return find_short_conv(f, i, &w->recurrent);
    case CF_MIX_MAMBA2:
        return find_mamba2(f, i, &w->recurrent);
    case CF_MIX_ATTENTION:
        break;
    }
    return CF_OK;
}

/* ---- latent attention --------------------------------------------------- */

/* Older files have a head's key rows [n_plain, n], then its value rows.  Keys
 * are needed with rows and columns changed. */
static cf_status find_joint_kv_b(cf_tensor_finder *f, uint32_t i, cf_latent_weights *w)
{
    const cf_latent_hparams *m = &f->hp->latent;
    uint32_t n_head = f->hp->layer[i].n_head;
    uint32_t step = m->n_plain + m->n_value;
    cf_mat both = {0};
    CF_TRY(cf_tensor__mat(f, n_head * step, m->n, &both));
    w->v_b.first = cf_tensor__slice(&both, m->n_plain, m->n_value);
    w->v_b.step = step * both.row_bytes;
    size_t n_key = (size_t)m->n * m->n_plain;
    float *turned = cf_arena_alloc(&f->w->owned, n_head * n_key * sizeof *turned);
    float *row = cf_arena_alloc(&f->w->owned, m->n * sizeof *row);
    if (turned == NULL || row == NULL) {
        return cf_oom_for(f->err, "matrices of keys");
    }
    for (uint32_t j = 0; j < n_head; j++) {
        for (uint32_t r = 0; r < m->n_plain; r++) {
            size_t at = ((size_t)j * step + r) * both.row_bytes;
            cf_dtype_to_f32(both.type, row, (const unsigned char *)both.p + at, m->n);
            for (uint32_t c = 0; c < m->n; c++) {
                turned[j * n_key + (size_t)c * m->n_plain + r] = row[c];
            }
        }
    }
    w->k_b.first = (cf_mat){turned, CF_F32, m->n, m->n_plain, m->n_plain * sizeof *turned, both.by};
    w->k_b.step = n_key * sizeof *turned;
    return CF_OK;
}

static cf_status find_kv_b(cf_tensor_finder *f, uint32_t i, cf_latent_weights *w)
{
    const cf_latent_hparams *m = &f->hp->latent;
    uint32_t n_head = f->hp->layer[i].n_head;
    cf_tensor__name_in(f, i, "attn_k_b.weight");
    bool is_apart = cf_tensor__is_there(f);
    cf_tensor__name_in(f, i, "attn_kv_b.weight");
    if (!is_apart && cf_tensor__is_there(f)) {
        return find_joint_kv_b(f, i, w);
    }
    cf_tensor__ignore(f); /* some files have both forms */
    cf_tensor__name_in(f, i, "attn_k_b.weight");
    CF_TRY(cf_tensor__stack(f, n_head, m->n, m->n_plain, &w->k_b));
    cf_tensor__name_in(f, i, "attn_v_b.weight");
    return cf_tensor__stack(f, n_head, m->n_value, m->n, &w->v_b);
}

cf_status cf_weights__find_latent(cf_tensor_finder *f, uint32_t i, cf_layer_weights *w)
{
    const cf_latent_hparams *m = &f->hp->latent;
    uint32_t n_embd = f->hp->n_embd;
    uint32_t n_query = f->hp->layer[i].n_head * (m->n_plain + m->n_rot);
    if (m->n_q != 0) {
        cf_tensor__name_in(f, i, "attn_q_a.weight");
        CF_TRY(cf_tensor__mat(f, m->n_q, n_embd, &w->latent.q_a));
        cf_tensor__name_in(f, i, "attn_q_a_norm.weight");
        CF_TRY(cf_tensor__vec(f, m->n_q, &w->latent.q_a_norm));
    }
    cf_tensor__name_in(f, i, m->n_q != 0 ? "attn_q_b.weight" : "attn_q.weight");
    CF_TRY(cf_tensor__mat(f, n_query, m->n_q != 0 ? m->n_q : n_embd, &w->q));
    cf_tensor__name_in(f, i, "attn_kv_a_mqa.weight");
    CF_TRY(cf_tensor__mat(f, m->n + m->n_rot, n_embd, &w->latent.kv_a));
    cf_tensor__name_in(f, i, "attn_kv_a_norm.weight");
    CF_TRY(cf_tensor__vec(f, m->n, &w->latent.kv_a_norm));
    return find_kv_b(f, i, &w->latent);
}

/* ---- experts ------------------------------------------------------------ */

bool cf_weights_is_expert(cf_str name)
{
    static const char *const parts[] = {".ffn_gate.", ".ffn_up.", ".ffn_down."};
    size_t at;
    for (size_t i = 0; i < 3; i++) {
        if (cf_str_find(name, cf_str_from(parts[i]), &at)) {
            at += strlen(parts[i]);
            return at < name.n && name.p[at] >= '0' && name.p[at] <= '9';
        }
    }
    return cf_str_find(name, cf_str_from("_exps."), NULL);
}

/* The matrices `part` of the experts: one stack, or as in older files a tensor
 * each.  Those must be of one type, since what an expert reads is prepared
 * before it is known who reads it. */
static cf_status find_each(cf_tensor_finder *f, uint32_t i, const char *part, uint32_t n_row,
                           uint32_t n_col, cf_mat_stack *out)
{
    const uint32_t n = f->hp->expert.n;
    char name[40];
    snprintf(name, sizeof name, "ffn_%s.0.weight", part);
    cf_tensor__name_in(f, i, name);
    bool is_apart = cf_tensor__is_there(f);
    snprintf(name, sizeof name, "ffn_%s_exps.weight", part);
    cf_tensor__name_in(f, i, name);
    if (!is_apart || cf_tensor__is_there(f)) {
        return cf_tensor__stack(f, n, n_row, n_col, out);
    }
    cf_mat *each = cf_arena_calloc(&f->w->owned, n, sizeof *each);
    if (each == NULL) {
        return cf_oom_for(f->err, "experts");
    }
    for (uint32_t e = 0; e < n; e++) {
        snprintf(name, sizeof name, "ffn_%s.%u.weight", part, e);
        cf_tensor__name_in(f, i, name);
        CF_TRY(cf_tensor__mat(f, n_row, n_col, &each[e]));
        if (each[e].type != each[0].type) {
            return cf_fail(f->err, CF_EUNSUPPORTED,
                           "tensor %s is of type %s, that of expert 0 of type %s", f->name,
                           cf_dtype_name(each[e].type), cf_dtype_name(each[0].type));
        }
    }
    *out = (cf_mat_stack){.first = each[0], .each = each};
    return CF_OK;
}

/* Gate and up of the experts, apart or as one stack, gate rows first. */
static cf_status find_expert_gate_up(cf_tensor_finder *f, uint32_t i, cf_expert_weights *w)
{
    const cf_expert_hparams *x = &f->hp->expert;
    uint32_t n_embd = f->hp->n_embd;
    if (!cf_activation_has_gate(f->hp->act)) { /* up alone */
        return find_each(f, i, "up", x->n_ff, n_embd, &w->gate);
    }
    cf_tensor__name_in(f, i, "ffn_gate_up_exps.weight");
    if (!cf_tensor__is_there(f)) {
        CF_TRY(find_each(f, i, "gate", x->n_ff, n_embd, &w->gate));
        return find_each(f, i, "up", x->n_ff, n_embd, &w->up);
    }
    CF_TRY(cf_tensor__stack(f, x->n, 2 * x->n_ff, n_embd, &w->gate));
    w->up = w->gate;
    w->up.first = cf_tensor__slice(&w->gate.first, x->n_ff, x->n_ff);
    w->gate.first = cf_tensor__slice(&w->gate.first, 0, x->n_ff);
    return CF_OK;
}

static cf_status find_expert_biases(cf_tensor_finder *f, uint32_t i, cf_expert_weights *w)
{
    const cf_expert_hparams *x = &f->hp->expert;
    cf_tensor__name_in(f, i, "ffn_gate_inp.bias");
    CF_TRY(cf_tensor__opt_vec(f, x->n, &w->router_bias));
    cf_tensor__name_in(f, i, "exp_probs_b.bias");
    CF_TRY(cf_tensor__opt_vec(f, x->n, &w->choice_bias));
    cf_tensor__name_in(f, i, "ffn_gate_exps.bias");
    CF_TRY(cf_tensor__opt_floats(f, x->n, x->n_ff, &w->gate_bias));
    cf_tensor__name_in(f, i, "ffn_up_exps.bias");
    CF_TRY(cf_tensor__opt_floats(f, x->n, x->n_ff, &w->up_bias));
    cf_tensor__name_in(f, i, "ffn_down_exps.bias");
    return cf_tensor__opt_floats(f, x->n, f->hp->n_embd, &w->down_bias);
}

/* gemma4: the router's own input, and norms around both halves. */
static cf_status find_expert_norms(cf_tensor_finder *f, uint32_t i, cf_expert_weights *w)
{
    uint32_t n_embd = f->hp->n_embd;
    cf_tensor__name_in(f, i, "ffn_gate_inp.scale");
    CF_TRY(cf_tensor__vec(f, n_embd, &w->router_scale));
    cf_tensor__name_in(f, i, "pre_ffw_norm_2.weight");
    CF_TRY(cf_tensor__vec(f, n_embd, &w->pre_norm));
    cf_tensor__name_in(f, i, "post_ffw_norm_1.weight");
    CF_TRY(cf_tensor__vec(f, n_embd, &w->dense_post_norm));
    cf_tensor__name_in(f, i, "post_ffw_norm_2.weight");
    return cf_tensor__vec(f, n_embd, &w->post_norm);
}

/* The shared expert is the layer's one block. */
static cf_status find_shared_expert(cf_tensor_finder *f, uint32_t i, cf_layer_weights *w)
{
    uint32_t n_ff = f->hp->layer[i].n_ff;
    uint32_t n_embd = f->hp->n_embd;
    bool is_up = !cf_activation_has_gate(f->hp->act); /* alone */
    cf_tensor__name_in(f, i, is_up ? "ffn_up_shexp.weight" : "ffn_gate_shexp.weight");
    CF_TRY(cf_tensor__mat(f, n_ff, n_embd, &w->gate));
    if (!is_up) {
        cf_tensor__name_in(f, i, "ffn_up_shexp.weight");
        CF_TRY(cf_tensor__mat(f, n_ff, n_embd, &w->up));
    }
    cf_tensor__name_in(f, i, "ffn_down_shexp.weight");
    CF_TRY(cf_tensor__mat(f, n_embd, n_ff, &w->down));
    cf_tensor__name_in(f, i, "ffn_gate_inp_shexp.weight");
    return cf_tensor__opt_floats(f, 1, n_embd, &w->expert.shared_gate);
}

cf_status cf_weights__find_experts(cf_tensor_finder *f, uint32_t i, cf_layer_weights *w)
{
    const cf_expert_hparams *x = &f->hp->expert;
    bool has_dense = f->hp->arch->has_dense_beside;
    cf_tensor__name_in(f, i, "ffn_gate_inp.weight");
    CF_TRY(cf_tensor__mat(f, x->n, f->hp->n_embd, &w->expert.router));
    CF_TRY(find_expert_gate_up(f, i, &w->expert));
    CF_TRY(find_each(f, i, "down", f->hp->n_embd, x->n_ff, &w->expert.down));
    CF_TRY(find_expert_biases(f, i, &w->expert));
    if (has_dense) {
        CF_TRY(find_expert_norms(f, i, &w->expert));
    }
    return f->hp->layer[i].n_ff != 0 && !has_dense ? find_shared_expert(f, i, w) : CF_OK;
}

/* ---- per-layer embeddings and alternating updates ----------------------- */

static cf_status find_altup(cf_tensor_finder *f, uint32_t i, cf_altup_weights *w)
{
    uint32_t n = f->hp->n_altup;
    uint32_t n_embd = f->hp->n_embd;
    cf_tensor__name_in(f, i, "altup_router.weight");
    CF_TRY(cf_tensor__mat(f, n, n_embd, &w->router));
    cf_tensor__name_in(f, i, "altup_router_norm.weight");
    CF_TRY(cf_tensor__vec(f, n_embd, &w->router_norm));
    cf_tensor__name_in(f, i, "altup_predict_coef.weight");
    CF_TRY(cf_tensor__floats(f, n * n, n, &w->predict));
    cf_tensor__name_in(f, i, "altup_correct_coef.weight");
    CF_TRY(cf_tensor__floats(f, n, n, &w->correct));
    cf_tensor__name_in(f, i, "altup_correct_scale.weight");
    CF_TRY(cf_tensor__vec(f, n_embd, &w->scale));
    cf_tensor__name_in(f, i, "laurel_post_norm.weight");
    CF_TRY(cf_tensor__vec(f, n_embd, &w->laurel_norm));
    cf_tensor__name_in(f, i, "laurel_l.weight");
    const cf_gguf_tensor *l = cf_gguf_find_tensor(f->g, f->name);
    if (l == NULL || l->dim[1] > CF_WIDTH_MAX) {
        return cf_tensor__missing(f);
    }
    uint32_t rank = (uint32_t)l->dim[1];
    CF_TRY(cf_tensor__mat(f, rank, n_embd, &w->laurel_l));
    cf_tensor__name_in(f, i, "laurel_r.weight");
    return cf_tensor__mat(f, n_embd, rank, &w->laurel_r);
}

cf_status cf_weights__find_extras(cf_tensor_finder *f, uint32_t i, cf_layer_weights *w)
{
    const cf_hparams *hp = f->hp;
    if (hp->n_per_layer != 0) {
        cf_tensor__name_in(f, i, "inp_gate.weight");
        CF_TRY(cf_tensor__mat(f, hp->n_per_layer, hp->n_embd, &w->per_layer_gate));
        cf_tensor__name_in(f, i, "proj.weight");
        CF_TRY(cf_tensor__mat(f, hp->n_embd, hp->n_per_layer, &w->per_layer_proj));
        cf_tensor__name_in(f, i, "post_norm.weight");
        CF_TRY(cf_tensor__vec(f, hp->n_embd, &w->per_layer_norm));
    }
    if (hp->arch->has_layer_scale) {
        cf_tensor__name_in(f, i, "layer_output_scale.weight");
        CF_TRY(cf_tensor__opt_vec(f, 1, &w->scale));
    }
    return hp->arch->has_altup ? find_altup(f, i, &w->altup) : CF_OK;
}

cf_status cf_weights__find_outer_extras(cf_tensor_finder *f)
{
    const cf_hparams *hp = f->hp;
    uint32_t n_all = hp->n_layer * hp->n_per_layer;
    cf_weights *w = f->w;
    if (n_all != 0) {
        cf_tensor__name(f, "per_layer_token_embd.weight");
        CF_TRY(cf_tensor__mat(f, hp->n_vocab, n_all, &w->per_layer_embd));
        cf_tensor__name(f, "per_layer_model_proj.weight");
        CF_TRY(cf_tensor__mat(f, n_all, hp->n_embd, &w->per_layer_model_proj));
        cf_tensor__name(f, "per_layer_proj_norm.weight");
        CF_TRY(cf_tensor__vec(f, hp->n_per_layer, &w->per_layer_norm));
    }
    if (hp->n_altup > 1) {
        cf_tensor__name(f, "altup_proj.weight");
        CF_TRY(cf_tensor__stack(f, hp->n_altup - 1, hp->n_embd, hp->n_embd, &w->altup_proj));
        cf_tensor__name(f, "altup_unembd_proj.weight");
        CF_TRY(cf_tensor__stack(f, hp->n_altup - 1, hp->n_embd, hp->n_embd, &w->altup_unproj));
    }
    return CF_OK;
}
