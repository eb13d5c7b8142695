/*
 * test_schema_agree.c - random schemas and random values: the constraint of a
 * schema takes the text of exactly those values that the validator finds
 * valid.
 */
#include "core/api/constraint.h"
#include "core/schema/validate.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"

static json_t *make_value(cf_rand *r, unsigned depth)
{
    static const char *const texts[] = {"", "a", "b", "ab", "aa", "ba"};
    static const char *const keys[] = {"a", "b", "ab", "c"};
    json_t *v;
    size_t n;
    switch (cf_rand_below(r, depth < 2 ? 8 : 5)) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(cf_rand_below(r, 2) == 0);
    case 2:
        return json_string(texts[cf_rand_below(r, 6)]);
    case 3:
        return json_integer((json_int_t)cf_rand_below(r, 9) - 2);
    case 4:
        /* an integer is written without a point */
        return json_real((double)cf_rand_below(r, 9) - 2.5);
    case 5:
        v = json_array();
        for (n = cf_rand_below(r, 4); n > 0; n--) {
            json_array_append_new(v, make_value(r, depth + 1));
        }
        return v;
    default:
        v = json_object();
        for (n = cf_rand_below(r, 4); n > 0; n--) {
            json_object_set_new(v, keys[cf_rand_below(r, 4)], make_value(r, depth + 1));
        }
        return v;
    }
}

static json_t *make_schema(cf_rand *r, unsigned depth);

static json_t *some_schemas(cf_rand *r, unsigned depth)
{
    json_t *v = json_array();
    for (size_t n = cf_rand_below(r, 2) + 1; n > 0; n--) {
        json_array_append_new(v, make_schema(r, depth + 1));
    }
    return v;
}

static json_t *some_names(cf_rand *r)
{
    static const char *const keys[] = {"a", "b", "ab", "c"};
    json_t *v = json_array();
    size_t first = cf_rand_below(r, 4);
    for (size_t n = cf_rand_below(r, 2) + 1; n > 0; n--) {
        json_array_append_new(v, json_string(keys[(first + n) % 4]));
    }
    return v;
}

static json_t *some_count(cf_rand *r, size_t below)
{
    return json_integer((json_int_t)cf_rand_below(r, below));
}

static void add_keyword(json_t *s, cf_rand *r, unsigned depth)
{
    static const char *const types[] = {"null",   "boolean", "integer", "number",
                                        "string", "array",   "object"};
    static const char *const patterns[] = {"^a", "b$", "^a*$", "a"};
    static const char *const keys[] = {"a", "b", "ab", "c"};
    json_t *v = json_object();
    bool is_deep = depth >= 2;
    switch (cf_rand_below(r, is_deep ? 10 : 32)) {
    case 0:
    case 1:
        json_object_set_new(s, "type", json_string(types[cf_rand_below(r, 7)]));
        break;
    case 2:
        json_object_set_new(s, "minimum", some_count(r, 5));
        break;
    case 3:
        json_object_set_new(s, "exclusiveMaximum", some_count(r, 5));
        break;
    case 4:
        json_object_set_new(s, "multipleOf", json_real(cf_rand_below(r, 2) == 0 ? 0.5 : 2));
        break;
    case 5:
        json_object_set_new(s, "maxLength", some_count(r, 3));
        break;
    case 6:
        json_object_set_new(s, "pattern", json_string(patterns[cf_rand_below(r, 4)]));
        break;
    case 7:
        json_object_set_new(s, "enum", json_pack("[o,o]", make_value(r, 1), make_value(r, 1)));
        break;
    case 8:
        json_object_set_new(s, "uniqueItems", json_true());
        break;
    case 9:
        json_object_set_new(s, "const", make_value(r, 1));
        break;
    case 10:
        json_object_set_new(s, "items", make_schema(r, depth + 1));
        break;
    case 11:
        json_object_set_new(s, "prefixItems", some_schemas(r, depth));
        break;
    case 12:
        json_object_set_new(s, "minItems", some_count(r, 3));
        break;
    case 13:
        json_object_set_new(s, "maxItems", some_count(r, 4));
        break;
    case 14:
        json_object_set_new(s, "contains", make_schema(r, depth + 1));
        break;
    case 15:
    case 16:
        for (size_t n = cf_rand_below(r, 3) + 1; n > 0; n--) {
            json_object_set_new(v, keys[cf_rand_below(r, 4)], make_schema(r, depth + 1));
        }
        json_object_set(s, "properties", v);
        break;
    case 17:
        json_object_set_new(v, patterns[cf_rand_below(r, 4)], make_schema(r, depth + 1));
        json_object_set(s, "patternProperties", v);
        break;
    case 18:
    case 19:
        json_object_set_new(s, "additionalProperties", make_schema(r, depth + 1));
        break;
    case 20:
        json_object_set_new(s, "required", some_names(r));
        break;
    case 21:
        json_object_set_new(s, "maxProperties", some_count(r, 3));
        break;
    case 22:
        json_object_set_new(s, "minProperties", some_count(r, 3));
        break;
    case 23:
        json_object_set_new(s, "not", make_schema(r, depth + 1));
        break;
    case 24:
        json_object_set_new(s, "oneOf", some_schemas(r, depth));
        break;
    case 25:
        json_object_set_new(s, "anyOf", some_schemas(r, depth));
        break;
    case 26:
    case 27:
        json_object_set_new(s, "unevaluatedProperties", make_schema(r, 2));
        break;
    case 28:
    case 29:
        json_object_set_new(s, "unevaluatedItems", make_schema(r, 2));
        break;
    case 30:
        json_object_set_new(s, "contains", make_schema(r, depth + 1));
        json_object_set_new(s, "minContains", some_count(r, 4));
        if (cf_rand_below(r, 2) == 0) {
            json_object_set_new(s, "maxContains", some_count(r, 4));
        }
        break;
    default:
        json_object_set_new(s, "if", make_schema(r, depth + 1));
        json_object_set_new(s, "then", make_schema(r, depth + 1));
        break;
    }
    json_decref(v);
}

static json_t *make_schema(cf_rand *r, unsigned depth)
{
    if (cf_rand_below(r, 12) == 0) {
        return json_boolean(cf_rand_below(r, 3) > 0);
    }
    json_t *s = json_object();
    for (size_t n = cf_rand_below(r, 3) + 1; n > 0; n--) {
        add_keyword(s, r, depth);
    }
    return s;
}

static bool takes(const cf_grammar *g, const json_t *v)
{
    cf_error err;
    cf_constraint *c = NULL;
    cf_buf t = CF_BUF_INIT;
    size_t n = 0;
    cf_json_write(&t, v);
    T_OK(cf_buf_check(&t, &err), err);
    T_OK(cf_constraint_new(&c, g, NULL, &err), err);
    T_OK(cf_constraint_bytes(c, t.p, t.n, &n, &err), err);
    bool yes = n == t.n && cf_constraint_may_end(c);
    cf_constraint_free(c);
    cf_buf_deinit(&t);
    return yes;
}

typedef struct counts {
    size_t n_refused, n_valid, n_invalid;
} counts;

static void compare(const json_t *s, uint64_t seed, cf_rand *r, counts *count)
{
    cf_error err;
    cf_grammar *g = NULL;
    cf_validator *val = NULL;
    cf_status st = cf_grammar_from_schema(&g, s, NULL, &err);
    bool is_empty = st == CF_EINVAL;
    if (st != CF_OK && !is_empty) {
        count->n_refused++;
        return;
    }
    T_OK(cf_validator_new(&val, s, NULL, &err), err);
    for (int i = 0; i < 40; i++) {
        json_t *v = make_value(r, 0);
        bool is_valid = false;
        T_OK(cf_validator_run(val, v, NULL, NULL, &is_valid, &err), err);
        bool is_taken = g != NULL && takes(g, v);
        if (is_taken != is_valid) {
            char *schema = json_dumps(s, JSON_COMPACT);
            char *value = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
            fail_msg("seed %u: %s with %s is %s, and %s", (unsigned)seed, schema, value,
                     is_valid ? "valid" : "invalid", is_taken ? "taken" : "refused");
        }
        count->n_valid += is_valid ? 1 : 0;
        count->n_invalid += is_valid ? 0 : 1;
        json_decref(v);
    }
    cf_validator_free(val);
    cf_grammar_free(g);
}

static void test_schema_agree__constraint_and_validator(void **state)
{
    (void)state;
    enum { N = 3000 };
    counts count = {0, 0, 0};
    for (uint64_t seed = 1; seed <= N; seed++) {
        cf_rand r = {seed * UINT64_C(0x9E3779B97F4A7C15)};
        json_t *s = make_schema(&r, 0);
        compare(s, seed, &r, &count);
        json_decref(s);
    }
    printf("%zu of %d schemas refused; %zu valid and %zu invalid values\n", count.n_refused, (int)N,
           count.n_valid, count.n_invalid);
    assert_true(count.n_refused < N / 25);
    assert_true(count.n_valid > 10000 && count.n_invalid > 10000);
}

/* What alternatives, conditions and references evaluate. */
static void test_schema_agree__unevaluated(void **state)
{
    (void)state;
    enum { N = 1500 };
    static const char *const keywords[] = {"unevaluatedProperties", "unevaluatedItems"};
    static const char *const combine[] = {"anyOf", "oneOf", "allOf"};
    counts count = {0, 0, 0};
    for (uint64_t seed = 1; seed <= N; seed++) {
        cf_rand r = {seed * UINT64_C(0xD1342543DE82EF95)};
        json_t *list = json_array();
        json_t *s = json_object();
        for (size_t n = cf_rand_below(&r, 3) + 1; n > 0; n--) {
            json_array_append_new(list, make_schema(&r, 1));
        }
        json_object_set_new(s, combine[cf_rand_below(&r, 3)], list);
        json_object_set_new(s, "if", make_schema(&r, 1));
        json_object_set_new(s, "else", json_pack("{s:s}", "$ref", "#/$defs/d"));
        json_object_set_new(s, "$defs", json_pack("{s:o}", "d", make_schema(&r, 1)));
        json_object_set_new(s, keywords[seed % 2],
                            seed % 3 == 0 ? make_schema(&r, 2) : json_false());
        compare(s, seed, &r, &count);
        json_decref(s);
    }
    printf("%zu of %d schemas refused; %zu valid and %zu invalid values\n", count.n_refused, (int)N,
           count.n_valid, count.n_invalid);
    assert_true(count.n_refused < N / 4); /* nearly all for a negation of uniqueItems */
    assert_true(count.n_valid > 5000 && count.n_invalid > 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema_agree__constraint_and_validator),
        cmocka_unit_test(test_schema_agree__unevaluated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
