/*
 * test_media_command.c - pictures in render and lint, with the projector that
 * lies in the model's folder or is named.
 */
#include "tests/support/t.h"

#include "tests/support/program.h"
#include "tests/support/seeing_model.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_vision.h"
#include <jansson.h>

static store_path model, projector, other, context, wrong;

static int set_up(void **state)
{
    char text[1024];
    if (store_dir_make(state) != 0) {
        return -1;
    }
    store_dir_path(model, "model.gguf");
    store_dir_path(projector, "mmproj-model.gguf");
    store_dir_path(other, "mmproj-a.gguf");
    store_dir_path(context, "context.json");
    store_dir_path(wrong, "wrong.jinja");
    int n = snprintf(text, sizeof text,
                     "{\"messages\":[{\"role\":\"user\",\"content\":["
                     "{\"type\":\"text\",\"text\":\"see \"},"
                     "{\"type\":\"image\",\"image\":\"%s\"},"
                     "{\"type\":\"text\",\"text\":\" it\"}]}]}",
                     cf_seeing_red);
    static const char bad[] = CF_SEEING_TEMPLATE("<image>");
    return cf_seeing_write(model, projector, other) && cf_seeing_put(context, text, (size_t)n) &&
                   cf_seeing_put(wrong, bad, sizeof bad - 1)
               ? 0
               : -1;
}

/* The first projector by name is for another model; the second is taken. */
static void test_media__found_by_render(void **state)
{
    cf_program p;
    (void)state;
    NEED_PROGRAM();
    CF_PROGRAM(&p, "render", "-m", model, context);
    assert_int_equal(p.status, 0);
    T_TEXT(p.out.p, p.out.n, "<user>see <start_of_image> it<assistant>");
    assert_non_null(strstr(cf_buf_cstr(&p.err), "[media] message 1.content[1]: image "));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "render", "-m", model, "--mmproj", other, context);
    assert_int_equal(p.status, 3);
    assert_non_null(strstr(cf_buf_cstr(&p.err), "another model"));
    cf_program_deinit(&p);
}

static json_t *answer(const char *option)
{
    cf_program p;
    CF_PROGRAM(&p, "render", "-m", model, context, "--json", option);
    assert_int_equal(p.status, 0);
    json_t *v = json_loads(cf_buf_cstr(&p.out), 0, NULL);
    assert_non_null(v);
    cf_program_deinit(&p);
    return v;
}

/* The tokens are those that the model gets: markers, and a 0 for each row. */
static void test_media__counted_by_render(void **state)
{
    (void)state;
    NEED_PROGRAM();
    json_t *v = answer("--ids");
    const json_t *media = json_array_get(json_object_get(v, "media"), 0);
    assert_int_equal(json_integer_value(json_object_get(media, "rows")), CF_TINY_VISION_ROWS);
    assert_true(json_integer_value(json_object_get(media, "tokens")) > CF_TINY_VISION_ROWS);
    assert_int_equal(json_integer_value(json_object_get(media, "message")), 0);
    assert_int_equal(json_integer_value(json_object_get(media, "part")), 1);
    const json_t *ids = json_object_get(v, "ids");
    size_t n = json_array_size(ids), n_row = 0;
    for (size_t i = 0; i < n; i++) {
        n_row += json_integer_value(json_array_get(ids, i)) == 0;
    }
    assert_int_equal(n_row, CF_TINY_VISION_ROWS);
    json_t *ledger = answer("--ledger");
    assert_int_equal(json_integer_value(json_object_get(ledger, "tokens")), n);
    json_decref(ledger);
    json_decref(v);
}

/* E016 with the projector's marker: of the model, of a template for it, and
 * not of a template alone. */
static void test_media__lint(void **state)
{
    cf_program p;
    (void)state;
    NEED_PROGRAM();
    CF_PROGRAM(&p, "lint", "-m", model);
    assert_null(strstr(cf_buf_cstr(&p.out), "E016"));
    cf_program_deinit(&p);
    const char *const by[][8] = {{"lint", "-m", model, wrong, NULL},
                                 {"lint", "-m", model, "--mmproj", projector, wrong, NULL}};
    for (size_t i = 0; i < 2; i++) {
        cf_program_run(&p, by[i], NULL, 0);
        assert_int_equal(p.status, 1);
        assert_non_null(strstr(cf_buf_cstr(&p.out), "E016"));
        cf_program_deinit(&p);
    }
    CF_PROGRAM(&p, "lint", wrong);
    assert_null(strstr(cf_buf_cstr(&p.out), "E016"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "lint", "--mmproj", projector, wrong);
    assert_int_equal(p.status, 2);
    cf_program_deinit(&p);
}

/* In a comparison of templates a picture is one block, with its tokens. */
static void test_media__diff(void **state)
{
    cf_program p;
    (void)state;
    NEED_PROGRAM();
    CF_PROGRAM(&p, "diff", "-m", model, "-a", "model", "-b", wrong, context);
    assert_int_equal(p.status, 1);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "see [image "));
    assert_non_null(strstr(cf_buf_cstr(&p.out), " tokens] it"));
    assert_non_null(strstr(cf_buf_cstr(&p.out), "see <image> it"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "diff", "-m", model, "-a", "model", "-b", "model", "--level", "tokens", "--json",
               context);
    assert_int_equal(p.status, 0);
    cf_program_deinit(&p);
}

/* The encoder's sizes and memory are the model's to show. */
static void test_media__model(void **state)
{
    cf_program p;
    (void)state;
    NEED_PROGRAM();
    CF_PROGRAM(&p, "model", "-m", model, "--json");
    assert_int_equal(p.status, 0);
    json_t *v = json_loads(cf_buf_cstr(&p.out), 0, NULL);
    const json_t *e = json_array_get(json_object_get(v, "encoders"), 0);
    assert_string_equal(json_string_value(json_object_get(e, "projector")), "gemma3");
    assert_string_equal(json_string_value(json_object_get(e, "kind")), "image");
    assert_int_equal(json_integer_value(json_object_get(e, "row_width")), 64);
    json_int_t n = json_integer_value(json_object_get(e, "block_rows"));
    json_int_t width = json_integer_value(json_object_get(e, "width"));
    assert_true(n > 0 && width > 0);
    assert_true(json_integer_value(json_object_get(e, "block_bytes")) >= 5 * 4 * n * width);
    assert_true(json_integer_value(json_object_get(e, "file_bytes")) > 0);
    json_decref(v);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "model", "-m", model);
    assert_non_null(strstr(cf_buf_cstr(&p.out), "\nencoder of pictures\n"));
    cf_program_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_media__found_by_render),
        cmocka_unit_test(test_media__counted_by_render),
        cmocka_unit_test(test_media__lint),
        cmocka_unit_test(test_media__diff),
        cmocka_unit_test(test_media__model),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
