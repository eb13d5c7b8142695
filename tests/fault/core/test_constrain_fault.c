/*
 * test_constrain_fault.c - every allocation of a compilation, of a vocabulary
 * and of a walk fails once.
 */
#include <string.h>

#include "core/api/constraint.h"
#include "tests/support/fault.h"
#include "tests/support/t.h"

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\","
    "\"minimum\":3,\"multipleOf\":2},\"s\":{\"type\":\"string\",\"pattern\":"
    "\"^[a-f]+$\"},\"t\":{\"enum\":[\"x\",\"y\"]},\"l\":{\"type\":\"array\","
    "\"items\":{\"$ref\":\"#\"},\"maxItems\":3}},\"required\":[\"a\"],"
    "\"patternProperties\":{\"^p\":{\"type\":\"string\",\"maxLength\":9}}}";

/* Resources, anchors and a metaschema. */
static const char referring[] =
    "{\"$id\":\"http://h/r\",\"$ref\":\"l\",\"properties\":{\"c\":{\"$ref\":"
    "\"https://json-schema.org/draft/2020-12/meta/content\"}},\"$defs\":{\"t\":{"
    "\"$dynamicAnchor\":\"t\",\"type\":\"string\"},\"l\":{\"$id\":\"l\",\"items\":{"
    "\"$dynamicRef\":\"#t\"},\"$defs\":{\"d\":{\"$dynamicAnchor\":\"t\"}}}}}";

/* What was evaluated, and items that are counted. */
static const char counting[] =
    "{\"anyOf\":[{\"properties\":{\"a\":{}}},{\"patternProperties\":{\"b\":{}}},{"
    "\"prefixItems\":[{}]}],\"if\":{\"contains\":{\"const\":[1]},\"minContains\":2,"
    "\"maxContains\":3},\"unevaluatedProperties\":false,\"unevaluatedItems\":{\"type\":"
    "\"null\"}}";

static json_t *read_json(const char *text)
{
    json_t *v;
    cf_error err;
    T_OK(cf_json_read(&v, text, strlen(text), &err), err);
    return v;
}

static cf_status compile_schema(void *ud)
{
    cf_error err;
    cf_grammar *g = NULL;
    cf_status st = cf_grammar_from_schema(&g, ud, NULL, &err);
    cf_grammar_free(g);
    return st;
}

static cf_status compile_text(void *ud)
{
    cf_error err;
    cf_grammar *g = NULL;
    (void)ud;
    cf_status st =
        cf_grammar_from_text(&g, cf_str_from("r = \"a\" x{1,2} | /b+/; x = \"c\" r?;"), NULL, &err);
    cf_grammar_free(g);
    return st;
}

static cf_status compile_tools(void *ud)
{
    cf_error err;
    cf_grammar *g = NULL;
    cf_status st = cf_grammar_from_tools(&g, ud, NULL, &err);
    cf_grammar_free(g);
    return st;
}

static cf_status walk(void *ud)
{
    static const char *const words[] = {"{\"", "a", "\": ", "4", ", \"", "p", "\"", "x", "}"};
    const cf_grammar *g = ud;
    cf_error err;
    cf_piece pieces[9];
    cf_constraint_vocab *v = NULL;
    cf_constraint *c = NULL;
    cf_constraint *copy = NULL;
    uint32_t mask[1];
    for (int i = 0; i < 9; i++) {
        pieces[i] = (cf_piece){cf_str_from(words[i]), CF_PIECE_TEXT};
    }
    cf_status st = cf_constraint_vocab_new(&v, pieces, 9, &err);
    CF_THEN(st, cf_constraint_new(&c, g, v, &err));
    for (cf_token id = 0; st == CF_OK && id < 9; id++) {
        st = cf_constraint_mask(c, mask, &err);
        if (st == CF_OK && (mask[0] >> id & 1) != 0) {
            st = cf_constraint_token(c, id, &err);
        }
    }
    CF_THEN(st, cf_constraint_copy(&copy, c, &err));
    cf_constraint_free(copy);
    cf_constraint_free(c);
    cf_constraint_vocab_free(v);
    return st;
}

static void test_fault__compile(void **state)
{
    (void)state;
    json_t *s = read_json(schema);
    cf_fault_every_alloc(compile_schema, s, false);
    cf_fault_every_alloc(compile_schema, s, true);
    json_decref(s);
    s = read_json(counting);
    cf_fault_every_alloc(compile_schema, s, true);
    json_decref(s);
    s = read_json(referring);
    cf_fault_every_alloc(compile_schema, s, true);
    json_decref(s);
    cf_fault_every_alloc(compile_text, NULL, false);
    cf_fault_every_alloc(compile_text, NULL, true);
}

static void test_fault__tools(void **state)
{
    (void)state;
    static const cf_tool_family families[] = {CF_TOOLS_HERMES, CF_TOOLS_GEMMA3, CF_TOOLS_GEMMA4};
    json_t *json = read_json("[{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{"
                             "\"a\":{\"type\":\"string\"},\"b\":{\"enum\":[\"x\",true]}}}}]");
    cf_tool_set *set;
    cf_error err;
    T_OK(cf_tool_set_new(&set, json, &err), err);
    for (int i = 0; i < 3; i++) {
        cf_tool_constraint spec = {.family = families[i], .tools = set, .mode = CF_TOOLS_TEXT_AND};
        cf_fault_every_alloc(compile_tools, &spec, true);
    }
    cf_tool_set_free(set);
    json_decref(json);
}

static void test_fault__walk(void **state)
{
    (void)state;
    cf_error err;
    json_t *s = read_json(schema);
    cf_grammar *g;
    T_OK(cf_grammar_from_schema(&g, s, NULL, &err), err);
    json_decref(s);
    cf_fault_every_alloc(walk, g, false);
    cf_fault_every_alloc(walk, g, true);
    cf_grammar_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fault__compile),
        cmocka_unit_test(test_fault__tools),
        cmocka_unit_test(test_fault__walk),
    };
    cf_fault_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
