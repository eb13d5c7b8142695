/*
 * mcp_open.c - starts the tool servers of a command.
 */
#include "tui/cli/talk/mcp_open.h"

#include <string.h>

#include "core/json/json_writer.h"
#include "tui/cli/shell/cli_store.h"
#include "tui/cli/talk/mcp_form.h"
#include "tui/sys/out.h"

enum { SHOWN_MAX = 2000 /* bytes of what a server says */ };

/* ---- what servers say --------------------------------------------------- */

static void show(const char *before, cf_str text)
{
    cf_note_text(before,
                 cf_str_make(text.n > 0 ? text.p : "", text.n < SHOWN_MAX ? text.n : SHOWN_MAX));
    if (text.n > SHOWN_MAX) { /* what is asked about may be in the rest */
        cf_buf more = CF_BUF_INIT;
        cf_buf_addf(&more, "%zu bytes more", text.n - SHOWN_MAX);
        cf_note_text("[cut] ", cf_buf_str(&more));
        cf_buf_deinit(&more);
    }
}

static void show_progress(const cf_mcp_event *ev)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf_addf(&text, "%g", ev->progress);
    if (ev->total >= 0) {
        cf_buf_addf(&text, " of %g", ev->total);
    }
    if (ev->text.n > 0) {
        cf_buf_addf(&text, "  %.*s", (int)(ev->text.n < 400 ? ev->text.n : 400), ev->text.p);
    }
    show("[progress] ", cf_buf_str(&text));
    cf_buf_deinit(&text);
}

static void log_message(const cf_mcp_opened *o, const cf_mcp_event *ev)
{
    cf_buf line = CF_BUF_INIT;
    json_t *v = NULL;
    cf_jw w;
    bool is_step = ev->kind == CF_MCP_STEP;
    if (!is_step && cf_json_read(&v, ev->text.p, ev->text.n, NULL) != CF_OK) {
        return;
    }
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "direction", is_step ? "note" : ev->kind == CF_MCP_SENT ? "out" : "in");
    if (is_step) {
        cf_jw_str(&w, "message", ev->text);
    } else {
        cf_jw_json(&w, "message", v);
    }
    cf_jw_end(&w);
    cf_buf_addc(&line, '\n');
    cf_out(o->log, cf_buf_str(&line), CF_OUT_JSON);
    cf_buf_deinit(&line);
    json_decref(v);
}

static void show_lines(const char *before, const cf_buf *text)
{
    for (size_t at = 0; at < text->n;) {
        size_t n = strcspn(text->p + at, "\n");
        show(before, cf_str_make(text->p + at, n));
        at += n + 1;
    }
}

static void show_changes(const cf_mcp_opened *o, const cf_mcp_event *ev)
{
    cf_buf diff = CF_BUF_INIT;
    cf_mcp_server s = cf_mcp_server_at(cf_tool_links_mcp(o->servers), ev->server);
    if (ev->before != NULL) {
        show("[tools of the server changed] ", s.name);
        cf_mcp_tools_diff(&diff, ev->before, s.tools);
        show_lines("  ", &diff);
    }
    cf_buf_deinit(&diff);
}

static void on_event(void *ud, const cf_mcp_event *ev)
{
    const cf_mcp_opened *o = ud;
    switch (ev->kind) {
    case CF_MCP_SENT:
    case CF_MCP_RECEIVED:
        if (o->log != NULL) {
            log_message(o, ev);
        }
        break;
    case CF_MCP_STEP:
        if (o->log != NULL) {
            log_message(o, ev);
        } else if (o->is_login) {
            show("", ev->text);
        }
        break;
    case CF_MCP_STRAY:
        show("[not a message] ", ev->text);
        break;
    case CF_MCP_NOTE:
        show("[server] ", ev->text);
        break;
    case CF_MCP_PROGRESS:
        show_progress(ev);
        break;
    case CF_MCP_TOOLS:
        show_changes(o, ev);
        break;
    case CF_MCP_STDERR:
    case CF_MCP_STATE:
        break;
    }
}

static void on_ask(void *ud, size_t server, const json_t *params, json_t **answer)
{
    const cf_mcp_opened *o = ud;
    cf_mcp_form(cf_mcp_server_at(cf_tool_links_mcp(o->servers), server).name, params, answer);
}

/* ---- questions ---------------------------------------------------------- */

static bool may_start(const cf_mcp_opened *o, const json_t *config)
{
    cf_buf command = CF_BUF_INIT;
    if (o->is_approved) {
        return true;
    }
    cf_mcp_config_show(&command, config);
    show("start this server?  ", cf_buf_str(&command));
    cf_buf_deinit(&command);
    return cf_cli_is_yes("[y/N] ");
}

/* With --yes nothing asks before a server is started; an address of the file is
 * asked about all the same. */
static cf_status check_address(const cf_mcp_opened *o, const json_t *config, cf_error *err)
{
    const char *url = json_string_value(json_object_get(config, "url"));
    return o->is_approved && url != NULL ? cf_trust_check(&o->cli->trust, o->path, url, err)
                                         : CF_OK;
}

/* ---- sign-ins ----------------------------------------------------------- */

static cf_status may_sign_in(void *ud, size_t server, cf_str issuer, cf_str scopes, cf_error *err)
{
    const cf_mcp_opened *o = ud;
    cf_str name = cf_mcp_server_at(cf_tool_links_mcp(o->servers), server).name;
    cf_buf text = CF_BUF_INIT;
    bool sees = o->is_login || cf_cli_can_ask(o->cli) || !o->no_browser;
    if (!sees || (!o->is_approved && !cf_cli_can_ask(o->cli))) {
        return cf_fail(
            err, CF_EINVAL, "server %.*s requires a sign-in: confab mcp login --server %.*s",
            (int)(name.n < 60 ? name.n : 60), name.p, (int)(name.n < 60 ? name.n : 60), name.p);
    }
    cf_buf_addf(&text, "%.*s at %.*s, scopes: %.*s", (int)name.n, name.p, (int)issuer.n, issuer.p,
                scopes.n > 0 ? (int)scopes.n : 4, scopes.n > 0 ? scopes.p : "none");
    show("[sign in] ", cf_buf_str(&text));
    cf_buf_deinit(&text);
    return o->is_approved || cf_cli_is_yes("sign in there? [y/N] ")
               ? CF_OK
               : cf_fail(err, CF_ECANCELLED, "it was not to be signed in to");
}

static void show_address(void *ud, size_t server, const char *address)
{
    const cf_mcp_opened *o = ud;
    cf_str name = cf_mcp_server_at(cf_tool_links_mcp(o->servers), server).name;
    cf_buf text = CF_BUF_INIT;
    cf_buf_addf(&text, "%.*s: open %s", (int)name.n, name.p, address);
    cf_note_text("[sign in] ", cf_buf_str(&text));
    if (cf_cli_can_ask(o->cli)) {
        show("[sign in] ", cf_str_from("or paste the address at which the browser ended"));
    }
    cf_buf_deinit(&text);
}

static bool must_stop(void *ud)
{
    (void)ud;
    return atomic_load_explicit(cf_cli_cancel(), memory_order_relaxed);
}

/* A tool that is not what it was is shown with the difference, and is kept
 * back where the user does not want it. */
static bool accept(const cf_mcp_opened *o, const cf_mcp_server *s, const json_t *tool,
                   const json_t *before)
{
    cf_buf diff = CF_BUF_INIT;
    json_t *old = json_pack("[O]", before), *now = json_pack("[O]", tool);
    cf_mcp_tools_diff(&diff, old, now);
    json_decref(old);
    json_decref(now);
    show("[changed since it was approved] server ", s->name);
    show_lines("  ", &diff);
    cf_buf_deinit(&diff);
    if (o->is_approved) {
        return true;
    }
    return cf_cli_is_yes("use it as it is now? [y/N] ");
}

/* Whether the tool may be used as it is; remembers it then. */
static bool is_known(cf_mcp_opened *o, const cf_mcp_server *s, const json_t *tool)
{
    json_t *before;
    cf_tool_news news;
    cf_error ignored;
    bool ok =
        cf_approvals_compare(&o->approvals, s->name, tool, &news, &before, &ignored) == CF_OK &&
        (news != CF_TOOL_OTHER || accept(o, s, tool, before));
    if (ok) {
        cf_approvals_remember(&o->approvals, s->name, tool);
    }
    json_decref(before);
    return ok;
}

bool cf_mcp_opened_may_call(cf_mcp_opened *o, size_t server, cf_str tool, const json_t *arguments)
{
    cf_mcp_server s = cf_mcp_server_at(cf_tool_links_mcp(o->servers), server);
    const json_t *known = cf_mcp_tool_find(s.tools, tool);
    if (known != NULL && !is_known(o, &s, known)) {
        return false; /* it changed since it was declared */
    }
    if (o->is_approved || cf_approvals_may_call(&o->approvals, (cf_uuid){{0}}, &s, tool)) {
        return true;
    }
    if (!cf_cli_can_ask(o->cli)) {
        return false;
    }
    cf_buf text = CF_BUF_INIT;
    cf_buf_addf(&text, "%.*s of %.*s ", (int)tool.n, tool.p, (int)s.name.n, s.name.p);
    cf_json_write(&text, arguments);
    show("call ", cf_buf_str(&text));
    cf_buf_deinit(&text);
    return cf_cli_is_yes("[y/N] ");
}

/* ---- opening ------------------------------------------------------------ */

static cf_status add_all(cf_mcp_opened *o, const json_t *list, const char *only, cf_error *err)
{
    size_t n_asked = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *config = json_array_get(list, i);
        size_t index;
        if ((only != NULL && !cf_str_is(cf_json_get_str(config, "name"), only)) ||
            (o->is_login && json_object_get(config, "url") == NULL)) {
            continue;
        }
        n_asked++;
        CF_TRY(check_address(o, config, err));
        if (may_start(o, config)) {
            CF_TRY(cf_mcp_add(cf_tool_links_mcp(o->servers), config, &index, err));
        } else if (json_array_append(o->refused, config) != 0) {
            return cf_oom(err);
        }
    }
    return n_asked > 0 || only == NULL
               ? CF_OK
               : cf_fail(err, CF_ENOTFOUND, "%s: no server '%.80s'", o->path, only);
}

cf_status cf_mcp_open(cf_mcp_opened *o, cf_store *store, const char *only, cf_error *err)
{
    json_t *list = NULL;
    cf_error why;
    if (!o->is_approved && !cf_cli_can_ask(o->cli)) {
        return cf_fail(err, CF_EINVAL,
                       "--mcp starts programs: say --yes where nobody can be "
                       "asked");
    }
    CF_TRY(cf_tool_links_read_file(&list, o->path, &o->cli->trust, err));
    o->store = store;
    o->refused = json_array();
    if (store == NULL && cf_cli_open_store(&o->store, o->cli, CF_STORE_CREATE, &why) == CF_OK) {
        o->owns_store = true;
    }
    cf_approvals_init(&o->approvals, o->store);
    const cf_sign_in_options sign_in = {.no_browser = o->no_browser,
                                        .reads_terminal = cf_cli_can_ask(o->cli),
                                        .may = may_sign_in,
                                        .show = show_address,
                                        .must_stop = must_stop,
                                        .ud = o};
    const cf_tool_links_options options = {.store = o->store,
                                           .start_ms = o->start_s * 1000,
                                           .call_ms = o->call_s * 1000,
                                           .listens = true, /* questions may come on that stream */
                                           .event = on_event,
                                           .ask = cf_cli_can_ask(o->cli) ? on_ask : NULL,
                                           .sign_in = &sign_in,
                                           .ud = o};
    cf_status st = o->refused != NULL ? cf_tool_links_new(&o->servers, &options, err) : cf_oom(err);
    CF_THEN(st, add_all(o, list, only, err));
    CF_THEN(st, cf_mcp_settle(cf_tool_links_mcp(o->servers), cf_cli_cancel(), err));
    json_decref(list);
    return st;
}

void cf_mcp_opened_tell_failed(const cf_mcp_opened *o)
{
    cf_mcp *mcp = cf_tool_links_mcp(o->servers);
    for (size_t i = 0; i < cf_mcp_n(mcp); i++) {
        cf_mcp_server s = cf_mcp_server_at(mcp, i);
        if (s.state == CF_MCP_FAILED) {
            cf_buf text = CF_BUF_INIT;
            cf_buf_addf(&text, "%.*s: %s", (int)s.name.n, s.name.p, s.error);
            show("[server failed] ", cf_buf_str(&text));
            cf_buf_deinit(&text);
        }
    }
}

void cf_mcp_opened_close(cf_mcp_opened *o)
{
    cf_tool_links_free(o->servers);
    cf_approvals_deinit(&o->approvals);
    if (o->owns_store) {
        cf_store_close(o->store);
    }
    json_decref(o->refused);
    json_decref(o->declared);
    json_decref(o->map);
    o->servers = NULL;
    o->store = NULL;
    o->refused = o->declared = o->map = NULL;
}

/* The server as cf_mcp_declare() takes it; tools that changed and were not
 * accepted are off. */
static json_t *offered(cf_mcp_opened *o, const cf_mcp_server *s)
{
    json_t *off = json_array();
    bool ok = off != NULL;
    for (size_t i = 0; ok && i < json_array_size(s->tools); i++) {
        const json_t *tool = json_array_get(s->tools, i);
        if (!is_known(o, s, tool)) {
            ok = json_array_append(off, json_object_get(tool, "name")) == 0;
        }
    }
    return ok ? json_pack("{s:s%, s:O, s:o}", "name", s->name.p, s->name.n, "tools", s->tools,
                          "off", off)
              : NULL;
}

cf_status cf_mcp_opened_declare(cf_mcp_opened *o, const json_t *others, cf_error *err)
{
    json_t *servers = json_array();
    cf_mcp *mcp = cf_tool_links_mcp(o->servers);
    cf_status st = servers != NULL ? CF_OK : cf_oom(err);
    for (size_t i = 0; st == CF_OK && i < cf_mcp_n(mcp); i++) {
        cf_mcp_server s = cf_mcp_server_at(mcp, i);
        json_t *one = s.state == CF_MCP_READY ? offered(o, &s) : json_object();
        st = json_array_append_new(servers, one) == 0 ? CF_OK : cf_oom(err);
    }
    json_decref(o->declared);
    json_decref(o->map);
    o->declared = o->map = NULL;
    CF_THEN(st, cf_mcp_declare(&o->declared, &o->map, servers, others, err));
    json_decref(servers);
    return st;
}

bool cf_mcp_opened_find(const cf_mcp_opened *o, cf_str name, size_t *server, cf_str *tool)
{
    for (size_t i = 0; i < json_array_size(o->map); i++) {
        const json_t *row = json_array_get(o->map, i);
        if (cf_str_eq(cf_json_get_str(row, "name"), name)) {
            *server = (size_t)json_integer_value(json_object_get(row, "server"));
            *tool = cf_json_get_str(row, "tool");
            return true;
        }
    }
    return false;
}

/* ---- calls -------------------------------------------------------------- */

static void show_findings(const json_t *findings)
{
    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *f = json_array_get(findings, i);
        cf_buf text = CF_BUF_INIT;
        cf_str path = cf_json_get_str(f, "path");
        cf_str what = cf_json_get_str(f, "text");
        cf_buf_addf(&text, "%.*s: %.*s", (int)path.n, path.p, (int)what.n, what.p);
        show("[schema] ", cf_buf_str(&text));
        cf_buf_deinit(&text);
    }
}

cf_status cf_mcp_opened_call(cf_mcp_opened *o, size_t server, cf_str tool, const json_t *arguments,
                             json_t **result, cf_error *err)
{
    cf_mcp *mcp = cf_tool_links_mcp(o->servers);
    cf_mcp_result r;
    const cf_mcp_call_options options = {.cancel = cf_cli_cancel()};
    if (cf_mcp_server_at(mcp, server).state == CF_MCP_FAILED) {
        CF_TRY(cf_mcp_restart(mcp, server, err));
        CF_TRY(cf_mcp_settle(mcp, options.cancel, err));
    }
    CF_TRY(cf_mcp_call(mcp, server, tool, arguments, &options, &r, err));
    show_findings(r.findings);
    *result = cf_mcp_result_content(&r);
    if (*result != NULL && (r.is_error || !r.is_sent)) {
        *result = json_pack("{s:o}", "error", *result);
    }
    cf_mcp_result_deinit(&r);
    return *result != NULL ? CF_OK : cf_oom_for(err, "the result");
}
