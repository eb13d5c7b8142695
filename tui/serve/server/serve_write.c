/*
 * serve_write.c - replies as OpenAI's objects, whole and in pieces.
 */
#include <math.h>
#include <string.h>

#include "tui/serve/server/serve_impl.h"

void cf_serve__writer_deinit(cf_serve__writer *w)
{
    for (int i = 0; i < CF_SERVE_N_MAX; i++) {
        cf_buf_deinit(&w->logprobs[i]);
        for (int k = 0; k < CF_SERVE_LISTS; k++) {
            cf_buf_deinit(&w->lists[i][k]);
        }
    }
}

const char *cf_serve__reason(const cf_chat_response *reply)
{
    if (json_array_size(json_object_get(reply->message, "tool_calls")) > 0) {
        return "tool_calls";
    }
    return reply->stop.reason == CF_STOP_LENGTH || reply->stop.reason == CF_STOP_CONTEXT ||
                   reply->stop.reason == CF_STOP_LOOP
               ? "length"
               : "stop";
}

/* ---- probabilities ------------------------------------------------------ */

static double log_of(float p)
{
    return p > 0 ? log((double)p) : -9999.0;
}

static void put_token(cf_jw *w, const cf_tokenizer *tok, cf_token id, float p)
{
    cf_buf piece = CF_BUF_INIT;
    cf_tokenizer_piece(&piece, tok, id, true);
    cf_jw_buf(w, "token", &piece);
    cf_jw_int(w, "id", id);
    cf_jw_double(w, "logprob", log_of(p));
    cf_jw_array(w, "bytes");
    for (size_t i = 0; i < piece.n; i++) {
        cf_jw_int(w, NULL, (unsigned char)piece.p[i]);
    }
    cf_jw_end(w);
    cf_buf_deinit(&piece);
}

/* Completions have a list each for texts, likelihoods, alternatives and
 * places. */
static void note_in_lists(cf_serve__writer *w, uint32_t i, const cf_draw *d)
{
    cf_buf *lists = w->lists[i];
    cf_buf piece = CF_BUF_INIT;
    cf_jw j;
    for (int k = 0; k < CF_SERVE_LISTS; k++) {
        cf_buf_adds(&lists[k], lists[k].n > 0 ? "," : "");
    }
    cf_tokenizer_piece(&piece, w->tok, d->chosen.id, true);
    cf_jw_init(&j, &lists[CF_SERVE_TOKENS]);
    cf_jw_buf(&j, NULL, &piece);
    cf_jw_init(&j, &lists[CF_SERVE_LOGPROBS]);
    cf_jw_double(&j, NULL, log_of(d->chosen.p_raw));
    cf_jw_init(&j, &lists[CF_SERVE_OFFSETS]);
    cf_jw_uint(&j, NULL, w->n_bytes[i]);
    w->n_bytes[i] += piece.n;
    cf_jw_init(&j, &lists[CF_SERVE_TOP]);
    cf_jw_object(&j, NULL);
    for (size_t k = 0; k < d->n_top; k++) {
        cf_buf_reset(&piece);
        cf_tokenizer_piece(&piece, w->tok, d->top[k].id, true);
        cf_jw_double(&j, cf_buf_cstr(&piece), log_of(d->top[k].p_raw));
    }
    cf_jw_end(&j);
    cf_buf_deinit(&piece);
}

void cf_serve__note_token(cf_serve__writer *w, uint32_t i, const cf_chat_token *token)
{
    if (!w->has_logprobs || token->draw == NULL || cf_tokenizer_is_end(w->tok, token->id)) {
        return;
    }
    const cf_draw *d = token->draw;
    if (w->is_raw) {
        note_in_lists(w, i, d);
        return;
    }
    cf_buf *out = &w->logprobs[i];
    cf_jw j;
    cf_buf_adds(out, out->n > 0 ? "," : "");
    cf_jw_init(&j, out);
    cf_jw_object(&j, NULL);
    put_token(&j, w->tok, d->chosen.id, d->chosen.p_raw);
    cf_jw_array(&j, "top_logprobs");
    for (size_t k = 0; k < d->n_top; k++) {
        cf_jw_object(&j, NULL);
        put_token(&j, w->tok, d->top[k].id, d->top[k].p_raw);
        cf_jw_end(&j);
    }
    cf_jw_end(&j);
    cf_jw_end(&j);
}

/* A list of the items, which are forgotten. */
static void put_items(cf_jw *j, const char *key, cf_buf *items)
{
    cf_buf list = CF_BUF_INIT;
    cf_buf_addc(&list, '[');
    cf_buf_add(&list, items->p, items->n);
    cf_buf_addc(&list, ']');
    j->out->failed = j->out->failed || list.failed || items->failed;
    cf_jw_raw(j, key, cf_buf_str(&list));
    cf_buf_reset(items);
    cf_buf_deinit(&list);
}

/* The tokens noted since the last piece. */
static void put_logprobs(cf_serve__writer *w, uint32_t i, cf_jw *j)
{
    static const char *const keys[CF_SERVE_LISTS] = {[CF_SERVE_TOKENS] = "tokens",
                                                     [CF_SERVE_LOGPROBS] = "token_logprobs",
                                                     [CF_SERVE_TOP] = "top_logprobs",
                                                     [CF_SERVE_OFFSETS] = "text_offset"};
    if (!w->has_logprobs) {
        cf_jw_null(j, "logprobs");
        return;
    }
    cf_jw_object(j, "logprobs");
    if (!w->is_raw) {
        put_items(j, "content", &w->logprobs[i]);
    }
    for (int k = 0; w->is_raw && k < CF_SERVE_LISTS; k++) {
        put_items(j, keys[k], &w->lists[i][k]);
    }
    cf_jw_end(j);
}

/* ---- frames ------------------------------------------------------------- */

static void begin(const cf_serve__writer *w, cf_jw *j, cf_buf *out)
{
    if (w->is_stream) {
        cf_buf_adds(out, "data: ");
    }
    cf_jw_init(j, out);
    cf_jw_object(j, NULL);
    cf_jw_text(j, "id", w->id);
    cf_jw_text(j, "object",
               w->is_raw      ? "text_completion"
               : w->is_stream ? "chat.completion.chunk"
                              : "chat.completion");
    cf_jw_int(j, "created", w->created);
    cf_jw_text(j, "model", w->model);
    cf_jw_text(j, "system_fingerprint", "confab");
    cf_jw_array(j, "choices");
}

/* After the choices, or what follows them. */
static void end(const cf_serve__writer *w, cf_jw *j, cf_buf *out)
{
    cf_jw_end(j);
    if (cf_jw_finish(j, NULL) != CF_OK) {
        out->failed = true;
    }
    cf_buf_adds(out, w->is_stream ? "\n\n" : "");
}

static void begin_delta(const cf_serve__writer *w, uint32_t i, cf_jw *j, cf_buf *out)
{
    begin(w, j, out);
    cf_jw_object(j, NULL);
    cf_jw_uint(j, "index", i);
    if (!w->is_raw) {
        cf_jw_object(j, "delta");
    }
}

static void end_delta(cf_serve__writer *w, uint32_t i, const char *reason, cf_jw *j, cf_buf *out)
{
    if (!w->is_raw) {
        cf_jw_end(j);
    }
    put_logprobs(w, i, j);
    cf_jw_text(j, "finish_reason", reason);
    cf_jw_end(j);
    cf_jw_end(j);
    end(w, j, out);
}

void cf_serve__write_first(cf_serve__writer *w, uint32_t i, cf_buf *out)
{
    cf_jw j;
    if (w->is_raw) {
        return;
    }
    begin_delta(w, i, &j, out);
    cf_jw_text(&j, "role", "assistant");
    cf_jw_text(&j, "content", "");
    end_delta(w, i, NULL, &j, out);
}

void cf_serve__write_text(cf_serve__writer *w, uint32_t i, const char *field, cf_str text,
                          cf_buf *out)
{
    cf_jw j;
    begin_delta(w, i, &j, out);
    cf_jw_str(&j, w->is_raw ? "text" : field, text);
    end_delta(w, i, NULL, &j, out);
}

static void put_call(cf_jw *j, const char *id, cf_str name, cf_str arguments)
{
    cf_jw_text(j, "id", id);
    cf_jw_text(j, "type", "function");
    cf_jw_object(j, "function");
    cf_jw_str(j, "name", name);
    cf_jw_str(j, "arguments", arguments);
    cf_jw_end(j);
}

/* Clients want an id; where the model writes none it is made of the answer's
 * and the call's number. */
static void call_id(char out[80], const cf_serve__writer *w, uint32_t i, uint32_t n, cf_str given)
{
    if (given.n > 0 && given.n < 79) {
        snprintf(out, 80, "%.*s", (int)given.n, given.p);
    } else {
        snprintf(out, 80, "call_%.36s_%u_%u", w->id + strcspn(w->id, "-") + 1, i, n);
    }
}

void cf_serve__write_call(cf_serve__writer *w, uint32_t i, const cf_tool_call *call, cf_buf *out)
{
    cf_jw j;
    char id[80];
    call_id(id, w, i, w->n_calls[i], call->id);
    begin_delta(w, i, &j, out);
    cf_jw_array(&j, "tool_calls");
    cf_jw_object(&j, NULL);
    cf_jw_uint(&j, "index", w->n_calls[i]++);
    put_call(&j, id, call->name, call->arguments);
    cf_jw_end(&j);
    cf_jw_end(&j);
    end_delta(w, i, NULL, &j, out);
}

void cf_serve__write_end(cf_serve__writer *w, uint32_t i, const char *reason, cf_buf *out)
{
    cf_jw j;
    begin_delta(w, i, &j, out);
    if (w->is_raw) {
        cf_jw_text(&j, "text", "");
    }
    end_delta(w, i, reason, &j, out);
}

static void put_usage(cf_jw *j, const cf_usage *u, const cf_timings *t)
{
    cf_jw_object(j, "usage");
    cf_jw_uint(j, "prompt_tokens", u->n_prompt);
    cf_jw_uint(j, "completion_tokens", u->n_reply);
    cf_jw_uint(j, "total_tokens", u->n_prompt + u->n_reply);
    cf_jw_object(j, "prompt_tokens_details");
    cf_jw_uint(j, "cached_tokens", u->n_cached);
    cf_jw_end(j);
    cf_jw_end(j);
    cf_jw_object(j, "timings");
    cf_jw_uint(j, "cache_n", u->n_cached);
    cf_jw_uint(j, "prompt_n", u->n_prompt - u->n_cached);
    cf_jw_double(j, "prompt_ms", (double)t->prefill_us / 1000);
    cf_jw_uint(j, "predicted_n", u->n_reply);
    cf_jw_double(j, "predicted_ms", (double)t->decode_us / 1000);
    cf_jw_end(j);
}

void cf_serve__write_usage(cf_serve__writer *w, const cf_usage *usage, const cf_timings *timings,
                           cf_buf *out)
{
    cf_jw j;
    begin(w, &j, out);
    cf_jw_end(&j);
    put_usage(&j, usage, timings);
    end(w, &j, out);
}

void cf_serve__write_error(const char *type, const char *message, cf_buf *out)
{
    cf_jw j;
    cf_buf_adds(out, "data: ");
    cf_jw_init(&j, out);
    cf_jw_object(&j, NULL);
    cf_jw_object(&j, "error");
    cf_jw_text(&j, "message", message);
    cf_jw_text(&j, "type", type);
    cf_jw_end(&j);
    cf_jw_end(&j);
    cf_buf_adds(out, "\n\n");
}

/* ---- whole -------------------------------------------------------------- */

static void put_message(const cf_serve__writer *w, uint32_t i, const json_t *message, cf_jw *j)
{
    const json_t *calls = json_object_get(message, "tool_calls");
    cf_str thinking = cf_json_get_str(message, "reasoning_content");
    cf_jw_object(j, "message");
    cf_jw_text(j, "role", "assistant");
    cf_str content = cf_json_get_str(message, "content");
    if (content.n == 0 && json_array_size(calls) > 0) {
        cf_jw_null(j, "content");
    } else {
        cf_jw_str(j, "content", content.p != NULL ? content : cf_str_make("", 0));
    }
    if (thinking.n != 0) {
        cf_jw_str(j, "reasoning_content", thinking);
    }
    if (json_array_size(calls) > 0) {
        cf_jw_array(j, "tool_calls");
    }
    for (uint32_t k = 0; k < json_array_size(calls); k++) {
        const json_t *c = json_array_get(calls, k);
        const json_t *f = json_object_get(c, "function");
        const json_t *arguments = json_object_get(f, "arguments");
        cf_buf text = CF_BUF_INIT;
        char id[80];
        call_id(id, w, i, k, cf_json_get_str(c, "id"));
        if (json_is_string(arguments)) {
            cf_buf_adds(&text, json_string_value(arguments));
        } else {
            cf_json_write(&text, arguments);
        }
        cf_jw_object(j, NULL);
        put_call(j, id, cf_json_get_str(f, "name"), cf_buf_str(&text));
        cf_jw_end(j);
        cf_buf_deinit(&text);
    }
    if (json_array_size(calls) > 0) {
        cf_jw_end(j);
    }
    cf_jw_end(j);
}

void cf_serve__write_whole(cf_serve__writer *w, const cf_chat_response *replies, uint32_t n,
                           const cf_usage *usage, const cf_timings *timings, cf_buf *out)
{
    cf_jw j;
    begin(w, &j, out);
    for (uint32_t i = 0; i < n; i++) {
        cf_jw_object(&j, NULL);
        cf_jw_uint(&j, "index", i);
        if (w->is_raw) {
            cf_str text = cf_json_get_str(replies[i].message, "content");
            cf_jw_str(&j, "text", text.p != NULL ? text : cf_str_make("", 0));
        } else {
            put_message(w, i, replies[i].message, &j);
        }
        put_logprobs(w, i, &j);
        cf_jw_text(&j, "finish_reason", cf_serve__reason(&replies[i]));
        cf_jw_end(&j);
    }
    cf_jw_end(&j);
    put_usage(&j, usage, timings);
    end(w, &j, out);
}
