/*
 * test_steer_command.c - --steer: applied, recorded with the reply, replayed.
 */
#include <string.h>

#include "core/json/json.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

#define NEEDS_MODEL()                            \
    NEED_PROGRAM();                              \
    if (!cf_program_has_model()) {               \
        T_SKIP("no bundled model in this tree"); \
    }

/* A vector toward a token, in the folder of the test. */
static const char *make_vector(void)
{
    cf_program p;
    const char *path = store_dir_file("vector.gguf");
    CF_PROGRAM(&p, "inside", "steer", "make", "-o", path, "--row", "<tool_call>");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    return path;
}

/* The output of a run that must succeed. */
static void output(cf_buf *out, const char *const *argv)
{
    cf_program p;
    cf_program_run(&p, argv, NULL, 0);
    if (p.status != 0) {
        fail_msg("%s: status %d: %s", argv[0], p.status, cf_buf_cstr(&p.err));
    }
    cf_buf_restart(out);
    cf_buf_add(out, p.out.p, p.out.n);
    cf_program_deinit(&p);
}

#define OUTPUT(out, ...) output((out), (const char *const[]){__VA_ARGS__, NULL})

static void test_steer__is_applied(void **state)
{
    (void)state;
    NEEDS_MODEL();
    const char *path = make_vector();
    cf_buf plain = CF_BUF_INIT, steered = CF_BUF_INIT, none = CF_BUF_INIT, spec = CF_BUF_INIT;
    cf_buf_addf(&spec, "%s=60", path);
    OUTPUT(&plain, "complete", "-n", "6", "--json", "hello there");
    OUTPUT(&steered, "complete", "-n", "6", "--json", "--steer", cf_buf_cstr(&spec), "hello there");
    const char *a = strstr(cf_buf_cstr(&plain), "\"ids\":");
    const char *b = strstr(cf_buf_cstr(&steered), "\"ids\":");
    assert_true(a != NULL && b != NULL && strncmp(a, b, 30) != 0);
    /* A file of a layer that the model does not have, and scale 0: nothing. */
    cf_buf_restart(&spec);
    cf_buf_addf(&spec, "%s=60:90-99", path);
    OUTPUT(&none, "complete", "-n", "6", "--json", "--steer", cf_buf_cstr(&spec), "hello there");
    const char *c = strstr(cf_buf_cstr(&none), "\"ids\":");
    assert_true(c != NULL && strncmp(a, c, 30) == 0);
    cf_buf_deinit(&plain);
    cf_buf_deinit(&steered);
    cf_buf_deinit(&none);
    cf_buf_deinit(&spec);
}

/* The UUID of the only conversation. */
static void only_uuid(cf_buf *out, const char *db)
{
    cf_buf list = CF_BUF_INIT;
    json_t *v = NULL;
    cf_error err;
    OUTPUT(&list, "history", "list", "--db", db, "--json");
    T_OK(cf_json_read(&v, list.p, strcspn(list.p, "\n"), &err), err);
    cf_str id = cf_json_get_str(v, "conversation");
    cf_buf_add(out, id.p, id.n);
    json_decref(v);
    cf_buf_deinit(&list);
}

static void test_steer__is_recorded_and_replayed(void **state)
{
    (void)state;
    NEEDS_MODEL();
    const char *db = store_dir_file("steer.db");
    cf_buf spec = CF_BUF_INIT, other = CF_BUF_INIT, out = CF_BUF_INIT, id = CF_BUF_INIT;
    const char *path = make_vector();
    cf_buf_addf(&spec, "%s=-20:2-5", path);
    cf_buf_addf(&other, "%s=40", path);
    OUTPUT(&out, "run", "--db", db, "-n", "12", "--steer", cf_buf_cstr(&spec), "What time is it?");
    only_uuid(&id, db);
    OUTPUT(&out, "history", "show", "--db", db, cf_buf_cstr(&id));
    assert_non_null(strstr(cf_buf_cstr(&out), "steering: "));
    assert_non_null(strstr(cf_buf_cstr(&out), "vector.gguf x -20:2-5"));
    OUTPUT(&out, "replay", "--db", db, cf_buf_cstr(&id));
    assert_non_null(strstr(cf_buf_cstr(&out), "identical"));
    cf_program p;
    CF_PROGRAM(&p, "replay", "--db", db, "--steer", cf_buf_cstr(&other), cf_buf_cstr(&id));
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "other steering"));
    cf_program_deinit(&p);
    /* Looking into the reply finds the steered model: what was written first is
     * what the lens has at its end. */
    OUTPUT(&out, "inside", "lens", "--db", db, "--json", cf_buf_cstr(&id));
    cf_buf_deinit(&spec);
    cf_buf_deinit(&other);
    cf_buf_deinit(&out);
    cf_buf_deinit(&id);
}

static void test_steer__refuses(void **state)
{
    (void)state;
    NEEDS_MODEL();
    const char *path = make_vector();
    cf_buf scale = CF_BUF_INIT, range = CF_BUF_INIT;
    cf_buf_addf(&scale, "%s=strong", path);
    cf_buf_addf(&range, "%s:5-2", path);
    const char *const bad[] = {"/nowhere.gguf", cf_buf_cstr(&scale), cf_buf_cstr(&range),
                               store_dir_put_text("text.gguf", "no model")};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cf_program p;
        CF_PROGRAM(&p, "complete", "-n", "1", "--steer", bad[i], "hello");
        assert_true(p.status == 2 || p.status == 3);
        cf_program_deinit(&p);
    }
    cf_program p;
    CF_PROGRAM(&p, "tokenize", "--steer", path, "hello"); /* computes nothing */
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "-m", "http://127.0.0.1:9", "--no-store", "--steer", path, "hello");
    assert_int_equal(p.status, 2);
    cf_program_deinit(&p);
    cf_buf_deinit(&scale);
    cf_buf_deinit(&range);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steer__is_applied),
        cmocka_unit_test(test_steer__is_recorded_and_replayed),
        cmocka_unit_test(test_steer__refuses),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
