/*
 * test_safe_text.c - nothing that acts on a terminal gets through.
 */
#include "tests/support/t.h"
#include "core/base/safe_text.h"
#include "core/base/utf8.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"

static const struct {
    const char *in;
    size_t n;
    const char *text;
    const char *line;
} cases[] = {
    {"", 0, "", ""},
    {"plain \xC3\xA9 \xE2\x82\xAC", 12, "plain \xC3\xA9 \xE2\x82\xAC",
     "plain \xC3\xA9 \xE2\x82\xAC"},
    {"a\n\tb", 4, "a\n\tb", "a\\n\\tb"},
    {"\033[2J", 4, "\\x1b[2J", "\\x1b[2J"},
    {"a\rb\b\a\0c", 7, "a\\x0db\\x08\\x07\\x00c", "a\\x0db\\x08\\x07\\x00c"},
    {"\x7F", 1, "\\x7f", "\\x7f"},
    {"\xC2\x9B"
     "31m",
     5, "\\u{9b}31m", "\\u{9b}31m"},
    {"\xE2\x80\xAE"
     "abc",
     6, "\\u{202e}abc", "\\u{202e}abc"},
    {"\xE2\x81\xA7", 3, "\\u{2067}", "\\u{2067}"},
    {"\xF3\xA0\x81\x81", 4, "\\u{e0041}", "\\u{e0041}"},
    {"\xEF\xBF\xBF", 3, "\\u{ffff}", "\\u{ffff}"},
    {"\x9B"
     "0m\xC3",
     4, "\\x9b0m\\xc3", "\\x9b0m\\xc3"},
    /* a joiner and a variation selector belong to emoji */
    {"\xE2\x80\x8D\xEF\xB8\x8F", 6, "\xE2\x80\x8D\xEF\xB8\x8F", "\xE2\x80\x8D\xEF\xB8\x8F"},
    {"back\\slash", 10, "back\\slash", "back\\slash"},
};

static void test_safe_text__known_answers(void **state)
{
    (void)state;
    cf_buf b = CF_BUF_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cf_buf_reset(&b);
        cf_safe_text(&b, cases[i].in, cases[i].n);
        assert_string_equal(cf_buf_cstr(&b), cases[i].text);
        assert_int_equal(b.n, strlen(cases[i].text));
        cf_buf_reset(&b);
        cf_safe_line(&b, cases[i].in, cases[i].n);
        assert_string_equal(cf_buf_cstr(&b), cases[i].line);
    }
    cf_buf_deinit(&b);
}

static void test_safe_text__escape_fits(void **state)
{
    (void)state;
    char out[CF_SAFE_ESCAPE_MAX];
    assert_int_equal(cf_safe_escape(out, 0x10FFFF), 10);
    assert_memory_equal(out, "\\u{10ffff}", 10);
    assert_int_equal(cf_safe_escape(out, 0x1B), 4);
    assert_memory_equal(out, "\\x1b", 4);
}

/* Whatever goes in, what comes out is UTF-8 of harmless characters, and
 * escaping it again changes nothing. */
static void test_safe_text__any_bytes(void **state)
{
    (void)state;
    cf_rand r = {7};
    cf_buf out = CF_BUF_INIT;
    cf_buf again = CF_BUF_INIT;
    for (int round = 0; round < 3000; round++) {
        char in[24];
        size_t n = cf_rand_below(&r, sizeof in + 1);
        for (size_t i = 0; i < n; i++) {
            static const unsigned char hot[] = {0x1B, 0x80, 0xC2, 0x9B, 0xE2, 0xAE, 0xF3, 0xA0};
            size_t pick = cf_rand_below(&r, 16);
            in[i] = (char)(pick < 8 ? hot[pick] : cf_rand_below(&r, 256));
        }
        cf_buf_reset(&out);
        cf_safe_text(&out, in, n);
        for (size_t i = 0; i < out.n;) {
            uint32_t cp;
            i += cf_utf8_decode(&cp, out.p + i, out.n - i);
            assert_int_not_equal(cp, CF_UTF8_BAD);
            assert_false(cf_safe_is_harmful(cp));
        }
        cf_buf_reset(&again);
        cf_safe_text(&again, cf_buf_cstr(&out), out.n);
        assert_string_equal(cf_buf_cstr(&again), cf_buf_cstr(&out));
    }
    cf_buf_deinit(&out);
    cf_buf_deinit(&again);
}

static cf_status escape_something(void *ud)
{
    (void)ud;
    cf_buf b = CF_BUF_INIT;
    for (int i = 0; i < 100; i++) {
        cf_safe_text(&b, "\033[0m\xFF text", 9);
    }
    cf_status st = cf_buf_check(&b, NULL);
    cf_buf_deinit(&b);
    return st;
}

static void test_safe_text__out_of_memory(void **state)
{
    (void)state;
    cf_fault_every_alloc(escape_something, NULL, false);
    cf_fault_every_alloc(escape_something, NULL, true);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_safe_text__known_answers),
        cmocka_unit_test(test_safe_text__escape_fits),
        cmocka_unit_test(test_safe_text__any_bytes),
        cmocka_unit_test(test_safe_text__out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
