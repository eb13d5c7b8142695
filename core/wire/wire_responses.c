/*
 * wire_responses.c - OpenAI's responses: a request and an answer are lists of
 * items; thinking, text, calls and results are items of their own.
 */
#include <stdio.h>
#include <string.h>

#include "core/wire/wire_impl.h"

static const cf_wire__setting settings[] = {
    {"temperature", NULL},
    {"top_p", NULL},
    {"max_tokens", "max_output_tokens"},
    {"top_logprobs", NULL},
    {"reasoning_effort", "reasoning.effort"},
    {NULL, NULL},
};

static const cf_wire__end ends[] = {
    {"completed", CF_WIRE_STOP_END},         {"completed", CF_WIRE_STOP_STRING},
    {"completed", CF_WIRE_STOP_CALLS},       {"max_output_tokens", CF_WIRE_STOP_LENGTH},
    {"content_filter", CF_WIRE_STOP_FILTER}, {NULL, CF_WIRE_STOP_NONE},
};

static bool ends_with(cf_str s, const char *end)
{
    size_t n = strlen(end);
    return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

static bool is_call(cf_str type)
{
    return ends_with(type, "_call");
}

/* ---- items, read -------------------------------------------------------- */

/* A part of an item's content as that of a message. */
static json_t *read_part(json_t *part)
{
    cf_str type = cf_json_get_str(part, "type");
    if (cf_str_is(type, "input_text") || cf_str_is(type, "output_text") ||
        cf_str_is(type, "summary_text") || cf_str_is(type, "reasoning_text")) {
        return cf_wire__text_part(cf_json_get_str(part, "text"));
    }
    if (cf_str_is(type, "refusal")) {
        return cf_wire__text_part(cf_json_get_str(part, "refusal"));
    }
    if (cf_str_is(type, "input_image")) {
        return cf_wire__image_part(cf_json_get_str(part, "image_url"));
    }
    return json_incref(part);
}

/* A text, or the parts; null for none. */
static json_t *read_content(const json_t *content, cf_jb *b)
{
    if (!json_is_array(content)) {
        return content != NULL ? json_incref(cf_json_ref(content)) : json_null();
    }
    json_t *parts = json_array();
    for (size_t i = 0; i < json_array_size(content); i++) {
        cf_jb_append(b, parts, read_part(json_array_get(content, i)));
    }
    return cf_wire__plain(parts);
}

static json_t *last_assistant(const json_t *messages)
{
    size_t n = json_array_size(messages);
    json_t *last = n > 0 ? json_array_get(messages, n - 1) : NULL;
    return cf_str_is(cf_json_get_str(last, "role"), "assistant") ? last : NULL;
}

/* The assistant's message at the end of the list, or a new one. */
static json_t *assistant(json_t *messages, cf_jb *b)
{
    json_t *m = last_assistant(messages);
    if (m == NULL) {
        cf_jb_append(b, messages, cf_wire__message(cf_str_from("assistant"), json_null()));
        m = last_assistant(messages);
    }
    return m;
}

/* The id by which a call's output names it. */
static cf_str item_id(const json_t *item)
{
    cf_str id = cf_json_get_str(item, "call_id");
    return id.n != 0 ? id : cf_json_get_str(item, "id");
}

/* The text of a reasoning item: what it holds, or its summary. */
static void reasoning_text(cf_buf *out, const json_t *item)
{
    const json_t *parts = json_object_get(item, "content");
    if (json_array_size(parts) == 0) {
        parts = json_object_get(item, "summary");
    }
    cf_wire__content_text(out, parts);
}

static void read_reasoning(json_t *messages, const json_t *item, cf_jb *b)
{
    cf_str signature = cf_json_get_str(item, "encrypted_content");
    cf_buf text = CF_BUF_INIT;
    reasoning_text(&text, item);
    if (text.n > 0 || text.failed) {
        json_t *m = cf_wire__message(cf_str_from("assistant"), json_null());
        cf_jb_append(b, messages, m);
        cf_jb_set(b, m, "reasoning_content", cf_json_buf(&text));
        if (signature.n > 0) {
            cf_jb_set(b, m, "reasoning_signature", cf_json_str(signature));
        }
    }
    cf_buf_deinit(&text);
}

/* A call of any kind.  A function has a name and arguments; a custom tool has a
 * text as input; tools of the server's own (local_shell_call, web_search_call)
 * are named by the type and have an action. */
static json_t *call_of(const json_t *item)
{
    cf_str type = cf_json_get_str(item, "type");
    cf_str name = cf_json_get_str(item, "name");
    json_t *input = json_object_get(item, "input");
    json_t *arguments = json_object_get(item, "arguments");
    json_t *made = input != NULL ? json_pack("{s:O}", "input", input) : NULL;
    if (input != NULL && made == NULL) {
        return NULL;
    }
    arguments = arguments != NULL ? arguments
                : made != NULL    ? made
                                  : json_object_get(item, "action");
    if (name.n == 0) {
        name = cf_str_make(type.p, type.n - strlen("_call"));
    }
    json_t *call = cf_wire__call(item_id(item), name, arguments);
    json_decref(made);
    return call;
}

/* The items of one reply come one by one: a message that began with thinking
 * gets its text here. */
static void read_said(json_t *messages, const json_t *item, cf_jb *b)
{
    cf_str role = cf_json_get_str(item, "role");
    json_t *content = read_content(json_object_get(item, "content"), b);
    json_t *last = last_assistant(messages);
    if (cf_str_is(role, "assistant") && json_is_null(json_object_get(last, "content")) &&
        json_object_get(last, "tool_calls") == NULL) {
        cf_jb_set(b, last, "content", content);
        return;
    }
    cf_jb_append(b, messages, cf_wire__message(role, content));
}

static void read_item(cf_wire_request *r, size_t i, const json_t *item, cf_jb *b)
{
    json_t *messages = r->messages;
    cf_str type = cf_json_get_str(item, "type");
    if (is_call(type)) {
        cf_wire__add_call(b, assistant(messages, b), call_of(item));
    } else if (ends_with(type, "_call_output")) {
        json_t *m =
            cf_wire__message(cf_str_from("tool"), read_content(json_object_get(item, "output"), b));
        cf_jb_append(b, messages, m);
        cf_jb_set(b, m, "tool_call_id", cf_json_str(item_id(item)));
    } else if (cf_str_is(type, "reasoning")) {
        read_reasoning(messages, item, b);
    } else if (cf_json_get_str(item, "role").n != 0) {
        read_said(messages, item, b);
    } else {
        cf_jb_append(b, r->unknown, json_sprintf("input[%zu]", i));
    }
}

/* ---- requests ----------------------------------------------------------- */

static void read_tool_choice(cf_wire_request *r, const json_t *body)
{
    const json_t *v = json_object_get(body, "tool_choice");
    cf_str word = cf_json_get_str(body, "tool_choice");
    cf_str name = cf_json_get_str(v, "name");
    r->tool_choice = cf_str_is(word, "auto")       ? CF_WIRE_TOOLS_AUTO
                     : cf_str_is(word, "none")     ? CF_WIRE_TOOLS_NONE
                     : cf_str_is(word, "required") ? CF_WIRE_TOOLS_REQUIRED
                     : name.n > 0                  ? CF_WIRE_TOOLS_NAMED
                                                   : CF_WIRE_TOOLS_UNSET;
    cf_wire__copy(r->tool_name, sizeof r->tool_name, name);
    r->has_one_call = json_is_false(json_object_get(body, "parallel_tool_calls"));
}

static cf_status read_request(cf_wire_request *r, const json_t *body, cf_jb *b, cf_error *err)
{
    cf_str rules = cf_json_get_str(body, "instructions");
    const json_t *input = json_object_get(body, "input");
    const json_t *format = json_object_get(json_object_get(body, "text"), "format");
    if (rules.n != 0) {
        cf_jb_append(b, r->messages, cf_wire__message(cf_str_from("system"), cf_json_str(rules)));
    }
    if (json_is_string(input)) {
        cf_jb_append(b, r->messages,
                     cf_wire__message(cf_str_from("user"), json_incref(cf_json_ref(input))));
    } else if (!json_is_array(input)) {
        return cf_fail(err, CF_EFORMAT, "'input' must be a text or a list");
    }
    for (size_t i = 0; i < json_array_size(input); i++) {
        read_item(r, i, json_array_get(input, i), b);
    }
    cf_wire__tools(r, b, json_object_get(body, "tools"), "parameters");
    cf_wire__copy(r->previous, sizeof r->previous, cf_json_get_str(body, "previous_response_id"));
    if (json_is_object(format) && !cf_str_is(cf_json_get_str(format, "type"), "text")) {
        r->format = json_incref(cf_json_ref(format));
    }
    r->has_usage = true;
    read_tool_choice(r, body);
    return CF_OK;
}

static void write_part(json_t *part, const char *text_type, cf_jb *b)
{
    cf_str url = cf_json_get_str(json_object_get(part, "image_url"), "url");
    cf_str text = cf_json_get_str(part, "text");
    if (text.p != NULL) {
        cf_jb_pack(b, NULL, "{s:s, s:O}", "type", text_type, "text", json_object_get(part, "text"));
    } else if (url.p != NULL) {
        cf_jb_object(b, NULL);
        cf_jb_text(b, "type", "input_image");
        cf_jb_str(b, "image_url", url);
        cf_jb_end(b);
    } else {
        cf_jb_add(b, NULL, part);
    }
}

static void write_content(const char *key, const json_t *content, const char *text_type, cf_jb *b)
{
    if (!json_is_array(content)) {
        cf_jb_add(b, key, content);
        return;
    }
    cf_jb_array(b, key);
    for (size_t i = 0; i < json_array_size(content); i++) {
        write_part(json_array_get(content, i), text_type, b);
    }
    cf_jb_end(b);
}

static void write_thinking(const json_t *m, cf_jb *b)
{
    const json_t *signature = json_object_get(m, "reasoning_signature");
    cf_jb_object(b, NULL);
    cf_jb_text(b, "type", "reasoning");
    cf_jb_pack(b, "summary", "[]");
    cf_jb_pack(b, "content", "[{s:s, s:O}]", "type", "reasoning_text", "text",
               json_object_get(m, "reasoning_content"));
    if (signature != NULL) {
        cf_jb_add(b, "encrypted_content", signature);
    }
    cf_jb_end(b);
}

static void write_call(const json_t *call, cf_jb *b)
{
    json_t *arguments = json_object_get(json_object_get(call, "function"), "arguments");
    cf_buf text = CF_BUF_INIT;
    cf_jb_object(b, NULL);
    cf_jb_text(b, "type", "function_call");
    cf_jb_add(b, "call_id", json_object_get(call, "id"));
    cf_jb_str(b, "name", cf_wire__call_name(call));
    if (json_is_string(arguments)) {
        cf_jb_add(b, "arguments", arguments);
    } else {
        cf_json_write(&text, arguments);
        cf_jb_buf(b, "arguments", &text);
    }
    cf_jb_end(b);
    cf_buf_deinit(&text);
}

static void write_message(const json_t *m, cf_jb *b)
{
    cf_str role = cf_json_get_str(m, "role");
    const bool is_ours = cf_str_is(role, "assistant");
    const json_t *content = json_object_get(m, "content");
    const json_t *calls = json_object_get(m, "tool_calls");
    if (cf_str_is(role, "tool")) {
        cf_jb_object(b, NULL);
        cf_jb_text(b, "type", "function_call_output");
        cf_jb_add(b, "call_id", json_object_get(m, "tool_call_id"));
        write_content("output", content, "input_text", b);
        cf_jb_end(b);
        return;
    }
    if (is_ours && json_is_string(json_object_get(m, "reasoning_content"))) {
        write_thinking(m, b);
    }
    if (content != NULL && !json_is_null(content)) {
        cf_jb_object(b, NULL);
        cf_jb_text(b, "type", "message");
        cf_jb_str(b, "role", role);
        write_content("content", content, is_ours ? "output_text" : "input_text", b);
        cf_jb_end(b);
    }
    for (size_t i = 0; i < json_array_size(calls); i++) {
        write_call(json_array_get(calls, i), b);
    }
}

static void write_tools(const cf_wire_request *r, cf_jb *b)
{
    static const char *const words[] = {[CF_WIRE_TOOLS_AUTO] = "auto",
                                        [CF_WIRE_TOOLS_NONE] = "none",
                                        [CF_WIRE_TOOLS_REQUIRED] = "required"};
    if (r->tools != NULL) {
        cf_jb_array(b, "tools");
        for (size_t i = 0; i < json_array_size(r->tools); i++) {
            json_t *f = json_object_get(json_array_get(r->tools, i), "function");
            json_t *flat = json_pack("{s:s}", "type", "function");
            cf_jb_take(b, NULL, flat);
            if (flat != NULL && json_object_update(flat, f) != 0) {
                cf_jb_fail(b);
            }
        }
        cf_jb_end(b);
    }
    if (r->tool_choice == CF_WIRE_TOOLS_NAMED) {
        cf_jb_pack(b, "tool_choice", "{s:s, s:s}", "type", "function", "name", r->tool_name);
    } else if (r->tool_choice != CF_WIRE_TOOLS_UNSET) {
        cf_jb_text(b, "tool_choice", words[r->tool_choice]);
    }
    if (r->has_one_call) {
        cf_jb_bool(b, "parallel_tool_calls", false);
    }
}

static void write_request(const cf_wire_request *r, const json_t *messages, cf_jb *b)
{
    const json_t *first = json_array_get(messages, 0);
    const json_t *rules = json_object_get(first, "content");
    const bool has_rules =
        cf_str_is(cf_json_get_str(first, "role"), "system") && json_is_string(rules);
    cf_jb_text(b, "model", r->model);
    if (has_rules) {
        cf_jb_add(b, "instructions", rules);
    }
    cf_jb_array(b, "input");
    for (size_t i = has_rules; i < json_array_size(messages); i++) {
        write_message(json_array_get(messages, i), b);
    }
    cf_jb_end(b);
    write_tools(r, b);
    if (r->format != NULL) {
        cf_jb_pack(b, "text", "{s:O}", "format", r->format);
    }
    if (r->previous[0] != '\0') {
        cf_jb_text(b, "previous_response_id", r->previous);
    }
    if (r->is_stream) {
        cf_jb_bool(b, "stream", true);
    }
}

/* ---- answers, read ------------------------------------------------------ */

/* What a list of items says, in one piece each. */
typedef struct said {
    cf_buf content, refusal, thinking;
    const json_t *signature; /* NULL: none */
    const json_t *call[CF_WIRE_CALLS_MAX];
    size_t n_calls;
} said;

static void collect(said *s, const json_t *output)
{
    for (size_t i = 0; i < json_array_size(output); i++) {
        const json_t *item = json_array_get(output, i);
        const json_t *parts = json_object_get(item, "content");
        cf_str type = cf_json_get_str(item, "type");
        if (is_call(type) && s->n_calls < CF_WIRE_CALLS_MAX) {
            s->call[s->n_calls++] = item;
        } else if (cf_str_is(type, "reasoning")) {
            reasoning_text(&s->thinking, item);
            s->signature = json_object_get(item, "encrypted_content");
        } else if (cf_json_get_str(item, "role").n != 0) {
            cf_wire__content_text(&s->content, parts);
            for (size_t k = 0; k < json_array_size(parts); k++) {
                cf_str refusal = cf_json_get_str(json_array_get(parts, k), "refusal");
                cf_buf_add(&s->refusal, refusal.p, refusal.n);
            }
        }
    }
}

static bool goes_on(const cf_buf *whole, const cf_buf *so_far)
{
    return cf_str_starts(cf_buf_str(whole), cf_buf_str(so_far));
}

static void emit_rest(cf_wire_reader *r, cf_wire_event_kind kind, const cf_buf *whole, size_t from)
{
    if (whole->n > from) { /* else there may be no text at all */
        cf_wire__emit_text(r, 0, kind, cf_str_make(whole->p + from, whole->n - from));
    }
}

/* A finished response repeats the whole reply.  Emits only what the deltas have
 * not given yet; where they contradict it, starts the reply over. */
static void emit_output(cf_wire_reader *r, const json_t *output)
{
    cf_wire_choice *c = &r->reply.choice[0];
    said s = {.signature = NULL};
    collect(&s, output);
    bool fits = goes_on(&s.content, &c->content) && goes_on(&s.thinking, &c->thinking) &&
                goes_on(&s.refusal, &c->refusal) && c->n_calls <= s.n_calls;
    if (!fits) {
        cf_wire__emit(r, &(cf_wire_event){.kind = CF_WIRE_RESTART});
    }
    emit_rest(r, CF_WIRE_THINKING, &s.thinking, c->thinking.n);
    if (json_is_string(s.signature) && c->signature.n == 0) {
        cf_wire__emit_text(
            r, 0, CF_WIRE_SIGNATURE,
            cf_str_make(json_string_value(s.signature), json_string_length(s.signature)));
    }
    emit_rest(r, CF_WIRE_TEXT, &s.content, c->content.n);
    emit_rest(r, CF_WIRE_REFUSAL, &s.refusal, c->refusal.n);
    for (size_t k = 0; k < s.n_calls; k++) {
        json_t *call = call_of(s.call[k]);
        const json_t *f = json_object_get(call, "function");
        const bool is_told = k < c->n_calls;
        if (call == NULL) {
            r->reply.failed = true;
        } else if (!is_told || c->calls[k].arguments.n == 0) {
            cf_wire__emit_call(r, 0, is_told ? c->calls[k].index : INT64_MIN + (int64_t)k,
                               cf_json_get_str(call, "id"), cf_json_get_str(f, "name"),
                               json_object_get(f, "arguments"));
        }
        json_decref(call);
    }
    r->reply.failed = r->reply.failed || s.content.failed || s.thinking.failed || s.refusal.failed;
    cf_buf_deinit(&s.content);
    cf_buf_deinit(&s.refusal);
    cf_buf_deinit(&s.thinking);
}

static void read_response(cf_wire_reader *r, const json_t *v)
{
    const json_t *output = json_object_get(v, "output");
    const json_t *u = json_object_get(v, "usage");
    cf_wire_usage *usage = &r->reply.usage;
    cf_wire__count(&usage->n_prompt, u, "input_tokens");
    cf_wire__count(&usage->n_reply, u, "output_tokens");
    cf_wire__count(&usage->n_cached, json_object_get(u, "input_tokens_details"), "cached_tokens");
    cf_wire__count(&usage->n_thinking, json_object_get(u, "output_tokens_details"),
                   "reasoning_tokens");
    cf_wire__name(r, cf_json_get_str(v, "id"), cf_json_get_str(v, "model"));
    cf_wire__error(r, json_object_get(v, "error"));
    cf_str status = cf_json_get_str(v, "status");
    if (cf_str_is(status, "in_progress") || cf_str_is(status, "queued")) {
        return;
    }
    cf_str why = cf_json_get_str(json_object_get(v, "incomplete_details"), "reason");
    if (json_array_size(output) > 0) {
        emit_output(r, output);
    }
    if (json_array_size(output) > 0 || r->reply.choice[0].has_any) {
        cf_wire__emit_end(r, 0, why.n != 0 ? why : status);
    }
}

static void read_added(cf_wire_reader *r, const json_t *item, int64_t at)
{
    if (is_call(cf_json_get_str(item, "type"))) {
        cf_wire__emit_call(r, 0, at, cf_json_get_str(item, "call_id"),
                           cf_json_get_str(item, "name"), NULL);
    }
}

static void read_value(cf_wire_reader *r, const json_t *v)
{
    static const struct {
        const char *type;
        cf_wire_event_kind kind;
    } deltas[] = {{"response.output_text.delta", CF_WIRE_TEXT},
                  {"response.refusal.delta", CF_WIRE_REFUSAL},
                  {"response.reasoning_text.delta", CF_WIRE_THINKING},
                  {"response.reasoning_summary_text.delta", CF_WIRE_THINKING},
                  {"response.function_call_arguments.delta", CF_WIRE_CALL},
                  {"response.custom_tool_call_input.delta", CF_WIRE_CALL}};
    const cf_str none = {NULL, 0};
    const json_t *whole = json_object_get(v, "response");
    cf_str type = cf_json_get_str(v, "type");
    int64_t at = json_integer_value(json_object_get(v, "output_index"));
    (void)cf_wire__has_choice(r, 0);
    r->n_pieces++;
    if (whole != NULL) {
        read_response(r, whole);
        r->is_ended = r->is_ended || cf_str_is(type, "response.completed") ||
                      cf_str_is(type, "response.incomplete") || cf_str_is(type, "response.failed");
        return;
    }
    for (size_t i = 0; i < sizeof deltas / sizeof deltas[0]; i++) {
        if (!cf_str_is(type, deltas[i].type)) {
            continue;
        }
        if (deltas[i].kind == CF_WIRE_CALL) {
            cf_wire__emit_call(r, 0, at, none, none, json_object_get(v, "delta"));
        } else {
            cf_wire__emit_text(r, 0, deltas[i].kind, cf_json_get_str(v, "delta"));
        }
        return;
    }
    if (cf_str_is(type, "response.output_item.added")) {
        read_added(r, json_object_get(v, "item"), at);
    } else if (cf_str_is(type, "error")) { /* in an object of its own, from some servers */
        const json_t *error = json_object_get(v, "error");
        cf_wire__error(r, error != NULL ? error : v);
    } else if (cf_str_is(cf_json_get_str(v, "object"), "response")) {
        read_response(r, v);
    }
}

/* ---- answers, written --------------------------------------------------- */

/* What the ids of such items begin with. */
static const char *id_kind(cf_wire_event_kind kind)
{
    return kind == CF_WIRE_CALL ? "fc" : kind == CF_WIRE_THINKING ? "rs" : "msg";
}

/* An item's id: calls have their number, the others theirs from the second of
 * a kind on. */
static void put_id(const cf_wire_writer *w, cf_jw *j, const char *key, size_t part)
{
    const cf_wire_part *parts = w->at[0].parts;
    const char *kind = id_kind(parts[part].kind);
    const bool is_call = parts[part].kind == CF_WIRE_CALL;
    size_t n = is_call ? parts[part].call : 0;
    cf_buf id = CF_BUF_INIT;
    for (size_t i = 0; i < part && !is_call; i++) {
        n += strcmp(id_kind(parts[i].kind), kind) == 0;
    }
    cf_buf_addf(&id, "%s_%s", kind, w->o.id);
    if (is_call || n > 0) {
        cf_buf_addf(&id, "_%zu", n);
    }
    cf_jw_buf(j, key, &id);
    cf_buf_deinit(&id);
}

static void put_text_part(cf_jw *j, const char *key, int kind, cf_str text)
{
    cf_jw_object(j, key);
    cf_jw_text(j, "type",
               kind == CF_WIRE_THINKING  ? "reasoning_text"
               : kind == CF_WIRE_REFUSAL ? "refusal"
                                         : "output_text");
    cf_jw_str(j, kind == CF_WIRE_REFUSAL ? "refusal" : "text", text);
    if (kind == CF_WIRE_TEXT) {
        cf_jw_array(j, "annotations");
        cf_jw_end(j);
    }
    cf_jw_end(j);
}

/* An item as far as it is known; without `is_done` as it begins. */
static void put_item(const cf_wire_writer *w, cf_jw *j, const char *key, size_t part, bool is_done)
{
    const cf_wire_part *p = &w->at[0].parts[part];
    const cf_wire_event_kind kind = p->kind;
    cf_jw_object(j, key);
    put_id(w, j, "id", part);
    cf_jw_text(j, "type",
               kind == CF_WIRE_CALL       ? "function_call"
               : kind == CF_WIRE_THINKING ? "reasoning"
                                          : "message");
    cf_jw_text(j, "status", is_done ? "completed" : "in_progress");
    if (kind == CF_WIRE_CALL) {
        const cf_wire_call *at = &w->reply.choice[0].calls[p->call];
        char id[80];
        cf_wire__call_id(id, w, 0, p->call, cf_buf_str(&at->id));
        cf_jw_text(j, "call_id", id);
        cf_jw_buf(j, "name", &at->name);
        cf_jw_str(j, "arguments", is_done ? cf_buf_str(&at->arguments) : cf_str_make("", 0));
        cf_jw_end(j);
        return;
    }
    if (kind == CF_WIRE_THINKING) {
        cf_jw_array(j, "summary");
        cf_jw_end(j);
        if (is_done && p->signed_to > p->signed_from) {
            cf_jw_str(j, "encrypted_content", cf_wire__part_signature(w, p));
        }
    } else {
        cf_jw_text(j, "role", "assistant");
    }
    cf_jw_array(j, "content");
    if (is_done) {
        put_text_part(j, NULL, kind, cf_wire__part_text(w, p));
    }
    cf_jw_end(j);
    cf_jw_end(j);
}

static void put_usage(const cf_wire_writer *w, cf_jw *j)
{
    const cf_wire_usage *u = &w->reply.usage;
    cf_jw_object(j, "usage");
    cf_jw_int(j, "input_tokens", cf_wire__known(u->n_prompt));
    if (u->n_cached >= 0) {
        cf_jw_object(j, "input_tokens_details");
        cf_jw_int(j, "cached_tokens", u->n_cached);
        cf_jw_end(j);
    }
    cf_jw_int(j, "output_tokens", cf_wire__known(u->n_reply));
    if (u->n_thinking >= 0) {
        cf_jw_object(j, "output_tokens_details");
        cf_jw_int(j, "reasoning_tokens", u->n_thinking);
        cf_jw_end(j);
    }
    cf_jw_int(j, "total_tokens", cf_wire__known(u->n_prompt) + cf_wire__known(u->n_reply));
    cf_jw_end(j);
}

static void put_output(const cf_wire_writer *w, cf_jw *j)
{
    for (size_t i = 0; i < w->at[0].n_parts && !w->reply.failed; i++) {
        put_item(w, j, NULL, i, true);
    }
}

/* The members of a response; those of one that is over say why it ended. */
static void put_response(const cf_wire_writer *w, cf_jw *j, bool is_over)
{
    cf_buf id = CF_BUF_INIT;
    const char *why = cf_wire__word(w, 0);
    const bool is_cut = strcmp(why, ends[0].word) != 0;
    cf_buf_addf(&id, "resp_%s", w->o.id);
    cf_jw_buf(j, "id", &id);
    cf_jw_text(j, "object", "response");
    cf_jw_int(j, "created_at", w->o.created);
    cf_jw_text(j, "status", !is_over ? "in_progress" : is_cut ? "incomplete" : "completed");
    cf_jw_text(j, "model", w->o.model);
    cf_jw_null(j, "error");
    if (is_over && is_cut) {
        cf_jw_object(j, "incomplete_details");
        cf_jw_text(j, "reason", why);
        cf_jw_end(j);
    } else {
        cf_jw_null(j, "incomplete_details");
    }
    cf_jw_array(j, "output");
    if (is_over) {
        put_output(w, j);
    }
    cf_jw_end(j);
    if (is_over) {
        put_usage(w, j);
    }
    cf_buf_deinit(&id);
}

static void begin(cf_wire_writer *w, cf_jw *j, const char *type, cf_buf *out)
{
    cf_wire__frame(j, type, out);
    cf_jw_text(j, "type", type);
    cf_jw_uint(j, "sequence_number", w->at[0].n_sent++);
}

/* The same for an event about an item. */
static void begin_in_item(cf_wire_writer *w, cf_jw *j, const char *type, size_t part, cf_buf *out)
{
    begin(w, j, type, out);
    put_id(w, j, "item_id", part);
    cf_jw_uint(j, "output_index", part);
    if (w->at[0].parts[part].kind != CF_WIRE_CALL) {
        cf_jw_int(j, "content_index", 0);
    }
}

static void write_response_event(cf_wire_writer *w, const char *type, bool is_over, cf_buf *out)
{
    cf_jw j;
    begin(w, &j, type, out);
    cf_jw_object(&j, "response");
    put_response(w, &j, is_over);
    cf_jw_end(&j);
    cf_wire__frame_end(&j);
}

static void write_item_event(cf_wire_writer *w, size_t part, bool is_done, cf_buf *out)
{
    cf_jw j;
    begin(w, &j, is_done ? "response.output_item.done" : "response.output_item.added", out);
    cf_jw_uint(&j, "output_index", part);
    put_item(w, &j, "item", part, is_done);
    cf_wire__frame_end(&j);
}

static const char *event_of(cf_wire_event_kind kind, bool is_done)
{
    switch (kind) {
    case CF_WIRE_CALL:
        return is_done ? "response.function_call_arguments.done"
                       : "response.function_call_arguments.delta";
    case CF_WIRE_THINKING:
        return is_done ? "response.reasoning_text.done" : "response.reasoning_text.delta";
    case CF_WIRE_REFUSAL:
        return is_done ? "response.refusal.done" : "response.refusal.delta";
    default:
        return is_done ? "response.output_text.done" : "response.output_text.delta";
    }
}

static void write_part_event(cf_wire_writer *w, size_t part, bool is_done, cf_buf *out)
{
    const cf_wire_part *p = &w->at[0].parts[part];
    cf_jw j;
    begin_in_item(w, &j, is_done ? "response.content_part.done" : "response.content_part.added",
                  part, out);
    put_text_part(&j, "part", p->kind, is_done ? cf_wire__part_text(w, p) : cf_str_make("", 0));
    cf_wire__frame_end(&j);
}

static void close_item(cf_wire_writer *w, cf_buf *out)
{
    cf_wire_writing *at = &w->at[0];
    cf_jw j;
    if (at->open < 0) {
        return;
    }
    const size_t part = (size_t)at->open;
    const cf_wire_part *p = &at->parts[part];
    begin_in_item(w, &j, event_of(p->kind, true), part, out);
    if (p->kind == CF_WIRE_CALL) {
        cf_jw_buf(&j, "arguments", &w->reply.choice[0].calls[p->call].arguments);
    } else {
        cf_jw_str(&j, p->kind == CF_WIRE_REFUSAL ? "refusal" : "text", cf_wire__part_text(w, p));
    }
    cf_wire__frame_end(&j);
    if (p->kind != CF_WIRE_CALL) {
        write_part_event(w, part, true, out);
    }
    write_item_event(w, part, true, out);
    at->open = -1;
}

static void open_item(cf_wire_writer *w, const cf_wire_event *e, cf_buf *out)
{
    cf_wire_writing *at = &w->at[0];
    close_item(w, out);
    if (e->kind == CF_WIRE_CALL) { /* its name and id are in the first event */
        cf_wire_event head = *e;
        head.text.n = 0;
        cf_wire_reply_add(&w->reply, &head);
        if (w->reply.failed) {
            out->failed = true;
            return;
        }
    }
    at->open = (int)at->part;
    at->parts[at->part].has_begun = true;
    write_item_event(w, at->part, false, out);
    if (e->kind != CF_WIRE_CALL) {
        write_part_event(w, at->part, false, out);
    }
}

static void write_start(cf_wire_writer *w, cf_buf *out)
{
    if (!w->at[0].has_begun) {
        w->at[0].has_begun = true;
        write_response_event(w, "response.created", false, out);
        write_response_event(w, "response.in_progress", false, out);
    }
}

static void write_event(cf_wire_writer *w, const cf_wire_event *e, cf_buf *out)
{
    cf_wire_writing *at = &w->at[0];
    cf_jw j;
    if (e->kind == CF_WIRE_TOKEN || e->kind == CF_WIRE_END) {
        return;
    }
    write_start(w, out);
    if (e->kind == CF_WIRE_BEGIN) {
        return;
    }
    if (!at->parts[at->part].has_begun) {
        open_item(w, e, out);
    }
    /* A signature is a member of the finished item. */
    if (e->kind != CF_WIRE_SIGNATURE && e->text.n > 0 && at->parts[at->part].has_begun) {
        begin_in_item(w, &j, event_of(e->kind, false), at->part, out);
        cf_jw_str(&j, "delta", e->text);
        cf_wire__frame_end(&j);
    }
}

static void write_rest(cf_wire_writer *w, cf_buf *out)
{
    write_start(w, out);
    close_item(w, out);
    const bool is_cut = strcmp(cf_wire__word(w, 0), ends[0].word) != 0;
    write_response_event(w, is_cut ? "response.incomplete" : "response.completed", true, out);
}

static void write_whole(cf_wire_writer *w, cf_buf *out)
{
    cf_jw j;
    cf_jw_init(&j, out);
    cf_jw_object(&j, NULL);
    put_response(w, &j, true);
    cf_jw_end(&j);
    out->failed = out->failed || cf_jw_finish(&j, NULL) != CF_OK;
}

static const char *const members[] = {
    "model",       "instructions",         "input",  "tools", "tool_choice", "parallel_tool_calls",
    "text.format", "previous_response_id", "stream", NULL};

const cf_wire__row cf_wire__openai_responses = {
    .name = "openai-responses",
    .suffix = "/responses",
    .read_request = read_request,
    .write_request = write_request,
    .settings = settings,
    .members = members,
    .read_value = read_value,
    .ends = ends,
    .write_event = write_event,
    .write_rest = write_rest,
    .write_whole = write_whole,
    .error_event = "error",
};
