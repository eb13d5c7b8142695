/*
 * wire_reply.c - replies as sums of events, and answers cut into JSON values,
 * in any chunks.
 *
 * Rules:
 *  1. `form` is decided by the first byte that is not blank and by the
 *     interface, so it does not depend on how the bytes were cut.
 *  2. `text` holds bytes that are not taken yet: of a whole value all of it,
 *     of lines the one that has not ended.
 *  3. The reply is the sum of the events that were told, and of nothing else.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/wire/wire_impl.h"

enum { VALUE_MAX = 64 << 20 };

/* ---- replies ------------------------------------------------------------ */

cf_wire_usage cf_wire_usage_none(void)
{
    return (cf_wire_usage){-1, -1, -1, -1, -1, -1, -1};
}

void cf_wire_reply_init(cf_wire_reply *r)
{
    memset(r, 0, sizeof *r);
    r->usage = cf_wire_usage_none();
}

static void deinit_call(cf_wire_call *c)
{
    cf_buf_deinit(&c->id);
    cf_buf_deinit(&c->name);
    cf_buf_deinit(&c->arguments);
}

void cf_wire_reply_deinit(cf_wire_reply *r)
{
    for (size_t i = 0; i < CF_WIRE_CHOICES_MAX; i++) {
        cf_wire_choice *c = &r->choice[i];
        for (size_t k = 0; k < c->n_calls; k++) {
            deinit_call(&c->calls[k]);
        }
        cf_free(c->calls);
        cf_buf_deinit(&c->content);
        cf_buf_deinit(&c->thinking);
        cf_buf_deinit(&c->refusal);
        cf_buf_deinit(&c->signature);
    }
    memset(r, 0, sizeof *r);
}

static void add(cf_wire_reply *r, cf_buf *to, cf_str s)
{
    cf_buf_add(to, s.p, s.n);
    if (to->failed) { /* choices have threads of their own */
        r->failed = true;
    }
}

static void replace(cf_wire_reply *r, cf_buf *b, cf_str s)
{
    if (s.n != 0) {
        cf_buf_reset(b);
        add(r, b, s);
    }
}

static void add_call(cf_wire_reply *r, cf_wire_choice *c, const cf_wire_event *e)
{
    if (e->call >= CF_WIRE_CALLS_MAX) {
        return;
    }
    if (!cf_grow(&c->calls, &c->cap_calls, e->call + 1, sizeof *c->calls)) {
        r->failed = true;
        return;
    }
    for (; c->n_calls <= e->call; c->n_calls++) {
        c->calls[c->n_calls] = (cf_wire_call){.index = (int64_t)c->n_calls};
    }
    cf_wire_call *call = &c->calls[e->call];
    replace(r, &call->id, e->id);
    replace(r, &call->name, e->name);
    add(r, &call->arguments, e->text);
}

static void restart(cf_wire_choice *c)
{
    cf_buf_reset(&c->content);
    cf_buf_reset(&c->thinking);
    cf_buf_reset(&c->refusal);
    cf_buf_reset(&c->signature);
    for (size_t k = 0; k < c->n_calls; k++) {
        deinit_call(&c->calls[k]);
    }
    c->n_calls = 0;
}

void cf_wire_reply_add(cf_wire_reply *r, const cf_wire_event *e)
{
    if (e->choice >= CF_WIRE_CHOICES_MAX) {
        return;
    }
    if (e->choice >= r->n_choices) {
        r->n_choices = e->choice + 1;
    }
    cf_wire_choice *c = &r->choice[e->choice];
    switch (e->kind) {
    case CF_WIRE_TEXT:
        add(r, &c->content, e->text);
        break;
    case CF_WIRE_THINKING:
        add(r, &c->thinking, e->text);
        break;
    case CF_WIRE_SIGNATURE:
        add(r, &c->signature, e->text);
        break;
    case CF_WIRE_REFUSAL:
        add(r, &c->refusal, e->text);
        break;
    case CF_WIRE_CALL:
        add_call(r, c, e);
        break;
    case CF_WIRE_RESTART:
        restart(c);
        break;
    case CF_WIRE_END:
        cf_wire__copy(c->end, sizeof c->end, e->text);
        c->stop = e->stop;
        return;
    case CF_WIRE_BEGIN:
    case CF_WIRE_TOKEN:
        return;
    }
    c->has_any = c->has_any || e->text.n > 0 || e->kind == CF_WIRE_CALL;
}

/* The content; a refusal takes its place, as it does on a screen. */
static json_t *content_of(const cf_wire_choice *c)
{
    cf_buf both = CF_BUF_INIT;
    if (c->content.n + c->refusal.n == 0 && c->n_calls > 0) {
        return json_null();
    }
    if (c->refusal.n == 0) {
        return cf_json_buf(&c->content);
    }
    cf_buf_add(&both, c->content.p, c->content.n);
    cf_buf_add(&both, c->refusal.p, c->refusal.n);
    json_t *v = cf_json_buf(&both);
    cf_buf_deinit(&both);
    return v;
}

json_t *cf_wire_reply_message(const cf_wire_reply *r, size_t i)
{
    const cf_wire_choice *c = &r->choice[i];
    cf_jb b = CF_JB_INIT;
    cf_jb_object(&b, NULL);
    cf_jb_text(&b, "role", "assistant");
    cf_jb_take(&b, "content", content_of(c));
    if (c->thinking.n != 0) {
        cf_jb_buf(&b, "reasoning_content", &c->thinking);
    }
    if (c->signature.n != 0) {
        cf_jb_buf(&b, "reasoning_signature", &c->signature);
    }
    if (c->n_calls > 0) {
        cf_jb_array(&b, "tool_calls");
        for (size_t k = 0; k < c->n_calls; k++) {
            json_t *arguments = cf_json_buf(&c->calls[k].arguments);
            cf_jb_take(&b, NULL,
                       arguments == NULL ? NULL
                                         : cf_wire__call(cf_buf_str(&c->calls[k].id),
                                                         cf_buf_str(&c->calls[k].name), arguments));
            json_decref(arguments);
        }
        cf_jb_end(&b);
    }
    cf_jb_end(&b);
    if (r->failed) {
        cf_jb_fail(&b);
    }
    return cf_jb_done(&b);
}

/* ---- events ------------------------------------------------------------- */

bool cf_wire__has_choice(cf_wire_reader *r, int64_t index)
{
    if (index < 0 || index >= CF_WIRE_CHOICES_MAX) {
        r->has_too_many = true;
        return false;
    }
    if ((size_t)index >= r->reply.n_choices) {
        r->reply.n_choices = (size_t)index + 1;
    }
    return true;
}

void cf_wire__emit(cf_wire_reader *r, const cf_wire_event *e)
{
    if (r->on_event != NULL && r->st == CF_OK) {
        r->st = r->on_event(r->ud, e, r->err);
    }
    cf_wire_reply_add(&r->reply, e);
}

void cf_wire__emit_text(cf_wire_reader *r, size_t choice, cf_wire_event_kind kind, cf_str text)
{
    if (text.n > 0) {
        cf_wire__emit(r, &(cf_wire_event){.kind = kind, .choice = choice, .text = text});
    }
}

void cf_wire__emit_end(cf_wire_reader *r, size_t choice, cf_str word)
{
    cf_wire_stop stop = CF_WIRE_STOP_OTHER;
    if (word.n == 0) {
        return;
    }
    for (const cf_wire__end *e = cf_wire__row_of(r->api)->ends; e->word != NULL; e++) {
        if (cf_str_is(word, e->word)) {
            stop = e->stop;
            break;
        }
    }
    if (stop == CF_WIRE_STOP_END && r->reply.choice[choice].n_calls > 0) {
        stop = CF_WIRE_STOP_CALLS; /* not every interface says so */
    }
    cf_wire__emit(
        r, &(cf_wire_event){.kind = CF_WIRE_END, .choice = choice, .text = word, .stop = stop});
}

void cf_wire__emit_call(cf_wire_reader *r, size_t choice, int64_t index, cf_str id, cf_str name,
                        const json_t *arguments)
{
    cf_wire_choice *c = &r->reply.choice[choice];
    cf_wire_event e = {.kind = CF_WIRE_CALL, .choice = choice, .id = id, .name = name};
    cf_buf written = CF_BUF_INIT;
    while (e.call < c->n_calls && c->calls[e.call].index != index) {
        e.call++;
    }
    if (e.call == CF_WIRE_CALLS_MAX) {
        r->has_too_many = true;
        return;
    }
    if (json_is_string(arguments)) {
        e.text = cf_str_make(json_string_value(arguments), json_string_length(arguments));
    } else if (arguments != NULL && !json_is_null(arguments)) {
        cf_json_write(&written, arguments);
        r->reply.failed = r->reply.failed || written.failed;
        e.text = cf_buf_str(&written);
    }
    cf_wire__emit(r, &e);
    if (e.call < c->n_calls) {
        c->calls[e.call].index = index;
    }
    cf_buf_deinit(&written);
}

void cf_wire__count(int64_t *to, const json_t *obj, const char *key)
{
    const json_t *v = json_object_get(obj, key);
    if (json_is_integer(v) && json_integer_value(v) >= 0) {
        *to = json_integer_value(v);
    }
}

void cf_wire__error(cf_wire_reader *r, const json_t *error)
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
        cf_wire__count(&r->error_code, error, "code");
    }
}

void cf_wire__name(cf_wire_reader *r, cf_str id, cf_str model)
{
    if (id.n != 0) {
        cf_wire__copy(r->reply.id, sizeof r->reply.id, id);
    }
    if (model.n != 0) {
        cf_wire__copy(r->reply.model, sizeof r->reply.model, model);
    }
}

/* ---- values ------------------------------------------------------------- */

static cf_status take_value(cf_wire_reader *r, const json_t *v, cf_error *err)
{
    const cf_wire__row *row = cf_wire__row_of(r->api);
    if (!json_is_object(v)) { /* Gemini may send a list of what a stream would have */
        for (size_t i = 0; i < json_array_size(v) && r->form == CF_WIRE_WHOLE; i++) {
            const json_t *one = json_array_get(v, i);
            CF_TRY(json_is_object(one) ? take_value(r, one, err) : CF_OK);
        }
        return CF_OK;
    }
    r->err = err;
    r->n_values++;
    if (r->on_value != NULL) {
        r->st = r->on_value(r->ud, v, err);
    }
    if (r->st == CF_OK) {
        cf_wire__error(r, json_object_get(v, "error"));
        cf_wire__name(r, cf_str_make(NULL, 0), cf_json_get_str(v, "model"));
        if (row->read_value != NULL) {
            row->read_value(r, v);
        }
    }
    r->err = NULL;
    CF_TRY(r->st);
    return r->reply.failed ? cf_oom_for(err, "an answer") : CF_OK;
}

cf_status cf_wire_reader_data(cf_wire_reader *r, cf_str data, cf_error *err)
{
    json_t *v = NULL;
    if (cf_str_is(data, "[DONE]")) {
        r->is_ended = true;
        return CF_OK;
    }
    CF_TRY(cf_json_read(&v, data.p, data.n, err));
    cf_status st = take_value(r, v, err);
    json_decref(v);
    return st;
}

/* ---- cutting ------------------------------------------------------------ */

void cf_wire_reader_init(cf_wire_reader *r, cf_api api)
{
    memset(r, 0, sizeof *r);
    r->api = api;
    cf_wire_reply_init(&r->reply);
    cf_sse_init(&r->sse);
}

void cf_wire_reader_deinit(cf_wire_reader *r)
{
    cf_wire_reply_deinit(&r->reply);
    cf_sse_deinit(&r->sse);
    cf_buf_deinit(&r->text);
    memset(r, 0, sizeof *r);
}

static cf_status on_event(cf_str data, void *ud, cf_error *err)
{
    return cf_wire_reader_data(ud, data, err);
}

/* Takes the bytes that wait, if they are more than blanks. */
static cf_status take_text(cf_wire_reader *r, cf_error *err)
{
    cf_str text = cf_buf_str(&r->text);
    cf_status st = cf_str_trim(text).n == 0 ? CF_OK : cf_wire_reader_data(r, text, err);
    cf_buf_reset(&r->text);
    return st;
}

static cf_status feed_lines(cf_wire_reader *r, cf_str bytes, cf_error *err)
{
    while (bytes.n > 0) {
        const char *end = memchr(bytes.p, '\n', bytes.n);
        size_t n = end != NULL ? (size_t)(end - bytes.p) : bytes.n;
        cf_buf_add(&r->text, bytes.p, n);
        CF_TRY(cf_buf_check(&r->text, err));
        if (end != NULL) {
            CF_TRY(take_text(r, err));
            n++;
        }
        bytes = cf_str_make(bytes.p + n, bytes.n - n);
    }
    return CF_OK;
}

static cf_wire_form form_of(const cf_wire_reader *r, char first)
{
    return first != '{' && first != '['        ? CF_WIRE_EVENTS
           : cf_wire__row_of(r->api)->is_lines ? CF_WIRE_LINES
                                               : CF_WIRE_WHOLE;
}

cf_status cf_wire_reader_feed(cf_wire_reader *r, cf_str bytes, cf_error *err)
{
    while (r->form == CF_WIRE_UNKNOWN && bytes.n > 0) {
        if (cf_is_blank(bytes.p[0])) {
            bytes = cf_str_make(bytes.p + 1, bytes.n - 1);
        } else {
            r->form = form_of(r, bytes.p[0]);
        }
    }
    if (bytes.n == 0) {
        return CF_OK;
    }
    if (r->form == CF_WIRE_EVENTS) {
        return cf_sse_feed(&r->sse, bytes.p, bytes.n, on_event, r, err);
    }
    if (r->text.n + bytes.n > VALUE_MAX) {
        return cf_fail(err, CF_ELIMIT, "an answer of more than %d MiB", VALUE_MAX >> 20);
    }
    if (r->form == CF_WIRE_LINES) {
        return feed_lines(r, bytes, err);
    }
    cf_buf_add(&r->text, bytes.p, bytes.n);
    return cf_buf_check(&r->text, err);
}

cf_status cf_wire_reader_finish(cf_wire_reader *r, cf_error *err)
{
    if (r->form == CF_WIRE_EVENTS) { /* a last event may lack its empty line */
        return cf_sse_feed(&r->sse, "\n\n", 2, on_event, r, err);
    }
    bool is_whole = r->form == CF_WIRE_WHOLE && cf_str_trim(cf_buf_str(&r->text)).n != 0;
    CF_TRY(take_text(r, err));
    r->is_ended = r->is_ended || is_whole;
    return CF_OK;
}

bool cf_wire_reader_has_begun(const cf_wire_reader *r)
{
    for (size_t i = 0; i < r->reply.n_choices; i++) {
        if (r->reply.choice[i].has_any) {
            return true;
        }
    }
    return false;
}
