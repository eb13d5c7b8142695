/*
 * test_pattern.c - expressions in Oniguruma's syntax, and walks over matches.
 */
#include "tests/support/t.h"

#include "core/token/pattern.h"

/* The matches of `source` in `text`, each in brackets. */
static void assert_matches(const char *source, const char *text, const char *want)
{
    cf_error err = {0};
    cf_pattern p;
    cf_buf b = CF_BUF_INIT;
    T_OK(cf_pattern_init_foreign(&p, cf_str_from(source), &err), err);
    void *match = cf_pattern_new_match();
    cf_search s = {&p, match, cf_str_from(text), 0, SIZE_MAX};
    for (;;) {
        size_t from, to;
        bool found;
        T_OK(cf_search_next(&s, &from, &to, &found, &err), err);
        if (!found) {
            break;
        }
        cf_buf_addf(&b, "[%.*s]", (int)(to - from), text + from);
    }
    assert_string_equal(cf_buf_cstr(&b), want);
    cf_buf_deinit(&b);
    cf_pattern_free_match(match);
    cf_pattern_deinit(&p);
}

static void test_matches__classes(void **state)
{
    (void)state;
    assert_matches("\\h+", "xCAFE g", "[CAFE]");
    assert_matches("\\s+",
                   "a\xC2\xA0 \xE1\xA0\x8E"
                   "b",
                   "[\xC2\xA0 ]");
    assert_matches("\\w+", "a_\xC3\xA9-b", "[a_\xC3\xA9][b]");
    assert_matches("[\\p{L}&&[^\\p{Lu}]]+", "aBcd", "[a][cd]");
    assert_matches("[a[bc]]+", "abcd", "[abc]");
    assert_matches("[a-f&&c-z]+", "abcdefgh", "[cdef]");
    assert_matches("[^\\s\\d]+", "a1 b", "[a][b]");
    assert_matches("\\u00e9", "\xC3\xA9", "[\xC3\xA9]");
    assert_matches("(?i:AB)|c", "abABc", "[ab][AB][c]");
    assert_matches("(?m:a.b)", "a\nb", "[a\nb]");
    assert_matches("a$", "a\nba", "[a][a]");
    /* A letter of Unicode 16. */
    assert_matches("\\p{L}+", "a\xF0\x93\xBF\x81", "[a\xF0\x93\xBF\x81]");
}

static void test_matches__empty(void **state)
{
    (void)state;
    assert_matches("", "ab", "[][][]");
    assert_matches("b*", "abb\xC3\xA9", "[][bb][]");
}

static void test_refused__syntax(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "a(", "[a", "a\\", "[a[^b]]", "[^a&&b]", "[[:alpha:", "[[[[[[[[[[[[a]]]]]]]]]]]]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cf_pattern p;
        cf_error err;
        T_FAILS(cf_pattern_init_foreign(&p, cf_str_from(bad[i]), &err), CF_EUNSUPPORTED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches__classes),
        cmocka_unit_test(test_matches__empty),
        cmocka_unit_test(test_refused__syntax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
