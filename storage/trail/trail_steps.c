/*
 * trail_steps.c - a trail as rows of requests, with what they add up to.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "storage/trail/trail_build.h"

typedef struct maker {
    cf_trail_steps *out;
    const cf_trail *t;
    const cf_trail_prices *prices;
    trail_index agents, tools;
    trail_index calls;            /* call id -> place in call_row and call_tool */
    size_t *call_row, *call_tool; /* [n_calls], heap */
    size_t n_calls;
    trail_reader r;   /* its `failed` alone */
    int64_t *last_ms; /* [cap_last], heap; of each agent: its message before */
    size_t cap_last;
} maker;

static size_t group_of(maker *m, trail_index *ix, cf_str name, cf_trail_group **v, size_t *n,
                       size_t *cap)
{
    size_t at = trail_find(ix, trail_agent_key(name));
    if (at != TRAIL_NONE) {
        return at;
    }
    if (!cf_grow(v, cap, *n + 1, sizeof **v)) {
        m->r.failed = true;
        return 0;
    }
    (*v)[*n] = (cf_trail_group){.name = name, .parent = SIZE_MAX, .parent_row = SIZE_MAX};
    trail_put(&m->r, ix, trail_agent_key(name), *n);
    return (*n)++;
}

static size_t agent_of(maker *m, cf_str name)
{
    cf_trail_steps *s = m->out;
    size_t at = group_of(m, &m->agents, name, &s->agents, &s->n_agents, &s->cap_agents);
    size_t had = m->cap_last;
    if (!cf_grow(&m->last_ms, &m->cap_last, at + 1, sizeof *m->last_ms)) {
        m->r.failed = true;
        return at;
    }
    for (size_t i = had; i < m->cap_last; i++) {
        m->last_ms[i] = 0;
    }
    return at;
}

static size_t tool_of(maker *m, cf_str name)
{
    cf_trail_steps *s = m->out;
    return group_of(m, &m->tools, name, &s->tools, &s->n_tools, &s->cap_tools);
}

static void add(cf_trail_sum *to, const cf_trail_sum *s)
{
    to->n_steps += s->n_steps;
    to->n_calls += s->n_calls;
    to->n_failed += s->n_failed;
    to->input += s->input;
    to->cache_read += s->cache_read;
    to->cache_creation += s->cache_creation;
    to->output += s->output;
    to->reasoning += s->reasoning;
    to->ms += s->ms;
    to->cost += s->cost;
}

static double cost_of(const cf_trail_prices *p, const cf_trail_step *s)
{
    for (size_t i = 0; p != NULL && i < p->n; i++) {
        if (cf_str_find(s->model, p->v[i].model, NULL)) {
            const struct cf_trail_price *x = &p->v[i];
            return ((double)s->input * x->input + (double)s->output * x->output +
                    (double)s->cache_read * x->cache_read +
                    (double)s->cache_creation * x->cache_creation) /
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
    size_t n = 0;
    for (size_t i = 0; reply != NULL && i < reply->n_calls; i++) {
        cf_str id = reply->calls[i].id;
        if (trail_find(&m->calls, id) != TRAIL_NONE || m->n_calls == m->t->n_calls) {
            continue;
        }
        size_t tool = tool_of(m, reply->calls[i].name);
        m->call_row[m->n_calls] = row;
        m->call_tool[m->n_calls] = tool;
        trail_put(&m->r, &m->calls, id, m->n_calls++);
        if (tool < m->out->n_tools) {
            m->out->tools[tool].sum.n_calls++;
        }
        n++;
    }
    return n;
}

static void put_row(maker *m, size_t at, int64_t ms)
{
    const cf_trail_event *e = &m->t->events[at];
    const cf_trail_step *s = e->as.step;
    cf_trail_row *row = &m->out->rows[m->out->n_rows];
    *row = (cf_trail_row){.at = at, .agent = agent_of(m, e->agent)};
    row->window = cf_trail_window(s->model);
    row->sum = (cf_trail_sum){.n_steps = 1,
                              .n_calls = note_calls(m, s->message, m->out->n_rows),
                              .input = s->input,
                              .cache_read = s->cache_read,
                              .cache_creation = s->cache_creation,
                              .output = s->output,
                              .reasoning = s->reasoning,
                              .ms = ms,
                              .cost = cost_of(m->prices, s)};
    m->out->n_rows++;
}

static void note_result(maker *m, const cf_trail_message *result)
{
    size_t call = trail_find(&m->calls, result->call_id);
    if (call != TRAIL_NONE && result->is_error) {
        m->out->rows[m->call_row[call]].sum.n_failed++;
        m->out->tools[m->call_tool[call]].sum.n_failed++;
    }
}

/* How long a reply took: since the agent's message before it. */
static int64_t see_message(maker *m, const cf_trail_event *e)
{
    const cf_trail_message *x = e->as.message;
    size_t agent = agent_of(m, e->agent);
    int64_t was = agent < m->cap_last ? m->last_ms[agent] : 0;
    if (x->time_ms != 0 && agent < m->cap_last) {
        m->last_ms[agent] = x->time_ms;
    }
    return was != 0 && x->time_ms > was ? x->time_ms - was : 0;
}

static void note_agent(maker *m, size_t place)
{
    const cf_trail_event *e = &m->t->events[place];
    size_t at = agent_of(m, e->as.agent->id);
    size_t call = trail_find(&m->calls, e->as.agent->parent_call);
    if (at < m->out->n_agents) {
        m->out->agents[at].title = e->as.agent->title;
        m->out->agents[at].at = place;
        m->out->agents[at].parent_row = call != TRAIL_NONE ? m->call_row[call] : SIZE_MAX;
        m->out->agents[at].parent = call != TRAIL_NONE ? m->out->rows[m->call_row[call]].agent : 0;
    }
}

static void make_rows(maker *m)
{
    int64_t ms = 0;
    (void)agent_of(m, cf_str_make("", 0));
    for (size_t i = 0; !m->r.failed && i < m->t->n_events; i++) {
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
    for (size_t i = 0; !m->r.failed && i < m->t->n_events; i++) {
        if (m->t->events[i].kind == CF_TRAIL_MESSAGE &&
            m->t->events[i].as.message->role == CF_TRAIL_TOOL) {
            note_result(m, m->t->events[i].as.message);
        }
    }
}

/* Findings lie at events; each belongs to the row at or before it of its agent. */
static void mark_findings(maker *m, const cf_trail_findings *found)
{
    cf_trail_steps *s = m->out;
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
    *out = (cf_trail_steps){0};
    maker m = {.out = out, .t = t, .prices = prices};
    out->rows = cf_alloc((t->n_steps + 1) * sizeof *out->rows);
    m.call_row = cf_alloc((t->n_calls + 1) * sizeof *m.call_row);
    m.call_tool = cf_alloc((t->n_calls + 1) * sizeof *m.call_tool);
    m.r.failed = out->rows == NULL || m.call_row == NULL || m.call_tool == NULL;
    if (!m.r.failed) {
        make_rows(&m);
    }
    bool failed = m.r.failed;
    if (!failed) {
        mark_findings(&m, found);
        add_up(out);
    }
    cf_free(m.call_row);
    cf_free(m.call_tool);
    cf_free(m.last_ms);
    trail_index_free(&m.agents);
    trail_index_free(&m.tools);
    trail_index_free(&m.calls);
    if (failed) {
        cf_trail_steps_deinit(out);
        return cf_oom(err);
    }
    return CF_OK;
}

void cf_trail_steps_deinit(cf_trail_steps *s)
{
    cf_free(s->rows);
    cf_free(s->agents);
    cf_free(s->tools);
    *s = (cf_trail_steps){0};
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
    cf_arena_init(&out->arena, 0);
    cf_status st = cf_json_read_small(&v, path, CF_JSON_SMALL_MAX, err);
    if (st == CF_OK && !json_is_object(v)) {
        st = cf_fail(err, CF_EFORMAT, "%s: prices are an object, a model's name a key", path);
    }
    if (st == CF_OK) {
        out->v = cf_arena_calloc(&out->arena, json_object_size(v) + 1, sizeof *out->v);
    }
    json_object_foreach(v, key, one)
    {
        if (st != CF_OK || out->v == NULL) {
            break;
        }
        const char *name = cf_arena_strndup(&out->arena, key, strlen(key));
        double input = price_of(one, "input", -1);
        if (input < 0 || price_of(one, "output", -1) < 0) {
            st = cf_fail(err, CF_EFORMAT, "%s: %s needs prices of \"input\" and \"output\"", path,
                         key);
            break;
        }
        out->v[out->n++] = (struct cf_trail_price){
            cf_str_make(name, name != NULL ? strlen(key) : 0), input, price_of(one, "output", 0),
            price_of(one, "cache_read", input), price_of(one, "cache_creation", input)};
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
