/*
 * trail_opencode.c - opencode's sessions: exports, and its database.
 *
 * Both give the same objects: a session's info, messages, and their parts.  A
 * message's place in its session stands for its line.
 */
#include "core/json/json_builder.h"
#include "storage/db/store_sql.h"
#include "storage/trail/trail_family.h"
#include "storage/trail/trail_parts.h"

/* ---- messages ------------------------------------------------------------ */

static int64_t time_of(const json_t *info, const char *key)
{
    return trail_int(json_object_get(info, "time"), key);
}

static void put_call(trail_reader *r, cf_trail_message *m, const json_t *part)
{
    const json_t *state = json_object_get(part, "state"), *input = json_object_get(state, "input");
    cf_str name = cf_json_get_str(part, "tool"), id = trail_json_str(r, part, "callID");
    if (cf_str_is(name, "invalid") && json_is_string(json_object_get(input, "tool"))) {
        name = cf_json_get_str(input, "tool");
    }
    trail_call(r, m, id, trail_copy(r, name), trail_arguments(r, input));
    trail_began(r, trail_json_str(r, json_object_get(state, "metadata"), "sessionId"), id);
}

static void put_result(trail_reader *r, trail_lane *lane, const json_t *part)
{
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
        m->n_images += trail_is_image(one);
    }
}

static void put_usage(trail_reader *r, trail_lane *lane, cf_trail_message *m, const json_t *part)
{
    static const trail_usage_keys keys = {"input",  NULL,        NULL,
                                          "output", "reasoning", .lacks_reasoning = true};
    const json_t *u = json_object_get(part, "tokens"), *cache = json_object_get(u, "cache");
    cf_trail_step *s = trail_step(r, lane, m);
    s->used = trail_usage(u, &keys);
    s->used.cache_read = trail_tokens(cache, "read");
    s->used.cache_creation = trail_tokens(cache, "write");
    s->stop = trail_json_str(r, part, "reason");
}

/* What the parts of a message add up to. */
typedef struct parts {
    trail_texts texts;
    bool is_written; /* some text is not the harness's */
    bool has_compaction, is_automatic, has_other;
} parts;

static void read_part(trail_reader *r, parts *p, cf_trail_message *m, const json_t *part,
                      uint64_t line)
{
    static const trail_part kinds[] = {{"text", TRAIL_PART_TEXT, "text"},
                                       {"reasoning", TRAIL_PART_THINKING, "text"},
                                       {"file", TRAIL_PART_NOTHING, ""},
                                       {.type = NULL}};
    static const char *const noise[] = {"snapshot", "patch",      "agent",       "subtask",
                                        "retry",    "step-start", "step-finish", NULL};
    cf_str type = cf_json_get_str(part, "type");
    bool is_reasoning = cf_str_is(type, "reasoning");
    if (cf_str_is(type, "text") && json_is_true(json_object_get(part, "ignored"))) {
        return;
    }
    if (trail_part_read(r, &p->texts, m, part, kinds)) {
        p->is_written =
            p->is_written || (!is_reasoning && !json_is_true(json_object_get(part, "synthetic")));
        p->has_other = true;
    } else if (cf_str_is(type, "tool")) {
        put_call(r, m, part);
        p->has_other = true;
    } else if (cf_str_is(type, "compaction")) {
        p->has_compaction = true;
        p->is_automatic = json_is_true(json_object_get(part, "auto"));
    } else if (!trail_is_one_of(type, noise)) {
        trail_left_out(r, line, "unknown part ", type);
    }
}

static void put_end(trail_reader *r, trail_lane *lane, cf_trail_message *m, const json_t *info,
                    const json_t *list)
{
    const json_t *error = json_object_get(info, "error"), *part;
    bool is_aborted = trail_is(error, "name", "MessageAbortedError");
    size_t i;
    if (json_is_object(error) && !is_aborted) {
        m->is_error = true;
        trail_fill(r, &m->text, json_object_get(error, "data"), "message");
        trail_fill(r, &m->text, error, "name");
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
            put_result(r, lane, part);
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

static void put_message(trail_reader *r, trail_lane *lane, const json_t *v, uint64_t line)
{
    const json_t *info = json_object_get(v, "info"), *list = json_object_get(v, "parts"), *part;
    cf_str role = cf_json_get_str(info, "role");
    bool is_reply = cf_str_is(role, "assistant");
    parts p = {.texts = TRAIL_TEXTS_INIT};
    if (!is_reply && !cf_str_is(role, "user")) {
        trail_left_out(r, line, "unknown role ", role);
        return;
    }
    cf_trail_message *m = trail_message(r, lane, is_reply ? CF_TRAIL_ASSISTANT : CF_TRAIL_USER);
    size_t i;
    json_array_foreach(list, i, part)
    {
        read_part(r, &p, m, part, line);
    }
    trail_joined(r, &p.texts, m);
    m->time_ms = time_of(info, "created");
    trail_seen(r, m->time_ms);
    if (is_reply) {
        m->model = trail_json_str(r, info, "modelID");
        trail_model(r, m->model);
        put_end(r, lane, m, info, list);
        return;
    }
    m->is_meta = !p.is_written;
    if (p.has_compaction) {
        lane->is_automatic = p.is_automatic;
        lane->n -= !p.has_other && lane->n != 0;
    }
}

static cf_status put_thread(trail_family *f, const trail_thread *t, trail_lane *lane, cf_error *err)
{
    trail_reader *r = &f->r;
    const json_t *info = json_object_get(t->v, "info"), *one;
    size_t i;
    if (lane->agent.n == 0) {
        r->t->id = trail_copy(r, t->id);
        r->t->title = trail_copy(r, t->title);
        r->t->folder = trail_json_str(r, info, "directory");
        r->t->version = trail_json_str(r, info, "version");
    }
    json_array_foreach(json_object_get(t->v, "messages"), i, one)
    {
        put_message(r, lane, one, i + 1);
    }
    return trail_failed(r) ? cf_oom(err) : CF_OK;
}

static void add_session(trail_family *f, const char *path, const json_t *v)
{
    const json_t *info = json_object_get(v, "info");
    trail_family_add(f, path, v, cf_json_get_str(info, "id"), cf_json_get_str(info, "parentID"),
                     cf_json_get_str(info, "title"));
}

cf_status trail_read_opencode(cf_trails *out, const trail_source *s, cf_error *err)
{
    trail_family f;
    CF_TRY(trail_family_begin(&f, "opencode", s, err));
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < s->n; i++) {
        json_t *v = NULL;
        cf_os_map map;
        cf_str text;
        st = trail_stops(s->opts) ? cf_fail(err, CF_ECANCELLED, "interrupted")
                                  : trail_open(&map, s->paths[i], s->opts, &text, err);
        if (st == CF_OK) {
            st = trail_parse(&v, text, err);
            cf_os_map_close(&map);
        }
        if (st == CF_OK) {
            add_session(&f, s->paths[i], v);
        }
        json_decref(v);
    }
    return trail_family_put(&f, st, put_thread, out, err);
}

/* ---- the database -------------------------------------------------------- */

/* The object in a row's `data`, into a list; {} where it is none. */
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
static cf_status read_rows(cf_sql *sql, const char *id, cf_jb *b, json_t *messages, cf_error *err)
{
    trail_index places = {0};
    cf_arena a = {0};
    sqlite3_stmt *q;
    cf_status s = cf_sql__query(sql, &q, err,
                                "SELECT id, data FROM message WHERE session_id = ? "
                                "ORDER BY time_created, id",
                                "z", id);
    while (s == CF_OK && cf_sql__next(sql, q, &s, err)) {
        trail_put(&a, &places, cf_sql__str(q, 0, &a), json_array_size(messages));
        cf_jb_append(b, messages, json_pack("{s:o,s:[]}", "info", data_of(q, 1), "parts"));
    }
    CF_THEN(s, cf_sql__query(sql, &q, err,
                             "SELECT message_id, data FROM part WHERE session_id = ? "
                             "ORDER BY time_created, id",
                             "z", id));
    while (s == CF_OK && cf_sql__next(sql, q, &s, err)) {
        size_t at = trail_find(&places, cf_sql__str(q, 0, &a));
        if (at != TRAIL_NONE) {
            cf_jb_append(b, json_object_get(json_array_get(messages, at), "parts"), data_of(q, 1));
        }
    }
    s = s == CF_OK && a.failed ? cf_oom(err) : s;
    cf_arena_deinit(&a);
    return s;
}

static cf_status read_sessions(trail_family *f, cf_sql *sql, cf_error *err)
{
    static const char *const keys[] = {"id", "parentID", "title", "directory", "version"};
    sqlite3_stmt *q;
    cf_arena a = {0};
    cf_status s = cf_sql__prepare(sql, &q,
                                  "SELECT id, coalesce(parent_id, ''), coalesce(title, ''), "
                                  "coalesce(directory, ''), coalesce(version, '') FROM session "
                                  "ORDER BY time_created, id",
                                  err);
    while (s == CF_OK && cf_sql__next(sql, q, &s, err)) {
        cf_jb b = CF_JB_INIT;
        json_t *messages = json_array();
        cf_jb_object(&b, NULL);
        cf_jb_object(&b, "info");
        for (int i = 0; i < 5; i++) {
            cf_jb_str(&b, keys[i], cf_sql__str(q, i, &a));
        }
        cf_jb_end(&b);
        cf_jb_take(&b, "messages", messages);
        cf_jb_end(&b);
        const char *id = json_string_value(trail_get(b.root, "info", "id", NULL));
        s = trail_stops(f->source->opts) ? cf_fail(err, CF_ECANCELLED, "interrupted")
            : b.failed || id == NULL     ? cf_oom(err)
                                         : read_rows(sql, id, &b, messages, err);
        CF_THEN(s, cf_jb_check(&b, err));
        if (s == CF_OK) {
            add_session(f, f->source->paths[0], b.root);
        }
        cf_jb_deinit(&b);
    }
    cf_sql__drop(q);
    cf_arena_deinit(&a);
    return s;
}

bool trail_is_opencode_db(const char *path)
{
    return trail_has_tables(path, "('session', 'message', 'part')");
}

cf_status trail_read_opencode_db(cf_trails *out, const trail_source *src, cf_error *err)
{
    cf_sql sql = {0};
    trail_family f;
    CF_TRY(trail_open_db(&sql, src, err));
    cf_status s = trail_family_begin(&f, "opencode", src, err);
    if (s == CF_OK) {
        s = trail_family_put(&f, read_sessions(&f, &sql, err), put_thread, out, err);
    }
    cf_sql__close(&sql);
    return s;
}
