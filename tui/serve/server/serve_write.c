/*
 * serve_write.c - replies of an engine as events of core/wire.
 */
#include <math.h>
#include <string.h>

#include "tui/serve/server/serve_impl.h"

enum { TOP_MAX = 20 };

static double log_of(float p)
{
    return p > 0 ? log((double)p) : -9999.0;
}

static cf_wire_token token_of(const cf_tokenizer *tok, cf_token id, float p, cf_buf *piece)
{
    cf_tokenizer_piece(piece, tok, id, true);
    return (cf_wire_token){.text = cf_buf_str(piece), .id = id, .log_p = log_of(p)};
}

void cf_serve__write_token(cf_wire_writer *w, uint32_t i, const cf_wire_token *token,
                           const cf_candidate *top, size_t n_top, const cf_tokenizer *tok,
                           cf_buf *out)
{
    cf_buf piece[TOP_MAX];
    cf_wire_token list[TOP_MAX];
    const size_t n = n_top < TOP_MAX ? n_top : TOP_MAX;
    memset(piece, 0, sizeof piece);
    for (size_t k = 0; k < n; k++) {
        list[k] = token_of(tok, top[k].id, top[k].p_raw, &piece[k]);
    }
    cf_wire_write(w,
                  &(cf_wire_event){
                      .kind = CF_WIRE_TOKEN, .choice = i, .token = *token, .top = list, .n_top = n},
                  out);
    for (size_t k = 0; k < n; k++) {
        if (piece[k].failed) {
            out->failed = w->reply.failed = true;
        }
        cf_buf_deinit(&piece[k]);
    }
}

static void write_draw(cf_wire_writer *w, uint32_t i, const cf_tokenizer *tok, const cf_draw *d,
                       cf_buf *out)
{
    cf_buf piece = CF_BUF_INIT;
    const cf_wire_token token = token_of(tok, d->chosen.id, d->chosen.p_raw, &piece);
    cf_serve__write_token(w, i, &token, d->top, d->n_top, tok, out);
    if (piece.failed) {
        out->failed = w->reply.failed = true;
    }
    cf_buf_deinit(&piece);
}

static void write_text(cf_wire_writer *w, uint32_t i, cf_wire_event_kind kind, cf_str text,
                       cf_buf *out)
{
    cf_wire_write(w, &(cf_wire_event){.kind = kind, .choice = i, .text = text}, out);
}

static void write_call(cf_wire_writer *w, uint32_t i, const cf_chat_event *e, cf_str arguments,
                       cf_buf *out)
{
    const bool is_new = e->index >= w->reply.choice[i].n_calls;
    const cf_str none = {NULL, 0};
    cf_wire_write(w,
                  &(cf_wire_event){.kind = CF_WIRE_CALL,
                                   .choice = i,
                                   .call = e->index,
                                   .id = is_new ? e->call->id : none,
                                   .name = is_new ? e->call->name : none,
                                   .text = arguments},
                  out);
}

/* What the parts of a call have not said. */
static void write_rest(cf_wire_writer *w, uint32_t i, const cf_chat_event *e, cf_buf *out)
{
    const cf_wire_choice *c = &w->reply.choice[i];
    const cf_str all = e->call->arguments;
    const cf_str said =
        e->index < c->n_calls ? cf_buf_str(&c->calls[e->index].arguments) : cf_str_make(NULL, 0);
    if (cf_str_starts(all, said) && (all.n > said.n || e->index >= c->n_calls)) {
        write_call(w, i, e, cf_str_make(all.p + said.n, all.n - said.n), out);
    }
}

/* Whether the last call has the beginning of its arguments alone. */
static bool has_begun_call(const cf_wire_choice *c)
{
    const cf_buf *said = c->n_calls > 0 ? &c->calls[c->n_calls - 1].arguments : NULL;
    json_t *v = NULL;
    cf_error ignored;
    const bool is_whole = said == NULL || cf_json_read(&v, said->p, said->n, &ignored) == CF_OK;
    json_decref(v);
    return !is_whole;
}

void cf_serve__write_event(cf_wire_writer *w, uint32_t i, const cf_tokenizer *tok,
                           const cf_chat_event *e, cf_buf *out)
{
    if (e->kind == CF_CHAT_TOKEN) {
        write_text(w, i, CF_WIRE_BEGIN, cf_str_make(NULL, 0), out);
        if (w->o.has_logprobs && e->token.draw != NULL && !cf_tokenizer_is_end(tok, e->token.id)) {
            write_draw(w, i, tok, e->token.draw, out);
        }
        return;
    }
    switch (e->kind) {
    case CF_CHAT_TEXT:
        write_text(w, i, CF_WIRE_TEXT, e->text, out);
        break;
    case CF_CHAT_CALL_FAILED: /* what is not a call is text, unless it was begun */
        if (!has_begun_call(&w->reply.choice[i])) {
            write_text(w, i, CF_WIRE_TEXT, e->text, out);
        }
        break;
    case CF_CHAT_THINKING:
        write_text(w, i, CF_WIRE_THINKING, e->text, out);
        break;
    case CF_CHAT_CALL_PART:
        write_call(w, i, e, e->text, out);
        break;
    case CF_CHAT_CALL:
        write_rest(w, i, e, out);
        break;
    default:
        break;
    }
}

static cf_wire_stop stop_of(const cf_chat_response *reply)
{
    if (json_array_size(json_object_get(reply->message, "tool_calls")) > 0) {
        return CF_WIRE_STOP_CALLS;
    }
    switch (reply->stop.reason) {
    case CF_STOP_LENGTH:
    case CF_STOP_CONTEXT:
    case CF_STOP_LOOP:
    case CF_STOP_PENDING: /* nothing was to be generated */
        return CF_WIRE_STOP_LENGTH;
    case CF_STOP_STRING:
        return CF_WIRE_STOP_STRING;
    default:
        return CF_WIRE_STOP_END;
    }
}

void cf_serve__write_end(cf_wire_writer *w, uint32_t i, const cf_chat_response *reply, cf_buf *out)
{
    cf_wire_write(w, &(cf_wire_event){.kind = CF_WIRE_END, .choice = i, .stop = stop_of(reply)},
                  out);
}
