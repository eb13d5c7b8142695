/*
 * test_shrink.c - planted failures in conversations of 60 turns with 20 tools
 * come down to what was planted; a second run asks nothing again.
 */
#include "tests/support/t.h"

#include <unistd.h>

#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tui/study/shrink/tree_cut.h"

enum { TURNS = 60, TOOLS = 20, RUNS_MAX = 300 };

static json_t *tool(int i)
{
    char name[20];
    snprintf(name, sizeof name, "tool_%d", i);
    return json_pack("{s:s,s:{s:s,s:s,s:{s:s,s:{s:{s:s,s:s},s:{s:s,s:s}},s:[s,s]}}}", "type",
                     "function", "function", "name", name, "description",
                     i == 7 ? "The PLANTED tool. Nothing else." : "Does something.", "parameters",
                     "type", "object", "properties", "a", "type", "string", "description", "first",
                     "b", "type", "integer", "description", "second", "required", "a", "b");
}

/* `fault` is the content of message 31. */
static json_t *conversation(json_t *fault)
{
    json_t *messages = json_array(), *tools = json_array();
    for (int i = 0; i < TURNS; i++) {
        char text[80];
        snprintf(text, sizeof text, "Message %d. It says little. The end.", i);
        json_t *content = i == 31 ? fault : json_string(text);
        json_array_append_new(
            messages,
            json_pack("{s:s,s:o}", "role", i % 2 == 0 ? "user" : "assistant", "content", content));
    }
    for (int i = 0; i < TOOLS; i++) {
        json_array_append_new(tools, tool(i));
    }
    return json_pack("{s:o,s:o}", "messages", messages, "tools", tools);
}

/* Imports it into a database of its own; `id` gets its UUID. */
static const char *import(json_t *v, const char *name, char id[40])
{
    char file[40], base[40];
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    cf_program p;
    snprintf(file, sizeof file, "%s.json", name);
    snprintf(base, sizeof base, "%s.db", name);
    const char *path = store_dir_file(file), *db = store_dir_file(base);
    cf_json_write(&text, v);
    json_decref(v);
    T_OK(cf_os_write_file(path, text.p, text.n, 0600, &err), err);
    cf_buf_deinit(&text);
    CF_PROGRAM(&p, "history", "--db", db, "import", path);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "--db", db, "list", "--json");
    const char *at = strstr(cf_buf_cstr(&p.out), "\"conversation\":\"");
    assert_non_null(at);
    snprintf(id, 40, "%.36s", at + strlen("\"conversation\":\""));
    cf_program_deinit(&p);
    return db;
}

/* The last line's number under `key`. */
static size_t number(const cf_buf *out, const char *key)
{
    const char *last = cf_buf_cstr(out), *at;
    while ((at = strstr(last, "\n{")) != NULL) {
        last = at + 1;
    }
    at = strstr(last, key);
    assert_non_null(at);
    return (size_t)atoi(at + strlen(key));
}

static json_t *read_context(const char *folder)
{
    char path[300];
    json_t *v = NULL;
    cf_error err;
    snprintf(path, sizeof path, "%s/context.json", folder);
    T_OK(cf_json_read_file(&v, path, &err), err);
    return v;
}

static void check_small(const char *db, const char *id, const char *folder, const char *condition,
                        const char *tpl)
{
    cf_program p;
    CF_PROGRAM(&p, "shrink", "--db", db, id, "--while", condition, "-o", folder, "--json", "--yes",
               "-t", tpl);
    if (p.status != 0) {
        fail_msg("%s", cf_buf_cstr(&p.err));
    }
    print_message("%s: %zu runs\n", condition, number(&p.out, "\"runs\":"));
    assert_true(number(&p.out, "\"runs\":") < RUNS_MAX);
    assert_int_equal(number(&p.out, "\"messages\":"), 1);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "shrink", "--db", db, id, "--while", condition, "-o", folder, "--json", "--yes",
               "-t", tpl);
    assert_int_equal(p.status, 0);
    assert_int_equal(number(&p.out, "\"runs\":"), 1);
    cf_program_deinit(&p);
}

static void test_shrink__command(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char id[40];
    const char *db =
        import(conversation(json_string("Before. Here is the CAUSE of it. After.")), "command", id);
    const char *folder = store_dir_file("command");
    check_small(db, id, folder,
                "command:in=$(cat); case $in in *CAUSE*PLANTED*) exit 0;; esac;"
                " exit 1",
                "chatml");
    json_t *v = read_context(folder);
    const json_t *m = json_array_get(json_object_get(v, "messages"), 0);
    const json_t *t = json_array_get(json_object_get(v, "tools"), 0);
    assert_string_equal(json_string_value(json_object_get(m, "content")),
                        "Here is the CAUSE of it.");
    assert_int_equal(json_array_size(json_object_get(v, "tools")), 1);
    t = json_object_get(t, "function");
    assert_string_equal(json_string_value(json_object_get(t, "name")), "tool_7");
    assert_null(json_object_get(t, "parameters"));
    json_decref(v);
    /* The stored conversation is as it was. */
    cf_program p;
    CF_PROGRAM(&p, "history", "--db", db, "show", id);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "Message 59."));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "Before. Here is"));
    cf_program_deinit(&p);
}

static void test_shrink__template_error(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char source[] =
        "{# a comment #}\n{% for m in messages %}\n"
        "{{ '<' + m.role + '>' }}\n{{ m.content | upper }}{{ '' + m.content }}"
        "\n{% endfor %}\nthe end\n";
    char id[40];
    cf_error err;
    const char *tpl = store_dir_file("bad.jinja");
    T_OK(cf_os_write_file(tpl, source, strlen(source), 0600, &err), err);
    const char *db = import(conversation(json_null()), "error", id);
    const char *folder = store_dir_file("error");
    check_small(db, id, folder, "template-error", tpl);
    json_t *v = read_context(folder);
    const json_t *m = json_array_get(json_object_get(v, "messages"), 0);
    assert_true(json_is_null(json_object_get(m, "content")));
    assert_null(json_object_get(v, "tools"));
    json_decref(v);
}

/* A model answers each smaller conversation: the question and the declaration
 * that it needs stay. */
static void test_shrink__reply(void **state)
{
    (void)state;
    NEED_PROGRAM();
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    json_t *v = conversation(json_string("Fine."));
    json_t *messages = json_object_get(v, "messages");
    json_t *f = json_object_get(json_array_get(json_object_get(v, "tools"), 11), "function");
    json_object_set_new(f, "name", json_string("get_weather"));
    json_object_set_new(json_array_get(messages, TURNS - 2), "content",
                        json_string("Well. What is the weather in Oslo? Thank you."));
    char id[40];
    const char *db = import(v, "reply", id);
    const char *folder = store_dir_file("reply");
    cf_program p;
    CF_PROGRAM(&p, "shrink", "--db", db, id, "--while", "reply:get_weather.*Oslo", "-o", folder,
               "--json", "-m", "bundled", "-n", "24");
    if (p.status != 0) {
        fail_msg("%s", cf_buf_cstr(&p.err));
    }
    print_message("reply:get_weather: %zu runs\n", number(&p.out, "\"runs\":"));
    assert_true(number(&p.out, "\"runs\":") < RUNS_MAX);
    cf_program_deinit(&p);
    v = read_context(folder);
    const json_t *left = json_object_get(v, "messages");
    const json_t *tools = json_object_get(v, "tools");
    assert_int_equal(json_array_size(left), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(left, 0), "content")),
                        "What is the weather in Oslo?");
    assert_int_equal(json_array_size(tools), 1);
    f = json_object_get(json_array_get(tools, 0), "function");
    assert_string_equal(json_string_value(json_object_get(f, "name")), "get_weather");
    json_decref(v);
    /* llama.cpp turns thinking on by default, and this template then asks for
     * thinking, which this prompt does not. */
    cf_buf text = CF_BUF_INIT;
    char path[200];
    cf_error err;
    snprintf(path, sizeof path, "%s/test_chat_llama.cpp", folder);
    T_OK(cf_os_read_file(&text, path, 1 << 20, &err), err);
    assert_non_null(strstr(cf_buf_cstr(&text), "inputs.enable_thinking = false;"));
    cf_buf_deinit(&text);
}

/* A short one, for checks that are run often. */
static json_t *talk(void)
{
    return json_pack("{s:[{s:s,s:s},{s:s,s:s},{s:s,s:s}]}", "messages", "role", "user", "content",
                     "Hello. Who are you?", "role", "assistant", "content", "A model.", "role",
                     "user", "content", "Before. Here is the CAUSE of it. After.");
}

/* Shrinks with a check that is a script; its status is wanted. */
static void check_script(cf_program *p, const char *db, const char *id, const char *script,
                         const char *folder, const char *repeat, const char *least, int status)
{
    char condition[400];
    snprintf(condition, sizeof condition, "command:sh %s", script);
    CF_PROGRAM(p, "shrink", "--db", db, id, "--while", condition, "-o", folder, "--json", "--yes",
               "-t", "chatml", "--repeat", repeat, "--at-least", least);
    if (p->status != status) {
        fail_msg("status %d: %s", p->status, cf_buf_cstr(&p->err));
    }
}

static bool has_result(const char *folder)
{
    char path[300];
    snprintf(path, sizeof path, "%s/context.json", folder);
    return access(path, R_OK) == 0;
}

/* Answers kept for a command are of the file that it was: with another check
 * everything is asked again. */
static void test_shrink__a_corrected_command(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char id[40];
    cf_program p;
    const char *db = import(talk(), "mended", id);
    const char *folder = store_dir_file("mended"), *script = store_dir_file("mended.sh");
    store_dir_put_text("mended.sh", "grep -q CAUSE\n");
    check_script(&p, db, id, script, folder, "1", "1", 0);
    cf_program_deinit(&p);
    store_dir_put_text("mended.sh", "grep -q 'Who are'\n");
    check_script(&p, db, id, script, folder, "1", "1", 0);
    assert_int_equal(number(&p.out, "\"reused\":") < number(&p.out, "\"runs\":"), 1);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"holds\":true"));
    cf_program_deinit(&p);
    json_t *v = read_context(folder);
    const json_t *m = json_array_get(json_object_get(v, "messages"), 0);
    assert_string_equal(json_string_value(json_object_get(m, "content")), "Who are you?");
    json_decref(v);
}

/* What is written was asked last: a check that holds only for a while ends with
 * status 1, and nothing is written. */
static void test_shrink__the_last_answer_is_no(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char id[40];
    cf_program p;
    const char *db = import(talk(), "weary", id);
    const char *folder = store_dir_file("weary");
    store_dir_put_text("weary.sh", "n=$(cat \"$0.n\" 2>/dev/null || echo 0)\n"
                                   "echo $((n + 1)) > \"$0.n\"\n[ \"$n\" -lt 2 ]\n");
    check_script(&p, db, id, store_dir_file("weary.sh"), folder, "1", "1", 1);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"holds\":false"));
    assert_false(has_result(folder));
    cf_program_deinit(&p);
}

/* A check that holds two times of three where its cause is: two of three are
 * asked for, and the counts are shown. */
static void test_shrink__flaky(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char id[40], path[300];
    cf_program p;
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    const char *db = import(talk(), "flaky", id);
    const char *folder = store_dir_file("flaky");
    store_dir_put_text("flaky.sh", "grep -q CAUSE || exit 1\n"
                                   "n=$(cat \"$0.n\" 2>/dev/null || echo 0)\n"
                                   "echo $((n + 1)) > \"$0.n\"\n[ $((n % 3)) -ne 0 ]\n");
    check_script(&p, db, id, store_dir_file("flaky.sh"), folder, "3", "2", 0);
    cf_program_deinit(&p);
    json_t *v = read_context(folder);
    const json_t *m = json_array_get(json_object_get(v, "messages"), 0);
    assert_string_equal(json_string_value(json_object_get(m, "content")),
                        "Here is the CAUSE of it.");
    json_decref(v);
    snprintf(path, sizeof path, "%s/ISSUE.md", folder);
    T_OK(cf_os_read_file(&text, path, 1 << 20, &err), err);
    assert_non_null(strstr(cf_buf_cstr(&text), "- whole: 2 of 3"));
    cf_buf_reset(&text);
    snprintf(path, sizeof path, "%s/steps.txt", folder);
    T_OK(cf_os_read_file(&text, path, 1 << 20, &err), err);
    assert_non_null(strstr(cf_buf_cstr(&text), " 1 2 of "));
    assert_non_null(strstr(cf_buf_cstr(&text), " 0 0 of 2\n"));
    cf_buf_deinit(&text);
}

/* The parameter that is wrong stays wrong: a smaller declaration under which the
 * model fails in another way is another failure, which only `any` may take. */
static void test_shrink__keeps_to_the_failure(void **state)
{
    (void)state;
    NEED_PROGRAM();
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    static const char *const conditions[] = {"call-invalid", "call-invalid:any"};
    static const char *const why[] = {"\"why\":\"INVALID_PARAMETER_VALUE: ", "\"why\":\""};
    json_t *v = json_pack(
        "{s:[{s:s,s:s}],s:[{s:s,s:{s:s,s:s,s:{s:s,s:{s:{s:s,s:[s,s]},s:{s:s}},s:[s]}}}]}",
        "messages", "role", "user", "content", "What is the weather in Oslo? Thanks.", "tools",
        "type", "function", "function", "name", "get_weather", "description", "Weather.",
        "parameters", "type", "object", "properties", "location", "type", "string", "enum", "Paris",
        "Rome", "unit", "type", "string", "required", "location");
    char id[40], folder[40];
    const char *db = import(v, "slip", id);
    for (int i = 0; i < 2; i++) {
        cf_program p;
        snprintf(folder, sizeof folder, "slip%d", i);
        CF_PROGRAM(&p, "shrink", "--db", db, id, "--while", conditions[i], "-o",
                   store_dir_file(folder), "--json", "-m", "bundled", "-n", "64");
        assert_int_equal(p.status, 0);
        assert_non_null(strstr(cf_buf_cstr(&p.out), "\"whole\":\"INVALID_PARAMETER_VALUE: "));
        assert_non_null(strstr(cf_buf_cstr(&p.out), why[i]));
        cf_program_deinit(&p);
    }
}

/* "reply:" and the last long word of a reply. */
static void ask_for_word(const char *reply, char out[64])
{
    for (const char *p = reply; *p != '\0';) {
        size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz");
        if (n >= 5 && n < 40) {
            snprintf(out, 64, "reply:%.*s", (int)n, p);
        }
        p += n + (n == 0);
    }
}

/* Writes a reply with these options and shrinks what holds for it; without a
 * condition, that it has its last long word. */
static void check_drawn(const char *name, const char *question, const char *option,
                        const char *value, const char *condition, bool wants_constraint)
{
    char base[40], id[40], word[64] = "";
    cf_program p;
    snprintf(base, sizeof base, "%s.db", name);
    const char *db = store_dir_file(base), *folder = store_dir_file(name);
    CF_PROGRAM(&p, "run", "--db", db, "-m", "bundled", "--tools", "off", option, value, "--seed",
               "5", "-n", "24", question);
    assert_int_equal(p.status, 0);
    ask_for_word(cf_buf_cstr(&p.out), word);
    assert_true(condition != NULL || word[0] != '\0');
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "--db", db, "list", "--json");
    const char *at = strstr(cf_buf_cstr(&p.out), "\"conversation\":\"");
    assert_non_null(at);
    snprintf(id, sizeof id, "%.36s", at + strlen("\"conversation\":\""));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "shrink", "--db", db, id, "--while", condition != NULL ? condition : word, "-o",
               folder, "--json");
    if (p.status != 0) {
        fail_msg("%s", cf_buf_cstr(&p.err));
    }
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\"holds\":true"));
    cf_program_deinit(&p);
    if (wants_constraint) {
        char path[300];
        cf_buf text = CF_BUF_INIT;
        cf_error err;
        snprintf(path, sizeof path, "%s/reply.txt", folder);
        T_OK(cf_os_read_file(&text, path, 1 << 20, &err), err);
        assert_int_equal(cf_buf_cstr(&text)[0], '{');
        cf_buf_deinit(&text);
    }
}

/* Smaller conversations are answered as the reply was drawn: by its constraint,
 * and by its sampler and seed, without which a word drawn late would not come. */
static void test_shrink__as_it_was_drawn(void **state)
{
    (void)state;
    NEED_PROGRAM();
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    store_dir_put_text("tool.json", "{\"type\":\"object\",\"properties\":{\"tool\":{\"enum\":"
                                    "[\"lint\",\"render\"]}},\"required\":[\"tool\"],"
                                    "\"additionalProperties\":false}");
    check_drawn("forced", "Which command finds faults of a chat template? Hello.", "--schema",
                store_dir_file("tool.json"), "reply:\\A\\{.*lint", true);
    check_drawn("warm", "Tell me a joke. Hello there.", "--temperature", "2", NULL, false);
}

static void test_shrink__refuses(void **state)
{
    (void)state;
    NEED_PROGRAM();
    char id[40];
    const char *db = import(conversation(json_string("Fine.")), "fine", id);
    const char *folder = store_dir_file("fine");
    cf_program p;
    CF_PROGRAM(&p, "shrink", "--db", db, id, "--while", "template-error", "-o", folder, "-t",
               "chatml");
    assert_int_not_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "does not hold"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "shrink", "--db", db, id, "--while", "command:true", "-o", folder);
    assert_int_equal(p.status, 2);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "--yes"));
    cf_program_deinit(&p);
}

/* Units are numbered alike by counting and by taking out, whatever goes. */
static void test_shrink__units(void **state)
{
    (void)state;
    json_t *v = conversation(json_string("One. Two."));
    for (unsigned depth = 1; depth <= CF_CUT_DEPTH_MAX; depth++) {
        size_t n = cf_tree_units(v, depth);
        bool gone[512] = {false};
        assert_true(n < 512);
        json_t *same = cf_tree_without(v, depth, gone);
        assert_true(json_equal(same, v));
        json_decref(same);
        for (size_t i = 0; i < n; i += 7) {
            gone[i] = true;
            json_t *less = cf_tree_without(v, depth, gone);
            assert_non_null(less);
            assert_true(cf_tree_units(less, depth) < n);
            assert_non_null(json_object_get(less, "messages"));
            gone[i] = false;
            json_decref(less);
        }
    }
    bool gone[512] = {true}; /* "b" is required no longer without it */
    assert_int_equal(cf_sentence_units(v), 3 * (TURNS - 1) + 2);
    json_t *less = cf_sentence_without(v, gone);
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(json_object_get(less, "messages"), 0), "content")),
                        "It says little. The end.");
    json_decref(less);
    json_decref(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shrink__command),
        cmocka_unit_test(test_shrink__template_error),
        cmocka_unit_test(test_shrink__reply),
        cmocka_unit_test(test_shrink__refuses),
        cmocka_unit_test(test_shrink__units),
        cmocka_unit_test(test_shrink__a_corrected_command),
        cmocka_unit_test(test_shrink__the_last_answer_is_no),
        cmocka_unit_test(test_shrink__flaky),
        cmocka_unit_test(test_shrink__as_it_was_drawn),
        cmocka_unit_test(test_shrink__keeps_to_the_failure),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
