/*
 * request_name.h - what a request belongs to: its session, and the first text that
 * the user wrote in it.
 *
 * Threads:  no state.
 */
#ifndef CF_TUI_SERVE_REQUEST_NAME_H
#define CF_TUI_SERVE_REQUEST_NAME_H

#include "core/base/buf.h"
#include "core/json/json.h"

enum { CF_SESSION_NAME_MAX = 160 };

/* The session that a request names: by prompt_cache_key, by the session in
 * metadata.user_id, or by a header of it ([name, value] in `headers`); "" where
 * it names none.  `body` may be NULL. */
void cf_session_name(char out[CF_SESSION_NAME_MAX], const json_t *body, cf_str headers);

/* The session that began it, by a header; "" where none is named. */
void cf_session_parent(char out[CF_SESSION_NAME_MAX], cf_str headers);

/* Headers that name a session; their values are never a key. */
bool cf_is_session_header(cf_str name);

/* Appends the first text that the user wrote, on one line: blocks that the
 * harness puts into a user's message, in tags of their own, are not. */
void cf_person_text(cf_buf *out, const json_t *messages);

#endif
