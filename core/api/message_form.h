/*
 * message_form.h - messages of other interfaces in OpenAI's form.
 *
 * Place in the flow:  messages of a conversation --> [message_form] -->
 *                     templates, servers.
 * Knows: the messages of Gemini and the FC SDK ({"parts": [...]}), Xaibo's
 * (flat calls, "tool_results", images) and OpenAI's old "function_call".
 * Does not know: templates, files, the network.
 *
 * Threads:  no state.
 * Memory:   results are the caller's.
 */
#ifndef CF_CORE_API_MESSAGE_FORM_H
#define CF_CORE_API_MESSAGE_FORM_H

#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/json/json.h"

CF_BEGIN_DECLS

typedef enum cf_message_form {
    CF_MESSAGE_OPENAI,   /* anything that is none of the others */
    CF_MESSAGE_OLD_CALL, /* OpenAI's, with a "function_call" */
    CF_MESSAGE_XAIBO,    /* flat calls, "tool_results", images as "image" */
    CF_MESSAGE_GEMINI    /* "parts", also the FC SDK's */
} cf_message_form;

cf_message_form cf_message_form_of(const json_t *message);

/* Whether any message of the list is of another form. */
bool cf_messages_need_form(const json_t *list);

/*
 * The messages of `list` (an array) in OpenAI's form, as a new list; those
 * that have it already are shared, and so are their parts.  A message with
 * several results becomes several messages.  `origin` (may be NULL) gets a
 * uint32_t for each message of the result: its place in `list`.  CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_messages_form(json_t **out, cf_buf *origin, const json_t *list,
                                       cf_error *err);

CF_END_DECLS

#endif
