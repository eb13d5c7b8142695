/*
 * backend_script.c - plays replies from a file.
 *
 *   {"replies":[REPLY, ...]}   one a call, starting over at the end
 *   REPLY   {"text":"Hello","chunk":3,"delay_ms":20}
 *           {"tokens":[{"text":" a","p":0.4,"top":[[" b",0.3]]}],"delay_ms":5}
 *           {"error":"rate_limit"}  also after a text or tokens, which come
 *                                   first
 *           with "thinking" (a text that comes apart from the content),
 *           "stop" (a stop reason's name) and "usage" ({"prompt_tokens",
 *           "completion_tokens","total_tokens"})
 *
 * Templates see "bos_token" and "eos_token", which go next to "replies"; <s>
 * and </s> when absent.
 *
 * "chunk" counts characters, 3 when absent; "delay_ms" is the time between
 * chunks, 0 when absent.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/backend/backend_impl.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/utf8.h"

enum { DELAY_MAX_MS = 60000, SLICE_MS = 10, TOP_MAX = 64 };

typedef struct script {
    cf_backend base;
    json_t *root;
    size_t next; /* reply */
    cf_script_options options;
} script;

static const cf_backend__ops script_ops;

static cf_backend_info get_info(const cf_backend *b)
{
    (void)b;
    return (cf_backend_info){
        .kind = "script",
        .name = cf_str_from("script"),
        .shows_prompt = true,
        .shows_tokens = true,
        .shows_candidates = true,
        .cannot = "a script has no cache, no vocabulary and no scores",
    };
}

static void free_script(cf_backend *b)
{
    script *s = (script *)b;
    json_decref(s->root);
    cf_free(s);
}

/* Sleeps in slices, so that a cancel is seen soon. */
static cf_status wait_ms(const cf_chat__run *run, json_int_t ms, cf_error *err)
{
    for (json_int_t left = ms > DELAY_MAX_MS ? DELAY_MAX_MS : ms; left > 0; left -= SLICE_MS) {
        if (cf_chat__is_cancelled(run)) {
            return cf_chat__cancelled(err);
        }
        long slice = left < SLICE_MS ? (long)left : SLICE_MS;
        struct timespec t = {0, slice * 1000000L};
        while (nanosleep(&t, &t) != 0 && errno == EINTR) {
        }
    }
    return cf_chat__is_cancelled(run) ? cf_chat__cancelled(err) : CF_OK;
}

/* One piece of the reply; *done when a stop string or a limit ended it. */
static cf_status give(cf_chat__run *run, cf_chat__reply *reply, cf_str piece, bool *done,
                      cf_error *err)
{
    cf_chat_response *out = run->out;
    if (out->timings.n_decode++ == 0) {
        out->timings.first_us = cf_os_monotonic_us() - run->started_us;
    }
    cf_chat__add_raw(run, piece);
    cf_chat__tell_raw(run, piece);
    bool stopped = false;
    CF_TRY(cf_chat__reply_add(reply, piece, &stopped, err));
    const cf_chat_options *o = run->request->options;
    if (stopped) {
        cf_str what = o->stop[reply->release.stopped_by];
        out->stop.reason = CF_STOP_STRING;
        snprintf(out->stop.what, sizeof out->stop.what, "%.*s", (int)what.n, what.p);
        *done = true;
    } else if (o != NULL && o->max_tokens > 0 && out->timings.n_decode >= o->max_tokens) {
        out->stop.reason = CF_STOP_LENGTH;
        *done = true;
    }
    return cf_buf_check(&out->raw, err);
}

static size_t chars_bytes(cf_str s, size_t n_chars)
{
    size_t at = 0;
    for (size_t i = 0; i < n_chars && at < s.n; i++) {
        uint32_t cp;
        at += cf_utf8_decode(&cp, s.p + at, s.n - at);
    }
    return at;
}

static cf_status play_text(cf_chat__run *run, cf_chat__reply *reply, const json_t *item, bool *done,
                           cf_error *err)
{
    cf_str text = cf_json_get_str(item, "text");
    json_int_t chunk = json_integer_value(json_object_get(item, "chunk"));
    json_int_t delay = json_integer_value(json_object_get(item, "delay_ms"));
    for (size_t at = 0; at < text.n && !*done;) {
        CF_TRY(wait_ms(run, at > 0 ? delay : 0, err));
        cf_str rest = cf_str_make(text.p + at, text.n - at);
        size_t n = chars_bytes(rest, chunk > 0 ? (size_t)chunk : 3);
        CF_TRY(give(run, reply, cf_str_make(rest.p, n), done, err));
        at += n;
    }
    return CF_OK;
}

static void tell_token(cf_chat__run *run, const json_t *token, cf_str text)
{
    cf_text_candidate top[TOP_MAX];
    const json_t *list = json_object_get(token, "top");
    size_t n = json_array_size(list) < TOP_MAX ? json_array_size(list) : TOP_MAX;
    for (size_t i = 0; i < n; i++) {
        const json_t *pair = json_array_get(list, i);
        const json_t *name = json_array_get(pair, 0);
        top[i].text = cf_str_make(json_string_value(name), json_string_length(name));
        top[i].p = (float)json_number_value(json_array_get(pair, 1));
    }
    const json_t *p = json_object_get(token, "p");
    cf_chat_event ev = {.kind = CF_CHAT_TOKEN, .text = text};
    ev.token = (cf_chat_token){
        .id = CF_TOKEN_NONE,
        .p = json_is_number(p) ? (float)json_number_value(p) : -1,
        .raw_off = run->out->raw.n,
        .top = top,
        .n_top = n,
    };
    cf_chat__emit(run, &ev);
}

static cf_status play_tokens(cf_chat__run *run, cf_chat__reply *reply, const json_t *item,
                             bool *done, cf_error *err)
{
    const json_t *tokens = json_object_get(item, "tokens");
    json_int_t delay = json_integer_value(json_object_get(item, "delay_ms"));
    for (size_t i = 0; i < json_array_size(tokens) && !*done; i++) {
        CF_TRY(wait_ms(run, i > 0 ? delay : 0, err));
        const json_t *token = json_array_get(tokens, i);
        cf_str text = cf_json_get_str(token, "text");
        tell_token(run, token, text);
        CF_TRY(give(run, reply, text, done, err));
    }
    return CF_OK;
}

static cf_status fail_as_told(cf_chat__run *run, cf_str name, cf_error *err)
{
    cf_fault fault = CF_FAULT_OTHER;
    if (!cf_fault_parse(&fault, name)) {
        return cf_fail(err, CF_EFORMAT, "script: no error is called '%.*s'", (int)name.n, name.p);
    }
    cf_status st = fault == CF_FAULT_NETWORK           ? CF_EIO
                   : fault == CF_FAULT_MODEL_NOT_FOUND ? CF_ENOTFOUND
                   : fault == CF_FAULT_RATE_LIMIT      ? CF_EBUSY
                   : fault == CF_FAULT_PROTOCOL        ? CF_EFORMAT
                                                       : CF_EINVAL;
    return cf_chat__fault(run, fault,
                          cf_fail(err, st, "the script says: %s", cf_fault_name(fault)));
}

static void read_usage(cf_chat__run *run, const json_t *item)
{
    const json_t *u = json_object_get(item, "usage");
    if (!json_is_object(u)) {
        return;
    }
    cf_usage *out = &run->out->usage;
    out->is_known = true;
    out->n_prompt = (uint64_t)json_integer_value(json_object_get(u, "prompt_tokens"));
    out->n_reply = (uint64_t)json_integer_value(json_object_get(u, "completion_tokens"));
    const json_t *total = json_object_get(u, "total_tokens");
    out->n_total =
        json_is_integer(total) ? (uint64_t)json_integer_value(total) : out->n_prompt + out->n_reply;
}

static cf_stop_reason told_reason(const json_t *item)
{
    cf_str name = cf_json_get_str(item, "stop");
    for (int i = CF_STOP_END; i <= CF_STOP_FILTERED; i++) {
        if (cf_str_is(name, cf_stop_reason_name((cf_stop_reason)i))) {
            return (cf_stop_reason)i;
        }
    }
    return CF_STOP_END;
}

static cf_status play(cf_chat__run *run, cf_chat__reply *reply, const json_t *item, cf_error *err)
{
    bool done = false;
    cf_str thinking = cf_json_get_str(item, "thinking");
    CF_TRY(cf_chat__is_cancelled(run) ? cf_chat__cancelled(err) : CF_OK);
    if (thinking.n > 0) {
        CF_TRY(cf_chat__reply_think(reply, thinking, err));
    }
    CF_TRY(json_object_get(item, "tokens") != NULL ? play_tokens(run, reply, item, &done, err)
                                                   : play_text(run, reply, item, &done, err));
    cf_str error = cf_json_get_str(item, "error");
    if (error.p != NULL && !done) {
        return fail_as_told(run, error, err);
    }
    read_usage(run, item);
    if (!done) {
        run->out->stop.reason = told_reason(item);
    }
    return CF_OK;
}

/* A script has no vocabulary: bos_token and eos_token are those the script
 * says, else the usual spelling. */
static bool add_special(json_t *context, const json_t *root)
{
    static const char *const names[][2] = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
    bool ok = true;
    for (size_t i = 0; i < 2; i++) {
        cf_str told = cf_json_get_str(root, names[i][0]);
        if (json_object_get(context, names[i][0]) == NULL) {
            ok = ok && json_object_set_new(context, names[i][0],
                                           told.p != NULL ? json_stringn(told.p, told.n)
                                                          : json_string(names[i][1])) == 0;
        }
    }
    return ok;
}

static cf_status render(cf_backend *b, const cf_chat_request *request, cf_arena *arena,
                        cf_prompt *out, cf_error *err)
{
    const script *s = (const script *)b;
    json_t *context = cf_chat__context(request);
    if (context == NULL || !add_special(context, s->root)) {
        json_decref(context);
        return cf_oom_for(err, "the context");
    }
    cf_prompt_renderer r =
        s->options.renderer.render != NULL ? s->options.renderer : cf_renderer_plain();
    cf_status st = cf_chat__render(&r, request, context, arena, out, err);
    json_decref(context);
    return st;
}

static cf_status show_prompt(cf_backend *b, cf_chat__run *run, cf_chat__reply *reply, cf_error *err)
{
    cf_arena arena;
    cf_prompt prompt = {.n_spans = 0};
    cf_arena_init(&arena, 0);
    uint64_t started = cf_os_monotonic_us();
    cf_status st = render(b, run->request, &arena, &prompt, err);
    run->out->timings.render_us = cf_os_monotonic_us() - started;
    if (st == CF_OK) {
        cf_buf_add(&run->out->prompt, prompt.text.p, prompt.text.n);
        cf_chat__reply_after_prompt(reply, prompt.text);
        st = cf_buf_check(&run->out->prompt, err);
    } else if (st != CF_ENOMEM) {
        run->out->stop.fault = CF_FAULT_TEMPLATE;
    }
    cf_arena_deinit(&arena);
    return st;
}

static cf_status stream(cf_backend *b, cf_chat__run *run, cf_error *err)
{
    script *s = (script *)b;
    const json_t *replies = json_object_get(s->root, "replies");
    cf_chat__reply reply;
    CF_TRY(cf_chat__reply_init(&reply, run, s->options.family, s->options.channels,
                               s->options.n_channels, err));
    cf_status st = show_prompt(b, run, &reply, err);
    if (st == CF_OK && run->request->is_pending) {
        run->out->stop.reason = CF_STOP_PENDING;
        cf_chat__reply_deinit(&reply);
        return CF_OK;
    }
    if (st == CF_OK && run->request->reply_prefix.n > 0) {
        bool stopped;
        reply.is_quiet = true;
        st = cf_chat__reply_add(&reply, run->request->reply_prefix, &stopped, err);
        reply.is_quiet = false;
    }
    if (st == CF_OK) {
        const json_t *item = json_array_get(replies, s->next);
        s->next = (s->next + 1) % json_array_size(replies);
        uint64_t started = cf_os_monotonic_us();
        st = play(run, &reply, item, err);
        run->out->timings.decode_us = cf_os_monotonic_us() - started;
    }
    if (st != CF_ENOMEM && (st == CF_OK || run->out->raw.n > 0)) {
        cf_error why;
        cf_status end = cf_chat__reply_finish(&reply, NULL, &why);
        if (st == CF_OK && end != CF_OK) {
            st = end;
            if (err != NULL) {
                *err = why;
            }
        }
    }
    cf_chat__reply_deinit(&reply);
    return st;
}

static cf_status clone(cf_backend **out, const cf_backend *from, cf_error *err)
{
    const script *s = (const script *)from;
    CF_TRY(cf_backend_script_new(out, s->root, &s->options, err));
    ((script *)*out)->next = s->next;
    return CF_OK;
}

static const cf_backend__ops script_ops = {
    .info = get_info,
    .free = free_script,
    .stream = stream,
    .render = render,
    .clone = clone,
};

cf_status cf_backend_script_new(cf_backend **out, const json_t *root,
                                const cf_script_options *options, cf_error *err)
{
    const json_t *replies = json_object_get(root, "replies");
    if (!json_is_array(replies) || json_array_size(replies) == 0) {
        return cf_fail(err, CF_EFORMAT, "script: \"replies\" must be a list that is not empty");
    }
    for (size_t i = 0; i < json_array_size(replies); i++) {
        const json_t *r = json_array_get(replies, i);
        if (!json_is_string(json_object_get(r, "text")) &&
            !json_is_array(json_object_get(r, "tokens")) &&
            !json_is_string(json_object_get(r, "error"))) {
            return cf_fail(err, CF_EFORMAT, "script: reply %zu has no text, tokens or error",
                           i + 1);
        }
    }
    script *s = cf_calloc(1, sizeof *s);
    if (s == NULL) {
        return cf_oom_for(err, "the script");
    }
    s->base.ops = &script_ops;
    s->root = json_incref(cf_json_ref(root));
    if (options != NULL) {
        s->options = *options;
    }
    *out = &s->base;
    return CF_OK;
}

void cf_backend_script_set(cf_backend *b, const cf_script_options *options)
{
    if (b->ops == &script_ops && options != NULL) {
        ((script *)b)->options = *options;
    }
}
