/*
 * tool_validate.c - a call against its declaration.
 *
 * Everything is reported, in this order: the function's name; names of
 * arguments; required arguments that are missing; then type and value of
 * each argument, going inside objects and arrays.
 *
 * Two passes.  The first explains what it can say precisely: type (also a
 * list of types), enum, const, properties, required, additionalProperties,
 * items, minItems, maxItems, minimum, maximum, exclusiveMinimum,
 * exclusiveMaximum, minLength, maxLength, anyOf, oneOf, nullable; the SDK's
 * spellings with underscores and upper-case types too.  An argument in which
 * it finds nothing is then held against its schema by core/schema, the reading
 * that constraints are made from: pattern, format, $ref, allOf, not and all
 * else.  A keyword that this does not support is not checked.
 */
#include <math.h>
#include <string.h>

#include "core/base/json_same.h"
#include "core/base/utf8.h"
#include "core/schema/schema.h"
#include "core/tools/tool_rules.h"

enum { FINDINGS_MAX = 200 }; /* reported for one call */

void cf_tool__finding_add(cf_tool__findings *f, const cf_tool_finding *finding)
{
    if (f->n == f->cap) {
        size_t cap = f->cap == 0 ? 8 : f->cap * 2;
        cf_tool_finding *v = cf_arena_alloc(f->arena, cap * sizeof *v);
        if (v == NULL) {
            return; /* the arena remembers */
        }
        if (f->n > 0) {
            memcpy(v, f->v, f->n * sizeof *v);
        }
        f->v = v;
        f->cap = cap;
    }
    f->v[f->n++] = *finding;
}

/* One call being checked. */
typedef struct check {
    const cf_tool_call *call;
    size_t index;
    const json_t *root; /* the tool's parameters */
    cf_tool__findings *out;
    cf_buf path;
    cf_buf text;
    unsigned depth;
    unsigned quiet; /* > 0: count only, for anyOf */
    size_t n_bad;
} check;

static void report(check *c, cf_tool_status status)
{
    c->n_bad++;
    if (c->quiet > 0 || c->n_bad > FINDINGS_MAX) {
        return;
    }
    cf_tool_finding f = {.status = status,
                         .call = c->index,
                         .off = c->call->off,
                         .len = c->call->len};
    size_t n = c->path.n < CF_TOOL_PATH_MAX ? c->path.n : CF_TOOL_PATH_MAX;
    cf_str path = cf_str_make(cf_buf_cstr(&c->path), n);
    for (size_t i = 0; i < c->call->n_spans; i++) {
        if (cf_str_eq(c->call->spans[i].path, path)) {
            f.off = c->call->spans[i].off;
            f.len = c->call->spans[i].len;
            break;
        }
    }
    f.path = cf_str_make(cf_arena_strndup(c->out->arena, path.p, n), n);
    f.text = cf_str_make(
        cf_arena_strndup(c->out->arena, cf_buf_cstr(&c->text), c->text.n),
        c->text.n);
    if (c->path.failed || c->text.failed) {
        c->out->arena->failed = true;
    }
    if (f.path.p != NULL && f.text.p != NULL) {
        cf_tool__finding_add(c->out, &f);
    }
    cf_buf_reset(&c->text);
}

static cf_buf *say(check *c)
{
    cf_buf_reset(&c->text);
    return &c->text;
}

/* ---- paths (as tool_emit.c writes them) --------------------------------- */

static size_t push_key(check *c, const char *key)
{
    size_t mark = c->path.n;
    bool is_plain = key[0] != '\0';
    for (const char *p = key; *p != '\0'; p++) {
        is_plain = is_plain && (cf_tool__is_name(*p) || *p == '-');
    }
    if (mark > CF_TOOL_PATH_MAX) {
        return mark;
    }
    if (is_plain) {
        if (mark > 0) {
            cf_buf_addc(&c->path, '.');
        }
        cf_buf_adds(&c->path, key);
    } else {
        cf_buf_addc(&c->path, '[');
        cf_json_write_str(&c->path, cf_str_from(key));
        cf_buf_addc(&c->path, ']');
    }
    return mark;
}

static void pop(check *c, size_t mark)
{
    if (mark < c->path.n) {
        c->path.n = mark;
        c->path.p[mark] = '\0';
    }
}

/* ---- types -------------------------------------------------------------- */

static const char *type_of(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return "number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    case JSON_NULL:
        return "null";
    }
    return "";
}

static bool fits(const json_t *v, const char *type)
{
    if (strcmp(type, "number") == 0) {
        return json_is_number(v);
    }
    if (strcmp(type, "integer") == 0) {
        return json_is_integer(v) ||
               (json_is_real(v) &&
                floor(json_real_value(v)) == json_real_value(v));
    }
    return strcmp(type, type_of(v)) == 0;
}

/* Whether the schema's type admits v; a type of no known name admits all. */
static bool type_fits(const json_t *schema, const json_t *v, cf_buf *wanted)
{
    const json_t *type = json_object_get(schema, "type");
    size_t n = json_is_array(type) ? json_array_size(type) : 1;
    bool is_known = false;
    for (size_t i = 0; i < n; i++) {
        const json_t *t = json_is_array(type) ? json_array_get(type, i) : type;
        if (!json_is_string(t)) {
            return true;
        }
        const char *name = cf_tool__schema_type(
            cf_str_make(json_string_value(t), json_string_length(t)));
        if (name == NULL || fits(v, name)) {
            return true;
        }
        cf_buf_addf(wanted, "%s%s", is_known ? " or " : "", name);
        is_known = true;
    }
    return n == 0;
}

static bool is_true(const json_t *schema, const char *key)
{
    return json_is_true(json_object_get(schema, key));
}

/* null is right where the schema says so by any of its ways. */
static bool null_fits(const json_t *schema)
{
    const json_t *values = json_object_get(schema, "enum");
    for (size_t i = 0; i < json_array_size(values); i++) {
        if (json_is_null(json_array_get(values, i))) {
            return true;
        }
    }
    const json_t *fallback = json_object_get(schema, "default");
    return is_true(schema, "nullable") ||
           (fallback != NULL && json_is_null(fallback));
}

/* ---- values ------------------------------------------------------------- */

static const json_t *get2(const json_t *schema, const char *a, const char *b)
{
    const json_t *v = json_object_get(schema, a);
    return v != NULL ? v : json_object_get(schema, b);
}

static void check_enum(check *c, const json_t *schema, const json_t *v)
{
    const json_t *values = json_object_get(schema, "enum");
    const json_t *only = json_object_get(schema, "const");
    bool is_in = !json_is_array(values) || json_array_size(values) == 0;
    for (size_t i = 0; !is_in && i < json_array_size(values); i++) {
        is_in = cf_json_same(json_array_get(values, i), v);
    }
    if (!is_in || (only != NULL && !cf_json_same(only, v))) {
        cf_buf *text = say(c);
        cf_json_write(text, v);
        cf_buf_adds(text, is_in ? " is not " : " is not one of ");
        cf_json_write(text, is_in ? only : values);
        report(c, CF_TOOL_INVALID_PARAMETER_VALUE);
    }
}

typedef enum bound { AT_LEAST, AT_MOST, MORE_THAN, LESS_THAN } bound;

static void check_bound(check *c, const json_t *limit, double v, bound kind,
                        const char *what)
{
    static const char *const words[] = {"at least", "at most", "more than",
                                        "less than"};
    if (!json_is_number(limit)) {
        return;
    }
    double l = json_number_value(limit);
    bool ok = kind == AT_LEAST    ? v >= l
              : kind == AT_MOST   ? v <= l
              : kind == MORE_THAN ? v > l
                                  : v < l;
    if (!ok) {
        cf_buf *text = say(c);
        cf_buf_addf(text, "%s must be %s ", what, words[kind]);
        cf_json_write(text, limit);
        report(c, CF_TOOL_INVALID_PARAMETER_VALUE);
    }
}

static void check_ranges(check *c, const json_t *schema, const json_t *v)
{
    if (json_is_number(v)) {
        double d = json_number_value(v);
        check_bound(c, json_object_get(schema, "minimum"), d, AT_LEAST,
                    "the number");
        check_bound(c, json_object_get(schema, "maximum"), d, AT_MOST,
                    "the number");
        check_bound(c, json_object_get(schema, "exclusiveMinimum"), d,
                    MORE_THAN, "the number");
        check_bound(c, json_object_get(schema, "exclusiveMaximum"), d,
                    LESS_THAN, "the number");
    } else if (json_is_string(v)) {
        double n =
            (double)cf_utf8_count(json_string_value(v), json_string_length(v));
        check_bound(c, get2(schema, "minLength", "min_length"), n, AT_LEAST,
                    "the number of characters");
        check_bound(c, get2(schema, "maxLength", "max_length"), n, AT_MOST,
                    "the number of characters");
    } else if (json_is_array(v)) {
        double n = (double)json_array_size(v);
        check_bound(c, get2(schema, "minItems", "min_items"), n, AT_LEAST,
                    "the number of items");
        check_bound(c, get2(schema, "maxItems", "max_items"), n, AT_MOST,
                    "the number of items");
    }
}

static void check_value(check *c, const json_t *schema, const json_t *v,
                        bool is_optional);

static bool is_required(const json_t *schema, const char *key)
{
    const json_t *required = json_object_get(schema, "required");
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        if (name != NULL && strcmp(name, key) == 0) {
            return true;
        }
    }
    return false;
}

/* Names nobody declared, then required ones that are missing. */
static void check_names(check *c, const json_t *schema, const json_t *object)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *more =
        get2(schema, "additionalProperties", "additional_properties");
    bool is_open = more != NULL ? !json_is_false(more)
                                : !json_is_object(properties) && c->depth > 1;
    const char *key;
    json_t *v;
    json_t *in;
    memcpy(&in, &object, sizeof in);
    json_object_foreach(in, key, v)
    {
        if (!is_open && json_object_get(properties, key) == NULL) {
            size_t mark = push_key(c, key);
            cf_buf_addf(say(c), "no parameter has this name");
            report(c, CF_TOOL_INVALID_PARAMETER_NAME);
            pop(c, mark);
        }
    }
    const json_t *required = json_object_get(schema, "required");
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        if (name != NULL && json_object_get(object, name) == NULL) {
            size_t mark = push_key(c, name);
            cf_buf_addf(say(c), "this parameter is required");
            report(c, CF_TOOL_MISSING_REQUIRED_PARAMETER);
            pop(c, mark);
        }
    }
}

static void check_members(check *c, const json_t *schema, const json_t *object)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *more =
        get2(schema, "additionalProperties", "additional_properties");
    const char *key;
    json_t *v;
    json_t *in;
    memcpy(&in, &object, sizeof in);
    json_object_foreach(in, key, v)
    {
        const json_t *sub = json_object_get(properties, key);
        if (sub == NULL && json_is_object(more)) {
            sub = more;
        }
        if (sub != NULL) {
            size_t mark = push_key(c, key);
            check_value(c, sub, v, !is_required(schema, key));
            pop(c, mark);
        }
    }
}

/* At least one of the alternatives must take the value. */
static void check_any_of(check *c, const json_t *list, const json_t *v)
{
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n; i++) {
        size_t before = c->n_bad;
        c->quiet++;
        check_value(c, json_array_get(list, i), v, false);
        c->quiet--;
        if (c->n_bad == before) {
            return;
        }
        c->n_bad = before;
    }
    if (n > 0) {
        cf_buf_addf(say(c), "none of the %zu alternatives takes this %s", n,
                    type_of(v));
        report(c, CF_TOOL_INVALID_PARAMETER_TYPE);
    }
}

static void check_value(check *c, const json_t *schema, const json_t *v,
                        bool is_optional)
{
    if (!json_is_object(schema) || c->depth >= CF_TOOL_DEPTH_MAX) {
        return;
    }
    if (json_is_null(v) && (is_optional || null_fits(schema))) {
        return;
    }
    c->depth++;
    cf_buf wanted = CF_BUF_INIT;
    if (!type_fits(schema, v, &wanted)) {
        cf_buf_addf(say(c), "%s expected, this is %s", cf_buf_cstr(&wanted),
                    type_of(v));
        report(c, CF_TOOL_INVALID_PARAMETER_TYPE);
    } else {
        check_enum(c, schema, v);
        check_ranges(c, schema, v);
        check_any_of(c, get2(schema, "anyOf", "any_of"), v);
        check_any_of(c, get2(schema, "oneOf", "one_of"), v);
        if (json_is_object(v)) {
            check_names(c, schema, v);
            check_members(c, schema, v);
        } else if (json_is_array(v)) {
            const json_t *items = json_object_get(schema, "items");
            for (size_t i = 0; i < json_array_size(v); i++) {
                size_t mark = c->path.n;
                if (mark <= CF_TOOL_PATH_MAX) {
                    cf_buf_addf(&c->path, "[%zu]", i);
                }
                check_value(c, items, json_array_get(v, i), false);
                pop(c, mark);
            }
        }
    }
    cf_buf_deinit(&wanted);
    c->depth--;
}

/* ---- by the constraint's reading ---------------------------------------- */

/* Keywords that the first pass explains, or that constrain nothing. */
static bool is_explained(const char *key)
{
    static const char *const keys[] = {"type",
                                       "enum",
                                       "const",
                                       "properties",
                                       "required",
                                       "items",
                                       "minItems",
                                       "maxItems",
                                       "min_items",
                                       "max_items",
                                       "minimum",
                                       "maximum",
                                       "exclusiveMinimum",
                                       "exclusiveMaximum",
                                       "minLength",
                                       "maxLength",
                                       "min_length",
                                       "max_length",
                                       "nullable",
                                       "description",
                                       "title",
                                       "default",
                                       "examples",
                                       "example",
                                       "additionalProperties",
                                       "additional_properties",
                                       "$defs",
                                       "definitions",
                                       "$comment",
                                       "$schema",
                                       "$id",
                                       "deprecated",
                                       "readOnly",
                                       "writeOnly"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(keys[i], key) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the schema says something that the first pass does not read. */
static bool says_more(const json_t *schema, unsigned depth)
{
    const char *key;
    json_t *v;
    json_t *in = cf_json_ref(schema);
    if (!json_is_object(schema) || depth > CF_TOOL_DEPTH_MAX) {
        return false;
    }
    json_object_foreach(in, key, v)
    {
        if (!is_explained(key)) {
            return true;
        }
    }
    json_t *properties = json_object_get(schema, "properties");
    json_object_foreach(properties, key, v)
    {
        if (says_more(v, depth + 1)) {
            return true;
        }
    }
    return says_more(json_object_get(schema, "items"), depth + 1) ||
           says_more(json_object_get(schema, "additionalProperties"),
                     depth + 1);
}

/* The keywords of the schema that refuse the value, one by one. */
static void name_keywords(check *c, const json_t *schema, const json_t *v)
{
    const char *key;
    json_t *rule;
    json_t *in = cf_json_ref(schema);
    bool has_one = false;
    cf_buf *text = say(c);
    json_object_foreach(in, key, rule)
    {
        json_t *alone = json_pack("{s:O}", key, rule);
        if (alone != NULL &&
            cf_schema_accepts(c->root, alone, v) == CF_VERDICT_NO) {
            cf_buf_addf(
                text, "%s\"%s\": ", has_one ? ", " : "does not satisfy ", key);
            cf_json_write(text, rule);
            has_one = true;
        }
        json_decref(alone);
    }
    if (!has_one) {
        cf_buf_adds(text, "does not satisfy its schema");
    }
    report(c, CF_TOOL_INVALID_PARAMETER_VALUE);
}

/* Reports the smallest part of the value that its schema refuses. */
static void explain_refusal(check *c, const json_t *schema, const json_t *v)
{
    cf_verdict verdict = cf_schema_accepts(c->root, schema, v);
    if (verdict != CF_VERDICT_NO || c->depth >= CF_TOOL_DEPTH_MAX) {
        return;
    }
    size_t before = c->n_bad;
    bool has_unknown = false;
    c->depth++;
    if (json_is_object(v)) {
        const json_t *properties = json_object_get(schema, "properties");
        const char *key;
        json_t *item;
        json_t *in = cf_json_ref(v);
        json_object_foreach(in, key, item)
        {
            const json_t *sub = json_object_get(properties, key);
            size_t mark = push_key(c, key);
            if (json_is_null(item) && !is_required(schema, key)) {
                has_unknown = true; /* as good as absent */
            } else if (sub != NULL) {
                has_unknown =
                    has_unknown ||
                    cf_schema_accepts(c->root, sub, item) == CF_VERDICT_UNKNOWN;
                explain_refusal(c, sub, item);
            }
            pop(c, mark);
        }
    }
    const json_t *items = json_object_get(schema, "items");
    for (size_t i = 0; json_is_object(items) && i < json_array_size(v); i++) {
        size_t mark = c->path.n;
        cf_buf_addf(&c->path, "[%zu]", i);
        explain_refusal(c, items, json_array_get(v, i));
        pop(c, mark);
    }
    c->depth--;
    if (c->n_bad == before && !has_unknown) {
        name_keywords(c, schema, v);
    }
}

/* The arguments in which the first pass found nothing. */
static void check_by_schema(check *c, const json_t *arguments)
{
    const json_t *properties = json_object_get(c->root, "properties");
    const char *key;
    json_t *v;
    json_t *in = cf_json_ref(arguments);
    bool has_null = false;
    json_object_foreach(in, key, v)
    {
        const json_t *sub = json_object_get(properties, key);
        bool is_absent = json_is_null(v) && !is_required(c->root, key);
        has_null = has_null || is_absent;
        if (sub != NULL && !is_absent && says_more(sub, 0)) {
            size_t mark = push_key(c, key);
            explain_refusal(c, sub, v);
            pop(c, mark);
        }
    }
    if (c->n_bad == 0 && !has_null && says_more(c->root, CF_TOOL_DEPTH_MAX)) {
        explain_refusal(c, c->root, arguments);
    }
}

void cf_tool__validate(const cf_tool_call *call, size_t index,
                       const cf_tool_set *tools, cf_tool__findings *out)
{
    check c = {.call = call, .index = index, .out = out};
    const cf_tool *tool = cf_tool_set_find(tools, call->name);
    if (tool == NULL) {
        cf_buf_adds(say(&c), "no tool has this name");
        size_t before = out->n;
        report(&c, CF_TOOL_INVALID_FUNCTION_NAME);
        if (out->n > before) {
            out->v[before].off = call->name_off;
            out->v[before].len = call->name_len;
        }
    } else {
        c.depth = 1;
        if (tool->parameters != NULL) {
            c.root = tool->parameters;
            check_names(&c, tool->parameters, call->json);
            check_members(&c, tool->parameters, call->json);
            if (c.n_bad == 0) {
                check_by_schema(&c, call->json);
            }
        } else {
            json_t *empty = json_object();
            if (empty == NULL) {
                out->arena->failed = true;
            } else {
                check_names(&c, empty, call->json);
            }
            json_decref(empty);
        }
    }
    cf_buf_deinit(&c.path);
    cf_buf_deinit(&c.text);
}
