/*
 * trail_traffic.c - what the proxy saw: a conversation of the history with
 * exchanges is a session, or all those whose requests named the same session
 * or one that it began.
 *
 * Every request names its last turn, and the turns above it are what it sent.
 *
 * Invariants:
 * 1. A conversation whose first request ends with an argument of a call is that
 *    call's sub-agent.
 * 2. Of the others, that with tools and most requests, and those with its tools
 *    or its system message, are the main path: a history that was compacted
 *    begins a conversation.
 * 3. The rest (titles, other side requests) are sub-agents of an unknown call.
 */
#include <string.h>

#include "core/base/hash.h"
#include "storage/db/store_sql.h"
#include "storage/trail/trail_parts.h"
#include "storage/trail/trail_talk.h"

/* A turn while its conversation is read. */
typedef struct turn {
    cf_trail_message *m;
    size_t up; /* place of its parent; TRAIL_NONE: none */
} turn;

/* A conversation of the history. */
typedef struct part {
    int64_t id, n_requests;
    cf_str uuid, title;
    cf_str session, parent; /* as the requests named them; empty: none */
    cf_str tools, system;   /* a hash; the last text; empty: it has none */
    size_t next;            /* the next one of the same session; TRAIL_NONE: none */
    size_t chain;           /* of the session's first one: where its list begins */
    bool is_wanted;
    size_t first, end; /* places of its turns */
    cf_str call;       /* that began it; empty: none is known */
} part;

typedef struct traffic {
    trail_reader r;
    cf_sql *sql;
    turn *turns; /* [n], parents before children */
    size_t n;
    trail_index places; /* ids of turns */
    struct prompt {
        cf_str text, call; /* an argument, and the call's id */
        size_t at;         /* place of its turn */
    } * prompts;           /* [n_prompts] */
    size_t n_prompts;
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
                                .had = trail_tokens(one, "before"),
                                .kept = trail_tokens(one, "now")};
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
static void put_exchange(traffic *x, trail_talk *talk, sqlite3_stmt *q, size_t last)
{
    trail_reader *r = &x->r;
    trail_request w = {.r = r, .talk = talk};
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
        cf_trail_message *m = trail_message(r, talk->lane, CF_TRAIL_ASSISTANT);
        m->text = trail_take(r, &b);
        m->is_error = true;
        m->time_ms = end;
    } else if (status >= 0) {
        if (has_reply) {
            reply->model = model;
            reply->time_ms = end;
            trail_add_message(r, talk->lane, reply);
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

/* What is needed of one among others. */
static cf_status read_kind(traffic *x, part *p, cf_error *err)
{
    char hex[CF_HASH_TEXT + 1] = "";
    sqlite3_stmt *q;
    cf_status st = cf_sql__query(x->sql, &q, err,
                                 "SELECT coalesce(preface, ''), (SELECT count(*) FROM exchange "
                                 "WHERE conversation_id = ?1) FROM conversation WHERE id = ?1",
                                 "i", p->id);
    while (st == CF_OK && cf_sql__next(x->sql, q, &st, err)) {
        cf_str preface = id_of(x, q, 0);
        if (preface.n != 0) {
            cf_hash_hex(hex, preface.p, preface.n);
        }
        p->n_requests = sqlite3_column_int64(q, 1);
    }
    p->tools = trail_copy(&x->r, cf_str_from(hex));
    return st;
}

static cf_status read_turns(traffic *x, part *p, cf_error *err)
{
    sqlite3_stmt *q;
    cf_status st = cf_sql__query(x->sql, &q, err,
                                 "SELECT t.id, t.parent_id, m.role, m.text, m.body, t.created_ms "
                                 "FROM turn t JOIN message m ON m.id = t.message_id "
                                 "WHERE t.conversation_id = ? ORDER BY t.ordinal",
                                 "i", p->id);
    p->first = x->n;
    while (st == CF_OK && cf_sql__next(x->sql, q, &st, err)) {
        add_turn(x, q);
        const cf_trail_message *m = x->n != 0 ? x->turns[x->n - 1].m : NULL;
        p->system = m != NULL && m->role == CF_TRAIL_SYSTEM ? m->text : p->system;
    }
    p->end = x->n;
    return st;
}

static cf_status read_exchanges(traffic *x, trail_talk *talk, int64_t id, cf_error *err)
{
    sqlite3_stmt *q;
    cf_status st = cf_sql__query(x->sql, &q, err,
                                 "SELECT turn_id, started_ms, total_us, coalesce(model, ''), "
                                 "status, n_prompt, n_cached, n_reply, n_written, n_thinking, "
                                 "coalesce(ended, ''), findings, coalesce(client, '') "
                                 "FROM exchange WHERE conversation_id = ? ORDER BY id",
                                 "i", id);
    while (st == CF_OK && cf_sql__next(x->sql, q, &st, err)) {
        size_t last = trail_find(&x->places, id_of(x, q, 0));
        cf_trail *t = x->r.t;
        t->version = t->version.n != 0 ? t->version : trail_copy(&x->r, id_of(x, q, 12));
        if (last < x->n && !trail_failed(&x->r)) {
            put_exchange(x, talk, q, last);
        }
    }
    return st;
}

/* ---- conversations of one session ---------------------------------------- */

/* Texts of this length are not the same by chance. */
enum { PROMPT_MIN = 16 };

static void note_prompts(traffic *x, size_t at)
{
    trail_reader *r = &x->r;
    const cf_trail_message *m = x->turns[at].m;
    for (size_t i = 0; i < m->n_calls; i++) {
        json_t *v = NULL;
        r->failed = trail_parse(&v, m->calls[i].arguments, NULL) == CF_ENOMEM || r->failed;
        for (void *it = json_object_iter(v); it != NULL; it = json_object_iter_next(v, it)) {
            const json_t *value = json_object_iter_value(it);
            cf_str text = cf_str_trim(json_is_string(value) ? trail_value_text(r, value)
                                                            : cf_str_make("", 0));
            if (text.n >= PROMPT_MIN) {
                struct prompt *p = trail_push(&r->scratch, &x->prompts, &x->n_prompts, sizeof *p);
                *p = (struct prompt){text, m->calls[i].id, at};
            }
        }
        json_decref(v);
    }
}

/* The call of another conversation whose argument a user's message before the
 * first reply ends with; empty: none. */
static cf_str call_that_began(const traffic *x, const part *p)
{
    for (size_t i = p->first; i < p->end && x->turns[i].m->role != CF_TRAIL_ASSISTANT; i++) {
        cf_str text = cf_str_trim(x->turns[i].m->text);
        for (size_t k = 0; x->turns[i].m->role == CF_TRAIL_USER && k < x->n_prompts; k++) {
            const struct prompt *w = &x->prompts[k];
            if ((w->at < p->first || w->at >= p->end) && text.n >= w->text.n &&
                memcmp(text.p + text.n - w->text.n, w->text.p, w->text.n) == 0) {
                return w->call;
            }
        }
    }
    return cf_str_make(NULL, 0);
}

/* Whether both have a text, the same one. */
static bool is_same_text(cf_str a, cf_str b)
{
    return a.n != 0 && cf_str_eq(a, b);
}

/* Whether both can be of one agent that no call began. */
static bool is_alike(const part *a, const part *b)
{
    return a == b || (a->call.n == 0 && b->call.n == 0 && cf_str_eq(a->session, b->session) &&
                      (is_same_text(a->tools, b->tools) || is_same_text(a->system, b->system)));
}

/* One of the main path: that with most requests, of those with tools if any has. */
static const part *main_of(const part *parts, size_t first, cf_str session)
{
    const part *best = &parts[first];
    for (size_t i = first; i != TRAIL_NONE; i = parts[i].next) {
        const part *p = &parts[i];
        bool is_own = p->call.n == 0 && cf_str_eq(p->session, session);
        bool has_more = (p->tools.n != 0) == (best->tools.n != 0)
                            ? p->n_requests > best->n_requests
                            : p->tools.n != 0; /* a title is asked for without */
        best = is_own && has_more ? p : best;
    }
    return best;
}

static cf_status put_part(traffic *x, const part *p, const part *path, trail_talk *talk,
                          cf_error *err)
{
    trail_reader *r = &x->r;
    trail_talk own = {.n = 0};
    if (is_alike(p, path)) {
        r->t->title = r->t->n_parts == 0 ? trail_copy(r, p->title) : r->t->title;
        *(cf_str *)trail_push(&r->t->arena, &r->t->parts, &r->t->n_parts, sizeof p->uuid) =
            trail_copy(r, p->uuid);
        return read_exchanges(x, talk, p->id, err);
    }
    cf_str id = trail_copy(r, p->uuid);
    own.lane = trail_add_agent(r, id, trail_copy(r, p->title));
    if (p->call.n != 0) {
        trail_began(r, id, p->call);
    }
    return read_exchanges(x, &own, p->id, err);
}

/* The session that has the conversations from a place on. */
static cf_status put_session(cf_sql *sql, part *parts, const part *root, cf_trails *out,
                             const trail_source *s, cf_error *err)
{
    traffic x = {.sql = sql};
    trail_talk talk = {.n = 0};
    size_t first = root->chain;
    CF_TRY(trail_begin(&x.r, "proxy", s->paths[0], err));
    cf_status st = CF_OK;
    const bool is_joined = parts[first].next != TRAIL_NONE;
    for (size_t i = first; st == CF_OK && i != TRAIL_NONE; i = parts[i].next) {
        st = read_turns(&x, &parts[i], err);
        CF_THEN(st, is_joined ? read_kind(&x, &parts[i], err) : CF_OK);
    }
    for (size_t i = 0; st == CF_OK && is_joined && i < x.n; i++) {
        note_prompts(&x, i);
    }
    for (size_t i = first; st == CF_OK && is_joined && i != TRAIL_NONE; i = parts[i].next) {
        parts[i].call = call_that_began(&x, &parts[i]);
    }
    const part *path = main_of(parts, first, root->session);
    talk.lane = trail_add_lane(&x.r, cf_str_make("", 0));
    for (size_t i = first; st == CF_OK && i != TRAIL_NONE; i = parts[i].next) {
        st = put_part(&x, &parts[i], path, &talk, err);
    }
    if (st == CF_OK) {
        x.r.t->id = x.r.t->n_parts != 0 ? x.r.t->parts[0] : x.r.t->id;
        trail_order(&x.r);
    }
    return trail_finish(&x.r, st, out, err);
}

/* ---- the database -------------------------------------------------------- */

bool trail_is_history(const char *path)
{
    return trail_has_tables(path, "('exchange', 'turn', 'conversation')");
}

typedef struct history {
    trail_reader all; /* holds the conversations */
    part *v;          /* [n], in order */
    size_t n;
    trail_index firsts; /* a session's name -> its first conversation */
} history;

static void add_part(history *h, sqlite3_stmt *q)
{
    trail_reader *r = &h->all;
    json_t *source = NULL;
    cf_str text = cf_sql__str(q, 3, &r->scratch);
    part *p = trail_push(&r->scratch, &h->v, &h->n, sizeof *p);
    if (text.n != 0) {
        r->failed = trail_parse(&source, text, NULL) == CF_ENOMEM || r->failed;
    }
    *p = (part){.id = sqlite3_column_int64(q, 0),
                .uuid = cf_sql__str(q, 1, &r->scratch),
                .title = cf_sql__str(q, 2, &r->scratch),
                .session = trail_json_str(r, source, "session"),
                .parent = trail_json_str(r, source, "parent"),
                .chain = TRAIL_NONE};
    json_decref(source);
    if (trail_find(&h->firsts, p->session) == TRAIL_NONE && !trail_failed(r)) {
        trail_put(&r->scratch, &h->firsts, p->session, h->n - 1);
    }
}

/* The first conversation of the session that began a conversation's. */
static size_t root_of(const history *h, size_t i)
{
    for (size_t steps = 0;; steps++) {
        size_t first = trail_find(&h->firsts, h->v[i].session);
        i = first != TRAIL_NONE ? first : i;
        size_t up = trail_find(&h->firsts, h->v[i].parent);
        if (up == TRAIL_NONE || steps > h->n) {
            return i;
        }
        i = up;
    }
}

/* The sessions of the newest conversations with exchanges, or that of the one that
 * is wanted, which may be older. */
static cf_status read_all(cf_sql *sql, history *h, cf_trails *out, const trail_source *s,
                          cf_error *err)
{
    enum { CONVERSATIONS_MAX = 1000 };
    const char *id = s->opts->id != NULL && s->opts->id[0] != '\0' ? s->opts->id : NULL;
    sqlite3_stmt *q;
    cf_status st = cf_sql__query(
        sql, &q, err,
        "SELECT id, uuid, title, source FROM (SELECT c.id, c.uuid, c.title, c.source "
        "FROM conversation c WHERE EXISTS (SELECT 1 FROM exchange e WHERE e.conversation_id = "
        "c.id) ORDER BY c.uuid = ? DESC, c.id DESC LIMIT ?) ORDER BY id",
        "zi", id != NULL ? id : "", (int64_t)CONVERSATIONS_MAX);
    while (st == CF_OK && cf_sql__next(sql, q, &st, err)) {
        add_part(h, q);
    }
    st = st == CF_OK && trail_failed(&h->all) ? cf_oom(err) : st;
    for (size_t i = h->n; st == CF_OK && i-- > 0;) { /* the first of each chain comes last */
        part *root = &h->v[root_of(h, i)];
        h->v[i].next = root->chain;
        root->chain = i;
        root->is_wanted = root->is_wanted || id == NULL || cf_str_is(h->v[i].uuid, id);
    }
    for (size_t i = 0; st == CF_OK && i < h->n; i++) {
        if (h->v[i].is_wanted) {
            st = trail_stops(s->opts) ? cf_fail(err, CF_ECANCELLED, "interrupted")
                                      : put_session(sql, h->v, &h->v[i], out, s, err);
        }
    }
    return st;
}

cf_status trail_read_traffic(cf_trails *out, const trail_source *s, cf_error *err)
{
    cf_sql sql = {0};
    history h = {.n = 0};
    CF_TRY(trail_begin(&h.all, "proxy", "", err));
    cf_status st = trail_open_db(&sql, s, err);
    if (st == CF_OK) {
        st = read_all(&sql, &h, out, s, err);
        cf_sql__close(&sql);
    }
    trail_drop(&h.all);
    return st;
}
