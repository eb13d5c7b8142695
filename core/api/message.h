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
 * Memory:   borrows from the message; texts are appended to the caller's buffer.
 */
#ifndef CF_CORE_API_MESSAGE_H
#define CF_CORE_API_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/decls.h"
#include "core/base/uuid.h"
#include "core/json/json.h"

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

/* Appends the text of a message's content: the string, the "text" of an object,
 * or the strings and the "text" members of a list, with `between` between
 * those that are not empty. */
void cf_message_text(cf_buf *out, const json_t *message, const char *between);

/* One of a message's tool calls; everything is borrowed from the message. */
typedef struct cf_message_call {
    const json_t *call;      /* as it stands in "tool_calls" */
    cf_str id, name;         /* empty where there is none */
    const json_t *arguments; /* an object, or JSON in a string; NULL: none */
} cf_message_call;

/* Call i, with its function in an object of its own or not; false after the
 * last:  for (size_t i = 0; cf_message_call_at(&call, message, i); i++) */
bool cf_message_call_at(cf_message_call *out, const json_t *message, size_t i);

/* Appends the arguments as text: a string as it is, else as JSON, `none` where
 * there are none. */
void cf_message_put_arguments(cf_buf *out, const cf_message_call *call, const char *none);

const char *cf_turn_status_name(cf_turn_status status);
bool cf_turn_status_parse(cf_turn_status *out, cf_str name);

CF_END_DECLS

#endif
