/*
 * server_prompt.h - the prompt that a model server renders from a context, as the
 * server reports it.
 *
 * Place in the flow:  a context in JSON --> [server prompt] --> the backend's
 *                     render or tokenise, which asks the server.
 *
 * Threads:  one thread; waits for the server.
 */
#ifndef CF_TUI_LAB_PROMPT_SERVER_PROMPT_H
#define CF_TUI_LAB_PROMPT_SERVER_PROMPT_H

#include "core/api/backend.h"

/* Whether a model's name is a server's address. */
bool cf_server_is_address(const char *model);

/*
 * Renders {"messages", "tools", ...}; other members are variables of the
 * template.  `tokens` NULL: only the text.  CF_EFORMAT for a context without
 * messages; errors of cf_backend_render() and cf_backend_tokenise().
 */
CF_MUST_USE cf_status cf_server_prompt(cf_backend *backend, cf_str context, cf_cancel *cancel,
                                       cf_arena *arena, cf_prompt *out, cf_token_list *tokens,
                                       cf_error *err);

#endif
