/*
 * store_list.c - lists conversations, counts facets, finds names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/os.h"
#include "storage/db/store_int.h"

#define CONV_COLUMNS                                                      \
    "c.id, c.uuid, c.title, c.created_ms, c.updated_ms, h.uuid, "         \
    "c.forked_from, c.place, c.preface, c.source, c.preview, c.n_turns, " \
    "c.n_forks, c.model, c.template_hash, c.status "

static void read_conv(sqlite3_stmt *st, cf_arena *a, cf_store_conv *c)
{
    c->id = cf_sql__uuid(st, 1);
    c->title = cf_sql__str(st, 2, a);
    c->created_ms = sqlite3_column_int64(st, 3);
    c->updated_ms = sqlite3_column_int64(st, 4);
    c->head = cf_sql__uuid(st, 5);
    c->forked_from = cf_sql__uuid(st, 6);
    int place = sqlite3_column_int(st, 7);
    c->place = place == 1   ? CF_PLACE_ARCHIVED
               : place == 2 ? CF_PLACE_TRASH
                            : CF_PLACE_LIVE;
    c->preface = cf_sql__str(st, 8, a);
    c->source = cf_sql__str(st, 9, a);
    c->preview = cf_sql__str(st, 10, a);
    c->n_turns = (uint32_t)sqlite3_column_int64(st, 11);
    c->n_forks = (uint32_t)sqlite3_column_int64(st, 12);
    c->model = cf_sql__str(st, 13, a);
    c->template_hash = cf_sql__str(st, 14, a);
    cf_str status = cf_sql__str(st, 15, a);
    c->status = CF_TURN_OK;
    (void)cf_turn_status_parse(&c->status, status);
}

static cf_status read_tags(cf_sql *sql, int64_t id, cf_arena *a,
                           cf_store_conv *c, cf_error *err)
{
    cf_str *tags = NULL;
    CF_TRY(cf_sql__strs(
        sql, &tags, &c->n_tags,
        "SELECT count(*) FROM tag WHERE conversation_id = ?",
        "SELECT name FROM tag WHERE conversation_id = ? ORDER BY name", id, a,
        err));
    c->tags = tags;
    return CF_OK;
}

cf_status cf_rows__get_conv(cf_sql *sql, int64_t id, cf_arena *a,
                            cf_store_conv *out, cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT " CONV_COLUMNS "FROM conversation c LEFT "
                         "JOIN turn h ON h.id = c.head_id WHERE c.id = ?",
                         "i", id));
    CF_TRY(cf_sql__step(sql, st, &has_row, err));
    if (!has_row) {
        return cf_fail(err, CF_ENOTFOUND, "no such conversation");
    }
    *out = (cf_store_conv){0};
    read_conv(st, a, out);
    cf_sql__done(st);
    CF_TRY(read_tags(sql, id, a, out, err));
    return a->failed ? cf_sql__oom(err) : CF_OK;
}

/* ---- lists -------------------------------------------------------------- */

typedef struct list_text {
    cf_buf sql;
    cf_str params[12];
    char fmt[12]; /* 's' or 'i' */
    int64_t ints[12];
    int n;
} list_text;

static void add_str(list_text *q, const char *where, cf_str v)
{
    if (v.n != 0) {
        cf_buf_adds(&q->sql, where);
        q->params[q->n] = v;
        q->fmt[q->n++] = 's';
    }
}

static void add_int(list_text *q, const char *where, int64_t v)
{
    cf_buf_adds(&q->sql, where);
    q->ints[q->n] = v;
    q->fmt[q->n++] = 'i';
}

/* "x%" patterns would need escaping; prefixes are compared as ranges. */
static void add_filters(list_text *t, const cf_store_query *q, cf_str words)
{
    add_int(t, " WHERE c.place = ?", (int64_t)q->place);
    add_str(t, " AND c.id IN (SELECT conversation_id FROM tag WHERE name = ?)",
            q->tag);
    add_str(t, " AND instr(lower(c.model), lower(?)) > 0", q->model);
    add_str(t,
            " AND c.template_hash IN (SELECT hash FROM template WHERE "
            "instr(hash || ' ' || name, ?) > 0)",
            q->template_hash);
    add_str(t, " AND c.status = ?", q->status);
    add_str(t,
            " AND EXISTS (SELECT 1 FROM turn tt JOIN message mm ON mm.id = "
            "tt.message_id WHERE tt.conversation_id = c.id AND mm.role = ?)",
            q->role);
    add_str(t,
            " AND c.id IN (SELECT tt.conversation_id FROM tool_call k JOIN "
            "turn tt ON tt.id = k.turn_id WHERE k.name = ?)",
            q->tool);
    add_str(t,
            " AND c.id IN (SELECT rowid FROM title_words WHERE title_words "
            "MATCH ?)",
            words);
    if (q->after_ms != 0) {
        add_int(t, " AND c.created_ms >= ?", q->after_ms);
    }
    if (q->before_ms != 0) {
        add_int(t, " AND c.created_ms < ?", q->before_ms);
    }
}

static void add_order(list_text *t, const cf_store_query *q)
{
    static const char *const keys[] = {"c.updated_ms", "c.created_ms",
                                       "c.title COLLATE NOCASE", "c.n_turns"};
    bool is_up = (q->sort == CF_SORT_TITLE) != q->is_reversed;
    const char *way = is_up ? "" : " DESC";
    size_t key = (size_t)q->sort < 4 ? (size_t)q->sort : 0;
    cf_buf_addf(&t->sql, " ORDER BY %s%s, c.id%s", keys[key], way, way);
}

static cf_status bind_list(cf_sql *sql, sqlite3_stmt *st, const list_text *t,
                           cf_error *err)
{
    for (int i = 0; i < t->n; i++) {
        int rc =
            t->fmt[i] == 'i'
                ? sqlite3_bind_int64(st, i + 1, t->ints[i])
                : sqlite3_bind_text64(st, i + 1, t->params[i].p, t->params[i].n,
                                      SQLITE_TRANSIENT, SQLITE_UTF8);
        if (rc != SQLITE_OK) {
            return cf_sql__fail(sql, rc, err);
        }
    }
    return CF_OK;
}

static cf_status read_list(cf_sql *sql, sqlite3_stmt *st, size_t limit,
                           cf_arena *a, cf_store_conv *v, size_t *n,
                           cf_error *err)
{
    cf_status s = CF_OK;
    for (*n = 0; *n < limit && cf_sql__next(sql, st, &s, err); ++*n) {
        read_conv(st, a, &v[*n]);
        s = read_tags(sql, sqlite3_column_int64(st, 0), a, &v[*n], err);
    }
    CF_TRY(s);
    return a->failed ? cf_sql__oom(err) : CF_OK;
}

static cf_status list(cf_sql *sql, const cf_store_query *q, cf_str words,
                      cf_arena *a, const cf_store_conv **rows, size_t *n,
                      cf_error *err)
{
    size_t limit = q->limit != 0 ? q->limit : 100;
    limit = limit < 100000 ? limit : 100000;
    list_text t = {.sql = CF_BUF_INIT};
    /* The page is found on the index first, then its rows are read. */
    cf_buf_adds(&t.sql, "SELECT " CONV_COLUMNS
                        "FROM conversation c LEFT JOIN turn h ON h.id = "
                        "c.head_id WHERE c.id IN (SELECT c.id FROM "
                        "conversation c");
    add_filters(&t, q, words);
    add_order(&t, q);
    add_int(&t, " LIMIT ?", (int64_t)limit);
    add_int(&t, " OFFSET ?)",
            (int64_t)(q->offset < INT32_MAX ? q->offset : INT32_MAX));
    add_order(&t, q);
    sqlite3_stmt *st = NULL;
    cf_store_conv *v = NULL;
    cf_status s = cf_buf_check(&t.sql, err);
    CF_THEN(s, cf_sql__prepare(sql, &st, t.sql.p, err));
    CF_THEN(s, bind_list(sql, st, &t, err));
    size_t got = 0;
    if (s == CF_OK) {
        v = cf_arena_calloc(a, limit, sizeof *v);
        s = v == NULL ? cf_sql__oom(err)
                      : read_list(sql, st, limit, a, v, &got, err);
    }
    cf_sql__drop(st);
    cf_buf_deinit(&t.sql);
    if (s == CF_OK) {
        *rows = v;
        *n = got;
    }
    return s;
}

cf_status cf_store_list(cf_store *s, const cf_store_query *q, cf_arena *arena,
                        const cf_store_conv **rows, size_t *n, cf_error *err)
{
    cf_reader *r;
    cf_store_query all;
    cf_buf words = CF_BUF_INIT;
    cf_status st = cf_search__read(q, &all, &words, err);
    CF_THEN(st, cf_store__take(s, &r, q->max_ms, err));
    if (st == CF_OK) {
        st = list(&r->sql, &all, cf_buf_str(&words), arena, rows, n, err);
        cf_store__give(s, r);
    }
    cf_buf_deinit(&words);
    return st;
}

/* ---- facets ------------------------------------------------------------- */

enum { FACETS_PER_KIND = 50, FACET_KINDS = 5 };

/* One pass over an index that is in the order of the groups. */
static const char facet_columns[] =
    "WITH g AS MATERIALIZED (SELECT model, template_hash, status, count(*) AS "
    "n FROM conversation WHERE place = ? GROUP BY model, template_hash, "
    "status) SELECT 0 AS kind, model AS value, sum(n) AS n FROM g WHERE model "
    "<> '' GROUP BY model UNION ALL SELECT 1, template_hash, sum(n) FROM g "
    "WHERE template_hash <> '' GROUP BY template_hash UNION ALL SELECT 3, "
    "status, sum(n) FROM g WHERE status <> '' GROUP BY status ORDER BY 1, 3 "
    "DESC, 2";

static const char facet_tags[] =
    "SELECT 2, name, count(*) AS n FROM tag JOIN conversation c ON c.id = "
    "conversation_id WHERE c.place = ? GROUP BY name ORDER BY n DESC, name "
    "LIMIT 50";

typedef struct facet_list {
    cf_store_facet *v;
    size_t n;
    size_t of_kind[FACET_KINDS];
} facet_list;

static cf_status add_facets(cf_sql *sql, const char *text, cf_store_place place,
                            cf_arena *a, facet_list *out, cf_error *err)
{
    sqlite3_stmt *st;
    CF_TRY(cf_sql__query(sql, &st, err, text, "i", (int64_t)place));
    cf_status s = CF_OK;
    while (cf_sql__next(sql, st, &s, err)) {
        int kind = sqlite3_column_int(st, 0);
        if (out->of_kind[kind]++ < FACETS_PER_KIND) {
            cf_store_facet *f = &out->v[out->n++];
            f->kind = (cf_facet_kind)kind;
            f->value = cf_sql__str(st, 1, a);
            f->n = (size_t)sqlite3_column_int64(st, 2);
        }
    }
    CF_TRY(s);
    return a->failed ? cf_sql__oom(err) : CF_OK;
}

static int64_t year_start(int year)
{
    char text[32];
    int64_t ms = 0;
    snprintf(text, sizeof text, "%04d-01-01T00:00:00Z", year);
    (void)cf_os_parse_time(&ms, text);
    return ms;
}

/* Years are ranges of the index by creation, newest first. */
static cf_status add_years(cf_sql *sql, cf_store_place place, cf_arena *a,
                           facet_list *out, cf_error *err)
{
    int64_t last;
    CF_TRY(cf_sql__int(sql, &last, 0, err,
                       "SELECT max(created_ms) FROM conversation WHERE place = "
                       "?",
                       "i", (int64_t)place));
    char text[25];
    cf_os_format_time(text, last);
    int year = atoi(text);
    for (int i = 0; i < FACETS_PER_KIND && year - i >= 1970; i++) {
        int64_t n;
        CF_TRY(cf_sql__int(sql, &n, 0, err,
                           "SELECT count(*) FROM conversation WHERE place = ? "
                           "AND created_ms >= ? AND created_ms < ?",
                           "iii", (int64_t)place, year_start(year - i),
                           year_start(year - i + 1)));
        if (n > 0) {
            snprintf(text, sizeof text, "%d", year - i);
            cf_store_facet *f = &out->v[out->n++];
            f->kind = CF_FACET_YEAR;
            f->value.p = cf_arena_strndup(a, text, strlen(text));
            f->value.n = strlen(text);
            f->n = (size_t)n;
        }
    }
    return a->failed ? cf_sql__oom(err) : CF_OK;
}

static cf_status facets(cf_sql *sql, cf_store_place place, cf_arena *a,
                        facet_list *out, size_t *total, cf_error *err)
{
    int64_t count;
    CF_TRY(cf_sql__int(sql, &count, 0, err,
                       "SELECT count(*) FROM conversation WHERE place = ?", "i",
                       (int64_t)place));
    *total = (size_t)count;
    CF_TRY(add_facets(sql, facet_columns, place, a, out, err));
    CF_TRY(add_facets(sql, facet_tags, place, a, out, err));
    return add_years(sql, place, a, out, err);
}

cf_status cf_store_facets(cf_store *s, cf_store_place place, cf_arena *arena,
                          const cf_store_facet **v, size_t *n, size_t *total,
                          cf_error *err)
{
    facet_list out = {0};
    out.v = cf_arena_calloc(arena, (size_t)FACET_KINDS * FACETS_PER_KIND,
                            sizeof *out.v);
    if (out.v == NULL) {
        return cf_sql__oom(err);
    }
    cf_reader *r;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status st = facets(&r->sql, place, arena, &out, total, err);
    cf_store__give(s, r);
    *v = out.v;
    *n = st == CF_OK ? out.n : 0;
    return st;
}

/* ---- names -------------------------------------------------------------- */

enum { NAME_MIN = 4 };

/* Lower-case hex digits and dashes only. */
bool cf_name__clean(cf_str name, char out[CF_UUID_TEXT + 1])
{
    if (name.n < NAME_MIN || name.n > CF_UUID_TEXT) {
        return false;
    }
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        c = c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-')) {
            return false;
        }
        out[i] = c;
    }
    out[name.n] = '\0';
    return true;
}

/* At most two rows of (conversation, turn or NULL). */
static const char *const find_sql[] = {
    "SELECT uuid, NULL FROM conversation WHERE uuid >= ?1 AND uuid < ?1 || 'g' "
    "LIMIT 2",
    "SELECT c.uuid, t.uuid FROM turn t JOIN conversation c ON c.id = "
    "t.conversation_id WHERE t.uuid >= ?1 AND t.uuid < ?1 || 'g' LIMIT 2",
    "SELECT uuid, NULL FROM conversation WHERE substr(uuid, -length(?1)) = ?1 "
    "LIMIT 2",
    "SELECT c.uuid, t.uuid FROM turn t JOIN conversation c ON c.id = "
    "t.conversation_id WHERE substr(t.uuid, -length(?1)) = ?1 LIMIT 2"};

static cf_status find_by(cf_sql *sql, const char *text, const char *name,
                         cf_store_ref *out, size_t *n, cf_error *err)
{
    sqlite3_stmt *st;
    CF_TRY(cf_sql__query(sql, &st, err, text, "z", name));
    cf_status s = CF_OK;
    while (cf_sql__next(sql, st, &s, err)) {
        out->conversation = cf_sql__uuid(st, 0);
        out->turn = cf_sql__uuid(st, 1);
        ++*n;
    }
    return s;
}

static cf_status find(cf_sql *sql, const char *name, cf_store_ref *out,
                      cf_error *err)
{
    cf_store_ref ref = {0};
    /* Beginnings before ends, conversations before turns. */
    for (size_t i = 0; i < sizeof find_sql / sizeof find_sql[0]; i++) {
        size_t n = 0;
        CF_TRY(find_by(sql, find_sql[i], name, &ref, &n, err));
        if (n == 1) {
            *out = ref;
            return CF_OK;
        }
        if (n > 1) {
            return cf_fail(err, CF_EINVAL,
                           "'%s' fits several: give more of "
                           "the UUID",
                           name);
        }
    }
    return cf_fail(err, CF_ENOTFOUND, "no conversation or turn '%s'", name);
}

cf_status cf_store_find(cf_store *s, cf_str name, cf_store_ref *out,
                        cf_error *err)
{
    char text[CF_UUID_TEXT + 1];
    if (!cf_name__clean(name, text)) {
        return cf_fail(
            err, CF_EINVAL,
            "'%.*s' is neither a UUID nor %d or more characters of one",
            (int)(name.n < 60 ? name.n : 60), name.p, NAME_MIN);
    }
    cf_reader *r;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status st = find(&r->sql, text, out, err);
    cf_store__give(s, r);
    return st;
}

cf_status cf_store_get_size(cf_store *s, cf_store_size *out, cf_error *err)
{
    cf_reader *r;
    int64_t pages = 0, page = 0, convs = 0, turns = 0;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status st =
        cf_sql__int(&r->sql, &pages, 0, err, "PRAGMA page_count", "");
    CF_THEN(st, cf_sql__int(&r->sql, &page, 0, err, "PRAGMA page_size", ""));
    CF_THEN(st, cf_sql__int(&r->sql, &convs, 0, err,
                            "SELECT count(*) FROM conversation", ""));
    CF_THEN(st, cf_sql__int(
                    &r->sql, &turns, 0, err,
                    "SELECT coalesce(sum(n_turns), 0) FROM conversation", ""));
    cf_store__give(s, r);
    *out = (cf_store_size){.file_bytes = (uint64_t)(pages * page),
                           .n_convs = (uint64_t)convs,
                           .n_turns = (uint64_t)turns};
    return st;
}
