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

enum { FILE_MAX = 0x7FFFFFFF, TURNS_MAX = 1000000, BATCH_BYTES = 8 << 20 };

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

/* ---- building ----------------------------------------------------------- */

static void free_build(cf_build *b)
{
    if (b != NULL) {
        cf_arena_deinit(&b->arena);
        cf_free(b->turns);
        cf_free(b->templates);
        cf_free(b);
    }
}

void cf_build__drop(cf_import *im)
{
    free_build(im->cur);
    im->cur = NULL;
}

cf_status cf_build__begin(cf_import *im, uint64_t line, cf_error *err)
{
    cf_build__drop(im);
    im->cur = cf_calloc(1, sizeof *im->cur);
    if (im->cur == NULL) {
        return cf_sql__oom(err);
    }
    cf_arena_init(&im->cur->arena, 0);
    im->cur->line = line;
    return CF_OK;
}

cf_store_turn *cf_build__add(cf_build *b)
{
    if (b->n == b->cap) {
        size_t cap = b->cap * 2 + 8;
        cf_store_turn *v =
            b->n < TURNS_MAX ? cf_realloc(b->turns, cap, sizeof *v) : NULL;
        if (v == NULL) {
            return NULL;
        }
        b->turns = v;
        b->cap = cap;
    }
    cf_store_turn *t = &b->turns[b->n];
    *t = (cf_store_turn){.id = cf_uuid_new(),
                         .status = CF_TURN_IMPORTED,
                         .fork_token = -1,
                         .finished_ms = -1};
    if (b->n > 0) {
        t->parent = b->turns[b->n - 1].id;
    }
    b->n++;
    return t;
}

cf_str cf_build__str(cf_build *b, cf_str s)
{
    if (s.p == NULL) {
        return s;
    }
    const char *p = cf_arena_strndup(&b->arena, s.p, s.n);
    return cf_str_make(p, p != NULL ? s.n : 0);
}

cf_str cf_build__json(cf_build *b, const json_t *v)
{
    cf_buf text = CF_BUF_INIT;
    cf_json_write(&text, v);
    cf_str s = {NULL, 0};
    if (text.failed) {
        b->arena.failed = true;
    } else {
        s = cf_build__str(b, cf_str_make(text.p, text.n));
    }
    cf_buf_deinit(&text);
    return s;
}

cf_str cf_build__source(cf_import *im, cf_str id)
{
    cf_buf text = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &text);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "format", format_names[im->opts->format]);
    if (im->opts->name != NULL) {
        const char *slash = strrchr(im->opts->name, '/');
        cf_jw_text(&w, "file", slash != NULL ? slash + 1 : im->opts->name);
    }
    if (id.n != 0) {
        cf_jw_str(&w, "id", id);
    }
    cf_jw_end(&w);
    cf_str s = {NULL, 0};
    if (text.failed) {
        im->cur->arena.failed = true;
    } else {
        s = cf_build__str(im->cur, cf_str_make(text.p, text.n));
    }
    cf_buf_deinit(&text);
    return s;
}

/* Version 8 (RFC 9562, 5.8): 122 bits of SHA-256. */
cf_uuid cf_build__uuid(cf_format f, cf_str scope, cf_str id)
{
    cf_uuid out;
    if (cf_uuid_parse(&out, id.p, id.n) && !cf_uuid_is_nil(out)) {
        return out;
    }
    char all[3][CF_HASH_TEXT + 1];
    char name[2 * CF_HASH_TEXT + 64];
    cf_hash_hex(all[0], scope.p != NULL ? scope.p : "", scope.n);
    cf_hash_hex(all[1], id.p != NULL ? id.p : "", id.n);
    int n = snprintf(name, sizeof name, "confab %s %s %s", format_names[f],
                     all[0], all[1]);
    cf_hash_hex(all[2], name, (size_t)n);
    for (int i = 0; i < 16; i++) {
        unsigned v = 0;
        for (int k = 0; k < 2; k++) {
            char c = all[2][2 * i + k];
            v = v << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
        }
        out.b[i] = (uint8_t)v;
    }
    out.b[6] = (uint8_t)(0x80 | (out.b[6] & 0x0F));
    out.b[8] = (uint8_t)(0x80 | (out.b[8] & 0x3F));
    return out;
}

cf_status cf_build__say(cf_build *b, json_t *message, cf_store_turn **out,
                        cf_error *err)
{
    cf_store_turn *t = message != NULL ? cf_build__add(b) : NULL;
    if (t == NULL) {
        json_decref(message);
        return cf_sql__oom(err);
    }
    t->message = cf_build__json(b, message);
    json_decref(message);
    if (out != NULL) {
        *out = t;
    }
    return b->arena.failed ? cf_sql__oom(err) : CF_OK;
}

/* ---- order -------------------------------------------------------------- */

typedef struct by_id {
    cf_uuid id;
    size_t at;
} by_id;

static int compare_ids(const void *a, const void *b)
{
    return memcmp(((const by_id *)a)->id.b, ((const by_id *)b)->id.b, 16);
}

static size_t find_id(const by_id *v, size_t n, cf_uuid id)
{
    by_id key = {id, 0};
    const by_id *hit =
        n != 0 ? bsearch(&key, v, n, sizeof *v, compare_ids) : NULL;
    return hit != NULL ? hit->at : SIZE_MAX;
}

/* By id, and by place among equal ones. */
static int compare_places(const void *a, const void *b)
{
    int c = compare_ids(a, b);
    size_t x = ((const by_id *)a)->at;
    size_t y = ((const by_id *)b)->at;
    return c != 0 ? c : (x > y) - (x < y);
}

cf_status cf_build__unique(cf_build *b, cf_error *err)
{
    static const cf_uuid nil;
    size_t n = b->n;
    if (n == 0) {
        return CF_OK;
    }
    by_id *ids = cf_alloc(n * sizeof *ids);
    bool *is_double = cf_calloc(n, sizeof *is_double);
    if (ids == NULL || is_double == NULL) {
        cf_free(ids);
        cf_free(is_double);
        return cf_sql__oom(err);
    }
    for (size_t i = 0; i < b->n; i++) {
        ids[i] = (by_id){b->turns[i].id, i};
    }
    qsort(ids, b->n, sizeof *ids, compare_places);
    for (size_t i = 1; i < b->n; i++) {
        is_double[ids[i].at] = compare_ids(&ids[i - 1], &ids[i]) == 0;
    }
    size_t kept = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (!is_double[i]) {
            b->turns[kept] = b->turns[i];
            b->turns[kept].parent = kept != 0 ? b->turns[kept - 1].id : nil;
            kept++;
        }
    }
    b->n = kept;
    cf_free(ids);
    cf_free(is_double);
    return CF_OK;
}

cf_status cf_xchg__parents(const cf_store_turn *v, size_t n, size_t *parent,
                           cf_error *err)
{
    if (n == 0) {
        return CF_OK;
    }
    by_id *ids = cf_alloc(n * sizeof *ids);
    if (ids == NULL) {
        return cf_sql__oom(err);
    }
    for (size_t i = 0; i < n; i++) {
        ids[i] = (by_id){v[i].id, i};
    }
    qsort(ids, n, sizeof *ids, compare_ids);
    for (size_t i = 0; i < n; i++) {
        size_t at = cf_uuid_is_nil(v[i].parent) ? SIZE_MAX
                                                : find_id(ids, n, v[i].parent);
        /* A parent after its child is ignored, so that every walk up ends,
         * whatever a damaged file contains. */
        parent[i] = at < i ? at : SIZE_MAX;
    }
    cf_free(ids);
    return CF_OK;
}

typedef struct order {
    by_id *ids;
    size_t *parent, *next;
    bool *done;
    cf_store_turn *out;
} order;

/* Appends turn i after its ancestors.  The way up is kept in `next`. */
static bool place(cf_build *b, order *o, size_t i, size_t *n_out)
{
    size_t top = SIZE_MAX;
    size_t steps = 0;
    for (size_t k = i; k != SIZE_MAX && !o->done[k]; k = o->parent[k]) {
        o->next[k] = top;
        top = k;
        if (++steps > b->n) {
            return false; /* a circle */
        }
    }
    for (size_t k = top; k != SIZE_MAX; k = o->next[k]) {
        o->done[k] = true;
        o->out[(*n_out)++] = b->turns[k];
    }
    return true;
}

static cf_status order_turns(cf_build *b, order *o, cf_error *err)
{
    static const cf_uuid nil;
    for (size_t i = 0; i < b->n; i++) {
        o->ids[i] = (by_id){b->turns[i].id, i};
    }
    qsort(o->ids, b->n, sizeof *o->ids, compare_ids);
    for (size_t i = 0; i + 1 < b->n; i++) {
        if (compare_ids(&o->ids[i], &o->ids[i + 1]) == 0) {
            return cf_fail(err, CF_EFORMAT, "two turns have the same id");
        }
    }
    for (size_t i = 0; i < b->n; i++) {
        o->parent[i] = cf_uuid_is_nil(b->turns[i].parent)
                           ? SIZE_MAX
                           : find_id(o->ids, b->n, b->turns[i].parent);
        if (o->parent[i] == SIZE_MAX) {
            b->turns[i].parent = nil;
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (!place(b, o, i, &n)) {
            return cf_fail(err, CF_EFORMAT, "turns form a circle");
        }
    }
    memcpy(b->turns, o->out, n * sizeof *o->out);
    return CF_OK;
}

cf_status cf_build__order(cf_build *b, cf_error *err)
{
    size_t n = b->n;
    if (n == 0) {
        return CF_OK;
    }
    order o = {cf_alloc(n * sizeof *o.ids), cf_alloc(n * sizeof *o.parent),
               cf_alloc(n * sizeof *o.next), cf_calloc(n, sizeof *o.done),
               cf_alloc(n * sizeof *o.out)};
    cf_status st = o.ids == NULL || o.parent == NULL || o.next == NULL ||
                           o.done == NULL || o.out == NULL
                       ? cf_sql__oom(err)
                       : order_turns(b, &o, err);
    cf_free(o.ids);
    cf_free(o.parent);
    cf_free(o.next);
    cf_free(o.done);
    cf_free(o.out);
    return st;
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
        free_build(im->batch[i]);
    }
    im->n_batch = 0;
    im->batch_bytes = 0;
}

cf_status cf_import__flush(cf_import *im, cf_error *err)
{
    cf_status st = im->n_batch != 0 ? put_batch(im, err) : CF_OK;
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

static cf_status all_records(cf_import *im, const char *p, size_t n,
                             cf_error *err)
{
    const cf_reader_format *f = reader_of(im->opts->format);
    text_in t = {p, n, 0, 1};
    if (n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) {
        t.at = 3;
    }
    skip_blanks(&t, false);
    if (t.at >= t.n) {
        return CF_OK;
    }
    if (is_lines(&t)) {
        CF_TRY(all_lines(im, f, &t, err));
    } else if (f->is_document) {
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
    free_batch(im);
    cf_build__drop(im);
    return st;
}

cf_status cf_import_bytes(cf_store *store, const char *p, size_t n,
                          const cf_import_options *opts,
                          cf_import_report *report, cf_error *err)
{
    *report = (cf_import_report){0};
    if (reader_of(opts->format) == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "%s cannot be read this way",
                       format_names[opts->format]);
    }
    cf_import im = {.store = store, .opts = opts, .report = report};
    return finish(&im, all_records(&im, p, n, err), err);
}

cf_status cf_import_file(cf_store *store, const char *path,
                         const cf_import_options *opts,
                         cf_import_report *report, cf_error *err)
{
    *report = (cf_import_report){0};
    if (opts->format == CF_FORMAT_LLM_DB) {
        cf_import im = {.store = store, .opts = opts, .report = report};
        return finish(&im, cf_read_llm_db(&im, path, err), err);
    }
    cf_buf text = CF_BUF_INIT;
    cf_status st = cf_os_read_file(&text, path, FILE_MAX, err);
    CF_THEN(st, cf_import_bytes(store, cf_buf_cstr(&text), text.n, opts, report,
                                err));
    cf_buf_deinit(&text);
    return st;
}
