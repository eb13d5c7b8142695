/*
 * test_bisect_settings.c - which setting of a saved reply made it: of two runs of
 * the bundled model that differ in several.
 */
#include "tests/support/t.h"

#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"

static const char question[] = "What is a chat template?";

/* Writes a reply with options and gives the conversation's id. */
static void write_reply(const char *db, const char *const *options, size_t n, char id[40])
{
    const char *v[4] = {"--top-k", "40", "--top-k", "40"};
    cf_program p;
    for (size_t i = 0; i < n; i++) {
        v[i] = options[i];
    }
    CF_PROGRAM(&p, "run", "--db", db, "-m", "bundled", "--tools", "off", "-n", "40", v[0], v[1],
               v[2], v[3], question);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "--db", db, "list", "--json"); /* the newest first */
    const char *at = strstr(cf_buf_cstr(&p.out), "\"conversation\":\"");
    assert_non_null(at);
    snprintf(id, 40, "%.36s", at + strlen("\"conversation\":\""));
    cf_program_deinit(&p);
}

static void check(const char *db, const char *good, const char *bad, const char *condition,
                  const char *want)
{
    cf_program p;
    CF_PROGRAM(&p, "bisect", "--db", db, "-m", "bundled", "--settings", "--while", condition,
               "--good", good, "--bad", bad, "--json", "--yes");
    if (p.status != 0) {
        fail_msg("%s", cf_buf_cstr(&p.err));
    }
    assert_non_null(strstr(cf_buf_cstr(&p.out), "{\"of\":\"settings\","));
    if (strstr(cf_buf_cstr(&p.out), want) == NULL) {
        fail_msg("%s", cf_buf_cstr(&p.out));
    }
    if (strstr(cf_buf_cstr(&p.out), "\"alone\":true,\"holds\":true") == NULL) {
        fail_msg("%s", cf_buf_cstr(&p.out));
    }
    cf_program_deinit(&p);
}

static void test_settings__the_one_that_matters(void **state)
{
    (void)state;
    NEED_PROGRAM();
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    const char *db = store_dir_file("settings.db");
    char plain[40], choice[40], zephyr[40], system[40];
    store_dir_put_text("choice.json", "{\"enum\":[\"lint\",\"render\"]}");
    const char *const a[] = {"--seed", "7", "--schema", store_dir_file("choice.json")};
    const char *const b[] = {"--seed", "9", "-t", "zephyr"};
    const char *const s[] = {"--min-p", "0.1", "--system", "You are a duck."};
    write_reply(db, NULL, 0, plain);
    write_reply(db, a, 4, choice);
    write_reply(db, b, 4, zephyr);
    write_reply(db, s, 4, system);
    check(db, plain, choice, "reply:\\A\"(lint|render)\"\\s*\\z",
          "\"good\":[\"constraint=\"],\"bad\":[\"constraint={\\\"schema\\\":");
    check(db, plain, zephyr, "not-contains:the model reads", "\"bad\":[\"template=\\\"");
    check(db, plain, system, "command:grep -q duck",
          "\"bad\":[\"system=\\\"You are a duck.\\\"\"]");
}

/* Of models in order, the first whose reply is bad. */
static void test_settings__between_models(void **state)
{
    (void)state;
    NEED_PROGRAM();
    if (!cf_program_has_model()) {
        T_SKIP("no bundled model in this tree");
    }
    const char *db = store_dir_file("models.db");
    char id[40], other[180];
    cf_program p;
    cf_error err;
    size_t n;
    const cf_tiny_options o = {
        .seed = 1, .chat_template = "{% for m in messages %}{{ m.content }}\n{% endfor %}"};
    void *bytes = cf_tiny_gguf(&o, &n);
    T_OK(cf_os_write_file(store_dir_file("other.gguf"), bytes, n, 0600, &err), err);
    cf_tiny_free(bytes);
    snprintf(other, sizeof other, "model:%s", store_dir_file("other.gguf"));
    write_reply(db, NULL, 0, id);
    CF_PROGRAM(&p, "bisect", "--db", db, "--while", "not-contains:the model reads", "--good",
               "model:bundled", "--between", "model:bundled", "--between", other, "--bad", other,
               "-n", "20", "--json", id);
    assert_int_equal(p.status, 0);
    const char *want = "{\"of\":\"model\",\"version\":2,\"versions\":4,\"from\":\"model:bundled\",";
    assert_int_equal(strncmp(cf_buf_cstr(&p.out), want, strlen(want)), 0);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "bisect", "--db", db, "--while", "not-contains:the model reads", "--good",
               "model:bundled", "--between", "chatml", "--bad", other, id);
    assert_int_equal(p.status, 2);
    cf_program_deinit(&p);
}

/* An imported reply has no settings. */
static void test_settings__not_recorded(void **state)
{
    (void)state;
    NEED_PROGRAM();
    const char *db = store_dir_file("imported.db");
    cf_program p;
    store_dir_put_text("c.json", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
                                 "{\"role\":\"assistant\",\"content\":\"b\"}]}");
    CF_PROGRAM(&p, "history", "--db", db, "import", store_dir_file("c.json"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "--db", db, "list", "--json");
    char id[40];
    const char *at = strstr(cf_buf_cstr(&p.out), "\"conversation\":\"");
    assert_non_null(at);
    snprintf(id, sizeof id, "%.36s", at + strlen("\"conversation\":\""));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "bisect", "--db", db, "--settings", "--while", "template-error", "--good", id,
               "--bad", id, "-t", "chatml");
    assert_int_not_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "no settings are recorded"));
    cf_program_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings__the_one_that_matters),
        cmocka_unit_test(test_settings__between_models),
        cmocka_unit_test(test_settings__not_recorded),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
