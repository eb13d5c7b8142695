/*
 * tool_declare.c - writes declarations and results as each family shows them to
 * its model.
 */
#include <string.h>

#include "core/tools/tool_rules.h"
#include "core/tools/tool_write.h"

/* ---- Python ------------------------------------------------------------- */

/* A schema's type in Python's notation. */
static void put_python_type(cf_buf *out, const json_t *schema, unsigned depth)
{
    const char *type = cf_tool__schema_type(cf_json_get_str(schema, "type"));
    if (type == NULL) {
        cf_buf_adds(out, "Any");
    } else if (strcmp(type, "string") == 0) {
        cf_buf_adds(out, "str");
    } else if (strcmp(type, "integer") == 0) {
        cf_buf_adds(out, "int");
    } else if (strcmp(type, "number") == 0) {
        cf_buf_adds(out, "float");
    } else if (strcmp(type, "boolean") == 0) {
        cf_buf_adds(out, "bool");
    } else if (strcmp(type, "object") == 0) {
        cf_buf_adds(out, "dict");
    } else if (strcmp(type, "array") == 0) {
        const json_t *items = json_object_get(schema, "items");
        cf_buf_adds(out, "list[");
        if (json_is_object(items) && depth < CF_TOOL_DEPTH_MAX) {
            put_python_type(out, items, depth + 1);
        } else {
            cf_buf_adds(out, "Any");
        }
        cf_buf_addc(out, ']');
    } else {
        cf_buf_adds(out, "None");
    }
}

static bool is_required(const json_t *schema, const char *name)
{
    const json_t *list = json_object_get(schema, "required");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *s = json_string_value(json_array_get(list, i));
        if (s != NULL && strcmp(s, name) == 0) {
            return true;
        }
    }
    return false;
}

static void put_signature(cf_buf *out, const cf_tool *tool)
{
    json_t *properties = json_object_get(cf_json_ref(tool->parameters), "properties");
    const char *name;
    json_t *schema;
    bool has_any = json_object_size(properties) > 0;
    cf_buf_addf(out, "def %.*s(%s", (int)tool->name.n, tool->name.p, has_any ? "\n" : "");
    json_object_foreach(properties, name, schema)
    {
        cf_buf_addf(out, "    %s: ", name);
        put_python_type(out, schema, 0);
        cf_buf_adds(out, is_required(tool->parameters, name) ? ",\n" : " | None = None,\n");
    }
    cf_buf_addf(out, ") -> dict:\n  \"\"\"%.*s", (int)tool->description.n,
                tool->description.n > 0 ? tool->description.p : "");
    if (has_any) {
        cf_buf_adds(out, "\n\n  Args:\n");
    }
    json_object_foreach(properties, name, schema)
    {
        cf_str text = cf_json_get_str(schema, "description");
        cf_buf_addf(out, "    %s:%s%.*s\n", name, text.n > 0 ? " " : "", (int)text.n,
                    text.n > 0 ? text.p : "");
    }
    cf_buf_adds(out, has_any ? "  \"\"\"\n" : "\"\"\"\n");
}

/* ---- TypeScript --------------------------------------------------------- */

static void put_comment(cf_buf *out, cf_str text)
{
    for (size_t i = 0; i < text.n;) {
        size_t n = 0;
        while (i + n < text.n && text.p[i + n] != '\n') {
            n++;
        }
        cf_buf_addf(out, "// %.*s\n", (int)n, text.p + i);
        i += n + 1;
    }
}

static void put_ts_type(cf_buf *out, const json_t *schema, unsigned depth);

static void put_ts_members(cf_buf *out, const json_t *schema, unsigned depth)
{
    json_t *properties = json_object_get(cf_json_ref(schema), "properties");
    const char *name;
    json_t *sub;
    json_object_foreach(properties, name, sub)
    {
        put_comment(out, cf_json_get_str(sub, "description"));
        cf_buf_addf(out, "%s%s: ", name, is_required(schema, name) ? "" : "?");
        put_ts_type(out, sub, depth + 1);
        const json_t *fallback = json_object_get(sub, "default");
        cf_buf_adds(out, ",");
        if (fallback != NULL) {
            cf_buf_adds(out, " // default: ");
            cf_json_write(out, fallback);
        }
        cf_buf_adds(out, "\n");
    }
}

/* A schema as a TypeScript type. */
static void put_ts_type(cf_buf *out, const json_t *schema, unsigned depth)
{
    const json_t *values = json_object_get(schema, "enum");
    const char *type = cf_tool__schema_type(cf_json_get_str(schema, "type"));
    if (depth > CF_TOOL_DEPTH_MAX || (type == NULL && values == NULL)) {
        cf_buf_adds(out, "any");
        return;
    }
    for (size_t i = 0; i < json_array_size(values); i++) {
        cf_buf_adds(out, i > 0 ? " | " : "");
        cf_json_write(out, json_array_get(values, i));
    }
    if (json_array_size(values) > 0) {
        return;
    }
    if (strcmp(type, "integer") == 0) {
        type = "number";
    }
    if (strcmp(type, "array") == 0) {
        put_ts_type(out, json_object_get(schema, "items"), depth + 1);
        cf_buf_adds(out, "[]");
    } else if (strcmp(type, "object") == 0) {
        cf_buf_adds(out, "{\n");
        put_ts_members(out, schema, depth);
        cf_buf_adds(out, "}");
    } else {
        cf_buf_adds(out, type);
    }
}

static void put_ts_namespace(cf_buf *out, const cf_tool *tools, size_t n)
{
    cf_buf_adds(out, "namespace functions {\n\n");
    for (size_t i = 0; i < n; i++) {
        const cf_tool *t = &tools[i];
        put_comment(out, t->description);
        cf_buf_addf(out, "type %.*s = (", (int)t->name.n, t->name.p);
        if (json_object_size(json_object_get(t->parameters, "properties")) > 0) {
            cf_buf_adds(out, "_: {\n");
            put_ts_members(out, t->parameters, 0);
            cf_buf_adds(out, "}");
        }
        cf_buf_adds(out, ") => any;\n\n");
    }
    cf_buf_adds(out, "} // namespace functions");
}

/* ---- all of them -------------------------------------------------------- */

static cf_status put_fc_declaration(cf_buf *out, const cf_tool *tool, const cf_tool__row *row,
                                    cf_error *err)
{
    json_t *body = json_object();
    bool ok = body != NULL &&
              json_object_set_new(body, "description",
                                  json_stringn(tool->description.n > 0 ? tool->description.p : "",
                                               tool->description.n)) == 0;
    if (ok && tool->parameters != NULL) {
        ok = json_object_set(body, "parameters", cf_json_ref(tool->parameters)) == 0;
    }
    cf_buf_addf(out, "%sdeclaration:%.*s", row->declare_open, (int)tool->name.n, tool->name.p);
    cf_status st = ok ? cf_tool__put_tree(out, CF_STYLE_FC, row->calls.esc, true, body, err)
                      : cf_oom_for(err, "a declaration");
    cf_buf_adds(out, row->declare_close);
    json_decref(body);
    return st;
}

static cf_status put_json_declarations(cf_buf *out, const cf_tool_set *tools, cf_tool__declare how,
                                       cf_error *err)
{
    json_t *list = cf_tool_set_openai(tools);
    if (list == NULL) {
        return cf_oom_for(err, "declarations");
    }
    cf_status st = CF_OK;
    bool is_list = how != CF_DECLARE_LINES;
    cf_buf_adds(out, is_list ? "[" : "");
    for (size_t i = 0; st == CF_OK && i < json_array_size(list); i++) {
        const json_t *tool = json_array_get(list, i);
        cf_buf_adds(out, i == 0 ? "" : is_list ? ", " : "\n");
        st = cf_tool__put_tree(out, CF_STYLE_JSON, NULL, false,
                               how == CF_DECLARE_BARE ? json_object_get(tool, "function") : tool,
                               err);
    }
    cf_buf_adds(out, is_list ? "]" : "");
    json_decref(list);
    return st;
}

static cf_status declare(cf_buf *out, const cf_tool__row *row, const cf_tool_set *tools,
                         cf_error *err)
{
    size_t n;
    const cf_tool *v = cf_tool_set_items(tools, &n);
    switch (row->declare) {
    case CF_DECLARE_PYTHON:
        for (size_t i = 0; i < n; i++) {
            cf_buf_adds(out, i > 0 ? "\n" : "");
            put_signature(out, &v[i]);
        }
        return CF_OK;
    case CF_DECLARE_TYPESCRIPT:
        put_ts_namespace(out, v, n);
        return CF_OK;
    case CF_DECLARE_FC:
        for (size_t i = 0; i < n; i++) {
            CF_TRY(put_fc_declaration(out, &v[i], row, err));
        }
        return CF_OK;
    case CF_DECLARE_LINES:
    case CF_DECLARE_LIST:
    case CF_DECLARE_BARE:
        break;
    }
    return put_json_declarations(out, tools, row->declare, err);
}

cf_status cf_tool_format_declarations(cf_buf *out, cf_tool_family family, const cf_tool_set *tools,
                                      cf_error *err)
{
    size_t mark = out->n;
    cf_status st = declare(out, cf_tool__row_of(family), tools, err);
    return cf_tool__undo(out, mark, st, err);
}

/* ---- results ------------------------------------------------------------ */

static cf_status put_fc_result(cf_buf *out, const cf_tool__row *row, cf_str name,
                               const json_t *result, cf_error *err)
{
    bool is_object = json_is_object(result);
    cf_buf_addf(out, "%sresponse:%.*s%s", row->result_open, (int)name.n, name.p,
                is_object ? "" : "{value:");
    CF_TRY(cf_tool__put_tree(out, CF_STYLE_FC, row->calls.esc, false, result, err));
    cf_buf_addf(out, "%s%s", is_object ? "" : "}", row->result_close);
    return CF_OK;
}

/* `text` with the tool's name for %n. */
static void put_named(cf_buf *out, const char *text, cf_str name)
{
    for (const char *p = text; *p != '\0'; p++) {
        if (p[0] == '%' && p[1] == 'n') {
            cf_buf_add(out, name.p, name.n);
            p++;
        } else {
            cf_buf_addc(out, *p);
        }
    }
}

static cf_status put_result(cf_buf *out, const cf_tool__row *row, cf_str name, const json_t *result,
                            cf_error *err)
{
    if (row->result_is_fc) {
        return put_fc_result(out, row, name, result, err);
    }
    put_named(out, row->result_open != NULL ? row->result_open : "", name);
    CF_TRY(cf_tool__put_tree(
        out, row->result_values == CF_VALUES_PYTHON ? CF_STYLE_PYTHON : CF_STYLE_JSON, NULL, false,
        result, err));
    cf_buf_adds(out, row->result_close != NULL ? row->result_close : "");
    return CF_OK;
}

cf_status cf_tool_format_result(cf_buf *out, cf_tool_family family, cf_str name,
                                const json_t *result, cf_error *err)
{
    size_t mark = out->n;
    cf_status st = put_result(out, cf_tool__row_of(family), name, result, err);
    return cf_tool__undo(out, mark, st, err);
}
