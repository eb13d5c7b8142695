/*
 * test_demo.c - the demonstration tools as a model calls them: known answers,
 * the shapes of results, arguments of any kind.
 */
#include "core/base/os.h"
#include "storage/store.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/demo/demo.h"

static cf_demo *new_demo(cf_store *store)
{
    cf_demo *demo;
    cf_error err;
    T_OK(cf_demo_new(&demo, store, true, &err), err);
    return demo;
}

/* The result as JSON text; the caller releases it. */
static cf_buf call(cf_demo *demo, cf_uuid here, const char *name, const char *arguments)
{
    json_t *args, *result;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    T_OK(cf_json_read(&args, arguments, strlen(arguments), &err), err);
    T_OK(cf_demo_run(demo, here, cf_str_from(name), args, &result, &err), err);
    assert_true(json_is_object(result));
    cf_json_write(&out, result);
    json_decref(result);
    json_decref(args);
    return out;
}

static void check(cf_demo *demo, const char *name, const char *arguments, const char *want)
{
    cf_buf got = call(demo, (cf_uuid){{0}}, name, arguments);
    assert_string_equal(cf_buf_cstr(&got), want);
    cf_buf_deinit(&got);
}

static void check_part(cf_demo *demo, const char *name, const char *arguments, const char *part)
{
    cf_buf got = call(demo, (cf_uuid){{0}}, name, arguments);
    if (strstr(cf_buf_cstr(&got), part) == NULL) {
        fail_msg("%s(%s) gives %s, without %s", name, arguments, cf_buf_cstr(&got), part);
    }
    cf_buf_deinit(&got);
}

static void test_demo__known_answers(void **state)
{
    (void)state;
    cf_demo *d = new_demo(NULL);
    int64_t now;
    assert_true(cf_os_parse_time(&now, "2025-07-01T12:05:59Z"));
    cf_os_freeze_clock(now);
    check(d, "calculate", "{\"expression\":\"(12+8)*2.5\"}", "{\"result\":50}");
    check(d, "calculate", "{\"expression\":\"1/0\"}", "{\"error\":\"division by zero\"}");
    check(d, "get_time", "{\"timezone\":\"Tokyo\"}", "{\"timezone\":\"Tokyo\",\"time\":\"21:05\"}");
    check(d, "get_time", "{\"timezone\":\"UTC-5\"}", "{\"timezone\":\"UTC-5\",\"time\":\"07:05\"}");
    check(d, "convert_currency", "{\"amount\":100,\"from\":\"EUR\",\"to\":\"USD\"}",
          "{\"amount\":117,\"currency\":\"USD\",\"source\":\"bundled table\"}");
    check(d, "convert_currency", "{\"amount\":19.99,\"from\":\"usd\",\"to\":\"gbp\"}",
          "{\"amount\":14.61,\"currency\":\"GBP\",\"source\":\"bundled "
          "table\"}");
    check(d, "convert_currency", "{\"amount\":10,\"from\":\"EUR\",\"to\":\"JPY\"}",
          "{\"amount\":1690,\"currency\":\"JPY\",\"source\":\"bundled "
          "table\"}");
    static const char *const in_cents[] = {"USD", "DKK", "PLN", "INR", "CNY", "ILS"};
    for (size_t i = 0; i < sizeof in_cents / sizeof in_cents[0]; i++) {
        char asked[80], want[80];
        snprintf(asked, sizeof asked, "{\"amount\":1.2345,\"from\":\"%s\",\"to\":\"%s\"}",
                 in_cents[i], in_cents[i]);
        snprintf(want, sizeof want,
                 "{\"amount\":1.23,\"currency\":\"%s\",\"source\":\"bundled table\"}", in_cents[i]);
        check(d, "convert_currency", asked, want);
    }
    check(d, "get_stock_price", "{\"symbol\":\"aapl\"}",
          "{\"symbol\":\"AAPL\",\"price\":205.2,\"currency\":\"USD\","
          "\"source\":\"bundled table\"}");
    check(d, "set_timer", "{\"minutes\":5,\"label\":\"tea\"}",
          "{\"timer_id\":1,\"minutes\":5,\"status\":\"started\"}");
    check(d, "set_timer", "{\"minutes\":2.0}",
          "{\"timer_id\":2,\"minutes\":2,\"status\":\"started\"}");
    check(d, "search_notes", "{\"query\":\"Garage CODE\"}",
          "{\"notes\":[\"The garage code is 4711; the spare key hangs behind "
          "the water meter.\"]}");
    check(d, "search_notes", "{\"query\":\"submarine\"}", "{\"notes\":[]}");
    check_part(d, "get_weather", "{\"location\":\"Oslo\"}",
               "{\"location\":\"Oslo\",\"temperature\":");
    check_part(d, "get_weather", "{\"location\":\"oslo, norway\",\"unit\":\"fahrenheit\"}",
               "\"unit\":\"fahrenheit\",\"condition\":\"");
    check_part(d, "get_weather", "{\"location\":\"Oslo\"}", "\"source\":\"bundled table\"}");
    cf_os_freeze_clock(0);
    cf_demo_free(d);
}

/* The same weather on the same day, in both units. */
static void test_demo__weather_is_the_same_all_day(void **state)
{
    (void)state;
    cf_demo *d = new_demo(NULL);
    cf_os_freeze_clock(INT64_C(86400000) * 20000);
    cf_buf a = call(d, (cf_uuid){{0}}, "get_weather", "{\"location\":\"Rome\"}");
    cf_os_freeze_clock(INT64_C(86400000) * 20001 - 1);
    cf_buf b = call(d, (cf_uuid){{0}}, "get_weather", "{\"location\":\"Rome\"}");
    assert_string_equal(cf_buf_cstr(&a), cf_buf_cstr(&b));
    cf_buf_deinit(&a);
    cf_buf_deinit(&b);
    cf_os_freeze_clock(0);
    cf_demo_free(d);
}

/* Whatever a model gives: an object comes back, an error for what is wrong. */
static void test_demo__hostile_arguments(void **state)
{
    (void)state;
    static const char *const names[] = {"get_weather",  "get_time",         "calculate",
                                        "set_timer",    "convert_currency", "search_notes",
                                        "send_message", "get_stock_price"};
    static const char *const keys[] = {"location", "timezone", "expression", "minutes",
                                       "amount",   "query",    "to",         "symbol"};
    static const char *const values[] = {"null",
                                         "true",
                                         "-1",
                                         "1e308",
                                         "99999999999999999",
                                         "[]",
                                         "{}",
                                         "\"\"",
                                         "\"\\u0000\"",
                                         "\"\\ud83d\\ude00\\u202e\\u001b[2J\"",
                                         "\"'; DROP TABLE turn; --\"",
                                         "\"in:trash role:user OR NEAR(\\\"a\"",
                                         "\"../../../etc/passwd\"",
                                         "\"%s%n%d\"",
                                         "[[[[{\"a\":[]}]]]]"};
    cf_demo *d = new_demo(NULL);
    for (size_t n = 0; n < 8; n++) {
        check_part(d, names[n], "{}", "{\"error\":\"");
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            cf_buf args = CF_BUF_INIT;
            cf_buf_addf(&args, "{\"%s\":%s,\"text\":%s,\"from\":%s,\"to\":%s}", keys[n], values[v],
                        values[v], values[v], values[v]);
            cf_buf got = call(d, (cf_uuid){{0}}, names[n], cf_buf_cstr(&args));
            bool is_found = strncmp(cf_buf_cstr(&got), "{\"notes\":[", 10) == 0;
            if (!is_found && strncmp(cf_buf_cstr(&got), "{\"error\":\"", 10) != 0) {
                fail_msg("%s(%s): %s", names[n], cf_buf_cstr(&args), cf_buf_cstr(&got));
            }
            cf_buf_deinit(&got);
            cf_buf_deinit(&args);
        }
    }
    cf_buf big = CF_BUF_INIT;
    cf_buf_adds(&big, "{\"a\":1");
    for (size_t n = 0; n < 8; n++) {
        cf_buf_addf(&big, ",\"%s\":\"%0*d\"", keys[n], 100000, 1);
    }
    cf_buf_addc(&big, '}');
    for (size_t n = 0; n < 8; n++) {
        check_part(d, names[n], cf_buf_cstr(&big), "{\"");
    }
    cf_buf_deinit(&big);
    cf_error err;
    json_t *result;
    T_FAILS(cf_demo_run(d, (cf_uuid){{0}}, cf_str_from("rm"), NULL, &result, &err), CF_ENOTFOUND);
    cf_demo_free(d);
}

static void test_demo__declarations(void **state)
{
    (void)state;
    json_t *v = cf_demo_declarations();
    cf_tool_set *set;
    cf_error err;
    size_t n;
    T_OK(cf_tool_set_new(&set, v, &err), err);
    const cf_tool *items = cf_tool_set_items(set, &n);
    assert_int_equal(n, 8);
    for (size_t i = 0; i < n; i++) {
        assert_true(cf_demo_has(items[i].name));
    }
    cf_buf first = CF_BUF_INIT;
    cf_json_write(&first, json_array_get(v, 0));
    assert_string_equal(cf_buf_cstr(&first),
                        "{\"type\":\"function\",\"function\":{\"name\":\"get_weather\","
                        "\"description\":\"Get the current weather for a place\","
                        "\"parameters\":{\"type\":\"object\",\"properties\":{\"location\":{"
                        "\"type\":\"string\",\"description\":\"City name\"},\"unit\":{"
                        "\"type\":\"string\",\"description\":\"celsius or fahrenheit\"}},"
                        "\"required\":[\"location\"]}}}");
    cf_buf_deinit(&first);
    assert_false(cf_demo_has(cf_str_from("get_weathe")));
    cf_tool_set_free(set);
    json_decref(v);
}

static void test_demo__timers(void **state)
{
    (void)state;
    cf_demo *d = new_demo(NULL);
    cf_buf text = CF_BUF_INIT;
    assert_int_equal(cf_demo_wait_ms(d), -1);
    assert_false(cf_demo_ring(d, &text));
    for (int i = 0; i < 16; i++) {
        check_part(d, "set_timer", "{\"minutes\":1440,\"label\":\"a\\nb\"}", "\"started\"");
    }
    check_part(d, "set_timer", "{\"minutes\":1}", "16 timers run already");
    int wait = cf_demo_wait_ms(d);
    assert_true(wait > 86000000 && wait <= 86400000);
    assert_false(cf_demo_ring(d, &text));
    cf_buf_deinit(&text);
    cf_demo_free(d);
}

/* ---- with a history ----------------------------------------------------- */

static cf_store *open_store(const char *name)
{
    cf_store *store;
    cf_error err;
    const cf_store_options o = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&store, store_dir_file(name), &o, &err), err);
    return store;
}

static cf_uuid put(cf_store *store, const char *tag, const char *text)
{
    cf_uuid conv;
    cf_error err;
    cf_str tags = cf_str_from(tag);
    cf_buf json = CF_BUF_INIT;
    const cf_store_conv c = {.tags = &tags, .n_tags = tag[0] != '\0'};
    T_OK(cf_store_put_conv(store, &c, &conv, &err), err);
    cf_buf_addf(&json, "{\"role\":\"user\",\"content\":\"%s\"}", text);
    const cf_store_turn t = {.conversation = conv,
                             .fork_token = -1,
                             .status = CF_TURN_OK,
                             .message = cf_str_make(json.p, json.n)};
    T_OK(cf_store_put_turn(store, &t, NULL, &err), err);
    cf_buf_deinit(&json);
    return conv;
}

static void test_demo__notes_come_from_the_history(void **state)
{
    (void)state;
    cf_store *store = open_store("notes.db");
    cf_demo *d = new_demo(store);
    cf_uuid here = put(store, "", "search my notes for whales");
    put(store, "", "whales are large");
    check(d, "search_notes", "{\"query\":\"garage\"}", "{\"notes\":[]}");
    cf_buf got = call(d, here, "search_notes", "{\"query\":\"Whale\"}");
    assert_string_equal(cf_buf_cstr(&got), "{\"notes\":[\"whales are large\"]}");
    cf_buf_deinit(&got);
    /* Conversations tagged as notes come first. */
    put(store, "notes", "a book about whales for Mia");
    got = call(d, here, "search_notes", "{\"query\":\"whales\"}");
    assert_string_equal(cf_buf_cstr(&got), "{\"notes\":[\"a book about whales for Mia\"]}");
    cf_buf_deinit(&got);
    got = call(d, here, "search_notes", "{\"query\":\"the whales of Mia\"}");
    assert_non_null(strstr(cf_buf_cstr(&got), "a book about whales"));
    cf_buf_deinit(&got);
    /* Filters and operators of the search are words here. */
    check_part(d, "search_notes", "{\"query\":\"in:trash -whales \\\"\"}", "{\"notes\":[");
    cf_demo_free(d);
    cf_store_close(store);
}

static void test_demo__messages_stay_here(void **state)
{
    (void)state;
    cf_store *store = open_store("outbox.db");
    cf_demo *d = new_demo(store);
    check(d, "send_message", "{\"to\":\"Anna\",\"text\":\"I am late\"}",
          "{\"status\":\"stored in the local outbox\",\"to\":\"Anna\"}");
    check_part(d, "send_message", "{\"to\":\"Bob\",\"text\":\"so am I\"}", "stored");
    cf_arena arena;
    const cf_store_conv *rows;
    cf_store_tree tree;
    cf_error err;
    size_t n;
    cf_arena_init(&arena, 0);
    const cf_store_query q = {.tag = cf_str_from("outbox")};
    T_OK(cf_store_list(store, &q, &arena, &rows, &n, &err), err);
    assert_int_equal(n, 1);
    T_OK(cf_store_get_tree(store, rows[0].id, 0, &arena, &tree, &err), err);
    assert_int_equal(tree.n, 2);
    assert_non_null(strstr(tree.turns[1].message.p, "To Bob: so am I"));
    assert_true(cf_uuid_eq(tree.turns[1].parent, tree.turns[0].id));
    cf_arena_deinit(&arena);
    cf_demo_free(d);
    cf_store_close(store);

    d = new_demo(NULL);
    check_part(d, "send_message", "{\"to\":\"Anna\",\"text\":\"x\"}", "history is off");
    cf_demo_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_demo__known_answers),
        cmocka_unit_test(test_demo__weather_is_the_same_all_day),
        cmocka_unit_test(test_demo__hostile_arguments),
        cmocka_unit_test(test_demo__declarations),
        cmocka_unit_test(test_demo__timers),
        cmocka_unit_test(test_demo__notes_come_from_the_history),
        cmocka_unit_test(test_demo__messages_stay_here),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
