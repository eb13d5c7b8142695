/*
 * xchg_records.c - a text as records, each handed to the reader of its format.
 *
 * A text is lines of JSON, or JSON values one after another, or lists of them;
 * anything else can only be Markdown.  Where no format was named, the first
 * record that is a conversation decides.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "storage/exchange/xchg.h"
#include "storage/exchange/xchg_feed.h"

enum {
    GUESS_RECORDS = 64, /* that may come before one in a known format */
    LOOK = 1 << 20      /* bytes looked at to recognise lines */
};

static const char unknown_format[] =
    "not a conversation in a known format; --format names the format";

static bool is_stopped(void *ud)
{
    const cf_import *im = ud;
    return im->opts->cancel != NULL && atomic_load(im->opts->cancel);
}

/* ---- one record --------------------------------------------------------- */

/* Strict JSON first; then with comments and trailing commas, as TPipe reads
 * it.  The error is that of the strict reading. */
static cf_status parse(json_t **out, cf_str s, cf_import *im, cf_error *err)
{
    cf_status st = cf_json_read_until(out, s.p, s.n, is_stopped, im, err);
    if (st != CF_EFORMAT) {
        return st;
    }
    cf_error why;
    cf_buf relaxed = CF_BUF_INIT;
    cf_feed__relax(&relaxed, s);
    cf_status again = cf_buf_check(&relaxed, &why);
    CF_THEN(again, cf_json_read_until(out, cf_buf_cstr(&relaxed), relaxed.n, is_stopped, im, &why));
    cf_buf_deinit(&relaxed);
    if (again == CF_ENOMEM) {
        *err = why;
    }
    return again == CF_OK || again == CF_ENOMEM ? again : st;
}

/* The value that a text is, to look at it; NULL: it is none. */
static json_t *peek(cf_import *im, cf_str s)
{
    json_t *v = NULL;
    cf_error why;
    im->failed = parse(&v, s, im, &why) == CF_ENOMEM || im->failed;
    return v;
}

static bool is_json(cf_import *im, cf_str s)
{
    json_t *v = peek(im, s);
    json_decref(v);
    return v != NULL;
}

static bool is_named_lines(const cf_import *im)
{
    const char *dot = im->opts->name != NULL ? strrchr(im->opts->name, '.') : NULL;
    return dot != NULL && (strcmp(dot, ".jsonl") == 0 || strcmp(dot, ".ndjson") == 0);
}

void cf_import__name(cf_import *im, const char *name, const char *kind)
{
    if (im->opts->guesses) {
        snprintf(im->report->read_as, sizeof im->report->read_as, "%s%s%s", name,
                 kind[0] != '\0' ? " " : "", kind);
    }
}

/* Sets im->format by a record; false, and the record is remembered, where it
 * is not a conversation in a known form. */
static bool guess(cf_import *im, const json_t *v, uint64_t line)
{
    const char *name;
    cf_format f = cf_guess__record(v, &name);
    if (f == CF_FORMAT_COUNT) {
        im->unknown[im->n_unknown++] = line;
        return false;
    }
    im->format = f;
    cf_import__name(im, name, im->is_lines || is_named_lines(im) ? "JSONL" : "JSON");
    for (size_t i = 0; i < im->n_unknown; i++) {
        cf_import__bad(im, im->unknown[i], unknown_format);
    }
    im->n_unknown = 0;
    return true;
}

static bool knows_format(const cf_import *im)
{
    return im->format != CF_FORMAT_COUNT;
}

/* A record is lost, and with it a conversation of several records. */
static void tell_broken(cf_import *im)
{
    im->is_broken = im->is_broken || (knows_format(im) && cf_xchg__format(im->format)->is_grouped);
}

static void report_bad_json(cf_import *im, uint64_t line, const cf_error *why)
{
    cf_error text;
    cf_fail(&text, CF_EFORMAT, "not valid JSON at column %u", (unsigned)why->col);
    tell_broken(im);
    cf_import__bad(im, line + (why->line > 1 ? why->line - 1 : 0), text.text);
    cf_build__drop(im);
    im->n_before_guess += !knows_format(im);
}

static cf_status one_record(cf_import *im, cf_str s, uint64_t line, cf_error *err)
{
    json_t *v;
    cf_error why;
    cf_status st = parse(&v, s, im, &why);
    if (st == CF_EFORMAT) {
        report_bad_json(im, line, &why);
        return CF_OK;
    }
    if (st == CF_OK) {
        if (knows_format(im) || guess(im, v, line)) {
            st = cf_xchg__format(im->format)->record(im, v, line, &why);
        }
        json_decref(v);
    }
    if (st == CF_EFORMAT || st == CF_EINVAL || st == CF_ELIMIT) {
        cf_import__bad(im, line, why.text);
        cf_build__drop(im);
        return CF_OK;
    }
    if (st != CF_OK) {
        *err = why;
    }
    return st;
}

static void too_long(cf_import *im, const cf_feed *f, uint64_t line)
{
    cf_error why;
    cf_fail(&why, CF_ELIMIT, "a record of more than %zu bytes was left out", f->max);
    tell_broken(im);
    cf_import__bad(im, line, why.text);
}

/* The next line, or value, as a record. */
static cf_status take_record(cf_import *im, cf_feed *f, cf_error *err)
{
    cf_str s;
    bool is_long;
    uint64_t line = f->line;
    CF_TRY(im->is_lines ? cf_feed__line(f, &s, &is_long, err)
                        : cf_feed__value(f, 0, &s, &is_long, err));
    if (is_long) {
        too_long(im, f, line);
        return CF_OK;
    }
    CF_TRY(one_record(im, s, line, err));
    cf_feed__consume(f, s.n != 0 ? s.n : 1);
    return CF_OK;
}

/* ---- what the text is --------------------------------------------------- */

/* Whether one of the next lines is a complete object. */
static cf_status has_object_line(cf_import *im, cf_feed *f, bool *out, cf_error *err)
{
    cf_str s;
    *out = false;
    CF_TRY(cf_feed__ahead(f, LOOK, &s, err));
    for (int i = 0; i < 8 && s.n != 0 && !*out; i++) {
        const char *end = memchr(s.p, '\n', s.n);
        size_t n = end != NULL ? (size_t)(end - s.p) : s.n;
        *out = n != 0 && s.p[0] == '{' && is_json(im, cf_str_make(s.p, n));
        s = cf_str_make(s.p + n + (end != NULL), s.n - n - (end != NULL));
    }
    return CF_OK;
}

static bool has_more(cf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (strchr(" \t\r\n", s.p[i]) == NULL) {
            return true;
        }
    }
    return false;
}

/* The first line: of a list, which may be one line of any length, only if it is
 * short.  Without a newline *out is empty. */
static cf_status first_line(cf_feed *f, int first, cf_str *out, bool *is_long, cf_error *err)
{
    cf_str s;
    *is_long = false;
    if (first == '{') {
        return cf_feed__line(f, out, is_long, err);
    }
    CF_TRY(cf_feed__ahead(f, LOOK, &s, err));
    const char *end = s.n != 0 ? memchr(s.p, '\n', s.n) : NULL;
    *out = cf_str_make(s.p, end != NULL ? (size_t)(end - s.p) : 0);
    return CF_OK;
}

/* The first line is a value, and not the last; or, where the first value is
 * damaged, one of the first lines is an object. */
static cf_status find_lines(cf_import *im, cf_feed *f, int first, cf_error *err)
{
    cf_str s;
    bool is_long;
    CF_TRY(first_line(f, first, &s, &is_long, err));
    if (is_long) {
        too_long(im, f, 1);
        im->is_lines = true;
        return CF_OK;
    }
    if (s.n != 0 && is_json(im, s)) {
        size_t n = s.n;
        CF_TRY(cf_feed__ahead(f, n + LOOK, &s, err));
        im->is_lines = has_more(cf_str_make(s.p + n, s.n - n));
        return CF_OK;
    }
    if (first == '[') {
        return CF_OK;
    }
    CF_TRY(cf_feed__value(f, 0, &s, &is_long, err));
    if (is_long) {
        too_long(im, f, 1);
        return CF_OK;
    }
    return is_json(im, s) ? CF_OK : has_object_line(im, f, &im->is_lines, err);
}

/* A list whose elements are messages is one conversation.  *is_eaten: the
 * first element is too long, and has been consumed with the bracket. */
static cf_status find_message_list(cf_import *im, cf_feed *f, bool *out, bool *is_eaten,
                                   cf_error *err)
{
    cf_str s;
    bool is_long = false;
    size_t off = 1;
    CF_TRY(cf_feed__ahead(f, LOOK, &s, err));
    while (off < s.n && strchr(" \t\r\n", s.p[off]) != NULL) {
        off++;
    }
    *out = false;
    if (off >= s.n || s.p[off] != '{') {
        return CF_OK;
    }
    CF_TRY(cf_feed__value(f, off, &s, &is_long, err));
    if (is_long) {
        too_long(im, f, f->line);
        *is_eaten = true;
    } else {
        json_t *v = peek(im, s);
        *out = cf_guess__is_message(v);
        json_decref(v);
    }
    return CF_OK;
}

/* ---- all of it ---------------------------------------------------------- */

static bool gives_up(const cf_import *im)
{
    return !knows_format(im) && im->n_unknown + im->n_before_guess >= GUESS_RECORDS;
}

static cf_status all_json(cf_import *im, cf_feed *f, cf_error *err)
{
    bool in_list = false;
    while (!gives_up(im)) {
        int c;
        bool is_messages = false, is_eaten = false;
        if (is_stopped(im)) {
            return cf_fail(err, CF_ECANCELLED, "interrupted");
        }
        CF_TRY(cf_feed__skip(f, in_list, &c, err));
        if (c == CF_FEED_END) {
            return CF_OK;
        }
        if (!im->is_lines && !in_list && c == '[') {
            CF_TRY(find_message_list(im, f, &is_messages, &is_eaten, err));
        }
        if (is_eaten) {
            in_list = true;
        } else if (!im->is_lines && c == (in_list ? ']' : '[') && !is_messages) {
            in_list = !in_list;
            cf_feed__consume(f, 1);
        } else {
            CF_TRY(take_record(im, f, err));
        }
    }
    return CF_OK;
}

static cf_status all_markdown(cf_import *im, cf_feed *f, cf_error *err)
{
    cf_str s;
    bool is_guess = !knows_format(im);
    CF_TRY(cf_feed__ahead(f, f->max + 1, &s, err));
    if (s.n >= 16 && memcmp(s.p, "SQLite format 3", 16) == 0) {
        cf_import__bad(im, 0, "a database is read from a file by name");
        return CF_OK;
    }
    if (s.n > f->max) {
        too_long(im, f, f->line);
        return CF_OK;
    }
    im->format = CF_FORMAT_MARKDOWN;
    size_t n = 0;
    CF_TRY(cf_xchg_markdown.text(im, s, f->line, &n, err));
    if (n == 0) {
        cf_import__bad(im, f->line, is_guess ? unknown_format : "no line that names a speaker");
    } else if (is_guess) {
        cf_import__name(im, "Markdown", "");
    }
    return CF_OK;
}

cf_status cf_import__records(cf_import *im, cf_feed *f, cf_error *err)
{
    cf_str s;
    int first;
    CF_TRY(cf_feed__ahead(f, 3, &s, err));
    if (s.n >= 3 && memcmp(s.p, "\xEF\xBB\xBF", 3) == 0) {
        cf_feed__consume(f, 3);
    }
    if (im->format == CF_FORMAT_MARKDOWN) {
        return all_markdown(im, f, err);
    }
    CF_TRY(cf_feed__skip(f, false, &first, err));
    if (first == CF_FEED_END) {
        return CF_OK;
    }
    if (!knows_format(im) && first != '{' && first != '[') {
        return all_markdown(im, f, err);
    }
    CF_TRY(find_lines(im, f, first, err));
    CF_TRY(all_json(im, f, err));
    if (im->failed) {
        return cf_sql__oom(err);
    }
    if (im->n_unknown != 0) {
        cf_import__bad(im, im->unknown[0], unknown_format);
    }
    const cf_xchg_format *format = knows_format(im) ? cf_xchg__format(im->format) : NULL;
    return format != NULL && format->end != NULL ? format->end(im, err) : CF_OK;
}
