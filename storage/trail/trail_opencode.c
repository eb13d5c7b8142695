/*
 * trail_opencode.c - opencode's sessions: exports, and its database.
 *
 * Both give the same objects: a session's info, messages, and their parts.  A
 * message's place in its session stands for its line.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "storage/db/store_sql.h"
#include "storage/trail/trail_build.h"

typedef struct session {
    const char *path;
    json_t *v; /* {info, messages}; owned */
    cf_str id, parent;
    bool is_used;
} session;

typedef struct opencode {
    trail_reader r;
    session *v; /* [n], heap */
    size_t n, cap;
    trail_index ids;
    trail_index begun; /* child's id -> place in calls */
    cf_str *calls;     /* [n_calls], heap */
    size_t n_calls, cap_calls;
} opencode;

/* ---- messages ------------------------------------------------------------ */

/* An image that a part or an attachment is. */
static bool is_image(const json_t *part)
{
    return cf_str_begins(cf_json_get_str(part, "mime"), "image/");
}

static int64_t time_of(const json_t *info, const char *key)
{
    return trail_int(json_object_get(info, "time"), key);
}

static void note_begun(opencode *o, const json_t *state, cf_str call_id)
{
    cf_str child =
        trail_copy(&o->r, cf_json_get_str(json_object_get(state, "metadata"), "sessionId"));
    if (child.n == 0 || trail_find(&o->begun, child) != TRAIL_NONE) {
        return;
    }
    if (!cf_grow(&o->calls, &o->cap_calls, o->n_calls + 1, sizeof *o->calls)) {
        o->r.failed = true;
        return;
    }
    o->calls[o->n_calls] = call_id;
    trail_put(&o->r, &o->begun, child, o->n_calls++);
}

static void put_call(opencode *o, cf_trail_message *m, const json_t *part)
{
    trail_reader *r = &o->r;
    const json_t *state = json_object_get(part, "state"), *input = json_object_get(state, "input");
    cf_str name = cf_json_get_str(part, "tool"), id = trail_json_str(r, part, "callID");
    if (cf_str_is(name, "invalid") && json_is_string(json_object_get(input, "tool"))) {
        name = cf_json_get_str(input, "tool");
    }
    trail_call(r, m, id, trail_copy(r, name), trail_arguments(r, input));
    note_begun(o, state, id);
}

static void put_result(opencode *o, trail_lane *lane, const json_t *part)
{
    trail_reader *r = &o->r;
    const json_t *state = json_object_get(part, "state"), *one;
    bool is_failed = trail_is(state, "status", "error");
    if (!is_failed && !trail_is(state, "status", "completed")) {
        return;
    }
    cf_trail_message *m = trail_message(r, lane, CF_TRAIL_TOOL);
    size_t i;
    m->call_id = trail_json_str(r, part, "callID");
    m->text = trail_value_text(r, json_object_get(state, is_failed ? "error" : "output"));
    m->is_error = is_failed || trail_is(part, "tool", "invalid") ||
                  trail_int(json_object_get(state, "metadata"), "exit") != 0;
    m->time_ms = time_of(state, "end");
    json_array_foreach(json_object_get(state, "attachments"), i, one)
    {
        m->n_images += is_image(one);
    }
}

static void put_usage(trail_reader *r, trail_lane *lane, cf_trail_message *m, const json_t *part)
{
    const json_t *u = json_object_get(part, "tokens"), *cache = json_object_get(u, "cache");
    cf_trail_step *s = trail_step(r, lane, m);
    s->input = trail_int(u, "input");
    s->cache_read = trail_int(cache, "read");
    s->cache_creation = trail_int(cache, "write");
    s->reasoning = trail_int(u, "reasoning");
    s->output = trail_int(u, "output") + s->reasoning;
    s->stop = trail_json_str(r, part, "reason");
}

static bool is_noise(cf_str type)
{
    static const char *const types[] = {"snapshot", "patch",      "agent", "subtask",
                                        "retry",    "step-start", NULL};
    return trail_is_one_of(type, types);
}

/* What the parts of a message add up to. */
typedef struct parts {
    trail_text text, thinking;
    bool is_written; /* some text is not the harness's */
    bool has_compaction, is_automatic, has_other;
} parts;

static void read_part(opencode *o, parts *p, cf_trail_message *m, const json_t *part, uint64_t line)
{
    cf_str type = cf_json_get_str(part, "type");
    if (cf_str_is(type, "text")) {
        if (!json_is_true(json_object_get(part, "ignored"))) {
            trail_join(&p->text, cf_json_get_str(part, "text"));
            p->is_written = p->is_written || !json_is_true(json_object_get(part, "synthetic"));
            p->has_other = true;
        }
    } else if (cf_str_is(type, "reasoning")) {
        trail_join(&p->thinking, cf_json_get_str(part, "text"));
        p->has_other = true;
    } else if (cf_str_is(type, "file")) {
        m->n_images += is_image(part);
        p->is_written = p->is_written || !json_is_true(json_object_get(part, "synthetic"));
        p->has_other = true;
    } else if (cf_str_is(type, "tool")) {
        put_call(o, m, part);
        p->has_other = true;
    } else if (cf_str_is(type, "compaction")) {
        p->has_compaction = true;
        p->is_automatic = json_is_true(json_object_get(part, "auto"));
    } else if (!cf_str_is(type, "step-finish") && !is_noise(type)) {
        trail_left_out(&o->r, line, "unknown part ", type);
    }
}

static void put_end(opencode *o, trail_lane *lane, cf_trail_message *m, const json_t *info,
                    const json_t *list)
{
    trail_reader *r = &o->r;
    const json_t *error = json_object_get(info, "error"), *part;
    bool is_aborted = trail_is(error, "name", "MessageAbortedError");
    size_t i;
    if (json_is_object(error) && !is_aborted) {
        m->is_error = true;
        cf_str why = cf_json_get_str(json_object_get(error, "data"), "message");
        m->text = m->text.n != 0 ? m->text
                                 : trail_copy(r, why.n != 0 ? why : cf_json_get_str(error, "name"));
    }
    json_array_foreach(list, i, part)
    {
        if (trail_is(part, "type", "step-finish")) {
            put_usage(r, lane, m, part);
        }
    }
    json_array_foreach(list, i, part)
    {
        if (trail_is(part, "type", "tool")) {
            put_result(o, lane, part);
        }
    }
    if (is_aborted) {
        trail_aborted(r, lane);
    }
    if (json_is_true(json_object_get(info, "summary"))) {
        cf_trail_compaction *c = trail_compaction(r, lane);
        c->summary = m->text;
        c->is_automatic = lane->is_automatic;
    }
}

static void put_message(opencode *o, trail_lane *lane, const json_t *v, uint64_t line)
{
    trail_reader *r = &o->r;
    const json_t *info = json_object_get(v, "info"), *list = json_object_get(v, "parts"), *part;
    cf_str role = cf_json_get_str(info, "role");
    bool is_reply = cf_str_is(role, "assistant");
    parts p = {.text = {CF_BUF_INIT, false}, .thinking = {CF_BUF_INIT, false}};
    if (!is_reply && !cf_str_is(role, "user")) {
        trail_left_out(r, line, "unknown role ", role);
        return;
    }
    cf_trail_message *m = trail_message(r, lane, is_reply ? CF_TRAIL_ASSISTANT : CF_TRAIL_USER);
    size_t i;
    json_array_foreach(list, i, part)
    {
        read_part(o, &p, m, part, line);
    }
    m->text = trail_joined(r, &p.text);
    m->thinking = trail_joined(r, &p.thinking);
    m->time_ms = time_of(info, "created");
    trail_seen(r, m->time_ms);
    if (is_reply) {
        m->model = trail_json_str(r, info, "modelID");
        trail_model(r, m->model);
        put_end(o, lane, m, info, list);
        return;
    }
    m->is_meta = !p.is_written;
    if (p.has_compaction) {
        lane->is_automatic = p.is_automatic;
        lane->n -= !p.has_other && lane->n != 0;
    }
}

/* ---- sessions ------------------------------------------------------------ */

static void put_session(opencode *o, session *s)
{
    trail_reader *r = &o->r;
    const json_t *info = json_object_get(s->v, "info"), *one;
    bool is_main = r->n_lanes == 0;
    trail_lane *lane = trail_add_lane(r, is_main ? cf_str_make("", 0) : trail_copy(r, s->id));
    size_t i;
    s->is_used = true;
    if (is_main) {
        r->t->id = trail_copy(r, s->id);
        r->t->title = trail_json_str(r, info, "title");
        r->t->folder = trail_json_str(r, info, "directory");
        r->t->version = trail_json_str(r, info, "version");
    } else {
        const char *name = strrchr(s->path, '/');
        r->file = trail_copy(r, cf_str_from(name != NULL ? name + 1 : s->path));
        trail_agent(r, lane, lane->agent)->title = trail_json_str(r, info, "title");
    }
    json_array_foreach(json_object_get(s->v, "messages"), i, one)
    {
        put_message(o, lane, one, i + 1);
    }
}

static size_t parent_of(const opencode *o, size_t i)
{
    return trail_find(&o->ids, o->v[i].parent);
}

static bool is_below(const opencode *o, size_t i, size_t root)
{
    size_t steps = 0;
    while (i != TRAIL_NONE && i != root && steps++ < o->n) {
        i = parent_of(o, i);
    }
    return i == root;
}

static cf_status put_root(opencode *o, size_t root, cf_trails *out, cf_error *err)
{
    CF_TRY(trail_begin(&o->r, "opencode", o->v[root].path, err));
    put_session(o, &o->v[root]);
    for (size_t i = 0; i < o->n; i++) {
        if (i != root && o->v[i].parent.n != 0 && !o->v[i].is_used && is_below(o, i, root)) {
            put_session(o, &o->v[i]);
        }
    }
    for (size_t i = 1; i < o->r.n_lanes; i++) {
        trail_lane *lane = o->r.lanes[i];
        size_t at = trail_find(&o->begun, lane->agent);
        if (at != TRAIL_NONE && lane->n != 0 && lane->items[0].kind == CF_TRAIL_AGENT) {
            lane->parent_call = lane->items[0].as.agent->parent_call = o->calls[at];
        }
    }
    trail_order(&o->r);
    trail_index_free(&o->begun);
    o->n_calls = 0;
    return trail_finish(&o->r, out, err);
}

static cf_status put_all(opencode *o, cf_trails *out, cf_error *err)
{
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < o->n; i++) {
        if (parent_of(o, i) == TRAIL_NONE || parent_of(o, i) == i) {
            st = put_root(o, i, out, err);
        }
    }
    for (size_t i = 0; st == CF_OK && i < o->n; i++) {
        if (!o->v[i].is_used) {
            st = put_root(o, i, out, err);
        }
    }
    return st;
}

/* Takes `v`, which may be NULL. */
static cf_status add_session(opencode *o, const char *path, json_t *v, cf_error *err)
{
    if (v == NULL || !cf_grow(&o->v, &o->cap, o->n + 1, sizeof *o->v)) {
        json_decref(v);
        return cf_oom(err);
    }
    const json_t *info = json_object_get(v, "info");
    o->v[o->n] =
        (session){path, v, cf_json_get_str(info, "id"), cf_json_get_str(info, "parentID"), false};
    trail_put(&o->r, &o->ids, o->v[o->n].id, o->n);
    o->n++;
    return CF_OK;
}

static void free_all(opencode *o)
{
    for (size_t i = 0; i < o->n; i++) {
        json_decref(o->v[i].v);
    }
    cf_free(o->v);
    cf_free(o->calls);
    trail_index_free(&o->ids);
    trail_index_free(&o->begun);
}

cf_status trail_read_opencode(cf_trails *out, const char *const *paths, size_t n,
                              const cf_trail_options *opts, cf_error *err)
{
    opencode o = {0};
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        json_t *v = NULL;
        cf_os_map map;
        cf_str text;
        st = trail_stops(opts) ? cf_fail(err, CF_ECANCELLED, "interrupted")
                               : trail_open(&map, paths[i], opts, &text, err);
        if (st == CF_OK) {
            st = trail_parse(&v, text, err);
            cf_os_map_close(&map);
        }
        CF_THEN(st, add_session(&o, paths[i], v, err));
    }
    CF_THEN(st, put_all(&o, out, err));
    free_all(&o);
    return st;
}

/* ---- the database -------------------------------------------------------- */

typedef struct rows {
    cf_sql sql;
    opencode o;
    const cf_trail_options *opts;
} rows;

/* The object in a row's `data`, with its id; not NULL, but {} where it is none. */
static json_t *data_of(sqlite3_stmt *st, int i)
{
    json_t *v = NULL;
    const char *p = (const char *)sqlite3_column_text(st, i);
    cf_ignore(trail_parse(&v, cf_str_make(p, p != NULL ? (size_t)sqlite3_column_bytes(st, i) : 0),
                          NULL)); /* what is not JSON is an empty object */
    if (!json_is_object(v)) {
        json_decref(v);
        v = json_object();
    }
    return v;
}

/* The parts of all messages of a session, put where they belong. */
static cf_status read_rows(rows *w, const char *id, json_t *messages, cf_error *err)
{
    trail_index places = {0};
    cf_arena a;
    cf_arena_init(&a, 0);
    sqlite3_stmt *q;
    cf_status s = cf_sql__query(&w->sql, &q, err,
                                "SELECT id, data FROM message WHERE session_id = ? "
                                "ORDER BY time_created, id",
                                "z", id);
    while (s == CF_OK && cf_sql__next(&w->sql, q, &s, err)) {
        trail_put(&w->o.r, &places, cf_sql__str(q, 0, &a), json_array_size(messages));
        if (json_array_append_new(messages,
                                  json_pack("{s:o,s:[]}", "info", data_of(q, 1), "parts")) != 0) {
            s = cf_oom(err);
        }
    }
    CF_THEN(s, cf_sql__query(&w->sql, &q, err,
                             "SELECT message_id, data FROM part WHERE session_id = ? "
                             "ORDER BY time_created, id",
                             "z", id));
    while (s == CF_OK && cf_sql__next(&w->sql, q, &s, err)) {
        size_t at = trail_find(&places, cf_sql__str(q, 0, &a));
        json_t *list = json_object_get(json_array_get(messages, at), "parts");
        if (at != TRAIL_NONE && json_array_append_new(list, data_of(q, 1)) != 0) {
            s = cf_oom(err);
        }
    }
    if (s == CF_OK && (a.failed || w->o.r.failed)) {
        s = cf_oom(err);
    }
    trail_index_free(&places);
    cf_arena_deinit(&a);
    return s;
}

static cf_status read_sessions(rows *w, const char *path, cf_error *err)
{
    sqlite3_stmt *q;
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_status s = cf_sql__prepare(&w->sql, &q,
                                  "SELECT id, coalesce(parent_id, ''), coalesce(title, ''), "
                                  "coalesce(directory, ''), coalesce(version, '') FROM session "
                                  "ORDER BY time_created, id",
                                  err);
    while (s == CF_OK && cf_sql__next(&w->sql, q, &s, err)) {
        json_t *messages = json_array();
        static const char *const keys[] = {"id", "parentID", "title", "directory", "version"};
        json_t *info = json_object();
        for (int i = 0; i < 5; i++) {
            json_object_set_new(info, keys[i], cf_json_str(cf_sql__str(q, i, &a)));
        }
        const char *id = json_string_value(json_object_get(info, "id"));
        s = messages != NULL && id != NULL && !trail_stops(w->opts)
                ? read_rows(w, id, messages, err)
                : cf_oom(err);
        json_t *v = json_pack("{s:o,s:o}", "info", info, "messages", messages);
        if (s == CF_OK) {
            s = add_session(&w->o, path, v, err);
        } else {
            json_decref(v);
        }
    }
    cf_sql__drop(q);
    cf_arena_deinit(&a);
    return s;
}

/* Beside a live database its log is written; a read-only folder has none. */
static cf_status open_db(cf_sql *sql, const char *path, cf_error *err)
{
    cf_sql__setup();
    cf_status st = cf_sql__open(sql, path, CF_SQL_READ, 2000, err);
    return st == CF_OK || st == CF_ENOMEM ? st : cf_sql__open(sql, path, CF_SQL_FROZEN, 2000, err);
}

bool trail_is_opencode_db(const char *path)
{
    cf_sql sql = {0};
    int64_t n = 0;
    if (open_db(&sql, path, NULL) != CF_OK) {
        return false;
    }
    cf_status st =
        cf_sql__int(&sql, &n, 0, NULL,
                    "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN "
                    "('session', 'message', 'part')",
                    "");
    cf_sql__close(&sql);
    return st == CF_OK && n == 3;
}

cf_status trail_read_opencode_db(cf_trails *out, const char *path, const cf_trail_options *opts,
                                 cf_error *err)
{
    enum { VALUE_MAX = 128 << 20, HOUR_S = 3600 };
    rows w = {.opts = opts};
    CF_TRY(open_db(&w.sql, path, err));
    w.sql.deadline_us = cf_os_monotonic_us() + UINT64_C(1000000) * HOUR_S;
    w.sql.cancel = opts->cancel;
    (void)sqlite3_limit(w.sql.db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
    cf_status s = cf_sql__refuse_computed(&w.sql, err);
    CF_THEN(s, read_sessions(&w, path, err));
    cf_sql__close(&w.sql);
    CF_THEN(s, put_all(&w.o, out, err));
    free_all(&w.o);
    return s;
}
