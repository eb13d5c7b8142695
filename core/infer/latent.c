/*
 * latent.c - computes multi-head latent attention (DeepSeek-AI 2024, arXiv
 * 2405.04434), where all heads share one compressed key and value.
 *
 *   latent = norm(first n of kv_a h);  k_rot = rope(the rest of kv_a h)
 *   q = q h, or q norm(q_a h): for each head n_plain numbers, then n_rot that
 *   are rotated
 *   head j has the key (k_b[j]^T latent, k_rot) and the value v_b[j] latent
 *
 * Only latent and k_rot are cached.  Products are taken the other way round,
 *
 *   q . k = (k_b[j] q_plain) . latent + q_rot . k_rot
 *   sum of weights * values = v_b[j] (sum of weights * latent)
 *
 * for prompts as for single tokens, so that both give the same bits: every
 * head attends with n + n_rot numbers to one key, whose first n are its value
 * and cached once.
 */
#include <string.h>

#include "core/infer/pass.h"

/* One matrix for each head, from rows in[in_row] to rows out[out_row], in which
 * a head's numbers are in_head and out_head apart. */
typedef struct by_head {
    const cf_mat_stack *m;
    const float *in;
    float *out;
    size_t n_head, in_row, in_head, out_row, out_head;
} by_head;

static unsigned char *prepared_at(const cf_pass *p, const by_head *b, size_t j, size_t r)
{
    size_t bytes = p->e->k->prepared_bytes(b->m->first.type, b->m->first.n_col);
    return p->xp + (j * p->e->ws.plan.n_row + r) * bytes;
}

/* By row. */
static void prepare_heads(const cf_pass *p, const by_head *b, size_t r)
{
    const cf_mat *m = &b->m->first;
    for (size_t j = 0; j < b->n_head; j++) {
        p->e->k->prepare(prepared_at(p, b, j, r), m->type, b->in + r * b->in_row + j * b->in_head,
                         1, m->n_col);
    }
}

/* By head. */
static void multiply_heads(const cf_pass *p, const by_head *b, size_t r0, unsigned i, unsigned n)
{
    cf_range mine = cf_pass__share(b->n_head, 1, i, n);
    for (size_t j = mine.lo; j < mine.hi && r0 < p->n_row && !cf_pass__stops(p); j++) {
        cf_mat m = cf_mat_stack_at(b->m, j);
        float *out = b->out + r0 * b->out_row + j * b->out_head;
        p->e->k->matmul(out, b->out_row, &m, prepared_at(p, b, j, r0), p->n_row - r0, 0, m.n_row,
                        cf_pass__thread(p, i));
        cf_pass__scale(&m, out, b->out_row, p->n_row - r0, (cf_range){0, m.n_row});
    }
}

/* Queries and compressed keys of all rows: up and k. */
static void project(const cf_pass *p, uint32_t layer, unsigned i, unsigned n)
{
    const cf_hparams *hp = &p->e->hp;
    const cf_layer_weights *w = &p->e->w.layer[layer];
    bool is_compressed = hp->latent.n_q != 0;
    cf_range rows = cf_pass__rows(p, 0, i, n);
    cf_group first = {0};
    cf_group query = {0};
    cf_group__add(&query, &w->q, NULL, p->up);
    if (is_compressed) {
        cf_group__add(&first, &w->latent.q_a, NULL, p->gate);
    } else {
        cf_group__add(&first, &w->q, NULL, p->up);
    }
    cf_group__add(&first, &w->latent.kv_a, NULL, p->k);
    cf_pass__prepare_rows(p, &first, p->h, hp->n_embd, 0, i, n);
    cf_pass__barrier(p);
    cf_pass__multiply(p, &first, 0, i, n);
    cf_pass__barrier(p);
    for (size_t r = rows.lo; is_compressed && r < rows.hi; r++) {
        float *q = p->gate + r * hp->latent.n_q;
        p->e->k->rms_norm(q, q, w->latent.q_a_norm, hp->latent.n_q, hp->norm_eps);
        cf_pass__prepare(p, &query, q, r);
    }
    if (is_compressed) {
        cf_pass__barrier(p);
        cf_pass__multiply(p, &query, 0, i, n);
        cf_pass__barrier(p);
    }
}

static void rotate(const cf_pass *p, size_t r, float *x)
{
    cf_rope_apply(x, p->angles + r * p->e->ws.plan.n_angle, p->e->hp.latent.n_rot,
                  p->e->hp.arch->rope_style);
}

/* By row: caches (latent, k_rot) and rotates the ends of queries. */
static void finish_row(const cf_pass *p, uint32_t layer, size_t r)
{
    const cf_hparams *hp = &p->e->hp;
    const cf_latent_hparams *m = &hp->latent;
    const cf_layer_hparams *l = &hp->layer[layer];
    size_t size = m->n_plain + m->n_rot;
    float *k = p->k + r * l->head_size;
    p->e->k->rms_norm(k, k, p->e->w.layer[layer].latent.kv_a_norm, m->n, hp->norm_eps);
    rotate(p, r, k + m->n);
    cf_attention_store(p, &p->rows[r], layer, 0, k, NULL);
    for (size_t j = 0; j < l->n_head; j++) {
        float *q = p->q + (r * l->n_head + j) * l->head_size + m->n;
        memcpy(q, p->up + (r * l->n_head + j) * size + m->n_plain, m->n_rot * sizeof *q);
        rotate(p, r, q);
    }
}

void cf_latent_attention(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    const cf_hparams *hp = &p->e->hp;
    const cf_latent_hparams *m = &hp->latent;
    const cf_layer_hparams *l = &hp->layer[layer];
    const cf_layer_weights *w = &p->e->w.layer[layer];
    size_t h = l->n_head, size = m->n_plain + m->n_rot, n_out = h * m->n_value;
    by_head keys = {&w->latent.k_b, p->up, p->q, h, h * size, size, h * l->head_size, l->head_size};
    by_head values = {&w->latent.v_b, p->att, p->gate, h, h * m->n, m->n, n_out, m->n_value};
    cf_range rows = cf_pass__rows(p, 0, i, n);
    cf_group o = {0};
    cf_group__add(&o, &w->o, w->o_bias, p->h);
    project(p, layer, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        finish_row(p, layer, r);
        prepare_heads(p, &keys, r);
    }
    cf_pass__barrier(p);
    multiply_heads(p, &keys, r0, i, n);
    cf_pass__barrier(p);
    cf_attention_attend(p, layer, r0, i, n);
    cf_pass__barrier(p);
    rows = cf_pass__rows(p, r0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        prepare_heads(p, &values, r);
    }
    cf_pass__barrier(p);
    multiply_heads(p, &values, r0, i, n);
    cf_pass__barrier(p);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        cf_probe_heads(p->rows[r].probe, layer, p->rows[r].pos, p->gate + r * n_out);
        cf_pass__prepare(p, &o, p->gate + r * n_out, r);
    }
    cf_pass__barrier(p);
    cf_pass__multiply(p, &o, r0, i, n);
    cf_pass__barrier(p);
}
