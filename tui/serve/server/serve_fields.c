/*
 * serve_fields.c - the fields of a request that its interface has and nothing
 * here reads: those that cannot change a reply are accepted, the others are
 * refused.
 */
#include <string.h>

#include "tui/serve/server/serve_impl.h"

enum {
    CHAT = 1 << CF_API_OPENAI_CHAT,
    RAW = 1 << CF_API_OPENAI_COMPLETIONS,
    RESPONSES = 1 << CF_API_OPENAI_RESPONSES,
    MESSAGES = 1 << CF_API_ANTHROPIC_MESSAGES,
    OLLAMA = 1 << CF_API_OLLAMA_CHAT | 1 << CF_API_OLLAMA_GENERATE,
    OPENAI = CHAT | RAW | RESPONSES,
    ALL = OPENAI | MESSAGES | OLLAMA
};

/* Fields that cannot change a reply of this server, or that have a value which
 * asks for nothing. */
static const struct {
    const char *path;
    const char *only; /* JSON of that value; NULL: any */
    unsigned apis;
} accepted[] = {
    {"metadata", NULL, ALL},
    {"user", NULL, ALL},
    {"service_tier", NULL, ALL},
    {"store", NULL, OPENAI},
    {"safety_identifier", NULL, OPENAI},
    {"prompt_cache_key", NULL, OPENAI},
    {"prompt_cache_retention", NULL, OPENAI},
    {"prediction", NULL, OPENAI},
    {"stream_options", NULL, OPENAI},
    {"cache_prompt", NULL, CHAT | RAW},
    {"id_slot", NULL, CHAT | RAW},
    {"timings_per_token", NULL, CHAT | RAW},
    {"verbosity", "\"medium\"", CHAT},
    {"modalities", "[\"text\"]", CHAT},
    {"echo", "false", CHAT},
    {"function_call", "\"auto\"", CHAT},
    {"include", "[]", RESPONSES},
    {"include", "[\"reasoning.encrypted_content\"]", RESPONSES},
    {"truncation", NULL, RESPONSES}, /* what is too long is an error */
    {"background", "false", RESPONSES},
    {"reasoning.summary", NULL, RESPONSES},
    {"reasoning.generate_summary", NULL, RESPONSES},
    {"text.verbosity", "\"medium\"", RESPONSES},
    {"client_metadata", NULL, RESPONSES},
    {"cache_control", NULL, MESSAGES},
    {"thinking.display", NULL, MESSAGES},
    {"inference_geo", NULL, MESSAGES},
    {"mcp_servers", "[]", MESSAGES},
    {"context_management", "{\"edits\":[]}", MESSAGES},
    {"context_management", "{\"edits\":[{\"type\":\"clear_thinking_20251015\",\"keep\":\"all\"}]}",
     MESSAGES},
    {"keep_alive", NULL, OLLAMA},
    {"truncate", NULL, OLLAMA}, /* likewise */
    {"shift", NULL, OLLAMA},
    {"context", "[]", OLLAMA},
    {"template", "\"\"", OLLAMA},
    {"raw", "false", OLLAMA},
    {"raw", "true", 1 << CF_API_OLLAMA_GENERATE}, /* serve_request.c reads it */
    {"options.num_thread", NULL, OLLAMA},
    {"options.num_gpu", NULL, OLLAMA},
    {"options.main_gpu", NULL, OLLAMA},
    {"options.num_batch", NULL, OLLAMA},
    {"options.num_keep", NULL, OLLAMA},
    {"options.use_mmap", NULL, OLLAMA},
    {"options.use_mlock", NULL, OLLAMA},
    {"options.low_vram", NULL, OLLAMA},
    {"options.f16_kv", NULL, OLLAMA},
    {"options.numa", NULL, OLLAMA},
    {"options.mirostat", "0", OLLAMA},
    {"options.typical_p", "1.0", OLLAMA},
    {"options.tfs_z", "1.0", OLLAMA},
};

/* Settings that a row reads and this server does not follow in that
 * interface. */
static const struct {
    const char *setting;
    const char *only;
    unsigned apis;
} unused[] = {
    {"suffix", "\"\"", ALL},
    {"best_of", "1", ALL},
    {"echo", "false", ALL & ~RAW},
    {"num_ctx", NULL, OLLAMA}, /* what is too long for the slot is an error */
    {"logprobs", "false", OLLAMA},
    {"top_logprobs", "0", OLLAMA | RESPONSES},
};

enum { TEXT = 1, LIST = 2, OBJECT = 4, SWITCH = 8, NUMBER = 16 };

/* Fields that readers take for absent in another type than these. */
static const struct {
    const char *path, *types;
    unsigned any, apis;
} typed[] = {
    {"model", "a text", TEXT, ALL},
    {"stream", "true or false", SWITCH, ALL},
    {"tools", "a list", LIST, ALL & ~RAW},
    {"functions", "a list", LIST, CHAT},
    {"chat_template_kwargs", "an object", OBJECT, CHAT},
    {"parallel_tool_calls", "true or false", SWITCH, CHAT | RESPONSES},
    {"logit_bias", "an object", OBJECT, CHAT | RAW},
    {"logprobs", "true, false or a number", SWITCH | NUMBER, CHAT | RAW},
    {"echo", "true or false", SWITCH, RAW},
    {"stream_options", "an object", OBJECT, OPENAI},
    {"instructions", "a text", TEXT, RESPONSES},
    {"previous_response_id", "a text", TEXT, RESPONSES},
    {"text", "an object", OBJECT, RESPONSES},
    {"text.format", "an object", OBJECT, RESPONSES},
    {"reasoning", "an object", OBJECT, RESPONSES},
    {"system", "a text or a list", TEXT | LIST, MESSAGES},
    {"thinking", "an object", OBJECT, MESSAGES},
    {"tool_choice", "an object", OBJECT, MESSAGES},
    {"output_config", "an object", OBJECT, MESSAGES},
    {"options", "an object", OBJECT, OLLAMA},
    {"think", "true, false or a text", SWITCH | TEXT, OLLAMA},
    {"format", "\"json\" or a schema", TEXT | OBJECT, OLLAMA},
    {"system", "a text", TEXT, OLLAMA},
    {"images", "a list", LIST, OLLAMA},
};

static unsigned type_of(const json_t *v)
{
    return json_is_string(v)    ? TEXT
           : json_is_array(v)   ? LIST
           : json_is_object(v)  ? OBJECT
           : json_is_boolean(v) ? SWITCH
                                : NUMBER;
}

/* The value of a field; NULL: null, or absent. */
static const json_t *value_at(const json_t *v, const char *path)
{
    while (v != NULL && *path != '\0') {
        const size_t n = strcspn(path, ".");
        v = json_object_getn(v, path, n);
        path += n + (path[n] == '.');
    }
    return json_is_null(v) ? NULL : v;
}

static bool is_value(const json_t *v, const char *json)
{
    json_t *want = NULL;
    cf_error ignored;
    bool same = json == NULL;
    if (json != NULL && cf_json_read(&want, json, strlen(json), &ignored) == CF_OK) {
        same = json_equal(cf_json_ref(v), want) != 0 ||
               (json_is_number(v) && json_is_number(want) &&
                json_number_value(v) == json_number_value(want));
    }
    json_decref(want);
    return same;
}

static void note(cf_serve__asked *a, const char *path)
{
    cf_buf_adds(&a->accepted, a->accepted.n > 0 ? ", " : "");
    cf_buf_adds(&a->accepted, path);
}

static bool is_accepted(const cf_serve__asked *a, const char *path, const json_t *value)
{
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        const size_t n = strlen(accepted[i].path);
        const bool is_here = strncmp(path, accepted[i].path, n) == 0 &&
                             (path[n] == '\0' || (accepted[i].only == NULL && path[n] == '.'));
        if (is_here && (accepted[i].apis >> a->api & 1) != 0 && is_value(value, accepted[i].only)) {
            return true;
        }
    }
    return false;
}

/* Clients of responses offer tools that a server may have (web_search, and
 * groups of tools): the prompt does not have them, and the model calls a function where it
 * must call. */
static cf_status check_tool(cf_serve__asked *a, const char *path, cf_error *err)
{
    if (a->api == CF_API_OPENAI_RESPONSES) {
        note(a, path);
        return CF_OK;
    }
    return cf_serve__refuse(err, path, "must be a function: this server has no tools of its own");
}

/* Members of a message reach the template, where an interface has messages of
 * OpenAI's form. */
static cf_status check_field(cf_serve__asked *a, const char *path, cf_error *err)
{
    if (cf_str_begins(cf_str_from(path), "tools[")) {
        return check_tool(a, path, err);
    }
    if (cf_str_begins(cf_str_from(path), "messages[")) {
        if (a->api == CF_API_ANTHROPIC_MESSAGES) {
            note(a, path);
        }
        return CF_OK;
    }
    if (cf_str_begins(cf_str_from(path), "input[")) {
        return cf_serve__refuse(err, path, "is no item that this server reads");
    }
    const json_t *value = value_at(a->wire.body, path);
    value = value != NULL ? value : json_object_get(a->wire.body, path); /* "a.b" as one name */
    if (value == NULL || json_is_null(value)) {
        return CF_OK;
    }
    if (is_accepted(a, path, value)) {
        note(a, path);
        return CF_OK;
    }
    return cf_serve__refuse(err, path,
                            "asks for what this server does not do; leave the field out");
}

cf_status cf_serve__check_fields(cf_serve__asked *a, cf_error *err)
{
    for (size_t i = 0; i < sizeof typed / sizeof typed[0]; i++) {
        const json_t *v = value_at(a->wire.body, typed[i].path);
        if (v != NULL && (typed[i].apis >> a->api & 1) != 0 && (typed[i].any & type_of(v)) == 0) {
            return cf_serve__refuse(err, typed[i].path, "must be %s", typed[i].types);
        }
    }
    for (size_t i = 0; i < json_array_size(a->wire.unknown); i++) {
        const char *path = json_string_value(json_array_get(a->wire.unknown, i));
        if (path != NULL) {
            CF_TRY(check_field(a, path, err));
        }
    }
    for (size_t i = 0; i < sizeof unused / sizeof unused[0]; i++) {
        const json_t *v = json_object_get(a->wire.settings, unused[i].setting);
        if (v == NULL || (unused[i].apis >> a->api & 1) == 0) {
            continue;
        }
        const char *path = cf_wire_place(&a->wire, a->api, unused[i].setting);
        if (!is_value(v, unused[i].only)) {
            return cf_serve__refuse(err, path,
                                    "asks for what this server does not do; leave the field out");
        }
        note(a, path);
    }
    return cf_buf_check(&a->accepted, err);
}
