/*
 * attention.c - computes softmax attention over a timeline's cached keys and
 * values.
 *
 *   att = softmax(scale * q . k over the positions seen) * v   (Vaswani et al.
 *   2017; query heads share key/value heads, Ainslie et al. 2023)
 *
 * with q, k normalised by head or by row (olmo2), rotated; v normalised without
 * weights (gemma4); a sink in the softmax (gpt-oss); the output gated by
 * sigmoid(gate) (Qwen3-Next; Qiu et al. 2025).
 */
#include <math.h>
#include <string.h>

#include "core/infer/pass.h"
#include "core/kernel/cached.h"

/* Floats from a query head to the next: a gate may follow each. */
static size_t q_step(const cf_pass *p, const cf_layer_hparams *l)
{
    size_t n = l->head_size;
    return p->e->hp.arch->has_q_gate ? 2 * n : n;
}

/* ---- queries, keys, values ---------------------------------------------- */

void cf_attention_store(const cf_pass *p, const cf_row *row, uint32_t layer, uint32_t head,
                        const float *k, const float *v)
{
    const cf_layer_hparams *l = &p->e->hp.layer[layer];
    cf_dtype type = row->kv->layout->type;
    uint32_t page = row->pos / CF_KV_BLOCK;
    size_t at = row->pos % CF_KV_BLOCK;
    void *values = cf_kv_values(row->kv, page, layer, head);
    cf_cached_put_key(p->e->k, type, cf_kv_keys(row->kv, page, layer, head), at, k, l->head_size);
    if (values != NULL) {
        cf_cached_put_value(p->e->k, type, values, at, v, l->head_size_v);
    }
}

/* Norm of a query or key head (families with qk-norm) and its rotation. */
static void finish_head(const cf_pass *p, uint32_t layer, size_t r, const float *norm, float *head)
{
    const cf_engine *e = p->e;
    const cf_layer_hparams *l = &e->hp.layer[layer];
    bool has_norm = norm != NULL && !e->hp.arch->has_row_qk_norm;
    if (has_norm && !e->hp.arch->has_late_qk_norm) {
        e->k->rms_norm(head, head, norm, l->head_size, e->hp.norm_eps);
    }
    if (l->has_rope) {
        size_t row = (size_t)l->rope_set * e->ws.plan.n_row + r;
        cf_rope_apply(head, p->angles + row * e->ws.plan.n_angle, e->hp.rope[l->rope_set].n_rot,
                      e->hp.arch->rope_style);
    }
    if (has_norm && e->hp.arch->has_late_qk_norm) {
        e->k->rms_norm(head, head, norm, l->head_size, e->hp.norm_eps);
    }
}

/* A query, after its rotation, times 1 + b ln(1 + floor(position / context))
 * (Ministral 3). */
static void warm_up(const cf_pass *p, const cf_layer_hparams *l, size_t r, float *q)
{
    const cf_hparams *hp = &p->e->hp;
    uint32_t n_ctx = hp->rope[CF_ROPE_GLOBAL].n_ctx_orig;
    if (hp->temperature == 0) {
        return;
    }
    double turns = floor((double)p->rows[r].pos / (double)n_ctx);
    float a = (float)(1 + hp->temperature * log(1 + turns));
    for (size_t c = 0; c < l->head_size; c++) {
        q[c] *= a;
    }
}

/* A key/value head of row r: normalised, rotated, cached.  Where the layer has
 * no matrix for values, keys serve before either. */
static void finish_kv(const cf_pass *p, uint32_t layer, size_t r, uint32_t head)
{
    const cf_engine *e = p->e;
    const cf_layer_hparams *l = &e->hp.layer[layer];
    const cf_layer_weights *w = &e->w.layer[layer];
    float *k = p->k + (r * l->n_head_kv + head) * l->head_size;
    float *v = p->v + (r * l->n_head_kv + head) * l->head_size_v;
    if (w->v.p == NULL) {
        memcpy(v, k, l->head_size * sizeof *v);
    }
    if (e->hp.arch->has_v_norm) {
        e->k->rms_norm(v, v, NULL, l->head_size_v, e->hp.norm_eps);
    }
    finish_head(p, layer, r, w->k_norm, k);
    if (!e->hp.arch->is_encoder) { /* it has all of them in this pass */
        cf_attention_store(p, &p->rows[r], layer, head, k, v);
    }
}

/* By head: the share of (row, key/value head) pairs; pair u is part u % n's,
 * so that later rows, which look at more positions, are spread evenly. */
static void rotate_and_store(const cf_pass *p, uint32_t layer, unsigned i, unsigned n)
{
    const cf_layer_hparams *l = &p->e->hp.layer[layer];
    const cf_layer_weights *w = &p->e->w.layer[layer];
    size_t group_size = l->n_head / l->n_head_kv;
    for (size_t u = i; u < p->n_row * l->n_head_kv; u += n) {
        size_t r = u / l->n_head_kv;
        uint32_t head = (uint32_t)(u % l->n_head_kv);
        if (l->kv_layer == layer) {
            finish_kv(p, layer, r, head);
        }
        float *q = p->q + (r * l->n_head + head * group_size) * q_step(p, l);
        for (size_t j = 0; j < group_size; j++, q += q_step(p, l)) {
            finish_head(p, layer, r, w->q_norm, q);
            warm_up(p, l, r, q);
        }
    }
}

/* By row: norms over all heads at once (olmo2). */
static void norm_rows(const cf_pass *p, uint32_t layer, unsigned i, unsigned n)
{
    const cf_layer_weights *w = &p->e->w.layer[layer];
    cf_range rows = cf_pass__rows(p, 0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        float *q = p->q + r * w->q.n_row;
        float *k = p->k + r * w->k.n_row;
        cf_pass__norm_n(p, w->q_norm, q, q, w->q.n_row);
        cf_pass__norm_n(p, w->k_norm, k, k, w->k.n_row);
    }
}

/* ---- attention ---------------------------------------------------------- */

/* Whether the row is in a block whose positions see each other. */
static bool is_in_block(const cf_layer_hparams *l, const cf_row *row)
{
    return l->sees_blocks && row->see_end > row->pos;
}

/* The last position that a row sees. */
static uint32_t last_seen(const cf_layer_hparams *l, const cf_row *row)
{
    return is_in_block(l, row) ? row->see_end - 1 : row->pos;
}

/* The first position that row r sees: the window's, or its block's where that
 * begins before the window. */
static uint32_t first_seen(const cf_pass *p, const cf_layer_hparams *l, size_t r)
{
    const cf_row *row = &p->rows[r];
    uint32_t first = l->window != 0 && row->pos >= l->window ? row->pos - l->window + 1 : 0;
    while (is_in_block(l, row) && r > 0 && row[-1].kv == row->kv &&
           row[-1].see_end == row->see_end) {
        row--;
        r--;
    }
    return row->pos < first ? row->pos : first;
}

/* Query heads that share a key/value head, or some of them. */
typedef struct heads {
    uint32_t kv;       /* the key/value head */
    uint32_t first, n; /* query heads of the layer */
} heads;

/* For rows r .. r + n_row - 1, which are at consecutive positions of one
 * cache. */
static void attend_run(const cf_pass *p, uint32_t layer, size_t r, size_t n_row, heads h,
                       unsigned char *scratch)
{
    const cf_hparams *hp = &p->e->hp;
    const cf_layer_hparams *l = &hp->layer[layer];
    const cf_ws_plan *plan = &p->e->ws.plan;
    const float *sinks = p->e->w.layer[layer].sinks;
    const cf_row *row = &p->rows[r];
    const void **k_block = (const void **)(void *)(scratch + plan->k_off);
    const void **v_block = (const void **)(void *)(scratch + plan->v_off);
    uint32_t last = last_seen(l, row);
    uint32_t first = first_seen(p, l, r);
    uint32_t last_block = (last + (uint32_t)n_row - 1) / CF_KV_BLOCK;
    for (uint32_t b = first / CF_KV_BLOCK; b <= last_block; b++) {
        k_block[b] = cf_kv_keys(row->kv, b, layer, h.kv);
        v_block[b] = cf_kv_values(row->kv, b, layer, h.kv);
    }
    size_t q0 = r * l->n_head + h.first;
    cf_attn a = {.out = p->att + q0 * l->head_size_v,
                 .q = p->q + q0 * q_step(p, l),
                 .n_q = h.n,
                 .q_stride = q_step(p, l),
                 .out_stride = l->head_size_v,
                 .n_row = n_row,
                 .q_row = l->n_head * q_step(p, l),
                 .out_row = (size_t)l->n_head * l->head_size_v,
                 .window = is_in_block(l, row) ? 0 : l->window,
                 .k_block = k_block,
                 .v_block = row->kv->layout->has_values ? v_block : NULL,
                 .first = first,
                 .last = last,
                 .at = row->pos,
                 .head_size = l->head_size,
                 .head_size_v = l->head_size_v,
                 .type = row->kv->layout->type,
                 .scale = l->attn_scale,
                 .soft_cap = hp->attn_soft_cap,
                 .sinks = sinks != NULL ? sinks + h.first : NULL,
                 .scratch = (float *)(void *)(scratch + plan->attn_off)};
    a.hide = cf_probe_hidden(row->probe, layer, &a.n_hide);
    p->e->k->attend(&a);
    for (size_t j = 0; p->is_probed && j < n_row; j++) {
        cf_attn one = cf_attn_row(&a, j);
        cf_probe_weights(row[j].probe, layer, row[j].pos, h.first, &one);
    }
}

/* How many rows from r to at most `end` follow each other in one cache, each
 * seeing one position more than the one before. */
static size_t run_length(const cf_pass *p, const cf_layer_hparams *l, size_t r, size_t end)
{
    const cf_row *row = &p->rows[r];
    size_t n = 1;
    while (r + n < end && row[n].kv == row->kv && row[n].pos == row->pos + n &&
           !is_in_block(l, row) && !is_in_block(l, row + n)) {
        n++;
    }
    return n;
}

/* How the work is divided: into groups of rows, and each of them into parts of
 * the query heads, a key/value head's or fewer.  Large parts read a cache block
 * for many queries; there are at least a few for each thread where possible. */
typedef struct division {
    size_t n_row;         /* of a group */
    uint32_t n_part, n_q; /* parts of a key/value head, query heads of one */
} division;

static division divide(const cf_layer_hparams *l, size_t n_row, unsigned n)
{
    uint32_t group_size = l->n_head / l->n_head_kv;
    division d = {CF_ATTN_QUERIES / group_size, 1, group_size};
    size_t want = n > 1 ? 4 * (size_t)n : 1;
    d.n_row = d.n_row < 1 ? 1 : d.n_row;
    while (d.n_row > 4 && (n_row + d.n_row - 1) / d.n_row * l->n_head_kv < want) {
        d.n_row /= 2;
    }
    while (d.n_q % 2 == 0 && (n_row + d.n_row - 1) / d.n_row * l->n_head_kv * d.n_part < n) {
        d.n_q /= 2;
        d.n_part *= 2;
    }
    return d;
}

/* Unit u is part u % n's, so that later rows, which look at more positions, are
 * spread evenly. */
void cf_attention_attend(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    const cf_layer_hparams *l = &p->e->hp.layer[layer];
    division d = divide(l, p->n_row - r0, n);
    size_t n_part = (size_t)l->n_head_kv * d.n_part;
    size_t n_group = (p->n_row - r0 + d.n_row - 1) / d.n_row;
    for (size_t u = i; u < n_group * n_part && !cf_pass__stops(p); u += n) {
        size_t r = r0 + u / n_part * d.n_row, end = r + d.n_row;
        uint32_t part = (uint32_t)(u % n_part);
        heads h = {part / d.n_part, part * d.n_q, d.n_q};
        end = end < p->n_row ? end : p->n_row;
        while (r < end) {
            size_t n_run = run_length(p, l, r, end);
            attend_run(p, layer, r, n_run, h, cf_pass__thread(p, i));
            r += n_run;
        }
    }
}

/* att of a row, a head after the other, times sigmoid(gate), where the family
 * has one. */
static void gate_row(const cf_pass *p, const cf_layer_hparams *l, size_t r)
{
    const cf_arch *arch = p->e->hp.arch;
    size_t n_att = (size_t)l->n_head * l->head_size_v;
    float *att = p->att + r * n_att;
    const float *q = p->q + r * l->n_head * q_step(p, l);
    if (arch->has_attn_gate) {
        p->e->k->recurrent->sigmoid_mul(att, att, p->gate + r * n_att, n_att);
    }
    for (uint32_t j = 0; arch->has_q_gate && j < l->n_head; j++) {
        p->e->k->recurrent->sigmoid_mul(att, att, q + l->head_size, l->head_size_v);
        att += l->head_size_v;
        q += q_step(p, l);
    }
}

/* h = o * attention(rope(norm(q * h)), rope(norm(k * h)), v * h), for rows r0
 * and later; keys and values of all rows are cached. */
void cf_attention(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    const cf_hparams *hp = &p->e->hp;
    const cf_layer_hparams *l = &hp->layer[layer];
    const cf_layer_weights *w = &p->e->w.layer[layer];
    size_t n_att = (size_t)l->n_head * l->head_size_v;
    cf_group qkv = {0};
    cf_group o = {0};
    cf_group__add(&qkv, &w->q, w->q_bias, p->q);
    cf_group__add(&qkv, &w->k, w->k_bias, p->k);
    cf_group__add(&qkv, &w->v, w->v_bias, p->v);
    cf_group__add(&qkv, &w->attn_gate, NULL, p->gate);
    cf_group__add(&o, &w->o, w->o_bias, p->h);
    cf_pass__prepare_rows(p, &qkv, p->h, hp->n_embd, 0, i, n);
    cf_pass__barrier(p);
    cf_pass__multiply(p, &qkv, 0, i, n);
    cf_pass__barrier(p);
    if (hp->arch->has_row_qk_norm && w->q_norm != NULL) {
        norm_rows(p, layer, i, n);
        cf_pass__barrier(p);
    }
    rotate_and_store(p, layer, i, n);
    cf_pass__barrier(p);
    if (hp->arch->is_encoder) {
        cf_attention_encoder(p, layer, r0, i, n);
    } else {
        cf_attention_attend(p, layer, r0, i, n);
    }
    cf_pass__barrier(p);
    cf_range rows = cf_pass__rows(p, r0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        gate_row(p, l, r);
        cf_probe_heads(p->rows[r].probe, layer, p->rows[r].pos, p->att + r * n_att);
        cf_pass__prepare(p, &o, p->att + r * n_att, r);
    }
    cf_pass__barrier(p);
    cf_pass__multiply(p, &o, r0, i, n);
    cf_pass__barrier(p);
}
