/*
 * message_form.h - reads messages in every form that programs write, and gives
 * them one common form.
 *
 * Place in the flow:  messages of a conversation --> [message_form] -->
 *                     templates, servers, exports, losses.
 * Knows: the messages of OpenAI (chat, its old "function_call", Responses'
 * parts), Anthropic, Gemini and the FC SDK ("parts"), LiteRT-LM ("channels",
 * "tool_response") and Xaibo (flat calls, "tool_results", images).
 * Does not know: templates, files, the network.
 *
 * A content may be a string, one object, a list of strings and parts, or null;
 * a member that is null counts as absent.  The form they get is OpenAI's:
 * "content" is a string, or a list where there is more than text in it; calls
 * are objects with a "function"; each result is a message of its own;
 * thinking is "reasoning_content".  Other members stay as they are.
 *
 * Threads:  no state.
 * Memory:   a result owns its messages and texts and borrows the list it was
 *           made of, which must not change meanwhile.
 */
#ifndef CF_CORE_API_MESSAGE_FORM_H
#define CF_CORE_API_MESSAGE_FORM_H

#include <stdint.h>

#include "core/base/arena.h"
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

/* Whose form a message has, by its members. */
cf_message_form cf_message_form_of(const json_t *message);

/* What a message consists of. */
typedef enum cf_item_kind {
    CF_ITEM_TEXT,
    CF_ITEM_MEDIA,     /* an image, a sound, a film or a file */
    CF_ITEM_VALUE,     /* a tool's result that is JSON, not text */
    CF_ITEM_CALL,      /* a tool call */
    CF_ITEM_REASONING, /* thinking */
    CF_ITEM_REFUSAL,   /* what the assistant said instead of an answer */
    CF_ITEM_CHANNEL,   /* a channel of LiteRT-LM's that is not thinking */
    CF_ITEM_UNREAD     /* what no form has here */
} cf_item_kind;

typedef struct cf_item {
    cf_item_kind kind;
    uint32_t message;    /* of the formed list; UNREAD: may be of none, UINT32_MAX */
    uint32_t origin;     /* of the list as it was given */
    uint32_t at;         /* CALL: its place in "tool_calls" of the formed message */
    cf_str path;         /* in the message as it was given: ".content[1].text" */
    cf_str text;         /* of TEXT, REASONING, REFUSAL, CHANNEL */
    const json_t *value; /* of MEDIA, VALUE, CALL, UNREAD */
} cf_item;

/* Messages in the one form.  Released by cf_formed_deinit(). */
typedef struct cf_formed {
    json_t *messages;
    cf_buf origins; /* uint32_t for each of them: its place in the given list */
    cf_buf items;   /* cf_item, in the order of the messages; see below */
    cf_arena arena; /* of paths and texts */
    json_t *kept;   /* list of what the items borrow */
} cf_formed;

/* Reads `list`: an array, or one message; NULL: no messages.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_messages_form(cf_formed *out, const json_t *list, cf_error *err);
void cf_formed_deinit(cf_formed *f);

const cf_item *cf_formed_items(const cf_formed *f, size_t *n);
/* The place in the given list of formed message i. */
uint32_t cf_formed_origin(const cf_formed *f, size_t i);

/* Whether the role is that of a tool's result: "tool", "function",
 * "tool_response" ... */
bool cf_role_is_result(cf_str role);

/* The messages of a context, a new reference: its "messages" (an array or one
 * message), or Gemini's "contents" after its "systemInstruction", or
 * ConverseHistory's "history".  NULL: none, or no memory. */
json_t *cf_context_messages(const json_t *context);

/* "image", "audio", "video" or "file" where a part is a medium of that kind, in
 * any form; NULL for any other part. */
const char *cf_part_medium(const json_t *part);

/* A list of parts as one string if all of them are text ("" for none), else the
 * list; a new reference, NULL without memory. */
json_t *cf_parts_joined(json_t *list);

CF_END_DECLS

#endif
