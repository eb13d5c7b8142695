/*
 * test_validate.c - values against schemas: what is wrong, and where.
 */
#include "core/api/constraint.h"
#include "core/json/json.h"
#include "core/schema/validate.h"
#include "tests/support/t.h"

static void collect(void *ud, const cf_flaw *f)
{
    static const char *const kinds[] = {"name", "missing", "type", "value"};
    cf_buf *b = ud;
    if (b->n > 0) {
        cf_buf_addc(b, '\n');
    }
    cf_buf_addf(b, "%s %s ", kinds[f->kind], f->keyword);
    cf_buf_add(b, f->path.p, f->path.n);
    cf_buf_adds(b, ": ");
    cf_buf_add(b, f->text.p, f->text.n);
}

static void check(const char *schema, const char *value, const char *want,
                  const cf_validate_options *opts)
{
    cf_error err;
    json_t *s = NULL;
    json_t *v = NULL;
    cf_validator *val = NULL;
    cf_buf got = CF_BUF_INIT;
    bool ok = false;
    T_OK(cf_json_read(&s, schema, strlen(schema), &err), err);
    T_OK(cf_json_read(&v, value, strlen(value), &err), err);
    T_OK(cf_validator_new(&val, s, opts, &err), err);
    for (int again = 0; again < 2; again++) { /* it can be used again */
        cf_buf_reset(&got);
        T_OK(cf_validator_run(val, v, collect, &got, &ok, &err), err);
        assert_string_equal(cf_buf_cstr(&got), want);
        assert_int_equal(ok, want[0] == '\0');
        T_OK(cf_validator_run(val, v, NULL, NULL, &ok, &err), err);
        assert_int_equal(ok, want[0] == '\0');
    }
    cf_validator_free(val);
    cf_buf_deinit(&got);
    json_decref(s);
    json_decref(v);
}

typedef struct row {
    const char *schema, *value, *want;
} row;

static void check_rows(const row *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        check(v[i].schema, v[i].value, v[i].want, NULL);
    }
}

static void test_validate__limits(void **state)
{
    (void)state;
    static const row rows[] = {
        {"{\"properties\":{\"age\":{\"maximum\":120}}}", "{\"age\":200}",
         "value maximum age: 200 is over maximum 120"},
        {"{\"minimum\":1.5}", "1", "value minimum : 1 is below minimum 1.5"},
        {"{\"exclusiveMinimum\":0}", "0",
         "value exclusiveMinimum : 0 is not over exclusiveMinimum 0"},
        {"{\"minimum\":9,\"maximum\":100}", "50", ""}, /* by number of digits */
        {"{\"minimum\":-100,\"maximum\":-9}", "-50", ""},
        {"{\"minimum\":20}", "3", "value minimum : 3 is below minimum 20"},
        {"{\"maximum\":9}", "10", "value maximum : 10 is over maximum 9"},
        {"{\"maximum\":-2}", "-1.5", "value maximum : -1.5 is over maximum -2"},
        {"{\"type\":\"integer\"}", "1.5", "type type : integer expected, this is number"},
        {"{\"type\":\"integer\"}", "2.0", ""},
        {"{\"$schema\":\"http://json-schema.org/draft-04/schema#\","
         "\"type\":\"integer\"}",
         "2.0", "type type : integer expected, this is number"},
        {"{\"multipleOf\":0.1}", "0.3", ""},
        {"{\"multipleOf\":5}", "12", "value multipleOf : 12 is not a multiple of multipleOf"},
        {"{\"minLength\":2,\"maxLength\":3}", "\"\\u00e9\"",
         "value minLength : 1 characters, fewer than minLength 2"},
        {"{\"items\":{\"pattern\":\"^a+$\"}}", "[\"aa\",\"b\"]",
         "value pattern [1]: \"b\" does not match pattern ^a+$"},
        {"{\"format\":\"date\"}", "\"2023-02-29\"",
         "value format : \"2023-02-29\" does not match format date"},
        {"{\"pattern\":\"^2\",\"format\":\"date\"}", "\"2023-02-29\"",
         "value format : \"2023-02-29\" does not match format date"},
        {"{\"format\":\"regex\"}", "\"*\"", "value format : \"*\" does not match format regex"},
        {"{\"format\":\"regex\"}", "\"^(?:[a-z0-9_]{3,16}|\\\\\\\\d+)?/$\"", ""},
        {"{\"enum\":[1,\"a\"]}", "2", "value enum : 2 is not one of [1,\"a\"]"},
        {"{\"const\":{\"a\":1}}", "{\"a\":2}", "value const : {\"a\":2} is not {\"a\":1}"},
        {"{\"const\":1}", "1.0", ""},
    };
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void test_validate__objects_and_arrays(void **state)
{
    (void)state;
    static const row rows[] = {
        {"{\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\","
         "\"b\"],\"additionalProperties\":false}",
         "{\"a\":1,\"c d\":2}",
         "name additionalProperties [\"c d\"]: no property has this name\n"
         "missing required b: this property is required\n"
         "type type a: string expected, this is integer"},
        {"{\"patternProperties\":{\"^n\":{\"type\":\"null\"}}}", "{\"n1\":1,\"m\":1}",
         "type type n1: null expected, this is integer"},
        {"{\"propertyNames\":{\"maxLength\":2}}", "{\"abc\":1}",
         "name additionalProperties abc: no property has this name"},
        {"{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}",
         "missing dependentRequired b: this property is required together "
         "with a"},
        {"{\"minProperties\":2}", "{\"a\":1}",
         "value minProperties : 1 properties, fewer than minProperties 2"},
        {"{\"prefixItems\":[{\"type\":\"null\"}],\"items\":{\"type\":"
         "\"array\",\"maxItems\":1}}",
         "[0,[1],[1,2]]",
         "type type [0]: null expected, this is integer\n"
         "value maxItems [2]: 2 items, more than maxItems 1"},
        {"{\"uniqueItems\":true}", "[1,{\"a\":1,\"b\":2},1.0]",
         "value uniqueItems : items 0 and 2 are equal"},
        {"{\"uniqueItems\":true}", "[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}]",
         "value uniqueItems : items 0 and 1 are equal"},
        {"{\"contains\":{\"minimum\":5}}", "[1,2]",
         "value contains : no item is one that contains asks for"},
        {"{\"properties\":{\"a\":{}},\"unevaluatedProperties\":false}", "{\"a\":1,\"b\":2}",
         "value false b: nothing is allowed here"},
        {"{\"prefixItems\":[{}],\"unevaluatedItems\":{\"type\":\"null\"}}", "[1,2]",
         "type type [1]: null expected, this is integer"},
        {"{\"contains\":{\"minimum\":5},\"maxContains\":1}", "[6,7]",
         "value maxContains : 2 items of contains, more than maxContains 1"},
        {"{\"$defs\":{\"t\":{\"properties\":{\"k\":{\"items\":{\"$ref\":"
         "\"#/$defs/t\"}},\"v\":{\"type\":\"integer\"}}}},\"$ref\":"
         "\"#/$defs/t\"}",
         "{\"k\":[{\"v\":1},{\"k\":[{\"v\":\"x\"}]}]}",
         "type type k[1].k[0].v: integer expected, this is string"},
    };
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void test_validate__combined(void **state)
{
    (void)state;
    static const row rows[] = {
        {"{\"allOf\":[{\"minimum\":1},{\"maximum\":3}]}", "4",
         "value maximum : 4 is over maximum 3"},
        /* one alternative has the type: its flaws */
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"object\",\"required\":"
         "[\"a\"]}]}",
         "{}", "missing required a: this property is required"},
        {"{\"anyOf\":[{\"minimum\":3},{\"maximum\":1}]}", "2",
         "type anyOf : none of the 2 alternatives takes this integer"},
        {"{\"oneOf\":[{\"minimum\":1},{\"maximum\":3}]}", "2",
         "value oneOf : alternatives 0 and 1 of oneOf both take it"},
        {"{\"oneOf\":[{\"minimum\":1},{\"maximum\":3}]}", "4", ""},
        {"{\"not\":{\"type\":\"string\"}}", "\"x\"", "value not : \"x\" is what not forbids"},
        {"{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]},"
         "\"else\":{\"required\":[\"c\"]}}",
         "{\"a\":1}", "missing required b: this property is required"},
        {"{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]},"
         "\"else\":{\"required\":[\"c\"]}}",
         "{}", "missing required c: this property is required"},
        {"{\"dependentSchemas\":{\"a\":{\"maxProperties\":1}}}", "{\"a\":1,\"b\":1}",
         "value maxProperties : 2 properties, more than maxProperties 1"},
        {"{\"properties\":{\"a\":false}}", "{\"a\":1}",
         "name additionalProperties a: no property has this name"},
        {"true", "[]", ""},
        {"false", "[]", "value false : nothing is allowed here"},
        /* what a format may allow is not certainly excluded by its negation */
        {"{\"not\":{\"format\":\"email\"}}", "\"\\\"a b\\\"@c\"",
         "value not : \"\\\"a b\\\"@c\" is what not forbids"},
        {"{\"not\":{\"format\":\"email\"}}", "\"abc\"", ""},
    };
    check_rows(rows, sizeof rows / sizeof *rows);
}

static void test_validate__declarations_of_tools(void **state)
{
    (void)state;
    const cf_validate_options opts = {.is_tool = true, .null_is_absent = true};
    const char *schema = "{\"type\":\"OBJECT\",\"properties\":{\"n\":{\"type\":\"INTEGER\"},"
                         "\"s\":{\"type\":\"str\",\"max_length\":2},\"u\":{\"type\":\"string\","
                         "\"nullable\":true}},\"required\":[\"n\",\"u\"],"
                         "\"additional_properties\":false}";
    check(schema, "{\"n\":1,\"s\":null,\"u\":null}", "", &opts);
    check(schema, "{\"n\":null,\"u\":\"x\"}", "type type n: integer expected, this is null", &opts);
    check(schema, "{\"n\":1,\"s\":\"abc\",\"u\":\"x\",\"v\":1}",
          "name additionalProperties v: no property has this name\n"
          "value maxLength s: 3 characters, more than maxLength 2",
          &opts);
}

static cf_status run(const char *schema, const char *value, const cf_validate_options *opts,
                     cf_error *err)
{
    json_t *s = NULL;
    json_t *v = NULL;
    cf_validator *val = NULL;
    bool ok = true;
    T_OK(cf_json_read(&s, schema, strlen(schema), err), *err);
    T_OK(cf_json_read(&v, value, strlen(value), err), *err);
    T_OK(cf_validator_new(&val, s, opts, err), *err);
    cf_status st = cf_validator_run(val, v, NULL, NULL, &ok, err);
    assert_false(st != CF_OK && ok);
    cf_validator_free(val);
    json_decref(s);
    json_decref(v);
    return st;
}

static void test_validate__bounds(void **state)
{
    (void)state;
    cf_error err;
    const cf_validate_options little = {.max_work = 50};
    T_FAILS(run("{\"$ref\":\"#\"}", "1", NULL, &err), CF_ELIMIT);
    T_FAILS(run("{\"pattern\":\"^(a|b)*c\"}",
                "\"abababababababababababababababababababababababababab\"", &little, &err),
            CF_ELIMIT);
    T_FAILS(run("{\"$ref\":\"#/$defs/x\"}", "1", NULL, &err), CF_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "#/$defs/x"));
    T_FAILS(run("{\"$schema\":\"http://json-schema.org/draft-03/schema#\",\"extends\":{}}", "{}",
                NULL, &err),
            CF_EUNSUPPORTED);
    T_FAILS(run("{\"$schema\":\"http://json-schema.org/draft-03/schema#\",\"disallow\":[]}", "{}",
                NULL, &err),
            CF_EUNSUPPORTED);
    cf_validator *v = NULL;
    json_t *list = json_array();
    T_FAILS(cf_validator_new(&v, list, NULL, &err), CF_EFORMAT);
    json_decref(list);
}

static void test_validate__explains_a_text(void **state)
{
    (void)state;
    const char *schema = "{\"properties\":{\"age\":{\"maximum\":120},\"n\":{\"items\":{"
                         "\"type\":\"string\"}}},\"required\":[\"age\"]}";
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"{\"age\":200}", "`age`: 200 is over maximum 120\n"},
        {"{\"age\":200, ", "`age`: 200 is over maximum 120\n"},
        {"{\"n\":[\"a\", 3", "`n[1]`: string expected, this is integer\n"},
        {"{\"n\":[\"a", ""}, /* what it lacks is not reported */
        {"{\"n\":[]}", "`age`: this property is required\n"},
        {"{\"n\"", ""},
        {"no JSON", ""},
        {"", ""},
    };
    cf_error err;
    json_t *s = NULL;
    T_OK(cf_json_read(&s, schema, strlen(schema), &err), err);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cf_buf out = CF_BUF_INIT;
        T_OK(cf_schema_explain(&out, s, NULL, cf_str_from(rows[i].text), &err), err);
        assert_string_equal(cf_buf_cstr(&out), rows[i].want);
        cf_buf_deinit(&out);
    }
    json_decref(s);
}

/* Depth is not called a circle. */
static void test_validate__depth_is_named(void **state)
{
    (void)state;
    cf_error err;
    cf_buf t = CF_BUF_INIT;
    json_t *s = NULL;
    cf_grammar *g = NULL;
    for (int i = 0; i < 150; i++) {
        cf_buf_adds(&t, "{\"allOf\":[");
    }
    cf_buf_adds(&t, "{\"type\":\"null\"}");
    for (int i = 0; i < 150; i++) {
        cf_buf_adds(&t, "]}");
    }
    T_OK(cf_json_read(&s, cf_buf_cstr(&t), t.n, &err), err);
    T_FAILS(cf_grammar_from_schema(&g, s, NULL, &err), CF_ELIMIT);
    assert_non_null(strstr(err.text, "levels"));
    json_decref(s);
    cf_buf_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_validate__limits),
        cmocka_unit_test(test_validate__objects_and_arrays),
        cmocka_unit_test(test_validate__combined),
        cmocka_unit_test(test_validate__declarations_of_tools),
        cmocka_unit_test(test_validate__bounds),
        cmocka_unit_test(test_validate__explains_a_text),
        cmocka_unit_test(test_validate__depth_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
