/*
 * store_search.c - turns words and filters into one query, and runs it.
 *
 * Newest first, because an index can be walked backwards and left as soon as
 * a page is full; ranking would have to look at every match.
 */
#include <string.h>

#include "core/base/os.h"
#include "storage/db/store_int.h"
#include "storage/db/store_snippet.h"
#include "storage/db/store_words.h"

enum { QUERY_MAX = 4096 };

/* ---- the query text ----------------------------------------------------- */

typedef struct parsed {
    cf_buf words;  /* FTS5 syntax for what must be there */
    cf_buf absent; /* ... and what must not, joined by OR */
    cf_terms terms;
    cf_store_query q; /* filters, from q and from the text */
} parsed;

typedef struct word {
    cf_str key, value; /* key empty: no filter */
    bool is_quoted, is_negative, is_prefix;
} word;

/* The next word at *at; false at the end. */
static bool next_word(cf_str s, size_t *at, word *w)
{
    *w = (word){0};
    while (*at < s.n && (unsigned char)s.p[*at] <= ' ') {
        ++*at;
    }
    if (*at >= s.n) {
        return false;
    }
    if (s.p[*at] == '-' && *at + 1 < s.n && (unsigned char)s.p[*at + 1] > ' ') {
        w->is_negative = true;
        ++*at;
    }
    size_t from = *at;
    while (*at < s.n && (unsigned char)s.p[*at] > ' ' && s.p[*at] != '"') {
        if (s.p[*at] == ':' && w->key.n == 0 && *at > from) {
            w->key = cf_str_make(s.p + from, *at - from);
            from = *at + 1;
        }
        ++*at;
    }
    if (*at < s.n && s.p[*at] == '"' && *at == from) {
        from = ++*at;
        w->is_quoted = true;
        while (*at < s.n && s.p[*at] != '"') {
            ++*at;
        }
    }
    w->value = cf_str_make(s.p + from, *at - from);
    if (w->is_quoted && *at < s.n) {
        ++*at;
    }
    if (!w->is_quoted && w->value.n > 1 && w->value.p[w->value.n - 1] == '*') {
        w->is_prefix = true;
        w->value.n--;
    }
    return true;
}

/* "2026", "2026-01", "2026-01-02" or a whole time. */
static bool parse_date(int64_t *ms, cf_str s)
{
    static const char rest[] = "0000-01-01T00:00:00Z";
    char text[40];
    if (s.n >= sizeof text) {
        return false;
    }
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    if (s.n == 4 || s.n == 7 || s.n == 10) {
        memcpy(text + s.n, rest + s.n, sizeof rest - s.n);
    }
    return cf_os_parse_time(ms, text);
}

static cf_status add_filter(parsed *p, const word *w, bool *is_filter, cf_error *err)
{
    const struct {
        const char *key;
        cf_str *to;
    } keys[] = {{"model", &p->q.model}, {"template", &p->q.template_hash},
                {"tag", &p->q.tag},     {"status", &p->q.status},
                {"role", &p->q.role},   {"tool", &p->q.tool}};
    *is_filter = true;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (cf_str_is(w->key, keys[i].key)) {
            *keys[i].to = w->value;
            return CF_OK;
        }
    }
    bool is_before = cf_str_is(w->key, "before");
    if (is_before || cf_str_is(w->key, "after")) {
        int64_t *to = is_before ? &p->q.before_ms : &p->q.after_ms;
        return parse_date(to, w->value)
                   ? CF_OK
                   : cf_fail(err, CF_EINVAL, "%.*s: expected a date such as 2026-01-31",
                             (int)w->key.n, w->key.p);
    }
    if (cf_str_is(w->key, "rating")) {
        p->q.rating = cf_str_is(w->value, "good") || cf_str_is(w->value, "+")  ? CF_RATED_GOOD
                      : cf_str_is(w->value, "bad") || cf_str_is(w->value, "-") ? CF_RATED_BAD
                                                                               : CF_RATED;
        return CF_OK;
    }
    if (cf_str_is(w->key, "has") && cf_str_is(w->value, "note")) {
        p->q.has_note = true;
        return CF_OK;
    }
    if (cf_str_is(w->key, "in")) {
        p->q.place = cf_str_is(w->value, "trash")     ? CF_PLACE_TRASH
                     : cf_str_is(w->value, "archive") ? CF_PLACE_ARCHIVED
                                                      : CF_PLACE_LIVE;
        return CF_OK;
    }
    *is_filter = false;
    return CF_OK;
}

/* A word that is not a filter: "std::vector" is one as well. */
static cf_str whole_word(const word *w)
{
    return w->key.n == 0 ? w->value
                         : cf_str_make(w->key.p, (size_t)(w->value.p - w->key.p) + w->value.n);
}

static void add_word(parsed *p, const word *w)
{
    cf_buf *to = w->is_negative ? &p->absent : &p->words;
    size_t before = to->n;
    cf_buf_adds(to, before != 0 ? (w->is_negative ? " OR (" : " AND (") : "(");
    size_t mark = to->n;
    cf_str value = whole_word(w);
    if (!cf_words__term(to, value, w->is_prefix)) {
        to->n = before;
        if (to->p != NULL) {
            to->p[before] = '\0';
        }
        return;
    }
    cf_buf_addc(to, ')');
    if (!w->is_negative && to->n > mark) {
        cf_terms__add(&p->terms, value);
    }
}

static cf_status parse(parsed *p, const cf_store_query *q, cf_error *err)
{
    *p = (parsed){.q = *q};
    if (q->text.n > QUERY_MAX) {
        return cf_fail(err, CF_EINVAL, "a query has at most %d bytes", QUERY_MAX);
    }
    word w;
    for (size_t at = 0; next_word(q->text, &at, &w);) {
        bool is_filter = false;
        if (w.key.n != 0 && !w.is_negative) {
            CF_TRY(add_filter(p, &w, &is_filter, err));
        }
        if (!is_filter) {
            add_word(p, &w);
        }
    }
    if (p->words.failed || p->absent.failed || p->terms.text.failed) {
        return cf_sql__oom(err);
    }
    if (p->words.n == 0 && p->absent.n != 0) {
        return cf_fail(err, CF_EINVAL, "a query cannot consist of excluded words only");
    }
    if (p->absent.n != 0) {
        cf_buf all = CF_BUF_INIT;
        cf_buf_addf(&all, "(%s) NOT (%s)", p->words.p, p->absent.p);
        cf_buf_deinit(&p->words);
        p->words = all;
    }
    return cf_buf_check(&p->words, err);
}

static void free_parsed(parsed *p)
{
    cf_buf_deinit(&p->words);
    cf_buf_deinit(&p->absent);
    cf_terms__deinit(&p->terms);
}

/* ---- the query ---------------------------------------------------------- */

/* `tag` is the filter of tags on the table at hand. */
static void conv_filters(cf_sql_text *t, const cf_store_query *q, const char *tag)
{
    cf_sql__add_int(t, " AND c.place = ?", (int64_t)q->place);
    cf_sql__add_str(t, tag, q->tag);
}

static void turn_filters(cf_sql_text *t, const cf_store_query *q)
{
    /* By the turn's own column: most words are ruled out before the row of
     * their conversation is read. */
    conv_filters(t, q,
                 " AND EXISTS (SELECT 1 FROM tag WHERE conversation_id = "
                 "t.conversation_id AND name = ?)");
    cf_buf_adds(&t->sql, q->rating == CF_RATED_GOOD  ? " AND t.rating > 0"
                         : q->rating == CF_RATED_BAD ? " AND t.rating < 0"
                         : q->rating == CF_RATED     ? " AND t.rating IS NOT NULL"
                                                     : "");
    cf_buf_adds(&t->sql, q->has_note ? " AND t.note IS NOT NULL" : "");
    cf_sql__add_str(t, " AND m.role = ?", q->role);
    cf_sql__add_str(t, " AND t.status = ?", q->status);
    cf_sql__add_str(t,
                    " AND EXISTS (SELECT 1 FROM run r WHERE r.turn_id = t.id AND "
                    "instr(lower(r.model), lower(?)) > 0)",
                    q->model);
    cf_sql__add_str(t,
                    " AND EXISTS (SELECT 1 FROM run r JOIN template x ON x.id = "
                    "r.template_id WHERE r.turn_id = t.id AND instr(x.hash || ' ' "
                    "|| x.name, ?) > 0)",
                    q->template_hash);
    cf_sql__add_str(t,
                    " AND EXISTS (SELECT 1 FROM tool_call k WHERE k.turn_id = "
                    "t.id AND k.name = ?)",
                    q->tool);
    if (q->after_ms != 0) {
        cf_sql__add_int(t, " AND t.created_ms >= ?", q->after_ms);
    }
    if (q->before_ms != 0) {
        cf_sql__add_int(t, " AND t.created_ms < ?", q->before_ms);
    }
}

static bool has_turn_filter(const cf_store_query *q)
{
    return q->role.n != 0 || q->status.n != 0 || q->model.n != 0 || q->template_hash.n != 0 ||
           q->tool.n != 0 || q->rating != CF_RATED_ANYHOW || q->has_note;
}

/* CROSS JOIN keeps the order of the tables: words first, and messages last,
 * since their rows are the largest and most of them are elsewhere. */
static void turn_query(cf_sql_text *t, const parsed *p, size_t limit, size_t offset)
{
    cf_buf_adds(&t->sql, "SELECT c.uuid, t.uuid, t.ordinal, m.role, "
                         "iif(c.title <> '', c.title, c.preview), "
                         "t.created_ms, m.text, m.tool_text FROM ");
    if (p->words.n != 0) {
        cf_buf_adds(&t->sql, "message_words CROSS JOIN turn t ON t.message_id = "
                             "message_words.rowid CROSS JOIN conversation c ON c.id = "
                             "t.conversation_id CROSS JOIN message m ON m.id = "
                             "message_words.rowid");
        cf_sql__add_str(t, " WHERE message_words MATCH ?", cf_str_make(p->words.p, p->words.n));
    } else if (p->q.tool.n != 0) {
        cf_sql__add_str(t,
                        "tool_call k0 CROSS JOIN turn t ON t.id = k0.turn_id CROSS "
                        "JOIN message m ON m.id = t.message_id CROSS JOIN "
                        "conversation c ON c.id = t.conversation_id WHERE k0.name = ?",
                        p->q.tool);
    } else {
        cf_buf_adds(&t->sql, "turn t CROSS JOIN message m ON m.id = "
                             "t.message_id CROSS JOIN conversation c ON c.id = "
                             "t.conversation_id WHERE 1");
    }
    turn_filters(t, &p->q);
    cf_buf_adds(&t->sql,
                p->words.n != 0 ? " ORDER BY message_words.rowid DESC" : " ORDER BY t.id DESC");
    cf_sql__add_int(t, " LIMIT ?", (int64_t)limit);
    cf_sql__add_int(t, " OFFSET ?", (int64_t)offset);
}

static void title_query(cf_sql_text *t, const parsed *p, size_t limit)
{
    cf_buf_adds(&t->sql, "SELECT c.uuid, NULL, 0, '', c.title, c.created_ms, "
                         "c.title, '' FROM title_words CROSS JOIN "
                         "conversation c ON c.id = title_words.rowid");
    cf_sql__add_str(t, " WHERE title_words MATCH ?", cf_str_make(p->words.p, p->words.n));
    conv_filters(t, &p->q,
                 " AND EXISTS (SELECT 1 FROM tag WHERE conversation_id = c.id "
                 "AND name = ?)");
    if (p->q.after_ms != 0) {
        cf_sql__add_int(t, " AND c.created_ms >= ?", p->q.after_ms);
    }
    if (p->q.before_ms != 0) {
        cf_sql__add_int(t, " AND c.created_ms < ?", p->q.before_ms);
    }
    cf_buf_adds(&t->sql, " ORDER BY title_words.rowid DESC");
    cf_sql__add_int(t, " LIMIT ?", (int64_t)limit);
}

typedef struct found {
    cf_store_hit *v;
    size_t n, limit;
} found;

static void read_hit(sqlite3_stmt *st, const parsed *p, cf_arena *a, cf_arena *tmp, cf_store_hit *h)
{
    *h = (cf_store_hit){0};
    h->conversation = cf_sql__uuid(st, 0);
    h->turn = cf_sql__uuid(st, 1);
    h->ordinal = (uint32_t)sqlite3_column_int64(st, 2);
    h->role = cf_sql__str(st, 3, a);
    h->title = cf_sql__str(st, 4, a);
    h->created_ms = sqlite3_column_int64(st, 5);
    cf_arena_reset(tmp);
    cf_str text = cf_sql__str(st, 6, tmp);
    cf_str tool_text = cf_sql__str(st, 7, tmp);
    cf_snippet__make(h, &p->terms, text, tool_text, a);
    a->failed = a->failed || tmp->failed;
}

static cf_status run_query(cf_sql *sql, const cf_sql_text *t, const parsed *p, cf_arena *a,
                           found *out, cf_error *err)
{
    sqlite3_stmt *st = NULL;
    cf_arena tmp;
    cf_arena_init(&tmp, 0);
    cf_status s = cf_sql__prepare_text(sql, &st, t, err);
    while (out->n < out->limit && cf_sql__next(sql, st, &s, err)) {
        read_hit(st, p, a, &tmp, &out->v[out->n++]);
        s = a->failed ? cf_sql__oom(err) : CF_OK;
    }
    cf_arena_deinit(&tmp);
    cf_sql__drop(st);
    return s;
}

static cf_status search(cf_sql *sql, const parsed *p, cf_arena *a, cf_store_hits *out,
                        cf_error *err)
{
    size_t limit = p->q.limit != 0 ? p->q.limit : 100;
    limit = limit < 10000 ? limit : 10000;
    size_t offset = p->q.offset < INT32_MAX ? p->q.offset : INT32_MAX;
    found f = {.limit = limit + 1};
    f.v = cf_arena_calloc(a, f.limit, sizeof *f.v);
    if (f.v == NULL) {
        return cf_sql__oom(err);
    }
    cf_status s = CF_OK;
    if (p->words.n != 0 && offset == 0 && !has_turn_filter(&p->q)) {
        cf_sql_text t = {.sql = CF_BUF_INIT};
        title_query(&t, p, f.limit);
        s = run_query(sql, &t, p, a, &f, err);
        cf_buf_deinit(&t.sql);
    }
    if (s == CF_OK && f.n < f.limit) {
        cf_sql_text t = {.sql = CF_BUF_INIT};
        turn_query(&t, p, f.limit - f.n, offset);
        s = run_query(sql, &t, p, a, &f, err);
        cf_buf_deinit(&t.sql);
    }
    if (s == CF_ELIMIT && sql->was_stopped) {
        out->is_cut = true;
        s = CF_OK;
    }
    out->v = f.v;
    out->n = f.n < limit ? f.n : limit;
    out->has_more = f.n > limit;
    return s;
}

cf_status cf_search__read(const cf_store_query *q, cf_store_query *out, cf_shown_terms *terms,
                          cf_error *err)
{
    parsed p = {.q = *q};
    terms->n = 0;
    if (q->text.n > QUERY_MAX) {
        return cf_fail(err, CF_EINVAL, "a query has at most %d bytes", QUERY_MAX);
    }
    word w;
    for (size_t at = 0; next_word(q->text, &at, &w);) {
        bool is_filter = false;
        if (w.key.n != 0 && !w.is_negative) {
            CF_TRY(add_filter(&p, &w, &is_filter, err));
        }
        cf_str text = whole_word(&w);
        if (is_filter || text.n == 0) {
            continue;
        }
        if (terms->n == CF_SHOWN_TERMS) {
            return cf_fail(err, CF_EINVAL, "a filter has at most %d words", CF_SHOWN_TERMS);
        }
        terms->v[terms->n++] = (cf_shown_term){text, w.is_negative};
    }
    *out = p.q;
    return CF_OK;
}

cf_status cf_store_search(cf_store *s, const cf_store_query *q, cf_arena *arena, cf_store_hits *out,
                          cf_error *err)
{
    parsed p;
    cf_reader *r;
    *out = (cf_store_hits){0};
    cf_status st = parse(&p, q, err);
    CF_THEN(st, cf_store__take(s, &r, q->max_ms, err));
    if (st == CF_OK) {
        st = search(&r->sql, &p, arena, out, err);
        cf_store__give(s, r);
    }
    free_parsed(&p);
    return st;
}
