/*
 * test_json_text.c - numbers, ids and bytes of JSON answers.
 */
#include <math.h>

#include "core/base/alloc.h"
#include "tests/support/fault.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"
#include "tui/cli/answers/json_text.h"

static void test_json_text__floats_read_back(void **state)
{
    (void)state;
    cf_buf b = CF_BUF_INIT;
    cf_rand r = {9};
    for (int i = 0; i < 5000; i++) {
        union {
            uint32_t bits;
            float f;
        } u = {(uint32_t)cf_rand_u64(&r)};
        cf_buf_reset(&b);
        cf_json_text_float(&b, u.f);
        if (isfinite(u.f)) {
            assert_true(strtof(cf_buf_cstr(&b), NULL) == u.f);
        } else {
            assert_string_equal(cf_buf_cstr(&b), "null");
        }
    }
    cf_buf_reset(&b);
    cf_json_text_float(&b, 0.1f);
    cf_buf_addc(&b, ' ');
    cf_json_text_float(&b, -3);
    assert_string_equal(cf_buf_cstr(&b), "0.1 -3");
    cf_buf_deinit(&b);
}

static void test_json_text__bytes(void **state)
{
    (void)state;
    cf_buf b = CF_BUF_INIT;
    cf_json_text_bytes(&b, "t", cf_str_from("a\"\n\xC3\xA9"));
    assert_string_equal(cf_buf_cstr(&b), "\"t\":\"a\\\"\\n\xC3\xA9\"");
    cf_buf_reset(&b);
    cf_json_text_bytes(&b, "t", cf_str_make("a\xFF", 2));
    assert_string_equal(cf_buf_cstr(&b), "\"t\":\"a\xEF\xBF\xBD\",\"t_hex\":\"61ff\"");
    cf_buf_deinit(&b);
}

static void test_json_text__ids(void **state)
{
    (void)state;
    cf_token *ids;
    size_t n;
    cf_error err;
    T_OK(cf_json_text_read_ids(&ids, &n, " 1,2 , 2147483647\n", &err), err);
    assert_int_equal(n, 3);
    cf_buf b = CF_BUF_INIT;
    cf_json_text_ids(&b, ids, n);
    assert_string_equal(cf_buf_cstr(&b), "[1,2,2147483647]");
    cf_buf_deinit(&b);
    cf_free(ids);
    T_OK(cf_json_text_read_ids(&ids, &n, "[ 7, 8 ]", &err), err);
    assert_int_equal(n, 2);
    assert_int_equal(ids[1], 8);
    cf_free(ids);
    static const char *const bad[] = {"",    " ",          ",",   "1,", "1 2", "1,,2",  "-1",
                                      "1;2", "2147483648", "1,x", "[1", "1]",  "[1] 2", "[]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        T_FAILS(cf_json_text_read_ids(&ids, &n, bad[i], &err), CF_EINVAL);
    }
}

int main(void)
{
    cf_fault_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_text__floats_read_back),
        cmocka_unit_test(test_json_text__bytes),
        cmocka_unit_test(test_json_text__ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
