/*
 * test_media_run.c - pictures in run and replay: every form of a file, and the
 * history that keeps it.
 */
#include "tests/support/t.h"

#include <jansson.h>
#include <unistd.h>

#include "core/base/base64.h"
#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/tiny_vision.h"

static const char red[] =
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGM4IccFAAKiAP"
    "HCKn5eAAAAAElFTkSuQmCC";

static char folder[64];
static char model[96], projector[96], other[96], context[96], wrong[96];
static char picture[96], database[96], second[96], exported[96];

#define PARTS(marker)                                              \
    "{% for m in messages %}<{{ m.role }}>"                        \
    "{% if m.content is string %}{{ m.content }}{% else %}"        \
    "{% for p in m.content %}{% if p.type == 'image' %}" marker    \
    "{% elif p.type == 'text' %}{{ p.text }}{% endif %}{% endfor " \
    "%}{% endif %}{% endfor %}<assistant>"

static bool write_file(const char *path, const void *p, size_t n)
{
    cf_error err;
    return cf_os_write_file(path, p, n, 0600, &err) == CF_OK;
}

static bool write_model(void)
{
    size_t n;
    cf_tiny_options tiny = {.arch = "gemma3",
                            .seed = 5,
                            .chat_template = PARTS("<start_of_image>")};
    void *bytes = cf_tiny_gguf(&tiny, &n);
    bool ok = write_file(model, bytes, n);
    cf_tiny_free(bytes);
    cf_tiny_buf file = cf_tiny_vision("gemma3", CF_TINY_VISION_TENSORS, 2, 64);
    ok = ok && write_file(projector, file.p, file.n);
    cf_tiny_free(file.p);
    file = cf_tiny_vision("gemma3", CF_TINY_VISION_TENSORS, 2, 32);
    ok = ok && write_file(other, file.p, file.n);
    cf_tiny_free(file.p);
    return ok;
}

static bool write_picture(void)
{
    cf_buf bytes = CF_BUF_INIT;
    cf_str base64 = cf_str_from(strchr(red, ',') + 1);
    bool ok =
        cf_base64_get(&bytes, base64) && write_file(picture, bytes.p, bytes.n);
    cf_buf_deinit(&bytes);
    return ok;
}

static int set_up(void **state)
{
    char text[1024];
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/confab-test-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    snprintf(model, sizeof model, "%s/model.gguf", folder);
    snprintf(projector, sizeof projector, "%s/mmproj-model.gguf", folder);
    snprintf(other, sizeof other, "%s/mmproj-a.gguf", folder);
    snprintf(context, sizeof context, "%s/context.json", folder);
    snprintf(wrong, sizeof wrong, "%s/wrong.jinja", folder);
    snprintf(picture, sizeof picture, "%s/red.png", folder);
    snprintf(database, sizeof database, "%s/one.db", folder);
    snprintf(second, sizeof second, "%s/two.db", folder);
    snprintf(exported, sizeof exported, "%s/out.jsonl", folder);
    int n = snprintf(text, sizeof text,
                     "{\"messages\":[{\"role\":\"user\",\"content\":["
                     "{\"type\":\"text\",\"text\":\"see \"},"
                     "{\"type\":\"image\",\"image\":\"%s\"},"
                     "{\"type\":\"text\",\"text\":\" it\"}]}]}",
                     red);
    static const char bad[] = PARTS("<image>");
    return write_model() && write_picture() &&
                   write_file(context, text, (size_t)n) &&
                   write_file(wrong, bad, sizeof bad - 1)
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(model);
    unlink(projector);
    unlink(other);
    unlink(context);
    unlink(wrong);
    unlink(picture);
    unlink(exported);
    const char *const databases[] = {database, second};
    for (size_t i = 0; i < 2; i++) {
        static const char *const ends[] = {"", "-wal", "-shm"};
        for (size_t k = 0; k < 3; k++) {
            char path[112];
            snprintf(path, sizeof path, "%s%s", databases[i], ends[k]);
            unlink(path);
        }
    }
    return rmdir(folder);
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
        {red, 0, "["},
        {"-", 0, "["},
        {"data:image/png;base64,iVBO!", 3, "base64"},
        {"data:text/plain;base64,aGVsbG8=", 3, "not an image"},
        {"https://example.org/a.png", 3, "is an address"},
        {"/nowhere/a.png", 3, "/nowhere/a.png"},
    };
    cf_buf bytes = CF_BUF_INIT;
    (void)state;
    NEED_PROGRAM();
    assert_true(cf_base64_get(&bytes, cf_str_from(strchr(red, ',') + 1)));
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        cf_program p;
        const char *const argv[] = {
            "run",          "--no-store", "-m", model,        "--image",
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
    CF_PROGRAM(&p, "run", "--db", database, "-m", model, "--image", picture,
               "--seed", "7", "-n", "12", "what is it");
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    unlink(picture);
    expect_same(database);
    find_conversation(database, uuid);
    CF_PROGRAM(&p, "history", "export", "--db", database, "--format", "confab",
               uuid, "-o", exported);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "history", "import", "--db", second, exported);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
    expect_same(second);
    CF_PROGRAM(&p, "replay", "--db", second, "-m", model, "--mmproj", other,
               uuid);
    assert_int_equal(p.status, 3);
    cf_program_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_media__forms),
        cmocka_unit_test(test_media__replayed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
