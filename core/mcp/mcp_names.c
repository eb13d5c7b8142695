/*
 * mcp_names.c - the tools of several servers as one list, and what two lists
 * differ in.
 */
#include <string.h>

#include "core/mcp/mcp_impl.h"

enum { NAME_SIZE = 600 };

/* ---- which are on ------------------------------------------------------- */

static bool is_off(const json_t *server, cf_str tool)
{
    const json_t *off = json_object_get(server, "off");
    if (json_is_true(off)) {
        return true;
    }
    for (size_t i = 0; i < json_array_size(off); i++) {
        const json_t *v = json_array_get(off, i);
        if (json_is_string(v) &&
            cf_str_eq(cf_str_make(json_string_value(v), json_string_length(v)), tool)) {
            return true;
        }
    }
    return false;
}

/* ---- names -------------------------------------------------------------- */

static cf_str declared_name(const json_t *declaration)
{
    const json_t *function = json_object_get(declaration, "function");
    return cf_json_get_str(function != NULL ? function : declaration, "name");
}

/* How many tools that are on have this name, others counted.  A server that
 * is off takes no part in it. */
static size_t count_name(const json_t *servers, const json_t *others, cf_str name)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(others); i++) {
        n += cf_str_eq(declared_name(json_array_get(others, i)), name);
    }
    for (size_t i = 0; i < json_array_size(servers); i++) {
        const json_t *s = json_array_get(servers, i);
        n += !is_off(s, name) && cf_mcp_tool_find(json_object_get(s, "tools"), name) != NULL;
    }
    return n;
}

static bool is_taken(const json_t *map, const json_t *servers, const json_t *others, cf_str name)
{
    for (size_t i = 0; i < json_array_size(map); i++) {
        if (cf_str_eq(cf_json_get_str(json_array_get(map, i), "name"), name)) {
            return true;
        }
    }
    return count_name(servers, others, name) > 0;
}

/* Letters, digits, '_' and '-' of a server's name; others become '_'. */
static void put_plain(cf_buf *out, cf_str text)
{
    for (size_t i = 0; i < text.n && i < NAME_SIZE / 2; i++) {
        char c = text.p[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '_' || c == '-';
        cf_buf_addc(out, is_plain ? c : '_');
    }
}

/* The name under which a model calls the tool. */
static void choose_name(cf_buf *out, const json_t *map, const json_t *servers, const json_t *others,
                        cf_str server, cf_str tool)
{
    if (count_name(servers, others, tool) <= 1) {
        cf_buf_add(out, tool.p, tool.n);
        return;
    }
    put_plain(out, server);
    cf_buf_addc(out, '_');
    cf_buf_add(out, tool.p, tool.n);
    size_t n = out->n;
    for (unsigned i = 2; !out->failed && is_taken(map, servers, others, cf_buf_str(out)); i++) {
        out->n = n;
        cf_buf_addf(out, "_%u", i);
    }
}

static json_t *declare(cf_str name, const json_t *tool)
{
    cf_str text = cf_json_get_str(tool, "description");
    return json_pack("{s:s, s:{s:s%, s:s%, s:O}}", "type", "function", "function", "name", name.p,
                     name.n, "description", text.p != NULL ? text.p : "", text.n, "parameters",
                     json_object_get(tool, "inputSchema"));
}

static cf_status add_tool(json_t *declared, json_t *map, const json_t *servers,
                          const json_t *others, size_t index, const json_t *tool, cf_error *err)
{
    const json_t *server = json_array_get(servers, index);
    cf_str raw = cf_json_get_str(tool, "name");
    cf_buf name = CF_BUF_INIT;
    choose_name(&name, map, servers, others, cf_json_get_str(server, "name"), raw);
    bool ok = !name.failed &&
              json_array_append_new(declared, declare(cf_buf_str(&name), tool)) == 0 &&
              json_array_append_new(map, json_pack("{s:s%, s:I, s:s%}", "name", cf_buf_cstr(&name),
                                                   name.n, "server", (json_int_t)index, "tool",
                                                   raw.p, raw.n)) == 0;
    cf_buf_deinit(&name);
    return ok ? CF_OK : cf_oom_for(err, "the tools");
}

cf_status cf_mcp_declare(json_t **declared, json_t **map, const json_t *servers,
                         const json_t *others, cf_error *err)
{
    *declared = json_is_array(others) ? cf_json_copy(others) : json_array();
    *map = json_array();
    cf_status st = *declared != NULL && *map != NULL ? CF_OK : cf_oom_for(err, "the tools");
    for (size_t i = 0; i < json_array_size(servers); i++) {
        const json_t *server = json_array_get(servers, i);
        const json_t *tools = json_object_get(server, "tools");
        for (size_t k = 0; st == CF_OK && k < json_array_size(tools); k++) {
            const json_t *tool = json_array_get(tools, k);
            if (!is_off(server, cf_json_get_str(tool, "name")) && !cf_mcp_tool_needs_task(tool)) {
                st = add_tool(*declared, *map, servers, others, i, tool, err);
            }
        }
    }
    if (st != CF_OK) {
        json_decref(*declared);
        json_decref(*map);
        *declared = *map = NULL;
    }
    return st;
}

/* ---- differences -------------------------------------------------------- */

static bool same_member(const json_t *a, const json_t *b, const char *key)
{
    const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);
    return (x == NULL && y == NULL) || (x != NULL && y != NULL && json_equal(x, y));
}

bool cf_mcp_tool_differs(const json_t *before, const json_t *after)
{
    return !same_member(before, after, "description") || !same_member(before, after, "inputSchema");
}

static void put_change(cf_buf *out, const json_t *before, const json_t *after, const char *key)
{
    if (same_member(before, after, key)) {
        return;
    }
    const json_t *both[] = {json_object_get(before, key), json_object_get(after, key)};
    for (int i = 0; i < 2; i++) {
        if (both[i] != NULL) {
            cf_buf_addf(out, "  %c %s ", "-+"[i], key);
            cf_json_write(out, both[i]);
            cf_buf_addc(out, '\n');
        }
    }
}

static void put_name(cf_buf *out, char mark, const json_t *tool)
{
    cf_str name = cf_json_get_str(tool, "name");
    cf_buf_addf(out, "%c %.*s\n", mark, (int)name.n, name.p);
}

void cf_mcp_tools_diff(cf_buf *out, const json_t *before, const json_t *after)
{
    for (size_t i = 0; i < json_array_size(before); i++) {
        const json_t *tool = json_array_get(before, i);
        if (cf_mcp_tool_find(after, cf_json_get_str(tool, "name")) == NULL) {
            put_name(out, '-', tool);
        }
    }
    for (size_t i = 0; i < json_array_size(after); i++) {
        const json_t *tool = json_array_get(after, i);
        const json_t *was = cf_mcp_tool_find(before, cf_json_get_str(tool, "name"));
        if (was == NULL) {
            put_name(out, '+', tool);
        } else if (cf_mcp_tool_differs(was, tool)) {
            put_name(out, '~', tool);
            put_change(out, was, tool, "description");
            put_change(out, was, tool, "inputSchema");
        }
    }
}
