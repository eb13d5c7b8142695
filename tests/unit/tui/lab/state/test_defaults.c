/*
 * test_defaults.c - settings of confabrc: which values they take, on both sides
 * of their bounds.
 */
#include <string.h>

#include "tests/support/t.h"
#include "tui/lab/state/defaults.h"

static cf_status set(cf_defaults *d, const char *name, const char *value, cf_error *err)
{
    int i = cf_defaults_find(name, strlen(name));
    assert_true(i >= 0);
    return cf_defaults_set(d, i, value, err);
}

static void test_defaults__whole_numbers(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "x",
                                        "-1",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "1x",
                                        "0x10",
                                        "1.5",
                                        "4294967296",
                                        "/5",
                                        ":5",
                                        "99999999999999999999"};
    cf_defaults d;
    cf_error err;
    memset(&d, 0, sizeof d);
    T_OK(set(&d, "ctx", "4096", &err), err);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        T_FAILS(set(&d, "ctx", wrong[i], &err), CF_EINVAL);
        assert_non_null(strstr(err.text, "ctx"));
    }
    cf_open_options open;
    memset(&open, 0, sizeof open);
    cf_defaults_apply(&d, &open);
    assert_int_equal(open.n_ctx, 4096); /* refused values change nothing */
    T_OK(set(&d, "ctx", "4294967295", &err), err);
    T_OK(set(&d, "ctx", "0", &err), err);
    cf_defaults_deinit(&d);
}

static void test_defaults__on_and_off(void **state)
{
    (void)state;
    cf_defaults d;
    cf_error err;
    memset(&d, 0, sizeof d);
    T_OK(set(&d, "trust-addresses", "on", &err), err);
    assert_true(d.trusts_addresses);
    T_FAILS(set(&d, "trust-addresses", "ON", &err), CF_EINVAL);
    T_FAILS(set(&d, "trust-addresses", "", &err), CF_EINVAL);
    assert_true(d.trusts_addresses);
    T_OK(set(&d, "trust-addresses", "off", &err), err);
    assert_false(d.trusts_addresses);
    cf_defaults_deinit(&d);
}

static void test_defaults__names(void **state)
{
    (void)state;
    assert_int_equal(cf_defaults_find("ctx", 2), -1);
    assert_int_equal(cf_defaults_find("ctxx", 4), -1);
    assert_int_equal(cf_defaults_find("", 0), -1);
    assert_true(cf_defaults_find("ctxx", 3) >= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults__whole_numbers),
        cmocka_unit_test(test_defaults__on_and_off),
        cmocka_unit_test(test_defaults__names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
