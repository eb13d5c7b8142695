/*
 * server_tgi.c - Text Generation Inference: shows its prompt and its tokens,
 * scores a text by the details of the prefill, and takes schemas and patterns.
 */
#include "core/backend/server_kind_impl.h"

static uint32_t tgi_limit(const cf_server_ask *ask, const json_t *info)
{
    (void)ask;
    return cf_server_kind__limit(json_object_get(info, "max_total_tokens"));
}

/* ---- its prompt --------------------------------------------------------- */

/* `list` has objects with id, start and stop, in characters. */
static cf_status tgi_tokens(const json_t *list, cf_str prompt, cf_arena *arena, cf_token_list *out,
                            cf_error *err)
{
    static const char path[] = "/chat_tokenize";
    cf_str *unused = NULL;
    size_t at = 0;
    json_int_t n_char = 0; /* characters before byte `at` */
    if (!json_is_array(list)) {
        return cf_server_kind__strange(path, err);
    }
    CF_TRY(cf_server_kind__make_list(json_array_size(list), arena, out, &unused, err));
    for (size_t i = 0; i < out->n; i++) {
        const json_t *v = json_array_get(list, i);
        json_int_t bounds[2] = {json_integer_value(json_object_get(v, "start")),
                                json_integer_value(json_object_get(v, "stop"))};
        size_t place[2];
        out->v[i].id = cf_server_kind__id(json_object_get(v, "id"));
        if (out->v[i].id == CF_TOKEN_NONE || bounds[1] < bounds[0]) {
            return cf_server_kind__strange(path, err);
        }
        for (int k = 0; k < 2; k++) {
            while (n_char < bounds[k] && at < prompt.n) {
                at++;
                while (at < prompt.n && ((unsigned char)prompt.p[at] & 0xC0) == 0x80) {
                    at++;
                }
                n_char++;
            }
            place[k] = at;
        }
        out->v[i].off = (uint32_t)place[0];
        out->v[i].len = (uint32_t)(place[1] - place[0]);
    }
    return CF_OK;
}

static bool shows_prompt(const cf_server_kind *kind)
{
    (void)kind;
    return true;
}

static cf_status tgi_prompt(cf_server_kind *kind, const cf_server_ask *ask, json_t *body,
                            cf_arena *arena, cf_str *prompt, cf_token_list *tokens, cf_error *err)
{
    static const char path[] = "/chat_tokenize";
    json_t *v = NULL;
    (void)kind;
    CF_TRY(cf_server_kind__ask_json(ask, path, body, &v, err));
    cf_status st =
        cf_server_kind__keep(prompt, cf_json_get_str(v, "templated_text"), path, arena, err);
    if (st == CF_OK && tokens != NULL) {
        st = tgi_tokens(json_object_get(v, "tokenize_response"), *prompt, arena, tokens, err);
    }
    json_decref(v);
    return st;
}

/* ---- scores: details of the prefill ------------------------------------- */

static cf_status tgi_score(cf_server_kind *kind, const cf_server_ask *ask, cf_str all,
                           size_t n_context, cf_server_kind__scored *s, cf_arena *arena,
                           cf_error *err)
{
    static const char path[] = "/generate";
    json_t *v = NULL;
    (void)kind;
    (void)n_context;
    json_t *body = json_pack("{s:s%, s:{s:i, s:b, s:b}}", "inputs", all.p, all.n, "parameters",
                             "max_new_tokens", 1, "details", 1, "decoder_input_details", 1);
    cf_status st = body != NULL ? cf_server_kind__ask_json(ask, path, body, &v, err)
                                : cf_oom_for(err, "the request");
    json_decref(body);
    CF_TRY(st);
    const json_t *list = json_object_get(json_object_get(v, "details"), "prefill");
    st = json_is_array(list) ? cf_server_kind__make_scored(s, json_array_size(list), arena, err)
                             : cf_server_kind__strange(path, err);
    for (size_t i = 0; st == CF_OK && i < s->n; i++) {
        const json_t *t = json_array_get(list, i);
        s->id[i] = (cf_token)json_integer_value(json_object_get(t, "id"));
        s->log_p[i] = cf_server_kind__number(json_object_get(t, "logprob"));
        st = cf_server_kind__set_text(&s->text[i], json_object_get(t, "text"), arena, err);
    }
    json_decref(v);
    return st;
}

/* ---- constraints -------------------------------------------------------- */

/* {"response_format": {"type": "json" or "regex", "value": ...}} */
static bool write_tgi_schema(const cf_server_kind *kind, json_t *body, json_t *value)
{
    (void)kind;
    return json_object_set_new(body, "response_format",
                               json_pack("{s:s, s:O}", "type", "json", "value", value)) == 0;
}

static bool write_tgi_regex(const cf_server_kind *kind, json_t *body, json_t *value)
{
    (void)kind;
    return json_object_set_new(body, "response_format",
                               json_pack("{s:s, s:O}", "type", "regex", "value", value)) == 0;
}

const cf_server_kind__row cf_server_tgi = {
    .name = "TGI",
    .path = "/info",
    .key = "max_total_tokens",
    .limit = tgi_limit,
    .shows_tokens = true,
    .shows_prompt = shows_prompt,
    .prompt = tgi_prompt,
    .score = tgi_score,
    .constrain = {[CF_FORM_SCHEMA] = write_tgi_schema, [CF_FORM_REGEX] = write_tgi_regex},
};
