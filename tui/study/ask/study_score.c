/*
 * study_score.c - forks of one timeline, computed in common passes.
 *
 * The timeline grows along the first job; a job forks off where it leaves it,
 * so jobs are taken in the order of that place.
 *
 * Always true:
 *   1. The timeline holds a beginning of the first job's tokens, shorter than
 *      every `first`, so that a fork computes the logits before its targets.
 *   2. A fork in `open` has tokens [0, pos) of its job, and the scores of those
 *      from `first` on.
 */
#include "tui/study/ask/study_score.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"

enum { SIDE_BY_SIDE = 32, KEEP_AT_ONCE = 64, TOGETHER_MAX = 1024, KEEP_US = 500 * 1000 };

static const uint64_t cache_max = UINT64_C(1) << 30; /* of open forks */

void cf_study_setup_hash(char out[CF_HASH_TEXT + 1], const cf_session *session)
{
    size_t n = 0;
    const cf_adapter_use *v = cf_session_adapters(session, &n);
    cf_engine_info info = cf_engine_get_info(cf_session_engine(session));
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; i < n; i++) {
        if (v[i].scale != 0) {
            cf_buf_addf(&text, "%s %.9g\n", cf_adapter_get_info(v[i].adapter).hash,
                        (double)v[i].scale);
        }
    }
    const cf_steering *steering = cf_session_steering(session);
    const cf_steering_use *use = steering != NULL ? cf_steering_uses(steering, &n) : NULL;
    for (size_t i = 0; use != NULL && i < n; i++) {
        cf_buf_addf(&text, "steer %s %.9g %u-%u\n", use[i].hash, (double)use[i].scale, use[i].first,
                    use[i].last);
    }
    if (info.load_as != NULL) {
        cf_buf_addf(&text, "as %s\n", info.load_as);
    }
    if (info.arithmetic != CF_ARITHMETIC_16) {
        cf_buf_addf(&text, "%s\n", cf_arithmetic_name(info.arithmetic));
    }
    if (strcmp(info.engine, "own") != 0) {
        cf_buf_addf(&text, "by %s\n", info.engine);
    }
    cf_cache_type cache = cf_session_cache(session);
    if (cache == CF_CACHE_Q8_0 || cache == CF_CACHE_Q4_0) {
        cf_buf_addf(&text, "cache %s\n", cf_cache_name(cache));
    }
    out[0] = '\0';
    if (text.n > 0) {
        cf_hash_hex(out, text.p, text.n);
    }
    cf_buf_deinit(&text);
}

cf_status cf_study_scorer_init(cf_study_scorer *s, cf_backend *backend, cf_store *store,
                               cf_cancel *cancel, cf_error *err)
{
    const cf_session *from = cf_backend_core_session(backend);
    char hash[CF_HASH_TEXT + 1], setup[CF_HASH_TEXT + 1];
    *s = (cf_study_scorer){.cancel = cancel, .store = store};
    cf_backend_info server = cf_backend_get_info(backend);
    if (from == NULL && strcmp(server.kind, "openai") == 0) {
        s->server = backend;
        cf_hash_hex(hash, server.name.p, server.name.n);
        snprintf(s->model, sizeof s->model, "score of a server 1\n%s\n", hash);
        return CF_OK;
    }
    if (from == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "this engine does not report the likelihood of a given text; "
                       "use a model that runs here (-m FILE.gguf)");
    }
    cf_engine_info info = cf_engine_get_info(cf_session_engine(from));
    cf_engine_hash(cf_session_engine(from), hash);
    cf_study_setup_hash(setup, from);
    snprintf(s->model, sizeof s->model, "score 1\n%s\n%.30s %u %d\n%s", hash, info.kernel_set,
             info.n_threads, (int)info.arithmetic, setup);
    return cf_session_fork(&s->session, from, err);
}

cf_status cf_study_score_text(const cf_study_scorer *s, cf_str prompt, cf_str text, cf_arena *arena,
                              cf_score *out, cf_error *err)
{
    return cf_backend_score(s->server, prompt, text, s->cancel, arena, out, err);
}

void cf_study_scorer_deinit(cf_study_scorer *s)
{
    cf_session_free(s->session);
    s->session = NULL;
}

/* ---- what is known ------------------------------------------------------ */

static cf_status key_of(const cf_study_scorer *s, const cf_score_job *j, char key[CF_HASH_TEXT + 1],
                        cf_error *err)
{
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, s->model);
    cf_buf_addf(&b, "%zu %zu %d\n", j->n, j->first, j->at != NULL);
    cf_buf_adds(&b, j->plan != NULL ? j->plan->tag : "");
    for (size_t i = 0; i < j->n; i++) {
        cf_buf_addf(&b, "%d ", (int)j->ids[i]);
        if (j->at != NULL) {
            cf_buf_addf(&b, "%u ", (unsigned)j->at[i]);
        }
    }
    cf_status st = cf_buf_check(&b, err);
    cf_hash_hex(key, cf_buf_cstr(&b), b.n);
    cf_buf_deinit(&b);
    return st;
}

typedef struct work {
    cf_study_scorer *s;
    cf_score_job *jobs;
    size_t n;
    size_t *order; /* [n_order] of jobs to compute, by `lcp` */
    size_t n_order;
    bool is_at;                    /* the timeline has the first job's tokens ... */
    size_t at;                     /* ... up to here */
    size_t *lcp;                   /* [n] tokens shared with the first job, below `first` */
    char (*key)[CF_HASH_TEXT + 1]; /* [n] */
    size_t *fresh;                 /* [n_fresh] done and not kept yet */
    size_t n_fresh;
    uint64_t kept_us; /* when they were kept last */
    cf_study_scored_fn fn;
    void *ud;
} work;

static size_t n_out(const cf_score_job *j)
{
    return j->plan != NULL ? j->plan->n_way : j->n - j->first;
}

static void keep(work *w)
{
    cf_store_score v[KEEP_AT_ONCE];
    for (size_t i = 0; i < w->n_fresh; i++) {
        const cf_score_job *j = &w->jobs[w->fresh[i]];
        v[i] = (cf_store_score){cf_str_make(w->key[w->fresh[i]], CF_HASH_TEXT), j->log_p, n_out(j)};
    }
    cf_error ignored;
    if (w->n_fresh > 0 && w->s->store != NULL &&
        cf_store_put_scores(w->s->store, v, w->n_fresh, &ignored) != CF_OK) {
        w->s->has_failed_store = true;
    }
    w->n_fresh = 0;
}

static void done(work *w, size_t job)
{
    w->jobs[job].is_done = true;
    if (w->s->store != NULL && !w->jobs[job].was_known) {
        uint64_t now = cf_os_monotonic_us();
        w->fresh[w->n_fresh++] = job;
        if (w->n_fresh == KEEP_AT_ONCE || now - w->kept_us >= KEEP_US) {
            w->kept_us = now;
            keep(w);
        }
    }
    if (w->fn != NULL) {
        w->fn(w->ud, job);
    }
}

/* ---- one job ------------------------------------------------------------ */

typedef struct open_job {
    size_t job, pos;
    cf_session *session;
    work *w;
} open_job;

static void on_logits(void *ud, uint32_t pos, const float *logits)
{
    const open_job *o = ud;
    const cf_score_job *j = &o->w->jobs[o->job];
    size_t next = (size_t)pos + 1;
    if (next < j->first || next >= j->n) {
        return;
    }
    const cf_engine *e = cf_session_engine(o->w->s->session);
    size_t n_vocab = cf_tokenizer_n_vocab(cf_engine_tokenizer(e));
    if (j->plan != NULL && j->plan->tag[0] != '\0') {
        cf_text_plan_read(j->plan, next - j->first, logits, n_vocab, j->log_p);
    } else {
        j->log_p[next - j->first] = cf_logits_log_p(logits, n_vocab, j->ids[next]);
    }
}

/* Tokens that stay where they were in a longer prompt are inputs with
 * positions; such a job is computed alone. */
static cf_status score_placed(work *w, size_t job, cf_session *session, cf_error *err)
{
    const cf_score_job *j = &w->jobs[job];
    cf_input *in = cf_calloc(j->n, sizeof *in);
    if (in == NULL) {
        return cf_oom_for(err, "the scores");
    }
    for (size_t i = 0; i < j->n; i++) {
        in[i].id = j->ids[i];
        for (int a = 0; a < 4; a++) {
            in[i].at[a] = j->at[i];
        }
    }
    open_job o = {job, 0, session, w};
    const cf_run plain = {.cancel = w->s->cancel};
    const cf_run run = {.cancel = w->s->cancel, .logits = on_logits, .ud = &o};
    cf_status st = CF_OK;
    if (j->first > 1) {
        st = cf_session_sync_inputs(session, in, j->first - 1, &plain, NULL, err);
    }
    CF_THEN(st, cf_session_sync_inputs(session, in, j->n - 1, &run, NULL, err));
    cf_free(in);
    return st;
}

/* ---- side by side ------------------------------------------------------- */

typedef struct side {
    open_job v[SIDE_BY_SIDE];
    size_t n;
} side;

/* Forks that may be open beside what is: by the cache that each will take.
 * Long ones fill a pass alone, and are done one after the other, so that
 * stopping loses little. */
static bool has_room(const work *w, const side *all, size_t n_new)
{
    uint64_t bytes, shared;
    size_t length, sum = n_new;
    cf_session_memory(w->s->session, &bytes, &shared);
    cf_session_tokens(w->s->session, &length);
    for (size_t i = 0; i < all->n; i++) {
        sum += w->jobs[all->v[i].job].n - w->lcp[all->v[i].job];
    }
    uint64_t each = length > 0 ? bytes / length : 0;
    return all->n == 0 ||
           (all->n < SIDE_BY_SIDE && sum <= TOGETHER_MAX && (each == 0 || sum <= cache_max / each));
}

/* Lengthens the timeline to where the job leaves it, and forks it there. */
static cf_status join(work *w, side *all, size_t job, cf_error *err)
{
    const cf_run run = {.cancel = w->s->cancel};
    cf_session *fork = NULL;
    if (w->lcp[job] == 0) {
        cf_session_rewind(w->s->session, 0);
    } else if (!w->is_at || w->at != w->lcp[job]) {
        CF_TRY(cf_session_sync(w->s->session, w->jobs[0].ids, w->lcp[job], &run, NULL, err));
    }
    w->is_at = true;
    w->at = w->lcp[job];
    CF_TRY(cf_session_fork(&fork, w->s->session, err));
    if (w->jobs[job].at != NULL) {
        cf_status st = score_placed(w, job, fork, err);
        cf_session_free(fork);
        CF_TRY(st);
        done(w, job);
        return CF_OK;
    }
    all->v[all->n++] = (open_job){job, w->lcp[job], fork, w};
    return CF_OK;
}

static void leave(side *all, size_t i)
{
    cf_session_free(all->v[i].session);
    all->v[i] = all->v[--all->n];
}

/* One pass; jobs whose scores are complete leave.  Tokens before `first` give
 * no logits, and the last token predicts nothing. */
static cf_status advance(work *w, side *all, cf_error *err)
{
    cf_advance part[SIDE_BY_SIDE];
    for (size_t i = 0; i < all->n; i++) {
        open_job *o = &all->v[i];
        const cf_score_job *j = &w->jobs[o->job];
        bool before = o->pos + 1 < j->first;
        part[i] = (cf_advance){
            .session = o->session,
            .ids = j->ids + o->pos,
            .n = (before ? j->first : j->n) - 1 - o->pos,
            .logits = before ? NULL : on_logits,
            .ud = o,
        };
    }
    CF_TRY(cf_batch_pass(part, all->n, w->s->cancel, err));
    for (size_t i = all->n; i-- > 0;) {
        all->v[i].pos += part[i].n_done;
        size_t job = all->v[i].job;
        if (all->v[i].pos + 1 >= w->jobs[job].n) {
            leave(all, i);
            done(w, job);
        }
    }
    return CF_OK;
}

static cf_status compute(work *w, cf_error *err)
{
    side all = {.n = 0};
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && (i < w->n_order || all.n > 0);) {
        if (w->s->cancel != NULL && atomic_load(w->s->cancel)) {
            st = cf_fail(err, CF_ECANCELLED, "stopped");
        } else if (i < w->n_order &&
                   has_room(w, &all, w->jobs[w->order[i]].n - w->lcp[w->order[i]])) {
            st = join(w, &all, w->order[i++], err);
        } else {
            st = advance(w, &all, err);
        }
    }
    while (all.n > 0) {
        leave(&all, all.n - 1);
    }
    return st;
}

/* ---- the order ---------------------------------------------------------- */

static cf_status check(const cf_study_scorer *s, const cf_score_job *j, cf_error *err)
{
    if (j->first == 0 || j->first >= j->n) {
        return cf_fail(err, CF_EINVAL, "nothing to score after a prompt");
    }
    if (j->n > cf_session_n_ctx(s->session)) {
        return cf_fail(err, CF_ELIMIT, "%zu tokens do not fit the context of %u", j->n,
                       cf_session_n_ctx(s->session));
    }
    return CF_OK;
}

static cf_status look_up(work *w, size_t i, cf_error *err)
{
    cf_score_job *j = &w->jobs[i];
    cf_error ignored;
    if (j->is_given) {
        j->is_done = true;
        return CF_OK;
    }
    CF_TRY(key_of(w->s, j, w->key[i], err));
    if (w->s->store != NULL &&
        cf_store_get_scores(w->s->store, cf_str_make(w->key[i], CF_HASH_TEXT), j->log_p, n_out(j),
                            &ignored) == CF_OK) {
        j->was_known = true;
        done(w, i);
        return CF_OK;
    }
    const cf_score_job *base = &w->jobs[0];
    size_t n = 0, max = j->first - 1;
    max = base->n < max ? base->n : max;
    while (n < max && j->ids[n] == base->ids[n] && (j->at == NULL || j->at[n] == n) &&
           (base->at == NULL || base->at[n] == n)) {
        n++;
    }
    w->lcp[i] = n;
    size_t at = w->n_order++; /* by insertion: equal places keep their order */
    while (at > 0 && w->lcp[w->order[at - 1]] > n) {
        w->order[at] = w->order[at - 1];
        at--;
    }
    w->order[at] = i;
    return CF_OK;
}

cf_status cf_study_score(cf_study_scorer *s, cf_score_job *jobs, size_t n, cf_study_scored_fn fn,
                         void *ud, cf_error *err)
{
    work w = {.s = s, .jobs = jobs, .n = n, .fn = fn, .ud = ud};
    for (size_t i = 0; i < n; i++) {
        jobs[i].is_done = jobs[i].was_known = false;
        CF_TRY(check(s, &jobs[i], err));
    }
    w.order = cf_calloc(n + 1, sizeof *w.order);
    w.lcp = cf_calloc(n + 1, sizeof *w.lcp);
    w.fresh = cf_calloc(KEEP_AT_ONCE, sizeof *w.fresh);
    w.key = cf_calloc(n + 1, sizeof *w.key);
    bool ok = w.order != NULL && w.lcp != NULL && w.fresh != NULL && w.key != NULL;
    cf_status st = ok ? CF_OK : cf_oom_for(err, "the scores");
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        st = look_up(&w, i, err);
    }
    CF_THEN(st, compute(&w, err));
    if (ok) {
        keep(&w);
    }
    cf_free(w.order);
    cf_free(w.lcp);
    cf_free(w.fresh);
    cf_free(w.key);
    return st;
}
