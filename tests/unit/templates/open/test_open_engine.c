/*
 * test_open_engine.c - which options open an engine, and the errors of those that do not.
 */
#include "templates/open.h"
#include "templates/open/open_plugin.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

/* Each option that a plug-in lacks is refused by its name, with one only. */
static void test_plugin__refuses_each_option(void **state)
{
    (void)state;
    static const char *const names[] = {"x"};
    const struct {
        const char *option;
        cf_open_options o;
    } rows[] = {{"--exact", {.arithmetic = CF_ARITHMETIC_EXACT}},
                {"--activations", {.arithmetic = CF_ARITHMETIC_8}},
                {"--kernels", {.kernel_set = "ref"}},
                {"--load-as", {.load_as = "q8_0"}},
                {"--lora", {.lora = names, .n_lora = 1}},
                {"--steer", {.steer = names, .n_steer = 1}},
                {"--mmproj", {.mmproj = "x"}},
                {"--draft-model", {.draft_model = "x"}},
                {NULL, {.n_ctx = 64}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cf_error err = {0};
        cf_open_options o = rows[i].o;
        o.model = "a.gguf";
        T_OK(cf_open__plugin_check(&o, &err), err);
        o.model = "llama:a.gguf";
        if (rows[i].option != NULL) {
            T_FAILS(cf_open__plugin_check(&o, &err), CF_EINVAL);
            assert_ptr_equal(strstr(err.text, rows[i].option), err.text);
        } else {
            T_OK(cf_open__plugin_check(&o, &err), err);
        }
    }
    cf_error err = {0};
    cf_open_options o = {.model = "a.gguf", .has_gpu_layers = true};
    T_FAILS(cf_open__plugin_check(&o, &err), CF_EINVAL);
    o.model = "llama:a.gguf";
    T_OK(cf_open__plugin_check(&o, &err), err);
}

/* A word that is none is refused before the model is looked for. */
static void test_open__blas(void **state)
{
    (void)state;
    static const char *const known[] = {NULL, "auto", "on", "off"};
    static const char *const unknown[] = {"", "of", "offf", "ON", "1"};
    cf_open_options o = {.model = "/no/such.gguf"};
    cf_engine *engine = NULL;
    cf_error err = {0};
    for (size_t i = 0; i < 4; i++) {
        o.encoder_blas = known[i];
        T_FAILS(cf_open_engine(&engine, &o, true, &err), CF_ENOTFOUND);
    }
    for (size_t i = 0; i < 5; i++) {
        o.encoder_blas = unknown[i];
        T_FAILS(cf_open_engine(&engine, &o, true, &err), CF_EINVAL);
    }
}

/* A file that is no model is named in the error. */
static void test_open__names_the_file(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "GGUF",
                                        "no model at all, but long enough for a header"};
    for (size_t i = 0; i < 3; i++) {
        cf_engine *engine = NULL;
        cf_error err = {0};
        const char *path = store_dir_put_text("none.gguf", texts[i]);
        const cf_open_options o = {.model = path};
        T_FAILS(cf_open_engine(&engine, &o, true, &err), CF_EFORMAT);
        if (strstr(err.text, path) == NULL) {
            fail_msg("%s does not name %s", err.text, path);
        }
        assert_null(engine);
    }
}

static void test_adapters__none_and_missing(void **state)
{
    (void)state;
    static const char *const missing[] = {"/no/such.gguf=0.5"};
    static const char *const no_scale[] = {"/no/such.gguf=half"};
    cf_opened_adapters a;
    cf_engine *engine = NULL;
    cf_error err = {0};
    cf_open_options o = {0};
    T_OK(cf_open_engine(&engine, &o, false, &err), err);
    memset(&a, 0xFF, sizeof a);
    T_OK(cf_open_use_adapters(&a, engine, &o, NULL, 0, &err), err);
    assert_int_equal(a.n, 0);
    assert_null(a.steering);
    cf_opened_adapters_close(&a);
    o.n_lora = 1;
    o.lora = missing;
    T_FAILS(cf_open_use_adapters(&a, engine, &o, NULL, 0, &err), CF_ENOTFOUND);
    o.lora = no_scale;
    T_FAILS(cf_open_use_adapters(&a, engine, &o, NULL, 0, &err), CF_EINVAL);
    cf_engine_close(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plugin__refuses_each_option),
        cmocka_unit_test(test_open__blas),
        cmocka_unit_test(test_open__names_the_file),
        cmocka_unit_test(test_adapters__none_and_missing),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
