/*
 * lab_state.h - what all parts of a lab use: the engine that answers, and the settings
 * of the next replies.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_STATE_LAB_STATE_H
#define CF_TUI_LAB_STATE_LAB_STATE_H

#include "core/api/conversation.h"
#include "tui/lab/state/reply_settings.h"

typedef struct cf_lab cf_lab;
typedef struct cf_store cf_store;

/* The engine that answers; everything is borrowed and outlives the
 * workbench. */
typedef struct cf_lab_engine {
    cf_backend *backend;
    const cf_engine *engine;       /* NULL: not the built-in core */
    const cf_tokenizer *tokenizer; /* NULL: the engine hides its tokens */
    const char *template_name;     /* "" when the engine hides it */
    cf_str template_source;
    const json_t *tools;        /* declarations; NULL: none */
    cf_tool_family family;      /* how the model writes calls */
    cf_session_options session; /* as the backend was opened with */
    cf_sampling sampling;       /* of new replies, as the next two */
    bool has_sampling;
    uint32_t asked; /* of the sampling, as in cf_chat_options */
    uint32_t max_tokens;
    bool as_is; /* messages reach the template as they are */
} cf_lab_engine;

/* Whether a reply is being written. */
bool cf_lab_is_busy(const cf_lab *lab);

const cf_lab_engine *cf_lab_engine_of(const cf_lab *lab);
/* Tokens of its context; 0: not known. */
size_t cf_lab_context_size(const cf_lab *lab);
cf_backend_info cf_lab_info(const cf_lab *lab);

/* Settings of the replies to come; a change affects the next one.
 * Where the prompt may depend on it, call cf_lab_prompt_stale(). */
cf_reply_settings *cf_lab_settings(cf_lab *lab);

/* Changes whenever the path, the turns, the template, the tools, a variable or
 * an adapter may have changed. */
uint64_t cf_lab_generation(const cf_lab *lab);

#endif
