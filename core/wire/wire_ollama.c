/*
 * wire_ollama.c - Ollama's chat and generate: images lie beside the text,
 * arguments of calls are objects, settings have an object of their own, and a
 * stream is a JSON value a line.
 */
#include <string.h>
#include <time.h>

#include "core/wire/wire_impl.h"

static const cf_wire__setting settings[] = {
    {"temperature", "options.temperature"},
    {"top_k", "options.top_k"},
    {"top_p", "options.top_p"},
    {"min_p", "options.min_p"},
    {"repeat_penalty", "options.repeat_penalty"},
    {"presence_penalty", "options.presence_penalty"},
    {"frequency_penalty", "options.frequency_penalty"},
    {"repeat_last_n", "options.repeat_last_n"},
    {"seed", "options.seed"},
    {"max_tokens", "options.num_predict"},
    {"stop", "options.stop"},
    {"num_ctx", "options.num_ctx"},
    {"logprobs", NULL},
    {"top_logprobs", NULL},
    {"suffix", NULL},
    {NULL, NULL},
};

static const cf_wire__end ends[] = {
    {"stop", CF_WIRE_STOP_END},    {"stop", CF_WIRE_STOP_STRING},   {"stop", CF_WIRE_STOP_CALLS},
    {"stop", CF_WIRE_STOP_FILTER}, {"length", CF_WIRE_STOP_LENGTH}, {NULL, CF_WIRE_STOP_NONE},
};

/* ---- requests, read ----------------------------------------------------- */

/* Base64 without a type. */
static json_t *with_images(const json_t *images, cf_str text, cf_jb *b)
{
    json_t *parts = json_array();
    for (size_t i = 0; i < json_array_size(images); i++) {
        const json_t *v = json_array_get(images, i);
        cf_jb_append(b, parts,
                     cf_wire__data_part(cf_str_from("image/png"),
                                        cf_str_make(json_string_value(v), json_string_length(v))));
    }
    cf_jb_append(b, parts, cf_wire__text_part(text));
    return parts;
}

static json_t *read_message(const json_t *in, cf_jb *b)
{
    const json_t *images = json_object_get(in, "images");
    json_t *m = cf_json_copy(in);
    if (json_array_size(images) > 0) {
        cf_jb_set(b, m, "content", with_images(images, cf_json_get_str(in, "content"), b));
        (void)json_object_del(m, "images");
    }
    json_t *thinking = json_object_get(m, "thinking");
    if (thinking != NULL) {
        cf_jb_set(b, m, "reasoning_content", json_incref(thinking));
        (void)json_object_del(m, "thinking");
    }
    const json_t *calls = json_object_get(in, "tool_calls");
    if (json_array_size(calls) > 0) {
        (void)json_object_del(m, "tool_calls");
    }
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *c = json_array_get(calls, i);
        const json_t *f = json_object_get(c, "function");
        cf_wire__add_call(b, m,
                          cf_wire__call(cf_json_get_str(c, "id"), cf_json_get_str(f, "name"),
                                        json_object_get(f, "arguments")));
    }
    return m;
}

/* A format is "json" or a schema. */
static void read_rest(cf_wire_request *r, const json_t *body, cf_jb *b)
{
    json_t *think = json_object_get(body, "think");
    json_t *format = json_object_get(body, "format");
    if (json_is_boolean(think)) {
        r->variables = json_pack("{s:O}", "enable_thinking", think);
    } else if (json_is_string(think)) { /* "low", "medium", "high" */
        r->variables = json_pack("{s:O}", "reasoning_effort", think);
    }
    if (json_is_object(format)) {
        r->format = json_pack("{s:s, s:O}", "type", "json_schema", "schema", format);
    } else if (json_string_length(format) > 0) { /* another text is no format */
        const bool is_json = strcmp(json_string_value(format), "json") == 0;
        r->format = json_pack("{s:s}", "type", is_json ? "json_object" : "unknown");
    }
    if ((r->variables == NULL && (json_is_boolean(think) || json_is_string(think))) ||
        (r->format == NULL && (json_is_object(format) || json_string_length(format) > 0))) {
        cf_jb_fail(b);
    }
    r->has_usage = true;
}

static cf_status read_chat(cf_wire_request *r, const json_t *body, cf_jb *b, cf_error *err)
{
    const json_t *list = json_object_get(body, "messages");
    CF_TRY(cf_wire__check_messages(list, err));
    for (size_t i = 0; i < json_array_size(list); i++) {
        cf_jb_append(b, r->messages, read_message(json_array_get(list, i), b));
    }
    cf_wire__tools(r, b, json_object_get(body, "tools"), "parameters");
    read_rest(r, body, b);
    return CF_OK;
}

static cf_status read_generate(cf_wire_request *r, const json_t *body, cf_jb *b, cf_error *err)
{
    const json_t *images = json_object_get(body, "images");
    cf_str system = cf_json_get_str(body, "system");
    cf_str prompt = cf_json_get_str(body, "prompt");
    if (prompt.p == NULL) {
        return cf_fail(err, CF_EFORMAT, "'prompt' must be a text");
    }
    if (system.n != 0) {
        cf_jb_append(b, r->messages, cf_wire__message(cf_str_from("system"), cf_json_str(system)));
    }
    cf_jb_append(b, r->messages,
                 cf_wire__message(cf_str_from("user"), json_array_size(images) > 0
                                                           ? with_images(images, prompt, b)
                                                           : cf_json_str(prompt)));
    read_rest(r, body, b);
    return CF_OK;
}

/* ---- requests, written -------------------------------------------------- */

/* The text and the images of a content, as two members. */
static void write_content(const char *key, const json_t *content, cf_jb *b)
{
    cf_buf text = CF_BUF_INIT;
    cf_wire__image image;
    size_t n = 0;
    cf_wire__content_text(&text, content);
    cf_jb_buf(b, key, &text);
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        if (cf_str_is(cf_json_get_str(part, "type"), "image_url") && cf_wire__media(part, &image) &&
            image.base64.n > 0) {
            if (n++ == 0) {
                cf_jb_array(b, "images");
            }
            cf_jb_str(b, NULL, image.base64);
        }
    }
    if (n > 0) {
        cf_jb_end(b);
    }
    cf_buf_deinit(&text);
}

static void write_message(const json_t *m, cf_jb *b)
{
    static const char *const kept[] = {"tool_call_id", "tool_name"};
    const json_t *calls = json_object_get(m, "tool_calls");
    const json_t *thinking = json_object_get(m, "reasoning_content");
    cf_jb_object(b, NULL);
    cf_jb_add(b, "role", json_object_get(m, "role"));
    write_content("content", json_object_get(m, "content"), b);
    if (thinking != NULL) {
        cf_jb_add(b, "thinking", thinking);
    }
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        if (json_object_get(m, kept[i]) != NULL) {
            cf_jb_add(b, kept[i], json_object_get(m, kept[i]));
        }
    }
    if (json_array_size(calls) > 0) {
        cf_jb_array(b, "tool_calls");
        for (size_t i = 0; i < json_array_size(calls); i++) {
            const json_t *call = json_array_get(calls, i);
            cf_jb_object(b, NULL);
            cf_jb_add(b, "id", json_object_get(call, "id"));
            cf_jb_object(b, "function");
            cf_jb_str(b, "name", cf_wire__call_name(call));
            cf_jb_take(b, "arguments", cf_wire__arguments(call));
            cf_jb_end(b);
            cf_jb_end(b);
        }
        cf_jb_end(b);
    }
    cf_jb_end(b);
}

static void write_rest_of_request(const cf_wire_request *r, cf_jb *b)
{
    const json_t *think = json_object_get(r->variables, "enable_thinking");
    const json_t *effort = json_object_get(r->variables, "reasoning_effort");
    const json_t *schema = json_object_get(r->format, "schema");
    if (schema != NULL) {
        cf_jb_add(b, "format", schema);
    } else if (r->format != NULL) {
        cf_jb_text(b, "format", "json");
    }
    if (think != NULL || effort != NULL) {
        cf_jb_add(b, "think", effort != NULL ? effort : think);
    }
    cf_jb_bool(b, "stream", r->is_stream);
}

static void write_chat(const cf_wire_request *r, const json_t *messages, cf_jb *b)
{
    cf_jb_text(b, "model", r->model);
    cf_jb_array(b, "messages");
    for (size_t i = 0; i < json_array_size(messages); i++) {
        write_message(json_array_get(messages, i), b);
    }
    cf_jb_end(b);
    if (r->tools != NULL) {
        cf_jb_add(b, "tools", r->tools);
    }
    write_rest_of_request(r, b);
}

/* The system text and the last message: this interface has no others. */
static void write_generate(const cf_wire_request *r, const json_t *messages, cf_jb *b)
{
    size_t n = json_array_size(messages);
    const json_t *first = json_array_get(messages, 0);
    cf_jb_text(b, "model", r->model);
    if (n > 1 && cf_str_is(cf_json_get_str(first, "role"), "system")) {
        cf_buf text = CF_BUF_INIT;
        cf_wire__content_text(&text, json_object_get(first, "content"));
        cf_jb_buf(b, "system", &text);
        cf_buf_deinit(&text);
    }
    write_content("prompt", json_object_get(json_array_get(messages, n - 1), "content"), b);
    write_rest_of_request(r, b);
}

/* ---- answers, read ------------------------------------------------------ */

static void read_us(int64_t *to, const json_t *v, const char *key)
{
    int64_t ns = -1;
    cf_wire__count(&ns, v, key);
    *to = ns >= 0 ? ns / 1000 : *to;
}

static void read_value(cf_wire_reader *r, const json_t *v)
{
    const json_t *m = json_object_get(v, "message");
    (void)cf_wire__has_choice(r, 0);
    r->n_pieces++;
    cf_wire__emit_text(r, 0, CF_WIRE_THINKING, cf_json_get_str(m, "thinking"));
    cf_wire__emit_text(r, 0, CF_WIRE_THINKING, cf_json_get_str(v, "thinking"));
    cf_wire__emit_text(r, 0, CF_WIRE_TEXT, cf_json_get_str(m, "content"));
    cf_wire__emit_text(r, 0, CF_WIRE_TEXT, cf_json_get_str(v, "response"));
    cf_wire__read_calls(r, 0, json_object_get(m, "tool_calls"));
    if (json_is_true(json_object_get(v, "done"))) {
        cf_str end = cf_json_get_str(v, "done_reason");
        cf_wire__emit_end(r, 0, end.n != 0 ? end : cf_str_from("stop"));
        r->is_ended = true;
    }
    cf_wire__count(&r->reply.usage.n_prompt, v, "prompt_eval_count");
    cf_wire__count(&r->reply.usage.n_reply, v, "eval_count");
    read_us(&r->reply.usage.prompt_us, v, "prompt_eval_duration");
    read_us(&r->reply.usage.reply_us, v, "eval_duration");
}

/* ---- answers, written --------------------------------------------------- */

static bool is_chat(const cf_wire_writer *w)
{
    return w->o.api == CF_API_OLLAMA_CHAT;
}

static void put_time(cf_jw *j, int64_t seconds)
{
    char text[40] = "";
    struct tm tm;
    time_t t = (time_t)seconds;
    if (gmtime_r(&t, &tm) != NULL) {
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    }
    cf_jw_text(j, "created_at", text);
}

static void begin(const cf_wire_writer *w, cf_jw *j, cf_buf *out)
{
    cf_jw_init(j, out);
    cf_jw_object(j, NULL);
    cf_jw_text(j, "model", w->o.model);
    put_time(j, w->o.created);
    if (is_chat(w)) {
        cf_jw_object(j, "message");
        cf_jw_text(j, "role", "assistant");
    }
}

static void put_text(const cf_wire_writer *w, cf_jw *j, cf_str text, cf_str thinking)
{
    cf_jw_str(j, is_chat(w) ? "content" : "response", text.p != NULL ? text : cf_str_make("", 0));
    if (thinking.n > 0) {
        cf_jw_str(j, "thinking", thinking);
    }
}

static void put_calls(const cf_wire_choice *c, cf_jw *j)
{
    if (c->n_calls == 0) {
        return;
    }
    cf_jw_array(j, "tool_calls");
    for (size_t k = 0; k < c->n_calls; k++) {
        cf_jw_object(j, NULL);
        if (c->calls[k].id.n > 0) {
            cf_jw_buf(j, "id", &c->calls[k].id);
        }
        cf_jw_object(j, "function");
        cf_jw_buf(j, "name", &c->calls[k].name);
        cf_wire__put_arguments(j, "arguments", &c->calls[k].arguments);
        cf_jw_end(j);
        cf_jw_end(j);
    }
    cf_jw_end(j);
}

static void put_ns(cf_jw *j, const char *key, int64_t us)
{
    if (us >= 0) {
        cf_jw_int(j, key, us * 1000);
    }
}

static void end(const cf_wire_writer *w, cf_jw *j, bool is_done)
{
    const cf_wire_usage *u = &w->reply.usage;
    if (is_chat(w)) {
        cf_jw_end(j);
    }
    cf_jw_bool(j, "done", is_done);
    if (is_done) {
        cf_jw_text(j, "done_reason", cf_wire__word(w, 0));
        if (u->prompt_us >= 0 && u->reply_us >= 0) {
            put_ns(j, "total_duration", u->prompt_us + u->reply_us);
        }
        cf_jw_int(j, "prompt_eval_count", cf_wire__known(u->n_prompt));
        put_ns(j, "prompt_eval_duration", u->prompt_us);
        cf_jw_int(j, "eval_count", cf_wire__known(u->n_reply));
        put_ns(j, "eval_duration", u->reply_us);
    }
    cf_jw_end(j);
    j->out->failed = j->out->failed || cf_jw_finish(j, NULL) != CF_OK;
    cf_buf_addc(j->out, '\n');
}

/* Calls are whole here, and come with the last line. */
static void write_event(cf_wire_writer *w, const cf_wire_event *e, cf_buf *out)
{
    const cf_str none = {NULL, 0};
    const bool is_thinking = e->kind == CF_WIRE_THINKING;
    cf_jw j;
    if (is_thinking || e->kind == CF_WIRE_TEXT || e->kind == CF_WIRE_REFUSAL) {
        begin(w, &j, out);
        put_text(w, &j, is_thinking ? none : e->text, is_thinking ? e->text : none);
        end(w, &j, false);
    }
}

static void write_rest(cf_wire_writer *w, cf_buf *out)
{
    const cf_str none = {NULL, 0};
    cf_jw j;
    begin(w, &j, out);
    put_text(w, &j, none, none);
    put_calls(&w->reply.choice[0], &j);
    end(w, &j, true);
}

static void write_whole(cf_wire_writer *w, cf_buf *out)
{
    const cf_wire_choice *c = &w->reply.choice[0];
    cf_jw j;
    begin(w, &j, out);
    put_text(w, &j, cf_buf_str(c->content.n > 0 ? &c->content : &c->refusal),
             cf_buf_str(&c->thinking));
    put_calls(c, &j);
    end(w, &j, true);
}

static const char *const members[] = {"model", "messages", "prompt", "system", "images",
                                      "tools", "format",   "think",  "stream", NULL};
static const char *const message_members[] = {"role",       "content",      "images",    "thinking",
                                              "tool_calls", "tool_call_id", "tool_name", NULL};

const cf_wire__row cf_wire__ollama_chat = {
    .name = "ollama-chat",
    .suffix = "/api/chat",
    .is_lines = true,
    .is_stream = true,
    .read_request = read_chat,
    .write_request = write_chat,
    .settings = settings,
    .members = members,
    .message_members = message_members,
    .message_list = "messages",
    .read_value = read_value,
    .ends = ends,
    .write_event = write_event,
    .write_rest = write_rest,
    .write_whole = write_whole,
};

const cf_wire__row cf_wire__ollama_generate = {
    .name = "ollama-generate",
    .suffix = "/api/generate",
    .is_lines = true,
    .is_stream = true,
    .read_request = read_generate,
    .write_request = write_generate,
    .settings = settings,
    .members = members,
    .read_value = read_value,
    .ends = ends,
    .write_event = write_event,
    .write_rest = write_rest,
    .write_whole = write_whole,
};
