/*
 * test_constraint_spec.c - constraints as words, as JSON and as grammars.
 */
#include "tests/support/t.h"

#include "core/api/constraint_spec.h"
#include "core/base/os.h"
#include "tests/support/store_dir.h"

static json_t *spec_of(const char *words)
{
    json_t *spec = NULL;
    cf_error err;
    T_OK(cf_constraint_spec_parse(&spec, words, CF_TOOLS_HERMES, &err), err);
    return spec;
}

static cf_tool_set *tools_of(const char *text)
{
    json_t *v;
    cf_tool_set *set;
    cf_error err;
    T_OK(cf_json_read(&v, text, strlen(text), &err), err);
    T_OK(cf_tool_set_new(&set, v, &err), err);
    json_decref(v);
    return set;
}

/* Whether the spec, by way of its text, accepts a reply. */
static bool accepts(const json_t *spec, const cf_tool_set *tools, const char *reply)
{
    cf_buf text = CF_BUF_INIT;
    cf_grammar *g;
    cf_constraint *c;
    json_t *again;
    cf_error err;
    size_t n;
    cf_json_write(&text, spec);
    T_OK(cf_json_read(&again, cf_buf_cstr(&text), text.n, &err), err);
    T_OK(cf_constraint_spec_compile(&g, again, tools, &err), err);
    T_OK(cf_constraint_new(&c, g, NULL, &err), err);
    T_OK(cf_constraint_bytes(c, reply, strlen(reply), &n, &err), err);
    bool ok = n == strlen(reply) && cf_constraint_may_end(c);
    cf_constraint_free(c);
    cf_grammar_free(g);
    json_decref(again);
    cf_buf_deinit(&text);
    return ok;
}

static void label_is(const json_t *spec, const char *want)
{
    cf_buf label = CF_BUF_INIT;
    cf_constraint_spec_label(spec, &label);
    assert_string_equal(cf_buf_cstr(&label), want);
    cf_buf_deinit(&label);
}

static void test_spec__words(void **state)
{
    (void)state;
    static const char grammar[] = "root = \"a\" | \"b\" root ;\n";
    static const char schema[] = "{\"title\":\"T\",\"type\":\"integer\"}";
    char words[256];
    cf_error err;
    const char *path = store_dir_file("a.gram");
    T_OK(cf_os_write_file(path, grammar, sizeof grammar - 1, 0600, &err), err);
    snprintf(words, sizeof words, "grammar %s", path);
    json_t *spec = spec_of(words);
    label_is(spec, "grammar");
    assert_true(accepts(spec, NULL, "bba"));
    assert_false(accepts(spec, NULL, "bb"));
    json_decref(spec);
    path = store_dir_file("s.json");
    T_OK(cf_os_write_file(path, schema, sizeof schema - 1, 0600, &err), err);
    snprintf(words, sizeof words, "schema  %s", path);
    spec = spec_of(words);
    label_is(spec, "schema T");
    assert_true(accepts(spec, NULL, "-7"));
    assert_false(accepts(spec, NULL, "\"7\""));
    json_decref(spec);
    spec = spec_of("regex [0-9]{2} x");
    label_is(spec, "regex [0-9]{2} x");
    assert_true(accepts(spec, NULL, "12 x"));
    json_decref(spec);
    spec = spec_of("choice yes|no, thanks");
    label_is(spec, "choice of 2");
    assert_true(accepts(spec, NULL, "no, thanks"));
    assert_false(accepts(spec, NULL, "no"));
    json_decref(spec);
    spec = spec_of("json");
    label_is(spec, "json");
    assert_true(accepts(spec, NULL, "{\"a\":[1,null]}"));
    assert_true(accepts(spec, NULL, "[]"));
    assert_false(accepts(spec, NULL, "7"));
    json_decref(spec);
}

static void test_spec__tools(void **state)
{
    (void)state;
    cf_tool_set *tools = tools_of("[{\"name\":\"f\",\"parameters\":{\"type\":"
                                  "\"object\",\"properties\":{}}}]");
    json_t *spec = spec_of("tools");
    label_is(spec, "tools: calls, hermes");
    assert_true(accepts(spec, tools,
                        "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n"
                        "</tool_call>"));
    assert_false(accepts(spec, tools, "no call"));
    json_decref(spec);
    spec = spec_of("tools text-and");
    assert_true(accepts(spec, tools, "no call"));
    cf_grammar *g;
    cf_error err;
    assert_int_equal(cf_constraint_spec_compile(&g, spec, NULL, &err), CF_EINVAL);
    assert_string_equal(err.text, "no tools are declared (--tools FILE)");
    json_decref(spec);
    cf_tool_set_free(tools);
}

static void test_spec__refused(void **state)
{
    (void)state;
    static const struct {
        const char *words, *message;
        cf_status code;
    } cases[] = {
        {"", "'' is not schema, regex, grammar, choice, json, tools or off", CF_EINVAL},
        {"shema x", "'shema' is not schema, regex, grammar, choice, json, tools or off", CF_EINVAL},
        {"regex", "regex needs a pattern", CF_EINVAL},
        {"schema ", "schema needs a file", CF_EINVAL},
        {"choice", "choice needs texts, as in yes|no", CF_EINVAL},
        {"tools some", "tools: 'some' is not calls, text-and or text-until", CF_EINVAL},
        {"schema /nowhere/x.json", "/nowhere/x.json", CF_ENOTFOUND},
        {"grammar /nowhere/x.gram", "/nowhere/x.gram", CF_ENOTFOUND},
        {"regex \xff", "the constraint is not UTF-8", CF_EINVAL},
        {"choice a|\xff", "the constraint is not UTF-8", CF_EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *spec = NULL;
        cf_error err;
        assert_int_equal(cf_constraint_spec_parse(&spec, cases[i].words, CF_TOOLS_HERMES, &err),
                         cases[i].code);
        assert_non_null(strstr(err.text, cases[i].message));
        assert_null(spec);
    }
    static const char *const specs[] = {
        "{}",
        "[]",
        "{\"x\":1}",
        "{\"json\":false}",
        "{\"regex\":1}",
        "{\"choices\":[1]}",
        "{\"tools\":\"calls\"}",
        "{\"tools\":\"all\",\"family\":\"hermes\"}",
    };
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        json_t *spec;
        cf_grammar *g;
        cf_error err;
        T_OK(cf_json_read(&spec, specs[i], strlen(specs[i]), &err), err);
        assert_int_equal(cf_constraint_spec_compile(&g, spec, NULL, &err), CF_EINVAL);
        json_decref(spec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spec__words),
        cmocka_unit_test(test_spec__tools),
        cmocka_unit_test(test_spec__refused),
    };
    return cmocka_run_group_tests(tests, store_dir_make, store_dir_remove);
}
