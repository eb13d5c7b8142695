/*
 * test_form.c - the fields that tool servers ask for, and typed values.
 */
#include "tests/support/t.h"
#include "tui/lab/tools/form.h"

static const char schema_text[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"name\":{\"type\":\"string\",\"title\":\"Your name\"},"
    "\"age\":{\"type\":\"integer\",\"default\":30},"
    "\"sure\":{\"type\":\"boolean\"},"
    "\"colour\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"#f00\",\"title\":"
    "\"Red\"},{\"const\":\"#0f0\",\"title\":\"Green\"}]},"
    "\"days\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":["
    "\"Mon\",\"Tue\"]}}},\"required\":[\"name\"]}";

static int make(void **state)
{
    *state = json_loads(schema_text, 0, NULL);
    return *state == NULL;
}

static int drop(void **state)
{
    json_decref(*state);
    return 0;
}

/* The value of a text for field i is `want` as JSON; NULL: refused, "": none. */
static void check(const json_t *schema, size_t i, const char *text, const char *want)
{
    cf_form_field f;
    json_t *v = NULL;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    assert_true(cf_form_field_at(schema, i, &f));
    cf_status st = cf_form_value(&f, cf_str_from(text), &v, &err);
    assert_int_equal(st, want != NULL ? CF_OK : CF_EINVAL);
    if (v != NULL) {
        cf_json_write(&out, v);
    }
    assert_string_equal(cf_buf_cstr(&out), want != NULL ? want : "");
    cf_buf_deinit(&out);
    json_decref(v);
}

static void test_form__values(void **state)
{
    check(*state, 0, "Ada", "\"Ada\"");
    check(*state, 0, " a ", "\" a \"");
    check(*state, 0, "", NULL); /* it is required */
    check(*state, 1, "", "30");
    check(*state, 1, "41", "41");
    check(*state, 1, "4.5", NULL);
    check(*state, 1, "forty", NULL);
    check(*state, 2, "yes", "true");
    check(*state, 2, "n", "false");
    check(*state, 2, "maybe", NULL);
    check(*state, 2, "", "");
    check(*state, 3, "Red", "\"#f00\"");
    check(*state, 3, "#0f0", "\"#0f0\"");
    check(*state, 3, "Blue", NULL);
    check(*state, 4, "Mon, Tue", "[\"Mon\",\"Tue\"]");
    check(*state, 4, "Mon, Sun", NULL);
}

static void test_form__hints(void **state)
{
    static const char *const hints[] = {
        "text", "a whole number; empty: 30", "yes or no; may be empty",
        "one of Red, Green; may be empty", "some of, with commas: Mon, Tue; may be empty"};
    assert_int_equal(cf_form_n(*state), 5);
    for (size_t i = 0; i < 5; i++) {
        cf_form_field f;
        cf_buf out = CF_BUF_INIT;
        assert_true(cf_form_field_at(*state, i, &f));
        cf_form_hint(&f, &out);
        assert_string_equal(cf_buf_cstr(&out), hints[i]);
        cf_buf_deinit(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_form__values, make, drop),
        cmocka_unit_test_setup_teardown(test_form__hints, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
