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

/* Walks over all matches in n times "a". */
static cf_status walk(const char *source, size_t n, size_t *n_found, cf_error *err)
{
    cf_pattern p;
    cf_buf text = CF_BUF_INIT;
    void *match = cf_pattern_new_match();
    assert_non_null(match);
    T_OK(cf_pattern_init_foreign(&p, cf_str_from(source), err), *err);
    for (size_t i = 0; i < n; i++) {
        cf_buf_addc(&text, 'a');
    }
    cf_search s = {&p, match, cf_buf_str(&text), 0, SIZE_MAX};
    cf_status st = CF_OK;
    bool found = true;
    *n_found = 0;
    while (st == CF_OK && found) {
        size_t from, to;
        st = cf_search_next(&s, &from, &to, &found, err);
        *n_found += st == CF_OK && found;
    }
    cf_buf_deinit(&text);
    cf_pattern_free_match(match);
    cf_pattern_deinit(&p);
    return st;
}

/* What no single search exceeds, all of them together do: the text decides. */
static void test_budget__of_the_whole_text(void **state)
{
    (void)state;
    static const char bomb[] = "(?:a|a){0,14}c|a";
    size_t n;
    cf_error err;
    T_OK(walk(bomb, 20, &n, &err), err);
    assert_int_equal(n, 20);
    T_FAILS(walk(bomb, 100000, &n, &err), CF_ELIMIT);
    assert_in_range(n, 20, 2000);
}

/* Work that grows with the text is not counted. */
static void test_budget__long_texts(void **state)
{
    (void)state;
    size_t n;
    cf_error err;
    T_OK(walk("a", 300000, &n, &err), err);
    assert_int_equal(n, 300000);
    T_OK(walk("b", 3000000, &n, &err), err);
    assert_int_equal(n, 0);
    T_OK(walk("[^b]+?(?=b|$)|c", 100000, &n, &err), err);
    assert_int_equal(n, 1);
    T_OK(walk("(?:a{1,3}b?){1,4}", 300000, &n, &err), err);
    assert_int_equal(n, 25000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches__classes),   cmocka_unit_test(test_matches__empty),
        cmocka_unit_test(test_refused__syntax),    cmocka_unit_test(test_budget__of_the_whole_text),
        cmocka_unit_test(test_budget__long_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
