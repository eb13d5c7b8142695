/*
 * test_schema_ref.c - what references between schemas name: resources,
 * anchors, dynamic scopes, metaschemas and other documents.
 */
#include "core/api/constraint.h"
#include "core/base/os.h"
#include "core/schema/uri.h"
#include "core/schema/validate.h"
#include "tests/support/store_dir.h"
#include "tests/support/t.h"

#define DRAFT4 "\"$schema\":\"http://json-schema.org/draft-04/schema#\","
#define DRAFT7 "\"$schema\":\"http://json-schema.org/draft-07/schema#\","
#define D2019  "\"$schema\":\"https://json-schema.org/draft/2019-09/schema\","

/* 'y' valid, 'n' invalid, 'u' the schema is unsupported; the constraint and
 * the validator must agree. */
static char verdict(const char *schema, const char *text, const char *dir)
{
    cf_error err;
    json_t *s = NULL;
    json_t *v = NULL;
    cf_grammar *g = NULL;
    cf_constraint *c = NULL;
    cf_validator *val = NULL;
    bool is_valid = false;
    size_t n = 0;
    const cf_grammar_options opts = {.schema_dir = dir};
    const cf_validate_options checks = {.schema_dir = dir};
    T_OK(cf_json_read(&s, schema, strlen(schema), &err), err);
    T_OK(cf_json_read(&v, text, strlen(text), &err), err);
    cf_status st = cf_grammar_from_schema(&g, s, &opts, &err);
    char out = 'u';
    if (st == CF_OK) {
        T_OK(cf_constraint_new(&c, g, NULL, &err), err);
        T_OK(cf_constraint_bytes(c, text, strlen(text), &n, &err), err);
        out = n == strlen(text) && cf_constraint_may_end(c) ? 'y' : 'n';
        T_OK(cf_validator_new(&val, s, &checks, &err), err);
        T_OK(cf_validator_run(val, v, NULL, NULL, &is_valid, &err), err);
        assert_int_equal(is_valid, out == 'y');
    } else {
        assert_int_equal(st, CF_EUNSUPPORTED);
    }
    cf_validator_free(val);
    cf_constraint_free(c);
    cf_grammar_free(g);
    json_decref(s);
    json_decref(v);
    return out;
}

typedef struct row {
    const char *schema, *valid, *invalid;
} row;

static void check(const row *v, size_t n, const char *dir)
{
    for (size_t i = 0; i < n; i++) {
        if (verdict(v[i].schema, v[i].valid, dir) != 'y') {
            fail_msg("%s  does not take  %s", v[i].schema, v[i].valid);
        }
        if (verdict(v[i].schema, v[i].invalid, dir) != 'n') {
            fail_msg("%s  does not refuse  %s", v[i].schema, v[i].invalid);
        }
    }
}

#define CHECK(v, dir) check((v), sizeof(v) / sizeof *(v), (dir))

/* RFC 3986, sections 5.4.1 and 5.4.2. */
static void test_uri__resolve(void **state)
{
    (void)state;
    static const char base[] = "http://a/b/c/d;p?q";
    static const struct {
        const char *ref, *want;
    } v[] = {
        {"g:h", "g:h"},
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q"},
        {"g?y#s", "http://a/b/c/g?y"},
        {";x", "http://a/b/c/;x"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../../g", "http://a/g"},
        {"/", "http://a/"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
    };
    cf_arena arena;
    cf_arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        assert_string_equal(cf_uri__resolve(&arena, base, v[i].ref), v[i].want);
    }
    assert_string_equal(cf_uri__resolve(&arena, "", "a/b.json#/c"), "a/b.json");
    assert_string_equal(cf_uri__resolve(&arena, "a/b.json", "c.json"), "a/c.json");
    assert_string_equal(cf_uri__resolve(&arena, "http://h", "c"), "http://h/c");
    assert_string_equal(cf_uri__path(&arena, "http://h:1/a/b%20c.json?x"), "a/b c.json");
    assert_string_equal(cf_uri__path(&arena, "urn:x:y"), "x:y");
    assert_string_equal(cf_uri__path(&arena, "a.json"), "a.json");
    cf_arena_deinit(&arena);
}

static void test_schema_ref__resources(void **state)
{
    (void)state;
    static const row v[] = {
        /* an anchor belongs to its resource, not to those around or inside it */
        {"{\"$id\":\"http://h/r\",\"$ref\":\"a#x\",\"$defs\":{\"A\":{\"$id\":\"a\",\"allOf\":[{"
         "\"$id\":\"b\",\"$anchor\":\"x\",\"type\":\"number\"},{\"$anchor\":\"x\",\"type\":"
         "\"string\"}]}}}",
         "\"s\"", "1"},
        /* dots are taken out */
        {"{\"$id\":\"http://h/a/b.json\",\"$ref\":\"c/d.json\",\"$defs\":{\"x\":{\"$id\":"
         "\"c/d.json\",\"$ref\":\"./e.json\"},\"y\":{\"$id\":\"c/e.json\",\"type\":\"null\"}}}",
         "null", "1"},
        /* "$id" in a constant or an unknown keyword is none */
        {"{\"$id\":\"http://h/\",\"$ref\":\"t\",\"$defs\":{\"a\":{\"enum\":[{\"$id\":\"t\"}]},"
         "\"b\":{\"zzz\":{\"$id\":\"t\",\"type\":\"string\"}},\"c\":{\"$id\":\"t\",\"type\":"
         "\"null\"}}}",
         "null", "\"s\""},
        /* before 2019-09 an "$id" beside "$ref" is none */
        {"{" DRAFT7 "\"$id\":\"http://h/b/\",\"definitions\":{\"p\":{\"$id\":\"http://h/f\","
         "\"type\":\"string\"},\"q\":{\"$id\":\"f\",\"type\":\"number\"}},\"allOf\":[{\"$id\":"
         "\"http://h/\",\"$ref\":\"f\"}]}",
         "1", "\"s\""},
        {"{" DRAFT4 "\"id\":\"http://h/b/\",\"definitions\":{\"q\":{\"id\":\"#f\",\"type\":"
         "\"number\"}},\"allOf\":[{\"$ref\":\"#f\"}]}",
         "1", "\"s\""},
        {"{\"$id\":\"urn:u:1\",\"$ref\":\"urn:u:1#/$defs/a%25b~1c\",\"$defs\":{\"a%b/c\":{"
         "\"type\":\"null\"}}}",
         "null", "1"},
        /* the outermost resource by its name, which the reference leaves relative */
        {"{\"$id\":\"http://h/r\",\"items\":{\"$ref\":\"r#/$defs/x\"},\"$defs\":{\"x\":{\"type\":"
         "\"null\"}}}",
         "[null]", "[1]"},
        /* an id that is repeated as it is written, though it is relative */
        {"{\"$id\":\"a/b\",\"items\":{\"$ref\":\"a/b#/$defs/x\"},\"$defs\":{\"x\":{\"type\":"
         "\"null\"}}}",
         "[null]", "[1]"},
    };
    CHECK(v, NULL);
    assert_int_equal(verdict("{\"$ref\":\"http://h/none\"}", "1", NULL), 'u');
    assert_int_equal(verdict("{\"$ref\":\"#none\"}", "1", NULL), 'u');
}

/* A list whose items are what the outermost resource says. */
#define LIST                                                                                       \
    "\"l\":{\"$id\":\"l\",\"type\":\"array\",\"items\":{\"$dynamicRef\":\"#t\"},\"$defs\":{\"d\":" \
    "{\"$dynamicAnchor\":\"t\"}}}"

static void test_schema_ref__dynamic(void **state)
{
    (void)state;
    static const row v[] = {
        {"{\"$id\":\"http://h/r\",\"$ref\":\"l\",\"$defs\":{\"t\":{\"$dynamicAnchor\":\"t\","
         "\"type\":\"string\"}," LIST "}}",
         "[\"a\"]", "[1]"},
        /* two lists in one schema, each by its own way */
        {"{\"$id\":\"http://h/r\",\"properties\":{\"s\":{\"$ref\":\"s\"},\"n\":{\"$ref\":\"n\"}},"
         "\"$defs\":{\"s\":{\"$id\":\"s\",\"$ref\":\"l\",\"$defs\":{\"t\":{\"$dynamicAnchor\":"
         "\"t\",\"type\":\"string\"}}},\"n\":{\"$id\":\"n\",\"$ref\":\"l\",\"$defs\":{\"t\":{"
         "\"$dynamicAnchor\":\"t\",\"type\":\"number\"}}}," LIST "}}",
         "{\"s\":[\"a\"],\"n\":[1]}", "{\"s\":[\"a\"],\"n\":[\"a\"]}"},
        /* a plain anchor is no dynamic one */
        {"{\"$id\":\"http://h/r\",\"items\":{\"$dynamicRef\":\"#t\"},\"$defs\":{\"t\":{"
         "\"$anchor\":\"t\",\"type\":\"string\"}}}",
         "[\"a\"]", "[1]"},
        /* a tree that is closed by whoever uses it */
        {"{" D2019 "\"$id\":\"http://h/c\",\"$recursiveAnchor\":true,\"$ref\":\"t\",\"required\":["
         "\"v\"],\"$defs\":{\"t\":{\"$id\":\"t\",\"$recursiveAnchor\":true,\"properties\":{\"k\":{"
         "\"items\":{\"$recursiveRef\":\"#\"}}}}}}",
         "{\"v\":1,\"k\":[{\"v\":2}]}", "{\"v\":1,\"k\":[{}]}"},
        {"{" D2019 "\"properties\":{\"a\":{\"$recursiveRef\":\"#\"}},\"type\":\"object\"}",
         "{\"a\":{\"a\":{}}}", "{\"a\":{\"a\":1}}"},
    };
    CHECK(v, NULL);
}

static void test_schema_ref__metaschemas(void **state)
{
    (void)state;
    static const char *const uris[] = {
        "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema"};
    for (size_t i = 0; i < sizeof uris / sizeof *uris; i++) {
        char s[200];
        snprintf(s, sizeof s, "{\"$schema\":\"%s\",\"$ref\":\"%s\"}", uris[i], uris[i]);
        assert_int_equal(verdict(s, "{\"properties\":{\"a\":{\"minLength\":1}}}", NULL), 'y');
        assert_int_equal(verdict(s, "{\"properties\":{\"a\":{\"minLength\":-1}}}", NULL), 'n');
        assert_int_equal(verdict(s, "{\"not\":{\"type\":\"text\"}}", NULL), 'n');
    }
}

/* A schema of nothing but ids ends at the limit of work, not in hours. */
static void test_schema_ref__many_ids(void **state)
{
    (void)state;
    enum { N = 60000 };
    cf_error err;
    cf_grammar *g = NULL;
    json_t *all = json_array();
    for (int i = 0; i < N; i++) {
        char id[20];
        snprintf(id, sizeof id, "i%d", i);
        json_array_append_new(all, json_pack("{s:s,s:s}", "$id", id, "$ref", "#"));
    }
    json_t *s = json_pack("{s:{s:o}}", "items", "prefixItems", all);
    T_FAILS(cf_grammar_from_schema(&g, s, NULL, &err), CF_ELIMIT);
    json_decref(s);
}

/* Files by the path of their URI, and nothing outside the folder. */
static void test_schema_ref__files(void **state)
{
    (void)state;
    cf_error err;
    store_path dir;
    store_dir_path(dir, "docs/f");
    T_OK(cf_os_make_dirs(dir, &err), err);
    store_dir_path(dir, "docs");
    store_dir_put_text("docs/f/n.json", "{\"$id\":\"http://h/other/n.json\",\"$ref\":\"i.json\"}");
    store_dir_put_text("docs/f/i.json", "{\"type\":\"integer\"}");
    store_dir_put_text("docs/f/s.json", "{\"$defs\":{\"s\":{\"$ref\":\"i.json\"}}}");
    store_dir_put_text("docs/broken.json", "{");
    store_dir_put_text("docs/meta.json",
                       "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
                       "\"$vocabulary\":{\"https://json-schema.org/draft/2020-12/vocab/core\":"
                       "true}}");
    store_dir_put_text("outside.json", "{\"type\":\"integer\"}");
    static const row v[] = {
        {"{\"$ref\":\"http://h/f/i.json\"}", "1", "\"s\""},
        {"{\"$ref\":\"f/i.json\"}", "1", "\"s\""},
        {"{\"$ref\":\"http://h/f/s.json#/$defs/s\"}", "1", "\"s\""},
        {"{\"$id\":\"http://h/f/\",\"items\":{\"$ref\":\"i.json\"}}", "[1]", "[\"s\"]"},
        {"{\"$schema\":\"http://h/meta.json\",\"minimum\":3,\"properties\":{\"a\":false}}", "1",
         "{\"a\":1}"},
    };
    CHECK(v, dir);
    assert_int_equal(verdict(v[0].schema, "1", NULL), 'u');
    assert_int_equal(verdict("{\"$ref\":\"http://h/f/n.json\"}", "1", dir), 'u');
    assert_int_equal(verdict("{\"$ref\":\"http://h/%2E%2E/outside.json\"}", "1", dir), 'u');
    assert_int_equal(verdict("{\"$ref\":\"http://h/f/%2E%2E/%2E%2E/outside.json\"}", "1", dir),
                     'u');
    assert_int_equal(verdict("{\"$ref\":\"http://h//etc/passwd\"}", "1", dir), 'u');
    json_t *s = json_pack("{s:s}", "$ref", "http://h/broken.json");
    const cf_grammar_options opts = {.schema_dir = dir};
    cf_grammar *g = NULL;
    T_FAILS(cf_grammar_from_schema(&g, s, &opts, &err), CF_EFORMAT);
    assert_non_null(strstr(err.text, "broken.json"));
    json_decref(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uri__resolve),
        cmocka_unit_test(test_schema_ref__resources),
        cmocka_unit_test(test_schema_ref__dynamic),
        cmocka_unit_test(test_schema_ref__metaschemas),
        cmocka_unit_test(test_schema_ref__many_ids),
        cmocka_unit_test_setup_teardown(test_schema_ref__files, store_dir_make, store_dir_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
