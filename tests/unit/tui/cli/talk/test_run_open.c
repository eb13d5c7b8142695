/*
 * test_run_open.c - run stops at a call, takes its result later, and answers
 * a message that is there already.
 */
#include "tests/support/t.h"

#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tui/cli/talk/run_open.h"

static store_path db, tools;
static char calls[600], one[600], done[600], broken[600];

static void make_script(char model[600], const char *name, const char *text)
{
    store_path path;
    store_dir_path(path, name);
    store_dir_write(path, text);
    snprintf(model, 600, "script:%s", path);
}

#define CALL(x) \
    "<tool_call>{\\\"name\\\":\\\"f\\\",\\\"arguments\\\":{\\\"x\\\":" x "}}</tool_call>"

static int set_up(void **state)
{
    if (store_dir_make(state) != 0) {
        return -1;
    }
    store_dir_path(tools, "tools.json");
    store_dir_write(tools, "[{\"name\":\"f\",\"parameters\":{\"properties\":{\"x\":{\"type\":"
                           "\"integer\"}}}}]");
    make_script(calls, "calls.json", "{\"replies\":[{\"text\":\"" CALL("1") CALL("2") "\"}]}");
    make_script(one, "one.json", "{\"replies\":[{\"text\":\"" CALL("1") "\"}]}");
    make_script(done, "done.json", "{\"replies\":[{\"text\":\"Fine.\",\"chunk\":99}]}");
    make_script(broken, "broken.json", "{\"replies\":[{\"error\":\"network\"}]}");
    return 0;
}

static size_t count(const cf_buf *text, const char *part)
{
    size_t n = 0;
    for (const char *at = cf_buf_cstr(text); (at = strstr(at, part)) != NULL; at++) {
        n++;
    }
    return n;
}

/* The UUID of the only conversation of the database. */
static void find_id(char id[40])
{
    cf_program p;
    CF_PROGRAM(&p, "history", "list", "--db", db);
    assert_int_equal(sscanf(cf_buf_cstr(&p.out), "%*s %*s %36s", id), 1);
    cf_program_deinit(&p);
}

/* Imports messages into a database of their own. */
static void import(const char *name, const char *messages, char id[40])
{
    cf_program p;
    store_dir_path(db, name);
    const char *file = store_dir_file("messages.json");
    store_dir_write(file, messages);
    CF_PROGRAM(&p, "history", "import", "--db", db, file);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    find_id(id);
}

static void test_run_open__stops_at_the_call(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *results = store_dir_file("results.json");
    store_dir_write(results, "{\"*\":1}");
    for (int i = 0; i < 2; i++) { /* as asked; because nothing can run it */
        cf_program p;
        CF_PROGRAM(&p, "run", "--no-store", "--json", "-m", calls, "--family", "hermes", "--tools",
                   tools, "Go", i == 0 ? "--stop-at-call" : "--thinking=off",
                   i == 0 ? "--results" : "--seed", i == 0 ? results : "1");
        assert_int_equal(p.status, 0);
        assert_int_equal(count(&p.out, "\"event\":\"tool_call\""), 2);
        assert_int_equal(count(&p.out, "\"id\":\"call00001\""), 1);
        assert_int_equal(count(&p.out, "\"id\":\"call00002\""), 1);
        assert_int_equal(count(&p.out, "tool_result"), 0);
        assert_int_equal(count(&p.out, "\"rounds\":1"), 1);
        cf_program_deinit(&p);
    }
    cf_program p;
    CF_PROGRAM(&p, "run", "--no-store", "-m", one, "--family", "hermes", "--tools", tools, "Go");
    assert_non_null(strstr(cf_buf_cstr(&p.err), "nothing here can run a call"));
    cf_program_deinit(&p);
}

/* Both results, the second first; standard input is not read. */
static void test_run_open__results(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char id[40];
    cf_program p;
    store_dir_path(db, "results.db");
    CF_PROGRAM(&p, "run", "--db", db, "-m", calls, "--family", "hermes", "--tools", tools, "Go");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    find_id(id);
    static const char *const wrong[] = {"nope=1", "call00001=rain", "=1", "call00001"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CF_PROGRAM(&p, "run", "--db", db, "-m", done, "--continue", id, "--result", wrong[i]);
        cf_program_expect(&p, 2, "");
    }
    CF_PROGRAM(&p, "run", "--db", db, "-m", done, "--result", "call00001=1");
    cf_program_expect(&p, 2, "");
    CF_PROGRAM(&p, "run", "--db", db, "-m", done, "--continue", id, "--result", "call00001=1", "x");
    cf_program_expect(&p, 2, "");
    const char *argv[] = {"run",
                          "--db",
                          db,
                          "-m",
                          done,
                          "--continue",
                          id,
                          "--result",
                          "call00002={\"r\": 2}",
                          "--result",
                          "call00001=\"zq1\"",
                          NULL};
    cf_program_run(&p, argv, "not a prompt", strlen("not a prompt"));
    cf_program_expect(&p, 0, "Fine.\n");
    CF_PROGRAM(&p, "history", "export", "--db", db, "-f", "openai", id);
    const char *first = strstr(cf_buf_cstr(&p.out), "call00002\",");
    assert_non_null(strstr(cf_buf_cstr(&p.out), "zq1"));
    assert_non_null(first);
    assert_null(strstr(cf_buf_cstr(&p.out), "not a prompt"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "--db", db, "-m", done, "--continue", id, "--result", "call00001=1");
    cf_program_expect(&p, 2, ""); /* it has a result */
}

/* A line is JSON where it can be, and a text otherwise; no line is no result. */
static void test_run_open__typed_result(void **state)
{
    (void)state;
    cf_error err;
    json_t *v = NULL;
    const char *typed = store_dir_put_text("typed", "{\"r\":7}\nit rains\n");
    assert_non_null(freopen(typed, "r", stdin));
    T_OK(cf_run_typed_result(&v, &err), err);
    assert_int_equal(json_integer_value(json_object_get(v, "r")), 7);
    json_decref(v);
    T_OK(cf_run_typed_result(&v, &err), err);
    assert_string_equal(json_string_value(v), "it rains");
    json_decref(v);
    T_FAILS(cf_run_typed_result(&v, &err), CF_EIO);
}

/* A call without an id is named by its function. */
static void test_run_open__result_by_name(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char id[40];
    cf_program p;
    import("name.db",
           "{\"messages\":[{\"role\":\"user\",\"content\":\"Go\"},{\"role\":\"assistant\","
           "\"content\":\"\",\"tool_calls\":[{\"type\":\"function\",\"function\":{\"name\":"
           "\"f\",\"arguments\":{}}}]}]}",
           id);
    CF_PROGRAM(&p, "run", "--db", db, "-t", "qwen3", "--continue", id, "--result", "f=\"zq1\"",
               "--show-prompt");
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "<tool_response>\nzq1\n</tool_response>"));
    cf_program_deinit(&p);
}

static void test_run_open__answers_the_open_turn(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char id[40];
    cf_program p;
    import("open.db", "{\"messages\":[{\"role\":\"user\",\"content\":\"zqopen\"}]}", id);
    CF_PROGRAM(&p, "run", "--db", db, "-m", broken, "--continue", id);
    assert_int_equal(p.status, 4); /* a failed reply leaves it open */
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "--db", db, "-t", "chatml", "--continue", id, "--show-prompt");
    cf_program_expect(&p, 0, "<|im_start|>user\nzqopen<|im_end|>\n<|im_start|>assistant\n");
    CF_PROGRAM(&p, "run", "--db", db, "-m", done, "--continue", id);
    cf_program_expect(&p, 0, "Fine.\n");
    CF_PROGRAM(&p, "run", "--db", db, "-m", done, "--continue", id);
    cf_program_expect(&p, 2, "");
}

/* Only the message whose reply failed is left out, and that is said. */
static void test_run_open__failed_question_alone(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char id[40];
    cf_program p;
    import("two.db",
           "{\"messages\":[{\"role\":\"user\",\"content\":\"zqdoc\"},{\"role\":\"user\","
           "\"content\":\"zquse\"}]}",
           id);
    for (int i = 0; i < 2; i++) {
        CF_PROGRAM(&p, "run", "--db", db, "-m", broken, "--continue", id, "zqlost");
        assert_int_equal(p.status, 4);
        assert_int_equal(count(&p.err, "[note] the message before is left out"), i);
        cf_program_deinit(&p);
    }
    CF_PROGRAM(&p, "run", "--db", db, "-t", "chatml", "--continue", id, "--show-prompt", "zqnext");
    assert_int_equal(p.status, 0);
    assert_int_equal(count(&p.out, "zqdoc"), 1);
    assert_int_equal(count(&p.out, "zquse"), 1);
    assert_int_equal(count(&p.out, "zqlost"), 0);
    assert_int_equal(count(&p.out, "zqnext"), 1);
    cf_program_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run_open__stops_at_the_call),
        cmocka_unit_test(test_run_open__results),
        cmocka_unit_test(test_run_open__typed_result),
        cmocka_unit_test(test_run_open__result_by_name),
        cmocka_unit_test(test_run_open__answers_the_open_turn),
        cmocka_unit_test(test_run_open__failed_question_alone),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
