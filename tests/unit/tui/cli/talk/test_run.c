/*
 * test_run.c - confab run and parse through the program, on a script.
 */
#include "tests/support/t.h"

#include "core/api/tool.h"
#include "core/json/json.h"
#include "tests/support/path_server.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"

static store_path script, tools, results;
static char model[sizeof(store_path) + 8];

static int set_up(void **state)
{
    if (store_dir_make(state) != 0) {
        return -1;
    }
    store_dir_path(script, "script.json");
    store_dir_path(tools, "tools.json");
    store_dir_path(results, "results.json");
    snprintf(model, sizeof model, "script:%s", script);
    store_dir_write(script, "{\"replies\":[{\"text\":\"<tool_call>{\\\"name\\\":"
                            "\\\"f\\\",\\\"arguments\\\":{\\\"x\\\":1}}</tool_call>"
                            "\"},{\"text\":\"It is 4.\",\"chunk\":99}]}");
    store_dir_write(tools, "[{\"name\":\"f\",\"parameters\":{"
                           "\"properties\":{\"x\":{\"type\":"
                           "\"integer\"}}}}]");
    store_dir_write(results, "{\"f\":{\"degrees\":4}}");
    return 0;
}

static void test_run__tool_round(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "run", "--no-store", "-m", model, "-t", "qwen3", "--tools", tools, "--results",
               results, "How warm?");
    assert_int_equal(p.status, 0);
    assert_string_equal(cf_buf_cstr(&p.out), "It is 4.\n");
    assert_non_null(strstr(cf_buf_cstr(&p.err), "[tool] f({\"x\":1})"));
    assert_non_null(strstr(cf_buf_cstr(&p.err), "[result] {\"degrees\":4}"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "--no-store", "--json", "-m", model, "--family", "hermes", "--tools",
               tools, "--results", results, "How warm?");
    assert_int_equal(p.status, 0);
    const char *out = cf_buf_cstr(&p.out);
    const char *call = strstr(out, "{\"event\":\"tool_call\",\"index\":0,"
                                   "\"name\":\"f\",\"arguments\":{\"x\":1},"
                                   "\"id\":\"call00001\",\"status\":\"VALID\"}\n");
    const char *result = strstr(out, "{\"event\":\"tool_result\",\"round\":1");
    const char *text = strstr(out, "{\"event\":\"text\",\"text\":\"It is 4.\"}");
    assert_true(call != NULL && call < result && result < text);
    const char *stop = strstr(out, "{\"event\":\"stop\"");
    assert_non_null(stop); /* one, and the last line */
    assert_true(stop > text);
    assert_string_equal(strchr(stop, '\n'), "\n");
    assert_non_null(strstr(stop, "\"rounds\":2"));
    cf_program_deinit(&p);
}

/* No one can approve here: the model gets a refusal, and nothing runs. */
static void test_run__nothing_runs_unasked(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "run", "--no-store", "-m", model, "--family", "hermes", "--tools", tools,
               "--exec", "touch /nonexistent/x", "Go");
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "the call was not approved"));
    cf_program_deinit(&p);
}

/* Prepared results come before the built-in tools; others are still run. */
static void test_run__canned_beside_demo(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    char own[600];
    const char *canned = store_dir_file("mine.json");
    const char *path = store_dir_file("two-calls.json");
    snprintf(own, sizeof own, "script:%s", path);
    store_dir_write(canned, "{\"get_time\":\"MINE\"}");
    store_dir_write(path, "{\"replies\":[{\"text\":\"<tool_call>{\\\"name\\\":\\\"get_time\\\","
                          "\\\"arguments\\\":{\\\"timezone\\\":\\\"UTC\\\"}}</tool_call><tool_call>"
                          "{\\\"name\\\":\\\"get_weather\\\",\\\"arguments\\\":{\\\"location\\\":"
                          "\\\"Oslo\\\"}}</tool_call>\"},{\"text\":\"Fine.\"}]}");
    CF_PROGRAM(&p, "run", "--no-store", "-m", own, "-t", "qwen3", "--tools", "demo", "--results",
               canned, "Go");
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "[result] \"MINE\""));
    assert_non_null(strstr(cf_buf_cstr(&p.err), "[result] {\"location\": \"Oslo\""));
    cf_program_deinit(&p);
}

/* A command of a tool finds the key neither in its own environment nor in that
 * of confab. */
static void test_run__key_is_nowhere_to_be_read(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    setenv("CONFAB_API_KEY", "sk-zqkey", 1);
    CF_PROGRAM(&p, "run", "--no-store", "-m", model, "-t", "qwen3", "--tools", tools, "--exec",
               "{ cat /proc/$PPID/environ; env; } | grep -c sk-zqkey; true", "--yes", "Go");
    unsetenv("CONFAB_API_KEY");
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "[result] 0"));
    cf_program_deinit(&p);
}

/* The built-in template of Hammer has its family, whatever the model is. */
static void test_run__hammer_names_itself(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "run", "--no-store", "-m", model, "-t", "hammer", "--tools", tools, "Go");
    assert_non_null(strstr(cf_buf_cstr(&p.err), "[tool family hammer: "));
    cf_program_deinit(&p);
}

static const cf_path_answer thinks[] = {
    {.path = "/v1/chat/completions",
     .body = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"no\"},"
             "\"finish_reason\":null}]}\n\n"
             "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
             "data: [DONE]\n\n"},
    {.path = "/version", .body = "{\"version\":\"0.10.1\"}"},
    {.path = NULL}};

/* A server that puts the choice into the thinking has made none, and says
 * nothing of a family, since it reads calls itself. */
static void test_run__choice_in_thinking(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    cf_path_server server;
    cf_path_server_start(&server, thinks);
    CF_PROGRAM(&p, "run", "--no-store", "-m", server.url, "--choice", "yes", "--choice", "no",
               "Is it raining?");
    cf_path_server_stop(&server);
    assert_int_equal(p.status, 4);
    assert_int_equal(p.out.n, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "no choice was made"));
    cf_program_deinit(&p);
    cf_path_server_start(&server, thinks);
    CF_PROGRAM(&p, "run", "--no-store", "-m", server.url, "--tools", tools, "Go");
    cf_path_server_stop(&server);
    assert_null(strstr(cf_buf_cstr(&p.err), "tool family"));
    cf_program_deinit(&p);
}

/* A server that cuts a long prompt silently is found out by what it counts; of
 * its tools nothing is claimed that it does not show. */
static void test_run__what_a_server_cuts(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char reply[] =
        "data: {\"choices\":[{\"delta\":{\"content\":\"yes\"},\"finish_reason\":null}]}\n\n"
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{"
        "\"prompt_tokens\":2,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";
    static char tokens[40 * 25 + 20] = "{\"tokens\":[{\"id\":7,\"piece\":\"a\"}";
    for (int i = 1; i < 40; i++) {
        strcat(tokens, ",{\"id\":7,\"piece\":\"a\"}");
    }
    strcat(tokens, "]}");
    const cf_path_answer cuts[] = {
        {.path = "/props", .body = "{\"default_generation_settings\":{\"n_ctx\":8}}"},
        {.path = "/apply-template",
         .body = "{\"prompt\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                 "aaaaa\"}"},
        {.path = "/tokenize", .body = tokens},
        {.path = "/v1/chat/completions", .body = reply},
        {.path = NULL}};
    cf_program p;
    cf_path_server server;
    cf_path_server_start(&server, cuts);
    CF_PROGRAM(&p, "run", "--no-store", "--tools", tools, "-m", server.url, "Go");
    cf_path_server_stop(&server);
    assert_int_equal(p.status, 0);
    assert_string_equal(cf_buf_cstr(&p.err),
                        "[prompt] tool f is lost: the server writes the same prompt without it\n"
                        "[prompt] a part of the prompt is lost: the server read 2 of about 40 "
                        "tokens\n");
    cf_program_deinit(&p);
}

static void test_parse__status(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "parse", "--family", "llama-pythonic", "--tools", tools, "[f(x='a')]");
    assert_int_equal(p.status, 1);
    assert_string_equal(cf_buf_cstr(&p.out),
                        "call    f {\"x\":\"a\"}  INVALID_PARAMETER_TYPE\n"
                        "finding INVALID_PARAMETER_TYPE x (bytes 5..8): integer expected, this "
                        "is string\n"
                        "status  INVALID_PARAMETER_TYPE\n");
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "parse", "--json", "--family", "llama-pythonic", "--tools", tools, "[f(x='a')]");
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"call\":0,\"path\":\"x\",\"off\":5,\"len\":3,"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "parse", "--family", "nobody", "x");
    assert_int_equal(p.status, 2);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "parse", "-t", "gemma3", "```tool_code\nf(x=1)\n```");
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "family "));
    cf_program_deinit(&p);
}

/* Every family reads the reply the same whole and in pieces, and those that read it
 * agree about the call. */
static void test_parse__all_families(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "parse", "--all", "--json",
               "<tool_call>\n{\"name\":\"f\",\"arguments\":{\"a\":1}}\n"
               "</tool_call>");
    assert_int_equal(p.status, 0);
    int n_read = 0, n_rows = 0;
    const char *at = cf_buf_cstr(&p.out);
    for (const char *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        cf_error err;
        json_t *v;
        T_OK(cf_json_read(&v, at, (size_t)(end - at), &err), err);
        assert_true(json_is_true(json_object_get(v, "chunks_agree")));
        const json_t *calls = json_object_get(v, "calls");
        n_rows++;
        if (json_is_true(json_object_get(v, "read"))) {
            const json_t *call = json_array_get(calls, 0);
            assert_int_equal(json_array_size(calls), 1);
            assert_string_equal(json_string_value(json_object_get(call, "name")), "f");
            n_read++;
        } else {
            assert_int_equal(json_array_size(calls), 0);
            assert_non_null(json_object_get(v, "expected"));
        }
        json_decref(v);
    }
    assert_int_equal(n_rows, CF_TOOL_FAMILY_N - 1);
    assert_true(n_read >= 3 && n_read < n_rows);
    cf_program_deinit(&p);
}

/* Half a megabyte of beginnings of calls: parsed twice by each family, not once
 * for every place at which it may be cut, which took an hour. */
static void test_parse__all_families_over_a_long_reply(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char piece[] = "<tool_call><function=a><parameter=b>[TOOL_CALLS]";
    cf_program p;
    cf_buf text = CF_BUF_INIT;
    for (int i = 0; i < 10000; i++) {
        cf_buf_adds(&text, piece);
    }
    cf_program_run(&p, (const char *const[]){"parse", "--all", NULL}, cf_buf_cstr(&text), text.n);
    assert_true(p.status <= 1);
    assert_null(strstr(cf_buf_cstr(&p.out), "DIFFERS"));
    cf_program_deinit(&p);
    cf_buf_deinit(&text);
}

/* Files go with a message to a server; others say so in one line. */
static void test_run__files_need_a_server(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "run", "--no-store", "-m", model, "--image", script, "hi");
    assert_int_equal(p.status, 3);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "takes no files"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "--no-store", "-m", "http://127.0.0.1:9", "--image", script, "hi");
    assert_non_null(strstr(cf_buf_cstr(&p.err), "is not an image"));
    cf_program_deinit(&p);
}

/* An empty message, as the left side of a pipe that failed leaves it, is refused. */
static void test_run__empty_message(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char *const given[] = {"", " \n"};
    for (size_t i = 0; i < 2; i++) {
        cf_program p;
        const char *const piped[] = {"run", "--no-store", NULL};
        cf_program_run(&p, piped, given[i], strlen(given[i]));
        assert_int_equal(p.status, 2);
        assert_string_equal(cf_buf_cstr(&p.err), "confab run: the message is empty\n");
        assert_int_equal(p.out.n, 0);
        cf_program_deinit(&p);
        CF_PROGRAM(&p, "run", "--no-store", given[i]);
        assert_int_equal(p.status, 2);
        cf_program_deinit(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run__tool_round),
        cmocka_unit_test(test_run__nothing_runs_unasked),
        cmocka_unit_test(test_run__canned_beside_demo),
        cmocka_unit_test(test_run__key_is_nowhere_to_be_read),
        cmocka_unit_test(test_run__hammer_names_itself),
        cmocka_unit_test(test_run__choice_in_thinking),
        cmocka_unit_test(test_run__what_a_server_cuts),
        cmocka_unit_test(test_parse__status),
        cmocka_unit_test(test_parse__all_families),
        cmocka_unit_test(test_parse__all_families_over_a_long_reply),
        cmocka_unit_test(test_run__files_need_a_server),
        cmocka_unit_test(test_run__empty_message),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
