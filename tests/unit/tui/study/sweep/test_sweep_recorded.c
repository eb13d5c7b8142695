/*
 * test_sweep_recorded.c - saved conversations are answered again as their replies
 * were written, unless the plan names a sampler.
 */
#include "tests/support/t.h"

#include "tests/support/program.h"
#include "tests/support/store_dir.h"

/* Writes a reply; its text is wanted again. */
static void write_reply(const char *db, const char *option, const char *value, const char *question,
                        cf_buf *reply)
{
    cf_program p;
    CF_PROGRAM(&p, "run", "--db", db, "-m", "bundled", "--seed", "5", "-n", "24", option, value,
               question);
    assert_int_equal(p.status, 0);
    cf_str text = cf_str_trim(cf_buf_str(&p.out));
    cf_buf_add(reply, text.p, text.n);
    assert_true(reply->n > 0);
    cf_program_deinit(&p);
}

/* Whether a sweep of the plan gives a reply that begins so. */
static bool gives(const char *db, const char *plan, const char *reply)
{
    char want[200];
    cf_program p;
    store_dir_put_text("plan.txt", plan);
    CF_PROGRAM(&p, "sweep", "--db", db, "-m", "bundled", "--json", "--no-store",
               store_dir_file("plan.txt"));
    assert_int_equal(p.status, 0);
    snprintf(want, sizeof want, "\"reply\":\"%.100s", reply);
    bool has = strstr(cf_buf_cstr(&p.out), want) != NULL;
    cf_program_deinit(&p);
    return has;
}

static void test_sweep__as_recorded(void **state)
{
    (void)state;
    NEED_PROGRAM();
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    char db[300];
    snprintf(db, sizeof db, "%s", store_dir_file("recorded.db"));
    cf_buf warm = CF_BUF_INIT, forced = CF_BUF_INIT;
    store_dir_put_text("choice.json", "{\"enum\":[\"lint\",\"render\"]}");
    write_reply(db, "--temperature", "2", "Tell me a joke. Hello there.", &warm);
    assert_true(gives(db, "conversations\n", cf_buf_cstr(&warm)));
    assert_false(gives(db, "conversations\nsampler greedy tokens=24\n", cf_buf_cstr(&warm)));
    write_reply(db, "--schema", store_dir_file("choice.json"), "Tell me a joke", &forced);
    assert_int_equal(cf_buf_cstr(&forced)[0], '"');
    assert_true(gives(db, "conversations\n", "\\\""));
    assert_true(gives(db, "conversations\nsampler greedy tokens=24\n", "\\\""));
    cf_buf_deinit(&warm);
    cf_buf_deinit(&forced);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sweep__as_recorded),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
