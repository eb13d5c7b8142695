/*
 * wire_request.c - requests as messages in OpenAI's form.
 *
 * Each interface says the same in its own way: Anthropic keeps the system text
 * apart and puts results of tools into the user's message, OpenAI's responses
 * are a list of items, Ollama's images lie beside the text.  What has no place
 * in a message stays in the raw body only.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/wire/wire_impl.h"

/* ---- interfaces --------------------------------------------------------- */

static const struct {
    const char *name, *suffix;
    bool talks;
} apis[CF_API_N] = {
    [CF_API_NONE] = {"", "", false},
    [CF_API_OPENAI_CHAT] = {"openai-chat", "/chat/completions", true},
    [CF_API_OPENAI_COMPLETIONS] = {"openai-completions", "/completions", true},
    [CF_API_OPENAI_RESPONSES] = {"openai-responses", "/responses", true},
    [CF_API_OPENAI_EMBEDDINGS] = {"openai-embeddings", "/embeddings", false},
    [CF_API_OPENAI_MODELS] = {"openai-models", "/models", false},
    [CF_API_ANTHROPIC_MESSAGES] = {"anthropic-messages", "/v1/messages", true},
    [CF_API_OLLAMA_CHAT] = {"ollama-chat", "/api/chat", true},
    [CF_API_OLLAMA_GENERATE] = {"ollama-generate", "/api/generate", true},
};

const char *cf_api_name(cf_api api)
{
    return apis[api].name;
}

static bool ends_with(cf_str s, const char *end)
{
    size_t n = strlen(end);
    return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

cf_api cf_api_of(cf_str method, cf_str path)
{
    for (size_t i = 0; i < path.n; i++) {
        if (path.p[i] == '?' || path.p[i] == '#') {
            path.n = i;
        }
    }
    bool is_get = cf_str_is(method, "GET");
    if (!is_get && !cf_str_is(method, "POST")) {
        return CF_API_NONE;
    }
    for (int i = 1; i < CF_API_N; i++) {
        if (is_get == (i == CF_API_OPENAI_MODELS) && ends_with(path, apis[i].suffix)) {
            return (cf_api)i;
        }
    }
    return CF_API_NONE;
}

bool cf_api_talks(cf_api api)
{
    return apis[api].talks;
}

/* ---- small things ------------------------------------------------------- */

json_t *cf_wire__text(cf_str s)
{
    json_t *v = json_stringn(s.p != NULL ? s.p : "", s.n);
    return v != NULL ? v : json_string("");
}

void cf_wire__copy(char *to, size_t size, cf_str from)
{
    size_t n = from.n < size ? from.n : size - 1;
    while (n > 0 && n < from.n && (from.p[n] & 0xC0) == 0x80) {
        n--;
    }
    if (n > 0) {
        memcpy(to, from.p, n);
    }
    to[n] = '\0';
}

static json_t *message(const char *role, json_t *content)
{
    return json_pack("{s:s, s:o*}", "role", role, "content", content);
}

static json_t *message_of(cf_str role, json_t *content)
{
    return json_pack("{s:o, s:o*}", "role", cf_wire__text(role), "content", content);
}

/* A call in OpenAI's form; `arguments` is text, or a value to be written. */
static json_t *call_of(cf_str id, cf_str name, const json_t *arguments)
{
    cf_buf text = CF_BUF_INIT;
    if (json_is_string(arguments)) {
        cf_buf_add(&text, json_string_value(arguments), json_string_length(arguments));
    } else if (arguments != NULL) {
        cf_json_write(&text, arguments);
    }
    json_t *call = json_pack("{s:s, s:{s:o, s:o}}", "type", "function", "function", "name",
                             cf_wire__text(name), "arguments", cf_wire__text(cf_buf_str(&text)));
    if (id.n != 0 && call != NULL) {
        (void)json_object_set_new(call, "id", cf_wire__text(id));
    }
    cf_buf_deinit(&text);
    return call;
}

/* {"type":"function","function":{...}} out of a flat declaration whose schema
 * is under `schema`. */
static json_t *tool_of(const json_t *flat, const char *schema)
{
    json_t *f = json_object();
    static const char *const kept[] = {"name", "description", "strict"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        json_t *v = json_object_get(flat, kept[i]);
        if (v != NULL) {
            (void)json_object_set(f, kept[i], v);
        }
    }
    json_t *s = json_object_get(flat, schema);
    if (s != NULL) {
        (void)json_object_set(f, "parameters", s);
    }
    return json_pack("{s:s, s:o}", "type", "function", "function", f);
}

/* Declarations of functions; other kinds of tools are the server's own. */
static json_t *tools_of(const json_t *list, const char *schema)
{
    json_t *out = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *one = json_array_get(list, i);
        if (json_is_object(json_object_get(one, "function"))) {
            (void)json_array_append(out, one);
        } else if (cf_json_get_str(one, "name").n != 0) {
            (void)json_array_append_new(out, tool_of(one, schema));
        }
    }
    if (json_array_size(out) == 0) {
        json_decref(out);
        return NULL;
    }
    return out;
}

/* ---- OpenAI ------------------------------------------------------------- */

static cf_status read_chat(cf_wire_request *r, const json_t *body, cf_error *err)
{
    const json_t *list = json_object_get(body, "messages");
    if (!json_is_array(list)) {
        return cf_fail(err, CF_EFORMAT, "the request has no list of messages");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *m = json_array_get(list, i);
        if (cf_json_get_str(m, "role").n == 0) {
            return cf_fail(err, CF_EFORMAT, "message %zu has no role", i);
        }
        (void)json_array_append(r->messages, m);
    }
    const json_t *tools = json_object_get(body, "tools");
    const json_t *functions = json_object_get(body, "functions");
    r->tools = tools_of(tools != NULL ? tools : functions, "parameters");
    const json_t *vars = json_object_get(body, "chat_template_kwargs");
    if (json_is_object(vars)) {
        r->variables = json_incref(cf_json_ref(vars));
    }
    return CF_OK;
}

static cf_status read_completions(cf_wire_request *r, const json_t *body, cf_error *err)
{
    const json_t *prompt = json_object_get(body, "prompt");
    if (json_is_array(prompt)) {
        prompt = json_array_get(prompt, 0);
    }
    if (!json_is_string(prompt)) {
        return cf_fail(err, CF_EFORMAT, "the request has no text as prompt");
    }
    (void)json_array_append_new(r->messages, message("user", json_incref(cf_json_ref(prompt))));
    return CF_OK;
}

/* A part of an item's content in the form of chat completions. */
static json_t *response_part(json_t *part)
{
    cf_str type = cf_json_get_str(part, "type");
    if (cf_str_is(type, "input_text") || cf_str_is(type, "output_text") ||
        cf_str_is(type, "summary_text")) {
        return json_pack("{s:s, s:o}", "type", "text", "text",
                         cf_wire__text(cf_json_get_str(part, "text")));
    }
    if (cf_str_is(type, "input_image")) {
        return json_pack("{s:s, s:{s:o}}", "type", "image_url", "image_url", "url",
                         cf_wire__text(cf_json_get_str(part, "image_url")));
    }
    return json_incref(part);
}

static json_t *response_content(const json_t *content)
{
    if (!json_is_array(content)) {
        return content != NULL ? json_incref(cf_json_ref(content)) : NULL;
    }
    json_t *parts = json_array();
    for (size_t i = 0; i < json_array_size(content); i++) {
        (void)json_array_append_new(parts, response_part(json_array_get(content, i)));
    }
    return cf_wire__plain(parts);
}

json_t *cf_wire__plain(json_t *parts)
{
    bool is_text = json_array_size(parts) > 0;
    cf_buf text = CF_BUF_INIT;
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *one = json_array_get(parts, i);
        cf_str s = cf_json_get_str(one, "text");
        is_text = is_text && cf_str_is(cf_json_get_str(one, "type"), "text") && s.p != NULL;
        cf_buf_add(&text, s.p, is_text ? s.n : 0);
    }
    if (is_text && !text.failed) {
        json_decref(parts);
        parts = cf_wire__text(cf_buf_str(&text));
    }
    cf_buf_deinit(&text);
    return parts;
}

/* Adds a call (taken) to the assistant's message at the end of the list, or
 * to a new one. */
static void add_call(json_t *messages, json_t *call)
{
    size_t n = json_array_size(messages);
    json_t *last = n > 0 ? json_array_get(messages, n - 1) : NULL;
    if (!cf_str_is(cf_json_get_str(last, "role"), "assistant")) {
        last = message("assistant", json_null());
        (void)json_array_append_new(messages, last);
    }
    json_t *calls = json_object_get(last, "tool_calls");
    if (calls == NULL) {
        calls = json_array();
        (void)json_object_set_new(last, "tool_calls", calls);
    }
    (void)json_array_append_new(calls, call);
}

static void add_thinking(json_t *messages, cf_str text)
{
    if (text.n != 0) {
        json_t *m = message("assistant", json_null());
        (void)json_object_set_new(m, "reasoning_content", cf_wire__text(text));
        (void)json_array_append_new(messages, m);
    }
}

/* An assistant's message that begins with thinking, or with a call, gets its
 * text here: items of one reply come one by one. */
static void add_said(json_t *messages, cf_str role, json_t *content)
{
    size_t n = json_array_size(messages);
    json_t *last = n > 0 ? json_array_get(messages, n - 1) : NULL;
    if (cf_str_is(role, "assistant") && cf_str_is(cf_json_get_str(last, "role"), "assistant") &&
        json_is_null(json_object_get(last, "content")) &&
        json_object_get(last, "tool_calls") == NULL) {
        (void)json_object_set_new(last, "content", content);
        return;
    }
    (void)json_array_append_new(messages, message_of(role, content));
}

/* The id by which a call's output names it. */
static cf_str item_id(const json_t *item)
{
    cf_str id = cf_json_get_str(item, "call_id");
    return id.n != 0 ? id : cf_json_get_str(item, "id");
}

bool cf_wire__is_call(cf_str type)
{
    return ends_with(type, "_call");
}

/* A call of any kind.  A function has a name and arguments; a custom tool has a
 * text as input; tools of the server's own (local_shell_call, web_search_call)
 * are named by the type and have an action. */
static json_t *item_call(const json_t *item)
{
    cf_str type = cf_json_get_str(item, "type");
    cf_str name = cf_json_get_str(item, "name");
    json_t *input = json_object_get(item, "input");
    json_t *arguments = json_object_get(item, "arguments");
    json_t *made = input != NULL ? json_pack("{s:O}", "input", input) : NULL;
    arguments = arguments != NULL ? arguments
                : made != NULL    ? made
                                  : json_object_get(item, "action");
    if (name.n == 0) {
        name = cf_str_make(type.p, type.n - strlen("_call"));
    }
    json_t *call = call_of(item_id(item), name, arguments);
    json_decref(made);
    return call;
}

void cf_wire__item(json_t *messages, const json_t *item)
{
    cf_str type = cf_json_get_str(item, "type");
    if (cf_wire__is_call(type)) {
        add_call(messages, item_call(item));
    } else if (ends_with(type, "_call_output")) {
        json_t *m = message("tool", response_content(json_object_get(item, "output")));
        (void)json_object_set_new(m, "tool_call_id", cf_wire__text(item_id(item)));
        (void)json_array_append_new(messages, m);
    } else if (cf_str_is(type, "reasoning")) {
        const json_t *parts = json_object_get(item, "content");
        if (json_array_size(parts) == 0) {
            parts = json_object_get(item, "summary");
        }
        json_t *text = response_content(parts);
        add_thinking(messages, cf_str_make(json_string_value(text), json_string_length(text)));
        json_decref(text);
    } else if (cf_json_get_str(item, "role").n != 0) {
        add_said(messages, cf_json_get_str(item, "role"),
                 response_content(json_object_get(item, "content")));
    }
}

static cf_status read_responses(cf_wire_request *r, const json_t *body, cf_error *err)
{
    cf_str rules = cf_json_get_str(body, "instructions");
    const json_t *input = json_object_get(body, "input");
    if (rules.n != 0) {
        (void)json_array_append_new(r->messages, message("system", cf_wire__text(rules)));
    }
    if (json_is_string(input)) {
        (void)json_array_append_new(r->messages, message("user", json_incref(cf_json_ref(input))));
    } else if (!json_is_array(input)) {
        return cf_fail(err, CF_EFORMAT, "the request has no input");
    }
    for (size_t i = 0; i < json_array_size(input); i++) {
        cf_wire__item(r->messages, json_array_get(input, i));
    }
    r->tools = tools_of(json_object_get(body, "tools"), "parameters");
    cf_wire__copy(r->previous, sizeof r->previous, cf_json_get_str(body, "previous_response_id"));
    return CF_OK;
}

/* ---- Anthropic ---------------------------------------------------------- */

/* {"type":"image","source":{...}} as an image_url part. */
static json_t *anthropic_image(const json_t *block)
{
    const json_t *source = json_object_get(block, "source");
    cf_str url = cf_json_get_str(source, "url");
    cf_buf text = CF_BUF_INIT;
    if (url.n != 0) {
        cf_buf_add(&text, url.p, url.n);
    } else {
        cf_str type = cf_json_get_str(source, "media_type");
        cf_str data = cf_json_get_str(source, "data");
        cf_buf_addf(&text, "data:%.*s;base64,", (int)type.n, type.p);
        cf_buf_add(&text, data.p, data.n);
    }
    json_t *part = json_pack("{s:s, s:{s:o}}", "type", "image_url", "image_url", "url",
                             cf_wire__text(cf_buf_str(&text)));
    cf_buf_deinit(&text);
    return part;
}

static json_t *anthropic_parts(const json_t *content)
{
    if (!json_is_array(content)) {
        return content != NULL ? json_incref(cf_json_ref(content)) : NULL;
    }
    json_t *parts = json_array();
    for (size_t i = 0; i < json_array_size(content); i++) {
        json_t *block = json_array_get(content, i);
        cf_str type = cf_json_get_str(block, "type");
        if (cf_str_is(type, "text")) {
            (void)json_array_append_new(parts,
                                        json_pack("{s:s, s:o}", "type", "text", "text",
                                                  cf_wire__text(cf_json_get_str(block, "text"))));
        } else if (cf_str_is(type, "image")) {
            (void)json_array_append_new(parts, anthropic_image(block));
        } else {
            (void)json_array_append(parts, block);
        }
    }
    return cf_wire__plain(parts);
}

/* The blocks of one message: results of tools become messages of their own,
 * which come first, calls and thinking become fields. */
static void anthropic_message(json_t *out, const json_t *in)
{
    const json_t *content = json_object_get(in, "content");
    json_t *m = message_of(cf_json_get_str(in, "role"), NULL);
    json_t *rest = json_array();
    cf_buf thinking = CF_BUF_INIT;
    size_t n_results = 0;
    for (size_t i = 0; i < json_array_size(content); i++) {
        json_t *block = json_array_get(content, i);
        cf_str type = cf_json_get_str(block, "type");
        if (cf_str_is(type, "tool_result")) {
            json_t *result = message("tool", anthropic_parts(json_object_get(block, "content")));
            (void)json_object_set_new(result, "tool_call_id",
                                      cf_wire__text(cf_json_get_str(block, "tool_use_id")));
            (void)json_array_append_new(out, result);
            n_results++;
        } else if (cf_str_is(type, "tool_use")) {
            json_t *one = json_array();
            (void)json_array_append(one, m);
            add_call(one, call_of(cf_json_get_str(block, "id"), cf_json_get_str(block, "name"),
                                  json_object_get(block, "input")));
            json_decref(one);
        } else if (cf_str_is(type, "thinking")) {
            cf_str text = cf_json_get_str(block, "thinking");
            cf_buf_add(&thinking, text.p, text.n);
        } else {
            (void)json_array_append(rest, block);
        }
    }
    if (json_is_array(content)) {
        json_t *text = anthropic_parts(rest);
        (void)json_object_set_new(m, "content", json_array_size(rest) > 0 ? text : json_null());
        if (json_array_size(rest) == 0) {
            json_decref(text);
        }
    } else if (content != NULL) {
        (void)json_object_set(m, "content", cf_json_ref(content));
    }
    if (thinking.n != 0) {
        (void)json_object_set_new(m, "reasoning_content", cf_wire__text(cf_buf_str(&thinking)));
    }
    if (n_results == 0 || json_array_size(rest) > 0) {
        (void)json_array_append(out, m);
    }
    json_decref(m);
    json_decref(rest);
    cf_buf_deinit(&thinking);
}

static cf_status read_anthropic(cf_wire_request *r, const json_t *body, cf_error *err)
{
    const json_t *system = json_object_get(body, "system");
    const json_t *list = json_object_get(body, "messages");
    if (!json_is_array(list)) {
        return cf_fail(err, CF_EFORMAT, "the request has no list of messages");
    }
    if (json_is_string(system) || json_array_size(system) > 0) {
        (void)json_array_append_new(r->messages, message("system", anthropic_parts(system)));
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (cf_json_get_str(json_array_get(list, i), "role").n == 0) {
            return cf_fail(err, CF_EFORMAT, "message %zu has no role", i);
        }
        anthropic_message(r->messages, json_array_get(list, i));
    }
    r->tools = tools_of(json_object_get(body, "tools"), "input_schema");
    return CF_OK;
}

/* ---- Ollama ------------------------------------------------------------- */

/* Images lie beside the text, as base64 without a type. */
static json_t *ollama_message(const json_t *in)
{
    const json_t *images = json_object_get(in, "images");
    json_t *m = cf_json_copy(in);
    if (json_array_size(images) > 0) {
        json_t *parts = json_array();
        for (size_t i = 0; i < json_array_size(images); i++) {
            cf_buf url = CF_BUF_INIT;
            cf_buf_addf(&url, "data:image/png;base64,%s",
                        json_string_value(json_array_get(images, i)));
            (void)json_array_append_new(parts, json_pack("{s:s, s:{s:o}}", "type", "image_url",
                                                         "image_url", "url",
                                                         cf_wire__text(cf_buf_str(&url))));
            cf_buf_deinit(&url);
        }
        (void)json_array_append_new(parts,
                                    json_pack("{s:s, s:o}", "type", "text", "text",
                                              cf_wire__text(cf_json_get_str(in, "content"))));
        (void)json_object_set_new(m, "content", parts);
        (void)json_object_del(m, "images");
    }
    json_t *thinking = json_object_get(m, "thinking");
    if (thinking != NULL) {
        (void)json_object_set(m, "reasoning_content", thinking);
        (void)json_object_del(m, "thinking");
    }
    const json_t *calls = json_object_get(m, "tool_calls");
    if (json_array_size(calls) > 0) {
        json_t *list = json_array();
        for (size_t i = 0; i < json_array_size(calls); i++) {
            const json_t *c = json_array_get(calls, i);
            const json_t *f = json_object_get(c, "function");
            (void)json_array_append_new(list, call_of(cf_json_get_str(c, "id"),
                                                      cf_json_get_str(f, "name"),
                                                      json_object_get(f, "arguments")));
        }
        (void)json_object_set_new(m, "tool_calls", list);
    }
    return m;
}

static void ollama_think(cf_wire_request *r, const json_t *body)
{
    const json_t *think = json_object_get(body, "think");
    if (json_is_boolean(think)) {
        r->variables = json_pack("{s:b}", "enable_thinking", json_is_true(think));
    }
}

static cf_status read_ollama_chat(cf_wire_request *r, const json_t *body, cf_error *err)
{
    const json_t *list = json_object_get(body, "messages");
    if (!json_is_array(list)) {
        return cf_fail(err, CF_EFORMAT, "the request has no list of messages");
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *m = json_array_get(list, i);
        if (cf_json_get_str(m, "role").n == 0) {
            return cf_fail(err, CF_EFORMAT, "message %zu has no role", i);
        }
        (void)json_array_append_new(r->messages, ollama_message(m));
    }
    r->tools = tools_of(json_object_get(body, "tools"), "parameters");
    ollama_think(r, body);
    return CF_OK;
}

static cf_status read_ollama_generate(cf_wire_request *r, const json_t *body, cf_error *err)
{
    cf_str system = cf_json_get_str(body, "system");
    cf_str prompt = cf_json_get_str(body, "prompt");
    if (prompt.p == NULL) {
        return cf_fail(err, CF_EFORMAT, "the request has no prompt");
    }
    if (system.n != 0) {
        (void)json_array_append_new(r->messages, message("system", cf_wire__text(system)));
    }
    (void)json_array_append_new(r->messages, message("user", cf_wire__text(prompt)));
    ollama_think(r, body);
    return CF_OK;
}

/* ---- all ---------------------------------------------------------------- */

cf_status cf_wire_request_read(cf_wire_request *out, cf_api api, cf_str body, cf_error *err)
{
    static cf_status (*const readers[CF_API_N])(cf_wire_request *, const json_t *, cf_error *) = {
        [CF_API_OPENAI_CHAT] = read_chat,           [CF_API_OPENAI_COMPLETIONS] = read_completions,
        [CF_API_OPENAI_RESPONSES] = read_responses, [CF_API_ANTHROPIC_MESSAGES] = read_anthropic,
        [CF_API_OLLAMA_CHAT] = read_ollama_chat,    [CF_API_OLLAMA_GENERATE] = read_ollama_generate,
    };
    memset(out, 0, sizeof *out);
    if (readers[api] == NULL) {
        return cf_fail(err, CF_EFORMAT, "not a request with messages");
    }
    json_t *v = NULL;
    const uint64_t failures = cf_alloc_failures();
    CF_TRY(cf_json_read(&v, body.p, body.n, err));
    out->messages = json_array();
    /* Ollama streams unless it is told not to. */
    const json_t *stream = json_object_get(v, "stream");
    bool streams = api == CF_API_OLLAMA_CHAT || api == CF_API_OLLAMA_GENERATE;
    out->is_stream = stream != NULL ? json_is_true(stream) : streams;
    cf_wire__copy(out->model, sizeof out->model, cf_json_get_str(v, "model"));
    cf_status st = !json_is_object(v)      ? cf_fail(err, CF_EFORMAT, "not a JSON object")
                   : out->messages == NULL ? cf_oom(err)
                                           : readers[api](out, v, err);
    json_decref(v);
    CF_THEN(st, cf_alloc_check(failures, err));
    if (st != CF_OK) {
        cf_wire_request_deinit(out);
    }
    return st;
}

void cf_wire_request_deinit(cf_wire_request *r)
{
    json_decref(r->messages);
    json_decref(r->tools);
    json_decref(r->variables);
    memset(r, 0, sizeof *r);
}
