/*
 * test_model_fit.c - the context that fits is the largest one whose plan does.
 */
#include "tests/support/t.h"
#include "tests/support/tiny_gguf.h"
#include "tui/cli/inspect/model_fit.h"

static void *bytes;
static cf_engine *engine;

static int set_up(void **state)
{
    (void)state;
    size_t n;
    cf_error err;
    bytes = cf_tiny_gguf(&(cf_tiny_options){.arch = "llama"}, &n);
    return cf_engine_open_memory(&engine, bytes, n, NULL, &err) == CF_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    cf_engine_close(engine);
    cf_tiny_free(bytes);
    return 0;
}

static uint64_t total(uint32_t n_ctx)
{
    cf_plan plan;
    cf_error err;
    assert_int_equal(cf_engine_plan(engine, n_ctx, CF_CACHE_DEFAULT, &plan, &err), CF_OK);
    return plan.session_bytes + plan.shared_bytes + plan.mapped_bytes;
}

static cf_model_fit fit_with(uint32_t n_ctx, uint64_t available)
{
    cf_model_fit fit;
    cf_error err;
    assert_int_equal(
        cf_model_fit_find(&fit, engine, n_ctx, CF_CACHE_DEFAULT, available, &err), CF_OK);
    return fit;
}

static void test_fit__largest_context(void **state)
{
    (void)state;
    uint32_t trained = cf_engine_get_info(engine).n_ctx_train;
    uint64_t all = total(trained);
    assert_true(trained > 64);
    for (uint64_t available = total(1); available < all; available += (all - total(1)) / 7 + 1) {
        cf_model_fit fit = fit_with(8, available);
        assert_true(fit.largest_ctx >= 1 && fit.largest_ctx < trained);
        assert_int_equal(fit.largest_bytes, total(fit.largest_ctx));
        assert_true(fit.largest_bytes <= available);
        assert_true(total(fit.largest_ctx + 1) > available);
    }
    assert_int_equal(fit_with(8, all).largest_ctx, trained);
    assert_int_equal(fit_with(8, total(1) - 1).largest_ctx, 0);
    assert_int_equal(fit_with(0, all).bytes, total(0));
}

static void says(uint32_t n_ctx, uint64_t available, const char *begin, const char *second)
{
    cf_buf out = CF_BUF_INIT;
    cf_model_fit fit = fit_with(n_ctx, available);
    cf_model_fit_text(&out, &fit);
    assert_int_equal(strncmp(cf_buf_cstr(&out), begin, strlen(begin)), 0);
    if (second != NULL) {
        assert_non_null(strstr(cf_buf_cstr(&out), second));
    }
    cf_buf_deinit(&out);
}

static void test_fit__in_words(void **state)
{
    (void)state;
    says(8, 0, "needs ", NULL);
    says(8, total(8), "runs here: ", "\nlargest context that fits: ");
    says(64, total(8), "does not fit: ", "(--ctx ");
    says(8, total(1) - 1, "does not fit: ", "\nno context fits: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit__largest_context),
        cmocka_unit_test(test_fit__in_words),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
