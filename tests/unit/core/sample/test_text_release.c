/*
 * test_text_release.c - the text released at each step, for every way to cut
 * the input.
 */
#include "core/api/text_release.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"

static cf_str str(const char *s)
{
    return cf_str_from(s);
}

static void test_release__holds_half_a_character(void **state)
{
    (void)state;
    cf_text_release r;
    cf_text_release_init(&r, NULL, 0);
    cf_text_release_add(&r, "a\xE2\x82", 3);
    assert_true(cf_str_is(cf_text_release_take(&r), "a"));
    cf_text_release_add(&r, "\xAC", 1);
    assert_true(cf_str_is(cf_text_release_take(&r), "\xE2\x82\xAC"));
    cf_text_release_add(&r, "\xFF\xC3", 2);
    assert_true(cf_str_is(cf_text_release_take(&r), "\xFF"));
    assert_true(cf_str_is(cf_text_release_take_all(&r), "\xC3"));
    assert_int_equal(cf_text_release_take_all(&r).n, 0);
    cf_text_release_deinit(&r);
}

static void test_release__holds_only_while_it_may_match(void **state)
{
    (void)state;
    const cf_str stop[] = {str("</end>"), str("\n\n")};
    cf_text_release r;
    cf_text_release_init(&r, stop, 2);
    assert_false(cf_text_release_add(&r, "one </e", 7));
    assert_true(cf_str_is(cf_text_release_take(&r), "one "));
    assert_false(cf_text_release_add(&r, "x>\n", 3));
    assert_true(cf_str_is(cf_text_release_take(&r), "</ex>"));
    assert_false(cf_text_release_add(&r, "two<</en", 8));
    assert_true(cf_str_is(cf_text_release_take(&r), "\ntwo<"));
    assert_true(cf_text_release_add(&r, "d> and more", 11));
    assert_int_equal(r.stopped_by, 0);
    assert_int_equal(cf_text_release_take(&r).n, 0);
    assert_int_equal(cf_text_release_take_all(&r).n, 0);
    T_TEXT(r.text.p, r.text.n, "one </ex>\ntwo<");
    cf_text_release_deinit(&r);
}

/* The text that goes out does not depend on how the input was cut, and
 * nothing that went out is taken back. */
static void test_release__any_cut(void **state)
{
    (void)state;
    const cf_str stop[] = {str("aab"), str("bb"), str("abaa\xC3\xA9")};
    cf_rand rand = {5};
    for (int round = 0; round < 4000; round++) {
        char in[24];
        size_t n = cf_rand_below(&rand, sizeof in);
        for (size_t i = 0; i < n; i++) {
            static const char letters[] = {'a', 'a', 'b', '\xC3', '\xA9', 'c'};
            in[i] = letters[cf_rand_below(&rand, sizeof letters)];
        }
        size_t want = n; /* up to the earliest stop string */
        for (size_t at = n; at-- > 0;) {
            for (size_t i = 0; i < 3; i++) {
                if (n - at >= stop[i].n && memcmp(in + at, stop[i].p, stop[i].n) == 0) {
                    want = at;
                }
            }
        }
        cf_text_release r;
        cf_text_release_init(&r, stop, 3);
        cf_buf shown = CF_BUF_INIT;
        bool has_stopped = false;
        for (size_t at = 0; at < n && !has_stopped;) {
            size_t len = 1 + cf_rand_below(&rand, n - at);
            has_stopped = cf_text_release_add(&r, in + at, len);
            at += len;
            cf_str out = cf_text_release_take(&r);
            cf_buf_add(&shown, out.p, out.n);
        }
        cf_str rest = cf_text_release_take_all(&r);
        cf_buf_add(&shown, rest.p, rest.n);
        assert_int_equal(has_stopped, want < n);
        assert_int_equal(shown.n, want);
        assert_memory_equal(cf_buf_cstr(&shown), in, want);
        cf_buf_deinit(&shown);
        cf_text_release_deinit(&r);
    }
}

static cf_status add_a_lot(void *ud)
{
    (void)ud;
    const cf_str stop[] = {str("xyz")};
    cf_text_release r;
    cf_text_release_init(&r, stop, 1);
    for (int i = 0; i < 200; i++) {
        cf_text_release_add(&r, "some text xy", 12);
        cf_text_release_take(&r);
    }
    cf_status st = cf_buf_check(&r.text, NULL);
    cf_text_release_deinit(&r);
    return st;
}

static void test_release__out_of_memory(void **state)
{
    (void)state;
    cf_fault_every_alloc(add_a_lot, NULL, false);
    cf_fault_every_alloc(add_a_lot, NULL, true);
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_release__holds_half_a_character),
        cmocka_unit_test(test_release__holds_only_while_it_may_match),
        cmocka_unit_test(test_release__any_cut),
        cmocka_unit_test(test_release__out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
