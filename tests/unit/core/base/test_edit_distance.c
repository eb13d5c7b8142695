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

static void test_nearest__best_of_several(void **state)
{
    (void)state;
    cf_error err;
    cf_nearest near = {.asked = "lnt"};
    assert_int_equal(cf_nearest_suggest(&near, cf_fail(&err, CF_EINVAL, "no 'lnt'"), &err),
                     CF_EINVAL);
    assert_string_equal(err.text, "no 'lnt'");
    cf_nearest_offer(&near, "list");
    cf_nearest_offer(&near, "lint");
    cf_nearest_offer(&near, "lent");
    cf_nearest_offer(&near, "lnt"); /* what was asked for is no suggestion */
    assert_int_equal(cf_nearest_suggest(&near, CF_EINVAL, &err), CF_EINVAL);
    assert_string_equal(err.text, "no 'lnt'; did you mean lint?");
}

static void test_nearest__other_spelling(void **state)
{
    (void)state;
    cf_nearest near = {.asked = "tiny"};
    cf_nearest_offer_as(&near, "tin", "ollama:tin");
    cf_nearest_offer_as(&near, "tiny", "ollama:tiny");
    assert_string_equal(near.best, "ollama:tiny");
    assert_int_equal(near.distance, 0);
}

/* A suggestion that does not fit leaves the text whole. */
static void test_nearest__full_error(void **state)
{
    (void)state;
    char text[CF_ERROR_TEXT_MAX];
    cf_error err;
    cf_nearest near = {.asked = "lnt"};
    cf_nearest_offer(&near, "lint");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cf_fail(&err, CF_EINVAL, "%s", text);
    assert_int_equal(cf_nearest_suggest(&near, CF_EINVAL, &err), CF_EINVAL);
    assert_string_equal(err.text, text);
    assert_int_equal(cf_nearest_suggest(&near, CF_EINVAL, NULL), CF_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edit_distance__known),
        cmocka_unit_test(test_edit_distance__too_long),
        cmocka_unit_test(test_edit_distance__near),
        cmocka_unit_test(test_nearest__best_of_several),
        cmocka_unit_test(test_nearest__other_spelling),
        cmocka_unit_test(test_nearest__full_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
