/*
 * test_trace.c - candidates as bytes: every reason for which one may be
 * missing comes back.
 */
#include "storage/trace.h"
#include "tests/support/t.h"

static void test_trace__every_reason_comes_back(void **state)
{
    (void)state;
    cf_buf bytes = CF_BUF_INIT;
    cf_trace_writer w = {0};
    cf_trace_reader r;
    cf_draw put = {.id = 0, .n_step = 1, .n_top = CF_REMOVED_TEMPERATURE + 1};
    cf_draw got;
    cf_token id;
    bool has_draw;
    put.step[0] = (cf_chain_step){"temperature", 1};
    for (size_t i = 0; i < put.n_top; i++) {
        put.top[i] = (cf_candidate){.id = (cf_token)i,
                                    .logit = 2.0f - (float)i,
                                    .logit_post = 2.0f - (float)i,
                                    .rank = (uint32_t)i + 1,
                                    .removed_by = (cf_removed_by)i};
    }
    put.chosen = put.top[0];
    cf_trace_put(&w, &bytes, 0, &put);
    cf_trace_put(&w, &bytes, 7, &put);
    cf_trace_open(&r, cf_buf_str(&bytes));
    for (cf_token want = 0; want <= 7; want += 7) {
        assert_true(cf_trace_next(&r, &id, &has_draw, &got));
        assert_int_equal(id, want);
        assert_true(has_draw);
        assert_int_equal(got.n_top, put.n_top);
        for (size_t i = 0; i < put.n_top; i++) {
            assert_int_equal(got.top[i].removed_by, i);
        }
        assert_string_equal(got.step[0].name, "temperature");
    }
    assert_false(cf_trace_next(&r, &id, &has_draw, &got));
    cf_buf_deinit(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace__every_reason_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
