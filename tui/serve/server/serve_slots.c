/*
 * serve_slots.c - timelines of the engine, and which request gets which.
 */
#include <pthread.h>
#include <string.h>

#include "core/api/draft.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "tui/serve/server/serve_impl.h"

enum { FORK_GAIN = 32 }; /* tokens that make a fork worth it */

struct cf_serve__slots {
    pthread_mutex_t lock;
    pthread_cond_t freed;
    cf_joint *joint;
    cf_serve__slot *v; /* [n] */
    uint32_t n, n_ctx;
    uint64_t clock;
    atomic_uint n_replies; /* of all requests */
    bool has_drafts;
};

cf_status cf_serve__slots_new(cf_serve__slots **out, cf_engine *engine, const cf_core_options *core,
                              uint32_t n, cf_error *err)
{
    cf_serve__slots *s = cf_calloc(1, sizeof *s);
    const cf_engine_info info = cf_engine_get_info(engine);
    if (s == NULL) {
        return cf_oom(err);
    }
    s->has_drafts = strcmp(info.engine, "own") == 0;
    n = info.is_encoder ? 0 : n; /* no timeline runs on an encoder */
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->freed, NULL);
    s->v = cf_calloc(n + 1, sizeof *s->v);
    cf_status st = s->v != NULL ? cf_joint_new(&s->joint, err) : cf_oom(err);
    cf_core_options o = *core;
    cf_serve__slots_hook(s, &o);
    while (st == CF_OK && s->n < n) {
        st = cf_backend_core_new(&s->v[s->n].backend, engine, &o, err);
        s->n += st == CF_OK;
    }
    if (st != CF_OK) {
        cf_serve__slots_free(s);
        return st;
    }
    s->n_ctx =
        n != 0 ? cf_session_n_ctx(cf_backend_core_session(s->v[0].backend)) : info.n_ctx_train;
    *out = s;
    return CF_OK;
}

static void hold(void *ud)
{
    cf_joint_hold(ud);
}

static void release(void *ud)
{
    cf_joint_release(ud);
}

void cf_serve__slots_hook(const cf_serve__slots *s, cf_core_options *core)
{
    core->hold = hold;
    core->release = release;
    core->sync = cf_joint_sync;
    core->pass = cf_joint_pass;
    core->pass_ud = s->joint;
}

void cf_serve__slots_free(cf_serve__slots *s)
{
    if (s == NULL) {
        return;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        cf_backend_free(s->v[i].backend);
    }
    cf_free(s->v);
    cf_joint_free(s->joint);
    pthread_cond_destroy(&s->freed);
    pthread_mutex_destroy(&s->lock);
    cf_free(s);
}

static size_t common(const cf_serve__slot *slot, const cf_token *ids, size_t n)
{
    size_t have, i = 0;
    const cf_token *old = cf_backend_cache(slot->backend, &have);
    while (i < have && i < n && old[i] == ids[i]) {
        i++;
    }
    return i;
}

/* The one with most of the prompt, of equal ones that used longest ago; NULL
 * when there is none. */
static cf_serve__slot *best(cf_serve__slots *s, bool is_busy, const cf_token *ids, size_t n,
                            size_t *has)
{
    cf_serve__slot *found = NULL;
    *has = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        cf_serve__slot *slot = &s->v[i];
        if (slot->is_busy != is_busy) {
            continue;
        }
        size_t k = common(slot, ids, n);
        if (found == NULL || k > *has || (k == *has && slot->used < found->used)) {
            found = slot;
            *has = k;
        }
    }
    return found;
}

/* The slot's request is another one. */
static void begin(cf_serve__slots *s, cf_serve__slot *slot, const cf_serve__task *task)
{
    atomic_fetch_add(&s->n_replies, task->n);
    atomic_store(&slot->now.has_draft, s->has_drafts);
    cf_backend_core_set_draft(slot->backend, CF_DRAFT_DEFAULT);
    cf_serve__draft(s, slot, slot->backend);
    slot->is_busy = true;
    slot->used = ++s->clock;
    slot->n_requests++;
    slot->exchange = task->exchange;
    slot->n = task->n;
    slot->n_max = task->n_max;
    atomic_store(&slot->now.n_prompt, 0);
    atomic_store(&slot->now.n_prefilled, 0);
    atomic_store(&slot->now.n_decoded, 0);
}

void cf_serve__draft(cf_serve__slots *s, cf_serve__slot *slot, cf_backend *backend)
{
    if (atomic_load(&s->n_replies) > 2) {
        atomic_store(&slot->now.has_draft, false);
        cf_backend_core_set_draft(backend, 0);
    }
}

void cf_serve__note(cf_serve__slot *slot, const cf_chat_event *e)
{
    switch (e->kind) {
    case CF_CHAT_PROMPT:
        atomic_store(&slot->now.n_prompt, (unsigned)e->n_prompt);
        break;
    case CF_CHAT_PREFILL:
        atomic_store(&slot->now.n_prefilled, (unsigned)e->n_done);
        break;
    case CF_CHAT_TOKEN:
        atomic_store(&slot->now.last_us, cf_os_monotonic_us());
        if (atomic_fetch_add(&slot->now.n_decoded, 1) == 0) {
            atomic_store(&slot->now.first_us, atomic_load(&slot->now.last_us));
        }
        break;
    default:
        break;
    }
}

cf_serve__slot *cf_serve__take(cf_serve__slots *s, const cf_token *ids, size_t n,
                               const cf_serve__task *task)
{
    cf_serve__slot *slot;
    size_t has, busy_has;
    uint64_t asked = cf_os_monotonic_us(); /* it may take a pass to hold the others */
    pthread_mutex_lock(&s->lock);
    for (;;) {
        cf_joint_hold(s->joint);
        slot = best(s, false, ids, n, &has);
        const cf_serve__slot *busy = best(s, true, ids, n, &busy_has);
        if (slot != NULL && busy != NULL && busy_has > has + FORK_GAIN) {
            /* The one used longest ago.  Without memory it computes more. */
            cf_error ignored;
            slot = best(s, false, ids, 0, &has);
            cf_ignore(cf_backend_core_fork_cache(slot->backend, busy->backend, &ignored));
        }
        cf_joint_release(s->joint);
        if (slot != NULL) {
            break;
        }
        pthread_cond_wait(&s->freed, &s->lock);
        asked = cf_os_monotonic_us();
    }
    begin(s, slot, task);
    cf_joint_asked(cf_backend_core_session(slot->backend), asked);
    pthread_mutex_unlock(&s->lock);
    cf_joint_enter(s->joint);
    return slot;
}

void cf_serve__give(cf_serve__slots *s, cf_serve__slot *slot)
{
    size_t n_cached;
    (void)cf_backend_cache(slot->backend, &n_cached);
    cf_joint_leave(s->joint);
    pthread_mutex_lock(&s->lock);
    atomic_fetch_sub(&s->n_replies, slot->n);
    slot->is_busy = false;
    slot->n_cached = n_cached;
    pthread_cond_signal(&s->freed);
    pthread_mutex_unlock(&s->lock);
}

cf_status cf_serve__fork(cf_serve__slots *s, const cf_serve__slot *slot, cf_backend **out,
                         cf_error *err)
{
    cf_joint_hold(s->joint);
    cf_status st = cf_backend_clone(out, slot->backend, err);
    cf_joint_release(s->joint);
    if (st == CF_OK) {
        cf_joint_enter(s->joint);
    }
    return st;
}

void cf_serve__fork_free(cf_serve__slots *s, cf_backend *fork)
{
    cf_joint_hold(s->joint);
    cf_backend_free(fork);
    cf_joint_release(s->joint);
}

cf_status cf_serve__session(cf_serve__slots *s, const cf_serve__slot *slot, cf_session **out,
                            cf_error *err)
{
    cf_joint_hold(s->joint);
    cf_status st = cf_session_fork(out, cf_backend_core_session(slot->backend), err);
    if (st == CF_OK) {
        cf_session_rewind(*out, 0);
    }
    cf_joint_release(s->joint);
    return st;
}

void cf_serve__session_free(cf_serve__slots *s, cf_session *session)
{
    cf_joint_hold(s->joint);
    cf_session_free(session);
    cf_joint_release(s->joint);
}

cf_status cf_serve__pass(cf_serve__slots *s, cf_advance *part, cf_cancel *cancel, cf_error *err)
{
    return cf_joint_pass(s->joint, part, cancel, err);
}

void cf_serve__rest(cf_serve__slots *s, bool rests)
{
    if (rests) {
        cf_joint_leave(s->joint);
    } else {
        cf_joint_enter(s->joint);
    }
}

uint32_t cf_serve__slots_ctx(const cf_serve__slots *s)
{
    return s->n_ctx;
}

uint32_t cf_serve__slots_n(const cf_serve__slots *s)
{
    return s->n;
}

/* As llama-server's: what is still to come. */
static void write_next(const cf_serve__slot *slot, unsigned n_decoded, cf_jw *w)
{
    int64_t n_all = (int64_t)slot->n_max * slot->n;
    cf_jw_object(w, "next_token");
    cf_jw_bool(w, "has_next_token", slot->is_busy);
    cf_jw_int(w, "n_remain", slot->n_max != 0 ? n_all - n_decoded : -1);
    cf_jw_uint(w, "n_decoded", n_decoded);
    cf_jw_end(w);
}

/* Tokens a second since the first; 0: not known yet. */
static double rate_of(const cf_serve__slot *slot, unsigned n_decoded)
{
    const unsigned long long first = atomic_load(&slot->now.first_us);
    const unsigned long long last = atomic_load(&slot->now.last_us);
    return n_decoded > 1 && last > first ? (n_decoded - 1) * 1e6 / (double)(last - first) : 0;
}

static void write_slot(const cf_serve__slots *s, uint32_t i, cf_jw *w)
{
    const cf_serve__slot *slot = &s->v[i];
    const unsigned n_decoded = atomic_load(&slot->now.n_decoded);
    cf_jw_object(w, NULL);
    cf_jw_uint(w, "id", i);
    cf_jw_int(w, "id_task", (int64_t)slot->used - 1);
    cf_jw_uint(w, "n_ctx", s->n_ctx);
    cf_jw_bool(w, "speculative", slot->is_busy && atomic_load(&slot->now.has_draft));
    cf_jw_bool(w, "is_processing", slot->is_busy);
    cf_jw_text(w, "state", !slot->is_busy ? "idle" : n_decoded == 0 ? "prefill" : "decode");
    if (cf_uuid_is_nil(slot->exchange)) {
        cf_jw_null(w, "exchange");
    } else {
        cf_jw_uuid(w, "exchange", slot->exchange);
    }
    cf_jw_uint(w, "n", slot->n);
    cf_jw_uint(w, "n_prompt_tokens", atomic_load(&slot->now.n_prompt));
    cf_jw_uint(w, "n_prompt_tokens_processed", atomic_load(&slot->now.n_prefilled));
    cf_jw_uint(w, "n_cached", slot->n_cached);
    cf_jw_uint(w, "n_requests", slot->n_requests);
    cf_jw_double(w, "per_second", rate_of(slot, n_decoded));
    write_next(slot, n_decoded, w);
    cf_jw_end(w);
}

void cf_serve__slots_write(cf_serve__slots *s, cf_jw *w)
{
    pthread_mutex_lock(&s->lock);
    cf_jw_array(w, NULL);
    for (uint32_t i = 0; i < s->n; i++) {
        write_slot(s, i, w);
    }
    cf_jw_end(w);
    pthread_mutex_unlock(&s->lock);
}
