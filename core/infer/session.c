/*
 * session.c - manages a timeline of tokens: what is cached, what is computed
 * next.
 *
 * The rules that always hold are in session_impl.h.
 */
#include "core/api/session.h"

#include <assert.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/infer/adapter_impl.h"
#include "core/infer/plugin.h"
#include "core/infer/prefix_cache.h"

/* ---- making ------------------------------------------------------------- */

void cf_session_free(cf_session *s)
{
    if (s == NULL) {
        return;
    }
    if (s->engine->plugin != NULL) {
        pthread_mutex_lock(&s->engine->pass_lock);
        cf_plugin_forget(s->engine->plugin, s);
        pthread_mutex_unlock(&s->engine->pass_lock);
    }
    if (s->kv.page != NULL) {
        cf_kv_deinit(&s->kv);
    }
    cf_states_deinit(&s->states);
    cf_free(s->tokens);
    cf_free(s->place);
    cf_free_aligned(s->logits);
    cf_free_aligned(s->row_logits);
    cf_free(s);
}

/* A session without a cache. */
static cf_status new_session(cf_session **out, cf_engine *e, uint32_t n_ctx, uint32_t n_batch,
                             cf_error *err)
{
    cf_session *s = cf_calloc(1, sizeof *s);
    if (s != NULL) {
        s->engine = e;
        s->n_ctx = n_ctx;
        s->n_batch = n_batch;
        s->tokens = cf_calloc(n_ctx, sizeof *s->tokens);
        s->logits = cf_alloc_aligned(64, e->hp.n_vocab * sizeof(float));
        s->after = s->logits;
    }
    if (s == NULL || s->tokens == NULL || s->logits == NULL) {
        cf_session_free(s);
        return cf_fail(err, CF_ENOMEM, "out of memory for a session of %u tokens", n_ctx);
    }
    *out = s;
    return CF_OK;
}

/* The quantities that determine a session's memory. */
typedef struct sizes {
    uint32_t n_ctx, n_batch;
    const cf_kv_layout *layout;
} sizes;

cf_status cf_session__grow_rows(cf_engine *e, cf_error *err)
{
    cf_row *rows = NULL;
    if (e->n_rows >= e->ws.plan.n_row) {
        return CF_OK;
    }
    rows = cf_realloc(e->rows, e->ws.plan.n_row, sizeof *rows);
    if (rows == NULL) {
        return cf_oom_for(err, "the rows of a pass");
    }
    e->rows = rows;
    e->n_rows = e->ws.plan.n_row;
    return CF_OK;
}

/* Refuses a session that would not fit, then makes the engine's workspace
 * large enough for it. */
static cf_status make_room(cf_engine *e, const sizes *z, cf_error *err)
{
    cf_ws_model m = cf_engine__ws_model(e);
    cf_ws_plan ws;
    cf_plan plan;
    uint32_t n_row = z->n_batch > CF_BATCH_MIN ? z->n_batch : CF_BATCH_MIN;
    if (e->plugin != NULL) { /* it has its own */
        return CF_OK;
    }
    cf_ws_plan_make(&ws, &m, n_row, z->n_ctx);
    cf_plan_make(&plan, &ws, &m, z->layout, z->n_ctx);
    pthread_mutex_lock(&e->pass_lock);
    uint64_t more = ws.total > e->ws.plan.total ? ws.total : 0;
    cf_status st = cf_plan_fits(plan.session_bytes + more, "a session of this context", err);
    CF_THEN(st, cf_ws_grow(&e->ws, &m, n_row, z->n_ctx, err));
    CF_THEN(st, cf_session__grow_rows(e, err));
    pthread_mutex_unlock(&e->pass_lock);
    return st;
}

cf_status cf_session_new(cf_session **out, cf_engine *e, const cf_session_options *opts,
                         cf_error *err)
{
    cf_session_options none = {0};
    const cf_session_options *o = opts != NULL ? opts : &none;
    sizes z = {.n_batch = o->n_batch != 0 ? o->n_batch : CF_BATCH_DEFAULT};
    cf_session *s = NULL;
    CF_TRY(cf_engine__need_weights(e, err));
    if (e->hp.arch != NULL && e->hp.arch->is_encoder) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "architecture %s makes embeddings of texts, and continues none",
                       e->hp.arch->name);
    }
    CF_TRY(cf_engine__n_ctx(e, o->n_ctx, &z.n_ctx, err));
    z.n_batch = z.n_batch < CF_BATCH_MAX ? z.n_batch : CF_BATCH_MAX;
    z.n_batch = z.n_batch < z.n_ctx ? z.n_batch : z.n_ctx;
    if (e->plugin != NULL && z.n_batch > e->ws.plan.n_row) {
        z.n_batch = e->ws.plan.n_row;
    }
    z.layout = cf_engine__kv_layout(e, o->cache);
    CF_TRY(make_room(e, &z, err));
    CF_TRY(new_session(&s, e, z.n_ctx, z.n_batch, err));
    assert(s != NULL);
    const cf_rope_params *rope = &e->hp.rope[CF_ROPE_GLOBAL];
    s->prefixes = s->plain_prefixes = e->plugin == NULL ? o->prefixes : NULL;
    s->rope_variant = z.n_ctx > rope->n_ctx_orig ? CF_ROPE_LONG : CF_ROPE_SHORT;
    cf_status st = cf_kv_init(&s->kv, z.layout, z.n_ctx, err);
    CF_THEN(st, cf_states_init(&s->states, cf_hparams_n_state(&e->hp), z.n_ctx, err));
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
        s->place[i] = (cf_place){.at = {i, i, i, i}};
    }
    return CF_OK;
}

/* Copies pointers to pages and states, four bytes a token and one row of
 * logits; no keys, values or states. */
cf_status cf_session_fork(cf_session **out, const cf_session *from, cf_error *err)
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
    s->prefixes = from->prefixes;
    s->plain_prefixes = from->plain_prefixes;
    s->lora = from->lora;
    s->probe = from->probe;
    s->has_logits = from->has_logits;
    memcpy(s->tokens, from->tokens, from->n * sizeof *s->tokens);
    if (s->place != NULL && from->place != NULL) {
        memcpy(s->place, from->place, from->n * sizeof *s->place);
    }
    if (s->has_logits) {
        memcpy(s->logits, from->after, from->engine->hp.n_vocab * sizeof(float));
    }
    *out = s;
    return CF_OK;
}

static bool have_same_adapters(const cf_lora_set *set, const cf_adapter_use *v, size_t n)
{
    bool same = set->n == n;
    for (size_t i = 0; same && i < n; i++) {
        same = set->use[i].adapter == v[i].adapter && set->use[i].scale == v[i].scale;
    }
    return same;
}

/* Prefixes are those of the plain model. */
static void choose_prefixes(cf_session *s)
{
    s->prefixes = s->lora.n == 0 && s->probe == NULL ? s->plain_prefixes : NULL;
}

cf_status cf_session_set_adapters(cf_session *s, const cf_adapter_use *v, size_t n, cf_error *err)
{
    cf_lora_set set = {.n = 0};
    for (size_t i = 0; i < n; i++) {
        if (set.n == CF_ADAPTERS_MAX || v[i].adapter->engine != s->engine) {
            return cf_fail(err, CF_EINVAL, "more than %d adapters, or one of another model",
                           CF_ADAPTERS_MAX);
        }
        if (v[i].scale != 0) {
            set.use[set.n++] = v[i];
        }
    }
    if (!have_same_adapters(&s->lora, set.use, set.n)) {
        cf_session_rewind(s, 0);
        s->lora = set;
        choose_prefixes(s);
    }
    return CF_OK;
}

void cf_session__set_probe(cf_session *s, const cf_probe *probe, size_t first)
{
    cf_session_rewind(s, first);
    s->probe = probe;
    choose_prefixes(s);
}

const cf_adapter_use *cf_session_adapters(const cf_session *s, size_t *n)
{
    *n = s->lora.n;
    return s->lora.use;
}

cf_status cf_session_adopt(cf_session *s, const cf_session *from, cf_error *err)
{
    cf_session *fork = NULL;
    if (s->engine != from->engine || s->n_ctx != from->n_ctx || s->kv.layout != from->kv.layout ||
        !have_same_adapters(&s->lora, from->lora.use, from->lora.n) || s->probe != from->probe) {
        return cf_fail(err, CF_EINVAL, "a session of another kind cannot be taken over");
    }
    CF_TRY(cf_session_fork(&fork, from, err));
    assert(fork != NULL);
    cf_session old = *s;
    fork->asked_us = s->asked_us;
    *s = *fork;
    *fork = old;
    cf_session_free(fork);
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

cf_cache_type cf_session_cache(const cf_session *s)
{
    return (cf_cache_type)(s->kv.layout - s->engine->kv);
}

const cf_token *cf_session_tokens(const cf_session *s, size_t *n)
{
    *n = s->n;
    return s->tokens;
}

void cf_session_memory(const cf_session *s, uint64_t *bytes, uint64_t *shared_bytes)
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
    return s->has_logits ? s->after : NULL;
}

const float *cf_session_logits_at(const cf_session *s, uint32_t pos)
{
    return pos >= s->first_row && pos - s->first_row < s->n_row
               ? s->row_logits + (size_t)(pos - s->first_row) * s->engine->hp.n_vocab
               : NULL;
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
    if (cf_states_has_trial(&s->states, (uint32_t)length)) {
        return length;
    }
    return s->n_ready <= length ? s->n_ready : keep;
}

/* ---- inputs ------------------------------------------------------------- */

static bool same_place(const cf_place *a, const cf_place *b)
{
    return a->key == b->key && a->see_end == b->see_end && memcmp(a->at, b->at, sizeof a->at) == 0;
}

cf_status cf_session__check_id(const cf_engine *e, cf_token id, cf_error *err)
{
    if (id < 0 || (uint32_t)id >= e->hp.n_vocab) {
        return cf_fail(err, CF_EINVAL, "token %d is outside the vocabulary of %u", (int)id,
                       e->hp.n_vocab);
    }
    return CF_OK;
}

/* Positions whose rows see each other go into one pass. */
static cf_status check_span(const cf_session *s, const cf_input *in, size_t n, size_t i,
                            cf_error *err)
{
    size_t end = in[i].see_end;
    if (end == 0) {
        return CF_OK;
    }
    if (end <= i || end > n) {
        return cf_fail(err, CF_EINVAL, "position %zu sees up to %zu of %zu positions", i, end, n);
    }
    for (size_t j = i + 1; j < end; j++) {
        if (in[j].see_end != end) {
            return cf_fail(err, CF_EINVAL, "positions %zu to %zu do not see each other", i,
                           end - 1);
        }
    }
    return end - i <= s->n_batch ? CF_OK
                                 : cf_fail(err, CF_ELIMIT,
                                           "%zu positions that see each other do not fit a "
                                           "batch of %u",
                                           end - i, s->n_batch);
}

static cf_status check_inputs(const cf_session *s, const cf_input *in, size_t n, cf_error *err)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t a = 0; a < CF_ROPE_AXES; a++) {
            if (in[i].at[a] > CF_CTX_MAX) {
                return cf_fail(err, CF_EINVAL, "position %zu is put at %u", i, in[i].at[a]);
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
    s->n_ready = cf_states_rewind(&s->states, s->n);
    cf_kv_truncate(&s->kv, s->n);
    const float *kept = length > 0 ? cf_session_logits_at(s, (uint32_t)length - 1) : NULL;
    s->has_logits = kept != NULL && s->n_ready == s->n;
    s->after = s->has_logits ? kept : s->logits;
    uint32_t n_row = s->n > s->first_row ? s->n - s->first_row : 0;
    s->n_row = s->n_row < n_row ? s->n_row : n_row;
}

/* One range of positions to compute, and why. */
typedef struct stretch {
    cf_source src;
    uint32_t end;  /* position to reach */
    uint32_t keep; /* a checkpoint is wanted after this many tokens; 0: none */
    const cf_run *run;
} stretch;

/* One pass over the next m positions; with is_last, logits are computed after
 * the last of them. */
static cf_status compute_batch(cf_session *s, const stretch *job, uint32_t m, bool is_last,
                               cf_error *err)
{
    cf_part part = {.s = s,
                    .src = job->src,
                    .m = m,
                    .keep = {job->keep, job->run->keep_at},
                    .wants_last = is_last,
                    .logits = job->run->logits,
                    .hidden = job->run->hidden,
                    .ud = job->run->ud};
    return cf_session__pass(&part, 1, NULL, job->run->cancel, err);
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
    while (end > s->n_ready + 1 && in[end].see_end != 0 && in[end].see_end == in[end - 1].see_end) {
        end--;
    }
    return end - s->n_ready;
}

/* Positions from n_ready to job->end, batch by batch. */
static cf_status compute(cf_session *s, const stretch *job, bool wants_logits, cf_error *err)
{
    uint32_t start = s->n_ready;
    while (s->n_ready < job->end) {
        uint32_t m = next_batch(s, job);
        bool is_last = wants_logits && s->n_ready + m == job->end;
        CF_TRY(compute_batch(s, job, m, is_last, err));
        if (job->run->progress != NULL) {
            job->run->progress(job->run->ud, s->n_ready - start, job->end - start);
        }
    }
    return CF_OK;
}

cf_status cf_session__catch_up(cf_session *s, cf_cancel *cancel, cf_error *err)
{
    cf_run quiet = {.cancel = cancel};
    stretch job = {{s->tokens, NULL, 0}, s->n, 0, &quiet};
    return s->n_ready < s->n ? compute(s, &job, false, err) : CF_OK;
}

/* Length of the prefix that the timeline has already.  Ids alone say that a
 * row of embeddings is the same where its id is made of its key; what follows
 * such a row is where it was put. */
uint32_t cf_session__common(const cf_session *s, const cf_source *src, uint32_t n)
{
    uint32_t common = 0;
    bool after_row = false;
    while (common < n && common < s->n && cf_source_id(src, common) == s->tokens[common]) {
        after_row = after_row || cf_token_is_row(s->tokens[common]);
        cf_place want = cf_session__place(s, src, common);
        if (src->in == NULL && s->place != NULL) {
            want =
                after_row ? s->place[common] : (cf_place){.at = {common, common, common, common}};
        }
        if (s->place != NULL && !same_place(&want, &s->place[common])) {
            break;
        }
        common++;
    }
    return common;
}

size_t cf_session_would_sync(const cf_session *s, const cf_token *ids, size_t n)
{
    cf_source src = {.ids = ids};
    uint32_t common = cf_session__common(s, &src, (uint32_t)n);
    size_t keep = cf_session_would_keep(s, common == n && n > 0 ? n - 1 : common);
    size_t lent = cf_prefix__would_lend(s, ids, n);
    return lent > keep ? lent : keep;
}

static cf_status check_room(const cf_session *s, size_t n, cf_error *err)
{
    return n <= s->n_ctx
               ? CF_OK
               : cf_fail(err, CF_ELIMIT, "%zu tokens do not fit a context of %u", n, s->n_ctx);
}

/* Cuts the timeline to what it shares with the source, less the last token
 * where nothing else would be computed; or borrows more of it. */
static cf_status match(cf_session *s, const cf_source *src, size_t n, bool is_sure,
                       cf_prefix_loan *loan, cf_sync_result *out, cf_error *err)
{
    CF_TRY(check_room(s, n, err));
    uint32_t common = cf_session__common(s, src, (uint32_t)n);
    for (uint32_t i = common; i < n; i++) {
        if (src->in == NULL || src->in[i].embd == NULL) {
            CF_TRY(cf_session__check_id(s->engine, cf_source_id(src, i), err));
        }
    }
    *out = (cf_sync_result){.n_common = common, .n_dropped = s->n - common};
    cf_session_rewind(s, common == n && n > 0 ? n - 1 : common);
    s->n = s->n_ready; /* what follows is computed again, and given again */
    cf_kv_truncate(&s->kv, s->n);
    if (n == 0) {
        s->has_logits = false;
    }
    *loan = (cf_prefix_loan){0};
    if (src->in == NULL) {
        *loan = cf_prefix__borrow(s, src->ids, n, is_sure);
    }
    out->n_common = loan->n > common ? loan->n : common;
    out->n_kept = s->n;
    out->n_new = n - s->n;
    return CF_OK;
}

cf_status cf_session_match(cf_session *s, const cf_token *ids, size_t n, cf_sync_result *out,
                           cf_error *err)
{
    cf_source src = {.ids = ids};
    cf_sync_result result;
    cf_prefix_loan loan;
    CF_TRY(match(s, &src, n, true, &loan, &result, err));
    if (out != NULL) {
        *out = result;
    }
    return CF_OK;
}

/* Computes the last token of a loan again: its keys and values follow from
 * those of all tokens before it, so they are the same bytes only where those
 * are right.  A loan that is not right is given up. */
static cf_status check_loan(cf_session *s, const cf_prefix_loan *loan, cf_cancel *cancel,
                            cf_error *err)
{
    cf_token id = s->tokens[loan->n - 1];
    uint32_t page = (loan->n - 1) / CF_KV_BLOCK;
    cf_run run = {.cancel = cancel};
    stretch job = {{&id, NULL, loan->n - 1}, loan->n, 0, &run};
    cf_kv lent; /* computing goes to a copy of the last page */
    CF_TRY(cf_kv_init(&lent, s->kv.layout, s->n_ctx, err));
    cf_kv_share(&lent, &s->kv, page + 1);
    s->n = s->n_ready = loan->n - 1;
    cf_status st = compute(s, &job, false, err);
    bool is_good =
        st == CF_OK && memcmp(cf_kv_page_data(&lent, page), cf_kv_page_data(&s->kv, page),
                              s->kv.layout->page_bytes) == 0;
    cf_kv_deinit(&lent);
    if (!is_good) { /* also when it was stopped: it is not known yet */
        cf_session_rewind(s, 0);
    }
    if (st == CF_OK) {
        cf_prefix__judge(s->prefixes, loan->of, is_good);
    }
    return st;
}

/* A state after all but the last token serves the same prompt again, and one
 * that differs at its end. */
static cf_status sync_source(cf_session *s, const cf_source *src, size_t n, const cf_run *run,
                             cf_sync_result *out, cf_error *err)
{
    cf_run plain = {0};
    cf_sync_result result;
    cf_prefix_loan loan;
    run = run != NULL ? run : &plain;
    CF_TRY(match(s, src, n, false, &loan, &result, err));
    if (loan.n > 0 && !loan.is_sure) {
        CF_TRY(check_loan(s, &loan, run->cancel, err));
        result.n_kept = s->n;
        result.n_new = n - s->n;
    }
    stretch job = {*src, (uint32_t)n, n > 1 ? (uint32_t)n - 1 : 0, run};
    CF_TRY(compute(s, &job, true, err));
    cf_prefix__offer(s);
    if (out != NULL) {
        *out = result;
    }
    return CF_OK;
}

cf_status cf_session_sync(cf_session *s, const cf_token *ids, size_t n, const cf_run *run,
                          cf_sync_result *out, cf_error *err)
{
    cf_source src = {.ids = ids};
    return sync_source(s, &src, n, run, out, err);
}

cf_status cf_session_sync_inputs(cf_session *s, const cf_input *in, size_t n, const cf_run *run,
                                 cf_sync_result *out, cf_error *err)
{
    cf_source src = {.in = in};
    CF_TRY(check_inputs(s, in, n, err));
    CF_TRY(need_places(s, err));
    return sync_source(s, &src, n, run, out, err);
}

cf_status cf_session_step(cf_session *s, cf_token id, const cf_run *run, cf_error *err)
{
    if (s->n >= s->n_ctx) {
        return cf_fail(err, CF_ELIMIT, "the context of %u tokens is full", s->n_ctx);
    }
    CF_TRY(cf_session__check_id(s->engine, id, err));
    cf_run r = run != NULL ? *run : (cf_run){0};
    r.progress = NULL; /* of a prefill only */
    CF_TRY(cf_session__catch_up(s, r.cancel, err));
    stretch job = {{&id, NULL, s->n}, s->n + 1, 0, &r};
    return compute(s, &job, true, err);
}
