/*
 * server_plain.c - OpenAI's interface and nothing that is known here: what the
 * other kinds do as it does, too.
 */
#include "core/backend/server_kind_impl.h"

cf_status cf_server_kind__echo_score(cf_server_kind *kind, const cf_server_ask *ask, cf_str all,
                                     size_t n_context, cf_server_kind__scored *s, cf_arena *arena,
                                     cf_error *err)
{
    static const char path[] = "/v1/completions";
    json_t *v = NULL;
    (void)kind;
    (void)n_context;
    json_t *body =
        json_pack("{s:s, s:s%, s:i, s:i, s:b, s:f}", "model", ask->model, "prompt", all.p, all.n,
                  "max_tokens", 0, "logprobs", 1, "echo", 1, "temperature", 0.0);
    cf_status st = body != NULL ? cf_server_kind__ask_json(ask, path, body, &v, err)
                                : cf_oom_for(err, "the request");
    json_decref(body);
    CF_TRY(st);
    const json_t *list =
        json_object_get(json_array_get(json_object_get(v, "choices"), 0), "logprobs");
    const json_t *texts = json_object_get(list, "tokens");
    const json_t *values = json_object_get(list, "token_logprobs");
    size_t n = json_array_size(texts);
    if (n == 0 || json_array_size(values) != n) {
        st = cf_fail(err, CF_EUNSUPPORTED,
                     "the server does not score prompts: no logprobs of an "
                     "echo");
    }
    CF_THEN(st, cf_server_kind__make_scored(s, n, arena, err));
    for (size_t i = 0; st == CF_OK && i < s->n; i++) {
        s->id[i] = CF_TOKEN_NONE;
        s->log_p[i] = cf_server_kind__number(json_array_get(values, i));
        st = cf_server_kind__set_text(&s->text[i], json_array_get(texts, i), arena, err);
    }
    json_decref(v);
    return st;
}

/* {"response_format": {"type": "json_schema", ...}} of OpenAI's interface. */
bool cf_server_kind__write_schema(const cf_server_kind *kind, json_t *body, json_t *value)
{
    (void)kind;
    return json_object_set_new(body, "response_format",
                               json_pack("{s:s, s:{s:s, s:b, s:O}}", "type", "json_schema",
                                         "json_schema", "name", "reply", "strict", 1, "schema",
                                         value)) == 0;
}

bool cf_server_kind__write_json(const cf_server_kind *kind, json_t *body, json_t *value)
{
    (void)kind;
    (void)value;
    return json_object_set_new(body, "response_format",
                               json_pack("{s:s}", "type", "json_object")) == 0;
}

const cf_server_kind__row cf_server_plain = {
    .name = "",
    .score = cf_server_kind__echo_score,
    .constrain = {[CF_FORM_SCHEMA] = cf_server_kind__write_schema,
                  [CF_FORM_JSON] = cf_server_kind__write_json},
};
