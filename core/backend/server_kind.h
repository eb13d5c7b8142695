/*
 * server_kind.h - what a model server is, and what it shows beyond OpenAI's
 * interface: its prompt, its tokens, likelihoods of a text, its context
 * limit, and the constraints that it takes.
 *
 * Place in the flow:  backend_remote.c --> [server kind] --> requests through the
 *                     backend's own function, answers as prompts and tokens.
 * Knows: the interfaces of confab serve, llama-server, vLLM, Ollama, LM Studio and TGI.
 * Does not know: HTTP, templates.
 *
 * Threads:  one thread at a time, like the backend.
 * Memory:   results live in the arena given; cf_server_kind owns its table of pieces.
 */
#ifndef CF_CORE_BACKEND_SERVER_KIND_H
#define CF_CORE_BACKEND_SERVER_KIND_H

#include "core/api/backend.h"

/* How the server is asked.  `path` is from the server's root; `body` NULL:
 * GET.  *status is HTTP's; *out a new reference, or NULL where the answer is
 * not JSON.  CF_EIO without a connection, CF_ECANCELLED, CF_ENOMEM. */
typedef struct cf_server_ask {
    cf_status (*fn)(void *ud, const char *path, const json_t *body, cf_cancel *cancel, long *status,
                    json_t **out, cf_error *err);
    void *ud;
    cf_cancel *cancel; /* may be NULL */
    const char *model; /* name that requests give */
} cf_server_ask;

typedef struct cf_server_kind__row cf_server_kind__row;

typedef struct cf_server_kind {
    const cf_server_kind__row *row; /* NULL: not asked yet */
    char version[40];
    uint32_t n_ctx; /* tokens of a request and its reply; 0: unknown */
    json_t *pieces; /* of tokens that were asked for: id -> text */
} cf_server_kind;

void cf_server_kind__deinit(cf_server_kind *kind);

/* "confab", "llama-server", "vLLM" ...; "" for a plain one, and before it was asked. */
const char *cf_server_kind__name(const cf_server_kind *kind);
/* Whether it has OpenAI's interface and nothing else that is known here. */
bool cf_server_kind__is_plain(const cf_server_kind *kind);
/* Whether it shows its slots under /slots. */
bool cf_server_kind__has_slots(const cf_server_kind *kind);
/* Whether it gives the ids of its tokens when "return_token_ids" asks for
 * them. */
bool cf_server_kind__returns_ids(const cf_server_kind *kind);

/* Finds out what the server is, once.  A plain server is not an error; CF_EIO
 * without a connection, and then it is asked again the next time. */
CF_MUST_USE cf_status cf_server_kind__probe(cf_server_kind *kind, const cf_server_ask *ask,
                                            cf_error *err);

bool cf_server_kind__shows_prompt(const cf_server_kind *kind);
bool cf_server_kind__shows_tokens(const cf_server_kind *kind);

/*
 * The server's own prompt for a chat request, and with `tokens` its tokens
 * with their bytes of the prompt.  `body` is the request as it would be sent.
 * CF_EUNSUPPORTED for a kind that does not show them; CF_EFORMAT for an answer
 * that cannot be understood; what the server refuses, as CF_EINVAL.
 */
CF_MUST_USE cf_status cf_server_kind__prompt(cf_server_kind *kind, const cf_server_ask *ask,
                                             const json_t *body, cf_arena *arena, cf_str *prompt,
                                             cf_token_list *tokens, cf_error *err);

/*
 * Likelihood of `text` after `context`, both raw: prompt_logprobs of vLLM,
 * details of TGI, n_probs of llama-server a token at a time, else "echo" of
 * OpenAI's completions.  Tokens whose server shows no ids have CF_TOKEN_NONE.
 * CF_EUNSUPPORTED for a server that does none of it.
 */
CF_MUST_USE cf_status cf_server_kind__score(cf_server_kind *kind, const cf_server_ask *ask,
                                            cf_str context, cf_str text, cf_arena *arena,
                                            cf_score *out, cf_error *err);

/* Adds a constraint (constraint_spec.h) to a request's body in the form that
 * the server takes.  CF_EUNSUPPORTED, saying what it could take. */
CF_MUST_USE cf_status cf_server_kind__constrain(const cf_server_kind *kind, json_t *body,
                                                const json_t *spec, cf_error *err);

/* Cuts a prompt into spans: messages whose text is in it word for word, and
 * the rest as the template's.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_server_kind__spans(cf_prompt *prompt, const json_t *messages,
                                            cf_arena *arena, cf_error *err);

#endif
