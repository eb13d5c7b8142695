/*
 * mcp_list.c - what a server lists: its tools, prompts, resources and their
 * templates, page by page.
 *
 * A list is read into s->pages and takes the place of s->tools when it is
 * whole.  Cursors are opaque: an empty one counts, and one that was seen
 * before ends the list, since the same pages would come for ever.
 */
#include "core/mcp/mcp_impl.h"

/* What a server lists, in the order in which it is asked. */
static const struct {
    const char *method, *member;
    const char *capability; /* without it the server is not asked; NULL: always */
    const char *what;
} lists[] = {
    {"tools/list", "tools", NULL, "tools"},
    {"prompts/list", "prompts", "prompts", "prompts"},
    {"resources/list", "resources", "resources", "resources"},
    {"resources/templates/list", "resourceTemplates", "resources", "templates of resources"},
};

enum { N_LISTS = sizeof lists / sizeof lists[0], TOOLS = 0 };

static void ask_page(cf_mcp__server *s, const json_t *cursor)
{
    json_t *params = cursor != NULL ? json_pack("{s:O}", "cursor", cursor) : json_object();
    cf_ignore(cf_mcp__ask(s, CF_MCP__LIST, lists[s->list].method, params, 0,
                          s->mcp->options.start_ms, NULL, NULL));
}

static void fail_memory(cf_mcp__server *s)
{
    cf_error why;
    (void)cf_oom_for(&why, "a list of the server");
    cf_mcp__fail(s, &why, 0);
}

/* Begins to read one list. */
static void begin(cf_mcp__server *s, size_t list)
{
    json_decref(s->pages);
    json_decref(s->cursors);
    s->pages = json_array();
    s->cursors = json_object();
    s->n_pages = 0;
    s->list = list;
    if (s->pages == NULL || s->cursors == NULL) {
        fail_memory(s);
    } else {
        ask_page(s, NULL);
    }
}

void cf_mcp__list(cf_mcp__server *s)
{
    s->is_stale = false;
    begin(s, TOOLS);
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
    static const char *const wanted[][2] = {{"tools", "toolsListChanged"},
                                            {"prompts", "promptsListChanged"},
                                            {"resources", "resourcesListChanged"}};
    const json_t *all = json_object_get(s->about, "capabilities");
    if (!s->mcp->options.listens) {
        return;
    }
    if (s->era == CF_MCP__LEGACY) {
        cf_mcp__http_listen(s);
        return;
    }
    json_t *changes = json_object();
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const json_t *one = json_object_get(all, wanted[i][0]);
        if (json_is_true(json_object_get(one, "listChanged"))) {
            json_object_set_new(changes, wanted[i][1], json_true());
        }
    }
    if (json_object_size(changes) > 0) {
        cf_ignore(cf_mcp__ask(s, CF_MCP__LISTEN, "subscriptions/listen",
                              json_pack("{s:O}", "notifications", changes), 0, 0, NULL, NULL));
    }
    json_decref(changes);
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

static void take_tools(cf_mcp__server *s)
{
    json_t *before = s->tools;
    bool is_first = s->state == CF_MCP_STARTING;
    s->tools = s->pages;
    s->pages = NULL;
    if (!json_equal(before, s->tools)) {
        tell_tools(s, json_array_size(before) > 0 || !is_first ? before : NULL);
    }
    json_decref(before);
}

/* Takes any other list; false for want of memory. */
static bool take_other(cf_mcp__server *s)
{
    s->others = s->others != NULL ? s->others : json_object();
    bool ok = json_object_set_new(s->others, lists[s->list].member, s->pages) == 0;
    s->pages = NULL;
    return ok;
}

/* A list is whole: the next one the server has, or the end of them. */
static void finish(cf_mcp__server *s)
{
    const json_t *capabilities = json_object_get(s->about, "capabilities");
    size_t next = s->list + 1;
    if (s->list == TOOLS) {
        take_tools(s);
    } else if (!take_other(s)) {
        fail_memory(s);
        return;
    }
    while (next < N_LISTS &&
           !json_is_object(json_object_get(capabilities, lists[next].capability))) {
        next++;
    }
    if (next < N_LISTS) {
        begin(s, next);
        return;
    }
    if (s->state == CF_MCP_STARTING) {
        cf_mcp__set_state(s, CF_MCP_READY);
        listen(s);
    } else if (s->list != TOOLS && s->state == CF_MCP_READY) {
        cf_mcp__set_state(s, CF_MCP_READY); /* the other lists are new */
    }
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

/* Adds a page of anything but tools: objects. */
static bool add_others(cf_mcp__server *s, const json_t *page)
{
    for (size_t i = 0; i < json_array_size(page); i++) {
        json_t *one = json_array_get(page, i);
        if (json_array_size(s->pages) >= CF_MCP__TOOLS_MAX) {
            cf_mcp__note(s, "more than %d %s: the rest is left out", CF_MCP__TOOLS_MAX,
                         lists[s->list].what);
            return true;
        }
        if (json_is_object(one) && json_array_append(s->pages, one) != 0) {
            return false;
        }
    }
    return true;
}

/* Adds a page's tools; a tool without a schema takes any object. */
static bool add_tools(cf_mcp__server *s, const json_t *tools)
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
        cf_mcp__note(s, "a cursor of %s came again: the list ends", lists[s->list].method);
        return NULL;
    }
    if (s->n_pages >= CF_MCP__PAGES_MAX) {
        cf_mcp__note(s, "more than %d pages of %s: the rest is left out", CF_MCP__PAGES_MAX,
                     lists[s->list].what);
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
            cf_fail(&text, CF_EFORMAT, "%s: %.200s", lists[s->list].method, cf_buf_cstr(&b));
            cf_buf_deinit(&b);
            why = &text;
        }
        if (s->list != TOOLS) { /* the server works without it */
            if (!has_none) {
                cf_mcp__note(s, "%s", why->text);
            }
            json_array_clear(s->pages);
            finish(s);
        } else if (is_first && has_none) {
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
    if (s->list == TOOLS) {
        keep_time_to_live(s, result);
    }
    const json_t *page = json_object_get(result, lists[s->list].member);
    if (s->list == TOOLS ? !add_tools(s, page) : !add_others(s, page)) {
        fail_memory(s);
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

bool cf_mcp_tool_needs_task(const json_t *tool)
{
    return cf_str_is(cf_json_get_str(json_object_get(tool, "execution"), "taskSupport"),
                     "required");
}
