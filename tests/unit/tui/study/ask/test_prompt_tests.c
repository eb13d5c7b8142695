/*
 * test_prompt_tests.c - the form of test files, the example in docs, and what
 * each check says when it fails.
 */
#include "core/base/os.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/study/ask/prompt_test.h"

typedef struct outcome {
    size_t n_ok, n_bad;
    char why[400];
} outcome;

static void on_check(void *ud, const cf_prompt_check *check, bool ok, cf_str why, cf_str prompt)
{
    outcome *o = ud;
    (void)check;
    (void)prompt;
    o->n_ok += ok;
    o->n_bad += !ok;
    if (!ok) {
        snprintf(o->why, sizeof o->why, "%.*s", (int)why.n, why.p);
    }
}

static const char *file_of(const char *text)
{
    cf_error err;
    const char *path = store_dir_file("prompt.test");
    T_OK(cf_os_write_file(path, text, strlen(text), 0600, &err), err);
    return path;
}

/* The outcome of the only test of a file. */
static outcome run_text(const char *text)
{
    cf_error err;
    cf_prompt_tests tests;
    outcome o = {0};
    const cf_open_options base = {0};
    T_OK(cf_prompt_tests_read(&tests, file_of(text), &err), err);
    assert_int_equal(tests.n, 1);
    T_OK(cf_prompt_test_run(&tests.v[0], &base, NULL, on_check, &o, &err), err);
    cf_prompt_tests_deinit(&tests);
    return o;
}

static void refused(const char *text, const char *why)
{
    cf_error err;
    cf_prompt_tests tests;
    T_FAILS(cf_prompt_tests_read(&tests, file_of(text), &err), CF_EFORMAT);
    if (strstr(err.text, why) == NULL) {
        fail_msg("'%s' is not in '%s'", why, err.text);
    }
    cf_prompt_tests_deinit(&tests);
}

static void test_prompt_tests__example(void **state)
{
    (void)state;
    cf_error err;
    cf_prompt_tests tests;
    outcome o = {0};
    const cf_open_options base = {0};
    T_OK(cf_prompt_tests_read(&tests, "docs/examples/prompt-tests/weather.test", &err), err);
    for (size_t i = 0; i < tests.n; i++) {
        T_OK(cf_prompt_test_run(&tests.v[i], &base, NULL, on_check, &o, &err), err);
    }
    assert_int_equal(o.n_bad, 0);
    assert_true(o.n_ok > 6);
    cf_prompt_tests_deinit(&tests);
}

static void test_prompt_tests__refused(void **state)
{
    (void)state;
    refused("", "no test in it");
    refused("prompt stable\n", ":1: before the first test");
    refused("test\n", ":1: the test has no name");
    refused("# c\n\ntest a\nprompt holds x\n", ":4: a prompt contains");
    refused("test a\nprompt contains\n", ":2: the text is missing");
    refused("test a\nprompt contains \"x\n", ":2: what begins with");
    refused("test a\nprompt tokens many\n", ":2: prompt tokens takes a number");
    refused("test a\nexpect beauty\n", ":2: ");
    refused("test a\nreply given\n", ":2: a reply is given");
    refused("test a\nreply made speed=3\n", ":2: reply made takes");
    refused("test a\nreply is\n| x\nreply is\n| y\n", ":4: the test has a reply");
    refused("test a\nvar =1\n", ":2: var takes NAME=JSON");
    refused("test a\nvar x={\n", ":2: the value of x");
    refused("template\ntest a\n", ":1: the value is missing");
}

static void test_prompt_tests__checks(void **state)
{
    (void)state;
    outcome o = run_text("template chatml\nvar messages=[{\"role\":\"user\","
                         "\"content\":\"hi\"}]\ntest a\n"
                         "prompt contains \"user\\nhi\"\n"
                         "prompt lacks assistant\n");
    assert_int_equal(o.n_ok, 1);
    assert_int_equal(o.n_bad, 1);
    assert_string_equal(o.why, "it is in the prompt");
    o = run_text("template chatml\ntest a\nprompt fails\n");
    assert_int_equal(o.n_bad, 1);
    assert_string_equal(o.why, "the template does not fail");
    o = run_text("template chatml\ntest a\nprompt is\n| x\n|\n");
    assert_int_equal(o.n_bad, 1);
    o = run_text("template qwen3\ntest a\nreply is\n| <think>hm</think>fine\n"
                 "expect equals:fine\n"
                 "expect not calls-valid\n");
    assert_int_equal(o.n_ok, 2);
    assert_int_equal(o.n_bad, 0);
    o = run_text("template chatml\ntest a\nreply is\n| fine\nexpect equals:fine\n"
                 "prompt contains assistant\n"); /* the second check alone needs the prompt */
    assert_int_equal(o.n_ok, 2);
}

/* A reply before a message that changes what was written is not stable. */
static void test_prompt_tests__stable(void **state)
{
    (void)state;
    static const char text[] = "template chatml\n"
                               "var messages=[{\"role\":\"user\",\"content\":\"a\"},{\"role\":"
                               "\"assistant\",\"content\":\"b\"},{\"role\":\"user\",\"content\":"
                               "\"c\"}]\ntest a\nprompt stable\n";
    outcome o = run_text(text);
    assert_int_equal(o.n_ok, 1);
    cf_error err;
    const char *tpl = store_dir_file("counting.jinja");
    static const char source[] = "{{ messages | length }}{% for m in messages "
                                 "%}{{ m.content }}{% endfor %}";
    T_OK(cf_os_write_file(tpl, source, strlen(source), 0600, &err), err);
    char changed[1000];
    snprintf(changed, sizeof changed, "%s\ntemplate %s\n", text, tpl);
    o = run_text(changed);
    assert_int_equal(o.n_bad, 1);
    assert_string_equal(o.why, "the prompt before message 2 differs from byte "
                               "0 on");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prompt_tests__example),
        cmocka_unit_test(test_prompt_tests__refused),
        cmocka_unit_test(test_prompt_tests__checks),
        cmocka_unit_test(test_prompt_tests__stable),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
