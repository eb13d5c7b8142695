/*
 * scripted.c - chooses the reply to a request, and answers with it.
 *
 * Always true: `next` is the index of the reply after the one given last;
 * it changes under `lock` only.
 */
#include "tui/serve/proxy/scripted.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/wire/wire.h"
#include "tui/serve/record/api_fail.h"

enum { PIECE = 12 }; /* bytes of a streamed text, so that a client has something to join */

struct cf_scripted {
    json_t *replies; /* array */
    cf_recorder *recorder;
    pthread_mutex_t lock;
    size_t next;
};

static cf_status check(const json_t *replies, cf_error *err)
{
    if (json_array_size(replies) == 0) {
        return cf_fail(err, CF_EFORMAT, "a script is {\"replies\": [...]}");
    }
    for (size_t i = 0; i < json_array_size(replies); i++) {
        const json_t *r = json_array_get(replies, i);
        const json_t *calls = json_object_get(r, "calls");
        bool ok = json_is_string(json_object_get(r, "text")) ||
                  json_is_string(json_object_get(r, "error")) || json_array_size(calls) > 0;
        for (size_t k = 0; ok && k < json_array_size(calls); k++) {
            ok = json_is_string(json_object_get(json_array_get(calls, k), "name"));
        }
        if (!ok) {
            return cf_fail(err, CF_EFORMAT,
                           "reply %zu of the script has no \"text\", \"calls\" "
                           "with a \"name\" each, or \"error\"",
                           i + 1);
        }
    }
    return CF_OK;
}

cf_status cf_scripted_new(cf_scripted **out, const json_t *script, cf_recorder *recorder,
                          cf_error *err)
{
    const json_t *replies = json_object_get(script, "replies");
    CF_TRY(check(replies, err));
    cf_scripted *s = cf_calloc(1, sizeof *s);
    if (s == NULL) {
        return cf_oom_for(err, "the script");
    }
    s->replies = json_incref(cf_json_ref(replies));
    s->recorder = recorder;
    pthread_mutex_init(&s->lock, NULL);
    *out = s;
    return CF_OK;
}

void cf_scripted_free(cf_scripted *s)
{
    if (s != NULL) {
        json_decref(s->replies);
        pthread_mutex_destroy(&s->lock);
        cf_free(s);
    }
}

/* The next reply that fits the body, and its number; NULL: none does. */
static const json_t *choose(cf_scripted *s, cf_str body, size_t *number)
{
    const json_t *found = NULL;
    size_t n = json_array_size(s->replies);
    pthread_mutex_lock(&s->lock);
    for (size_t k = 0; found == NULL && k < n; k++) {
        size_t i = (s->next + k) % n;
        const json_t *r = json_array_get(s->replies, i);
        cf_str when = cf_json_get_str(r, "when");
        if (when.p == NULL || cf_str_find(body, when, NULL)) {
            found = r;
            s->next = i + 1;
            *number = i + 1;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* An answer with one header, and with X-Request-Id of the record. */
static void answer(const cf_http_request *r, cf_http_answer *a, cf_record *x, const char *type,
                   const json_t *reply, const cf_buf *text)
{
    char id[CF_UUID_TEXT + 1];
    cf_uuid_format(id, cf_record_id(x));
    cf_http_header *h = cf_arena_calloc(r->arena, 3, sizeof *h);
    const char *copy = cf_arena_strndup(r->arena, id, CF_UUID_TEXT);
    const char *body = cf_arena_strndup(r->arena, cf_buf_cstr(text), text->n);
    json_int_t wait = json_integer_value(json_object_get(reply, "retry_after"));
    if (h == NULL || copy == NULL || body == NULL || text->failed) {
        cf_api_fail(r, a, 500, "server_error", "out of memory");
    } else {
        json_int_t status = json_integer_value(json_object_get(reply, "status"));
        bool is_error = json_object_get(reply, "error") != NULL;
        a->status = status >= 100 && status < 600 ? (unsigned)status : is_error ? 500 : 200;
        a->body = cf_str_make(body, text->n);
        h[a->n_headers++] = (cf_http_header){cf_str_from("Content-Type"), cf_str_from(type)};
        h[a->n_headers++] = (cf_http_header){cf_str_from("X-Request-Id"), cf_str_from(copy)};
        char seconds[24];
        int n = snprintf(seconds, sizeof seconds, "%lld", (long long)wait);
        const char *kept = cf_arena_strndup(r->arena, seconds, (size_t)n);
        if (wait > 0 && kept != NULL) {
            h[a->n_headers++] = (cf_http_header){cf_str_from("Retry-After"), cf_str_from(kept)};
        }
        a->headers = h;
    }
    cf_record_head(x, a->status, a->headers, a->n_headers);
    cf_record_bytes(x, a->body.p, a->body.n);
    cf_record_end_with(x, CF_RECORD_WHOLE, NULL);
}

static void write_error(cf_buf *out, const json_t *reply)
{
    json_t *v = json_pack("{s:s, s:{s:O, s:s}}", "type", "error", "error", "message",
                          json_object_get(reply, "error"), "type", "scripted_error");
    cf_json_write(out, v);
    json_decref(v);
}

static void write_text(cf_wire_writer *w, cf_wire_event_kind kind, cf_str text, cf_buf *out)
{
    for (size_t at = 0; at < text.n;) {
        size_t n = text.n - at < PIECE ? text.n - at : PIECE;
        n -= at + n < text.n ? cf_utf8_incomplete_tail(text.p + at, n) : 0;
        cf_wire_write(w, &(cf_wire_event){.kind = kind, .text = cf_str_make(text.p + at, n)}, out);
        at += n;
    }
}

static void write_call(cf_wire_writer *w, const json_t *call, size_t i, cf_buf *out)
{
    const json_t *arguments = json_object_get(call, "arguments");
    cf_buf text = CF_BUF_INIT;
    char id[80];
    int n = snprintf(id, sizeof id, "call_%.40s_%zu", w->o.id, i);
    if (arguments != NULL) {
        cf_json_write(&text, arguments);
    } else {
        cf_buf_adds(&text, "{}");
    }
    const cf_wire_event e = {.kind = CF_WIRE_CALL,
                             .call = i,
                             .id = cf_str_make(id, (size_t)n),
                             .name = cf_json_get_str(call, "name"),
                             .text = cf_buf_str(&text)};
    cf_wire_write(w, &e, out);
    out->failed = out->failed || text.failed;
    cf_buf_deinit(&text);
}

/* The whole answer, or all events of a stream. */
static void write_reply(const cf_wire_writer_options *o, const json_t *reply, cf_buf *out)
{
    const json_t *calls = json_object_get(reply, "calls");
    const json_t *cost = json_object_get(reply, "usage");
    const size_t n = json_array_size(calls);
    cf_wire_usage usage = cf_wire_usage_none();
    cf_wire_writer w;
    cf_wire_writer_init(&w, o);
    write_text(&w, CF_WIRE_THINKING, cf_json_get_str(reply, "thinking"), out);
    write_text(&w, CF_WIRE_TEXT, cf_json_get_str(reply, "text"), out);
    for (size_t i = 0; i < n; i++) {
        write_call(&w, json_array_get(calls, i), i, out);
    }
    cf_wire_write(&w,
                  &(cf_wire_event){.kind = CF_WIRE_END,
                                   .stop = n > 0 ? CF_WIRE_STOP_CALLS : CF_WIRE_STOP_END},
                  out);
    usage.n_prompt = json_integer_value(json_object_get(cost, "prompt_tokens"));
    usage.n_reply = json_integer_value(json_object_get(cost, "completion_tokens"));
    cf_wire_write_finish(&w, &usage, out);
    cf_wire_writer_deinit(&w);
}

static void on_answer(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    cf_scripted *s = ud;
    cf_api api = cf_api_of(r->method, r->path);
    cf_wire_request asked;
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    size_t number = 0;
    if (!cf_api_talks(api)) {
        cf_api_fail(r, a, 404, "not_found",
                    "a script answers requests of OpenAI's, Anthropic's, Ollama's and Gemini's "
                    "interfaces that hold a conversation");
        return;
    }
    if (cf_wire_request_read(&asked, api, r->body, &err) != CF_OK) {
        cf_api_fail(r, a, 400, "invalid_request_error", err.text);
        return;
    }
    cf_wire_request_path(&asked, api, r->target);
    cf_record *x = cf_record_begin(s->recorder, r, r->body, "script");
    const json_t *reply = choose(s, r->body, &number);
    char id[24];
    snprintf(id, sizeof id, "%zu", number);
    const char *type = "application/json";
    if (reply == NULL) {
        json_t *none = json_pack("{s:i, s:s}", "status", 404, "error",
                                 "no reply of the script fits this request");
        write_error(&text, none);
        answer(r, a, x, type, none, &text);
        json_decref(none);
    } else if (json_object_get(reply, "error") != NULL) {
        write_error(&text, reply);
        answer(r, a, x, type, reply, &text);
    } else {
        const cf_wire_writer_options o = {.api = api,
                                          .is_stream = asked.is_stream,
                                          .has_usage = true,
                                          .id = id,
                                          .model = asked.model[0] != '\0' ? asked.model : "script"};
        type = cf_api_type(api, asked.is_stream);
        write_reply(&o, reply, &text);
        answer(r, a, x, type, reply, &text);
    }
    cf_wire_request_deinit(&asked);
    cf_buf_deinit(&text);
}

cf_http_handler cf_scripted_handler(cf_scripted *s)
{
    return (cf_http_handler){.answer = on_answer, .fail = cf_api_fail, .ud = s};
}
