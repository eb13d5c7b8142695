/*
 * forward.c - runs the pass: embeddings, layers, logits.
 */
#include "core/infer/forward.h"
#include "core/base/alloc.h"

#include <string.h>

#include "core/infer/pass.h"
#include "core/infer/session_impl.h"

/* ---- before the layers -------------------------------------------------- */

/* x = embedding(token) * embd_scale, or the row's own embedding. */
static void embed(const cf_pass *p, const cf_row *row, float *x)
{
    const cf_engine *e = p->e;
    const cf_mat *m = &e->w.embd;
    size_t n_embd = e->hp.n_embd;
    if (row->embd != NULL) {
        memcpy(x, row->embd, n_embd * sizeof *x);
        return;
    }
    CF_ASSERT(row->id >= 0 && (uint32_t)row->id < m->n_row);
    cf_dtype_to_f32(m->type, x, (const unsigned char *)m->p + (size_t)row->id * m->row_bytes,
                    n_embd);
    float scale = e->hp.embd_scale * (m->by != 0 ? m->by : 1);
    for (size_t c = 0; scale != 1.0f && c < n_embd; c++) {
        x[c] *= scale;
    }
}

/* An encoder's: x = norm(x + type's row + position's row), of those that the
 * family has. */
static void finish_embedding(const cf_pass *p, const cf_row *row, float *x, float *scratch)
{
    const cf_encoder_weights *w = &p->e->w.encoder;
    const cf_mat *m = &w->position;
    size_t n_embd = p->e->hp.n_embd;
    if (w->type_row != NULL) {
        p->e->k->add(x, w->type_row, n_embd);
    }
    if (m->p != NULL) {
        CF_ASSERT(row->pos < m->n_row);
        cf_dtype_to_f32(m->type, scratch, (const unsigned char *)m->p + row->pos * m->row_bytes,
                        n_embd);
        p->e->k->add(x, scratch, n_embd);
    }
    cf_pass__norm(p, w->embd_norm, x, x);
}

/* By row: the residual stream's start, and the angles of the position. */
static void embed_rows(const cf_pass *p, unsigned i, unsigned n)
{
    const cf_engine *e = p->e;
    size_t n_angle = e->ws.plan.n_angle;
    cf_range rows = cf_pass__rows(p, 0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        const cf_row *row = &p->rows[r];
        embed(p, row, p->x + r * e->hp.n_embd);
        if (e->hp.arch->is_encoder) {
            finish_embedding(p, row, p->x + r * e->hp.n_embd, p->h + r * e->hp.n_embd);
        }
        for (size_t s = 0; s < CF_ROPE_SETS; s++) {
            cf_rope_angles(p->angles + (s * e->ws.plan.n_row + r) * n_angle,
                           &e->rope[s][row->rope_variant], row->at);
        }
    }
}

/* ---- a layer ------------------------------------------------------------ */

/* h = norm(x) * w */
static void norm_rows(const cf_pass *p, const float *w, size_t r0, unsigned i, unsigned n)
{
    size_t n_embd = p->e->hp.n_embd;
    cf_range rows = cf_pass__rows(p, r0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        cf_pass__norm(p, w, p->x + r * n_embd, p->h + r * n_embd);
    }
}

/* Keeps rows of the layer's start for a part that reads them later: x for a
 * router (SmallThinker) or a second sum (Jina), or h for the feed-forward block
 * (Cohere 2). */
static void keep_start(const cf_pass *p, unsigned i, unsigned n)
{
    const cf_arch *arch = p->e->hp.arch;
    bool keeps_x = arch->has_early_router || arch->has_opt_sum_norm;
    const float *from = keeps_x ? p->x : arch->has_one_norm ? p->h : NULL;
    float *side = cf_pass__buf(p, CF_WS_SIDE);
    size_t n_embd = p->e->hp.n_embd;
    cf_range rows = cf_pass__rows(p, 0, i, n);
    if (from != NULL && rows.hi > rows.lo) {
        memcpy(side + rows.lo * n_embd, from + rows.lo * n_embd,
               (rows.hi - rows.lo) * n_embd * sizeof *side);
    }
}

/* h = norm(x) * w for the feed-forward part, or the kept norm of the layer's
 * start. */
static void norm_for_ffn(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    size_t n_embd = p->e->hp.n_embd;
    const float *side = cf_pass__buf(p, CF_WS_SIDE);
    cf_range rows = cf_pass__rows(p, r0, i, n);
    if (!p->e->hp.arch->has_one_norm) {
        norm_rows(p, p->e->w.layer[layer].ffn_norm, r0, i, n);
    } else if (rows.hi > rows.lo) {
        memcpy(p->h + rows.lo * n_embd, side + rows.lo * n_embd,
               (rows.hi - rows.lo) * n_embd * sizeof *side);
    }
}

/* x = norm(x + h) * w */
static void sum_rows(const cf_pass *p, const float *w, const float *h, size_t r0, unsigned i,
                     unsigned n)
{
    size_t n_embd = p->e->hp.n_embd;
    cf_range rows = cf_pass__rows(p, r0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        float *x = p->x + r * n_embd;
        p->e->k->add(x, h + r * n_embd, n_embd);
        cf_pass__norm(p, w, x, x);
    }
}

/* x += a h, or x += a norm(h) * w in families with post-norms. */
static void add_rows(const cf_pass *p, const float *post_norm, size_t r0, unsigned i, unsigned n)
{
    size_t n_embd = p->e->hp.n_embd;
    float a = p->e->hp.residual_scale;
    cf_range rows = cf_pass__rows(p, r0, i, n);
    if (p->e->hp.arch->has_sum_norm) {
        sum_rows(p, post_norm, p->h, r0, i, n);
        return;
    }
    for (size_t r = rows.lo; r < rows.hi; r++) {
        float *h = p->h + r * n_embd;
        cf_pass__norm(p, post_norm, h, h);
        for (size_t c = 0; a != 1.0f && c < n_embd; c++) {
            h[c] *= a;
        }
        p->e->k->add(p->x + r * n_embd, h, n_embd);
    }
}

/* x *= the layer's own factor */
static void scale_rows(const cf_pass *p, const float *scale, size_t r0, unsigned i, unsigned n)
{
    size_t n_embd = p->e->hp.n_embd;
    cf_range rows = cf_pass__rows(p, r0, i, n);
    for (size_t c = rows.lo * n_embd; c < rows.hi * n_embd; c++) {
        p->x[c] *= *scale;
    }
}

/* h = attention(h) + recurrent(h), both of norm(x) (Falcon-H1). */
static void mix_both(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    size_t n_embd = p->e->hp.n_embd;
    float *side = cf_pass__buf(p, CF_WS_SIDE);
    cf_range rows = cf_pass__rows(p, r0, i, n);
    cf_attention(p, layer, r0, i, n);
    cf_pass__show_part(p, layer, CF_LAYER_PART_ATTENTION, r0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        memcpy(side + r * n_embd, p->h + r * n_embd, n_embd * sizeof *side);
    }
    cf_pass__barrier(p); /* the next rows are by another rule */
    norm_rows(p, p->e->w.layer[layer].attn_norm, 0, i, n);
    cf_recurrent(p, layer, r0, i, n);
    cf_pass__show_part(p, layer, CF_LAYER_PART_RECURRENT, r0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        p->e->k->add(p->h + r * n_embd, side + r * n_embd, n_embd);
    }
}

/* h = mixer(h) */
static void mix(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    const cf_layer_hparams *l = &p->e->hp.layer[layer];
    if (l->n_head != 0 && l->mixer != CF_MIX_ATTENTION) {
        mix_both(p, layer, r0, i, n);
    } else if (l->n_head != 0) {
        if (p->e->hp.latent.n != 0) {
            cf_latent_attention(p, layer, r0, i, n);
        } else {
            cf_attention(p, layer, r0, i, n);
        }
        cf_pass__show_part(p, layer, CF_LAYER_PART_ATTENTION, r0, i, n);
    } else {
        cf_recurrent(p, layer, r0, i, n);
        cf_pass__show_part(p, layer, CF_LAYER_PART_RECURRENT, r0, i, n);
    }
}

/* x += what rows of embeddings bring for this layer (Qwen3-VL: deepstack). */
static void add_deepstack(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    size_t n_embd = p->e->hp.n_embd;
    cf_range rows = cf_pass__rows(p, r0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        const float *embd = p->rows[r].embd;
        if (embd != NULL) {
            p->e->k->add(p->x + r * n_embd, embd + (layer + 1) * n_embd, n_embd);
        }
    }
}

/* The phases by row keep to the rows of the one before, so that no barrier is
 * needed between them.  In some families a layer has only one of the parts. */
static void run_mixer(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    const cf_layer_weights *w = &p->e->w.layer[layer];
    const cf_layer_hparams *l = &p->e->hp.layer[layer];
    if (l->n_head != 0 || l->mixer != CF_MIX_ATTENTION) {
        norm_rows(p, w->attn_norm, 0, i, n);
        keep_start(p, i, n);
        mix(p, layer, r0, i, n);
        add_rows(p, w->post_attn_norm, r0, i, n);
        if (w->again_norm != NULL) {
            sum_rows(p, w->again_norm, cf_pass__buf(p, CF_WS_SIDE), r0, i, n);
        }
    }
}

static void run_rest(const cf_pass *p, uint32_t layer, size_t r0, unsigned i, unsigned n)
{
    const cf_layer_weights *w = &p->e->w.layer[layer];
    const cf_layer_hparams *l = &p->e->hp.layer[layer];
    if (l->n_ff != 0 || l->has_experts) {
        norm_for_ffn(p, layer, r0, i, n);
        cf_feed_forward(p, layer, r0, i, n);
        cf_pass__show_part(p, layer, CF_LAYER_PART_MLP, r0, i, n);
        add_rows(p, w->post_ffn_norm, r0, i, n);
    }
    if (w->per_layer_gate.p != NULL) {
        cf_per_layer(p, layer, p->x, r0, i, n);
        cf_pass__show_part(p, layer, CF_LAYER_PART_PER_LAYER, r0, i, n);
        add_rows(p, w->per_layer_norm, r0, i, n);
    }
    if (w->scale != NULL) {
        scale_rows(p, w->scale, r0, i, n);
    }
    if (layer < p->e->hp.n_deepstack) {
        add_deepstack(p, layer, r0, i, n);
    }
}

/* ---- the pass ----------------------------------------------------------- */

/* All parts learn whether to stop; a barrier, too. */
static bool is_cancelled(cf_pass *p, unsigned i)
{
    if (i == 0) {
        p->is_cancelled = cf_pass__stops(p);
    }
    cf_pass__barrier(p);
    return p->is_cancelled;
}

/* Everything before the first layer. */
static void begin_rows(const cf_pass *p, unsigned i, unsigned n)
{
    embed_rows(p, i, n);
    if (p->e->hp.n_per_layer != 0) {
        cf_per_layer_inputs(p, i, n);
    }
    if (p->e->hp.n_altup != 0) {
        cf_altup_open(p, i, n);
    }
    cf_pass__show_streams(p, 0, 0, i, n);
}

/* Runs the halves p->from .. p->to - 1: half 2 l is the mixer of layer l (with
 * alternating streams the whole layer), half 2 l + 1 the rest. */
static void forward_part(void *ud, unsigned i, unsigned n)
{
    cf_pass *p = ud;
    const cf_hparams *hp = &p->e->hp;
    size_t r0 = 0; /* first row still computed */
    if (p->from == 0) {
        begin_rows(p, i, n);
    }
    for (uint32_t at = p->from; at < p->to; at++) {
        const uint32_t layer = at / 2;
        const bool is_first = at % 2 == 0;
        if (is_first && is_cancelled(p, i)) {
            return;
        }
        /* The last layer has filled its cache: only output rows matter now. */
        r0 = layer + 1 == hp->n_layer ? p->first_out : 0;
        if (is_first && hp->n_altup != 0) {
            cf_altup_layer(p, layer, r0, i, n);
        } else if (is_first) {
            run_mixer(p, layer, r0, i, n);
        } else if (hp->n_altup == 0) {
            run_rest(p, layer, r0, i, n);
        }
        if (!is_first) {
            cf_pass__show_streams(p, layer + 1, r0, i, n);
        }
    }
    if (hp->n_altup != 0 && p->to == 2 * hp->n_layer) {
        cf_altup_close(p, r0, i, n);
    }
}

/* Room for what the rows' adapters make of inputs, where any has one. */
static cf_status need_lora(cf_pass *p, cf_error *err)
{
    cf_engine *e = p->e;
    size_t stride = 0;
    for (size_t r = 0; r < p->n_row; r++) {
        size_t n = p->rows[r].lora != NULL ? cf_lora_n_rank(p->rows[r].lora) : 0;
        stride = n > stride ? n : stride;
    }
    if (stride == 0) {
        return CF_OK;
    }
    size_t need = CF_GROUP_MAX * p->n_row * stride;
    if (!cf_grow(&e->lora, &e->cap_lora, need, sizeof *e->lora)) {
        return cf_oom_for(err, "a pass with adapters");
    }
    p->lora = e->lora;
    p->lora_stride = stride;
    return CF_OK;
}

/* ---- pauses ------------------------------------------------------------- */

static void swap_buffers(cf_engine *e)
{
    const cf_buffers own = {e->ws, e->rows, e->n_rows, e->lora, e->cap_lora};
    const cf_buffers *s = &e->spare;
    e->ws = s->ws;
    e->rows = s->rows;
    e->n_rows = s->n_rows;
    e->lora = s->lora;
    e->cap_lora = s->cap_lora;
    e->spare = own;
}

bool cf_forward_spare(cf_engine *e)
{
    const cf_ws_model m = cf_engine__ws_model(e);
    const cf_ws_plan own = e->ws.plan;
    cf_error ignored;
    if (e->is_paused || e->plugin != NULL ||
        cf_ws_grow(&e->spare.ws, &m, own.n_row, own.n_ctx, &ignored) != CF_OK) {
        return false;
    }
    swap_buffers(e);
    cf_status st = cf_session__grow_rows(e, &ignored);
    swap_buffers(e);
    e->is_paused = st == CF_OK;
    return e->is_paused;
}

void cf_forward_end_spare(cf_engine *e)
{
    const cf_ws_plan *own = &e->ws.plan, *spare = &e->spare.ws.plan;
    if (spare->n_row > own->n_row || spare->n_ctx > own->n_ctx) {
        swap_buffers(e); /* a session made meanwhile needs them */
    }
    e->is_paused = false;
}

static void give_way(cf_engine *e, const cf_pause *pause)
{
    swap_buffers(e);
    pthread_mutex_unlock(&e->pass_lock);
    pause->fn(pause->ud);
    pthread_mutex_lock(&e->pass_lock);
    swap_buffers(e);
}

cf_status cf_forward(cf_engine *e, const cf_row *rows, size_t n_row, size_t first_out,
                     const cf_pause *pause, const cf_cancel *cancel, cf_error *err)
{
    cf_pass p;
    CF_ASSERT(n_row >= 1 && n_row <= e->ws.plan.n_row && first_out <= n_row);
    cf_pass__init(&p, e, rows, n_row, first_out);
    p.cancel = cancel;
    CF_TRY(need_lora(&p, err));
    for (; p.to < 2 * e->hp.n_layer && !p.is_cancelled; p.from = p.to) {
        if (pause != NULL) {
            give_way(e, pause);
        }
        p.to = pause != NULL ? p.to + 1 : 2 * e->hp.n_layer;
        cf_pool_run(e->pool, forward_part, &p);
    }
    return p.is_cancelled || cf_pass__stops(&p) ? cf_fail(err, CF_ECANCELLED, "cancelled") : CF_OK;
}

/* ---- logits ------------------------------------------------------------- */

/* By output: logits * logit_scale, then cap * tanh(logits / cap). */
static void finish_logits(const cf_pass *p, unsigned i, unsigned n)
{
    const cf_hparams *hp = &p->e->hp;
    float cap = hp->final_soft_cap;
    float scale = hp->logit_scale;
    cf_range mine = cf_pass__share(hp->n_vocab, p->e->k->row_multiple, i, n);
    if (!(cap > 0) && scale == 1.0f) {
        return;
    }
    for (size_t r = 0; r < p->n_row; r++) {
        float *y = p->logits + r * hp->n_vocab;
        for (size_t c = mine.lo; c < mine.hi; c++) {
            y[c] *= scale;
        }
        if (cap > 0) {
            p->e->k->soft_cap(y + mine.lo, mine.hi - mine.lo, cap);
        }
    }
}

/* logits = output * norm(x) of the wanted rows, which h holds side by side. */
static void logits_part(void *ud, unsigned i, unsigned n)
{
    cf_pass *p = ud;
    const cf_engine *e = p->e;
    size_t n_embd = e->hp.n_embd;
    const cf_mat *m = &e->w.output;
    cf_group out = {0};
    cf_group__add(&out, m, NULL, NULL);
    cf_range rows = cf_pass__rows(p, 0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        size_t at = p->wanted != NULL ? p->wanted[r] : r;
        cf_pass__norm(p, e->w.output_norm, p->x + at * n_embd, p->h + r * n_embd);
    }
    cf_pass__prepare_rows(p, &out, p->h, n_embd, 0, i, n);
    cf_pass__barrier(p);
    cf_product job = {m, e->w.output_bias, p->logits, p->xp, p->n_row};
    cf_pass__multiply_one(p, &job, i, n);
    finish_logits(p, i, n);
}

void cf_forward_logits(cf_engine *e, const uint32_t *row, size_t n, float *out)
{
    cf_pass p;
    CF_ASSERT(n > 0 && n <= e->ws.plan.n_row && row[n - 1] < e->ws.plan.n_row);
    cf_pass__init(&p, e, NULL, n, 0);
    p.wanted = row;
    p.logits = out;
    cf_pool_run(e->pool, logits_part, &p);
}

/* x of row r, or its streams and then x, as they were shown. */
static void load_row(const cf_pass *p, size_t r)
{
    const cf_hparams *hp = &p->e->hp;
    size_t n = hp->n_embd;
    const float *from = p->streams + r * (hp->n_altup != 0 ? hp->n_altup : 1) * n;
    memcpy(p->x + r * n, from, n * sizeof *from);
    for (size_t j = 0; j < hp->n_altup; j++) {
        memcpy(cf_altup_stream(p, j, r), from + j * n, n * sizeof *from);
    }
}

static void read_part(void *ud, unsigned i, unsigned n)
{
    cf_pass *p = ud;
    cf_range rows = cf_pass__rows(p, 0, i, n);
    for (size_t r = rows.lo; r < rows.hi; r++) {
        load_row(p, r);
    }
    if (p->e->hp.n_altup != 0) {
        cf_altup_close(p, 0, i, n);
    }
    logits_part(p, i, n);
}

void cf_forward_read(cf_engine *e, const float *x, size_t n, float *out)
{
    cf_pass p;
    CF_ASSERT(n > 0 && n <= e->ws.plan.n_row);
    cf_pass__init(&p, e, NULL, n, 0);
    p.streams = x;
    p.logits = out;
    cf_pool_run(e->pool, read_part, &p);
}

const float *cf_forward_hidden(cf_engine *e, uint32_t row)
{
    cf_pass p;
    CF_ASSERT(row < e->ws.plan.n_row);
    cf_pass__init(&p, e, NULL, 1, 0);
    cf_pass__norm(&p, e->w.output_norm, p.x + (size_t)row * e->hp.n_embd, p.h);
    return p.h;
}
