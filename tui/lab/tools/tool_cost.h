/*
 * tool_cost.h - how many tokens of the prompt each declared tool takes in a
 * model's own template.
 *
 * The cost of a tool is the difference between the prompt with all tools and
 * the prompt without this one, so that whatever the template writes around
 * the list is not counted for any of them.
 *
 * Threads:  any; the backend is used by this thread meanwhile.
 */
#ifndef CF_TUI_LAB_TOOLS_TOOL_COST_H
#define CF_TUI_LAB_TOOLS_TOOL_COST_H

#include "core/api/conversation.h"

typedef struct cf_tool_cost {
    int64_t *tokens; /* [n] by declaration; cf_free */
    size_t n;
    int64_t all; /* of all declarations together, with what is around them */
} cf_tool_cost;

/*
 * `roles` as for cf_conversation_set_roles(), or NULL.  CF_EUNSUPPORTED where the
 * engine hides its tokens or there is no prompt; CF_ECANCELLED.
 */
CF_MUST_USE cf_status cf_tool_cost_measure(cf_tool_cost *out, cf_backend *backend,
                                           const cf_role_map *roles, const json_t *declarations,
                                           cf_cancel *cancel, cf_error *err);
/* Tokens of a text as a system message, with what the template writes around
 * it, or as a part of the user's message.  Errors as above; CF_EFORMAT. */
CF_MUST_USE cf_status cf_text_cost_measure(int64_t *out, cf_backend *backend,
                                           const cf_role_map *roles, cf_str text, bool is_system,
                                           cf_error *err);
void cf_tool_cost_deinit(cf_tool_cost *cost);

#endif
