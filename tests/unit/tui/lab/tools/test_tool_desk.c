/*
 * test_tool_desk.c - the user's decisions about tools, and that the next start
 * restores them.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/os.h"
#include "tests/support/fault.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"
#include "tui/lab/tools/tool_desk.h"

static cf_str s(const char *text)
{
    return cf_str_from(text);
}

static void open_desk(cf_tool_desk *d, const char *path)
{
    cf_error err;
    T_OK(cf_tool_desk_init(d, &err), err);
    T_OK(cf_tool_desk_open(d, path, &err), err);
}

static void test_file__next_start_has_it(void **state)
{
    (void)state;
    const char *path = store_dir_file("a/b/tools.json");
    cf_tool_desk d;
    cf_error err;
    open_desk(&d, path);
    T_OK(cf_tool_desk_set_mock(&d, s("f"), "{\"x\":1}", &err), err);
    T_OK(cf_tool_desk_set_mock(&d, s("gone"), "1", &err), err);
    T_OK(cf_tool_desk_set_mock(&d, s("gone"), NULL, &err), err);
    T_OK(cf_tool_desk_set_command(&d, s("f"), "cat", true, &err), err);
    T_OK(cf_tool_desk_set_command(&d, s("*"), "true", true, &err), err);
    T_OK(cf_tool_desk_set_command(&d, s("h"), "here only", false, &err), err);
    T_OK(cf_tool_desk_set_policy(&d, s("f"), CF_POLICY_ALWAYS, &err), err);
    T_OK(cf_tool_desk_set_policy(&d, s("g"), CF_POLICY_NEVER, &err), err);
    T_OK(cf_tool_desk_set_on_failure(&d, CF_FAILURE_STOP, &err), err);
    T_OK(cf_tool_desk_set_timeout(&d, 7, &err), err);
    cf_tool_desk_deinit(&d);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);

    open_desk(&d, path);
    assert_string_equal(cf_tool_desk_mock(&d, s("f")), "{\"x\":1}");
    assert_null(cf_tool_desk_mock(&d, s("gone")));
    assert_string_equal(cf_tool_desk_command(&d, s("f")), "cat");
    assert_string_equal(cf_tool_desk_command(&d, s("h")), "true");
    assert_int_equal(cf_tool_desk_policy(&d, s("f")), CF_POLICY_ASK);
    assert_int_equal(cf_tool_desk_policy(&d, s("g")), CF_POLICY_NEVER);
    assert_int_equal(d.on_failure, CF_FAILURE_STOP);
    assert_int_equal(d.timeout_s, 7);
    cf_tool_desk_deinit(&d);
}

static void test_always__ends_with_the_command_it_was_given_for(void **state)
{
    (void)state;
    cf_tool_desk d;
    cf_error err;
    T_OK(cf_tool_desk_init(&d, &err), err);
    T_OK(cf_tool_desk_set_command(&d, s("f"), "cat", true, &err), err);
    T_OK(cf_tool_desk_set_policy(&d, s("f"), CF_POLICY_ALWAYS, &err), err);
    T_OK(cf_tool_desk_set_policy(&d, s("g"), CF_POLICY_ALWAYS, &err), err);
    T_OK(cf_tool_desk_set_policy(&d, s("h"), CF_POLICY_NEVER, &err), err);
    T_OK(cf_tool_desk_set_command(&d, s("f"), "rm -r x", true, &err), err);
    assert_int_equal(cf_tool_desk_policy(&d, s("f")), CF_POLICY_ASK);
    assert_int_equal(cf_tool_desk_policy(&d, s("g")), CF_POLICY_ALWAYS);
    T_OK(cf_tool_desk_set_command(&d, s("*"), "rm -r y", true, &err), err);
    assert_int_equal(cf_tool_desk_policy(&d, s("g")), CF_POLICY_ASK);
    assert_int_equal(cf_tool_desk_policy(&d, s("h")), CF_POLICY_NEVER);
    cf_tool_desk_deinit(&d);
}

static void test_file__never_becomes_ask_again(void **state)
{
    (void)state;
    const char *path = store_dir_file("policy.json");
    cf_tool_desk d;
    cf_error err;
    open_desk(&d, path);
    T_OK(cf_tool_desk_set_policy(&d, s("f"), CF_POLICY_NEVER, &err), err);
    T_OK(cf_tool_desk_set_policy(&d, s("f"), CF_POLICY_ALWAYS, &err), err);
    assert_int_equal(cf_tool_desk_policy(&d, s("f")), CF_POLICY_ALWAYS);
    cf_tool_desk_deinit(&d);
    open_desk(&d, path);
    assert_int_equal(cf_tool_desk_policy(&d, s("f")), CF_POLICY_ASK);
    cf_tool_desk_deinit(&d);
}

/* A file cannot make a command run unasked, whatever it says. */
static void test_file__no_always(void **state)
{
    (void)state;
    const char *path = store_dir_file("always.json");
    cf_tool_desk d;
    store_dir_write(path, "{\"policies\":{\"f\":\"always\",\"g\":1,\"h\":\"never\"},"
                          "\"mocks\":{\"f\":1,\"g\":\"x\"},\"commands\":[],"
                          "\"on_failure\":\"explode\",\"timeout_s\":-4}");
    open_desk(&d, path);
    assert_int_equal(cf_tool_desk_policy(&d, s("f")), CF_POLICY_ASK);
    assert_int_equal(cf_tool_desk_policy(&d, s("h")), CF_POLICY_NEVER);
    assert_null(cf_tool_desk_mock(&d, s("f")));
    assert_string_equal(cf_tool_desk_mock(&d, s("g")), "x");
    assert_int_equal(d.on_failure, CF_FAILURE_SEND);
    assert_int_equal(d.timeout_s, 30);
    cf_tool_desk_deinit(&d);
}

static void test_file__what_is_no_json_is_left_alone(void **state)
{
    (void)state;
    static const char *const bad[] = {"{\"mocks\":", "[1]", "\xFF"};
    for (size_t i = 0; i < 3; i++) {
        const char *path = store_dir_file("bad.json");
        cf_tool_desk d;
        cf_error err;
        cf_buf text = CF_BUF_INIT;
        store_dir_write(path, bad[i]);
        T_OK(cf_tool_desk_init(&d, &err), err);
        T_FAILS(cf_tool_desk_open(&d, path, &err), CF_EFORMAT);
        T_OK(cf_tool_desk_set_mock(&d, s("f"), "1", &err), err);
        T_OK(cf_os_read_file(&text, path, 100, &err), err);
        T_TEXT(text.p, text.n, bad[i]);
        cf_buf_deinit(&text);
        cf_tool_desk_deinit(&d);
    }
}

/* Commands that other users can write to are nobody's word. */
static void test_file__others_can_write_to_it(void **state)
{
    (void)state;
    cf_tool_desk d;
    cf_error err;
    const char *path = store_dir_put_text("shared.json", "{\"commands\":{\"f\":\"rm x\"}}");
    T_OK(cf_tool_desk_init(&d, &err), err);
    assert_int_equal(chmod(path, 0602), 0);
    T_FAILS(cf_tool_desk_open(&d, path, &err), CF_EINVAL);
    assert_int_equal(json_object_size(d.commands), 0);
    assert_int_equal(chmod(path, 0600), 0);
    T_OK(cf_tool_desk_open(&d, path, &err), err);
    assert_int_equal(json_object_size(d.commands), 1);
    cf_tool_desk_deinit(&d);
}

static void test_file__two_programs_keep_each_others(void **state)
{
    (void)state;
    const char *path = store_dir_file("two.json");
    cf_tool_desk a, b;
    cf_error err;
    open_desk(&a, path);
    open_desk(&b, path);
    T_OK(cf_tool_desk_set_mock(&a, s("f"), "1", &err), err);
    T_OK(cf_tool_desk_set_mock(&b, s("g"), "2", &err), err);
    T_OK(cf_tool_desk_set_timeout(&a, 9, &err), err);
    cf_tool_desk_deinit(&a);
    cf_tool_desk_deinit(&b);
    open_desk(&a, path);
    assert_string_equal(cf_tool_desk_mock(&a, s("f")), "1");
    assert_string_equal(cf_tool_desk_mock(&a, s("g")), "2");
    assert_int_equal(a.timeout_s, 9);
    cf_tool_desk_deinit(&a);
}

static void test_values__refused(void **state)
{
    (void)state;
    cf_tool_desk d;
    cf_error err;
    char name[300];
    memset(name, 'n', sizeof name);
    T_OK(cf_tool_desk_init(&d, &err), err);
    T_FAILS(cf_tool_desk_set_mock(&d, s(""), "1", &err), CF_EINVAL);
    T_FAILS(cf_tool_desk_set_mock(&d, cf_str_make(name, 256), "1", &err), CF_EINVAL);
    T_FAILS(cf_tool_desk_set_mock(&d, cf_str_make("a\0b", 3), "1", &err), CF_EINVAL);
    T_FAILS(cf_tool_desk_set_mock(&d, s("f"), "\xFF", &err), CF_EINVAL);
    T_FAILS(cf_tool_desk_set_timeout(&d, 0, &err), CF_EINVAL);
    T_FAILS(cf_tool_desk_set_timeout(&d, 86401, &err), CF_EINVAL);
    assert_int_equal(d.timeout_s, 30);
    assert_null(cf_tool_desk_mock(&d, cf_str_make(name, 300)));
    cf_tool_desk_deinit(&d);
}

static void test_names__there_and_back(void **state)
{
    (void)state;
    for (int i = 0; i < CF_FAILURE_COUNT; i++) {
        cf_on_failure got;
        assert_true(cf_on_failure_parse(&got, s(cf_on_failure_name((cf_on_failure)i))));
        assert_int_equal(got, i);
        assert_true(strlen(cf_on_failure_help(got)) > 0);
    }
    for (int i = 0; i <= CF_POLICY_NEVER; i++) {
        cf_tool_policy got;
        assert_true(cf_tool_policy_parse(&got, s(cf_tool_policy_name((cf_tool_policy)i))));
        assert_int_equal(got, i);
    }
    cf_tool_policy none;
    assert_false(cf_tool_policy_parse(&none, s("perhaps")));
}

static cf_status everything(void *ud)
{
    cf_tool_desk d;
    CF_TRY(cf_tool_desk_init(&d, NULL));
    cf_status st = cf_tool_desk_open(&d, ud, NULL);
    CF_THEN(st, cf_tool_desk_set_mock(&d, s("f"), "1", NULL));
    CF_THEN(st, cf_tool_desk_set_on_failure(&d, CF_FAILURE_DROP, NULL));
    CF_THEN(st, cf_tool_desk_set_policy(&d, s("f"), CF_POLICY_NEVER, NULL));
    cf_tool_desk_deinit(&d);
    /* Jansson reports a lack of memory like bad text. */
    return st == CF_EINVAL ? CF_ENOMEM : st;
}

static void test_memory__runs_out_anywhere(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", store_dir_file("oom.json"));
    store_dir_write(path, "{\"mocks\":{\"g\":\"2\"}}");
    cf_fault_every_alloc(everything, path, false);
    cf_fault_every_alloc(everything, path, true);
    cf_tool_desk d; /* what was there before survived all of it */
    open_desk(&d, path);
    assert_string_equal(cf_tool_desk_mock(&d, s("g")), "2");
    cf_tool_desk_deinit(&d);
}

/* What was made for one set of declarations is not there for another one. */
static void test_scope__belongs_to_the_declarations(void **state)
{
    (void)state;
    const char *path = store_dir_file("scopes.json");
    char own[CF_DESK_SCOPE], mine[CF_DESK_SCOPE], other[CF_DESK_SCOPE];
    cf_tool_desk d;
    cf_error err;
    cf_buf loaded = CF_BUF_INIT;
    json_t *a = json_pack("[{s:s}]", "name", "f");
    json_t *b = json_pack("[{s:s}]", "name", "g");
    cf_tool_desk_scope(own, a, true);
    cf_tool_desk_scope(mine, a, false);
    cf_tool_desk_scope(other, b, false);
    assert_string_not_equal(mine, other);
    assert_string_not_equal(mine, own);
    store_dir_write(path, "{\"mocks\":{\"old\":\"1\"}}"); /* an earlier version */
    open_desk(&d, path);
    T_OK(cf_tool_desk_set_command(&d, s("*"), "given", false, &err), err);
    T_OK(cf_tool_desk_go(&d, mine, &loaded, &err), err);
    assert_string_equal(cf_tool_desk_mock(&d, s("old")), "1");
    T_OK(cf_tool_desk_set_mock(&d, s("f"), "2", &err), err);
    T_OK(cf_tool_desk_set_command(&d, s("f"), "cat", true, &err), err);
    T_OK(cf_tool_desk_go(&d, own, &loaded, &err), err);
    assert_null(cf_tool_desk_mock(&d, s("f")));
    assert_null(cf_tool_desk_mock(&d, s("old")));
    assert_string_equal(cf_tool_desk_command(&d, s("f")), "given");
    T_OK(cf_tool_desk_go(&d, other, &loaded, &err), err);
    assert_null(cf_tool_desk_mock(&d, s("f")));
    cf_tool_desk_deinit(&d);

    open_desk(&d, path);
    cf_buf_reset(&loaded);
    T_OK(cf_tool_desk_go(&d, mine, &loaded, &err), err);
    assert_string_equal(cf_buf_cstr(&loaded), "old: mock; f: mock; f: command");
    assert_string_equal(cf_tool_desk_mock(&d, s("f")), "2");
    cf_tool_desk_deinit(&d);
    cf_buf_deinit(&loaded);
    json_decref(a);
    json_decref(b);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file__next_start_has_it),
        cmocka_unit_test(test_always__ends_with_the_command_it_was_given_for),
        cmocka_unit_test(test_file__never_becomes_ask_again),
        cmocka_unit_test(test_file__no_always),
        cmocka_unit_test(test_file__what_is_no_json_is_left_alone),
        cmocka_unit_test(test_file__others_can_write_to_it),
        cmocka_unit_test(test_file__two_programs_keep_each_others),
        cmocka_unit_test(test_values__refused),
        cmocka_unit_test(test_names__there_and_back),
        cmocka_unit_test(test_memory__runs_out_anywhere),
        cmocka_unit_test(test_scope__belongs_to_the_declarations),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
