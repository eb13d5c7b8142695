/*
 * server_llama.c - llama-server: shows its prompt and its tokens, scores a
 * text a token at a time, and takes schemas and grammars.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/backend/server_kind_impl.h"

enum {
    PIECES_MAX = 8192,  /* distinct tokens that are asked for one by one */
    STEPS_MAX = 4096,   /* of a text that is scored token by token */
    CANDIDATES = 1024,  /* that are asked for first, */
    WHOLE = 1024 * 1024 /* and where the token is not among them */
};

/* ---- its context -------------------------------------------------------- */

uint32_t cf_server_kind__llama_limit(const cf_server_ask *ask, const json_t *props)
{
    const json_t *v = json_object_get(props, "default_generation_settings");
    (void)ask;
    return cf_server_kind__limit(json_object_get(v, "n_ctx"));
}

/* ---- its tokens --------------------------------------------------------- */

/* A piece is a text, or a list of bytes that are not UTF-8. */
static cf_status read_piece(cf_str *out, const json_t *v, cf_arena *arena, cf_error *err)
{
    size_t n = json_array_size(v);
    if (json_is_string(v)) {
        return cf_server_kind__copy_text(
            out, cf_str_make(json_string_value(v), json_string_length(v)), arena, err);
    }
    char *p = cf_arena_alloc(arena, n + 1);
    if (p == NULL) {
        return cf_oom_for(err, "the server's tokens");
    }
    for (size_t i = 0; i < n; i++) {
        p[i] = (char)(json_integer_value(json_array_get(v, i)) & 0xFF);
    }
    *out = cf_str_make(p, n);
    return CF_OK;
}

/* A server that leaves the pieces out is asked for each token's text; NULL
 * where it is not known. */
static cf_status ask_piece(cf_server_kind *kind, const cf_server_ask *ask, cf_token id, cf_str *out,
                           cf_error *err)
{
    char key[16];
    snprintf(key, sizeof key, "%d", (int)id);
    kind->pieces = kind->pieces != NULL ? kind->pieces : json_object();
    json_t *known = json_object_get(kind->pieces, key);
    if (known == NULL) {
        if (json_object_size(kind->pieces) >= PIECES_MAX) {
            return cf_fail(err, CF_ELIMIT,
                           "the server shows the text of one token at a time, "
                           "and this prompt has more than %d different ones",
                           PIECES_MAX);
        }
        json_t *v = NULL;
        json_t *body = json_pack("{s:[i]}", "tokens", (int)id);
        cf_status st = body != NULL ? cf_server_kind__ask_json(ask, "/detokenize", body, &v, err)
                                    : cf_oom(err);
        json_decref(body);
        /* Some servers fail over half a character. */
        st = st == CF_EINVAL ? CF_OK : st;
        CF_TRY(st);
        json_t *text = json_object_get(v, "content");
        known = json_is_string(text) ? json_incref(text) : json_null();
        bool ok = kind->pieces != NULL && json_object_set_new(kind->pieces, key, known) == 0;
        json_decref(v);
        if (!ok) {
            return cf_oom_for(err, "the server's tokens");
        }
    }
    *out = cf_str_make(json_string_value(known), json_string_length(known));
    return CF_OK;
}

static cf_status llama_one(cf_server_kind *kind, const cf_server_ask *ask, const json_t *v,
                           cf_arena *arena, cf_token_span *to, cf_str *text, cf_error *err)
{
    const json_t *piece = json_object_get(v, "piece");
    to->id = cf_server_kind__id(piece != NULL ? json_object_get(v, "id") : v);
    if (to->id == CF_TOKEN_NONE) {
        return cf_server_kind__strange("/tokenize", err);
    }
    return piece != NULL ? read_piece(text, piece, arena, err)
                         : ask_piece(kind, ask, to->id, text, err);
}

cf_status cf_server_kind__llama_tokens(cf_server_kind *kind, const cf_server_ask *ask,
                                       cf_str prompt, cf_arena *arena, cf_token_list *out,
                                       cf_error *err)
{
    json_t *body = json_pack("{s:s%, s:b, s:b, s:b}", "content", prompt.p, prompt.n, "add_special",
                             1, "parse_special", 1, "with_pieces", 1);
    json_t *v = NULL;
    cf_str *texts = NULL;
    cf_status st = body != NULL ? cf_server_kind__ask_json(ask, "/tokenize", body, &v, err)
                                : cf_oom_for(err, "the request");
    json_decref(body);
    CF_TRY(st);
    const json_t *list = json_object_get(v, "tokens");
    st = json_is_array(list)
             ? cf_server_kind__make_list(json_array_size(list), arena, out, &texts, err)
             : cf_server_kind__strange("/tokenize", err);
    for (size_t i = 0; st == CF_OK && i < out->n; i++) {
        st = llama_one(kind, ask, json_array_get(list, i), arena, &out->v[i], &texts[i], err);
    }
    if (st == CF_OK) {
        cf_server_kind__place(out->v, texts, out->n, prompt);
    }
    json_decref(v);
    return st;
}

static bool shows_prompt(const cf_server_kind *kind)
{
    (void)kind;
    return true;
}

cf_status cf_server_kind__llama_prompt(cf_server_kind *kind, const cf_server_ask *ask, json_t *body,
                                       cf_arena *arena, cf_str *prompt, cf_token_list *tokens,
                                       cf_error *err)
{
    CF_TRY(
        cf_server_kind__ask_text(ask, "/apply-template", body, NULL, "prompt", arena, prompt, err));
    return tokens != NULL ? cf_server_kind__llama_tokens(kind, ask, *prompt, arena, tokens, err)
                          : CF_OK;
}

/* ---- scores: n_probs, a token at a time --------------------------------- */

/* The likelihood of the token with this text or id among the candidates of
 * the first generated token; NaN when it is not there.  Newer servers give
 * "top_logprobs" with ids, older ones "probs" with texts. */
static float find_candidate(const json_t *answer, cf_token id, cf_str text)
{
    const json_t *at = json_array_get(json_object_get(answer, "completion_probabilities"), 0);
    const json_t *list = json_object_get(at, "top_logprobs");
    bool has_ids = list != NULL;
    list = has_ids ? list : json_object_get(at, "probs");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *c = json_array_get(list, i);
        if (has_ids && json_integer_value(json_object_get(c, "id")) == id) {
            return cf_server_kind__number(json_object_get(c, "logprob"));
        }
        if (!has_ids && cf_str_eq(cf_json_get_str(c, "tok_str"), text)) {
            return logf(cf_server_kind__number(json_object_get(c, "prob")));
        }
    }
    return (float)NAN;
}

/* Asks for n candidates after ids[0..i), before any sampler. */
static cf_status llama_ask(const cf_server_ask *ask, const cf_token_list *all, size_t i, int n,
                           json_t **out, cf_error *err)
{
    json_t *ids = json_array();
    bool ok = ids != NULL;
    for (size_t k = 0; ok && k < i; k++) {
        ok = json_array_append_new(ids, json_integer(all->v[k].id)) == 0;
    }
    json_t *body = ok ? json_pack("{s:O, s:i, s:i, s:b, s:f, s:i, s:f, s:f, "
                                  "s:b, s:[s]}",
                                  "prompt", ids, "n_predict", 1, "n_probs", n, "cache_prompt", 1,
                                  "temperature", 1.0, "top_k", 0, "top_p", 1.0, "min_p", 0.0,
                                  "post_sampling_probs", 0, "samplers", "temperature")
                      : NULL;
    json_decref(ids);
    cf_status st = body != NULL ? cf_server_kind__ask_json(ask, "/completion", body, out, err)
                                : cf_oom_for(err, "the request");
    json_decref(body);
    return st;
}

static cf_status llama_step(const cf_server_ask *ask, const cf_token_list *all, size_t i,
                            cf_str text, float *log_p, cf_error *err)
{
    static const int counts[] = {CANDIDATES, WHOLE};
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        json_t *v = NULL;
        CF_TRY(llama_ask(ask, all, i, counts[k], &v, err));
        *log_p = find_candidate(v, all->v[i].id, text);
        json_decref(v);
        if (!isnan(*log_p)) {
            return CF_OK;
        }
    }
    return cf_fail(err, CF_EUNSUPPORTED,
                   "token %d of the text is not among the candidates that the "
                   "server shows",
                   (int)all->v[i].id);
}

/* Leaves out a BOS of the server's own before one that the text has. */
static void drop_double(cf_token_list *list, cf_str all)
{
    size_t n = list->n > 1 ? list->v[0].len : 0;
    if (n > 0 && list->v[0].id == list->v[1].id &&
        (all.n < 2 * n || memcmp(all.p, all.p + n, n) != 0)) {
        list->v[1] = list->v[0];
        list->v++;
        list->n--;
    }
}

static cf_status llama_score(cf_server_kind *kind, const cf_server_ask *ask, cf_str all,
                             size_t n_context, cf_server_kind__scored *s, cf_arena *arena,
                             cf_error *err)
{
    cf_token_list list;
    CF_TRY(cf_server_kind__llama_tokens(kind, ask, all, arena, &list, err));
    drop_double(&list, all);
    CF_TRY(cf_server_kind__make_scored(s, list.n, arena, err));
    size_t n_steps = 0;
    for (size_t i = 0; i < list.n; i++) {
        const cf_token_span *t = &list.v[i];
        s->id[i] = t->id;
        s->text[i] = cf_str_make(all.p + t->off, t->len);
        s->log_p[i] = (float)NAN;
        if (i == 0 || (size_t)t->off + t->len <= n_context) {
            continue;
        }
        if (++n_steps > STEPS_MAX) {
            return cf_fail(err, CF_ELIMIT,
                           "this server scores a token at a time: %d tokens "
                           "at most",
                           STEPS_MAX);
        }
        CF_TRY(llama_step(ask, &list, i, s->text[i], &s->log_p[i], err));
    }
    return CF_OK;
}

/* ---- constraints -------------------------------------------------------- */

/* A grammar holds from the first byte on: where the template begins the reply
 * with thinking, the text would come as thinking.  It is off unless the request
 * says otherwise. */
static bool without_thinking(json_t *body)
{
    json_t *variables = json_object_get(body, "chat_template_kwargs");
    if (variables == NULL) {
        variables = json_object();
        if (json_object_set_new(body, "chat_template_kwargs", variables) != 0) {
            return false;
        }
    }
    return json_object_get(variables, "enable_thinking") != NULL ||
           json_object_set_new(variables, "enable_thinking", json_false()) == 0;
}

static bool write_grammar(const cf_server_kind *kind, json_t *body, json_t *value)
{
    (void)kind;
    return json_object_set(body, "grammar", value) == 0 && without_thinking(body);
}

/* root ::= "a" | "b" */
static bool write_gbnf_choice(const cf_server_kind *kind, json_t *body, json_t *value)
{
    cf_buf text = CF_BUF_INIT;
    (void)kind;
    cf_buf_adds(&text, "root ::= ");
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *one = json_array_get(value, i);
        cf_buf_adds(&text, i > 0 ? " | " : "");
        cf_json_write_str(&text, cf_str_make(json_string_value(one), json_string_length(one)));
    }
    bool ok = !text.failed && without_thinking(body) &&
              json_object_set_new(body, "grammar", json_stringn(cf_buf_cstr(&text), text.n)) == 0;
    cf_buf_deinit(&text);
    return ok;
}

const cf_server_kind__row cf_server_llama = {
    .name = "llama-server",
    .path = "/props",
    .key = "default_generation_settings",
    .limit = cf_server_kind__llama_limit,
    .shows_tokens = true,
    .has_slots = true,
    .shows_prompt = shows_prompt,
    .prompt = cf_server_kind__llama_prompt,
    .score = llama_score,
    .constrain = {[CF_FORM_SCHEMA] = cf_server_kind__write_schema,
                  [CF_FORM_JSON] = cf_server_kind__write_json,
                  [CF_FORM_CHOICES] = write_gbnf_choice,
                  [CF_FORM_GRAMMAR] = write_grammar},
};
