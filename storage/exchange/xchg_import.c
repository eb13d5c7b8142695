/*
 * xchg_import.c - conversations from readers into the store, in batches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/exchange/xchg.h"
#include "storage/exchange/xchg_feed.h"

enum { BATCH_BYTES = 8 << 20 };

#define CF_FORMAT_ROW(id, description) &description,
static const cf_xchg_format *const formats[CF_FORMAT_COUNT] = {CF_FORMATS(CF_FORMAT_ROW)};
#undef CF_FORMAT_ROW

const cf_xchg_format *cf_xchg__format(cf_format f)
{
    return formats[f];
}

const char *cf_format_name(cf_format f)
{
    return formats[f]->name;
}

bool cf_format_parse(cf_format *out, cf_str name)
{
    for (int i = 0; i < CF_FORMAT_COUNT; i++) {
        if (cf_str_is(name, formats[i]->name)) {
            *out = (cf_format)i;
            return true;
        }
    }
    return false;
}

bool cf_format_reads(cf_format f)
{
    return f < CF_FORMAT_COUNT;
}

bool cf_format_writes(cf_format f)
{
    return formats[f]->write_tree != NULL || formats[f]->write_branch != NULL;
}

/* ---- handing on --------------------------------------------------------- */

void cf_import__bad(cf_import *im, uint64_t line, const char *text)
{
    im->report->n_bad++;
    if (im->opts->note != NULL) {
        im->opts->note(im->opts->ud, line, text);
    }
}

static void count_report(cf_import *im, const cf_build *b, const cf_store_put_report *r,
                         const cf_error *why)
{
    if (why->code != CF_OK) {
        cf_import__bad(im, b->line, why->text);
        return;
    }
    im->report->n_new += r->is_new;
    im->report->n_known += !r->is_new;
    im->report->n_turns += r->n_added;
    im->report->n_skipped += r->n_skipped;
    im->report->n_tagged += r->n_tagged;
}

static cf_status put_templates(cf_import *im, cf_error *err)
{
    for (size_t i = 0; i < im->n_batch; i++) {
        const cf_build *b = im->batch[i];
        if (b->n_templates != 0) {
            CF_TRY(cf_store_put_templates(im->store, b->templates, b->n_templates, err));
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
    CF_THEN(st, cf_store_put_trees(im->store, v, im->n_batch, &im->origin, reports, errs, err));
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

/* Counts each id once, so that the branches of one conversation and what a
 * file repeats count once. */
static cf_status note_ids(cf_import *im, cf_error *err)
{
    for (size_t i = 0; i < im->n_batch; i++) {
        const cf_build *b = im->batch[i];
        im->report->n_new += b->n == 0;
        for (size_t k = 0; k < b->n; k++) {
            uint32_t n;
            CF_TRY(cf_idset__count(&im->ids, b->turns[k].id, &n, err));
            im->report->n_turns += n == 1;
            im->report->n_skipped += n != 1;
            im->report->n_new += n == 1 && k == 0;
        }
    }
    return CF_OK;
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
    if (b->arena.failed || im->failed) {
        return cf_sql__oom(err);
    }
    settle_times(b);
    CF_TRY(cf_build__settle_ids(im, b, err));
    CF_TRY(add_tag(im, b, err));
    if (b->conv.title.n == 0 && im->opts->title != NULL) {
        b->conv.title = cf_str_from(im->opts->title);
    }
    im->cur = NULL;
    im->batch[im->n_batch++] = b;
    im->batch_bytes += b->arena.total;
    if (im->n_batch == CF_IMPORT_BATCH || im->batch_bytes > BATCH_BYTES) {
        return cf_import__flush(im, err);
    }
    return CF_OK;
}

cf_status cf_import__emit_ordered(cf_import *im, cf_error *err)
{
    cf_error why;
    cf_status st = cf_build__order(im->cur, &why);
    if (st == CF_EFORMAT) {
        cf_import__bad(im, im->cur->line, why.text);
        cf_build__drop(im);
        return CF_OK;
    }
    if (st != CF_OK) {
        *err = why;
        return st;
    }
    return cf_import__emit(im, err);
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

static cf_status finish(cf_import *im, cf_status st, cf_error *err)
{
    if (st == CF_OK) {
        cf_error why;
        cf_status flushed = cf_import__flush(im, &why);
        if (flushed != CF_OK) {
            st = flushed;
            if (err != NULL) {
                *err = why;
            }
        }
    }
    cf_idset__free(&im->ids);
    cf_idset__free(&im->repeats);
    free_batch(im);
    cf_build__drop(im);
    return st;
}

/* 128 MiB: a conversation with pictures fits, and its tree in memory too. */
enum { RECORD_MAX = 128 << 20 };

/* Another id for every import: by file, time and clock. */
static cf_uuid new_id(const char *name)
{
    char now[64];
    snprintf(now, sizeof now, "%lld %llu", (long long)cf_os_now_ms(),
             (unsigned long long)cf_os_monotonic_us());
    return cf_build__uuid(CF_FORMAT_CONFAB, cf_str_from(name), cf_str_from(now));
}

static cf_import begin(cf_store *store, const cf_import_options *opts, cf_import_report *report)
{
    *report = (cf_import_report){0};
    const char *slash = opts->name != NULL ? strrchr(opts->name, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : opts->name;
    name = name != NULL ? name : "";
    return (cf_import){.store = store,
                       .opts = opts,
                       .report = report,
                       .origin = {new_id(name), cf_str_from(name), opts->cancel},
                       .format = opts->guesses ? CF_FORMAT_COUNT : opts->format};
}

static size_t record_max(const cf_import_options *opts)
{
    return opts->max_record != 0 ? opts->max_record : RECORD_MAX;
}

cf_status cf_import_bytes(cf_store *store, const char *p, size_t n, const cf_import_options *opts,
                          cf_import_report *report, cf_error *err)
{
    cf_feed feed;
    cf_import im = begin(store, opts, report);
    if (im.format != CF_FORMAT_COUNT && formats[im.format]->file != NULL) {
        return cf_fail(err, CF_EUNSUPPORTED, "%s cannot be read this way",
                       cf_format_name(im.format));
    }
    cf_feed__init_bytes(&feed, p, n, record_max(opts));
    return finish(&im, cf_import__records(&im, &feed, err), err);
}

/* The format that is read as a whole file and begins as this file does; COUNT:
 * none. */
static cf_format file_format(const char *path)
{
    char head[16] = "";
    struct stat s; /* what is taken out of a pipe is gone */
    bool is_file = stat(path, &s) == 0 && S_ISREG(s.st_mode);
    FILE *f = is_file ? fopen(path, "rb") : NULL;
    if (f == NULL) {
        return CF_FORMAT_COUNT; /* reading the file reports why */
    }
    size_t n = fread(head, 1, sizeof head, f);
    (void)fclose(f);
    for (int i = 0; i < CF_FORMAT_COUNT; i++) {
        if (formats[i]->claims_file != NULL && formats[i]->claims_file(path)) {
            return (cf_format)i;
        }
    }
    for (int i = 0; i < CF_FORMAT_COUNT; i++) {
        const char *magic = formats[i]->magic;
        if (magic != NULL && n > strlen(magic) && memcmp(head, magic, strlen(magic) + 1) == 0) {
            return (cf_format)i;
        }
    }
    return CF_FORMAT_COUNT;
}

cf_status cf_import_file(cf_store *store, const char *path, const cf_import_options *opts,
                         cf_import_report *report, cf_error *err)
{
    cf_import im = begin(store, opts, report);
    cf_format f = opts->guesses ? file_format(path) : opts->format;
    if (f != CF_FORMAT_COUNT && formats[f]->file != NULL) {
        im.format = f;
        return finish(&im, formats[f]->file(&im, path, err), err);
    }
    cf_feed feed;
    CF_TRY(cf_feed__open(&feed, path, record_max(opts), err));
    feed.cancel = opts->cancel;
    cf_status st = finish(&im, cf_import__records(&im, &feed, err), err);
    cf_feed__close(&feed);
    return st;
}
