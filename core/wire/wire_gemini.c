/*
 * wire_gemini.c - Gemini's generateContent: messages are lists of parts by the
 * roles "user" and "model", calls and their results are parts, and each value
 * of a stream is an answer of its own.
 *
 * The model's name, and whether an answer is streamed, are in the path.
 */
#include <string.h>

#include "core/api/message_form.h"
#include "core/wire/wire_impl.h"

static const cf_wire__setting settings[] = {
    {"temperature", "generationConfig.temperature"},
    {"top_k", "generationConfig.topK"},
    {"top_p", "generationConfig.topP"},
    {"presence_penalty", "generationConfig.presencePenalty"},
    {"frequency_penalty", "generationConfig.frequencyPenalty"},
    {"seed", "generationConfig.seed"},
    {"n", "generationConfig.candidateCount"},
    {"max_tokens", "generationConfig.maxOutputTokens"},
    {"stop", "generationConfig.stopSequences"},
    {"thinking_budget", "generationConfig.thinkingConfig.thinkingBudget"},
    {"reasoning_effort", "generationConfig.thinkingConfig.thinkingLevel"},
    {NULL, NULL},
};

static const cf_wire__end ends[] = {
    {"STOP", CF_WIRE_STOP_END},         {"STOP", CF_WIRE_STOP_STRING},
    {"STOP", CF_WIRE_STOP_CALLS},       {"MAX_TOKENS", CF_WIRE_STOP_LENGTH},
    {"SAFETY", CF_WIRE_STOP_FILTER},    {"RECITATION", CF_WIRE_STOP_FILTER},
    {"BLOCKLIST", CF_WIRE_STOP_FILTER}, {"PROHIBITED_CONTENT", CF_WIRE_STOP_FILTER},
    {NULL, CF_WIRE_STOP_NONE},
};

/* ---- requests, read ----------------------------------------------------- */

/* A message without a role is the user's. */
static json_t *with_roles(const json_t *contents, cf_jb *b)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(contents); i++) {
        json_t *m = json_array_get(contents, i);
        json_t *copy = cf_json_copy(m);
        cf_str role = cf_json_get_str(m, "role");
        if (role.n == 0 || cf_str_is(role, "model")) {
            cf_jb_set(b, copy, "role", json_string(role.n == 0 ? "user" : "assistant"));
        }
        cf_jb_append(b, list, copy);
    }
    return list;
}

/* A result is an object; one with a single text is that text. */
static json_t *read_response(const json_t *response)
{
    cf_str text = cf_json_get_str(response, "result");
    text = text.p != NULL ? text : cf_json_get_str(response, "output");
    if (json_object_size(response) == 1 && text.p != NULL) {
        return cf_json_str(text);
    }
    cf_buf out = CF_BUF_INIT;
    cf_json_write(&out, response);
    json_t *v = cf_json_buf(&out);
    cf_buf_deinit(&out);
    return v;
}

/* Arguments and results as texts; the thinking's signature is the message's. */
static void add_message(json_t *out, const json_t *formed, cf_jb *b)
{
    const json_t *calls = json_object_get(formed, "tool_calls");
    const json_t *content = json_object_get(formed, "content");
    json_t *m = cf_json_copy(formed);
    if (json_array_size(calls) > 0) {
        (void)json_object_del(m, "tool_calls");
    }
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        json_t *sign = json_object_get(call, "thoughtSignature");
        cf_wire__add_call(
            b, m,
            cf_wire__call(cf_json_get_str(call, "id"), cf_wire__call_name(call),
                          json_object_get(json_object_get(call, "function"), "arguments")));
        if (json_is_string(sign) && json_object_get(m, "reasoning_signature") == NULL) {
            cf_jb_set(b, m, "reasoning_signature", json_incref(sign));
        }
    }
    if (json_array_size(calls) > 0 && json_string_length(content) == 0 && !json_is_array(content)) {
        cf_jb_set(b, m, "content", json_null());
    }
    if (cf_str_is(cf_json_get_str(m, "role"), "tool") && json_is_object(content)) {
        cf_jb_set(b, m, "content", read_response(content));
    }
    cf_jb_append(b, out, m);
}

static void read_tools(cf_wire_request *r, const json_t *tools, cf_jb *b)
{
    json_t *flat = json_array();
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *list = json_object_get(json_array_get(tools, i), "functionDeclarations");
        for (size_t k = 0; k < json_array_size(list); k++) {
            json_t *f = cf_json_copy(json_array_get(list, k));
            json_t *schema = json_object_get(f, "parametersJsonSchema");
            if (schema != NULL) {
                cf_jb_set(b, f, "parameters", json_incref(schema));
            }
            cf_jb_append(b, flat, f);
        }
    }
    cf_wire__tools(r, b, flat, "parameters");
    json_decref(flat);
}

static void read_tool_choice(cf_wire_request *r, const json_t *body)
{
    const json_t *v = json_object_get(json_object_get(body, "toolConfig"), "functionCallingConfig");
    const json_t *names = json_object_get(v, "allowedFunctionNames");
    const json_t *only = json_array_get(names, 0);
    cf_str mode = cf_json_get_str(v, "mode");
    r->tool_choice = cf_str_is(mode, "AUTO")   ? CF_WIRE_TOOLS_AUTO
                     : cf_str_is(mode, "NONE") ? CF_WIRE_TOOLS_NONE
                     : cf_str_is(mode, "ANY")  ? CF_WIRE_TOOLS_REQUIRED
                                               : CF_WIRE_TOOLS_UNSET;
    if (r->tool_choice == CF_WIRE_TOOLS_REQUIRED && json_array_size(names) == 1 &&
        json_string_length(only) > 0) {
        r->tool_choice = CF_WIRE_TOOLS_NAMED;
        cf_wire__copy(r->tool_name, sizeof r->tool_name,
                      cf_str_make(json_string_value(only), json_string_length(only)));
    }
}

static void read_format(cf_wire_request *r, const json_t *body, cf_jb *b)
{
    const json_t *v = json_object_get(body, "generationConfig");
    json_t *schema = json_object_get(v, "responseJsonSchema");
    schema = schema != NULL ? schema : json_object_get(v, "responseSchema");
    if (schema != NULL) {
        r->format = json_pack("{s:s, s:O}", "type", "json_schema", "schema", schema);
    } else if (cf_str_is(cf_json_get_str(v, "responseMimeType"), "application/json")) {
        r->format = json_pack("{s:s}", "type", "json_object");
    } else {
        return;
    }
    if (r->format == NULL) {
        cf_jb_fail(b);
    }
}

static cf_status read_request(cf_wire_request *r, const json_t *body, cf_jb *b, cf_error *err)
{
    const json_t *contents = json_object_get(body, "contents");
    const json_t *system = json_object_get(body, "systemInstruction");
    cf_formed formed;
    if (!json_is_array(contents)) {
        return cf_fail(err, CF_EFORMAT, "the request has no list of contents");
    }
    for (size_t i = 0; i < json_array_size(contents); i++) {
        if (!json_is_object(json_array_get(contents, i))) {
            return cf_fail(err, CF_EFORMAT, "contents[%zu] is not an object", i);
        }
    }
    if (system != NULL) {
        cf_buf text = CF_BUF_INIT;
        cf_wire__content_text(&text, json_object_get(system, "parts"));
        cf_jb_append(b, r->messages, cf_wire__message(cf_str_from("system"), cf_json_buf(&text)));
        cf_buf_deinit(&text);
    }
    json_t *list = with_roles(contents, b);
    cf_status st = list != NULL ? cf_messages_form(&formed, list, err) : cf_oom(err);
    json_decref(list);
    CF_TRY(st);
    for (size_t i = 0; i < json_array_size(formed.messages); i++) {
        add_message(r->messages, json_array_get(formed.messages, i), b);
    }
    cf_formed_deinit(&formed);
    read_tools(r, json_object_get(body, "tools"), b);
    r->has_usage = true;
    read_tool_choice(r, body);
    read_format(r, body, b);
    return CF_OK;
}

/* ---- requests, written -------------------------------------------------- */

static void write_part(json_t *part, cf_jb *b)
{
    cf_wire__image image;
    json_t *text = json_object_get(part, "text");
    if (json_is_string(text)) {
        cf_jb_pack(b, NULL, "{s:O}", "text", text);
    } else if (cf_wire__media(part, &image)) {
        const bool is_here = image.base64.n > 0;
        cf_jb_object(b, NULL);
        cf_jb_object(b, is_here ? "inlineData" : "fileData");
        if (image.mime.n > 0) {
            cf_jb_str(b, "mimeType", image.mime);
        }
        cf_jb_str(b, is_here ? "data" : "fileUri", is_here ? image.base64 : image.url);
        cf_jb_end(b);
        cf_jb_end(b);
    } else {
        cf_jb_add(b, NULL, part);
    }
}

/* The parts of a content, in the list that is open. */
static void write_parts(const json_t *content, cf_jb *b)
{
    if (json_string_length(content) > 0) {
        cf_jb_pack(b, NULL, "{s:O}", "text", content);
    }
    for (size_t i = 0; i < json_array_size(content); i++) {
        write_part(json_array_get(content, i), b);
    }
}

static void write_calls(const json_t *m, cf_jb *b)
{
    const json_t *calls = json_object_get(m, "tool_calls");
    const json_t *signature = json_object_get(m, "reasoning_signature");
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        cf_jb_object(b, NULL);
        cf_jb_object(b, "functionCall");
        cf_jb_add(b, "id", json_object_get(call, "id"));
        cf_jb_str(b, "name", cf_wire__call_name(call));
        cf_jb_take(b, "args", cf_wire__arguments(call));
        cf_jb_end(b);
        if (i == 0 && signature != NULL) {
            cf_jb_add(b, "thoughtSignature", signature);
        }
        cf_jb_end(b);
    }
}

/* The name of the function that a result is of: here a result must say it. */
static cf_str name_of(const json_t *messages, size_t result)
{
    const json_t *m = json_array_get(messages, result);
    cf_str id = cf_json_get_str(m, "tool_call_id");
    cf_str name = cf_json_get_str(m, "name");
    for (size_t i = result; name.n == 0 && i > 0; i--) {
        const json_t *calls = json_object_get(json_array_get(messages, i - 1), "tool_calls");
        for (size_t k = 0; k < json_array_size(calls); k++) {
            const json_t *call = json_array_get(calls, k);
            if (cf_str_eq(cf_json_get_str(call, "id"), id)) {
                name = cf_wire__call_name(call);
            }
        }
    }
    return name;
}

static void write_result(const json_t *messages, size_t i, cf_jb *b)
{
    const json_t *m = json_array_get(messages, i);
    cf_buf text = CF_BUF_INIT;
    cf_wire__content_text(&text, json_object_get(m, "content"));
    cf_jb_object(b, NULL);
    cf_jb_object(b, "functionResponse");
    cf_jb_add(b, "id", json_object_get(m, "tool_call_id"));
    cf_jb_str(b, "name", name_of(messages, i));
    cf_jb_object(b, "response");
    cf_jb_buf(b, "result", &text);
    cf_jb_end(b);
    cf_jb_end(b);
    cf_jb_end(b);
    cf_buf_deinit(&text);
}

static void write_message(const json_t *messages, size_t i, cf_jb *b)
{
    const json_t *m = json_array_get(messages, i);
    json_t *thought = json_object_get(m, "reasoning_content");
    cf_str role = cf_json_get_str(m, "role");
    cf_jb_object(b, NULL);
    cf_jb_text(b, "role", cf_str_is(role, "assistant") ? "model" : "user");
    cf_jb_array(b, "parts");
    if (cf_str_is(role, "tool")) {
        write_result(messages, i, b);
    } else {
        if (json_is_string(thought)) {
            cf_jb_pack(b, NULL, "{s:O, s:b}", "text", thought, "thought", 1);
        }
        write_parts(json_object_get(m, "content"), b);
        write_calls(m, b);
    }
    cf_jb_end(b);
    cf_jb_end(b);
}

static void write_tools(const cf_wire_request *r, cf_jb *b)
{
    static const char *const modes[] = {[CF_WIRE_TOOLS_AUTO] = "AUTO",
                                        [CF_WIRE_TOOLS_NONE] = "NONE",
                                        [CF_WIRE_TOOLS_REQUIRED] = "ANY",
                                        [CF_WIRE_TOOLS_NAMED] = "ANY"};
    if (r->tools != NULL) {
        cf_jb_array(b, "tools");
        cf_jb_object(b, NULL);
        cf_jb_array(b, "functionDeclarations");
        for (size_t i = 0; i < json_array_size(r->tools); i++) {
            json_t *f = cf_json_copy(json_object_get(json_array_get(r->tools, i), "function"));
            json_t *schema = json_incref(json_object_get(f, "parameters"));
            (void)json_object_del(f, "parameters");
            cf_jb_take(b, NULL, f);
            if (schema != NULL) {
                cf_jb_set(b, f, "parametersJsonSchema", schema);
            }
        }
        cf_jb_end(b);
        cf_jb_end(b);
        cf_jb_end(b);
    }
    if (r->tool_choice != CF_WIRE_TOOLS_UNSET) {
        cf_jb_object(b, "toolConfig");
        cf_jb_object(b, "functionCallingConfig");
        cf_jb_text(b, "mode", modes[r->tool_choice]);
        if (r->tool_choice == CF_WIRE_TOOLS_NAMED) {
            cf_jb_pack(b, "allowedFunctionNames", "[s]", r->tool_name);
        }
        cf_jb_end(b);
        cf_jb_end(b);
    }
}

static void write_format(const cf_wire_request *r, cf_jb *b)
{
    const json_t *schema = json_object_get(r->format, "schema");
    if (r->format == NULL) {
        return;
    }
    cf_jb_object(b, "generationConfig");
    cf_jb_text(b, "responseMimeType", "application/json");
    if (schema != NULL) {
        cf_jb_add(b, "responseJsonSchema", schema);
    }
    cf_jb_end(b);
}

static void write_request(const cf_wire_request *r, const json_t *messages, cf_jb *b)
{
    const json_t *first = json_array_get(messages, 0);
    const bool has_system = cf_str_is(cf_json_get_str(first, "role"), "system");
    if (has_system) {
        cf_jb_object(b, "systemInstruction");
        cf_jb_array(b, "parts");
        write_parts(json_object_get(first, "content"), b);
        cf_jb_end(b);
        cf_jb_end(b);
    }
    cf_jb_array(b, "contents");
    for (size_t i = has_system; i < json_array_size(messages); i++) {
        write_message(messages, i, b);
    }
    cf_jb_end(b);
    write_tools(r, b);
    write_format(r, b);
}

/* ---- answers, read ------------------------------------------------------ */

static void read_part(cf_wire_reader *r, size_t choice, const json_t *part)
{
    const json_t *call = json_object_get(part, "functionCall");
    const bool is_thought = json_is_true(json_object_get(part, "thought"));
    cf_wire__emit_text(r, choice, is_thought ? CF_WIRE_THINKING : CF_WIRE_TEXT,
                       cf_json_get_str(part, "text"));
    if (r->reply.choice[choice].signature.n == 0) { /* each part may have its own */
        cf_wire__emit_text(r, choice, CF_WIRE_SIGNATURE, cf_json_get_str(part, "thoughtSignature"));
    }
    if (json_is_object(call)) {
        cf_wire__emit_call(r, choice, (int64_t)r->reply.choice[choice].n_calls,
                           cf_json_get_str(call, "id"), cf_json_get_str(call, "name"),
                           json_object_get(call, "args"));
    }
}

static void read_usage(cf_wire_reader *r, const json_t *u)
{
    cf_wire_usage *out = &r->reply.usage;
    int64_t said = -1;
    cf_wire__count(&out->n_prompt, u, "promptTokenCount");
    cf_wire__count(&out->n_cached, u, "cachedContentTokenCount");
    cf_wire__count(&out->n_thinking, u, "thoughtsTokenCount");
    cf_wire__count(&said, u, "candidatesTokenCount");
    if (said >= 0) { /* without the thinking */
        out->n_reply = said + cf_wire__known(out->n_thinking);
    }
}

static void read_value(cf_wire_reader *r, const json_t *v)
{
    const json_t *list = json_object_get(v, "candidates");
    r->n_pieces += json_array_size(list) > 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const json_t *at = json_object_get(one, "index");
        const json_t *parts = json_object_get(json_object_get(one, "content"), "parts");
        int64_t n = json_is_integer(at) ? json_integer_value(at) : (int64_t)i;
        if (!cf_wire__has_choice(r, n)) {
            continue;
        }
        for (size_t k = 0; k < json_array_size(parts); k++) {
            read_part(r, (size_t)n, json_array_get(parts, k));
        }
        cf_str end = cf_json_get_str(one, "finishReason");
        cf_wire__emit_end(r, (size_t)n, end);
        r->is_ended = r->is_ended || end.n > 0;
    }
    read_usage(r, json_object_get(v, "usageMetadata"));
    cf_wire__name(r, cf_json_get_str(v, "responseId"), cf_json_get_str(v, "modelVersion"));
}

/* ---- answers, written --------------------------------------------------- */

static void put_text(cf_jw *j, cf_str text, bool is_thought)
{
    if (text.n > 0) {
        cf_jw_object(j, NULL);
        cf_jw_str(j, "text", text);
        if (is_thought) {
            cf_jw_bool(j, "thought", true);
        }
        cf_jw_end(j);
    }
}

static void put_signature(cf_jw *j, cf_str signature)
{
    cf_jw_object(j, NULL);
    cf_jw_text(j, "text", "");
    cf_jw_str(j, "thoughtSignature", signature);
    cf_jw_end(j);
}

static void put_calls(const cf_wire_writer *w, size_t i, cf_jw *j)
{
    const cf_wire_choice *c = &w->reply.choice[i];
    for (size_t k = 0; k < c->n_calls; k++) {
        const cf_wire_call *call = &c->calls[k];
        cf_jw_object(j, NULL);
        cf_jw_object(j, "functionCall");
        if (call->id.n > 0) {
            cf_jw_buf(j, "id", &call->id);
        }
        cf_jw_buf(j, "name", &call->name);
        cf_wire__put_arguments(j, "args", &call->arguments);
        cf_jw_end(j);
        cf_jw_end(j);
    }
}

static void begin_candidate(cf_jw *j)
{
    cf_jw_object(j, NULL);
    cf_jw_object(j, "content");
    cf_jw_text(j, "role", "model");
    cf_jw_array(j, "parts");
}

static void end_candidate(const cf_wire_writer *w, size_t i, bool is_over, cf_jw *j)
{
    cf_jw_end(j);
    cf_jw_end(j);
    if (is_over) {
        cf_jw_text(j, "finishReason", cf_wire__word(w, i));
    }
    cf_jw_uint(j, "index", i);
    cf_jw_end(j);
}

static void put_frame(const cf_wire_writer *w, cf_jw *j)
{
    cf_jw_text(j, "modelVersion", w->o.model);
    cf_jw_text(j, "responseId", w->o.id);
}

static void put_usage(const cf_wire_writer *w, cf_jw *j)
{
    const cf_wire_usage *u = &w->reply.usage;
    const int64_t thought = cf_wire__known(u->n_thinking);
    cf_jw_object(j, "usageMetadata");
    cf_jw_int(j, "promptTokenCount", cf_wire__known(u->n_prompt));
    if (u->n_cached >= 0) {
        cf_jw_int(j, "cachedContentTokenCount", u->n_cached);
    }
    cf_jw_int(j, "candidatesTokenCount", cf_wire__known(u->n_reply - thought));
    if (u->n_thinking >= 0) {
        cf_jw_int(j, "thoughtsTokenCount", u->n_thinking);
    }
    cf_jw_int(j, "totalTokenCount", cf_wire__known(u->n_prompt) + cf_wire__known(u->n_reply));
    cf_jw_end(j);
}

/* Calls are whole here, and come with the end. */
static void write_event(cf_wire_writer *w, const cf_wire_event *e, cf_buf *out)
{
    cf_jw j;
    if (e->kind == CF_WIRE_BEGIN || e->kind == CF_WIRE_TOKEN || e->kind == CF_WIRE_CALL ||
        e->kind == CF_WIRE_END) {
        return;
    }
    cf_wire__frame(&j, NULL, out);
    cf_jw_array(&j, "candidates");
    begin_candidate(&j);
    if (e->kind == CF_WIRE_SIGNATURE) {
        put_signature(&j, e->text);
    } else {
        put_text(&j, e->text, e->kind == CF_WIRE_THINKING);
    }
    end_candidate(w, e->choice, false, &j);
    cf_jw_end(&j);
    put_frame(w, &j);
    cf_wire__frame_end(&j);
}

/* An answer with what is left of each choice, or all of it. */
static void put_answer(const cf_wire_writer *w, bool is_whole, cf_jw *j)
{
    cf_jw_array(j, "candidates");
    for (size_t i = 0; i < w->reply.n_choices; i++) {
        const cf_wire_choice *c = &w->reply.choice[i];
        begin_candidate(j);
        if (is_whole) {
            put_text(j, cf_buf_str(&c->thinking), true);
            put_text(j, cf_buf_str(&c->content), false);
            put_text(j, cf_buf_str(&c->refusal), false);
            if (c->signature.n > 0) {
                put_signature(j, cf_buf_str(&c->signature));
            }
        }
        put_calls(w, i, j);
        end_candidate(w, i, true, j);
    }
    cf_jw_end(j);
    put_usage(w, j);
    put_frame(w, j);
}

static void write_rest(cf_wire_writer *w, cf_buf *out)
{
    cf_jw j;
    cf_wire__frame(&j, NULL, out);
    put_answer(w, false, &j);
    cf_wire__frame_end(&j);
}

static void write_whole(cf_wire_writer *w, cf_buf *out)
{
    cf_jw j;
    cf_jw_init(&j, out);
    cf_jw_object(&j, NULL);
    put_answer(w, true, &j);
    cf_jw_end(&j);
    out->failed = out->failed || cf_jw_finish(&j, NULL) != CF_OK;
}

static const char *const members[] = {"contents",
                                      "systemInstruction",
                                      "tools",
                                      "toolConfig.functionCallingConfig",
                                      "generationConfig.responseMimeType",
                                      "generationConfig.responseSchema",
                                      "generationConfig.responseJsonSchema",
                                      NULL};
static const char *const message_members[] = {"role", "parts", NULL};

const cf_wire__row cf_wire__gemini_generate = {
    .name = "gemini-generate",
    .suffix = ":generateContent",
    .suffix2 = ":streamGenerateContent",
    .read_request = read_request,
    .write_request = write_request,
    .settings = settings,
    .members = members,
    .message_members = message_members,
    .message_list = "contents",
    .read_value = read_value,
    .ends = ends,
    .write_event = write_event,
    .write_rest = write_rest,
    .write_whole = write_whole,
};
