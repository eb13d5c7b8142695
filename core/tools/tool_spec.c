/*
 * tool_spec.c - reads tool declarations in every form they come in.
 */
#include <string.h>

#include "core/api/tool.h"
#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/json/json_builder.h"
#include "core/tools/tool_rules.h"

enum { TOOLS_MAX = 4096, NEST_MAX = 4 };

struct cf_tool_set {
    cf_tool *v;
    size_t n, cap;
    json_t *root;   /* what the declarations borrow from */
    json_t *made;   /* list of schemas that were made of other forms */
    cf_arena arena; /* of paths */
};

/* Where a declaration stands in the list that was given. */
typedef struct place {
    size_t index;
    cf_str path;
    unsigned level;
} place;

/* The keys under which OpenAI, Gemini, Anthropic and MCP give the schema of the
 * arguments. */
static const char *const schema_keys[] = {"parameters", "parametersJsonSchema",
                                          "parameters_json_schema", "input_schema", "inputSchema"};
enum { N_SCHEMA_KEYS = sizeof schema_keys / sizeof schema_keys[0] };

/* ---- parameters without a schema ---------------------------------------- */

/* Whether an object is {"q": {"type": ...}, ...}, as Xaibo, Hammer and xLAM
 * declare parameters: no schema, but one for each name. */
static bool is_parameter_map(const json_t *v)
{
    static const char *const words[] = {"properties", "$ref", "anyOf", "oneOf",
                                        "allOf",      "enum", "$defs", "items"};
    bool is = json_object_size(v) > 0 && !json_is_string(json_object_get(v, "type"));
    const char *key;
    json_t *item;
    for (size_t i = 0; is && i < sizeof words / sizeof words[0]; i++) {
        is = json_object_get(v, words[i]) == NULL;
    }
    json_object_foreach(cf_json_ref(v), key, item)
    {
        is = is && json_is_object(item) && json_object_get(item, "type") != NULL;
    }
    return is;
}

/* The schema of such parameters, whose "required" says so one by one. */
static json_t *schema_of_map(const json_t *map, cf_jb *b)
{
    json_t *properties = json_object();
    json_t *required = json_array();
    const char *key;
    json_t *item;
    json_object_foreach(cf_json_ref(map), key, item)
    {
        json_t *own = cf_json_copy(item);
        const json_t *is_required = json_object_get(own, "required");
        if (json_is_true(is_required)) {
            cf_jb_append(b, required, json_string(key));
        }
        if (json_is_boolean(is_required) || json_is_null(is_required)) {
            (void)json_object_del(own, "required");
        }
        if (json_is_null(json_object_get(own, "default"))) {
            (void)json_object_del(own, "default");
        }
        cf_jb_set(b, properties, key, own);
    }
    return json_pack("{s:s, s:o, s:o}", "type", "object", "properties", properties, "required",
                     required);
}

/* The schema of a declaration's parameters; made where it has another form. */
static cf_status take_parameters(cf_tool_set *set, cf_tool *tool, const json_t *given,
                                 cf_error *err)
{
    if (given == NULL || json_is_null(given)) {
        return CF_OK;
    }
    if (!json_is_object(given)) {
        return cf_fail(err, CF_EFORMAT, "tool %zu: \"parameters\" is not an object", set->n + 1);
    }
    tool->parameters = given;
    if (is_parameter_map(given)) {
        cf_jb b = CF_JB_INIT;
        json_t *made = schema_of_map(given, &b);
        tool->parameters = made;
        cf_jb_append(&b, set->made, made);
        return cf_jb_check(&b, err);
    }
    return CF_OK;
}

/* ---- the set ------------------------------------------------------------ */

static cf_status add_tool(cf_tool_set *set, const json_t *raw, const json_t *function,
                          const place *at, cf_error *err)
{
    cf_tool tool = {.raw = raw, .index = at->index, .path = at->path};
    tool.name = cf_json_get_str(function, "name");
    tool.description = cf_json_get_str(function, "description");
    if (tool.name.n == 0) {
        return cf_fail(err, CF_EFORMAT, "tool %zu: a name is required", set->n + 1);
    }
    if (cf_tool_set_find(set, tool.name) != NULL) {
        return cf_fail(err, CF_EFORMAT, "tool %zu: '%.*s' is declared already", set->n + 1,
                       (int)(tool.name.n < 80 ? tool.name.n : 80), tool.name.p);
    }
    const json_t *parameters = NULL;
    for (size_t i = 0; parameters == NULL && i < N_SCHEMA_KEYS; i++) {
        parameters = json_object_get(function, schema_keys[i]);
        parameters = json_is_null(parameters) ? NULL : parameters;
    }
    CF_TRY(take_parameters(set, &tool, parameters, err));
    if (set->n == TOOLS_MAX) {
        return cf_fail(err, CF_ELIMIT, "more than %d tools", TOOLS_MAX);
    }
    if (set->n == set->cap) {
        size_t cap = set->cap == 0 ? 8 : set->cap * 2;
        cf_tool *v = cf_realloc(set->v, cap, sizeof *v);
        if (v == NULL) {
            return cf_oom(err);
        }
        set->v = v;
        set->cap = cap;
    }
    set->v[set->n++] = tool;
    return CF_OK;
}

/* The place of item i of the list `key` (NULL: of the value itself). */
static place inside(cf_tool_set *set, const place *at, const char *key, size_t i)
{
    cf_buf path = CF_BUF_INIT;
    if (at->level == 0 && key == NULL) {
        return (place){.index = i, .path = cf_str_from(""), .level = 1};
    }
    cf_buf_add(&path, at->path.p, at->path.n);
    cf_buf_addf(&path, "%s%s[%zu]", key != NULL ? "." : "", key != NULL ? key : "", i);
    char *kept = cf_arena_strndup(&set->arena, cf_buf_cstr(&path), path.n);
    set->arena.failed = set->arena.failed || path.failed;
    place p = {at->index, cf_str_make(kept, kept != NULL ? path.n : 0), at->level + 1};
    cf_buf_deinit(&path);
    return p;
}

static cf_status add_any(cf_tool_set *set, const json_t *v, const place *at, cf_error *err);

static cf_status add_list(cf_tool_set *set, const json_t *list, const char *key, const place *at,
                          cf_error *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const place inner = inside(set, at, key, i);
        CF_TRY(add_any(set, json_array_get(list, i), &inner, err));
    }
    return CF_OK;
}

/* One declaration, or a list of them, or an object around a list. */
static cf_status add_any(cf_tool_set *set, const json_t *v, const place *at, cf_error *err)
{
    static const char *const lists[] = {"function_declarations", "functionDeclarations", "tools",
                                        "functions"};
    if (at->level > NEST_MAX) {
        return cf_fail(err, CF_EFORMAT, "tool declarations nested too deeply");
    }
    if (json_is_array(v)) {
        return add_list(set, v, NULL, at, err);
    }
    if (!json_is_object(v)) {
        return cf_fail(err, CF_EFORMAT, "tool %zu: not an object", set->n + 1);
    }
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const json_t *list = json_object_get(v, lists[i]);
        if (json_is_array(list)) {
            return add_list(set, list, lists[i], at, err);
        }
    }
    const json_t *function = json_object_get(v, "function");
    return add_tool(set, v, json_is_object(function) ? function : v, at, err);
}

cf_status cf_tool_set_new(cf_tool_set **out, const json_t *v, cf_error *err)
{
    cf_tool_set *set = cf_calloc(1, sizeof *set);
    if (set == NULL) {
        return cf_oom(err);
    }
    const place top = {.path = cf_str_from("")};
    cf_arena_init(&set->arena, 0);
    set->made = json_array();
    cf_status st = set->made != NULL ? CF_OK : cf_oom(err);
    if (st == CF_OK && v != NULL && !json_is_null(v)) {
        /* Only the reference count of the tree changes. */
        memcpy(&set->root, &v, sizeof set->root);
        json_incref(set->root);
        st = json_is_array(v) || json_is_object(v)
                 ? add_any(set, v, &top, err)
                 : cf_fail(err, CF_EFORMAT, "tools must be an array");
    }
    if (st == CF_OK && set->arena.failed) {
        st = cf_oom(err);
    }
    if (st != CF_OK) {
        cf_tool_set_free(set);
        return st;
    }
    *out = set;
    return CF_OK;
}

void cf_tool_set_free(cf_tool_set *set)
{
    if (set != NULL) {
        json_decref(set->root);
        json_decref(set->made);
        cf_arena_deinit(&set->arena);
        cf_free(set->v);
        cf_free(set);
    }
}

const cf_tool *cf_tool_set_items(const cf_tool_set *set, size_t *n)
{
    *n = set->n;
    return set->v;
}

const cf_tool *cf_tool_set_find(const cf_tool_set *set, cf_str name)
{
    for (size_t i = 0; i < set->n; i++) {
        if (cf_str_eq(set->v[i].name, name)) {
            return &set->v[i];
        }
    }
    return NULL;
}

const char *cf_tool__schema_type(cf_str name)
{
    static const struct {
        const char *from, *to;
    } map[] = {
        {"string", "string"},   {"str", "string"},      {"number", "number"}, {"float", "number"},
        {"double", "number"},   {"integer", "integer"}, {"int", "integer"},   {"long", "integer"},
        {"boolean", "boolean"}, {"bool", "boolean"},    {"array", "array"},   {"list", "array"},
        {"tuple", "array"},     {"object", "object"},   {"dict", "object"},   {"null", "null"},
    };
    char lower[12];
    if (name.n >= sizeof lower) {
        return NULL;
    }
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        lower[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++) {
        if (cf_str_is(cf_str_make(lower, name.n), map[i].from)) {
            return map[i].to;
        }
    }
    return NULL;
}

/* ---- closed objects ------------------------------------------------------ */

static bool has_any(const json_t *v, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (json_object_get(v, keys[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Closes objects that declare properties and do not mention additional ones.
 * Objects that are built from several schemas stay open.  Changes v. */
static void close_objects(json_t *v, bool with_top, unsigned depth)
{
    static const char *const open[] = {"additionalProperties",
                                       "additional_properties",
                                       "patternProperties",
                                       "unevaluatedProperties",
                                       "propertyNames",
                                       "allOf",
                                       "anyOf",
                                       "oneOf",
                                       "not",
                                       "if",
                                       "$ref"};
    json_t *properties = json_object_get(v, "properties");
    json_t *items = json_object_get(v, "items");
    const char *key;
    json_t *child;
    if (depth > CF_TOOL_DEPTH_MAX) {
        return;
    }
    json_object_foreach(properties, key, child)
    {
        close_objects(child, with_top, depth + 1);
    }
    if (json_is_object(items)) {
        close_objects(items, with_top, depth + 1);
    }
    bool is_declared = depth > 0 ? json_object_size(properties) > 0 : with_top;
    if (is_declared && !has_any(v, open, sizeof open / sizeof *open)) {
        json_object_set_new(v, "additionalProperties", json_false());
    }
}

json_t *cf_tool__closed(const json_t *parameters, bool with_top)
{
    json_t *v = parameters != NULL ? cf_json_deep_copy(parameters) : json_object();
    if (v != NULL) {
        close_objects(v, with_top, 0);
    }
    return v;
}

/* ---- OpenAI's form ------------------------------------------------------ */

/* A deep copy with schema types in lower case. */
static json_t *copy_schema(const json_t *v, bool is_type, unsigned depth)
{
    if (depth > CF_TOOL_DEPTH_MAX) {
        return json_null();
    }
    if (json_is_object(v)) {
        json_t *to = json_object();
        const char *key;
        json_t *item;
        json_t *from;
        memcpy(&from, &v, sizeof from);
        json_object_foreach(from, key, item)
        {
            json_t *copy = copy_schema(item, strcmp(key, "type") == 0, depth + 1);
            if (copy == NULL || json_object_set_new(to, key, copy) != 0) {
                json_decref(to);
                return NULL;
            }
        }
        return to;
    }
    if (json_is_array(v)) {
        json_t *to = json_array();
        for (size_t i = 0; i < json_array_size(v); i++) {
            json_t *copy = copy_schema(json_array_get(v, i), is_type, depth + 1);
            if (copy == NULL || json_array_append_new(to, copy) != 0) {
                json_decref(to);
                return NULL;
            }
        }
        return to;
    }
    if (is_type && json_is_string(v)) {
        const char *type =
            cf_tool__schema_type(cf_str_make(json_string_value(v), json_string_length(v)));
        if (type != NULL) {
            return json_string(type);
        }
    }
    return cf_json_deep_copy(v);
}

/* A declaration's function as OpenAI has it: without members that are null,
 * its schema under one name. */
static json_t *function_of(const cf_tool *tool, cf_jb *b)
{
    const json_t *inner = json_object_get(tool->raw, "function");
    json_t *f = copy_schema(json_is_object(inner) ? inner : tool->raw, false, 0);
    const bool is_flat = !json_is_object(inner);
    const char *key;
    json_t *v;
    void *next;
    json_object_foreach_safe(f, next, key, v)
    {
        if (json_is_null(v) || (is_flat && strcmp(key, "type") == 0)) {
            (void)json_object_del(f, key);
        }
    }
    if (tool->parameters != NULL) {
        cf_jb_set(b, f, schema_keys[0], copy_schema(tool->parameters, false, 0));
    }
    for (size_t i = 1; i < N_SCHEMA_KEYS; i++) {
        (void)json_object_del(f, schema_keys[i]);
    }
    return f;
}

json_t *cf_tool_set_openai(const cf_tool_set *set)
{
    cf_jb b = CF_JB_INIT;
    json_t *list = json_array();
    for (size_t i = 0; i < set->n; i++) {
        json_t *f = function_of(&set->v[i], &b);
        cf_jb_append(&b, list, json_pack("{s:s, s:o}", "type", "function", "function", f));
    }
    if (b.failed) {
        json_decref(list);
        return NULL;
    }
    return list;
}
