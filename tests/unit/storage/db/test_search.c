/*
 * test_search.c - words, filters, snippets; undo; migration; other files.
 */
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/base64.h"
#include "core/base/os.h"
#include "storage/db/store_codec.h"
#include "storage/db/store_int.h"
#include "storage/db/store_words.h"
#include "storage/exchange.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

static cf_store *open_at(const char *path)
{
    cf_store *s;
    cf_error err;
    T_OK(cf_store_open(&s, path, &(cf_store_options){.flags = CF_STORE_CREATE}, &err), err);
    return s;
}

static void import(cf_store *s, const char *text)
{
    cf_error err;
    cf_import_report report;
    cf_import_options opts = {.format = CF_FORMAT_CONFAB};
    T_OK(cf_import_bytes(s, text, strlen(text), &opts, &report, &err), err);
    assert_int_equal(report.n_bad, 0);
}

/* Two conversations; ids end in 01 and 02, turns in 1x and 2x. */
static void fill(cf_store *s)
{
    import(s, "{\"type\":\"conversation\",\"confab\":1,\"id\":\"0190aaaa-0000-4000-"
              "8000-000000000001\",\"title\":\"Weather in Troms\xC3\xB8\",\"tags\":"
              "[\"bug\",\"two words\"],\"created_ms\":1000}\n"
              "{\"type\":\"turn\",\"id\":\"0190aaaa-0000-4000-8000-000000000011\","
              "\"status\":\"ok\",\"created_ms\":1767225600000,\"message\":{"
              "\"role\":\"user\",\"content\":\"Will it rain? "
              "\xE6\x9D\xB1\xE4\xBA\xAC\xE3\x81\xAF\xE9\x9B\xA8\xE3\x81\xA7\xE3\x81"
              "\x99 caf\xC3\xA9 std::vector\"}}\n"
              "{\"type\":\"turn\",\"id\":\"0190aaaa-0000-4000-8000-000000000012\","
              "\"parent\":\"0190aaaa-0000-4000-8000-000000000011\",\"status\":"
              "\"stopped\",\"created_ms\":1767225601000,\"message\":{\"role\":"
              "\"assistant\",\"content\":\"Rain it will\",\"tool_calls\":[{"
              "\"function\":{\"name\":\"get_weather\",\"arguments\":{\"city\":"
              "\"Oslo\"}}}]},\"run\":{\"n_threads\":-1,\"model\":\"Qwen-1.7b\"},"
              "\"calls\":[{\"n\":0,\"name\":\"get_weather\",\"state\":\"done\"}]}\n"
              "{\"type\":\"conversation\",\"confab\":1,\"id\":\"0190aaaa-0000-4000-"
              "8000-000000000002\",\"title\":\"other\",\"created_ms\":2000}\n"
              "{\"type\":\"turn\",\"id\":\"0190aaaa-0000-4000-8000-000000000021\","
              "\"status\":\"error\",\"created_ms\":1770000000000,\"message\":{"
              "\"role\":\"tool\",\"content\":\"it rains "
              "\xE0\xB8\x99\xE0\xB9\x89\xE0\xB8\xB3\"}}\n");
}

/* Ends of the UUIDs found, newest first: "12 11". */
static void finds(cf_store *s, const char *query, const char *want)
{
    cf_error err;
    cf_arena a;
    cf_store_hits hits;
    char got[200] = "";
    cf_store_query q = {.text = cf_str_from(query)};
    cf_arena_init(&a, 0);
    T_OK(cf_store_search(s, &q, &a, &hits, &err), err);
    for (size_t i = 0; i < hits.n; i++) {
        char id[CF_UUID_TEXT + 1];
        const cf_store_hit *h = &hits.v[i];
        cf_uuid_format(id, cf_uuid_is_nil(h->turn) ? h->conversation : h->turn);
        snprintf(got + strlen(got), 8, "%s%s", i != 0 ? " " : "", id + 34);
    }
    if (strcmp(got, want) != 0) {
        fail_msg("'%s': got '%s', want '%s'", query, got, want);
    }
    cf_arena_deinit(&a);
}

static void test_search__words_and_filters(void **state)
{
    (void)state;
    cf_store *s = open_at(store_dir_file("words.db"));
    fill(s);
    finds(s, "rain", "12 11");
    finds(s, "RAIN will", "12 11");
    finds(s, "rain*", "21 12 11");
    finds(s, "\"it rain\"", "11");
    finds(s, "rain -tokyo -oslo", "11");
    finds(s, "cafe", "11");
    finds(s, "std::vector", "11");
    finds(s, "oslo", "12");
    finds(s, "tromso", "");
    finds(s, "troms\xC3\xB8", "01");
    finds(s, "\xE4\xBA\xAC\xE3\x81\xAF", "11"); /* two characters inside */
    finds(s, "\xE9\x9B\xA8", "11");             /* one */
    finds(s, "\xE4\xBA\xAC\xE9\x9B\xA8", "");   /* not side by side */
    finds(s, "\xE0\xB8\x99\xE0\xB9\x89\xE0\xB8\xB3", "21");
    finds(s, "rain role:user", "11");
    finds(s, "rain model:qwen", "12");
    finds(s, "tool:get_weather", "12");
    finds(s, "status:error", "21");
    finds(s, "tag:\"two words\" rain", "12 11");
    finds(s, "tag:none rain", "");
    finds(s, "rain* after:2026-02", "21");
    finds(s, "rain* before:2026-01-01T00:00:01Z", "11");
    finds(s, "after:1970 before:1970-01-02", "");
    finds(s, "in:trash rain", "");
    finds(s, "", "21 12 11");
    finds(s, "* : \"\" () NEAR( \" AND", "");
    cf_error err;
    cf_store_query q = {.text = cf_str_from("-alone")};
    cf_arena a;
    cf_store_hits hits;
    cf_arena_init(&a, 0);
    T_FAILS(cf_store_search(s, &q, &a, &hits, &err), CF_EINVAL);
    q.text = cf_str_from("before:yesterday");
    T_FAILS(cf_store_search(s, &q, &a, &hits, &err), CF_EINVAL);
    cf_arena_deinit(&a);
    cf_store_close(s);
}

/* Turns rated one way are found by both of its names, and by no other. */
static void test_search__ratings(void **state)
{
    (void)state;
    cf_store *s = open_at(store_dir_file("rated.db"));
    cf_error err;
    cf_uuid good, bad;
    fill(s);
    assert_true(cf_uuid_parse(&good, "0190aaaa-0000-4000-8000-000000000011", CF_UUID_TEXT));
    assert_true(cf_uuid_parse(&bad, "0190aaaa-0000-4000-8000-000000000012", CF_UUID_TEXT));
    T_OK(cf_store_set_rating(s, good, 1, &err), err);
    T_OK(cf_store_set_rating(s, bad, -1, &err), err);
    finds(s, "rain* rating:good", "11");
    finds(s, "rain* rating:+", "11");
    finds(s, "rain* rating:bad", "12");
    finds(s, "rain* rating:-", "12");
    finds(s, "rain* rating:any", "12 11");
    cf_store_close(s);
}

static void test_search__snippet_marks_the_match(void **state)
{
    (void)state;
    cf_error err;
    cf_arena a;
    cf_store_hits hits;
    cf_store *s = open_at(store_dir_file("snippet.db"));
    cf_buf text = CF_BUF_INIT;
    cf_buf_adds(&text, "{\"type\":\"conversation\",\"confab\":1,\"id\":"
                       "\"0190aaaa-0000-4000-8000-000000000001\"}\n"
                       "{\"type\":\"turn\",\"id\":\"0190aaaa-0000-4000-8000-"
                       "000000000011\",\"status\":\"ok\",\"message\":{\"role\":"
                       "\"user\",\"content\":\"");
    for (int i = 0; i < 500; i++) {
        cf_buf_adds(&text, "\xC3\xA9 filler ");
    }
    cf_buf_adds(&text, "then \xC3\x89T\xC3\x89 came\"}}\n");
    import(s, cf_buf_cstr(&text));
    cf_buf_deinit(&text);
    cf_store_query q = {.text = cf_str_from("ete")};
    cf_arena_init(&a, 0);
    T_OK(cf_store_search(s, &q, &a, &hits, &err), err);
    assert_int_equal(hits.n, 1);
    const cf_store_hit *h = &hits.v[0];
    assert_int_equal(h->n_marks, 1);
    assert_memory_equal(h->snippet.p + h->marks[0].off, "\xC3\x89T\xC3\x89", 5);
    assert_int_equal(h->marks[0].len, 5);
    assert_true(h->snippet.n < 200);
    cf_arena_deinit(&a);
    cf_store_close(s);
}

static void test_words__pairs(void **state)
{
    (void)state;
    cf_buf b = CF_BUF_INIT;
    cf_words__index(&b, cf_str_from("ab\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E"));
    assert_string_equal(b.p, "ab \xE6\x97\xA5\xE6\x9C\xAC "
                             "\xE6\x9C\xAC\xE8\xAA\x9E \xE8\xAA\x9E ");
    cf_buf_reset(&b);
    assert_true(cf_words__term(&b, cf_str_from("a\"b"), true));
    assert_string_equal(b.p, "\"a\"\"b\"*");
    cf_buf_reset(&b);
    assert_false(cf_words__term(&b, cf_str_from("\"()*"), false));
    cf_buf_deinit(&b);
}

static void test_codec__lists_and_base64(void **state)
{
    (void)state;
    cf_buf b = CF_BUF_INIT;
    cf_arena a;
    size_t n;
    cf_token ids[] = {0, 127, 128, INT32_MAX};
    cf_arena_init(&a, 0);
    cf_codec__put_ids(&b, ids, 4);
    assert_int_equal(b.n, 1 + 1 + 1 + 2 + 5);
    cf_token *back = cf_codec__get_ids(cf_str_make(b.p, b.n), &a, &n);
    assert_int_equal(n, 4);
    assert_memory_equal(back, ids, sizeof ids);
    /* Codec 0, an unknown codec, a value that is cut off or too large. */
    cf_codec__get_ids(cf_str_make("\0\1\0\0\0\2\0\0\0\3", 10), &a, &n);
    assert_int_equal(n, 2);
    cf_codec__get_ids(cf_str_make("\7\1\2", 3), &a, &n);
    assert_int_equal(n, 0);
    cf_codec__get_ids(cf_str_make("\1\5\x80", 3), &a, &n);
    assert_int_equal(n, 1);
    cf_codec__get_ids(cf_str_make("\1\xFF\xFF\xFF\xFF\xFF\x0F", 7), &a, &n);
    assert_int_equal(n, 0);
    cf_buf_reset(&b);
    /* RFC 4648, section 10. */
    cf_base64_put(&b, cf_str_from("fooba"));
    assert_string_equal(b.p, "Zm9vYmE=");
    cf_buf_reset(&b);
    assert_true(cf_base64_get(&b, cf_str_from("Zm9vYmE=")));
    assert_string_equal(b.p, "fooba");
    assert_false(cf_base64_get(&b, cf_str_from("Zm9vYmF=")));
    assert_false(cf_base64_get(&b, cf_str_from("Zm9v=mE=")));
    assert_false(cf_base64_get(&b, cf_str_from("Zm9")));
    cf_buf_deinit(&b);
    cf_arena_deinit(&a);
}

/* Tags and places of many are one change. */
static void test_undo__many_at_once(void **state)
{
    (void)state;
    cf_error err;
    cf_buf what = CF_BUF_INIT;
    cf_arena a;
    const cf_store_conv *rows;
    size_t n, before, n_found = 0;
    cf_store *s = open_at(store_dir_file("many.db"));
    cf_arena_init(&a, 0);
    fill(s);
    cf_store_query q = {.text = cf_str_from("")};
    T_OK(cf_store_list(s, &q, &a, &rows, &n, &err), err);
    assert_true(n > 1);
    before = n;
    cf_uuid ids[16];
    for (size_t i = 0; i < n; i++) {
        ids[i] = rows[i].id;
    }
    T_OK(cf_store_set_tags(s, ids, n, cf_str_from("new"), true, &err), err);
    T_OK(cf_store_set_places(s, ids, n, CF_PLACE_ARCHIVED, &err), err);
    T_OK(cf_store_undo(s, &what, &err), err);
    char want[64];
    snprintf(want, sizeof want, "archived: %zu conversations", n);
    assert_string_equal(cf_buf_cstr(&what), want);
    T_OK(cf_store_list(s, &q, &a, &rows, &n, &err), err);
    assert_int_equal(n, before);
    T_OK(cf_store_undo(s, &what, &err), err);
    q.tag = cf_str_from("new");
    T_OK(cf_store_list(s, &q, &a, &rows, &n, &err), err);
    assert_int_equal(n, 0);
    /* And again, in the order in which it was done; until something else is. */
    T_OK(cf_store_redo(s, &what, &err), err);
    T_OK(cf_store_list(s, &q, &a, &rows, &n, &err), err);
    assert_int_equal(n, before);
    T_OK(cf_store_redo(s, &what, &err), err);
    assert_string_equal(cf_buf_cstr(&what), want);
    T_OK(cf_store_list(s, &q, &a, &rows, &n, &err), err);
    assert_int_equal(n, 0);
    assert_int_equal(cf_store_redo(s, &what, &err), CF_ENOTFOUND);
    T_OK(cf_store_undo(s, &what, &err), err);
    T_OK(cf_store_set_title(s, ids[0], cf_str_from("a title that none has"), &err), err);
    assert_int_equal(cf_store_redo(s, &what, &err), CF_ENOTFOUND);
    T_OK(cf_store_check(s, NULL, NULL, &n_found, &err), err);
    assert_int_equal(n_found, 0);
    cf_buf_deinit(&what);
    cf_arena_deinit(&a);
    cf_store_close(s);
}

/* A draft is found again by its conversation; one of a conversation that was
 * never stored once its program has ended. */
/* Of changes made one by one each is taken back alone, and says of which conversation. */
static void test_undo__says_what_of_which(void **state)
{
    (void)state;
    static const char *const want[] = {"archived: 'A'", "untag 'bug': 'A'", "tag 'new': 'A'",
                                       "title 'A'"};
    cf_error err;
    cf_buf what = CF_BUF_INIT;
    cf_store_ref c;
    cf_store *s = open_at(store_dir_file("which.db"));
    fill(s);
    T_OK(cf_store_find(s, cf_str_from("000000000001"), &c, &err), err);
    T_OK(cf_store_set_title(s, c.conversation, cf_str_from("A"), &err), err);
    T_OK(cf_store_set_tag(s, c.conversation, cf_str_from("new"), true, &err), err);
    T_OK(cf_store_set_tag(s, c.conversation, cf_str_from("bug"), false, &err), err);
    T_OK(cf_store_set_place(s, c.conversation, CF_PLACE_ARCHIVED, &err), err);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        T_OK(cf_store_undo(s, &what, &err), err);
        assert_string_equal(cf_buf_cstr(&what), want[i]);
    }
    cf_buf_deinit(&what);
    cf_store_close(s);
}

static void test_draft__stays(void **state)
{
    (void)state;
    cf_error err;
    cf_arena a;
    cf_str text;
    cf_uuid conv = cf_uuid_new(), found;
    const char *path = store_dir_file("draft.db");
    cf_store *s = open_at(path);
    cf_arena_init(&a, 0);
    T_OK(cf_store_put_unsent(s, conv, cf_str_from("half"), &err), err);
    T_OK(cf_store_put_unsent(s, conv, cf_str_from("half a"), &err), err);
    T_OK(cf_store_flush(s, 1000, &err), err);
    T_FAILS(cf_store_lost_unsent(s, &a, &found, &text, &err), CF_ENOTFOUND);
    cf_store_close(s);
    s = open_at(path);
    T_OK(cf_store_lost_unsent(s, &a, &found, &text, &err), err);
    assert_true(cf_uuid_eq(found, conv));
    assert_true(cf_str_is(text, "half a"));
    T_OK(cf_store_put_unsent(s, conv, cf_str_make("", 0), &err), err);
    T_OK(cf_store_flush(s, 1000, &err), err);
    T_FAILS(cf_store_get_unsent(s, conv, &a, &text, &err), CF_ENOTFOUND);
    cf_arena_deinit(&a);
    cf_store_close(s);
}

/* A list's filter looks for parts of what it shows. */
static void test_list__parts_of_titles(void **state)
{
    (void)state;
    static const char *const filters[] = {"ATHER I", "ath",         "th",
                                          "zzz",     "weather -in", "rating:bad"};
    static const bool finds_any[] = {true, true, true, false, false, false};
    cf_error err;
    cf_arena a;
    const cf_store_conv *rows;
    size_t n;
    cf_store *s = open_at(store_dir_file("parts.db"));
    cf_arena_init(&a, 0);
    fill(s);
    for (size_t i = 0; i < sizeof filters / sizeof filters[0]; i++) {
        cf_store_query q = {.text = cf_str_from(filters[i])};
        T_OK(cf_store_list(s, &q, &a, &rows, &n, &err), err);
        assert_int_equal(n != 0, finds_any[i]);
        size_t n_quick;
        q.is_quick = true;
        T_OK(cf_store_list(s, &q, &a, &rows, &n_quick, &err), err);
        assert_int_equal(n_quick, n);
    }
    cf_arena_deinit(&a);
    cf_store_close(s);
}

enum { MANY = 4500, SOME = 1500 };

/* The title of conversation i of MANY. */
static void title_of(char out[32], size_t i)
{
    snprintf(out, 32, "%sLPHA%s%s %zu", i % 2 != 0 ? "a" : "A", i % 3 == 0 ? " Beta" : "",
             i % 90 == 0 ? " gamma" : "", i);
}

static void put_many(cf_store *s, cf_uuid id[MANY])
{
    cf_error err;
    static cf_store_tree tree[100];
    static cf_store_turn turn[100];
    static cf_store_put_report report[100];
    static char title[100][32];
    const cf_store_tree *p[100];
    for (size_t i = 0; i < MANY; i++) {
        size_t k = i % 100;
        id[i] = cf_uuid_new();
        title_of(title[k], i);
        turn[k] = (cf_store_turn){.id = cf_uuid_new(),
                                  .message = cf_str_from("{\"role\":\"user\",\"content\":\"x\"}"),
                                  .status = CF_TURN_OK,
                                  .fork_token = -1};
        tree[k] = (cf_store_tree){.turns = &turn[k], .n = 1};
        tree[k].conv.id = id[i];
        tree[k].conv.title = cf_str_from(title[k]);
        tree[k].conv.created_ms = (int64_t)(1000 + i);
        tree[k].conv.updated_ms = (int64_t)(1000 + i);
        p[k] = &tree[k];
        if (k == 99) {
            T_OK(cf_store_put_trees(s, p, 100, NULL, report, NULL, &err), err);
        }
    }
}

/* However few or many titles have a part: the list is that of all titles that
 * have it, in its order. */
static void expect_list(cf_store *s, const char *text, size_t n_want)
{
    cf_error err;
    cf_arena a;
    const cf_store_conv *all, *rows;
    size_t n_all, n, at = 0;
    cf_arena_init(&a, 0);
    cf_store_query q = {.sort = CF_SORT_CREATED, .limit = 100000};
    T_OK(cf_store_list(s, &q, &a, &all, &n_all, &err), err);
    q.text = cf_str_from(text);
    T_OK(cf_store_list(s, &q, &a, &rows, &n, &err), err);
    assert_int_equal(n, n_want);
    for (size_t i = 0; i < n; i++) { /* a part of the order of all */
        while (at < n_all && !cf_uuid_eq(all[at].id, rows[i].id)) {
            at++;
        }
        assert_true(at < n_all);
    }
    q.limit = 10;
    q.offset = 20;
    const cf_store_conv *page;
    size_t n_page;
    T_OK(cf_store_list(s, &q, &a, &page, &n_page, &err), err);
    assert_int_equal(n_page, n <= 20 ? 0 : n - 20 < 10 ? n - 20 : 10);
    for (size_t i = 0; i < n_page; i++) {
        assert_true(cf_uuid_eq(page[i].id, rows[i + 20].id));
    }
    cf_arena_deinit(&a);
}

static void test_list__few_and_many_of_thousands(void **state)
{
    (void)state;
    cf_error err;
    static cf_uuid id[MANY];
    cf_store *s = open_at(store_dir_file("thousands.db"));
    put_many(s, id);
    expect_list(s, "Lph", MANY);
    expect_list(s, "bEtA", SOME);
    expect_list(s, "-beta", MANY - SOME);
    expect_list(s, "gamma", MANY / 90);
    expect_list(s, "beta gam", MANY / 90);
    expect_list(s, "beta -gamma", SOME - MANY / 90);
    expect_list(s, "nowhere", 0);
    T_OK(cf_store_set_title(s, id[1], cf_str_from("Beta too"), &err), err);
    T_OK(cf_store_set_title(s, id[90], cf_str_from("renamed"), &err), err);
    T_OK(cf_store_purge(s, id[180], &err), err);
    expect_list(s, "beta", SOME - 1);
    expect_list(s, "gamma", MANY / 90 - 2);
    expect_list(s, "alpha", MANY - 3);
    expect_list(s, "RENAMED", 1);
    size_t n_found;
    T_OK(cf_store_check(s, NULL, NULL, &n_found, &err), err);
    assert_int_equal(n_found, 0);
    cf_store_close(s);
}

static void test_undo__takes_changes_back_in_order(void **state)
{
    (void)state;
    cf_error err;
    cf_store *s = open_at(store_dir_file("undo.db"));
    fill(s);
    cf_store_ref c, t;
    T_OK(cf_store_find(s, cf_str_from("000000000001"), &c, &err), err);
    T_OK(cf_store_find(s, cf_str_from("000000000011"), &t, &err), err);
    T_OK(cf_store_set_title(s, c.conversation, cf_str_from("A"), &err), err);
    T_OK(cf_store_set_title(s, c.conversation, cf_str_from("A"), &err), err);
    T_OK(cf_store_set_rating(s, t.turn, 5, &err), err);
    T_OK(cf_store_set_note(s, t.turn, cf_str_from("n"), &err), err);
    T_OK(cf_store_set_tag(s, c.conversation, cf_str_from("bug"), false, &err), err);
    T_OK(cf_store_set_place(s, c.conversation, CF_PLACE_TRASH, &err), err);
    finds(s, "rain", "");
    cf_buf what = CF_BUF_INIT;
    for (int i = 0; i < 5; i++) { /* the second title changed nothing */
        T_OK(cf_store_undo(s, &what, &err), err);
    }
    assert_non_null(strstr(what.p, "title 'A'"));
    finds(s, "rain tag:bug", "12 11");
    finds(s, "\"weather in\"", "01");
    cf_arena a;
    cf_store_turn turn;
    cf_arena_init(&a, 0);
    T_OK(cf_store_get_turn(s, t.turn, &a, &turn, &err), err);
    assert_int_equal(turn.rating, 0);
    assert_int_equal(turn.note.n, 0);
    cf_arena_deinit(&a);
    cf_buf_deinit(&what);
    cf_store_close(s);
}

/* ---- versions and strangers --------------------------------------------- */

static void exec(const char *path, const char *sql)
{
    sqlite3 *db;
    char *why = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) {
        fail_msg("%s: %s", sql, why);
    }
    sqlite3_close(db);
}

static void test_migrate__older_is_backed_up_and_indexed(void **state)
{
    (void)state;
    cf_error err;
    const char *path = store_dir_file("v1.db");
    cf_sql sql;
    exec(path, "VACUUM"); /* an empty file */
    T_OK(cf_sql__open(&sql, path, CF_SQL_WRITE, 100, &err), err);
    T_OK(cf_store__migrate(&sql, path, 1, &err), err);
    T_OK(cf_sql__script(&sql,
                        "INSERT INTO message VALUES(1, 'h', 'user', 'old words', '', "
                        "NULL);"
                        "INSERT INTO conversation(id, uuid, title, created_ms, updated_ms, "
                        "n_turns) VALUES(1, '0190aaaa-0000-4000-8000-000000000001', "
                        "'old title', 1, 1, 1);"
                        "INSERT INTO turn(id, uuid, conversation_id, ordinal, message_id, "
                        "status, created_ms) VALUES(1, "
                        "'0190aaaa-0000-4000-8000-000000000011', 1, 1, 1, 'ok', 1);",
                        &err),
         err);
    cf_sql__close(&sql);
    cf_store *s = open_at(path);
    finds(s, "old", "01 11");
    cf_store_close(s);
    struct stat sb;
    char backup[600];
    snprintf(backup, sizeof backup, "%s-v1.backup", path);
    assert_int_equal(stat(backup, &sb), 0);
    assert_int_equal(sb.st_mode & 0777, 0600);
    s = open_at(backup); /* a database like any other */
    finds(s, "old", "01 11");
    cf_store_close(s);
}

/* Titles of older conversations are found by their parts, whatever their numbers. */
static void test_migrate__titles_are_found_by_parts(void **state)
{
    (void)state;
    static const int ids[] = {1, 62, 63, 64, 65, 127, 128, 500};
    enum { N = sizeof ids / sizeof ids[0] };
    cf_error err;
    const char *path = store_dir_file("titles.db");
    cf_sql sql;
    exec(path, "VACUUM");
    T_OK(cf_sql__open(&sql, path, CF_SQL_WRITE, 100, &err), err);
    T_OK(cf_store__migrate(&sql, path, 1, &err), err);
    for (size_t i = 0; i < N; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "INSERT INTO conversation(id, uuid, title, created_ms, updated_ms, n_turns) "
                 "VALUES(%d, '0190aaaa-0000-4000-8000-000000000%03d', 'Alpha%c', 1, 1, 0)",
                 ids[i], ids[i], (char)('a' + i));
        T_OK(cf_sql__script(&sql, text, &err), err);
    }
    cf_sql__close(&sql);
    cf_store *s = open_at(path);
    expect_list(s, "lph", N);
    for (size_t i = 0; i < N; i++) {
        const char part[] = {'h', 'a', (char)('a' + i), '\0'};
        expect_list(s, part, 1);
    }
    cf_store_close(s);
}

/* Whether a backup of version 1, the n-th one, is beside the database. */
static bool has_backup(const char *path, int n)
{
    struct stat sb;
    char name[600];
    snprintf(name, sizeof name, n == 0 ? "%s-v1.backup" : "%s-v1.backup.%d", path, n);
    return stat(name, &sb) == 0;
}

/* A file of version 1 in which a later step finds a table of its own. */
static void make_stuck(const char *path)
{
    cf_error err;
    cf_sql sql;
    exec(path, "VACUUM");
    T_OK(cf_sql__open(&sql, path, CF_SQL_WRITE, 100, &err), err);
    T_OK(cf_store__migrate(&sql, path, 1, &err), err);
    cf_sql__close(&sql);
    exec(path, "CREATE TABLE message_words(a)");
}

static void test_migrate__a_failure_leaves_no_backup(void **state)
{
    (void)state;
    cf_error err;
    cf_sql sql;
    const char *path = store_dir_file("stuck.db");
    make_stuck(path);
    for (int i = 0; i < 3; i++) {
        T_OK(cf_sql__open(&sql, path, CF_SQL_WRITE, 100, &err), err);
        assert_int_not_equal(cf_store__migrate(&sql, path, 0, &err), CF_OK);
        cf_sql__close(&sql);
        /* What is wrong, and what to do. */
        assert_non_null(strstr(err.text, "message_words"));
        assert_non_null(strstr(err.text, "--db"));
        assert_false(has_backup(path, 0));
    }
    exec(path, "DROP TABLE message_words");
    cf_store_close(open_at(path));
    assert_true(has_backup(path, 0));
    assert_false(has_backup(path, 1));
}

static void test_migrate__backups_are_never_replaced(void **state)
{
    (void)state;
    cf_error err;
    cf_sql sql;
    char name[600];
    const char *path = store_dir_file("full.db");
    make_stuck(path);
    exec(path, "DROP TABLE message_words");
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, i == 0 ? "%s-v1.backup" : "%s-v1.backup.%d", path, i);
        T_OK(cf_os_write_file(name, "kept", 4, 0600, &err), err);
    }
    T_OK(cf_sql__open(&sql, path, CF_SQL_WRITE, 100, &err), err);
    T_FAILS(cf_store__migrate(&sql, path, 0, &err), CF_EIO);
    assert_non_null(strstr(err.text, "move them away"));
    cf_sql__close(&sql);
    for (int i = 0; i < 10; i++) {
        assert_true(has_backup(path, i));
    }
}

static void test_open__newer_is_read_only(void **state)
{
    (void)state;
    cf_error err;
    const char *path = store_dir_file("newer.db");
    cf_store *s = open_at(path);
    fill(s);
    cf_store_close(s);
    exec(path, "PRAGMA user_version = 99");
    s = open_at(path);
    cf_store_state st;
    cf_store_get_state(s, &st);
    assert_true(st.is_read_only);
    assert_non_null(strstr(st.why.text, "newer confab"));
    finds(s, "rain", "12 11");
    cf_store_ref c;
    T_OK(cf_store_find(s, cf_str_from("000000000001"), &c, &err), err);
    T_FAILS(cf_store_set_title(s, c.conversation, cf_str_from("x"), &err), CF_EUNSUPPORTED);
    T_FAILS(cf_store_put_conv(s, &(cf_store_conv){0}, NULL, &err), CF_EUNSUPPORTED);
    cf_store_close(s);
}

static void test_open__other_database_is_untouched(void **state)
{
    (void)state;
    cf_error err;
    cf_store *s;
    cf_buf before = CF_BUF_INIT, after = CF_BUF_INIT;
    const char *path = store_dir_file("other.db");
    exec(path, "PRAGMA journal_mode=WAL; CREATE TABLE conversation(x); INSERT "
               "INTO conversation VALUES(1)");
    T_OK(cf_os_read_file(&before, path, SIZE_MAX, &err), err);
    T_FAILS(cf_store_open(&s, path, &(cf_store_options){.flags = CF_STORE_CREATE}, &err),
            CF_EFORMAT);
    T_FAILS(cf_store_open(&s, path,
                          &(cf_store_options){.flags = CF_STORE_KEEP_GOING | CF_STORE_CREATE},
                          &err),
            CF_EFORMAT);
    T_OK(cf_os_read_file(&after, path, SIZE_MAX, &err), err);
    assert_int_equal(before.n, after.n);
    assert_memory_equal(before.p, after.p, before.n);
    char name[600];
    snprintf(name, sizeof name, "%s-shm", path);
    assert_int_not_equal(access(name, F_OK), 0);
    cf_buf_deinit(&before);
    cf_buf_deinit(&after);
}

static void count(void *ud, const char *line)
{
    (void)line;
    ++*(int *)ud;
}

static void test_check__finds_what_was_changed(void **state)
{
    (void)state;
    cf_error err;
    const char *path = store_dir_file("check.db");
    cf_store *s = open_at(path);
    fill(s);
    size_t n;
    int told = 0;
    T_OK(cf_store_check(s, count, &told, &n, &err), err);
    assert_int_equal(n, 0);
    cf_store_close(s);
    exec(path, "UPDATE message SET text = 'forged' WHERE role = 'user';"
               "UPDATE conversation SET n_turns = 7 WHERE title = 'other';"
               "INSERT INTO message(hash, role, text, tool_text) VALUES('x', "
               "'user', '', '')");
    s = open_at(path);
    T_OK(cf_store_check(s, count, &told, &n, &err), err);
    assert_true(n >= 4);
    assert_int_equal(told, n);
    cf_store_close(s);
}

static void test_hostile__triggers_and_views_do_nothing(void **state)
{
    (void)state;
    cf_error err;
    const char *path = store_dir_file("hostile.db");
    cf_store *s = open_at(path);
    fill(s);
    cf_store_close(s);
    exec(path, "CREATE TRIGGER t AFTER UPDATE ON conversation BEGIN DELETE FROM "
               "turn; END;"
               "UPDATE turn SET parent_id = 2 WHERE id = 1;"
               "UPDATE message SET body = '{broken' WHERE role = 'tool'");
    s = open_at(path);
    cf_store_ref c;
    T_OK(cf_store_find(s, cf_str_from("000000000001"), &c, &err), err);
    T_OK(cf_store_set_title(s, c.conversation, cf_str_from("x"), &err), err);
    finds(s, "rain", "12 11");
    cf_arena a;
    cf_store_tree tree;
    size_t at[8];
    cf_arena_init(&a, 0);
    T_OK(cf_store_get_tree(s, c.conversation, 0, &a, &tree, &err), err);
    assert_true(cf_store_path_to(&tree, tree.turns[1].id, at) <= 2);
    cf_uuid fork;
    T_FAILS(cf_store_fork(s, tree.turns[1].id, &fork, &err), CF_EFORMAT);
    cf_arena_deinit(&a);
    cf_store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search__words_and_filters),
        cmocka_unit_test(test_search__ratings),
        cmocka_unit_test(test_search__snippet_marks_the_match),
        cmocka_unit_test(test_words__pairs),
        cmocka_unit_test(test_codec__lists_and_base64),
        cmocka_unit_test(test_undo__takes_changes_back_in_order),
        cmocka_unit_test(test_undo__many_at_once),
        cmocka_unit_test(test_undo__says_what_of_which),
        cmocka_unit_test(test_draft__stays),
        cmocka_unit_test(test_list__parts_of_titles),
        cmocka_unit_test(test_list__few_and_many_of_thousands),
        cmocka_unit_test(test_migrate__older_is_backed_up_and_indexed),
        cmocka_unit_test(test_migrate__titles_are_found_by_parts),
        cmocka_unit_test(test_migrate__a_failure_leaves_no_backup),
        cmocka_unit_test(test_migrate__backups_are_never_replaced),
        cmocka_unit_test(test_open__newer_is_read_only),
        cmocka_unit_test(test_open__other_database_is_untouched),
        cmocka_unit_test(test_check__finds_what_was_changed),
        cmocka_unit_test(test_hostile__triggers_and_views_do_nothing),
    };
    cf_sql__setup();
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
