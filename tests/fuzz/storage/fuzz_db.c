/*
 * fuzz_db.c - any bytes as a database file.
 *
 * An input is a list of changes to a sound database: eight bytes each, the
 * place (four bytes, little-endian), how many bytes (one), and three bytes
 * that are written there over and over; an input that begins with "SQLite
 * format 3" is taken as the file itself.  Opening, listing, searching,
 * reading, checking, exporting, importing from it and writing to it must end
 * in order.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/os.h"
#include "storage/exchange.h"
#include "tests/support/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[300];
static cf_buf sound;

static void remove_files(void)
{
    static const char *const ends[] = {"", "-wal", "-shm", "-journal", "-v1.backup"};
    char name[320];
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
}

static void put_some(cf_store *s)
{
    static const char text[] =
        "{\"type\":\"conversation\",\"confab\":1,\"id\":"
        "\"0190aaaa-0000-4000-8000-000000000001\",\"title\":\"one title\","
        "\"tags\":[\"bug\"]}\n"
        "{\"type\":\"template\",\"hash\":"
        "\"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881\","
        "\"source\":\"x\"}\n"
        "{\"type\":\"turn\",\"id\":\"0190aaaa-0000-4000-8000-000000000011\","
        "\"status\":\"ok\",\"message\":{\"role\":\"user\",\"content\":\"hello "
        "world\"}}\n"
        "{\"type\":\"turn\",\"id\":\"0190aaaa-0000-4000-8000-000000000012\","
        "\"parent\":\"0190aaaa-0000-4000-8000-000000000011\",\"status\":\"ok\","
        "\"message\":{\"role\":\"assistant\",\"content\":\"hi\",\"x\":1},"
        "\"run\":{\"template_hash\":"
        "\"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881\","
        "\"reply_ids\":[1,2,3],\"raw\":\"hi\",\"trace\":\"AAE=\"},"
        "\"calls\":[{\"n\":0,\"name\":\"f\",\"state\":\"done\"}]}\n";
    cf_error err;
    cf_import_report report;
    cf_import_options opts = {.format = CF_FORMAT_CONFAB};
    if (cf_import_bytes(s, text, sizeof text - 1, &opts, &report, &err) != CF_OK ||
        report.n_turns != 2) {
        abort();
    }
}

static void make_sound(void)
{
    cf_error err;
    cf_store *s;
    cf_store_options opts = {.flags = CF_STORE_CREATE};
    snprintf(path, sizeof path, "%s", cf_fuzz_path("sound.db"));
    if (cf_store_open(&s, path, &opts, &err) != CF_OK) {
        abort();
    }
    put_some(s);
    cf_store_close(s);
    if (cf_os_read_file(&sound, path, SIZE_MAX, &err) != CF_OK) {
        abort();
    }
}

static void write_file(const uint8_t *data, size_t size)
{
    cf_buf b = CF_BUF_INIT;
    if (size >= 16 && memcmp(data, "SQLite format 3", 16) == 0) {
        cf_buf_add(&b, data, size);
    } else {
        cf_buf_add(&b, sound.p, sound.n);
        for (size_t i = 0; i + 8 <= size; i += 8) {
            size_t at = (size_t)data[i] | (size_t)data[i + 1] << 8 | (size_t)data[i + 2] << 16 |
                        (size_t)data[i + 3] << 24;
            at %= b.n;
            for (size_t k = 0; k < data[i + 4] && at + k < b.n; k++) {
                b.p[at + k] = (char)data[i + 5 + k % 3];
            }
        }
    }
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(b.p, 1, b.n, f) != b.n || fclose(f) != 0) {
        abort();
    }
    cf_buf_deinit(&b);
}

static void finding(void *ud, const char *line)
{
    (void)ud;
    (void)line;
}

static void read_all(cf_store *s)
{
    cf_error err;
    cf_arena a;
    const cf_store_conv *rows;
    const cf_store_facet *facets;
    size_t n = 0, n_facets, total;
    cf_store_hits hits;
    cf_store_query q = {.limit = 20, .text = {"hello", 5}};
    cf_arena_init(&a, 64 << 20);
    (void)!cf_store_search(s, &q, &a, &hits, &err);
    (void)!cf_store_facets(s, CF_PLACE_LIVE, &a, &facets, &n_facets, &total, &err);
    q.text = (cf_str){NULL, 0};
    if (cf_store_list(s, &q, &a, &rows, &n, &err) != CF_OK) {
        n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        for (int f = 0; f < CF_FORMAT_COUNT; f++) {
            cf_export_options opts = {.format = (cf_format)f};
            cf_exporter *ex;
            cf_buf out = CF_BUF_INIT;
            if (cf_format_writes(opts.format) && cf_export_begin(&ex, s, &opts, &err) == CF_OK) {
                (void)!cf_export_conv(ex, rows[i].id, &out, &err);
                cf_export_end(ex);
            }
            cf_buf_deinit(&out);
        }
    }
    cf_arena_deinit(&a);
    (void)!cf_store_check(s, finding, NULL, &n, &err);
}

static void write_some(cf_store *s)
{
    cf_error err;
    cf_uuid conv, fork;
    cf_store_ref ref;
    cf_store_conv c = {.title = {"new", 3}};
    (void)!cf_store_put_conv(s, &c, &conv, &err);
    if (cf_store_find(s, cf_str_from("000000000012"), &ref, &err) == CF_OK) {
        (void)!cf_store_set_title(s, ref.conversation, cf_str_from("t"), &err);
        (void)!cf_store_fork(s, ref.turn, &fork, &err);
        (void)!cf_store_purge(s, ref.conversation, &err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cf_error err;
    cf_store *s;
    if (sound.n == 0) {
        make_sound();
    }
    remove_files();
    write_file(data, size);
    cf_store_options opts = {.busy_ms = 10, .patience_ms = 50};
    if (cf_store_open(&s, path, &opts, &err) == CF_OK) {
        read_all(s);
        write_some(s);
        cf_store_close(s);
    }
    return 0;
}
