/*
 * easy_look.c - the tokens of a reply with what else could have been drawn, the
 * likelihood of a text, and the inside of the model.
 */
#include <string.h>

#include "core/api/inside_request.h"
#include "core/base/alloc.h"
#include "core/json/json_writer.h"
#include "templates/easy/easy.h"

/* ---- what is kept of a reply --------------------------------------------- */

static bool keep_id(cf_easy_reply *r, cf_token id)
{
    if (!cf_grow(&r->ids, &r->cap, r->n + 1, sizeof *r->ids)) {
        return false;
    }
    r->ids[r->n++] = id;
    return true;
}

void cf_easy__begin_reply(confab *c, const cf_chat_event *prompt)
{
    cf_easy_reply *r = &c->kept;
    cf_grammar_free(r->grammar != c->grammar ? r->grammar : NULL);
    r->grammar = c->grammar;
    cf_buf_restart(&r->tokens);
    cf_buf_restart(&r->how);
    r->n = 0;
    r->at = (cf_uuid){{0}};
    r->is_whole = true;
    for (size_t i = 0; i < prompt->n_ids; i++) {
        r->is_whole = r->is_whole && keep_id(r, prompt->ids[i]);
    }
    r->n_prompt = r->n;
}

/* A candidate, by its id where the engine has a tokenizer, else by its text. */
static void write_text(cf_jw *w, const cf_tokenizer *tok, cf_token id)
{
    cf_buf piece = CF_BUF_INIT;
    if (tok != NULL && id != CF_TOKEN_NONE) {
        cf_tokenizer_piece(&piece, tok, id, true);
    }
    w->out->failed = w->out->failed || piece.failed;
    cf_jw_int(w, "id", id);
    cf_jw_bytes(w, "text", cf_buf_str(&piece));
    cf_buf_deinit(&piece);
}

static void write_top(cf_jw *w, const cf_tokenizer *tok, const cf_chat_token *t)
{
    cf_jw_array(w, "top");
    for (size_t i = 0; t->draw != NULL && i < t->draw->n_top; i++) {
        cf_jw_object(w, NULL);
        write_text(w, tok, t->draw->top[i].id);
        cf_jw_float(w, "p", t->draw->top[i].p_raw);
        cf_jw_end(w);
    }
    for (size_t i = 0; t->draw == NULL && i < t->n_top; i++) {
        cf_jw_object(w, NULL);
        cf_jw_bytes(w, "text", t->top[i].text);
        cf_jw_float(w, "p", t->top[i].p);
        cf_jw_end(w);
    }
    cf_jw_end(w);
}

cf_status cf_easy__keep_token(cf_easy_reply *r, const cf_tokenizer *tok, const cf_chat_event *event,
                              cf_str *json)
{
    const cf_chat_token *t = &event->token;
    cf_error ignored;
    cf_jw w;
    cf_buf_addc(&r->how,
                (char)((t->is_held ? CF_TOKEN_HELD : 0) | (t->is_forced ? CF_TOKEN_GIVEN : 0)));
    r->is_whole = r->is_whole && keep_id(r, t->id) && !r->how.failed;
    cf_buf_adds(&r->tokens, r->tokens.n != 0 ? "," : "");
    size_t at = r->tokens.n;
    cf_jw_init(&w, &r->tokens);
    cf_jw_object(&w, NULL);
    cf_jw_int(&w, "id", t->id);
    cf_jw_bytes(&w, "text", event->text);
    if (t->p >= 0) {
        cf_jw_float(&w, "p", t->p);
    }
    if (t->draw != NULL) {
        cf_jw_float(&w, "p_raw", t->draw->chosen.p_raw);
    }
    if (t->is_forced) {
        cf_jw_bool(&w, "forced", true);
    }
    write_top(&w, tok, t);
    cf_jw_end(&w);
    CF_TRY(cf_jw_finish(&w, &ignored));
    CF_TRY(cf_buf_check(&r->tokens, &ignored));
    *json = cf_str_make(r->tokens.p + at, r->tokens.n - at);
    return CF_OK;
}

/* ---- what is shown ------------------------------------------------------- */

const char *cf_alternatives(confab *c, cf_error *err)
{
    if (cf_easy__may(c, err) != CF_OK) {
        return NULL;
    }
    cf_buf b = CF_BUF_INIT;
    cf_buf_adds(&b, "[");
    cf_buf_add(&b, c->kept.tokens.p, c->kept.tokens.n);
    cf_buf_adds(&b, "]");
    cf_status st = cf_buf_check(&c->kept.tokens, err);
    CF_THEN(st, cf_buf_check(&b, err));
    return cf_easy__finish(&b, &c->alternatives, st);
}

static void write_score(cf_jw *w, const cf_score *score)
{
    cf_jw_object(w, NULL);
    cf_jw_double(w, "sum", score->sum);
    cf_jw_array(w, "tokens");
    for (size_t i = 0; i < score->n; i++) {
        cf_jw_object(w, NULL);
        cf_jw_int(w, "id", score->v[i].id);
        cf_jw_uint(w, "off", score->v[i].off);
        cf_jw_uint(w, "len", score->v[i].len);
        cf_jw_float(w, "log_p", score->log_p[i]);
        cf_jw_end(w);
    }
    cf_jw_end(w);
    cf_jw_end(w);
}

const char *cf_score_text(confab *c, const char *context, const char *text, cf_error *err)
{
    if (cf_easy__may_with(c, context, "the context", err) != CF_OK ||
        cf_easy__may_with(c, text, "the text", err) != CF_OK) {
        return NULL;
    }
    cf_score score;
    cf_buf b = CF_BUF_INIT;
    cf_jw w;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_jw_init(&w, &b);
    cf_easy__begin(c);
    cf_status st = cf_backend_score(c->opened.backend, cf_str_from(context), cf_str_from(text),
                                    &c->cancel, &arena, &score, err);
    cf_easy__end(c);
    if (st == CF_OK) {
        write_score(&w, &score);
        st = cf_jw_finish(&w, err);
    }
    CF_THEN(st, cf_buf_check(&b, err));
    cf_arena_deinit(&arena);
    return cf_easy__finish(&b, &c->score, st);
}

/* ---- the inside of the model --------------------------------------------- */

/* The ids of the last reply after its prompt, unless the request has some, and the
 * place where its first token was chosen. */
static cf_status add_ids(json_t *request, const cf_easy_reply *r, cf_error *err)
{
    if (json_object_get(request, "ids") != NULL) {
        return CF_OK;
    }
    if (!r->is_whole || r->n_prompt == 0) {
        return cf_fail(err, CF_EINVAL, "the request has no \"ids\", and there is no reply yet");
    }
    json_t *ids = json_array();
    bool is_made = ids != NULL;
    for (size_t i = 0; is_made && i < r->n; i++) {
        is_made = json_array_append_new(ids, json_integer(r->ids[i])) == 0;
    }
    if (!is_made || json_object_set(request, "ids", ids) != 0 ||
        (json_object_get(request, "at") == NULL &&
         json_object_set_new(request, "at", json_integer((json_int_t)r->n_prompt - 1)) != 0)) {
        json_decref(ids);
        return cf_oom(err);
    }
    json_decref(ids);
    return CF_OK;
}

cf_status cf_easy__session(confab *c, cf_error *err)
{
    const cf_tokenizer *tok = NULL;
    CF_TRY(cf_easy__tokenizer(c, &tok, err));
    if (c->session != NULL) {
        return CF_OK;
    }
    const cf_session_options o = {.n_ctx = c->n_ctx};
    return cf_session_new(&c->session, c->opened.engine, &o, err);
}

const char *cf_inside(confab *c, const char *request, cf_error *err)
{
    if (cf_easy__may_with(c, request, "the request", err) != CF_OK) {
        return NULL;
    }
    json_t *v = NULL;
    cf_buf b = CF_BUF_INIT;
    cf_status st = cf_json_read(&v, request, strlen(request), err);
    if (st == CF_OK && !json_is_object(v)) {
        st = cf_fail(err, CF_EINVAL, "the request is a JSON object");
    }
    CF_THEN(st, cf_easy__session(c, err));
    CF_THEN(st, add_ids(v, &c->kept, err));
    cf_easy__begin(c);
    CF_THEN(st, cf_inside_request(c->session, v, &c->cancel, &b, err));
    cf_easy__end(c);
    CF_THEN(st, cf_buf_check(&b, err));
    json_decref(v);
    return cf_easy__finish(&b, &c->inside, st);
}
