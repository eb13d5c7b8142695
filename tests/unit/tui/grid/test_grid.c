/*
 * test_grid.c - clusters, cells, clipping, wrapping.
 */
#include "core/base/safe_text.h"
#include "core/base/utf8.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"
#include "tui/grid/grid.h"
#include "tui/grid/wrap.h"

static void shows(const char *text, int width, const char *want)
{
    cf_grid g;
    cf_error err;
    cf_grid_init(&g);
    T_OK(cf_grid_resize(&g, 40, 1, &err), err);
    cf_grid_puts(&g, 0, 0, width, text, CF_STYLE_NORMAL);
    cf_buf b = CF_BUF_INIT;
    cf_grid_dump(&g, &b);
    b.p[b.n - 1] = '\0';
    assert_string_equal(b.p, want);
    cf_buf_deinit(&b);
    cf_grid_deinit(&g);
}

static void test_put__what_people_see(void **state)
{
    (void)state;
    shows("plain", 40, "plain");
    shows("a\tb", 40, "a       b");
    shows("two\nlines", 40, "two\\nlines");
    shows("esc \033[31mred", 40, "esc \\x1b[31mred");
    shows("csi \xC2\x9B"
          "2J",
          40, "csi \\u{9b}2J");
    shows("bidi \xE2\x80\xAE"
          "abc",
          40, "bidi \\u{202e}abc");
    shows("bad \xFF\xC3", 40, "bad \\xff\\xc3");
    shows("e\xCC\x81tude", 40, "e\xCC\x81tude");
    shows("\xCC\x81 alone", 40, "\\u{301} alone");
    shows("\xE6\x97\xA5\xE6\x9C\xAC", 40, "\xE6\x97\xA5\xE6\x9C\xAC");
    /* family: man, joiner, woman; a keycap; a thumb with a skin tone */
    shows("\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9!", 40,
          "\xF0\x9F\x91\xA8+\xF0\x9F\x91\xA9!");
    shows("1\xEF\xB8\x8F\xE2\x83\xA3.", 40, "[1].");
    shows("\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD", 40, "\xF0\x9F\x91\x8D+\xF0\x9F\x8F\xBD");
    shows("\xF0\x9F\x87\xB3\xF0\x9F\x87\xB4", 40, "NO"); /* flag */
    shows("zero\xE2\x80\x8Bwidth", 40, "zero\\u{200b}width");
}

static void test_put__too_long_ends_in_a_mark(void **state)
{
    (void)state;
    shows("abcdef", 6, "abcdef");
    shows("abcdef", 5, "abcd~");
    shows("abcdef", 1, "~");
    shows("abcdef", 0, "");
    /* a wide character does not fit into the one cell before the mark */
    shows("ab\xE6\x97\xA5z", 4, "ab~");
}

static void test_put__half_covered_wide_glyph_is_blanked(void **state)
{
    (void)state;
    cf_grid g;
    cf_error err;
    cf_grid_init(&g);
    T_OK(cf_grid_resize(&g, 6, 1, &err), err);
    cf_grid_puts(&g, 0, 0, 6, "\xE6\x97\xA5\xE6\x9C\xAC", CF_STYLE_NORMAL);
    cf_grid_puts(&g, 1, 0, 1, "x", CF_STYLE_NORMAL);
    cf_grid_puts(&g, 2, 0, 1, "y", CF_STYLE_NORMAL);
    cf_buf b = CF_BUF_INIT;
    cf_grid_dump(&g, &b);
    assert_string_equal(b.p, " xy\n");
    cf_buf_deinit(&b);
    cf_grid_deinit(&g);
}

static void test_clip__nothing_outside(void **state)
{
    (void)state;
    cf_grid g;
    cf_error err;
    cf_grid_init(&g);
    T_OK(cf_grid_resize(&g, 8, 3, &err), err);
    cf_grid_set_clip(&g, (cf_rect){2, 1, 4, 1});
    cf_grid_fill(&g, (cf_rect){-5, -5, 100, 100}, '#', CF_STYLE_OK);
    cf_grid_puts(&g, 0, 1, 8, "abcdefgh", CF_STYLE_NORMAL);
    cf_grid_puts(&g, 5, 1, 8, "\xE6\x97\xA5", CF_STYLE_NORMAL);
    cf_buf b = CF_BUF_INIT;
    cf_grid_dump(&g, &b);
    assert_string_equal(b.p, "\n  cde\n\n");
    cf_buf_deinit(&b);
    cf_grid_deinit(&g);
}

static void test_box__title_and_ascii(void **state)
{
    (void)state;
    cf_grid g;
    cf_error err;
    cf_grid_init(&g);
    T_OK(cf_grid_resize(&g, 12, 3, &err), err);
    g.ascii_lines = true;
    cf_grid_box(&g, (cf_rect){0, 0, 12, 3}, "Turns", CF_STYLE_BORDER, CF_STYLE_TITLE);
    cf_buf b = CF_BUF_INIT;
    cf_grid_dump(&g, &b);
    assert_string_equal(b.p, "+- Turns --+\n|          |\n+----------+\n");
    cf_buf_reset(&b);
    cf_grid_dump_styles(&g, &b);
    assert_string_equal(b.p, "0: border:2 @0 title:7 @2 border:3 @9\n"
                             "1: border:1 @0 border:1 @11\n"
                             "2: border:12 @0\n");
    cf_buf_deinit(&b);
    cf_grid_deinit(&g);
}

/* No control character, bidi control or bad byte survives into a dump. */
static void test_put__random_bytes_are_safe(void **state)
{
    (void)state;
    cf_rand r = {7};
    cf_grid g;
    cf_error err;
    cf_grid_init(&g);
    T_OK(cf_grid_resize(&g, 60, 2, &err), err);
    for (int round = 0; round < 3000; round++) {
        char text[48];
        size_t n = cf_rand_below(&r, sizeof text);
        for (size_t i = 0; i < n;) {
            if (cf_rand_below(&r, 2) == 0 || n - i < 4) {
                text[i++] = (char)cf_rand_below(&r, 256);
            } else {
                i += cf_utf8_encode(text + i, (uint32_t)cf_rand_below(&r, 0x3100));
            }
        }
        cf_grid_clear(&g);
        int used = cf_grid_put(&g, 0, 0, 50, cf_str_make(text, n), CF_STYLE_NORMAL);
        assert_in_range(used, 0, 50);
        cf_buf b = CF_BUF_INIT;
        cf_grid_dump(&g, &b);
        for (size_t i = 0; i < b.n;) {
            uint32_t cp;
            i += cf_utf8_decode(&cp, b.p + i, b.n - i);
            assert_int_not_equal(cp, CF_UTF8_BAD);
            assert_false(cf_safe_is_harmful(cp));
        }
        cf_buf_deinit(&b);
    }
    cf_grid_deinit(&g);
}

static void wraps(const char *text, int width, const char *want)
{
    cf_wrapped w = {0};
    cf_error err;
    T_OK(cf_wrapped_update(&w, cf_str_from(text), width, &err), err);
    cf_buf b = CF_BUF_INIT;
    for (size_t i = 0; i < w.n; i++) {
        cf_buf_add(&b, text + w.v[i].off, w.v[i].len);
        cf_buf_addc(&b, '/');
    }
    assert_string_equal(cf_buf_cstr(&b), want);
    cf_buf_deinit(&b);
    cf_wrapped_deinit(&w);
}

static void test_wrap__table(void **state)
{
    (void)state;
    wraps("", 10, "/");
    wraps("one two three", 7, "one two/three/");
    wraps("one two three", 8, "one two/three/");
    wraps("abcdefghij", 4, "abcd/efgh/ij/");
    wraps("ab cdefghij", 4, "ab/cdef/ghij/");
    wraps("a\n\nb\n", 4, "a//b//");
    wraps("aaaa bbbb", 4, "aaaa/bbbb/");
    wraps("\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E", 5, "\xE6\x97\xA5\xE6\x9C\xAC/\xE8\xAA\x9E/");
    /* A mark belongs to the letter before it, also at the edge. */
    wraps("abce\xCC\x81"
          "fgh",
          4, "abce\xCC\x81/fgh/");
    wraps("abc\xE6\x97\xA5", 4, "abc/\xE6\x97\xA5/");
}

/* Wrapping as a text grows gives the lines that wrapping it at once gives,
 * no line is too wide, and no byte but spaces and newlines is dropped. */
static void test_wrap__growing_equals_whole(void **state)
{
    (void)state;
    cf_rand r = {11};
    static const char *const word[] = {
        "a", "word", "\n", " ", "longer-than-most", "\xE6\x97\xA5", "e\xCC\x81", "\t"};
    for (int round = 0; round < 300; round++) {
        cf_buf text = CF_BUF_INIT;
        cf_wrapped grown = {0};
        cf_wrapped whole = {0};
        cf_error err;
        int width = 2 + (int)cf_rand_below(&r, 20);
        for (int i = 0; i < 60; i++) {
            cf_buf_adds(&text, word[cf_rand_below(&r, 8)]);
            if (cf_rand_below(&r, 3) == 0) {
                cf_buf_adds(&text, " ");
            }
            T_OK(cf_wrapped_update(&grown, cf_str_make(text.p, text.n), width, &err), err);
        }
        T_OK(cf_wrapped_update(&whole, cf_str_make(text.p, text.n), width, &err), err);
        assert_int_equal(grown.n, whole.n);
        size_t at = 0;
        for (size_t i = 0; i < whole.n; i++) {
            assert_memory_equal(&grown.v[i].off, &whole.v[i].off, 8);
            for (; at < whole.v[i].off; at++) {
                assert_non_null(strchr(" \n\t", text.p[at]));
            }
            at += whole.v[i].len;
            size_t cells = cf_text_width(text.p + whole.v[i].off, whole.v[i].len);
            assert_true(cells <= (size_t)(width > 8 ? width : 8));
        }
        cf_wrapped_deinit(&grown);
        cf_wrapped_deinit(&whole);
        cf_buf_deinit(&text);
    }
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put__what_people_see),
        cmocka_unit_test(test_put__too_long_ends_in_a_mark),
        cmocka_unit_test(test_put__half_covered_wide_glyph_is_blanked),
        cmocka_unit_test(test_clip__nothing_outside),
        cmocka_unit_test(test_box__title_and_ascii),
        cmocka_unit_test(test_put__random_bytes_are_safe),
        cmocka_unit_test(test_wrap__table),
        cmocka_unit_test(test_wrap__growing_equals_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
