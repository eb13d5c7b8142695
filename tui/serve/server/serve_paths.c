/*
 * serve_paths.c - what the server says about itself and its model, and tokens of
 * texts and requests: OpenAI's models, the paths of llama-server, and
 * Anthropic's count_tokens.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/base/version.h"
#include "tui/serve/record/api_fail.h"
#include "tui/serve/server/serve_impl.h"

/* ---- the model ---------------------------------------------------------- */

bool cf_serve__reads(const cf_serve *s, bool is_sound)
{
    return s->opened->media != NULL && cf_media_markers(s->opened->media, is_sound) != NULL;
}

void cf_serve__time(char out[CF_SERVE_TIME_MAX], int64_t seconds)
{
    struct tm tm;
    time_t t = (time_t)seconds;
    out[0] = '\0';
    if (gmtime_r(&t, &tm) != NULL) {
        strftime(out, CF_SERVE_TIME_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm);
    }
}

/* OpenAI's members and Anthropic's. */
static void write_model(cf_serve *s, cf_jw *w)
{
    char made[CF_SERVE_TIME_MAX];
    cf_serve__time(made, s->created);
    cf_jw_object(w, NULL);
    cf_jw_text(w, "id", s->o.model);
    cf_jw_text(w, "object", "model");
    cf_jw_int(w, "created", s->created);
    cf_jw_text(w, "owned_by", "confab");
    cf_jw_text(w, "type", "model");
    cf_jw_text(w, "display_name", s->o.model);
    cf_jw_text(w, "created_at", made);
    cf_jw_end(w);
}

void cf_serve__write_models(cf_serve *s, cf_jw *w)
{
    cf_jw_object(w, NULL);
    cf_jw_text(w, "object", "list");
    cf_jw_array(w, "data");
    write_model(s, w);
    cf_jw_end(w);
    cf_jw_bool(w, "has_more", false);
    cf_jw_text(w, "first_id", s->o.model);
    cf_jw_text(w, "last_id", s->o.model);
    cf_jw_end(w);
}

/* The name after "models/" of "/v1/models/NAME"; a name may have slashes
 * itself. */
static cf_str last_of(cf_str path)
{
    const char *at = strstr(path.p, "models/") + strlen("models/");
    return cf_str_make(at, path.n - (size_t)(at - path.p));
}

void cf_serve__model(cf_serve *s, const cf_http_request *r, cf_http_answer *a)
{
    if (cf_str_is(last_of(r->path), s->o.model)) {
        cf_serve__answer_with(s, r, a, write_model);
    } else {
        cf_api_fail(r, a, 404, "not_found", "this server has another model");
    }
}

/* ---- the server --------------------------------------------------------- */

void cf_serve__write_slots(cf_serve *s, cf_jw *w)
{
    cf_serve__slots_write(s->slots, w);
}

void cf_serve__write_health(cf_serve *s, cf_jw *w)
{
    (void)s;
    cf_jw_object(w, NULL);
    cf_jw_text(w, "status", "ok");
    cf_jw_end(w);
}

static void put_special(const cf_serve *s, cf_jw *w, const char *key, cf_token id)
{
    cf_buf text = CF_BUF_INIT;
    if (id >= 0) {
        cf_tokenizer_piece(&text, s->tok, id, true);
    }
    cf_jw_buf(w, key, &text);
    cf_buf_deinit(&text);
}

/* llama-server's members that programs read, and which server it is. */
void cf_serve__write_props(cf_serve *s, cf_jw *w)
{
    const cf_engine_info info = cf_engine_get_info(s->opened->engine);
    const cf_special_tokens special = cf_tokenizer_special(s->tok);
    cf_jw_object(w, NULL);
    cf_jw_text(w, "confab", CF_VERSION);
    cf_jw_object(w, "default_generation_settings");
    cf_jw_uint(w, "n_ctx", cf_serve__slots_ctx(s->slots));
    cf_jw_end(w);
    cf_jw_uint(w, "total_slots", cf_serve__slots_n(s->slots));
    cf_jw_text(w, "model_alias", s->o.model);
    cf_jw_text(w, "model_path", info.path);
    cf_jw_buf(w, "chat_template", &s->opened->source);
    put_special(s, w, "bos_token", special.bos);
    put_special(s, w, "eos_token", special.eos);
    cf_jw_object(w, "modalities");
    cf_jw_bool(w, "vision", cf_serve__reads(s, false));
    cf_jw_bool(w, "audio", cf_serve__reads(s, true));
    cf_jw_end(w);
    cf_jw_text(w, "build_info", "confab " CF_VERSION);
    cf_jw_end(w);
}

/* ---- tokens ------------------------------------------------------------- */

/* A piece that is not UTF-8 is a list of its bytes. */
static void put_piece(cf_jw *w, cf_str piece)
{
    if (cf_utf8_valid_prefix(piece.p, piece.n) == piece.n) {
        cf_jw_str(w, "piece", piece);
        return;
    }
    cf_jw_array(w, "piece");
    for (size_t i = 0; i < piece.n; i++) {
        cf_jw_int(w, NULL, (unsigned char)piece.p[i]);
    }
    cf_jw_end(w);
}

enum { TOKENIZE_MAX = 4 << 20 }; /* a word of that length takes 250 MB */

static cf_status put_tokens(const cf_serve *s, const json_t *body, cf_arena *arena, cf_jw *w,
                            cf_error *err)
{
    const bool has_pieces = json_is_true(json_object_get(body, "with_pieces"));
    const bool is_plain = json_is_false(json_object_get(body, "parse_special"));
    const bool is_whole = json_is_true(json_object_get(body, "add_special"));
    cf_token_list list = {NULL, 0};
    cf_buf piece = CF_BUF_INIT;
    cf_str text = cf_json_get_str(body, "content");
    if (text.p == NULL) {
        return cf_serve__refuse(err, "content", "must be a text");
    }
    if (text.n > TOKENIZE_MAX) {
        return cf_serve__refuse(err, "content", "is over %d bytes", TOKENIZE_MAX);
    }
    CF_TRY(cf_tokenizer_encode(&list, s->tok, text, !is_plain, is_whole, arena, err));
    cf_jw_array(w, "tokens");
    for (size_t i = 0; i < list.n; i++) {
        if (!has_pieces) {
            cf_jw_int(w, NULL, list.v[i].id);
            continue;
        }
        cf_buf_reset(&piece);
        cf_tokenizer_piece(&piece, s->tok, list.v[i].id, true);
        w->out->failed = w->out->failed || piece.failed;
        cf_jw_object(w, NULL);
        cf_jw_int(w, "id", list.v[i].id);
        put_piece(w, cf_buf_str(&piece));
        cf_jw_end(w);
    }
    cf_jw_end(w);
    cf_buf_deinit(&piece);
    return CF_OK;
}

static cf_status put_text(const cf_serve *s, const json_t *body, cf_arena *arena, cf_jw *w,
                          cf_error *err)
{
    const json_t *list = json_object_get(body, "tokens");
    const size_t n = json_array_size(list);
    cf_token *ids = cf_arena_calloc(arena, n + 1, sizeof *ids);
    cf_buf text = CF_BUF_INIT;
    if (!json_is_array(list)) {
        return cf_serve__refuse(err, "tokens", "must be a list of numbers");
    }
    if (ids == NULL) {
        return cf_oom(err);
    }
    for (size_t i = 0; i < n; i++) {
        CF_TRY(cf_serve__token(&ids[i], json_array_get(list, i), s->tok, "tokens", err));
    }
    cf_tokenizer_decode(&text, s->tok, ids, n, true);
    cf_jw_buf(w, "content", &text);
    cf_status st = cf_buf_check(&text, err);
    cf_buf_deinit(&text);
    return st;
}

/* Answers with the members that `put` writes for the body. */
static void with_body(cf_serve *s, const cf_http_request *r, cf_http_answer *a,
                      cf_status (*put)(const cf_serve *s, const json_t *body, cf_arena *arena,
                                       cf_jw *w, cf_error *err))
{
    json_t *body = NULL;
    cf_error err;
    cf_buf out = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &out);
    cf_jw_object(&w, NULL);
    cf_status st = cf_json_read(&body, r->body.p, r->body.n, &err);
    CF_THEN(st, put(s, body, r->arena, &w, &err));
    cf_jw_end(&w);
    if (st == CF_OK) {
        cf_serve__answer_text(r, a, NULL, &out);
    } else {
        cf_serve__answer_failure(r, a, NULL, st, &err);
    }
    cf_buf_deinit(&out);
    json_decref(body);
}

void cf_serve__tokenize(cf_serve *s, const cf_http_request *r, cf_http_answer *a)
{
    with_body(s, r, a, put_tokens);
}

void cf_serve__detokenize(cf_serve *s, const cf_http_request *r, cf_http_answer *a)
{
    with_body(s, r, a, put_text);
}

/* ---- prompts of requests ------------------------------------------------ */

/* Reads the request and renders it, and answers with what `write` makes of
 * that. */
static void with_prompt(cf_serve *s, const cf_http_request *r, cf_http_answer *a, cf_api api,
                        void (*write)(cf_jw *w, cf_str prompt, size_t n_tokens))
{
    cf_serve__asked *asked = cf_calloc(1, sizeof *asked);
    cf_error err;
    cf_arena arena;
    cf_prompt prompt = {.n_spans = 0};
    cf_token_list list = {NULL, 0};
    cf_buf out = CF_BUF_INIT, text = CF_BUF_INIT;
    cf_jw w;
    cf_arena_init(&arena, 0);
    cf_status st = asked != NULL ? cf_serve__read(asked, s, r->body, api, &err) : cf_oom(&err);
    CF_THEN(st, cf_serve__prompt(s, asked, &asked->given[0], &arena, &prompt, &list, &err));
    if (st == CF_OK) {
        cf_buf_add(&text, prompt.text.p, prompt.text.n);
        cf_buf_add(&text, asked->prefix.p, asked->prefix.n);
        out.failed = text.failed;
        cf_jw_init(&w, &out);
        write(&w, cf_buf_str(&text), list.n);
        cf_serve__answer_text(r, a, NULL, &out);
    } else {
        cf_serve__answer_failure(r, a, NULL, st == CF_ENOMEM ? st : CF_EINVAL, &err);
    }
    if (asked != NULL) {
        cf_serve__asked_deinit(asked);
        cf_free(asked);
    }
    cf_arena_deinit(&arena);
    cf_buf_deinit(&text);
    cf_buf_deinit(&out);
}

static void write_prompt(cf_jw *w, cf_str prompt, size_t n_tokens)
{
    (void)n_tokens;
    cf_jw_object(w, NULL);
    cf_jw_str(w, "prompt", prompt);
    cf_jw_end(w);
}

void cf_serve__apply_template(cf_serve *s, const cf_http_request *r, cf_http_answer *a)
{
    with_prompt(s, r, a, CF_API_OPENAI_CHAT, write_prompt);
}

static void write_count(cf_jw *w, cf_str prompt, size_t n_tokens)
{
    (void)prompt;
    cf_jw_object(w, NULL);
    cf_jw_uint(w, "input_tokens", n_tokens);
    cf_jw_end(w);
}

void cf_serve__count_tokens(cf_serve *s, const cf_http_request *r, cf_http_answer *a)
{
    with_prompt(s, r, a, CF_API_ANTHROPIC_MESSAGES, write_count);
}
