/*
 * trail_otel.c - OpenTelemetry's GenAI spans, as OTLP writes them in JSON.
 */
#include <stdlib.h>

#include "core/json/json_builder.h"
#include "storage/trail/trail_parts.h"
#include "storage/trail/trail_talk.h"

typedef struct span {
    cf_str id, parent, trace, op, conversation;
    const json_t *attributes; /* with those of its events */
    cf_str status_text, version;
    int64_t start_ns, end_ns;
    uint64_t line;
    size_t order, up; /* up: place of the parent; TRAIL_NONE: none */
    size_t agent;     /* place of the invoke_agent span; TRAIL_NONE: the main one */
    trail_talk talk;  /* of an agent: its history */
    bool is_failed, is_again;
} span;

typedef struct otel {
    trail_reader r;   /* of the session at hand; its arena holds the strings */
    trail_reader all; /* holds the spans, and what lines are left out */
    span *v;          /* [n] */
    size_t n;
    trail_index ids;
    trail_talk main;     /* the history of the main agent */
    trail_index results; /* call ids whose results are in the output */
    trail_index failed;  /* call ids whose spans failed */
} otel;

/* ---- values -------------------------------------------------------------- */

enum { VALUE_DEPTH = CF_JB_DEPTH_MAX - 2 };

static const char *key_of(const json_t *pair)
{
    const char *key = json_string_value(json_object_get(pair, "key"));
    return key != NULL ? key : "";
}

/* An attribute's value as JSON; null for one of no known kind. */
static void put_value(cf_jb *b, const char *key, const json_t *v, int depth)
{
    static const char *const plain[] = {"stringValue", "boolValue", "doubleValue"};
    const json_t *x = NULL, *number = json_object_get(v, "intValue"), *one;
    size_t i;
    for (i = 0; i < 3 && x == NULL; i++) {
        x = json_object_get(v, plain[i]);
    }
    x = x == NULL && !json_is_string(number) ? number : x;
    if (depth > VALUE_DEPTH) {
        cf_jb_null(b, key);
    } else if (x != NULL) {
        cf_jb_add(b, key, x);
    } else if (number != NULL) {
        cf_jb_int(b, key, strtoll(json_string_value(number), NULL, 10));
    } else if (json_is_object(json_object_get(v, "arrayValue"))) {
        cf_jb_array(b, key);
        json_array_foreach(trail_get(v, "arrayValue", "values", NULL), i, one)
        {
            put_value(b, NULL, one, depth + 1);
        }
        cf_jb_end(b);
    } else if (json_is_object(json_object_get(v, "kvlistValue"))) {
        cf_jb_object(b, key);
        json_array_foreach(trail_get(v, "kvlistValue", "values", NULL), i, one)
        {
            put_value(b, key_of(one), json_object_get(one, "value"), depth + 1);
        }
        cf_jb_end(b);
    } else {
        cf_jb_null(b, key);
    }
}

static void put_attributes(cf_jb *b, const json_t *list)
{
    size_t i;
    const json_t *one;
    json_array_foreach(list, i, one)
    {
        put_value(b, key_of(one), json_object_get(one, "value"), 0);
    }
}

static cf_str attribute(const span *s, const char *key)
{
    return cf_json_get_str(s->attributes, key);
}

/* Messages are values, or JSON in a string.  Owned. */
static json_t *structure_of(otel *o, const span *s, const char *key)
{
    json_t *inner = NULL;
    const json_t *v = json_object_get(s->attributes, key);
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
    cf_jb b = CF_JB_INIT;
    size_t i;
    cf_jb_object(&b, NULL);
    put_attributes(&b, json_object_get(v, "attributes"));
    json_array_foreach(json_object_get(v, "events"), i, one)
    {
        put_attributes(&b, json_object_get(one, "attributes"));
    }
    cf_jb_end(&b);
    r->failed = r->failed || b.failed;
    span *s = trail_push(&r->scratch, &o->v, &o->n, sizeof *s);
    *s = (span){.id = trail_json_str(r, v, "spanId"),
                .parent = trail_json_str(r, v, "parentSpanId"),
                .trace = trail_json_str(r, v, "traceId"),
                .status_text = trail_json_str(r, status, "message"),
                .version = version,
                .attributes = b.failed ? NULL : trail_hold(r, b.root),
                .start_ns = ns_of(v, "startTimeUnixNano"),
                .end_ns = ns_of(v, "endTimeUnixNano"),
                .line = line,
                .order = o->n - 1,
                .agent = TRAIL_NONE};
    cf_jb_deinit(&b);
    s->is_failed = trail_int(status, "code") == 2 || trail_is(status, "code", "STATUS_CODE_ERROR");
    s->op = attribute(s, "gen_ai.operation.name");
    s->conversation = attribute(s, "gen_ai.conversation.id");
    s->is_again = trail_find(&o->ids, s->id) != TRAIL_NONE;
    if (!s->is_again) {
        trail_put(&r->scratch, &o->ids, s->id, s->order);
    }
}

static void read_document(void *reader, json_t *v, uint64_t line)
{
    otel *o = reader;
    const json_t *resources = json_object_get(v, "resourceSpans"), *resource, *scope, *one;
    size_t i, j, k;
    if (!json_is_array(resources)) {
        trail_left_out(&o->all, line, "no spans", cf_str_make(NULL, 0));
        return;
    }
    json_array_foreach(resources, i, resource)
    {
        cf_jb b = CF_JB_INIT;
        cf_jb_object(&b, NULL);
        put_attributes(&b, trail_get(resource, "resource", "attributes", NULL));
        cf_jb_end(&b);
        o->all.failed = o->all.failed || b.failed;
        cf_str version = trail_json_str(&o->all, b.root, "service.version");
        cf_jb_deinit(&b);
        json_array_foreach(json_object_get(resource, "scopeSpans"), j, scope)
        {
            json_array_foreach(json_object_get(scope, "spans"), k, one)
            {
                read_span(o, one, version, line);
            }
        }
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
            trail_put(&o->all.scratch, &traces, o->v[i].trace, i);
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
}

/* ---- messages ------------------------------------------------------------ */

/* Text, reasoning, calls and pictures of parts; *has_any: something that is no
 * result was there. */
static void read_parts(otel *o, cf_trail_message *m, const json_t *parts, uint64_t line,
                       bool *has_any)
{
    static const trail_part kinds[] = {{"text", TRAIL_PART_TEXT, "content"},
                                       {"reasoning", TRAIL_PART_THINKING, "content"},
                                       {"tool_call", TRAIL_PART_CALL, "arguments"},
                                       {"tool_call_response", TRAIL_PART_NOTHING, ""},
                                       {"blob", TRAIL_PART_NOTHING, ""},
                                       {"uri", TRAIL_PART_NOTHING, ""},
                                       {"file", TRAIL_PART_NOTHING, ""},
                                       {.type = NULL}};
    trail_texts t = TRAIL_TEXTS_INIT;
    size_t i;
    const json_t *part;
    json_array_foreach(parts, i, part)
    {
        cf_str type = cf_json_get_str(part, "type");
        if (!trail_part_read(&o->r, &t, m, part, kinds)) {
            trail_left_out(&o->r, line, "unknown part ", type);
        }
        *has_any = *has_any || !cf_str_is(type, "tool_call_response");
    }
    trail_joined(&o->r, &t, m);
}

static cf_trail_role role_of(cf_str role)
{
    return cf_str_is(role, "assistant")                                ? CF_TRAIL_ASSISTANT
           : cf_str_is(role, "tool")                                   ? CF_TRAIL_TOOL
           : cf_str_is(role, "system") || cf_str_is(role, "developer") ? CF_TRAIL_SYSTEM
                                                                       : CF_TRAIL_USER;
}

/* ---- requests ------------------------------------------------------------ */

static cf_trail_message *new_message(trail_request *q, const span *s, cf_arena_mark *mark,
                                     cf_trail_role role)
{
    *mark = cf_arena_get_mark(&q->r->t->arena);
    cf_trail_message *m = cf_arena_calloc(&q->r->t->arena, 1, sizeof *m);
    if (m != NULL) {
        m->role = role;
        m->time_ms = s->start_ns / 1000000;
    }
    return m;
}

static void send_results(otel *o, trail_request *q, const span *s, const json_t *parts)
{
    trail_reader *r = q->r;
    size_t i;
    const json_t *part;
    json_array_foreach(parts, i, part)
    {
        cf_arena_mark mark;
        cf_trail_message *m;
        if (!trail_is(part, "type", "tool_call_response") ||
            (m = new_message(q, s, &mark, CF_TRAIL_TOOL)) == NULL) {
            continue;
        }
        const json_t *response = json_object_get(part, "response");
        m->text =
            trail_value_text(r, response != NULL ? response : json_object_get(part, "result"));
        m->call_id = trail_json_str(r, part, "id");
        m->is_error = trail_find(&o->failed, m->call_id) != TRAIL_NONE;
        if (trail_send(q, m, &mark)) {
            trail_put(&r->scratch, &o->results, m->call_id, 1);
        }
    }
}

static void send_parts(otel *o, trail_request *q, const span *s, const json_t *parts,
                       cf_trail_role role)
{
    bool has_any = json_array_size(parts) == 0;
    cf_arena_mark mark;
    send_results(o, q, s, parts);
    size_t n_left = q->r->n_left_out;
    cf_trail_message *m = new_message(q, s, &mark, role);
    if (m == NULL) {
        return;
    }
    read_parts(o, m, parts, s->line, &has_any);
    if (!has_any || (role == CF_TRAIL_TOOL && m->text.n == 0)) {
        return;
    }
    if (!trail_send(q, m, &mark)) {
        q->r->n_left_out = n_left; /* what a repeated message leaves out was said before */
    }
}

static void send_input(otel *o, trail_request *q, const span *s)
{
    json_t *system = structure_of(o, s, "gen_ai.system_instructions");
    json_t *input = structure_of(o, s, "gen_ai.input.messages");
    size_t i;
    const json_t *one;
    if (json_array_size(system) != 0) {
        send_parts(o, q, s, system, CF_TRAIL_SYSTEM);
    }
    json_array_foreach(input, i, one)
    {
        send_parts(o, q, s, json_object_get(one, "parts"), role_of(cf_json_get_str(one, "role")));
    }
    json_decref(system);
    json_decref(input);
}

static void put_usage(otel *o, trail_request *q, const span *s, cf_trail_message *reply,
                      cf_str model, const json_t *output)
{
    static const trail_usage_keys keys = {"gen_ai.usage.input_tokens",
                                          "gen_ai.usage.cache_read.input_tokens",
                                          "gen_ai.usage.cache_creation.input_tokens",
                                          "gen_ai.usage.output_tokens",
                                          "gen_ai.usage.reasoning.output_tokens",
                                          .has_cache = true};
    const json_t *reasons = json_object_get(s->attributes, "gen_ai.response.finish_reasons");
    const json_t *first = json_is_array(reasons) ? json_array_get(reasons, 0) : reasons;
    cf_trail_step *step = trail_request_step(q, reply);
    step->used = trail_usage(s->attributes, &keys);
    step->stop = trail_value_text(&o->r, first);
    trail_fill(&o->r, &step->stop, output, "finish_reason");
    step->model = model;
}

static void put_reply(otel *o, trail_request *q, const span *s)
{
    trail_reader *r = &o->r;
    json_t *outputs = structure_of(o, s, "gen_ai.output.messages");
    const json_t *output = json_array_get(outputs, 0);
    bool has_any = false, is_failed = output == NULL && s->is_failed;
    cf_trail_message *m = NULL;
    cf_str model = trail_json_str(r, s->attributes, "gen_ai.response.model");
    trail_fill(r, &model, s->attributes, "gen_ai.request.model");
    trail_model(r, model);
    if (output != NULL || is_failed) {
        m = trail_message(r, q->talk->lane, CF_TRAIL_ASSISTANT);
        m->model = model;
        m->time_ms = s->end_ns / 1000000;
        m->is_error = is_failed;
        read_parts(o, m, json_object_get(output, "parts"), s->line, &has_any);
    }
    if (is_failed) {
        trail_fill(r, &m->text, s->attributes, "error.type");
        m->text = m->text.n != 0 ? m->text : trail_copy(r, s->status_text);
    } else {
        put_usage(o, q, s, m, model, output);
    }
    for (size_t i = 1; i < json_array_size(outputs); i++) {
        trail_left_out(r, s->line, "another choice", cf_str_make(NULL, 0));
    }
    json_decref(outputs);
}

/* ---- sessions ------------------------------------------------------------ */

/* The history of the agent that a span belongs to. */
static trail_talk *talk_of(otel *o, size_t agent)
{
    trail_reader *r = &o->r;
    if (agent == TRAIL_NONE) {
        return &o->main;
    }
    span *s = &o->v[agent];
    if (s->talk.lane == NULL) {
        size_t tool = above(o, agent, "execute_tool");
        s->talk.lane = trail_add_agent(r, trail_copy(r, s->id),
                                       trail_json_str(r, s->attributes, "gen_ai.agent.name"));
        if (tool != TRAIL_NONE) {
            trail_fill(r, &s->talk.lane->begun->parent_call, o->v[tool].attributes,
                       "gen_ai.tool.call.id");
        }
    }
    return &s->talk;
}

static void put_request(otel *o, const span *s)
{
    trail_request q = {.r = &o->r, .talk = talk_of(o, s->agent)};
    send_input(o, &q, s);
    trail_request_put(&q);
    put_reply(o, &q, s);
    trail_request_end(&q);
}

/* A result that no request told. */
static void put_result(otel *o, const span *s)
{
    const json_t *result = json_object_get(s->attributes, "gen_ai.tool.call.result");
    cf_str id = trail_json_str(&o->r, s->attributes, "gen_ai.tool.call.id");
    if (result == NULL || trail_find(&o->results, id) != TRAIL_NONE) {
        return;
    }
    cf_trail_message *m = trail_message(&o->r, talk_of(o, s->agent)->lane, CF_TRAIL_TOOL);
    m->text = trail_value_text(&o->r, result);
    m->call_id = id;
    m->is_error = s->is_failed;
    m->time_ms = s->end_ns / 1000000;
    trail_put(&o->r.scratch, &o->results, id, 1);
}

static bool is_request(cf_str op)
{
    static const char *const ops[] = {"chat", "generate_content", "text_completion", NULL};
    return trail_is_one_of(op, ops);
}

/* What a span of the session is besides a request or a result. */
static void note_span(otel *o, const span *s)
{
    static const char *const noise[] = {
        "", "invoke_agent", "embeddings", "create_agent", "invoke_workflow", "execute_tool", NULL};
    cf_trail *t = o->r.t;
    t->version = t->version.n != 0 ? t->version : trail_copy(&o->r, s->version);
    if (s->is_again) {
        trail_left_out(&o->r, s->line, "duplicate", cf_str_make(NULL, 0));
        return;
    }
    trail_seen(&o->r, s->start_ns / 1000000);
    trail_seen(&o->r, s->end_ns / 1000000);
    if (!is_request(s->op) && !trail_is_one_of(s->op, noise)) {
        trail_left_out(&o->r, s->line, "span ", s->op);
    }
    if (cf_str_is(s->op, "execute_tool") && s->is_failed) {
        trail_put(&o->r.scratch, &o->failed, attribute(s, "gen_ai.tool.call.id"), 1);
    }
}

static int by_line(const void *a, const void *b)
{
    const cf_trail_left_out *x = a, *y = b;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* The spans of one conversation, v[0..n) in the order of their starts. */
static cf_status put_session(otel *o, const span *v, size_t n, const char *path, cf_trails *out,
                             cf_error *err)
{
    trail_reader *r = &o->r;
    CF_TRY(trail_begin(r, "otel", path, err));
    o->results = o->failed = (trail_index){0};
    r->t->id = trail_copy(r, v->conversation);
    o->main = (trail_talk){.lane = trail_add_lane(r, cf_str_make("", 0))};
    for (size_t i = 0; i < n; i++) {
        note_span(o, &v[i]);
    }
    for (size_t i = 0; v == o->v && i < o->all.n_left_out; i++) {
        trail_left_out(r, o->all.left_out[i].line, "", o->all.left_out[i].why);
    }
    for (size_t i = 0; i < n && !trail_failed(r); i++) {
        if (is_request(v[i].op) && !v[i].is_again) {
            put_request(o, &v[i]);
        }
    }
    for (size_t i = 0; i < n && !trail_failed(r); i++) {
        if (cf_str_is(v[i].op, "execute_tool") && !v[i].is_again) {
            put_result(o, &v[i]);
        }
    }
    if (r->n_left_out > 1) {
        qsort(r->left_out, r->n_left_out, sizeof *r->left_out, by_line);
    }
    trail_order(r);
    return trail_finish(r, CF_OK, out, err);
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
            trail_put(&o->all.scratch, &first, o->v[i].conversation, i);
        }
        o->v[i].agent = at == TRAIL_NONE ? i : at;
    }
    qsort(o->v, o->n, sizeof *o->v, by_conversation);
    for (size_t i = 0; i < o->n; i++) {
        if (!o->v[i].is_again) {
            trail_put(&o->all.scratch, &o->ids, o->v[i].id, i);
        }
    }
    find_parents(o);
    for (size_t i = 0; i < o->n; i++) {
        o->v[i].agent = agent_of(o, i);
    }
}

static cf_status put_sessions(otel *o, const char *path, cf_trails *out, cf_error *err)
{
    if (trail_failed(&o->all)) {
        return cf_oom(err);
    }
    if (o->n == 0) {
        return cf_fail(err, CF_EFORMAT, "%s: no spans of GenAI", path);
    }
    find_parents(o);
    name_conversations(o);
    sort_spans(o);
    cf_status st = CF_OK;
    for (size_t from = 0, to; st == CF_OK && from < o->n; from = to) {
        for (to = from; to < o->n && cf_str_eq(o->v[to].conversation, o->v[from].conversation);) {
            to++;
        }
        st = put_session(o, &o->v[from], to - from, path, out, err);
    }
    return st;
}

cf_status trail_read_otel(cf_trails *out, const trail_source *s, cf_error *err)
{
    otel o = {.n = 0};
    json_t *v = NULL;
    CF_TRY(trail_begin(&o.all, "otel", s->paths[0], err));
    cf_status st = trail_parse(&v, s->text, err);
    if (st == CF_OK) {
        read_document(&o, v, 1);
        json_decref(v);
    } else if (st == CF_EFORMAT) {
        st = trail_each_line(&o.all, s->text, s->opts, read_document, &o, err);
    }
    CF_THEN(st, put_sessions(&o, s->paths[0], out, err));
    trail_drop(&o.all);
    return st;
}

cf_status cf_trails_read_otel(cf_trails *out, cf_str text, cf_error *err)
{
    const char *path = "";
    const trail_source s = {
        .paths = &path, .n = 1, .text = text, .opts = &(cf_trail_options){.cancel = NULL}};
    *out = (cf_trails){0};
    cf_status st = trail_read_otel(out, &s, err);
    if (st != CF_OK) {
        cf_trails_deinit(out);
    }
    return st;
}
