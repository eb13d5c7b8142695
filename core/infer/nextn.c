/*
 * nextn.c - runs a draft layer as a model of its own.
 *
 * Rules that always hold for a guesser between calls:
 *   1. Row j of the session is row base + j of the layer, made of true tokens
 *      and the model's own states.
 *   2. at[p % KEPT] is p + 1 where state[p % KEPT] is that after position p.
 */
#include "core/infer/nextn.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/infer/proposer.h"

enum { ROWS = 16, KEPT = 512, LINE = 64 };

struct cf_nextn {
    cf_engine *engine; /* of the layer */
    cf_session *session;
    uint32_t base;
    float *state;           /* [KEPT, n_embd] */
    uint32_t at[KEPT];      /* position + 1; 0: none */
    float *joined;          /* [ROWS, 2 n_embd]: what rows are made of */
    float *row;             /* [ROWS, n_embd] */
    float *last;            /* [n_embd]: the layer's state after its last row */
    unsigned char *xp;      /* joined, prepared */
    unsigned char *scratch; /* [n_threads, scratch_bytes] */
    size_t scratch_bytes;
};

/* ---- the engine --------------------------------------------------------- */

cf_status cf_nextn_open(cf_engine *e, cf_error *err)
{
    cf_error why;
    if (e->hp.n_draft_layer == 0 || e->gguf == NULL) {
        return CF_OK;
    }
    cf_engine *d = cf_calloc(1, sizeof *d);
    if (d == NULL || pthread_mutex_init(&d->pass_lock, NULL) != 0) {
        cf_free(d);
        return cf_oom_for(err, "a draft layer");
    }
    d->file = e->file; /* borrowed, as all but what passes take */
    d->folder = e->folder;
    d->gguf = e->gguf;
    d->tok = e->tok;
    d->k = e->k;
    memcpy(d->rope, e->rope, sizeof d->rope);
    d->arch = e->arch;
    d->name = e->name;
    d->arithmetic = e->arithmetic;
    d->n_threads = e->n_threads;
    d->has_weights = true;
    cf_status st = cf_hparams_init_draft(&d->hp, e->gguf, &why);
    CF_THEN(st, cf_weights_init(&d->w, e->gguf, &d->hp, &why));
    CF_THEN(st, cf_engine__make_layouts(d, &why));
    CF_THEN(st, cf_pool_new(&d->pool, d->n_threads, &why));
    if (st == CF_OK) {
        e->nextn = d;
        return CF_OK;
    }
    cf_nextn_close(d);
    /* A layer of another form costs drafts, not the model. */
    return st == CF_ENOMEM ? cf_oom_for(err, "a draft layer") : CF_OK;
}

void cf_nextn_close(cf_engine *d)
{
    if (d != NULL) {
        cf_engine__free_passes(d);
        cf_free(d);
    }
}

/* ---- rows --------------------------------------------------------------- */

/* By output: rows of the layer from what is prepared. */
typedef struct join_job {
    cf_nextn *x;
    size_t n;
} join_job;

static void join_part(void *ud, unsigned i, unsigned n)
{
    const join_job *job = ud;
    const cf_kernels *k = job->x->engine->k;
    const cf_mat *m = &job->x->engine->w.nextn.join;
    size_t units = (m->n_row + k->row_multiple - 1) / k->row_multiple;
    size_t lo = units * i / n * k->row_multiple, hi = units * (i + 1) / n * k->row_multiple;
    hi = hi < m->n_row ? hi : m->n_row;
    if (lo < hi) {
        k->matmul(job->x->row, m->n_row, m, job->x->xp, job->n, lo, hi,
                  job->x->scratch + i * job->x->scratch_bytes);
    }
}

/* joined[j] = (norm(embedding of id), norm(state)) */
static void join(cf_nextn *x, size_t j, cf_token id, const float *state)
{
    const cf_engine *e = x->engine;
    const cf_mat *m = &e->w.embd;
    size_t n = e->hp.n_embd;
    float *to = x->joined + j * 2 * n;
    cf_dtype_to_f32(m->type, to, (const unsigned char *)m->p + (size_t)id * m->row_bytes, n);
    for (size_t c = 0; e->hp.embd_scale != 1.0f && c < n; c++) {
        to[c] *= e->hp.embd_scale;
    }
    e->k->rms_norm(to, to, e->w.nextn.embd_norm, n, e->hp.norm_eps);
    e->k->rms_norm(to + n, state, e->w.nextn.hidden_norm, n, e->hp.norm_eps);
}

static void take_hidden(void *ud, uint32_t pos, const float *hidden)
{
    cf_nextn *x = ud;
    (void)pos; /* rows come in order: the last one stays */
    memcpy(x->last, hidden, x->engine->hp.n_embd * sizeof *hidden);
}

/* Runs the layer over n rows that were joined, with tokens ids[0..n). */
static cf_status run(cf_nextn *x, const cf_token *ids, size_t n)
{
    cf_engine *e = x->engine;
    cf_session *s = x->session;
    const cf_mat *m = &e->w.nextn.join;
    cf_input in[ROWS];
    cf_error ignored;
    e->k->prepare(x->xp, m->type, x->joined, n, m->n_col);
    join_job job = {x, n};
    pthread_mutex_lock(&e->pass_lock);
    cf_pool_run(e->pool, join_part, &job);
    pthread_mutex_unlock(&e->pass_lock);
    for (size_t j = 0; j < n; j++) {
        uint32_t at = s->n + (uint32_t)j;
        in[j] = (cf_input){
            .id = ids[j], .embd = x->row + j * e->hp.n_embd, .key = 1, .at = {at, at, at, at}};
    }
    cf_part part = {.s = s,
                    .src = {.in = in, .first = s->n},
                    .m = (uint32_t)n,
                    .wants_last = true,
                    .hidden = take_hidden,
                    .ud = x};
    return cf_session__pass(&part, 1, NULL, NULL, &ignored);
}

/* ---- a guesser ---------------------------------------------------------- */

cf_status cf_nextn_new(cf_nextn **out, const cf_engine *e, uint32_t n_ctx, cf_error *err)
{
    const cf_session_options o = {.n_ctx = n_ctx, .n_batch = ROWS};
    cf_engine *d = e->nextn;
    size_t n = d->hp.n_embd;
    const cf_mat *m = &d->w.nextn.join;
    cf_nextn *x = cf_calloc(1, sizeof *x);
    if (x == NULL) {
        return cf_oom_for(err, "a draft layer");
    }
    x->engine = d;
    x->scratch_bytes = (d->k->matmul_scratch_bytes(m->type, m->n_col) + LINE - 1) / LINE * LINE;
    x->state = cf_calloc((size_t)KEPT * n, sizeof *x->state);
    x->joined = cf_calloc((size_t)ROWS * 2 * n, sizeof *x->joined);
    x->row = cf_calloc((size_t)(ROWS + 1) * n, sizeof *x->row);
    x->xp = cf_alloc_aligned(LINE, ROWS * d->k->prepared_bytes(m->type, m->n_col));
    x->scratch = cf_alloc_aligned(LINE, d->n_threads * x->scratch_bytes + LINE);
    if (x->state == NULL || x->joined == NULL || x->row == NULL || x->xp == NULL ||
        x->scratch == NULL) {
        cf_nextn_free(x);
        return cf_oom_for(err, "a draft layer");
    }
    x->last = x->row + (size_t)ROWS * n;
    cf_status st = cf_session_new(&x->session, d, &o, err);
    if (st != CF_OK) {
        cf_nextn_free(x);
        return st;
    }
    *out = x;
    return CF_OK;
}

void cf_nextn_free(cf_nextn *x)
{
    if (x != NULL) {
        cf_session_free(x->session);
        cf_free(x->state);
        cf_free(x->joined);
        cf_free(x->row);
        cf_free_aligned(x->xp);
        cf_free_aligned(x->scratch);
        cf_free(x);
    }
}

void cf_nextn_hidden(cf_nextn *x, uint32_t pos, const float *hidden)
{
    size_t n = x->engine->hp.n_embd;
    memcpy(x->state + pos % KEPT * n, hidden, n * sizeof *hidden);
    x->at[pos % KEPT] = pos + 1;
}

void cf_nextn_forget(cf_nextn *x)
{
    memset(x->at, 0, sizeof x->at);
}

/* Cuts the session to rows of ids[0..n), and back to nothing where a state
 * between them and the end is missing.  False: that after the end is. */
static bool align(cf_nextn *x, const cf_token *ids, uint32_t n)
{
    cf_session *s = x->session;
    uint32_t last = n - 2, first = last + 1, keep = 0; /* rows 0 .. last are wanted */
    while (x->base + keep <= last && keep < s->n && s->tokens[keep] == ids[x->base + keep + 1]) {
        keep++;
    }
    while (first > 0 && last - (first - 1) < KEPT && x->at[(first - 1) % KEPT] == first) {
        first--;
    }
    if (first > last) {
        return false;
    }
    if (first > x->base + keep || x->base > last) {
        keep = 0;
        x->base = first;
    }
    /* The last row is computed again: its logits are wanted. */
    keep = x->base + keep > last ? last - x->base : keep;
    cf_session_rewind(s, keep);
    return true;
}

/* Rows of the true timeline that the session lacks. */
static cf_status follow(cf_nextn *x, const cf_token *ids, uint32_t n)
{
    size_t n_embd = x->engine->hp.n_embd;
    cf_status st = CF_OK;
    for (uint32_t i = x->base + x->session->n; st == CF_OK && i + 1 < n;) {
        uint32_t m = n - 1 - i < ROWS ? n - 1 - i : ROWS;
        for (uint32_t j = 0; j < m; j++) {
            join(x, j, ids[i + j + 1], x->state + (i + j) % KEPT * n_embd);
        }
        st = run(x, ids + i + 1, m);
        i += m;
    }
    return st;
}

size_t cf_nextn_ask(cf_nextn *x, const cf_token *ids, size_t n, cf_token *out, size_t cap)
{
    cf_session *s = x->session;
    size_t k = 0;
    if (n < 2 || cap == 0 || !align(x, ids, (uint32_t)n) || follow(x, ids, (uint32_t)n) != CF_OK) {
        return 0;
    }
    uint32_t n_true = s->n;
    while (k < cap && cf_session_logits(s) != NULL) {
        out[k++] = cf_proposer__top(cf_session_logits(s), x->engine->hp.n_vocab);
        if (k == cap || s->n == s->n_ctx) {
            break;
        }
        join(x, 0, out[k - 1], x->last);
        if (run(x, &out[k - 1], 1) != CF_OK) {
            break;
        }
    }
    cf_session_rewind(s, n_true);
    return k;
}
