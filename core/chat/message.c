/*
 * message.c - what a message says and calls, names of roles and statuses, and
 * roles by a template's names.
 */
#include "core/api/message.h"

#include <stdio.h>
#include <string.h>

#include "core/api/conversation.h"

/* ---- content and calls -------------------------------------------------- */

static cf_str text_of(const json_t *v)
{
    return json_is_string(v) ? cf_str_make(json_string_value(v), json_string_length(v))
                             : cf_json_get_str(v, "text");
}

void cf_message_text(cf_buf *out, const json_t *message, const char *between)
{
    const json_t *content = json_object_get(message, "content");
    const size_t before = out->n;
    cf_str text = text_of(content);
    cf_buf_add(out, text.p, text.n);
    for (size_t i = 0; i < json_array_size(content); i++) {
        text = text_of(json_array_get(content, i));
        cf_buf_adds(out, text.n != 0 && out->n != before ? between : "");
        cf_buf_add(out, text.p, text.n);
    }
}

bool cf_message_call_at(cf_message_call *out, const json_t *message, size_t i)
{
    const json_t *call = json_array_get(json_object_get(message, "tool_calls"), i);
    const json_t *function = json_object_get(call, "function");
    function = json_is_object(function) ? function : call;
    *out = (cf_message_call){.call = call,
                             .id = cf_json_get_str(call, "id"),
                             .name = cf_json_get_str(function, "name"),
                             .arguments = json_object_get(function, "arguments")};
    return call != NULL;
}

void cf_message_put_arguments(cf_buf *out, const cf_message_call *call, const char *none)
{
    if (json_is_string(call->arguments)) {
        cf_buf_add(out, json_string_value(call->arguments), json_string_length(call->arguments));
    } else if (call->arguments != NULL) {
        cf_json_write(out, call->arguments);
    } else {
        cf_buf_adds(out, none);
    }
}

/* ---- statuses and roles ------------------------------------------------- */

static const char *const status_names[] = {
    [CF_TURN_STREAMING] = "streaming",     [CF_TURN_OK] = "ok",
    [CF_TURN_STOPPED] = "stopped",         [CF_TURN_ERROR] = "error",
    [CF_TURN_INTERRUPTED] = "interrupted", [CF_TURN_IMPORTED] = "imported",
};

const char *cf_turn_status_name(cf_turn_status status)
{
    return status_names[status];
}

bool cf_turn_status_parse(cf_turn_status *out, cf_str name)
{
    for (size_t i = 0; i < sizeof status_names / sizeof status_names[0]; i++) {
        if (cf_str_is(name, status_names[i])) {
            *out = (cf_turn_status)i;
            return true;
        }
    }
    return false;
}

static const struct {
    const char *name;
    cf_role role;
} roles[] = {
    {"developer", CF_ROLE_DEVELOPER}, {"system", CF_ROLE_SYSTEM},
    {"user", CF_ROLE_USER},           {"assistant", CF_ROLE_ASSISTANT},
    {"agent", CF_ROLE_AGENT},         {"tool", CF_ROLE_TOOL},
    {"model", CF_ROLE_ASSISTANT},     {"function", CF_ROLE_TOOL},
    {"tool_response", CF_ROLE_TOOL},  {"pcp_response", CF_ROLE_TOOL},
    {"mcp_response", CF_ROLE_TOOL},
};

cf_role cf_role_parse(cf_str name)
{
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        if (cf_str_is(name, roles[i].name)) {
            return roles[i].role;
        }
    }
    return CF_ROLE_OTHER;
}

/* Whether the template compares with, or writes, this word in quotes. */
static bool knows(cf_str source, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 1; i + n < source.n; i++) {
        char a = source.p[i - 1], b = source.p[i + n];
        if ((a == '\'' || a == '"') && a == b && memcmp(source.p + i, word, n) == 0) {
            return true;
        }
    }
    return false;
}

static void map_role(cf_role_map *map, const char *from, const char *to)
{
    if (map->n < CF_ROLE_MAP_MAX && strcmp(from, to) != 0) {
        snprintf(map->v[map->n].from, sizeof map->v[0].from, "%s", from);
        snprintf(map->v[map->n].to, sizeof map->v[0].to, "%s", to);
        map->n++;
    }
}

void cf_role_map_init(cf_role_map *map, cf_str source)
{
    static const char *const results[] = {"tool_response", "pcp_response", "mcp_response",
                                          "function"};
    memset(map, 0, sizeof *map);
    bool model_only = knows(source, "model") && !knows(source, "assistant");
    const char *assistant = model_only ? "model" : "assistant";
    const char *tool =
        !knows(source, "tool") && knows(source, "tool_response") ? "tool_response" : "tool";
    map_role(map, "assistant", assistant);
    map_role(map, "model", assistant);
    map_role(map, "agent", knows(source, "agent") ? "agent" : assistant);
    map_role(map, "tool", tool);
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        map_role(map, results[i], knows(source, results[i]) ? results[i] : tool);
    }
    map_role(map, "developer", knows(source, "developer") ? "developer" : "system");
}

cf_str cf_role_map_get(const cf_role_map *map, cf_str role)
{
    for (size_t i = 0; i < map->n; i++) {
        if (cf_str_is(role, map->v[i].from)) {
            return cf_str_from(map->v[i].to);
        }
    }
    return role;
}
