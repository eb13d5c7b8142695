/*
 * store_list.c - lists conversations, counts facets, finds names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/os.h"
#include "storage/db/store_shown.h"

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
    c->place = place == 1 ? CF_PLACE_ARCHIVED : place == 2 ? CF_PLACE_TRASH : CF_PLACE_LIVE;
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

static cf_status read_marks(cf_sql *sql, int64_t id, cf_store_conv *c, cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT (SELECT count(*) FROM turn WHERE conversation_id = ?1 AND "
                         "rating > 0), (SELECT count(*) FROM turn WHERE conversation_id = ?1 "
                         "AND rating < 0), (SELECT count(*) FROM turn WHERE conversation_id = "
                         "?1 AND note IS NOT NULL)",
                         "i", id));
    CF_TRY(cf_sql__step(sql, st, &has_row, err));
    if (has_row) {
        c->n_good = (uint32_t)sqlite3_column_int64(st, 0);
        c->n_bad = (uint32_t)sqlite3_column_int64(st, 1);
        c->n_notes = (uint32_t)sqlite3_column_int64(st, 2);
        cf_sql__done(st);
    }
    return CF_OK;
}

static cf_status read_tags(cf_sql *sql, int64_t id, cf_arena *a, cf_store_conv *c, cf_error *err)
{
    cf_str *tags = NULL;
    CF_TRY(
        cf_sql__strs(sql, &tags, &c->n_tags, "SELECT count(*) FROM tag WHERE conversation_id = ?",
                     "SELECT name FROM tag WHERE conversation_id = ? ORDER BY name", id, a, err));
    c->tags = tags;
    return CF_OK;
}

cf_status cf_rows__get_conv(cf_sql *sql, int64_t id, cf_arena *a, cf_store_conv *out, cf_error *err)
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

enum {
    SCAN_MAX = 4000,  /* rows that a quick list looks at */
    DENSE = 4,        /* times as many have enough for a page */
    NAMED_MAX = 1000, /* ids whose rows are read and sorted */
    LISTED_MAX = 4000 /* ids that are looked for along the order; more of them
                         are met soon there */
};

/* Values of a column that hold a text; few, since facet counts them. */
static void add_facet(cf_sql_text *t, const char *column, int kind, cf_str part)
{
    if (part.n != 0) {
        cf_buf_addf(&t->sql,
                    " AND c.%s IN (SELECT value FROM facet WHERE kind = %d AND "
                    "n > 0 AND instr(lower(value), lower(",
                    column, kind);
        cf_sql__add_str(t, "?)) > 0)", part);
    }
}

static bool is_common_role(cf_str role)
{
    return cf_str_is(role, "user") || cf_str_is(role, "assistant");
}

/* Nearly all conversations have the common roles: the first ones are looked at
 * one by one.  Rare ones are found by their index. */
static void add_role(cf_sql_text *t, cf_str role)
{
    cf_sql__add_str(t,
                    is_common_role(role)
                        ? " AND EXISTS (SELECT 1 FROM turn tt JOIN message mm ON "
                          "mm.id = tt.message_id WHERE tt.conversation_id = c.id AND "
                          "mm.role = ?)"
                        : " AND c.id IN (SELECT tt.conversation_id FROM message mm "
                          "CROSS JOIN turn tt ON tt.message_id = mm.id WHERE mm.role = "
                          "? AND mm.role NOT IN ('user', 'assistant'))",
                    role);
}

static void add_terms(cf_sql_text *t, const cf_shown_terms *terms)
{
    for (size_t i = 0; i < terms->n; i++) {
        cf_sql__add_str(t,
                        terms->v[i].is_absent ? " AND NOT instr(lower(iif(c.title <> '', c.title, "
                                                "c.preview)), lower(?))"
                                              : " AND instr(lower(iif(c.title <> '', c.title, "
                                                "c.preview)), lower(?))",
                        terms->v[i].text);
    }
}

/* All but the place. */
static void add_filters(cf_sql_text *t, const cf_store_query *q, const cf_shown_terms *terms)
{
    cf_sql__add_str(t, " AND c.id IN (SELECT conversation_id FROM tag WHERE name = ?)", q->tag);
    add_facet(t, "model", CF_FACET_MODEL, q->model);
    cf_sql__add_str(t,
                    " AND c.template_hash IN (SELECT hash FROM template WHERE "
                    "instr(hash || ' ' || name, ?) > 0)",
                    q->template_hash);
    cf_sql__add_str(t, " AND c.status = ?", q->status);
    add_role(t, q->role);
    cf_sql__add_str(t,
                    " AND c.id IN (SELECT tt.conversation_id FROM tool_call k JOIN "
                    "turn tt ON tt.id = k.turn_id WHERE k.name = ?)",
                    q->tool);
    if (q->rating != CF_RATED_ANYHOW) {
        cf_buf_addf(&t->sql,
                    " AND c.id IN (SELECT conversation_id FROM turn WHERE "
                    "rating IS NOT NULL%s)",
                    q->rating == CF_RATED_GOOD  ? " AND rating > 0"
                    : q->rating == CF_RATED_BAD ? " AND rating < 0"
                                                : "");
    }
    if (q->has_note) {
        cf_buf_adds(&t->sql, " AND c.id IN (SELECT conversation_id FROM turn "
                             "WHERE note IS NOT NULL)");
    }
    if (q->after_ms != 0) {
        cf_sql__add_int(t, " AND c.created_ms >= ?", q->after_ms);
    }
    if (q->before_ms != 0) {
        cf_sql__add_int(t, " AND c.created_ms < ?", q->before_ms);
    }
    add_terms(t, terms);
}

/* `on_index` false: the rows are few, so that they are found by the filters and
 * sorted, not looked for along the index of the order. */
static void add_order(cf_sql_text *t, const cf_store_query *q, bool on_index)
{
    static const char *const keys[] = {"c.updated_ms", "c.created_ms", "c.title COLLATE NOCASE",
                                       "c.n_turns"};
    bool is_up = (q->sort == CF_SORT_TITLE) != q->is_reversed;
    const char *way = is_up ? "" : " DESC";
    size_t key = (size_t)q->sort < 4 ? (size_t)q->sort : 0;
    cf_buf_addf(&t->sql, " ORDER BY %s%s%s, c.id%s", on_index ? "" : "+", keys[key], way, way);
}

static cf_status read_list(cf_sql *sql, sqlite3_stmt *st, size_t limit, cf_arena *a,
                           cf_store_conv *v, size_t *n, cf_error *err)
{
    cf_status s = CF_OK;
    for (*n = 0; *n < limit && cf_sql__next(sql, st, &s, err); ++*n) {
        int64_t id = sqlite3_column_int64(st, 0);
        read_conv(st, a, &v[*n]);
        s = read_tags(sql, id, a, &v[*n], err);
        CF_THEN(s, read_marks(sql, id, &v[*n], err));
    }
    CF_TRY(s);
    return a->failed ? cf_sql__oom(err) : CF_OK;
}

/* The strategy that finds the page of a list. */
typedef enum list_plan {
    LIST_ALL,   /* along the order */
    LIST_FEW,   /* by the filters, and sorted */
    LIST_FIRST, /* among the first SCAN_MAX rows of the order */
    LIST_NAMED, /* from ids that were found by the terms */
    LIST_LISTED /* along the order, whose index has the ids */
} list_plan;

/* Whether the only filter is a set of conversations; for a large set the first
 * rows of the order suffice. */
static bool names_rows(const cf_store_query *q)
{
    bool has_others =
        q->model.n + q->template_hash.n + q->status.n != 0 || q->after_ms != 0 || q->before_ms != 0;
    return !has_others && (q->tag.n + q->tool.n != 0 || q->rating != CF_RATED_ANYHOW ||
                           q->has_note || (q->role.n != 0 && !is_common_role(q->role)));
}

/* Ids of the page. */
static void add_page(cf_sql_text *t, const cf_store_query *q, list_plan plan,
                     const cf_shown_terms *terms, cf_str ids)
{
    if (plan == LIST_FIRST) {
        cf_sql__add_int(t,
                        "SELECT c.id FROM (SELECT * FROM conversation c WHERE "
                        "c.place = ?",
                        (int64_t)q->place);
        add_order(t, q, true);
        cf_sql__add_int(t, " LIMIT ?) c WHERE 1", SCAN_MAX);
    } else if (plan == LIST_NAMED) {
        cf_sql__add_str(t,
                        "SELECT c.id FROM json_each(?) f CROSS JOIN conversation c ON "
                        "c.id = f.value",
                        ids);
        cf_sql__add_int(t, " WHERE +c.place = ?", (int64_t)q->place);
    } else if (plan == LIST_LISTED) {
        cf_sql__add_int(t, "SELECT c.id FROM conversation c WHERE c.place = ?", (int64_t)q->place);
        cf_sql__add_str(t, " AND +c.id IN (SELECT value FROM json_each(?))", ids);
    } else {
        /* When a filter names the rows, the index of places is not used. */
        bool is_named = plan == LIST_FEW && names_rows(q);
        cf_sql__add_int(t,
                        is_named ? "SELECT c.id FROM conversation c WHERE +c.place = ?"
                                 : "SELECT c.id FROM conversation c WHERE c.place = ?",
                        (int64_t)q->place);
    }
    if (plan != LIST_LISTED) {
        add_filters(t, q, terms);
    }
    add_order(t, q, plan != LIST_FEW);
}

static cf_status list_by(cf_sql *sql, const cf_store_query *q, list_plan plan,
                         const cf_shown_terms *terms, cf_str ids, size_t limit, cf_arena *a,
                         cf_store_conv **rows, size_t *n, cf_error *err)
{
    cf_sql_text t = {.sql = CF_BUF_INIT};
    /* The page is found first, then its rows are read. */
    cf_buf_adds(&t.sql, "SELECT " CONV_COLUMNS "FROM conversation c LEFT JOIN turn h ON h.id = "
                        "c.head_id WHERE c.id IN (");
    add_page(&t, q, plan, terms, ids);
    cf_sql__add_int(&t, " LIMIT ?", (int64_t)limit);
    cf_sql__add_int(&t, " OFFSET ?)", (int64_t)(q->offset < INT32_MAX ? q->offset : INT32_MAX));
    add_order(&t, q, true);
    sqlite3_stmt *st = NULL;
    cf_status s = cf_sql__prepare_text(sql, &st, &t, err);
    if (s == CF_OK) {
        *rows = cf_arena_calloc(a, limit, sizeof **rows);
        s = *rows == NULL ? cf_sql__oom(err) : read_list(sql, st, limit, a, *rows, n, err);
    }
    cf_sql__drop(st);
    cf_buf_deinit(&t.sql);
    return s;
}

/* A filter other than parts of titles. */
static bool has_filter(const cf_store_query *q)
{
    return q->tag.n + q->model.n + q->template_hash.n + q->status.n + q->role.n + q->tool.n != 0 ||
           q->rating != CF_RATED_ANYHOW || q->has_note || q->after_ms != 0 || q->before_ms != 0;
}

/* How a page is found whose rows are not among the first: those that few
 * titles have by their ids, which are left in `ids`. */
static cf_status choose_plan(cf_sql *sql, const cf_store_query *q, const cf_shown_terms *terms,
                             cf_buf *ids, list_plan *plan, cf_error *err)
{
    size_t n;
    *plan = has_filter(q) ? LIST_FEW : LIST_ALL;
    if (terms->n != 0) {
        CF_TRY(cf_shown__find(sql, terms, LISTED_MAX, ids, &n, err));
        if (n <= NAMED_MAX || (n <= LISTED_MAX && has_filter(q))) {
            *plan = LIST_NAMED;
        } else if (n <= LISTED_MAX) {
            *plan = LIST_LISTED;
        }
    }
    return CF_OK;
}

/* A filter that many pass fills a page from the first rows of the order; where
 * it nearly does, the order is followed on, and else everything is searched. */
static cf_status list(cf_sql *sql, const cf_store_query *q, const cf_shown_terms *terms,
                      cf_arena *a, const cf_store_conv **out, size_t *n, cf_error *err)
{
    size_t limit = q->limit != 0 ? q->limit : 100;
    limit = limit < 100000 ? limit : 100000;
    cf_store_conv *rows = NULL;
    size_t got = 0;
    bool is_done = false;
    bool is_dense = false; /* a page is soon found along the order */
    cf_status s = CF_OK;
    if (q->is_quick ? has_filter(q) || terms->n != 0
                    : has_filter(q) && limit + q->offset <= SCAN_MAX / 4) {
        cf_arena_mark mark = cf_arena_get_mark(a);
        s = list_by(sql, q, LIST_FIRST, terms, (cf_str){NULL, 0}, limit, a, &rows, &got, err);
        is_done = q->is_quick || got == limit;
        is_dense = got * DENSE >= limit;
        if (!is_done) {
            cf_arena_release(a, mark);
        }
    }
    if (s == CF_OK && !is_done) {
        cf_buf ids = CF_BUF_INIT;
        list_plan plan = LIST_ALL;
        if (!is_dense) {
            s = choose_plan(sql, q, terms, &ids, &plan, err);
        }
        CF_THEN(s, list_by(sql, q, plan, terms, cf_buf_str(&ids), limit, a, &rows, &got, err));
        cf_buf_deinit(&ids);
    }
    if (s == CF_OK) {
        *out = rows;
        *n = got;
    }
    return s;
}

cf_status cf_store_list(cf_store *s, const cf_store_query *q, cf_arena *arena,
                        const cf_store_conv **rows, size_t *n, cf_error *err)
{
    cf_reader *r;
    cf_store_query all;
    cf_shown_terms terms;
    cf_status st = cf_search__read(q, &all, &terms, err);
    CF_THEN(st, cf_store__take(s, &r, q->max_ms, err));
    if (st == CF_OK) {
        st = list(&r->sql, &all, &terms, arena, rows, n, err);
        cf_store__give(s, r);
    }
    return st;
}

/* ---- facets ------------------------------------------------------------- */

enum { FACETS_PER_KIND = 50, FACET_KINDS = 5 };

typedef struct facet_list {
    cf_store_facet *v;
    size_t n, total;
    size_t of_kind[FACET_KINDS];
} facet_list;

/* The counts that the writer keeps; kind FACET_KINDS is the total. */
static cf_status facets(cf_sql *sql, cf_store_place place, cf_arena *a, facet_list *out,
                        cf_error *err)
{
    sqlite3_stmt *st;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT kind, value, n FROM facet WHERE place = ? AND "
                         "n > 0 AND (value <> '' OR kind = 5) ORDER BY kind, "
                         "iif(kind = 4, value, '') DESC, n DESC, value",
                         "i", (int64_t)place));
    cf_status s = CF_OK;
    while (cf_sql__next(sql, st, &s, err)) {
        int kind = sqlite3_column_int(st, 0);
        size_t n = (size_t)sqlite3_column_int64(st, 2);
        if (kind == FACET_KINDS) {
            out->total = n;
        } else if (kind >= 0 && kind < FACET_KINDS && out->of_kind[kind]++ < FACETS_PER_KIND) {
            out->v[out->n++] = (cf_store_facet){(cf_facet_kind)kind, cf_sql__str(st, 1, a), n};
        }
    }
    CF_TRY(s);
    return a->failed ? cf_sql__oom(err) : CF_OK;
}

cf_status cf_store_facets(cf_store *s, cf_store_place place, cf_arena *arena,
                          const cf_store_facet **v, size_t *n, size_t *total, cf_error *err)
{
    facet_list out = {0};
    out.v = cf_arena_calloc(arena, (size_t)FACET_KINDS * FACETS_PER_KIND, sizeof *out.v);
    if (out.v == NULL) {
        return cf_sql__oom(err);
    }
    cf_reader *r;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status st = facets(&r->sql, place, arena, &out, err);
    cf_store__give(s, r);
    *total = out.total;
    *v = out.v;
    *n = st == CF_OK ? out.n : 0;
    return st;
}

/* ---- ratings and notes -------------------------------------------------- */

static cf_status turn_marks(cf_sql *sql, cf_uuid conv, cf_arena *a, cf_store_turn_mark **v,
                            size_t *n, cf_error *err)
{
    sqlite3_stmt *st;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT uuid, rating, note, count(*) OVER () FROM turn WHERE "
                         "conversation_id = (SELECT id FROM conversation WHERE uuid = ?1) AND "
                         "(rating IS NOT NULL OR note IS NOT NULL)",
                         "u", conv));
    cf_status s = CF_OK;
    size_t n_all = 0;
    while (cf_sql__next(sql, st, &s, err)) {
        if (*v == NULL) {
            n_all = (size_t)sqlite3_column_int64(st, 3);
            *v = cf_arena_calloc(a, n_all, sizeof **v);
        }
        if (*v != NULL && *n < n_all) {
            (*v)[*n].turn = cf_sql__uuid(st, 0);
            (*v)[*n].rating = sqlite3_column_int(st, 1);
            (*v)[(*n)++].note = cf_sql__str(st, 2, a);
        }
    }
    CF_TRY(s);
    return a->failed ? cf_sql__oom(err) : CF_OK;
}

cf_status cf_store_turn_marks(cf_store *s, cf_uuid conv, cf_arena *arena,
                              const cf_store_turn_mark **v, size_t *n, cf_error *err)
{
    cf_reader *r;
    cf_store_turn_mark *out = NULL;
    size_t got = 0;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status st = turn_marks(&r->sql, conv, arena, &out, &got, err);
    cf_store__give(s, r);
    *v = out;
    *n = st == CF_OK ? got : 0;
    return st;
}

/* ---- costs of prompts --------------------------------------------------- */

static cf_status turn_costs(cf_sql *sql, cf_uuid conv, cf_arena *a, cf_store_turn_cost **v,
                            size_t *n, cf_error *err)
{
    sqlite3_stmt *st;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT t.uuid, r.n_kept, r.n_new, r.n_prompt, r.first_us, "
                         "count(*) OVER () FROM turn t JOIN run r ON r.turn_id = t.id WHERE "
                         "t.conversation_id = (SELECT id FROM conversation WHERE uuid = ?1) AND "
                         "r.n_prompt > 0",
                         "u", conv));
    cf_status s = CF_OK;
    size_t n_all = 0;
    while (cf_sql__next(sql, st, &s, err)) {
        if (*v == NULL) {
            n_all = (size_t)sqlite3_column_int64(st, 5);
            *v = cf_arena_calloc(a, n_all, sizeof **v);
        }
        if (*v != NULL && *n < n_all) {
            cf_store_turn_cost *c = &(*v)[(*n)++];
            c->turn = cf_sql__uuid(st, 0);
            c->n_kept = (uint64_t)sqlite3_column_int64(st, 1);
            c->n_new = (uint64_t)sqlite3_column_int64(st, 2);
            uint64_t n_prompt = (uint64_t)sqlite3_column_int64(st, 3);
            if (c->n_new == 0 && n_prompt > c->n_kept) {
                c->n_new = n_prompt - c->n_kept; /* a server's */
            }
            c->first_us = (uint64_t)sqlite3_column_int64(st, 4);
        }
    }
    CF_TRY(s);
    return a->failed ? cf_sql__oom(err) : CF_OK;
}

cf_status cf_store_turn_costs(cf_store *s, cf_uuid conv, cf_arena *arena,
                              const cf_store_turn_cost **v, size_t *n, cf_error *err)
{
    cf_reader *r;
    cf_store_turn_cost *out = NULL;
    size_t got = 0;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status st = turn_costs(&r->sql, conv, arena, &out, &got, err);
    cf_store__give(s, r);
    *v = out;
    *n = st == CF_OK ? got : 0;
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

static cf_status find_by(cf_sql *sql, const char *text, const char *name, cf_store_ref *out,
                         size_t *n, cf_error *err)
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

static cf_status find(cf_sql *sql, const char *name, cf_store_ref *out, cf_error *err)
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

cf_status cf_store_find(cf_store *s, cf_str name, cf_store_ref *out, cf_error *err)
{
    char text[CF_UUID_TEXT + 1];
    if (!cf_name__clean(name, text)) {
        return cf_fail(err, CF_EINVAL, "'%.*s' is neither a UUID nor %d or more characters of one",
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
    cf_status st = cf_sql__int(&r->sql, &pages, 0, err, "PRAGMA page_count", "");
    CF_THEN(st, cf_sql__int(&r->sql, &page, 0, err, "PRAGMA page_size", ""));
    CF_THEN(st, cf_sql__int(&r->sql, &convs, 0, err, "SELECT count(*) FROM conversation", ""));
    CF_THEN(st, cf_sql__int(&r->sql, &turns, 0, err,
                            "SELECT coalesce(sum(n_turns), 0) FROM conversation", ""));
    cf_store__give(s, r);
    *out = (cf_store_size){.file_bytes = (uint64_t)(pages * page),
                           .n_convs = (uint64_t)convs,
                           .n_turns = (uint64_t)turns};
    return st;
}
