/*
 * test_sweep_past.c - sweeps of one plan by date: kept once, charted, compared
 * with the one before.
 */
#include "tests/support/t.h"

#include "tests/support/plan_file.h"
#include "tests/support/store_dir.h"
#include "tui/study/sweep/sweep_past.h"

enum { PROMPTS = 20 };

/* A finished sweep in which the first n prompts pass. */
static void add_sweep(cf_store *store, size_t n_passes)
{
    cf_sweep_plan plan;
    cf_sweep s;
    cf_error err;
    cf_buf b = CF_BUF_INIT;
    for (size_t i = 0; i < PROMPTS; i++) {
        cf_buf_addf(&b, "{\"name\":\"q%zu\",\"prompt\":\"question %zu\"}\n", i, i);
    }
    store_dir_put_text("p.jsonl", cf_buf_cstr(&b));
    cf_buf_deinit(&b);
    cf_plan_read(&plan, "plan.txt",
                 "prompts p.jsonl\nsampler hot temperature=1 repeat=2\ncheck x contains x\n");
    const cf_sweep_options o = {.store = store, .jobs = 1};
    T_OK(cf_sweep_init(&s, &plan, &o, &err), err);
    for (size_t i = 0; i < s.n; i++) {
        s.cell[i].result = json_pack("{s:{s:s}}", "message", "content", "r");
        s.cell[i].answer[0] =
            (cf_sweep_answer){.is_known = true, .passes = s.cell[i].item < n_passes};
    }
    T_OK(cf_sweep_past_add(&s, &err), err);
    cf_sweep_deinit(&s);
    cf_sweep_plan_deinit(&plan);
}

static size_t n_lines(const cf_buf *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        n += b->p[i] == '\n';
    }
    return n;
}

static void test_past__by_date(void **state)
{
    (void)state;
    cf_store *store;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    const cf_store_options o = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&store, store_dir_file("past.db"), &o, &err), err);
    char plan[300];
    snprintf(plan, sizeof plan, "%s", store_dir_file("plan.txt"));
    T_FAILS(cf_sweep_past_put(&out, store, plan, true, &err), CF_ENOTFOUND);
    add_sweep(store, 18);
    add_sweep(store, 18); /* the same: not again */
    T_OK(cf_sweep_past_put(&out, store, plan, true, &err), err);
    assert_int_equal(n_lines(&out), 2);
    assert_non_null(strstr(cf_buf_cstr(&out), "{\"compare\":[]}"));
    add_sweep(store, 7);
    cf_buf_reset(&out);
    T_OK(cf_sweep_past_put(&out, store, plan, true, &err), err);
    assert_int_equal(n_lines(&out), 3);
    assert_non_null(strstr(cf_buf_cstr(&out), "\"check\":\"x\",\"passed\":18.0,\"prompts\":20"));
    assert_non_null(strstr(cf_buf_cstr(&out), "\"check\":\"x\",\"passed\":7.0,\"prompts\":20"));
    assert_non_null(
        strstr(cf_buf_cstr(&out), "\"prompts\":20,\"better\":0,\"worse\":11,\"same\":9"));
    assert_non_null(strstr(cf_buf_cstr(&out), "\"verdict\":\"clear\""));
    cf_buf_reset(&out);
    T_OK(cf_sweep_past_put(&out, store, plan, false, &err), err);
    assert_non_null(strstr(cf_buf_cstr(&out), "2 sweeps, "));
    assert_non_null(strstr(cf_buf_cstr(&out), " 90 35 %, now 7 of 20  "));
    cf_buf_deinit(&out);
    cf_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_past__by_date),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
