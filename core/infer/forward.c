/*
 * forward.c - the transformer pass, one pool job with barriers inside.
 *
 * Every phase is split among the threads by a rule that looks only at counts,
 * and writes only its own share; a barrier stands between two phases where
 * the second reads what another thread wrote in the first.  Phases work on
 * whole rows ("by row"), on rows of a weight matrix ("by output"), or on a
 * row's key/value heads ("by head").
 *
 * Each number is computed by one thread in an order fixed by the model's
 * sizes, so the number of threads and the other rows change no bit.
 */
#include "core/infer/forward.h"

#include <math.h>
#include <string.h>

typedef struct pass {
    cf_engine *e;
    const cf_row *rows;
    size_t n_row, first_out;
    const cf_cancel *cancel;
    bool is_cancelled; /* written by part 0, read by all behind a barrier */

    /* Of the layer under way: rows r0..r1-1 are computed. */
    float *x, *h, *q, *k, *v, *att, *gate, *up;
    unsigned char *xp;
    float *angles;

    float *logits; /* cf_forward_logits only: where they go */
} pass;

/* A thread's share of 0..n-1 in steps of `multiple`: part i of n_part. */
typedef struct range {
    size_t lo, hi;
} range;

static range share(size_t n, size_t multiple, unsigned i, unsigned n_part)
{
    size_t n_unit = (n + multiple - 1) / multiple;
    size_t lo = n_unit * i / n_part * multiple;
    size_t hi = n_unit * (i + 1) / n_part * multiple;
    return (range){lo < n ? lo : n, hi < n ? hi : n};
}

static void *ws_buf(const cf_ws *ws, cf_ws_buf b)
{
    return ws->p + ws->plan.off[b];
}

static void init_pass(pass *p, cf_engine *e, const cf_row *rows, size_t n_row,
                      size_t first_out)
{
    const cf_ws *ws = &e->ws;
    *p = (pass){.e = e,
                .rows = rows,
                .n_row = n_row,
                .first_out = first_out,
                .x = ws_buf(ws, CF_WS_X),
                .h = ws_buf(ws, CF_WS_H),
                .q = ws_buf(ws, CF_WS_Q),
                .k = ws_buf(ws, CF_WS_K),
                .v = ws_buf(ws, CF_WS_V),
                .att = ws_buf(ws, CF_WS_ATT),
                .gate = ws_buf(ws, CF_WS_GATE),
                .up = ws_buf(ws, CF_WS_UP),
                .xp = ws_buf(ws, CF_WS_XP),
                .angles = ws_buf(ws, CF_WS_ANGLES)};
}

static unsigned char *thread_buf(const pass *p, unsigned i)
{
    const cf_ws_plan *plan = &p->e->ws.plan;
    return (unsigned char *)ws_buf(&p->e->ws, CF_WS_THREAD) +
           i * plan->thread_bytes;
}

static void barrier(const pass *p)
{
    cf_pool_barrier(p->e->pool);
}

/* ---- inputs and matrices ------------------------------------------------ */

/* Matrices that read the same activations. */
typedef struct group {
    const cf_mat *m[3];
    const float *bias[3]; /* [n_row of m] or NULL */
    float *y[3];          /* [rows of the pass, n_row of m] */
    size_t n;
} group;

/* By row: makes in[r, n_col] ready for the group's matrices. */
static void prepare_row(const pass *p, const group *g, const float *in,
                        size_t r)
{
    const cf_kernels *k = p->e->k;
    size_t off[3];
    cf_ws_prepared(off, k, g->m, g->n, p->e->ws.plan.n_row);
    for (size_t j = 0; j < g->n; j++) {
        const cf_mat *m = g->m[j];
        size_t bytes = k->prepared_bytes(m->type, m->n_col);
        if (j == 0 || off[j] > off[j - 1]) {
            k->prepare(p->xp + off[j] + r * bytes, m->type, in + r * m->n_col,
                       1, m->n_col);
        }
    }
}

/* One matrix against n_x prepared rows at xp, into y [n_x, n_row of m]. */
typedef struct product {
    const cf_mat *m;
    const float *bias; /* or NULL */
    float *y;
    const unsigned char *xp;
    size_t n_x;
} product;

/* By output: y[r] = m * x[r] + bias. */
static void multiply_one(const pass *p, const product *job, unsigned i,
                         unsigned n)
{
    const cf_kernels *k = p->e->k;
    const cf_mat *m = job->m;
    range out = share(m->n_row, k->row_multiple, i, n);
    if (job->n_x == 0 || out.lo == out.hi) {
        return;
    }
    k->matmul(job->y, m->n_row, m, job->xp, job->n_x, out.lo, out.hi,
              thread_buf(p, i));
    for (size_t r = 0; job->bias != NULL && r < job->n_x; r++) {
        k->add(job->y + r * m->n_row + out.lo, job->bias + out.lo,
               out.hi - out.lo);
    }
}

/* The same for each matrix of a group and rows r0 to the last. */
static void multiply(const pass *p, const group *g, size_t r0, unsigned i,
                     unsigned n)
{
    size_t off[3];
    cf_ws_prepared(off, p->e->k, g->m, g->n, p->e->ws.plan.n_row);
    for (size_t j = 0; j < g->n; j++) {
        const cf_mat *m = g->m[j];
        size_t bytes = p->e->k->prepared_bytes(m->type, m->n_col);
        product job = {m, g->bias[j], g->y[j] + r0 * m->n_row,
                       p->xp + off[j] + r0 * bytes, p->n_row - r0};
        multiply_one(p, &job, i, n);
    }
}

static group qkv_group(const pass *p, const cf_layer_weights *w)
{
    return (group){{&w->q, &w->k, &w->v},
                   {w->q_bias, w->k_bias, w->v_bias},
                   {p->q, p->k, p->v},
                   3};
}

static group o_group(const pass *p, const cf_layer_weights *w)
{
    return (group){{&w->o}, {w->o_bias}, {p->h}, 1};
}

static group gate_up_group(const pass *p, const cf_layer_weights *w)
{
    return (group){
        {&w->gate, &w->up}, {w->gate_bias, w->up_bias}, {p->gate, p->up}, 2};
}

static group down_group(const pass *p, const cf_layer_weights *w)
{
    return (group){{&w->down}, {w->down_bias}, {p->h}, 1};
}

/* ---- by row ------------------------------------------------------------- */

/* x = embedding(token) * embd_scale, and the angles of the row's position. */
static void embed_rows(const pass *p, unsigned i, unsigned n)
{
    const cf_engine *e = p->e;
    const cf_mat *m = &e->w.embd;
    size_t n_embd = e->hp.n_embd;
    range rows = share(p->n_row, 1, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        const cf_row *row = &p->rows[r];
        float *x = p->x + r * n_embd;
        CF_ASSERT(row->id >= 0 && (uint32_t)row->id < m->n_row);
        cf_dtype_to_f32(m->type, x,
                        (const unsigned char *)m->p +
                            (size_t)row->id * m->row_bytes,
                        n_embd);
        if (e->hp.embd_scale != 1.0f) {
            for (size_t c = 0; c < n_embd; c++) {
                x[c] *= e->hp.embd_scale;
            }
        }
        for (size_t s = 0; s < CF_ROPE_SETS; s++) {
            const cf_rope *rope = &e->rope[s][row->rope_variant];
            cf_rope_angles(p->angles + (s * e->ws.plan.n_row + r) * rope->n_rot,
                           rope, row->pos);
        }
    }
}

/* h = norm(x) * w, made ready for the group that follows. */
static void norm_row(const pass *p, const float *w, const group *next, size_t r)
{
    size_t n_embd = p->e->hp.n_embd;
    p->e->k->rms_norm(p->h + r * n_embd, p->x + r * n_embd, w, n_embd,
                      p->e->hp.norm_eps);
    prepare_row(p, next, p->h, r);
}

/* x += h, or x += norm(h) * w in families with post-norms. */
static void add_row(const pass *p, const float *post_norm, size_t r)
{
    size_t n_embd = p->e->hp.n_embd;
    float *h = p->h + r * n_embd;
    if (post_norm != NULL) {
        p->e->k->rms_norm(h, h, post_norm, n_embd, p->e->hp.norm_eps);
    }
    p->e->k->add(p->x + r * n_embd, h, n_embd);
}

/* ---- by head ------------------------------------------------------------ */

/* The keys and values of one position of one key/value head into the cache. */
static void store(const pass *p, const cf_row *row, uint32_t layer,
                  uint32_t head, const float *k, const float *v)
{
    const cf_layer_hparams *l = &p->e->hp.layer[layer];
    uint32_t page = row->pos / CF_KV_BLOCK;
    size_t at = row->pos % CF_KV_BLOCK;
    void *keys = cf_kv_keys(row->kv, page, layer, head);
    void *values = cf_kv_values(row->kv, page, layer, head);
    if (row->kv->layout->is_f16) {
        p->e->k->f32_to_f16((uint16_t *)keys + at * l->head_size, k,
                            l->head_size);
        p->e->k->f32_to_f16((uint16_t *)values + at * l->head_size_v, v,
                            l->head_size_v);
    } else {
        memcpy((float *)keys + at * l->head_size, k,
               l->head_size * sizeof(float));
        memcpy((float *)values + at * l->head_size_v, v,
               l->head_size_v * sizeof(float));
    }
}

/* Norm of a query or key head (families with qk-norm), then its rotation. */
static void finish_head(const pass *p, uint32_t layer, size_t r,
                        const float *norm, float *head)
{
    const cf_engine *e = p->e;
    const cf_layer_hparams *l = &e->hp.layer[layer];
    uint32_t n_rot = e->hp.rope[l->rope_set].n_rot;
    if (norm != NULL) {
        e->k->rms_norm(head, head, norm, l->head_size, e->hp.norm_eps);
    }
    if (l->has_rope) {
        cf_rope_apply(head,
                      p->angles +
                          ((size_t)l->rope_set * e->ws.plan.n_row + r) * n_rot,
                      n_rot, e->hp.arch->rope_style);
    }
}

/* The share of (row, key/value head) pairs: pair u is part u % n's, so that
 * later rows, which look at more positions, are spread evenly. */
static void rotate_and_store(const pass *p, uint32_t layer, unsigned i,
                             unsigned n)
{
    const cf_layer_hparams *l = &p->e->hp.layer[layer];
    const cf_layer_weights *w = &p->e->w.layer[layer];
    size_t group_size = l->n_head / l->n_head_kv;
    for (size_t u = i; u < p->n_row * l->n_head_kv; u += n) {
        size_t r = u / l->n_head_kv;
        uint32_t head = (uint32_t)(u % l->n_head_kv);
        float *k = p->k + (r * l->n_head_kv + head) * l->head_size;
        float *v = p->v + (r * l->n_head_kv + head) * l->head_size_v;
        float *q = p->q + (r * l->n_head + head * group_size) * l->head_size;
        finish_head(p, layer, r, w->k_norm, k);
        store(p, &p->rows[r], layer, head, k, v);
        for (size_t j = 0; j < group_size; j++) {
            finish_head(p, layer, r, w->q_norm, q + j * l->head_size);
        }
    }
}

/* att = softmax(scale * q . k over the positions seen) * v   (Vaswani et al.
 * 2017; query heads share key/value heads, Ainslie et al. 2023). */
/* For rows r .. r + n_row - 1, which are at consecutive positions of one cache,
 * and one key/value head. */
static void attend_run(const pass *p, uint32_t layer, size_t r, size_t n_row,
                       uint32_t head, unsigned char *scratch)
{
    const cf_hparams *hp = &p->e->hp;
    const cf_layer_hparams *l = &hp->layer[layer];
    const cf_ws_plan *plan = &p->e->ws.plan;
    const cf_row *row = &p->rows[r];
    const void **k_block = (const void **)(void *)(scratch + plan->k_off);
    const void **v_block = (const void **)(void *)(scratch + plan->v_off);
    size_t group_size = l->n_head / l->n_head_kv;
    uint32_t first = 0;
    if (l->window != 0 && row->pos >= l->window) {
        first = row->pos - l->window + 1;
    }
    uint32_t last_block = (row->pos + (uint32_t)n_row - 1) / CF_KV_BLOCK;
    for (uint32_t b = first / CF_KV_BLOCK; b <= last_block; b++) {
        k_block[b] = cf_kv_keys(row->kv, b, layer, head);
        v_block[b] = cf_kv_values(row->kv, b, layer, head);
    }
    size_t q0 = r * l->n_head + head * group_size;
    cf_attn a = {.out = p->att + q0 * l->head_size_v,
                 .q = p->q + q0 * l->head_size,
                 .n_q = group_size,
                 .q_stride = l->head_size,
                 .out_stride = l->head_size_v,
                 .n_row = n_row,
                 .q_row = (size_t)l->n_head * l->head_size,
                 .out_row = (size_t)l->n_head * l->head_size_v,
                 .window = l->window,
                 .k_block = k_block,
                 .v_block = v_block,
                 .first = first,
                 .last = row->pos,
                 .head_size = l->head_size,
                 .head_size_v = l->head_size_v,
                 .is_f16 = row->kv->layout->is_f16,
                 .scale = l->attn_scale,
                 .soft_cap = hp->attn_soft_cap,
                 .scratch = (float *)(void *)(scratch + plan->attn_off)};
    p->e->k->attend(&a);
}

/* How many rows from r to at most `end` follow each other in one cache. */
static size_t run_length(const pass *p, size_t r, size_t end)
{
    size_t n = 1;
    while (r + n < end && p->rows[r + n].kv == p->rows[r].kv &&
           p->rows[r + n].pos == p->rows[r].pos + n) {
        n++;
    }
    return n;
}

/* By head: groups of CF_ATTN_ROWS rows, each with one key/value head. */
static void attend(const pass *p, uint32_t layer, size_t r0, unsigned i,
                   unsigned n)
{
    uint32_t n_kv = p->e->hp.layer[layer].n_head_kv;
    size_t n_group = (p->n_row - r0 + CF_ATTN_ROWS - 1) / CF_ATTN_ROWS;
    for (size_t u = i; u < n_group * n_kv; u += n) {
        size_t r = r0 + u / n_kv * CF_ATTN_ROWS, end = r + CF_ATTN_ROWS;
        end = end < p->n_row ? end : p->n_row;
        while (r < end) {
            size_t n_run = run_length(p, r, end);
            attend_run(p, layer, r, n_run, (uint32_t)(u % n_kv),
                       thread_buf(p, i));
            r += n_run;
        }
    }
}

/* ---- a layer ------------------------------------------------------------ */

/*
 * x += post(o * attention(rope(norm(q * h)), rope(norm(k * h)), v * h)),
 * h = norm(x), for rows r0 and later; keys and values of all rows are cached.
 * On entry the rows' h is prepared; the sum is left to the next phase by row.
 */
static void attention(const pass *p, uint32_t layer, size_t r0, unsigned i,
                      unsigned n)
{
    const cf_layer_weights *w = &p->e->w.layer[layer];
    group qkv = qkv_group(p, w);
    group o = o_group(p, w);
    multiply(p, &qkv, 0, i, n);
    barrier(p);
    rotate_and_store(p, layer, i, n);
    barrier(p);
    attend(p, layer, r0, i, n);
    barrier(p);
    range rows = share(p->n_row - r0, 1, i, n);
    for (size_t r = r0 + rows.lo; r < r0 + rows.hi; r++) {
        prepare_row(p, &o, p->att, r);
    }
    barrier(p);
    multiply(p, &o, r0, i, n);
}

/*
 * h = down * (act(gate * h) . (up * h))   (Shazeer 2020), . by element.
 * On entry the rows' h is prepared; the sum is left to the next phase by row.
 */
static void feed_forward(const pass *p, uint32_t layer, size_t r0, unsigned i,
                         unsigned n)
{
    const cf_kernels *k = p->e->k;
    const cf_layer_weights *w = &p->e->w.layer[layer];
    size_t n_ff = p->e->hp.layer[layer].n_ff;
    group gate_up = gate_up_group(p, w);
    group down = down_group(p, w);
    multiply(p, &gate_up, r0, i, n);
    barrier(p);
    range rows = share(p->n_row - r0, 1, i, n);
    for (size_t r = r0 + rows.lo; r < r0 + rows.hi; r++) {
        float *gate = p->gate + r * n_ff;
        if (p->e->hp.arch->act == CF_ACT_GELU) {
            k->gelu_mul(gate, gate, p->up + r * n_ff, n_ff);
        } else {
            k->silu_mul(gate, gate, p->up + r * n_ff, n_ff);
        }
        prepare_row(p, &down, p->gate, r);
    }
    barrier(p);
    multiply(p, &down, r0, i, n);
}

/* All parts learn whether to stop; a barrier, too. */
static bool is_cancelled(pass *p, unsigned i)
{
    if (i == 0) {
        p->is_cancelled = p->cancel != NULL &&
                          atomic_load_explicit(p->cancel, memory_order_relaxed);
    }
    barrier(p);
    return p->is_cancelled;
}

static void forward_part(void *ud, unsigned i, unsigned n)
{
    pass *p = ud;
    const cf_engine *e = p->e;
    uint32_t n_layer = e->hp.n_layer;
    size_t r0 = 0; /* first row still computed */
    embed_rows(p, i, n);
    for (uint32_t layer = 0; layer < n_layer; layer++) {
        const cf_layer_weights *w = &e->w.layer[layer];
        group qkv = qkv_group(p, w);
        group gate_up = gate_up_group(p, w);
        /* By row, and the same rows as in the phase before: no barrier. */
        range rows = share(p->n_row, 1, i, n);
        for (size_t r = rows.lo; r < rows.hi; r++) {
            if (layer > 0) {
                add_row(p, e->w.layer[layer - 1].post_ffn_norm, r);
            }
            norm_row(p, w->attn_norm, &qkv, r);
        }
        if (is_cancelled(p, i)) {
            return;
        }
        /* Behind the last layer's cache nobody needs the other rows. */
        r0 = layer + 1 == n_layer ? p->first_out : 0;
        attention(p, layer, r0, i, n);
        barrier(p);
        rows = share(p->n_row - r0, 1, i, n);
        for (size_t r = r0 + rows.lo; r < r0 + rows.hi; r++) {
            add_row(p, w->post_attn_norm, r);
            norm_row(p, w->ffn_norm, &gate_up, r);
        }
        barrier(p);
        feed_forward(p, layer, r0, i, n);
        barrier(p);
    }
    range rows = share(p->n_row - r0, 1, i, n);
    for (size_t r = r0 + rows.lo; r < r0 + rows.hi; r++) {
        add_row(p, e->w.layer[n_layer - 1].post_ffn_norm, r);
    }
}

cf_status cf_forward(cf_engine *e, const cf_row *rows, size_t n_row,
                     size_t first_out, const cf_cancel *cancel, cf_error *err)
{
    pass p;
    CF_ASSERT(n_row >= 1 && n_row <= e->ws.plan.n_row && first_out <= n_row);
    init_pass(&p, e, rows, n_row, first_out);
    p.cancel = cancel;
    cf_pool_run(e->pool, forward_part, &p);
    return p.is_cancelled ? cf_fail(err, CF_ECANCELLED, "cancelled") : CF_OK;
}

/* ---- logits ------------------------------------------------------------- */

/* logits = output * norm(x), then cap * tanh(logits / cap) where capped. */
static void logits_part(void *ud, unsigned i, unsigned n)
{
    pass *p = ud;
    const cf_engine *e = p->e;
    size_t n_vocab = e->hp.n_vocab;
    float cap = e->hp.final_soft_cap;
    size_t r0 = p->first_out;
    const cf_mat *m = &e->w.output;
    group out = {{m}, {NULL}, {NULL}, 1};
    range rows = share(p->n_row - r0, 1, i, n);
    for (size_t r = r0 + rows.lo; r < r0 + rows.hi; r++) {
        norm_row(p, e->w.output_norm, &out, r);
    }
    barrier(p);
    product job = {m, e->w.output_bias, p->logits,
                   p->xp + r0 * e->k->prepared_bytes(m->type, m->n_col),
                   p->n_row - r0};
    multiply_one(p, &job, i, n);
    if (cap > 0) {
        range mine = share(n_vocab, e->k->row_multiple, i, n);
        for (size_t r = r0; r < p->n_row; r++) {
            for (size_t c = mine.lo; c < mine.hi; c++) {
                float *y = p->logits + (r - r0) * n_vocab + c;
                *y = cap * tanhf(*y / cap);
            }
        }
    }
}

void cf_forward_logits(cf_engine *e, size_t row0, size_t n, float *out)
{
    pass p;
    CF_ASSERT(row0 + n <= e->ws.plan.n_row);
    init_pass(&p, e, NULL, row0 + n, row0);
    p.logits = out;
    cf_pool_run(e->pool, logits_part, &p);
}
