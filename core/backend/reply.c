/*
 * reply.c - turns reply bytes into events and a message.
 *
 *   bytes -> stop strings -> whole characters -> channels -> tool parser
 *
 * A byte is held back only while it may belong to a stop string, a delimiter
 * or a fence that is not complete.  A delimiter inside a tool call is part of
 * the call.
 */
#include <stdio.h>
#include <string.h>

#include "core/backend/backend_impl.h"
#include "core/tools/tool_emit.h"

static void send_text(cf_chat__reply *r, cf_chat_event_kind kind, cf_str channel, cf_str text)
{
    if (text.n == 0 || r->is_quiet) {
        return;
    }
    cf_chat_event ev = {.kind = kind, .text = text, .channel = channel};
    cf_chat__emit(r->run, &ev);
}

static cf_str no_channel(void)
{
    return cf_str_make(NULL, 0);
}

/* ---- text without the white space around it ----------------------------- */

/* Sends content up to text that is not white space: what waited comes first,
 * at the beginning of the content without what belongs to thinking or calls. */
static void say(cf_chat__reply *r, cf_str text)
{
    const size_t from = r->said.n;
    cf_buf_add(&r->blank, text.p, text.n);
    cf_str s = cf_buf_str(&r->blank);
    while (from == 0 && s.n > 0 &&
           (r->has_called ? cf_tool__is_space(s.p[0]) : r->has_thought && s.p[0] == '\n')) {
        s.p++;
        s.n--;
    }
    cf_buf_add(&r->said, s.p, s.n);
    send_text(r, CF_CHAT_TEXT, no_channel(), s);
    r->said.failed = r->said.failed || r->blank.failed;
    cf_buf_reset(&r->blank);
    r->n_before = 0;
}

/* White space waits until text follows it: the one around calls is not part of
 * the message. */
static cf_status add_content(cf_chat__reply *r, cf_str text, cf_error *err)
{
    size_t end = text.n;
    while (end > 0 && cf_tool__is_space(text.p[end - 1])) {
        end--;
    }
    if (end > 0) {
        say(r, cf_str_make(text.p, end));
        r->has_text = true;
    }
    cf_buf_add(&r->blank, text.p + end, text.n - end);
    CF_TRY(cf_buf_check(&r->said, err));
    return cf_buf_check(&r->blank, err);
}

/* White space alone, next to a call, is dropped. */
static void drop_blank(cf_chat__reply *r)
{
    if (!r->has_text) {
        r->blank.n = r->n_before;
    }
}

static void note_call(cf_chat__reply *r)
{
    drop_blank(r);
    r->n_before = r->blank.n;
    r->has_called = r->is_after_call = true;
    r->has_text = false;
}

/* A block that is no call is content. */
static void note_failed(cf_chat__reply *r, cf_str block)
{
    if (r->is_after_call) {
        drop_blank(r);
    }
    say(r, no_channel());
    cf_buf_add(&r->said, block.p, block.n);
    r->has_text = r->is_after_call = false;
}

/* A piece of channel i, without the newlines that templates put around it. */
static cf_status add_channel(cf_chat__reply *r, size_t i, cf_str text, cf_error *err)
{
    cf_buf *to = &r->in[i];
    const size_t from = to->n;
    size_t end = text.n;
    r->has_thought = r->has_thought || (i == 0 && text.n > 0);
    while (end > 0 && text.p[end - 1] == '\n') {
        end--;
    }
    if (end > 0 && from == 0) {
        for (; text.p[0] == '\n'; text.p++, text.n--, end--) {
        }
    }
    for (; end > 0 && from > 0 && r->late[i] > 0; r->late[i]--) {
        cf_buf_addc(to, '\n');
    }
    r->late[i] = (end > 0 ? 0 : r->late[i]) + (text.n - end);
    cf_buf_add(to, text.p, end);
    CF_TRY(cf_buf_check(to, err));
    send_text(r, CF_CHAT_THINKING,
              i < r->split.n ? r->split.channels[i].name : cf_str_from("thinking"),
              cf_str_make(to->p + from, to->n - from));
    return CF_OK;
}

/* ---- events ------------------------------------------------------------- */

void cf_chat__call_id(cf_tool_call *call, char made[CF_CALL_ID_TEXT], const json_t *messages,
                      size_t index)
{
    size_t n = index + 1;
    for (size_t i = 0; call->id.n == 0 && i < json_array_size(messages); i++) {
        n += json_array_size(json_object_get(json_array_get(messages, i), "tool_calls"));
    }
    if (call->id.n == 0) {
        snprintf(made, CF_CALL_ID_TEXT, "call%05u", (unsigned)(n % 100000));
        call->id = cf_str_from(made);
    }
}

/* Whether the reply has as many calls as it may have without this one. */
static bool has_enough(const cf_chat__reply *r, size_t index)
{
    const cf_chat_options *o = r->run->request->options;
    return o != NULL && o->max_calls > 0 && index >= o->max_calls;
}

bool cf_chat__reply_is_full(const cf_chat__reply *r)
{
    return has_enough(r, r->n_calls);
}

static void send_call(cf_chat__reply *r, const cf_tool_call *from, size_t index, cf_str bytes)
{
    char made[CF_CALL_ID_TEXT];
    cf_tool_call call = *from;
    if (!r->is_quiet) {
        cf_chat__call_id(&call, made, r->run->request->messages, index);
        cf_chat_event ev = {.kind = CF_CHAT_CALL, .index = index, .call = &call, .text = bytes};
        cf_chat__emit(r->run, &ev);
    }
}

static void on_tool_event(const cf_tool_event *ev, void *ud)
{
    cf_chat__reply *r = ud;
    const cf_tool_parse *p = ev->parse;
    cf_str bytes = cf_str_make(p->raw.p + ev->off, ev->len);
    switch (ev->kind) {
    case CF_TOOL_EV_TEXT:
        cf_ignore(add_content(r, bytes, NULL)); /* the buffers tell of memory */
        break;
    case CF_TOOL_EV_DELTA:
        send_text(r, CF_CHAT_CALL_DELTA, no_channel(), bytes);
        break;
    case CF_TOOL_EV_CALL:
        note_call(r);
        r->n_calls++;
        if (!has_enough(r, ev->index)) {
            send_call(r, &p->calls[ev->index], ev->index, bytes);
        }
        break;
    case CF_TOOL_EV_FAILED:
        note_failed(r, bytes);
        if (!r->is_quiet) {
            const cf_tool_segment *s = &p->segments[ev->index];
            cf_chat_event out = {.kind = CF_CHAT_CALL_FAILED, .index = ev->index, .text = bytes};
            cf_fail_at(&out.stop.err, CF_EFORMAT, s->error_off, "byte %zu: expected %.*s",
                       s->error_off, (int)s->expected.n, s->expected.p);
            cf_chat__emit(r->run, &out);
        }
        break;
    case CF_TOOL_EV_RETRACT:
        break;
    }
}

/* A delimiter inside a call belongs to the call. */
static bool is_outside_calls(void *ud)
{
    const cf_chat__reply *r = ud;
    return r->parser == NULL || !cf_tool_parser_in_block(r->parser);
}

/* More of a call that is being written.  What contradicts earlier parts is left
 * to the finished call. */
static cf_status add_part(cf_chat__reply *r, size_t index, const cf_tool_so_far *v, cf_error *err)
{
    cf_tool_call call = {.name = v->name, .id = v->id};
    char made[CF_CALL_ID_TEXT];
    if (index > r->part_index) {
        cf_buf_reset(&r->part);
        r->part_index = index;
        r->has_part = false;
    }
    const cf_str sent = cf_buf_str(&r->part);
    if (index < r->part_index || has_enough(r, index) || !cf_str_starts(v->arguments, sent) ||
        (v->arguments.n == sent.n && r->has_part)) {
        return CF_OK;
    }
    const cf_str more = cf_str_make(v->arguments.p + sent.n, v->arguments.n - sent.n);
    cf_buf_add(&r->part, more.p, more.n);
    r->has_part = true;
    cf_chat__call_id(&call, made, r->run->request->messages, index);
    const cf_chat_event ev = {
        .kind = CF_CHAT_CALL_PART, .index = index, .call = &call, .text = more};
    cf_chat__emit(r->run, &ev);
    return cf_buf_check(&r->part, err);
}

/* A long call is read again after a share of its length, so that all readings
 * together cost a multiple of it. */
static cf_status send_parts(cf_chat__reply *r, cf_error *err)
{
    const cf_chat_options *o = r->run->request->options;
    cf_arena arena;
    cf_tool_so_far *v = NULL;
    size_t n = 0, first = 0;
    if (o == NULL || !o->sends_call_parts || r->is_quiet || r->n_fed < r->parts_at) {
        return CF_OK;
    }
    cf_arena_init(&arena, 0);
    cf_status st = cf_tool_parser_so_far(r->parser, &arena, &v, &n, &first, err);
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        st = add_part(r, first + i, &v[i], err);
    }
    r->parts_at = r->n_fed + r->part.n / 64;
    cf_arena_deinit(&arena);
    return st;
}

static cf_status on_piece(void *ud, size_t channel, cf_str text, cf_error *err)
{
    cf_chat__reply *r = ud;
    if (channel < r->split.n) {
        return add_channel(r, channel, text, err);
    }
    if (r->parser == NULL) {
        return add_content(r, text, err);
    }
    CF_TRY(cf_tool_parser_feed(r->parser, text.p, text.n, err));
    r->n_fed += text.n;
    CF_TRY(send_parts(r, err));
    CF_TRY(cf_buf_check(&r->blank, err));
    return cf_buf_check(&r->said, err);
}

cf_status cf_chat__reply_init(cf_chat__reply *r, const cf_chat__run *run, cf_tool_family family,
                              const cf_channel *channels, size_t n_channels, cf_error *err)
{
    memset(r, 0, sizeof *r);
    const cf_chat_options *o = run->request->options;
    r->run = run;
    cf_channel_split_init(&r->split, channels,
                          n_channels < CF_CHANNELS_MAX ? n_channels : CF_CHANNELS_MAX, on_piece, r);
    r->split.may_open = is_outside_calls;
    cf_text_release_init(&r->release, o != NULL ? o->stop : NULL, o != NULL ? o->n_stop : 0);
    size_t n_tools = 0;
    if (run->request->tools != NULL) {
        cf_tool_set_items(run->request->tools, &n_tools);
    }
    if (n_tools > 0 && family != CF_TOOLS_NONE) {
        r->split.n_stop = cf_tool_family_stops(family, r->split.stop);
        return cf_tool_parser_new(&r->parser, family, run->request->tools, on_tool_event, r, err);
    }
    return CF_OK;
}

void cf_chat__reply_deinit(cf_chat__reply *r)
{
    cf_text_release_deinit(&r->release);
    cf_channel_split_deinit(&r->split);
    cf_buf_deinit(&r->said);
    cf_buf_deinit(&r->blank);
    cf_buf_deinit(&r->part);
    for (size_t i = 0; i < CF_CHANNELS_MAX; i++) {
        cf_buf_deinit(&r->in[i]);
    }
    cf_tool_parser_free(r->parser);
}

/* ---- channels ----------------------------------------------------------- */

void cf_chat__reply_after_prompt(cf_chat__reply *r, cf_str prompt)
{
    cf_channel_split_prompt(&r->split, prompt);
}

cf_status cf_chat__reply_add(cf_chat__reply *r, cf_str bytes, bool *stopped, cf_error *err)
{
    *stopped = cf_text_release_add(&r->release, bytes.p, bytes.n);
    CF_TRY(cf_buf_check(&r->release.text, err));
    return cf_channel_split_add(&r->split, cf_text_release_take(&r->release), err);
}

cf_status cf_chat__reply_think(cf_chat__reply *r, cf_str text, cf_error *err)
{
    return add_channel(r, 0, text, err);
}

bool cf_chat__reply_is_thinking(const cf_chat__reply *r)
{
    return cf_channel_split_is_in(&r->split, 0);
}

/* ---- the message -------------------------------------------------------- */

static json_t *text_json(const char *p, size_t n)
{
    json_t *v = json_stringn(p, n);
    if (v != NULL) {
        return v;
    }
    /* Bytes that are no UTF-8: the writer replaces them. */
    cf_buf quoted = CF_BUF_INIT;
    cf_json_write_str(&quoted, cf_str_make(p, n));
    if (!quoted.failed) {
        v = cf_tool__tree(cf_str_make(quoted.p, quoted.n));
    }
    cf_buf_deinit(&quoted);
    return v;
}

static json_t *call_json(const cf_tool_call *call)
{
    json_t *v = json_object();
    json_t *function = json_pack("{s:s%, s:O}", "name", call->name.p, call->name.n, "arguments",
                                 cf_json_ref(call->json));
    bool ok = v != NULL && function != NULL &&
              json_object_set_new(v, "id", text_json(call->id.p, call->id.n)) == 0 &&
              json_object_set_new(v, "type", json_string("function")) == 0 &&
              json_object_set(v, "function", function) == 0;
    json_decref(function);
    if (!ok) {
        json_decref(v);
        return NULL;
    }
    return v;
}

static bool add_calls(cf_chat__reply *r, json_t *message, const json_t *more)
{
    json_t *calls = json_array();
    bool ok = calls != NULL;
    for (size_t i = 0; ok && r->parse != NULL && i < r->parse->n_calls && !has_enough(r, i); i++) {
        char made[CF_CALL_ID_TEXT];
        cf_tool_call call = r->parse->calls[i];
        cf_chat__call_id(&call, made, r->run->request->messages, i);
        ok = json_array_append_new(calls, call_json(&call)) == 0;
    }
    for (size_t i = 0; ok && i < json_array_size(more); i++) {
        ok = json_array_append(calls, json_array_get(more, i)) == 0;
    }
    if (ok && json_array_size(calls) > 0) {
        ok = json_object_set(message, "tool_calls", calls) == 0;
    }
    json_decref(calls);
    return ok;
}

static bool add_findings(cf_chat__reply *r)
{
    cf_chat_response *out = r->run->out;
    out->findings = json_array();
    bool ok = out->findings != NULL;
    size_t n = r->parse != NULL ? r->parse->n_findings : 0;
    for (size_t i = 0; ok && i < n; i++) {
        const cf_tool_finding *f = &r->parse->findings[i];
        json_t *v = json_object();
        ok = v != NULL &&
             json_object_set_new(v, "status",
                                 json_string(f->status == CF_TOOL_VALID
                                                 ? "NOTE"
                                                 : cf_tool_status_name(f->status))) == 0 &&
             (f->call == CF_TOOL_NO_CALL ||
              json_object_set_new(v, "call", json_integer((json_int_t)f->call)) == 0) &&
             json_object_set_new(v, "path", text_json(f->path.p, f->path.n)) == 0 &&
             json_object_set_new(v, "off", json_integer((json_int_t)f->off)) == 0 &&
             json_object_set_new(v, "len", json_integer((json_int_t)f->len)) == 0 &&
             json_object_set_new(v, "text", text_json(f->text.p, f->text.n)) == 0 &&
             json_array_append(out->findings, v) == 0;
        json_decref(v);
    }
    return ok;
}

static bool add_channels(cf_chat__reply *r, json_t *message)
{
    bool ok = true;
    json_t *others = NULL;
    size_t n = r->split.n > 0 ? r->split.n : 1;
    for (size_t i = 0; ok && i < n; i++) {
        if (r->in[i].n == 0) {
            continue;
        }
        json_t *text = text_json(r->in[i].p, r->in[i].n);
        if (i == 0) {
            ok = json_object_set_new(message, "reasoning_content", text) == 0;
        } else {
            others = others != NULL ? others : json_object();
            json_t *name = text_json(r->split.channels[i].name.p, r->split.channels[i].name.n);
            ok = name != NULL && json_object_set_new(others, json_string_value(name), text) == 0;
            json_decref(name);
        }
    }
    if (others != NULL) {
        ok = ok && json_object_set(message, "channels", others) == 0;
        json_decref(others);
    }
    return ok;
}

cf_status cf_chat__reply_finish(cf_chat__reply *r, const json_t *calls, cf_error *err)
{
    CF_TRY(cf_channel_split_add(&r->split, cf_text_release_take_all(&r->release), err));
    CF_TRY(cf_channel_split_finish(&r->split, err));
    cf_chat_response *out = r->run->out;
    if (r->parser != NULL) {
        CF_TRY(cf_tool_parser_finish(r->parser, &r->parse, err));
        out->status = r->parse->status;
    }
    if (!r->has_called) {
        say(r, no_channel());
    }
    const cf_str content = cf_buf_str(&r->said);
    json_t *message = json_object();
    bool ok = message != NULL && !r->said.failed && !r->blank.failed &&
              json_object_set_new(message, "role", json_string("assistant")) == 0 &&
              json_object_set_new(message, "content", text_json(content.p, content.n)) == 0 &&
              add_channels(r, message) && add_calls(r, message, calls) && add_findings(r);
    if (!ok) {
        json_decref(message);
        return cf_oom_for(err, "the reply");
    }
    json_decref(out->message);
    out->message = message;
    return CF_OK;
}
