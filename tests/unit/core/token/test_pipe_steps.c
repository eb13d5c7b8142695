/* test_pipe_steps.c - what a SentencePiece map of characters may hold. */
#include "core/base/buf.h"
#include "core/token/pipeline.h"
#include "tests/support/t.h"

/* A map of one unit, whose replacements are n letters and "b". */
static cf_status read_map(size_t n, cf_charsmap *out, cf_error *err)
{
    cf_pipeline *p = cf_pipeline_new();
    cf_buf b = CF_BUF_INIT;
    assert_non_null(p);
    cf_buf_add(&b, "\4\0\0\0\0\0\0\0", 8);
    for (size_t i = 0; i < n; i++) {
        cf_buf_addc(&b, 'a');
    }
    cf_buf_add(&b, "\0b", 3);
    cf_status st = cf_pipeline_charsmap(p, cf_buf_str(&b), out, err);
    cf_buf_deinit(&b);
    cf_pipeline_free(p);
    return st;
}

static void test_charsmap__bounds_replacements(void **state)
{
    (void)state;
    cf_charsmap map = {0};
    cf_error err = {0};
    T_OK(read_map(64, &map, &err), err);
    assert_int_equal(map.n_unit, 1);
    assert_int_equal(map.n_text, 67);
    T_FAILS(read_map(65, &map, &err), CF_ELIMIT);
}

/* The length of the units reaches beyond the end. */
static void test_charsmap__cut_off(void **state)
{
    (void)state;
    static const char *const maps[] = {"\4\0\0", "\5\0\0\0abcd", "\377\377\377\377abcd"};
    static const size_t size[] = {3, 8, 8};
    for (size_t i = 0; i < 3; i++) {
        cf_charsmap map;
        cf_error err = {0};
        cf_pipeline *p = cf_pipeline_new();
        assert_non_null(p);
        T_FAILS(cf_pipeline_charsmap(p, cf_str_make(maps[i], size[i]), &map, &err), CF_EFORMAT);
        cf_pipeline_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_charsmap__bounds_replacements),
        cmocka_unit_test(test_charsmap__cut_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
