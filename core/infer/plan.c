/*
 * plan.c - computes the sizes of everything that is allocated for computing.
 *
 * The bounds in hparams.h keep each product below 2^63.
 */
#include "core/infer/plan.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/infer/recurrent_state.h"

enum {
    LINE = 64,
    LOGIT_BYTES = 8 << 20 /* a chunk of logits rows stays about here */
};

static size_t round_up(size_t n)
{
    return (n + LINE - 1) / LINE * LINE;
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t cf_ws_prepared(size_t off[], const cf_kernels *k, const cf_mat *const m[], size_t n,
                      size_t n_row)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_new = true;
        for (size_t j = 0; j < i && is_new; j++) {
            if (k->prepared_class(m[j]->type) == k->prepared_class(m[i]->type)) {
                off[i] = off[j];
                is_new = false;
            }
        }
        if (is_new) {
            off[i] = total;
            total += n_row * k->prepared_bytes(m[i]->type, m[i]->n_col);
        }
    }
    return total;
}

/* The widest a row of each buffer gets over all layers. */
typedef struct widths {
    size_t q, k, v, att, ff;
    size_t kv;           /* key/value heads */
    size_t xp;           /* bytes a row */
    size_t own;          /* bytes of one prepared row of a small matrix */
    size_t scratch;      /* of a matmul */
    size_t head, head_v; /* sizes of heads */
} widths;

/* `rows` rows of the group for each row of the pass; those without p are left
 * out. */
static void widen_group(widths *w, const cf_kernels *k, const cf_mat *const m[], size_t n,
                        size_t rows)
{
    const cf_mat *there[4] = {NULL}; /* else compilers warn under sanitizers */
    size_t off[4];
    size_t n_there = 0;
    for (size_t i = 0; i < n; i++) {
        if (m[i]->p != NULL) {
            there[n_there++] = m[i];
        }
    }
    w->xp = max_size(w->xp, cf_ws_prepared(off, k, there, n_there, rows));
    for (size_t i = 0; i < n_there; i++) {
        const cf_mat *t = there[i];
        w->scratch = max_size(w->scratch, k->matmul_scratch_bytes(t->type, t->n_col));
    }
}

static void widen_attention(widths *w, const cf_ws_model *m, uint32_t i)
{
    const cf_layer_hparams *l = &m->hp->layer[i];
    const cf_layer_weights *lw = &m->w->layer[i];
    w->q = max_size(w->q, lw->q.n_row);
    w->k = max_size(w->k, (size_t)l->n_head_kv * l->head_size);
    w->v = max_size(w->v, (size_t)l->n_head_kv * l->head_size_v);
    w->att = max_size(w->att, (size_t)l->n_head * l->head_size_v);
    w->head = max_size(w->head, l->head_size);
    w->head_v = max_size(w->head_v, l->head_size_v);
    w->kv = max_size(w->kv, l->n_head_kv);
    w->ff = max_size(w->ff, lw->attn_gate.n_row);
    widen_group(w, m->k, (const cf_mat *[]){&lw->q, &lw->k, &lw->v, &lw->attn_gate}, 4, 1);
    widen_group(w, m->k, (const cf_mat *[]){&lw->o}, 1, 1);
}

static void widen_latent(widths *w, const cf_ws_model *m, uint32_t i)
{
    const cf_latent_hparams *t = &m->hp->latent;
    const cf_latent_weights *lw = &m->w->layer[i].latent;
    size_t n_head = m->hp->layer[i].n_head;
    w->q = max_size(w->q, n_head * m->hp->layer[i].head_size);
    w->ff = max_size(w->ff, n_head * (t->n_plain + t->n_rot));
    w->ff = max_size(w->ff, n_head * t->n_value);
    w->ff = max_size(w->ff, t->n_q);
    widen_group(w, m->k, (const cf_mat *[]){&m->w->layer[i].q, &lw->q_a, &lw->kv_a}, 3, 1);
    widen_group(w, m->k, (const cf_mat *[]){&lw->k_b.first}, 1, n_head);
    widen_group(w, m->k, (const cf_mat *[]){&lw->v_b.first}, 1, n_head);
}

static void widen_recurrent(widths *w, const cf_ws_model *m, uint32_t i)
{
    const cf_state_hparams *s = &m->hp->state;
    const cf_recurrent_weights *rw = &m->w->layer[i].recurrent;
    w->q = max_size(w->q, rw->in.n_row);
    w->k = max_size(w->k, (size_t)s->n_head * s->n_value);
    w->v = max_size(w->v, 2UL * s->n_head);
    w->att = max_size(w->att, (size_t)s->n_head * s->n_value);
    w->ff = max_size(w->ff, s->n_channel);
    widen_group(w, m->k, (const cf_mat *[]){&rw->in, &rw->gate, &rw->beta, &rw->alpha}, 4, 1);
    widen_group(w, m->k, (const cf_mat *[]){&rw->out}, 1, 1);
}

static void widen_experts(widths *w, const cf_ws_model *m, uint32_t i)
{
    const cf_expert_weights *x = &m->w->layer[i].expert;
    size_t n_used = m->hp->expert.n_used;
    widen_group(w, m->k, (const cf_mat *[]){&x->router}, 1, 1);
    widen_group(w, m->k, (const cf_mat *[]){&x->gate.first, &x->up.first}, 2, n_used);
    widen_group(w, m->k, (const cf_mat *[]){&x->down.first}, 1, n_used);
}

/* Per-layer embeddings and alternating updates. */
static void widen_extras(widths *w, const cf_ws_model *m, uint32_t i)
{
    const cf_layer_weights *lw = &m->w->layer[i];
    const cf_altup_weights *a = &lw->altup;
    const cf_mat *const alone[] = {&lw->per_layer_gate, &lw->per_layer_proj, &a->laurel_l,
                                   &a->laurel_r, &a->router};
    for (size_t j = 0; j < sizeof alone / sizeof *alone; j++) {
        widen_group(w, m->k, &alone[j], 1, 1);
    }
    w->ff = max_size(w->ff, m->hp->n_per_layer);
    w->ff = max_size(w->ff, a->laurel_l.n_row);
    if (a->router.p != NULL) {
        w->own = max_size(w->own, m->k->prepared_bytes(a->router.type, a->router.n_col));
    }
}

static widths measure(const cf_ws_model *m)
{
    widths w = {0};
    for (uint32_t i = 0; i < m->hp->n_layer; i++) {
        const cf_layer_hparams *l = &m->hp->layer[i];
        const cf_layer_weights *lw = &m->w->layer[i];
        w.ff = max_size(w.ff, l->n_ff);
        if (l->n_head != 0) {
            widen_attention(&w, m, i);
        }
        if (m->hp->latent.n != 0) {
            widen_latent(&w, m, i);
        }
        if (l->mixer != CF_MIX_ATTENTION) {
            widen_recurrent(&w, m, i);
        }
        if (l->has_experts) {
            widen_experts(&w, m, i);
        }
        widen_group(&w, m->k, (const cf_mat *[]){&lw->gate, &lw->up}, 2, 1);
        widen_group(&w, m->k, (const cf_mat *[]){&lw->down}, 1, 1);
        widen_extras(&w, m, i);
    }
    const cf_encoder_weights *ends = &m->w->encoder;
    const cf_mat *const after[] = {&ends->dense[0], &ends->dense[1], &ends->classify,
                                   &ends->outputs};
    for (size_t j = 0; j < sizeof after / sizeof *after; j++) {
        widen_group(&w, m->k, &after[j], 1, 1);
        if (after[j]->p != NULL) {
            w.own = max_size(w.own, m->k->prepared_bytes(after[j]->type, after[j]->n_col));
        }
    }
    const cf_mat *const outer[] = {&m->w->output, &m->w->per_layer_model_proj,
                                   &m->w->altup_proj.first, &m->w->altup_unproj.first};
    for (size_t j = 0; j < sizeof outer / sizeof *outer; j++) {
        widen_group(&w, m->k, &outer[j], 1, 1);
    }
    return w;
}

static uint32_t logit_rows(uint32_t n_vocab, uint32_t n_row)
{
    uint32_t n = (uint32_t)(LOGIT_BYTES / sizeof(float) / n_vocab);
    n = n < 2 ? 2 : n > CF_LOGIT_ROWS_MAX ? CF_LOGIT_ROWS_MAX : n;
    return n < n_row ? n : n_row;
}

/* Buffers that only some families have. */
static void plan_extras(cf_ws_plan *p, const cf_hparams *hp)
{
    const cf_expert_hparams *x = &hp->expert;
    size_t f = sizeof(float) * p->n_row;
    size_t n_own = (size_t)hp->n_layer * hp->n_per_layer;
    if (x->n != 0) { /* scores, weights, the shared one's; slots twice, ends */
        p->bytes[CF_WS_ROUTE] = f * (x->n + 3UL * x->n_used + 1) + sizeof(uint32_t) * x->n;
        p->bytes[CF_WS_EXPERT_GATE] = f * x->n_used * x->n_ff;
        p->bytes[CF_WS_EXPERT_UP] = f * x->n_used * x->n_ff;
        p->bytes[CF_WS_EXPERT_OUT] = f * x->n_used * hp->n_embd;
    }
    p->bytes[CF_WS_PER_LAYER] = f * n_own;
    p->bytes[CF_WS_PER_LAYER_EMBD] = f * n_own;
    p->bytes[CF_WS_STREAMS] = f * hp->n_altup * hp->n_embd;
    bool has_side = hp->n_altup != 0 || hp->arch->recurrent_rule == CF_RECURRENT_ALL ||
                    hp->arch->has_one_norm || hp->arch->has_early_router ||
                    hp->arch->has_opt_sum_norm;
    p->bytes[CF_WS_SIDE] = has_side ? f * hp->n_embd : 0;
}

void cf_ws_plan_make(cf_ws_plan *out, const cf_ws_model *m, uint32_t n_row, uint32_t n_ctx)
{
    widths w = measure(m);
    const cf_hparams *hp = m->hp;
    size_t f = sizeof(float) * n_row;
    uint32_t n_page = cf_kv_pages(n_ctx);
    cf_ws_plan p = {.n_row = n_row,
                    .n_ctx = n_ctx,
                    .n_logit = logit_rows(hp->n_vocab, n_row),
                    .n_thread = m->n_thread};
    p.attn_off = round_up(w.scratch);
    size_t scratch = CF_ATTN_SCRATCH(w.head, w.head_v, n_ctx);
    if (hp->arch->is_encoder) {
        const cf_encoder_kernels *k = m->k->encoder;
        scratch = max_size(scratch, k->scratch_floats(n_row, w.head));
        p.bytes[CF_WS_PACKED] = sizeof(float) * w.kv * k->packed_floats(n_row, w.head);
    }
    p.k_off = p.attn_off + round_up(sizeof(float) * scratch);
    p.v_off = p.k_off + round_up(n_page * sizeof(void *));
    /* A line apart, so that threads do not write to each other's. */
    p.own_off = p.v_off + round_up(n_page * sizeof(void *));
    p.thread_bytes = p.own_off + round_up(w.own) + LINE;
    p.bytes[CF_WS_X] = f * hp->n_embd;
    p.bytes[CF_WS_H] = f * hp->n_embd;
    p.bytes[CF_WS_Q] = f * w.q;
    p.bytes[CF_WS_K] = f * w.k;
    p.bytes[CF_WS_V] = f * w.v;
    p.bytes[CF_WS_ATT] = f * w.att;
    p.bytes[CF_WS_GATE] = f * w.ff;
    p.bytes[CF_WS_UP] = f * w.ff;
    p.bytes[CF_WS_XP] = w.xp * n_row;
    p.n_angle = max_size(hp->rope[CF_ROPE_GLOBAL].n_rot, hp->rope[CF_ROPE_LOCAL].n_rot);
    p.bytes[CF_WS_ANGLES] = f * CF_ROPE_SETS * p.n_angle;
    plan_extras(&p, hp);
    p.bytes[CF_WS_LOGITS] = sizeof(float) * p.n_logit * hp->n_vocab;
    p.bytes[CF_WS_THREAD] = p.thread_bytes * p.n_thread;
    for (size_t i = 0; i < CF_WS_COUNT; i++) {
        p.off[i] = p.total;
        p.total += round_up(p.bytes[i]);
    }
    *out = p;
}

cf_status cf_plan_fits(uint64_t bytes, const char *what, cf_error *err)
{
    uint64_t free_bytes = cf_os_memory_available();
    if (free_bytes != 0 && bytes > free_bytes) {
        return cf_fail(err, CF_ENOMEM, "%s needs %.1f MiB, %.1f MiB of memory are available", what,
                       (double)bytes / 1048576.0, (double)free_bytes / 1048576.0);
    }
    return CF_OK;
}

cf_status cf_ws_grow(cf_ws *ws, const cf_ws_model *m, uint32_t n_row, uint32_t n_ctx, cf_error *err)
{
    cf_ws_plan plan;
    if (ws->p != NULL && ws->plan.n_row >= n_row && ws->plan.n_ctx >= n_ctx) {
        return CF_OK;
    }
    n_row = ws->plan.n_row > n_row ? ws->plan.n_row : n_row;
    n_ctx = ws->plan.n_ctx > n_ctx ? ws->plan.n_ctx : n_ctx;
    cf_ws_plan_make(&plan, m, n_row, n_ctx);
    CF_TRY(cf_plan_fits(plan.total, "a pass", err));
    unsigned char *p = cf_alloc_aligned(LINE, plan.total);
    if (p == NULL) {
        return cf_fail(err, CF_ENOMEM, "out of memory for a workspace of %.1f MiB",
                       (double)plan.total / 1048576.0);
    }
    cf_free_aligned(ws->p);
    *ws = (cf_ws){plan, p};
    return CF_OK;
}

void cf_ws_deinit(cf_ws *ws)
{
    cf_free_aligned(ws->p);
    *ws = (cf_ws){0};
}

/* ---- the table ---------------------------------------------------------- */

static void add_item(cf_plan *plan, const char *name, const char *type, uint64_t bytes, uint64_t d0,
                     uint64_t d1, uint64_t d2)
{
    CF_ASSERT(plan->n < CF_PLAN_MAX);
    plan->item[plan->n++] =
        (cf_plan_item){.name = name, .type = type, .shape = {d0, d1, d2, 0}, .bytes = bytes};
}

/* Floats [n_row, width] of the workspace. */
static void add_rows(cf_plan *plan, const cf_ws_plan *ws, cf_ws_buf buf, const char *name)
{
    uint64_t width = ws->bytes[buf] / sizeof(float) / ws->n_row;
    if (width == 0) {
        return;
    }
    add_item(plan, name, "F32", ws->bytes[buf], ws->n_row, width, 0);
}

/* The state of recurrent layers: where the timeline is, where a pass writes,
 * and checkpoints. */
static void add_states(cf_plan *plan, const cf_hparams *hp, uint32_t n_ctx)
{
    uint64_t n_float = cf_hparams_n_state(hp);
    uint64_t n = 2ULL + cf_states_cap((size_t)n_float, n_ctx);
    if (n_float != 0) {
        add_item(plan, "recurrent states", "F32", n * n_float * sizeof(float), n, n_float, 0);
    }
}

void cf_plan_make(cf_plan *out, const cf_ws_plan *ws, const cf_ws_model *m, const cf_kv_layout *kv,
                  uint32_t n_ctx)
{
    uint64_t n_page = cf_kv_pages(n_ctx);
    uint64_t n_vocab = m->hp->n_vocab;
    *out = (cf_plan){.mapped_bytes = m->w->bytes, .shared_bytes = ws->total};
    add_item(out, "weights", "file", m->w->bytes, m->w->n_param, 0, 0);
    out->item[0].is_mapped = true;
    if (!m->hp->arch->is_encoder) {
        add_item(out, "key/value cache", cf_dtype_get(kv->type).name, n_page * kv->page_bytes,
                 n_page, CF_KV_BLOCK, kv->n_number);
        add_states(out, m->hp, n_ctx);
        add_item(out, "logits", "F32", n_vocab * sizeof(float), n_vocab, 0, 0);
        add_item(out, "tokens", "I32", (uint64_t)n_ctx * sizeof(int32_t), n_ctx, 0, 0);
    }
    for (size_t i = 1; i < out->n; i++) {
        out->session_bytes += out->item[i].bytes;
    }
    add_rows(out, ws, CF_WS_X, "residual stream");
    add_rows(out, ws, CF_WS_H, "normalised rows");
    add_rows(out, ws, CF_WS_Q, "queries");
    add_rows(out, ws, CF_WS_K, "keys");
    add_rows(out, ws, CF_WS_V, "values");
    add_rows(out, ws, CF_WS_ATT, "attention output");
    add_rows(out, ws, CF_WS_GATE, "feed-forward gate");
    add_rows(out, ws, CF_WS_UP, "feed-forward up");
    add_rows(out, ws, CF_WS_ROUTE, "routes to experts");
    add_rows(out, ws, CF_WS_EXPERT_GATE, "experts' gates");
    add_rows(out, ws, CF_WS_EXPERT_UP, "experts' up");
    add_rows(out, ws, CF_WS_EXPERT_OUT, "experts' outputs");
    add_rows(out, ws, CF_WS_PER_LAYER, "per-layer inputs");
    add_rows(out, ws, CF_WS_PER_LAYER_EMBD, "per-layer embeddings");
    add_rows(out, ws, CF_WS_STREAMS, "residual streams");
    add_rows(out, ws, CF_WS_SIDE, "parts side by side");
    add_rows(out, ws, CF_WS_PACKED, "packed keys and values");
    add_item(out, "prepared inputs", "mixed", ws->bytes[CF_WS_XP], ws->n_row,
             ws->bytes[CF_WS_XP] / ws->n_row, 0);
    add_rows(out, ws, CF_WS_ANGLES, "rotary angles");
    add_item(out, "logits of a chunk", "F32", ws->bytes[CF_WS_LOGITS], ws->n_logit, n_vocab, 0);
    add_item(out, "scratch of threads", "bytes", ws->bytes[CF_WS_THREAD], ws->n_thread,
             ws->thread_bytes, 0);
}
