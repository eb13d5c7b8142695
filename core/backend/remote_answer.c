/*
 * remote_answer.c - adds up the deltas of an answer.
 */
#include "core/backend/remote.h"

#include <math.h>
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "core/tools/tool_rules.h"

enum { TOP_MAX = 20 };

void cf_remote__answer_deinit(cf_remote__answer *a)
{
    for (size_t i = 0; i < a->n_calls; i++) {
        cf_buf_deinit(&a->calls[i].id);
        cf_buf_deinit(&a->calls[i].name);
        cf_buf_deinit(&a->calls[i].arguments);
    }
    cf_free(a->calls);
    cf_buf_deinit(&a->refusal);
    cf_reply_watch_deinit(&a->watch);
    cf_chat__reply_deinit(&a->reply);
}

static cf_status protocol(cf_remote__answer *a, cf_error *err, const char *what)
{
    return cf_chat__fault(a->run, CF_FAULT_PROTOCOL,
                          cf_fail(err, CF_EFORMAT, "the server's answer: %s", what));
}

/* ---- errors ------------------------------------------------------------- */

static cf_fault fault_of(long status)
{
    switch (status) {
    case 400:
    case 413:
    case 422:
        return CF_FAULT_OPTION;
    case 401:
    case 403:
        return CF_FAULT_AUTHENTICATION;
    case 404:
        return CF_FAULT_MODEL_NOT_FOUND;
    case 408:
        return CF_FAULT_NETWORK;
    case 429:
        return CF_FAULT_RATE_LIMIT;
    default:
        return status >= 500 ? CF_FAULT_OTHER : CF_FAULT_PROTOCOL;
    }
}

static cf_status status_of(cf_fault fault)
{
    switch (fault) {
    case CF_FAULT_RATE_LIMIT:
        return CF_EBUSY;
    case CF_FAULT_MODEL_NOT_FOUND:
        return CF_ENOTFOUND;
    case CF_FAULT_OPTION:
    case CF_FAULT_AUTHENTICATION:
        return CF_EINVAL;
    case CF_FAULT_PROTOCOL:
        return CF_EFORMAT;
    case CF_FAULT_NONE:
    case CF_FAULT_NETWORK:
    case CF_FAULT_TEMPLATE:
    case CF_FAULT_CONTEXT:
    case CF_FAULT_OTHER:
        break;
    }
    return CF_EIO;
}

/* {"error":{"message"}}, {"error":"..."} or {"message"}; else the body. */
static cf_str error_text(const json_t *v, cf_str body)
{
    const json_t *error = json_object_get(v, "error");
    cf_str text = cf_json_get_str(error, "message");
    if (text.p == NULL && json_is_string(error)) {
        text = cf_json_get_str(v, "error");
    }
    if (text.p == NULL) {
        text = cf_json_get_str(v, "message");
    }
    return text.p != NULL ? text : body;
}

static bool holds(cf_str text, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.n; i++) {
        if (memcmp(text.p + i, word, n) == 0) {
            return true;
        }
    }
    return false;
}

/* "This model's maximum context length is ...", "exceeds the available
 * context size", "exceed_context_size_error" */
static bool is_context_error(long status, cf_str text)
{
    return (status == 400 || status == 413) && holds(text, "context") &&
           (holds(text, "length") || holds(text, "size") || holds(text, "exceed"));
}

cf_status cf_remote__http_error(cf_chat__run *run, long status, cf_str body, cf_error *err)
{
    json_t *v = json_loadb(body.p != NULL ? body.p : "", body.n, 0, NULL);
    cf_str text = error_text(v, body);
    cf_fault fault = is_context_error(status, text) ? CF_FAULT_CONTEXT : fault_of(status);
    int n = text.n < 160 ? (int)text.n : 160;
    cf_status st = cf_fail(err, status_of(fault), "the server says %ld%s%.*s", status,
                           n > 0 ? ": " : "", n, text.p != NULL ? text.p : "");
    json_decref(v);
    return cf_chat__fault(run, fault, st);
}

/* ---- deltas ------------------------------------------------------------- */

/* Says when the reply will hardly end, and ends it where that is asked for.  A
 * server that leaves the thinking in the content is watched as it sends. */
static cf_status watch(cf_remote__answer *a, cf_str text, bool is_thinking, cf_error *err)
{
    const cf_chat_options *o = a->run->request->options;
    cf_buf note = CF_BUF_INIT;
    cf_status st = CF_OK;
    if (a->watch.loop == NULL) {
        st = cf_reply_watch_init(&a->watch, err);
    }
    CF_THEN(st, cf_reply_watch_text(&a->watch, text, is_thinking, &note, err));
    if (st == CF_OK && note.n > 0) {
        const cf_chat_event ev = {.kind = CF_CHAT_NOTE, .text = cf_buf_str(&note)};
        cf_chat__emit(a->run, &ev);
        a->is_endless = o != NULL && o->stops_on_loop;
        a->stopped = a->stopped || a->is_endless;
    }
    cf_buf_deinit(&note);
    return st;
}

static cf_status add_text(cf_remote__answer *a, cf_str text, cf_error *err)
{
    if (text.n == 0 || a->stopped) {
        return CF_OK;
    }
    cf_chat_response *out = a->run->out;
    a->has_content = true;
    cf_chat__add_raw(a->run, text);
    CF_TRY(cf_buf_check(&out->raw, err));
    CF_TRY(cf_chat__reply_add(&a->reply, text, &a->stopped, err));
    return a->stopped ? CF_OK : watch(a, text, cf_chat__reply_is_thinking(&a->reply), err);
}

static void tell_token(cf_remote__answer *a, const json_t *item)
{
    cf_text_candidate top[TOP_MAX];
    const json_t *list = json_object_get(item, "top_logprobs");
    size_t n = json_array_size(list) < TOP_MAX ? json_array_size(list) : TOP_MAX;
    for (size_t i = 0; i < n; i++) {
        const json_t *c = json_array_get(list, i);
        top[i].text = cf_json_get_str(c, "token");
        top[i].p = (float)exp(json_number_value(json_object_get(c, "logprob")));
    }
    const json_t *id = json_object_get(item, "id");
    cf_chat_event ev = {.kind = CF_CHAT_TOKEN, .text = cf_json_get_str(item, "token")};
    ev.token = (cf_chat_token){
        .id = json_is_integer(id) && json_integer_value(id) >= 0 &&
                      json_integer_value(id) <= INT32_MAX
                  ? (cf_token)json_integer_value(id)
                  : CF_TOKEN_NONE,
        .p = (float)exp(json_number_value(json_object_get(item, "logprob"))),
        .raw_off = a->run->out->raw.n,
        .top = top,
        .n_top = n,
    };
    cf_chat__emit(a->run, &ev);
}

static cf_remote__call *call_at(cf_remote__answer *a, size_t index)
{
    if (index >= CF_REMOTE_CALLS_MAX) {
        return NULL;
    }
    if (index >= a->cap_calls) {
        size_t cap = a->cap_calls == 0 ? 4 : a->cap_calls * 2;
        cap = cap > index ? cap : index + 1;
        cf_remote__call *v = cf_realloc(a->calls, cap, sizeof *v);
        if (v == NULL) {
            return NULL;
        }
        memset(v + a->cap_calls, 0, (cap - a->cap_calls) * sizeof *v);
        a->calls = v;
        a->cap_calls = cap;
    }
    if (index >= a->n_calls) {
        a->n_calls = index + 1;
    }
    return &a->calls[index];
}

static cf_status add_call(cf_remote__answer *a, const json_t *delta, size_t order, cf_error *err)
{
    const json_t *at = json_object_get(delta, "index");
    const json_t *function = json_object_get(delta, "function");
    json_int_t index = json_is_integer(at) ? json_integer_value(at) : (json_int_t)order;
    cf_remote__call *call =
        index >= 0 && index < CF_REMOTE_CALLS_MAX ? call_at(a, (size_t)index) : NULL;
    if (call == NULL) {
        return protocol(a, err, "too many tool calls");
    }
    cf_str id = cf_json_get_str(delta, "id");
    cf_str name = cf_json_get_str(function, "name");
    cf_str arguments = cf_json_get_str(function, "arguments");
    if (call->id.n == 0) {
        cf_buf_add(&call->id, id.p, id.n);
    }
    cf_buf_add(&call->name, name.p, name.n);
    cf_buf_add(&call->arguments, arguments.p, arguments.n);
    const json_t *object = json_object_get(function, "arguments");
    if (json_is_object(object)) { /* some servers send the object itself */
        cf_json_write(&call->arguments, object);
    }
    a->has_content = true;
    cf_chat_event ev = {.kind = CF_CHAT_CALL_DELTA,
                        .index = (size_t)index,
                        .text = arguments.n > 0 ? arguments : name};
    cf_chat__emit(a->run, &ev);
    return call->id.failed || call->name.failed || call->arguments.failed
               ? cf_oom_for(err, "a tool call")
               : CF_OK;
}

/* Shown like content, and kept apart from it. */
static cf_status add_refusal(cf_remote__answer *a, cf_str text, cf_error *err)
{
    if (text.n == 0) {
        return CF_OK;
    }
    a->has_content = true;
    cf_buf_add(&a->refusal, text.p, text.n);
    cf_chat_event ev = {.kind = CF_CHAT_TEXT, .text = text};
    cf_chat__emit(a->run, &ev);
    return cf_buf_check(&a->refusal, err);
}

/* "delta" of a stream, or "message" of a whole answer. */
static cf_status add_delta(cf_remote__answer *a, const json_t *delta, cf_error *err)
{
    cf_str thinking = cf_json_get_str(delta, "reasoning_content");
    if (thinking.n == 0) {
        thinking = cf_json_get_str(delta, "reasoning");
    }
    if (thinking.n > 0) {
        a->has_content = true;
        CF_TRY(cf_chat__reply_think(&a->reply, thinking, err));
        CF_TRY(watch(a, thinking, true, err));
    }
    CF_TRY(add_text(a, cf_json_get_str(delta, "content"), err));
    CF_TRY(add_refusal(a, cf_json_get_str(delta, "refusal"), err));
    const json_t *legacy = json_object_get(delta, "function_call");
    if (json_is_object(legacy)) { /* OpenAI's interface before tool_calls */
        json_t *one = json_pack("{s:i, s:O}", "index", 0, "function", cf_json_ref(legacy));
        cf_status st = one != NULL ? add_call(a, one, 0, err) : cf_oom_for(err, "a tool call");
        json_decref(one);
        CF_TRY(st);
    }
    const json_t *calls = json_object_get(delta, "tool_calls");
    for (size_t i = 0; i < json_array_size(calls); i++) {
        CF_TRY(add_call(a, json_array_get(calls, i), i, err));
    }
    return CF_OK;
}

static cf_status add_choice(cf_remote__answer *a, const json_t *choice, cf_error *err)
{
    cf_chat_response *out = a->run->out;
    const json_t *tokens = json_object_get(json_object_get(choice, "logprobs"), "content");
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        tell_token(a, json_array_get(tokens, i));
    }
    const json_t *delta = json_object_get(choice, "delta");
    const json_t *message = json_object_get(choice, "message");
    if (out->timings.n_decode++ == 0) {
        out->timings.first_us = cf_os_monotonic_us() - a->run->started_us;
    }
    CF_TRY(add_delta(a, delta != NULL ? delta : message, err));
    cf_str reason = cf_json_get_str(choice, "finish_reason");
    if (reason.n > 0) {
        a->has_reason = true;
        cf_utf8_copy(a->reason, sizeof a->reason, reason);
    }
    a->is_done = a->is_done || message != NULL;
    return CF_OK;
}

static uint64_t count(const json_t *v, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(v, key));
    return n > 0 ? (uint64_t)n : 0;
}

static void read_usage(cf_remote__answer *a, const json_t *v)
{
    const json_t *u = json_object_get(v, "usage");
    cf_usage *out = &a->run->out->usage;
    if (json_is_object(u)) {
        out->is_known = true;
        out->n_prompt = count(u, "prompt_tokens");
        out->n_reply = count(u, "completion_tokens");
        out->n_total = count(u, "total_tokens");
        out->n_cached = count(json_object_get(u, "prompt_tokens_details"), "cached_tokens");
    }
}

/* Appends the ids of a list; without memory they are left out. */
static void add_ids(cf_token **ids, size_t *n, const json_t *list)
{
    size_t n_more = json_array_size(list);
    cf_token *v = n_more > 0 ? cf_realloc(*ids, *n + n_more, sizeof *v) : NULL;
    if (v != NULL) {
        for (size_t i = 0; i < n_more; i++) {
            v[*n + i] = (cf_token)json_integer_value(json_array_get(list, i));
        }
        *ids = v;
        *n += n_more;
    }
}

/* Tokens and the kept prefix, where a server shows them: vLLM with
 * return_token_ids, llama-server in its timings. */
static void read_tokens(cf_remote__answer *a, const json_t *v)
{
    cf_chat_response *out = a->run->out;
    const json_t *choice = json_array_get(json_object_get(v, "choices"), 0);
    const json_t *prompt = json_object_get(v, "prompt_token_ids");
    prompt = prompt != NULL ? prompt : json_object_get(choice, "prompt_token_ids");
    if (out->n_prompt_ids == 0) {
        add_ids(&out->prompt_ids, &out->n_prompt_ids, prompt);
    }
    add_ids(&out->reply_ids, &out->n_reply_ids, json_object_get(choice, "token_ids"));
    uint64_t n_cached = count(json_object_get(v, "timings"), "cache_n");
    if (n_cached > out->usage.n_cached) {
        out->usage.n_cached = n_cached;
    }
}

/* Keeps the other facts that a server reports about an answer. */
static void read_vendor(cf_remote__answer *a, const json_t *v)
{
    static const char *const keys[] = {"id",           "model",    "system_fingerprint",
                                       "service_tier", "provider", "timings"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        json_t *item = json_object_get(v, keys[i]);
        if (item == NULL || json_is_null(item)) {
            continue;
        }
        json_t **vendor = &a->run->out->vendor;
        *vendor = *vendor != NULL ? *vendor : json_object();
        json_object_set(*vendor, keys[i], item);
    }
}

cf_status cf_remote__event(cf_str data, void *ud, cf_error *err)
{
    cf_remote__answer *a = ud;
    if (cf_str_is(data, "[DONE]")) {
        a->is_done = true;
        return CF_OK;
    }
    json_t *v = NULL;
    cf_status st = cf_json_read(&v, data.p, data.n, err);
    if (st != CF_OK) {
        return st == CF_EFORMAT ? protocol(a, err, "an event is not JSON") : st;
    }
    const json_t *error = json_object_get(v, "error");
    if (error != NULL && !json_is_null(error)) {
        json_int_t code = json_integer_value(json_object_get(error, "code"));
        st = cf_remote__http_error(a->run, code >= 400 && code < 600 ? (long)code : 500, data, err);
    } else if (!json_is_object(v)) {
        st = protocol(a, err, "an event is not an object");
    } else {
        const json_t *choice = json_array_get(json_object_get(v, "choices"), 0);
        if (choice != NULL) {
            st = add_choice(a, choice, err);
        }
        read_usage(a, v);
        read_tokens(a, v);
        read_vendor(a, v);
    }
    json_decref(v);
    return st;
}

/* ---- the end ------------------------------------------------------------ */

/* The arguments in canonical form; false when they are not an object. */
static bool read_arguments(cf_tool_call *call, cf_buf *text, cf_arena *arena, bool *oom)
{
    cf_tool__emit e;
    cf_tool__emit_init(&e, cf_buf_cstr(text), 0, text->n, arena);
    cf_tool__json_space(&e);
    bool ok = text->n == 0;
    if (ok) {
        cf_buf_adds(&e.json, "{}");
    } else if (e.at < e.end && e.p[e.at] == '{') {
        ok = cf_tool__json_value(&e);
        cf_tool__json_space(&e);
        ok = ok && e.at == e.end;
    }
    char *copy = NULL;
    if (ok) {
        copy = cf_arena_strndup(arena, cf_buf_cstr(&e.json), e.json.n);
        call->arguments = cf_str_make(copy, e.json.n);
        call->json = copy != NULL ? cf_tool__tree(call->arguments) : NULL;
        call->spans = e.spans;
        call->n_spans = e.n_spans;
        call->len = call->args_len = text->n;
    }
    *oom = e.oom || (ok && call->json == NULL);
    cf_tool__emit_deinit(&e);
    return ok;
}

static bool append_finding(json_t *list, const cf_tool_finding *f)
{
    json_t *v =
        json_pack("{s:s, s:I, s:s%, s:I, s:I, s:s%}", "status", cf_tool_status_name(f->status),
                  "call", (json_int_t)f->call, "path", f->path.n > 0 ? f->path.p : "", f->path.n,
                  "off", (json_int_t)f->off, "len", (json_int_t)f->len, "text",
                  f->text.n > 0 ? f->text.p : "", f->text.n);
    return v != NULL && json_array_append_new(list, v) == 0;
}

/* One call: checked, told, and added to the list for the message. */
static cf_status finish_call(cf_remote__answer *a, size_t index, json_t *list,
                             cf_tool__findings *found, cf_error *err)
{
    cf_remote__call *from = &a->calls[index];
    cf_tool_call call = {
        .name = cf_buf_str(&from->name),
        .id = cf_buf_str(&from->id),
    };
    bool oom = false;
    size_t before = found->n;
    json_t *arguments;
    if (read_arguments(&call, &from->arguments, found->arena, &oom)) {
        if (a->run->request->tools != NULL) {
            cf_tool__validate(&call, index, a->run->request->tools, found);
        }
        arguments = cf_json_ref(call.json); /* decref'd below */
    } else {
        cf_tool_finding f = {.status = CF_TOOL_PARSE_ERROR,
                             .call = index,
                             .text = cf_str_from("the arguments are not a JSON object")};
        cf_tool__finding_add(found, &f);
        arguments = json_stringn(cf_buf_cstr(&from->arguments), from->arguments.n);
    }
    if (found->n > before) {
        call.status = found->v[before].status;
        if (a->run->out->status == CF_TOOL_VALID) {
            a->run->out->status = call.status;
        }
    }
    json_t *v =
        json_pack("{s:s%, s:s, s:{s:s%, s:O}}", "id", call.id.p, call.id.n, "type", "function",
                  "function", "name", call.name.p, call.name.n, "arguments", arguments);
    oom = oom || v == NULL || json_array_append_new(list, v) != 0 || found->arena->failed;
    if (!oom && call.status != CF_TOOL_PARSE_ERROR) {
        cf_chat_event ev = {.kind = CF_CHAT_CALL, .index = index, .call = &call};
        cf_chat__emit(a->run, &ev);
    }
    json_decref(arguments);
    return oom ? cf_oom_for(err, "a tool call") : CF_OK;
}

static cf_status finish_calls(cf_remote__answer *a, json_t *list, json_t *findings, cf_error *err)
{
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_tool__findings found = {.arena = &arena};
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < a->n_calls; i++) {
        st = finish_call(a, i, list, &found, err);
    }
    for (size_t i = 0; st == CF_OK && i < found.n; i++) {
        if (!append_finding(findings, &found.v[i])) {
            st = cf_oom_for(err, "findings");
        }
    }
    cf_arena_deinit(&arena);
    return st;
}

static cf_stop_reason reason_of(const cf_remote__answer *a)
{
    if (a->is_endless) {
        return CF_STOP_LOOP;
    }
    if (a->stopped) {
        return CF_STOP_STRING;
    }
    if (strcmp(a->reason, "length") == 0) {
        return CF_STOP_LENGTH;
    }
    if (strcmp(a->reason, "content_filter") == 0) {
        return CF_STOP_FILTERED;
    }
    return CF_STOP_END;
}

cf_status cf_remote__finish(cf_remote__answer *a, cf_error *err)
{
    cf_chat_response *out = a->run->out;
    json_t *list = json_array();
    json_t *findings = json_array();
    cf_status st = list != NULL && findings != NULL ? finish_calls(a, list, findings, err)
                                                    : cf_oom_for(err, "calls");
    if (st == CF_OK) {
        cf_tool_status status = out->status;
        st = cf_chat__reply_finish(&a->reply, list, err);
        if (status != CF_TOOL_VALID) {
            out->status = status;
        }
        if (st == CF_OK && a->refusal.n > 0 &&
            json_object_set_new(out->message, "refusal",
                                json_stringn(cf_buf_cstr(&a->refusal), a->refusal.n)) != 0) {
            st = cf_oom_for(err, "the refusal");
        }
        if (st == CF_OK && json_array_extend(out->findings, findings) != 0) {
            st = cf_oom_for(err, "findings");
        }
    }
    json_decref(list);
    json_decref(findings);
    out->stop.reason = reason_of(a);
    snprintf(out->stop.what, sizeof out->stop.what, "%s", a->refusal.n > 0 ? "refusal" : a->reason);
    return st;
}
