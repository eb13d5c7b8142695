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

/* All numbers of a draw come back, and of a record that is cut nothing does. */
static void test_trace__whole_or_not_at_all(void **state)
{
    (void)state;
    cf_buf bytes = CF_BUF_INIT;
    cf_trace_writer w = {0};
    cf_trace_reader r;
    cf_draw got;
    cf_token id;
    bool has_draw;
    cf_draw put = {.id = 300,
                   .r = 0.123456789012345,
                   .n_draw = 70000,
                   .entropy_bits = 1.5f,
                   .log_z = -2.25f,
                   .allowed_mass = 0.75f,
                   .n_step = 2,
                   .n_top = 2};
    put.step[0] = (cf_chain_step){"vocabulary", 70000};
    put.step[1] = (cf_chain_step){"top-k", 2};
    for (size_t i = 0; i < 2; i++) {
        put.top[i] = (cf_candidate){.id = (cf_token)(300 + i),
                                    .logit = 3.5f - (float)i,
                                    .logit_post = 3.0f - (float)i,
                                    .p_raw = 0.5f / (float)(i + 1),
                                    .p_post = 0.625f / (float)(i + 1),
                                    .rank = (uint32_t)i + 1};
    }
    put.chosen = put.top[0];
    cf_trace_put(&w, &bytes, 300, &put);
    cf_trace_open(&r, cf_buf_str(&bytes));
    assert_true(cf_trace_next(&r, &id, &has_draw, &got));
    assert_int_equal(id, 300);
    assert_true(has_draw);
    assert_true(got.r == put.r && got.entropy_bits == put.entropy_bits);
    assert_true(got.log_z == put.log_z && got.allowed_mass == put.allowed_mass);
    assert_int_equal(got.n_draw, put.n_draw);
    assert_int_equal(got.n_step, 2);
    assert_int_equal(got.n_top, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(got.step[i].name, put.step[i].name);
        assert_int_equal(got.step[i].n_left, put.step[i].n_left);
        assert_int_equal(got.top[i].id, put.top[i].id);
        assert_int_equal(got.top[i].rank, put.top[i].rank);
        assert_true(got.top[i].logit == put.top[i].logit);
        assert_true(got.top[i].logit_post == put.top[i].logit_post);
    }
    for (size_t n = 0; n < bytes.n; n++) {
        cf_trace_open(&r, cf_str_make(bytes.p, n));
        assert_false(cf_trace_next(&r, &id, &has_draw, &got));
    }
    cf_buf_deinit(&bytes);
}

/* Names of steps come back up to the bound, and longer ones up to it. */
static void test_trace__names_at_the_bound(void **state)
{
    (void)state;
    static const char longest[] = "abcdefghijklmnopqrstuvwxyz";
    for (size_t n = CF_TRACE_NAME - 3; n < sizeof longest; n++) {
        cf_buf bytes = CF_BUF_INIT;
        cf_trace_writer w = {0};
        cf_trace_reader r;
        cf_draw got;
        cf_token id;
        bool has_draw;
        char name[sizeof longest] = {0};
        memcpy(name, longest, n);
        cf_draw put = {.n_step = 1, .step = {{name, 1}}};
        cf_trace_put(&w, &bytes, 1, &put);
        cf_trace_open(&r, cf_buf_str(&bytes));
        assert_true(cf_trace_next(&r, &id, &has_draw, &got));
        name[n < CF_TRACE_NAME - 1 ? n : CF_TRACE_NAME - 1] = '\0';
        assert_string_equal(got.step[0].name, name);
        cf_buf_deinit(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace__every_reason_comes_back),
        cmocka_unit_test(test_trace__whole_or_not_at_all),
        cmocka_unit_test(test_trace__names_at_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
