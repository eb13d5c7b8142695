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

void cf_remote__answer_deinit(cf_remote__answer *a)
{
    cf_wire_reader_deinit(&a->reader);
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
    return cf_str_find(text, cf_str_from(word), NULL);
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
    cf_chat__tell_raw(a->run, text);
    CF_TRY(cf_buf_check(&out->raw, err));
    CF_TRY(cf_chat__reply_add(&a->reply, text, &a->stopped, err));
    return a->stopped ? CF_OK : watch(a, text, cf_chat__reply_is_thinking(&a->reply), err);
}

static float probability(const cf_wire_token *t)
{
    return (float)exp(t->log_p);
}

static void tell_token(cf_remote__answer *a, const cf_wire_event *e)
{
    enum { TOP_MAX = 20 };
    cf_text_candidate top[TOP_MAX];
    size_t n = e->n_top < TOP_MAX ? e->n_top : TOP_MAX;
    for (size_t i = 0; i < n; i++) {
        top[i].text = e->top[i].text;
        top[i].p = probability(&e->top[i]);
    }
    cf_chat_event ev = {.kind = CF_CHAT_TOKEN, .text = e->token.text};
    ev.token = (cf_chat_token){
        .id = e->token.id >= 0 ? e->token.id : CF_TOKEN_NONE,
        .p = probability(&e->token),
        .raw_off = a->run->out->raw.n,
        .top = top,
        .n_top = n,
    };
    cf_chat__emit(a->run, &ev);
}

static cf_status add_thinking(cf_remote__answer *a, cf_str text, cf_error *err)
{
    a->has_content = true;
    cf_chat__tell_raw(a->run, text);
    CF_TRY(cf_chat__reply_think(&a->reply, text, err));
    return watch(a, text, true, err);
}

/* What is shown as it comes; the reader keeps the rest until the end. */
static cf_status on_wire(void *ud, const cf_wire_event *e, cf_error *err)
{
    cf_remote__answer *a = ud;
    cf_chat_event ev = {.kind = CF_CHAT_TEXT, .text = e->text};
    if (e->choice != 0) {
        return CF_OK;
    }
    switch (e->kind) {
    case CF_WIRE_TOKEN:
        tell_token(a, e);
        return CF_OK;
    case CF_WIRE_THINKING:
        return add_thinking(a, e->text, err);
    case CF_WIRE_TEXT:
        return add_text(a, e->text, err);
    case CF_WIRE_CALL:
        ev.kind = CF_CHAT_CALL_DELTA;
        ev.index = e->call;
        ev.text = e->text.n > 0 ? e->text : e->name;
        break;
    case CF_WIRE_REFUSAL: /* shown like content, and kept apart from it */
        break;
    default:
        return CF_OK;
    }
    a->has_content = true;
    cf_chat__tell_raw(a->run, ev.text);
    cf_chat__emit(a->run, &ev);
    return CF_OK;
}

/* ---- what only one server says ------------------------------------------ */

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

/* Tokens, where vLLM shows them with return_token_ids. */
static void read_tokens(cf_chat_response *out, const json_t *v)
{
    const json_t *choice = json_array_get(json_object_get(v, "choices"), 0);
    const json_t *prompt = json_object_get(v, "prompt_token_ids");
    prompt = prompt != NULL ? prompt : json_object_get(choice, "prompt_token_ids");
    if (out->n_prompt_ids == 0) {
        add_ids(&out->prompt_ids, &out->n_prompt_ids, prompt);
    }
    add_ids(&out->reply_ids, &out->n_reply_ids, json_object_get(choice, "token_ids"));
}

/* Keeps the other facts that a server reports about an answer. */
static cf_status on_value(void *ud, const json_t *v, cf_error *err)
{
    static const char *const keys[] = {"id",           "model",    "system_fingerprint",
                                       "service_tier", "provider", "timings"};
    cf_remote__answer *a = ud;
    json_t **vendor = &a->run->out->vendor;
    read_tokens(a->run->out, v);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        json_t *item = json_object_get(v, keys[i]);
        if (item == NULL || json_is_null(item)) {
            continue;
        }
        *vendor = *vendor != NULL ? *vendor : json_object();
        if (json_object_set(*vendor, keys[i], item) != 0) {
            return cf_oom_for(err, "an answer");
        }
    }
    return CF_OK;
}

void cf_remote__answer_init(cf_remote__answer *a, cf_chat__run *run)
{
    *a = (cf_remote__answer){.run = run};
    cf_wire_reader_init(&a->reader, CF_API_OPENAI_CHAT);
    a->reader.on_event = on_wire;
    a->reader.on_value = on_value;
    a->reader.ud = a;
}

static uint64_t known(int64_t n)
{
    return n > 0 ? (uint64_t)n : 0;
}

static void take_usage(cf_remote__answer *a)
{
    const cf_wire_usage *u = &a->reader.reply.usage;
    cf_usage *out = &a->run->out->usage;
    if (u->n_prompt >= 0 && u->n_reply >= 0) {
        *out = (cf_usage){.n_prompt = known(u->n_prompt),
                          .n_reply = known(u->n_reply),
                          .n_total = known(u->n_prompt) + known(u->n_reply),
                          .n_cached = known(u->n_cached),
                          .is_known = true};
    }
}

cf_status cf_remote__event(cf_str data, void *ud, cf_error *err)
{
    cf_remote__answer *a = ud;
    cf_wire_reader *r = &a->reader;
    cf_timings *t = &a->run->out->timings;
    const size_t n_values = r->n_values, n_pieces = r->n_pieces;
    const uint64_t now = cf_os_monotonic_us();
    cf_status st = cf_wire_reader_data(r, data, err);
    if (r->n_pieces > n_pieces && t->n_decode++ == 0) {
        t->first_us = now - a->run->started_us;
    }
    take_usage(a);
    if (r->error[0] != '\0') {
        int64_t code = r->error_code;
        return cf_remote__http_error(a->run, code >= 400 && code < 600 ? (long)code : 500, data,
                                     err);
    }
    if (st == CF_EFORMAT) {
        return protocol(a, err, "an event is not JSON");
    }
    if (st == CF_OK && r->n_values == n_values && !r->is_ended) {
        return protocol(a, err, "an event is not an object");
    }
    return st == CF_OK && r->has_too_many ? protocol(a, err, "too many tool calls") : st;
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
    cf_wire_call *from = &a->reader.reply.choice[0].calls[index];
    cf_tool_call call = {
        .name = cf_buf_str(&from->name),
        .id = cf_buf_str(&from->id),
    };
    bool oom = false;
    size_t before = found->n;
    json_t *arguments;
    char made[CF_CALL_ID_TEXT];
    cf_chat__call_id(&call, made, a->run->request->messages, index);
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
    /* The list takes the call also when memory ran out before. */
    oom = v == NULL || json_array_append_new(list, v) != 0 || oom || found->arena->failed;
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
    for (size_t i = 0; st == CF_OK && i < a->reader.reply.choice[0].n_calls; i++) {
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
    switch (a->reader.reply.choice[0].stop) {
    case CF_WIRE_STOP_LENGTH:
        return CF_STOP_LENGTH;
    case CF_WIRE_STOP_FILTER:
        return CF_STOP_FILTERED;
    default:
        return CF_STOP_END;
    }
}

cf_status cf_remote__finish(cf_remote__answer *a, cf_error *err)
{
    cf_chat_response *out = a->run->out;
    const cf_wire_choice *said = &a->reader.reply.choice[0];
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
        if (st == CF_OK && said->refusal.n > 0 &&
            json_object_set_new(out->message, "refusal", cf_json_buf(&said->refusal)) != 0) {
            st = cf_oom_for(err, "the refusal");
        }
        if (st == CF_OK && json_array_extend(out->findings, findings) != 0) {
            st = cf_oom_for(err, "findings");
        }
    }
    json_decref(list);
    json_decref(findings);
    out->stop.reason = reason_of(a);
    snprintf(out->stop.what, sizeof out->stop.what, "%s",
             said->refusal.n > 0 ? "refusal" : said->end);
    return st;
}
