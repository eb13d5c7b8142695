/*
 * recurrent.c - computes mixers that carry a state in place of keys and values.
 *
 * All three begin with a matrix and a causal convolution over the last n_tap
 * inputs of each channel; DeltaNet and Mamba-2 then update a state [n_key,
 * n_value] for each head, token by token.  The order of the arithmetic is that
 * of single tokens, so a prompt in batches gives the bits of one in steps.
 *
 * A run is the rows of one timeline in the pass.  Its first row starts from
 * `before`, its last leaves `after`, and rows with `keep` leave a copy there.
 */
#include <math.h>
#include <string.h>

#include "core/infer/pass.h"

typedef struct run {
    size_t r0, end; /* rows */
} run;

/* The run that begins at row r. */
static run run_at(const cf_pass *p, size_t r)
{
    run u = {r, r + 1};
    while (u.end < p->n_row && p->rows[u.end].kv == p->rows[r].kv &&
           p->rows[u.end].pos == p->rows[u.end - 1].pos + 1) {
        u.end++;
    }
    return u;
}

/* ---- convolution -------------------------------------------------------- */

/* A convolution of channels c0..c1-1 over rows whose inputs are `stride`
 * floats apart. */
typedef struct conv {
    const cf_pass *p;
    uint32_t layer;
    const float *in; /* channel 0 of row 0 */
    size_t stride;
    float *out; /* [rows of the pass, n_channel] */
    size_t c0, c1;
} conv;

/* Where channel 0 of input t - (n_tap - 1) before row r is: in the run, or in
 * the tail that the state before it holds. */
static const float *conv_input(const conv *c, const run *u, size_t r, size_t t)
{
    const cf_state_hparams *s = &c->p->e->hp.state;
    const cf_layer_hparams *l = &c->p->e->hp.layer[c->layer];
    size_t at = r + t;
    size_t first = u->r0 + s->n_tap - 1;
    if (at >= first) {
        return c->in + (at - (s->n_tap - 1)) * c->stride;
    }
    /* tail row n_tap - 1 is the token just before the run */
    return c->p->rows[u->r0].before->data + l->state_off + (at - u->r0) * s->n_channel;
}

/* The last n_tap - 1 inputs up to row r. */
static void save_tail(const conv *c, const run *u, size_t r, cf_state *to)
{
    const cf_state_hparams *s = &c->p->e->hp.state;
    const cf_layer_hparams *l = &c->p->e->hp.layer[c->layer];
    for (size_t t = 1; t < s->n_tap; t++) {
        float *tail = to->data + l->state_off + (t - 1) * s->n_channel;
        memcpy(tail + c->c0, conv_input(c, u, r, t) + c->c0, (c->c1 - c->c0) * sizeof *tail);
    }
}

static void convolve(const conv *c)
{
    const cf_pass *p = c->p;
    const cf_state_hparams *s = &p->e->hp.state;
    const cf_recurrent_weights *w = &p->e->w.layer[c->layer].recurrent;
    const float *bias = w->conv_bias != NULL ? w->conv_bias + c->c0 : NULL;
    run u = {0, 0};
    for (; u.end < p->n_row && c->c0 < c->c1;) {
        u = run_at(p, u.end);
        for (size_t r = u.r0; r < u.end; r++) {
            const float *x[CF_TAP_MAX];
            for (size_t t = 0; t < s->n_tap; t++) {
                x[t] = conv_input(c, &u, r, t) + c->c0;
            }
            p->e->k->recurrent->conv(c->out + r * s->n_channel + c->c0, x,
                                     w->conv + c->c0 * s->n_tap, bias, s->n_tap, c->c1 - c->c0);
            if (p->rows[r].keep != NULL) {
                save_tail(c, &u, r, p->rows[r].keep);
            }
        }
        save_tail(c, &u, u.end - 1, p->rows[u.r0].after);
    }
}

/* A thread's channels. */
static conv open_conv(const cf_pass *p, uint32_t layer, const float *in, size_t stride, unsigned i,
                      unsigned n)
{
    const cf_state_hparams *s = &p->e->hp.state;
    cf_range mine = cf_pass__share(s->n_channel, 16, i, n);
    return (conv){p, layer, in, stride, p->gate, mine.lo, mine.hi};
}

/* conv = silu(convolution), of a thread's channels. */
static void convolve_silu(const cf_pass *p, uint32_t layer, const float *in, size_t stride,
                          unsigned i, unsigned n)
{
    conv c = open_conv(p, layer, in, stride, i, n);
    convolve(&c);
    for (size_t r = 0; r < p->n_row; r++) {
        p->e->k->recurrent->silu(c.out + r * p->e->hp.state.n_channel + c.c0, c.c1 - c.c0);
    }
}

/* ---- states of heads ---------------------------------------------------- */

/* The offset of one head's state in a layer's state. */
static size_t head_off(const cf_pass *p, uint32_t layer, size_t head)
{
    const cf_state_hparams *s = &p->e->hp.state;
    return p->e->hp.layer[layer].state_off + (size_t)(s->n_tap - 1) * s->n_channel +
           head * s->n_key * s->n_value;
}

/* Makes the step of row r: where it reads the state, where it writes it. */
static void aim(const cf_pass *p, const run *u, size_t r, size_t off, cf_state_step *step)
{
    const cf_row *row = &p->rows[r];
    step->m = row->after->data + off;
    step->m_in = r == u->r0 ? row->before->data + off : step->m;
}

static void keep_head(const cf_pass *p, size_t r, size_t off)
{
    const cf_state_hparams *s = &p->e->hp.state;
    const cf_row *row = &p->rows[r];
    if (row->keep != NULL) {
        memcpy(row->keep->data + off, row->after->data + off,
               (size_t)s->n_key * s->n_value * sizeof(float));
    }
}

/* log(1 + exp(x)) */
static double softplus(double x)
{
    return x > 20 ? x : log1p(exp(x));
}

/* One token of one head, by the family. */
typedef void (*head_step)(const cf_pass *p, uint32_t layer, size_t r, uint32_t head,
                          cf_state_step *step);

/* By head: every run through every head; pair u is part u % n's. */
static void step_heads(const cf_pass *p, uint32_t layer, head_step fn, unsigned i, unsigned n)
{
    const cf_state_hparams *s = &p->e->hp.state;
    size_t pair = 0;
    for (run u = {0, 0}; u.end < p->n_row;) {
        u = run_at(p, u.end);
        for (uint32_t head = 0; head < s->n_head; head++, pair++) {
            if (pair % n != i) {
                continue;
            }
            size_t off = head_off(p, layer, head);
            for (size_t r = u.r0; r < u.end; r++) {
                cf_state_step step = {.n_key = s->n_key, .n_value = s->n_value};
                aim(p, &u, r, off, &step);
                fn(p, layer, r, head, &step);
                keep_head(p, r, off);
            }
        }
    }
}

/* ---- Gated DeltaNet ----------------------------------------------------- */

/* out[n] = x / sqrt(sum of squares + eps), times `by` */
static void unit(float *out, const float *x, size_t n, float eps, float by)
{
    double sum = 0;
    for (size_t c = 0; c < n; c++) {
        sum += (double)x[c] * (double)x[c];
    }
    float a = (float)(1 / sqrt(sum + (double)eps)) * by;
    for (size_t c = 0; c < n; c++) {
        out[c] = x[c] * a;
    }
}

/* A head's two numbers in row r: beta's, and alpha's. */
static void beta_alpha(const cf_pass *p, uint32_t layer, size_t r, uint32_t head, float *beta,
                       float *alpha)
{
    const cf_state_hparams *s = &p->e->hp.state;
    const cf_recurrent_weights *w = &p->e->w.layer[layer].recurrent;
    if (w->alpha.p != NULL) {
        *beta = p->v[r * s->n_head + head];
        *alpha = p->v[(p->e->ws.plan.n_row + r) * s->n_head + head];
        return;
    }
    size_t n = s->n_head / s->n_group; /* value heads of a key head */
    const float *both = p->v + r * 2 * s->n_head + head / n * 2 * n;
    *beta = both[head % n];
    *alpha = both[n + head % n];
}

/*
 * k, q = unit vectors, q / sqrt(n_key);  g = a softplus(alpha + dt_bias)
 * m = exp(g) m;  m += k (sigmoid(beta) (v - m^T k))^T;  o = m^T q
 * z = norm(o) . silu(z)
 */
static void delta_step(const cf_pass *p, uint32_t layer, size_t r, uint32_t head,
                       cf_state_step *step)
{
    const cf_hparams *hp = &p->e->hp;
    const cf_state_hparams *s = &hp->state;
    const cf_recurrent_weights *w = &p->e->w.layer[layer].recurrent;
    const cf_kernels *kern = p->e->k;
    float q[CF_STATE_MAX];
    float k[CF_STATE_MAX];
    float tmp[CF_STATE_MAX];
    float beta;
    float alpha;
    uint32_t group =
        hp->arch->has_grouped_heads ? head / (s->n_head / s->n_group) : head % s->n_group;
    const float *in = p->gate + r * s->n_channel;
    const float *keys = in + (size_t)s->n_group * s->n_key;
    size_t o = (r * s->n_head + head) * s->n_value;
    unit(q, in + (size_t)group * s->n_key, s->n_key, hp->norm_eps,
         (float)(1 / sqrt((double)s->n_key)));
    unit(k, keys + (size_t)group * s->n_key, s->n_key, hp->norm_eps, 1);
    beta_alpha(p, layer, r, head, &beta, &alpha);
    double g = (double)w->a[head] * softplus((double)alpha + (double)w->dt_bias[head]);
    step->q = q;
    step->k = k;
    step->v = keys + (size_t)s->n_group * s->n_key + (size_t)head * s->n_value;
    step->decay = (float)exp(g);
    step->beta = (float)(1 / (1 + exp(-(double)beta)));
    step->out = p->att + o;
    kern->recurrent->delta(step, tmp);
    kern->rms_norm(step->out, step->out, w->norm, s->n_value, hp->norm_eps);
    kern->silu_mul(p->k + o, p->k + o, step->out, s->n_value);
}

/* Buffers: q the convolution's input, k the gate z, v beta and alpha. */
static void delta_net(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    const cf_state_hparams *s = &p->e->hp.state;
    const cf_recurrent_weights *w = &p->e->w.layer[layer].recurrent;
    cf_group in = {0};
    cf_group out = {0};
    cf_group__add(&in, &w->in, NULL, p->q);
    cf_group__add(&in, &w->gate, NULL, p->k);
    cf_group__add(&in, &w->beta, NULL, p->v);
    cf_group__add(&in, &w->alpha, NULL, p->v + (size_t)p->e->ws.plan.n_row * s->n_head);
    cf_group__add(&out, &w->out, NULL, p->h);
    cf_pass__prepare_rows(p, &in, p->h, p->e->hp.n_embd, 0, i, n);
    cf_pass__barrier(p);
    cf_pass__multiply(p, &in, 0, i, n);
    cf_pass__barrier(p);
    convolve_silu(p, layer, p->q, s->n_channel, i, n);
    cf_pass__barrier(p);
    step_heads(p, layer, delta_step, i, n);
    cf_pass__barrier(p);
    cf_pass__prepare_rows(p, &out, p->k, (size_t)s->n_head * s->n_value, r0, i, n);
    cf_pass__barrier(p);
    cf_pass__multiply(p, &out, r0, i, n);
    cf_pass__barrier(p);
}

/* ---- Mamba-2 ------------------------------------------------------------ */

/*
 * A row of the first matrix: z [n_head n_value], the convolution's channels u
 * [n_head n_value], B and C [n_group, n_key], then dt [n_head].
 *
 *   dt = softplus(dt + dt_bias)
 *   m = exp(a dt) m + B (dt u)^T;  y = m^T C + d u
 */
static void mamba_step(const cf_pass *p, uint32_t layer, size_t r, uint32_t head,
                       cf_state_step *step)
{
    const cf_state_hparams *s = &p->e->hp.state;
    const cf_recurrent_weights *w = &p->e->w.layer[layer].recurrent;
    size_t inner = (size_t)s->n_head * s->n_value;
    size_t group = head / (s->n_head / s->n_group);
    const float *mixed = p->gate + r * s->n_channel;
    const float *dts =
        p->q + r * (2 * inner + 2UL * s->n_group * s->n_key + s->n_head) + inner + s->n_channel;
    const float *u = mixed + (size_t)head * s->n_value;
    float *y = p->att + r * inner + (size_t)head * s->n_value;
    float v[CF_STATE_MAX];
    double dt = softplus((double)dts[head] + (double)w->dt_bias[head]);
    for (size_t c = 0; c < s->n_value; c++) {
        v[c] = (float)dt * u[c];
    }
    step->k = mixed + inner + group * s->n_key;
    step->q = mixed + inner + (s->n_group + group) * s->n_key;
    step->v = v;
    step->decay = (float)exp((double)w->a[head] * dt);
    step->out = y;
    p->e->k->recurrent->scan(step);
    for (size_t c = 0; c < s->n_value; c++) {
        y[c] += w->d[head] * u[c];
    }
}

/* By row: z = norm(y . silu(z)), group by group; some have no norm. */
static void gate_mamba_row(const cf_pass *p, uint32_t layer, float *z, const float *y)
{
    const cf_hparams *hp = &p->e->hp;
    const cf_state_hparams *s = &hp->state;
    const float *w = p->e->w.layer[layer].recurrent.norm;
    size_t inner = (size_t)s->n_head * s->n_value;
    size_t each = inner / s->n_group;
    p->e->k->silu_mul(z, z, y, inner);
    for (size_t c = 0; w != NULL && c < inner; c += each) {
        p->e->k->rms_norm(z + c, z + c, w + c, each, hp->norm_eps);
    }
}

static void mamba2(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    const cf_state_hparams *s = &p->e->hp.state;
    const cf_recurrent_weights *w = &p->e->w.layer[layer].recurrent;
    size_t inner = (size_t)s->n_head * s->n_value;
    size_t n_in = w->in.n_row;
    cf_group in = {0};
    cf_group out = {0};
    cf_group__add(&in, &w->in, NULL, p->q);
    cf_group__add(&out, &w->out, NULL, p->h);
    cf_pass__prepare_rows(p, &in, p->h, p->e->hp.n_embd, 0, i, n);
    cf_pass__barrier(p);
    cf_pass__multiply(p, &in, 0, i, n);
    cf_pass__barrier(p);
    convolve_silu(p, layer, p->q + inner, n_in, i, n);
    cf_pass__barrier(p);
    step_heads(p, layer, mamba_step, i, n);
    cf_pass__barrier(p);
    cf_range rows = cf_pass__rows(p, r0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        float *z = p->q + r * n_in;
        gate_mamba_row(p, layer, z, p->att + r * inner);
        cf_pass__prepare(p, &out, z, r);
    }
    cf_pass__barrier(p);
    cf_pass__multiply(p, &out, r0, i, n);
    cf_pass__barrier(p);
}

/* ---- gated short convolution -------------------------------------------- */

/* A row of the first matrix: b, c, u [n_embd each];  h = out (c . conv(b . u)).
 * By channel, so that only the matrices need barriers around them. */
static void short_conv(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    const cf_recurrent_weights *w = &p->e->w.layer[layer].recurrent;
    size_t n_embd = p->e->hp.n_embd;
    cf_group in = {0};
    cf_group out = {0};
    cf_group__add(&in, &w->in, NULL, p->q);
    cf_group__add(&out, &w->out, NULL, p->h);
    cf_pass__prepare_rows(p, &in, p->h, n_embd, 0, i, n);
    cf_pass__barrier(p);
    cf_pass__multiply(p, &in, 0, i, n);
    cf_pass__barrier(p);
    conv c = open_conv(p, layer, p->q, 3 * n_embd, i, n);
    for (size_t r = 0; r < p->n_row; r++) {
        float *b = p->q + r * 3 * n_embd;
        for (size_t j = c.c0; j < c.c1; j++) {
            b[j] *= b[2 * n_embd + j];
        }
    }
    convolve(&c);
    for (size_t r = r0; r < p->n_row; r++) {
        const float *gate = p->q + r * 3 * n_embd + n_embd;
        for (size_t j = c.c0; j < c.c1; j++) {
            c.out[r * n_embd + j] *= gate[j];
        }
    }
    cf_pass__barrier(p);
    cf_pass__prepare_rows(p, &out, c.out, n_embd, r0, i, n);
    cf_pass__barrier(p);
    cf_pass__multiply(p, &out, r0, i, n);
    cf_pass__barrier(p);
}

void cf_recurrent(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    switch (p->e->hp.layer[layer].mixer) {
    case CF_MIX_DELTA_NET:
        delta_net(p, layer, r0, i, n);
        break;
    case CF_MIX_MAMBA2:
        mamba2(p, layer, r0, i, n);
        break;
    case CF_MIX_SHORT_CONV:
        short_conv(p, layer, r0, i, n);
        break;
    case CF_MIX_ATTENTION:
        break;
    }
}
