/*
 * trail_steps.c - a trail as rows of requests, with what they add up to.
 */
#include <string.h>

#include "storage/trail/trail_build.h"

typedef struct maker {
    cf_trail_steps *out;
    const cf_trail *t;
    const cf_trail_prices *prices;
    cf_arena arena; /* of what follows */
    trail_index agents, tools;
    trail_index calls; /* call id -> place in `called` */
    struct called {
        size_t row, tool;
    } * called; /* [n_called] */
    size_t n_called;
    int64_t *last_ms; /* [n_agents], of each agent: its message before */
    size_t n_last;
} maker;

static size_t group_of(maker *m, trail_index *ix, cf_str name, cf_trail_group **v, size_t *n)
{
    size_t at = trail_find(ix, trail_agent_key(name));
    if (at == TRAIL_NONE) {
        at = *n;
        cf_trail_group *g = trail_push(&m->out->arena, v, n, sizeof *g);
        *g = (cf_trail_group){.name = name, .parent = SIZE_MAX, .parent_row = SIZE_MAX};
        trail_put(&m->arena, ix, trail_agent_key(name), at);
    }
    return at < *n ? at : 0;
}

static size_t agent_of(maker *m, cf_str name)
{
    size_t at = group_of(m, &m->agents, name, &m->out->agents, &m->out->n_agents);
    if (at >= m->n_last) {
        (void)trail_push(&m->arena, &m->last_ms, &m->n_last, sizeof *m->last_ms);
    }
    return at;
}

static void add(cf_trail_sum *to, const cf_trail_sum *s)
{
    to->n_steps += s->n_steps;
    to->n_calls += s->n_calls;
    to->n_failed += s->n_failed;
    to->used.input += s->used.input;
    to->used.cache_read += s->used.cache_read;
    to->used.cache_creation += s->used.cache_creation;
    to->used.output += s->used.output;
    to->used.reasoning += s->used.reasoning;
    to->ms += s->ms;
    to->cost += s->cost;
}

static double cost_of(const cf_trail_prices *p, const cf_trail_step *s)
{
    for (size_t i = 0; p != NULL && i < p->n; i++) {
        if (cf_str_find(s->model, p->v[i].model, NULL)) {
            const struct cf_trail_price *x = &p->v[i];
            const cf_trail_usage *u = &s->used;
            return ((double)u->input * x->input + (double)u->output * x->output +
                    (double)u->cache_read * x->cache_read +
                    (double)u->cache_creation * x->cache_creation) /
                   1e6;
        }
    }
    return 0;
}

/* ---- rows ---------------------------------------------------------------- */

/* The calls of a reply, whose results come later; those that were told before
 * (a reply of several requests, a history that was sent again) count once. */
static size_t note_calls(maker *m, const cf_trail_message *reply, size_t row)
{
    cf_trail_steps *s = m->out;
    size_t n = m->n_called;
    for (size_t i = 0; reply != NULL && i < reply->n_calls; i++) {
        const cf_trail_call *c = &reply->calls[i];
        if (trail_find(&m->calls, c->id) != TRAIL_NONE || m->n_called == m->t->n_calls) {
            continue;
        }
        size_t tool = group_of(m, &m->tools, c->name, &s->tools, &s->n_tools);
        trail_put(&m->arena, &m->calls, c->id, m->n_called);
        struct called *x = trail_push(&m->arena, &m->called, &m->n_called, sizeof *x);
        *x = (struct called){row, tool};
        if (s->n_tools != 0) {
            s->tools[tool].sum.n_calls++;
        }
    }
    return m->n_called - n;
}

static const struct called *call_of(const maker *m, cf_str id)
{
    size_t at = trail_find(&m->calls, id);
    return at < m->n_called ? &m->called[at] : NULL;
}

static void put_row(maker *m, size_t at, int64_t ms)
{
    const cf_trail_event *e = &m->t->events[at];
    const cf_trail_step *s = e->as.step;
    size_t n = m->out->n_rows;
    cf_trail_row *row = trail_push(&m->out->arena, &m->out->rows, &m->out->n_rows, sizeof *row);
    *row = (cf_trail_row){.at = at,
                          .agent = agent_of(m, e->agent),
                          .window = cf_trail_window(s->model),
                          .sum = {.n_steps = 1,
                                  .n_calls = note_calls(m, s->message, n),
                                  .used = s->used,
                                  .ms = ms,
                                  .cost = cost_of(m->prices, s)}};
}

static void note_result(maker *m, const cf_trail_message *result)
{
    const struct called *c = call_of(m, result->call_id);
    if (c != NULL && result->is_error) {
        m->out->rows[c->row].sum.n_failed++;
        m->out->tools[c->tool].sum.n_failed++;
    }
}

/* How long a reply took: since the agent's message before it. */
static int64_t see_message(maker *m, const cf_trail_event *e)
{
    const cf_trail_message *x = e->as.message;
    size_t agent = agent_of(m, e->agent);
    int64_t was = agent < m->n_last ? m->last_ms[agent] : 0;
    if (x->time_ms != 0 && agent < m->n_last) {
        m->last_ms[agent] = x->time_ms;
    }
    return was != 0 && x->time_ms > was ? x->time_ms - was : 0;
}

static void note_agent(maker *m, size_t place)
{
    const cf_trail_event *e = &m->t->events[place];
    size_t at = agent_of(m, e->as.agent->id);
    const struct called *c = call_of(m, e->as.agent->parent_call);
    if (at < m->out->n_agents) {
        cf_trail_group *g = &m->out->agents[at];
        g->title = e->as.agent->title;
        g->at = place;
        g->parent_row = c != NULL ? c->row : SIZE_MAX;
        g->parent = c != NULL ? m->out->rows[c->row].agent : 0;
    }
}

static bool has_failed(const maker *m)
{
    return m->arena.failed || m->out->arena.failed;
}

static void make_rows(maker *m)
{
    int64_t ms = 0;
    (void)agent_of(m, cf_str_make("", 0));
    for (size_t i = 0; !has_failed(m) && i < m->t->n_events; i++) {
        const cf_trail_event *e = &m->t->events[i];
        if (e->kind == CF_TRAIL_MESSAGE) {
            ms = see_message(m, e);
        } else if (e->kind == CF_TRAIL_STEP) {
            put_row(m, i, ms);
            ms = 0;
        } else if (e->kind == CF_TRAIL_AGENT) {
            note_agent(m, i);
        }
    }
    for (size_t i = 0; !has_failed(m) && i < m->t->n_events; i++) {
        if (m->t->events[i].kind == CF_TRAIL_MESSAGE &&
            m->t->events[i].as.message->role == CF_TRAIL_TOOL) {
            note_result(m, m->t->events[i].as.message);
        }
    }
}

/* Findings lie at events; each belongs to the row at or before it of its agent. */
static void mark_findings(cf_trail_steps *s, const cf_trail_findings *found)
{
    size_t row = 0;
    for (size_t i = 0; found != NULL && i < found->n; i++) {
        while (row + 1 < s->n_rows && s->rows[row + 1].at <= found->v[i].at) {
            row++;
        }
        if (s->n_rows != 0) {
            s->rows[row].n_findings++;
        }
    }
}

static void add_up(cf_trail_steps *s)
{
    for (size_t i = 0; i < s->n_rows; i++) {
        add(&s->sum, &s->rows[i].sum);
        add(&s->agents[s->rows[i].agent].sum, &s->rows[i].sum);
    }
}

cf_status cf_trail_steps_make(cf_trail_steps *out, const cf_trail *t,
                              const cf_trail_findings *found, const cf_trail_prices *prices,
                              cf_error *err)
{
    *out = (cf_trail_steps){.n_rows = 0};
    maker m = {.out = out, .t = t, .prices = prices};
    make_rows(&m);
    bool failed = has_failed(&m);
    cf_arena_deinit(&m.arena);
    if (failed) {
        cf_trail_steps_deinit(out);
        return cf_oom(err);
    }
    mark_findings(out, found);
    add_up(out);
    return CF_OK;
}

void cf_trail_steps_deinit(cf_trail_steps *s)
{
    cf_arena_deinit(&s->arena);
    *s = (cf_trail_steps){.n_rows = 0};
}

/* ---- prices -------------------------------------------------------------- */

static double price_of(const json_t *v, const char *key, double otherwise)
{
    const json_t *x = json_object_get(v, key);
    return json_is_number(x) ? json_number_value(x) : otherwise;
}

cf_status cf_trail_prices_read(cf_trail_prices *out, const char *path, cf_error *err)
{
    json_t *v = NULL, *one;
    const char *key;
    *out = (cf_trail_prices){.n = 0};
    cf_status st = cf_json_read_small(&v, path, CF_JSON_SMALL_MAX, err);
    if (st == CF_OK && !json_is_object(v)) {
        st = cf_fail(err, CF_EFORMAT, "%s: prices are an object, a model's name a key", path);
    }
    json_object_foreach(v, key, one)
    {
        double input = price_of(one, "input", -1), output = price_of(one, "output", -1);
        if (st == CF_OK && (input < 0 || output < 0)) {
            st = cf_fail(err, CF_EFORMAT, "%s: %s needs prices of \"input\" and \"output\"", path,
                         key);
        }
        const char *name = cf_arena_strndup(&out->arena, key, strlen(key));
        struct cf_trail_price *p = trail_push(&out->arena, &out->v, &out->n, sizeof *p);
        *p = (struct cf_trail_price){cf_str_make(name, name != NULL ? strlen(key) : 0), input,
                                     output, price_of(one, "cache_read", input),
                                     price_of(one, "cache_creation", input)};
    }
    json_decref(v);
    st = st == CF_OK && out->arena.failed ? cf_oom(err) : st;
    if (st != CF_OK) {
        cf_trail_prices_deinit(out);
    }
    return st;
}

void cf_trail_prices_deinit(cf_trail_prices *p)
{
    cf_arena_deinit(&p->arena);
    *p = (cf_trail_prices){.n = 0};
}
