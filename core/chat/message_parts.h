/*
 * message_parts.h - what one part of a message's content is.
 *
 * Knows: parts of every interface.  Does not know: messages, lists of them.
 */
#ifndef CF_CORE_CHAT_MESSAGE_PARTS_H
#define CF_CORE_CHAT_MESSAGE_PARTS_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/json/json.h"

typedef enum cf_part_kind {
    CF_PART_TEXT,
    CF_PART_THOUGHT,
    CF_PART_REFUSAL,
    CF_PART_MEDIUM,
    CF_PART_OTHER
} cf_part_kind;

/* The kind of an object; *where (may stay) is the member that has its text. */
cf_part_kind cf_part_kind_of(const json_t *part, const char **where);
/* The text of such a part, and the member that has it: "text", or "text.value"
 * where that is an object. */
cf_str cf_part_text(const json_t *part, const char **where);
/* Whether an object can be nothing but a part: its type is one that parts
 * have. */
bool cf_part_is_typed(const json_t *v);
/* Appends the text of a string, a part, or a list of both. */
void cf_part_put_text(cf_buf *out, const json_t *v);
/* A medium as OpenAI and LiteRT-LM have it, a new reference; NULL: no memory. */
json_t *cf_part_openai(const json_t *part);

/* Binary content of ConverseHistory as a medium, a new reference; NULL: it is
 * none, or no memory. */
json_t *cf_part_of_binary(const json_t *item);

/* Whether a channel of this name is thinking. */
bool cf_channel_is_thinking(const char *name);

/* The first member of the two that is there and not null; borrowed. */
json_t *cf_json_get_any(const json_t *v, const char *a, const char *b);
/* A copy of an object without the members that are null; NULL: no memory. */
json_t *cf_json_without_nulls(const json_t *v);

#endif
