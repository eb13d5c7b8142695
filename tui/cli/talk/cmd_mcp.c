/*
 * cmd_mcp.c - confab mcp: the tools of MCP servers, a call of one, and the
 * protocol's log of a conversation.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/json/json_writer.h"
#include "templates/open.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/cli/shell/shared_options.h"
#include "tui/cli/talk/mcp_open.h"
#include "tui/lab/tools/tool_cost.h"
#include "tui/sys/out.h"

enum { LOG_STEP = 256, SHOWN_MAX = 100 };

typedef struct mcp {
    cf_cli *cli;
    cf_mcp_opened opened;
    const char *server; /* --server */
    bool shows_log, shows_all;
    cf_tool_cost cost; /* of the declared tools; empty without a model */
    bool has_cost;
    int64_t *instructions; /* tokens, by server; NULL without a model */
} mcp;

static cf_status print(const mcp *m, const cf_buf *out, cf_error *err)
{
    CF_TRY(cf_buf_check(out, err));
    cf_out(stdout, cf_buf_str(out), m->cli->is_json ? CF_OUT_JSON : CF_OUT_TEXT);
    return CF_OK;
}

/* ---- list --------------------------------------------------------------- */

static cf_status measure_instructions(mcp *m, const cf_opened *engine, cf_error *err)
{
    cf_mcp *all = cf_tool_links_mcp(m->opened.servers);
    m->instructions = cf_calloc(cf_mcp_n(all) + 1, sizeof *m->instructions);
    cf_status st = m->instructions != NULL ? CF_OK : cf_oom(err);
    for (size_t i = 0; st == CF_OK && i < cf_mcp_n(all); i++) {
        cf_str text = cf_mcp_server_at(all, i).instructions;
        if (text.n > 0) {
            st = cf_text_cost_measure(&m->instructions[i], engine->backend, &engine->roles, text,
                                      true, err);
        }
    }
    return st;
}

/* The cost of the tools in prompts of -m. */
static cf_status measure(mcp *m, cf_error *err)
{
    cf_opened engine;
    if (m->cli->open.model == NULL) {
        return CF_OK;
    }
    CF_TRY(cf_open_backend(&engine, &m->cli->open, NULL, err));
    cf_status st = cf_tool_cost_measure(&m->cost, engine.backend, &engine.roles, m->opened.declared,
                                        cf_cli_cancel(), err);
    m->has_cost = st == CF_OK;
    CF_THEN(st, measure_instructions(m, &engine, err));
    cf_opened_close(&engine);
    return st;
}

/* Where tool `name` of the server is in the declarations; SIZE_MAX. */
static size_t place_of(const mcp *m, size_t server, cf_str name)
{
    for (size_t i = 0; i < json_array_size(m->opened.map); i++) {
        const json_t *row = json_array_get(m->opened.map, i);
        if (json_integer_value(json_object_get(row, "server")) == (json_int_t)server &&
            cf_str_eq(cf_json_get_str(row, "tool"), name)) {
            return i;
        }
    }
    return SIZE_MAX;
}

static int64_t tokens_of(const mcp *m, size_t server, cf_str name)
{
    size_t i = place_of(m, server, name);
    return m->has_cost && i < m->cost.n ? m->cost.tokens[i] : -1;
}

/* Which tools are not what they were, one bool a tool of a server, in order;
 * asked before they are declared, which remembers them. */
static cf_status find_changes(mcp *m, json_t *out, cf_error *err)
{
    cf_mcp *all = cf_tool_links_mcp(m->opened.servers);
    for (size_t i = 0; i < cf_mcp_n(all); i++) {
        cf_mcp_server s = cf_mcp_server_at(all, i);
        json_t *list = json_array();
        bool ok = json_array_append_new(out, list) == 0;
        for (size_t k = 0; ok && k < json_array_size(s.tools); k++) {
            json_t *before;
            cf_tool_news news;
            CF_TRY(cf_approvals_compare(&m->opened.approvals, s.name, json_array_get(s.tools, k),
                                        &news, &before, err));
            json_decref(before);
            ok = json_array_append_new(list, json_boolean(news == CF_TOOL_OTHER)) == 0;
        }
        if (!ok) {
            return cf_oom(err);
        }
    }
    return CF_OK;
}

static void put_tokens(cf_jw *w, const char *key, int64_t n)
{
    if (n < 0) {
        cf_jw_null(w, key);
    } else {
        cf_jw_int(w, key, n);
    }
}

/* {"issuer", "scopes", "until"}, or null. */
static void json_sign_in(cf_jw *w, const json_t *signed_in)
{
    const json_t *until = json_object_get(signed_in, "until");
    cf_str scope = cf_json_get_str(signed_in, "scope");
    char when[25];
    if (signed_in == NULL) {
        cf_jw_null(w, "signIn");
        return;
    }
    cf_jw_object(w, "signIn");
    cf_jw_str(w, "issuer", cf_json_get_str(signed_in, "issuer"));
    cf_jw_array(w, "scopes");
    for (size_t at = 0; at < scope.n;) {
        const char *end = memchr(scope.p + at, ' ', scope.n - at);
        size_t n = end != NULL ? (size_t)(end - scope.p) - at : scope.n - at;
        cf_jw_str(w, NULL, cf_str_make(scope.p + at, n));
        at += n + 1;
    }
    cf_jw_end(w);
    if (json_is_integer(until)) {
        cf_os_format_time(when, json_integer_value(until));
    }
    cf_jw_text(w, "until", json_is_integer(until) ? when : NULL);
    cf_jw_end(w);
}

static void json_tools(const mcp *m, cf_jw *w, size_t i, const cf_mcp_server *s,
                       const json_t *changes)
{
    cf_jw_array(w, "tools");
    for (size_t k = 0; k < json_array_size(s->tools); k++) {
        const json_t *tool = json_array_get(s->tools, k);
        cf_str name = cf_json_get_str(tool, "name");
        cf_jw_object(w, NULL);
        cf_jw_str(w, "name", name);
        cf_jw_str(w, "description", cf_json_get_str(tool, "description"));
        cf_jw_json(w, "inputSchema", json_object_get(tool, "inputSchema"));
        put_tokens(w, "tokens", tokens_of(m, i, name));
        cf_jw_bool(w, "changed", json_is_true(json_array_get(changes, k)));
        cf_jw_bool(w, "needsTask", cf_mcp_tool_needs_task(tool));
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

/* What the server lists, as it lists it. */
static void json_list(cf_jw *w, const char *key, const json_t *list)
{
    if (list != NULL) {
        cf_jw_json(w, key, list);
    } else {
        cf_jw_array(w, key);
        cf_jw_end(w);
    }
}

static void json_others(const mcp *m, cf_jw *w, size_t i, const cf_mcp_server *s)
{
    json_list(w, "prompts", s->prompts);
    json_list(w, "resources", s->resources);
    json_list(w, "resourceTemplates", s->templates);
    if (s->instructions.n > 0) {
        cf_jw_str(w, "instructions", s->instructions);
    } else {
        cf_jw_null(w, "instructions");
    }
    put_tokens(w, "instructionsTokens",
               s->instructions.n > 0 && m->instructions != NULL ? m->instructions[i] : -1);
}

/* One line of JSON for each server, the refused ones last. */
static void json_server(const mcp *m, cf_buf *out, size_t i, const json_t *changes)
{
    cf_buf line = CF_BUF_INIT;
    cf_mcp_server s = cf_mcp_server_at(cf_tool_links_mcp(m->opened.servers), i);
    int64_t sum = m->has_cost ? 0 : -1;
    cf_jw w;
    for (size_t k = 0; m->has_cost && k < json_array_size(s.tools); k++) {
        int64_t n = tokens_of(m, i, cf_json_get_str(json_array_get(s.tools, k), "name"));
        sum += n > 0 ? n : 0;
    }
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    cf_jw_str(&w, "server", s.name);
    cf_jw_text(&w, "state", cf_mcp_state_name(s.state));
    cf_jw_text(&w, "error", s.error[0] != '\0' ? s.error : NULL);
    cf_jw_text(&w, "protocol", s.protocol[0] != '\0' ? s.protocol : NULL);
    json_tools(m, &w, i, &s, json_array_get(changes, i));
    put_tokens(&w, "tokens", sum);
    json_others(m, &w, i, &s);
    json_sign_in(&w, s.signed_in);
    cf_jw_end(&w);
    cf_cli_put_json(out, &w);
    cf_buf_deinit(&line);
}

static void json_refused(const mcp *m, cf_buf *out, const json_t *config)
{
    const cf_mcp_server nothing = {.error = ""};
    cf_buf line = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    cf_jw_str(&w, "server", cf_json_get_str(config, "name"));
    cf_jw_text(&w, "state", "failed");
    cf_jw_text(&w, "error", "it was not to be started");
    cf_jw_null(&w, "protocol");
    cf_jw_array(&w, "tools");
    cf_jw_end(&w);
    cf_jw_null(&w, "tokens");
    json_others(m, &w, 0, &nothing);
    cf_jw_null(&w, "signIn");
    cf_jw_end(&w);
    cf_cli_put_json(out, &w);
    cf_buf_deinit(&line);
}

/* The first line of a text, or its beginning. */
static void put_start(cf_buf *out, cf_str text)
{
    const char *end = text.n > 0 ? memchr(text.p, '\n', text.n) : NULL;
    size_t n = end != NULL ? (size_t)(end - text.p) : text.n;
    cf_cli_put_line(out, cf_str_make(text.n > 0 ? text.p : "", n < SHOWN_MAX ? n : SHOWN_MAX));
}

static void text_list(cf_buf *out, const char *what, const json_t *list, const char *name,
                      const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const json_t *size = json_object_get(one, "size");
        cf_buf_addf(out, "  %s ", what);
        cf_cli_put_line(out, cf_json_get_str(one, name));
        if (json_is_integer(size)) {
            cf_buf_addf(out, "  %lld bytes", (long long)json_integer_value(size));
        }
        cf_buf_adds(out, "  ");
        put_start(out, cf_json_get_str(one, text));
        cf_buf_addc(out, '\n');
    }
}

static void text_server(const mcp *m, cf_buf *out, size_t i, const json_t *changes)
{
    cf_mcp_server s = cf_mcp_server_at(cf_tool_links_mcp(m->opened.servers), i);
    const json_t *changed = json_array_get(changes, i);
    cf_cli_put_line(out, s.name);
    cf_buf_addf(out, "  %s%s%s", cf_mcp_state_name(s.state),
                s.protocol[0] != '\0' ? "  revision " : "", s.protocol);
    if (s.state == CF_MCP_FAILED) {
        cf_buf_adds(out, ": ");
        cf_cli_put_line(out, cf_str_from(s.error));
    }
    cf_buf_addc(out, '\n');
    for (size_t k = 0; k < json_array_size(s.tools); k++) {
        const json_t *tool = json_array_get(s.tools, k);
        cf_str name = cf_json_get_str(tool, "name");
        cf_str text = cf_json_get_str(tool, "description");
        int64_t n = tokens_of(m, i, name);
        cf_buf_adds(out, "  ");
        cf_cli_put_line(out, name);
        if (n >= 0) {
            cf_buf_addf(out, "  %lld tokens", (long long)n);
        }
        cf_buf_adds(out, cf_mcp_tool_needs_task(tool) ? "  TASKS ONLY" : "");
        cf_buf_adds(out, json_is_true(json_array_get(changed, k)) ? "  CHANGED  " : "  ");
        put_start(out, text);
        cf_buf_addc(out, '\n');
    }
    text_list(out, "prompt", s.prompts, "name", "description");
    text_list(out, "resource", s.resources, "uri", "name");
    text_list(out, "resources", s.templates, "uriTemplate", "name");
    if (s.instructions.n > 0) {
        cf_buf_adds(out, "  instructions  ");
        if (m->instructions != NULL) {
            cf_buf_addf(out, "%lld tokens  ", (long long)m->instructions[i]);
        }
        put_start(out, s.instructions);
        cf_buf_addc(out, '\n');
    }
}

static cf_status list(mcp *m, cf_error *err)
{
    cf_buf out = CF_BUF_INIT;
    json_t *changes = json_array();
    cf_status st = cf_mcp_open(&m->opened, NULL, m->server, err);
    CF_THEN(st, find_changes(m, changes, err));
    CF_THEN(st, cf_mcp_opened_declare(&m->opened, NULL, err));
    CF_THEN(st, measure(m, err));
    size_t n = st == CF_OK ? cf_mcp_n(cf_tool_links_mcp(m->opened.servers)) : 0;
    for (size_t i = 0; i < n; i++) {
        if (m->cli->is_json) {
            json_server(m, &out, i, changes);
        } else {
            text_server(m, &out, i, changes);
        }
    }
    for (size_t i = 0; st == CF_OK && i < json_array_size(m->opened.refused); i++) {
        const json_t *config = json_array_get(m->opened.refused, i);
        if (m->cli->is_json) {
            json_refused(m, &out, config);
        } else {
            cf_cli_put_line(&out, cf_json_get_str(config, "name"));
            cf_buf_adds(&out, "  not started\n");
        }
    }
    CF_THEN(st, print(m, &out, err));
    json_decref(changes);
    cf_buf_deinit(&out);
    return st;
}

/* ---- call --------------------------------------------------------------- */

static cf_status failed_server(const cf_mcp *all, size_t i, cf_error *err)
{
    cf_mcp_server s = cf_mcp_server_at(all, i);
    return cf_fail(err, s.error_code == CF_EINVAL ? CF_EINVAL : CF_EIO, "server %.*s: %.160s",
                   (int)(s.name.n < 60 ? s.name.n : 60), s.name.p, s.error);
}

/* The server that has the tool, by the tool's own name or the declared one. */
static cf_status find_tool(const mcp *m, cf_str name, size_t *server, cf_str *tool, cf_error *err)
{
    cf_mcp *all = cf_tool_links_mcp(m->opened.servers);
    size_t n_found = 0, n_ready = 0;
    for (size_t i = 0; i < cf_mcp_n(all); i++) {
        cf_mcp_server s = cf_mcp_server_at(all, i);
        n_ready += s.state == CF_MCP_READY;
        if (cf_mcp_tool_find(s.tools, name) != NULL) {
            *server = i;
            *tool = name;
            n_found++;
        }
    }
    if (n_found == 1) {
        return CF_OK;
    }
    if (n_found > 1) {
        return cf_fail(err, CF_EINVAL, "%zu servers have a tool %.*s; say which with --server",
                       n_found, (int)(name.n < 80 ? name.n : 80), name.p);
    }
    if (cf_mcp_opened_find(&m->opened, name, server, tool)) {
        return CF_OK;
    }
    if (n_ready == 0 && cf_mcp_n(all) > 0) {
        return failed_server(all, 0, err);
    }
    return cf_fail(err, CF_ENOTFOUND, "no server has a tool %.*s", (int)(name.n < 80 ? name.n : 80),
                   name.p);
}

static void json_result(cf_buf *out, const cf_mcp_result *r)
{
    cf_buf line = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    cf_jw_json(&w, "content", r->content);
    if (r->structured != NULL) {
        cf_jw_json(&w, "structuredContent", r->structured);
    } else {
        cf_jw_null(&w, "structuredContent");
    }
    cf_jw_bool(&w, "isError", r->is_error);
    cf_jw_json(&w, "findings", r->findings);
    cf_jw_bool(&w, "sent", r->is_sent);
    cf_jw_format(&w, "seconds", "%.3f", (double)r->duration_us / 1e6);
    cf_jw_end(&w);
    cf_cli_put_json(out, &w);
    cf_buf_deinit(&line);
}

static void text_result(cf_buf *out, const cf_mcp_result *r)
{
    cf_mcp_result_text(r, out);
    cf_buf_addc(out, '\n');
    for (size_t i = 0; i < json_array_size(r->findings); i++) {
        const json_t *f = json_array_get(r->findings, i);
        cf_str path = cf_json_get_str(f, "path");
        cf_str what = cf_json_get_str(f, "text");
        cf_note("%.*s: %.*s", (int)path.n, path.p, (int)what.n, what.p);
    }
}

static cf_status call(mcp *m, const char *name, const char *text, int *status, cf_error *err)
{
    json_t *arguments = NULL;
    cf_mcp_result r = {.is_sent = false};
    cf_buf out = CF_BUF_INIT;
    size_t server = 0;
    cf_str tool;
    cf_error why;
    if (cf_json_read(&arguments, text, strlen(text), &why) != CF_OK) {
        return cf_fail(err, CF_EINVAL, "ARGUMENTS are not JSON: %.180s", why.text);
    }
    m->opened.log = m->shows_log ? stdout : NULL;
    cf_status st = cf_mcp_open(&m->opened, NULL, m->server, err);
    CF_THEN(st, cf_mcp_opened_declare(&m->opened, NULL, err));
    CF_THEN(st, find_tool(m, cf_str_from(name), &server, &tool, err));
    if (st == CF_OK && !cf_mcp_opened_may_call(&m->opened, server, tool, arguments)) {
        st = cf_fail(err, CF_EINVAL, "the call was not approved");
    }
    const cf_mcp_call_options o = {.cancel = cf_cli_cancel()};
    CF_THEN(st, cf_mcp_call(cf_tool_links_mcp(m->opened.servers), server, tool, arguments, &o, &r,
                            err));
    if (st == CF_OK) {
        *status = r.is_error || r.is_bad || !r.is_sent ? CF_EXIT_FINDING : CF_EXIT_OK;
        if (m->cli->is_json) {
            json_result(&out, &r);
        } else {
            text_result(&out, &r);
        }
        st = print(m, &out, err);
    }
    cf_mcp_result_deinit(&r);
    cf_buf_deinit(&out);
    json_decref(arguments);
    return st;
}

/* ---- read and prompt ---------------------------------------------------- */

/* The server whose list has the value; where none lists it, the only one that
 * is ready: a template may have made the address. */
static cf_status find_lister(const mcp *m, bool is_prompt, cf_str value, size_t *server,
                             cf_error *err)
{
    cf_mcp *all = cf_tool_links_mcp(m->opened.servers);
    size_t n_found = 0, n_ready = 0, ready = 0;
    for (size_t i = 0; i < cf_mcp_n(all); i++) {
        cf_mcp_server s = cf_mcp_server_at(all, i);
        const json_t *list = is_prompt ? s.prompts : s.resources;
        ready = s.state == CF_MCP_READY ? i : ready;
        n_ready += s.state == CF_MCP_READY;
        for (size_t k = 0; k < json_array_size(list); k++) {
            if (cf_str_eq(cf_json_get_str(json_array_get(list, k), is_prompt ? "name" : "uri"),
                          value)) {
                *server = i;
                n_found++;
                break;
            }
        }
    }
    if (n_found == 0 && n_ready == 1) {
        *server = ready;
        n_found = 1;
    }
    if (n_ready == 0 && cf_mcp_n(all) > 0) {
        return failed_server(all, 0, err);
    }
    return n_found == 1 ? CF_OK
           : n_found > 1
               ? cf_fail(err, CF_EINVAL, "%zu servers list it; say which with --server", n_found)
               : cf_fail(err, CF_ENOTFOUND, "no server lists %.*s",
                         (int)(value.n < 80 ? value.n : 80), value.p);
}

/* The content of a block, or of a resource, as text. */
static void put_block(cf_buf *out, const json_t *block)
{
    const cf_mcp_result r = {.is_sent = true, .content = json_pack("[O]", block)};
    cf_mcp_result_text(&r, out);
    json_decref(r.content);
}

static void put_contents(cf_buf *out, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        cf_str text = cf_json_get_str(one, "text");
        if (json_is_string(json_object_get(one, "text"))) {
            cf_buf_add(out, text.p, text.n);
        } else {
            json_t *block = json_pack("{s:s, s:O}", "type", "resource", "resource", one);
            put_block(out, block);
            json_decref(block);
        }
        cf_buf_addc(out, '\n');
    }
}

static void put_messages(cf_buf *out, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        cf_str role = cf_json_get_str(one, "role");
        cf_buf_add(out, role.n > 0 ? role.p : "", role.n);
        cf_buf_adds(out, ": ");
        put_block(out, json_object_get(one, "content"));
        cf_buf_addc(out, '\n');
    }
}

/* The tokens of the text in prompts of -m; -1 without a model. */
static cf_status count_text(const mcp *m, cf_str text, int64_t *out, cf_error *err)
{
    cf_opened engine;
    *out = -1;
    if (m->cli->open.model == NULL) {
        return CF_OK;
    }
    CF_TRY(cf_open_backend(&engine, &m->cli->open, NULL, err));
    cf_status st = cf_text_cost_measure(out, engine.backend, &engine.roles, text, false, err);
    cf_opened_close(&engine);
    return st;
}

static cf_status show_got(const mcp *m, const json_t *got, bool is_prompt, cf_error *err)
{
    cf_buf text = CF_BUF_INIT, out = CF_BUF_INIT;
    int64_t tokens = -1;
    const char *key;
    json_t *v;
    cf_jw w;
    if (is_prompt) {
        put_messages(&text, json_object_get(got, "messages"));
    } else {
        put_contents(&text, json_object_get(got, "contents"));
    }
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, count_text(m, cf_buf_str(&text), &tokens, err));
    if (st == CF_OK && m->cli->is_json) {
        cf_buf line = CF_BUF_INIT;
        cf_jw_init(&w, &line);
        cf_jw_object(&w, NULL);
        json_object_foreach(cf_json_ref(got), key, v)
        {
            cf_jw_json(&w, key, v);
        }
        put_tokens(&w, "tokens", tokens);
        cf_jw_end(&w);
        cf_cli_put_json(&out, &w);
        cf_buf_deinit(&line);
    } else if (st == CF_OK) {
        cf_buf_add(&out, cf_buf_cstr(&text), text.n);
        if (tokens >= 0) {
            cf_note("%lld tokens", (long long)tokens);
        }
    }
    CF_THEN(st, print(m, &out, err));
    cf_buf_deinit(&text);
    cf_buf_deinit(&out);
    return st;
}

/* mcp read URI, or with `arguments` mcp prompt NAME. */
static cf_status get(mcp *m, cf_str name, const char *arguments, cf_error *err)
{
    const cf_mcp_call_options o = {.cancel = cf_cli_cancel()};
    json_t *given = NULL, *got = NULL;
    size_t server = 0;
    cf_error why;
    if (arguments != NULL && (cf_json_read(&given, arguments, strlen(arguments), &why) != CF_OK ||
                              !json_is_object(given))) {
        json_decref(given);
        return cf_fail(err, CF_EINVAL, "ARGUMENTS are not an object of JSON");
    }
    m->opened.log = m->shows_log ? stdout : NULL;
    cf_status st = cf_mcp_open(&m->opened, NULL, m->server, err);
    CF_THEN(st, find_lister(m, arguments != NULL, name, &server, err));
    if (st == CF_OK) {
        cf_mcp *all = cf_tool_links_mcp(m->opened.servers);
        st = arguments != NULL ? cf_mcp_get_prompt(all, server, name, given, &o, &got, err)
                               : cf_mcp_read_resource(all, server, name, &o, &got, err);
    }
    CF_THEN(st, show_got(m, got, arguments != NULL, err));
    json_decref(given);
    json_decref(got);
    return st;
}

/* ---- login and logout --------------------------------------------------- */

static void put_login(const mcp *m, cf_buf *out, const cf_mcp_server *s)
{
    cf_str issuer = cf_json_get_str(s->signed_in, "issuer");
    cf_str scope = cf_json_get_str(s->signed_in, "scope");
    cf_buf line = CF_BUF_INIT;
    cf_jw w;
    if (m->cli->is_json) {
        cf_jw_init(&w, &line);
        cf_jw_object(&w, NULL);
        cf_jw_str(&w, "server", s->name);
        cf_jw_text(&w, "state", cf_mcp_state_name(s->state));
        cf_jw_text(&w, "error", s->error[0] != '\0' ? s->error : NULL);
        json_sign_in(&w, s->signed_in);
        cf_jw_end(&w);
        cf_cli_put_json(out, &w);
    } else {
        cf_cli_put_line(out, s->name);
        if (s->state == CF_MCP_FAILED) {
            cf_buf_adds(out, "  failed: ");
            cf_cli_put_line(out, cf_str_from(s->error));
        } else if (s->signed_in == NULL) {
            cf_buf_adds(out, "  wants no sign-in");
        } else {
            cf_buf_adds(out, "  signed in at ");
            cf_cli_put_line(out, issuer);
            cf_buf_adds(out, scope.n > 0 ? ", scopes: " : "");
            cf_cli_put_line(out, scope.n > 0 ? scope : cf_str_from(""));
        }
        cf_buf_addc(out, '\n');
    }
    cf_buf_deinit(&line);
}

static cf_status login(mcp *m, cf_error *err)
{
    cf_buf out = CF_BUF_INIT;
    cf_status first = CF_OK;
    m->opened.is_login = m->opened.is_approved = true;
    cf_status st = cf_mcp_open(&m->opened, NULL, m->server, err);
    size_t n = st == CF_OK ? cf_mcp_n(cf_tool_links_mcp(m->opened.servers)) : 0;
    if (st == CF_OK && n == 0) {
        st = cf_fail(err, CF_EINVAL, "%s: no server in it has a \"url\"", m->opened.path);
    }
    for (size_t i = 0; i < n; i++) {
        cf_mcp_server s = cf_mcp_server_at(cf_tool_links_mcp(m->opened.servers), i);
        put_login(m, &out, &s);
        if (s.state == CF_MCP_FAILED && first == CF_OK) {
            first = cf_fail(err, s.error_code, "server %.*s: %.160s",
                            (int)(s.name.n < 60 ? s.name.n : 60), s.name.p, s.error);
        }
    }
    if (st == CF_OK) {
        cf_error why;
        st = print(m, &out, &why);
        if (st != CF_OK) {
            *err = why;
        }
    }
    cf_buf_deinit(&out);
    return st != CF_OK ? st : first;
}

static void put_logout(const mcp *m, cf_buf *out, cf_str name, bool was)
{
    cf_buf line = CF_BUF_INIT;
    cf_jw w;
    if (m->cli->is_json) {
        cf_jw_init(&w, &line);
        cf_jw_object(&w, NULL);
        cf_jw_str(&w, "server", name);
        cf_jw_bool(&w, "signedOut", was);
        cf_jw_end(&w);
        cf_cli_put_json(out, &w);
    } else {
        cf_cli_put_line(out, name);
        cf_buf_adds(out, was ? "  signed out\n" : "  was not signed in\n");
    }
    cf_buf_deinit(&line);
}

static cf_status logout(mcp *m, cf_error *err)
{
    cf_buf out = CF_BUF_INIT;
    cf_token_file file = {NULL, NULL, NULL};
    json_t *list = NULL;
    size_t n_named = 0;
    cf_status st = cf_tool_links_read_file(&list, m->opened.path, &m->opened.cli->trust, err);
    CF_THEN(st, cf_token_file_init(&file, err));
    for (size_t i = 0; st == CF_OK && i < json_array_size(list); i++) {
        const json_t *config = json_array_get(list, i);
        cf_str name = cf_json_get_str(config, "name"), url = cf_json_get_str(config, "url");
        bool was = false;
        if (m->server != NULL && !cf_str_is(name, m->server)) {
            continue;
        }
        n_named++;
        if (url.n > 0) {
            st = cf_token_file_forget(&file, url, &was, err);
            put_logout(m, &out, name, was);
        }
    }
    if (st == CF_OK && n_named == 0 && m->server != NULL) {
        st = cf_fail(err, CF_ENOTFOUND, "%s: no server '%.80s'", m->opened.path, m->server);
    }
    CF_THEN(st, print(m, &out, err));
    cf_token_file_deinit(&file);
    json_decref(list);
    cf_buf_deinit(&out);
    return st;
}

/* ---- log ---------------------------------------------------------------- */

static bool is_message(const cf_store_mcp *m)
{
    return cf_str_is(m->direction, "out") || cf_str_is(m->direction, "in");
}

static void put_log_line(const mcp *m, cf_buf *out, const cf_store_mcp *l)
{
    char when[25];
    json_t *v = NULL;
    cf_os_format_time(when, l->at_ms);
    if (!m->cli->is_json) {
        cf_buf_addf(out, "%s  ", when);
        cf_cli_put_line(out, l->server);
        cf_buf_addf(out, "  %-6.*s  ", (int)l->direction.n, l->direction.p);
        cf_cli_put_line(out, l->message);
        cf_buf_addc(out, '\n');
        return;
    }
    /* Another error than for memory means that it is text. */
    if (is_message(l) && cf_json_read(&v, l->message.p, l->message.n, NULL) == CF_ENOMEM) {
        out->failed = true;
        return;
    }
    cf_buf line = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    cf_jw_str(&w, "direction", l->direction);
    if (v != NULL) {
        cf_jw_json(&w, "message", v);
    } else {
        cf_jw_str(&w, "message", l->message);
    }
    cf_jw_str(&w, "server", l->server);
    cf_jw_text(&w, "time", when);
    put_tokens(&w, "call", l->call);
    cf_jw_end(&w);
    cf_cli_put_json(out, &w);
    cf_buf_deinit(&line);
    json_decref(v);
}

static cf_status show_log(mcp *m, const char *name, cf_error *err)
{
    cf_store *store;
    cf_store_ref ref;
    size_t n = LOG_STEP;
    CF_TRY(cf_cli_open_store(&store, m->cli, CF_STORE_READ_ONLY, err));
    cf_status st = cf_store_find(store, cf_str_from(name), &ref, err);
    for (int64_t from = 0; st == CF_OK && n == LOG_STEP; from += LOG_STEP) {
        cf_arena arena;
        const cf_store_mcp *v;
        cf_buf out = CF_BUF_INIT;
        cf_arena_init(&arena, 0);
        st = cf_store_get_mcp(store, ref.conversation, from, LOG_STEP, &arena, &v, &n, err);
        for (size_t i = 0; st == CF_OK && i < n; i++) {
            if (m->shows_all || is_message(&v[i])) {
                put_log_line(m, &out, &v[i]);
            }
        }
        CF_THEN(st, print(m, &out, err));
        cf_buf_deinit(&out);
        cf_arena_deinit(&arena);
    }
    cf_store_close(store);
    return st;
}

/* ---- the command -------------------------------------------------------- */

static const cf_opt_row options[] = {
    {"--mcp", 0, CF_OPT_STR, offsetof(mcp, opened.path), "FILE",
     "file with the servers, as \"mcpServers\" in JSON", 0},
    CF_ROW_YES(offsetof(mcp, opened.is_approved)),
    {"--server", 0, CF_OPT_STR, offsetof(mcp, server), "NAME", "use only this server of the file",
     0},
    {"--tool-timeout", 0, CF_OPT_U32, offsetof(mcp, opened.call_s), "SECONDS",
     "time limit for a call (default: 60)", 0},
    {"--start-timeout", 0, CF_OPT_U32, offsetof(mcp, opened.start_s), "SECONDS",
     "time limit for each answer while a server starts (default: 30)", 0},
    CF_ROW_NO_BROWSER(offsetof(mcp, opened.no_browser)),
    {"--log", 0, CF_OPT_FLAG, offsetof(mcp, shows_log), NULL,
     "call, read, prompt: print all protocol messages before the result, as mcp log does", 0},
    {"--all", 0, CF_OPT_FLAG, offsetof(mcp, shows_all), NULL,
     "log: include what servers wrote outside the protocol", 0},
    CF_OPT_ROWS_END,
};

static int run_mcp(cf_cli *cli, void *state)
{
    mcp *m = state;
    m->cli = cli;
    m->opened.cli = cli;
    int n = cli->n_args, status = CF_EXIT_OK;
    const char *what = n > 0 ? cli->args[0] : "";
    bool is_list = strcmp(what, "list") == 0 && n == 1;
    bool is_call = strcmp(what, "call") == 0 && (n == 2 || n == 3);
    bool is_read = strcmp(what, "read") == 0 && n == 2;
    bool is_prompt = strcmp(what, "prompt") == 0 && (n == 2 || n == 3);
    bool is_login = strcmp(what, "login") == 0 && n == 1;
    bool is_logout = strcmp(what, "logout") == 0 && n == 1;
    bool is_log = strcmp(what, "log") == 0 && n == 2;
    if (!is_list && !is_call && !is_read && !is_prompt && !is_login && !is_logout && !is_log) {
        return cf_cli_usage(
            cli,
            "takes list, call TOOL [ARGUMENTS], read URI, prompt NAME [ARGUMENTS], login, logout "
            "or log CONVERSATION");
    }
    if (!is_log && m->opened.path == NULL) {
        return cf_cli_usage(cli, "needs --mcp FILE, which lists the servers");
    }
    cf_error err;
    cf_status st = is_list   ? list(m, &err)
                   : is_call ? call(m, cli->args[1], n == 3 ? cli->args[2] : "{}", &status, &err)
                   : is_read ? get(m, cf_str_from(cli->args[1]), NULL, &err)
                   : is_prompt
                       ? get(m, cf_str_from(cli->args[1]), n == 3 ? cli->args[2] : "{}", &err)
                   : is_login  ? login(m, &err)
                   : is_logout ? logout(m, &err)
                               : show_log(m, cli->args[1], &err);
    cf_mcp_opened_close(&m->opened);
    cf_tool_cost_deinit(&m->cost);
    cf_free(m->instructions);
    return st == CF_OK ? status : cf_cli_fail(cli, &err);
}

const cf_cli_command cf_cmd_mcp = {
    .name = "mcp",
    .arguments = "list|call TOOL [ARGUMENTS]|read URI|prompt NAME [ARGUMENTS]|login|logout|log "
                 "CONVERSATION",
    .summary = "use the tools, resources and prompts of MCP servers, sign in, show the log",
    .options = options,
    .state_bytes = sizeof(mcp),
    .n_max = CF_ARGS_ANY,
    .run = run_mcp,
};
