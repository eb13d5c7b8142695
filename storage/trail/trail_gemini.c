/*
 * trail_gemini.c - Gemini CLI's sessions: a journal of a list of messages.
 *
 * Invariants:
 * 1. An entry is one message, by id and type; a later record of it replaces
 *    its fields in its place, but the interface's form, which has neither
 *    tokens nor calls, only adds what is missing.
 * 2. An entry that is not in the list at the end is on a branch that leaves
 *    from the nearest listed entry whose first record came before its own.
 */
#include "core/base/alloc.h"
#include "storage/trail/trail_parts.h"

typedef struct entry {
    json_t *v; /* merged; owned */
    uint64_t line;
    bool is_listed;
    cf_trail_message *last; /* which learns of it; NULL: none */
} entry;

typedef struct gemini {
    trail_reader r;
    entry *v; /* [n], heap, in the order of their first records */
    size_t n, cap;
    size_t *list; /* [n_list], heap */
    size_t n_list, cap_list;
    trail_index ids;
    trail_index results; /* call ids whose results are in the output */
} gemini;

/* The key of an entry: its id and type. */
static cf_str key_of(gemini *g, const json_t *v)
{
    cf_buf b = CF_BUF_INIT;
    cf_str id = cf_json_get_str(v, "id"), type = cf_json_get_str(v, "type");
    cf_buf_add(&b, type.p, type.n);
    cf_buf_addc(&b, ' ');
    cf_buf_add(&b, id.p, id.n);
    return trail_take(&g->r, &b);
}

static void merge(gemini *g, entry *e, const json_t *v)
{
    const char *key;
    json_t *value;
    bool is_less = json_object_get(e->v, "tokens") != NULL && json_object_get(v, "tokens") == NULL;
    is_less = is_less || trail_is(v, "type", "user");
    json_object_foreach(cf_json_ref(v), key, value)
    {
        if (is_less && json_object_get(e->v, key) != NULL) {
            continue;
        }
        g->r.failed = g->r.failed || json_object_set(e->v, key, value) != 0;
    }
}

static bool is_known(cf_str type)
{
    return cf_str_is(type, "user") || cf_str_is(type, "gemini");
}

/* The entry of a record, new or merged; TRAIL_NONE: it is none. */
static size_t entry_of(gemini *g, const json_t *v, uint64_t line)
{
    cf_str type = cf_json_get_str(v, "type"), key = key_of(g, v);
    size_t at = trail_find(&g->ids, key);
    if (at != TRAIL_NONE) {
        trail_seen(&g->r, trail_time(cf_json_get_str(v, "timestamp")));
        merge(g, &g->v[at], v);
        return at;
    }
    if (!is_known(type)) {
        bool is_notice =
            cf_str_is(type, "info") || cf_str_is(type, "warning") || cf_str_is(type, "error");
        trail_left_out(&g->r, line, is_notice ? "" : "unknown type ", type);
        return TRAIL_NONE;
    }
    trail_seen(&g->r, trail_time(cf_json_get_str(v, "timestamp")));
    json_t *copy = cf_json_copy(v);
    if (copy == NULL || !cf_grow(&g->v, &g->cap, g->n + 1, sizeof *g->v)) {
        json_decref(copy);
        g->r.failed = true;
        return TRAIL_NONE;
    }
    g->v[g->n] = (entry){.v = copy, .line = line};
    trail_put(&g->r, &g->ids, key, g->n);
    return g->n++;
}

static void list_add(gemini *g, size_t at)
{
    if (g->v[at].is_listed) {
        return;
    }
    if (!cf_grow(&g->list, &g->cap_list, g->n_list + 1, sizeof *g->list)) {
        g->r.failed = true;
        return;
    }
    g->v[at].is_listed = true;
    g->list[g->n_list++] = at;
}

/* Takes the entries from list[from] on out. */
static void list_cut(gemini *g, size_t from)
{
    for (size_t i = from; i < g->n_list; i++) {
        g->v[g->list[i]].is_listed = false;
    }
    g->n_list = from;
}

static bool is_id(const gemini *g, size_t place, cf_str id)
{
    return cf_str_eq(cf_json_get_str(g->v[g->list[place]].v, "id"), id);
}

/* An id that is not there clears everything. */
static void rewind_to(gemini *g, cf_str id)
{
    size_t from = g->n_list;
    while (from > 0 && !is_id(g, from - 1, id)) {
        from--;
    }
    while (from > 0 && is_id(g, from - 1, id)) {
        from--;
    }
    list_cut(g, from);
}

/* The whole list anew. */
static void set_messages(gemini *g, const json_t *messages, uint64_t line)
{
    size_t i;
    const json_t *one;
    list_cut(g, 0);
    json_array_foreach(messages, i, one)
    {
        size_t at = json_is_object(one) ? entry_of(g, one, line) : TRAIL_NONE;
        if (at != TRAIL_NONE) {
            list_add(g, at);
        }
    }
}

static void read_head(gemini *g, const json_t *v)
{
    cf_trail *t = g->r.t;
    t->id = t->id.n != 0 ? t->id : trail_json_str(&g->r, v, "sessionId");
    t->title =
        json_object_get(v, "summary") != NULL ? trail_json_str(&g->r, v, "summary") : t->title;
    trail_seen(&g->r, trail_time(cf_json_get_str(v, "startTime")));
    trail_seen(&g->r, trail_time(cf_json_get_str(v, "lastUpdated")));
}

static void read_record(void *reader, json_t *v, uint64_t line)
{
    gemini *g = reader;
    const json_t *set = json_object_get(v, "$set"), *back = json_object_get(v, "$rewindTo");
    if (set != NULL) {
        read_head(g, set);
        if (json_object_get(set, "messages") != NULL) {
            set_messages(g, json_object_get(set, "messages"), line);
        }
    } else if (back != NULL) {
        rewind_to(g, cf_json_get_str(v, "$rewindTo"));
    } else if (json_object_get(v, "type") == NULL && json_object_get(v, "sessionId") != NULL) {
        read_head(g, v);
    } else {
        size_t at = entry_of(g, v, line);
        if (at != TRAIL_NONE) {
            list_add(g, at);
        }
    }
}

/* An older file: one object with a list. */
static void read_document(gemini *g, const json_t *v)
{
    size_t i;
    const json_t *one;
    read_head(g, v);
    json_array_foreach(json_object_get(v, "messages"), i, one)
    {
        if (json_is_object(one)) {
            size_t at = entry_of(g, one, i + 1);
            if (at != TRAIL_NONE) {
                list_add(g, at);
            }
        } else {
            trail_left_out(&g->r, i + 1, "not an object", cf_str_make("", 0));
        }
    }
}

/* ---- output -------------------------------------------------------------- */

static void put_call_results(gemini *g, trail_lane *lane, entry *e, const json_t *call)
{
    const json_t *parts = json_object_get(call, "result"), *part, *response;
    cf_str status = cf_json_get_str(call, "status");
    size_t i = 0;
    response = trail_parts_response(parts, &i);
    if (response == NULL && !cf_str_is(status, "cancelled")) {
        return;
    }
    cf_trail_message *m = trail_message(&g->r, lane, CF_TRAIL_TOOL);
    m->call_id = trail_json_str(&g->r, call, "id");
    m->is_error = cf_str_is(status, "error") || cf_str_is(status, "cancelled");
    m->time_ms = trail_time(cf_json_get_str(call, "timestamp"));
    trail_parts_result(&g->r, m, response);
    trail_put(&g->r, &g->results, m->call_id, 1);
    json_array_foreach(parts, i, part)
    {
        m->n_images += cf_str_begins(
            cf_json_get_str(json_object_get(part, "inlineData"), "mimeType"), "image/");
    }
    e->last = m;
    if (cf_str_is(status, "cancelled")) {
        trail_aborted(&g->r, lane);
    }
}

static void put_thoughts(gemini *g, cf_trail_message *m, const json_t *v)
{
    trail_text t = {CF_BUF_INIT, false};
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(v, "thoughts"), i, one)
    {
        if (json_object_get(one, "subject") != NULL) {
            trail_join(&t, cf_json_get_str(one, "subject"));
        }
        trail_join(&t, cf_json_get_str(one, "description"));
    }
    m->thinking = t.has_any ? trail_joined(&g->r, &t) : m->thinking;
}

static void put_reply(gemini *g, trail_lane *lane, entry *e)
{
    trail_reader *r = &g->r;
    const json_t *u = json_object_get(e->v, "tokens"), *call;
    const json_t *calls = json_object_get(e->v, "toolCalls");
    cf_trail_message *m = trail_message(r, lane, CF_TRAIL_ASSISTANT);
    size_t i;
    trail_parts_read(r, m, json_object_get(e->v, "content"));
    put_thoughts(g, m, e->v);
    m->n_calls = json_array_size(calls) != 0 ? 0 : m->n_calls;
    m->model = trail_json_str(r, e->v, "model");
    m->time_ms = trail_time(cf_json_get_str(e->v, "timestamp"));
    trail_model(r, m->model);
    e->last = m;
    json_array_foreach(calls, i, call)
    {
        trail_call(r, m, trail_json_str(r, call, "id"), trail_json_str(r, call, "name"),
                   trail_arguments(r, json_object_get(call, "args")));
    }
    if (u != NULL) {
        cf_trail_step *s = trail_step(r, lane, m);
        s->cache_read = trail_int(u, "cached");
        s->input = trail_int(u, "input") - s->cache_read;
        s->output = trail_int(u, "total") - trail_int(u, "input");
        s->reasoning = trail_int(u, "thoughts");
    }
    json_array_foreach(calls, i, call)
    {
        put_call_results(g, lane, e, call);
    }
}

/* A message of results says again what the reply's calls have said. */
static void put_user(gemini *g, trail_lane *lane, entry *e)
{
    trail_reader *r = &g->r;
    const json_t *content = json_object_get(e->v, "content"), *response;
    int64_t ms = trail_time(cf_json_get_str(e->v, "timestamp"));
    bool has_result = false;
    for (size_t i = 0; (response = trail_parts_response(content, &i)) != NULL;) {
        has_result = true;
        if (trail_find(&g->results, cf_json_get_str(response, "id")) != TRAIL_NONE) {
            continue;
        }
        cf_trail_message *m = trail_message(r, lane, CF_TRAIL_TOOL);
        m->time_ms = ms;
        trail_parts_result(r, m, response);
        trail_put(r, &g->results, m->call_id, 1);
        e->last = m;
    }
    if (has_result) {
        return;
    }
    cf_trail_message *m = trail_message(r, lane, CF_TRAIL_USER);
    trail_parts_read(r, m, content);
    m->is_meta = cf_str_begins(m->text, "<session_context>");
    m->time_ms = ms;
    e->last = m;
}

static void put_entry(gemini *g, trail_lane *lane, size_t at)
{
    if (trail_is(g->v[at].v, "type", "gemini")) {
        put_reply(g, lane, &g->v[at]);
    } else {
        put_user(g, lane, &g->v[at]);
    }
}

static void put_branches(gemini *g)
{
    trail_lane *lane = NULL;
    const cf_trail_message *from = NULL;
    for (size_t i = 0; i < g->n; i++) {
        if (g->v[i].is_listed) {
            from = g->v[i].last;
            lane = NULL;
            continue;
        }
        if (lane == NULL) {
            lane = trail_add_lane(&g->r, cf_str_make("", 0));
            lane->is_branch = true;
            lane->from = from;
        }
        put_entry(g, lane, i);
    }
}

static void put_all(gemini *g)
{
    trail_lane *lane = trail_add_lane(&g->r, cf_str_make("", 0));
    for (size_t i = 0; i < g->n_list; i++) {
        entry *e = &g->v[g->list[i]];
        put_entry(g, lane, g->list[i]);
        if (e->last == NULL && i > 0) {
            e->last = g->v[g->list[i - 1]].last;
        }
    }
    put_branches(g);
}

static cf_status read_text(gemini *g, cf_str text, const cf_trail_options *opts, cf_error *err)
{
    json_t *v = NULL;
    cf_status st = trail_parse(&v, text, err);
    if (st == CF_OK && json_object_get(v, "messages") != NULL) {
        read_document(g, v);
        json_decref(v);
        return CF_OK;
    }
    json_decref(v);
    return st == CF_ENOMEM ? st : trail_each_line(&g->r, text, opts, read_record, g, err);
}

cf_status trail_read_gemini(cf_trails *out, const char *path, cf_str text,
                            const cf_trail_options *opts, cf_error *err)
{
    gemini g = {0};
    CF_TRY(trail_begin(&g.r, "gemini", path, err));
    cf_status st = read_text(&g, text, opts, err);
    if (st == CF_OK) {
        put_all(&g);
    }
    for (size_t i = 0; i < g.n; i++) {
        json_decref(g.v[i].v);
    }
    cf_free(g.v);
    cf_free(g.list);
    trail_index_free(&g.ids);
    trail_index_free(&g.results);
    return trail_end(&g.r, st, out, err);
}
