/*
 * tool_format.c - calls, declarations and results as each family writes them.
 *
 * Values are read by the JSON grammar of the parser and rewritten from its
 * canonical text, so integers of any size and the order of keys come through.
 */
#include <string.h>

#include "core/backend/backend_impl.h"
#include "core/tools/tool_rules.h"

typedef enum style {
    STYLE_JSON,   /* as Python's json.dumps: ", " and ": " */
    STYLE_PYTHON, /* True, None */
    STYLE_FC      /* strings between escape markers, bare keys */
} style;

typedef struct writer {
    cf_buf *out;
    style style;
    const char *esc;    /* FC: the marker that the family uses */
    const char *p;      /* canonical JSON text, NUL behind it */
    bool upper_types;   /* declarations of FC: "type" values in upper case */
    const char *cannot; /* why the syntax cannot express it */
    bool oom;
    cf_buf str;
} writer;

static void put_value(writer *w, bool is_type);

/* Reads the JSON string at w->p, decoded, into w->str. */
static void read_string(writer *w)
{
    cf_tool__emit e;
    cf_tool__emit_init(&e, w->p, 0, strlen(w->p), NULL);
    (void)cf_tool__json_string(&e);
    cf_buf_reset(&w->str);
    cf_buf_add(&w->str, e.str.p, e.str.n);
    w->oom = w->oom || w->str.failed || e.str.failed;
    w->p += e.at;
    cf_tool__emit_deinit(&e);
}

static bool holds(const cf_buf *b, const char *what)
{
    size_t n = strlen(what);
    for (size_t i = 0; i + n <= b->n; i++) {
        if (memcmp(b->p + i, what, n) == 0) {
            return true;
        }
    }
    return false;
}

/* w->str between markers: the family's, or another that it does not hold. */
static void put_escaped(writer *w)
{
    const char *const all[] = {w->esc, "<|\"|>", "<escape>", "<ctrl46>"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!holds(&w->str, all[i])) {
            cf_buf_adds(w->out, all[i]);
            cf_buf_add(w->out, w->str.p, w->str.n);
            cf_buf_adds(w->out, all[i]);
            return;
        }
    }
    w->cannot = "a string holds every escape marker";
}

static void upper(cf_buf *b)
{
    for (size_t i = 0; i < b->n; i++) {
        if (b->p[i] >= 'a' && b->p[i] <= 'z') {
            b->p[i] = (char)(b->p[i] - 32);
        }
    }
}

static void put_string(writer *w, bool is_type)
{
    const char *from = w->p;
    read_string(w);
    if (w->style != STYLE_FC) {
        cf_buf_add(w->out, from, (size_t)(w->p - from));
        return;
    }
    if (is_type && w->upper_types) {
        upper(&w->str);
    }
    put_escaped(w);
}

static bool is_id(const cf_buf *b)
{
    for (size_t i = 0; i < b->n; i++) {
        if (!cf_tool__is_name(b->p[i]) && b->p[i] != '.' && b->p[i] != '-') {
            return false;
        }
    }
    return b->n > 0;
}

/* A key; tells whether it is "type". */
static bool put_key(writer *w)
{
    const char *from = w->p;
    read_string(w);
    if (w->style != STYLE_FC) {
        cf_buf_add(w->out, from, (size_t)(w->p - from));
    } else if (is_id(&w->str)) {
        cf_buf_add(w->out, w->str.p, w->str.n);
    } else {
        put_escaped(w);
    }
    return w->str.n == 4 && memcmp(w->str.p, "type", 4) == 0;
}

static void put_members(writer *w, char close, bool is_object, bool is_type)
{
    const char *comma = w->style == STYLE_FC ? "," : ", ";
    const char *colon = w->style == STYLE_FC ? ":" : ": ";
    cf_buf_addc(w->out, *w->p++);
    while (*w->p != close && *w->p != '\0') {
        bool of_type = is_type;
        if (*w->p == ',') {
            w->p++;
            cf_buf_adds(w->out, comma);
        }
        if (is_object) {
            of_type = put_key(w);
            w->p++; /* ':' */
            cf_buf_adds(w->out, colon);
        }
        put_value(w, of_type);
    }
    cf_buf_addc(w->out, close);
    w->p += *w->p != '\0';
}

static void put_value(writer *w, bool is_type)
{
    static const char *const words[][2] = {
        {"true", "True"}, {"false", "False"}, {"null", "None"}};
    if (*w->p == '"') {
        put_string(w, is_type);
        return;
    }
    if (*w->p == '{' || *w->p == '[') {
        bool is_object = *w->p == '{';
        put_members(w, is_object ? '}' : ']', is_object, is_type);
        return;
    }
    size_t n = strcspn(w->p, ",]}");
    const char *text = w->p;
    size_t len = n;
    for (size_t i = 0; w->style == STYLE_PYTHON && i < 3; i++) {
        if (strlen(words[i][0]) == n && memcmp(words[i][0], w->p, n) == 0) {
            text = words[i][1];
            len = strlen(text);
        }
    }
    cf_buf_add(w->out, text, len);
    w->p += n;
}

/* Canonical text of a JSON value; must be an object when `object`. */
static cf_status canonical(cf_buf *out, cf_str json, bool object, cf_error *err)
{
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_tool__emit e;
    cf_tool__emit_init(&e, json.p != NULL ? json.p : "", 0, json.n, &arena);
    e.quiet = 1;
    cf_tool__json_space(&e);
    bool ok = (!object || (e.at < e.end && e.p[e.at] == '{')) &&
              cf_tool__json_value(&e);
    cf_tool__json_space(&e);
    ok = ok && e.at == e.end;
    cf_status st = CF_OK;
    if (ok) {
        cf_buf_add(out, e.json.p, e.json.n);
        st = cf_buf_check(out, err);
    } else if (e.oom) {
        st = cf_oom_for(err, "a value");
    } else {
        st = cf_fail(err, CF_EFORMAT, "the arguments are no JSON object");
    }
    cf_tool__emit_deinit(&e);
    cf_arena_deinit(&arena);
    return st;
}

static cf_status finish(writer *w, cf_status st, cf_error *err)
{
    cf_buf_deinit(&w->str);
    if (st == CF_OK && w->oom) {
        st = cf_oom_for(err, "a string");
    }
    if (st == CF_OK && w->cannot != NULL) {
        st = cf_fail(err, CF_EUNSUPPORTED, "%s", w->cannot);
    }
    return st == CF_OK ? cf_buf_check(w->out, err) : st;
}

static cf_status put_json(cf_buf *out, style how, const char *esc,
                          bool upper_types, cf_str json, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    writer w = {
        .out = out, .style = how, .esc = esc, .upper_types = upper_types};
    cf_status st = canonical(&text, json, false, err);
    if (st == CF_OK) {
        w.p = cf_buf_cstr(&text);
        put_value(&w, false);
    }
    cf_buf_deinit(&text);
    return finish(&w, st, err);
}

static cf_status put_tree(cf_buf *out, style how, const char *esc,
                          bool upper_types, const json_t *v, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_json_write(&text, v);
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, put_json(out, how, esc, upper_types, cf_buf_str(&text), err));
    cf_buf_deinit(&text);
    return st;
}

/* ---- calls -------------------------------------------------------------- */

static bool is_identifier(cf_str s, bool dotted)
{
    bool at_start = true;
    for (size_t i = 0; i < s.n; i++) {
        if (dotted && s.p[i] == '.' && !at_start) {
            at_start = true;
            continue;
        }
        if (at_start ? !cf_tool__is_name_start(s.p[i])
                     : !cf_tool__is_name(s.p[i])) {
            return false;
        }
        at_start = false;
    }
    return s.n > 0 && !at_start;
}

static cf_status put_python_call(cf_buf *out, const cf_tool_call *c,
                                 cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    writer w = {.out = out, .style = STYLE_PYTHON};
    cf_status st = canonical(&text, c->arguments, true, err);
    if (st == CF_OK && !is_identifier(c->name, true)) {
        st = cf_fail(err, CF_EUNSUPPORTED,
                     "'%.*s' cannot be a name in Python's syntax",
                     (int)(c->name.n < 80 ? c->name.n : 80), c->name.p);
    }
    if (st == CF_OK) {
        w.p = cf_buf_cstr(&text) + 1;
        cf_buf_add(out, c->name.p, c->name.n);
        cf_buf_addc(out, '(');
        while (*w.p != '}' && *w.p != '\0') {
            if (*w.p == ',') {
                w.p++;
                cf_buf_adds(out, ", ");
            }
            read_string(&w);
            if (!is_identifier(cf_str_make(w.str.p, w.str.n), false)) {
                w.cannot = "an argument's name is no Python identifier";
            }
            cf_buf_add(out, w.str.p, w.str.n);
            cf_buf_addc(out, '=');
            w.p++; /* ':' */
            put_value(&w, false);
        }
        cf_buf_addc(out, ')');
    }
    cf_buf_deinit(&text);
    return finish(&w, st, err);
}

static cf_status put_python_calls(cf_buf *out, const cf_tool_call *calls,
                                  size_t n, bool brackets, cf_error *err)
{
    if (brackets) {
        cf_buf_addc(out, '[');
    }
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(out, i > 0 ? ", " : "");
        CF_TRY(put_python_call(out, &calls[i], err));
    }
    if (brackets) {
        cf_buf_addc(out, ']');
    }
    return CF_OK;
}

static cf_status put_json_call(cf_buf *out, const cf_tool_call *c,
                               const char *key, bool with_id, cf_error *err)
{
    cf_buf_adds(out, "{\"name\": ");
    cf_json_write_str(out, c->name);
    cf_buf_addf(out, ", \"%s\": ", key);
    cf_buf text = CF_BUF_INIT;
    cf_status st = canonical(&text, c->arguments, true, err);
    cf_buf_deinit(&text);
    CF_TRY(st);
    CF_TRY(put_json(out, STYLE_JSON, NULL, false, c->arguments, err));
    if (with_id && c->id.n > 0) {
        cf_buf_adds(out, ", \"id\": ");
        cf_json_write_str(out, c->id);
    }
    cf_buf_addc(out, '}');
    return CF_OK;
}

static cf_status put_json_list(cf_buf *out, const cf_tool_call *calls, size_t n,
                               bool with_id, cf_error *err)
{
    cf_buf_addc(out, '[');
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(out, i > 0 ? ", " : "");
        CF_TRY(put_json_call(out, &calls[i], "arguments", with_id, err));
    }
    cf_buf_addc(out, ']');
    return CF_OK;
}

static cf_status put_fc_call(cf_buf *out, const cf_tool_call *c,
                             const char *esc, cf_error *err)
{
    cf_buf name = CF_BUF_INIT, text = CF_BUF_INIT;
    cf_buf_add(&name, c->name.p, c->name.n);
    cf_status st = cf_buf_check(&name, err);
    if (st == CF_OK && !is_id(&name)) {
        st = cf_fail(err, CF_EUNSUPPORTED,
                     "the name of a call has a character that the syntax does "
                     "not know");
    }
    cf_buf_deinit(&name);
    CF_THEN(st, canonical(&text, c->arguments, true, err));
    cf_buf_deinit(&text);
    CF_TRY(st);
    cf_buf_adds(out, "call:");
    cf_buf_add(out, c->name.p, c->name.n);
    return put_json(out, STYLE_FC, esc, false, c->arguments, err);
}

/* Start and end around each call of the FC families. */
static cf_status put_fc_calls(cf_buf *out, const cf_tool_call *calls, size_t n,
                              const char *start, const char *end,
                              const char *esc, cf_error *err)
{
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(out, start);
        CF_TRY(put_fc_call(out, &calls[i], esc, err));
        cf_buf_adds(out, end);
    }
    return CF_OK;
}

static cf_status put_each(cf_buf *out, const cf_tool_call *calls, size_t n,
                          const char *start, const char *key, const char *end,
                          const char *between, cf_error *err)
{
    for (size_t i = 0; i < n; i++) {
        cf_buf_adds(out, i > 0 ? between : "");
        cf_buf_adds(out, start);
        CF_TRY(put_json_call(out, &calls[i], key, false, err));
        cf_buf_adds(out, end);
    }
    return CF_OK;
}

static cf_status put_fenced(cf_buf *out, const char *start, const char *end,
                            bool is_python, const cf_tool_call *calls, size_t n,
                            bool with_id, cf_error *err)
{
    cf_buf_adds(out, start);
    CF_TRY(is_python ? put_python_calls(out, calls, n, true, err)
                     : put_json_list(out, calls, n, with_id, err));
    cf_buf_adds(out, end);
    return CF_OK;
}

static cf_status format_calls(cf_buf *out, cf_tool_family family,
                              const cf_tool_call *calls, size_t n,
                              cf_error *err)
{
    switch (family) {
    case CF_TOOLS_HERMES:
    case CF_TOOLS_GENERIC:
        return put_each(out, calls, n, "<tool_call>\n", "arguments",
                        "\n</tool_call>", "\n", err);
    case CF_TOOLS_GEMMA3:
        cf_buf_adds(out, "```tool_code\n");
        CF_TRY(put_python_calls(out, calls, n, n != 1, err));
        cf_buf_adds(out, "\n```");
        return CF_OK;
    case CF_TOOLS_FUNCTIONGEMMA:
        return put_fc_calls(out, calls, n, "<start_function_call>",
                            "<end_function_call>", "<escape>", err);
    case CF_TOOLS_GEMMA4:
        return put_fc_calls(out, calls, n, "<|tool_call>", "<tool_call|>",
                            "<|\"|>", err);
    case CF_TOOLS_HAMMER:
        return put_fenced(out, "```\n", "\n```", false, calls, n, false, err);
    case CF_TOOLS_LLAMA_PYTHONIC:
        return put_python_calls(out, calls, n, true, err);
    case CF_TOOLS_LLAMA_JSON:
        return put_each(out, calls, n, "", "parameters", "", "; ", err);
    case CF_TOOLS_MISTRAL:
        return put_fenced(out, "[TOOL_CALLS] ", "", false, calls, n, true, err);
    case CF_TOOLS_PHI4_MINI:
        return put_fenced(out, "<|tool_call|>", "<|/tool_call|>", false, calls,
                          n, false, err);
    case CF_TOOLS_LFM2:
        return put_fenced(out, "<|tool_call_start|>", "<|tool_call_end|>", true,
                          calls, n, false, err);
    case CF_TOOLS_NONE:
    case CF_TOOL_FAMILY_N:
        break;
    }
    return cf_fail(err, CF_EUNSUPPORTED, "family %s writes no calls",
                   cf_tool_family_name(family));
}

/* All or nothing: a failure leaves `out` as it was. */
static cf_status undo(cf_buf *out, size_t mark, cf_status st)
{
    if (st != CF_OK && out->n > mark) {
        out->n = mark;
        out->p[mark] = '\0';
    }
    return st;
}

cf_status cf_tool_format_calls(cf_buf *out, cf_tool_family family,
                               const cf_tool_call *calls, size_t n,
                               cf_error *err)
{
    size_t mark = out->n;
    cf_status st = format_calls(out, family, calls, n, err);
    return undo(out, mark, st == CF_OK ? cf_buf_check(out, err) : st);
}

/* ---- declarations ------------------------------------------------------- */

/* A schema's type as Python writes it. */
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
    json_t *properties =
        json_object_get(cf_json_ref(tool->parameters), "properties");
    const char *name;
    json_t *schema;
    bool has_any = json_object_size(properties) > 0;
    cf_buf_addf(out, "def %.*s(%s", (int)tool->name.n, tool->name.p,
                has_any ? "\n" : "");
    json_object_foreach(properties, name, schema)
    {
        cf_buf_addf(out, "    %s: ", name);
        put_python_type(out, schema, 0);
        cf_buf_adds(out, is_required(tool->parameters, name)
                             ? ",\n"
                             : " | None = None,\n");
    }
    cf_buf_addf(out, ") -> dict:\n  \"\"\"%.*s", (int)tool->description.n,
                tool->description.n > 0 ? tool->description.p : "");
    if (has_any) {
        cf_buf_adds(out, "\n\n  Args:\n");
    }
    json_object_foreach(properties, name, schema)
    {
        cf_str text = cf_json_get_str(schema, "description");
        cf_buf_addf(out, "    %s:%s%.*s\n", name, text.n > 0 ? " " : "",
                    (int)text.n, text.n > 0 ? text.p : "");
    }
    cf_buf_adds(out, has_any ? "  \"\"\"\n" : "\"\"\"\n");
}

static cf_status put_fc_declaration(cf_buf *out, const cf_tool *tool,
                                    const char *start, const char *end,
                                    const char *esc, cf_error *err)
{
    json_t *body = json_object();
    bool ok =
        body != NULL &&
        json_object_set_new(
            body, "description",
            json_stringn(tool->description.n > 0 ? tool->description.p : "",
                         tool->description.n)) == 0;
    if (ok && tool->parameters != NULL) {
        ok = json_object_set(body, "parameters",
                             cf_json_ref(tool->parameters)) == 0;
    }
    cf_buf_addf(out, "%sdeclaration:%.*s", start, (int)tool->name.n,
                tool->name.p);
    cf_status st = ok ? put_tree(out, STYLE_FC, esc, true, body, err)
                      : cf_oom_for(err, "a declaration");
    cf_buf_adds(out, end);
    json_decref(body);
    return st;
}

static cf_status format_declarations(cf_buf *out, cf_tool_family family,
                                     const cf_tool_set *tools, cf_error *err)
{
    size_t n;
    const cf_tool *v = cf_tool_set_items(tools, &n);
    if (family == CF_TOOLS_GEMMA3) {
        for (size_t i = 0; i < n; i++) {
            cf_buf_adds(out, i > 0 ? "\n" : "");
            put_signature(out, &v[i]);
        }
        return CF_OK;
    }
    if (family == CF_TOOLS_FUNCTIONGEMMA || family == CF_TOOLS_GEMMA4) {
        bool is_4 = family == CF_TOOLS_GEMMA4;
        for (size_t i = 0; i < n; i++) {
            CF_TRY(put_fc_declaration(
                out, &v[i], is_4 ? "<|tool>" : "<start_function_declaration>",
                is_4 ? "<tool|>" : "<end_function_declaration>",
                is_4 ? "<|\"|>" : "<escape>", err));
        }
        return CF_OK;
    }
    json_t *list = cf_tool_set_openai(tools);
    if (list == NULL) {
        return cf_oom_for(err, "declarations");
    }
    cf_status st = CF_OK;
    bool is_bare = family == CF_TOOLS_HAMMER || family == CF_TOOLS_PHI4_MINI ||
                   family == CF_TOOLS_LFM2 || family == CF_TOOLS_LLAMA_PYTHONIC;
    bool is_list = is_bare || family == CF_TOOLS_MISTRAL;
    cf_buf_adds(out, is_list ? "[" : "");
    for (size_t i = 0; st == CF_OK && i < json_array_size(list); i++) {
        const json_t *tool = json_array_get(list, i);
        cf_buf_adds(out, i == 0 ? "" : is_list ? ", " : "\n");
        st = put_tree(out, STYLE_JSON, NULL, false,
                      is_bare ? json_object_get(tool, "function") : tool, err);
    }
    cf_buf_adds(out, is_list ? "]" : "");
    json_decref(list);
    return st;
}

cf_status cf_tool_format_declarations(cf_buf *out, cf_tool_family family,
                                      const cf_tool_set *tools, cf_error *err)
{
    size_t mark = out->n;
    cf_status st = format_declarations(out, family, tools, err);
    return undo(out, mark, st == CF_OK ? cf_buf_check(out, err) : st);
}

/* ---- results ------------------------------------------------------------ */

static cf_status put_fc_result(cf_buf *out, cf_str name, const json_t *result,
                               const char *start, const char *end,
                               const char *esc, cf_error *err)
{
    cf_buf_addf(out, "%sresponse:%.*s", start, (int)name.n, name.p);
    cf_status st;
    if (json_is_object(result)) {
        st = put_tree(out, STYLE_FC, esc, false, result, err);
    } else {
        cf_buf_adds(out, "{value:");
        st = put_tree(out, STYLE_FC, esc, false, result, err);
        cf_buf_addc(out, '}');
    }
    cf_buf_adds(out, end);
    return st;
}

static cf_status format_result(cf_buf *out, cf_tool_family family, cf_str name,
                               const json_t *result, cf_error *err)
{
    const char *start = "", *end = "";
    style how = STYLE_JSON;
    switch (family) {
    case CF_TOOLS_FUNCTIONGEMMA:
        return put_fc_result(out, name, result, "<start_function_response>",
                             "<end_function_response>", "<escape>", err);
    case CF_TOOLS_GEMMA4:
        return put_fc_result(out, name, result, "<|tool_response>",
                             "<tool_response|>", "<|\"|>", err);
    case CF_TOOLS_HERMES:
        start = "<tool_response>\n";
        end = "\n</tool_response>";
        break;
    case CF_TOOLS_GEMMA3:
        start = "```tool_outputs\n";
        end = "\n```";
        how = STYLE_PYTHON;
        break;
    case CF_TOOLS_MISTRAL:
        start = "[TOOL_RESULTS] {\"content\": ";
        end = "}[/TOOL_RESULTS]";
        break;
    case CF_TOOLS_LFM2:
        start = "<|tool_response_start|>";
        end = "<|tool_response_end|>";
        break;
    case CF_TOOLS_NONE:
    case CF_TOOLS_GENERIC:
    case CF_TOOLS_HAMMER:
    case CF_TOOLS_LLAMA_PYTHONIC:
    case CF_TOOLS_LLAMA_JSON:
    case CF_TOOLS_PHI4_MINI:
    case CF_TOOL_FAMILY_N:
        break;
    }
    cf_buf_adds(out, start);
    CF_TRY(put_tree(out, how, NULL, false, result, err));
    cf_buf_adds(out, end);
    return CF_OK;
}

cf_status cf_tool_format_result(cf_buf *out, cf_tool_family family, cf_str name,
                                const json_t *result, cf_error *err)
{
    size_t mark = out->n;
    cf_status st = format_result(out, family, name, result, err);
    return undo(out, mark, st == CF_OK ? cf_buf_check(out, err) : st);
}
