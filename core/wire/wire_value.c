/*
 * wire_value.c - one JSON value of an answer, by interface: a piece of a
 * stream, or the whole of it.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/wire/wire_impl.h"

static void add(cf_buf *to, cf_wire_choice *c, cf_str s)
{
    cf_buf_add(to, s.p, s.n);
    c->has_any = c->has_any || s.n > 0;
}

/* The call that the stream numbers so; a new one at the end. */
static cf_wire_call *call_at(cf_wire_choice *c, int64_t index)
{
    for (size_t i = 0; i < c->n_calls; i++) {
        if (c->calls[i].index == index) {
            return &c->calls[i];
        }
    }
    if (c->n_calls == CF_WIRE_CALLS_MAX ||
        !cf_grow(&c->calls, &c->cap_calls, c->n_calls + 1, sizeof *c->calls)) {
        return NULL;
    }
    cf_wire_call *call = &c->calls[c->n_calls++];
    *call = (cf_wire_call){.index = index};
    c->has_any = true;
    return call;
}

static void replace(cf_buf *b, cf_str s)
{
    if (s.n != 0) {
        cf_buf_reset(b);
        cf_buf_add(b, s.p, s.n);
    }
}

static void add_arguments(cf_buf *to, const json_t *v)
{
    if (json_is_string(v)) {
        cf_buf_add(to, json_string_value(v), json_string_length(v));
    } else if (v != NULL && !json_is_null(v)) {
        cf_json_write(to, v);
    }
}

static void set_count(int64_t *to, const json_t *obj, const char *key)
{
    const json_t *v = json_object_get(obj, key);
    if (json_is_integer(v) && json_integer_value(v) >= 0) {
        *to = json_integer_value(v);
    }
}

/* An error object, or its text, wherever an interface puts it. */
static void take_error(cf_wire_reader *r, const json_t *error)
{
    cf_str text = json_is_string(error)
                      ? cf_str_make(json_string_value(error), json_string_length(error))
                      : cf_json_get_str(error, "message");
    if (json_is_string(error) || json_is_object(error)) {
        cf_error clean;
        cf_fail(&clean, CF_EFORMAT, "%.*s", (int)(text.n < 200 ? text.n : 200),
                text.p != NULL ? text.p : "");
        cf_wire__copy(r->error, sizeof r->error,
                      clean.text[0] != '\0' ? cf_str_from(clean.text) : cf_str_from("error"));
    }
}

/* ---- OpenAI: chat and completions --------------------------------------- */

static void take_calls(cf_wire_choice *c, const json_t *calls)
{
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *one = json_array_get(calls, i);
        const json_t *f = json_object_get(one, "function");
        const json_t *at = json_object_get(one, "index");
        /* A whole list has no numbers. */
        cf_wire_call *call =
            call_at(c, json_is_integer(at) ? json_integer_value(at) : (int64_t)c->n_calls);
        if (call != NULL) {
            replace(&call->id, cf_json_get_str(one, "id"));
            replace(&call->name, cf_json_get_str(f, "name"));
            add_arguments(&call->arguments, json_object_get(f, "arguments"));
        }
    }
}

static void take_choice(cf_wire_reader *r, const json_t *v, int64_t n)
{
    const json_t *at = json_object_get(v, "index");
    cf_wire_choice *c = cf_wire__choice(r, json_is_integer(at) ? json_integer_value(at) : n);
    if (c == NULL) {
        return;
    }
    const json_t *m = json_object_get(v, "delta");
    m = m != NULL ? m : json_object_get(v, "message");
    add(&c->content, c, cf_json_get_str(m, "content"));
    add(&c->content, c, cf_json_get_str(m, "refusal"));
    add(&c->content, c, cf_json_get_str(v, "text"));
    cf_str thinking = cf_json_get_str(m, "reasoning_content");
    add(&c->thinking, c, thinking.p != NULL ? thinking : cf_json_get_str(m, "reasoning"));
    take_calls(c, json_object_get(m, "tool_calls"));
    cf_str end = cf_json_get_str(v, "finish_reason");
    if (end.n != 0) {
        cf_wire__copy(c->end, sizeof c->end, end);
    }
}

static void take_openai_usage(cf_wire_reader *r, const json_t *v)
{
    const json_t *u = json_object_get(v, "usage");
    set_count(&r->usage.n_prompt, u, "prompt_tokens");
    set_count(&r->usage.n_reply, u, "completion_tokens");
    set_count(&r->usage.n_cached, json_object_get(u, "prompt_tokens_details"), "cached_tokens");
    set_count(&r->usage.n_cached, u, "prompt_cache_hit_tokens");
    /* llama-server says it better, and without being asked. */
    const json_t *t = json_object_get(v, "timings");
    int64_t fresh = -1;
    set_count(&r->usage.n_cached, t, "cache_n");
    set_count(&fresh, t, "prompt_n");
    if (r->usage.n_prompt < 0 && fresh >= 0 && r->usage.n_cached >= 0) {
        r->usage.n_prompt = fresh + r->usage.n_cached;
    }
    if (r->usage.n_reply < 0) {
        set_count(&r->usage.n_reply, t, "predicted_n");
    }
}

static void take_openai(cf_wire_reader *r, const json_t *v)
{
    const json_t *choices = json_object_get(v, "choices");
    for (size_t i = 0; i < json_array_size(choices); i++) {
        take_choice(r, json_array_get(choices, i), (int64_t)i);
    }
    take_openai_usage(r, v);
    cf_str id = cf_json_get_str(v, "id");
    if (id.n != 0) {
        cf_wire__copy(r->id, sizeof r->id, id);
    }
}

/* ---- OpenAI: responses -------------------------------------------------- */

/* A finished response has everything; what the deltas gave is dropped. */
static void take_response(cf_wire_reader *r, const json_t *v)
{
    cf_wire_choice *c = cf_wire__choice(r, 0);
    const json_t *output = json_object_get(v, "output");
    const json_t *u = json_object_get(v, "usage");
    set_count(&r->usage.n_prompt, u, "input_tokens");
    set_count(&r->usage.n_reply, u, "output_tokens");
    set_count(&r->usage.n_cached, json_object_get(u, "input_tokens_details"), "cached_tokens");
    cf_wire__copy(r->id, sizeof r->id, cf_json_get_str(v, "id"));
    cf_wire__copy(r->model, sizeof r->model, cf_json_get_str(v, "model"));
    take_error(r, json_object_get(v, "error"));
    cf_str status = cf_json_get_str(v, "status");
    if (c == NULL || json_array_size(output) == 0 || cf_str_is(status, "in_progress") ||
        cf_str_is(status, "queued")) {
        return;
    }
    cf_str why = cf_json_get_str(json_object_get(v, "incomplete_details"), "reason");
    cf_wire__copy(c->end, sizeof c->end, why.n != 0 ? why : status);
    cf_buf_reset(&c->content);
    cf_buf_reset(&c->thinking);
    for (size_t i = 0; i < c->n_calls; i++) {
        cf_buf_reset(&c->calls[i].id);
        cf_buf_reset(&c->calls[i].name);
        cf_buf_reset(&c->calls[i].arguments);
    }
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(output); i++) {
        cf_wire__item(list, json_array_get(output, i));
    }
    size_t n_calls = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *m = json_array_get(list, i);
        const json_t *calls = json_object_get(m, "tool_calls");
        add(&c->content, c, cf_json_get_str(m, "content"));
        add(&c->thinking, c, cf_json_get_str(m, "reasoning_content"));
        for (size_t k = 0; k < json_array_size(calls); k++) {
            const json_t *one = json_array_get(calls, k);
            const json_t *f = json_object_get(one, "function");
            cf_wire_call *call = n_calls < c->n_calls ? &c->calls[n_calls]
                                                      : call_at(c, INT64_MIN + (int64_t)n_calls);
            n_calls++;
            if (call != NULL) {
                replace(&call->id, cf_json_get_str(one, "id"));
                replace(&call->name, cf_json_get_str(f, "name"));
                add_arguments(&call->arguments, json_object_get(f, "arguments"));
            }
        }
    }
    json_decref(list);
}

static void take_response_event(cf_wire_reader *r, const json_t *v)
{
    cf_str type = cf_json_get_str(v, "type");
    cf_wire_choice *c = cf_wire__choice(r, 0);
    cf_str delta = cf_json_get_str(v, "delta");
    const json_t *whole = json_object_get(v, "response");
    int64_t at = json_integer_value(json_object_get(v, "output_index"));
    if (whole != NULL) {
        take_response(r, whole);
        r->is_ended = r->is_ended || cf_str_is(type, "response.completed") ||
                      cf_str_is(type, "response.incomplete") || cf_str_is(type, "response.failed");
    } else if (cf_str_is(type, "response.output_text.delta") ||
               cf_str_is(type, "response.refusal.delta")) {
        add(&c->content, c, delta);
    } else if (cf_str_is(type, "response.reasoning_text.delta") ||
               cf_str_is(type, "response.reasoning_summary_text.delta")) {
        add(&c->thinking, c, delta);
    } else if (cf_str_is(type, "response.output_item.added")) {
        const json_t *item = json_object_get(v, "item");
        if (cf_wire__is_call(cf_json_get_str(item, "type"))) {
            cf_wire_call *call = call_at(c, at);
            if (call != NULL) {
                replace(&call->id, cf_json_get_str(item, "call_id"));
                replace(&call->name, cf_json_get_str(item, "name"));
            }
        }
    } else if (cf_str_is(type, "response.function_call_arguments.delta") ||
               cf_str_is(type, "response.custom_tool_call_input.delta")) {
        cf_wire_call *call = call_at(c, at);
        if (call != NULL) {
            cf_buf_add(&call->arguments, delta.p, delta.n);
        }
    } else if (cf_str_is(type, "error")) {
        take_error(r, v);
    } else if (cf_str_is(cf_json_get_str(v, "object"), "response")) {
        take_response(r, v);
    }
}

/* ---- Anthropic ---------------------------------------------------------- */

static void take_anthropic_usage(cf_wire_reader *r, const json_t *u)
{
    int64_t fresh = -1, read = -1, written = -1;
    set_count(&fresh, u, "input_tokens");
    set_count(&read, u, "cache_read_input_tokens");
    set_count(&written, u, "cache_creation_input_tokens");
    set_count(&r->usage.n_reply, u, "output_tokens");
    if (read >= 0) {
        r->usage.n_cached = read;
    }
    if (fresh > 0 || (fresh == 0 && (read > 0 || written > 0))) {
        r->usage.n_prompt = fresh + (read > 0 ? read : 0) + (written > 0 ? written : 0);
    }
}

static void take_block(cf_wire_choice *c, int64_t at, const json_t *block)
{
    cf_str type = cf_json_get_str(block, "type");
    if (cf_str_is(type, "text")) {
        add(&c->content, c, cf_json_get_str(block, "text"));
    } else if (cf_str_is(type, "thinking")) {
        add(&c->thinking, c, cf_json_get_str(block, "thinking"));
    } else if (cf_str_is(type, "tool_use")) {
        cf_wire_call *call = call_at(c, at);
        const json_t *input = json_object_get(block, "input");
        if (call != NULL) {
            replace(&call->id, cf_json_get_str(block, "id"));
            replace(&call->name, cf_json_get_str(block, "name"));
            if (json_object_size(input) > 0) { /* a stream begins with {} */
                add_arguments(&call->arguments, input);
            }
        }
    }
}

static void take_message(cf_wire_reader *r, const json_t *m)
{
    const json_t *content = json_object_get(m, "content");
    cf_wire_choice *c = cf_wire__choice(r, 0);
    for (size_t i = 0; i < json_array_size(content); i++) {
        take_block(c, (int64_t)i, json_array_get(content, i));
    }
    take_anthropic_usage(r, json_object_get(m, "usage"));
    cf_wire__copy(r->id, sizeof r->id, cf_json_get_str(m, "id"));
    cf_wire__copy(r->model, sizeof r->model, cf_json_get_str(m, "model"));
    cf_str end = cf_json_get_str(m, "stop_reason");
    if (end.n != 0) {
        cf_wire__copy(c->end, sizeof c->end, end);
    }
}

static void take_anthropic(cf_wire_reader *r, const json_t *v)
{
    cf_str type = cf_json_get_str(v, "type");
    cf_wire_choice *c = cf_wire__choice(r, 0);
    const json_t *delta = json_object_get(v, "delta");
    int64_t at = json_integer_value(json_object_get(v, "index"));
    if (cf_str_is(type, "message")) {
        take_message(r, v);
    } else if (cf_str_is(type, "message_start")) {
        take_message(r, json_object_get(v, "message"));
    } else if (cf_str_is(type, "content_block_start")) {
        take_block(c, at, json_object_get(v, "content_block"));
    } else if (cf_str_is(type, "content_block_delta")) {
        cf_str more = cf_json_get_str(delta, "partial_json");
        add(&c->content, c, cf_json_get_str(delta, "text"));
        add(&c->thinking, c, cf_json_get_str(delta, "thinking"));
        cf_wire_call *call = more.p != NULL ? call_at(c, at) : NULL;
        if (call != NULL) {
            cf_buf_add(&call->arguments, more.p, more.n);
        }
    } else if (cf_str_is(type, "message_delta")) {
        take_anthropic_usage(r, json_object_get(v, "usage"));
        cf_str end = cf_json_get_str(delta, "stop_reason");
        if (end.n != 0) {
            cf_wire__copy(c->end, sizeof c->end, end);
        }
    } else if (cf_str_is(type, "message_stop")) {
        r->is_ended = true;
    }
}

/* ---- Ollama ------------------------------------------------------------- */

static void take_ollama(cf_wire_reader *r, const json_t *v)
{
    cf_wire_choice *c = cf_wire__choice(r, 0);
    const json_t *m = json_object_get(v, "message");
    add(&c->content, c, cf_json_get_str(m, "content"));
    add(&c->thinking, c, cf_json_get_str(m, "thinking"));
    add(&c->content, c, cf_json_get_str(v, "response"));
    add(&c->thinking, c, cf_json_get_str(v, "thinking"));
    take_calls(c, json_object_get(m, "tool_calls"));
    if (json_is_true(json_object_get(v, "done"))) {
        cf_str end = cf_json_get_str(v, "done_reason");
        cf_wire__copy(c->end, sizeof c->end, end.n != 0 ? end : cf_str_from("stop"));
        r->is_ended = true;
    }
    set_count(&r->usage.n_prompt, v, "prompt_eval_count");
    set_count(&r->usage.n_reply, v, "eval_count");
}

/* ---- all ---------------------------------------------------------------- */

static cf_status check_memory(const cf_wire_reader *r, uint64_t failures, cf_error *err)
{
    bool failed = cf_alloc_failures() != failures;
    for (size_t i = 0; i < r->n_choices; i++) {
        const cf_wire_choice *c = &r->choice[i];
        failed = failed || c->content.failed || c->thinking.failed;
        for (size_t k = 0; k < c->n_calls; k++) {
            failed = failed || c->calls[k].arguments.failed || c->calls[k].id.failed ||
                     c->calls[k].name.failed;
        }
    }
    return failed ? cf_oom_for(err, "an answer") : CF_OK;
}

cf_status cf_wire__value(cf_wire_reader *r, const json_t *v, cf_error *err)
{
    static void (*const takers[CF_API_N])(cf_wire_reader *, const json_t *) = {
        [CF_API_OPENAI_CHAT] = take_openai,
        [CF_API_OPENAI_COMPLETIONS] = take_openai,
        [CF_API_OPENAI_EMBEDDINGS] = take_openai,
        [CF_API_OPENAI_RESPONSES] = take_response_event,
        [CF_API_ANTHROPIC_MESSAGES] = take_anthropic,
        [CF_API_OLLAMA_CHAT] = take_ollama,
        [CF_API_OLLAMA_GENERATE] = take_ollama,
    };
    if (!json_is_object(v)) {
        return CF_OK;
    }
    const uint64_t failures = cf_alloc_failures();
    take_error(r, json_object_get(v, "error"));
    cf_str model = cf_json_get_str(v, "model");
    if (model.n != 0) {
        cf_wire__copy(r->model, sizeof r->model, model);
    }
    if (takers[r->api] != NULL) {
        takers[r->api](r, v);
    }
    return check_memory(r, failures, err);
}
