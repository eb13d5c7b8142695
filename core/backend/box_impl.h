/*
 * box_impl.h - shared by the files of box.h: asking, and tokens of each kind.
 */
#ifndef CF_CORE_BACKEND_BOX_IMPL_H
#define CF_CORE_BACKEND_BOX_IMPL_H

#include "core/backend/box.h"

/* Asks, and takes an answer 200 that is JSON.  CF_EUNSUPPORTED for a path
 * that the server does not know, CF_EINVAL for another refusal, CF_EFORMAT. */
CF_MUST_USE cf_status cf_box__ask_json(const cf_box_ask *ask, const char *path, const json_t *body,
                                       json_t **out, cf_error *err);

/* err with CF_EFORMAT: members are missing or of another kind. */
cf_status cf_box__strange(const char *path, cf_error *err);

/* Whether the version is "major.minor" or later; false where it is unknown. */
bool cf_box__is_at_least(const cf_box *box, unsigned major, unsigned minor);

/* Tokens of a prompt as each kind shows them, placed in the prompt's bytes. */
CF_MUST_USE cf_status cf_box__llama_tokens(cf_box *box, const cf_box_ask *ask, cf_str prompt,
                                           cf_arena *arena, cf_token_list *out, cf_error *err);
/* `answer` is that of /tokenize, with "tokens" and maybe "token_strs". */
CF_MUST_USE cf_status cf_box__vllm_tokens(const json_t *answer, cf_str prompt, cf_arena *arena,
                                          cf_token_list *out, cf_error *err);
/* `list` has objects with id, start and stop, in characters. */
CF_MUST_USE cf_status cf_box__tgi_tokens(const json_t *list, cf_str prompt, cf_arena *arena,
                                         cf_token_list *out, cf_error *err);

/*
 * Gives n tokens their bytes of the prompt: in order, each where its text is
 * next.  A text that is not there (half a character, or a token that the
 * server added) takes the bytes up to the next one that is; of several the
 * first has them.  texts[i].p may be NULL.
 */
void cf_box__place(cf_token_span *v, const cf_str *texts, size_t n, cf_str prompt);

#endif
