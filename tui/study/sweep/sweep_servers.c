/*
 * sweep_servers.c - cells of servers: a queue over all addresses.
 *
 * A worker has a backend of its own for each address that it has used.  The
 * backend obeys 429, 5xx and Retry-After itself, in the worker's slot, so
 * that `jobs` bounds the requests in flight.  For a model with several addresses,
 * a try that reaches no server moves to the next one.  Cells are queued
 * round-robin over models, so that all servers have work from the start.
 */
#include <stdlib.h>

#include "core/api/work_queue.h"
#include "core/base/alloc.h"
#include "core/json/json_writer.h"
#include "tui/study/sweep/sweep_impl.h"

enum { N_RETRIES = 6, BACKOFF_MS = 200 };

typedef struct servers {
    cf_sweep *s;
    size_t *cell; /* [n] */
    cf_str *key;  /* [n] */
    size_t n;
    size_t n_address;     /* of all models */
    cf_backend **backend; /* [n_workers * n_address]; NULL: not made yet */
} servers;

/* The number of a model's address among those of all. */
static size_t place_of(const cf_sweep *s, size_t model, size_t address)
{
    size_t n = address;
    for (size_t i = 0; i < model; i++) {
        n += s->plan->model[i].n_address;
    }
    return n;
}

static cf_status backend_of(const servers *v, size_t worker, size_t model, size_t address,
                            cf_backend **out, cf_error *err)
{
    cf_backend **slot = &v->backend[worker * v->n_address + place_of(v->s, model, address)];
    const cf_open_options o = cf_sweep__open_options(v->s, model, CF_SWEEP_NONE);
    const cf_remote_options remote = {
        .key = o.key, .model = o.server_model, .n_retries = N_RETRIES, .backoff_ms = BACKOFF_MS};
    if (*slot == NULL) {
        CF_TRY(
            cf_backend_remote_new(slot, v->s->plan->model[model].address[address], &remote, err));
    }
    *out = *slot;
    return CF_OK;
}

/* Likelihoods by the server, after its own prompt. */
static cf_status add_scores(const cf_sweep *s, const cf_sweep_cell *c, cf_backend *backend,
                            const cf_sweep__request *r, json_t *result, cf_error *err)
{
    bool asks = false;
    for (size_t i = 0; i < s->plan->n_check; i++) {
        const cf_sweep_check *check = cf_sweep_plan_check(s->plan, c->item, i);
        asks = asks || (check != NULL && check->kind == CF_CHECK_LIKELIHOOD);
    }
    if (!asks) {
        return CF_OK;
    }
    cf_tool_set *tools = NULL;
    cf_arena arena;
    cf_prompt prompt = {.n_spans = 0};
    cf_arena_init(&arena, 0);
    cf_status st = CF_OK;
    if (json_array_size(r->tools) > 0) {
        st = cf_tool_set_new(&tools, r->tools, err);
    }
    const cf_chat_request request = {
        .messages = r->messages, .tools = tools, .extra_context = r->extra, .cancel = s->o.cancel};
    CF_THEN(st, cf_backend_render(backend, &request, &arena, &prompt, err));
    if (st != CF_ENOMEM) {
        st = cf_sweep__add_scores(s, c, st == CF_OK ? backend : NULL, prompt.text, result, err);
    }
    cf_tool_set_free(tools);
    cf_arena_deinit(&arena);
    return st;
}

/* Whether another server of the same model may succeed: this one is
 * unreachable, busy or broken. */
static bool is_of_the_server(cf_fault fault)
{
    return fault == CF_FAULT_NETWORK || fault == CF_FAULT_RATE_LIMIT || fault == CF_FAULT_OTHER;
}

/* On a worker's thread: asks for one cell. */
static cf_status try_cell(void *ud, cf_work_try *t, cf_error *err)
{
    servers *v = ud;
    const cf_sweep *s = v->s;
    const size_t at = v->cell[t->job];
    const cf_sweep_cell *c = &s->cell[at];
    const cf_sweep_model *m = &s->plan->model[c->model];
    cf_sweep__request r;
    cf_backend *backend;
    cf_sent sent;
    json_t *result = NULL;
    cf_sent_init(&sent);
    cf_status st = cf_sweep__request_init(&r, s, c, NULL, NULL, err);
    CF_THEN(st, backend_of(v, t->worker, c->model, (t->job + t->n_before) % m->n_address, &backend,
                           err));
    if (st == CF_OK) {
        const cf_send send = {
            .options = &r.options, .has_parent = true, .parent = r.head, .cancel = s->o.cancel};
        st = cf_conversation_send(r.conv, backend, &send, &sent, err);
        const bool is_its = is_of_the_server(sent.response.stop.fault);
        t->again =
            st != CF_OK && is_its && t->n_before + 1 < m->n_address ? CF_WORK_RETRY : CF_WORK_NEVER;
    }
    CF_THEN(st, cf_sweep__result(&result, &sent.response, CF_TOOLS_NONE, err));
    CF_THEN(st, add_scores(s, c, backend, &r, result, err));
    if (st == CF_OK) {
        /* Saved before the worker asks for another cell. */
        cf_error ignored;
        bool is_saved = cf_sweep__save(s, c, result, &ignored) == CF_OK;
        cf_buf_adds(t->result, is_saved ? "[true," : "[false,");
        cf_json_write(t->result, result);
        cf_buf_addc(t->result, ']');
        st = cf_buf_check(t->result, err);
    }
    json_decref(result);
    cf_sent_deinit(&sent);
    cf_sweep__request_deinit(&r);
    return st;
}

/* On the calling thread. */
static cf_status end_cell(void *ud, const cf_work_end *end, cf_error *err)
{
    const servers *v = ud;
    json_t *pair = NULL;
    cf_status st = end->status;
    cf_error why = {.code = st};
    if (end->err != NULL) {
        why = *end->err;
        why.code = st;
    }
    if (st == CF_OK) {
        CF_TRY(cf_json_read(&pair, end->result.p, end->result.n, err));
    }
    cf_sweep__finish(v->s, v->cell[end->job], json_incref(json_array_get(pair, 1)),
                     json_is_true(json_array_get(pair, 0)), st == CF_OK ? NULL : &why);
    json_decref(pair);
    return CF_OK;
}

/* ---- all ---------------------------------------------------------------- */

/* A cell that is to be run, and its place among those of its model. */
typedef struct turn {
    size_t nth, cell;
} turn;

static int by_turn(const void *a, const void *b)
{
    const turn *x = a, *y = b;
    return x->nth != y->nth ? (x->nth > y->nth) - (x->nth < y->nth)
                            : (x->cell > y->cell) - (x->cell < y->cell);
}

/* Puts the cells in the order in which they are queued. */
static cf_status take_turns(servers *v, cf_error *err)
{
    size_t n_of[CF_SWEEP_VALUES_MAX] = {0};
    turn *turns = cf_calloc(v->n + 1, sizeof *turns);
    if (turns == NULL) {
        return cf_oom_for(err, "the cells");
    }
    for (size_t i = 0; i < v->n; i++) {
        turns[i] = (turn){n_of[v->s->cell[v->cell[i]].model]++, v->cell[i]};
    }
    qsort(turns, v->n, sizeof *turns, by_turn);
    for (size_t i = 0; i < v->n; i++) {
        v->cell[i] = turns[i].cell;
        v->key[i] = cf_str_from(v->s->cell[turns[i].cell].key);
    }
    cf_free(turns);
    return CF_OK;
}

/* Keys of the cells; those that are not known are listed. */
static cf_status list_cells(servers *v, cf_error *err)
{
    cf_sweep *s = v->s;
    for (size_t i = 0; i < s->n; i++) {
        cf_sweep_cell *c = &s->cell[i];
        if (c->is_done || c->model == CF_SWEEP_NONE || !s->plan->model[c->model].is_server) {
            continue;
        }
        cf_buf name = CF_BUF_INIT;
        const cf_sweep_model *m = &s->plan->model[c->model];
        const cf_open_options o = cf_sweep__open_options(s, c->model, CF_SWEEP_NONE);
        if (m->server_model == NULL) {
            cf_buf_add(&name, m->name.p, m->name.n);
        } else {
            cf_buf_adds(&name, m->address[0]); /* its name is only a label */
        }
        cf_buf_addf(&name, " %s", o.server_model != NULL ? o.server_model : "");
        const cf_sweep__engine e = {.model = cf_buf_cstr(&name), .template_hash = ""};
        cf_status st = cf_sweep__key(s, c, &e, err);
        cf_buf_deinit(&name);
        CF_TRY(st);
        if (!cf_sweep__is_known(s, i)) {
            v->cell[v->n++] = i;
        }
    }
    return take_turns(v, err);
}

static cf_status run_queue(servers *v, cf_error *err)
{
    const cf_sweep *s = v->s;
    size_t n_workers = s->o.jobs != 0 ? s->o.jobs : CF_SWEEP_JOBS;
    n_workers = n_workers < CF_SWEEP_JOBS_MAX ? n_workers : CF_SWEEP_JOBS_MAX;
    v->n_address = place_of(s, s->plan->n_model, 0);
    const size_t n_backend = n_workers * v->n_address;
    v->backend = cf_calloc(n_backend, sizeof *v->backend);
    if (v->backend == NULL) {
        return cf_oom_for(err, "the servers");
    }
    const cf_work_options o = {.n_places = 1,
                               .n_workers = n_workers,
                               .backoff_ms = BACKOFF_MS,
                               .n_tries = CF_SWEEP_ADDRESSES_MAX,
                               .cancel = s->o.cancel};
    cf_status st = cf_work_run(&o, v->key, v->n, try_cell, end_cell, v, err);
    for (size_t i = 0; i < n_backend; i++) {
        cf_backend_free(v->backend[i]);
    }
    cf_free(v->backend);
    return st;
}

cf_status cf_sweep__run_servers(cf_sweep *s, cf_error *err)
{
    servers v = {.s = s};
    v.cell = cf_calloc(s->n, sizeof *v.cell);
    v.key = cf_calloc(s->n, sizeof *v.key);
    cf_status st =
        v.cell != NULL && v.key != NULL ? list_cells(&v, err) : cf_oom_for(err, "the cells");
    if (st == CF_OK && v.n > 0) {
        st = run_queue(&v, err);
    }
    cf_free(v.cell);
    cf_free(v.key);
    return st;
}
