/*
 * remote_body.c - a request as OpenAI's chat completions take it.
 *
 * Differences from the messages that templates read: a call's arguments are
 * a string, every call has an id, and a tool's result names the call it
 * answers; what is missing is filled in by order.
 */
#include <math.h>
#include <stdio.h>

#include "core/backend/remote.h"

enum { TOP_LOGPROBS_MAX = 20 };

/* ids of the calls that wait for their results, in order */
typedef struct open_calls {
    json_t *ids;
    size_t next;
    unsigned n_made;
} open_calls;

static json_t *wire_call(const json_t *call, open_calls *open)
{
    const json_t *function = json_object_get(call, "function");
    const json_t *arguments = json_object_get(function, "arguments");
    json_t *id = json_object_get(call, "id");
    char made[32];
    cf_buf text = CF_BUF_INIT;
    if (json_is_string(arguments)) {
        cf_buf_add(&text, json_string_value(arguments),
                   json_string_length(arguments));
    } else {
        cf_json_write(&text, arguments);
    }
    snprintf(made, sizeof made, "call_%u", open->n_made++);
    json_t *v =
        json_pack("{s:o, s:s, s:{s:O?, s:s%}}", "id",
                  json_is_string(id) ? json_incref(id) : json_string(made),
                  "type", "function", "function", "name",
                  cf_json_ref(json_object_get(function, "name")), "arguments",
                  cf_buf_cstr(&text), text.n);
    cf_buf_deinit(&text);
    if (v != NULL) {
        json_array_append(open->ids, json_object_get(v, "id"));
    }
    return v;
}

static json_t *wire_message(const json_t *m, open_calls *open)
{
    json_t *v = json_copy(cf_json_ref(m));
    const json_t *calls = json_object_get(m, "tool_calls");
    if (v == NULL) {
        return NULL;
    }
    if (json_array_size(calls) > 0) {
        json_t *list = json_array();
        json_array_clear(open->ids);
        open->next = 0;
        for (size_t i = 0; i < json_array_size(calls); i++) {
            if (json_array_append_new(
                    list, wire_call(json_array_get(calls, i), open)) != 0) {
                json_decref(list);
                json_decref(v);
                return NULL;
            }
        }
        json_object_set_new(v, "tool_calls", list);
    }
    if (cf_str_is(cf_json_get_str(m, "role"), "tool")) {
        json_t *id = json_array_get(open->ids, open->next++);
        if (json_object_get(v, "tool_call_id") == NULL && id != NULL) {
            json_object_set(v, "tool_call_id", id);
        }
        json_t *content = json_object_get(v, "content");
        if (!json_is_string(content)) {
            cf_buf text = CF_BUF_INIT;
            cf_json_write(&text, content);
            json_object_set_new(v, "content",
                                json_stringn(cf_buf_cstr(&text), text.n));
            cf_buf_deinit(&text);
        }
    }
    return v;
}

static json_t *wire_messages(const json_t *messages)
{
    open_calls open = {json_array(), 0, 1};
    json_t *list = json_array();
    bool ok = list != NULL && open.ids != NULL;
    for (size_t i = 0; ok && i < json_array_size(messages); i++) {
        ok = json_array_append_new(
                 list, wire_message(json_array_get(messages, i), &open)) == 0;
    }
    json_decref(open.ids);
    if (!ok) {
        json_decref(list);
        return NULL;
    }
    return list;
}

/* A float as the decimal a person wrote: 0.7, not 0.699999988. */
static json_t *decimal(float v)
{
    char text[32];
    snprintf(text, sizeof text, "%.7g", (double)v);
    double d = 0;
    (void)sscanf(text, "%lf", &d);
    return json_real(d);
}

static void set_options(json_t *body, const cf_chat_options *o)
{
    const cf_sampling *s = &o->sampling;
    if (o->has_sampling) {
        json_object_set_new(body, "temperature", decimal(s->temperature));
        if (s->top_p > 0) {
            json_object_set_new(body, "top_p", decimal(s->top_p));
        }
        if (s->top_k > 0) {
            json_object_set_new(body, "top_k", json_integer(s->top_k));
        }
        if (s->min_p > 0) {
            json_object_set_new(body, "min_p", decimal(s->min_p));
        }
        if (s->presence_penalty < 0 || s->presence_penalty > 0) {
            json_object_set_new(body, "presence_penalty",
                                decimal(s->presence_penalty));
        }
        if (s->frequency_penalty < 0 || s->frequency_penalty > 0) {
            json_object_set_new(body, "frequency_penalty",
                                decimal(s->frequency_penalty));
        }
        json_object_set_new(body, "seed",
                            json_integer((json_int_t)(s->seed & INT64_MAX)));
    }
    if (o->max_tokens > 0) {
        json_object_set_new(body, "max_tokens", json_integer(o->max_tokens));
    }
    if (o->n_stop > 0) {
        json_t *list = json_array();
        for (size_t i = 0; i < o->n_stop; i++) {
            json_array_append_new(list,
                                  json_stringn(o->stop[i].p, o->stop[i].n));
        }
        json_object_set_new(body, "stop", list);
    }
    if (o->n_top > 0) {
        json_object_set_new(body, "logprobs", json_true());
        json_object_set_new(body, "top_logprobs",
                            json_integer(o->n_top < TOP_LOGPROBS_MAX
                                             ? o->n_top
                                             : TOP_LOGPROBS_MAX));
    }
}

/* Template variables go where llama-server and vLLM look for them. */
static void set_context(json_t *body, const cf_chat_request *request)
{
    json_t *kwargs = request->extra_context != NULL
                         ? json_copy(cf_json_ref(request->extra_context))
                         : json_object();
    const cf_chat_options *o = request->options;
    if (o != NULL && o->thinking != CF_THINKING_DEFAULT &&
        json_object_get(kwargs, "enable_thinking") == NULL) {
        json_object_set_new(kwargs, "enable_thinking",
                            json_boolean(o->thinking == CF_THINKING_ON));
    }
    if (json_object_size(kwargs) > 0) {
        json_object_set(body, "chat_template_kwargs", kwargs);
    }
    json_decref(kwargs);
}

cf_status cf_remote__body(cf_buf *out, const char *model,
                          const cf_chat_request *request, cf_error *err)
{
    json_t *messages = wire_messages(request->messages);
    json_t *body = messages != NULL
                       ? json_pack("{s:s, s:o, s:b, s:{s:b}}", "model", model,
                                   "messages", messages, "stream", 1,
                                   "stream_options", "include_usage", 1)
                       : NULL;
    if (body == NULL) {
        return cf_oom_for(err, "the request");
    }
    size_t n_tools = 0;
    if (request->tools != NULL) {
        cf_tool_set_items(request->tools, &n_tools);
    }
    if (n_tools > 0) {
        json_object_set_new(body, "tools", cf_tool_set_openai(request->tools));
    }
    if (request->options != NULL) {
        set_options(body, request->options);
    }
    set_context(body, request);
    if (request->options != NULL && request->options->vendor != NULL) {
        json_object_update(body, cf_json_ref(request->options->vendor));
    }
    cf_json_write(out, body);
    json_decref(body);
    return cf_buf_check(out, err);
}
