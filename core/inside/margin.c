/*
 * margin.c - takes the difference of two logits apart.
 *
 * A tap keeps what each part wrote at the position.  From the logits back to
 * layer 0 goes a direction for each stream: what a unit of it is worth in the
 * margin.  Where a part was added, its share is its product with that
 * direction, pulled back through the norm behind the part; a head's share is
 * that of its columns of the output matrix.
 *
 * gemma3n, with the names of altup.c and D_j the direction of stream j:
 *
 *   close:    D_0 = d / A;  D_j = (length ratio / A) U_j^T d
 *   embeddings of the layer:  share = sum over j > 0 of D_j . e
 *   correct:  D_n = sum over j of (1 + e_j) D_j;  D_a -= D_n
 *   parts:    mlp D_n;  attention and laurel D_n / sqrt(2);  D_a += D_n / sqrt(2)
 *   predict:  D_i += sum over j of c[j][i] D_j
 */
#include <math.h>
#include <string.h>

#include "core/inside/inside_impl.h"

/* What one layer wrote. */
typedef struct kept {
    float *part[CF_LAYER_PART_COUNT]; /* [n_embd] as computed, before its norm; or NULL */
    float *heads;                     /* [n_head * head_size_v] or NULL */
    float *expert;                    /* [n_used, n_embd], times their weights; or NULL */
    uint32_t *expert_id;              /* [n_used] */
    uint32_t n_expert;
    float predict[CF_ALTUP_MAX * CF_ALTUP_MAX], correct[CF_ALTUP_MAX];
    double *heads_to; /* [n_embd]: the direction that outputs of the matrix meet */
} kept;

typedef struct margin {
    const cf_engine *e;
    const cf_lora_set *lora;
    uint32_t at;
    size_t n_embd, n_stream;
    kept *layer;        /* [n_layer] */
    float *first, *end; /* [n_stream, n_embd]: x_0 and x_L */
    double *to;         /* [n_stream, n_embd]: the directions */
    double *d;          /* [n_embd]: of what the final norm reads */
    double *pulled;     /* [n_embd] */
    float *row;         /* a row of a matrix */
    cf_margin *out;
} margin;

/* ---- the tap ------------------------------------------------------------ */

static void on_stream(void *ud, uint32_t l, uint32_t pos, float *const *x, size_t n)
{
    const margin *m = ud;
    if (pos != m->at || (l != 0 && l != m->e->hp.n_layer)) {
        return;
    }
    for (size_t j = 0; j < n; j++) {
        memcpy((l == 0 ? m->first : m->end) + j * m->n_embd, x[j], m->n_embd * sizeof(float));
    }
}

static void on_part(void *ud, uint32_t layer, uint32_t pos, cf_layer_part kind, float *x)
{
    const margin *m = ud;
    if (pos == m->at && m->layer[layer].part[kind] != NULL) {
        memcpy(m->layer[layer].part[kind], x, m->n_embd * sizeof *x);
    }
}

static void on_heads(void *ud, uint32_t layer, uint32_t pos, float *out)
{
    const margin *m = ud;
    size_t n = m->e->w.layer[layer].o.n_col;
    if (pos == m->at) {
        memcpy(m->layer[layer].heads, out, n * sizeof *out);
    }
}

static void on_expert(void *ud, uint32_t layer, uint32_t pos, uint32_t expert, float *weight,
                      const float *out)
{
    const margin *m = ud;
    kept *k = &m->layer[layer];
    if (pos != m->at) {
        return;
    }
    float *to = k->expert + k->n_expert * m->n_embd;
    for (size_t c = 0; c < m->n_embd; c++) {
        to[c] = *weight * out[c];
    }
    k->expert_id[k->n_expert++] = expert;
}

static void on_mixing(void *ud, uint32_t layer, uint32_t pos, const float *predict,
                      const float *correct)
{
    const margin *m = ud;
    kept *k = &m->layer[layer];
    if (pos == m->at && predict != NULL) {
        memcpy(k->predict, predict, m->n_stream * m->n_stream * sizeof *predict);
    }
    if (pos == m->at && correct != NULL) {
        memcpy(k->correct, correct, m->n_stream * sizeof *correct);
    }
}

/* ---- memory ------------------------------------------------------------- */

static void make_part(const margin *m, kept *k, cf_layer_part kind, bool is_there, cf_arena *arena)
{
    k->part[kind] = is_there ? cf_arena_calloc(arena, m->n_embd, sizeof(float)) : NULL;
}

/* Room for what layer i writes, and for the answer. */
static void make_layer(const margin *m, uint32_t i, cf_arena *arena)
{
    const cf_hparams *hp = &m->e->hp;
    const cf_layer_hparams *l = &hp->layer[i];
    kept *k = &m->layer[i];
    cf_layer_share *out = &m->out->layer[i];
    *out = (cf_layer_share){.n_head = l->n_head,
                            .has_attention = l->n_head != 0,
                            .has_recurrent = l->mixer != CF_MIX_ATTENTION,
                            .has_other = hp->n_per_layer != 0 || hp->n_altup != 0};
    make_part(m, k, CF_LAYER_PART_ATTENTION, out->has_attention, arena);
    make_part(m, k, CF_LAYER_PART_RECURRENT, out->has_recurrent, arena);
    make_part(m, k, CF_LAYER_PART_MLP, l->n_ff != 0 || l->has_experts, arena);
    make_part(m, k, CF_LAYER_PART_PER_LAYER, m->e->w.layer[i].per_layer_gate.p != NULL, arena);
    make_part(m, k, CF_LAYER_PART_LOW_RANK, hp->n_altup != 0, arena);
    if (out->has_attention) {
        k->heads = cf_arena_calloc(arena, m->e->w.layer[i].o.n_col, sizeof *k->heads);
        k->heads_to = cf_arena_calloc(arena, m->n_embd, sizeof *k->heads_to);
        out->head = cf_arena_calloc(arena, l->n_head, sizeof *out->head);
    }
    if (l->has_experts) {
        size_t n = hp->expert.n_used;
        k->expert = cf_arena_calloc(arena, n * m->n_embd, sizeof *k->expert);
        k->expert_id = cf_arena_calloc(arena, n, sizeof *k->expert_id);
        out->expert = cf_arena_calloc(arena, n, sizeof *out->expert);
    }
}

static cf_status make(margin *m, cf_arena *arena, cf_error *err)
{
    const cf_hparams *hp = &m->e->hp;
    size_t n = m->n_stream * m->n_embd;
    m->out->n_layer = hp->n_layer;
    m->out->layer = cf_arena_calloc(arena, hp->n_layer, sizeof *m->out->layer);
    m->layer = cf_arena_calloc(arena, hp->n_layer, sizeof *m->layer);
    m->first = cf_arena_calloc(arena, n, sizeof *m->first);
    m->end = cf_arena_calloc(arena, n, sizeof *m->end);
    m->to = cf_arena_calloc(arena, n, sizeof *m->to);
    m->d = cf_arena_calloc(arena, m->n_embd, sizeof *m->d);
    m->pulled = cf_arena_calloc(arena, m->n_embd, sizeof *m->pulled);
    m->row = cf_arena_calloc(arena, m->n_embd, sizeof *m->row);
    for (uint32_t i = 0; !arena->failed && i < hp->n_layer; i++) {
        make_layer(m, i, arena);
    }
    return arena->failed ? cf_oom_for(err, "a margin") : CF_OK;
}

/* ---- arithmetic --------------------------------------------------------- */

static double dot(const double *d, const float *x, size_t n)
{
    double sum = 0;
    for (size_t c = 0; c < n; c++) {
        sum += d[c] * (double)x[c];
    }
    return sum;
}

/* y += a x */
static void add(double *y, double a, const double *x, size_t n)
{
    for (size_t c = 0; c < n; c++) {
        y[c] += a * x[c];
    }
}

static double mean_square(const float *x, size_t n)
{
    double sum = 0;
    for (size_t c = 0; c < n; c++) {
        sum += (double)x[c] * (double)x[c];
    }
    return sum / (double)n;
}

static const float *row_of(const margin *m, const cf_mat *w, size_t r)
{
    cf_dtype_to_f32(w->type, m->row, (const unsigned char *)w->p + r * w->row_bytes, w->n_col);
    for (size_t c = 0; w->by != 0 && c < w->n_col; c++) {
        m->row[c] *= w->by;
    }
    return m->row;
}

static double mean_of(const float *x, size_t n)
{
    double sum = 0;
    for (size_t c = 0; c < n; c++) {
        sum += (double)x[c];
    }
    return sum / (double)n;
}

/* out = a d through a norm with weights w that met x; without w, a d.  A
 * LayerNorm takes the mean away first, from x and from every part of it. */
static void pull(const margin *m, double *out, const double *d, double a, const float *w,
                 const float *x)
{
    size_t n = m->n_embd;
    bool is_centred = w != NULL && m->e->hp.arch->has_layer_norm;
    double mean = is_centred ? mean_of(x, n) : 0, sum = 0;
    if (w != NULL) {
        a /= sqrt(mean_square(x, n) - mean * mean + (double)m->e->hp.norm_eps);
    }
    for (size_t c = 0; c < n; c++) {
        out[c] = d[c] * a * (w != NULL ? (double)w[c] : 1);
        sum += out[c];
    }
    for (size_t c = 0; is_centred && c < n; c++) {
        out[c] -= sum / (double)n;
    }
}

/* ---- the head of the model ---------------------------------------------- */

/* y = W_j * x, in double. */
static void times(const margin *m, const cf_mat *w, const float *x, double *y)
{
    for (size_t r = 0; r < w->n_row; r++) {
        const float *row = row_of(m, w, r);
        double sum = 0;
        for (size_t c = 0; c < w->n_col; c++) {
            sum += (double)row[c] * (double)x[c];
        }
        y[r] = sum;
    }
}

/* y += a W^T d */
static void times_turned(const margin *m, const cf_mat *w, double a, const double *d, double *y)
{
    for (size_t r = 0; r < w->n_row; r++) {
        const float *row = row_of(m, w, r);
        for (size_t c = 0; c < w->n_col; c++) {
            y[c] += a * d[r] * (double)row[c];
        }
    }
}

/* Stream j > 0 of x_L, projected and brought to the length of the active one:
 * adds it to x, and the ratio of the lengths comes back. */
static double merge_stream(const margin *m, size_t j, float *x)
{
    const cf_hparams *hp = &m->e->hp;
    cf_mat u = cf_mat_stack_at(&m->e->w.altup_unproj, j - 1);
    const float *active = m->end + hp->altup_active * m->n_embd;
    double have = 0;
    times(m, &u, m->end + j * m->n_embd, m->pulled);
    for (size_t c = 0; c < m->n_embd; c++) {
        have += m->pulled[c] * m->pulled[c] / (double)m->n_embd;
    }
    double ratio = sqrt(mean_square(active, m->n_embd) / (have > 1e-5 ? have : 1e-5));
    for (size_t c = 0; c < m->n_embd; c++) {
        x[c] += (float)(ratio * m->pulled[c]);
    }
    return ratio;
}

/* What the final norm reads, in x; and for each stream the factor of it. */
static void merge(const margin *m, float *x, double factor[CF_ALTUP_MAX])
{
    memcpy(x, m->end, m->n_embd * sizeof *x);
    factor[0] = 1 / (double)m->n_stream;
    for (size_t j = 1; j < m->n_stream; j++) {
        factor[j] = merge_stream(m, j, x) / (double)m->n_stream;
    }
    for (size_t c = 0; c < m->n_embd; c++) {
        x[c] /= (float)m->n_stream;
    }
}

/* The directions of x_L's streams, and the margin itself. */
static void begin(margin *m, cf_token a, cf_token against, float *x)
{
    const cf_engine *e = m->e;
    double factor[CF_ALTUP_MAX];
    double scale = (double)e->hp.logit_scale;
    const float *bias = e->w.output_bias;
    merge(m, x, factor);
    for (int side = 0; side < 2; side++) {
        cf_token id = side == 0 ? a : against;
        double sign = side == 0 ? 1 : -1;
        if (id == CF_TOKEN_NONE) {
            continue;
        }
        const float *row = row_of(m, &e->w.output, (size_t)id);
        for (size_t c = 0; c < m->n_embd; c++) {
            m->d[c] += sign * (double)row[c];
        }
        m->out->bias += bias != NULL ? sign * scale * (double)bias[id] : 0;
    }
    pull(m, m->d, m->d, scale, e->w.output_norm, x);
    m->out->margin = dot(m->d, x, m->n_embd) + m->out->bias;
    add(m->to, factor[0], m->d, m->n_embd);
    for (size_t j = 1; j < m->n_stream; j++) {
        cf_mat u = cf_mat_stack_at(&e->w.altup_unproj, j - 1);
        times_turned(m, &u, factor[j], m->d, m->to + j * m->n_embd);
    }
}

/* ---- layers, from the last to the first --------------------------------- */

/* The experts that were chosen, where what the feed-forward part writes is
 * worth d (after its own norm). */
static void share_experts(const margin *m, uint32_t i, const double *d, float *sum)
{
    const kept *k = &m->layer[i];
    cf_layer_share *out = &m->out->layer[i];
    const float *norm = m->e->w.layer[i].expert.post_norm;
    memset(sum, 0, m->n_embd * sizeof *sum);
    for (uint32_t j = 0; j < k->n_expert; j++) {
        for (size_t c = 0; c < m->n_embd; c++) {
            sum[c] += k->expert[j * m->n_embd + c];
        }
    }
    pull(m, m->pulled, d, 1, norm, sum);
    out->n_expert = k->n_expert;
    for (uint32_t j = 0; j < k->n_expert; j++) {
        out->expert[j] = (cf_expert_share){k->expert_id[j],
                                           dot(m->pulled, k->expert + j * m->n_embd, m->n_embd)};
    }
}

/* The shares of what a layer's mixer wrote, where it is worth a * d. */
static void share_mixer(const margin *m, uint32_t i, const double *d, double a, float *sum)
{
    const kept *k = &m->layer[i];
    cf_layer_share *out = &m->out->layer[i];
    const float *att = k->part[CF_LAYER_PART_ATTENTION], *rec = k->part[CF_LAYER_PART_RECURRENT];
    for (size_t c = 0; c < m->n_embd; c++) {
        sum[c] = (att != NULL ? att[c] : 0) + (rec != NULL ? rec[c] : 0);
    }
    pull(m, m->pulled, d, a, m->e->w.layer[i].post_attn_norm, sum);
    if (att != NULL) {
        out->attention = dot(m->pulled, att, m->n_embd);
        memcpy(k->heads_to, m->pulled, m->n_embd * sizeof *m->pulled);
    }
    out->recurrent = rec != NULL ? dot(m->pulled, rec, m->n_embd) : 0;
}

static void share_mlp(const margin *m, uint32_t i, const double *d, double a, double *paper,
                      float *sum)
{
    const float *mlp = m->layer[i].part[CF_LAYER_PART_MLP];
    if (mlp == NULL) {
        return;
    }
    pull(m, paper, d, a, m->e->w.layer[i].post_ffn_norm, mlp);
    m->out->layer[i].mlp = dot(paper, mlp, m->n_embd);
    if (m->layer[i].expert != NULL) {
        share_experts(m, i, paper, sum);
    }
}

/* Where direction d is that of a layer's own embeddings. */
static double share_per_layer(const margin *m, uint32_t i, const double *d, double a, double *paper)
{
    const float *x = m->layer[i].part[CF_LAYER_PART_PER_LAYER];
    if (x == NULL) {
        return 0;
    }
    pull(m, paper, d, a, m->e->w.layer[i].per_layer_norm, x);
    return dot(paper, x, m->n_embd);
}

static void plain_layer(const margin *m, uint32_t i, double *paper, float *sum)
{
    const cf_layer_weights *w = &m->e->w.layer[i];
    double a = (double)m->e->hp.residual_scale;
    for (size_t c = 0; w->scale != NULL && c < m->n_embd; c++) {
        m->to[c] *= (double)*w->scale;
    }
    m->out->layer[i].other = share_per_layer(m, i, m->to, a, paper);
    share_mlp(m, i, m->to, a, paper, sum);
    share_mixer(m, i, m->to, a, sum);
}

static void altup_layer(const margin *m, uint32_t i, double *paper, float *sum)
{
    const cf_hparams *hp = &m->e->hp;
    const kept *k = &m->layer[i];
    size_t n = m->n_embd;
    double half = 1 / sqrt(2.0);
    double *active = m->to + hp->altup_active * n;
    double *all = m->d; /* free by now: first of all j > 0, then D_n */
    memset(all, 0, n * sizeof *all);
    for (size_t j = 1; j < m->n_stream; j++) {
        add(all, 1, m->to + j * n, n);
    }
    m->out->layer[i].other = share_per_layer(m, i, all, 1, paper);
    memset(all, 0, n * sizeof *all);
    for (size_t j = 0; j < m->n_stream; j++) {
        add(all, 1 + (double)k->correct[j], m->to + j * n, n);
    }
    share_mlp(m, i, all, 1, paper, sum);
    share_mixer(m, i, all, half, sum);
    m->out->layer[i].other += half * dot(all, k->part[CF_LAYER_PART_LOW_RANK], n);
    add(active, half - 1, all, n);
    for (size_t c = 0; c < n; c++) {
        double d[CF_ALTUP_MAX];
        for (size_t j = 0; j < m->n_stream; j++) {
            d[j] = m->to[j * n + c];
        }
        for (size_t from = 0; from < m->n_stream; from++) {
            for (size_t j = 0; j < m->n_stream; j++) {
                m->to[from * n + c] += (double)k->predict[j * m->n_stream + from] * d[j];
            }
        }
    }
}

/* ---- heads -------------------------------------------------------------- */

/* The shares of a layer's heads: their outputs times (output matrix)^T
 * heads_to.  row and sum: [n_att] of a thread. */
static void share_heads(const margin *m, uint32_t i, float *row, double *sum)
{
    const cf_layer_hparams *l = &m->e->hp.layer[i];
    const cf_mat *o = &m->e->w.layer[i].o;
    const kept *k = &m->layer[i];
    memset(sum, 0, o->n_col * sizeof *sum);
    for (size_t r = 0; r < o->n_row; r++) {
        double d = k->heads_to[r] * (double)(o->by != 0 ? o->by : 1);
        cf_dtype_to_f32(o->type, row, (const unsigned char *)o->p + r * o->row_bytes, o->n_col);
        for (size_t c = 0; c < o->n_col; c++) {
            sum[c] += d * (double)row[c];
        }
    }
    if (m->lora->n != 0) {
        cf_lora_back(m->lora, o, k->heads_to, sum);
    }
    for (uint32_t h = 0; h < l->n_head; h++) {
        size_t n = cf_hparams_head_out(&m->e->hp, i);
        m->out->layer[i].head[h] = dot(sum + h * n, k->heads + h * n, n);
    }
}

typedef struct heads_job {
    const margin *m;
    float *row;  /* [threads, width] */
    double *sum; /* likewise */
    size_t width;
} heads_job;

/* Layer i is thread i % n's. */
static void heads_part(void *ud, unsigned i, unsigned n)
{
    const heads_job *job = ud;
    for (uint32_t l = i; l < job->m->e->hp.n_layer; l += n) {
        if (job->m->e->hp.layer[l].n_head != 0) {
            share_heads(job->m, l, job->row + i * job->width, job->sum + i * job->width);
        }
    }
}

static cf_status share_all_heads(const margin *m, cf_arena *arena, cf_error *err)
{
    heads_job job = {.m = m};
    for (uint32_t i = 0; i < m->e->hp.n_layer; i++) {
        size_t n = m->e->w.layer[i].o.n_col;
        job.width = m->e->hp.layer[i].n_head != 0 && n > job.width ? n : job.width;
    }
    unsigned n_thread = cf_pool_n_threads(m->e->pool);
    job.row = cf_arena_calloc(arena, n_thread * job.width, sizeof *job.row);
    job.sum = cf_arena_calloc(arena, n_thread * job.width, sizeof *job.sum);
    if (arena->failed) {
        return cf_oom_for(err, "the shares of heads");
    }
    cf_pool_run(m->e->pool, heads_part, &job);
    return CF_OK;
}

/* ---- the whole ---------------------------------------------------------- */

static cf_status take_apart(margin *m, cf_token a, cf_token against, cf_arena *arena, cf_error *err)
{
    double *paper = cf_arena_calloc(arena, m->n_embd, sizeof *paper);
    float *sum = cf_arena_calloc(arena, m->n_embd, sizeof *sum);
    if (arena->failed) {
        return cf_oom_for(err, "a margin");
    }
    begin(m, a, against, sum);
    for (uint32_t i = m->e->hp.n_layer; i-- > 0;) {
        if (m->e->hp.n_altup != 0) {
            altup_layer(m, i, paper, sum);
        } else {
            plain_layer(m, i, paper, sum);
        }
    }
    m->out->embedding = dot(m->to, m->first, m->n_stream * m->n_embd);
    return CF_OK;
}

static cf_status check_token(const cf_engine *e, cf_token id, cf_error *err)
{
    return id == CF_TOKEN_NONE ? CF_OK : cf_session__check_id(e, id, err);
}

cf_status cf_inside_margin(cf_session *s, const cf_inside_ask *ask, cf_token a, cf_token against,
                           cf_margin *out, cf_arena *arena, cf_error *err)
{
    cf_margin result = {0};
    margin m = {.e = s->engine,
                .lora = &s->lora,
                .at = ask->at,
                .n_embd = s->engine->hp.n_embd,
                .n_stream = s->engine->hp.n_altup != 0 ? s->engine->hp.n_altup : 1,
                .out = &result};
    cf_probe tap = {.ud = &m,
                    .stream = on_stream,
                    .part = on_part,
                    .heads = on_heads,
                    .expert = on_expert,
                    .mixing = on_mixing};
    CF_TRY(cf_engine__need_own(s->engine, "shares of a margin", err));
    CF_TRY(cf_session__check_id(s->engine, a, err));
    CF_TRY(check_token(s->engine, against, err));
    CF_TRY(make(&m, arena, err));
    const cf_inside_watch w = {.tap = &tap, .from = ask->at};
    CF_TRY(cf_inside__watch(s, ask, &w, err));
    CF_TRY(take_apart(&m, a, against, arena, err));
    pthread_mutex_lock(&s->engine->pass_lock);
    cf_status st = share_all_heads(&m, arena, err);
    pthread_mutex_unlock(&s->engine->pass_lock);
    CF_THEN(st, cf_engine__check_files(s->engine, err));
    if (st == CF_OK) {
        *out = result;
    }
    return st;
}
