/*
 * per_layer.c - adds the embeddings that each layer has of its own (Gemma 3n,
 * Gemma 4).
 *
 * With P = n_per_layer and x the residual stream before the first layer:
 *
 *   e = sqrt(P) * a row of per_layer_embd                     [n_layer, P]
 *   c = norm over P of (per_layer_model_proj * x / sqrt(n_embd))
 *   row_l = (c_l + e_l) / sqrt(2)
 *
 * and in layer l:  x += norm(proj * (gelu(gate * in) . row_l))
 */
#include <math.h>

#include "core/infer/pass.h"

/* By row: c becomes (norm(c / sqrt(n_embd)) + e) / sqrt(2). */
static void finish_row(const cf_pass *p, size_t r)
{
    const cf_engine *e = p->e;
    const cf_hparams *hp = &e->hp;
    const cf_mat *table = &e->w.per_layer_embd;
    size_t n = hp->n_per_layer;
    size_t all = n * hp->n_layer;
    float *c = (float *)cf_pass__buf(p, CF_WS_PER_LAYER) + r * all;
    float *own = (float *)cf_pass__buf(p, CF_WS_PER_LAYER_EMBD) + r * all;
    float by = (float)(1 / sqrt((double)hp->n_embd));
    float root = (float)sqrt((double)n);
    float half = (float)(1 / sqrt(2.0));
    /* A row of embeddings has those of token 0, the padding. */
    size_t id = p->rows[r].embd != NULL ? 0 : (size_t)p->rows[r].id;
    cf_dtype_to_f32(table->type, own, (const unsigned char *)table->p + id * table->row_bytes, all);
    for (size_t j = 0; j < all; j++) {
        c[j] *= by;
    }
    for (size_t l = 0; l < all; l += n) {
        e->k->rms_norm(c + l, c + l, e->w.per_layer_norm, n, hp->norm_eps);
    }
    for (size_t j = 0; j < all; j++) {
        c[j] = (c[j] + own[j] * root) * half;
    }
}

void cf_per_layer_inputs(const cf_pass *p, unsigned i, unsigned n)
{
    cf_group g = {0};
    cf_range rows = cf_pass__rows(p, 0, i, n);
    cf_group__add(&g, &p->e->w.per_layer_model_proj, NULL, cf_pass__buf(p, CF_WS_PER_LAYER));
    cf_pass__prepare_rows(p, &g, p->x, p->e->hp.n_embd, 0, i, n);
    cf_pass__barrier(p);
    cf_pass__multiply(p, &g, 0, i, n);
    cf_pass__barrier(p);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        finish_row(p, r);
    }
}

/* h = proj * (gelu(gate * in) . row_l); `in` [rows of the pass, n_embd] was
 * written by row. */
void cf_per_layer(const cf_pass *p, uint32_t layer, const float *in, size_t r0, unsigned i,
                  unsigned n)
{
    const cf_hparams *hp = &p->e->hp;
    const cf_layer_weights *w = &p->e->w.layer[layer];
    const float *inputs = cf_pass__buf(p, CF_WS_PER_LAYER);
    size_t n_own = hp->n_per_layer;
    cf_group gate = {0};
    cf_group proj = {0};
    cf_range rows = cf_pass__rows(p, r0, i, n);
    cf_group__add(&gate, &w->per_layer_gate, NULL, p->gate);
    cf_group__add(&proj, &w->per_layer_proj, NULL, p->h);
    cf_pass__prepare_rows(p, &gate, in, hp->n_embd, r0, i, n);
    cf_pass__barrier(p);
    cf_pass__multiply(p, &gate, r0, i, n);
    cf_pass__barrier(p);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        float *g = p->gate + r * n_own;
        cf_pass__activate(p, layer, g, inputs + (r * hp->n_layer + layer) * n_own, n_own);
        cf_pass__prepare(p, &proj, g, r);
    }
    cf_pass__barrier(p);
    cf_pass__multiply(p, &proj, r0, i, n);
    cf_pass__barrier(p);
}
