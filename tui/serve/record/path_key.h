/*
 * path_key.h - beginnings of conversations as hashes, so that a request finds
 * the conversation that it continues.
 *
 * Place in the flow:  messages of a request --> [path key] --> the history's
 *                     keys.
 * Knows: what clients change when they send a message back (null fields,
 * blanks at the end, ids, thinking, cache marks).  Does not know: the history.
 *
 * Two messages count as the same when role, text, other parts and calls are
 * the same.
 *
 * Threads:  no state.
 * Memory:   a key is of fixed size.
 */
#ifndef CF_TUI_SERVE_PATH_KEY_H
#define CF_TUI_SERVE_PATH_KEY_H

#include "core/api/message.h"
#include "core/base/hash.h"

typedef struct cf_path_key {
    char all[CF_HASH_TEXT + 1];  /* of all messages so far */
    char talk[CF_HASH_TEXT + 1]; /* of those that are not system messages */
    size_t n_talk;               /* how many these are */
} cf_path_key;

/* `session` keeps the paths of sessions apart that begin alike; "": none. */
void cf_path_key_init(cf_path_key *key, const char *session);

/* The key of the same path with one more message.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_path_key_add(cf_path_key *key, const json_t *message, cf_error *err);

/* Whether the message has role "system" or "developer". */
bool cf_message_is_system(const json_t *message);

/* Appends what is compared of a message: equal texts, same message. */
void cf_message_canon(cf_buf *out, const json_t *message);

#endif
