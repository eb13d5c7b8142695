/*
 * weights.c - finds the tensors of every model: attention, feed-forward, outer.
 *
 * When a tensor of the file was not asked for by the end, it is named.
 */
#include "core/model/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/model/tensor_finder.h"

/* ---- attention ---------------------------------------------------------- */

static cf_status find_fused_qkv(cf_tensor_finder *f, uint32_t i, uint32_t nq, uint32_t nk,
                                uint32_t nv, cf_layer_weights *w)
{
    cf_mat qkv = {0};
    const float *bias = NULL;
    cf_tensor__name_in(f, i, "attn_qkv.weight");
    CF_TRY(cf_tensor__mat(f, nq + nk + nv, f->hp->n_embd, &qkv));
    w->q = cf_tensor__slice(&qkv, 0, nq);
    w->k = cf_tensor__slice(&qkv, nq, nk);
    w->v = cf_tensor__slice(&qkv, nq + nk, nv);
    cf_tensor__name_in(f, i, "attn_qkv.bias");
    CF_TRY(cf_tensor__opt_vec(f, nq + nk + nv, &bias));
    if (bias != NULL) {
        w->q_bias = bias;
        w->k_bias = bias + nq;
        w->v_bias = bias + nq + nk;
    }
    return CF_OK;
}

/* A layer that reads another's keys and values; files may carry its own. */
static void ignore_kv(cf_tensor_finder *f, uint32_t i)
{
    cf_tensor__name_in(f, i, "attn_k.weight");
    cf_tensor__ignore(f);
    cf_tensor__name_in(f, i, "attn_v.weight");
    cf_tensor__ignore(f);
    cf_tensor__name_in(f, i, "attn_k_norm.weight");
    cf_tensor__ignore(f);
}

static cf_status find_kv(cf_tensor_finder *f, uint32_t i, uint32_t nk, uint32_t nv,
                         cf_layer_weights *w)
{
    cf_tensor__name_in(f, i, "attn_k.weight");
    CF_TRY(cf_tensor__mat(f, nk, f->hp->n_embd, &w->k));
    cf_tensor__name_in(f, i, "attn_v.weight");
    if (cf_tensor__is_there(f) || !f->hp->arch->has_v_norm || nk != nv) {
        CF_TRY(cf_tensor__mat(f, nv, f->hp->n_embd, &w->v));
    }
    cf_tensor__name_in(f, i, "attn_k.bias");
    CF_TRY(cf_tensor__opt_vec(f, nk, &w->k_bias));
    cf_tensor__name_in(f, i, "attn_v.bias");
    return cf_tensor__opt_vec(f, nv, &w->v_bias);
}

static cf_status find_qkv(cf_tensor_finder *f, uint32_t i, cf_layer_weights *w)
{
    const cf_layer_hparams *l = &f->hp->layer[i];
    uint32_t nq = l->n_head * l->head_size;
    uint32_t nk = l->n_head_kv * l->head_size;
    uint32_t nv = l->n_head_kv * l->head_size_v;
    cf_tensor__name_in(f, i, "attn_qkv.weight");
    if (f->hp->arch->has_fused_qkv && cf_tensor__is_there(f)) {
        return find_fused_qkv(f, i, nq, nk, nv, w);
    }
    nq *= f->hp->arch->has_q_gate ? 2 : 1;
    cf_tensor__name_in(f, i, "attn_q.weight");
    CF_TRY(cf_tensor__mat(f, nq, f->hp->n_embd, &w->q));
    cf_tensor__name_in(f, i, "attn_q.bias");
    CF_TRY(cf_tensor__opt_vec(f, nq, &w->q_bias));
    if (l->kv_layer != i) {
        ignore_kv(f, i);
        return CF_OK;
    }
    return find_kv(f, i, nk, nv, w);
}

static cf_status find_qk_norms(cf_tensor_finder *f, uint32_t i, cf_layer_weights *w)
{
    const cf_layer_hparams *l = &f->hp->layer[i];
    const cf_arch *arch = f->hp->arch;
    bool by_row = arch->has_row_qk_norm;
    bool is_needed = (by_row || arch->has_qk_norm) && !arch->has_opt_qk_norm;
    cf_tensor__name_in(f, i, "attn_q_norm.weight");
    if (!is_needed && !(arch->has_opt_qk_norm && cf_tensor__is_there(f))) {
        return CF_OK;
    }
    CF_TRY(cf_tensor__norm(f, (by_row ? l->n_head : 1) * l->head_size, &w->q_norm));
    if (l->kv_layer != i) {
        return CF_OK;
    }
    cf_tensor__name_in(f, i, "attn_k_norm.weight");
    return cf_tensor__norm(f, (by_row ? l->n_head_kv : 1) * l->head_size, &w->k_norm);
}

static cf_status find_attention(cf_tensor_finder *f, uint32_t i, cf_layer_weights *w)
{
    const cf_layer_hparams *l = &f->hp->layer[i];
    uint32_t n_out = l->n_head * cf_hparams_head_out(f->hp, i);
    if (f->hp->latent.n != 0) {
        CF_TRY(cf_weights__find_latent(f, i, w));
    } else {
        CF_TRY(find_qkv(f, i, w));
        CF_TRY(find_qk_norms(f, i, w));
    }
    if (f->hp->arch->has_sinks) {
        cf_tensor__name_in(f, i, "attn_sinks.weight");
        CF_TRY(cf_tensor__vec(f, l->n_head, &w->sinks));
    }
    if (f->hp->arch->has_attn_gate) {
        cf_tensor__name_in(f, i, "attn_gate.weight");
        CF_TRY(cf_tensor__mat(f, n_out, f->hp->n_embd, &w->attn_gate));
    }
    cf_tensor__name_in(f, i, "attn_output.weight");
    CF_TRY(cf_tensor__mat(f, f->hp->n_embd, n_out, &w->o));
    cf_tensor__name_in(f, i, "attn_output.bias");
    return cf_tensor__opt_vec(f, f->hp->n_embd, &w->o_bias);
}

/* ---- feed-forward ------------------------------------------------------- */

static cf_status find_gate_up(cf_tensor_finder *f, uint32_t i, cf_layer_weights *w)
{
    uint32_t n_ff = f->hp->layer[i].n_ff;
    uint32_t n_embd = f->hp->n_embd;
    const float *bias = NULL;
    if (!cf_activation_has_gate(f->hp->act)) { /* up alone */
        cf_tensor__name_in(f, i, "ffn_up.weight");
        CF_TRY(cf_tensor__mat(f, n_ff, n_embd, &w->gate));
        cf_tensor__name_in(f, i, "ffn_up.bias");
        return cf_tensor__opt_vec(f, n_ff, &w->gate_bias);
    }
    cf_tensor__name_in(f, i, "ffn_gate.weight");
    if (!f->hp->arch->has_fused_gate_up || cf_tensor__is_there(f)) {
        CF_TRY(cf_tensor__mat(f, n_ff, n_embd, &w->gate));
        cf_tensor__name_in(f, i, "ffn_up.weight");
        CF_TRY(cf_tensor__mat(f, n_ff, n_embd, &w->up));
        cf_tensor__name_in(f, i, "ffn_gate.bias");
        CF_TRY(cf_tensor__opt_vec(f, n_ff, &w->gate_bias));
        cf_tensor__name_in(f, i, "ffn_up.bias");
        return cf_tensor__opt_vec(f, n_ff, &w->up_bias);
    }
    cf_mat both = {0};
    cf_tensor__name_in(f, i, "ffn_up.weight");
    CF_TRY(cf_tensor__mat(f, 2 * n_ff, n_embd, &both));
    w->gate = cf_tensor__slice(&both, 0, n_ff);
    w->up = cf_tensor__slice(&both, n_ff, n_ff);
    cf_tensor__name_in(f, i, "ffn_up.bias");
    CF_TRY(cf_tensor__opt_vec(f, 2 * n_ff, &bias));
    if (bias != NULL) {
        w->gate_bias = bias;
        w->up_bias = bias + n_ff;
    }
    return CF_OK;
}

static cf_status find_block(cf_tensor_finder *f, uint32_t i, cf_layer_weights *w)
{
    CF_TRY(find_gate_up(f, i, w));
    cf_tensor__name_in(f, i, "ffn_down.weight");
    CF_TRY(cf_tensor__mat(f, f->hp->n_embd, f->hp->layer[i].n_ff, &w->down));
    cf_tensor__name_in(f, i, "ffn_down.bias");
    return cf_tensor__opt_vec(f, f->hp->n_embd, &w->down_bias);
}

/* Norms of sums: after each part, and perhaps once more after attention. */
static cf_status find_sum_norms(cf_tensor_finder *f, uint32_t i, cf_layer_weights *w)
{
    uint32_t n_embd = f->hp->n_embd;
    cf_tensor__name_in(f, i, "attn_output_norm.weight");
    CF_TRY(cf_tensor__norm(f, n_embd, &w->post_attn_norm));
    cf_tensor__name_in(f, i, "layer_output_norm.weight");
    CF_TRY(cf_tensor__norm(f, n_embd, &w->post_ffn_norm));
    cf_tensor__name_in(f, i, "attn_norm_2.weight");
    return f->hp->arch->has_opt_sum_norm && cf_tensor__is_there(f)
               ? cf_tensor__norm(f, n_embd, &w->again_norm)
               : CF_OK;
}

static cf_status find_norms(cf_tensor_finder *f, uint32_t i, cf_layer_weights *w)
{
    const cf_arch *arch = f->hp->arch;
    uint32_t n_embd = f->hp->n_embd;
    char name[64];
    if (arch->has_sum_norm) {
        return find_sum_norms(f, i, w);
    }
    if (!arch->has_no_pre_norm && !(arch->has_bare_start && i == 0)) {
        cf_tensor__name_in(f, i, "attn_norm.weight");
        CF_TRY(cf_tensor__vec(f, n_embd, &w->attn_norm));
        w->ffn_norm = w->attn_norm;
    }
    if (!arch->has_no_pre_norm && !arch->has_single_parts && !arch->has_one_norm) {
        snprintf(name, sizeof name, "%s.weight",
                 arch->ffn_norm != NULL ? arch->ffn_norm : "ffn_norm");
        cf_tensor__name_in(f, i, name);
        CF_TRY(cf_tensor__vec(f, n_embd, &w->ffn_norm));
    }
    if (arch->has_post_norm) {
        cf_tensor__name_in(f, i, "post_attention_norm.weight");
        CF_TRY(cf_tensor__vec(f, n_embd, &w->post_attn_norm));
        cf_tensor__name_in(f, i, "post_ffw_norm.weight");
        CF_TRY(cf_tensor__vec(f, n_embd, &w->post_ffn_norm));
    }
    return CF_OK;
}

static cf_status find_layer(cf_tensor_finder *f, uint32_t i, cf_layer_weights *w)
{
    const cf_layer_hparams *l = &f->hp->layer[i];
    CF_TRY(find_norms(f, i, w));
    if (l->n_head != 0) {
        CF_TRY(find_attention(f, i, w));
    }
    if (l->mixer != CF_MIX_ATTENTION) {
        CF_TRY(cf_weights__find_recurrent(f, i, w));
    }
    if (l->n_ff != 0 && (!l->has_experts || f->hp->arch->has_dense_beside)) {
        CF_TRY(find_block(f, i, w));
    }
    if (l->has_experts) {
        CF_TRY(cf_weights__find_experts(f, i, w));
    }
    return cf_weights__find_extras(f, i, w);
}

/* ---- the whole model ---------------------------------------------------- */

/* Factors must be positive numbers: frequencies are divided by them.  Very
 * large ones stop a pair from turning. */
static cf_status find_rope_factors(cf_tensor_finder *f, const char *name, const float **out)
{
    uint32_t n = f->hp->rope[CF_ROPE_GLOBAL].n_rot / 2;
    cf_tensor__name(f, name);
    CF_TRY(cf_tensor__opt_vec(f, n, out));
    for (uint32_t i = 0; *out != NULL && i < n; i++) {
        if (!((*out)[i] > 0.0f && (*out)[i] < 1e35f)) {
            return cf_fail(f->err, CF_EFORMAT, "tensor %s: factor %u is not a positive number",
                           name, i);
        }
    }
    return CF_OK;
}

static cf_status find_outer(cf_tensor_finder *f)
{
    cf_weights *w = f->w;
    const cf_hparams *hp = f->hp;
    cf_tensor__name(f, "token_embd.weight");
    CF_TRY(cf_tensor__mat(f, hp->n_vocab, hp->n_embd, &w->embd));
    cf_tensor__name(f,
                    hp->arch->has_embd_out_norm ? "token_embd_norm.weight" : "output_norm.weight");
    if (!hp->arch->has_sum_norm) {
        CF_TRY(cf_tensor__vec(f, hp->n_embd, &w->output_norm));
    }
    w->output = w->embd; /* tied, unless the file has a matrix of its own */
    cf_tensor__name(f, "output.weight");
    CF_TRY(cf_tensor__opt_mat(f, hp->n_vocab, hp->n_embd, &w->output));
    cf_tensor__name(f, "output.bias");
    CF_TRY(cf_tensor__opt_vec(f, hp->n_vocab, &w->output_bias));
    CF_TRY(find_rope_factors(f, "rope_freqs.weight", &w->rope_freqs));
    CF_TRY(find_rope_factors(f, "rope_factors_long.weight", &w->rope_long));
    CF_TRY(find_rope_factors(f, "rope_factors_short.weight", &w->rope_short));
    if (hp->rope[CF_ROPE_GLOBAL].scaling == CF_ROPE_LONGROPE &&
        (w->rope_long == NULL || w->rope_short == NULL)) {
        return cf_fail(f->err, CF_EFORMAT, "longrope scaling without its factor tensors");
    }
    CF_TRY(cf_weights__find_ends(f));
    return cf_weights__find_outer_extras(f);
}

/* A draft layer's own ends; those that it lacks are the model's. */
static cf_status find_nextn(cf_tensor_finder *f)
{
    cf_weights *w = f->w;
    uint32_t n_embd = f->hp->n_embd, n_vocab = f->hp->n_vocab;
    cf_tensor__name_in(f, 0, "nextn.eh_proj.weight");
    CF_TRY(cf_tensor__mat(f, n_embd, 2 * n_embd, &w->nextn.join));
    cf_tensor__name_in(f, 0, "nextn.enorm.weight");
    CF_TRY(cf_tensor__vec(f, n_embd, &w->nextn.embd_norm));
    cf_tensor__name_in(f, 0, "nextn.hnorm.weight");
    CF_TRY(cf_tensor__vec(f, n_embd, &w->nextn.hidden_norm));
    cf_tensor__name_in(f, 0, "nextn.shared_head_norm.weight");
    if (cf_tensor__is_there(f)) {
        CF_TRY(cf_tensor__vec(f, n_embd, &w->output_norm));
    }
    cf_tensor__name_in(f, 0, "nextn.embed_tokens.weight");
    CF_TRY(cf_tensor__opt_mat(f, n_vocab, n_embd, &w->embd));
    cf_tensor__name_in(f, 0, "nextn.shared_head_head.weight");
    return cf_tensor__opt_mat(f, n_vocab, n_embd, &w->output);
}

/* Whether a tensor belongs to one of the file's draft layers, which a plain
 * pass stops before. */
static bool is_of_draft_layer(const cf_hparams *hp, cf_str name)
{
    char text[24] = "";
    if (hp->n_draft_layer == 0 || name.n < 5 || memcmp(name.p, "blk.", 4) != 0) {
        return false;
    }
    for (size_t i = 0; i < 8 && i + 4 < name.n && name.p[i + 4] >= '0' && name.p[i + 4] <= '9';
         i++) {
        text[i] = name.p[i + 4];
    }
    return text[0] != '\0' && strtoul(text, NULL, 10) >= hp->n_layer;
}

static cf_status refuse_unused(const cf_tensor_finder *f)
{
    for (size_t i = 0; i < cf_gguf_n_tensors(f->g); i++) {
        const cf_gguf_tensor *t = cf_gguf_tensor_at(f->g, i);
        if (!f->used[i] && !is_of_draft_layer(f->hp, t->name)) {
            return cf_fail_at(f->err, CF_EUNSUPPORTED, t->file_off,
                              "tensor %.*s is not part of architecture %s as confab knows it",
                              t->name.n < 64 ? (int)t->name.n : 64, t->name.p, f->hp->arch->name);
        }
    }
    return CF_OK;
}

/* Sums up the file's totals, and makes room for the tensors. */
static cf_status take_stock(cf_tensor_finder *f)
{
    for (size_t i = 0; i < cf_gguf_n_tensors(f->g); i++) {
        const cf_gguf_tensor *t = cf_gguf_tensor_at(f->g, i);
        f->w->bytes += t->bytes;
        f->w->n_param += t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
    }
    f->used = cf_calloc(cf_gguf_n_tensors(f->g) + 1, sizeof *f->used);
    f->w->layer = cf_calloc(f->hp->n_layer, sizeof *f->w->layer);
    if (f->used == NULL || f->w->layer == NULL) {
        return cf_fail(f->err, CF_ENOMEM, "out of memory for %u layers", f->hp->n_layer);
    }
    f->w->n_layer = f->hp->n_layer;
    return CF_OK;
}

static cf_status find_all(cf_tensor_finder *f)
{
    CF_TRY(take_stock(f));
    CF_TRY(find_outer(f));
    for (uint32_t i = 0; i < f->hp->n_layer; i++) {
        CF_TRY(find_layer(f, i, &f->w->layer[i]));
    }
    return f->hp->is_draft ? find_nextn(f) : refuse_unused(f);
}

cf_status cf_weights_init(cf_weights *out, const cf_gguf *g, const cf_hparams *hp, cf_error *err)
{
    cf_weights w = {0};
    if (cf_gguf_n_tensors(g) == 0) {
        return cf_fail(err, CF_EFORMAT, "the file holds no tensors, only a vocabulary");
    }
    cf_arena_init(&w.owned, 0);
    cf_tensor_finder f = {.g = g, .hp = hp, .w = &w, .err = err};
    cf_status st = find_all(&f);
    cf_free(f.used);
    if (st != CF_OK) {
        cf_weights_deinit(&w);
        return st;
    }
    *out = w;
    return CF_OK;
}

void cf_weights_deinit(cf_weights *w)
{
    cf_free(w->layer);
    cf_arena_deinit(&w->owned);
    *w = (cf_weights){0};
}
