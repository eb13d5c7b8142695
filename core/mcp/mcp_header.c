/*
 * mcp_header.c - arguments that a schema wants to see in HTTP headers too
 * ("x-mcp-header"), and how a value is written there: "Custom Headers from
 * Tool Parameters" of the specification of 2026-07-28.
 *
 * An annotation counts where a chain of "properties" leads to it from the
 * root; anywhere else it makes the tool invalid.
 */
#include <string.h>

#include "core/base/base64.h"
#include "core/mcp/mcp_impl.h"

typedef struct walk {
    json_t *seen; /* names in lower case */
    cf_mcp__header_fn fn;
    void *ud;
    cf_buf *why;
} walk;

static bool refuse(walk *w, const char *text)
{
    if (w->why->n == 0) {
        cf_buf_addf(w->why, "x-mcp-header %s", text);
    }
    return false;
}

/* A "token" of HTTP. */
static bool is_token(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        bool is_letter = (c | 32) >= 'a' && (c | 32) <= 'z';
        bool is_digit = c >= '0' && c <= '9';
        if (!is_letter && !is_digit && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL)) {
            return false;
        }
    }
    return n > 0 && n <= 100;
}

static bool is_new(walk *w, const char *name, size_t n)
{
    char lower[101];
    for (size_t i = 0; i <= n; i++) {
        char c = name[i];
        lower[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    return json_object_get(w->seen, lower) == NULL &&
           json_object_set_new(w->seen, lower, json_true()) == 0;
}

static void put_header(const walk *w, const char *name, const json_t *value)
{
    cf_buf text = CF_BUF_INIT;
    if (json_is_string(value)) {
        cf_buf_add(&text, json_string_value(value), json_string_length(value));
    } else if (json_is_integer(value) || json_is_boolean(value)) {
        cf_json_write(&text, value);
    } else {
        return;
    }
    w->fn(w->ud, name, cf_buf_str(&text));
    cf_buf_deinit(&text);
}

static bool annotation(walk *w, const json_t *schema, const json_t *value)
{
    const json_t *name = json_object_get(schema, "x-mcp-header");
    cf_str type = cf_json_get_str(schema, "type");
    if (!json_is_string(name) || !is_token(json_string_value(name), json_string_length(name))) {
        return refuse(w, "is not a header's name");
    }
    if (!cf_str_is(type, "string") && !cf_str_is(type, "integer") && !cf_str_is(type, "boolean")) {
        return refuse(w, "is at a value that is not a text, integer or boolean");
    }
    if (!is_new(w, json_string_value(name), json_string_length(name))) {
        return refuse(w, "occurs twice");
    }
    if (w->fn != NULL && value != NULL) {
        put_header(w, json_string_value(name), value);
    }
    return true;
}

/* Whether the member's value is data and no schema. */
static bool is_data(const char *key)
{
    static const char *const names[] = {"enum", "const", "default", "examples", "required"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(key, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the member's value is an object of schemas by name. */
static bool is_map(const char *key)
{
    static const char *const names[] = {"properties", "patternProperties", "$defs", "definitions",
                                        "dependentSchemas"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(key, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool walk_schema(walk *w, const json_t *schema, const json_t *value, bool is_reachable,
                        int depth);

static bool walk_map(walk *w, const json_t *map, const json_t *value, bool is_reachable, int depth)
{
    const char *key;
    json_t *v;
    json_object_foreach(cf_json_ref(map), key, v)
    {
        if (!walk_schema(w, v, json_object_get(value, key), is_reachable, depth + 1)) {
            return false;
        }
    }
    return true;
}

static bool walk_list(walk *w, const json_t *list, int depth)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!walk_schema(w, json_array_get(list, i), NULL, false, depth + 1)) {
            return false;
        }
    }
    return true;
}

static bool walk_schema(walk *w, const json_t *schema, const json_t *value, bool is_reachable,
                        int depth)
{
    const char *key;
    json_t *v;
    if (depth > CF_MCP__DEPTH_MAX) {
        return refuse(w, "cannot be looked for: the schema is too deep");
    }
    if (json_object_get(schema, "x-mcp-header") != NULL) {
        if (!is_reachable || depth == 0) {
            return refuse(w, "is where no chain of properties leads");
        }
        if (!annotation(w, schema, value)) {
            return false;
        }
    }
    json_object_foreach(cf_json_ref(schema), key, v)
    {
        bool ok = true;
        if (is_data(key)) {
            continue;
        }
        if (is_map(key)) {
            ok = walk_map(w, v, value, is_reachable && strcmp(key, "properties") == 0, depth);
        } else if (json_is_object(v)) {
            ok = walk_schema(w, v, NULL, false, depth + 1);
        } else if (json_is_array(v)) {
            ok = walk_list(w, v, depth);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

bool cf_mcp__param_headers(const json_t *schema, const json_t *arguments, cf_mcp__header_fn fn,
                           void *ud, cf_buf *why)
{
    walk w = {.seen = json_object(), .fn = fn, .ud = ud, .why = why};
    bool ok = w.seen != NULL && walk_schema(&w, schema, arguments, true, 0);
    json_decref(w.seen);
    return ok;
}

static bool is_safe(cf_str v)
{
    bool is_sentinel =
        v.n >= 11 && memcmp(v.p, "=?base64?", 9) == 0 && memcmp(v.p + v.n - 2, "?=", 2) == 0;
    for (size_t i = 0; i < v.n; i++) {
        unsigned char c = (unsigned char)v.p[i];
        if ((c < 32 && c != '\t') || c > 126) {
            return false;
        }
    }
    return !is_sentinel && v.n > 0 && v.p[0] != ' ' && v.p[0] != '\t' && v.p[v.n - 1] != ' ' &&
           v.p[v.n - 1] != '\t';
}

void cf_mcp__header_value(cf_buf *out, cf_str value)
{
    if (is_safe(value)) {
        cf_buf_add(out, value.p, value.n);
    } else if (value.n > 0) {
        cf_buf_adds(out, "=?base64?");
        cf_base64_put(out, value);
        cf_buf_adds(out, "?=");
    }
}
