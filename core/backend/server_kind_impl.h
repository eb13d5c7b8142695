/*
 * server_kind_impl.h - the row of a kind of server, and what the rows share.
 */
#ifndef CF_CORE_BACKEND_SERVER_KIND_IMPL_H
#define CF_CORE_BACKEND_SERVER_KIND_IMPL_H

#include "core/backend/server_kind.h"

/* Tokens of a scored text as they are read, before those of the context are
 * left out. */
typedef struct cf_server_kind__scored {
    cf_token *id; /* [n], in the arena like the others */
    float *log_p; /* [n]; NaN: unknown, as for the first */
    cf_str *text; /* [n] */
    size_t n;
} cf_server_kind__scored;

/* Kinds of constraints. */
enum { CF_FORM_SCHEMA, CF_FORM_JSON, CF_FORM_REGEX, CF_FORM_CHOICES, CF_FORM_GRAMMAR, CF_FORM_N };

struct cf_server_kind__row {
    const char *name;
    const char *path; /* that only this kind answers with */
    const char *key;  /* this member */
    bool shows_tokens, has_slots, returns_ids;
    /* Tokens of its context, with the answer to `path`; 0: unknown. */
    uint32_t (*limit)(const cf_server_ask *ask, const json_t *answer);
    bool (*shows_prompt)(const cf_server_kind *kind);
    /* As cf_server_kind__prompt(), which it may rely on; NULL: it shows none.
     * `body` has what a prompt depends on, and may be changed. */
    cf_status (*prompt)(cf_server_kind *kind, const cf_server_ask *ask, json_t *body,
                        cf_arena *arena, cf_str *prompt, cf_token_list *tokens, cf_error *err);
    /* The tokens of `all` and how likely they are; those that end within the
     * first n_context bytes need no likelihood. */
    cf_status (*score)(cf_server_kind *kind, const cf_server_ask *ask, cf_str all, size_t n_context,
                       cf_server_kind__scored *s, cf_arena *arena, cf_error *err);
    /* Writes a constraint into a request; false without memory.  NULL: it is
     * not taken. */
    bool (*constrain[CF_FORM_N])(const cf_server_kind *kind, json_t *body, json_t *value);
};

extern const cf_server_kind__row cf_server_plain, cf_server_confab, cf_server_llama, cf_server_vllm,
    cf_server_ollama, cf_server_tgi, cf_server_lmstudio;

/* Asks, and takes an answer 200 that is JSON.  CF_EUNSUPPORTED for a path
 * that the server does not know, CF_EINVAL for another refusal, CF_EFORMAT. */
CF_MUST_USE cf_status cf_server_kind__ask_json(const cf_server_ask *ask, const char *path,
                                               const json_t *body, json_t **out, cf_error *err);

/* err with CF_EFORMAT: members are missing or of another kind. */
cf_status cf_server_kind__strange(const char *path, cf_error *err);

/* Whether the version is "major.minor" or later; false where it is unknown. */
bool cf_server_kind__is_at_least(const cf_server_kind *kind, unsigned major, unsigned minor);

/* Asks and keeps one text of the answer; `in` NULL: of the answer itself. */
CF_MUST_USE cf_status cf_server_kind__ask_text(const cf_server_ask *ask, const char *path,
                                               const json_t *body, const char *in, const char *key,
                                               cf_arena *arena, cf_str *out, cf_error *err);
/* Copies a text of the answer; CF_EFORMAT where there is none. */
CF_MUST_USE cf_status cf_server_kind__keep(cf_str *out, cf_str text, const char *path,
                                           cf_arena *arena, cf_error *err);
/* A count of tokens; 0 for what is not one. */
uint32_t cf_server_kind__limit(const json_t *v);
/* The entry of a list whose `key` is the model's name, else the first. */
const json_t *cf_server_kind__entry(const json_t *list, const char *key, const char *model);

/*
 * Gives n tokens their bytes of the prompt: in order, each where its text is
 * next.  A text that is not there (half a character, or a token that the
 * server added) takes the bytes up to the next one that is; of several the
 * first has them.  texts[i].p may be NULL.
 */
void cf_server_kind__place(cf_token_span *v, const cf_str *texts, size_t n, cf_str prompt);

/* An id; CF_TOKEN_NONE for what is not one. */
cf_token cf_server_kind__id(const json_t *v);
/* Room for n tokens and their texts. */
CF_MUST_USE cf_status cf_server_kind__make_list(size_t n, cf_arena *arena, cf_token_list *out,
                                                cf_str **texts, cf_error *err);
CF_MUST_USE cf_status cf_server_kind__copy_text(cf_str *out, cf_str text, cf_arena *arena,
                                                cf_error *err);
/* Room for n scored tokens. */
CF_MUST_USE cf_status cf_server_kind__make_scored(cf_server_kind__scored *s, size_t n,
                                                  cf_arena *arena, cf_error *err);
CF_MUST_USE cf_status cf_server_kind__set_text(cf_str *out, const json_t *v, cf_arena *arena,
                                               cf_error *err);
float cf_server_kind__number(const json_t *v);

/* As llama-server does it. */
uint32_t cf_server_kind__llama_limit(const cf_server_ask *ask, const json_t *props);
CF_MUST_USE cf_status cf_server_kind__llama_tokens(cf_server_kind *kind, const cf_server_ask *ask,
                                                   cf_str prompt, cf_arena *arena,
                                                   cf_token_list *out, cf_error *err);
CF_MUST_USE cf_status cf_server_kind__llama_prompt(cf_server_kind *kind, const cf_server_ask *ask,
                                                   json_t *body, cf_arena *arena, cf_str *prompt,
                                                   cf_token_list *tokens, cf_error *err);

/* As the plain kind does it. */
CF_MUST_USE cf_status cf_server_kind__echo_score(cf_server_kind *kind, const cf_server_ask *ask,
                                                 cf_str all, size_t n_context,
                                                 cf_server_kind__scored *s, cf_arena *arena,
                                                 cf_error *err);
bool cf_server_kind__write_schema(const cf_server_kind *kind, json_t *body, json_t *value);
bool cf_server_kind__write_json(const cf_server_kind *kind, json_t *body, json_t *value);

#endif
