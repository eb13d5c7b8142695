/*
 * tool_values.c - turns the text between two tags into a value of the declared
 * type.
 *
 * A string is the text as it is; other types are read as JSON, else as Python's
 * spelling of the same; text that does not fit stays a string, and the check of
 * types reports it.  Without a declaration, JSON that is not a string, else a
 * string.
 */
#include "core/tools/tool_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA_DEPTH_MAX = 16 };

static const char *const unions[] = {"anyOf", "oneOf", "any_of", "one_of", "allOf"};
static const cf_str cdata_open = {"<![CDATA[", 9};
static const cf_str cdata_close = {"]]>", 3};

static unsigned type_bit(cf_str name)
{
    static const struct {
        const char *name;
        unsigned bit;
    } bits[] = {{"string", CF_IS_STRING},
                {"integer", CF_IS_INTEGER},
                {"number", CF_IS_NUMBER | CF_IS_INTEGER},
                {"boolean", CF_IS_BOOLEAN},
                {"array", CF_IS_ARRAY},
                {"object", CF_IS_OBJECT},
                {"null", CF_IS_NULL}};
    const char *type = cf_tool__schema_type(name);
    for (size_t i = 0; type != NULL && i < sizeof bits / sizeof bits[0]; i++) {
        if (strcmp(type, bits[i].name) == 0) {
            return bits[i].bit;
        }
    }
    return 0;
}

static unsigned value_bit(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return CF_IS_OBJECT;
    case JSON_ARRAY:
        return CF_IS_ARRAY;
    case JSON_STRING:
        return CF_IS_STRING;
    case JSON_INTEGER:
        return CF_IS_INTEGER;
    case JSON_REAL:
        return CF_IS_NUMBER | CF_IS_INTEGER;
    case JSON_TRUE:
    case JSON_FALSE:
        return CF_IS_BOOLEAN;
    case JSON_NULL:
        return CF_IS_NULL;
    }
    return 0;
}

/* Finds the schema that a reference such as "#/$defs/x" points to within the
 * tool's parameters; NULL if it points to nothing there. */
static const json_t *follow(const json_t *root, const char *ref)
{
    if (ref[0] != '#') {
        return NULL;
    }
    const json_t *v = root;
    for (const char *p = ref + 1; v != NULL && *p == '/';) {
        char key[128];
        size_t n = strcspn(p + 1, "/");
        if (n >= sizeof key) {
            return NULL;
        }
        memcpy(key, p + 1, n);
        key[n] = '\0';
        v = json_object_get(v, key);
        p += 1 + n;
    }
    return v;
}

static unsigned types_of(const json_t *root, const json_t *schema, unsigned depth)
{
    unsigned bits = 0;
    if (!json_is_object(schema) || depth > SCHEMA_DEPTH_MAX) {
        return 0;
    }
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    if (ref != NULL) {
        return types_of(root, follow(root, ref), depth + 1);
    }
    const json_t *type = json_object_get(schema, "type");
    for (size_t i = 0; i < json_array_size(type); i++) {
        const json_t *t = json_array_get(type, i);
        bits |= json_is_string(t) ? type_bit(cf_str_from(json_string_value(t))) : 0;
    }
    bits |= json_is_string(type) ? type_bit(cf_str_from(json_string_value(type))) : 0;
    for (size_t k = 0; k < sizeof unions / sizeof unions[0]; k++) {
        const json_t *list = json_object_get(schema, unions[k]);
        for (size_t i = 0; i < json_array_size(list); i++) {
            bits |= types_of(root, json_array_get(list, i), depth + 1);
        }
    }
    const json_t *values = json_object_get(schema, "enum");
    for (size_t i = 0; type == NULL && i < json_array_size(values); i++) {
        bits |= value_bit(json_array_get(values, i));
    }
    const json_t *only = json_object_get(schema, "const");
    if (type == NULL && only != NULL) {
        bits |= value_bit(only);
    }
    if (json_is_true(json_object_get(schema, "nullable"))) {
        bits |= CF_IS_NULL;
    }
    return bits;
}

unsigned cf_tool__types(const json_t *root, const json_t *schema)
{
    return types_of(root, schema, 0);
}

/* The schema that `find` knows of in `schema`, or in what it refers to or unites. */
static const json_t *find_schema(const json_t *root, const json_t *schema, unsigned depth,
                                 const json_t *(*find)(const json_t *schema, const char *key),
                                 const char *key)
{
    if (!json_is_object(schema) || depth > SCHEMA_DEPTH_MAX) {
        return NULL;
    }
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    const json_t *found = find(schema, key);
    if (found == NULL && ref != NULL) {
        found = find_schema(root, follow(root, ref), depth + 1, find, key);
    }
    for (size_t k = 0; k < sizeof unions / sizeof unions[0]; k++) {
        const json_t *list = json_object_get(schema, unions[k]);
        for (size_t i = 0; found == NULL && i < json_array_size(list); i++) {
            found = find_schema(root, json_array_get(list, i), depth + 1, find, key);
        }
    }
    return found;
}

static const json_t *property(const json_t *schema, const char *key)
{
    return json_object_get(json_object_get(schema, "properties"), key);
}

static const json_t *keyword(const json_t *schema, const char *key)
{
    const json_t *v = json_object_get(schema, key);
    return json_is_object(v) ? v : NULL;
}

const json_t *cf_tool__member_schema(const json_t *root, const json_t *schema, cf_str key)
{
    if (key.n > CF_TOOL_KEY_MAX) {
        return NULL;
    }
    char text[CF_TOOL_KEY_MAX + 1];
    memcpy(text, key.p, key.n);
    text[key.n] = '\0';
    const json_t *own = find_schema(root, schema, 0, property, text);
    return own != NULL ? own : find_schema(root, schema, 0, keyword, "additionalProperties");
}

const json_t *cf_tool__items_schema(const json_t *root, const json_t *schema)
{
    return find_schema(root, schema, 0, keyword, "items");
}

static void put_text(cf_tool__emit *e, size_t off, size_t end)
{
    size_t was = e->at;
    e->at = off;
    size_t span = cf_tool__span_open(e);
    cf_json_write_str(&e->json, cf_str_make(e->p + off, end - off));
    e->at = end;
    cf_tool__span_close(e, span);
    e->at = was;
}

/* The types that the JSON text `v` belongs to. */
static unsigned text_bits(cf_str v)
{
    switch (v.p[0]) {
    case '"':
        return CF_IS_STRING;
    case '{':
        return CF_IS_OBJECT;
    case '[':
        return CF_IS_ARRAY;
    case 't':
    case 'f':
        return CF_IS_BOOLEAN;
    case 'n':
        return CF_IS_NULL;
    default:
        break;
    }
    if (memchr(v.p, '.', v.n) == NULL && memchr(v.p, 'e', v.n) == NULL) {
        return CF_IS_INTEGER;
    }
    double d = strtod(v.p, NULL);
    return d == floor(d) ? CF_IS_NUMBER | CF_IS_INTEGER : CF_IS_NUMBER;
}

/* The value in [off, end) by one grammar, when all of it is one value of the
 * types `bits`; else nothing is written. */
static bool try_value(cf_tool__emit *e, size_t off, size_t end, unsigned bits,
                      bool (*read)(cf_tool__emit *e))
{
    size_t at = e->at, limit = e->end, mark = e->json.n, spans = e->n_spans;
    e->at = off;
    e->end = end;
    bool ok = read(e);
    cf_tool__json_space(e);
    ok = ok && e->at == end && !e->json.failed;
    e->at = at;
    e->end = limit;
    if (ok) {
        unsigned is = text_bits(cf_str_make(e->json.p + mark, e->json.n - mark));
        ok = (is & bits) != 0 || ((is & CF_IS_INTEGER) != 0 && (bits & CF_IS_NUMBER) != 0);
    }
    if (!ok && !e->json.failed) {
        e->json.n = mark;
        if (e->json.p != NULL) {
            e->json.p[mark] = '\0';
        }
        e->n_spans = spans;
    }
    return ok;
}

static bool is_word(cf_str s, const char *word)
{
    return cf_str_is(s, word);
}

/* The words that stand for another value where the syntax is loose. */
static bool put_loose(cf_tool__emit *e, cf_str word, unsigned bits)
{
    bool is_bool = (bits & CF_IS_BOOLEAN) != 0 && (bits & (CF_IS_INTEGER | CF_IS_NUMBER)) == 0;
    const char *value = is_bool && is_word(word, "1")   ? "true"
                        : is_bool && is_word(word, "0") ? "false"
                        : is_word(word, "null")         ? "null"
                                                        : NULL;
    cf_buf_adds(&e->json, value != NULL ? value : "");
    return value != NULL;
}

bool cf_tool__text_value(cf_tool__emit *e, const cf_tool__syntax *y, size_t off, size_t end,
                         cf_str attr, unsigned bits)
{
    if (y->has_cdata && end - off >= cdata_open.n + cdata_close.n &&
        memcmp(e->p + off, cdata_open.p, cdata_open.n) == 0) {
        while (end > off && e->p[end - 1] != '>') {
            end--;
        }
        off += cdata_open.n;
        end -= end - off >= cdata_close.n ? cdata_close.n : 0;
    }
    if (y->attr_end != NULL) {
        bits = y->attr_is_flag           ? (is_word(attr, "true") ? CF_IS_STRING : CF_IS_ANY)
               : is_word(attr, "string") ? CF_IS_STRING
                                         : CF_IS_ANY;
    }
    const bool is_known = bits != 0;
    bits = is_known ? bits : CF_IS_ANY & ~(unsigned)CF_IS_STRING;
    size_t from = off, to = end;
    while (from < to && cf_tool__is_space(e->p[from])) {
        from++;
    }
    while (to > from && cf_tool__is_space(e->p[to - 1])) {
        to--;
    }
    cf_str word = cf_str_make(e->p + from, to - from);
    if (y->typing == CF_TYPING_JSON) {
        if (from == to || !try_value(e, from, to, CF_IS_ANY, cf_tool__json_value)) {
            put_text(e, off, end);
        }
        return !e->oom;
    }
    if (y->typing == CF_TYPING_LOOSE && put_loose(e, word, bits)) {
        return true;
    }
    bool is_null = is_word(word, "null") || is_word(word, "None");
    bool is_any = y->attr_end != NULL && bits == CF_IS_ANY;
    if ((bits & CF_IS_STRING) != 0 && !is_any) {
        if (is_null && (bits & CF_IS_NULL) != 0) {
            cf_buf_adds(&e->json, "null");
        } else {
            put_text(e, off, end);
        }
        return true;
    }
    if (from == to || (!try_value(e, from, to, bits, cf_tool__json_value) &&
                       !(is_known && try_value(e, from, to, bits, cf_tool__python_value)))) {
        put_text(e, off, end);
    }
    return !e->oom;
}
