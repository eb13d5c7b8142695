/*
 * pass.c - implements the steps that the parts of a forward pass share.
 */
#include "core/infer/pass.h"

#include <string.h>

enum { PIECE = 1 << 29 }; /* multiplications */

cf_range cf_pass__share(size_t n, size_t multiple, unsigned i, unsigned n_part)
{
    size_t n_unit = (n + multiple - 1) / multiple;
    size_t lo = n_unit * i / n_part * multiple;
    size_t hi = n_unit * (i + 1) / n_part * multiple;
    return (cf_range){lo < n ? lo : n, hi < n ? hi : n};
}

cf_range cf_pass__rows(const cf_pass *p, size_t r0, unsigned i, unsigned n)
{
    cf_range rows = cf_pass__share(p->n_row - r0, 1, i, n);
    return (cf_range){r0 + rows.lo, r0 + rows.hi};
}

void cf_pass__init(cf_pass *p, cf_engine *e, const cf_row *rows, size_t n_row, size_t first_out)
{
    *p = (cf_pass){.e = e, .rows = rows, .n_row = n_row, .first_out = first_out};
    for (size_t r = 0; rows != NULL && r < n_row && !p->is_probed; r++) {
        p->is_probed = rows[r].probe != NULL;
    }
    p->x = cf_pass__buf(p, CF_WS_X);
    p->h = cf_pass__buf(p, CF_WS_H);
    p->q = cf_pass__buf(p, CF_WS_Q);
    p->k = cf_pass__buf(p, CF_WS_K);
    p->v = cf_pass__buf(p, CF_WS_V);
    p->att = cf_pass__buf(p, CF_WS_ATT);
    p->gate = cf_pass__buf(p, CF_WS_GATE);
    p->up = cf_pass__buf(p, CF_WS_UP);
    p->xp = cf_pass__buf(p, CF_WS_XP);
    p->angles = cf_pass__buf(p, CF_WS_ANGLES);
}

unsigned char *cf_pass__thread(const cf_pass *p, unsigned i)
{
    return (unsigned char *)cf_pass__buf(p, CF_WS_THREAD) + i * p->e->ws.plan.thread_bytes;
}

/* ---- matrices ----------------------------------------------------------- */

void cf_group__add(cf_group *g, const cf_mat *m, const float *bias, float *y)
{
    if (m->p == NULL) {
        return;
    }
    CF_ASSERT(g->n < CF_GROUP_MAX);
    g->m[g->n] = m;
    g->bias[g->n] = bias;
    g->y[g->n++] = y;
}

/* What adapters made of row r's input for matrix j of a group. */
static float *lora_at(const cf_pass *p, size_t j, size_t r)
{
    return p->lora + (j * p->n_row + r) * p->lora_stride;
}

void cf_pass__prepare(const cf_pass *p, const cf_group *g, const float *in, size_t r)
{
    const cf_kernels *k = p->e->k;
    size_t off[CF_GROUP_MAX];
    cf_ws_prepared(off, k, g->m, g->n, p->e->ws.plan.n_row);
    for (size_t j = 0; j < g->n; j++) {
        const cf_mat *m = g->m[j];
        size_t bytes = k->prepared_bytes(m->type, m->n_col);
        if (j == 0 || off[j] > off[j - 1]) {
            k->prepare(p->xp + off[j] + r * bytes, m->type, in, 1, m->n_col);
        }
        if (p->lora != NULL && p->rows[r].lora != NULL) {
            cf_lora_in(p->rows[r].lora, m, in, lora_at(p, j, r));
        }
    }
}

void cf_pass__prepare_rows(const cf_pass *p, const cf_group *g, const float *in, size_t stride,
                           size_t r0, unsigned i, unsigned n)
{
    cf_range rows = cf_pass__rows(p, r0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        cf_pass__prepare(p, g, in + r * stride, r);
    }
}

/* Outputs that are computed between two looks at the cancel flag: some ten
 * milliseconds of work, and all of them for a few rows. */
static size_t piece_of(const cf_mat *m, size_t n_x, size_t multiple)
{
    size_t n = PIECE / (n_x * m->n_col + 1) / multiple * multiple;
    return n > multiple ? n : multiple;
}

void cf_pass__scale(const cf_mat *m, float *y, size_t stride, size_t n_x, cf_range out)
{
    for (size_t r = 0; m->by != 0 && r < n_x; r++) {
        for (size_t c = out.lo; c < out.hi; c++) {
            y[r * stride + c] *= m->by;
        }
    }
}

void cf_pass__multiply_one(const cf_pass *p, const cf_product *job, unsigned i, unsigned n)
{
    const cf_kernels *k = p->e->k;
    const cf_mat *m = job->m;
    cf_range out = cf_pass__share(m->n_row, k->row_multiple, i, n);
    if (job->n_x == 0 || out.lo == out.hi) {
        return;
    }
    const size_t piece = piece_of(m, job->n_x, k->row_multiple);
    for (size_t lo = out.lo; lo < out.hi && !cf_pass__stops(p); lo += piece) {
        size_t hi = out.hi - lo > piece ? lo + piece : out.hi;
        k->matmul(job->y, m->n_row, m, job->xp, job->n_x, lo, hi, cf_pass__thread(p, i));
    }
    cf_pass__scale(m, job->y, m->n_row, job->n_x, out);
    for (size_t r = 0; job->bias != NULL && r < job->n_x; r++) {
        k->add(job->y + r * m->n_row + out.lo, job->bias + out.lo, out.hi - out.lo);
    }
}

void cf_pass__multiply(const cf_pass *p, const cf_group *g, size_t r0, unsigned i, unsigned n)
{
    size_t off[CF_GROUP_MAX];
    cf_ws_prepared(off, p->e->k, g->m, g->n, p->e->ws.plan.n_row);
    for (size_t j = 0; j < g->n; j++) {
        const cf_mat *m = g->m[j];
        size_t bytes = p->e->k->prepared_bytes(m->type, m->n_col);
        cf_product job = {m, g->bias[j], g->y[j] + r0 * m->n_row, p->xp + off[j] + r0 * bytes,
                          p->n_row - r0};
        cf_pass__multiply_one(p, &job, i, n);
        cf_range out = cf_pass__share(m->n_row, p->e->k->row_multiple, i, n);
        for (size_t r = r0; p->lora != NULL && r < p->n_row; r++) {
            if (p->rows[r].lora != NULL) {
                cf_lora_out(p->rows[r].lora, m, lora_at(p, j, r), g->y[j] + r * m->n_row, out.lo,
                            out.hi);
            }
        }
    }
}

void cf_pass__times(const cf_pass *p, const cf_mat *m, const float *in, float *out, unsigned i)
{
    const cf_kernels *k = p->e->k;
    unsigned char *own = cf_pass__thread(p, i);
    unsigned char *xp = own + p->e->ws.plan.own_off;
    k->prepare(xp, m->type, in, 1, m->n_col);
    k->matmul(out, m->n_row, m, xp, 1, 0, m->n_row, own);
    cf_pass__scale(m, out, m->n_row, 1, (cf_range){0, m->n_row});
}

/* ---- probes -------------------------------------------------------------- */

void cf_pass__show_streams(const cf_pass *p, uint32_t l, size_t r0, unsigned i, unsigned n)
{
    float *x[CF_ALTUP_MAX];
    cf_range rows = cf_pass__rows(p, r0, i, n);
    size_t n_stream = p->e->hp.n_altup != 0 ? p->e->hp.n_altup : 1;
    for (size_t r = rows.lo; p->is_probed && r < rows.hi; r++) {
        for (size_t j = 0; j < n_stream; j++) {
            x[j] = p->e->hp.n_altup != 0 ? cf_altup_stream(p, j, r) : p->x + r * p->e->hp.n_embd;
        }
        cf_probe_stream(p->rows[r].probe, l, p->rows[r].pos, x, n_stream);
    }
}

void cf_pass__show_part(const cf_pass *p, uint32_t layer, cf_layer_part kind, size_t r0, unsigned i,
                        unsigned n)
{
    cf_range rows = cf_pass__rows(p, r0, i, n);
    for (size_t r = rows.lo; p->is_probed && r < rows.hi; r++) {
        cf_probe_part(p->rows[r].probe, layer, p->rows[r].pos, kind, p->h + r * p->e->hp.n_embd);
    }
}

/* ---- by row ------------------------------------------------------------- */

/* out = x - mean of x, which leaves RMSNorm to make LayerNorm of it (Ba, Kiros
 * and Hinton 2016). */
static const float *centre(float *out, const float *x, size_t n)
{
    double sum = 0;
    for (size_t c = 0; c < n; c++) {
        sum += (double)x[c];
    }
    float mean = (float)(sum / (double)n);
    for (size_t c = 0; c < n; c++) {
        out[c] = x[c] - mean;
    }
    return out;
}

void cf_pass__norm_n(const cf_pass *p, const float *w, const float *x, float *out, size_t n)
{
    const cf_arch *arch = p->e->hp.arch;
    if (arch->has_layer_norm) {
        x = centre(out, x, n);
    }
    p->e->k->rms_norm(out, x, w, n, p->e->hp.norm_eps);
    if (arch->has_norm_bias) {
        p->e->k->add(out, w + n, n);
    }
}

void cf_pass__norm(const cf_pass *p, const float *w, const float *x, float *out)
{
    size_t n_embd = p->e->hp.n_embd;
    if (w != NULL) {
        cf_pass__norm_n(p, w, x, out, n_embd);
    } else if (out != x) {
        memcpy(out, x, n_embd * sizeof *x);
    }
}

void cf_pass__activate(const cf_pass *p, uint32_t layer, float *gate, const float *up, size_t n)
{
    const cf_kernels *k = p->e->k;
    switch (p->e->hp.act) {
    case CF_ACT_SILU:
        k->silu_mul(gate, gate, up, n);
        break;
    case CF_ACT_GELU:
        k->gelu_mul(gate, gate, up, n);
        break;
    case CF_ACT_CLAMPED_GLU:
        k->recurrent->clamped_glu(gate, gate, up, n);
        break;
    case CF_ACT_RELU:
        k->recurrent->relu_mul(gate, gate, up, n);
        break;
    case CF_ACT_GELU_ERF:
        k->encoder->gelu_erf(gate, n);
        for (size_t c = 0; c < n; c++) {
            gate[c] *= up[c];
        }
        break;
    case CF_ACT_GELU_ERF_PLAIN:
        k->encoder->gelu_erf(gate, n);
        break;
    case CF_ACT_RELU2:
        k->recurrent->relu2(gate, n);
        break;
    case CF_ACT_XIELU:
        k->recurrent->xielu(gate, &p->e->hp.layer[layer].xielu, n);
        break;
    }
}
