/*
 * wire_writer.c - what the writers of all interfaces share.
 *
 * Rule: writing a choice touches only reply.choice[i] and at[i], so that each
 * choice may be written by a thread of its own; n_choices is fixed at the
 * start.
 */
#include <stdio.h>
#include <string.h>

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
    }
}

/* Text that adds nothing is not an event. */
static bool says_nothing(const cf_wire_event *e)
{
    return e->text.n == 0 && (e->kind == CF_WIRE_TEXT || e->kind == CF_WIRE_THINKING ||
                              e->kind == CF_WIRE_SIGNATURE || e->kind == CF_WIRE_REFUSAL);
}

void cf_wire_write(cf_wire_writer *w, const cf_wire_event *e, cf_buf *out)
{
    const cf_wire__row *row = cf_wire__row_of(w->o.api);
    if (e->choice >= w->reply.n_choices || e->kind == CF_WIRE_RESTART || says_nothing(e)) {
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

void cf_wire_write_error(cf_api api, bool is_stream, const char *type, const char *message,
                         cf_buf *out)
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
    if (row->is_lines) {
        cf_jw_text(&j, "error", message);
    } else {
        cf_jw_object(&j, "error");
        cf_jw_text(&j, "message", message);
        cf_jw_text(&j, "type", type);
        cf_jw_end(&j);
    }
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
