/*
 * session.c - manages a timeline of tokens: what is cached, what is computed
 * next.
 *
 * Rules that always hold between calls:
 *   1. tokens[0..n) are the timeline; the keys and values of all of them are
 *      in kv, and n_ready of them went into the recurrent state.  Without
 *      recurrent layers n_ready is n.
 *   2. has_logits: logits are those after tokens[n - 1], and n_ready is n.
 *   3. pages after n hold nothing.
 *   4. place is NULL where every position is text: at[..] is its number.
 * A pass writes the cache after n_ready first and n moves when it succeeded,
 * so a pass that fails or is cancelled has changed nothing that counts.
 */
#include "core/api/session.h"

#include <assert.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/infer/forward.h"

/* How a position differs from a token of plain text at its own number. */
typedef struct place {
    uint64_t key; /* of embeddings; 0 for a token */
    uint32_t at[CF_ROPE_AXES];
    uint32_t see_end;
} place;

struct cf_session {
    cf_engine *engine;
    cf_kv kv;
    cf_states states;
    cf_token *tokens; /* [n_ctx] */
    place *place;     /* [n_ctx] or NULL */
    uint32_t n, n_ready, n_ctx, n_batch;
    uint32_t rope_variant;
    cf_row *rows;  /* [n_batch], for a prefill */
    float *logits; /* [n_vocab] */
    bool has_logits;
    cf_sync_result last; /* of the last sync that succeeded */
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
    cf_states_deinit(&s->states);
    cf_free(s->tokens);
    cf_free(s->place);
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

/* The quantities that determine a session's memory. */
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
    CF_THEN(st, cf_states_init(&s->states, cf_hparams_n_state(&e->hp), z.n_ctx,
                               err));
    if (st != CF_OK) {
        cf_session_free(s);
        return st;
    }
    *out = s;
    return CF_OK;
}

/* Room for places, all of them text. */
static cf_status need_places(cf_session *s, cf_error *err)
{
    if (s->place != NULL) {
        return CF_OK;
    }
    s->place = cf_calloc(s->n_ctx, sizeof *s->place);
    if (s->place == NULL) {
        return cf_oom_for(err, "positions");
    }
    for (uint32_t i = 0; i < s->n; i++) {
        s->place[i] = (place){.at = {i, i, i, i}};
    }
    return CF_OK;
}

/* Copies pointers to pages and states, four bytes a token and one row of
 * logits; no keys, values or states. */
cf_status cf_session_fork(cf_session **out, const cf_session *from,
                          cf_error *err)
{
    cf_session *s = NULL;
    CF_TRY(new_session(&s, from->engine, from->n_ctx, from->n_batch, err));
    assert(s != NULL);
    cf_status st = cf_kv_fork(&s->kv, &from->kv, err);
    CF_THEN(st, cf_states_fork(&s->states, &from->states, err));
    if (from->place != NULL) {
        CF_THEN(st, need_places(s, err));
    }
    if (st != CF_OK) {
        cf_session_free(s);
        return st;
    }
    s->n = from->n;
    s->n_ready = from->n_ready;
    s->rope_variant = from->rope_variant;
    s->has_logits = from->has_logits;
    s->last = from->last;
    memcpy(s->tokens, from->tokens, from->n * sizeof *s->tokens);
    if (s->place != NULL && from->place != NULL) {
        memcpy(s->place, from->place, from->n * sizeof *s->place);
    }
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
    uint64_t state_bytes = 0;
    uint64_t state_shared = 0;
    cf_kv_memory(&s->kv, bytes, shared_bytes);
    cf_states_memory(&s->states, &state_bytes, &state_shared);
    *bytes += state_bytes;
    *shared_bytes += state_shared;
}

const float *cf_session_logits(const cf_session *s)
{
    return s->has_logits ? s->logits : NULL;
}

bool cf_session_is_recurrent(const cf_session *s)
{
    return s->states.n_float != 0;
}

size_t cf_session_checkpoints(const cf_session *s, uint32_t *pos, size_t cap)
{
    for (uint32_t i = 0; i < s->states.n && i < cap; i++) {
        pos[i] = s->states.kept[i]->pos;
    }
    return s->states.n;
}

cf_sync_result cf_session_last_sync(const cf_session *s)
{
    return s->last;
}

size_t cf_session_would_keep(const cf_session *s, size_t length)
{
    size_t keep = 0;
    length = length < s->n ? length : s->n;
    if (s->states.n_float == 0) {
        return length;
    }
    for (uint32_t i = 0; i < s->states.n; i++) {
        if (s->states.kept[i]->pos <= length) {
            keep = s->states.kept[i]->pos;
        }
    }
    return s->n_ready <= length ? s->n_ready : keep;
}

/* ---- inputs ------------------------------------------------------------- */

/* The input of a call from position `first` on: tokens alone, or inputs. */
typedef struct source {
    const cf_token *ids;
    const cf_input *in; /* in place of ids, or NULL */
    uint32_t first;
} source;

static cf_token id_at(const source *src, uint32_t pos)
{
    assert(src->in != NULL || src->ids != NULL);
    return src->in != NULL ? src->in[pos - src->first].id
                           : src->ids[pos - src->first];
}

/* The place of the next position when it is text: one after the last. */
static place next_place(const cf_session *s, uint32_t pos)
{
    place p = {.at = {pos, pos, pos, pos}};
    if (s->place != NULL && pos > 0) {
        uint32_t next = s->place[pos - 1].at[0] + 1;
        p = (place){.at = {next, next, next, next}};
    }
    return p;
}

static place place_at(const cf_session *s, const source *src, uint32_t pos)
{
    if (src->in == NULL) {
        return pos < s->n && s->place != NULL ? s->place[pos]
                                              : next_place(s, pos);
    }
    const cf_input *in = &src->in[pos - src->first];
    place p = {.key = in->embd != NULL ? in->key : 0, .see_end = in->see_end};
    memcpy(p.at, in->at, sizeof p.at);
    return p;
}

static bool same_place(const place *a, const place *b)
{
    return a->key == b->key && a->see_end == b->see_end &&
           memcmp(a->at, b->at, sizeof a->at) == 0;
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

/* Positions whose rows see each other go into one pass. */
static cf_status check_span(const cf_session *s, const cf_input *in, size_t n,
                            size_t i, cf_error *err)
{
    size_t end = in[i].see_end;
    if (end == 0) {
        return CF_OK;
    }
    if (end <= i || end > n) {
        return cf_fail(err, CF_EINVAL,
                       "position %zu sees up to %zu of %zu positions", i, end,
                       n);
    }
    for (size_t j = i + 1; j < end; j++) {
        if (in[j].see_end != end) {
            return cf_fail(err, CF_EINVAL,
                           "positions %zu to %zu do not see each other", i,
                           end - 1);
        }
    }
    return end - i <= s->n_batch
               ? CF_OK
               : cf_fail(err, CF_ELIMIT,
                         "%zu positions that see each other do not fit a "
                         "batch of %u",
                         end - i, s->n_batch);
}

static cf_status check_inputs(const cf_session *s, const cf_input *in, size_t n,
                              cf_error *err)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t a = 0; a < CF_ROPE_AXES; a++) {
            if (in[i].at[a] > CF_CTX_MAX) {
                return cf_fail(err, CF_EINVAL, "position %zu is put at %u", i,
                               in[i].at[a]);
            }
        }
        if (i == 0 || in[i].see_end != in[i - 1].see_end) {
            CF_TRY(check_span(s, in, n, i, err));
        }
    }
    return CF_OK;
}

/* ---- computing ---------------------------------------------------------- */

void cf_session_rewind(cf_session *s, size_t length)
{
    if (length >= s->n) {
        return;
    }
    s->n = (uint32_t)length;
    s->has_logits = false;
    s->n_ready = cf_states_rewind(&s->states, s->n);
    cf_kv_truncate(&s->kv, s->n);
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

/* One range of positions to compute, and why. */
typedef struct stretch {
    source src;
    uint32_t end;  /* position to reach */
    uint32_t keep; /* a checkpoint is wanted after this many tokens; 0: none */
    const cf_run *run;
} stretch;

/* The row for the next position; its states are set by the caller. */
static cf_status make_row(cf_session *s, const stretch *job, uint32_t pos,
                          cf_row *row, cf_error *err)
{
    place p = place_at(s, &job->src, pos);
    *row = (cf_row){.kv = &s->kv,
                    .pos = pos,
                    .id = id_at(&job->src, pos),
                    .see_end = p.see_end,
                    .rope_variant = s->rope_variant,
                    .before = s->states.live,
                    .after = s->states.spare};
    memcpy(row->at, p.at, sizeof row->at);
    if (job->src.in != NULL) {
        row->embd = job->src.in[pos - job->src.first].embd;
    }
    if (row->embd == NULL && p.key != 0) {
        return cf_fail(err, CF_EINVAL, "position %u needs its embeddings again",
                       pos);
    }
    return CF_OK;
}

static bool wants_state(const cf_session *s, const stretch *job, uint32_t pos)
{
    return s->states.n_float != 0 &&
           (cf_states_is_fixed(&s->states, pos) || pos == job->keep ||
            pos == job->run->keep_at);
}

/* Rows for the next m positions; checkpoints are made ready where wanted. */
static cf_status make_rows(cf_session *s, const stretch *job, uint32_t m,
                           cf_error *err)
{
    CF_TRY(cf_kv_reserve(&s->kv, s->n_ready, s->n_ready + m, err));
    CF_TRY(cf_states_reserve(&s->states, err));
    for (uint32_t i = 0; i < m; i++) {
        CF_TRY(make_row(s, job, s->n_ready + i, &s->rows[i], err));
    }
    for (uint32_t i = 0; i < m; i++) {
        uint32_t pos = s->n_ready + i + 1;
        s->rows[i].keep = wants_state(s, job, pos)
                              ? cf_state_new(s->states.n_float, pos)
                              : NULL;
    }
    return CF_OK;
}

/* Ends a pass: its checkpoints become the session's, or are dropped. */
static void finish_states(cf_session *s, uint32_t m, bool is_done)
{
    for (uint32_t i = 0; i < m; i++) {
        if (s->rows[i].keep == NULL) {
            continue;
        }
        if (is_done) {
            cf_states_keep(&s->states, s->rows[i].keep);
        } else {
            cf_state_drop(s->rows[i].keep);
        }
    }
    if (is_done) {
        cf_states_advance(&s->states, s->n_ready + m);
    }
}

/* The timeline takes over m positions from the job. */
static void take_positions(cf_session *s, const stretch *job, uint32_t m)
{
    for (uint32_t pos = s->n_ready; pos < s->n_ready + m; pos++) {
        if (s->place != NULL) {
            s->place[pos] = place_at(s, &job->src, pos);
        }
        s->tokens[pos] = id_at(&job->src, pos);
    }
    s->n_ready += m;
    s->n = s->n > s->n_ready ? s->n : s->n_ready;
}

/* One pass over the next m positions; with is_last, logits are computed after
 * the last of them. */
static cf_status compute_batch(cf_session *s, const stretch *job, uint32_t m,
                               bool is_last, cf_error *err)
{
    cf_engine *e = s->engine;
    bool all = job->run->logits != NULL;
    size_t first_out = all ? 0 : is_last ? m - 1 : m;
    CF_TRY(make_rows(s, job, m, err));
    pthread_mutex_lock(&e->pass_lock);
    cf_status st = cf_forward(e, s->rows, m, first_out, job->run->cancel, err);
    if (st == CF_OK) {
        s->has_logits = false;
        if (all) {
            report_logits(s, s->n_ready, m, job->run);
        } else if (is_last) {
            cf_forward_logits(e, m - 1, 1, s->logits);
        }
    }
    pthread_mutex_unlock(&e->pass_lock);
    finish_states(s, m, st == CF_OK);
    if (st == CF_OK) {
        take_positions(s, job, m);
        s->has_logits = is_last;
    }
    return st;
}

/* How many of the next positions go into one pass: as many as a batch takes,
 * without parting positions that see each other. */
static uint32_t next_batch(const cf_session *s, const stretch *job)
{
    uint32_t left = job->end - s->n_ready;
    uint32_t m = left < s->n_batch ? left : s->n_batch;
    if (job->src.in == NULL || m == left) {
        return m;
    }
    const cf_input *in = job->src.in - job->src.first;
    uint32_t end = s->n_ready + m;
    while (end > s->n_ready + 1 && in[end].see_end != 0 &&
           in[end].see_end == in[end - 1].see_end) {
        end--;
    }
    return end - s->n_ready;
}

/* Positions from n_ready to job->end, batch by batch. */
static cf_status compute(cf_session *s, const stretch *job, bool wants_logits,
                         cf_error *err)
{
    uint32_t start = s->n_ready;
    while (s->n_ready < job->end) {
        uint32_t m = next_batch(s, job);
        bool is_last = wants_logits && s->n_ready + m == job->end;
        cf_status st = compute_batch(s, job, m, is_last, err);
        if (st != CF_OK) {
            cf_kv_truncate(&s->kv, s->n); /* rule 3 */
            return st;
        }
        if (job->run->progress != NULL) {
            job->run->progress(job->run->ud, s->n_ready - start,
                               job->end - start);
        }
    }
    return CF_OK;
}

/* Makes n_ready n after a rewind. */
static cf_status catch_up(cf_session *s, const cf_run *run, cf_error *err)
{
    cf_run quiet = {.cancel = run->cancel};
    stretch job = {{s->tokens, NULL, 0}, s->n, 0, &quiet};
    return s->n_ready < s->n ? compute(s, &job, false, err) : CF_OK;
}

/* Length of the prefix that the timeline has already. */
static uint32_t common_prefix(const cf_session *s, const source *src,
                              uint32_t n)
{
    uint32_t common = 0;
    while (common < n && common < s->n &&
           id_at(src, common) == s->tokens[common]) {
        place want = place_at(s, src, common);
        if (src->in == NULL && s->place != NULL) {
            want = (place){.at = {common, common, common, common}};
        }
        if (s->place != NULL && !same_place(&want, &s->place[common])) {
            break;
        }
        common++;
    }
    return common;
}

/* A state after all but the last token serves the same prompt again, and one
 * that differs at its end. */
static cf_status sync_source(cf_session *s, const source *src, size_t n,
                             const cf_run *run, cf_sync_result *out,
                             cf_error *err)
{
    cf_run plain = {0};
    if (n > s->n_ctx) {
        return cf_fail(err, CF_ELIMIT, "%zu tokens do not fit a context of %u",
                       n, s->n_ctx);
    }
    for (uint32_t i = 0; i < n; i++) {
        CF_TRY(check_id(s->engine, id_at(src, i), err));
    }
    uint32_t common = common_prefix(s, src, (uint32_t)n);
    cf_sync_result result = {.n_common = common, .n_dropped = s->n - common};
    /* The last token is computed again when nothing else is. */
    cf_session_rewind(s, common == n && n > 0 ? n - 1 : common);
    s->n_ready = s->n_ready < s->n ? s->n_ready : s->n;
    result.n_kept = s->n_ready;
    result.n_new = n - s->n_ready;
    stretch job = {*src, (uint32_t)n, n > 1 ? (uint32_t)n - 1 : 0,
                   run != NULL ? run : &plain};
    if (n == 0) {
        s->has_logits = false;
    }
    CF_TRY(compute(s, &job, true, err));
    s->last = result;
    if (out != NULL) {
        *out = result;
    }
    return CF_OK;
}

cf_status cf_session_sync(cf_session *s, const cf_token *ids, size_t n,
                          const cf_run *run, cf_sync_result *out, cf_error *err)
{
    source src = {.ids = ids};
    return sync_source(s, &src, n, run, out, err);
}

cf_status cf_session_sync_inputs(cf_session *s, const cf_input *in, size_t n,
                                 const cf_run *run, cf_sync_result *out,
                                 cf_error *err)
{
    source src = {.in = in};
    CF_TRY(check_inputs(s, in, n, err));
    CF_TRY(need_places(s, err));
    return sync_source(s, &src, n, run, out, err);
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
    CF_TRY(catch_up(s, &r, err));
    stretch job = {{&id, NULL, s->n}, s->n + 1, 0, &r};
    return compute(s, &job, true, err);
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

/* One row for each session. */
static cf_status make_many(cf_session *const *sessions, const cf_token *ids,
                           size_t n, const cf_run *run, cf_row *row,
                           size_t *n_made, cf_error *err)
{
    for (*n_made = 0; *n_made < n; (*n_made)++) {
        cf_session *s = sessions[*n_made];
        CF_TRY(catch_up(s, run, err));
        stretch job = {{&ids[*n_made], NULL, s->n}, s->n + 1, 0, run};
        CF_TRY(make_rows(s, &job, 1, err));
        row[*n_made] = s->rows[0];
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
    size_t n_made = 0;
    CF_TRY(check_many(sessions, ids, n, err));
    if (n > CF_BATCH_MIN) {
        row = cf_calloc(n, sizeof *row);
        if (row == NULL) {
            return cf_fail(err, CF_ENOMEM, "out of memory for %zu rows", n);
        }
    }
    cf_status st = make_many(sessions, ids, n, r, row, &n_made, err);
    if (st == CF_OK) {
        pthread_mutex_lock(&e->pass_lock);
        st = step_locked(sessions, row, n, r, err);
        pthread_mutex_unlock(&e->pass_lock);
    }
    for (size_t i = 0; i < n_made; i++) {
        cf_session *s = sessions[i];
        stretch job = {{&ids[i], NULL, s->n}, s->n + 1, 0, r};
        finish_states(s, 1, st == CF_OK);
        if (st == CF_OK) {
            take_positions(s, &job, 1);
            s->has_logits = true;
        } else {
            cf_kv_truncate(&s->kv, s->n);
        }
    }
    if (row != rows) {
        cf_free(row);
    }
    for (size_t i = 0; i < n && st == CF_OK && r->logits != NULL; i++) {
        r->logits(r->ud, sessions[i]->n - 1, sessions[i]->logits);
    }
    return st;
}
