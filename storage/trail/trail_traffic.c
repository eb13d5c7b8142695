/*
 * trail_traffic.c - what the proxy saw: a conversation of the history with
 * exchanges is a session.
 *
 * Every request names its last turn, and the turns above it are what it sent.
 */
#include "storage/db/store_sql.h"
#include "storage/trail/trail_parts.h"
#include "storage/trail/trail_talk.h"

/* A turn while its conversation is read. */
typedef struct turn {
    cf_trail_message *m;
    size_t up; /* place of its parent; TRAIL_NONE: none */
} turn;

typedef struct traffic {
    trail_reader r;
    cf_sql *sql;
    trail_talk talk;
    turn *turns; /* [n], parents before children */
    size_t n;
    trail_index places; /* ids of turns */
} traffic;

static cf_str id_of(traffic *x, sqlite3_stmt *q, int i)
{
    return cf_sql__str(q, i, &x->r.scratch);
}

/* ---- turns --------------------------------------------------------------- */

static void read_calls(trail_reader *r, cf_trail_message *m, const json_t *calls)
{
    size_t i;
    const json_t *one;
    json_array_foreach(calls, i, one)
    {
        const json_t *f = json_object_get(one, "function");
        trail_call(r, m, trail_json_str(r, one, "id"), trail_json_str(r, f, "name"),
                   trail_arguments(r, json_object_get(f, "arguments")));
    }
}

/* Whether a text is one block that a harness wrote. */
static bool is_harness_text(cf_str text)
{
    static const char *const ends[][2] = {{"<environment_context>", "</environment_context>"},
                                          {"<system-reminder>", "</system-reminder>"},
                                          {"<session_context>", "</session_context>"}};
    text = cf_str_trim(text);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (cf_str_begins(text, ends[i][0]) && cf_str_ends(text, ends[i][1])) {
            return true;
        }
    }
    return false;
}

/* `v` is the message, or NULL for one of a text alone. */
static void read_message(trail_reader *r, cf_trail_message *m, const json_t *v, cf_str role,
                         cf_str text)
{
    static const trail_part kinds[] = {{"", TRAIL_PART_TEXT, "text"}, {.type = NULL}};
    m->role = cf_str_is(role, "assistant")                                ? CF_TRAIL_ASSISTANT
              : cf_str_is(role, "tool")                                   ? CF_TRAIL_TOOL
              : cf_str_is(role, "system") || cf_str_is(role, "developer") ? CF_TRAIL_SYSTEM
                                                                          : CF_TRAIL_USER;
    trail_content(r, m, json_object_get(v, "content"), kinds);
    m->text = v != NULL ? m->text : trail_copy(r, text);
    trail_fill(r, &m->thinking, v, "reasoning_content");
    m->call_id = trail_json_str(r, v, "tool_call_id");
    m->is_meta = m->role == CF_TRAIL_USER && is_harness_text(m->text);
    read_calls(r, m, json_object_get(v, "tool_calls"));
}

static void add_turn(traffic *x, sqlite3_stmt *q)
{
    trail_reader *r = &x->r;
    cf_str role = id_of(x, q, 2), text = id_of(x, q, 3), body = id_of(x, q, 4);
    turn *t = trail_push(&r->scratch, &x->turns, &x->n, sizeof *t);
    *t = (turn){trail_new(&r->t->arena, sizeof *t->m), trail_find(&x->places, id_of(x, q, 1))};
    json_t *v = NULL;
    if (body.n != 0) {
        r->failed = trail_parse(&v, body, NULL) == CF_ENOMEM || r->failed;
    }
    read_message(r, t->m, v, role, text);
    t->m->time_ms = sqlite3_column_int64(q, 5);
    json_decref(v);
    if (!trail_failed(r)) {
        trail_put(&r->scratch, &x->places, id_of(x, q, 0), x->n - 1);
    }
}

/* ---- exchanges ----------------------------------------------------------- */

/* Sends the turns above a place, and it; *path is the list of them. */
static void send_path(traffic *x, trail_request *q, size_t at, cf_trail_message ***path, size_t *n)
{
    for (size_t i = at; i != TRAIL_NONE; i = x->turns[i].up) {
        *(cf_trail_message **)trail_push(&q->arena, path, n, sizeof **path) = x->turns[i].m;
    }
    for (size_t i = 0; i < *n / 2; i++) {
        cf_trail_message *m = (*path)[i];
        (*path)[i] = (*path)[*n - 1 - i];
        (*path)[*n - 1 - i] = m;
    }
    for (size_t i = 0; i < *n; i++) {
        (void)trail_send(q, (*path)[i], NULL);
    }
}

/* What the recorder found, with the message that it names. */
static void put_notes(trail_reader *r, cf_trail_step *s, cf_str findings,
                      cf_trail_message *const *path, size_t n)
{
    json_t *list = NULL;
    const json_t *one;
    size_t i;
    r->failed = trail_parse(&list, findings, NULL) == CF_ENOMEM || r->failed;
    json_array_foreach(list, i, one)
    {
        size_t at = json_object_get(one, "message") != NULL ? (size_t)trail_int(one, "message") : n;
        cf_trail_note *note = trail_push(&r->t->arena, &s->notes, &s->n_notes, sizeof *note);
        *note = (cf_trail_note){.kind = trail_json_str(r, one, "kind"),
                                .text = trail_json_str(r, one, "text"),
                                .message = at < n ? path[at] : NULL,
                                .had = trail_int(one, "before"),
                                .kept = trail_int(one, "now")};
    }
    const cf_trail_message *m = s->message;
    if (m != NULL && m->text.n == 0 && m->n_calls == 0) {
        *(cf_trail_note *)trail_push(&r->t->arena, &s->notes, &s->n_notes, sizeof *s->notes) =
            (cf_trail_note){.kind = cf_str_from("empty-reply"),
                            .text = cf_str_from("the reply has neither a text nor a call")};
    }
    json_decref(list);
}

static int64_t known(int64_t n)
{
    return n > 0 ? n : 0;
}

/* `last` is the place of the last turn: the reply, where there is one. */
static void put_exchange(traffic *x, sqlite3_stmt *q, size_t last)
{
    trail_reader *r = &x->r;
    trail_request w = {.r = r, .talk = &x->talk};
    cf_trail_message **path = NULL, *reply = x->turns[last].m;
    int64_t status = cf_sql__opt(q, 4), read = known(cf_sql__opt(q, 6));
    int64_t end = sqlite3_column_int64(q, 1) + known(cf_sql__opt(q, 2)) / 1000;
    size_t n = 0;
    bool has_reply = reply->role == CF_TRAIL_ASSISTANT && status == 200;
    send_path(x, &w, has_reply ? x->turns[last].up : last, &path, &n);
    trail_request_put(&w);
    cf_str model = trail_copy(r, id_of(x, q, 3));
    trail_model(r, model);
    if (status >= 400) {
        cf_buf b = CF_BUF_INIT;
        cf_buf_addf(&b, "HTTP %lld", (long long)status);
        cf_trail_message *m = trail_message(r, x->talk.lane, CF_TRAIL_ASSISTANT);
        m->text = trail_take(r, &b);
        m->is_error = true;
        m->time_ms = end;
    } else if (status >= 0) {
        if (has_reply) {
            reply->model = model;
            reply->time_ms = end;
            trail_add_message(r, x->talk.lane, reply);
        }
        cf_trail_step *s = trail_request_step(&w, has_reply ? reply : NULL);
        int64_t written = known(cf_sql__opt(q, 8));
        s->used = (cf_trail_usage){known(known(cf_sql__opt(q, 5)) - read - written), read, written,
                                   known(cf_sql__opt(q, 7)), known(cf_sql__opt(q, 9))};
        s->stop = trail_copy(r, id_of(x, q, 10));
        s->model = model;
        put_notes(r, s, id_of(x, q, 11), path, n);
    }
    trail_seen(r, sqlite3_column_int64(q, 1));
    trail_seen(r, end);
    trail_request_end(&w);
}

static cf_status put_conversation(traffic *x, int64_t id, cf_error *err)
{
    sqlite3_stmt *q;
    cf_status st = cf_sql__query(x->sql, &q, err,
                                 "SELECT t.id, t.parent_id, m.role, m.text, m.body, t.created_ms "
                                 "FROM turn t JOIN message m ON m.id = t.message_id "
                                 "WHERE t.conversation_id = ? ORDER BY t.ordinal",
                                 "i", id);
    while (st == CF_OK && cf_sql__next(x->sql, q, &st, err)) {
        add_turn(x, q);
    }
    CF_THEN(st, cf_sql__query(x->sql, &q, err,
                              "SELECT turn_id, started_ms, total_us, coalesce(model, ''), status, "
                              "n_prompt, n_cached, n_reply, n_written, n_thinking, "
                              "coalesce(ended, ''), findings, coalesce(client, '') FROM exchange "
                              "WHERE conversation_id = ? ORDER BY id",
                              "i", id));
    while (st == CF_OK && cf_sql__next(x->sql, q, &st, err)) {
        size_t last = trail_find(&x->places, id_of(x, q, 0));
        cf_trail *t = x->r.t;
        t->version = t->version.n != 0 ? t->version : trail_copy(&x->r, id_of(x, q, 12));
        if (last < x->n && !trail_failed(&x->r)) {
            put_exchange(x, q, last);
        }
    }
    return st;
}

/* ---- the database -------------------------------------------------------- */

bool trail_is_history(const char *path)
{
    return trail_has_tables(path, "('exchange', 'turn', 'conversation')");
}

/* The newest conversations with exchanges, or the one that is wanted. */
static cf_status read_all(cf_sql *sql, cf_trails *out, const trail_source *s, cf_error *err)
{
    enum { SESSIONS_MAX = 1000 };
    const char *id = s->opts->id != NULL && s->opts->id[0] != '\0' ? s->opts->id : NULL;
    sqlite3_stmt *q;
    cf_status st = cf_sql__prepare(
        sql, &q,
        "SELECT id, uuid, title FROM (SELECT c.id, c.uuid, c.title FROM conversation c "
        "WHERE EXISTS (SELECT 1 FROM exchange e WHERE e.conversation_id = c.id) "
        "AND (?1 IS NULL OR c.uuid = ?1) ORDER BY c.id DESC LIMIT ?2) ORDER BY id",
        err);
    if (st == CF_OK) {
        (void)sqlite3_bind_text(q, 1, id, -1, SQLITE_STATIC);
        (void)sqlite3_bind_int(q, 2, SESSIONS_MAX);
    }
    while (st == CF_OK && cf_sql__next(sql, q, &st, err)) {
        traffic x = {.sql = sql};
        st = trail_stops(s->opts) ? cf_fail(err, CF_ECANCELLED, "interrupted")
                                  : trail_begin(&x.r, "proxy", s->paths[0], err);
        if (st == CF_OK) {
            x.r.t->id = cf_sql__str(q, 1, &x.r.t->arena);
            x.r.t->title = cf_sql__str(q, 2, &x.r.t->arena);
            x.talk.lane = trail_add_lane(&x.r, cf_str_make("", 0));
            st =
                trail_finish(&x.r, put_conversation(&x, sqlite3_column_int64(q, 0), err), out, err);
        }
    }
    cf_sql__drop(q);
    return st;
}

cf_status trail_read_traffic(cf_trails *out, const trail_source *s, cf_error *err)
{
    cf_sql sql = {0};
    CF_TRY(trail_open_db(&sql, s, err));
    cf_status st = read_all(&sql, out, s, err);
    cf_sql__close(&sql);
    return st;
}
