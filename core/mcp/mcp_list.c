/*
 * mcp_list.c - a server's list of tools, page by page.
 *
 * A list is read into s->pages and takes the place of s->tools when it is
 * whole.  Cursors are opaque: an empty one counts, and one that was seen
 * before ends the list, since the same pages would come for ever.
 */
#include "core/mcp/mcp_impl.h"

static void ask_page(cf_mcp__server *s, const json_t *cursor)
{
    json_t *params = cursor != NULL ? json_pack("{s:O}", "cursor", cursor) : json_object();
    cf_ignore(cf_mcp__ask(s, CF_MCP__LIST, "tools/list", params, 0, s->mcp->options.start_ms, NULL,
                          NULL));
}

void cf_mcp__list(cf_mcp__server *s)
{
    cf_error why;
    json_decref(s->pages);
    json_decref(s->cursors);
    s->pages = json_array();
    s->cursors = json_object();
    s->n_pages = 0;
    s->is_stale = false;
    if (s->pages == NULL || s->cursors == NULL) {
        (void)cf_oom_for(&why, "a list of tools");
        cf_mcp__fail(s, &why, 0);
        return;
    }
    ask_page(s, NULL);
}

void cf_mcp__list_changed(cf_mcp__server *s)
{
    if (s->pages != NULL) {
        s->is_stale = true;
    } else if (s->state == CF_MCP_READY) {
        cf_mcp__list(s);
    } /* else: it has not been read yet */
}

/* Opens the stream of changes. */
static void listen(cf_mcp__server *s)
{
    const json_t *tools = json_object_get(json_object_get(s->about, "capabilities"), "tools");
    bool changes = json_is_true(json_object_get(tools, "listChanged"));
    if (!s->mcp->options.listens) {
        return;
    }
    if (s->era == CF_MCP__LEGACY) {
        cf_mcp__http_listen(s);
    } else if (changes) {
        cf_ignore(cf_mcp__ask(s, CF_MCP__LISTEN, "subscriptions/listen",
                              json_pack("{s:{s:b}}", "notifications", "toolsListChanged", 1), 0, 0,
                              NULL, NULL));
    }
}

static void tell_tools(cf_mcp__server *s, const json_t *before)
{
    const cf_mcp_options *o = &s->mcp->options;
    if (o->event != NULL) {
        const cf_mcp_event ev = {
            .kind = CF_MCP_TOOLS, .server = s->index, .total = -1, .before = before};
        o->event(o->ud, &ev);
    }
}

static void finish(cf_mcp__server *s)
{
    json_t *before = s->tools;
    bool is_first = s->state == CF_MCP_STARTING;
    s->tools = s->pages;
    s->pages = NULL;
    if (is_first) {
        cf_mcp__set_state(s, CF_MCP_READY);
        listen(s);
    }
    if (!json_equal(before, s->tools)) {
        tell_tools(s, json_array_size(before) > 0 || !is_first ? before : NULL);
    }
    json_decref(before);
    if (s->is_stale && s->state == CF_MCP_READY) {
        cf_mcp__list(s);
    }
}

/* Whether the tool can be used; notes why not. */
static bool is_good(cf_mcp__server *s, const json_t *tool)
{
    cf_str name = cf_json_get_str(tool, "name");
    const json_t *schema = json_object_get(tool, "inputSchema");
    cf_buf why = CF_BUF_INIT;
    bool ok = true;
    if (name.n == 0 || name.n > 256 || memchr(name.p, '\0', name.n) != NULL) {
        cf_mcp__note(s, "a tool without a usable name is left out");
        return false;
    }
    if (cf_mcp_tool_find(s->pages, name) != NULL) {
        cf_mcp__note(s, "tool %.*s comes twice: the first one counts", (int)name.n, name.p);
        return false;
    }
    if (schema != NULL && !json_is_null(schema) && !json_is_object(schema)) {
        cf_mcp__note(s,
                     "tool %.*s is left out: its inputSchema is not an "
                     "object",
                     (int)name.n, name.p);
        return false;
    }
    if (s->transport == &cf_mcp__http && s->era == CF_MCP__MODERN &&
        !cf_mcp__param_headers(schema, NULL, NULL, NULL, &why)) {
        cf_mcp__note(s, "tool %.*s is left out: %s", (int)name.n, name.p, cf_buf_cstr(&why));
        ok = false;
    }
    cf_buf_deinit(&why);
    return ok;
}

/* Adds a page's tools; a tool without a schema takes any object. */
static bool add_page(cf_mcp__server *s, const json_t *tools)
{
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i);
        if (!is_good(s, tool)) {
            continue;
        }
        json_t *copy = cf_json_copy(tool);
        if (!json_is_object(json_object_get(copy, "inputSchema"))) {
            json_object_set_new(copy, "inputSchema", json_pack("{s:s}", "type", "object"));
        }
        if (json_array_append_new(s->pages, copy) != 0) {
            return false;
        }
        if (json_array_size(s->pages) >= CF_MCP__TOOLS_MAX) {
            cf_mcp__note(s, "more than %d tools: the rest is left out", CF_MCP__TOOLS_MAX);
            return true;
        }
    }
    return true;
}

/* How long the server promises that the page will not change. */
static void keep_time_to_live(cf_mcp__server *s, const json_t *result)
{
    const json_t *v = json_object_get(result, "ttlMs");
    double ms = json_is_number(v) ? json_number_value(v) : 0;
    if (ms <= 0) {
        s->fresh_until_us = 0;
        return;
    }
    ms = ms < 3.15e10 ? ms : 3.15e10; /* a year */
    uint64_t until = cf_mcp__now() + (uint64_t)(ms * 1000);
    if (s->n_pages == 1 || until < s->fresh_until_us) {
        s->fresh_until_us = until;
    }
}

/* The cursor of the next page; NULL at the end. */
static const json_t *next_cursor(cf_mcp__server *s, const json_t *result)
{
    const json_t *cursor = json_object_get(result, "nextCursor");
    if (!json_is_string(cursor) || json_array_size(s->pages) >= CF_MCP__TOOLS_MAX) {
        return NULL;
    }
    const char *key = json_string_value(cursor);
    if (json_object_get(s->cursors, key) != NULL) {
        cf_mcp__note(s, "a cursor of tools/list came again: the list ends");
        return NULL;
    }
    if (s->n_pages >= CF_MCP__PAGES_MAX) {
        cf_mcp__note(s, "more than %d pages of tools: the rest is left out", CF_MCP__PAGES_MAX);
        return NULL;
    }
    return json_object_set_new(s->cursors, key, json_true()) == 0 ? cursor : NULL;
}

void cf_mcp__on_list(cf_mcp__server *s, const json_t *answer, const cf_error *why)
{
    const json_t *error = cf_mcp__error_of(answer);
    const json_t *result = json_object_get(answer, "result");
    bool is_first = s->state == CF_MCP_STARTING;
    cf_error text;
    if (answer == NULL || error != NULL) {
        bool has_none = json_integer_value(json_object_get(error, "code")) == CF_MCP__NO_METHOD;
        if (error != NULL) {
            cf_buf b = CF_BUF_INIT;
            cf_mcp__error_text(&b, error);
            cf_fail(&text, CF_EFORMAT, "tools/list: %.200s", cf_buf_cstr(&b));
            cf_buf_deinit(&b);
            why = &text;
        }
        if (is_first && has_none) {
            finish(s); /* it has no tools */
        } else if (is_first) {
            cf_mcp__fail(s, why, s->mcp->options.grace_ms);
        } else { /* the old list stays */
            json_decref(s->pages);
            s->pages = NULL;
            cf_mcp__note(s, "%s", why->text);
        }
        return;
    }
    s->n_pages++;
    keep_time_to_live(s, result);
    if (!add_page(s, json_object_get(result, "tools"))) {
        (void)cf_oom_for(&text, "a list of tools");
        cf_mcp__fail(s, &text, 0);
        return;
    }
    const json_t *cursor = next_cursor(s, result);
    if (cursor != NULL) {
        ask_page(s, cursor);
    } else {
        finish(s);
    }
}

const json_t *cf_mcp_tool_find(const json_t *tools, cf_str name)
{
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i);
        if (cf_str_eq(cf_json_get_str(tool, "name"), name)) {
            return tool;
        }
    }
    return NULL;
}
