/*
 * weights.c - finding tensors by name and holding them to their shape.
 *
 * Each tensor found is counted; when the count differs from the file's at the
 * end, the first one that nobody asked for is named.
 */
#include "core/model/weights.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/base/alloc.h"

typedef struct finder {
    const cf_gguf *g;
    const cf_hparams *hp;
    cf_weights *w;
    bool *used; /* [tensors of the file] */
    size_t cap_owned;
    cf_error *err;
    char name[96]; /* of the tensor looked for last */
} finder;

static const cf_gguf_tensor *look_up(finder *f)
{
    const cf_gguf_tensor *t = cf_gguf_find_tensor(f->g, f->name);
    if (t != NULL) {
        f->used[t - cf_gguf_tensor_at(f->g, 0)] = true;
    }
    return t;
}

static void name_tensor(finder *f, const char *fmt, ...) CF_PRINTF(2, 3);
static void name_tensor(finder *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->name, sizeof f->name, fmt, ap);
    va_end(ap);
}

static cf_status missing(finder *f)
{
    return cf_fail(f->err, CF_EFORMAT, "tensor %s is missing", f->name);
}

static cf_status check_type(finder *f, const cf_gguf_tensor *t)
{
    const char *name = cf_dtype_name(t->type);
    if (cf_dtype_get(t->type).name != NULL) {
        return CF_OK;
    }
    return name != NULL
               ? cf_fail(f->err, CF_EUNSUPPORTED,
                         "tensor %s: type %s is not supported", f->name, name)
               : cf_fail(f->err, CF_EUNSUPPORTED,
                         "tensor %s: type %u is not supported", f->name,
                         t->type);
}

/* The matrix [n_row, n_col] called f->name. */
static cf_status need_mat(finder *f, uint32_t n_row, uint32_t n_col,
                          cf_mat *out)
{
    const cf_gguf_tensor *t = look_up(f);
    if (t == NULL) {
        return missing(f);
    }
    CF_TRY(check_type(f, t));
    if (t->dim[0] != n_col || t->dim[1] != n_row || t->dim[2] != 1 ||
        t->dim[3] != 1) {
        return cf_fail_at(f->err, CF_EFORMAT, t->file_off,
                          "tensor %s is [%" PRIu64 ", %" PRIu64
                          "], must be [%u, %u]",
                          f->name, t->dim[0], t->dim[1], n_col, n_row);
    }
    cf_dtype type = (cf_dtype)t->type;
    *out = (cf_mat){t->p, type, n_row, n_col, cf_dtype_row_bytes(type, n_col)};
    return CF_OK;
}

/* Rows row0..row0+n-1 of m. */
static cf_mat slice(const cf_mat *m, uint32_t row0, uint32_t n)
{
    cf_mat out = *m;
    CF_ASSERT(row0 <= m->n_row && n <= m->n_row - row0);
    out.p = (const unsigned char *)m->p + (size_t)row0 * m->row_bytes;
    out.n_row = n;
    return out;
}

/* A float32 copy of t's numbers among the owned ones. */
static const float *convert(finder *f, const cf_gguf_tensor *t)
{
    size_t n = (size_t)t->dim[0];
    CF_ASSERT(n <= f->cap_owned - f->w->n_owned);
    float *out = f->w->owned + f->w->n_owned;
    f->w->n_owned += n;
    cf_dtype_to_f32((cf_dtype)t->type, out, t->p, n);
    return out;
}

/* The vector [n] called f->name; NULL where it is absent. */
static cf_status opt_vec(finder *f, uint32_t n, const float **out)
{
    const cf_gguf_tensor *t = look_up(f);
    *out = NULL;
    if (t == NULL) {
        return CF_OK;
    }
    CF_TRY(check_type(f, t));
    if (t->n_dim != 1 || t->dim[0] != n) {
        return cf_fail_at(f->err, CF_EFORMAT, t->file_off,
                          "tensor %s has %u dimensions, %" PRIu64
                          " first, must be [%u]",
                          f->name, t->n_dim, t->dim[0], n);
    }
    if (t->type == CF_F32) {
        *out = (const float *)(const void *)t->p;
    } else {
        *out = convert(f, t);
    }
    return CF_OK;
}

static cf_status need_vec(finder *f, uint32_t n, const float **out)
{
    CF_TRY(opt_vec(f, n, out));
    return *out != NULL ? CF_OK : missing(f);
}

/* ---- a layer ------------------------------------------------------------ */

static cf_status find_fused_qkv(finder *f, uint32_t i, uint32_t nq, uint32_t nk,
                                uint32_t nv, cf_layer_weights *w)
{
    cf_mat qkv = {0};
    const float *bias = NULL;
    name_tensor(f, "blk.%u.attn_qkv.weight", i);
    CF_TRY(need_mat(f, nq + nk + nv, f->hp->n_embd, &qkv));
    w->q = slice(&qkv, 0, nq);
    w->k = slice(&qkv, nq, nk);
    w->v = slice(&qkv, nq + nk, nv);
    name_tensor(f, "blk.%u.attn_qkv.bias", i);
    CF_TRY(opt_vec(f, nq + nk + nv, &bias));
    if (bias != NULL) {
        w->q_bias = bias;
        w->k_bias = bias + nq;
        w->v_bias = bias + nq + nk;
    }
    return CF_OK;
}

static cf_status find_qkv(finder *f, uint32_t i, cf_layer_weights *w)
{
    const cf_layer_hparams *l = &f->hp->layer[i];
    uint32_t nq = l->n_head * l->head_size;
    uint32_t nk = l->n_head_kv * l->head_size;
    uint32_t nv = l->n_head_kv * l->head_size_v;
    name_tensor(f, "blk.%u.attn_qkv.weight", i);
    if (f->hp->arch->has_fused_qkv &&
        cf_gguf_find_tensor(f->g, f->name) != NULL) {
        return find_fused_qkv(f, i, nq, nk, nv, w);
    }
    name_tensor(f, "blk.%u.attn_q.weight", i);
    CF_TRY(need_mat(f, nq, f->hp->n_embd, &w->q));
    name_tensor(f, "blk.%u.attn_k.weight", i);
    CF_TRY(need_mat(f, nk, f->hp->n_embd, &w->k));
    name_tensor(f, "blk.%u.attn_v.weight", i);
    CF_TRY(need_mat(f, nv, f->hp->n_embd, &w->v));
    name_tensor(f, "blk.%u.attn_q.bias", i);
    CF_TRY(opt_vec(f, nq, &w->q_bias));
    name_tensor(f, "blk.%u.attn_k.bias", i);
    CF_TRY(opt_vec(f, nk, &w->k_bias));
    name_tensor(f, "blk.%u.attn_v.bias", i);
    return opt_vec(f, nv, &w->v_bias);
}

static cf_status find_attention(finder *f, uint32_t i, cf_layer_weights *w)
{
    const cf_layer_hparams *l = &f->hp->layer[i];
    uint32_t n_embd = f->hp->n_embd;
    name_tensor(f, "blk.%u.attn_norm.weight", i);
    CF_TRY(need_vec(f, n_embd, &w->attn_norm));
    CF_TRY(find_qkv(f, i, w));
    if (f->hp->arch->has_qk_norm) {
        name_tensor(f, "blk.%u.attn_q_norm.weight", i);
        CF_TRY(need_vec(f, l->head_size, &w->q_norm));
        name_tensor(f, "blk.%u.attn_k_norm.weight", i);
        CF_TRY(need_vec(f, l->head_size, &w->k_norm));
    }
    name_tensor(f, "blk.%u.attn_output.weight", i);
    CF_TRY(need_mat(f, n_embd, l->n_head * l->head_size_v, &w->o));
    name_tensor(f, "blk.%u.attn_output.bias", i);
    CF_TRY(opt_vec(f, n_embd, &w->o_bias));
    if (f->hp->arch->has_post_norm) {
        name_tensor(f, "blk.%u.post_attention_norm.weight", i);
        CF_TRY(need_vec(f, n_embd, &w->post_attn_norm));
    }
    return CF_OK;
}

static cf_status find_gate_up(finder *f, uint32_t i, cf_layer_weights *w)
{
    uint32_t n_ff = f->hp->layer[i].n_ff;
    uint32_t n_embd = f->hp->n_embd;
    const float *bias = NULL;
    name_tensor(f, "blk.%u.ffn_gate.weight", i);
    if (!f->hp->arch->has_fused_gate_up ||
        cf_gguf_find_tensor(f->g, f->name) != NULL) {
        CF_TRY(need_mat(f, n_ff, n_embd, &w->gate));
        name_tensor(f, "blk.%u.ffn_up.weight", i);
        CF_TRY(need_mat(f, n_ff, n_embd, &w->up));
        name_tensor(f, "blk.%u.ffn_gate.bias", i);
        CF_TRY(opt_vec(f, n_ff, &w->gate_bias));
        name_tensor(f, "blk.%u.ffn_up.bias", i);
        return opt_vec(f, n_ff, &w->up_bias);
    }
    cf_mat both = {0};
    name_tensor(f, "blk.%u.ffn_up.weight", i);
    CF_TRY(need_mat(f, 2 * n_ff, n_embd, &both));
    w->gate = slice(&both, 0, n_ff);
    w->up = slice(&both, n_ff, n_ff);
    name_tensor(f, "blk.%u.ffn_up.bias", i);
    CF_TRY(opt_vec(f, 2 * n_ff, &bias));
    if (bias != NULL) {
        w->gate_bias = bias;
        w->up_bias = bias + n_ff;
    }
    return CF_OK;
}

static cf_status find_feed_forward(finder *f, uint32_t i, cf_layer_weights *w)
{
    uint32_t n_embd = f->hp->n_embd;
    name_tensor(f, "blk.%u.ffn_norm.weight", i);
    CF_TRY(need_vec(f, n_embd, &w->ffn_norm));
    CF_TRY(find_gate_up(f, i, w));
    name_tensor(f, "blk.%u.ffn_down.weight", i);
    CF_TRY(need_mat(f, n_embd, f->hp->layer[i].n_ff, &w->down));
    name_tensor(f, "blk.%u.ffn_down.bias", i);
    CF_TRY(opt_vec(f, n_embd, &w->down_bias));
    if (f->hp->arch->has_post_norm) {
        name_tensor(f, "blk.%u.post_ffw_norm.weight", i);
        CF_TRY(need_vec(f, n_embd, &w->post_ffn_norm));
    }
    return CF_OK;
}

/* ---- the whole model ---------------------------------------------------- */

/* Factors must be positive numbers: frequencies are divided by them. */
static cf_status find_rope_factors(finder *f, const char *name,
                                   const float **out)
{
    uint32_t n = f->hp->rope[CF_ROPE_GLOBAL].n_rot / 2;
    name_tensor(f, "%s", name);
    CF_TRY(opt_vec(f, n, out));
    for (uint32_t i = 0; *out != NULL && i < n; i++) {
        if (!((*out)[i] > 0.0f && (*out)[i] < 1e9f)) {
            return cf_fail(f->err, CF_EFORMAT,
                           "tensor %s: factor %u is not a positive number",
                           name, i);
        }
    }
    return CF_OK;
}

static cf_status find_outer(finder *f)
{
    cf_weights *w = f->w;
    const cf_hparams *hp = f->hp;
    name_tensor(f, "token_embd.weight");
    CF_TRY(need_mat(f, hp->n_vocab, hp->n_embd, &w->embd));
    name_tensor(f, "output_norm.weight");
    CF_TRY(need_vec(f, hp->n_embd, &w->output_norm));
    w->output = w->embd; /* tied, unless the file has a matrix of its own */
    name_tensor(f, "output.weight");
    if (cf_gguf_find_tensor(f->g, f->name) != NULL) {
        CF_TRY(need_mat(f, hp->n_vocab, hp->n_embd, &w->output));
    }
    name_tensor(f, "output.bias");
    CF_TRY(opt_vec(f, hp->n_vocab, &w->output_bias));
    CF_TRY(find_rope_factors(f, "rope_freqs.weight", &w->rope_freqs));
    CF_TRY(find_rope_factors(f, "rope_factors_long.weight", &w->rope_long));
    CF_TRY(find_rope_factors(f, "rope_factors_short.weight", &w->rope_short));
    if (hp->rope[CF_ROPE_GLOBAL].scaling == CF_ROPE_LONGROPE &&
        (w->rope_long == NULL || w->rope_short == NULL)) {
        return cf_fail(f->err, CF_EFORMAT,
                       "longrope scaling without its factor tensors");
    }
    return CF_OK;
}

static cf_status refuse_unused(const finder *f)
{
    for (size_t i = 0; i < cf_gguf_n_tensors(f->g); i++) {
        const cf_gguf_tensor *t = cf_gguf_tensor_at(f->g, i);
        if (!f->used[i]) {
            return cf_fail_at(
                f->err, CF_EUNSUPPORTED, t->file_off,
                "tensor %.*s is not part of architecture %s as confab knows it",
                t->name.n < 64 ? (int)t->name.n : 64, t->name.p,
                f->hp->arch->name);
        }
    }
    return CF_OK;
}

/* Room for every vector that is not float32, and the file's totals. */
static cf_status take_stock(finder *f)
{
    size_t n = 0;
    for (size_t i = 0; i < cf_gguf_n_tensors(f->g); i++) {
        const cf_gguf_tensor *t = cf_gguf_tensor_at(f->g, i);
        f->w->bytes += t->bytes;
        f->w->n_param += t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
        if (t->n_dim == 1 && t->type != CF_F32 && t->bytes != 0) {
            n += (size_t)t->dim[0]; /* at most 32 weights a byte of file */
        }
    }
    f->cap_owned = n;
    f->used = cf_calloc(cf_gguf_n_tensors(f->g) + 1, sizeof *f->used);
    f->w->layer = cf_calloc(f->hp->n_layer, sizeof *f->w->layer);
    f->w->owned = n != 0 ? cf_calloc(n, sizeof *f->w->owned) : NULL;
    if (f->used == NULL || f->w->layer == NULL ||
        (n != 0 && f->w->owned == NULL)) {
        return cf_fail(f->err, CF_ENOMEM, "out of memory for %u layers",
                       f->hp->n_layer);
    }
    f->w->n_layer = f->hp->n_layer;
    return CF_OK;
}

static cf_status find_all(finder *f)
{
    CF_TRY(take_stock(f));
    CF_TRY(find_outer(f));
    for (uint32_t i = 0; i < f->hp->n_layer; i++) {
        CF_TRY(find_attention(f, i, &f->w->layer[i]));
        CF_TRY(find_feed_forward(f, i, &f->w->layer[i]));
    }
    return refuse_unused(f);
}

cf_status cf_weights_init(cf_weights *out, const cf_gguf *g,
                          const cf_hparams *hp, cf_error *err)
{
    cf_weights w = {0};
    if (cf_gguf_n_tensors(g) == 0) {
        return cf_fail(err, CF_EFORMAT,
                       "the file holds no tensors, only a vocabulary");
    }
    finder f = {.g = g, .hp = hp, .w = &w, .err = err};
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
    cf_free(w->owned);
    *w = (cf_weights){0};
}
