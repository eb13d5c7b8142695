/*
 * embed.c - makes one vector of a text out of the states after its tokens, and
 * a ranker's score out of it.
 */
#include "core/api/embed.h"

#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/infer/pass.h"
#include "core/infer/session_impl.h"

struct cf_embedder {
    cf_engine *engine;
    cf_session *session; /* NULL for an encoder */
    cf_pooling pooling;  /* of the rows: never CF_POOLING_RANK */
    bool is_ranker;
    uint32_t n_ctx;
    float *scratch; /* [n_scratch, 2] */
    size_t n_scratch;
};

/* ---- pooling ------------------------------------------------------------ */

typedef struct pool {
    cf_pooling kind;
    size_t n_embd, n; /* tokens in all */
    double *sum;      /* [n_embd] */
} pool;

static void on_hidden(void *ud, uint32_t pos, const float *h)
{
    pool *p = ud;
    if ((p->kind == CF_POOLING_FIRST && pos != 0) ||
        (p->kind == CF_POOLING_LAST && pos + 1 != p->n)) {
        return;
    }
    for (size_t i = 0; i < p->n_embd; i++) {
        p->sum[i] += (double)h[i];
    }
}

/* All positions are computed here: neither the timeline's nor those of a
 * prefix have their states any more. */
static cf_status run_decoder(cf_session *s, const cf_token *ids, pool *p, cf_cancel *cancel,
                             cf_error *err)
{
    const cf_run r = {.cancel = cancel, .hidden = on_hidden, .ud = p};
    cf_session_rewind(s, 0);
    return cf_session_sync(s, ids, p->n, &r, NULL, err);
}

/* Room for a pass of n rows, or for up to twice as many, so that texts of
 * growing length do not make room each time. */
static cf_status make_room(const cf_embedder *m, size_t n, cf_error *err)
{
    cf_ws_model ws = cf_engine__ws_model(m->engine);
    uint32_t n_row = CF_BATCH_MIN;
    while (n_row < n) {
        n_row *= 2;
    }
    n_row = n_row < m->n_ctx || m->n_ctx < CF_BATCH_MIN ? n_row : m->n_ctx;
    CF_TRY(cf_ws_grow(&m->engine->ws, &ws, n_row, n_row, err));
    return cf_session__grow_rows(m->engine, err);
}

/* One pass over all of the text, with the lock held. */
static cf_status run_encoder(const cf_embedder *m, const cf_token *ids, pool *p,
                             const cf_cancel *cancel, cf_error *err)
{
    cf_engine *e = m->engine;
    CF_TRY(make_room(m, p->n, err));
    for (uint32_t i = 0; i < p->n; i++) {
        CF_TRY(cf_session__check_id(e, ids[i], err));
        e->rows[i] = (cf_row){.pos = i, .id = ids[i], .at = {i, i, i, i}};
    }
    CF_TRY(cf_forward(e, e->rows, p->n, 0, NULL, cancel, err));
    for (uint32_t i = 0; i < p->n; i++) {
        on_hidden(p, i, cf_forward_hidden(e, i));
    }
    return cf_engine__check_files(e, err);
}

/* ---- after pooling ------------------------------------------------------ */

/* out = m * in + bias */
static void times(const cf_pass *p, const cf_mat *m, const float *bias, const float *in, float *out)
{
    cf_pass__times(p, m, in, out, 0);
    if (bias != NULL) {
        p->e->k->add(out, bias, m->n_row);
    }
}

/* EmbeddingGemma: a wider layer and one back, without activation. */
static void widen_and_back(const cf_pass *p, float *pooled, float *scratch)
{
    const cf_mat *dense = p->e->w.encoder.dense;
    if (dense[0].p != NULL) {
        times(p, &dense[0], NULL, pooled, scratch);
        times(p, &dense[1], NULL, scratch, pooled);
    }
}

/* v = tanh(v), or norm(gelu(v)) * w. */
static void activate(const cf_pass *p, float *v)
{
    size_t n = p->e->hp.n_embd;
    const float *norm = p->e->w.encoder.norm;
    if (p->e->hp.arch->ranking == CF_RANK_MEAN_GELU) {
        p->e->k->encoder->gelu_erf(v, n);
        cf_pass__norm(p, norm, v, v);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        v[i] = (float)tanh((double)v[i]);
    }
}

static float score_of(const cf_pass *p, const float *pooled, float *scratch, float *out)
{
    const cf_encoder_weights *w = &p->e->w.encoder;
    if (w->classify.p != NULL) {
        times(p, &w->classify, w->bias, pooled, scratch);
        activate(p, scratch);
        pooled = scratch;
    }
    times(p, &w->outputs, w->outputs_bias, pooled, out);
    if (p->e->hp.arch->ranking != CF_RANK_LAST_YES) {
        return out[0];
    }
    return (float)(1 / (1 + exp((double)out[1] - (double)out[0])));
}

/* ---- the embedder ------------------------------------------------------- */

static cf_pooling pooling_of(const cf_engine *e)
{
    static const cf_pooling of_ranker[] = {[CF_RANK_FIRST_TANH] = CF_POOLING_FIRST,
                                           [CF_RANK_MEAN_GELU] = CF_POOLING_MEAN,
                                           [CF_RANK_LAST_YES] = CF_POOLING_LAST};
    cf_pooling pooling = cf_engine_get_info(e).pooling;
    return pooling == CF_POOLING_RANK ? of_ranker[e->hp.arch->ranking] : pooling;
}

static cf_status check_model(const cf_engine *e, cf_error *err)
{
    const cf_arch *arch = e->hp.arch;
    bool is_ranker = e->hp.pooling == CF_POOLING_RANK;
    CF_TRY(cf_engine__need_weights(e, err));
    CF_TRY(cf_engine__need_own(e, "embeddings", err));
    if (pooling_of(e) == CF_POOLING_NONE) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "the model makes no embeddings: its file declares no "
                       "%s.pooling_type",
                       arch->name);
    }
    if (is_ranker && (e->w.encoder.outputs.p == NULL ||
                      (!arch->is_encoder && arch->ranking != CF_RANK_LAST_YES))) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       e->w.encoder.outputs.p == NULL
                           ? "the model ranks texts, but its file has no cls.output.weight (%s)"
                           : "rankers of architecture %s are not supported",
                       arch->name);
    }
    return CF_OK;
}

static cf_status fill(cf_embedder *m, cf_engine *e, uint32_t n_ctx, cf_error *err)
{
    const cf_encoder_weights *w = &e->w.encoder;
    const cf_session_options o = {.n_ctx = n_ctx};
    m->engine = e;
    m->pooling = pooling_of(e);
    m->is_ranker = e->hp.pooling == CF_POOLING_RANK;
    m->n_scratch = e->hp.n_embd;
    m->n_scratch = w->dense[0].n_row > m->n_scratch ? w->dense[0].n_row : m->n_scratch;
    m->n_scratch = w->outputs.n_row > m->n_scratch ? w->outputs.n_row : m->n_scratch;
    m->scratch = cf_calloc(2 * m->n_scratch, sizeof *m->scratch);
    if (m->scratch == NULL) {
        return cf_oom_for(err, "embeddings");
    }
    if (e->hp.arch->is_encoder) {
        m->n_ctx = n_ctx != 0 && n_ctx < e->hp.n_ctx_train ? n_ctx : e->hp.n_ctx_train;
        return m->n_ctx <= CF_CTX_MAX
                   ? CF_OK
                   : cf_fail(err, CF_ELIMIT, "texts of %u tokens, at most %d are allowed", m->n_ctx,
                             CF_CTX_MAX);
    }
    CF_TRY(cf_session_new(&m->session, e, &o, err));
    m->n_ctx = m->session->n_ctx;
    return CF_OK;
}

cf_status cf_embedder_new(cf_embedder **out, cf_engine *e, uint32_t n_ctx, cf_error *err)
{
    CF_TRY(check_model(e, err));
    cf_embedder *m = cf_calloc(1, sizeof *m);
    if (m == NULL) {
        return cf_oom(err);
    }
    cf_status st = fill(m, e, n_ctx, err);
    if (st != CF_OK) {
        cf_embedder_free(m);
        return st;
    }
    *out = m;
    return CF_OK;
}

void cf_embedder_free(cf_embedder *m)
{
    if (m != NULL) {
        cf_session_free(m->session);
        cf_free(m->scratch);
        cf_free(m);
    }
}

/* Pools into p->sum, and makes what the model makes of it. */
static cf_status run(cf_embedder *m, const cf_token *ids, pool *p, cf_cancel *cancel, float *pooled,
                     float *score, cf_error *err)
{
    cf_pass pass;
    cf_engine *e = m->engine;
    double n = p->kind == CF_POOLING_MEAN ? (double)p->n : 1;
    cf_status st = m->session != NULL ? run_decoder(m->session, ids, p, cancel, err) : CF_OK;
    pthread_mutex_lock(&e->pass_lock);
    if (m->session == NULL) {
        st = run_encoder(m, ids, p, cancel, err);
    }
    if (st == CF_OK) {
        cf_pass__init(&pass, e, NULL, 1, 0);
        for (size_t i = 0; i < p->n_embd; i++) {
            pooled[i] = (float)(p->sum[i] / n);
        }
        widen_and_back(&pass, pooled, m->scratch);
        *score = m->is_ranker ? score_of(&pass, pooled, m->scratch, m->scratch + m->n_scratch) : 0;
    }
    pthread_mutex_unlock(&e->pass_lock);
    return st;
}

cf_status cf_embedder_run(cf_embedder *m, const cf_token *ids, size_t n, cf_cancel *cancel,
                          float *pooled, float *score, cf_error *err)
{
    float none;
    pool p = {.kind = m->pooling, .n_embd = m->engine->hp.n_embd, .n = n};
    if (n == 0) {
        return cf_fail(err, CF_EINVAL, "a text without tokens has no vector");
    }
    if (n > m->n_ctx) {
        return cf_fail(err, CF_ELIMIT, "a text of %zu tokens, at most %u fit", n, m->n_ctx);
    }
    p.sum = cf_calloc(p.n_embd, sizeof *p.sum);
    if (p.sum == NULL) {
        return cf_oom_for(err, "the vector");
    }
    cf_status st = run(m, ids, &p, cancel, pooled, score != NULL ? score : &none, err);
    cf_free(p.sum);
    return st;
}

int cf_rank_compare(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return isnan(a) - isnan(b);
    }
    return (a < b) - (a > b);
}

void cf_embedding_normalise(float *v, size_t n)
{
    double square = 0;
    for (size_t i = 0; i < n; i++) {
        square += (double)v[i] * (double)v[i];
    }
    double scale = square > 0 ? 1 / sqrt(square) : 0;
    for (size_t i = 0; i < n; i++) {
        v[i] = (float)((double)v[i] * scale);
    }
}
