/*
 * test_sweep_judge.c - what a judge's words mean, its reasons, and its agreement
 * with labels.
 */
#include "tests/support/t.h"

#include "core/base/alloc.h"
#include "tests/support/plan_file.h"
#include "tests/support/store_dir.h"
#include "tui/study/sweep/sweep_agree.h"
#include "tui/study/sweep/sweep_output.h"

/* A script with these replies of a judge. */
static void write_judge(const char *const *text, size_t n)
{
    cf_buf b = CF_BUF_INIT;
    json_t *v = json_pack("{s:[]}", "replies");
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(json_object_get(v, "replies"), json_pack("{s:s}", "text", text[i]));
    }
    cf_json_write(&b, v);
    store_dir_put_text("judge.json", cf_buf_cstr(&b));
    cf_buf_deinit(&b);
    json_decref(v);
}

/* As many prompts, a reply each, and a check that asks the judge. */
static void run(cf_sweep_plan *plan, cf_sweep *s, cf_store *store, const char *check,
                const char *const *lines, size_t n)
{
    cf_buf b = CF_BUF_INIT, plan_text = CF_BUF_INIT;
    cf_error err;
    for (size_t i = 0; i < n; i++) {
        cf_buf_addf(&b, "%s\n", lines[i]);
    }
    store_dir_put_text("p.jsonl", cf_buf_cstr(&b));
    cf_buf_reset(&b);
    cf_buf_adds(&b, "{\"replies\":[{\"text\":\"a\"}");
    for (size_t i = 1; i < n; i++) {
        cf_buf_adds(&b, ",{\"text\":\"a\"}");
    }
    cf_buf_adds(&b, "]}");
    store_dir_put_text("model.json", cf_buf_cstr(&b));
    cf_buf_addf(&plan_text, "prompts p.jsonl\nmodel script:%s\n", store_dir_file("model.json"));
    cf_buf_addf(&plan_text, "check kind %s script:%s Is it kind?\n", check,
                store_dir_file("judge.json"));
    cf_plan_read(plan, "plan.txt", cf_buf_cstr(&plan_text));
    const cf_sweep_options o = {.open = {.n_threads = 1}, .store = store, .jobs = 1};
    T_OK(cf_sweep_init(s, plan, &o, &err), err);
    T_OK(cf_sweep_run(s, &err), err);
    assert_int_equal(s->n_failed, 0);
    cf_buf_deinit(&b);
    cf_buf_deinit(&plan_text);
}

static void test_judge__words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int says; /* 1, 0, -1: no answer */
    } v[] = {{"yes", 1},
             {" \n**Yes**, it is.", 1},
             {"\"No.\"", 0},
             {"\xE2\x80\x9CNo\xE2\x80\x9D", 0},
             {"NO\xE3\x80\x82", 0},
             {"yes\xE2\x80\x94of course", 1},
             {"Yesterday I would have said no.", -1},
             {"Not really", -1},
             {"no-one can say", -1},
             {"no - it is not", 0},
             {"nob", -1},
             {"no\xC3\xA9", -1},
             {"Press Esc to stop the reply.", -1},
             {"", -1},
             {"***", -1}};
    enum { N = sizeof v / sizeof v[0] };
    const char *text[N], *line[N];
    char lines[N][40];
    cf_sweep_plan plan;
    cf_sweep s;
    for (size_t i = 0; i < N; i++) {
        text[i] = v[i].text;
        snprintf(lines[i], sizeof lines[i], "{\"prompt\":\"question %zu\"}", i);
        line[i] = lines[i];
    }
    write_judge(text, N);
    run(&plan, &s, NULL, "judge", line, N);
    for (size_t i = 0; i < N; i++) {
        const cf_sweep_answer *a = &s.cell[i].answer[0];
        assert_int_equal(a->is_known ? a->passes : -1, v[i].says);
        assert_non_null(a->why);
    }
    cf_buf out = CF_BUF_INIT;
    cf_sweep_put_cell(&out, &s, 6);
    assert_non_null(strstr(cf_buf_cstr(&out), "\"checks\":{\"kind\":null}"));
    assert_non_null(strstr(cf_buf_cstr(&out), "gave no answer: Yesterday I would have said no."));
    assert_string_equal(s.cell[1].answer[0].why, "**Yes**, it is.");
    cf_buf_deinit(&out);
    cf_sweep_deinit(&s);
    cf_sweep_plan_deinit(&plan);
}

/* Labels of three kinds; a cell without an answer is in no agreement. */
static void test_judge__agreement(void **state)
{
    (void)state;
    static const char *const says[] = {"yes", "yes", "no", "no", "yes", "well"};
    static const char *const lines[] = {
        "{\"prompt\":\"a\",\"label\":true}",
        "{\"prompt\":\"b\",\"label\":\"Yes\"}",
        "{\"prompt\":\"c\",\"label\":{\"kind\":false}}",
        "{\"prompt\":\"d\",\"label\":\"yes\"}",
        "{\"prompt\":\"e\",\"label\":7}",
        "{\"prompt\":\"f\",\"label\":\"no\"}",
    };
    cf_sweep_plan plan;
    cf_sweep s;
    cf_sweep_agreement a;
    cf_buf out = CF_BUF_INIT;
    write_judge(says, 6);
    run(&plan, &s, NULL, "judge", lines, 6);
    assert_true(cf_sweep_agree(&s, 0, &a));
    assert_int_equal(a.count[CF_SAYS_YES][CF_SAYS_YES], 2);
    assert_int_equal(a.count[CF_SAYS_YES][CF_SAYS_NO], 1);
    assert_int_equal(a.count[CF_SAYS_NO][CF_SAYS_NO], 1);
    assert_int_equal(a.count[CF_SAYS_NO][CF_SAYS_NOTHING], 1);
    assert_int_equal(a.n_answered, 4);
    assert_int_equal(a.n_agree, 3);
    /* (3/4 - 1/2) / (1 - 1/2), with chance 2/4 * 3/4 + 2/4 * 1/4 */
    assert_true(a.has_kappa && a.kappa > 0.4999 && a.kappa < 0.5001);
    cf_sweep_put_end(&out, &s, NULL, 0);
    assert_non_null(strstr(cf_buf_cstr(&out),
                           "\"judges\":[{\"check\":\"kind\",\"answered\":4,\"agree\":3,"
                           "\"agreement\":0.75,\"kappa\":0.5,\"table\":{\"yes\":{\"no\":1,"
                           "\"yes\":2,\"none\":0},\"no\":{\"no\":1,\"yes\":0,\"none\":1}}}]"));
    cf_buf_reset(&out);
    cf_sweep_put_table(&out, &s, NULL, 0);
    assert_non_null(strstr(cf_buf_cstr(&out), "agrees with the label on 3 of 4, kappa 0.50"));
    cf_buf_deinit(&out);
    cf_sweep_deinit(&s);
    cf_sweep_plan_deinit(&plan);
}

/* Thinking comes before the answer and is no part of it, however long. */
static void test_judge__thinking(void **state)
{
    (void)state;
    static const char *const lines[] = {"{\"prompt\":\"a\"}"};
    cf_sweep_plan plan;
    cf_sweep s;
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, "{\"replies\":[{\"thinking\":\"");
    for (int i = 0; i < 300; i++) {
        cf_buf_addf(&b, "No, point %d is not it. ", i);
    }
    cf_buf_adds(&b, "\",\"text\":\"Yes.\"}]}");
    store_dir_put_text("judge.json", cf_buf_cstr(&b));
    cf_buf_deinit(&b);
    run(&plan, &s, NULL, "judge", lines, 1);
    assert_true(s.cell[0].answer[0].is_known && s.cell[0].answer[0].passes);
    assert_string_equal(s.cell[0].answer[0].why, "Yes.");
    cf_sweep_deinit(&s);
    cf_sweep_plan_deinit(&plan);
}

/* An answer is kept with its words and not asked for again. */
static void test_judge__kept(void **state)
{
    (void)state;
    static const char *const says[] = {"No, it is rude."};
    static const char *const lines[] = {"{\"prompt\":\"a\"}"};
    cf_sweep_plan plan;
    cf_sweep s;
    cf_error err;
    cf_store *store;
    const cf_store_options o = {.flags = CF_STORE_CREATE};
    T_OK(cf_store_open(&store, store_dir_file("judge.db"), &o, &err), err);
    for (int i = 0; i < 2; i++) {
        write_judge(says, i == 0 ? 1 : 0);
        run(&plan, &s, store, "judge", lines, 1);
        assert_true(s.cell[0].answer[0].is_known && !s.cell[0].answer[0].passes);
        assert_string_equal(s.cell[0].answer[0].why, "No, it is rude.");
        cf_sweep_deinit(&s);
        cf_sweep_plan_deinit(&plan);
    }
    cf_store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_judge__words),
        cmocka_unit_test(test_judge__agreement),
        cmocka_unit_test(test_judge__thinking),
        cmocka_unit_test(test_judge__kept),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
