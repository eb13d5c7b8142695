/*
 * server_vllm.c - vLLM: shows its prompt and its tokens, scores a text in
 * one request, and takes every constraint.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend/server_kind_impl.h"
#include "core/base/utf8.h"
#include "core/token/bpe.h"

enum { HEAD = 64 }; /* bytes that a special token is within */

/* ---- its context -------------------------------------------------------- */

static uint32_t vllm_limit(const cf_server_ask *ask, const json_t *unused)
{
    cf_error ignored;
    (void)unused;
    json_t *v = NULL;
    uint32_t n = 0;
    if (cf_server_kind__ask_json(ask, "/v1/models", NULL, &v, &ignored) == CF_OK) {
        n = cf_server_kind__limit(json_object_get(
            cf_server_kind__entry(json_object_get(v, "data"), "id", ask->model), "max_model_len"));
        json_decref(v);
    }
    return n;
}

/* ---- its tokens --------------------------------------------------------- */

/* How a vocabulary spells its entries. */
typedef enum spelling {
    SPELL_PLAIN,  /* U+2581 for a space, if there is one */
    SPELL_LETTERS /* GPT-2's letters for bytes: some entry has U+0120 or
                     U+010A, a space and a line break */
} spelling;

static spelling spelling_of(const json_t *strs)
{
    for (size_t i = 0; i < json_array_size(strs); i++) {
        const char *s = json_string_value(json_array_get(strs, i));
        if (s != NULL && (strstr(s, "\xc4\xa0") != NULL || strstr(s, "\xc4\x8a") != NULL)) {
            return SPELL_LETTERS;
        }
    }
    return SPELL_PLAIN;
}

/* The bytes that an entry stands for; a special token stands for itself. */
static cf_status spell(cf_str *out, cf_str entry, spelling how, cf_arena *arena, cf_error *err)
{
    cf_buf bytes = CF_BUF_INIT;
    bool is_plain = false;
    for (size_t i = 0; !is_plain && i < entry.n;) {
        uint32_t cp;
        size_t n = cf_utf8_decode(&cp, entry.p + i, entry.n - i);
        n = n != 0 ? n : 1;
        int byte = cf_bpe__byte_of(cp);
        if (how == SPELL_LETTERS && byte >= 0) {
            cf_buf_addc(&bytes, (char)byte);
        } else if (how == SPELL_PLAIN && cp == 0x2581) {
            cf_buf_addc(&bytes, ' ');
        } else {
            is_plain = how == SPELL_LETTERS;
            cf_buf_add(&bytes, entry.p + i, n);
        }
        i += n;
    }
    cf_status st = cf_buf_check(&bytes, err);
    CF_THEN(st, cf_server_kind__copy_text(out, is_plain ? entry : cf_buf_str(&bytes), arena, err));
    cf_buf_deinit(&bytes);
    return st;
}

static cf_status vllm_tokens(const json_t *answer, cf_str prompt, cf_arena *arena,
                             cf_token_list *out, cf_error *err)
{
    const json_t *ids = json_object_get(answer, "tokens");
    const json_t *strs = json_object_get(answer, "token_strs");
    const spelling how = spelling_of(strs);
    cf_str *texts = NULL;
    CF_TRY(cf_server_kind__make_list(json_array_size(ids), arena, out, &texts, err));
    for (size_t i = 0; i < out->n; i++) {
        const json_t *s = json_array_get(strs, i);
        out->v[i].id = cf_server_kind__id(json_array_get(ids, i));
        if (out->v[i].id == CF_TOKEN_NONE || !json_is_string(s)) {
            return cf_server_kind__strange("/tokenize", err);
        }
        CF_TRY(spell(&texts[i], cf_str_make(json_string_value(s), json_string_length(s)), how,
                     arena, err));
    }
    cf_server_kind__place(out->v, texts, out->n, prompt);
    return CF_OK;
}

/* ---- its prompt --------------------------------------------------------- */

static bool shows_prompt(const cf_server_kind *kind)
{
    (void)kind;
    return true;
}

static cf_status vllm_prompt(cf_server_kind *kind, const cf_server_ask *ask, json_t *body,
                             cf_arena *arena, cf_str *prompt, cf_token_list *tokens, cf_error *err)
{
    json_t *v = NULL, *request = NULL;
    (void)kind;
    if (json_object_set_new(body, "add_generation_prompt", json_true()) != 0 ||
        json_object_set_new(body, "add_special_tokens", json_false()) != 0 ||
        json_object_set_new(body, "return_token_strs", json_true()) != 0) {
        return cf_oom_for(err, "the request");
    }
    CF_TRY(cf_server_kind__ask_json(ask, "/tokenize", body, &v, err));
    json_t *ids = json_object_get(v, "tokens");
    cf_status st = CF_OK;
    if (!json_is_array(ids)) {
        st = cf_server_kind__strange("/tokenize", err);
    } else {
        request = json_pack("{s:s, s:O}", "model", ask->model, "tokens", ids);
        st = request != NULL ? CF_OK : cf_oom(err);
    }
    CF_THEN(st, cf_server_kind__ask_text(ask, "/detokenize", request, NULL, "prompt", arena, prompt,
                                         err));
    if (st == CF_OK && tokens != NULL) {
        st = vllm_tokens(v, *prompt, arena, tokens, err);
    }
    json_decref(request);
    json_decref(v);
    return st;
}

/* ---- scores: prompt_logprobs -------------------------------------------- */

/* One position: {"1234": {"logprob", "rank", "decoded_token"}, ...}; with one
 * entry asked for, the prompt's own token is the entry of the worst rank. */
static cf_status vllm_one(cf_server_kind__scored *s, size_t i, const json_t *at, cf_arena *arena,
                          cf_error *err)
{
    json_t *in = cf_json_ref(at);
    const char *key;
    json_t *v;
    json_int_t worst = -1;
    s->id[i] = CF_TOKEN_NONE;
    s->log_p[i] = (float)NAN;
    json_object_foreach(in, key, v)
    {
        json_int_t rank = json_integer_value(json_object_get(v, "rank"));
        if (rank > worst) {
            worst = rank;
            s->id[i] = (cf_token)strtol(key, NULL, 10);
            s->log_p[i] = cf_server_kind__number(json_object_get(v, "logprob"));
            CF_TRY(cf_server_kind__set_text(&s->text[i], json_object_get(v, "decoded_token"), arena,
                                            err));
        }
    }
    return CF_OK;
}

/* Whether the server would begin a prompt that begins with a special token with
 * another one: a chat template has written it already. */
static cf_status vllm_doubles(const cf_server_ask *ask, cf_str all, bool *doubles, cf_error *err)
{
    json_t *v = NULL;
    size_t n = all.n < HEAD ? all.n : HEAD;
    *doubles = false;
    if (n == 0 || (all.p[0] != '<' && all.p[0] != '[')) {
        return CF_OK;
    }
    n -= cf_utf8_incomplete_tail(all.p, n);
    json_t *body = json_pack("{s:s, s:s%, s:b}", "model", ask->model, "prompt", all.p, n,
                             "add_special_tokens", 1);
    cf_status st = body != NULL ? cf_server_kind__ask_json(ask, "/tokenize", body, &v, err)
                                : cf_oom_for(err, "the request");
    json_decref(body);
    if (st == CF_OK) {
        const json_t *ids = json_object_get(v, "tokens");
        *doubles = json_array_size(ids) > 1 &&
                   json_equal(json_array_get(ids, 0), json_array_get(ids, 1)) != 0;
    }
    json_decref(v);
    return st == CF_EINVAL || st == CF_EUNSUPPORTED ? CF_OK : st;
}

static cf_status vllm_score(cf_server_kind *kind, const cf_server_ask *ask, cf_str all,
                            size_t n_context, cf_server_kind__scored *s, cf_arena *arena,
                            cf_error *err)
{
    static const char path[] = "/v1/completions";
    json_t *v = NULL;
    bool doubles;
    (void)kind;
    (void)n_context;
    CF_TRY(vllm_doubles(ask, all, &doubles, err));
    json_t *body = json_pack("{s:s, s:s%, s:i, s:i, s:f, s:b}", "model", ask->model, "prompt",
                             all.p, all.n, "max_tokens", 1, "prompt_logprobs", 0, "temperature",
                             0.0, "add_special_tokens", !doubles);
    cf_status st = body != NULL ? cf_server_kind__ask_json(ask, path, body, &v, err)
                                : cf_oom_for(err, "the request");
    json_decref(body);
    CF_TRY(st);
    const json_t *list =
        json_object_get(json_array_get(json_object_get(v, "choices"), 0), "prompt_logprobs");
    list = list != NULL ? list : json_object_get(v, "prompt_logprobs");
    st = json_is_array(list) ? cf_server_kind__make_scored(s, json_array_size(list), arena, err)
                             : cf_server_kind__strange(path, err);
    for (size_t i = 0; st == CF_OK && i < s->n; i++) {
        st = vllm_one(s, i, json_array_get(list, i), arena, err);
    }
    json_decref(v);
    return st;
}

/* ---- constraints -------------------------------------------------------- */

/* vLLM: {"structured_outputs": {KEY: V}} from 0.12 on, "guided_KEY" before. */
static bool write_vllm(const cf_server_kind *kind, json_t *body, const char *key, json_t *value)
{
    char old[32];
    if (cf_server_kind__is_at_least(kind, 0, 12)) {
        return json_object_set_new(body, "structured_outputs", json_pack("{s:O}", key, value)) == 0;
    }
    snprintf(old, sizeof old, "guided_%s", key);
    return json_object_set(body, old, value) == 0;
}

static bool write_vllm_regex(const cf_server_kind *kind, json_t *body, json_t *value)
{
    return write_vllm(kind, body, "regex", value);
}

static bool write_vllm_choice(const cf_server_kind *kind, json_t *body, json_t *value)
{
    return write_vllm(kind, body, "choice", value);
}

static bool write_vllm_grammar(const cf_server_kind *kind, json_t *body, json_t *value)
{
    return write_vllm(kind, body, "grammar", value);
}

const cf_server_kind__row cf_server_vllm = {
    .name = "vLLM",
    .path = "/version",
    .key = "version",
    .limit = vllm_limit,
    .shows_tokens = true,
    .returns_ids = true,
    .shows_prompt = shows_prompt,
    .prompt = vllm_prompt,
    .score = vllm_score,
    .constrain = {[CF_FORM_SCHEMA] = cf_server_kind__write_schema,
                  [CF_FORM_JSON] = cf_server_kind__write_json,
                  [CF_FORM_REGEX] = write_vllm_regex,
                  [CF_FORM_CHOICES] = write_vllm_choice,
                  [CF_FORM_GRAMMAR] = write_vllm_grammar},
};
