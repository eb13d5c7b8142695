/*
 * scripted_form.c - writes answers: OpenAI's chat and responses, Anthropic's
 * messages, Ollama's chat; whole and as streams.
 *
 * A text is streamed in pieces of a few characters, so that a client's code
 * for streams has something to join.
 */
#include "tui/serve/proxy/scripted_form.h"

#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"

enum { PIECE = 12 };

bool cf_scripted__writes(cf_api api)
{
    return api == CF_API_OPENAI_CHAT || api == CF_API_OPENAI_RESPONSES ||
           api == CF_API_ANTHROPIC_MESSAGES || api == CF_API_OLLAMA_CHAT;
}

const char *cf_scripted__type(cf_api api, bool is_stream)
{
    return !is_stream                  ? "application/json"
           : api == CF_API_OLLAMA_CHAT ? "application/x-ndjson"
                                       : "text/event-stream";
}

/* ---- parts -------------------------------------------------------------- */

/* One answer on its way. */
typedef struct writing {
    cf_buf *out;
    const json_t *reply;
    const char *model, *id;
} writing;

/* A part of an object; `v` is taken over. */
static json_t *with(json_t *object, const char *key, json_t *v)
{
    if (v != NULL && object != NULL) {
        json_object_set_new(object, key, v);
    } else {
        json_decref(v);
    }
    return object;
}

static json_t *text_of(const json_t *reply, const char *key)
{
    json_t *v = json_object_get(reply, key);
    return json_is_string(v) ? json_incref(v) : json_string("");
}

static const json_t *calls_of(const json_t *reply)
{
    return json_object_get(reply, "calls");
}

static json_t *name_of(const json_t *call)
{
    return cf_json_ref(json_object_get(call, "name"));
}

static json_t *arguments_of(const json_t *call)
{
    json_t *v = json_object_get(call, "arguments");
    return v != NULL ? json_incref(v) : json_object();
}

/* The arguments as a text. */
static json_t *written_arguments(const json_t *call)
{
    cf_buf text = CF_BUF_INIT;
    json_t *v = arguments_of(call);
    cf_json_write(&text, v);
    json_decref(v);
    json_t *out = json_stringn(cf_buf_cstr(&text), text.n);
    cf_buf_deinit(&text);
    return out;
}

static json_int_t usage_of(const json_t *reply, const char *key)
{
    return json_integer_value(json_object_get(json_object_get(reply, "usage"), key));
}

static json_t *call_id(const writing *w, size_t i)
{
    return json_sprintf("call_%s_%zu", w->id, i);
}

/* Writes an event and forgets it; `name` NULL: without one. */
static void event(writing *w, const char *name, json_t *v)
{
    if (name != NULL) {
        cf_buf_addf(w->out, "event: %s\n", name);
    }
    cf_buf_adds(w->out, "data: ");
    cf_json_write(w->out, v);
    cf_buf_adds(w->out, "\n\n");
    json_decref(v);
}

/* Calls fn for each piece of a text of the reply. */
static void each_piece(writing *w, const char *key,
                       void (*fn)(writing *w, const char *key, json_t *piece))
{
    cf_str text = cf_json_get_str(w->reply, key);
    for (size_t at = 0; at < text.n;) {
        size_t n = text.n - at < PIECE ? text.n - at : PIECE;
        n -= at + n < text.n ? cf_utf8_incomplete_tail(text.p + at, n) : 0;
        fn(w, key, json_stringn(text.p + at, n));
        at += n;
    }
}

/* ---- OpenAI's chat ------------------------------------------------------ */

static json_t *chat_call(const writing *w, size_t i, bool has_index)
{
    const json_t *call = json_array_get(calls_of(w->reply), i);
    json_t *v = json_pack("{s:o, s:s, s:{s:O, s:o}}", "id", call_id(w, i), "type", "function",
                          "function", "name", name_of(call), "arguments", written_arguments(call));
    return has_index ? with(v, "index", json_integer((json_int_t)i)) : v;
}

static json_t *chat_calls(const writing *w, bool has_index)
{
    size_t n = json_array_size(calls_of(w->reply));
    json_t *list = n > 0 ? json_array() : NULL;
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, chat_call(w, i, has_index));
    }
    return list;
}

static json_t *chat_usage(const writing *w)
{
    json_int_t a = usage_of(w->reply, "prompt_tokens");
    json_int_t b = usage_of(w->reply, "completion_tokens");
    return json_pack("{s:I, s:I, s:I}", "prompt_tokens", a, "completion_tokens", b, "total_tokens",
                     a + b);
}

static const char *chat_end(const writing *w)
{
    return json_array_size(calls_of(w->reply)) > 0 ? "tool_calls" : "stop";
}

static json_t *chat_frame(const writing *w, const char *object)
{
    return json_pack("{s:s+, s:s, s:i, s:s}", "id", "chatcmpl-", w->id, "object", object, "created",
                     0, "model", w->model);
}

static void chat_chunk(writing *w, json_t *delta, const char *end)
{
    json_t *choice = json_pack("{s:i, s:o}", "index", 0, "delta", delta);
    with(choice, "finish_reason", end != NULL ? json_string(end) : json_null());
    event(w, NULL,
          with(chat_frame(w, "chat.completion.chunk"), "choices", json_pack("[o]", choice)));
}

static void chat_piece(writing *w, const char *key, json_t *piece)
{
    const bool is_text = strcmp(key, "text") == 0;
    chat_chunk(w, with(json_object(), is_text ? "content" : "reasoning_content", piece), NULL);
}

static void write_chat(writing *w, bool is_stream)
{
    if (is_stream) {
        chat_chunk(w, json_pack("{s:s, s:s}", "role", "assistant", "content", ""), NULL);
        each_piece(w, "thinking", chat_piece);
        each_piece(w, "text", chat_piece);
        json_t *calls = chat_calls(w, true);
        if (calls != NULL) {
            chat_chunk(w, with(json_object(), "tool_calls", calls), NULL);
        }
        chat_chunk(w, json_object(), chat_end(w));
        event(w, NULL,
              with(with(chat_frame(w, "chat.completion.chunk"), "choices", json_array()), "usage",
                   chat_usage(w)));
        cf_buf_adds(w->out, "data: [DONE]\n\n");
        return;
    }
    json_t *message =
        json_pack("{s:s, s:o}", "role", "assistant", "content", text_of(w->reply, "text"));
    with(message, "tool_calls", chat_calls(w, false));
    if (json_object_get(w->reply, "thinking") != NULL) {
        with(message, "reasoning_content", text_of(w->reply, "thinking"));
    }
    json_t *choice =
        json_pack("{s:i, s:o, s:s}", "index", 0, "message", message, "finish_reason", chat_end(w));
    json_t *v = with(chat_frame(w, "chat.completion"), "choices", json_pack("[o]", choice));
    with(v, "usage", chat_usage(w));
    cf_json_write(w->out, v);
    json_decref(v);
}

/* ---- OpenAI's responses ------------------------------------------------- */

static json_t *output_text(json_t *text)
{
    return json_pack("{s:s, s:o, s:[]}", "type", "output_text", "text", text, "annotations");
}

/* Item i of the output: the text first, if there is one, then the calls. */
static json_t *response_item(const writing *w, size_t i)
{
    const bool has_text = cf_json_get_str(w->reply, "text").n > 0;
    if (has_text && i == 0) {
        return json_pack("{s:s+, s:s, s:s, s:s, s:[o]}", "id", "msg_", w->id, "type", "message",
                         "status", "completed", "role", "assistant", "content",
                         output_text(text_of(w->reply, "text")));
    }
    size_t k = i - has_text;
    const json_t *call = json_array_get(calls_of(w->reply), k);
    return json_pack("{s:o, s:s, s:s, s:o, s:O, s:o}", "id", json_sprintf("fc_%s_%zu", w->id, k),
                     "type", "function_call", "status", "completed", "call_id", call_id(w, k),
                     "name", name_of(call), "arguments", written_arguments(call));
}

static size_t n_items(const writing *w)
{
    return (cf_json_get_str(w->reply, "text").n > 0) + json_array_size(calls_of(w->reply));
}

static json_t *response(const writing *w, const char *status, bool has_output)
{
    json_t *list = json_array();
    for (size_t i = 0; has_output && i < n_items(w); i++) {
        json_array_append_new(list, response_item(w, i));
    }
    json_int_t a = usage_of(w->reply, "prompt_tokens");
    json_int_t b = usage_of(w->reply, "completion_tokens");
    return json_pack("{s:s+, s:s, s:i, s:s, s:s, s:o, s:{s:I, s:I, s:I}}", "id", "resp_", w->id,
                     "object", "response", "created_at", 0, "status", status, "model", w->model,
                     "output", list, "usage", "input_tokens", a, "output_tokens", b, "total_tokens",
                     a + b);
}

static void response_event(writing *w, const char *type, json_t *v)
{
    event(w, type, with(v, "type", json_string(type)));
}

static void response_piece(writing *w, const char *key, json_t *piece)
{
    (void)key;
    response_event(w, "response.output_text.delta",
                   json_pack("{s:s+, s:i, s:i, s:o}", "item_id", "msg_", w->id, "output_index", 0,
                             "content_index", 0, "delta", piece));
}

static void write_response_item(writing *w, size_t i)
{
    json_t *item = response_item(w, i);
    json_t *begun = cf_json_copy(item);
    const bool is_text = cf_str_is(cf_json_get_str(item, "type"), "message");
    with(begun, "status", json_string("in_progress"));
    with(begun, is_text ? "content" : "arguments", is_text ? json_array() : json_string(""));
    response_event(w, "response.output_item.added",
                   json_pack("{s:I, s:o}", "output_index", (json_int_t)i, "item", begun));
    if (is_text) {
        response_event(w, "response.content_part.added",
                       json_pack("{s:s+, s:i, s:i, s:o}", "item_id", "msg_", w->id, "output_index",
                                 0, "content_index", 0, "part", output_text(json_string(""))));
        each_piece(w, "text", response_piece);
        response_event(w, "response.output_text.done",
                       json_pack("{s:s+, s:i, s:i, s:o}", "item_id", "msg_", w->id, "output_index",
                                 0, "content_index", 0, "text", text_of(w->reply, "text")));
    } else {
        response_event(w, "response.function_call_arguments.done",
                       json_pack("{s:O, s:I, s:O}", "item_id", json_object_get(item, "id"),
                                 "output_index", (json_int_t)i, "arguments",
                                 json_object_get(item, "arguments")));
    }
    response_event(w, "response.output_item.done",
                   json_pack("{s:I, s:o}", "output_index", (json_int_t)i, "item", item));
}

static void write_responses(writing *w, bool is_stream)
{
    if (!is_stream) {
        json_t *v = response(w, "completed", true);
        cf_json_write(w->out, v);
        json_decref(v);
        return;
    }
    response_event(w, "response.created",
                   json_pack("{s:o}", "response", response(w, "in_progress", false)));
    for (size_t i = 0; i < n_items(w); i++) {
        write_response_item(w, i);
    }
    response_event(w, "response.completed",
                   json_pack("{s:o}", "response", response(w, "completed", true)));
}

/* ---- Anthropic's messages ----------------------------------------------- */

static json_t *messages_head(const writing *w, json_t *content, json_t *stop_reason)
{
    return json_pack("{s:s+, s:s, s:s, s:s, s:o, s:o, s:n, s:{s:I, s:I}}", "id", "msg_", w->id,
                     "type", "message", "role", "assistant", "model", w->model, "content", content,
                     "stop_reason", stop_reason, "stop_sequence", "usage", "input_tokens",
                     usage_of(w->reply, "prompt_tokens"), "output_tokens",
                     usage_of(w->reply, "completion_tokens"));
}

static const char *messages_end(const writing *w)
{
    return json_array_size(calls_of(w->reply)) > 0 ? "tool_use" : "end_turn";
}

static json_t *tool_use(const writing *w, size_t i, bool is_empty)
{
    const json_t *call = json_array_get(calls_of(w->reply), i);
    return json_pack("{s:s, s:o, s:O, s:o}", "type", "tool_use", "id", call_id(w, i), "name",
                     name_of(call), "input", is_empty ? json_object() : arguments_of(call));
}

static void messages_piece(writing *w, const char *key, json_t *piece)
{
    (void)key;
    event(w, "content_block_delta",
          json_pack("{s:s, s:i, s:{s:s, s:o}}", "type", "content_block_delta", "index", 0, "delta",
                    "type", "text_delta", "text", piece));
}

static void block(writing *w, size_t index, json_t *start, json_t *delta)
{
    event(w, "content_block_start",
          json_pack("{s:s, s:I, s:o}", "type", "content_block_start", "index", (json_int_t)index,
                    "content_block", start));
    if (delta == NULL) {
        each_piece(w, "text", messages_piece);
    } else {
        event(w, "content_block_delta",
              json_pack("{s:s, s:I, s:{s:s, s:o}}", "type", "content_block_delta", "index",
                        (json_int_t)index, "delta", "type", "input_json_delta", "partial_json",
                        delta));
    }
    event(w, "content_block_stop",
          json_pack("{s:s, s:I}", "type", "content_block_stop", "index", (json_int_t)index));
}

static void write_messages(writing *w, bool is_stream)
{
    const json_t *calls = calls_of(w->reply);
    const size_t has_text = cf_json_get_str(w->reply, "text").n > 0;
    if (!is_stream) {
        json_t *content = json_array();
        if (has_text) {
            json_array_append_new(content, json_pack("{s:s, s:o}", "type", "text", "text",
                                                     text_of(w->reply, "text")));
        }
        for (size_t i = 0; i < json_array_size(calls); i++) {
            json_array_append_new(content, tool_use(w, i, false));
        }
        json_t *v = messages_head(w, content, json_string(messages_end(w)));
        cf_json_write(w->out, v);
        json_decref(v);
        return;
    }
    event(w, "message_start",
          json_pack("{s:s, s:o}", "type", "message_start", "message",
                    messages_head(w, json_array(), json_null())));
    if (has_text) {
        block(w, 0, json_pack("{s:s, s:s}", "type", "text", "text", ""), NULL);
    }
    for (size_t i = 0; i < json_array_size(calls); i++) {
        block(w, has_text + i, tool_use(w, i, true), written_arguments(json_array_get(calls, i)));
    }
    event(w, "message_delta",
          json_pack("{s:s, s:{s:s, s:n}, s:{s:I}}", "type", "message_delta", "delta", "stop_reason",
                    messages_end(w), "stop_sequence", "usage", "output_tokens",
                    usage_of(w->reply, "completion_tokens")));
    event(w, "message_stop", json_pack("{s:s}", "type", "message_stop"));
}

/* ---- Ollama's chat ------------------------------------------------------ */

static void ollama_line(writing *w, json_t *message, bool is_done)
{
    json_t *v = json_pack("{s:s, s:s, s:o, s:b}", "model", w->model, "created_at",
                          "1970-01-01T00:00:00Z", "message", message, "done", is_done);
    if (is_done) {
        with(v, "done_reason", json_string("stop"));
        with(v, "prompt_eval_count", json_integer(usage_of(w->reply, "prompt_tokens")));
        with(v, "eval_count", json_integer(usage_of(w->reply, "completion_tokens")));
    }
    cf_json_write(w->out, v);
    cf_buf_addc(w->out, '\n');
    json_decref(v);
}

static json_t *ollama_message(json_t *text)
{
    return json_pack("{s:s, s:o}", "role", "assistant", "content", text);
}

static void ollama_piece(writing *w, const char *key, json_t *piece)
{
    (void)key;
    ollama_line(w, ollama_message(piece), false);
}

static void write_ollama(writing *w, bool is_stream)
{
    const json_t *calls = calls_of(w->reply);
    json_t *list = json_array_size(calls) > 0 ? json_array() : NULL;
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        json_array_append_new(list, json_pack("{s:{s:O, s:o}}", "function", "name", name_of(call),
                                              "arguments", arguments_of(call)));
    }
    if (is_stream) {
        each_piece(w, "text", ollama_piece);
    }
    json_t *last = ollama_message(is_stream ? json_string("") : text_of(w->reply, "text"));
    ollama_line(w, with(last, "tool_calls", list), true);
}

void cf_scripted__write(cf_buf *out, cf_api api, bool is_stream, const json_t *reply,
                        const char *model, const char *id)
{
    const uint64_t failures = cf_alloc_failures();
    writing w = {.out = out, .reply = reply, .model = model, .id = id};
    if (api == CF_API_OPENAI_CHAT) {
        write_chat(&w, is_stream);
    } else if (api == CF_API_OPENAI_RESPONSES) {
        write_responses(&w, is_stream);
    } else if (api == CF_API_ANTHROPIC_MESSAGES) {
        write_messages(&w, is_stream);
    } else if (api == CF_API_OLLAMA_CHAT) {
        write_ollama(&w, is_stream);
    }
    out->failed = out->failed || cf_alloc_failures() != failures;
}
