/*
 * test_catalogue.c - a known template is found whatever its line ends and
 * blanks are; the table is in order; lint says what a later version mended.
 */
#include "core/base/os.h"
#include "templates/template_lint.h"
#include "tests/support/t.h"

static const char old_path[] = "tests/data/templates/confab-tiny-2026-11-20.jinja";

static cf_buf read_old(void)
{
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    T_OK(cf_os_read_file(&text, old_path, 1 << 20, &err), err);
    return text;
}

static void is_old(cf_str text)
{
    const cf_known_template *t = cf_template_known(text);
    assert_non_null(t);
    assert_string_equal(t->name, "confab-tiny");
    assert_string_equal(t->date, "2026-11-20");
}

static void test_catalogue__same_text(void **state)
{
    (void)state;
    cf_buf text = read_old();
    cf_buf other = CF_BUF_INIT;
    is_old(cf_buf_str(&text));
    cf_buf_adds(&other, "\r\n  \n");
    for (size_t i = 0; i < text.n; i++) {
        cf_buf_adds(&other, text.p[i] == '\n' ? " \t\r\n" : "");
        cf_buf_add(&other, text.p + i, text.p[i] != '\n');
    }
    cf_buf_adds(&other, "\n\n\n");
    is_old(cf_buf_str(&other));
    cf_buf_adds(&other, "x");
    assert_null(cf_template_known(cf_buf_str(&other)));
    assert_null(cf_template_known(cf_str_make(NULL, 0)));
    assert_null(cf_template_known(cf_str_from("\n \n")));
    cf_buf_deinit(&text);
    cf_buf_deinit(&other);
}

static void test_catalogue__newer(void **state)
{
    (void)state;
    cf_buf text = read_old();
    cf_buf line = CF_BUF_INIT;
    const cf_known_template *t = cf_template_known(cf_buf_str(&text));
    const cf_known_template *newer = cf_template_newer(t);
    assert_non_null(newer);
    assert_string_equal(newer->date, "2026-11-22");
    assert_null(cf_template_newer(newer));
    cf_template_known_line(&line, t);
    assert_string_equal(cf_buf_cstr(&line), "confab-tiny, version of 2026-11-20 (confab 59cbab27); "
                                            "the newest known is of 2026-11-22; this one loses the "
                                            "cache between turns");
    cf_buf_deinit(&line);
    cf_buf_deinit(&text);
}

static void test_catalogue__lint(void **state)
{
    (void)state;
    cf_error err;
    cf_arena arena;
    cf_lint_report r;
    cf_buf text = read_old();
    bool found = false;
    cf_arena_init(&arena, 0);
    T_OK(cf_template_lint(cf_buf_str(&text), NULL, &arena, &r, &err), err);
    for (size_t i = 0; i < r.n; i++) {
        found = found || strcmp(r.v[i].rule, "I009") == 0;
    }
    assert_true(found);
    assert_non_null(r.known);
    cf_arena_deinit(&arena);
    cf_buf_deinit(&text);
}

/* Hashes are 16 digits and unlike each other, dates are days. */
static void test_catalogue__rows(void **state)
{
    (void)state;
    const cf_known_template *t, *other;
    size_t n = 0;
    for (; (t = cf_template_known_at(n)) != NULL; n++) {
        assert_int_equal(strspn(t->hash, "0123456789abcdef"), 16);
        assert_int_equal(strlen(t->hash), 16);
        assert_true(t->name[0] != '\0' && t->source[0] != '\0');
        assert_true(t->date[0] == '\0' || (strlen(t->date) == 10 && t->date[4] == '-'));
        assert_true(t->fault[0] == '\0' || cf_template_newer(t) != NULL);
        for (size_t i = 0; i < n; i++) {
            other = cf_template_known_at(i);
            assert_true(strcmp(other->hash, t->hash) != 0);
        }
    }
    assert_true(n > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_catalogue__same_text),
        cmocka_unit_test(test_catalogue__newer),
        cmocka_unit_test(test_catalogue__lint),
        cmocka_unit_test(test_catalogue__rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
