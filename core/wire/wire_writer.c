/*
 * wire_writer.c - what the writers of all interfaces share.
 *
 * Rule: writing a choice touches only reply.choice[i] and at[i], so that each
 * choice may be written by a thread of its own; n_choices is fixed at the
 * start.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/wire/wire_impl.h"

void cf_wire_writer_init(cf_wire_writer *w, const cf_wire_writer_options *options)
{
    memset(w, 0, sizeof *w);
    w->o = *options;
    cf_wire_reply_init(&w->reply);
    w->reply.n_choices = options->n_choices > 0 ? options->n_choices : 1;
    for (int i = 0; i < CF_WIRE_CHOICES_MAX; i++) {
        w->at[i].open = -1;
    }
}

void cf_wire_writer_deinit(cf_wire_writer *w)
{
    cf_wire_reply_deinit(&w->reply);
    for (size_t i = 0; i < CF_WIRE_CHOICES_MAX; i++) {
        for (size_t k = 0; k < sizeof w->at[i].tokens / sizeof w->at[i].tokens[0]; k++) {
            cf_buf_deinit(&w->at[i].tokens[k]);
        }
        cf_free(w->at[i].parts);
    }
}

/* Text that adds nothing is not an event. */
static bool says_nothing(const cf_wire_event *e)
{
    return e->text.n == 0 && (e->kind == CF_WIRE_TEXT || e->kind == CF_WIRE_THINKING ||
                              e->kind == CF_WIRE_SIGNATURE || e->kind == CF_WIRE_REFUSAL);
}

static const cf_buf *text_of(const cf_wire_choice *c, cf_wire_event_kind kind)
{
    return kind == CF_WIRE_THINKING  ? &c->thinking
           : kind == CF_WIRE_REFUSAL ? &c->refusal
                                     : &c->content;
}

/* The part that the event belongs to: the last one, or the call's, wherever it
 * began; n_parts: a new one. */
static size_t find_part(const cf_wire_writing *at, cf_wire_event_kind kind, size_t call)
{
    const size_t n = at->n_parts;
    if (kind != CF_WIRE_CALL) {
        return n > 0 && at->parts[n - 1].kind == kind ? n - 1 : n;
    }
    for (size_t i = n; i > 0; i--) {
        if (at->parts[i - 1].kind == CF_WIRE_CALL && at->parts[i - 1].call == call) {
            return i - 1;
        }
    }
    return n;
}

/* Sets at->part for an event that says something; false without memory. */
static bool note_part(cf_wire_writer *w, const cf_wire_event *e)
{
    const cf_wire_choice *c = &w->reply.choice[e->choice];
    cf_wire_writing *at = &w->at[e->choice];
    const bool is_signature = e->kind == CF_WIRE_SIGNATURE;
    const cf_wire_event_kind kind = is_signature ? CF_WIRE_THINKING : e->kind;
    if (kind != CF_WIRE_TEXT && kind != CF_WIRE_THINKING && kind != CF_WIRE_REFUSAL &&
        kind != CF_WIRE_CALL) {
        return true;
    }
    const size_t text = text_of(c, kind)->n, sign = c->signature.n;
    at->part = find_part(at, kind, e->call);
    if (at->part == at->n_parts) {
        if (!cf_grow(&at->parts, &at->cap_parts, at->n_parts + 1, sizeof *at->parts)) {
            return false;
        }
        at->parts[at->n_parts++] = (cf_wire_part){
            .kind = kind, .call = e->call, .from = text, .signed_from = sign, .signed_to = sign};
    }
    cf_wire_part *p = &at->parts[at->part];
    p->to = text + (e->kind == kind ? e->text.n : 0);
    p->signed_to = is_signature ? sign + e->text.n : p->signed_to;
    return true;
}

void cf_wire_write(cf_wire_writer *w, const cf_wire_event *e, cf_buf *out)
{
    const cf_wire__row *row = cf_wire__row_of(w->o.api);
    if (e->choice >= w->reply.n_choices || e->kind == CF_WIRE_RESTART || says_nothing(e)) {
        return;
    }
    if (!note_part(w, e)) {
        out->failed = w->reply.failed = true;
        return;
    }
    if (w->o.is_stream || e->kind == CF_WIRE_TOKEN) {
        row->write_event(w, e, out);
    }
    cf_wire_reply_add(&w->reply, e);
}

void cf_wire_write_finish(cf_wire_writer *w, const cf_wire_usage *usage, cf_buf *out)
{
    const cf_wire__row *row = cf_wire__row_of(w->o.api);
    w->reply.usage = usage != NULL ? *usage : cf_wire_usage_none();
    if (w->o.is_stream) {
        row->write_rest(w, out);
    } else {
        row->write_whole(w, out);
    }
    out->failed = out->failed || w->reply.failed;
}

static void put_failure(const cf_wire__row *row, const cf_wire_failure *f, cf_jw *j)
{
    if (row->is_lines) {
        cf_jw_text(j, "error", f->message);
        return;
    }
    cf_jw_object(j, "error");
    cf_jw_text(j, "message", f->message);
    cf_jw_text(j, "type", row->error_type != NULL ? row->error_type(f->status) : f->type);
    if (row->error_type == NULL) {
        cf_jw_text(j, "param", f->param);
        cf_jw_text(j, "code", f->code);
    }
    cf_jw_end(j);
}

void cf_wire_write_error(cf_api api, bool is_stream, const cf_wire_failure *failure, cf_buf *out)
{
    const cf_wire__row *row = cf_wire__row_of(api);
    cf_jw j;
    if (is_stream && !row->is_lines) {
        cf_buf_adds(out, row->error_event != NULL ? "event: " : "");
        cf_buf_adds(out, row->error_event != NULL ? row->error_event : "");
        cf_buf_adds(out, row->error_event != NULL ? "\ndata: " : "data: ");
    }
    cf_jw_init(&j, out);
    cf_jw_object(&j, NULL);
    if (row->error_event != NULL) {
        cf_jw_text(&j, "type", row->error_event);
    }
    put_failure(row, failure, &j);
    cf_jw_end(&j);
    cf_buf_adds(out, !is_stream ? "" : row->is_lines ? "\n" : "\n\n");
}

/* ---- for the rows ------------------------------------------------------- */

const char *cf_wire__word(const cf_wire_writer *w, size_t choice)
{
    const cf_wire_choice *c = &w->reply.choice[choice];
    const cf_wire__end *ends = cf_wire__row_of(w->o.api)->ends;
    cf_wire_stop stop = c->stop;
    stop = stop == CF_WIRE_STOP_NONE || stop == CF_WIRE_STOP_OTHER ? CF_WIRE_STOP_END : stop;
    stop = stop == CF_WIRE_STOP_END && c->n_calls > 0 ? CF_WIRE_STOP_CALLS : stop;
    for (const cf_wire__end *e = ends; e->word != NULL; e++) {
        if (e->stop == stop) {
            return e->word;
        }
    }
    return ends[0].word;
}

static cf_str bytes_of(const cf_buf *b, size_t from, size_t to)
{
    const bool is_whole = from <= to && to <= b->n; /* else memory ran out */
    return cf_str_make(cf_buf_cstr(b) + (is_whole ? from : 0), is_whole ? to - from : 0);
}

cf_str cf_wire__part_text(const cf_wire_writer *w, const cf_wire_part *p)
{
    return bytes_of(text_of(&w->reply.choice[0], p->kind), p->from, p->to);
}

cf_str cf_wire__part_signature(const cf_wire_writer *w, const cf_wire_part *p)
{
    return bytes_of(&w->reply.choice[0].signature, p->signed_from, p->signed_to);
}

void cf_wire__call_id(char out[80], const cf_wire_writer *w, size_t choice, size_t call,
                      cf_str given)
{
    if (given.n > 0 && given.n < 79) {
        snprintf(out, 80, "%.*s", (int)given.n, given.p);
    } else {
        snprintf(out, 80, "call_%.36s_%zu_%zu", w->o.id, choice, call);
    }
}

void cf_wire__frame(cf_jw *j, const char *name, cf_buf *out)
{
    if (name != NULL) {
        cf_buf_adds(out, "event: ");
        cf_buf_adds(out, name);
        cf_buf_addc(out, '\n');
    }
    cf_buf_adds(out, "data: ");
    cf_jw_init(j, out);
    cf_jw_object(j, NULL);
}

void cf_wire__frame_end(cf_jw *j)
{
    cf_jw_end(j);
    j->out->failed = j->out->failed || cf_jw_finish(j, NULL) != CF_OK;
    cf_buf_adds(j->out, "\n\n");
}

int64_t cf_wire__known(int64_t n)
{
    return n >= 0 ? n : 0;
}

void cf_wire__put_arguments(cf_jw *j, const char *key, const cf_buf *arguments)
{
    json_t *v = NULL;
    cf_error ignored;
    cf_status st = cf_json_read(&v, arguments->p, arguments->n, &ignored);
    if (st == CF_OK && json_is_object(v)) {
        cf_jw_json(j, key, v);
    } else {
        cf_jw_object(j, key);
        cf_jw_end(j);
    }
    j->out->failed = j->out->failed || arguments->failed || st == CF_ENOMEM;
    json_decref(v);
}
