/*
 * test_media_run.c - pictures in run and replay: every form of a file, and the
 * history that keeps it.
 */
#include "tests/support/t.h"

#include "core/base/base64.h"
#include "tests/support/program.h"
#include "tests/support/seeing_model.h"
#include "tests/support/store_dir.h"
#include <jansson.h>
#include <unistd.h>

static store_path model, projector, other;
static store_path picture, database, second, exported;

static bool write_picture(void)
{
    cf_buf bytes = CF_BUF_INIT;
    cf_str base64 = cf_str_from(strchr(cf_seeing_red, ',') + 1);
    bool ok = cf_base64_get(&bytes, base64) && cf_seeing_put(picture, bytes.p, bytes.n);
    cf_buf_deinit(&bytes);
    return ok;
}

static int set_up(void **state)
{
    if (store_dir_make(state) != 0) {
        return -1;
    }
    store_dir_path(model, "model.gguf");
    store_dir_path(projector, "mmproj-model.gguf");
    store_dir_path(other, "mmproj-a.gguf");
    store_dir_path(picture, "red.png");
    store_dir_path(database, "one.db");
    store_dir_path(second, "two.db");
    store_dir_path(exported, "out.jsonl");
    return cf_seeing_write(model, projector, other) && write_picture() ? 0 : -1;
}

/* A picture by its bytes, in a pipe or in a data URL; an address is refused
 * with the reason, and nothing is fetched. */
static void test_media__forms(void **state)
{
    static const struct {
        const char *image;
        int status;
        const char *word;
    } forms[] = {
        {cf_seeing_red, 0, "["},
        {"-", 0, "["},
        {"data:image/png;base64,iVBO!", 3, "base64"},
        {"data:text/plain;base64,aGVsbG8=", 3, "not an image"},
        {"https://example.org/a.png", 3, "is an address"},
        {"/nowhere/a.png", 3, "/nowhere/a.png"},
    };
    cf_buf bytes = CF_BUF_INIT;
    (void)state;
    NEED_PROGRAM();
    assert_true(cf_base64_get(&bytes, cf_str_from(strchr(cf_seeing_red, ',') + 1)));
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        cf_program p;
        const char *const argv[] = {"run",          "--no-store", "-m", model,        "--image",
                                    forms[i].image, "-n",         "2",  "what is it", NULL};
        cf_program_run(&p, argv, bytes.p, bytes.n);
        assert_int_equal(p.status, forms[i].status);
        assert_non_null(strstr(cf_buf_cstr(&p.err), forms[i].word));
        assert_true(p.err.n < 300);
        cf_program_deinit(&p);
    }
    cf_buf_deinit(&bytes);
}

/* The UUID of the only conversation. */
static void find_conversation(const char *db, char uuid[40])
{
    cf_program p;
    CF_PROGRAM(&p, "history", "list", "--db", db, "--json");
    assert_int_equal(p.status, 0);
    json_t *v = json_loads(cf_buf_cstr(&p.out), JSON_DISABLE_EOF_CHECK, NULL);
    const char *id = json_string_value(json_object_get(v, "conversation"));
    assert_non_null(id);
    snprintf(uuid, 40, "%s", id);
    json_decref(v);
    cf_program_deinit(&p);
}

static void expect_same(const char *db)
{
    char uuid[40];
    cf_program p;
    find_conversation(db, uuid);
    CF_PROGRAM(&p, "replay", "--db", db, "-m", model, uuid);
    assert_int_equal(p.status, 0);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "identical"));
    cf_program_deinit(&p);
}

/* The picture comes from the history, also from one that was exported and
 * imported: its file may be gone. */
static void test_media__replayed(void **state)
{
    char uuid[40];
    cf_program p;
    (void)state;
    NEED_PROGRAM();
    CF_PROGRAM(&p, "run", "--db", database, "-m", model, "--image", picture, "--seed", "7", "-n",
               "12", "what is it");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    unlink(picture);
    expect_same(database);
    find_conversation(database, uuid);
    CF_PROGRAM(&p, "history", "export", "--db", database, "--format", "confab", uuid, "-o",
               exported);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "import", "--db", second, exported);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    expect_same(second);
    CF_PROGRAM(&p, "replay", "--db", second, "-m", model, "--mmproj", other, uuid);
    assert_int_equal(p.status, 3);
    cf_program_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_media__forms),
        cmocka_unit_test(test_media__replayed),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
