/*
 * server_ollama.c - Ollama: shows its prompt from version 0.12 on.
 */
#include <stdlib.h>
#include <string.h>

#include "core/backend/server_kind_impl.h"

/* ---- its context -------------------------------------------------------- */

/* "num_ctx   4096" among the lines of Ollama's parameters. */
static uint32_t ollama_num_ctx(const json_t *show)
{
    const char *text = json_string_value(json_object_get(show, "parameters"));
    const char *at = text != NULL ? strstr(text, "num_ctx") : NULL;
    long n = at != NULL ? strtol(at + strlen("num_ctx"), NULL, 10) : 0;
    return n > 0 && n <= INT32_MAX ? (uint32_t)n : 0;
}

/* The context that Ollama loaded the model with, else what its file asks
 * for; not the length that the model was trained with. */
static uint32_t ollama_limit(const cf_server_ask *ask, const json_t *unused)
{
    cf_error ignored;
    (void)unused;
    json_t *v = NULL;
    uint32_t n = 0;
    if (cf_server_kind__ask_json(ask, "/api/ps", NULL, &v, &ignored) == CF_OK) {
        const json_t *list = json_object_get(v, "models");
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *m = json_array_get(list, i);
            if (cf_str_is(cf_json_get_str(m, "name"), ask->model) ||
                cf_str_is(cf_json_get_str(m, "model"), ask->model)) {
                n = cf_server_kind__limit(json_object_get(m, "context_length"));
            }
        }
        json_decref(v);
    }
    v = NULL;
    json_t *body = json_pack("{s:s}", "model", ask->model);
    if (n == 0 && body != NULL &&
        cf_server_kind__ask_json(ask, "/api/show", body, &v, &ignored) == CF_OK) {
        n = ollama_num_ctx(v);
        json_decref(v);
    }
    json_decref(body);
    return n;
}

/* ---- its prompt --------------------------------------------------------- */

static bool shows_prompt(const cf_server_kind *kind)
{
    return cf_server_kind__is_at_least(kind, 0, 12);
}

/* Renders only; a server from before that option writes one token at most. */
static cf_status ollama_prompt(cf_server_kind *kind, const cf_server_ask *ask, json_t *body,
                               cf_arena *arena, cf_str *prompt, cf_token_list *tokens,
                               cf_error *err)
{
    const json_t *kwargs = json_object_get(body, "chat_template_kwargs");
    json_t *think = json_object_get(kwargs, "enable_thinking");
    (void)kind;
    (void)tokens;
    if (json_object_set_new(body, "stream", json_false()) != 0 ||
        json_object_set_new(body, "_debug_render_only", json_true()) != 0 ||
        json_object_set_new(body, "options", json_pack("{s:i}", "num_predict", 1)) != 0 ||
        (think != NULL && json_object_set(body, "think", think) != 0)) {
        return cf_oom_for(err, "the request");
    }
    json_object_del(body, "chat_template_kwargs");
    return cf_server_kind__ask_text(ask, "/api/chat", body, "_debug_info", "rendered_template",
                                    arena, prompt, err);
}

const cf_server_kind__row cf_server_ollama = {
    .name = "Ollama",
    .path = "/api/version",
    .key = "version",
    .limit = ollama_limit,
    .shows_prompt = shows_prompt,
    .prompt = ollama_prompt,
    .score = cf_server_kind__echo_score,
    .constrain = {[CF_FORM_SCHEMA] = cf_server_kind__write_schema,
                  [CF_FORM_JSON] = cf_server_kind__write_json},
};
