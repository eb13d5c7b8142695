/*
 * chat_case.h - scripted engines and conversations, made from JSON.
 *
 * The functions fail the test where something goes wrong.
 */
#ifndef CF_TESTS_SUPPORT_CHAT_CASE_H
#define CF_TESTS_SUPPORT_CHAT_CASE_H

#include <jansson.h>

#include "core/api/conversation.h"

/* A new reference. */
json_t *cf_chat_json(const char *text);

/* An engine that gives the replies of a script; thinking is between <think>
 * and </think>. */
cf_backend *cf_chat_script(const char *text, cf_tool_family family);

/* An empty conversation that declares `tools`, or none for NULL. */
cf_conversation *cf_chat_tree(const char *tools);

/* The user's message "hi"; lives as long as the program. */
const json_t *cf_chat_hello(void);

#endif
