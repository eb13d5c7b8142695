/*
 * test_constrain_command.c - confab constrain: texts that are accepted, and
 * the byte and the alternatives where one is refused.
 */
#include "tests/support/t.h"

#include "core/base/os.h"
#include "core/json/json.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"

/* Checks a text: the result, the byte, and what may come there. */
static void check(const char *option, const char *value, const char *text, const char *result,
                  int byte, const char *allowed)
{
    cf_program p;
    CF_PROGRAM(&p, "constrain", "--json", option, value, text);
    assert_string_equal(cf_buf_cstr(&p.err), "");
    cf_error err;
    json_t *v;
    T_OK(cf_json_read(&v, cf_buf_cstr(&p.out), p.out.n, &err), err);
    assert_string_equal(json_string_value(json_object_get(v, "result")), result);
    assert_int_equal(json_integer_value(json_object_get(v, "byte")), byte);
    assert_string_equal(json_string_value(json_object_get(v, "allowed")), allowed);
    assert_int_equal(p.status, strcmp(result, "refused") == 0 ? 1 : 0);
    json_decref(v);
    cf_program_deinit(&p);
}

static void test_constrain__patterns(void **state)
{
    (void)state;
    NEED_PROGRAM();
    check("--regex", "[ab]+c", "abc", "accepted", 3, "");
    check("--regex", "[ab]+c", "abx", "refused", 2, "a-c");
    check("--choice", "yes", "maybe", "refused", 0, "y");
    check("--choice", "yes", "yes", "accepted", 3, "");
}

static void test_constrain__schema(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *file = store_dir_file("s.json");
    const char schema[] = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"boolean\"}},"
                          "\"required\":[\"n\"],\"additionalProperties\":false}";
    cf_error err;
    T_OK(cf_os_write_file(file, schema, sizeof schema - 1, 0600, &err), err);
    cf_program p;
    CF_PROGRAM(&p, "constrain", "--schema", file, "{\"n\":true}");
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "accepted at byte 10 of 10"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "constrain", "--schema", file, "{\"n\":7}");
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "refused at byte 5 of 7"));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "`n`: boolean expected, this is integer"));
    cf_program_deinit(&p);
}

static void test_constrain__refuses_what_cannot_compile(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "constrain", "--regex", "(", "x");
    assert_int_equal(p.status, 3);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "at byte 1 of the pattern"));
    assert_string_equal(cf_buf_cstr(&p.out), "");
    cf_program_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constrain__patterns),
        cmocka_unit_test(test_constrain__schema),
        cmocka_unit_test(test_constrain__refuses_what_cannot_compile),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
