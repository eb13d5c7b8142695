/*
 * test_demo_calc.c - known answers, exactness, and texts that are no
 * arithmetic.
 */
#include "tests/support/rand.h"
#include "tests/support/t.h"
#include "tui/demo/demo_calc.h"

static void check(const char *text, const char *want)
{
    cf_calc_value v;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    T_OK(cf_calc(&v, cf_str_from(text), &err), err);
    json_t *json = cf_calc_json(&v);
    cf_json_write(&out, json);
    assert_string_equal(cf_buf_cstr(&out), want);
    json_decref(json);
    cf_buf_deinit(&out);
}

static void test_calc__known_answers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } t[] = {
        {"1+2*3", "7"},
        {"(1+2)*3", "9"},
        {"2^3^2", "512"},
        {"-2^2", "-4"},
        {"(-2)^2", "4"},
        {"2**10", "1024"},
        {"2^-2", "0.25"},
        {"10/4", "2.5"},
        {"10/5", "2"},
        {"7%3", "1"},
        {"-7%3", "2"},
        {"7%-3", "-2"},
        {"5.5%2", "1.5"},
        {"0.1+0.2", "0.3"},
        {"1/3*3", "1"},
        {"1/3", "0.3333333333333333"},
        {" 12 x 7 =", "84"},
        {"12 \xc3\x97 7 \xc3\xb7 2", "42"},
        {"5 \xe2\x88\x92 8", "-3"},
        {"1,234,567 + 1", "1234568"},
        {"9007199254740993+0", "9007199254740993"},
        {"9223372036854775807 - 1", "9223372036854775806"},
        {"--3", "3"},
        {"+-+4", "-4"},
        {"4^0.5", "2"},
        {"0^0", "1"},
        {"2^62*2", "9.223372036854776e+18"},
        {"10^20", "1e+20"},
        {".5*4", "2"},
        {"3.", "3"},
        {"1.10*1.10", "1.21"},
        {"((((7))))", "7"},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        check(t[i].text, t[i].want);
    }
}

static void test_calc__refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } t[] = {
        {"", "ends too early"},
        {"1+", "ends too early"},
        {"(1", "ends too early"},
        {"1)", "')' at byte 1"},
        {"1/0", "division by zero"},
        {"1%0", "division by zero"},
        {"1/(2-2)", "division by zero"},
        {"0^-1", "division by zero"},
        {"(-8)^0.5", "not a real number"},
        {"10^400", "too large"},
        {"9^9^9^9^9", "too large"},
        {"system(1)", "'s' at byte 0"},
        {"1..2", "'.' at byte 2"},
        {"1 2", "'2' at byte 2"},
        {"1,23", "',' at byte 1"},
        {"\x01", "byte 01"},
        {"\xff\xfe", "byte ff"},
        {"1e5", "'e'"},
        {"2=3", "'3'"},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        cf_calc_value v;
        cf_error err;
        T_FAILS(cf_calc(&v, cf_str_from(t[i].text), &err), CF_EINVAL);
        assert_non_null(strstr(err.text, t[i].part));
    }
}

static void test_calc__depth_and_length(void **state)
{
    (void)state;
    static const char *const units[] = {"(", "-", "2^", "+", "((-", "2**-"};
    cf_error err;
    cf_calc_value v;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        cf_buf text = CF_BUF_INIT;
        while (text.n + 8 < CF_CALC_TEXT_MAX) {
            cf_buf_adds(&text, units[i]);
        }
        T_FAILS(cf_calc(&v, cf_str_make(text.p, text.n), &err), CF_EINVAL);
        cf_buf_addf(&text, "%0600d", 1);
        T_FAILS(cf_calc(&v, cf_str_make(text.p, text.n), &err), CF_EINVAL);
        assert_non_null(strstr(err.text, "longer"));
        cf_buf_deinit(&text);
    }
}

/* Any bytes of the alphabet end in a value or one line of text. */
static void test_calc__any_text(void **state)
{
    (void)state;
    static const char alphabet[] = "0123456789+-*/%^()., x=\xc3\x97";
    cf_rand r = {7};
    for (int i = 0; i < 20000; i++) {
        char text[40];
        size_t n = cf_rand_below(&r, sizeof text);
        for (size_t k = 0; k < n; k++) {
            text[k] = alphabet[cf_rand_below(&r, sizeof alphabet - 1)];
        }
        cf_calc_value v;
        cf_error err = {0};
        if (cf_calc(&v, cf_str_make(text, n), &err) == CF_OK) {
            json_t *json = cf_calc_json(&v);
            assert_non_null(json);
            json_decref(json);
        } else {
            assert_true(err.text[0] != '\0');
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calc__known_answers),
        cmocka_unit_test(test_calc__refuses),
        cmocka_unit_test(test_calc__depth_and_length),
        cmocka_unit_test(test_calc__any_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
