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
#include "storage/trail/trail_parts.h"

typedef struct entry {
    const json_t *v; /* merged */
    uint64_t line;
    bool is_listed;
    cf_trail_message *last; /* which learns of it; NULL: none */
} entry;

typedef struct gemini {
    trail_reader r;
    entry *v; /* [n], in the order of their first records */
    size_t n;
    size_t *list; /* [n_list] */
    size_t n_list;
    trail_index ids;
    trail_index results; /* call ids whose results are in the output */
} gemini;

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
        g->r.failed = g->r.failed || json_object_set(cf_json_ref(e->v), key, value) != 0;
    }
}

/* Puts the entry of a record, new or merged, at the list's end, unless it is
 * there. */
static void add_entry(gemini *g, const json_t *v, uint64_t line)
{
    static const char *const known[] = {"user", "gemini", NULL};
    static const char *const notices[] = {"info", "warning", "error", NULL};
    trail_reader *r = &g->r;
    cf_str type = cf_json_get_str(v, "type");
    cf_str key = trail_pair(r, type, cf_json_get_str(v, "id"));
    size_t at = trail_find(&g->ids, key);
    if (at == TRAIL_NONE && !trail_is_one_of(type, known)) {
        trail_left_out(r, line, trail_is_one_of(type, notices) ? "" : "unknown type ", type);
        return;
    }
    trail_seen(r, trail_time(v, "timestamp"));
    if (at == TRAIL_NONE) {
        json_t *copy = cf_json_copy(v);
        entry *e = trail_push(&r->scratch, &g->v, &g->n, sizeof *e);
        *e = (entry){.v = copy != NULL ? trail_hold(r, copy) : NULL, .line = line};
        r->failed = r->failed || copy == NULL;
        json_decref(copy);
        at = g->n - 1;
        trail_put(&r->scratch, &g->ids, key, at);
    } else {
        merge(g, &g->v[at], v);
    }
    if (!trail_failed(r) && !g->v[at].is_listed) {
        g->v[at].is_listed = true;
        *(size_t *)trail_push(&r->scratch, &g->list, &g->n_list, sizeof at) = at;
    }
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

static void read_head(gemini *g, const json_t *v)
{
    cf_trail *t = g->r.t;
    trail_fill(&g->r, &t->id, v, "sessionId");
    t->title =
        json_object_get(v, "summary") != NULL ? trail_json_str(&g->r, v, "summary") : t->title;
    trail_seen(&g->r, trail_time(v, "startTime"));
    trail_seen(&g->r, trail_time(v, "lastUpdated"));
}

static void read_record(void *reader, json_t *v, uint64_t line)
{
    gemini *g = reader;
    const json_t *set = json_object_get(v, "$set"), *messages = json_object_get(set, "messages");
    if (set != NULL) {
        size_t i;
        const json_t *one;
        read_head(g, set);
        list_cut(g, messages != NULL ? 0 : g->n_list); /* the whole list anew */
        json_array_foreach(messages, i, one)
        {
            if (json_is_object(one)) {
                add_entry(g, one, line);
            }
        }
    } else if (json_object_get(v, "$rewindTo") != NULL) {
        rewind_to(g, cf_json_get_str(v, "$rewindTo"));
    } else if (json_object_get(v, "type") == NULL && json_object_get(v, "sessionId") != NULL) {
        read_head(g, v);
    } else {
        add_entry(g, v, line);
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
            add_entry(g, one, i + 1);
        } else {
            trail_left_out(&g->r, i + 1, "not an object", cf_str_make(NULL, 0));
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
    m->time_ms = trail_time(call, "timestamp");
    trail_parts_result(&g->r, m, response);
    trail_put(&g->r.scratch, &g->results, m->call_id, 1);
    json_array_foreach(parts, i, part)
    {
        m->n_images += trail_is_image(part);
    }
    e->last = m;
    if (cf_str_is(status, "cancelled")) {
        trail_aborted(&g->r, lane);
    }
}

static void put_thoughts(gemini *g, cf_trail_message *m, const json_t *v)
{
    trail_texts t = TRAIL_TEXTS_INIT;
    cf_str text = m->text, thinking = m->thinking;
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(v, "thoughts"), i, one)
    {
        if (json_object_get(one, "subject") != NULL) {
            trail_join(&t, TRAIL_PART_THINKING, cf_json_get_str(one, "subject"));
        }
        trail_join(&t, TRAIL_PART_THINKING, cf_json_get_str(one, "description"));
    }
    bool has_any = t.has_thinking;
    trail_joined(&g->r, &t, m);
    m->text = text;
    m->thinking = has_any ? m->thinking : thinking;
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
    m->time_ms = trail_time(e->v, "timestamp");
    trail_model(r, m->model);
    e->last = m;
    json_array_foreach(calls, i, call)
    {
        trail_call(r, m, trail_json_str(r, call, "id"), trail_json_str(r, call, "name"),
                   trail_arguments(r, json_object_get(call, "args")));
    }
    if (u != NULL) {
        static const trail_usage_keys keys = {
            "input", "cached", NULL, "total", "thoughts", .has_cache = true, .is_total = true};
        trail_step(r, lane, m)->used = trail_usage(u, &keys);
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
    int64_t ms = trail_time(e->v, "timestamp");
    bool has_result = false;
    for (size_t i = 0; (response = trail_parts_response(content, &i)) != NULL;) {
        has_result = true;
        if (trail_find(&g->results, cf_json_get_str(response, "id")) != TRAIL_NONE) {
            continue;
        }
        cf_trail_message *m = trail_message(r, lane, CF_TRAIL_TOOL);
        m->time_ms = ms;
        trail_parts_result(r, m, response);
        trail_put(&r->scratch, &g->results, m->call_id, 1);
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
    (trail_is(g->v[at].v, "type", "gemini") ? put_reply : put_user)(g, lane, &g->v[at]);
}

static void put_all(gemini *g)
{
    cf_str own = cf_str_make("", 0);
    trail_lane *lane = trail_add_lane(&g->r, own);
    const cf_trail_message *from = NULL;
    for (size_t i = 0; i < g->n_list; i++) {
        entry *e = &g->v[g->list[i]];
        put_entry(g, lane, g->list[i]);
        if (e->last == NULL && i > 0) {
            e->last = g->v[g->list[i - 1]].last;
        }
    }
    lane = NULL;
    for (size_t i = 0; i < g->n; i++) {
        if (g->v[i].is_listed) {
            from = g->v[i].last;
            lane = NULL;
            continue;
        }
        lane = lane != NULL ? lane : trail_add_branch(&g->r, own, from);
        put_entry(g, lane, i);
    }
}

static cf_status read_text(gemini *g, const trail_source *s, cf_error *err)
{
    json_t *v = NULL;
    cf_status st = trail_parse(&v, s->text, err);
    if (st == CF_OK && json_object_get(v, "messages") != NULL) {
        read_document(g, v);
    } else if (st != CF_ENOMEM) {
        st = trail_each_line(&g->r, s->text, s->opts, read_record, g, err);
    }
    json_decref(v);
    return st == CF_OK && trail_failed(&g->r) ? cf_oom(err) : st;
}

cf_status trail_read_gemini(cf_trails *out, const trail_source *s, cf_error *err)
{
    gemini g = {.n = 0};
    CF_TRY(trail_begin(&g.r, "gemini", s->paths[0], err));
    cf_status st = read_text(&g, s, err);
    if (st == CF_OK) {
        put_all(&g);
    }
    return trail_finish(&g.r, st, out, err);
}
