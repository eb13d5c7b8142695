/*
 * test_constrain_prop.c - whatever random logits choose under a schema parses
 * as JSON and satisfies the schema, as a second, plain validator sees it.
 */
#include <math.h>

#include "core/api/constraint.h"
#include "core/base/utf8.h"
#include "tests/support/rand.h"
#include "tests/support/t.h"

/* ---- a plain validator of the keywords used here ------------------------ */

static const json_t *root;

static bool valid(const json_t *s, const json_t *v);

static bool type_is(const char *t, const json_t *v)
{
    if (strcmp(t, "integer") == 0) {
        return json_is_integer(v) ||
               (json_is_real(v) && floor(json_real_value(v)) == json_real_value(v));
    }
    return (strcmp(t, "null") == 0 && json_is_null(v)) ||
           (strcmp(t, "boolean") == 0 && json_is_boolean(v)) ||
           (strcmp(t, "number") == 0 && json_is_number(v)) ||
           (strcmp(t, "string") == 0 && json_is_string(v)) ||
           (strcmp(t, "array") == 0 && json_is_array(v)) ||
           (strcmp(t, "object") == 0 && json_is_object(v));
}

static bool same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) {
        return json_number_value(a) == json_number_value(b);
    }
    return json_equal(a, b) != 0;
}

static double number(const json_t *s, const char *key, double otherwise)
{
    const json_t *v = json_object_get(s, key);
    return v != NULL ? json_number_value(v) : otherwise;
}

static bool valid_object(const json_t *s, json_t *v)
{
    json_t *props = json_object_get(s, "properties");
    json_t *more = json_object_get(s, "additionalProperties");
    json_t *required = json_object_get(s, "required");
    double n = (double)json_object_size(v);
    const char *key;
    json_t *child;
    if (n < number(s, "minProperties", 0) || n > number(s, "maxProperties", INFINITY)) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(required); i++) {
        if (json_object_get(v, json_string_value(json_array_get(required, i))) == NULL) {
            return false;
        }
    }
    json_object_foreach(v, key, child)
    {
        const json_t *own = json_object_get(props, key);
        own = own != NULL ? own : more;
        if (own != NULL && !valid(own, child)) {
            return false;
        }
    }
    json_t *deps = json_object_get(s, "dependentRequired");
    json_object_foreach(deps, key, child)
    {
        for (size_t i = 0; json_object_get(v, key) != NULL && i < json_array_size(child); i++) {
            if (json_object_get(v, json_string_value(json_array_get(child, i))) == NULL) {
                return false;
            }
        }
    }
    return true;
}

static bool valid_array(const json_t *s, const json_t *v)
{
    double n = (double)json_array_size(v);
    json_t *prefix = json_object_get(s, "prefixItems");
    json_t *items = json_object_get(s, "items");
    if (n < number(s, "minItems", 0) || n > number(s, "maxItems", INFINITY)) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *own = json_array_get(prefix, i);
        own = own != NULL ? own : items;
        if (own != NULL && !valid(own, json_array_get(v, i))) {
            return false;
        }
    }
    return true;
}

static bool valid_number(const json_t *s, const json_t *v)
{
    double d = json_number_value(v);
    double of = number(s, "multipleOf", 0);
    return d >= number(s, "minimum", -INFINITY) && d <= number(s, "maximum", INFINITY) &&
           d > number(s, "exclusiveMinimum", -INFINITY) &&
           d < number(s, "exclusiveMaximum", INFINITY) &&
           (of <= 0 || fabs(d / of - round(d / of)) < 1e-9);
}

static unsigned matching(const json_t *list, const json_t *v)
{
    unsigned n = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        n += valid(json_array_get(list, i), v) ? 1 : 0;
    }
    return n;
}

static bool valid_combined(const json_t *s, const json_t *v)
{
    const json_t *any = json_object_get(s, "anyOf");
    const json_t *one = json_object_get(s, "oneOf");
    const json_t *all = json_object_get(s, "allOf");
    const json_t *no = json_object_get(s, "not");
    const json_t *cond = json_object_get(s, "if");
    if (cond != NULL) {
        const json_t *then = json_object_get(s, valid(cond, v) ? "then" : "else");
        if (then != NULL && !valid(then, v)) {
            return false;
        }
    }
    return (any == NULL || matching(any, v) > 0) && (one == NULL || matching(one, v) == 1) &&
           (all == NULL || matching(all, v) == json_array_size(all)) &&
           (no == NULL || !valid(no, v));
}

static bool valid(const json_t *s, const json_t *v)
{
    if (json_is_boolean(s)) {
        return json_is_true(s);
    }
    const char *ref = json_string_value(json_object_get(s, "$ref"));
    if (ref != NULL) {
        const json_t *to = strcmp(ref, "#") == 0 ? root
                                                 : json_object_get(json_object_get(root, "$defs"),
                                                                   ref + strlen("#/$defs/"));
        return valid(to, v);
    }
    const json_t *type = json_object_get(s, "type");
    bool ok = type == NULL;
    for (size_t i = 0; i < json_array_size(type); i++) {
        ok |= type_is(json_string_value(json_array_get(type, i)), v);
    }
    if (json_is_string(type)) {
        ok = type_is(json_string_value(type), v);
    }
    const json_t *values = json_object_get(s, "enum");
    bool is_one = values == NULL;
    for (size_t i = 0; i < json_array_size(values); i++) {
        is_one |= same(json_array_get(values, i), v);
    }
    const json_t *value = json_object_get(s, "const");
    if (!ok || !is_one || (value != NULL && !same(value, v)) || !valid_combined(s, v)) {
        return false;
    }
    if (json_is_string(v)) {
        double n = (double)cf_utf8_count(json_string_value(v), json_string_length(v));
        return n >= number(s, "minLength", 0) && n <= number(s, "maxLength", INFINITY);
    }
    if (json_is_number(v)) {
        return valid_number(s, v);
    }
    if (json_is_array(v)) {
        return valid_array(s, v);
    }
    union {
        const json_t *in;
        json_t *out;
    } u = {v};
    return !json_is_object(v) || valid_object(s, u.out);
}

/* ---- random texts ------------------------------------------------------- */

static const char *const schemas[] = {
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\","
    "\"minimum\":-5,\"maximum\":30},\"b\":{\"type\":\"string\",\"minLength\":1,"
    "\"maxLength\":4},\"c\":{\"type\":\"array\",\"items\":{\"type\":\"number\","
    "\"exclusiveMinimum\":0.5,\"maximum\":9},\"maxItems\":3}},\"required\":["
    "\"a\"],\"additionalProperties\":false}",
    "{\"type\":\"object\",\"properties\":{\"a\":{\"enum\":[1,\"x\",null]},"
    "\"ab\":{\"type\":\"boolean\"}},\"additionalProperties\":{\"type\":"
    "\"integer\",\"minimum\":0,\"maximum\":99},\"minProperties\":2,"
    "\"maxProperties\":3}",
    "{\"oneOf\":[{\"type\":\"integer\",\"maximum\":50,\"minimum\":0},{\"type\":"
    "\"integer\",\"minimum\":20,\"maximum\":70}]}",
    "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"boolean\"},\"b\":{"
    "\"type\":\"null\"},\"c\":{\"const\":3}},\"dependentRequired\":{\"a\":["
    "\"b\"],\"b\":[\"c\"]},\"additionalProperties\":false}",
    "{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"type\":\"object\","
    "\"properties\":{\"v\":{\"type\":\"integer\",\"multipleOf\":3,\"minimum\":"
    "0,"
    "\"maximum\":99},\"k\":{\"type\":\"array\",\"maxItems\":2,\"items\":{"
    "\"$ref\":\"#/$defs/t\"}}},\"required\":[\"v\"],\"additionalProperties\":"
    "false}}}",
    "{\"type\":\"object\",\"properties\":{\"a\":{\"enum\":[\"x\",\"y\"]},\"b\":"
    "{"
    "\"type\":\"boolean\"},\"c\":{\"type\":\"null\"}},\"required\":[\"a\"],"
    "\"additionalProperties\":false,\"if\":{\"properties\":{\"a\":{\"const\":"
    "\"x\"}}},\"then\":{\"required\":[\"b\"]},\"else\":{\"not\":{\"required\":["
    "\"b\"]}}}",
    "{\"type\":\"array\",\"prefixItems\":[{\"type\":\"boolean\"},{\"type\":"
    "\"string\",\"maxLength\":2}],\"items\":{\"type\":\"null\"},\"minItems\":1,"
    "\"maxItems\":4}",
    "{\"allOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
    "\"integer\",\"minimum\":3}},\"required\":[\"a\"]},{\"properties\":{\"a\":{"
    "\"maximum\":7},\"b\":{\"type\":\"boolean\"}},\"maxProperties\":2}]}",
};

static const char *const words[] = {
    "\"", "\",", "\": ",  "{",   "}",  "{\"", "[",      "]",  ",",   ", ",   ", \"",  ":",
    " ",  "\n",  "a",     "b",   "ab", "c",   "v",      "k",  "x",   "y",    "0",     "1",
    "2",  "3",   "5",     "9",   "12", "-",   ".",      ".5", "e",   "true", "false", "null",
    "\\", "n",   "u00e9", "\"}", "}}", "]}",  "\"a\":", "t",  "rue",
};
enum {
    N_LONG = sizeof words / sizeof *words,
    N_WORD = N_LONG + 128, /* and every ASCII byte: no text is out of reach */
    TEXT_MAX = 4000
};

static const char *word(cf_token i, char byte[2])
{
    if (i < N_LONG) {
        return words[i];
    }
    byte[0] = (char)(i - N_LONG);
    byte[1] = '\0';
    return byte;
}

/* Random tokens; late in the text those that close things weigh more. */
static bool write_one(const cf_grammar *g, const cf_constraint_vocab *vocab, cf_rand *r, char *text)
{
    cf_constraint *c;
    cf_error err;
    uint32_t mask[N_WORD / 32 + 2];
    bool is_done = false;
    text[0] = '\0';
    T_OK(cf_constraint_new(&c, g, vocab, &err), err);
    for (int step = 0; step < 400 && !is_done; step++) {
        cf_token best = CF_TOKEN_NONE;
        float top = -10;
        T_OK(cf_constraint_mask(c, mask, &err), err);
        for (cf_token i = 0; i <= N_WORD; i++) {
            char byte[2];
            float logit = cf_rand_float(r) - (i >= N_LONG ? 0.5f : 0);
            if (i == N_WORD || strpbrk(word(i, byte), "}]\"") != NULL) {
                logit += (float)step / 60;
            }
            if ((mask[i / 32] >> i % 32 & 1) != 0 && logit > top) {
                top = logit;
                best = i;
            }
        }
        if (best == CF_TOKEN_NONE) {
            fail_msg("dead end after %s", text);
        }
        T_OK(cf_constraint_token(c, best, &err), err);
        is_done = best == N_WORD;
        if (!is_done) {
            char byte[2];
            assert_true(strlen(text) + strlen(word(best, byte)) < TEXT_MAX);
            strcat(text, word(best, byte));
        }
    }
    cf_constraint_free(c);
    return is_done;
}

static void test_constrain__random_text_is_valid(void **state)
{
    (void)state;
    cf_rand r = {42};
    cf_piece pieces[N_WORD + 1];
    cf_constraint_vocab *vocab;
    cf_error err;
    static char text[TEXT_MAX];
    static char bytes[N_WORD][2];
    for (cf_token i = 0; i < N_WORD; i++) {
        pieces[i] = (cf_piece){cf_str_from(word(i, bytes[i])), CF_PIECE_TEXT};
    }
    pieces[N_WORD] = (cf_piece){cf_str_from("<end>"), CF_PIECE_END};
    T_OK(cf_constraint_vocab_new(&vocab, pieces, N_WORD + 1, &err), err);
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        json_t *s;
        int n_done = 0;
        T_OK(cf_json_read(&s, schemas[i], strlen(schemas[i]), &err), err);
        root = s;
        for (int k = 0; k < 200; k++) {
            cf_grammar *g;
            const cf_grammar_options opts = {.order = k % 2 == 0 ? CF_KEYS_ANY : CF_KEYS_DECLARED,
                                             .space = (cf_json_space)(k % 3)};
            T_OK(cf_grammar_from_schema(&g, s, &opts, &err), err);
            if (write_one(g, vocab, &r, text)) {
                json_t *v;
                json_error_t why;
                v = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
                if (v == NULL || !valid(s, v)) {
                    fail_msg("%s  made  %s (%s)", schemas[i], text,
                             v == NULL ? why.text : "not valid");
                }
                json_decref(v);
                n_done++;
            }
            cf_grammar_free(g);
        }
        assert_true(n_done > 100);
        json_decref(s);
    }
    cf_constraint_vocab_free(vocab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constrain__random_text_is_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
