/*
 * test_forward.c - logits against an oracle: the formulas of
 * docs/models/transformer.md in double, without a cache, a batch or a kernel.
 */
#include <math.h>

#include "core/api/session.h"
#include "core/kernel/kernel.h"
#include "core/model/weights.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"

enum { N = 40, N_VOCAB = 320, WIDTH = 1024 };

/* ---- the oracle --------------------------------------------------------- */

typedef struct oracle {
    cf_hparams hp;
    cf_weights w;
    double x[N][WIDTH];              /* the residual stream */
    double k[N][WIDTH], v[N][WIDTH]; /* of the layer under way */
    double q[N][WIDTH], a[N][WIDTH];
    double in[N][WIDTH];     /* of a convolution */
    double state[WIDTH * 8]; /* of recurrent heads, a [key, value] each */
    double h[WIDTH], g[WIDTH], u[WIDTH], sum[WIDTH];
    double start[WIDTH]; /* x of the token before the layer's first part */
    uint32_t layer;      /* the one under way */
} oracle;

/* y = m x + bias */
static void mul(double *y, const cf_mat *m, const float *bias, const double *x)
{
    float row[WIDTH];
    for (uint32_t r = 0; r < m->n_row; r++) {
        cf_dtype_to_f32(m->type, row, (const unsigned char *)m->p + r * m->row_bytes, m->n_col);
        y[r] = 0;
        for (uint32_t c = 0; c < m->n_col; c++) {
            y[r] += (double)row[c] * x[c];
        }
        y[r] *= m->by != 0 ? (double)m->by : 1;
        y[r] += bias != NULL ? (double)bias[r] : 0;
    }
}

static void norm(double *out, const double *x, const float *w, uint32_t n, double eps)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    double scale = 1 / sqrt(sum / n + eps);
    for (uint32_t i = 0; i < n; i++) {
        out[i] = x[i] * scale * (double)w[i];
    }
}

/* A norm of the residual stream's width, where the family has one. */
static void norm_in(const oracle *o, double *out, const double *x, const float *w)
{
    uint32_t n = o->hp.n_embd;
    double centred[WIDTH];
    double mean = 0;
    for (uint32_t c = 0; o->hp.arch->has_layer_norm && c < n; c++) {
        mean += x[c] / n;
    }
    for (uint32_t c = 0; c < n; c++) {
        centred[c] = x[c] - mean;
    }
    if (w != NULL) {
        norm(out, centred, w, n, (double)o->hp.norm_eps);
    } else {
        memcpy(out, x, o->hp.n_embd * sizeof *x);
    }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double silu(double x)
{
    return x * sigmoid(x);
}

/* The frequency of pair i, for the kinds these tests use. */
static double frequency(const oracle *o, const cf_layer_hparams *l, uint32_t i)
{
    const cf_rope_params *p = &o->hp.rope[l->rope_set];
    double f = pow(p->base, -2.0 * i / p->n_rot);
    if (l->rope_set == CF_ROPE_GLOBAL && o->w.rope_freqs != NULL) {
        f /= (double)o->w.rope_freqs[i];
    }
    return p->scaling == CF_ROPE_LINEAR ? f / p->factor : f;
}

static void rotate(const oracle *o, const cf_layer_hparams *l, double *head, uint32_t pos)
{
    uint32_t n = o->hp.rope[l->rope_set].n_rot / 2;
    bool halves = o->hp.arch->rope_style == CF_ROPE_NEOX;
    for (uint32_t i = 0; l->has_rope && i < n; i++) {
        double t = pos * frequency(o, l, i);
        double *a = &head[halves ? i : 2 * i];
        double *b = &head[halves ? i + n : 2 * i + 1];
        double a0 = *a;
        *a = a0 * cos(t) - *b * sin(t);
        *b = a0 * sin(t) + *b * cos(t);
    }
}

/* Numbers from a query head to the next; its gate may follow it. */
static size_t q_step(const oracle *o, const cf_layer_hparams *l)
{
    return l->head_size * (o->hp.arch->has_q_gate ? 2U : 1U);
}

static void project(oracle *o, uint32_t layer, uint32_t t)
{
    const cf_layer_hparams *l = &o->hp.layer[layer];
    const cf_layer_weights *w = &o->w.layer[layer];
    const cf_arch *arch = o->hp.arch;
    double eps = (double)o->hp.norm_eps;
    bool by_head = w->q_norm != NULL && !arch->has_row_qk_norm;
    norm_in(o, o->h, o->x[t], w->attn_norm);
    mul(o->q[t], &w->q, w->q_bias, o->h);
    mul(o->k[t], &w->k, w->k_bias, o->h);
    mul(o->v[t], &w->v, w->v_bias, o->h);
    if (arch->has_row_qk_norm) {
        norm(o->q[t], o->q[t], w->q_norm, w->q.n_row, eps);
        norm(o->k[t], o->k[t], w->k_norm, w->k.n_row, eps);
    }
    for (uint32_t j = 0; j < l->n_head; j++) {
        double *head = o->q[t] + (size_t)j * q_step(o, l);
        if (by_head && !arch->has_late_qk_norm) {
            norm(head, head, w->q_norm, l->head_size, eps);
        }
        rotate(o, l, head, t);
        if (by_head && arch->has_late_qk_norm) {
            norm(head, head, w->q_norm, l->head_size, eps);
        }
        for (uint32_t c = 0; o->hp.temperature > 0 && c < l->head_size; c++) {
            uint32_t turns = t / o->hp.rope[CF_ROPE_GLOBAL].n_ctx_orig;
            head[c] *= 1 + o->hp.temperature * log(1 + turns);
        }
    }
    for (uint32_t j = 0; j < l->n_head_kv; j++) {
        double *head = o->k[t] + (size_t)j * l->head_size;
        if (by_head && !arch->has_late_qk_norm) {
            norm(head, head, w->k_norm, l->head_size, eps);
        }
        rotate(o, l, head, t);
        if (by_head && arch->has_late_qk_norm) {
            norm(head, head, w->k_norm, l->head_size, eps);
        }
    }
}

/* Latent attention, with keys and values of every head. */
static void project_latent(oracle *o, uint32_t layer, uint32_t t)
{
    const cf_latent_hparams *m = &o->hp.latent;
    const cf_layer_hparams *l = &o->hp.layer[layer];
    const cf_latent_weights *w = &o->w.layer[layer].latent;
    double eps = (double)o->hp.norm_eps;
    size_t size = m->n_plain + m->n_rot;
    double kv[WIDTH];
    float row[WIDTH];
    norm_in(o, o->h, o->x[t], o->w.layer[layer].attn_norm);
    mul(kv, &w->kv_a, NULL, o->h);
    norm(kv, kv, w->kv_a_norm, m->n, eps);
    rotate(o, l, kv + m->n, t);
    if (m->n_q != 0) {
        mul(o->g, &w->q_a, NULL, o->h);
        norm(o->h, o->g, w->q_a_norm, m->n_q, eps);
    }
    mul(o->q[t], &o->w.layer[layer].q, NULL, o->h);
    for (uint32_t j = 0; j < l->n_head; j++) {
        double *k = o->k[t] + j * size;
        cf_mat k_b = cf_mat_stack_at(&w->k_b, j);
        cf_mat v_b = cf_mat_stack_at(&w->v_b, j);
        rotate(o, l, o->q[t] + j * size + m->n_plain, t);
        mul(o->v[t] + (size_t)j * m->n_value, &v_b, NULL, kv);
        memset(k, 0, m->n_plain * sizeof *k);
        for (uint32_t c = 0; c < m->n; c++) {
            cf_dtype_to_f32(k_b.type, row, (const unsigned char *)k_b.p + c * k_b.row_bytes,
                            m->n_plain);
            for (uint32_t i = 0; i < m->n_plain; i++) {
                k[i] += kv[c] * (double)row[i] * (double)(k_b.by != 0 ? k_b.by : 1);
            }
        }
        memcpy(k + m->n_plain, kv + m->n, m->n_rot * sizeof *k);
    }
}

static void attend(oracle *o, uint32_t layer, uint32_t t)
{
    const cf_layer_hparams *l = &o->hp.layer[layer];
    bool is_latent = o->hp.latent.n != 0;
    size_t size = is_latent ? o->hp.latent.n_plain + o->hp.latent.n_rot : l->head_size;
    size_t size_v = cf_hparams_head_out(&o->hp, layer);
    size_t step = is_latent ? size : q_step(o, l);
    uint32_t first = l->window != 0 && t >= l->window ? t - l->window + 1 : 0;
    double cap = (double)o->hp.attn_soft_cap;
    for (uint32_t j = 0; j < l->n_head; j++) {
        size_t shared = is_latent ? j : j / (l->n_head / l->n_head_kv);
        const float *sinks = o->w.layer[layer].sinks;
        const double *q = o->q[t] + j * step;
        double s[N];
        double sum = sinks != NULL ? exp((double)sinks[j]) : 0;
        for (uint32_t p = first; p <= t; p++) {
            s[p] = 0;
            for (uint32_t c = 0; c < size; c++) {
                s[p] += q[c] * o->k[p][shared * size + c];
            }
            s[p] *= (double)l->attn_scale;
            s[p] = exp(cap > 0 ? cap * tanh(s[p] / cap) : s[p]);
            sum += s[p];
        }
        for (uint32_t c = 0; c < size_v; c++) {
            double y = 0;
            for (uint32_t p = first; p <= t; p++) {
                y += s[p] / sum * o->v[p][shared * size_v + c];
            }
            y *= o->hp.arch->has_q_gate ? sigmoid(q[l->head_size + c]) : 1;
            o->a[t][j * size_v + c] = y;
        }
    }
}

/* a *= sigmoid(gates of the layer's input) */
static void gate_heads(oracle *o, uint32_t layer, uint32_t t)
{
    const cf_layer_weights *w = &o->w.layer[layer];
    norm_in(o, o->h, o->x[t], w->attn_norm);
    mul(o->g, &w->attn_gate, NULL, o->h);
    for (uint32_t c = 0; c < w->attn_gate.n_row; c++) {
        o->a[t][c] *= sigmoid(o->g[c]);
    }
}

/* x += post(h) */
static void add(oracle *o, uint32_t t, const float *post)
{
    norm_in(o, o->h, o->h, post);
    for (uint32_t c = 0; c < o->hp.n_embd; c++) {
        o->x[t][c] += (double)o->hp.residual_scale * o->h[c];
    }
}

/* act(g) u */
static double gated(const oracle *o, double g, double u)
{
    double gelu = sqrt(2 / acos(-1.0)) * (g + 0.044715 * g * g * g);
    double top = fmin(g, 7);
    const cf_xielu *xi = &o->hp.layer[o->layer].xielu;
    double low = expm1(fmin(g, (double)xi->eps)) - g;
    switch (o->hp.arch->act) {
    case CF_ACT_GELU:
        return g / 2 * (1 + tanh(gelu)) * u;
    case CF_ACT_RELU:
        return fmax(g, 0) * u;
    case CF_ACT_XIELU:
        return (g > 0 ? (double)xi->positive * g * g : low * (double)xi->negative) +
               (double)xi->beta * g;
    case CF_ACT_RELU2:
        return g > 0 ? g * g : 0;
    case CF_ACT_CLAMPED_GLU:
        return top * sigmoid(1.702 * top) * (fmax(-7, fmin(7, u)) + 1);
    default:
        return silu(g) * u;
    }
}

/* out = down * gated(gate * in, up * in) */
static void block(oracle *o, const cf_mat *m[3], const float *bias[3], const double *in,
                  double *out)
{
    mul(o->g, m[0], bias[0], in);
    if (m[1]->p != NULL) {
        mul(o->u, m[1], bias[1], in);
    }
    for (uint32_t i = 0; i < m[0]->n_row; i++) {
        o->g[i] = gated(o, o->g[i], o->u[i]);
    }
    mul(out, m[2], bias[2], o->g);
}

/* sum += weight * expert e of h */
static void add_expert(oracle *o, const cf_expert_weights *w, uint32_t e, double weight)
{
    uint32_t n_ff = o->hp.expert.n_ff;
    uint32_t n_embd = o->hp.n_embd;
    cf_mat gate = cf_mat_stack_at(&w->gate, e);
    cf_mat up = w->up.first.p != NULL ? cf_mat_stack_at(&w->up, e) : w->up.first;
    cf_mat down = cf_mat_stack_at(&w->down, e);
    const cf_mat *m[3] = {&gate, &up, &down};
    bool has_bias = w->gate_bias != NULL;
    const float *bias[3] = {has_bias ? w->gate_bias + e * n_ff : NULL,
                            has_bias ? w->up_bias + e * n_ff : NULL,
                            has_bias ? w->down_bias + e * n_embd : NULL};
    double out[WIDTH];
    block(o, m, bias, o->h, out);
    for (uint32_t c = 0; c < n_embd; c++) {
        o->sum[c] += weight * out[c];
    }
}

/* Whether expert e is in one of the groups whose two best have the largest sum. */
static bool is_open(const oracle *o, const double *merit, uint32_t e)
{
    const cf_expert_hparams *x = &o->hp.expert;
    uint32_t size = x->n / x->n_group;
    uint32_t n_better = 0;
    double mine = 0;
    double score[16];
    for (uint32_t g = 0; g < x->n_group; g++) {
        score[g] = -INFINITY;
        for (uint32_t i = g * size; i < (g + 1) * size; i++) {
            for (uint32_t j = g * size; j < i; j++) {
                score[g] = fmax(score[g], merit[i] + merit[j]);
            }
        }
    }
    mine = score[e / size];
    for (uint32_t g = 0; g < x->n_group; g++) {
        n_better += score[g] > mine;
    }
    return n_better < x->n_group_used;
}

/* p = what the router makes of its input, merit = what experts are chosen by. */
static void route(const oracle *o, const cf_expert_weights *w, double *p, double *merit)
{
    const cf_expert_hparams *x = &o->hp.expert;
    double sum = 0;
    mul(p, &w->router, w->router_bias, o->hp.arch->has_early_router ? o->start : o->h);
    for (uint32_t e = 0; e < x->n; e++) {
        sum += exp(p[e]);
    }
    for (uint32_t e = 0; e < x->n; e++) {
        p[e] = x->gating == CF_GATING_SIGMOID ? sigmoid(p[e]) : exp(p[e]) / sum;
        merit[e] = p[e] + (w->choice_bias != NULL ? (double)w->choice_bias[e] : 0);
    }
}

/* sum = the chosen experts of h: the largest scores, one after the other. */
static void mixture(oracle *o, const cf_expert_weights *w)
{
    const cf_expert_hparams *x = &o->hp.expert;
    double p[16];
    double merit[16];
    uint32_t chosen[16];
    double total = 0;
    route(o, w, p, merit);
    memset(o->sum, 0, sizeof o->sum);
    for (uint32_t j = 0; j < x->n_used; j++) {
        double best = -INFINITY;
        for (uint32_t e = 0; e < x->n; e++) {
            bool is_free = is_open(o, merit, e);
            for (uint32_t i = 0; i < j; i++) {
                is_free = is_free && chosen[i] != e;
            }
            if (is_free && merit[e] > best) {
                best = merit[e];
                chosen[j] = e;
            }
        }
        total += p[chosen[j]];
    }
    for (uint32_t j = 0; j < x->n_used; j++) {
        double weight = p[chosen[j]] / (x->is_normalised ? total : 1);
        add_expert(o, w, chosen[j], weight * (double)x->scale);
    }
}

static void feed_forward(oracle *o, uint32_t layer, uint32_t t)
{
    const cf_layer_weights *w = &o->w.layer[layer];
    const cf_mat *m[3] = {&w->gate, &w->up, &w->down};
    const float *bias[3] = {w->gate_bias, w->up_bias, w->down_bias};
    double factor = 0;
    if (o->hp.arch->has_one_norm) {
        norm_in(o, o->h, o->start, w->attn_norm);
    } else {
        norm_in(o, o->h, o->x[t], w->ffn_norm);
    }
    o->layer = layer;
    memset(o->sum, 0, sizeof o->sum);
    if (o->hp.layer[layer].has_experts) {
        mixture(o, &w->expert);
    }
    for (uint32_t c = 0; w->expert.shared_gate && c < o->hp.n_embd; c++) {
        factor += o->h[c] * (double)w->expert.shared_gate[c];
    }
    factor = w->expert.shared_gate != NULL ? sigmoid(factor) : 1;
    if (w->gate.p != NULL) {
        double out[WIDTH];
        block(o, m, bias, o->h, out);
        for (uint32_t c = 0; c < o->hp.n_embd; c++) {
            o->sum[c] += factor * out[c];
        }
    }
    memcpy(o->h, o->sum, sizeof o->h);
    add(o, t, w->post_ffn_norm);
}

/* ---- recurrent mixers --------------------------------------------------- */

/* out[n_channel] = convolution at token t of in[..][from + channel] */
static void convolve(const oracle *o, uint32_t layer, uint32_t t, size_t from, double *out)
{
    const cf_state_hparams *s = &o->hp.state;
    const cf_recurrent_weights *w = &o->w.layer[layer].recurrent;
    for (uint32_t c = 0; c < s->n_channel; c++) {
        out[c] = w->conv_bias != NULL ? (double)w->conv_bias[c] : 0;
        for (uint32_t tap = 0; tap < s->n_tap && tap <= t; tap++) {
            out[c] += (double)w->conv[c * s->n_tap + s->n_tap - 1 - tap] * o->in[t - tap][from + c];
        }
    }
}

/* The state m of a head: m = decay m + k v^T, with the delta rule after v
 * became beta (v - m^T k);  out = m^T q. */
static void step_state(const cf_state_hparams *s, double *m, double decay, const double *k,
                       const double *q, const double *v, const double *beta, double *out)
{
    for (uint32_t j = 0; j < s->n_value; j++) {
        double seen = 0;
        out[j] = 0;
        for (uint32_t i = 0; i < s->n_key; i++) {
            m[i * s->n_value + j] *= decay;
            seen += m[i * s->n_value + j] * k[i];
        }
        double change = beta != NULL ? *beta * (v[j] - seen) : v[j];
        for (uint32_t i = 0; i < s->n_key; i++) {
            m[i * s->n_value + j] += k[i] * change;
            out[j] += m[i * s->n_value + j] * q[i];
        }
    }
}

static void unit(double *out, const double *x, uint32_t n, double eps)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        out[i] = x[i] / sqrt(sum + eps);
    }
}

/* a = what the layer's out matrix reads, of token t; h is its input. */
static void delta_net(oracle *o, uint32_t layer, uint32_t t)
{
    const cf_state_hparams *s = &o->hp.state;
    const cf_recurrent_weights *w = &o->w.layer[layer].recurrent;
    double eps = (double)o->hp.norm_eps;
    double mixed[WIDTH];
    double b[64];
    uint32_t per = s->n_head / s->n_group;
    mul(o->in[t], &w->in, NULL, o->h);
    mul(o->g, &w->gate, NULL, o->h);
    mul(b, &w->beta, NULL, o->h);
    if (w->alpha.p != NULL) {
        mul(b + s->n_head, &w->alpha, NULL, o->h);
    }
    convolve(o, layer, t, 0, mixed);
    for (uint32_t c = 0; c < s->n_channel; c++) {
        mixed[c] = silu(mixed[c]);
    }
    for (uint32_t j = 0; j < s->n_head; j++) {
        double q[WIDTH];
        double k[WIDTH];
        bool is_pair = w->alpha.p == NULL;
        uint32_t group = is_pair ? j / per : j % s->n_group;
        uint32_t at = is_pair ? j / per * 2 * per + j % per : j;
        double beta = sigmoid(b[at]);
        double alpha = b[at + (is_pair ? per : s->n_head)];
        double decay = exp((double)w->a[j] * log(1 + exp(alpha + (double)w->dt_bias[j])));
        double *out = o->a[t] + (size_t)j * s->n_value;
        const double *keys = mixed + (size_t)s->n_group * s->n_key;
        unit(q, mixed + (size_t)group * s->n_key, s->n_key, eps);
        unit(k, keys + (size_t)group * s->n_key, s->n_key, eps);
        for (uint32_t i = 0; i < s->n_key; i++) {
            q[i] /= sqrt(s->n_key);
        }
        step_state(s, o->state + (size_t)j * s->n_key * s->n_value, decay, k, q,
                   keys + (size_t)s->n_group * s->n_key + (size_t)j * s->n_value, &beta, out);
        norm(out, out, w->norm, s->n_value, eps);
        for (uint32_t i = 0; i < s->n_value; i++) {
            out[i] *= silu(o->g[j * s->n_value + i]);
        }
    }
}

static void mamba2(oracle *o, uint32_t layer, uint32_t t)
{
    const cf_state_hparams *s = &o->hp.state;
    const cf_recurrent_weights *w = &o->w.layer[layer].recurrent;
    uint32_t inner = s->n_head * s->n_value;
    uint32_t each = inner / s->n_group;
    double mixed[WIDTH];
    mul(o->in[t], &w->in, NULL, o->h);
    convolve(o, layer, t, inner, mixed);
    for (uint32_t c = 0; c < s->n_channel; c++) {
        mixed[c] = silu(mixed[c]);
    }
    for (uint32_t j = 0; j < s->n_head; j++) {
        double v[WIDTH];
        double *out = o->a[t] + (size_t)j * s->n_value;
        const double *u = mixed + (size_t)j * s->n_value;
        const double *b = mixed + inner + (size_t)(j * s->n_group / s->n_head) * s->n_key;
        double dt = o->in[t][inner + s->n_channel + j];
        dt = log(1 + exp(dt + (double)w->dt_bias[j]));
        for (uint32_t i = 0; i < s->n_value; i++) {
            v[i] = dt * u[i];
        }
        step_state(s, o->state + (size_t)j * s->n_key * s->n_value, exp((double)w->a[j] * dt), b,
                   b + (size_t)s->n_group * s->n_key, v, NULL, out);
        for (uint32_t i = 0; i < s->n_value; i++) {
            out[i] = (out[i] + (double)w->d[j] * u[i]) * silu(o->in[t][j * s->n_value + i]);
        }
    }
    for (uint32_t c = 0; w->norm != NULL && c < inner; c += each) {
        norm(o->a[t] + c, o->a[t] + c, w->norm + c, each, (double)o->hp.norm_eps);
    }
}

static void short_conv(oracle *o, uint32_t layer, uint32_t t)
{
    const cf_recurrent_weights *w = &o->w.layer[layer].recurrent;
    uint32_t n = o->hp.n_embd;
    mul(o->in[t], &w->in, NULL, o->h);
    for (uint32_t c = 0; c < n; c++) {
        o->in[t][c] *= o->in[t][2 * n + c];
    }
    convolve(o, layer, t, 0, o->a[t]);
    for (uint32_t c = 0; c < n; c++) {
        o->a[t][c] *= o->in[t][n + c];
    }
}

/* h = mixer(norm(x)) of token t, for layers that are not attention. */
static void recur(oracle *o, uint32_t layer, uint32_t t)
{
    const cf_layer_weights *w = &o->w.layer[layer];
    norm_in(o, o->h, o->x[t], w->attn_norm);
    if (t == 0) {
        memset(o->state, 0, sizeof o->state);
    }
    switch (o->hp.layer[layer].mixer) {
    case CF_MIX_DELTA_NET:
        delta_net(o, layer, t);
        break;
    case CF_MIX_MAMBA2:
        mamba2(o, layer, t);
        break;
    default:
        short_conv(o, layer, t);
        break;
    }
    mul(o->h, &w->recurrent.out, NULL, o->a[t]);
}

/* out[N, N_VOCAB] */
static void run_oracle(oracle *o, const cf_token *ids, double *out)
{
    float row[WIDTH];
    for (uint32_t t = 0; t < N; t++) {
        const cf_mat *m = &o->w.embd;
        cf_dtype_to_f32(m->type, row, (const unsigned char *)m->p + (size_t)ids[t] * m->row_bytes,
                        m->n_col);
        for (uint32_t c = 0; c < m->n_col; c++) {
            o->x[t][c] = (double)row[c] * (double)o->hp.embd_scale;
        }
    }
    for (uint32_t i = 0; i < o->hp.n_layer; i++) {
        const cf_layer_weights *w = &o->w.layer[i];
        const cf_layer_hparams *l = &o->hp.layer[i];
        bool is_recurrent = l->mixer != CF_MIX_ATTENTION;
        for (uint32_t t = 0; l->n_head != 0 && t < N; t++) {
            if (o->hp.latent.n != 0) {
                project_latent(o, i, t);
            } else {
                project(o, i, t);
            }
        }
        for (uint32_t t = 0; t < N; t++) {
            memset(o->h, 0, sizeof o->h);
            memcpy(o->start, o->x[t], sizeof o->start);
            if (l->n_head != 0) {
                attend(o, i, t);
            }
            if (w->attn_gate.p != NULL) {
                gate_heads(o, i, t);
            }
            if (l->n_head != 0) {
                mul(o->h, &w->o, w->o_bias, o->a[t]);
            }
            if (is_recurrent) {
                double side[WIDTH];
                memcpy(side, o->h, sizeof side);
                recur(o, i, t);
                for (uint32_t c = 0; l->n_head != 0 && c < o->hp.n_embd; c++) {
                    o->h[c] += side[c];
                }
            }
            add(o, t, w->post_attn_norm);
            if (l->n_ff == 0 && !l->has_experts) {
                continue;
            }
            feed_forward(o, i, t);
        }
    }
    double cap = (double)o->hp.final_soft_cap;
    for (uint32_t t = 0; t < N; t++) {
        norm_in(o, o->h, o->x[t], o->w.output_norm);
        double *y = out + (size_t)t * N_VOCAB;
        mul(y, &o->w.output, o->w.output_bias, o->h);
        for (uint32_t c = 0; c < N_VOCAB; c++) {
            y[c] *= (double)o->hp.logit_scale;
        }
        for (uint32_t c = 0; cap > 0 && c < N_VOCAB; c++) {
            y[c] = cap * tanh(y[c] / cap);
        }
    }
}

/* ---- against the engine ------------------------------------------------- */

typedef struct comparison {
    const double *want; /* [N, N_VOCAB] */
    double error, largest;
} comparison;

static void compare(void *ud, uint32_t pos, const float *logits)
{
    comparison *c = ud;
    for (size_t i = 0; i < N_VOCAB; i++) {
        double want = c->want[pos * N_VOCAB + i];
        c->error = fmax(c->error, fabs((double)logits[i] - want));
        c->largest = fmax(c->largest, fabs(want));
    }
}

/* The largest difference over the largest logit. */
static double error_of(const void *p, size_t n, const cf_engine_options *o, const cf_token *ids,
                       const double *want)
{
    cf_error err;
    cf_engine *e = NULL;
    cf_session *s = NULL;
    comparison c = {.want = want};
    cf_run run = {.logits = compare, .ud = &c};
    cf_session_options so = {.n_ctx = N, .n_batch = 16, .cache = CF_CACHE_F32};
    T_OK(cf_engine_open_memory(&e, p, n, o, &err), err);
    T_OK(cf_session_new(&s, e, &so, &err), err);
    T_OK(cf_session_sync(s, ids, N, &run, NULL, &err), err);
    cf_session_free(s);
    cf_engine_close(e);
    return c.error / c.largest;
}

static void check(const cf_tiny_options *options)
{
    static const char *const sets[] = {"avx2",        "avx2-vnni", "avx512",   "avx512-vnni",
                                       "avx512-vbmi", "neon",      "neon-dot", "neon-i8mm"};
    static double want[N * N_VOCAB];
    static oracle o;
    size_t n = 0;
    cf_error err;
    cf_gguf *g = NULL;
    cf_token ids[N];
    cf_rand r = {options->seed + 7};
    void *p = cf_tiny_gguf(options, &n);
    for (size_t i = 0; i < N; i++) {
        ids[i] = (cf_token)cf_rand_below(&r, N_VOCAB);
    }
    T_OK(cf_gguf_open_memory(&g, p, n, &err), err);
    T_OK(cf_hparams_init(&o.hp, g, &err), err);
    T_OK(cf_weights_init(&o.w, g, &o.hp, &err), err);
    run_oracle(&o, ids, want);
    cf_engine_options eo = {.n_threads = 1, .arithmetic = CF_ARITHMETIC_EXACT};
    double error = error_of(p, n, &eo, ids, want);
    /* States are float, and so are the sums over them. */
    if (!(error < (o.hp.state.n_tap != 0 ? 1e-4 : 2e-5))) {
        fail_msg("%s %s exact: %g", o.hp.arch->name, cf_dtype_get(options->type).name, error);
    }
    /* Fast kernels on float weights round no more than float does; eight-bit
     * activations are the kernels' tests' business. */
    for (size_t i = 0; i < sizeof sets / sizeof *sets && options->type == CF_F32; i++) {
        if (cf_kernels_pick(sets[i]) != NULL) {
            eo = (cf_engine_options){.n_threads = 1, .kernel_set = sets[i]};
            error = error_of(p, n, &eo, ids, want);
            if (!(error < 2e-4)) {
                fail_msg("%s %s: %g", o.hp.arch->name, sets[i], error);
            }
        }
    }
    /* Weights in blocks meet rounded activations, of 16 bits or 8. */
    for (size_t i = 0; i < 2; i++) {
        eo = (cf_engine_options){.n_threads = 1,
                                 .arithmetic = i == 0 ? CF_ARITHMETIC_16 : CF_ARITHMETIC_8};
        if (cf_kernels_pick(NULL)->eight != NULL) {
            error = error_of(p, n, &eo, ids, want);
            if (!(error < (i == 0 ? 1e-3 : 0.12))) {
                fail_msg("%s %s, %s: %g", o.hp.arch->name, cf_dtype_get(options->type).name,
                         cf_arithmetic_name(eo.arithmetic), error);
            }
        }
    }
    cf_weights_deinit(&o.w);
    cf_hparams_deinit(&o.hp);
    cf_gguf_close(g);
    cf_tiny_free(p);
}

static void test_forward__architectures(void **state)
{
    (void)state;
    for (size_t i = 0; cf_tiny_plain_archs[i] != NULL; i++) {
        check(&(cf_tiny_options){.arch = cf_tiny_plain_archs[i], .seed = i});
        check(&(cf_tiny_options){.arch = cf_tiny_plain_archs[i],
                                 .seed = i,
                                 .has_bias = true,
                                 .has_output = true,
                                 .n_rot = 12,
                                 .n_head = 6,
                                 .n_head_kv = 3,
                                 .head_size = 20,
                                 .head_size_v = 12,
                                 .n_embd = 48});
    }
}

/* Experts, recurrent layers, gates, sinks, multipliers: all families but those
 * with embeddings by layer. */
static void test_forward__parts(void **state)
{
    (void)state;
    for (size_t i = 0; cf_tiny_archs[i] != NULL; i++) {
        const cf_arch *arch = cf_arch_find(cf_str_from(cf_tiny_archs[i]));
        if (!arch->has_per_layer) {
            check(&(cf_tiny_options){.arch = cf_tiny_archs[i], .seed = 50 + i});
        }
    }
}

static void test_forward__types(void **state)
{
    (void)state;
    for (uint32_t type = 0; type < CF_DTYPE_COUNT; type++) {
        if (cf_dtype_get(type).name != NULL) {
            check(&(cf_tiny_options){.type = (cf_dtype)type, .n_layer = 1});
        }
    }
}

/* Numbers beside the matrices, as NVFP4 has them: of one, of a stack, of a fused
 * one, with a bias after it. */
static void test_forward__scales_of_matrices(void **state)
{
    (void)state;
    static const char *const archs[] = {"llama", "qwen3moe", "deepseek2", "phi3", "granitehybrid"};
    for (size_t i = 0; i < 10; i++) {
        check(&(cf_tiny_options){.arch = archs[i / 2],
                                 .seed = i,
                                 .type = i % 2 == 0 ? CF_NVFP4 : CF_F32,
                                 .has_bias = i % 2 == 0,
                                 .has_scales = true});
    }
}

/* Experts of older files, a tensor each, and with a number beside each. */
static void test_forward__experts_apart(void **state)
{
    (void)state;
    static const char *const archs[] = {"llama", "qwen3moe", "deepseek2", "nemotron_h_moe"};
    for (size_t i = 0; i < 8; i++) {
        check(&(cf_tiny_options){
            .arch = archs[i / 2], .seed = i, .has_scales = i % 2 != 0, .has_split_experts = true});
    }
}

/* The same numbers in a stack and apart, with each number of threads. */
static void test_forward__experts_apart_same_bits(void **state)
{
    (void)state;
    float want[N_VOCAB];
    cf_token ids[N];
    for (size_t i = 0; i < N; i++) {
        ids[i] = (cf_token)(i * 7 % N_VOCAB);
    }
    for (unsigned i = 0; i < 3; i++) {
        size_t n;
        cf_error err;
        cf_engine *e = NULL;
        cf_session *s = NULL;
        void *p = cf_tiny_gguf(
            &(cf_tiny_options){.arch = "qwen3moe", .type = CF_Q4_0, .has_split_experts = i != 0},
            &n);
        const cf_engine_options o = {.n_threads = i == 2 ? 3 : 1};
        T_OK(cf_engine_open_memory(&e, p, n, &o, &err), err);
        T_OK(cf_session_new(&s, e, NULL, &err), err);
        T_OK(cf_session_sync(s, ids, N, NULL, NULL, &err), err);
        if (i == 0) {
            memcpy(want, cf_session_logits(s), sizeof want);
        }
        assert_memory_equal(cf_session_logits(s), want, sizeof want);
        cf_session_free(s);
        cf_engine_close(e);
        cf_tiny_free(p);
    }
}

/* One of the experts is not there, or of another type. */
static void test_forward__experts_apart_refused(void **state)
{
    (void)state;
    static const char name[] = "blk.1.ffn_up.3.weight";
    for (int i = 0; i < 2; i++) {
        size_t n, at = 0;
        cf_error err;
        cf_engine *e = NULL;
        unsigned char *p = cf_tiny_gguf(
            &(cf_tiny_options){.arch = "llama", .type = CF_F16, .has_split_experts = true}, &n);
        while (memcmp(p + at, name, strlen(name)) != 0) {
            at++;
        }
        if (i == 0) {
            p[at + strlen("blk.1.ffn_up.")] = '8';
        } else { /* after the name: how many dimensions, two of them */
            p[at + strlen(name) + 4 + 16] = CF_BF16;
        }
        T_FAILS(cf_engine_open_memory(&e, p, n, NULL, &err), i == 0 ? CF_EFORMAT : CF_EUNSUPPORTED);
        assert_non_null(strstr(err.text, name));
        cf_tiny_free(p);
    }
}

static void test_forward__rope_and_layers(void **state)
{
    (void)state;
    check(&(cf_tiny_options){.has_rope_freqs = true});
    check(&(cf_tiny_options){.arch = "gemma3", .rope_scaling = "linear"});
    check(&(cf_tiny_options){.arch = "qwen3", .rope_scaling = "linear"});
    check(&(cf_tiny_options){.arch = "gemma2", .by_layer = true});
    check(&(cf_tiny_options){.arch = "deepseek2", .head_size_v = 20, .has_bias = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward__architectures),
        cmocka_unit_test(test_forward__parts),
        cmocka_unit_test(test_forward__types),
        cmocka_unit_test(test_forward__scales_of_matrices),
        cmocka_unit_test(test_forward__experts_apart),
        cmocka_unit_test(test_forward__experts_apart_same_bits),
        cmocka_unit_test(test_forward__experts_apart_refused),
        cmocka_unit_test(test_forward__rope_and_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
