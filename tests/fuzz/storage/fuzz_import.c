/*
 * fuzz_import.c - any bytes as a file of another program.
 *
 * The first byte chooses the format, or that it is guessed; the second whether
 * records are limited to a few bytes and whether it is a dry run.  Whatever
 * comes in, the database stays sound, what came in can be written out in every
 * format and read again, and undo leaves nothing of it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage/exchange.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[300];

static void remove_files(void)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char name[320];
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
}

static cf_store *store;

/* One database for all inputs; recreated once it has grown. */
static void open_store(void)
{
    cf_error err;
    static unsigned n;
    if (store != NULL && n++ % 256 != 255) {
        return;
    }
    cf_store_close(store);
    if (path[0] == '\0') {
        snprintf(path, sizeof path, "%s", cf_fuzz_path("import.db"));
    }
    remove_files();
    cf_store_options opts = {.flags = CF_STORE_CREATE};
    if (cf_store_open(&store, path, &opts, &err) != CF_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

static void finding(void *ud, const char *line)
{
    (void)ud;
    fprintf(stderr, "finding: %s\n", line);
}

/* A confab export of what came in is read without a complaint. */
static void no_complaint(void *ud, uint64_t line, const char *text)
{
    (void)ud;
    fprintf(stderr, "line %d: %s\n", (int)line, text);
    abort();
}

static void read_back(cf_format format, const cf_buf *text)
{
    cf_error err;
    cf_import_report report;
    cf_import_options opts = {
        .format = format, .is_dry = true, .note = format == CF_FORMAT_CONFAB ? no_complaint : NULL};
    if (cf_import_bytes(NULL, text->p, text->n, &opts, &report, &err) != CF_OK) {
        fprintf(stderr, "%s: %s\n", cf_format_name(format), err.text);
        abort();
    }
}

static void export_newest(void)
{
    cf_error err;
    cf_arena a;
    const cf_store_conv *rows;
    size_t n = 0;
    cf_store_query q = {.sort = CF_SORT_CREATED, .limit = 3};
    cf_arena_init(&a, 0);
    if (cf_store_list(store, &q, &a, &rows, &n, &err) != CF_OK) {
        abort();
    }
    for (int f = 0; f < CF_FORMAT_COUNT; f++) {
        cf_export_options opts = {.format = (cf_format)f};
        cf_exporter *ex;
        if (!cf_format_writes(opts.format) || cf_export_begin(&ex, store, &opts, &err) != CF_OK) {
            continue;
        }
        cf_buf out = CF_BUF_INIT;
        for (size_t i = 0; i < n; i++) {
            if (cf_export_conv(ex, rows[i].id, &out, &err) != CF_OK) {
                abort();
            }
        }
        if (out.n != 0) {
            read_back(opts.format, &out);
        }
        cf_buf_deinit(&out);
        cf_export_end(ex);
    }
    cf_arena_deinit(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned n_inputs;
    cf_error err;
    cf_import_report report;
    if (size < 2) {
        return 0;
    }
    cf_import_options opts = {.format = (cf_format)(data[0] % (unsigned)CF_FORMAT_COUNT),
                              .guesses = data[0] >= 128,
                              .max_record = data[1] < 16 ? 1 + data[1] * 16u : 0,
                              .is_dry = data[1] >= 240};
    if (!opts.guesses && (opts.format == CF_FORMAT_LLM_DB || opts.format == CF_FORMAT_SESSION)) {
        return 0; /* files only: fuzz_llm.c; sessions have tests/fault/storage/ */
    }
    open_store();
    cf_status st = cf_import_bytes(store, (const char *)data + 2, size - 2, &opts, &report, &err);
    if (st != CF_OK) {
        fprintf(stderr, "import: %s\n", err.text);
        abort();
    }
    if (report.n_turns != 0 && !opts.is_dry) {
        export_newest();
        cf_buf what = CF_BUF_INIT;
        if (n_inputs % 8 == 0 && cf_store_undo(store, &what, &err) != CF_OK) {
            fprintf(stderr, "undo: %s\n", err.text);
            abort();
        }
        cf_buf_deinit(&what);
    }
    size_t n = 0;
    if (n_inputs++ % 64 == 0 &&
        (cf_store_check(store, finding, NULL, &n, &err) != CF_OK || n != 0)) {
        abort();
    }
    return 0;
}
