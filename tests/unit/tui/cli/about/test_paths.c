/*
 * test_paths.c - where files are kept.
 */
#include "core/base/alloc.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"
#include "tui/sys/paths.h"

static void clear(void)
{
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("XDG_DATA_HOME");
    unsetenv("XDG_STATE_HOME");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/h", 1);
}

static void test_paths__home_and_variables(void **state)
{
    (void)state;
    clear();
    cf_paths p;
    cf_error err;
    T_OK(cf_paths_find(&p, &err), err);
    assert_string_equal(p.config, "/h/.config/confab/confabrc");
    assert_string_equal(p.database, "/h/.local/share/confab/confab.db");
    assert_string_equal(p.state, "/h/.local/state/confab");
    assert_string_equal(p.cache, "/h/.cache/confab");
    cf_paths_deinit(&p);
    setenv("XDG_CONFIG_HOME", "/c", 1);
    setenv("XDG_DATA_HOME", "/d", 1);
    setenv("XDG_STATE_HOME", "/s", 1);
    setenv("XDG_CACHE_HOME", "relative", 1);
    T_OK(cf_paths_find(&p, &err), err);
    assert_string_equal(p.config, "/c/confab/confabrc");
    assert_string_equal(p.database, "/d/confab/confab.db");
    assert_string_equal(p.state, "/s/confab");
    assert_string_equal(p.cache, "/h/.cache/confab");
    cf_paths_deinit(&p);
    cf_paths_deinit(&p); /* an emptied one too */
}

static void test_paths__no_home(void **state)
{
    (void)state;
    clear();
    unsetenv("HOME");
    cf_paths p;
    cf_error err;
    T_FAILS(cf_paths_find(&p, &err), CF_EINVAL);
    assert_non_null(strstr(err.text, "XDG_CONFIG_HOME"));
    setenv("XDG_CONFIG_HOME", "/c", 1);
    T_FAILS(cf_paths_find(&p, &err), CF_EINVAL);
    assert_non_null(strstr(err.text, "XDG_DATA_HOME"));
}

static cf_status find(void *ud)
{
    (void)ud;
    cf_paths p;
    cf_status st = cf_paths_find(&p, NULL);
    if (st == CF_OK) {
        cf_paths_deinit(&p);
    }
    return st;
}

static void test_paths__out_of_memory(void **state)
{
    (void)state;
    clear();
    cf_fault_every_alloc(find, NULL, false);
    cf_fault_every_alloc(find, NULL, true);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths__home_and_variables),
        cmocka_unit_test(test_paths__no_home),
        cmocka_unit_test(test_paths__out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
