/*
 * test_edit_distance.c - known distances, and which names are near.
 */
#include "core/base/edit_distance.h"
#include "tests/support/t.h"

static void test_edit_distance__known(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        size_t d;
    } cases[] = {{"", "", 0},
                 {"abc", "", 3},
                 {"", "abc", 3},
                 {"weather", "weather", 0},
                 {"weathr", "weather", 1},
                 {"kitten", "sitting", 3},
                 {"unti", "unit", 1},
                 {"ca", "abc", 3},
                 {"get_weathr", "get_weather", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(cf_edit_distance(cases[i].a, cases[i].b), cases[i].d);
        assert_int_equal(cf_edit_distance(cases[i].b, cases[i].a), cases[i].d);
    }
}

static void test_edit_distance__too_long(void **state)
{
    (void)state;
    char name[CF_EDIT_DISTANCE_MAX + 2];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_true(cf_edit_distance(name, "x") == SIZE_MAX);
    name[CF_EDIT_DISTANCE_MAX] = '\0';
    assert_int_equal(cf_edit_distance(name, "x"), CF_EDIT_DISTANCE_MAX - 1);
}

static void test_edit_distance__near(void **state)
{
    (void)state;
    size_t d;
    assert_true(cf_edit_is_near("get_weathr", "get_weather", &d));
    assert_int_equal(d, 1);
    assert_true(cf_edit_is_near("untis", "units", &d));
    assert_false(cf_edit_is_near("units", "units", &d));
    assert_false(cf_edit_is_near("city", "unit", &d));
    assert_false(cf_edit_is_near("a", "b", &d));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edit_distance__known),
        cmocka_unit_test(test_edit_distance__too_long),
        cmocka_unit_test(test_edit_distance__near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
