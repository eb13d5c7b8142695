/*
 * altup.c - computes gemma3n's alternating updates over several residual
 * streams (Baykal et al. 2023) and its low-rank residual (LAuReL, Menghani et
 * al. 2024).
 *
 * With A streams s_j, of which s_a is computed on:
 *
 *   open:    s_0 = x;  s_j = P_j x, with the length of x
 *   route:   m(y) = tanh(router * norm(y) / n_embd)
 *   predict: pred_j = s_j + sum_i c[j][i] s_i,  c = predict * m(s_a)
 *   layer:   y = norm(pred_a);  laurel = y + norm(R L y)
 *            t = (pred_a + norm(attention(y)) + laurel) / sqrt(2)
 *            n = t + norm(feed_forward(norm(t)))
 *   correct: s_j = pred_j + e_j (n - pred_a),  e = 1 + correct * m(n)
 *            s_j += what the layer's own embeddings add, for j > 0
 *   close:   x = mean of s_0 and U_j s_j with the length of s_a
 *
 * x is pred_a, then t, then n; stream j of row r is at [j, r] in the workspace.
 */
#include <math.h>
#include <string.h>

#include "core/infer/pass.h"

float *cf_altup_stream(const cf_pass *p, size_t j, size_t r)
{
    size_t n_row = p->e->ws.plan.n_row;
    return (float *)cf_pass__buf(p, CF_WS_STREAMS) + (j * n_row + r) * p->e->hp.n_embd;
}

static double mean_square(const float *x, size_t n)
{
    double sum = 0;
    for (size_t c = 0; c < n; c++) {
        sum += (double)x[c] * (double)x[c];
    }
    return sum / (double)n;
}

/* out gets the length of x. */
static void match_length(float *out, const float *x, size_t n)
{
    double have = mean_square(out, n);
    float by = (float)sqrt(mean_square(x, n) / (have > 1e-5 ? have : 1e-5));
    for (size_t c = 0; c < n; c++) {
        out[c] *= by;
    }
}

void cf_altup_open(const cf_pass *p, unsigned i, unsigned n)
{
    const cf_hparams *hp = &p->e->hp;
    size_t n_embd = hp->n_embd;
    cf_range rows = cf_pass__rows(p, 0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        memcpy(cf_altup_stream(p, 0, r), p->x + r * n_embd, n_embd * sizeof(float));
    }
    for (size_t j = 1; j < hp->n_altup; j++) {
        cf_mat m = cf_mat_stack_at(&p->e->w.altup_proj, j - 1);
        cf_group g = {0};
        cf_group__add(&g, &m, NULL, cf_altup_stream(p, j, 0));
        cf_pass__prepare_rows(p, &g, p->x, n_embd, 0, i, n);
        cf_pass__barrier(p);
        cf_pass__multiply(p, &g, 0, i, n);
        cf_pass__barrier(p);
        for (size_t r = rows.lo; r < rows.hi; r++) {
            match_length(cf_altup_stream(p, j, r), p->x + r * n_embd, n_embd);
        }
    }
}

/* m(y) = tanh(router * norm(y) / n_embd), by thread i; paper [n_embd]. */
static void modalities(const cf_pass *p, const cf_altup_weights *w, const float *y, float *paper,
                       float *out, unsigned i)
{
    size_t n_embd = p->e->hp.n_embd;
    cf_pass__norm(p, w->router_norm, y, paper);
    for (size_t c = 0; c < n_embd; c++) {
        paper[c] /= (float)n_embd;
    }
    cf_pass__times(p, &w->router, paper, out, i);
    p->e->k->soft_cap(out, p->e->hp.n_altup, 1.0f);
}

/* out[n] = m[n, n_altup] * modality */
static void coefficients(const float *m, const float *modality, size_t n, size_t n_altup,
                         float *out)
{
    for (size_t k = 0; k < n; k++) {
        out[k] = 0;
        for (size_t j = 0; j < n_altup; j++) {
            out[k] += m[k * n_altup + j] * modality[j];
        }
    }
}

/* By row: the streams become their predictions; x the active one's. */
static void predict_row(const cf_pass *p, uint32_t layer, size_t r, unsigned i)
{
    const cf_altup_weights *w = &p->e->w.layer[layer].altup;
    const cf_hparams *hp = &p->e->hp;
    size_t n = hp->n_altup;
    size_t n_embd = hp->n_embd;
    float m[CF_ALTUP_MAX] = {0};
    float c[CF_ALTUP_MAX * CF_ALTUP_MAX] = {0};
    modalities(p, w, cf_altup_stream(p, hp->altup_active, r), p->h + r * n_embd, m, i);
    coefficients(w->predict, m, n * n, n, c);
    cf_probe_mixing(p->rows[r].probe, layer, p->rows[r].pos, c, NULL);
    for (size_t e = 0; e < n_embd; e++) {
        float s[CF_ALTUP_MAX];
        for (size_t k = 0; k < n; k++) {
            s[k] = cf_altup_stream(p, k, r)[e];
        }
        for (size_t j = 0; j < n; j++) {
            float sum = s[j];
            for (size_t k = 0; k < n; k++) {
                sum += c[j * n + k] * s[k];
            }
            cf_altup_stream(p, j, r)[e] = sum;
        }
    }
    memcpy(p->x + r * n_embd, cf_altup_stream(p, hp->altup_active, r), n_embd * sizeof(float));
}

/* By row: the layer's output for the active stream corrects all streams. */
static void correct_row(const cf_pass *p, uint32_t layer, size_t r, unsigned i)
{
    const cf_altup_weights *w = &p->e->w.layer[layer].altup;
    const cf_hparams *hp = &p->e->hp;
    size_t n_embd = hp->n_embd;
    float m[CF_ALTUP_MAX] = {0};
    float e[CF_ALTUP_MAX];
    float *x = p->x + r * n_embd;
    float *change = p->h + r * n_embd; /* n - pred_a */
    modalities(p, w, x, change, m, i);
    coefficients(w->correct, m, hp->n_altup, hp->n_altup, e);
    cf_probe_mixing(p->rows[r].probe, layer, p->rows[r].pos, NULL, e);
    const float *pred = cf_altup_stream(p, hp->altup_active, r);
    for (size_t c = 0; c < n_embd; c++) {
        change[c] = x[c] - pred[c];
    }
    for (size_t j = 0; j < hp->n_altup; j++) {
        float *s = cf_altup_stream(p, j, r);
        for (size_t c = 0; c < n_embd; c++) {
            s[c] += (1 + e[j]) * change[c];
        }
    }
    for (size_t c = 0; c < n_embd; c++) { /* what the embeddings' gate reads */
        x[c] = cf_altup_stream(p, hp->altup_active, r)[c] * w->scale[c];
    }
}

/* laurel = y + norm(R L y), with y in h, for rows from r0 on. */
static void low_rank(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    const cf_altup_weights *w = &p->e->w.layer[layer].altup;
    size_t n_embd = p->e->hp.n_embd;
    float *laurel = cf_pass__buf(p, CF_WS_SIDE);
    cf_group left = {0};
    cf_group right = {0};
    cf_group__add(&left, &w->laurel_l, NULL, p->gate);
    cf_group__add(&right, &w->laurel_r, NULL, laurel);
    cf_range rows = cf_pass__rows(p, r0, i, n);
    cf_pass__barrier(p); /* h of rows from 0 on was written by another rule */
    cf_pass__prepare_rows(p, &left, p->h, n_embd, r0, i, n);
    cf_pass__barrier(p);
    cf_pass__multiply(p, &left, r0, i, n);
    cf_pass__barrier(p);
    cf_pass__prepare_rows(p, &right, p->gate, w->laurel_l.n_row, r0, i, n);
    cf_pass__barrier(p);
    cf_pass__multiply(p, &right, r0, i, n);
    cf_pass__barrier(p);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        float *to = laurel + r * n_embd;
        cf_pass__norm(p, w->laurel_norm, to, to);
        p->e->k->add(to, p->h + r * n_embd, n_embd);
        cf_probe_part(p->rows[r].probe, layer, p->rows[r].pos, CF_LAYER_PART_LOW_RANK, to);
    }
    cf_pass__barrier(p);
}

/* By row: x = (x + norm(h) + laurel) / sqrt(2);  h = norm(x). */
static void join_row(const cf_pass *p, const cf_layer_weights *w, size_t r)
{
    size_t n_embd = p->e->hp.n_embd;
    const float *laurel = (const float *)cf_pass__buf(p, CF_WS_SIDE) + r * n_embd;
    float *x = p->x + r * n_embd;
    float *h = p->h + r * n_embd;
    float half = (float)(1 / sqrt(2.0));
    cf_pass__norm(p, w->post_attn_norm, h, h);
    for (size_t c = 0; c < n_embd; c++) {
        x[c] = (x[c] + h[c] + laurel[c]) * half;
    }
    cf_pass__norm(p, w->ffn_norm, x, h);
}

void cf_altup_layer(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    const cf_layer_weights *w = &p->e->w.layer[layer];
    size_t n_embd = p->e->hp.n_embd;
    cf_range all = cf_pass__rows(p, 0, i, n);
    cf_range rows = cf_pass__rows(p, r0, i, n);
    for (size_t r = all.lo; r < all.hi; r++) {
        predict_row(p, layer, r, i);
        cf_pass__norm(p, w->attn_norm, p->x + r * n_embd, p->h + r * n_embd);
    }
    low_rank(p, layer, r0, i, n);
    cf_attention(p, layer, r0, i, n);
    cf_pass__show_part(p, layer, CF_LAYER_PART_ATTENTION, r0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        join_row(p, w, r);
    }
    cf_feed_forward(p, layer, r0, i, n);
    cf_pass__show_part(p, layer, CF_LAYER_PART_MLP, r0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        float *h = p->h + r * n_embd;
        cf_pass__norm(p, w->post_ffn_norm, h, h);
        p->e->k->add(p->x + r * n_embd, h, n_embd);
        correct_row(p, layer, r, i);
    }
    cf_per_layer(p, layer, p->x, r0, i, n);
    cf_pass__show_part(p, layer, CF_LAYER_PART_PER_LAYER, r0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        float *h = p->h + r * n_embd;
        cf_pass__norm(p, w->per_layer_norm, h, h);
        for (size_t j = 1; j < p->e->hp.n_altup; j++) {
            p->e->k->add(cf_altup_stream(p, j, r), h, n_embd);
        }
    }
}

void cf_altup_close(const cf_pass *p, size_t r0, unsigned i, unsigned n)
{
    const cf_hparams *hp = &p->e->hp;
    size_t n_embd = hp->n_embd;
    cf_range rows = cf_pass__rows(p, r0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        memcpy(p->x + r * n_embd, cf_altup_stream(p, 0, r), n_embd * sizeof(float));
    }
    for (size_t j = 1; j < hp->n_altup; j++) {
        cf_mat m = cf_mat_stack_at(&p->e->w.altup_unproj, j - 1);
        cf_group g = {0};
        cf_group__add(&g, &m, NULL, p->h);
        cf_pass__prepare_rows(p, &g, cf_altup_stream(p, j, 0), n_embd, r0, i, n);
        cf_pass__barrier(p);
        cf_pass__multiply(p, &g, r0, i, n);
        cf_pass__barrier(p);
        for (size_t r = rows.lo; r < rows.hi; r++) {
            float *h = p->h + r * n_embd;
            match_length(h, cf_altup_stream(p, hp->altup_active, r), n_embd);
            p->e->k->add(p->x + r * n_embd, h, n_embd);
        }
    }
    for (size_t r = rows.lo; r < rows.hi; r++) {
        for (size_t c = 0; c < n_embd; c++) {
            p->x[r * n_embd + c] /= (float)hp->n_altup;
        }
    }
}
