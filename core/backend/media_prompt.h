/*
 * media_prompt.h - pictures and sounds of messages on their way into a prompt
 * and its tokens.
 *
 *   parts with bytes --> {"type":"image"} --> template --> its markers -->
 *   the whole expansion, with a place for each block of rows
 *
 * Private to core/backend.
 * Memory: a cf_chat__media pins inputs of its cache until it is released; its
 *         lists live in the arena.
 */
#ifndef CF_CORE_BACKEND_MEDIA_PROMPT_H
#define CF_CORE_BACKEND_MEDIA_PROMPT_H

#include "core/api/backend.h"
#include "core/api/media.h"
#include "core/backend/backend_impl.h"

/* Where the rows of one block go: a stand-in among the bytes of a prompt. */
typedef struct cf_chat__slot {
    uint32_t off, len;
    uint32_t input, block;
} cf_chat__slot;

/* A picture or sound of a message. */
typedef struct cf_chat__medium {
    const cf_media_input *input;
    cf_buf bytes; /* of the file */
    bool is_sound;
    uint32_t message, part;
} cf_chat__medium;

typedef struct cf_chat__media {
    cf_media_cache *cache;       /* NULL: the model reads no media */
    const cf_core_options *core; /* whose hold and release guard the cache and
                                    what is computed; NULL: nobody else uses
                                    them */
    bool skips_results;          /* media of tools' results are left out; their text
                              says that they are there */
    bool folds;                  /* a medium becomes "[image ...: 56 tokens]" */
    size_t n_result;             /* tools' results that have media */
    cf_arena *arena;
    cf_chat__medium *v;
    size_t n, cap;
    cf_chat__slot *slot; /* ascending */
    size_t n_slot, cap_slot;
} cf_chat__media;

/* Reads the media of context's messages, without rows, and replaces their
 * parts by what templates look for; CF_EUNSUPPORTED for what is only at an
 * address; errors of cf_media_look(), with the message named.  Does nothing
 * without a cache.  Release after a failure, too. */
CF_MUST_USE cf_status cf_chat__media_take(cf_chat__media *m, json_t *context,
                                          const cf_cancel *cancel, cf_error *err);
void cf_chat__media_release(cf_chat__media *m);

/* After a failure `st` of rendering: whether it is worth another try without
 * the media of tools' results, as which m is then set up. */
bool cf_chat__media_skip(cf_chat__media *m, cf_status st);

/* Puts the expansions in place of the template's markers and fills m->slot.
 * CF_EUNSUPPORTED where the template has no marker for one. */
CF_MUST_USE cf_status cf_chat__media_expand(cf_chat__media *m, cf_prompt *prompt, cf_error *err);

/*
 * Encodes the media, those that the cache does not have, with events of run,
 * and makes the session hold ids[0..n), which begin with the prompt's tokens
 * `list`.  Errors of cf_media_read() and cf_session_sync_inputs().
 */
CF_MUST_USE cf_status cf_chat__media_sync(cf_chat__media *m, const cf_chat__run *run,
                                          cf_session *session, const cf_token_list *list,
                                          const cf_token *ids, size_t n, const cf_run *how,
                                          cf_sync_result *out, cf_error *err);

/* The media and their places as a JSON array, for those who want to do this
 * again: {"kind","hash","at","n","rows"}.  NULL without memory. */
json_t *cf_chat__media_json(const cf_chat__media *m, const cf_token_list *list);

/* As cf_tokenizer_encode_spans() of an expanded prompt: a stand-in becomes as
 * many tokens as its block has rows.  m may be NULL. */
CF_MUST_USE cf_status cf_chat__media_encode_spans(cf_token_list *out, const cf_chat__media *m,
                                                  cf_str text, const cf_text_span *spans,
                                                  size_t n_spans, bool adds_special,
                                                  const cf_tokenizer *tok, cf_arena *arena,
                                                  cf_error *err);

/* cf_prompt_tokenise() of an expanded prompt. */
CF_MUST_USE cf_status cf_chat__tokenise(cf_token_list *out, const cf_prompt *prompt,
                                        const cf_chat__media *m, cf_str prefix,
                                        const cf_tokenizer *tok, cf_arena *arena, cf_error *err);

#endif
