/*
 * test_run_constrained.c - confab run constrained to schemas, patterns, choices and
 * tools, with a tiny model that would write noise.
 */
#include "tests/support/t.h"

#include "core/api/constraint.h"
#include "core/base/os.h"
#include "tests/support/program.h"
#include "tests/support/store_dir.h"
#include "tests/support/tiny_gguf.h"

static char model[128], schema[128], tools[128];

static int set_up(void **state)
{
    if (store_dir_make(state) != 0) {
        return -1;
    }
    const cf_tiny_options o = {
        .n_ctx = 2048, .chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}"};
    size_t n;
    cf_error err;
    void *bytes = cf_tiny_gguf(&o, &n);
    snprintf(model, sizeof model, "%s", store_dir_file("model.gguf"));
    snprintf(schema, sizeof schema, "%s", store_dir_file("schema.json"));
    snprintf(tools, sizeof tools, "%s", store_dir_file("tools.json"));
    cf_status st = cf_os_write_file(model, bytes, n, 0600, &err);
    cf_tiny_free(bytes);
    return st == CF_OK ? 0 : -1;
}

/* The value of a number in the text, from the last place it is named. */
static long last_number(const char *text, const char *key)
{
    const char *at = NULL;
    for (const char *p = strstr(text, key); p != NULL; p = strstr(p + 1, key)) {
        at = p;
    }
    assert_non_null(at);
    return strtol(at + strlen(key), NULL, 10);
}

static bool validates(const char *schema_text, cf_str reply)
{
    json_t *v;
    cf_error err;
    cf_grammar *g;
    cf_constraint *c;
    size_t n;
    T_OK(cf_json_read(&v, schema_text, strlen(schema_text), &err), err);
    T_OK(cf_grammar_from_schema(&g, v, NULL, &err), err);
    T_OK(cf_constraint_new(&c, g, NULL, &err), err);
    T_OK(cf_constraint_bytes(c, reply.p, reply.n, &n, &err), err);
    bool ok = n == reply.n && cf_constraint_may_end(c);
    cf_constraint_free(c);
    cf_grammar_free(g);
    json_decref(v);
    if (ok) {
        ok = cf_json_read(&v, reply.p, reply.n, &err) == CF_OK;
        if (ok) {
            json_decref(v);
        }
    }
    return ok;
}

/* The reply without the newline that ends it. */
static cf_str reply_of(const cf_program *p)
{
    assert_true(p->out.n > 0 && p->out.p[p->out.n - 1] == '\n');
    return cf_str_make(p->out.p, p->out.n - 1);
}

/* Whatever the numbers say, what is written parses and validates. */
static void test_run__schema(void **state)
{
    (void)state;
    NEED_PROGRAM();
    static const char *const schemas[] = {
        "{\"type\":\"object\",\"properties\":{\"day\":{\"enum\":[\"Monday\","
        "\"Tuesday\"]},\"hot\":{\"type\":\"boolean\"}},\"required\":[\"day\","
        "\"hot\"],\"additionalProperties\":false}",
        "{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":-20,"
        "\"maximum\":300},\"minItems\":1,\"maxItems\":4}",
        "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\","
        "\"maxLength\":6},\"next\":{\"anyOf\":[{\"type\":\"null\"},{\"const\":"
        "\"\\u00e9nd\"}]}},\"required\":[\"name\",\"next\"],"
        "\"additionalProperties\":false}"};
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++) {
        store_dir_write(schema, schemas[i]);
        for (int seed = 1; seed <= 6; seed++) {
            char text[16];
            snprintf(text, sizeof text, "%d", seed);
            cf_program p;
            CF_PROGRAM(&p, "run", "--no-store", "-m", model, "--schema", schema, "--temperature",
                       "2", "--seed", text, "-n", "400", "x");
            assert_int_equal(p.status, 0);
            assert_true(validates(schemas[i], reply_of(&p)));
            cf_program_deinit(&p);
        }
    }
}

/* Most of a call is forced: fewer passes than tokens, and both are reported. */
static void test_run__tool_call(void **state)
{
    (void)state;
    NEED_PROGRAM();
    store_dir_write(tools, "[{\"name\":\"get_weather\",\"parameters\":{\"type\":"
                           "\"object\",\"properties\":{\"unit\":{\"type\":"
                           "\"string\",\"enum\":[\"celsius\",\"kelvin\"]}},"
                           "\"required\":[\"unit\"]}}]");
    cf_program p;
    const char *results = store_dir_file("results.json");
    store_dir_write(results, "{\"*\":1}");
    CF_PROGRAM(&p, "run", "--no-store", "--json", "-m", model, "--family", "hermes", "--tools",
               tools, "--results", results, "--constrain-tools", "calls", "--max-rounds", "1",
               "--seed", "4", "-n", "900", "x");
    const char *out = cf_buf_cstr(&p.out);
    assert_non_null(strstr(out, "\"event\":\"tool_call\""));
    assert_non_null(strstr(out, "\"name\":\"get_weather\""));
    assert_non_null(strstr(out, "\"allowed\":"));
    assert_non_null(strstr(out, "\"allowed_mass\":"));
    assert_true(2 * last_number(out, "\"n_passes\":") < last_number(out, "\"n_decode\":"));
    cf_program_deinit(&p);
}

static void test_run__choice_and_regex(void **state)
{
    (void)state;
    NEED_PROGRAM();
    cf_program p;
    CF_PROGRAM(&p, "run", "--no-store", "-m", model, "--choice", "yes", "--choice", "no", "--seed",
               "2", "x");
    assert_int_equal(p.status, 0);
    assert_true(cf_str_is(reply_of(&p), "yes") || cf_str_is(reply_of(&p), "no"));
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "--no-store", "-m", model, "--regex", "ab{3}[0-9]", "--seed", "2", "x");
    assert_int_equal(p.status, 0);
    assert_int_equal(reply_of(&p).n, 5);
    assert_memory_equal(cf_buf_cstr(&p.out), "abbb", 4);
    cf_program_deinit(&p);
    CF_PROGRAM(&p, "run", "--no-store", "-m", model, "--regex", "a", "--choice", "b", "x");
    assert_int_equal(p.status, 2);
    cf_program_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run__schema),
        cmocka_unit_test(test_run__tool_call),
        cmocka_unit_test(test_run__choice_and_regex),
    };
    return cmocka_run_group_tests(tests, set_up, store_dir_remove);
}
