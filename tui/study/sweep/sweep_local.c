/*
 * sweep_local.c - cells of one model file (or script): several in one pass
 * over the weights, template after template.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "tui/lab/talk/lab_template.h"
#include "tui/study/ask/study_score.h"
#include "tui/study/sweep/sweep_impl.h"

typedef struct local {
    cf_sweep *s;
    size_t adapter; /* of the plan; CF_SWEEP_NONE */
    cf_opened engine;
    cf_template *tpl; /* the one in use, where it is not the model's */
    cf_buf source;
    cf_tool_family family;
    cf_role_map roles;
    cf_backend *clone[CF_SWEEP_PASS_MAX];
    size_t n_clone;
} local;

static void drop_template(local *l)
{
    for (size_t i = 0; i < l->n_clone; i++) {
        cf_backend_free(l->clone[i]);
    }
    l->n_clone = 0;
    cf_template_free(l->tpl);
    l->tpl = NULL;
    cf_buf_deinit(&l->source);
}

static cf_str source_of(const local *l)
{
    return l->tpl != NULL ? cf_buf_str(&l->source) : cf_buf_str(&l->engine.source);
}

static cf_status take_template(local *l, size_t tpl, cf_error *err)
{
    drop_template(l);
    if (tpl == CF_SWEEP_NONE) {
        l->family = l->engine.family;
        l->roles = l->engine.roles;
        return CF_OK;
    }
    const char *path = l->s->plan->template_path[tpl];
    if (path != NULL) {
        CF_TRY(cf_open_template_text(&l->source, path, err));
        cf_status st = cf_template_compile(&l->tpl, cf_buf_str(&l->source), NULL, NULL, NULL, err);
        if (st != CF_OK) {
            return cf_fail_in(err, st, path);
        }
    }
    const cf_template *used = path != NULL ? l->tpl : l->engine.tpl;
    const cf_lab_engine engine = {
        .engine = l->engine.engine,
        .session = {.n_ctx = l->s->o.open.n_ctx, .prefixes = l->engine.prefixes}};
    l->family = cf_lab_use_template(l->engine.backend, &engine, used, source_of(l));
    cf_role_map_init(&l->roles, source_of(l));
    return CF_OK;
}

/* ---- a pass ------------------------------------------------------------- */

typedef struct batch {
    size_t cell[CF_SWEEP_PASS_MAX];
    cf_sweep__request request[CF_SWEEP_PASS_MAX];
    cf_send_job job[CF_SWEEP_PASS_MAX];
    cf_error why[CF_SWEEP_PASS_MAX]; /* of a cell that has no request */
    size_t n;
} batch;

/* Scripts answer in their order, on the backend itself. */
static bool is_single(const local *l)
{
    return l->engine.engine == NULL;
}

static size_t pass_size(const local *l)
{
    size_t n = l->s->o.jobs != 0 ? l->s->o.jobs : CF_SWEEP_JOBS;
    n = n < CF_SWEEP_PASS_MAX ? n : CF_SWEEP_PASS_MAX;
    return is_single(l) ? 1 : n;
}

static cf_status need_clones(local *l, size_t n, cf_error *err)
{
    for (; l->n_clone < n && !is_single(l); l->n_clone++) {
        CF_TRY(cf_backend_clone(&l->clone[l->n_clone], l->engine.backend, err));
    }
    return CF_OK;
}

static void finish(local *l, size_t cell, const cf_send_job *job)
{
    json_t *result = NULL;
    cf_error err = job->err;
    cf_status st = job->status;
    err.code = st;
    CF_THEN(st, cf_sweep__result(&result, &job->sent.response, l->family, &err));
    if (st == CF_OK) {
        st = cf_sweep__add_scores(l->s, &l->s->cell[cell], job->backend,
                                  cf_buf_str(&job->sent.response.prompt), result, &err);
    }
    if (st != CF_OK) {
        json_decref(result);
        result = NULL;
    }
    if (st != CF_ECANCELLED) {
        cf_sweep__finish(l->s, cell, result, false, st == CF_OK ? NULL : &err);
    }
}

/* Answers the cells of a batch in one pass for a token of each. */
static cf_status run_batch(local *l, batch *b, cf_error *err)
{
    const cf_tokenizer *tok =
        l->engine.engine != NULL ? cf_engine_tokenizer(l->engine.engine) : NULL;
    cf_send_job *ready[CF_SWEEP_PASS_MAX];
    size_t n = 0;
    cf_status st = need_clones(l, b->n, err);
    for (size_t i = 0; st == CF_OK && i < b->n; i++) {
        cf_send_job *job = &b->job[i];
        cf_sent_init(&job->sent);
        job->status = cf_sweep__request_init(&b->request[i], l->s, &l->s->cell[b->cell[i]],
                                             &l->roles, tok, &job->err);
        job->backend = is_single(l) ? l->engine.backend : l->clone[i];
        job->conv = b->request[i].conv;
        job->send = (cf_send){.options = &b->request[i].options,
                              .has_parent = true,
                              .parent = b->request[i].head,
                              .cancel = l->s->o.cancel};
        if (job->status == CF_OK) {
            ready[n++] = job;
        }
    }
    /* The list must be without gaps. */
    cf_send_job list[CF_SWEEP_PASS_MAX];
    for (size_t i = 0; i < n; i++) {
        list[i] = *ready[i];
    }
    if (st == CF_OK) {
        cf_conversation_send_many(list, n);
    }
    for (size_t i = 0; i < n; i++) {
        *ready[i] = list[i];
    }
    for (size_t i = 0; st == CF_OK && i < b->n; i++) {
        finish(l, b->cell[i], &b->job[i]);
        cf_sent_deinit(&b->job[i].sent);
        cf_sweep__request_deinit(&b->request[i]);
    }
    b->n = 0;
    return st;
}

/* ---- all ---------------------------------------------------------------- */

/* A template that cannot be used is the error of its cells. */
static void fail_all(const local *l, size_t model, size_t tpl, const cf_error *why)
{
    cf_sweep *s = l->s;
    for (size_t i = 0; i < s->n; i++) {
        const cf_sweep_cell *c = &s->cell[i];
        if (!c->is_done && c->model == model && c->adapter == l->adapter && c->tpl == tpl) {
            cf_sweep__finish(s, i, NULL, false, why);
        }
    }
}

static cf_status run_template(local *l, batch *b, size_t model, size_t tpl, cf_error *err)
{
    cf_sweep *s = l->s;
    char name[2 * CF_HASH_TEXT + 1] = "", template_hash[CF_HASH_TEXT + 1];
    cf_error why;
    cf_status st = take_template(l, tpl, &why);
    if (st == CF_ENOMEM) {
        *err = why;
        return st;
    }
    if (st != CF_OK) {
        why.code = st;
        fail_all(l, model, tpl, &why);
        return CF_OK;
    }
    cf_str source = source_of(l);
    cf_hash_hex(template_hash, source.p, source.n);
    if (l->engine.engine != NULL) {
        cf_engine_hash(l->engine.engine, name);
        cf_study_setup_hash(name + CF_HASH_TEXT, cf_backend_core_session(l->engine.backend));
    }
    const cf_sweep__engine e = {
        .model = l->engine.engine != NULL ? name : cf_backend_get_info(l->engine.backend).name.p,
        .template_hash = template_hash};
    for (size_t i = 0; st == CF_OK && i < s->n; i++) {
        cf_sweep_cell *c = &s->cell[i];
        if (c->is_done || c->model != model || c->adapter != l->adapter || c->tpl != tpl) {
            continue;
        }
        st = cf_sweep__is_cancelled(s) ? cf_fail(err, CF_ECANCELLED, "stopped")
                                       : cf_sweep__key(s, c, &e, err);
        if (st == CF_OK && !cf_sweep__is_known(s, i)) {
            b->cell[b->n++] = i;
        }
        if (st == CF_OK && b->n == pass_size(l)) {
            st = run_batch(l, b, err);
        }
    }
    return st == CF_OK && b->n > 0 ? run_batch(l, b, err) : st;
}

static cf_status open_engine(local *l, size_t model, cf_error *err)
{
    cf_open_options o = cf_sweep__open_options(l->s, model, l->adapter);
    return cf_open_backend(&l->engine, &o, NULL, err);
}

/* All templates with one adapter. */
static cf_status run_adapter(cf_sweep *s, batch *b, size_t model, size_t adapter, cf_error *err)
{
    local l = {.s = s, .adapter = adapter};
    cf_status st = open_engine(&l, model, err);
    const size_t n = s->plan->n_template;
    for (size_t i = 0; st == CF_OK && i < (n > 0 ? n : 1); i++) {
        st = run_template(&l, b, model, n > 0 ? i : CF_SWEEP_NONE, err);
    }
    drop_template(&l);
    cf_opened_close(&l.engine);
    return st;
}

cf_status cf_sweep__run_local(cf_sweep *s, size_t model, cf_error *err)
{
    const size_t n = s->plan->n_adapter;
    batch *b = cf_calloc(1, sizeof *b);
    cf_status st = b != NULL ? CF_OK : cf_oom_for(err, "the cells");
    for (size_t i = 0; st == CF_OK && i < (n > 0 ? n : 1); i++) {
        st = run_adapter(s, b, model, n > 0 ? i : CF_SWEEP_NONE, err);
    }
    if (st == CF_OK && cf_sweep__is_cancelled(s)) {
        st = cf_fail(err, CF_ECANCELLED, "stopped");
    }
    cf_free(b);
    return st;
}
