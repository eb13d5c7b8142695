/*
 * message.h - the form of a message that every room shares.
 *
 * Place in the flow:  the user, a tool, a reply, an import --> [message] -->
 *                     templates, backends, the store.
 * Knows: roles, the names of fields, turn states.  Does not know: templates,
 * engines, tables.
 *
 * A message is JSON in the shape that chat templates read (OpenAI's): "role",
 * "content" (string, null or a list of parts {"type":"text"|"image"|"audio"
 * ...}), "tool_calls", "tool_call_id", "name", "reasoning_content", and any
 * other field, all kept in order and untouched.  Rooms hand messages to each
 * other as json_t, so nothing is lost between them.
 *
 * Threads:  no state.
 * Memory:   constants only.
 */
#ifndef CF_CORE_API_MESSAGE_H
#define CF_CORE_API_MESSAGE_H

#include "core/base/decls.h"
#include "core/base/json.h"
#include "core/base/uuid.h"

CF_BEGIN_DECLS

/* The roles of ConverseHistory, plus tool results' usual name. */
typedef enum cf_role {
    CF_ROLE_DEVELOPER,
    CF_ROLE_SYSTEM,
    CF_ROLE_USER,
    CF_ROLE_ASSISTANT,
    CF_ROLE_AGENT,
    CF_ROLE_TOOL,
    CF_ROLE_OTHER /* kept by name */
} cf_role;

/* The state of a turn; the store keeps these names. */
typedef enum cf_turn_status {
    CF_TURN_STREAMING,   /* "streaming" */
    CF_TURN_OK,          /* "ok" */
    CF_TURN_STOPPED,     /* "stopped" by the user */
    CF_TURN_ERROR,       /* "error" */
    CF_TURN_INTERRUPTED, /* "interrupted": the program ended before it */
    CF_TURN_IMPORTED     /* "imported" */
} cf_turn_status;

const char *cf_turn_status_name(cf_turn_status status);
bool cf_turn_status_parse(cf_turn_status *out, cf_str name);

CF_END_DECLS

#endif
