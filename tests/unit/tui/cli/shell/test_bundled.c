/*
 * test_bundled.c - the model that comes with the program: where -m may be left
 * out, "bundled" by name, and what a build without one says.
 */
#include <string.h>

#include "core/api/bundled.h"
#include "core/api/engine.h"
#include "templates/builtin.h"
#include "tests/support/program.h"
#include "tests/support/t.h"

#define NEEDS_MODEL()                            \
    if (!cf_program_has_model()) {               \
        T_SKIP("no bundled model in this tree"); \
    }                                            \
    if (cf_program_path() == NULL) {             \
        T_SKIP("CONFAB_BIN is not set");         \
    }

static void test_bundled__opens(void **state)
{
    (void)state;
    const void *bytes;
    size_t n;
    if (!cf_bundled_model(&bytes, &n)) {
        T_SKIP("no bundled model in this tree");
    }
    assert_int_equal((uintptr_t)bytes % 32, 0);
    assert_true(n < 8u << 20);
    cf_engine *engine;
    cf_error err;
    T_OK(cf_engine_open_memory(&engine, bytes, n, NULL, &err), err);
    cf_engine_info info = cf_engine_get_info(engine);
    assert_true(info.has_weights);
    assert_string_equal(info.path, "");
    cf_engine_close(engine);
}

/* Takes out what changes from moment to moment: the memory that is free. */
static void without_available(cf_buf *out)
{
    char *from = strstr(cf_buf_cstr(out), "; this machine has ");
    if (from != NULL) {
        const char *end = strchr(from, '\n');
        size_t n_rest = strlen(end);
        memmove(from, end, n_rest + 1);
        out->n = (size_t)(from - out->p) + n_rest;
    }
}

/* The same answer without -m and with the model's name. */
static void check_default(const char *const *argv)
{
    const char *named[8] = {argv[0], "-m", "bundled"};
    size_t n = 1;
    for (; argv[n] != NULL; n++) {
        named[n + 2] = argv[n];
    }
    named[n + 2] = NULL;
    cf_program a, b;
    cf_program_run(&a, argv, NULL, 0);
    cf_program_run(&b, named, NULL, 0);
    assert_int_equal(a.status, 0);
    assert_int_equal(b.status, 0);
    assert_true(a.out.n > 0);
    without_available(&a.out);
    without_available(&b.out);
    T_TEXT(a.out.p, a.out.n, cf_buf_cstr(&b.out));
    cf_program_deinit(&a);
    cf_program_deinit(&b);
}

static void test_bundled__is_the_default(void **state)
{
    (void)state;
    NEEDS_MODEL();
    static const char *const t[][6] = {
        {"model", NULL},
        {"tokenize", "some text", NULL},
        {"tokenize", "--json", "some text", NULL},
        {"complete", "-n", "8", "once", NULL},
        {"score", "--prompt=a", "--text=b", NULL},
        {"run", "--no-store", "-n", "8", "hello", NULL},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        check_default(t[i]);
    }
}

/* Greedy unless the user says otherwise: no seed is drawn. */
/* Templates made for models with other special tokens render, and every one
 * has the declarations in its prompt. */
static void test_bundled__under_every_template(void **state)
{
    (void)state;
    NEEDS_MODEL();
    const char *name;
    for (size_t i = 0; (name = cf_template_builtin_name(i)) != NULL; i++) {
        cf_program p;
        CF_PROGRAM(&p, "run", "--no-store", "-m", "bundled", "-t", name, "--tools",
                   "docs/examples/tools.json", "--show-prompt", "hello");
        if (p.status != 0) {
            fail_msg("%s: %s", name, cf_buf_cstr(&p.err));
        }
        assert_non_null(strstr(cf_buf_cstr(&p.out), "get_weather"));
        assert_non_null(strstr(cf_buf_cstr(&p.out), "hello"));
        cf_program_deinit(&p);
    }
}

static void test_bundled__samples_greedily(void **state)
{
    (void)state;
    NEEDS_MODEL();
    cf_program greedy, plain, warm;
    CF_PROGRAM(&greedy, "complete", "--greedy", "-n", "24", "the");
    CF_PROGRAM(&plain, "complete", "-n", "24", "the");
    CF_PROGRAM(&warm, "complete", "--json", "--temperature", "2", "-n", "2", "the");
    T_TEXT(plain.out.p, plain.out.n, cf_buf_cstr(&greedy.out));
    assert_non_null(strstr(cf_buf_cstr(&warm.out), "temperature 2"));
    cf_program_deinit(&greedy);
    cf_program_deinit(&plain);
    cf_program_deinit(&warm);
}

static void test_bundled__none_says_so(void **state)
{
    (void)state;
    if (cf_program_has_model()) {
        T_SKIP("this tree has a bundled model");
    }
    if (cf_program_path() == NULL) {
        T_SKIP("CONFAB_BIN is not set");
    }
    static const char *const t[][4] = {
        {"complete", "hi", NULL},
        {"model", NULL},
        {"model", "bundled", NULL},
        {"tokenize", "-m", "bundled", NULL},
    };
    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        cf_program p;
        cf_program_run(&p, t[i], NULL, 0);
        assert_int_equal(p.status, 2);
        assert_int_equal(p.out.n, 0);
        assert_non_null(strstr(cf_buf_cstr(&p.err), "-m FILE.gguf"));
        cf_program_deinit(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bundled__opens),
        cmocka_unit_test(test_bundled__is_the_default),
        cmocka_unit_test(test_bundled__under_every_template),
        cmocka_unit_test(test_bundled__samples_greedily),
        cmocka_unit_test(test_bundled__none_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
