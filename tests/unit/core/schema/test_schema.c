/*
 * test_schema.c - JSON Schemas against texts: what is accepted, what is
 * refused, and what is said to be unsupported.
 */
#include "core/api/constraint.h"
#include "tests/support/t.h"

/* 'y' accepted, 'n' refused or incomplete, 'u' the schema is unsupported, 'e' nothing
 * satisfies it. */
typedef struct one {
    const char *schema, *text;
    char want;
} one;

static char verdict(const char *schema, const char *text, const cf_grammar_options *opts)
{
    cf_error err;
    json_t *s = NULL;
    cf_grammar *g = NULL;
    cf_constraint *c = NULL;
    size_t n = 0;
    T_OK(cf_json_read(&s, schema, strlen(schema), &err), err);
    cf_status st = cf_grammar_from_schema(&g, s, opts, &err);
    json_decref(s);
    if (st != CF_OK) {
        assert_true(st == CF_EUNSUPPORTED || st == CF_EINVAL);
        return st == CF_EINVAL ? 'e' : 'u';
    }
    T_OK(cf_constraint_new(&c, g, NULL, &err), err);
    T_OK(cf_constraint_bytes(c, text, strlen(text), &n, &err), err);
    bool yes = n == strlen(text) && cf_constraint_may_end(c);
    cf_constraint_free(c);
    cf_grammar_free(g);
    return yes ? 'y' : 'n';
}

static void check(const one *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char got = verdict(v[i].schema, v[i].text, NULL);
        if (got != v[i].want) {
            fail_msg("%s  with  %s: %c, expected %c", v[i].schema, v[i].text, got, v[i].want);
        }
    }
}

#define CHECK(v) check((v), sizeof(v) / sizeof *(v))

/* Schemas in schemas are not called a circle. */
static void test_schema__depth_is_named(void **state)
{
    (void)state;
    enum { DEPTH = 900 };
    cf_buf text = CF_BUF_INIT;
    cf_error err;
    json_t *schema = NULL;
    cf_grammar *g = NULL;
    for (int i = 0; i < DEPTH; i++) {
        cf_buf_adds(&text, "{\"not\":");
    }
    cf_buf_adds(&text, "{}");
    for (int i = 0; i < DEPTH; i++) {
        cf_buf_addc(&text, '}');
    }
    T_OK(cf_json_read(&schema, text.p, text.n, &err), err);
    T_FAILS(cf_grammar_from_schema(&g, schema, NULL, &err), CF_ELIMIT);
    assert_non_null(strstr(err.text, "levels deep"));
    assert_null(strstr(err.text, "contains itself"));
    json_decref(schema);
    cf_buf_deinit(&text);
}

static void test_schema__types(void **state)
{
    (void)state;
    static const one v[] = {
        {"true", "{\"a\": [1, null, \"x\", {}]}", 'y'},
        {"false", "1", 'e'},
        {"{\"type\":\"null\"}", "null", 'y'},
        {"{\"type\":\"boolean\"}", "false", 'y'},
        {"{\"type\":\"boolean\"}", "0", 'n'},
        {"{\"type\":\"integer\"}", "-12", 'y'},
        {"{\"type\":\"integer\"}", "012", 'n'},
        {"{\"type\":\"integer\"}", "1.5", 'n'},
        {"{\"type\":\"number\"}", "-0.5e+10", 'y'},
        {"{\"type\":\"number\"}", "1e999", 'n'},
        {"{\"type\":\"number\"}", ".5", 'n'},
        {"{\"type\":[\"string\",\"null\"]}", "null", 'y'},
        {"{\"type\":\"string\"}", "\"a\\u00e9\\n\\uD83D\\uDE00\"", 'y'},
        {"{\"type\":\"string\"}", "\"\\uD83D\"", 'n'},
        {"{\"type\":\"string\"}", "\"\xFF\"", 'n'},
        {"{\"type\":\"string\"}", "\"\xED\xA0\x80\"", 'n'},
        {"{\"type\":\"string\"}", "\"\n\"", 'n'},
        {"{\"type\":\"array\"}", "[ 1, [ ] ]", 'y'},
        {"{\"type\":\"array\"}", "[1,]", 'n'},
        {"{\"type\":\"frog\"}", "1", 'u'},
        /* a key that requires itself is never missing */
        {"{\"type\":\"object\",\"not\":{\"dependentRequired\":{\"ab\":[\"ab\"]}}}", "{\"ab\":1}",
         'e'},
        {"{\"type\":\"object\",\"not\":{\"dependentRequired\":{\"ab\":[\"ab\",\"c\"]}}}",
         "{\"ab\":1}", 'y'},
    };
    CHECK(v);
}

static void test_schema__numbers(void **state)
{
    (void)state;
    static const one v[] = {
        {"{\"type\":\"integer\",\"minimum\":-3,\"maximum\":120}", "-3", 'y'},
        {"{\"type\":\"integer\",\"minimum\":-3,\"maximum\":120}", "-4", 'n'},
        {"{\"type\":\"integer\",\"minimum\":-3,\"maximum\":120}", "120", 'y'},
        {"{\"type\":\"integer\",\"minimum\":-3,\"maximum\":120}", "121", 'n'},
        {"{\"type\":\"integer\",\"minimum\":-3,\"maximum\":120}", "99", 'y'},
        {"{\"type\":\"integer\",\"exclusiveMinimum\":5}", "5", 'n'},
        {"{\"type\":\"integer\",\"exclusiveMinimum\":5}", "60000", 'y'},
        {"{\"type\":\"number\",\"minimum\":0.25,\"exclusiveMaximum\":1}", "0.25", 'y'},
        {"{\"type\":\"number\",\"minimum\":0.25,\"exclusiveMaximum\":1}", "0.249", 'n'},
        {"{\"type\":\"number\",\"minimum\":0.25,\"exclusiveMaximum\":1}", "0.999", 'y'},
        {"{\"type\":\"number\",\"minimum\":0.25,\"exclusiveMaximum\":1}", "1.0", 'n'},
        {"{\"type\":\"integer\",\"maximum\":18446744073709551615}", "18446744073709551615", 'y'},
        {"{\"type\":\"integer\",\"maximum\":18446744073709551615}", "18446744073709551616", 'n'},
        {"{\"type\":\"number\",\"minimum\":-99999999999999999999}", "-99999999999999999999", 'y'},
        {"{\"type\":\"number\",\"minimum\":-99999999999999999999}", "-100000000000000000000", 'n'},
        {"{\"type\":\"number\",\"maximum\":-1.5}", "-1.5", 'y'},
        {"{\"type\":\"number\",\"maximum\":-1.5}", "-1.49", 'n'},
        {"{\"type\":\"number\",\"maximum\":-1.5}", "0", 'n'},
        {"{\"type\":\"number\",\"multipleOf\":0.25}", "1.75", 'y'},
        {"{\"type\":\"number\",\"multipleOf\":0.25}", "1.7", 'n'},
        {"{\"type\":\"number\",\"multipleOf\":0.25}", "1.750", 'y'},
        {"{\"type\":\"integer\",\"multipleOf\":7}", "-49", 'y'},
        {"{\"type\":\"integer\",\"multipleOf\":7}", "50", 'n'},
        {"{\"$schema\":\"http://json-schema.org/draft-04/schema#\",\"type\":"
         "\"integer\",\"minimum\":3,\"exclusiveMinimum\":true}",
         "3", 'n'},
        {"{\"enum\":[1,2.5]}", "1.0", 'y'},
        {"{\"enum\":[1,2.5]}", "2.5", 'y'},
        {"{\"type\":\"integer\",\"not\":{\"const\":7}}", "7", 'n'},
        {"{\"type\":\"integer\",\"not\":{\"const\":7}}", "77", 'y'},
    };
    CHECK(v);
}

static void test_schema__strings(void **state)
{
    (void)state;
    static const one v[] = {
        {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"\\u00e9x\"", 'y'},
        {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"x\"", 'n'},
        {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"\xF0\x9F\x98\x80\xC3\xA9x\"",
         'y'},
        {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"abcd\"", 'n'},
        {"{\"type\":\"string\",\"maxLength\":1000000}", "\"abcd\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"b+\"}", "\"abbc\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"^b+$\"}", "\"abbc\"", 'n'},
        {"{\"type\":\"string\",\"pattern\":\"^\\\\d{3}-[^a-z]$\"}", "\"123-\\\"\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"^\\\\d{3}-[^a-z]$\"}", "\"123-q\"", 'n'},
        {"{\"type\":\"string\",\"pattern\":\"^a*$\",\"minLength\":3}", "\"aa\"", 'n'},
        {"{\"type\":\"string\",\"pattern\":\"^a*$\",\"minLength\":3}", "\"aaaa\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"(^[^5]*$)|7\"}", "\"57\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"(^[^5]*$)|7\"}", "\"58\"", 'n'},
        {"{\"type\":\"string\",\"pattern\":\"^(?!no)[a-z]+$\"}", "\"nope\"", 'n'},
        {"{\"type\":\"string\",\"pattern\":\"^(?!no)[a-z]+$\"}", "\"yes\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"(a)\\\\1\"}", "\"aa\"", 'u'},
        {"{\"type\":\"string\",\"format\":\"date\"}", "\"2024-02-29\"", 'y'},
        {"{\"type\":\"string\",\"format\":\"date\"}", "\"2023-02-29\"", 'n'},
        {"{\"type\":\"string\",\"format\":\"date\"}", "\"1900-02-29\"", 'n'},
        {"{\"type\":\"string\",\"format\":\"ipv6\"}", "\"2001:db8::1\"", 'y'},
        {"{\"type\":\"string\",\"format\":\"ipv6\"}", "\"1::2::3\"", 'n'},
        {"{\"type\":\"string\",\"format\":\"ipv4\"}", "\"256.1.1.1\"", 'n'},
        {"{\"type\":\"string\",\"format\":\"uri\"}", "\"https://a.b/c?d#e\"", 'y'},
        {"{\"type\":\"string\",\"format\":\"uri\"}", "\"a b\"", 'n'},
        {"{\"enum\":[\"a\\\"b\",\"a\"]}", "\"a\\\"b\"", 'y'},
        {"{\"enum\":[\"a\\\"b\",\"a\"]}", "\"b\"", 'n'},
        {"{\"type\":\"string\",\"not\":{\"enum\":[\"x\",\"y\"]}}", "\"x\"", 'n'},
        {"{\"type\":\"string\",\"not\":{\"enum\":[\"x\",\"y\"]}}", "\"xx\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"a++b\"}", "\"aab\"", 'u'},
        {"{\"type\":\"string\",\"pattern\":\"a{2}{3}\"}", "\"aaaaaa\"", 'u'},
        {"{\"type\":\"string\",\"pattern\":\"^a{2}?b\"}", "\"aab\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"\\\\Qa.b\\\\E\"}", "\"a.b\"", 'u'},
        {"{\"type\":\"string\",\"format\":\"ipv6\"}", "\"1:2::3:1.2.3.4\"", 'y'},
        {"{\"type\":\"string\",\"format\":\"ipv6\"}", "\"1:2:3:4:5::6:1.2.3.4\"", 'n'},
        {"{\"type\":\"string\",\"format\":\"uri-template\"}", "\"/{a.b,%41*}\"", 'y'},
        {"{\"type\":\"string\",\"format\":\"uri-template\"}", "\"/{a..b}\"", 'n'},
    };
    CHECK(v);
}

/* Texts of a format, and texts that look like it; what is narrowed is refused on purpose. */
static void test_schema__formats(void **state)
{
    (void)state;
    static const struct {
        const char *format, *text;
        char want;
    } v[] = {
        {"time", "23:59:60Z", 'y'},
        {"time", "23:59:60.5+00:00", 'y'},
        {"time", "22:59:60Z", 'n'},
        {"time", "23:58:60Z", 'n'},
        {"time", "01:29:60+01:30", 'n'}, /* narrowed */
        {"date-time", "1998-12-31T23:59:60Z", 'y'},
        {"date-time", "1998-12-30T23:59:60Z", 'n'},
        {"date-time", "1998-12-31T23:59:59.123456789012345Z", 'y'},
        {"duration", "P99999999999Y", 'y'},
        {"duration", "P1Y1D", 'n'},
        {"email", "\\\"a b@c\\\"@d.e", 'y'},
        {"email", "a@[127.0.0.1]", 'y'},
        {"email", "a@[IPv6:::1]", 'y'},
        {"email", "a@[IPv6:1:2:3:4:5:6:7::]", 'n'},
        {"email", "a@[127.0.0.300]", 'n'},
        {"email", "\xC3\xA9@d.e", 'n'},
        {"email", "a.@d.e", 'n'},
        {"idn-email", "\xC3\xA9@d\xC3\xA9.e", 'y'},
        {"idn-email", "\xC3\xA9", 'n'},
        {"hostname", "a--b.c-d", 'y'},
        {"hostname", "xn--9n2bp8q", 'n'}, /* narrowed */
        {"hostname", "ab--c", 'n'},
        {"hostname", "-a", 'n'},
        {"hostname", "a-", 'n'},
        {"idn-hostname", "\xE5\xAE\x9F\xE4\xBE\x8B.a", 'y'},
        {"idn-hostname", "\xE5\xAE\x9F\xE3\x80\x82\xE4\xBE\x8B", 'y'},
        {"idn-hostname", "\xE3\x80\xAE", 'n'},
        {"idn-hostname", "xn--X", 'n'},
        {"idn-hostname", "a.b.c.d", 'y'},
        {"idn-hostname", "a.b.c.d.e", 'n'}, /* narrowed */
        {"uri", "http://[v1.test]/", 'y'},
        {"uri", "http://[::1]:80/", 'y'},
        {"uri", "http://h/\xC3\xA9", 'n'},
        {"iri", "http://h\xC3\xA9/\xC3\xA9?\xEE\x80\x80#\xC3\xA9", 'y'},
        {"iri", "http://h/\xEE\x80\x80", 'n'},
        {"uri-template", "a'\xF0\x9F\x98\x80{x}", 'y'},
        {"uri-template", "a<b", 'n'},
        {"regex", "[]|[^](?<=a)", 'y'},
        {"regex", "(?<=a)*", 'n'},
        {"regex", "(?<n>a)", 'n'}, /* narrowed */
    };
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        char schema[100];
        char text[200];
        snprintf(schema, sizeof schema, "{\"type\":\"string\",\"format\":\"%s\"}", v[i].format);
        snprintf(text, sizeof text, "\"%s\"", v[i].text);
        const one row = {schema, text, v[i].want};
        check(&row, 1);
    }
    /* Labels with letters, digits and hyphens were all that draft 6 asked for. */
    const one old = {"{\"$schema\":\"http://json-schema.org/draft-06/schema#\",\"type\":\"string\","
                     "\"format\":\"hostname\"}",
                     "\"xn--9n2bp8q\"", 'y'};
    check(&old, 1);
    static const one names[] = {
        {"{\"type\":\"string\",\"pattern\":\"^\\\\p{Letter}$\"}", "\"\xC3\xA9\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"^\\\\p{gc=Decimal_Number}$\"}", "\"a\"", 'n'},
        {"{\"type\":\"string\",\"pattern\":\"^\\\\p{Greek}$\"}", "\"a\"", 'u'},
    };
    CHECK(names);
}

static void test_schema__arrays(void **state)
{
    (void)state;
    static const one v[] = {
        {"{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}", "[1, 2]", 'y'},
        {"{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}", "[1, null]", 'n'},
        {"{\"type\":\"array\",\"minItems\":2,\"maxItems\":3}", "[1]", 'n'},
        {"{\"type\":\"array\",\"minItems\":2,\"maxItems\":3}", "[1, 2, 3]", 'y'},
        {"{\"type\":\"array\",\"minItems\":2,\"maxItems\":3}", "[1, 2, 3, 4]", 'n'},
        {"{\"type\":\"array\",\"maxItems\":0}", "[]", 'y'},
        {"{\"type\":\"array\",\"maxItems\":0}", "[1]", 'n'},
        {"{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"const\":\"b\"}]"
         ","
         "\"items\":false}",
         "[1, \"b\"]", 'y'},
        {"{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"const\":\"b\"}]"
         ","
         "\"items\":false}",
         "[1, \"b\", 2]", 'n'},
        {"{\"type\":\"array\",\"prefixItems\":[{\"const\":1}],\"items\":{"
         "\"type\":"
         "\"null\"},\"minItems\":2,\"maxItems\":3}",
         "[1, null, null]", 'y'},
        {"{\"type\":\"array\",\"prefixItems\":[{\"const\":1}],\"items\":{"
         "\"type\":"
         "\"null\"},\"minItems\":2,\"maxItems\":3}",
         "[1]", 'n'},
        {"{\"type\":\"array\",\"uniqueItems\":true}", "[1]", 'y'},
        {"{\"type\":\"array\",\"contains\":{\"const\":1}}", "[1]", 'y'},
        {"{\"$schema\":\"http://json-schema.org/draft-07/"
         "schema#\",\"contains\":{\"type\":\"null\"},\"minContains\":0}",
         "[]", 'n'},
        {"{\"contains\":{\"type\":\"null\"},\"minContains\":0}", "[]", 'y'},
        {"{\"contains\":{\"type\":\"null\"},\"minContains\":2,\"maxContains\":3}",
         "[1, null, null]", 'y'},
        {"{\"contains\":{\"type\":\"null\"},\"minContains\":2,\"maxContains\":3}", "[null, 1]",
         'n'},
        {"{\"contains\":{\"type\":\"null\"},\"maxContains\":1}", "[null, null", 'n'},
        /* what leads nowhere is known before */
        {"{\"type\":\"array\",\"contains\":{\"type\":\"null\"},\"maxContains\":1,\"items\":{"
         "\"type\":\"null\"},\"minItems\":3}",
         "[]", 'e'},
        /* no comma is left over, and no place for what is lacking is given away */
        {"{\"contains\":{\"type\":\"null\"},\"minContains\":2,\"maxItems\":3}", "[1, 2", 'n'},
        {"{\"contains\":{\"type\":\"null\"},\"minContains\":2,\"maxItems\":3}", "[1, null, null]",
         'y'},
        {"{\"contains\":{\"type\":\"null\"},\"minContains\":2,\"maxItems\":1}", "[]", 'n'},
    };
    CHECK(v);
}

static void test_schema__objects(void **state)
{
    (void)state;
    static const one v[] = {
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},"
         "\"b\":{}},\"required\":[\"a\"],\"additionalProperties\":false}",
         "{\"b\": 1, \"a\": 2}", 'y'},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},"
         "\"b\":{}},\"required\":[\"a\"],\"additionalProperties\":false}",
         "{\"b\": 1}", 'n'},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},"
         "\"b\":{}},\"required\":[\"a\"],\"additionalProperties\":false}",
         "{\"a\": 1, \"c\": 2}", 'n'},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},"
         "\"b\":{}},\"required\":[\"a\"],\"additionalProperties\":false}",
         "{\"a\": 1, \"a\": 2}", 'n'},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}",
         "{\"x\": \"y\", \"a\": 1, \"z\": []}", 'y'},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}",
         "{\"x\": 1, \"x\": 2}", 'n'},
        /* another spelling of "a" must not get past its schema */
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}",
         "{\"\\u0061\": \"s\"}", 'n'},
        {"{\"type\":\"object\",\"patternProperties\":{\"^n\":{\"type\":"
         "\"number\"}},\"additionalProperties\":{\"type\":\"string\"}}",
         "{\"n1\": 1, \"s\": \"x\"}", 'y'},
        {"{\"type\":\"object\",\"patternProperties\":{\"^n\":{\"type\":"
         "\"number\"}},\"additionalProperties\":{\"type\":\"string\"}}",
         "{\"n1\": \"x\"}", 'n'},
        {"{\"type\":\"object\",\"minProperties\":2,\"maxProperties\":2}", "{\"x\": 1, \"y\": 2}",
         'y'},
        {"{\"type\":\"object\",\"minProperties\":2,\"maxProperties\":2}", "{\"x\": 1}", 'n'},
        {"{\"type\":\"object\",\"propertyNames\":{\"maxLength\":2}}", "{\"xyz\": 1}", 'n'},
        {"{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},"
         "\"dependentRequired\":{\"a\":[\"b\"]}}",
         "{\"a\": 1}", 'n'},
        {"{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},"
         "\"dependentRequired\":{\"a\":[\"b\"]}}",
         "{\"b\": 1, \"a\": 1}", 'y'},
        {"{\"type\":\"object\",\"unevaluatedProperties\":false}", "{}", 'y'},
        {"{\"type\":\"object\",\"unevaluatedProperties\":false}", "{\"a\":1}", 'n'},
    };
    CHECK(v);
}

static void test_schema__combined(void **state)
{
    (void)state;
    static const one v[] = {
        {"{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}", "\"x\"", 'y'},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\"}]}", "1", 'n'},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"number\"}]}", "1.5", 'y'},
        {"{\"oneOf\":[{\"type\":\"integer\",\"maximum\":5},{\"type\":"
         "\"integer\","
         "\"minimum\":3}]}",
         "4", 'n'},
        {"{\"oneOf\":[{\"type\":\"integer\",\"maximum\":5},{\"type\":"
         "\"integer\","
         "\"minimum\":3}]}",
         "6", 'y'},
        {"{\"allOf\":[{\"minLength\":2},{\"pattern\":\"^a\"}],\"type\":"
         "\"string\"}",
         "\"ab\"", 'y'},
        {"{\"allOf\":[{\"minLength\":2},{\"pattern\":\"^a\"}],\"type\":"
         "\"string\"}",
         "\"ba\"", 'n'},
        {"{\"type\":\"object\",\"if\":{\"properties\":{\"k\":{\"const\":1}},"
         "\"required\":[\"k\"]},\"then\":{\"required\":[\"x\"]},\"properties\":"
         "{"
         "\"k\":{},\"x\":{}}}",
         "{\"k\": 1}", 'n'},
        {"{\"type\":\"object\",\"if\":{\"properties\":{\"k\":{\"const\":1}},"
         "\"required\":[\"k\"]},\"then\":{\"required\":[\"x\"]},\"properties\":"
         "{"
         "\"k\":{},\"x\":{}}}",
         "{\"k\": 2}", 'y'},
        {"{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"type\":\"object\","
         "\"properties\":{\"v\":{\"type\":\"integer\"},\"next\":{\"$ref\":"
         "\"#/$defs/"
         "n\"}},\"required\":[\"v\"],\"additionalProperties\":false}}}",
         "{\"v\": 1, \"next\": {\"v\": 2, \"next\": {\"v\": 3}}}", 'y'},
        {"{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"type\":\"object\","
         "\"properties\":{\"v\":{\"type\":\"integer\"},\"next\":{\"$ref\":"
         "\"#/$defs/"
         "n\"}},\"required\":[\"v\"],\"additionalProperties\":false}}}",
         "{\"v\": 1, \"next\": {\"next\": {\"v\": 3}}}", 'n'},
        {"{\"$ref\":\"#\"}", "1", 'u'},
        {"{\"$ref\":\"#/nowhere\"}", "1", 'u'},
        {"{\"type\":\"object\",\"properties\":{\"me\":{\"$ref\":\"#\"}},"
         "\"required\":[\"me\"]}",
         "{}", 'e'}, /* no finite instance */
        {"{\"not\":{\"type\":\"string\"}}", "\"x\"", 'n'},
        {"{\"not\":{\"required\":[\"a\"]},\"type\":\"object\"}", "{\"a\": 1}", 'n'},
        {"{\"not\":{\"required\":[\"a\"]},\"type\":\"object\"}", "{\"b\": 1}", 'y'},
        {"{\"const\":{\"a\":[1,\"x\"]}}", "{\"a\": [1, \"x\"]}", 'y'},
        {"{\"const\":{\"a\":[1,\"x\"]}}", "{\"a\": [2, \"x\"]}", 'n'},
        {"{\"$ref\":\"#/$defs/m/$defs/"
         "x\",\"$defs\":{\"y\":{\"type\":\"null\"},\"m\":{\"$id\":\"m.json\","
         "\"$defs\":{\"x\":{\"$ref\":\"#/$defs/"
         "y\"},\"y\":{\"type\":\"integer\"}}}}}",
         "1", 'y'},
        {"{\"$ref\":\"#/$defs/m/$defs/"
         "x\",\"$defs\":{\"y\":{\"type\":\"null\"},\"m\":{\"$id\":\"m.json\","
         "\"$defs\":{\"x\":{\"$ref\":\"#/$defs/"
         "y\"},\"y\":{\"type\":\"integer\"}}}}}",
         "null", 'n'},
    };
    CHECK(v);
}

static void test_schema__complements(void **state)
{
    (void)state;
    static const one v[] = {
        {"{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
         "\"integer\"},\"b\":{}},\"additionalProperties\":false},{\"type\":"
         "\"object\",\"properties\":{\"a\":{},\"c\":{}},"
         "\"additionalProperties\":false}]}",
         "{}", 'n'},
        {"{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
         "\"integer\"},\"b\":{}},\"additionalProperties\":false},{\"type\":"
         "\"object\",\"properties\":{\"a\":{},\"c\":{}},"
         "\"additionalProperties\":false}]}",
         "{\"a\": 1}", 'n'},
        {"{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
         "\"integer\"},\"b\":{}},\"additionalProperties\":false},{\"type\":"
         "\"object\",\"properties\":{\"a\":{},\"c\":{}},"
         "\"additionalProperties\":false}]}",
         "{\"a\": \"x\"}", 'y'},
        {"{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
         "\"integer\"},\"b\":{}},\"additionalProperties\":false},{\"type\":"
         "\"object\",\"properties\":{\"a\":{},\"c\":{}},"
         "\"additionalProperties\":false}]}",
         "{\"c\": 1}", 'y'},
        {"{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
         "\"integer\"},\"b\":{}},\"additionalProperties\":false},{\"type\":"
         "\"object\",\"properties\":{\"a\":{},\"c\":{}},"
         "\"additionalProperties\":false}]}",
         "{\"a\": 1, \"b\": 2}", 'y'},
        {"{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
         "\"integer\"},\"b\":{}},\"additionalProperties\":false},{\"type\":"
         "\"object\",\"properties\":{\"a\":{},\"c\":{}},"
         "\"additionalProperties\":false}]}",
         "{\"b\": 1, \"c\": 2}", 'n'},
        {"{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
         "\"integer\"},\"b\":{}},\"additionalProperties\":false},{\"type\":"
         "\"object\",\"properties\":{\"a\":{},\"c\":{}},"
         "\"additionalProperties\":false}]}",
         "{\"a\": \"x\", \"b\": 2}", 'n'},
        {"{\"oneOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
         "\"integer\"},\"b\":{}},\"additionalProperties\":false},{\"type\":"
         "\"object\",\"properties\":{\"a\":{},\"c\":{}},"
         "\"additionalProperties\":false}]}",
         "1", 'n'},
        {"{\"type\":\"object\",\"not\":{\"type\":\"object\",\"properties\":{"
         "\"a\":{},\"b\":{},\"c\":{},\"d\":{},\"e\":{},\"f\":{}},"
         "\"additionalProperties\":false}}",
         "{}", 'n'},
        {"{\"not\":{\"const\":{\"a\":1,\"b\":[2]}}}", "{\"b\": [2], \"a\": 1}", 'n'},
        {"{\"not\":{\"const\":{\"a\":1,\"b\":[2]}}}", "{\"b\": [2, 2], \"a\": 1}", 'y'},
        {"{\"not\":{\"const\":{\"a\":1,\"b\":[2]}}}", "{\"a\": 1}", 'y'},
        {"{\"not\":{\"const\":{\"a\":1,\"b\":[2]}}}", "{\"a\": 1, \"b\": [2], \"c\": 3}", 'y'},
        {"{\"not\":{\"const\":{}}}", "{}", 'n'},
        {"{\"not\":{\"enum\":[[],[1]]}}", "[1]", 'n'},
        {"{\"not\":{\"enum\":[[],[1]]}}", "[2]", 'y'},
        {"{\"not\":{\"type\":\"number\",\"not\":{\"const\":5}},\"type\":"
         "\"number\"}",
         "5", 'y'},
        {"{\"not\":{\"type\":\"number\",\"not\":{\"const\":5}},\"type\":"
         "\"number\"}",
         "6", 'n'},
    };
    CHECK(v);
}

static void test_schema__different_items(void **state)
{
    (void)state;
#define SET "{\"uniqueItems\":true}"
#define FEW "{\"uniqueItems\":true,\"type\":\"array\",\"items\":{\"enum\":[1,\"x\"]}}"
    static const one v[] = {
        {SET, "[1, 2, \"1\", null, [1], {\"a\": 1}]", 'y'},
        {SET, "[1, 1]", 'n'},
        {SET, "[1, 1.0]", 'n'},
        {SET, "[0, -0.0]", 'n'},
        {SET, "[100, 1e2]", 'n'},
        {SET, "[10, 100, 1, 0.1, 0.01, -1]", 'y'},
        {SET, "[\"a\", \"\\u0061\"]", 'n'},
        {SET, "[\"\\ud83d\\ude00\", \"\xF0\x9F\x98\x80\"]", 'n'},
        {SET, "[false, \"b\"]", 'y'},
        {SET, "[{\"a\": 1, \"b\": [2]}, {\"b\": [2.0], \"a\": 1}]", 'n'},
        {SET, "[{\"a\": 1, \"b\": 2}, {\"b\": 1, \"a\": 2}]", 'y'},
        {SET, "[[], {}, [[]], \"\"]", 'y'},
        {SET, "[[1, 1], [1, 1]]", 'n'}, /* inside it need not differ */
        {SET, "[[1, 1], [1]]", 'y'},
        {FEW, "[1, \"x\"]", 'y'},
        {FEW, "[\"x\", \"x\"]", 'n'},
        {FEW, "[]", 'y'},
        {"{\"uniqueItems\":true,\"type\":\"array\",\"items\":{\"enum\":[1,2]},"
         "\"minItems\":3}",
         "[1, 2, 3]", 'e'},
        {"{\"uniqueItems\":true,\"type\":\"array\",\"prefixItems\":[{\"const\":"
         "1}],\"items\":{\"type\":\"integer\"}}",
         "[1, 2, 1]", 'n'},
        {"{\"uniqueItems\":true,\"type\":\"array\",\"items\":{\"type\":"
         "\"array\",\"uniqueItems\":true}}",
         "[[1, 2], [2, 1], []]", 'y'},
        {"{\"uniqueItems\":true,\"type\":\"array\",\"items\":{\"type\":"
         "\"array\",\"uniqueItems\":true}}",
         "[[1, 2], [2, 2]]", 'n'},
    };
    CHECK(v);
}

static void test_schema__some_item(void **state)
{
    (void)state;
#define TWO                                                                \
    "{\"type\":\"array\",\"allOf\":[{\"contains\":{\"type\":\"string\"}}," \
    "{\"contains\":{\"type\":\"string\",\"minLength\":2}}],\"maxItems\":2}"
    static const one v[] = {
        {"{\"contains\":{\"minimum\":5}}", "[1, 6, 2]", 'y'},
        {"{\"contains\":{\"minimum\":5}}", "[1, 2]", 'n'},
        {"{\"contains\":{\"minimum\":5}}", "[]", 'n'},
        {TWO, "[\"ab\"]", 'y'}, /* one item for both */
        {TWO, "[\"a\", \"ab\"]", 'y'},
        {TWO, "[\"a\", \"b\"]", 'n'},
        {TWO, "[1, 2", 'n'},
        {"{\"type\":\"array\",\"not\":{\"items\":{\"minimum\":5}}}", "[7, 3]", 'y'},
        {"{\"type\":\"array\",\"not\":{\"items\":{\"minimum\":5}}}", "[7, 8]", 'n'},
        {"{\"type\":\"array\",\"not\":{\"contains\":{\"const\":1}}}", "[2, 3]", 'y'},
        {"{\"type\":\"array\",\"not\":{\"contains\":{\"const\":1}}}", "[2, 1]", 'n'},
        {"{\"type\":\"array\",\"contains\":{\"type\":\"string\"},\"items\":{"
         "\"type\":\"integer\"}}",
         "[]", 'e'},
    };
    CHECK(v);
}

static void test_schema__some_key(void **state)
{
    (void)state;
#define OTHER "{\"type\":\"object\",\"properties\":{\"a\":{},\"x1\":{}},\"not\":{"
    static const one v[] = {
        {OTHER "\"properties\":{\"a\":{}},\"additionalProperties\":false}}",
         "{\"a\": 1, \"x1\": 2}", 'y'}, /* declared here, not there */
        {OTHER "\"properties\":{\"a\":{}},\"additionalProperties\":false}}", "{\"y\": 2, \"a\": 1}",
         'y'},
        {OTHER "\"properties\":{\"a\":{}},\"additionalProperties\":false}}", "{\"a\": 1}", 'n'},
        {OTHER "\"additionalProperties\":{\"type\":\"string\"}}}", "{\"b\": \"s\", \"a\": 3}", 'y'},
        {OTHER "\"additionalProperties\":{\"type\":\"string\"}}}", "{\"b\": \"s\", \"a\": \"t\"}",
         'n'},
        {OTHER "\"patternProperties\":{\"^x\":{\"type\":\"null\"}}}}", "{\"x1\": null, \"x2\": 0}",
         'y'},
        {OTHER "\"patternProperties\":{\"^x\":{\"type\":\"null\"}}}}", "{\"x1\": null, \"y\": 0}",
         'n'},
        {OTHER "\"patternProperties\":{\"^x\":{}},"
               "\"additionalProperties\":false},\"maxProperties\":1}",
         "{\"y\": 1}", 'y'},
        {OTHER "\"patternProperties\":{\"^x\":{}},"
               "\"additionalProperties\":false},\"maxProperties\":1}",
         "{\"x1\"", 'n'},
    };
    CHECK(v);
}

/* Over 63 declared keys, in any order, with those that are required. */
static void test_schema__many_keys(void **state)
{
    (void)state;
    enum { N = 150 };
    cf_buf s = CF_BUF_INIT;
    cf_buf required = CF_BUF_INIT;
    cf_buf back = CF_BUF_INIT;
    cf_buf forth = CF_BUF_INIT;
    cf_buf_adds(&s, "{\"type\":\"object\",\"properties\":{");
    for (int i = 0; i < N; i++) {
        cf_buf_addf(&s, "%s\"k%d\":{\"type\":\"integer\"}", i > 0 ? "," : "", i);
        if (i % 2 == 0) {
            cf_buf_addf(&required, "%s\"k%d\"", i > 0 ? "," : "", i);
        }
        cf_buf_addf(&back, "%s\"k%d\": 1", i > 0 ? ", " : "{", N - 1 - i);
        cf_buf_addf(&forth, "%s\"k%d\": 1", i > 0 ? ", " : "{", i);
    }
    cf_buf_addf(&s, "},\"additionalProperties\":false,\"required\":[%s]}", cf_buf_cstr(&required));
    size_t open = back.n;
    cf_buf_adds(&back, "}");
    assert_int_equal(verdict(cf_buf_cstr(&s), cf_buf_cstr(&back), NULL), 'y');
    assert_int_equal(verdict(cf_buf_cstr(&s), "{}", NULL), 'n');
    back.n = open;
    cf_buf_adds(&back, ", \"k149\": 2}"); /* twice */
    assert_int_equal(verdict(cf_buf_cstr(&s), cf_buf_cstr(&back), NULL), 'n');
    back.n = open;
    cf_buf_adds(&back, ", \"other\": 2}");
    assert_int_equal(verdict(cf_buf_cstr(&s), cf_buf_cstr(&back), NULL), 'n');
    forth.n -= strlen(", \"k149\": 1"); /* not required */
    open = forth.n;
    cf_buf_adds(&forth, "}");
    assert_int_equal(verdict(cf_buf_cstr(&s), cf_buf_cstr(&forth), NULL), 'y');
    forth.n = open - strlen(", \"k148\": 1"); /* required, without a bit */
    cf_buf_adds(&forth, "}");
    assert_int_equal(verdict(cf_buf_cstr(&s), cf_buf_cstr(&forth), NULL), 'n');
    cf_buf_deinit(&s);
    cf_buf_deinit(&required);
    cf_buf_deinit(&back);
    cf_buf_deinit(&forth);
}

/* A pattern and a length whose product is large are counted: the same texts
 * as by the product. */
static void test_schema__counted_patterns(void **state)
{
    (void)state;
#define PAIRS "{\"type\":\"string\",\"pattern\":\"^(?:ab|c)*d?$\",\"minLength\":"
    static const one v[] = {
        {PAIRS "2,\"maxLength\":5000}", "\"d\"", 'n'},
        {PAIRS "2,\"maxLength\":5000}", "\"cd\"", 'y'},
        {PAIRS "2,\"maxLength\":5000}", "\"abcabd\"", 'y'},
        {PAIRS "2,\"maxLength\":5000}", "\"aab\"", 'n'},
        {PAIRS "4000}", "\"ab\"", 'n'},
        {"{\"type\":\"string\",\"pattern\":\"^a{3}$\",\"minLength\":5000}", "\"aaa\"", 'e'},
        {"{\"type\":\"string\",\"format\":\"uri\",\"maxLength\":32767}", "\"http://a.b/c?d#e\"",
         'y'},
        {"{\"type\":\"string\",\"format\":\"uri\",\"maxLength\":32767}", "\"a b\"", 'n'},
    };
    CHECK(v);
    /* no text leads to a place from which the limit is out of reach */
    const char *schema = "{\"type\":\"string\",\"pattern\":\"^a*(?:bcd)?$\","
                         "\"maxLength\":5000}";
    char text[5010] = "\"";
    memset(text + 1, 'a', 4997);
    strcpy(text + 4998, "bcd\"");
    assert_int_equal(verdict(schema, text, NULL), 'y');
    memset(text + 1, 'a', 4998);
    strcpy(text + 4999, "\"");
    assert_int_equal(verdict(schema, text, NULL), 'y');
    cf_error err;
    json_t *s = NULL;
    cf_grammar *g = NULL;
    cf_constraint *c = NULL;
    size_t n = 0;
    uint32_t set[8];
    T_OK(cf_json_read(&s, schema, strlen(schema), &err), err);
    T_OK(cf_grammar_from_schema(&g, s, NULL, &err), err);
    T_OK(cf_constraint_new(&c, g, NULL, &err), err);
    T_OK(cf_constraint_bytes(c, text, 4999, &n, &err), err);
    assert_int_equal(n, 4999);
    T_OK(cf_constraint_bytes(c, "b", 1, &n, &err), err);
    assert_int_equal(n, 0);
    cf_constraint_rollback(c, 1);
    cf_constraint_next_bytes(c, set);
    cf_constraint_free(c);
    cf_grammar_free(g);
    json_decref(s);
}

static void test_schema__negated_formats_and_multiples(void **state)
{
    (void)state;
    static const one v[] = {
        {"{\"type\":\"number\",\"not\":{\"multipleOf\":3}}", "4", 'y'},
        {"{\"type\":\"number\",\"not\":{\"multipleOf\":3}}", "6", 'n'},
        {"{\"type\":\"number\",\"not\":{\"multipleOf\":3}}", "6.5", 'y'},
        {"{\"type\":\"number\",\"not\":{\"multipleOf\":3}}", "-9.0", 'n'},
        {"{\"type\":\"number\",\"not\":{\"multipleOf\":0.25}}", "0.75", 'n'},
        {"{\"type\":\"number\",\"not\":{\"multipleOf\":0.25}}", "0.755", 'y'},
        {"{\"type\":\"string\",\"not\":{\"format\":\"email\"}}", "\"ab\"", 'y'},
        {"{\"type\":\"string\",\"not\":{\"format\":\"email\"}}", "\"a@b.c\"", 'n'},
        {"{\"type\":\"string\",\"not\":{\"format\":\"email\"}}", "\"a b@c\"",
         'n'}, /* it may be one: not offered */
        {"{\"oneOf\":[{\"format\":\"uri\"},{\"format\":\"email\"}],\"type\":"
         "\"string\"}",
         "\"mailto:a@b.c\"", 'y'},
        {"{\"oneOf\":[{\"format\":\"uri\"},{\"format\":\"email\"}],\"type\":"
         "\"string\"}",
         "\"a@b.c\"", 'y'},
        {"{\"format\":\"regex\",\"type\":\"string\"}", "\"^(?:[a-z0-9_]{3,16}|\\\\d+?)*/x$\"", 'y'},
        {"{\"format\":\"regex\",\"type\":\"string\"}", "\"a(b\"", 'n'},
        {"{\"format\":\"regex\",\"type\":\"string\"}", "\"[z-a]\"", 'n'},
        {"{\"format\":\"regex\",\"type\":\"string\"}", "\"*\"", 'n'},
        {"{\"format\":\"regex\",\"type\":\"string\"}", "\"a{5,2}\"", 'n'},
    };
    CHECK(v);
}

/* The negation of everything, of nothing, and of either truth value. */
static void test_schema__negations_of_small_sets(void **state)
{
    (void)state;
#define OR_NULL(s) "{\"anyOf\":[{\"not\":" s "},{\"type\":\"null\"}]}"
    static const one v[] = {
        {OR_NULL("{}"), "1", 'n'},
        {OR_NULL("{}"), "null", 'y'},
        {OR_NULL("true"), "true", 'n'},
        {OR_NULL("{\"not\":{}}"), "1", 'y'},
        {OR_NULL("{\"const\":true}"), "true", 'n'},
        {OR_NULL("{\"const\":true}"), "false", 'y'},
        {OR_NULL("{\"const\":false}"), "true", 'y'},
        {OR_NULL("{\"const\":false}"), "false", 'n'},
        {OR_NULL("{\"type\":\"boolean\"}"), "true", 'n'},
        {OR_NULL("{\"type\":\"boolean\"}"), "false", 'n'},
        {OR_NULL("{\"type\":\"boolean\"}"), "1", 'y'},
        {OR_NULL("{\"enum\":[true,false]}"), "false", 'n'},
        {OR_NULL("{\"enum\":[true,1]}"), "false", 'y'},
    };
#undef OR_NULL
    CHECK(v);
}

static void test_schema__references(void **state)
{
    (void)state;
    static const one v[] = {
        {"{\"$id\":\"http://a.b/d/root\",\"$ref\":\"http://a.b/d/"
         "n.json#foo\",\"$defs\":{\"A\":{\"$id\":\"n.json\",\"$defs\":{\"B\":{"
         "\"$anchor\":\"foo\",\"type\":\"integer\"}}}}}",
         "1", 'y'},
        {"{\"$id\":\"http://a.b/d/root\",\"$ref\":\"http://a.b/d/"
         "n.json#foo\",\"$defs\":{\"A\":{\"$id\":\"n.json\",\"$defs\":{\"B\":{"
         "\"$anchor\":\"foo\",\"type\":\"integer\"}}}}}",
         "\"x\"", 'n'},
        {"{\"$id\":\"http://a.b/c\",\"$ref\":\"http://a.b/x/"
         "y\",\"$defs\":{\"A\":{\"$id\":\"/x/y\",\"type\":\"integer\"}}}",
         "1", 'y'},
        {"{\"$id\":\"http://a.b/c\",\"$ref\":\"#/$defs/"
         "A\",\"$defs\":{\"A\":{\"$id\":\"d/"
         "\",\"items\":{\"$ref\":\"i\"}},\"B\":{\"$id\":\"d/"
         "i\",\"type\":\"null\"}}}",
         "[null]", 'y'},
        {"{\"$id\":\"http://a.b/c\",\"$ref\":\"#/$defs/"
         "A\",\"$defs\":{\"A\":{\"$id\":\"d/"
         "\",\"items\":{\"$ref\":\"i\"}},\"B\":{\"$id\":\"d/"
         "i\",\"type\":\"null\"}}}",
         "[1]", 'n'},
        {"{\"$dynamicAnchor\":\"n\",\"properties\":{\"c\":{\"$ref\":\"#n\"}},"
         "\"additionalProperties\":false}",
         "{\"c\": {\"d\": 1}}", 'n'},
        {"{\"examples\":[{\"$anchor\":\"w\",\"type\":\"string\"}],\"default\":{"
         "\"$anchor\":\"w\"},\"properties\":{\"b\":{\"$ref\":\"#w\"},\"const\":"
         "{\"$anchor\":\"w\",\"type\":\"integer\"}}}",
         "{\"b\": \"x\"}", 'n'},
        {"{\"examples\":[{\"$anchor\":\"w\",\"type\":\"string\"}],\"default\":{"
         "\"$anchor\":\"w\"},\"properties\":{\"b\":{\"$ref\":\"#w\"},\"const\":"
         "{\"$anchor\":\"w\",\"type\":\"integer\"}}}",
         "{\"b\": 1}", 'y'},
    };
    CHECK(v);
}

/* A keyword with a value that is none of its own is refused, not ignored. */
static void test_schema__misshapen(void **state)
{
    (void)state;
    static const one v[] = {
        {"{\"properties\":5}", "{}", 'u'},
        {"{\"properties\":[]}", "{}", 'y'},
        {"{\"patternProperties\":[{}]}", "{}", 'u'},
        {"{\"allOf\":{\"type\":\"null\"}}", "1", 'u'},
        {"{\"anyOf\":{\"type\":\"null\"}}", "1", 'u'},
        {"{\"oneOf\":true}", "1", 'u'},
        {"{\"prefixItems\":{\"type\":\"null\"}}", "[1]", 'u'},
        {"{\"uniqueItems\":\"yes\"}", "[1, 1]", 'u'},
        {"{\"format\":5}", "\"x\"", 'u'},
        {"{\"dependentRequired\":7}", "{}", 'u'},
    };
    CHECK(v);
}

/* An anchor in a repetition must be passed as often as the repetition says. */
static void test_schema__anchors_repeated(void **state)
{
    (void)state;
    static const one v[] = {
        {"{\"type\":\"string\",\"pattern\":\"a($){1}\"}", "\"ab\"", 'n'},
        {"{\"type\":\"string\",\"pattern\":\"a($){1}\"}", "\"ba\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"a(?:$){1,3}b\"}", "\"ab\"", 'e'},
        {"{\"type\":\"string\",\"pattern\":\"(?:^)+a\"}", "\"ba\"", 'n'},
        {"{\"type\":\"string\",\"pattern\":\"(?:^)+a\"}", "\"ab\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"(?:^)*a\"}", "\"ba\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"(?:^a?){2}b\"}", "\"xb\"", 'n'},
        {"{\"type\":\"string\",\"pattern\":\"(?:^a?){2}b\"}", "\"abx\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"(?:^a){2}\"}", "\"aa\"", 'e'},
        {"{\"type\":\"string\",\"pattern\":\"(?:^a|b){2}\"}", "\"ab\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"(?:^|b$|c){3}\"}", "\"ccb\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"(?:^|b$|c){3}\"}", "\"b\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"^(?:b$|c){3}\"}", "\"cb\"", 'n'},
        {"{\"type\":\"string\",\"pattern\":\"(?:^a$){2}\"}", "\"a\"", 'e'},
        {"{\"type\":\"string\",\"pattern\":\"(?:^a?$){2}\"}", "\"\"", 'y'},
        {"{\"type\":\"string\",\"pattern\":\"(?:^a?$){2}\"}", "\"a\"", 'n'},
        {"{\"type\":\"string\",\"pattern\":\"(?:^a$|x?){2}\"}", "\"a\"", 'y'},
    };
    CHECK(v);
}

/* Limits that nothing can keep: no value of the type, and no way into one. */
static void test_schema__nothing_left(void **state)
{
    (void)state;
    static const one v[] = {
        {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":1}", "\"ab\"", 'e'},
        {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":1,\"pattern\":"
         "\"a\"}",
         "\"a\"", 'e'},
        {"{\"minLength\":2,\"maxLength\":1}", "1", 'y'},
        {"{\"type\":\"array\",\"minItems\":3,\"maxItems\":1}", "[1]", 'e'},
        {"{\"type\":\"object\",\"minProperties\":3,\"maxProperties\":1}", "{}", 'e'},
        {"{\"type\":\"object\",\"required\":[\"a\",\"b\"],\"maxProperties\":1}", "{}", 'e'},
        {"{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":false},"
         "\"minProperties\":2,\"additionalProperties\":false}",
         "{\"a\": 1}", 'e'},
        {"{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},"
         "\"minProperties\":1,\"maxProperties\":1,\"dependentRequired\":{\"a\":"
         "[\"b\"]},\"additionalProperties\":false}",
         "{\"b\": 1}", 'y'},
        {"{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}},"
         "\"minProperties\":1,\"additionalProperties\":false}",
         "{}", 'e'},
        {"{\"type\":\"object\",\"properties\":{\"a\":{}},"
         "\"additionalProperties\":{\"type\":\"object\",\"properties\":{\"q\":"
         "false},\"required\":[\"q\"]}}",
         "{\"a\": 1}", 'y'},
    };
    CHECK(v);
}

static void test_schema__constants(void **state)
{
    (void)state;
    static const one v[] = {
        {"{\"const\":{\"a\":1,\"b\":[{\"c\":\"x\",\"d\":null}]}}",
         "{\"b\": [{\"d\": null, \"c\": \"x\"}], \"a\": 1}", 'y'},
        {"{\"const\":{\"a\":1,\"b\":2}}", "{\"b\": 2}", 'n'},
        {"{\"const\":{\"a\":1,\"b\":2}}", "{\"b\": 2, \"a\": 1, \"c\": 3}", 'n'},
        {"{\"enum\":[{\"a\":1,\"b\":2},3]}", "{\"b\": 3, \"a\": 1}", 'n'},
        {"{\"const\":1e100}", "1e+100", 'y'},
        {"{\"minimum\":9007199254740993,\"exclusiveMinimum\":9007199254740992}", "9007199254740993",
         'y'},
        {"{\"enum\":[[1,{\"a\":2.0}]],\"items\":{\"enum\":[1.0,{\"a\":2}]}}", "[1, {\"a\": 2}]",
         'y'},
    };
    CHECK(v);
}

/* No position is left without a way on: a key or an opening bracket that
 * nothing can follow is not offered. */
static void test_schema__no_dead_end(void **state)
{
    (void)state;
    static const struct {
        const char *schema, *text;
        char refused;
    } v[] = {
        {"{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"object\","
         "\"minProperties\":2,\"properties\":{\"a\":{}},"
         "\"additionalProperties\":false}]}",
         "", '{'},
        {"{\"type\":[\"integer\",\"string\"],\"minLength\":1,"
         "\"maxLength\":0}",
         "", '"'},
        {"{\"type\":\"object\",\"properties\":{\"a\":{}},"
         "\"additionalProperties\":{\"type\":\"object\","
         "\"properties\":{\"q\":false},\"required\":[\"q\"]}}",
         "{\"a\":1", ','},
        {"{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{},"
         "\"c\":false},\"dependentRequired\":{\"b\":[\"c\"]},"
         "\"additionalProperties\":false}",
         "{\"a\":1", ','},
        {"{\"type\":\"array\",\"items\":{\"enum\":[\"a\",\"b\"]},"
         "\"uniqueItems\":true}",
         "[\"b\",\"a\"", ','},
        {"{\"type\":\"array\",\"items\":{\"type\":\"integer\","
         "\"minimum\":1,\"maximum\":2},\"uniqueItems\":true}",
         "[1,", '1'},
        {"{\"type\":\"array\",\"uniqueItems\":true}", "[\"ab\",\"ab", '"'},
        {"{\"type\":\"array\",\"maxItems\":2,\"contains\":{\"type\":"
         "\"string\"}}",
         "[1,", '2'},
    };
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        cf_error err;
        json_t *s = NULL;
        cf_grammar *g = NULL;
        cf_constraint *c = NULL;
        size_t n = 0;
        uint32_t set[8] = {0};
        T_OK(cf_json_read(&s, v[i].schema, strlen(v[i].schema), &err), err);
        T_OK(cf_grammar_from_schema(&g, s, NULL, &err), err);
        T_OK(cf_constraint_new(&c, g, NULL, &err), err);
        T_OK(cf_constraint_bytes(c, v[i].text, strlen(v[i].text), &n, &err), err);
        assert_int_equal(n, strlen(v[i].text));
        cf_constraint_next_bytes(c, set);
        unsigned b = (unsigned char)v[i].refused;
        assert_int_equal(set[b / 32] >> (b % 32) & 1, 0);
        cf_constraint_free(c);
        cf_grammar_free(g);
        json_decref(s);
    }
}

static void test_schema__policies(void **state)
{
    (void)state;
    static const char *const schema = "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},"
                                      "\"additionalProperties\":false}";
    const cf_grammar_options declared = {.order = CF_KEYS_DECLARED};
    const cf_grammar_options compact = {.space = CF_SPACE_COMPACT};
    const cf_grammar_options python = {.space = CF_SPACE_PYTHON};
    assert_int_equal(verdict(schema, "{\"b\":1,\"a\":2}", &declared), 'n');
    assert_int_equal(verdict(schema, "{\"a\":1,\"b\":2}", &declared), 'y');
    assert_int_equal(verdict("{\"const\":{\"a\":1,\"b\":2}}", "{\"b\":2,\"a\":1}", &declared), 'n');
    assert_int_equal(verdict(schema, "{\"a\":1,\"b\":2}", &compact), 'y');
    assert_int_equal(verdict(schema, "{\"a\": 1}", &compact), 'n');
    assert_int_equal(verdict(schema, "{\"a\": 1, \"b\": 2}", &python), 'y');
    assert_int_equal(verdict(schema, "{\"a\":1}", &python), 'n');
    assert_int_equal(verdict(schema, "{\n  \"a\": 1,\n  \"b\": 2\n}", NULL), 'y');
    assert_int_equal(verdict(schema, "{  \"a\": 1}", NULL), 'n');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema__depth_is_named),
        cmocka_unit_test(test_schema__types),
        cmocka_unit_test(test_schema__numbers),
        cmocka_unit_test(test_schema__strings),
        cmocka_unit_test(test_schema__formats),
        cmocka_unit_test(test_schema__arrays),
        cmocka_unit_test(test_schema__objects),
        cmocka_unit_test(test_schema__combined),
        cmocka_unit_test(test_schema__complements),
        cmocka_unit_test(test_schema__different_items),
        cmocka_unit_test(test_schema__some_item),
        cmocka_unit_test(test_schema__some_key),
        cmocka_unit_test(test_schema__many_keys),
        cmocka_unit_test(test_schema__counted_patterns),
        cmocka_unit_test(test_schema__negated_formats_and_multiples),
        cmocka_unit_test(test_schema__negations_of_small_sets),
        cmocka_unit_test(test_schema__references),
        cmocka_unit_test(test_schema__misshapen),
        cmocka_unit_test(test_schema__anchors_repeated),
        cmocka_unit_test(test_schema__nothing_left),
        cmocka_unit_test(test_schema__constants),
        cmocka_unit_test(test_schema__no_dead_end),
        cmocka_unit_test(test_schema__policies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
