/*
 * wire_anthropic.c - Anthropic's messages: the system text stands apart, and a
 * message is a list of blocks; results of tools are blocks of the user's.
 */
#include <string.h>

#include "core/wire/wire_impl.h"

static const cf_wire__setting settings[] = {
    {"temperature", NULL},
    {"top_k", NULL},
    {"top_p", NULL},
    {"max_tokens", NULL},
    {"stop", "stop_sequences"},
    {"thinking", "thinking.type"},
    {"thinking_budget", "thinking.budget_tokens"},
    {"reasoning_effort", "output_config.effort"},
    {NULL, NULL},
};

static const cf_wire__end ends[] = {
    {"end_turn", CF_WIRE_STOP_END},      {"stop_sequence", CF_WIRE_STOP_STRING},
    {"max_tokens", CF_WIRE_STOP_LENGTH}, {"model_context_window_exceeded", CF_WIRE_STOP_LENGTH},
    {"tool_use", CF_WIRE_STOP_CALLS},    {"refusal", CF_WIRE_STOP_FILTER},
    {NULL, CF_WIRE_STOP_NONE},
};

/* ---- requests, read ----------------------------------------------------- */

static json_t *read_image(const json_t *block)
{
    const json_t *source = json_object_get(block, "source");
    cf_str url = cf_json_get_str(source, "url");
    return url.n != 0 ? cf_wire__image_part(url)
                      : cf_wire__data_part(cf_json_get_str(source, "media_type"),
                                           cf_json_get_str(source, "data"));
}

static json_t *read_block(json_t *block)
{
    cf_str type = cf_json_get_str(block, "type");
    return cf_str_is(type, "text")    ? cf_wire__text_part(cf_json_get_str(block, "text"))
           : cf_str_is(type, "image") ? read_image(block)
                                      : json_incref(block);
}

static json_t *read_blocks(const json_t *content, cf_jb *b)
{
    if (!json_is_array(content)) {
        return content != NULL ? json_incref(cf_json_ref(content)) : json_null();
    }
    json_t *parts = json_array();
    for (size_t i = 0; i < json_array_size(content); i++) {
        cf_jb_append(b, parts, read_block(json_array_get(content, i)));
    }
    return cf_wire__plain(parts);
}

static json_t *read_result(const json_t *block, cf_jb *b)
{
    json_t *m =
        cf_wire__message(cf_str_from("tool"), read_blocks(json_object_get(block, "content"), b));
    cf_jb_set(b, m, "tool_call_id", cf_json_str(cf_json_get_str(block, "tool_use_id")));
    return m;
}

/* Thinking of a message; it is signed where it is one block. */
typedef struct thinking {
    cf_buf text;
    cf_str signature;
    size_t n_blocks;
} thinking;

static void read_thinking(thinking *t, const json_t *block)
{
    cf_str text = cf_json_get_str(block, "thinking");
    cf_buf_add(&t->text, text.p, text.n);
    t->signature = t->n_blocks++ == 0 ? cf_json_get_str(block, "signature") : cf_str_make(NULL, 0);
}

static void set_thinking(json_t *m, const thinking *t, cf_jb *b)
{
    if (t->text.n > 0 || t->text.failed) {
        cf_jb_set(b, m, "reasoning_content", cf_json_buf(&t->text));
    }
    if (t->signature.n > 0) {
        cf_jb_set(b, m, "reasoning_signature", cf_json_str(t->signature));
    }
}

/* The blocks of one message: results of tools become messages of their own,
 * which come first, calls and thinking become fields. */
static void read_message(json_t *out, const json_t *in, cf_jb *b)
{
    const json_t *content = json_object_get(in, "content");
    json_t *m = cf_wire__message(cf_json_get_str(in, "role"), json_null());
    json_t *rest = json_array();
    thinking t = {.n_blocks = 0};
    size_t n_results = 0;
    for (size_t i = 0; i < json_array_size(content); i++) {
        json_t *block = json_array_get(content, i);
        cf_str type = cf_json_get_str(block, "type");
        if (cf_str_is(type, "tool_result")) {
            cf_jb_append(b, out, read_result(block, b));
            n_results++;
        } else if (cf_str_is(type, "tool_use")) {
            cf_wire__add_call(b, m,
                              cf_wire__call(cf_json_get_str(block, "id"),
                                            cf_json_get_str(block, "name"),
                                            json_object_get(block, "input")));
        } else if (cf_str_is(type, "thinking")) {
            read_thinking(&t, block);
        } else if (!cf_str_is(type, "redacted_thinking")) { /* readable by its server alone */
            cf_jb_append(b, rest, json_incref(block));
        }
    }
    const size_t n_rest = json_array_size(rest);
    if (!json_is_array(content) || n_rest > 0) {
        json_object_del(m, "content"); /* it stands after the calls */
        cf_jb_set(b, m, "content", read_blocks(json_is_array(content) ? rest : content, b));
    }
    set_thinking(m, &t, b);
    if (n_results == 0 || n_rest > 0) {
        cf_jb_append(b, out, json_incref(m));
    }
    json_decref(m);
    json_decref(rest);
    cf_buf_deinit(&t.text);
}

static void read_tool_choice(cf_wire_request *r, const json_t *body)
{
    const json_t *v = json_object_get(body, "tool_choice");
    cf_str type = cf_json_get_str(v, "type");
    r->tool_choice = cf_str_is(type, "auto")   ? CF_WIRE_TOOLS_AUTO
                     : cf_str_is(type, "any")  ? CF_WIRE_TOOLS_REQUIRED
                     : cf_str_is(type, "none") ? CF_WIRE_TOOLS_NONE
                     : cf_str_is(type, "tool") ? CF_WIRE_TOOLS_NAMED
                                               : CF_WIRE_TOOLS_UNSET;
    cf_wire__copy(r->tool_name, sizeof r->tool_name, cf_json_get_str(v, "name"));
    r->has_one_call = json_is_true(json_object_get(v, "disable_parallel_tool_use"));
}

static cf_status read_request(cf_wire_request *r, const json_t *body, cf_jb *b, cf_error *err)
{
    const json_t *system = json_object_get(body, "system");
    const json_t *list = json_object_get(body, "messages");
    const json_t *format = json_object_get(json_object_get(body, "output_config"), "format");
    CF_TRY(cf_wire__check_messages(list, err));
    if (json_is_string(system) || json_array_size(system) > 0) {
        cf_jb_append(b, r->messages,
                     cf_wire__message(cf_str_from("system"), read_blocks(system, b)));
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        read_message(r->messages, json_array_get(list, i), b);
    }
    cf_wire__tools(r, b, json_object_get(body, "tools"), "input_schema");
    r->format = json_is_object(format) ? json_incref(cf_json_ref(format)) : NULL;
    r->has_usage = true;
    read_tool_choice(r, body);
    return CF_OK;
}

/* ---- requests, written -------------------------------------------------- */

static void write_block(json_t *part, cf_jb *b)
{
    cf_wire__image image;
    if (json_is_string(json_object_get(part, "text"))) {
        cf_jb_pack(b, NULL, "{s:s, s:O}", "type", "text", "text", json_object_get(part, "text"));
    } else if (cf_str_is(cf_json_get_str(part, "type"), "image_url") &&
               cf_wire__media(part, &image)) {
        const bool is_here = image.base64.n > 0;
        cf_jb_object(b, NULL);
        cf_jb_text(b, "type", "image");
        cf_jb_object(b, "source");
        cf_jb_text(b, "type", is_here ? "base64" : "url");
        if (is_here) {
            cf_jb_str(b, "media_type", image.mime);
        }
        cf_jb_str(b, is_here ? "data" : "url", is_here ? image.base64 : image.url);
        cf_jb_end(b);
        cf_jb_end(b);
    } else {
        cf_jb_add(b, NULL, part);
    }
}

/* The blocks of a content, in the list that is open. */
static void write_blocks(const json_t *content, cf_jb *b)
{
    if (json_string_length(content) > 0) {
        cf_jb_pack(b, NULL, "{s:s, s:O}", "type", "text", "text", content);
    }
    for (size_t i = 0; i < json_array_size(content); i++) {
        write_block(json_array_get(content, i), b);
    }
}

static void write_content(const char *key, const json_t *content, cf_jb *b)
{
    if (!json_is_array(content)) {
        cf_jb_add(b, key, content);
        return;
    }
    cf_jb_array(b, key);
    write_blocks(content, b);
    cf_jb_end(b);
}

static void write_result(const json_t *m, cf_jb *b)
{
    const json_t *content = json_object_get(m, "content");
    cf_jb_object(b, NULL);
    cf_jb_text(b, "type", "tool_result");
    cf_jb_add(b, "tool_use_id", json_object_get(m, "tool_call_id"));
    if (content != NULL && !json_is_null(content)) {
        write_content("content", content, b);
    }
    cf_jb_end(b);
}

static void write_reply(const json_t *m, cf_jb *b)
{
    const json_t *calls = json_object_get(m, "tool_calls");
    const json_t *thought = json_object_get(m, "reasoning_content");
    const json_t *signature = json_object_get(m, "reasoning_signature");
    cf_jb_array(b, "content");
    if (json_is_string(thought)) {
        cf_jb_pack(b, NULL, "{s:s, s:O, s:O*}", "type", "thinking", "thinking", thought,
                   "signature", signature);
    }
    write_blocks(json_object_get(m, "content"), b);
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        cf_jb_object(b, NULL);
        cf_jb_text(b, "type", "tool_use");
        cf_jb_add(b, "id", json_object_get(call, "id"));
        cf_jb_str(b, "name", cf_wire__call_name(call));
        cf_jb_take(b, "input", cf_wire__arguments(call));
        cf_jb_end(b);
    }
    cf_jb_end(b);
}

static bool is_role(const json_t *m, const char *role)
{
    return cf_str_is(cf_json_get_str(m, "role"), role);
}

static bool is_system(const json_t *m)
{
    return is_role(m, "system") || is_role(m, "developer");
}

/* Results that stand together are one message of the user's.  Returns how many
 * messages were written. */
static size_t write_message(const json_t *messages, size_t i, cf_jb *b)
{
    const json_t *m = json_array_get(messages, i);
    size_t n = 1;
    cf_jb_object(b, NULL);
    cf_jb_text(b, "role", is_role(m, "assistant") ? "assistant" : "user");
    if (is_role(m, "tool")) {
        cf_jb_array(b, "content");
        for (n = 0; is_role(json_array_get(messages, i + n), "tool"); n++) {
            write_result(json_array_get(messages, i + n), b);
        }
        cf_jb_end(b);
    } else if (json_object_get(m, "tool_calls") != NULL ||
               json_object_get(m, "reasoning_content") != NULL) {
        write_reply(m, b);
    } else {
        write_content("content", json_object_get(m, "content"), b);
    }
    cf_jb_end(b);
    return n;
}

static void write_system(const json_t *messages, cf_jb *b)
{
    size_t n = 0, first = 0;
    for (size_t i = json_array_size(messages); i > 0; i--) {
        if (is_system(json_array_get(messages, i - 1))) {
            first = i - 1;
            n++;
        }
    }
    if (n == 1) {
        write_content("system", json_object_get(json_array_get(messages, first), "content"), b);
    } else if (n > 1) {
        cf_jb_array(b, "system");
        for (size_t i = 0; i < json_array_size(messages); i++) {
            const json_t *m = json_array_get(messages, i);
            write_blocks(is_system(m) ? json_object_get(m, "content") : NULL, b);
        }
        cf_jb_end(b);
    }
}

static void write_tools(const cf_wire_request *r, cf_jb *b)
{
    static const char *const types[] = {[CF_WIRE_TOOLS_UNSET] = "auto",
                                        [CF_WIRE_TOOLS_AUTO] = "auto",
                                        [CF_WIRE_TOOLS_NONE] = "none",
                                        [CF_WIRE_TOOLS_REQUIRED] = "any",
                                        [CF_WIRE_TOOLS_NAMED] = "tool"};
    if (r->tools != NULL) {
        cf_jb_array(b, "tools");
        for (size_t i = 0; i < json_array_size(r->tools); i++) {
            json_t *f = json_object_get(json_array_get(r->tools, i), "function");
            json_t *schema = json_object_get(f, "parameters");
            json_t *flat = cf_json_copy(f);
            json_object_del(flat, "parameters");
            cf_jb_take(b, NULL, flat);
            cf_jb_set(b, flat, "input_schema",
                      schema != NULL ? json_incref(schema) : json_pack("{s:s}", "type", "object"));
        }
        cf_jb_end(b);
    }
    if (r->tool_choice != CF_WIRE_TOOLS_UNSET || r->has_one_call) {
        cf_jb_object(b, "tool_choice");
        cf_jb_text(b, "type", types[r->tool_choice]);
        if (r->tool_choice == CF_WIRE_TOOLS_NAMED) {
            cf_jb_text(b, "name", r->tool_name);
        }
        if (r->has_one_call) {
            cf_jb_bool(b, "disable_parallel_tool_use", true);
        }
        cf_jb_end(b);
    }
}

enum { MAX_TOKENS = 4096 }; /* the interface wants a limit */

static void write_request(const cf_wire_request *r, const json_t *messages, cf_jb *b)
{
    cf_jb_text(b, "model", r->model);
    if (json_object_get(r->settings, "max_tokens") == NULL) {
        cf_jb_int(b, "max_tokens", MAX_TOKENS);
    }
    write_system(messages, b);
    cf_jb_array(b, "messages");
    for (size_t i = 0; i < json_array_size(messages);) {
        i += is_system(json_array_get(messages, i)) ? 1 : write_message(messages, i, b);
    }
    cf_jb_end(b);
    write_tools(r, b);
    if (r->format != NULL) {
        cf_jb_pack(b, "output_config", "{s:O}", "format", r->format);
    }
    if (r->is_stream) {
        cf_jb_bool(b, "stream", true);
    }
}

/* ---- answers, read ------------------------------------------------------ */

static void read_usage(cf_wire_reader *r, const json_t *u)
{
    cf_wire_usage *out = &r->reply.usage;
    int64_t fresh = -1;
    cf_wire__count(&fresh, u, "input_tokens");
    cf_wire__count(&out->n_cached, u, "cache_read_input_tokens");
    cf_wire__count(&out->n_written, u, "cache_creation_input_tokens");
    cf_wire__count(&out->n_reply, u, "output_tokens");
    /* Some servers tell 0 where they do not count. */
    if (fresh > 0 || (fresh == 0 && (out->n_cached > 0 || out->n_written > 0))) {
        out->n_prompt = fresh + cf_wire__known(out->n_cached) + cf_wire__known(out->n_written);
    }
}

static void read_reply_block(cf_wire_reader *r, int64_t at, const json_t *block)
{
    cf_str type = cf_json_get_str(block, "type");
    const json_t *input = json_object_get(block, "input");
    if (cf_str_is(type, "text")) {
        cf_wire__emit_text(r, 0, CF_WIRE_TEXT, cf_json_get_str(block, "text"));
    } else if (cf_str_is(type, "thinking")) {
        cf_wire__emit_text(r, 0, CF_WIRE_THINKING, cf_json_get_str(block, "thinking"));
        cf_wire__emit_text(r, 0, CF_WIRE_SIGNATURE, cf_json_get_str(block, "signature"));
    } else if (cf_str_is(type, "tool_use")) { /* a stream begins with {} */
        cf_wire__emit_call(r, 0, at, cf_json_get_str(block, "id"), cf_json_get_str(block, "name"),
                           json_object_size(input) > 0 ? input : NULL);
    }
}

static void read_reply(cf_wire_reader *r, const json_t *m)
{
    const json_t *content = json_object_get(m, "content");
    for (size_t i = 0; i < json_array_size(content); i++) {
        read_reply_block(r, (int64_t)i, json_array_get(content, i));
    }
    read_usage(r, json_object_get(m, "usage"));
    cf_wire__name(r, cf_json_get_str(m, "id"), cf_json_get_str(m, "model"));
    cf_wire__emit_end(r, 0, cf_json_get_str(m, "stop_reason"));
}

static void read_delta(cf_wire_reader *r, const json_t *delta, int64_t at)
{
    const json_t *more = json_object_get(delta, "partial_json");
    cf_wire__emit_text(r, 0, CF_WIRE_TEXT, cf_json_get_str(delta, "text"));
    cf_wire__emit_text(r, 0, CF_WIRE_THINKING, cf_json_get_str(delta, "thinking"));
    cf_wire__emit_text(r, 0, CF_WIRE_SIGNATURE, cf_json_get_str(delta, "signature"));
    if (json_is_string(more)) {
        const cf_str none = {NULL, 0};
        cf_wire__emit_call(r, 0, at, none, none, more);
    }
}

static void read_value(cf_wire_reader *r, const json_t *v)
{
    cf_str type = cf_json_get_str(v, "type");
    const json_t *delta = json_object_get(v, "delta");
    int64_t at = json_integer_value(json_object_get(v, "index"));
    (void)cf_wire__has_choice(r, 0);
    r->n_pieces++;
    if (cf_str_is(type, "message")) {
        read_reply(r, v);
    } else if (cf_str_is(type, "message_start")) {
        read_reply(r, json_object_get(v, "message"));
    } else if (cf_str_is(type, "content_block_start")) {
        read_reply_block(r, at, json_object_get(v, "content_block"));
    } else if (cf_str_is(type, "content_block_delta")) {
        read_delta(r, delta, at);
    } else if (cf_str_is(type, "message_delta")) {
        read_usage(r, json_object_get(v, "usage"));
        cf_wire__emit_end(r, 0, cf_json_get_str(delta, "stop_reason"));
    } else if (cf_str_is(type, "message_stop")) {
        r->is_ended = true;
    }
}

/* ---- answers, written --------------------------------------------------- */

static void put_usage(const cf_wire_writer *w, cf_jw *j)
{
    const cf_wire_usage *u = &w->reply.usage;
    const int64_t kept = cf_wire__known(u->n_cached) + cf_wire__known(u->n_written);
    cf_jw_object(j, "usage");
    cf_jw_int(j, "input_tokens", cf_wire__known(u->n_prompt - kept));
    if (u->n_written >= 0) {
        cf_jw_int(j, "cache_creation_input_tokens", u->n_written);
    }
    if (u->n_cached >= 0) {
        cf_jw_int(j, "cache_read_input_tokens", u->n_cached);
    }
    cf_jw_int(j, "output_tokens", cf_wire__known(u->n_reply));
    cf_jw_end(j);
}

static void put_head(const cf_wire_writer *w, cf_jw *j)
{
    cf_buf id = CF_BUF_INIT;
    cf_buf_addf(&id, "msg_%s", w->o.id);
    cf_jw_buf(j, "id", &id);
    cf_jw_text(j, "type", "message");
    cf_jw_text(j, "role", "assistant");
    cf_jw_text(j, "model", w->o.model);
    cf_buf_deinit(&id);
}

static void put_tool_use(const cf_wire_writer *w, size_t k, cf_str id, cf_str name, cf_jw *j)
{
    char made[80];
    cf_wire__call_id(made, w, 0, k, id);
    cf_jw_text(j, "type", "tool_use");
    cf_jw_text(j, "id", made);
    cf_jw_str(j, "name", name);
}

/* Refusals are text here. */
static void put_block(const cf_wire_writer *w, const cf_wire_part *p, cf_jw *j)
{
    cf_jw_object(j, NULL);
    if (p->kind == CF_WIRE_CALL) {
        const cf_wire_call *call = &w->reply.choice[0].calls[p->call];
        put_tool_use(w, p->call, cf_buf_str(&call->id), cf_buf_str(&call->name), j);
        cf_wire__put_arguments(j, "input", &call->arguments);
    } else {
        const char *type = p->kind == CF_WIRE_THINKING ? "thinking" : "text";
        cf_jw_text(j, "type", type);
        cf_jw_str(j, type, cf_wire__part_text(w, p));
        if (p->kind == CF_WIRE_THINKING) {
            cf_jw_str(j, "signature", cf_wire__part_signature(w, p));
        }
    }
    cf_jw_end(j);
}

static void put_content(const cf_wire_writer *w, cf_jw *j)
{
    cf_jw_array(j, "content");
    for (size_t i = 0; i < w->at[0].n_parts && !w->reply.failed; i++) {
        put_block(w, &w->at[0].parts[i], j);
    }
    cf_jw_end(j);
}

static void write_whole(cf_wire_writer *w, cf_buf *out)
{
    cf_jw j;
    cf_jw_init(&j, out);
    cf_jw_object(&j, NULL);
    put_head(w, &j);
    put_content(w, &j);
    cf_jw_text(&j, "stop_reason", cf_wire__word(w, 0));
    cf_jw_null(&j, "stop_sequence");
    put_usage(w, &j);
    cf_jw_end(&j);
    out->failed = out->failed || cf_jw_finish(&j, NULL) != CF_OK;
}

static void begin(cf_jw *j, const char *type, cf_buf *out)
{
    cf_wire__frame(j, type, out);
    cf_jw_text(j, "type", type);
}

static void write_start(cf_wire_writer *w, cf_buf *out)
{
    cf_jw j;
    if (w->at[0].has_begun) {
        return;
    }
    w->at[0].has_begun = true;
    begin(&j, "message_start", out);
    cf_jw_object(&j, "message");
    put_head(w, &j);
    cf_jw_array(&j, "content");
    cf_jw_end(&j);
    cf_jw_null(&j, "stop_reason");
    cf_jw_null(&j, "stop_sequence");
    put_usage(w, &j);
    cf_jw_end(&j);
    cf_wire__frame_end(&j);
}

static void close_block(cf_wire_writer *w, cf_buf *out)
{
    cf_wire_writing *at = &w->at[0];
    cf_jw j;
    if (at->open >= 0) {
        begin(&j, "content_block_stop", out);
        cf_jw_int(&j, "index", at->open);
        cf_wire__frame_end(&j);
        at->open = -1;
    }
}

static void open_block(cf_wire_writer *w, const cf_wire_event *e, cf_buf *out)
{
    cf_wire_writing *at = &w->at[0];
    cf_wire_part *p = &at->parts[at->part];
    cf_jw j;
    close_block(w, out);
    at->open = (int)at->part;
    p->has_begun = true;
    begin(&j, "content_block_start", out);
    cf_jw_uint(&j, "index", at->part);
    cf_jw_object(&j, "content_block");
    if (p->kind == CF_WIRE_CALL) {
        put_tool_use(w, e->call, e->id, e->name, &j);
        cf_jw_object(&j, "input");
        cf_jw_end(&j);
    } else {
        const bool is_thinking = p->kind == CF_WIRE_THINKING;
        cf_jw_text(&j, "type", is_thinking ? "thinking" : "text");
        cf_jw_text(&j, is_thinking ? "thinking" : "text", "");
        if (is_thinking) {
            cf_jw_text(&j, "signature", "");
        }
    }
    cf_jw_end(&j);
    cf_wire__frame_end(&j);
}

static void write_delta(cf_wire_writer *w, const cf_wire_event *e, cf_buf *out)
{
    static const struct {
        const char *type, *key;
    } deltas[] = {[CF_WIRE_TEXT] = {"text_delta", "text"},
                  [CF_WIRE_THINKING] = {"thinking_delta", "thinking"},
                  [CF_WIRE_SIGNATURE] = {"signature_delta", "signature"},
                  [CF_WIRE_REFUSAL] = {"text_delta", "text"},
                  [CF_WIRE_CALL] = {"input_json_delta", "partial_json"}};
    cf_jw j;
    begin(&j, "content_block_delta", out);
    cf_jw_uint(&j, "index", w->at[0].part);
    cf_jw_object(&j, "delta");
    cf_jw_text(&j, "type", deltas[e->kind].type);
    cf_jw_str(&j, deltas[e->kind].key, e->text);
    cf_jw_end(&j);
    cf_wire__frame_end(&j);
}

static void write_event(cf_wire_writer *w, const cf_wire_event *e, cf_buf *out)
{
    const cf_wire_writing *at = &w->at[0];
    if (e->kind == CF_WIRE_TOKEN || e->kind == CF_WIRE_END) {
        return;
    }
    write_start(w, out);
    if (e->kind == CF_WIRE_BEGIN) {
        return;
    }
    if (!at->parts[at->part].has_begun) {
        open_block(w, e, out);
    }
    if (e->text.n > 0) {
        write_delta(w, e, out);
    }
}

static void write_rest(cf_wire_writer *w, cf_buf *out)
{
    cf_jw j;
    write_start(w, out);
    close_block(w, out);
    begin(&j, "message_delta", out);
    cf_jw_object(&j, "delta");
    cf_jw_text(&j, "stop_reason", cf_wire__word(w, 0));
    cf_jw_null(&j, "stop_sequence");
    cf_jw_end(&j);
    put_usage(w, &j);
    cf_wire__frame_end(&j);
    begin(&j, "message_stop", out);
    cf_wire__frame_end(&j);
}

static const char *error_type(unsigned status)
{
    static const struct {
        unsigned status;
        const char *word;
    } rows[] = {{400, "invalid_request_error"}, {401, "authentication_error"},
                {403, "permission_error"},      {404, "not_found_error"},
                {405, "not_found_error"},       {413, "request_too_large"},
                {429, "rate_limit_error"},      {503, "overloaded_error"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].status == status) {
            return rows[i].word;
        }
    }
    return status < 500 ? "invalid_request_error" : "api_error";
}

static const char *const members[] = {"model",
                                      "system",
                                      "messages",
                                      "tools",
                                      "tool_choice.type",
                                      "tool_choice.name",
                                      "tool_choice.disable_parallel_tool_use",
                                      "output_config.format",
                                      "stream",
                                      NULL};
static const char *const message_members[] = {"role", "content", NULL};

const cf_wire__row cf_wire__anthropic_messages = {
    .name = "anthropic-messages",
    .suffix = "/v1/messages",
    .read_request = read_request,
    .write_request = write_request,
    .settings = settings,
    .members = members,
    .message_members = message_members,
    .message_list = "messages",
    .read_value = read_value,
    .ends = ends,
    .write_event = write_event,
    .write_rest = write_rest,
    .write_whole = write_whole,
    .error_event = "error",
    .error_type = error_type,
};
