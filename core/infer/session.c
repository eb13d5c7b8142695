/*
 * session.c - a timeline of tokens: what is cached, what is computed next.
 *
 * Rules that always hold between calls:
 *   1. tokens[0..n) are cached: their keys and values are in kv.
 *   2. has_logits: logits are those after tokens[n - 1].
 *   3. pages behind n hold nothing.
 * A pass writes the cache behind n first and n moves when it succeeded, so a
 * pass that fails or is cancelled has changed nothing that counts.
 */
#include "core/api/session.h"

#include <assert.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/infer/forward.h"

struct cf_session {
    cf_engine *engine;
    cf_kv kv;
    cf_token *tokens; /* [n_ctx] */
    uint32_t n, n_ctx, n_batch;
    uint32_t rope_variant;
    cf_row *rows;  /* [n_batch], for a prefill */
    float *logits; /* [n_vocab] */
    bool has_logits;
};

/* ---- making ------------------------------------------------------------- */

void cf_session_free(cf_session *s)
{
    if (s == NULL) {
        return;
    }
    if (s->kv.page != NULL) {
        cf_kv_deinit(&s->kv);
    }
    cf_free(s->tokens);
    cf_free(s->rows);
    cf_free_aligned(s->logits);
    cf_free(s);
}

/* A session without a cache. */
static cf_status new_session(cf_session **out, cf_engine *e, uint32_t n_ctx,
                             uint32_t n_batch, cf_error *err)
{
    cf_session *s = cf_calloc(1, sizeof *s);
    if (s != NULL) {
        s->engine = e;
        s->n_ctx = n_ctx;
        s->n_batch = n_batch;
        s->tokens = cf_calloc(n_ctx, sizeof *s->tokens);
        s->rows = cf_calloc(n_batch, sizeof *s->rows);
        s->logits = cf_alloc_aligned(64, e->hp.n_vocab * sizeof(float));
    }
    if (s == NULL || s->tokens == NULL || s->rows == NULL ||
        s->logits == NULL) {
        cf_session_free(s);
        return cf_fail(err, CF_ENOMEM,
                       "out of memory for a session of %u tokens", n_ctx);
    }
    *out = s;
    return CF_OK;
}

/* What a session is sized by. */
typedef struct sizes {
    uint32_t n_ctx, n_batch;
    const cf_kv_layout *layout;
} sizes;

/* Refuses a session that would not fit, then makes the engine's workspace
 * large enough for it. */
static cf_status make_room(cf_engine *e, const sizes *z, cf_error *err)
{
    cf_ws_model m = cf_engine__ws_model(e);
    cf_ws_plan ws;
    cf_plan plan;
    uint32_t n_row = z->n_batch > CF_BATCH_MIN ? z->n_batch : CF_BATCH_MIN;
    cf_ws_plan_make(&ws, &m, n_row, z->n_ctx);
    cf_plan_make(&plan, &ws, &m, z->layout, z->n_ctx);
    pthread_mutex_lock(&e->pass_lock);
    uint64_t more = ws.total > e->ws.plan.total ? ws.total : 0;
    cf_status st = cf_plan_fits(plan.session_bytes + more,
                                "a session of this context", err);
    CF_THEN(st, cf_ws_grow(&e->ws, &m, n_row, z->n_ctx, err));
    pthread_mutex_unlock(&e->pass_lock);
    return st;
}

cf_status cf_session_new(cf_session **out, cf_engine *e,
                         const cf_session_options *opts, cf_error *err)
{
    cf_session_options none = {0};
    const cf_session_options *o = opts != NULL ? opts : &none;
    sizes z = {.n_batch = o->n_batch != 0 ? o->n_batch : CF_BATCH_DEFAULT};
    cf_session *s = NULL;
    CF_TRY(cf_engine__need_weights(e, err));
    CF_TRY(cf_engine__n_ctx(e, o->n_ctx, &z.n_ctx, err));
    z.n_batch = z.n_batch < CF_BATCH_MAX ? z.n_batch : CF_BATCH_MAX;
    z.n_batch = z.n_batch < z.n_ctx ? z.n_batch : z.n_ctx;
    z.layout = cf_engine__kv_layout(e, o->cache);
    CF_TRY(make_room(e, &z, err));
    CF_TRY(new_session(&s, e, z.n_ctx, z.n_batch, err));
    assert(s != NULL);
    const cf_rope_params *rope = &e->hp.rope[CF_ROPE_GLOBAL];
    s->rope_variant = z.n_ctx > rope->n_ctx_orig ? CF_ROPE_LONG : CF_ROPE_SHORT;
    cf_status st = cf_kv_init(&s->kv, z.layout, z.n_ctx, err);
    if (st != CF_OK) {
        cf_session_free(s);
        return st;
    }
    *out = s;
    return CF_OK;
}

/* Copies pointers to pages, four bytes a token and one row of logits; no keys
 * and no values. */
cf_status cf_session_fork(cf_session **out, const cf_session *from,
                          cf_error *err)
{
    cf_session *s = NULL;
    CF_TRY(new_session(&s, from->engine, from->n_ctx, from->n_batch, err));
    assert(s != NULL);
    cf_status st = cf_kv_fork(&s->kv, &from->kv, err);
    if (st != CF_OK) {
        cf_session_free(s);
        return st;
    }
    s->n = from->n;
    s->rope_variant = from->rope_variant;
    s->has_logits = from->has_logits;
    memcpy(s->tokens, from->tokens, from->n * sizeof *s->tokens);
    if (s->has_logits) {
        memcpy(s->logits, from->logits,
               from->engine->hp.n_vocab * sizeof(float));
    }
    *out = s;
    return CF_OK;
}

/* ---- looking ------------------------------------------------------------ */

const cf_engine *cf_session_engine(const cf_session *s)
{
    return s->engine;
}

uint32_t cf_session_n_ctx(const cf_session *s)
{
    return s->n_ctx;
}

const cf_token *cf_session_tokens(const cf_session *s, size_t *n)
{
    *n = s->n;
    return s->tokens;
}

void cf_session_memory(const cf_session *s, uint64_t *bytes,
                       uint64_t *shared_bytes)
{
    cf_kv_memory(&s->kv, bytes, shared_bytes);
}

const float *cf_session_logits(const cf_session *s)
{
    return s->has_logits ? s->logits : NULL;
}

/* ---- computing ---------------------------------------------------------- */

void cf_session_rewind(cf_session *s, size_t length)
{
    if (length >= s->n) {
        return;
    }
    s->n = (uint32_t)length;
    s->has_logits = false;
    cf_kv_truncate(&s->kv, s->n);
}

static cf_status check_id(const cf_engine *e, cf_token id, cf_error *err)
{
    if (id < 0 || (uint32_t)id >= e->hp.n_vocab) {
        return cf_fail(err, CF_EINVAL,
                       "token %d is outside the vocabulary of %u", (int)id,
                       e->hp.n_vocab);
    }
    return CF_OK;
}

/* Calls run->logits for every row of the pass, a chunk at a time. */
static void report_logits(cf_session *s, uint32_t first, uint32_t n,
                          const cf_run *run)
{
    cf_engine *e = s->engine;
    size_t n_vocab = e->hp.n_vocab;
    float *chunk = (float *)(void *)(e->ws.p + e->ws.plan.off[CF_WS_LOGITS]);
    for (uint32_t at = 0; at < n;) {
        uint32_t m = n - at < e->ws.plan.n_logit ? n - at : e->ws.plan.n_logit;
        cf_forward_logits(e, at, m, chunk);
        for (uint32_t i = 0; i < m; i++) {
            run->logits(run->ud, first + at + i, chunk + i * n_vocab);
        }
        at += m;
        if (at == n) {
            memcpy(s->logits, chunk + (m - 1) * n_vocab,
                   n_vocab * sizeof(float));
        }
    }
}

/* One pass over ids[0..m), which follow the timeline; with is_last, logits
 * are computed after the last of them. */
static cf_status compute_batch(cf_session *s, const cf_token *ids, uint32_t m,
                               bool is_last, const cf_run *run, cf_error *err)
{
    cf_engine *e = s->engine;
    bool all = run->logits != NULL;
    size_t first_out = all ? 0 : is_last ? m - 1 : m;
    CF_TRY(cf_kv_reserve(&s->kv, s->n, s->n + m, err));
    for (uint32_t i = 0; i < m; i++) {
        s->rows[i] = (cf_row){&s->kv, s->n + i, ids[i], s->rope_variant};
    }
    pthread_mutex_lock(&e->pass_lock);
    cf_status st = cf_forward(e, s->rows, m, first_out, run->cancel, err);
    if (st == CF_OK) {
        s->has_logits = false;
        if (all) {
            report_logits(s, s->n, m, run);
        } else if (is_last) {
            cf_forward_logits(e, m - 1, 1, s->logits);
        }
    }
    pthread_mutex_unlock(&e->pass_lock);
    if (st != CF_OK) {
        return st;
    }
    memmove(s->tokens + s->n, ids, m * sizeof *ids);
    s->n += m;
    s->has_logits = is_last;
    return CF_OK;
}

/* ids[0..n) behind the timeline, batch by batch. */
static cf_status compute(cf_session *s, const cf_token *ids, uint32_t n,
                         const cf_run *run, cf_error *err)
{
    cf_run plain = {0};
    const cf_run *r = run != NULL ? run : &plain;
    for (uint32_t done = 0; done < n;) {
        uint32_t m = n - done < s->n_batch ? n - done : s->n_batch;
        cf_status st = compute_batch(s, ids + done, m, done + m == n, r, err);
        if (st != CF_OK) {
            cf_kv_truncate(&s->kv, s->n); /* rule 3 */
            return st;
        }
        done += m;
        if (r->progress != NULL) {
            r->progress(r->ud, done, n);
        }
    }
    return CF_OK;
}

cf_status cf_session_sync(cf_session *s, const cf_token *ids, size_t n,
                          const cf_run *run, cf_sync_result *out, cf_error *err)
{
    size_t common = 0;
    if (n > s->n_ctx) {
        return cf_fail(err, CF_ELIMIT, "%zu tokens do not fit a context of %u",
                       n, s->n_ctx);
    }
    for (size_t i = 0; i < n; i++) {
        CF_TRY(check_id(s->engine, ids[i], err));
    }
    while (common < n && common < s->n && ids[common] == s->tokens[common]) {
        common++;
    }
    /* The last token is computed again when nothing else is. */
    size_t kept = common == n && n > 0 ? n - 1 : common;
    cf_sync_result result = {
        .n_kept = kept, .n_dropped = s->n - common, .n_new = n - kept};
    cf_session_rewind(s, kept);
    CF_TRY(compute(s, ids + kept, (uint32_t)(n - kept), run, err));
    if (out != NULL) {
        *out = result;
    }
    return CF_OK;
}

cf_status cf_session_step(cf_session *s, cf_token id, const cf_run *run,
                          cf_error *err)
{
    if (s->n >= s->n_ctx) {
        return cf_fail(err, CF_ELIMIT, "the context of %u tokens is full",
                       s->n_ctx);
    }
    CF_TRY(check_id(s->engine, id, err));
    cf_run r = run != NULL ? *run : (cf_run){0};
    r.progress = NULL; /* of a prefill only */
    return compute(s, &id, 1, &r, err);
}

/* ---- several sessions --------------------------------------------------- */

static cf_status check_many(cf_session *const *sessions, const cf_token *ids,
                            size_t n, cf_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const cf_session *s = sessions[i];
        CF_ASSERT(s->engine == sessions[0]->engine);
        for (size_t j = 0; j < i; j++) {
            CF_ASSERT(sessions[j] != s);
        }
        if (s->n >= s->n_ctx) {
            return cf_fail(err, CF_ELIMIT, "the context of %u tokens is full",
                           s->n_ctx);
        }
        CF_TRY(check_id(s->engine, ids[i], err));
    }
    return CF_OK;
}

/* The pass, with the lock held; logits are written when it succeeded. */
static cf_status step_locked(cf_session *const *sessions, const cf_row *rows,
                             size_t n, const cf_run *run, cf_error *err)
{
    cf_engine *e = sessions[0]->engine;
    size_t n_vocab = e->hp.n_vocab;
    size_t n_logit = e->ws.plan.n_logit;
    float *chunk = (float *)(void *)(e->ws.p + e->ws.plan.off[CF_WS_LOGITS]);
    if (n > e->ws.plan.n_row) {
        return cf_fail(err, CF_ELIMIT,
                       "%zu sessions in one pass, at most %u are allowed", n,
                       e->ws.plan.n_row);
    }
    CF_TRY(cf_forward(e, rows, n, 0, run->cancel, err));
    for (size_t at = 0; at < n; at += n_logit) {
        size_t m = n - at < n_logit ? n - at : n_logit;
        cf_forward_logits(e, at, m, chunk);
        for (size_t i = 0; i < m; i++) {
            memcpy(sessions[at + i]->logits, chunk + i * n_vocab,
                   n_vocab * sizeof(float));
        }
    }
    return CF_OK;
}

cf_status cf_session_step_many(cf_session *const *sessions, const cf_token *ids,
                               size_t n, const cf_run *run, cf_error *err)
{
    cf_run plain = {0};
    const cf_run *r = run != NULL ? run : &plain;
    if (n == 0) {
        return CF_OK;
    }
    cf_engine *e = sessions[0]->engine;
    cf_row rows[CF_BATCH_MIN];
    cf_row *row = rows;
    CF_TRY(check_many(sessions, ids, n, err));
    if (n > CF_BATCH_MIN) {
        row = cf_calloc(n, sizeof *row);
        if (row == NULL) {
            return cf_fail(err, CF_ENOMEM, "out of memory for %zu rows", n);
        }
    }
    cf_status st = CF_OK;
    for (size_t i = 0; i < n && st == CF_OK; i++) {
        cf_session *s = sessions[i];
        row[i] = (cf_row){&s->kv, s->n, ids[i], s->rope_variant};
        st = cf_kv_reserve(&s->kv, s->n, s->n + 1, err);
    }
    if (st == CF_OK) {
        pthread_mutex_lock(&e->pass_lock);
        st = step_locked(sessions, row, n, r, err);
        pthread_mutex_unlock(&e->pass_lock);
    }
    for (size_t i = 0; i < n; i++) {
        cf_session *s = sessions[i];
        if (st != CF_OK) {
            cf_kv_truncate(&s->kv, s->n);
            continue;
        }
        s->tokens[s->n++] = ids[i];
        s->has_logits = true;
    }
    if (row != rows) {
        cf_free(row);
    }
    for (size_t i = 0; i < n && st == CF_OK && r->logits != NULL; i++) {
        r->logits(r->ud, sessions[i]->n - 1, sessions[i]->logits);
    }
    return st;
}
