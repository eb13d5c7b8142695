/*
 * trail_otel.c - OpenTelemetry's GenAI spans, as OTLP writes them in JSON.
 *
 * Every request repeats the history of its agent.  Invariants:
 * 1. An agent's history is what its last request sent and was answered.
 * 2. A request that begins with the whole history adds to it; any other one
 *    is a compaction, and the history is what it sent.
 * 3. Reasoning does not count for sameness.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "storage/trail/trail_build.h"

typedef struct span {
    cf_str id, parent, trace, op, conversation;
    json_t *attributes; /* with those of its events; owned */
    cf_str status_text, version;
    int64_t start_ns, end_ns;
    uint64_t line;
    size_t order, up; /* up: place of the parent; TRAIL_NONE: none */
    size_t agent;     /* place of the invoke_agent span; TRAIL_NONE: the main one */
    size_t history;   /* of an agent: its place in `agents` */
    bool is_failed, is_again;
} span;

/* An agent of a session: its lane and its history. */
typedef struct history {
    size_t span; /* its invoke_agent; TRAIL_NONE: the main one */
    trail_lane *lane;
    cf_trail_message **v; /* [n], heap */
    size_t n, cap;
} history;

typedef struct otel {
    trail_reader r;   /* of the session at hand; its arena holds the strings */
    trail_reader all; /* holds the strings of spans, and what lines are left out */
    span *v;          /* [n], heap */
    size_t n, cap;
    trail_index ids;
    history *agents; /* [n_agents], heap; of the session at hand */
    size_t n_agents, cap_agents;
    trail_index results; /* call ids whose results are in the output */
    trail_index failed;  /* call ids whose spans failed */
} otel;

/* ---- values -------------------------------------------------------------- */

enum { VALUE_DEPTH = 64 };

/* Takes `v` into a list or an object; a failure is remembered. */
static void put_item(json_t *list, json_t *v, bool *failed)
{
    *failed = json_array_append_new(list, v) != 0 || *failed;
}

static void put_member(json_t *object, const char *key, json_t *v, bool *failed)
{
    *failed = json_object_set_new(object, key != NULL ? key : "", v) != 0 || *failed;
}

static json_t *value_of(const json_t *v, int depth, bool *failed);

static json_t *list_of(const json_t *values, int depth, bool *failed)
{
    json_t *list = json_array();
    const json_t *one;
    size_t i;
    json_array_foreach(values, i, one)
    {
        put_item(list, value_of(one, depth + 1, failed), failed);
    }
    *failed = *failed || list == NULL;
    return list;
}

static json_t *object_of(const json_t *values, int depth, bool *failed)
{
    json_t *object = json_object();
    const json_t *one;
    size_t i;
    json_array_foreach(values, i, one)
    {
        put_member(object, json_string_value(json_object_get(one, "key")),
                   value_of(json_object_get(one, "value"), depth + 1, failed), failed);
    }
    *failed = *failed || object == NULL;
    return object;
}

/* An attribute's value as JSON, owned; null for one of no known kind. */
static json_t *value_of(const json_t *v, int depth, bool *failed)
{
    static const char *const plain[] = {"stringValue", "boolValue", "doubleValue"};
    const json_t *x;
    if (depth > VALUE_DEPTH) {
        return json_null();
    }
    for (size_t i = 0; i < 3; i++) {
        if ((x = json_object_get(v, plain[i])) != NULL) {
            return json_incref(cf_json_ref(x));
        }
    }
    if ((x = json_object_get(v, "intValue")) != NULL) {
        return json_is_string(x) ? json_integer(strtoll(json_string_value(x), NULL, 10))
                                 : json_incref(cf_json_ref(x));
    }
    if (json_is_object(json_object_get(v, "arrayValue"))) {
        return list_of(trail_get(v, "arrayValue", "values", NULL), depth, failed);
    }
    if (json_is_object(json_object_get(v, "kvlistValue"))) {
        return object_of(trail_get(v, "kvlistValue", "values", NULL), depth, failed);
    }
    return json_null();
}

static void add_attributes(json_t *into, const json_t *list, bool *failed)
{
    size_t i;
    const json_t *one;
    json_array_foreach(list, i, one)
    {
        put_member(into, json_string_value(json_object_get(one, "key")),
                   value_of(json_object_get(one, "value"), 0, failed), failed);
    }
}

static cf_str attribute(const span *s, const char *key)
{
    return cf_json_get_str(s->attributes, key);
}

/* Messages and arguments are values, or JSON in a string.  Owned. */
static json_t *structure_of(otel *o, const json_t *v)
{
    json_t *inner = NULL;
    if (json_is_string(v)) {
        cf_status st =
            trail_parse(&inner, cf_str_make(json_string_value(v), json_string_length(v)), NULL);
        o->r.failed = o->r.failed || st == CF_ENOMEM;
        return inner;
    }
    return json_incref(cf_json_ref(v));
}

/* ---- spans --------------------------------------------------------------- */

static int64_t ns_of(const json_t *v, const char *key)
{
    const json_t *t = json_object_get(v, key);
    return json_is_string(t) ? strtoll(json_string_value(t), NULL, 10) : trail_int(v, key);
}

static void read_span(otel *o, const json_t *v, cf_str version, uint64_t line)
{
    trail_reader *r = &o->all;
    const json_t *status = json_object_get(v, "status"), *one;
    size_t i;
    if (!cf_grow(&o->v, &o->cap, o->n + 1, sizeof *o->v)) {
        r->failed = true;
        return;
    }
    span *s = &o->v[o->n];
    *s = (span){.id = trail_json_str(r, v, "spanId"),
                .parent = trail_json_str(r, v, "parentSpanId"),
                .trace = trail_json_str(r, v, "traceId"),
                .status_text = trail_json_str(r, status, "message"),
                .version = version,
                .attributes = json_object(),
                .start_ns = ns_of(v, "startTimeUnixNano"),
                .end_ns = ns_of(v, "endTimeUnixNano"),
                .line = line,
                .order = o->n,
                .agent = TRAIL_NONE};
    s->is_failed = trail_int(status, "code") == 2 || trail_is(status, "code", "STATUS_CODE_ERROR");
    add_attributes(s->attributes, json_object_get(v, "attributes"), &r->failed);
    json_array_foreach(json_object_get(v, "events"), i, one)
    {
        add_attributes(s->attributes, json_object_get(one, "attributes"), &r->failed);
    }
    r->failed = r->failed || s->attributes == NULL;
    s->op = attribute(s, "gen_ai.operation.name");
    s->conversation = attribute(s, "gen_ai.conversation.id");
    s->is_again = trail_find(&o->ids, s->id) != TRAIL_NONE;
    if (!s->is_again) {
        trail_put(r, &o->ids, s->id, o->n);
    }
    o->n++;
}

static void read_document(void *reader, json_t *v, uint64_t line)
{
    otel *o = reader;
    const json_t *resources = json_object_get(v, "resourceSpans"), *resource, *scope, *one;
    size_t i, j, k;
    if (!json_is_array(resources)) {
        trail_left_out(&o->all, line, "no spans", cf_str_make("", 0));
        return;
    }
    json_array_foreach(resources, i, resource)
    {
        json_t *attributes = json_object();
        add_attributes(attributes, trail_get(resource, "resource", "attributes", NULL),
                       &o->all.failed);
        cf_str version = trail_json_str(&o->all, attributes, "service.version");
        json_array_foreach(json_object_get(resource, "scopeSpans"), j, scope)
        {
            json_array_foreach(json_object_get(scope, "spans"), k, one)
            {
                read_span(o, one, version, line);
            }
        }
        json_decref(attributes);
    }
}

static void find_parents(otel *o)
{
    for (size_t i = 0; i < o->n; i++) {
        o->v[i].up = trail_find(&o->ids, o->v[i].parent);
    }
}

/* The nearest span above one with an operation; TRAIL_NONE: none.  Parents may
 * be cyclic, so the walk has an end. */
static size_t above(const otel *o, size_t at, const char *op)
{
    enum { DEPTH = 200 };
    size_t up = o->v[at].up;
    for (int i = 0; i < DEPTH && up != TRAIL_NONE; i++) {
        if (cf_str_is(o->v[up].op, op)) {
            return up;
        }
        up = o->v[up].up;
    }
    return TRAIL_NONE;
}

/* The agent that a span belongs to: the outermost is the main one. */
static size_t agent_of(const otel *o, size_t at)
{
    size_t its = above(o, at, "invoke_agent");
    return its != TRAIL_NONE && above(o, its, "invoke_agent") != TRAIL_NONE ? its : TRAIL_NONE;
}

/* Conversations are named by the span, one above it, or any of its trace. */
static void name_conversations(otel *o)
{
    trail_index traces = {0};
    for (size_t i = 0; i < o->n; i++) {
        if (o->v[i].conversation.n != 0 && trail_find(&traces, o->v[i].trace) == TRAIL_NONE) {
            trail_put(&o->all, &traces, o->v[i].trace, i);
        }
    }
    for (size_t i = 0; i < o->n; i++) {
        span *s = &o->v[i];
        size_t at = i;
        for (int k = 0; k < 100 && at != TRAIL_NONE && s->conversation.n == 0; k++) {
            s->conversation = o->v[at].conversation;
            at = o->v[at].up;
        }
        at = trail_find(&traces, s->trace);
        if (s->conversation.n == 0) {
            s->conversation = at != TRAIL_NONE ? o->v[at].conversation : s->trace;
        }
    }
    trail_index_free(&traces);
}

/* ---- messages ------------------------------------------------------------ */

static bool is_image(const json_t *part)
{
    return trail_is(part, "modality", "image") ||
           cf_str_begins(cf_json_get_str(part, "mime_type"), "image/");
}

static bool is_part(cf_str type)
{
    static const char *const types[] = {"text", "reasoning", "tool_call", "tool_call_response",
                                        "blob", "uri",       "file",      NULL};
    return trail_is_one_of(type, types);
}

/* Text, reasoning, calls and pictures of parts; *has_any: something that is no
 * result was there. */
static void read_parts(otel *o, cf_trail_message *m, const json_t *parts, uint64_t line,
                       bool *has_any)
{
    trail_reader *r = &o->r;
    trail_text text = {CF_BUF_INIT, false}, thinking = {CF_BUF_INIT, false};
    size_t i;
    const json_t *part;
    json_array_foreach(parts, i, part)
    {
        cf_str type = cf_json_get_str(part, "type");
        if (cf_str_is(type, "text")) {
            trail_join(&text, cf_json_get_str(part, "content"));
        } else if (cf_str_is(type, "reasoning")) {
            trail_join(&thinking, cf_json_get_str(part, "content"));
        } else if (cf_str_is(type, "tool_call")) {
            trail_call(r, m, trail_json_str(r, part, "id"), trail_json_str(r, part, "name"),
                       trail_arguments(r, json_object_get(part, "arguments")));
        } else if (!is_part(type)) {
            trail_left_out(r, line, "unknown part ", type);
        }
        m->n_images += is_image(part);
        *has_any = *has_any || !cf_str_is(type, "tool_call_response");
    }
    m->text = trail_joined(r, &text);
    m->thinking = trail_joined(r, &thinking);
}

static cf_trail_role role_of(cf_str role)
{
    return cf_str_is(role, "assistant")                                ? CF_TRAIL_ASSISTANT
           : cf_str_is(role, "tool")                                   ? CF_TRAIL_TOOL
           : cf_str_is(role, "system") || cf_str_is(role, "developer") ? CF_TRAIL_SYSTEM
                                                                       : CF_TRAIL_USER;
}

static bool is_same(const cf_trail_message *a, const cf_trail_message *b)
{
    if (a->role != b->role || a->n_calls != b->n_calls || a->n_images != b->n_images ||
        !cf_str_eq(a->text, b->text) || !cf_str_eq(a->call_id, b->call_id)) {
        return false;
    }
    for (size_t i = 0; i < a->n_calls; i++) {
        if (!cf_str_eq(a->calls[i].id, b->calls[i].id) ||
            !cf_str_eq(a->calls[i].name, b->calls[i].name) ||
            !cf_str_eq(a->calls[i].arguments, b->calls[i].arguments)) {
            return false;
        }
    }
    return true;
}

/* ---- requests ------------------------------------------------------------ */

/* A request while its input is compared with the history. */
typedef struct request {
    otel *o;
    history *h;
    const span *s;
    cf_trail_message **sent; /* [n], heap: what it sent, printed before or to be */
    bool *is_new;            /* [n] */
    size_t n, cap, cap_new;
    size_t n_common;         /* how much of the history it begins with */
    cf_trail_message **bare; /* [n_bare], heap: replies that lost their reasoning */
    size_t n_bare, cap_bare;
    trail_index places; /* keys of messages -> places in the history */
    cf_arena keys;
} request;

/* A key that messages which are the same share. */
static cf_str key_of(request *q, const cf_trail_message *m)
{
    char hex[CF_HASH_TEXT + 1];
    cf_buf b = CF_BUF_INIT;
    cf_buf_addf(&b, "%d %zu %zu ", (int)m->role, m->n_calls, m->text.n);
    cf_buf_add(&b, m->text.p, m->text.n);
    cf_buf_add(&b, m->call_id.p, m->call_id.n);
    for (size_t i = 0; i < m->n_calls; i++) {
        cf_buf_add(&b, m->calls[i].arguments.p, m->calls[i].arguments.n);
    }
    q->o->r.failed = q->o->r.failed || b.failed;
    cf_hash_hex(hex, b.p, b.n);
    cf_buf_deinit(&b);
    const char *p = cf_arena_strndup(&q->keys, hex, CF_HASH_TEXT);
    return cf_str_make(p, p != NULL ? CF_HASH_TEXT : 0);
}

/* The message of the history that `m`, the next one sent, is; NULL: none. */
static cf_trail_message *known(request *q, const cf_trail_message *m)
{
    const history *h = q->h;
    if (q->n == q->n_common && q->n < h->n && is_same(h->v[q->n], m)) {
        return h->v[q->n];
    }
    /* From here on the request differs from the history. */
    if (q->places.size == 0) {
        for (size_t i = h->n; i-- > q->n_common;) {
            trail_put(&q->o->r, &q->places, key_of(q, h->v[i]), i);
        }
    }
    size_t at = q->places.size != 0 ? trail_find(&q->places, key_of(q, m)) : TRAIL_NONE;
    return at != TRAIL_NONE && is_same(h->v[at], m) ? h->v[at] : NULL;
}

static void send(request *q, cf_trail_message *m, cf_arena_mark mark)
{
    otel *o = q->o;
    cf_trail_message *before = known(q, m);
    bool is_next =
        before != NULL && q->n == q->n_common && q->n < q->h->n && before == q->h->v[q->n];
    bool is_bare = before != NULL && before->thinking.n != 0 && m->thinking.n == 0;
    if (!cf_grow(&q->sent, &q->cap, q->n + 1, sizeof *q->sent) ||
        !cf_grow(&q->is_new, &q->cap_new, q->n + 1, sizeof *q->is_new) ||
        !cf_grow(&q->bare, &q->cap_bare, q->n_bare + 1, sizeof *q->bare)) {
        o->r.failed = true;
        return;
    }
    if (before != NULL) {
        cf_arena_release(&o->r.t->arena, mark);
    }
    q->sent[q->n] = before != NULL ? before : m;
    q->is_new[q->n++] = before == NULL;
    q->n_common += is_next;
    if (is_bare) {
        q->bare[q->n_bare++] = before;
    }
}

static cf_trail_message *new_message(request *q, cf_arena_mark *mark, cf_trail_role role)
{
    *mark = cf_arena_get_mark(&q->o->r.t->arena);
    cf_trail_message *m = trail_alloc(&q->o->r, 1, sizeof *m);
    if (m != NULL) {
        m->role = role;
        m->time_ms = q->s->start_ns / 1000000;
    }
    return m;
}

static void send_results(request *q, const json_t *parts)
{
    trail_reader *r = &q->o->r;
    size_t i;
    const json_t *part;
    json_array_foreach(parts, i, part)
    {
        cf_arena_mark mark;
        cf_trail_message *m;
        if (!trail_is(part, "type", "tool_call_response") ||
            (m = new_message(q, &mark, CF_TRAIL_TOOL)) == NULL) {
            continue;
        }
        const json_t *response = json_object_get(part, "response");
        m->text =
            trail_value_text(r, response != NULL ? response : json_object_get(part, "result"));
        m->call_id = trail_json_str(r, part, "id");
        m->is_error = trail_find(&q->o->failed, m->call_id) != TRAIL_NONE;
        send(q, m, mark);
    }
}

static void send_one(request *q, const json_t *v, cf_trail_role role)
{
    const json_t *parts = json_object_get(v, "parts");
    bool has_any = json_array_size(parts) == 0;
    cf_arena_mark mark;
    send_results(q, parts);
    cf_trail_message *m = new_message(q, &mark, role);
    if (m != NULL) {
        size_t n_left = q->o->r.t->n_left_out;
        read_parts(q->o, m, parts, q->s->line, &has_any);
        if (has_any && (role != CF_TRAIL_TOOL || m->text.n != 0)) {
            send(q, m, mark);
        }
        /* What a repeated message leaves out was said the first time. */
        if (q->n != 0 && !q->is_new[q->n - 1]) {
            q->o->r.t->n_left_out = n_left;
        }
    }
}

static void send_input(request *q)
{
    otel *o = q->o;
    json_t *system =
        structure_of(o, json_object_get(q->s->attributes, "gen_ai.system_instructions"));
    json_t *input = structure_of(o, json_object_get(q->s->attributes, "gen_ai.input.messages"));
    size_t i;
    json_t *one;
    if (json_array_size(system) != 0) {
        json_t *v = json_pack("{s:O}", "parts", system);
        o->r.failed = o->r.failed || v == NULL;
        send_one(q, v, CF_TRAIL_SYSTEM);
        json_decref(v);
    }
    json_array_foreach(input, i, one)
    {
        send_one(q, one, role_of(cf_json_get_str(one, "role")));
    }
    json_decref(system);
    json_decref(input);
}

/* Prints what the request sent anew; the history is then what it sent. */
static void put_input(request *q)
{
    history *h = q->h;
    trail_lane *lane = h->lane;
    if (q->n == 0) {
        return;
    }
    if (q->n_common < h->n) {
        cf_trail_compaction *c = trail_compaction(&q->o->r, lane);
        for (size_t i = 0; i < q->n; i++) {
            bool is_kept = !q->is_new[i] && q->sent[i]->role != CF_TRAIL_SYSTEM;
            if (is_kept && !trail_kept(&q->o->r, c, q->sent[i]->text)) {
                break;
            }
        }
    }
    for (size_t i = 0; i < q->n; i++) {
        if (q->is_new[i]) {
            trail_add_message(&q->o->r, lane, q->sent[i]);
            if (q->sent[i]->role == CF_TRAIL_TOOL) {
                trail_put(&q->o->r, &q->o->results, q->sent[i]->call_id, 1);
            }
        }
    }
    cf_free(h->v);
    h->v = q->sent;
    h->n = q->n;
    h->cap = q->cap;
    q->sent = NULL;
}

static cf_str stop_of(otel *o, const span *s, const json_t *output)
{
    const json_t *reasons = json_object_get(s->attributes, "gen_ai.response.finish_reasons");
    const json_t *first = json_is_array(reasons) ? json_array_get(reasons, 0) : reasons;
    cf_str stop = trail_value_text(&o->r, first);
    return stop.n != 0 ? stop : trail_json_str(&o->r, output, "finish_reason");
}

static void put_usage(request *q, cf_trail_message *reply, cf_str model, const json_t *output)
{
    const json_t *u = q->s->attributes;
    cf_trail_step *s = trail_step(&q->o->r, q->h->lane, reply);
    s->cache_read = trail_int(u, "gen_ai.usage.cache_read.input_tokens");
    s->cache_creation = trail_int(u, "gen_ai.usage.cache_creation.input_tokens");
    s->input = trail_int(u, "gen_ai.usage.input_tokens") - s->cache_read - s->cache_creation;
    s->output = trail_int(u, "gen_ai.usage.output_tokens");
    s->reasoning = trail_int(u, "gen_ai.usage.reasoning.output_tokens");
    s->stop = stop_of(q->o, q->s, output);
    s->model = model;
    cf_trail_message **bare = trail_alloc(&q->o->r, q->n_bare + 1, sizeof *bare);
    if (bare != NULL && q->n_bare != 0) {
        memcpy(bare, q->bare, q->n_bare * sizeof *bare);
        s->not_returned = bare;
        s->n_not_returned = q->n_bare;
    }
}

static void put_reply(request *q)
{
    otel *o = q->o;
    trail_reader *r = &o->r;
    const span *s = q->s;
    json_t *outputs = structure_of(o, json_object_get(s->attributes, "gen_ai.output.messages"));
    const json_t *output = json_array_get(outputs, 0);
    bool has_any, is_failed = output == NULL && s->is_failed;
    cf_trail_message *m = NULL;
    cf_str model = attribute(s, "gen_ai.response.model");
    model = trail_copy(r, model.n != 0 ? model : attribute(s, "gen_ai.request.model"));
    trail_model(r, model);
    if (output != NULL || is_failed) {
        m = trail_message(r, q->h->lane, CF_TRAIL_ASSISTANT);
        m->model = model;
        m->time_ms = s->end_ns / 1000000;
        m->is_error = is_failed;
        read_parts(o, m, json_object_get(output, "parts"), s->line, &has_any);
    }
    if (is_failed) {
        cf_str why = attribute(s, "error.type");
        m->text = trail_copy(r, why.n != 0 ? why : s->status_text);
    } else {
        put_usage(q, m, model, output);
    }
    for (size_t i = 1; i < json_array_size(outputs); i++) {
        trail_left_out(r, s->line, "another choice", cf_str_make("", 0));
    }
    if (m != NULL && !is_failed) {
        if (cf_grow(&q->h->v, &q->h->cap, q->h->n + 1, sizeof *q->h->v)) {
            q->h->v[q->h->n++] = m;
        } else {
            r->failed = true;
        }
    }
    json_decref(outputs);
}

/* ---- sessions ------------------------------------------------------------ */

static history *history_of(otel *o, size_t agent)
{
    size_t place = agent != TRAIL_NONE ? o->v[agent].history : 0;
    if (place < o->n_agents && o->agents[place].span == agent) {
        return &o->agents[place];
    }
    if (!cf_grow(&o->agents, &o->cap_agents, o->n_agents + 1, sizeof *o->agents)) {
        o->r.failed = true;
        return NULL;
    }
    trail_reader *r = &o->r;
    history *h = &o->agents[o->n_agents++];
    *h = (history){.span = agent};
    if (agent == TRAIL_NONE) {
        h->lane = trail_add_lane(r, cf_str_make("", 0));
        return h;
    }
    span *s = &o->v[agent];
    s->history = o->n_agents - 1;
    size_t tool = above(o, agent, "execute_tool");
    h->lane = trail_add_lane(r, trail_copy(r, s->id));
    cf_trail_agent *a = trail_agent(r, h->lane, h->lane->agent);
    a->title = trail_copy(r, attribute(s, "gen_ai.agent.name"));
    if (tool != TRAIL_NONE) {
        a->parent_call = trail_copy(r, attribute(&o->v[tool], "gen_ai.tool.call.id"));
    }
    h->lane->parent_call = a->parent_call;
    return h;
}

static void put_request(otel *o, size_t at)
{
    request q = {.o = o, .h = history_of(o, o->v[at].agent), .s = &o->v[at]};
    if (q.h != NULL) {
        send_input(&q);
        put_input(&q);
        put_reply(&q);
    }
    cf_free(q.sent);
    cf_free(q.is_new);
    cf_free(q.bare);
    o->r.failed = o->r.failed || q.keys.failed;
    trail_index_free(&q.places);
    cf_arena_deinit(&q.keys);
}

/* A result that no request told. */
static void put_result(otel *o, size_t at)
{
    const span *s = &o->v[at];
    const json_t *result = json_object_get(s->attributes, "gen_ai.tool.call.result");
    cf_str id = attribute(s, "gen_ai.tool.call.id");
    if (result == NULL || trail_find(&o->results, id) != TRAIL_NONE) {
        return;
    }
    history *h = history_of(o, s->agent);
    if (h == NULL) {
        return;
    }
    cf_trail_message *m = trail_message(&o->r, h->lane, CF_TRAIL_TOOL);
    m->text = trail_value_text(&o->r, result);
    m->call_id = trail_copy(&o->r, id);
    m->is_error = s->is_failed;
    m->time_ms = s->end_ns / 1000000;
    trail_put(&o->r, &o->results, m->call_id, 1);
}

static bool is_request(cf_str op)
{
    return cf_str_is(op, "chat") || cf_str_is(op, "generate_content") ||
           cf_str_is(op, "text_completion");
}

/* What a span of the session is besides a request or a result. */
static void note_span(otel *o, const span *s)
{
    static const char *const noise[] = {
        "", "invoke_agent", "embeddings", "create_agent", "invoke_workflow", "execute_tool", NULL};
    cf_trail *t = o->r.t;
    t->version = t->version.n != 0 ? t->version : trail_copy(&o->r, s->version);
    if (s->is_again) {
        trail_left_out(&o->r, s->line, "duplicate", cf_str_make("", 0));
        return;
    }
    trail_seen(&o->r, s->start_ns / 1000000);
    trail_seen(&o->r, s->end_ns / 1000000);
    if (!is_request(s->op) && !trail_is_one_of(s->op, noise)) {
        trail_left_out(&o->r, s->line, "span ", s->op);
    }
    if (cf_str_is(s->op, "execute_tool") && s->is_failed) {
        trail_put(&o->r, &o->failed, attribute(s, "gen_ai.tool.call.id"), 1);
    }
}

static void free_session(otel *o)
{
    for (size_t i = 0; i < o->n_agents; i++) {
        cf_free(o->agents[i].v);
    }
    o->n_agents = 0;
    trail_index_free(&o->results);
    trail_index_free(&o->failed);
}

static int by_line(const void *a, const void *b)
{
    const cf_trail_left_out *x = a, *y = b;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* The spans of one conversation, by[0..n) in the order of their starts. */
static cf_status put_session(otel *o, const size_t *by, size_t n, const char *path, bool is_first,
                             cf_trails *out, cf_error *err)
{
    CF_TRY(trail_begin(&o->r, "otel", path, err));
    o->r.t->id = trail_copy(&o->r, o->v[by[0]].conversation);
    (void)history_of(o, TRAIL_NONE);
    for (size_t i = 0; i < n; i++) {
        note_span(o, &o->v[by[i]]);
    }
    for (size_t i = 0; is_first && i < o->all.t->n_left_out; i++) {
        trail_left_out(&o->r, o->all.t->left_out[i].line, "", o->all.t->left_out[i].why);
    }
    for (size_t i = 0; i < n; i++) {
        if (is_request(o->v[by[i]].op) && !o->v[by[i]].is_again) {
            put_request(o, by[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (cf_str_is(o->v[by[i]].op, "execute_tool") && !o->v[by[i]].is_again) {
            put_result(o, by[i]);
        }
    }
    cf_trail *t = o->r.t;
    if (t->n_left_out > 1) {
        qsort(t->left_out, t->n_left_out, sizeof *t->left_out, by_line);
    }
    trail_order(&o->r);
    free_session(o);
    return trail_finish(&o->r, out, err);
}

/* qsort has no argument: the spans themselves are sorted, and ids found anew. */
static int by_conversation(const void *a, const void *b)
{
    const span *x = a, *y = b;
    if (x->agent != y->agent) {
        return x->agent < y->agent ? -1 : 1;
    }
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Sorts the spans by conversation, in the order of their first spans, and by
 * start; `agent` is the conversation's number meanwhile. */
static void sort_spans(otel *o)
{
    trail_index first = {0};
    for (size_t i = 0; i < o->n; i++) {
        size_t at = trail_find(&first, o->v[i].conversation);
        if (at == TRAIL_NONE) {
            trail_put(&o->all, &first, o->v[i].conversation, i);
        }
        o->v[i].agent = at == TRAIL_NONE ? i : at;
    }
    trail_index_free(&first);
    qsort(o->v, o->n, sizeof *o->v, by_conversation);
    for (size_t i = 0; i < o->n; i++) {
        if (!o->v[i].is_again) {
            trail_put(&o->all, &o->ids, o->v[i].id, i);
        }
    }
    find_parents(o);
    for (size_t i = 0; i < o->n; i++) {
        o->v[i].agent = agent_of(o, i);
    }
}

static cf_status put_sessions(otel *o, const char *path, cf_trails *out, cf_error *err)
{
    size_t *by = cf_alloc((o->n + 1) * sizeof *by);
    if (by == NULL || o->all.failed || o->all.t->arena.failed) {
        cf_free(by);
        return cf_oom(err);
    }
    find_parents(o);
    name_conversations(o);
    sort_spans(o);
    cf_status st = o->n == 0 ? cf_fail(err, CF_EFORMAT, "%s: no spans of GenAI", path) : CF_OK;
    for (size_t from = 0, to; st == CF_OK && from < o->n; from = to) {
        size_t n = 0;
        for (to = from; to < o->n && cf_str_eq(o->v[to].conversation, o->v[from].conversation);
             to++) {
            by[n++] = to;
        }
        st = put_session(o, by, n, path, from == 0, out, err);
    }
    cf_free(by);
    return st;
}

cf_status trail_read_otel(cf_trails *out, const char *path, cf_str text,
                          const cf_trail_options *opts, cf_error *err)
{
    otel o = {0};
    json_t *v = NULL;
    CF_TRY(trail_begin(&o.all, "otel", path, err));
    cf_status st = trail_parse(&v, text, err);
    if (st == CF_OK) {
        read_document(&o, v, 1);
        json_decref(v);
    } else if (st == CF_EFORMAT) {
        st = trail_each_line(&o.all, text, opts, read_document, &o, err);
    }
    CF_THEN(st, put_sessions(&o, path, out, err));
    for (size_t i = 0; i < o.n; i++) {
        json_decref(o.v[i].attributes);
    }
    cf_free(o.v);
    cf_free(o.agents);
    trail_index_free(&o.ids);
    trail_drop(&o.all);
    return st;
}

cf_status cf_trails_read_otel(cf_trails *out, cf_str text, cf_error *err)
{
    *out = (cf_trails){0};
    cf_status st = trail_read_otel(out, "", text, &(cf_trail_options){0}, err);
    if (st != CF_OK) {
        cf_trails_deinit(out);
    }
    return st;
}
