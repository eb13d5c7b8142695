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

static void write_call(cf_wire_writer *w, uint32_t i, cf_str id, cf_str name, cf_str arguments,
                       cf_buf *out)
{
    const cf_wire_event e = {.kind = CF_WIRE_CALL,
                             .choice = i,
                             .call = w->reply.choice[i].n_calls,
                             .id = id,
                             .name = name,
                             .text = arguments};
    cf_wire_write(w, &e, out);
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
    case CF_CHAT_CALL_FAILED: /* what is not a call is text */
        write_text(w, i, CF_WIRE_TEXT, e->text, out);
        break;
    case CF_CHAT_THINKING:
        write_text(w, i, CF_WIRE_THINKING, e->text, out);
        break;
    case CF_CHAT_CALL:
        write_call(w, i, e->call->id, e->call->name, e->call->arguments, out);
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
