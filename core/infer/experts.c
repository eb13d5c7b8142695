/*
 * experts.c - computes a mixture of experts (Shazeer et al. 2017): a router
 * chooses a few feed-forward blocks for each token.
 *
 *   s = router * h
 *   weights: softmax(s), or sigmoid(s), of the n_used largest, over their sum
 *   h = sum over the chosen e of weight_e * down_e (act(gate_e h) . (up_e h))
 *
 * A slot is one (row, chosen expert).  Slots are numbered by expert, then by
 * row, so that an expert's slots follow each other and its matrices are read
 * once for all of them.  A row adds its slots up in the order in which the
 * router chose them, largest first, so that other rows change no bit.
 */
#include <math.h>
#include <string.h>

#include "core/infer/pass.h"

/* Where the plan's buffers for experts are, in terms of this file. */
typedef struct mixture {
    const cf_pass *p;
    const cf_layer_weights *w;
    const cf_expert_hparams *x;
    float *score;     /* [n_row, n] */
    float *weight;    /* [n_row, n_used] */
    float *shared;    /* [n_row]: factor of the shared expert */
    uint32_t *pick;   /* [n_row, n_used]: expert, then its slot */
    uint32_t *row;    /* [n_row * n_used]: of a slot */
    uint32_t *end;    /* [n]: first slot after an expert's */
    float *gate, *up; /* [slots, n_ff] */
    float *out;       /* [slots, n_embd] */
} mixture;

static mixture open_mixture(const cf_pass *p, uint32_t layer)
{
    const cf_expert_hparams *x = &p->e->hp.expert;
    mixture m = {.p = p, .w = &p->e->w.layer[layer], .x = x};
    size_t n_row = p->e->ws.plan.n_row;
    m.score = cf_pass__buf(p, CF_WS_ROUTE);
    m.weight = m.score + n_row * x->n;
    m.shared = m.weight + n_row * x->n_used;
    m.pick = (uint32_t *)(void *)(m.shared + n_row);
    m.row = m.pick + n_row * x->n_used;
    m.end = m.row + n_row * x->n_used;
    m.gate = cf_pass__buf(p, CF_WS_EXPERT_GATE);
    m.up = cf_pass__buf(p, CF_WS_EXPERT_UP);
    m.out = cf_pass__buf(p, CF_WS_EXPERT_OUT);
    return m;
}

/* Slots of expert e: from the return value up to end[e]. */
static size_t first_slot(const mixture *m, size_t e)
{
    return e == 0 ? 0 : m->end[e - 1];
}

/* ---- routing ------------------------------------------------------------ */

static float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

/* What experts are chosen by: s, with the bias where there is one. */
static float merit(const mixture *m, const float *s, uint32_t e)
{
    const float *bias = m->w->expert.choice_bias;
    return bias != NULL ? s[e] + bias[e] : s[e];
}

/* The score of group g: the sum of its two best experts (DeepSeek-AI 2024b,
 * V3), with softmax the best one (2024a, V2). */
static float group_score(const mixture *m, const float *s, uint32_t g)
{
    uint32_t n = m->x->n / m->x->n_group;
    float first = -INFINITY, second = -INFINITY;
    for (uint32_t e = g * n; e < (g + 1) * n; e++) {
        float v = merit(m, s, e);
        second = v > first ? first : v > second ? v : second;
        first = v > first ? v : first;
    }
    return n == 1 || m->x->gating == CF_GATING_SOFTMAX ? first : first + second;
}

/* Marks the groups of largest scores, of equal ones the first. */
static void choose_groups(const mixture *m, const float *s, bool is_open[])
{
    float score[CF_EXPERT_MAX];
    uint32_t n = m->x->n_group;
    for (uint32_t g = 0; n > 1 && g < n; g++) {
        score[g] = group_score(m, s, g);
    }
    for (uint32_t g = 0; g < n; g++) {
        uint32_t n_before = 0;
        for (uint32_t h = 0; n > 1 && h < n; h++) {
            n_before += score[h] > score[g] || (score[h] == score[g] && h < g);
        }
        is_open[g] = n_before < m->x->n_group_used;
    }
}

/* The n_used experts of most merit, largest first; of equal ones the first. */
static void choose(const mixture *m, const float *s, uint32_t *pick)
{
    bool is_open[CF_EXPERT_MAX];
    uint32_t group_size = m->x->n / m->x->n_group;
    choose_groups(m, s, is_open);
    for (uint32_t j = 0; j < m->x->n_used; j++) {
        float best = -INFINITY;
        pick[j] = 0;
        for (uint32_t e = 0; e < m->x->n; e++) {
            float v = merit(m, s, e);
            bool is_taken = !is_open[e / group_size];
            for (uint32_t t = 0; t < j; t++) {
                is_taken = is_taken || pick[t] == e;
            }
            if (!is_taken && v > best) {
                best = v;
                pick[j] = e;
            }
        }
    }
}

/* Scores become probabilities; exp is taken from the largest down. */
static void soften(float *s, uint32_t n)
{
    float top = s[0];
    float sum = 0;
    for (uint32_t e = 1; e < n; e++) {
        top = s[e] > top ? s[e] : top;
    }
    for (uint32_t e = 0; e < n; e++) {
        s[e] = expf(s[e] - top);
        sum += s[e];
    }
    for (uint32_t e = 0; e < n; e++) {
        s[e] /= sum;
    }
}

/* By row: which experts, and how much of each. */
static void route_row(const mixture *m, size_t r)
{
    const cf_expert_hparams *x = m->x;
    float *s = m->score + r * x->n;
    float *weight = m->weight + r * x->n_used;
    uint32_t *pick = m->pick + r * x->n_used;
    float sum = 0;
    if (x->gating == CF_GATING_SOFTMAX) {
        soften(s, x->n);
    }
    for (uint32_t e = 0; x->gating == CF_GATING_SIGMOID && e < x->n; e++) {
        s[e] = sigmoid(s[e]);
    }
    choose(m, s, pick);
    for (uint32_t j = 0; j < x->n_used; j++) {
        weight[j] = s[pick[j]];
        sum += weight[j];
    }
    for (uint32_t j = 0; j < x->n_used; j++) {
        if (x->is_normalised && sum > 0) {
            weight[j] /= sum;
        }
        weight[j] *= x->scale;
    }
}

/* The router's input: h, or x of the layer's start (SmallThinker), or
 * norm(x) / sqrt(n_embd) . scale (gemma4), which is computed in a slot's output
 * buffer. */
static const float *router_input(const mixture *m, size_t r)
{
    const cf_pass *p = m->p;
    size_t n_embd = p->e->hp.n_embd;
    const float *scale = m->w->expert.router_scale;
    float *t = m->out + r * m->x->n_used * n_embd;
    float by = (float)(1 / sqrt((double)n_embd));
    if (p->e->hp.arch->has_early_router) {
        return (float *)cf_pass__buf(p, CF_WS_SIDE) + r * n_embd;
    }
    if (scale == NULL) {
        return p->h + r * n_embd;
    }
    p->e->k->rms_norm(t, p->x + r * n_embd, NULL, n_embd, p->e->hp.norm_eps);
    for (size_t c = 0; c < n_embd; c++) {
        t[c] = t[c] * by * scale[c];
    }
    return t;
}

/* By row: the factor of the shared expert, from the h that all experts read. */
static void weigh_shared(const mixture *m, size_t r)
{
    const float *w = m->w->expert.shared_gate;
    size_t n_embd = m->p->e->hp.n_embd;
    const float *h = m->p->h + r * n_embd;
    double sum = 0;
    for (size_t c = 0; w != NULL && c < n_embd; c++) {
        sum += (double)h[c] * (double)w[c];
    }
    m->shared[r] = w != NULL ? sigmoid((float)sum) : 1;
}

static void route(const mixture *m, size_t r0, unsigned i, unsigned n)
{
    const cf_pass *p = m->p;
    cf_group g = {0};
    cf_range rows = cf_pass__rows(p, r0, i, n);
    cf_group__add(&g, &m->w->expert.router, m->w->expert.router_bias, m->score);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        cf_pass__prepare(p, &g, router_input(m, r), r);
        weigh_shared(m, r);
    }
    cf_pass__barrier(p);
    cf_pass__multiply(p, &g, r0, i, n);
    cf_pass__barrier(p);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        route_row(m, r);
    }
    cf_pass__barrier(p);
}

/* One thread: numbers the slots by expert; pick then holds slots. */
static void number_slots(const mixture *m, size_t r0)
{
    size_t n_used = m->x->n_used;
    memset(m->end, 0, m->x->n * sizeof *m->end);
    for (size_t j = r0 * n_used; j < m->p->n_row * n_used; j++) {
        m->end[m->pick[j]]++;
    }
    uint32_t at = 0;
    for (size_t e = 0; e < m->x->n; e++) {
        uint32_t count = m->end[e];
        m->end[e] = at; /* the first for now; it ends as the one after */
        at += count;
    }
    for (size_t j = r0 * n_used; j < m->p->n_row * n_used; j++) {
        uint32_t slot = m->end[m->pick[j]]++;
        m->row[slot] = (uint32_t)(j / n_used);
        m->pick[j] = slot;
    }
}

/* ---- the experts -------------------------------------------------------- */

/* Two stacks that read the same slots, or one. */
typedef struct stacks {
    const cf_mat_stack *s[2];
    const float *bias[2]; /* [n, rows of s] or NULL */
    float *y[2];          /* [slots, rows of s] */
    size_t n;
} stacks;

/* Where prepared slots of each stack begin. */
static void slot_offsets(const mixture *m, const stacks *g, size_t off[2])
{
    const cf_mat *mats[2] = {&g->s[0]->first, &g->s[g->n - 1]->first};
    cf_ws_prepared(off, m->p->e->k, mats, g->n, (size_t)m->p->e->ws.plan.n_row * m->x->n_used);
}

/* By slot. */
static void prepare_slot(const mixture *m, const stacks *g, const float *in, size_t slot)
{
    const cf_kernels *k = m->p->e->k;
    size_t off[2];
    slot_offsets(m, g, off);
    for (size_t j = 0; j < g->n; j++) {
        const cf_mat *mat = &g->s[j]->first;
        size_t bytes = k->prepared_bytes(mat->type, mat->n_col);
        if (j == 0 || off[j] > off[j - 1]) {
            k->prepare(m->p->xp + off[j] + slot * bytes, mat->type, in, 1, mat->n_col);
        }
    }
}

/* By output: every expert that was chosen, for all its slots. */
static void multiply_slots(const mixture *m, const stacks *g, unsigned i, unsigned n)
{
    const cf_kernels *k = m->p->e->k;
    size_t off[2];
    slot_offsets(m, g, off);
    for (size_t e = 0; e < m->x->n; e++) {
        size_t s0 = first_slot(m, e);
        for (size_t j = 0; j < g->n && m->end[e] > s0; j++) {
            cf_mat mat = cf_mat_stack_at(g->s[j], e);
            size_t bytes = k->prepared_bytes(mat.type, mat.n_col);
            cf_product job = {&mat, g->bias[j] != NULL ? g->bias[j] + e * mat.n_row : NULL,
                              g->y[j] + s0 * mat.n_row, m->p->xp + off[j] + s0 * bytes,
                              m->end[e] - s0};
            cf_pass__multiply_one(m->p, &job, i, n);
        }
    }
}

/* The input of a slot's expert: its row's h, or norm(x) (gemma4). */
static const float *slot_input(const mixture *m, size_t slot)
{
    const cf_pass *p = m->p;
    size_t n_embd = p->e->hp.n_embd;
    size_t r = m->row[slot];
    float *t = m->out + slot * n_embd;
    if (m->w->expert.pre_norm == NULL) {
        return p->h + r * n_embd;
    }
    p->e->k->rms_norm(t, p->x + r * n_embd, m->w->expert.pre_norm, n_embd, p->e->hp.norm_eps);
    return t;
}

/* Leaves each slot's output in the workspace; h is as it was. */
void cf_experts(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    mixture m = open_mixture(p, layer);
    const cf_expert_weights *w = &m.w->expert;
    size_t n_ff = m.x->n_ff;
    stacks gate_up = {{&w->gate, &w->up},
                      {w->gate_bias, w->up_bias},
                      {m.gate, m.up},
                      w->up.first.p != NULL ? 2 : 1};
    stacks down = {{&w->down}, {w->down_bias}, {m.out}, 1};
    route(&m, r0, i, n);
    if (i == 0) {
        number_slots(&m, r0);
    }
    cf_pass__barrier(p);
    cf_range slots = cf_pass__share((p->n_row - r0) * m.x->n_used, 1, i, n);
    for (size_t s = slots.lo; s < slots.hi; s++) {
        prepare_slot(&m, &gate_up, slot_input(&m, s), s);
    }
    cf_pass__barrier(p);
    multiply_slots(&m, &gate_up, i, n);
    cf_pass__barrier(p);
    for (size_t s = slots.lo; s < slots.hi; s++) {
        cf_pass__activate(p, layer, m.gate + s * n_ff, m.up + s * n_ff, n_ff);
        prepare_slot(&m, &down, m.gate + s * n_ff, s);
    }
    cf_pass__barrier(p);
    multiply_slots(&m, &down, i, n);
    cf_pass__barrier(p);
}

/* The expert of a slot. */
static uint32_t expert_of(const mixture *m, uint32_t slot)
{
    uint32_t e = 0;
    while (m->end[e] <= slot) {
        e++;
    }
    return e;
}

/* Shows a probe the experts of row r. */
static void show_experts(const mixture *m, uint32_t layer, size_t r)
{
    const cf_row *row = &m->p->rows[r];
    for (size_t j = 0; row->probe != NULL && j < m->x->n_used; j++) {
        size_t at = r * m->x->n_used + j;
        uint32_t slot = m->pick[at];
        cf_probe_expert(row->probe, layer, row->pos, expert_of(m, slot), &m->weight[at],
                        m->out + slot * (size_t)m->p->e->hp.n_embd);
    }
}

/* By row: the sum of its slots, left in the first of them. */
static float *sum_of_slots(const mixture *m, size_t r)
{
    size_t n_embd = m->p->e->hp.n_embd;
    const uint32_t *slot = m->pick + r * m->x->n_used;
    const float *weight = m->weight + r * m->x->n_used;
    float *sum = m->out + slot[0] * n_embd;
    for (size_t c = 0; c < n_embd; c++) {
        sum[c] *= weight[0];
    }
    for (size_t j = 1; j < m->x->n_used; j++) {
        const float *out = m->out + slot[j] * n_embd;
        for (size_t c = 0; c < n_embd; c++) {
            sum[c] += weight[j] * out[c];
        }
    }
    return sum;
}

/* h = experts, or experts + the dense block's output, which is in h. */
void cf_experts_add(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    mixture m = open_mixture(p, layer);
    const cf_expert_weights *w = &m.w->expert;
    size_t n_embd = p->e->hp.n_embd;
    cf_range rows = cf_pass__rows(p, r0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        float *h = p->h + r * n_embd;
        show_experts(&m, layer, r);
        float *sum = sum_of_slots(&m, r);
        if (w->post_norm != NULL) {
            cf_pass__norm(p, w->post_norm, sum, sum);
            cf_pass__norm(p, w->dense_post_norm, h, h);
        }
        float a = m.w->gate.p != NULL ? m.shared[r] : 0;
        for (size_t c = 0; c < n_embd; c++) {
            h[c] = a != 0 ? sum[c] + a * h[c] : sum[c];
        }
    }
}
