/*
 * easy_inspect.c - what a confab handle shows of itself, as JSON.
 *
 * Each function writes into a buffer of its own; what it held before stays
 * when the function fails.
 */
#include "core/json/json_writer.h"
#include "templates/easy/easy.h"
#include "templates/lint_output.h"

/* Moves the written text into `to`, which is then the function's result. */
static const char *finish(cf_jw *w, cf_buf *made, cf_buf *to, cf_status st, cf_error *err)
{
    CF_THEN(st, cf_jw_finish(w, err));
    CF_THEN(st, cf_buf_check(made, err));
    return cf_easy__finish(made, to, st);
}

/* ---- messages and replies ----------------------------------------------- */

const char *cf_messages(confab *c, cf_error *err)
{
    if (cf_easy__may(c, err) != CF_OK) {
        return NULL;
    }
    cf_buf b = CF_BUF_INIT;
    cf_jw w;
    cf_arena arena;
    cf_message_source *list = NULL;
    size_t n = 0;
    cf_arena_init(&arena, 0);
    cf_status st =
        cf_conversation_sources(c->conv, cf_conversation_head(c->conv), &arena, &list, &n, err);
    cf_jw_init(&w, &b);
    cf_jw_array(&w, NULL);
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        cf_jw_json(&w, NULL, list[i].message);
    }
    cf_jw_end(&w);
    cf_arena_deinit(&arena);
    return finish(&w, &b, &c->messages, st, err);
}

static void write_usage(cf_jw *w, const cf_usage *u)
{
    cf_jw_object(w, "usage");
    if (u->is_known) {
        cf_jw_uint(w, "prompt_tokens", u->n_prompt);
        cf_jw_uint(w, "completion_tokens", u->n_reply);
        cf_jw_uint(w, "total_tokens", u->n_total);
        cf_jw_uint(w, "cached_tokens", u->n_cached);
    }
    cf_jw_end(w);
}

static void write_timings(cf_jw *w, const cf_timings *t)
{
    cf_jw_object(w, "timings");
    cf_jw_uint(w, "first_us", t->first_us);
    cf_jw_uint(w, "prefill_us", t->prefill_us);
    cf_jw_uint(w, "decode_us", t->decode_us);
    cf_jw_uint(w, "total_us", t->total_us);
    cf_jw_uint(w, "n_prefill", t->n_prefill);
    cf_jw_uint(w, "n_decode", t->n_decode);
    cf_jw_end(w);
}

const char *cf_last_reply(confab *c, cf_error *err)
{
    if (cf_easy__may(c, err) != CF_OK) {
        return NULL;
    }
    const cf_chat_response *r = &c->last.response;
    cf_buf b = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &b);
    cf_jw_object(&w, NULL);
    cf_jw_str(&w, "text", cf_json_get_str(r->message, "content"));
    cf_jw_str(&w, "thinking", cf_json_get_str(r->message, "reasoning_content"));
    cf_jw_bytes(&w, "raw", cf_buf_str(&r->raw));
    cf_jw_text(&w, "stop", cf_stop_reason_name(r->stop.reason));
    cf_jw_json(&w, "calls", json_object_get(r->message, "tool_calls"));
    cf_jw_json(&w, "findings", r->findings);
    write_usage(&w, &c->last.usage);
    write_timings(&w, &r->timings);
    cf_jw_end(&w);
    return finish(&w, &b, &c->last_reply, CF_OK, err);
}

/* ---- prompts ------------------------------------------------------------ */

static void write_tokens(cf_jw *w, const char *key, const cf_token_list *list)
{
    cf_jw_array(w, key);
    for (size_t i = 0; i < list->n; i++) {
        cf_jw_object(w, NULL);
        cf_jw_int(w, "id", list->v[i].id);
        cf_jw_uint(w, "off", list->v[i].off);
        cf_jw_uint(w, "len", list->v[i].len);
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

static void write_spans(cf_jw *w, const cf_prompt *prompt)
{
    cf_jw_array(w, "spans");
    for (size_t i = 0; i < prompt->n_spans; i++) {
        const cf_prompt_span *s = &prompt->spans[i];
        cf_jw_object(w, NULL);
        cf_jw_uint(w, "off", s->off);
        cf_jw_uint(w, "len", s->len);
        cf_jw_text(w, "source", cf_span_source_name(s->source));
        cf_jw_uint(w, "index", s->index);
        cf_jw_str(w, "path", s->path);
        cf_jw_uint(w, "line", s->line);
        cf_jw_uint(w, "column", s->col);
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

static void write_loss(void *ud, const cf_loss *loss)
{
    cf_jw_str(ud, NULL, loss->line);
}

static cf_status inspect(confab *c, const cf_send *send, cf_arena *arena, cf_jw *w, cf_error *err)
{
    cf_prompt prompt = {.n_spans = 0};
    cf_token_list tokens = {NULL, 0};
    bool has_tokens = c->opened.engine != NULL;
    CF_TRY(cf_conversation_preview(c->conv, c->opened.backend, send, arena, &prompt,
                                   has_tokens ? &tokens : NULL, err));
    cf_jw_object(w, NULL);
    cf_jw_str(w, "text", prompt.text);
    write_spans(w, &prompt);
    write_tokens(w, "tokens", &tokens);
    cf_jw_array(w, "losses");
    cf_status st = cf_conversation_losses(c->conv, send, &prompt, write_loss, w, err);
    cf_jw_end(w);
    cf_jw_end(w);
    return st;
}

const char *cf_inspect(confab *c, const char *message, cf_error *err)
{
    if (cf_easy__may(c, err) != CF_OK) {
        return NULL;
    }
    cf_buf b = CF_BUF_INIT;
    cf_jw w;
    cf_arena arena;
    json_t *m = NULL;
    cf_turn_options options = {.chat = c->chat};
    cf_status st = CF_OK;
    if (message != NULL) {
        st = cf_easy__message(&m, "user", message, err);
    }
    cf_send send = {.message = m, .options = &options};
    cf_arena_init(&arena, 0);
    cf_jw_init(&w, &b);
    CF_THEN(st, inspect(c, &send, &arena, &w, err));
    cf_arena_deinit(&arena);
    json_decref(m);
    return finish(&w, &b, &c->inspect, st, err);
}

/* ---- tokens ------------------------------------------------------------- */

const char *cf_tokenize(confab *c, const char *text, size_t n, bool special, cf_error *err)
{
    if (cf_easy__may_with(c, text, "the text", err) != CF_OK) {
        return NULL;
    }
    const cf_tokenizer *tok = NULL;
    cf_token_list list = {NULL, 0};
    cf_buf b = CF_BUF_INIT;
    cf_jw w;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_status st = cf_easy__tokenizer(c, &tok, err);
    CF_THEN(st, cf_tokenizer_encode(&list, tok, cf_str_make(text, n), special, false, &arena, err));
    cf_jw_init(&w, &b);
    write_tokens(&w, NULL, &list);
    cf_arena_deinit(&arena);
    return finish(&w, &b, &c->tokens, st, err);
}

const char *cf_detokenize(confab *c, const int32_t *ids, size_t n, size_t *length, cf_error *err)
{
    if (cf_easy__may_with(c, ids, "the list of ids", err) != CF_OK) {
        return NULL;
    }
    const cf_tokenizer *tok = NULL;
    cf_buf b = CF_BUF_INIT;
    cf_status st = cf_easy__tokenizer(c, &tok, err);
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= cf_tokenizer_n_vocab(tok)) {
            st = cf_fail(err, CF_EINVAL, "token %zu: no id %d", i, (int)ids[i]);
        }
    }
    if (st == CF_OK) {
        cf_tokenizer_decode(&b, tok, ids, n, true);
        st = cf_buf_check(&b, err);
    }
    if (st != CF_OK) {
        cf_buf_deinit(&b);
        return NULL;
    }
    cf_buf_deinit(&c->text);
    c->text = b;
    if (length != NULL) {
        *length = b.n;
    }
    return cf_buf_cstr(&c->text);
}

/* ---- the template ------------------------------------------------------- */

const char *cf_lint(confab *c, cf_error *err)
{
    if (cf_easy__may(c, err) != CF_OK) {
        return NULL;
    }
    cf_buf b = CF_BUF_INIT;
    cf_jw w;
    cf_arena arena;
    cf_lint_report report = {.n = 0};
    cf_lint_options options = {.tokenizer = NULL};
    cf_status st = CF_OK;
    cf_arena_init(&arena, 0);
    if (c->opened.source.n == 0) {
        st = cf_fail(err, CF_ENOTFOUND, "the model has no chat template");
    } else if (c->opened.engine != NULL) {
        st = cf_lint_describe_model(&options, cf_engine_tokenizer(c->opened.engine),
                                    c->opened.engine, c->opened.media, &arena, err);
    }
    CF_THEN(st, cf_template_lint(cf_buf_str(&c->opened.source), &options, &arena, &report, err));
    cf_jw_init(&w, &b);
    cf_jw_object(&w, NULL);
    cf_jw_uint(&w, "errors", report.n_errors);
    cf_jw_uint(&w, "warnings", report.n_warnings);
    cf_jw_uint(&w, "notes", report.n_notes);
    cf_lint_report_json(&w, &report);
    cf_jw_end(&w);
    cf_arena_deinit(&arena);
    return finish(&w, &b, &c->lint, st, err);
}
