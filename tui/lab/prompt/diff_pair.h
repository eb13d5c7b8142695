/*
 * diff_pair.h - two templates applied to the same context or conversation.
 */
#ifndef CF_TUI_LAB_PROMPT_DIFF_PAIR_H
#define CF_TUI_LAB_PROMPT_DIFF_PAIR_H

#include "core/api/conversation.h"
#include "templates/open.h"
#include "templates/template.h"
#include "templates/template_diff.h"

typedef struct cf_diff_half {
    bool is_server; /* `backend` asks a server for its own prompt */
    cf_buf source;
    cf_template *tpl;
    cf_template *for_tools; /* the model's "tool_use", for contexts with tools;
                               NULL: `tpl` */
    json_t *tokens;         /* special tokens of the template's file; may be NULL */
    cf_role_map roles;
    cf_backend *backend; /* renders with `tpl` */
    const cf_tokenizer *tok;
    cf_media_cache *media; /* NULL: pictures and sounds are the template's to
                              write; else each is one block */
} cf_diff_half;

typedef struct cf_diff_pair {
    cf_engine *engine;       /* of -m; NULL: none */
    const cf_tokenizer *tok; /* of the engine */
    cf_diff_half half[2];
    bool as_is; /* messages and tools reach the templates unchanged; set by the
                   caller once the pair is open */
} cf_diff_pair;

/* Each template's prompt, or how it failed. */
typedef struct cf_diff_renders {
    cf_prompt prompt[2];
    cf_status status[2];
    cf_error err[2];
} cf_diff_renders;

/* Both templates: files, names, or "model" for the model's own, of a server
 * the prompt that it shows.  With `has_weights` the pair's engine can compute.
 * The pair must not move while it is open; close it whatever is returned. */
CF_MUST_USE cf_status cf_diff_pair_open(cf_diff_pair *pair, const cf_open_options *o,
                                        bool has_weights, const char *a, const char *b,
                                        cf_error *err);
/* The same for sources at hand (copied); an empty one writes "role: text" a
 * line.  `tok` may be NULL. */
CF_MUST_USE cf_status cf_diff_pair_of(cf_diff_pair *pair, const cf_tokenizer *tok, cf_str a,
                                      cf_str b, cf_error *err);
void cf_diff_pair_close(cf_diff_pair *pair);

/* Has pictures and sounds of messages shown as blocks; `media` (borrowed, may
 * be NULL) must not be in use on another thread while the pair renders. */
void cf_diff_pair_see(cf_diff_pair *pair, cf_media_cache *media);

/* The source of the first (0) or second (1) template. */
cf_str cf_diff_pair_source(const cf_diff_pair *pair, int i);

/* Renders a context in JSON with both, as a send would unless the pair is
 * as_is.  With a model the context gets its
 * bos_token and eos_token where it has none.  Fails for a context that is
 * none, and without memory; a template's failure is in *out. */
CF_MUST_USE cf_status cf_diff_pair_context(const cf_diff_pair *pair, cf_str context,
                                           cf_diff_renders *out, cf_arena *arena, cf_error *err);

/* Renders what a conversation would send after its head, with the roles that
 * each template knows. */
CF_MUST_USE cf_status cf_diff_pair_saved(const cf_diff_pair *pair, cf_conversation *conv,
                                         cf_diff_renders *out, cf_arena *arena, cf_error *err);

/* Renders one side alone: template i over what `send` (NULL: nothing new)
 * would make of this conversation. */
CF_MUST_USE cf_status cf_diff_pair_one(const cf_diff_pair *pair, int i, cf_conversation *conv,
                                       const cf_send *send, cf_diff_renders *out, cf_arena *arena,
                                       cf_error *err);

/* The tokens of a prompt, as the engine would get them. */
CF_MUST_USE cf_status cf_diff_pair_tokens(const cf_diff_pair *pair, const cf_prompt *prompt,
                                          cf_token_list *out, cf_arena *arena, cf_error *err);

/* Compares both prompts token by token. */
CF_MUST_USE cf_status cf_diff_pair_by_tokens(const cf_diff_pair *pair, cf_diff *out,
                                             const cf_diff_renders *r, cf_arena *arena,
                                             cf_error *err);

/* Whether both templates failed, with the same words. */
bool cf_diff_renders_fail_alike(const cf_diff_renders *r);

#endif
