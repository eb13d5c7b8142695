/*
 * server_confab.c - `confab serve`: shows its prompt, tokens and slots as
 * llama-server does, scores a text in one request, and takes every constraint.
 */
#include <string.h>

#include "core/backend/server_kind_impl.h"

/* ---- scores ------------------------------------------------------------- */

/* The echo has texts; their ids are those of the text's tokens. */
static cf_status confab_score(cf_server_kind *kind, const cf_server_ask *ask, cf_str all,
                              size_t n_context, cf_server_kind__scored *s, cf_arena *arena,
                              cf_error *err)
{
    cf_token_list list;
    size_t n_added = 0;
    CF_TRY(cf_server_kind__echo_score(kind, ask, all, n_context, s, arena, err));
    CF_TRY(cf_server_kind__llama_tokens(kind, ask, all, arena, &list, err));
    while (n_added < list.n && list.v[n_added].len == 0) {
        n_added++; /* the server's, before the text */
    }
    for (size_t i = 0; i < s->n && n_added + s->n == list.n; i++) {
        s->id[i] = list.v[n_added + i].id;
    }
    return CF_OK;
}

/* ---- constraints -------------------------------------------------------- */

static bool write_regex(const cf_server_kind *kind, json_t *body, json_t *value)
{
    (void)kind;
    return json_object_set(body, "guided_regex", value) == 0;
}

static bool write_choice(const cf_server_kind *kind, json_t *body, json_t *value)
{
    (void)kind;
    return json_object_set(body, "guided_choice", value) == 0;
}

static bool write_grammar(const cf_server_kind *kind, json_t *body, json_t *value)
{
    (void)kind;
    return json_object_set(body, "grammar", value) == 0;
}

static bool shows_prompt(const cf_server_kind *kind)
{
    (void)kind;
    return true;
}

const cf_server_kind__row cf_server_confab = {
    .name = "confab",
    .path = "/props",
    .key = "confab",
    .limit = cf_server_kind__llama_limit,
    .shows_tokens = true,
    .has_slots = true,
    .shows_prompt = shows_prompt,
    .prompt = cf_server_kind__llama_prompt,
    .score = confab_score,
    .constrain = {[CF_FORM_SCHEMA] = cf_server_kind__write_schema,
                  [CF_FORM_JSON] = cf_server_kind__write_json,
                  [CF_FORM_REGEX] = write_regex,
                  [CF_FORM_CHOICES] = write_choice,
                  [CF_FORM_GRAMMAR] = write_grammar},
};
