/*
 * wire_reply.c - cuts an answer into its JSON values, in any chunks, and makes
 * messages of what they added up to.
 *
 * Rules:
 *  1. `form` is decided by the first byte that is not blank and by the
 *     interface, so it does not depend on how the bytes were cut.
 *  2. `text` holds bytes that are not taken yet: of a whole value all of it,
 *     of lines the one that has not ended.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/wire/wire_impl.h"

enum { VALUE_MAX = 64 << 20 };

void cf_wire_reader_init(cf_wire_reader *r, cf_api api)
{
    memset(r, 0, sizeof *r);
    r->api = api;
    r->usage = (cf_wire_usage){-1, -1, -1};
    cf_sse_init(&r->sse);
}

void cf_wire_reader_deinit(cf_wire_reader *r)
{
    for (size_t i = 0; i < CF_WIRE_CHOICES_MAX; i++) {
        cf_wire_choice *c = &r->choice[i];
        for (size_t k = 0; k < c->n_calls; k++) {
            cf_buf_deinit(&c->calls[k].id);
            cf_buf_deinit(&c->calls[k].name);
            cf_buf_deinit(&c->calls[k].arguments);
        }
        cf_free(c->calls);
        cf_buf_deinit(&c->content);
        cf_buf_deinit(&c->thinking);
    }
    cf_sse_deinit(&r->sse);
    cf_buf_deinit(&r->text);
    memset(r, 0, sizeof *r);
}

cf_wire_choice *cf_wire__choice(cf_wire_reader *r, int64_t index)
{
    if (index < 0 || index >= CF_WIRE_CHOICES_MAX) {
        return NULL;
    }
    if ((size_t)index >= r->n_choices) {
        r->n_choices = (size_t)index + 1;
    }
    return &r->choice[index];
}

/* ---- cutting ------------------------------------------------------------ */

static cf_status take_text(cf_wire_reader *r, cf_str text, cf_error *err)
{
    json_t *v = NULL;
    CF_TRY(cf_json_read(&v, text.p, text.n, err));
    cf_status st = cf_wire__value(r, v, err);
    json_decref(v);
    return st;
}

static cf_status on_event(cf_str data, void *ud, cf_error *err)
{
    cf_wire_reader *r = ud;
    if (cf_str_is(data, "[DONE]")) {
        r->is_ended = true;
        return CF_OK;
    }
    return take_text(r, data, err);
}

static bool is_blank(cf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (strchr(" \t\r\n", s.p[i]) == NULL || s.p[i] == '\0') {
            return false;
        }
    }
    return true;
}

static cf_status feed_lines(cf_wire_reader *r, cf_str bytes, cf_error *err)
{
    for (size_t i = 0; i < bytes.n; i++) {
        if (bytes.p[i] != '\n') {
            cf_buf_addc(&r->text, bytes.p[i]);
            continue;
        }
        CF_TRY(cf_buf_check(&r->text, err));
        cf_status st =
            is_blank(cf_buf_str(&r->text)) ? CF_OK : take_text(r, cf_buf_str(&r->text), err);
        cf_buf_reset(&r->text);
        CF_TRY(st);
    }
    return cf_buf_check(&r->text, err);
}

static cf_wire_form form_of(const cf_wire_reader *r, char first)
{
    if (first != '{' && first != '[') {
        return CF_WIRE_EVENTS;
    }
    return r->api == CF_API_OLLAMA_CHAT || r->api == CF_API_OLLAMA_GENERATE ? CF_WIRE_LINES
                                                                            : CF_WIRE_WHOLE;
}

cf_status cf_wire_reader_feed(cf_wire_reader *r, cf_str bytes, cf_error *err)
{
    while (r->form == CF_WIRE_UNKNOWN && bytes.n > 0) {
        if (is_blank(cf_str_make(bytes.p, 1))) {
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
    cf_status st = CF_OK;
    if (r->form == CF_WIRE_EVENTS) { /* a last event may lack its empty line */
        st = cf_sse_feed(&r->sse, "\n\n", 2, on_event, r, err);
    } else if (!is_blank(cf_buf_str(&r->text))) {
        st = take_text(r, cf_buf_str(&r->text), err);
        cf_buf_reset(&r->text);
        r->is_ended = r->is_ended || (st == CF_OK && r->form == CF_WIRE_WHOLE);
    }
    return st;
}

/* ---- what came ---------------------------------------------------------- */

bool cf_wire_reader_has_begun(const cf_wire_reader *r)
{
    for (size_t i = 0; i < r->n_choices; i++) {
        if (r->choice[i].has_any) {
            return true;
        }
    }
    return false;
}

static json_t *call_message(const cf_wire_call *c)
{
    json_t *v = json_pack("{s:s, s:{s:o, s:o}}", "type", "function", "function", "name",
                          cf_wire__text(cf_buf_str(&c->name)), "arguments",
                          cf_wire__text(cf_buf_str(&c->arguments)));
    if (c->id.n != 0) {
        (void)json_object_set_new(v, "id", cf_wire__text(cf_buf_str(&c->id)));
    }
    return v;
}

json_t *cf_wire_reader_message(const cf_wire_reader *r, size_t i)
{
    const cf_wire_choice *c = &r->choice[i];
    const uint64_t failures = cf_alloc_failures();
    json_t *m = json_pack(
        "{s:s, s:o}", "role", "assistant", "content",
        c->content.n == 0 && c->n_calls > 0 ? json_null() : cf_wire__text(cf_buf_str(&c->content)));
    if (c->thinking.n != 0) {
        (void)json_object_set_new(m, "reasoning_content", cf_wire__text(cf_buf_str(&c->thinking)));
    }
    if (c->n_calls > 0) {
        json_t *calls = json_array();
        for (size_t k = 0; k < c->n_calls; k++) {
            (void)json_array_append_new(calls, call_message(&c->calls[k]));
        }
        (void)json_object_set_new(m, "tool_calls", calls);
    }
    if (cf_alloc_failures() != failures) {
        json_decref(m);
        return NULL;
    }
    return m;
}
