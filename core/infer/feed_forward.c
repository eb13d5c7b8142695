/*
 * feed_forward.c - computes the part of a layer that looks at one position
 * only.
 *
 *   h = down * (act(gate * h) . (up * h))   (Shazeer 2020), . by element
 *
 * or experts (experts.c), or the sum of both.
 */
#include <math.h>

#include "core/infer/pass.h"

/* gate = max(gate - mean - s * deviation, 0): only the largest gates of a row
 * are left (gemma3n). */
static void sparsify(float *gate, size_t n, float s)
{
    double sum = 0;
    double squares = 0;
    for (size_t c = 0; c < n; c++) {
        sum += (double)gate[c];
    }
    double mean = sum / (double)n;
    for (size_t c = 0; c < n; c++) {
        double d = (double)gate[c] - mean;
        squares += d * d;
    }
    float floor = (float)(mean + (double)s * sqrt(squares / (double)n));
    for (size_t c = 0; c < n; c++) {
        gate[c] = gate[c] > floor ? gate[c] - floor : 0;
    }
}

/* The layer's one block, or its shared expert. */
static void block(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    const cf_layer_hparams *l = &p->e->hp.layer[layer];
    const cf_layer_weights *w = &p->e->w.layer[layer];
    size_t n_ff = l->n_ff;
    cf_group gate_up = {0};
    cf_group down = {0};
    cf_group__add(&gate_up, &w->gate, w->gate_bias, p->gate);
    cf_group__add(&gate_up, &w->up, w->up_bias, p->up);
    cf_group__add(&down, &w->down, w->down_bias, p->h);
    cf_pass__prepare_rows(p, &gate_up, p->h, p->e->hp.n_embd, r0, i, n);
    cf_pass__barrier(p);
    cf_pass__multiply(p, &gate_up, r0, i, n);
    cf_pass__barrier(p);
    cf_range rows = cf_pass__rows(p, r0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        float *gate = p->gate + r * n_ff;
        if (l->sparsity > 0) {
            sparsify(gate, n_ff, l->sparsity);
        }
        cf_pass__activate(p, layer, gate, p->up + r * n_ff, n_ff);
        cf_pass__prepare(p, &down, gate, r);
    }
    cf_pass__barrier(p);
    cf_pass__multiply(p, &down, r0, i, n);
    cf_pass__barrier(p);
}

void cf_feed_forward(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    if (!p->e->hp.layer[layer].has_experts) {
        block(p, layer, r0, i, n);
        return;
    }
    cf_experts(p, layer, r0, i, n);
    if (p->e->w.layer[layer].gate.p != NULL) {
        block(p, layer, r0, i, n);
    }
    cf_experts_add(p, layer, r0, i, n);
}
