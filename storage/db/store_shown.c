/*
 * store_shown.c - packs what lists show, finds parts of it.
 *
 * A row has the entries of 64 conversations in order: the id modulo 64 in a
 * byte, the length in two, low byte first, and so many bytes, as SQLite's
 * lower() writes them.  100,000 titles are four megabytes in 1,600 rows: to
 * read them all takes less time than to join the lists of an index of their
 * trigrams, of which most titles have the common ones.
 */
#include "storage/db/store_shown.h"

#include <string.h>

enum { PAGE = 64, HEAD = 3, TEXT_MAX = 0xFFFF };

typedef struct entry {
    unsigned place;
    cf_str text, all; /* `all` with its head */
} entry;

/* The entry at *at; false at the end, or where the row is damaged. */
static bool next_entry(cf_str page, size_t *at, entry *e)
{
    if (page.n - *at < HEAD) {
        return false;
    }
    const unsigned char *p = (const unsigned char *)page.p + *at;
    size_t n = (size_t)(p[1] | p[2] << 8);
    if (page.n - *at - HEAD < n) {
        return false;
    }
    *e = (entry){.place = p[0], .text = {page.p + *at + HEAD, n}, .all = {page.p + *at, HEAD + n}};
    *at += HEAD + n;
    return true;
}

static void add_entry(cf_buf *out, unsigned place, cf_str text)
{
    size_t n = text.n < TEXT_MAX ? text.n : TEXT_MAX;
    cf_buf_addc(out, (char)place);
    cf_buf_addc(out, (char)(n & 0xFF));
    cf_buf_addc(out, (char)(n >> 8));
    cf_buf_add(out, text.p, n);
}

/* ---- writing ------------------------------------------------------------ */

/* Column 0, which lives until the statement goes on. */
static cf_str bytes_of(sqlite3_stmt *st, int i)
{
    const char *p = sqlite3_column_blob(st, i);
    return cf_str_make(p, p != NULL ? (size_t)sqlite3_column_bytes(st, i) : 0);
}

/* The first column of the one row that `text` finds; empty without one. */
static cf_status read_bytes(cf_sql *sql, const char *text, int64_t key, cf_buf *out, cf_error *err)
{
    sqlite3_stmt *st;
    cf_status s = cf_sql__query(sql, &st, err, text, "i", key);
    while (cf_sql__next(sql, st, &s, err)) {
        cf_str v = bytes_of(st, 0);
        cf_buf_add(out, v.p, v.n);
    }
    CF_TRY(s);
    return out->failed ? cf_sql__oom(err) : CF_OK;
}

cf_status cf_shown__put(cf_sql *sql, int64_t id, bool is_in, cf_error *err)
{
    int64_t number = id / PAGE;
    unsigned place = (unsigned)(id % PAGE);
    cf_buf old = CF_BUF_INIT, text = CF_BUF_INIT, page = CF_BUF_INIT;
    cf_status st =
        read_bytes(sql, "SELECT texts FROM shown_page WHERE page = ?", number, &old, err);
    if (st == CF_OK && is_in) {
        st = read_bytes(sql,
                        "SELECT lower(iif(title <> '', title, preview)) FROM "
                        "conversation WHERE id = ?",
                        id, &text, err);
    }
    entry e;
    bool is_done = !is_in;
    for (size_t at = 0; next_entry(cf_buf_str(&old), &at, &e);) {
        if (!is_done && e.place >= place) {
            add_entry(&page, place, cf_buf_str(&text));
            is_done = true;
        }
        if (e.place != place) {
            cf_buf_add(&page, e.all.p, e.all.n);
        }
    }
    if (!is_done) {
        add_entry(&page, place, cf_buf_str(&text));
    }
    if (st == CF_OK && page.failed) {
        st = cf_sql__oom(err);
    }
    if (st == CF_OK) {
        st = page.n == 0
                 ? cf_sql__run(sql, err, "DELETE FROM shown_page WHERE page = ?", "i", number)
                 : cf_sql__run(sql, err, "INSERT OR REPLACE INTO shown_page VALUES(?, ?)", "ib",
                               number, cf_buf_str(&page));
    }
    cf_buf_deinit(&old);
    cf_buf_deinit(&text);
    cf_buf_deinit(&page);
    return st;
}

static cf_status put_page(cf_sql *sql, int64_t number, cf_buf *page, cf_error *err)
{
    if (page->failed) {
        return cf_sql__oom(err);
    }
    cf_status st = page->n == 0 ? CF_OK
                                : cf_sql__run(sql, err, "INSERT INTO shown_page VALUES(?, ?)", "ib",
                                              number, cf_buf_str(page));
    cf_buf_restart(page);
    return st;
}

cf_status cf_shown__fill(cf_sql *sql, cf_error *err)
{
    sqlite3_stmt *st;
    cf_buf page = CF_BUF_INIT;
    int64_t number = 0;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT id, lower(iif(title <> '', title, preview)) "
                         "FROM conversation WHERE id >= 0 ORDER BY id",
                         ""));
    cf_status s = CF_OK;
    while (cf_sql__next(sql, st, &s, err)) {
        int64_t id = sqlite3_column_int64(st, 0);
        if (id / PAGE != number) {
            s = put_page(sql, number, &page, err);
            number = id / PAGE;
        }
        add_entry(&page, (unsigned)(id % PAGE), bytes_of(st, 1));
    }
    CF_THEN(s, put_page(sql, number, &page, err));
    cf_buf_deinit(&page);
    return s;
}

/* ---- reading ------------------------------------------------------------ */

/* The terms in small letters. */
typedef struct small_terms {
    cf_shown_term v[CF_SHOWN_TERMS];
    size_t n;
    cf_buf text;
} small_terms;

static cf_status make_small(small_terms *t, const cf_shown_terms *terms, cf_error *err)
{
    *t = (small_terms){.n = terms->n, .text = CF_BUF_INIT};
    for (size_t i = 0; i < terms->n; i++) {
        for (size_t k = 0; k < terms->v[i].text.n; k++) {
            char c = terms->v[i].text.p[k];
            cf_buf_addc(&t->text, c >= 'A' && c <= 'Z' ? (char)(c + 32) : c);
        }
    }
    CF_TRY(t->text.failed ? cf_sql__oom(err) : CF_OK);
    for (size_t i = 0, at = 0; i < terms->n; i++) {
        size_t n = terms->v[i].text.n;
        t->v[i] = (cf_shown_term){{cf_buf_cstr(&t->text) + at, n}, terms->v[i].is_absent};
        at += n;
    }
    return CF_OK;
}

static bool has_part(cf_str s, cf_str part)
{
    const char *at = s.p, *end = s.p + s.n;
    while (at != NULL && (size_t)(end - at) >= part.n && at < end) {
        at = memchr(at, part.p[0], (size_t)(end - at) - part.n + 1);
        if (at != NULL && memcmp(at, part.p, part.n) == 0) {
            return true;
        }
        at = at != NULL ? at + 1 : NULL;
    }
    return false;
}

static bool passes(const small_terms *t, cf_str text, bool is_page)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->v[i].is_absent && is_page) {
            continue; /* one of its entries may be without it */
        }
        if (has_part(text, t->v[i].text) == t->v[i].is_absent) {
            return false;
        }
    }
    return true;
}

static void find_in(const small_terms *t, int64_t number, cf_str page, cf_buf *out, size_t *n)
{
    entry e;
    if (!passes(t, page, true)) {
        return;
    }
    for (size_t at = 0; next_entry(page, &at, &e);) {
        if (passes(t, e.text, false)) {
            cf_buf_addf(out, "%s%lld", out->n > 1 ? "," : "", (long long)(number * PAGE + e.place));
            ++*n;
        }
    }
}

cf_status cf_shown__find(cf_sql *sql, const cf_shown_terms *terms, size_t max, cf_buf *out,
                         size_t *n, cf_error *err)
{
    small_terms small;
    *n = 0;
    cf_buf_addc(out, '[');
    cf_status s = make_small(&small, terms, err);
    sqlite3_stmt *st = NULL;
    CF_THEN(s, cf_sql__query(sql, &st, err, "SELECT page, texts FROM shown_page", ""));
    while (*n <= max && cf_sql__next(sql, st, &s, err)) {
        find_in(&small, sqlite3_column_int64(st, 0), bytes_of(st, 1), out, n);
    }
    if (st != NULL) {
        cf_sql__done(st);
    }
    cf_buf_addc(out, ']');
    cf_buf_deinit(&small.text);
    CF_TRY(s);
    return out->failed ? cf_sql__oom(err) : CF_OK;
}

cf_status cf_shown__check(cf_sql *sql, size_t *n_wrong, cf_error *err)
{
    sqlite3_stmt *st;
    *n_wrong = 0;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT c.id, lower(iif(c.title <> '', c.title, "
                         "c.preview)), p.texts FROM conversation c LEFT JOIN "
                         "shown_page p ON p.page = c.id / 64",
                         ""));
    cf_status s = CF_OK;
    while (cf_sql__next(sql, st, &s, err)) {
        unsigned place = (unsigned)(sqlite3_column_int64(st, 0) % PAGE);
        cf_str text = bytes_of(st, 1), page = bytes_of(st, 2);
        entry e;
        bool is_there = false;
        text.n = text.n < TEXT_MAX ? text.n : TEXT_MAX;
        for (size_t at = 0; !is_there && next_entry(page, &at, &e);) {
            is_there = e.place == place && cf_str_eq(e.text, text);
        }
        *n_wrong += !is_there;
    }
    return s;
}
