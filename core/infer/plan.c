/*
 * plan.c - sizes of everything that is allocated for computing.
 *
 * The bounds in hparams.h keep each product below 2^63.
 */
#include "core/infer/plan.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"

enum {
    LINE = 64,
    LOGIT_BYTES = 8 << 20, /* a chunk of logits rows stays about here */
    LOGIT_ROWS_MAX = 32
};

static size_t round_up(size_t n)
{
    return (n + LINE - 1) / LINE * LINE;
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t cf_ws_prepared(size_t off[], const cf_kernels *k,
                      const cf_mat *const m[], size_t n, size_t n_row)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_new = true;
        for (size_t j = 0; j < i && is_new; j++) {
            if (k->prepared_class(m[j]->type) ==
                k->prepared_class(m[i]->type)) {
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
    size_t xp;      /* bytes a row */
    size_t scratch; /* of a matmul */
    size_t group;   /* query heads that share a key/value head */
} widths;

static void widen_group(widths *w, const cf_kernels *k, const cf_mat *const m[],
                        size_t n)
{
    size_t off[3];
    w->xp = max_size(w->xp, cf_ws_prepared(off, k, m, n, 1));
    for (size_t i = 0; i < n; i++) {
        w->scratch = max_size(w->scratch,
                              k->matmul_scratch_bytes(m[i]->type, m[i]->n_col));
    }
}

static widths measure(const cf_ws_model *m)
{
    widths w = {0};
    for (uint32_t i = 0; i < m->hp->n_layer; i++) {
        const cf_layer_hparams *l = &m->hp->layer[i];
        const cf_layer_weights *lw = &m->w->layer[i];
        w.q = max_size(w.q, (size_t)l->n_head * l->head_size);
        w.k = max_size(w.k, (size_t)l->n_head_kv * l->head_size);
        w.v = max_size(w.v, (size_t)l->n_head_kv * l->head_size_v);
        w.att = max_size(w.att, (size_t)l->n_head * l->head_size_v);
        w.ff = max_size(w.ff, l->n_ff);
        w.group = max_size(w.group, l->n_head / l->n_head_kv);
        widen_group(&w, m->k, (const cf_mat *[]){&lw->q, &lw->k, &lw->v}, 3);
        widen_group(&w, m->k, (const cf_mat *[]){&lw->o}, 1);
        widen_group(&w, m->k, (const cf_mat *[]){&lw->gate, &lw->up}, 2);
        widen_group(&w, m->k, (const cf_mat *[]){&lw->down}, 1);
    }
    widen_group(&w, m->k, (const cf_mat *[]){&m->w->output}, 1);
    return w;
}

static uint32_t logit_rows(uint32_t n_vocab, uint32_t n_row)
{
    uint32_t n = (uint32_t)(LOGIT_BYTES / sizeof(float) / n_vocab);
    n = n < 2 ? 2 : n > LOGIT_ROWS_MAX ? LOGIT_ROWS_MAX : n;
    return n < n_row ? n : n_row;
}

void cf_ws_plan_make(cf_ws_plan *out, const cf_ws_model *m, uint32_t n_row,
                     uint32_t n_ctx)
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
    p.k_off =
        p.attn_off + round_up(sizeof(float) *
                              CF_ATTN_SCRATCH(CF_ATTN_ROWS * w.group, n_ctx));
    p.v_off = p.k_off + round_up(n_page * sizeof(void *));
    /* A line apart, so that threads do not write to each other's. */
    p.thread_bytes = p.v_off + round_up(n_page * sizeof(void *)) + LINE;
    p.bytes[CF_WS_X] = f * hp->n_embd;
    p.bytes[CF_WS_H] = f * hp->n_embd;
    p.bytes[CF_WS_Q] = f * w.q;
    p.bytes[CF_WS_K] = f * w.k;
    p.bytes[CF_WS_V] = f * w.v;
    p.bytes[CF_WS_ATT] = f * w.att;
    p.bytes[CF_WS_GATE] = f * w.ff;
    p.bytes[CF_WS_UP] = f * w.ff;
    p.bytes[CF_WS_XP] = w.xp * n_row;
    p.bytes[CF_WS_ANGLES] = f * CF_ROPE_SETS * hp->rope[CF_ROPE_GLOBAL].n_rot;
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
        return cf_fail(err, CF_ENOMEM,
                       "%s needs %.1f MiB, %.1f MiB of memory are available",
                       what, (double)bytes / 1048576.0,
                       (double)free_bytes / 1048576.0);
    }
    return CF_OK;
}

cf_status cf_ws_grow(cf_ws *ws, const cf_ws_model *m, uint32_t n_row,
                     uint32_t n_ctx, cf_error *err)
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
        return cf_fail(err, CF_ENOMEM,
                       "out of memory for a workspace of %.1f MiB",
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

static void add_item(cf_plan *plan, const char *name, const char *type,
                     uint64_t bytes, uint64_t d0, uint64_t d1, uint64_t d2)
{
    CF_ASSERT(plan->n < CF_PLAN_MAX);
    plan->item[plan->n++] = (cf_plan_item){
        .name = name, .type = type, .shape = {d0, d1, d2, 0}, .bytes = bytes};
}

/* Floats [n_row, width] of the workspace. */
static void add_rows(cf_plan *plan, const cf_ws_plan *ws, cf_ws_buf buf,
                     const char *name)
{
    uint64_t width = ws->bytes[buf] / sizeof(float) / ws->n_row;
    add_item(plan, name, "F32", ws->bytes[buf], ws->n_row, width, 0);
}

void cf_plan_make(cf_plan *out, const cf_ws_plan *ws, const cf_ws_model *m,
                  const cf_kv_layout *kv, uint32_t n_ctx)
{
    uint64_t n_page = cf_kv_pages(n_ctx);
    uint64_t n_vocab = m->hp->n_vocab;
    *out = (cf_plan){.mapped_bytes = m->w->bytes, .shared_bytes = ws->total};
    add_item(out, "weights", "file", m->w->bytes, m->w->n_param, 0, 0);
    out->item[0].is_mapped = true;
    add_item(out, "key/value cache", kv->is_f16 ? "F16" : "F32",
             n_page * kv->page_bytes, n_page, CF_KV_BLOCK,
             kv->page_bytes / CF_KV_BLOCK / (kv->is_f16 ? 2 : 4));
    add_item(out, "logits", "F32", n_vocab * sizeof(float), n_vocab, 0, 0);
    add_item(out, "tokens", "I32", (uint64_t)n_ctx * sizeof(int32_t), n_ctx, 0,
             0);
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
    add_item(out, "prepared inputs", "mixed", ws->bytes[CF_WS_XP], ws->n_row,
             ws->bytes[CF_WS_XP] / ws->n_row, 0);
    add_rows(out, ws, CF_WS_ANGLES, "rotary angles");
    add_item(out, "logits of a chunk", "F32", ws->bytes[CF_WS_LOGITS],
             ws->n_logit, n_vocab, 0);
    add_item(out, "scratch of threads", "bytes", ws->bytes[CF_WS_THREAD],
             ws->n_thread, ws->thread_bytes, 0);
}
