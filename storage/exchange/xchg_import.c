/*
 * xchg_import.c - reads files as records, and records as conversations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/os.h"
#include "storage/exchange/xchg.h"

enum { FILE_MAX = 0x7FFFFFFF, BATCH_BYTES = 8 << 20 };

static const char *const format_names[CF_FORMAT_COUNT] = {
    "confab",    "openai", "sharegpt", "converse", "litert",
    "llama-app", "llm-db", "chatgpt",  "markdown"};

const char *cf_format_name(cf_format f)
{
    return format_names[f];
}

bool cf_format_parse(cf_format *out, cf_str name)
{
    for (int i = 0; i < CF_FORMAT_COUNT; i++) {
        if (cf_str_is(name, format_names[i])) {
            *out = (cf_format)i;
            return true;
        }
    }
    return false;
}

bool cf_format_reads(cf_format f)
{
    return f != CF_FORMAT_MARKDOWN;
}

bool cf_format_writes(cf_format f)
{
    return f != CF_FORMAT_LLM_DB && f != CF_FORMAT_CHATGPT;
}

static const cf_reader_format *reader_of(cf_format f)
{
    switch (f) {
    case CF_FORMAT_CONFAB:
        return &cf_read_confab;
    case CF_FORMAT_OPENAI:
        return &cf_read_openai;
    case CF_FORMAT_SHAREGPT:
        return &cf_read_sharegpt;
    case CF_FORMAT_CONVERSE:
        return &cf_read_converse;
    case CF_FORMAT_LITERT:
        return &cf_read_litert;
    case CF_FORMAT_LLAMA_APP:
        return &cf_read_llama_app;
    case CF_FORMAT_CHATGPT:
        return &cf_read_chatgpt;
    default:
        return NULL;
    }
}

/* ---- handing on --------------------------------------------------------- */

void cf_import__bad(cf_import *im, uint64_t line, const char *text)
{
    im->report->n_bad++;
    if (im->opts->note != NULL) {
        im->opts->note(im->opts->ud, line, text);
    }
}

static void count_report(cf_import *im, const cf_build *b,
                         const cf_store_put_report *r, const cf_error *why)
{
    if (why->code != CF_OK) {
        cf_import__bad(im, b->line, why->text);
        return;
    }
    im->report->n_new += r->is_new;
    im->report->n_known += !r->is_new;
    im->report->n_turns += r->n_added;
    im->report->n_skipped += r->n_skipped;
}

static cf_status put_templates(cf_import *im, cf_error *err)
{
    for (size_t i = 0; i < im->n_batch; i++) {
        const cf_build *b = im->batch[i];
        if (b->n_templates != 0) {
            CF_TRY(cf_store_put_templates(im->store, b->templates,
                                          b->n_templates, err));
        }
    }
    return CF_OK;
}

static cf_status put_batch(cf_import *im, cf_error *err)
{
    cf_store_tree trees[CF_IMPORT_BATCH];
    const cf_store_tree *v[CF_IMPORT_BATCH];
    cf_store_put_report reports[CF_IMPORT_BATCH];
    cf_error *errs = cf_calloc(CF_IMPORT_BATCH, sizeof *errs);
    if (errs == NULL) {
        return cf_sql__oom(err);
    }
    for (size_t i = 0; i < im->n_batch; i++) {
        const cf_build *b = im->batch[i];
        trees[i] = (cf_store_tree){b->conv, b->turns, b->n};
        v[i] = &trees[i];
    }
    cf_status st = put_templates(im, err);
    CF_THEN(st,
            cf_store_put_trees(im->store, v, im->n_batch, reports, errs, err));
    for (size_t i = 0; st == CF_OK && i < im->n_batch; i++) {
        count_report(im, im->batch[i], &reports[i], &errs[i]);
    }
    if (st == CF_OK && im->opts->progress != NULL) {
        im->opts->progress(im->opts->ud, im->report);
    }
    cf_free(errs);
    return st;
}

static void free_batch(cf_import *im)
{
    for (size_t i = 0; i < im->n_batch; i++) {
        cf_build__free(im->batch[i]);
    }
    im->n_batch = 0;
    im->batch_bytes = 0;
}

/* ---- dry runs ----------------------------------------------------------- */

struct cf_dry_id {
    cf_uuid id;
    bool is_first; /* of its conversation */
};

/* Remembers the ids, so that the branches of one conversation and what a file
 * repeats count once. */
static cf_status note_ids(cf_import *im, cf_error *err)
{
    for (size_t i = 0; i < im->n_batch; i++) {
        const cf_build *b = im->batch[i];
        if (!cf_grow(&im->dry, &im->cap_dry, im->n_dry + b->n,
                     sizeof *im->dry)) {
            return cf_sql__oom(err);
        }
        im->report->n_new += b->n == 0;
        for (size_t k = 0; k < b->n; k++) {
            im->dry[im->n_dry++] = (struct cf_dry_id){b->turns[k].id, k == 0};
        }
    }
    return CF_OK;
}

/* By id, those that begin a conversation first. */
static int compare_dry(const void *a, const void *b)
{
    const struct cf_dry_id *x = a;
    const struct cf_dry_id *y = b;
    int c = memcmp(x->id.b, y->id.b, 16);
    return c != 0 ? c : y->is_first - x->is_first;
}

static void count_dry(cf_import *im)
{
    if (im->n_dry == 0) {
        return;
    }
    qsort(im->dry, im->n_dry, sizeof *im->dry, compare_dry);
    for (size_t i = 0; i < im->n_dry; i++) {
        bool is_known =
            i != 0 && memcmp(im->dry[i - 1].id.b, im->dry[i].id.b, 16) == 0;
        im->report->n_turns += !is_known;
        im->report->n_skipped += is_known;
        im->report->n_new += !is_known && im->dry[i].is_first;
    }
}

cf_status cf_import__flush(cf_import *im, cf_error *err)
{
    cf_status st = im->n_batch == 0   ? CF_OK
                   : im->opts->is_dry ? note_ids(im, err)
                                      : put_batch(im, err);
    free_batch(im);
    return st;
}

static cf_status add_tag(cf_import *im, cf_build *b, cf_error *err)
{
    if (im->opts->tag == NULL) {
        return CF_OK;
    }
    cf_str *v = cf_arena_calloc(&b->arena, b->conv.n_tags + 1, sizeof *v);
    if (v == NULL) {
        return cf_sql__oom(err);
    }
    if (b->conv.n_tags != 0) {
        memcpy(v, b->conv.tags, b->conv.n_tags * sizeof *v);
    }
    v[b->conv.n_tags++] = cf_str_from(im->opts->tag);
    b->conv.tags = v;
    return CF_OK;
}

/* Times that the file does not give follow from those it gives. */
static void settle_times(cf_build *b)
{
    int64_t first = 0, last = 0;
    for (size_t i = 0; i < b->n; i++) {
        int64_t t = b->turns[i].created_ms;
        first = t != 0 && (first == 0 || t < first) ? t : first;
        last = t > last ? t : last;
    }
    if (b->conv.created_ms == 0) {
        b->conv.created_ms = first != 0 ? first : cf_os_now_ms();
    }
    if (b->conv.updated_ms == 0) {
        b->conv.updated_ms = last != 0 ? last : b->conv.created_ms;
    }
    for (size_t i = 0; i < b->n; i++) {
        if (b->turns[i].created_ms == 0) {
            b->turns[i].created_ms = b->conv.created_ms;
        }
    }
}

cf_status cf_import__emit(cf_import *im, cf_error *err)
{
    cf_build *b = im->cur;
    if (b == NULL) {
        return CF_OK;
    }
    if (b->arena.failed) {
        return cf_sql__oom(err);
    }
    settle_times(b);
    CF_TRY(cf_build__settle_ids(im, b, err));
    CF_TRY(add_tag(im, b, err));
    im->cur = NULL;
    im->batch[im->n_batch++] = b;
    im->batch_bytes += b->arena.total;
    if (im->n_batch == CF_IMPORT_BATCH || im->batch_bytes > BATCH_BYTES) {
        return cf_import__flush(im, err);
    }
    return CF_OK;
}

/* ---- records ------------------------------------------------------------ */

int64_t cf_xchg__seconds(const json_t *v)
{
    double s = json_number_value(v);
    return s > -1e11 && s < 1e11 ? (int64_t)(s * 1000.0) : 0;
}

cf_str cf_xchg__str(const json_t *v)
{
    return cf_str_make(json_string_value(v), json_string_length(v));
}

typedef struct text_in {
    const char *p;
    size_t n, at;
    uint64_t line; /* of `at` */
} text_in;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_blanks(text_in *t, bool with_commas)
{
    while (t->at < t->n &&
           (is_blank(t->p[t->at]) || (with_commas && t->p[t->at] == ','))) {
        t->line += t->p[t->at] == '\n';
        t->at++;
    }
}

static cf_str next_line(text_in *t)
{
    const char *from = t->p + t->at;
    const char *end = memchr(from, '\n', t->n - t->at);
    size_t n = end != NULL ? (size_t)(end - from) : t->n - t->at;
    t->at += n + (end != NULL);
    return cf_str_make(from, n);
}

/* The end of the JSON value that starts at `at`: brackets are matched outside
 * of strings. */
static size_t value_end(const text_in *t)
{
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = t->at; i < t->n; i++) {
        char c = t->p[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            depth -= depth != 0;
            if (depth == 0) {
                return i + 1;
            }
        } else if (depth == 0 && c == ',') {
            return i;
        }
    }
    return t->n;
}

static bool is_json(cf_str s)
{
    json_t *v;
    cf_error ignored;
    if (cf_json_read(&v, s.p, s.n, &ignored) != CF_OK) {
        return false;
    }
    json_decref(v);
    return true;
}

/* Lines of JSON?  The first line is a value and not the last; or, where the
 * text as a whole is none, one of the first lines is an object. */
static bool is_lines(const text_in *start)
{
    text_in t = *start;
    cf_str all = cf_str_make(t.p + t.at, t.n - t.at);
    bool first = is_json(next_line(&t));
    skip_blanks(&t, false);
    if (first || t.at >= t.n || start->p[start->at] == '[' || is_json(all)) {
        return first && t.at < t.n;
    }
    for (int i = 0; i < 8 && t.at < t.n; i++) {
        cf_str line = next_line(&t);
        if (line.n != 0 && line.p[0] == '{' && is_json(line)) {
            return true;
        }
    }
    return false;
}

static cf_status one_record(cf_import *im, const cf_reader_format *f, cf_str s,
                            uint64_t line, cf_error *err)
{
    json_t *v;
    cf_error why;
    cf_status st = cf_json_read(&v, s.p, s.n, &why);
    if (st == CF_OK) {
        st = f->record(im, v, line, &why);
        json_decref(v);
    } else if (st == CF_EFORMAT) {
        uint32_t column = why.col;
        line += why.line > 1 ? why.line - 1 : 0;
        cf_fail(&why, CF_EFORMAT, "not valid JSON at column %u",
                (unsigned)column);
        if (f->broken != NULL) {
            f->broken(im);
        }
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

static bool is_cancelled(const cf_import *im)
{
    return im->opts->cancel != NULL &&
           atomic_load_explicit(im->opts->cancel, memory_order_relaxed);
}

static cf_status all_lines(cf_import *im, const cf_reader_format *f, text_in *t,
                           cf_error *err)
{
    while (t->at < t->n) {
        if (is_cancelled(im)) {
            return cf_fail(err, CF_ECANCELLED, "interrupted");
        }
        cf_str s = next_line(t);
        uint64_t line = t->line++;
        while (s.n != 0 && is_blank(s.p[s.n - 1])) {
            s.n--;
        }
        if (s.n != 0) {
            CF_TRY(one_record(im, f, s, line, err));
        }
    }
    return CF_OK;
}

/* The elements of a list, or one value. */
static cf_status all_values(cf_import *im, const cf_reader_format *f,
                            text_in *t, cf_error *err)
{
    bool is_list = t->p[t->at] == '[';
    t->at += is_list;
    for (;;) {
        skip_blanks(t, is_list);
        if (t->at >= t->n || (is_list && t->p[t->at] == ']')) {
            return CF_OK;
        }
        if (is_cancelled(im)) {
            return cf_fail(err, CF_ECANCELLED, "interrupted");
        }
        size_t end = value_end(t);
        end = end > t->at ? end : t->at + 1;
        uint64_t line = t->line;
        cf_str s = cf_str_make(t->p + t->at, end - t->at);
        for (size_t i = 0; i < s.n; i++) {
            t->line += s.p[i] == '\n';
        }
        t->at = end;
        CF_TRY(one_record(im, f, s, line, err));
    }
}

/* The first element of a list, or the value itself, parsed; NULL: not JSON. */
static json_t *first_value(const text_in *start)
{
    text_in t = *start;
    json_t *v;
    cf_error ignored;
    if (t.p[t.at] == '[') {
        t.at++;
        skip_blanks(&t, false);
    }
    if (t.at >= t.n) {
        return NULL;
    }
    size_t end = value_end(&t);
    return cf_json_read(&v, t.p + t.at, end - t.at, &ignored) == CF_OK ? v
                                                                       : NULL;
}

/* A list whose elements are messages is one conversation. */
static bool is_message_list(const text_in *t)
{
    json_t *v = t->p[t->at] == '[' ? first_value(t) : NULL;
    bool is_it = cf_guess__is_message(v);
    json_decref(v);
    return is_it;
}

enum { GUESS_LINES = 64 };

/* The first of the lines that is a conversation says what the others are. */
static cf_format guess_lines(const text_in *start, const char **name)
{
    text_in t = *start;
    cf_format found = CF_FORMAT_COUNT;
    for (int i = 0; i < GUESS_LINES && t.at < t.n && found == CF_FORMAT_COUNT;
         i++) {
        json_t *v;
        cf_error ignored;
        cf_str s = next_line(&t);
        if (cf_json_read(&v, s.p, s.n, &ignored) == CF_OK) {
            found = cf_guess__record(v, name);
            json_decref(v);
        }
    }
    return found;
}

static cf_format guess_value(const text_in *t, bool is_list, const char **name)
{
    json_t *v = NULL;
    cf_error ignored;
    if (!is_list) {
        v = first_value(t);
    } else if (cf_json_read(&v, t->p + t->at, t->n - t->at, &ignored) !=
               CF_OK) {
        v = NULL;
    }
    cf_format found = cf_guess__record(v, name);
    json_decref(v);
    return found;
}

static bool is_named_lines(const cf_import *im)
{
    const char *dot =
        im->opts->name != NULL ? strrchr(im->opts->name, '.') : NULL;
    return dot != NULL &&
           (strcmp(dot, ".jsonl") == 0 || strcmp(dot, ".ndjson") == 0);
}

/* Finds im->format; false, with a note, where it cannot be known. */
static bool guess(cf_import *im, const text_in *t, bool lines, bool is_list)
{
    const char *name = "";
    char first = t->p[t->at];
    if (t->n >= 16 && memcmp(t->p, "SQLite format 3", 16) == 0) {
        cf_import__bad(im, 0, "a database is read from a file by name");
        return false;
    }
    if (first == '{' || first == '[') {
        im->format =
            lines ? guess_lines(t, &name) : guess_value(t, is_list, &name);
    } else {
        im->format = CF_FORMAT_COUNT;
    }
    if (im->format == CF_FORMAT_COUNT) {
        cf_import__bad(im, t->line,
                       "not a conversation in a known format; --format names "
                       "the format");
        return false;
    }
    snprintf(im->report->read_as, sizeof im->report->read_as, "%s %s", name,
             lines || is_named_lines(im) ? "JSONL" : "JSON");
    return true;
}

static cf_status all_records(cf_import *im, const char *p, size_t n,
                             cf_error *err)
{
    text_in t = {p, n, 0, 1};
    if (n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) {
        t.at = 3;
    }
    skip_blanks(&t, false);
    if (t.at >= t.n) {
        return CF_OK;
    }
    bool lines = is_lines(&t);
    bool is_list = !lines && is_message_list(&t);
    if (im->opts->guesses && !guess(im, &t, lines, is_list)) {
        return CF_OK;
    }
    const cf_reader_format *f = reader_of(im->format);
    if (lines) {
        CF_TRY(all_lines(im, f, &t, err));
    } else if (f->is_document || is_list) {
        CF_TRY(one_record(im, f, cf_str_make(p + t.at, n - t.at), t.line, err));
    } else {
        CF_TRY(all_values(im, f, &t, err));
    }
    return f->end != NULL ? f->end(im, err) : CF_OK;
}

static cf_status finish(cf_import *im, cf_status st, cf_error *err)
{
    if (st == CF_OK || st == CF_ECANCELLED) {
        cf_error why;
        cf_status flushed = cf_import__flush(im, &why);
        if (flushed != CF_OK) {
            st = flushed;
            if (err != NULL) {
                *err = why;
            }
        }
    }
    count_dry(im);
    cf_free(im->dry);
    json_decref(im->repeats);
    free_batch(im);
    cf_build__drop(im);
    return st;
}

cf_status cf_import_bytes(cf_store *store, const char *p, size_t n,
                          const cf_import_options *opts,
                          cf_import_report *report, cf_error *err)
{
    *report = (cf_import_report){0};
    if (!opts->guesses && reader_of(opts->format) == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "%s cannot be read this way",
                       format_names[opts->format]);
    }
    cf_import im = {
        .store = store, .opts = opts, .report = report, .format = opts->format};
    return finish(&im, all_records(&im, p, n, err), err);
}

/* Does the file begin as a SQLite database does? */
static bool is_database(const char *path)
{
    char head[16] = "";
    FILE *f = strcmp(path, "-") != 0 ? fopen(path, "rb") : NULL;
    if (f == NULL) {
        return false; /* reading the file reports why */
    }
    size_t n = fread(head, 1, sizeof head, f);
    (void)fclose(f);
    return n == sizeof head && memcmp(head, "SQLite format 3", n) == 0;
}

cf_status cf_import_file(cf_store *store, const char *path,
                         const cf_import_options *opts,
                         cf_import_report *report, cf_error *err)
{
    *report = (cf_import_report){0};
    if (opts->guesses ? is_database(path) : opts->format == CF_FORMAT_LLM_DB) {
        cf_import im = {.store = store,
                        .opts = opts,
                        .report = report,
                        .format = CF_FORMAT_LLM_DB};
        cf_status st = finish(&im, cf_read_llm_db(&im, path, err), err);
        if (opts->guesses) {
            snprintf(report->read_as, sizeof report->read_as, "llm database");
        }
        return st;
    }
    cf_buf text = CF_BUF_INIT;
    cf_status st = cf_os_read_file(&text, path, FILE_MAX, err);
    CF_THEN(st, cf_import_bytes(store, cf_buf_cstr(&text), text.n, opts, report,
                                err));
    cf_buf_deinit(&text);
    return st;
}
