/*
 * test_kept.c - small things that the history keeps come back as they were put:
 * scores, messages of tool servers, calls, text that is not UTF-8; and how many
 * hits a search leaves out.
 */
#include <ctype.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <time.h>

#include "core/base/arena.h"
#include "storage/db/store_int.h"
#include "storage/db/store_snippet.h"
#include "storage/db/store_sql.h"
#include "storage/db/store_words.h"
#include "storage/exchange.h"
#include "storage/store.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

static cf_store *open_at(const char *name)
{
    cf_store *s;
    cf_error err;
    T_OK(cf_store_open(&s, store_dir_file(name), &(cf_store_options){.flags = CF_STORE_CREATE},
                       &err),
         err);
    return s;
}

static cf_uuid put_conv(cf_store *s, const char *title)
{
    cf_uuid id;
    cf_error err;
    T_OK(cf_store_put_conv(s, &(cf_store_conv){.title = cf_str_from(title)}, &id, &err), err);
    return id;
}

static cf_uuid put_turn(cf_store *s, cf_uuid conv, const char *json)
{
    cf_uuid id;
    cf_error err;
    const cf_store_turn t = {
        .conversation = conv, .message = cf_str_from(json), .status = CF_TURN_OK};
    T_OK(cf_store_put_turn(s, &t, &id, &err), err);
    return id;
}

static void test_kept__scores(void **state)
{
    (void)state;
    static const float one[] = {-0.5f, -INFINITY, 0, -1e-30f}, other[] = {-9};
    cf_store *s = open_at("scores.db");
    cf_error err;
    float back[4];
    const cf_store_score v[] = {{cf_str_from("a"), one, 4}, {cf_str_from("b"), other, 1}};
    T_OK(cf_store_put_scores(s, v, 2, &err), err);
    T_OK(cf_store_get_scores(s, cf_str_from("a"), back, 4, &err), err);
    assert_memory_equal(back, one, sizeof one);
    /* A key that is known stays as it is. */
    const cf_store_score again = {cf_str_from("b"), one, 1};
    T_OK(cf_store_put_scores(s, &again, 1, &err), err);
    T_OK(cf_store_get_scores(s, cf_str_from("b"), back, 1, &err), err);
    assert_true(back[0] == -9);
    T_FAILS(cf_store_get_scores(s, cf_str_from("a"), back, 3, &err), CF_ENOTFOUND);
    for (int i = 0; i < 100; i++) { /* no reader is kept */
        T_FAILS(cf_store_get_scores(s, cf_str_from("c"), back, 4, &err), CF_ENOTFOUND);
    }
    cf_store_close(s);
}

static void test_kept__messages_of_tool_servers(void **state)
{
    (void)state;
    cf_store *s = open_at("mcp.db");
    cf_error err;
    cf_arena a;
    const cf_store_mcp *got;
    size_t n;
    cf_uuid conv = put_conv(s, "one"), other = put_conv(s, "other");
    const cf_store_mcp v[] = {
        {.at_ms = 5, .server = {"x", 1}, .direction = {"out", 3}, .call = 7, .message = {"{}", 2}},
        {.at_ms = 6, .server = {"y", 1}, .direction = {"in", 2}, .call = -1, .message = {"[]", 2}},
    };
    cf_arena_init(&a, 0);
    T_OK(cf_store_put_mcp(s, other, v, 1, &err), err);
    for (int i = 0; i < 2; i++) {
        T_OK(cf_store_put_mcp(s, conv, v, 2, &err), err);
    }
    T_OK(cf_store_get_mcp(s, conv, 0, 100, &a, &got, &n, &err), err);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) {
        const cf_store_mcp *want = &v[i % 2];
        assert_int_equal(got[i].n, i);
        assert_int_equal(got[i].at_ms, want->at_ms);
        assert_int_equal(got[i].call, want->call);
        T_TEXT(got[i].server.p, got[i].server.n, want->server.p);
        T_TEXT(got[i].direction.p, got[i].direction.n, want->direction.p);
        T_TEXT(got[i].message.p, got[i].message.n, want->message.p);
    }
    T_OK(cf_store_get_mcp(s, conv, 1, 2, &a, &got, &n, &err), err);
    assert_int_equal(n, 2);
    assert_int_equal(got[0].n, 1);
    T_OK(cf_store_get_mcp(s, conv, 4, 2, &a, &got, &n, &err), err);
    assert_int_equal(n, 0);
    cf_arena_deinit(&a);
    cf_store_close(s);
}

/* The times, the head and the calls of a conversation that was imported. */
static void test_kept__an_imported_conversation(void **state)
{
    (void)state;
    static const char text[] =
        "{\"type\":\"conversation\",\"confab\":1,\"id\":\"0190aaaa-0000-4000-8000-000000000001\","
        "\"title\":\"t\",\"created_ms\":1000,\"updated_ms\":1}\n"
        "{\"type\":\"turn\",\"id\":\"0190aaaa-0000-4000-8000-000000000011\",\"status\":\"ok\","
        "\"created_ms\":2000,\"message\":{\"role\":\"user\",\"content\":\"a\"}}\n"
        "{\"type\":\"turn\",\"id\":\"0190aaaa-0000-4000-8000-000000000012\",\"parent\":"
        "\"0190aaaa-0000-4000-8000-000000000011\",\"status\":\"ok\",\"created_ms\":3000,"
        "\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"function\":{"
        "\"name\":\"f\",\"arguments\":{}}},{\"function\":{\"name\":\"g\",\"arguments\":{}}}]},"
        "\"run\":{\"model\":\"M\"},\"calls\":[{\"n\":0,\"name\":\"f\",\"state\":\"done\"},"
        "{\"n\":1,\"name\":\"g\",\"state\":\"done\"}]}\n";
    cf_store *s = open_at("imported.db");
    cf_error err;
    cf_import_report report;
    cf_import_options opts = {.format = CF_FORMAT_CONFAB};
    T_OK(cf_import_bytes(s, text, sizeof text - 1, &opts, &report, &err), err);
    assert_int_equal(report.n_bad, 0);
    cf_arena a;
    const cf_store_conv *rows;
    const cf_store_facet *f;
    cf_store_turn turn;
    size_t n, total;
    cf_arena_init(&a, 0);
    T_OK(cf_store_list(s, &(cf_store_query){.limit = 5}, &a, &rows, &n, &err), err);
    assert_int_equal(n, 1);
    assert_int_equal(rows[0].created_ms, 1000);
    assert_int_equal(rows[0].updated_ms, 1);
    assert_int_equal(rows[0].head.b[15], 0x12);
    T_OK(cf_store_get_turn(s, rows[0].head, &a, &turn, &err), err);
    assert_int_equal(turn.n_calls, 2);
    T_TEXT(turn.calls[0].name.p, turn.calls[0].name.n, "f");
    T_TEXT(turn.calls[1].name.p, turn.calls[1].name.n, "g");
    T_OK(cf_store_facets(s, CF_PLACE_LIVE, &a, &f, &n, &total, &err), err);
    assert_int_equal(total, 1);
    assert_true(n > 0);
    assert_int_equal(f[0].kind, CF_FACET_MODEL); /* in the order of the kinds */
    T_TEXT(f[0].value.p, f[0].value.n, "M");
    cf_arena_deinit(&a);
    cf_store_close(s);
}

static void test_kept__a_call_that_was_added(void **state)
{
    (void)state;
    cf_store *s = open_at("call.db");
    cf_error err;
    cf_arena a;
    cf_store_turn turn;
    cf_uuid conv = put_conv(s, "t");
    cf_uuid id = put_turn(s, conv, "{\"role\":\"assistant\",\"content\":\"\"}");
    cf_store_call call = {.n = 0,
                          .name = cf_str_from("f"),
                          .arguments = cf_str_from("{\"a\":1}"),
                          .state = cf_str_from("done"),
                          .result = cf_str_from("12"),
                          .duration_us = 34,
                          .exit_code = 3,
                          .is_mocked = true};
    T_OK(cf_store_put_call(s, id, &call, &err), err);
    cf_arena_init(&a, 0);
    T_OK(cf_store_get_turn(s, id, &a, &turn, &err), err);
    assert_int_equal(turn.n_calls, 1);
    T_TEXT(turn.calls[0].name.p, turn.calls[0].name.n, "f");
    T_TEXT(turn.calls[0].arguments.p, turn.calls[0].arguments.n, "{\"a\":1}");
    T_TEXT(turn.calls[0].result.p, turn.calls[0].result.n, "12");
    assert_int_equal(turn.calls[0].duration_us, 34);
    assert_int_equal(turn.calls[0].exit_code, 3);
    assert_true(turn.calls[0].is_mocked);
    cf_arena_deinit(&a);
    cf_store_close(s);
}

/* What waits for a database that is locked is a copy: the caller's memory may change. */
static void test_kept__a_call_that_waits(void **state)
{
    (void)state;
    cf_store *s;
    cf_error err;
    cf_arena a;
    sqlite3 *other;
    cf_store_turn turn;
    const char *path = store_dir_file("waits.db");
    char name[] = "name", result[] = "12";
    const cf_store_call call = {.name = {name, 4},
                                .arguments = cf_str_from("{}"),
                                .state = cf_str_from("done"),
                                .result = {result, 2}};
    s = open_at("waits.db");
    cf_uuid id = put_turn(s, put_conv(s, "t"), "{\"role\":\"assistant\",\"content\":\"\"}");
    cf_store_close(s);
    T_OK(cf_store_open(&s, path, &(cf_store_options){.patience_ms = 20, .busy_ms = 10}, &err), err);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    T_FAILS(cf_store_put_call(s, id, &call, &err), CF_EBUSY);
    memset(name, 'x', 4);
    memset(result, 'x', 2);
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    T_OK(cf_store_flush(s, 5000, &err), err);
    cf_arena_init(&a, 0);
    T_OK(cf_store_get_turn(s, id, &a, &turn, &err), err);
    assert_int_equal(turn.n_calls, 1);
    T_TEXT(turn.calls[0].name.p, turn.calls[0].name.n, "name");
    T_TEXT(turn.calls[0].result.p, turn.calls[0].result.n, "12");
    cf_arena_deinit(&a);
    cf_store_close(s);
}

static int64_t count(cf_store *s, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_open(cf_store_path(s), &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}

static size_t n_hits(cf_store *s, const char *words)
{
    cf_error err;
    cf_arena a;
    cf_store_hits hits;
    const cf_store_query q = {.text = cf_str_from(words), .limit = 5};
    cf_arena_init(&a, 0);
    T_OK(cf_store_search(s, &q, &a, &hits, &err), err);
    cf_arena_deinit(&a);
    return hits.n;
}

/* A reply takes the place of the message that it began with, which goes unless it is the
 * same; the role of that one stays, and the reply is found. */
static void test_kept__the_message_of_a_reply(void **state)
{
    (void)state;
    static const char first[] = "{\"role\":\"agent\",\"content\":\"needle\"}";
    static const char *const rows[][3] = {{"pin", "", "{\"role\":\"agent\",\"content\":\"pin\"}"},
                                          {"needle", "", first},
                                          {"", first, first},
                                          {"", "{\"role\":\"agent\",\"content\":\"nail\"}",
                                           "{\"role\":\"agent\",\"content\":\"nail\"}"}};
    static const char *const found[] = {"pin", "needle", "needle", "nail"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[20];
        cf_error err;
        cf_stream *st;
        cf_arena a;
        cf_store_turn got;
        snprintf(name, sizeof name, "reply%zu.db", i);
        cf_store *s = open_at(name);
        const cf_store_turn t = {.conversation = put_conv(s, "t"), .message = cf_str_from(first)};
        T_OK(cf_store_begin(s, &t, &st, &err), err);
        cf_uuid id = cf_stream_turn(st);
        const cf_stream_piece piece = {.raw = cf_str_from(rows[i][0])};
        T_OK(cf_stream_append(st, &piece, &err), err);
        const cf_stream_end end = {.status = CF_TURN_OK, .message = cf_str_from(rows[i][1])};
        T_OK(cf_store_finish(st, &end, &err), err);
        cf_arena_init(&a, 0);
        T_OK(cf_store_get_turn(s, id, &a, &got, &err), err);
        T_TEXT(got.message.p, got.message.n, rows[i][2]);
        assert_int_equal(count(s, "SELECT count(*) FROM message"), 1);
        assert_int_equal(n_hits(s, found[i]), 1);
        assert_int_equal(n_hits(s, "needle"), strcmp(found[i], "needle") == 0);
        cf_arena_deinit(&a);
        cf_store_close(s);
    }
}

/* Large strings of base64 lie beside a message, wherever they are in it, and it comes back
 * as it was; so do the tools of a run. */
static void test_kept__bytes_and_tools(void **state)
{
    (void)state;
    char bytes[2][8001], json[20000];
    cf_store *s = open_at("bytes.db");
    cf_error err;
    cf_arena a;
    cf_uuid id;
    cf_store_turn got;
    const cf_str tools[] = {cf_str_from("{\"name\":\"f\"}"), cf_str_from("{\"name\":\"g\"}")};
    cf_store_run run = cf_store_run_none();
    for (int i = 0; i < 2; i++) {
        memset(bytes[i], 'A' + i, 8000);
        bytes[i][8000] = '\0';
    }
    snprintf(
        json, sizeof json,
        "{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"blob\":\"%s\"},"
        "{\"type\":\"text\",\"text\":\"needle\"},{\"type\":\"image\",\"more\":{\"blob\":\"%s\"}}]}",
        bytes[0], bytes[1]);
    run.tools = tools;
    run.n_tools = 2;
    const cf_store_turn t = {.conversation = put_conv(s, "t"),
                             .message = cf_str_from(json),
                             .status = CF_TURN_OK,
                             .run = &run};
    T_OK(cf_store_put_turn(s, &t, &id, &err), err);
    cf_arena_init(&a, 0);
    T_OK(cf_store_get_turn(s, id, &a, &got, &err), err);
    T_TEXT(got.message.p, got.message.n, json);
    assert_int_equal(count(s, "SELECT count(*) FROM blob"), 2);
    assert_int_equal(got.run->n_tools, 2);
    T_TEXT(got.run->tools[0].p, got.run->tools[0].n, "{\"name\":\"f\"}");
    T_TEXT(got.run->tools[1].p, got.run->tools[1].n, "{\"name\":\"g\"}");
    cf_arena_deinit(&a);
    cf_store_close(s);
}

/* While pieces of a stream wait to be written the writer sleeps; then they reach the file,
 * although nothing else is asked of the store. */
static void test_kept__waiting_costs_nothing(void **state)
{
    (void)state;
    cf_store *s = open_at("sleeps.db");
    cf_error err;
    cf_stream *st;
    const cf_store_turn t = {.conversation = put_conv(s, "t"),
                             .message = cf_str_from("{\"role\":\"assistant\",\"content\":\"\"}")};
    const cf_stream_piece piece = {.raw = cf_str_from("word")};
    const struct timespec rest = {.tv_nsec = (CF_STORE_FLUSH_MS - 30) * 1000000L};
    T_OK(cf_store_begin(s, &t, &st, &err), err);
    T_OK(cf_store_flush(s, 5000, &err), err);
    clock_t before = clock();
    T_OK(cf_stream_append(st, &piece, &err), err);
    nanosleep(&rest, NULL);
    assert_true(clock() - before < CLOCKS_PER_SEC / 25);
    for (int i = 0; count(s, "SELECT count(*) FROM piece WHERE CAST(raw AS TEXT) = 'word'") == 0;
         i++) {
        assert_true(i < 1000);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    T_OK(cf_store_finish(st, &(cf_stream_end){.status = CF_TURN_OK}, &err), err);
    cf_store_close(s);
}

/* A match begins at the start of a word: after anything but a letter or a digit. */
static void test_kept__where_a_match_begins(void **state)
{
    (void)state;
    for (int c = 1; c < 128; c++) {
        char text[] = {(char)c, 'n', 'e', 'e', 'd', 'l', 'e', '\0'};
        cf_arena a;
        cf_store_hit hit = {0};
        cf_terms terms = {.text = CF_BUF_INIT};
        cf_arena_init(&a, 0);
        cf_terms__add(&terms, cf_str_from("NEEDLE"));
        cf_snippet__make(&hit, &terms, cf_str_from(text), cf_str_make("", 0), &a);
        assert_int_equal(hit.n_marks, !isalnum(c));
        cf_terms__deinit(&terms);
        cf_arena_deinit(&a);
    }
}

/* The blocks of Unicode that hold scripts without spaces, where they begin and end. */
static void test_kept__scripts_without_spaces(void **state)
{
    (void)state;
    static const uint32_t edges[] = {
        0x0E00,  /* Thai, Lao */ 0x0F00,   /* Tibetan */
        0x1000,  /* Myanmar */ 0x10A0,     /* Georgian */
        0x1780,  /* Khmer */ 0x1800,       /* Mongolian */
        0x3040,  /* Hiragana */ 0x3190,    /* Kanbun */
        0x31A0,  /* Bopomofo */ 0x3200,    /* enclosed letters */
        0x3400,  /* Han, A */ 0x4DC0,      /* hexagrams */
        0x4E00,  /* Han */ 0xA000,         /* Yi */
        0xAC00,  /* Hangul */ 0xD7B0,      /* its old letters */
        0xF900,  /* Han */ 0xFB00,         /* Latin ligatures */
        0xFF66,  /* Katakana wo */ 0xFFA0, /* half-width Hangul */
        0x20000, /* Han, B */ 0x323B0,     /* nothing yet */
    };
    size_t n = 0;
    for (uint32_t cp = 1; cp <= 0x10FFFF; cp++) {
        if (cf_words__is_unspaced(cp) != cf_words__is_unspaced(cp - 1)) {
            assert_true(n < sizeof edges / sizeof edges[0]);
            assert_int_equal(cp, edges[n++]);
        }
    }
    assert_int_equal(n, sizeof edges / sizeof edges[0]);
}

/* A word with a colon is a filter only as a whole. */
static void test_kept__words_that_look_like_filters(void **state)
{
    (void)state;
    static const char *const words[] = {"key:note", "has:other", "has:notes", "hash:note"};
    cf_store *s = open_at("filters.db");
    cf_error err;
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_uuid conv = put_conv(s, "t");
    put_turn(s, conv, "{\"role\":\"user\",\"content\":\"key:note has:other has:notes hash:note\"}");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cf_store_hits hits;
        cf_store_query q = {.text = cf_str_from(words[i]), .limit = 5};
        T_OK(cf_store_search(s, &q, &a, &hits, &err), err);
        assert_int_equal(hits.n, 1);
    }
    cf_store_hits none;
    cf_store_query q = {.text = cf_str_from("has:note"), .limit = 5};
    T_OK(cf_store_search(s, &q, &a, &none, &err), err);
    assert_int_equal(none.n, 0);
    cf_arena_deinit(&a);
    cf_store_close(s);
}

static void test_kept__search_says_that_there_are_more(void **state)
{
    (void)state;
    enum { TURNS = 5 };
    cf_store *s = open_at("more.db");
    cf_error err;
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_uuid conv = put_conv(s, "t");
    for (int i = 0; i < TURNS; i++) {
        put_turn(s, conv, "{\"role\":\"user\",\"content\":\"needle\"}");
    }
    for (size_t limit = 1; limit <= TURNS + 1; limit++) {
        cf_store_hits hits;
        cf_store_query q = {.text = cf_str_from("needle"), .limit = limit};
        T_OK(cf_store_search(s, &q, &a, &hits, &err), err);
        assert_int_equal(hits.n, limit < TURNS ? limit : TURNS);
        assert_int_equal(hits.has_more, limit < TURNS);
    }
    cf_arena_deinit(&a);
    cf_store_close(s);
}

static void test_kept__text_that_is_not_utf8(void **state)
{
    (void)state;
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_str s = cf_sql__repaired("ab\xFF"
                                "cd\xC3\xA9"
                                "e\xC3",
                                9, &a);
    T_TEXT(s.p, s.n,
           "ab\xEF\xBF\xBD"
           "cd\xC3\xA9"
           "e\xEF\xBF\xBD");
    cf_arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept__scores),
        cmocka_unit_test(test_kept__messages_of_tool_servers),
        cmocka_unit_test(test_kept__an_imported_conversation),
        cmocka_unit_test(test_kept__search_says_that_there_are_more),
        cmocka_unit_test(test_kept__a_call_that_was_added),
        cmocka_unit_test(test_kept__a_call_that_waits),
        cmocka_unit_test(test_kept__the_message_of_a_reply),
        cmocka_unit_test(test_kept__bytes_and_tools),
        cmocka_unit_test(test_kept__waiting_costs_nothing),
        cmocka_unit_test(test_kept__where_a_match_begins),
        cmocka_unit_test(test_kept__scripts_without_spaces),
        cmocka_unit_test(test_kept__words_that_look_like_filters),
        cmocka_unit_test(test_kept__text_that_is_not_utf8),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
