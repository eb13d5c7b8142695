/*
 * lab_send.h - messages to the model and replies from it.
 *
 * A send runs on the workbench's thread; views see the turns as they were when
 * it began, and the live reply.  Every turn goes to the history as it happens:
 * the message before the engine is asked, the reply from its first byte.  A
 * failing history never stops a conversation; the app says so once.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_TALK_LAB_SEND_H
#define CF_TUI_LAB_TALK_LAB_SEND_H

#include "tui/lab/reply/lab_reply.h"
#include "tui/lab/state/lab_state.h"

/* The reply that is written now (is_live), else what is known of the last one:
 * `failure`, and the turn that it should have answered. */
const cf_reply *cf_lab_live(const cf_lab *lab);

/* The replies that are written now, several of them side by side, and one of
 * them, i below their number; the first is cf_lab_live(). */
size_t cf_lab_n_live(const cf_lab *lab);
const cf_reply *cf_lab_live_at(const cf_lab *lab, size_t i);

/* Sends a message of the user after `parent`; CF_EBUSY while a reply is
 * written or a task runs. */
CF_MUST_USE cf_status cf_lab_send(cf_lab *lab, cf_str text, cf_uuid parent, cf_error *err);

/* Adds messages (an array) one after the other, following `parent`, and with
 * `asks` has the model answer the last one. */
CF_MUST_USE cf_status cf_lab_add(cf_lab *lab, const json_t *messages, cf_uuid parent, bool asks,
                                 cf_error *err);

/* Another reply to the turn that `reply` answers; to `reply` itself when that
 * is a message. */
CF_MUST_USE cf_status cf_lab_retry(cf_lab *lab, cf_uuid reply, cf_error *err);

enum { CF_LAB_SIDES_MAX = 8 };

/* n such replies, written side by side, with a seed each; the first is shown.
 * CF_ELIMIT for more than CF_LAB_SIDES_MAX. */
CF_MUST_USE cf_status cf_lab_retries(cf_lab *lab, cf_uuid reply, size_t n, cf_error *err);

/* A reply that starts with `prefix`, beside `reply`. */
CF_MUST_USE cf_status cf_lab_continue(cf_lab *lab, cf_uuid reply, cf_str prefix, cf_error *err);

/* A reply with the tokens of `reply` up to `token`, then ids[0..n), then as
 * the engine goes on: for max_tokens, or as the settings say (0). */
CF_MUST_USE cf_status cf_lab_fork(cf_lab *lab, cf_uuid reply, size_t token, const cf_token *ids,
                                  size_t n, uint32_t max_tokens, cf_error *err);

/* A reply that the user edited: `message` beside `reply`, with its bytes (may
 * be empty).  Nothing is sent. */
CF_MUST_USE cf_status cf_lab_add_reply(cf_lab *lab, cf_uuid reply, const json_t *message,
                                       cf_str raw, cf_error *err);

void cf_lab_stop(cf_lab *lab);

/* Whether the prompt in the cache is of another conversation: what it loses is
 * no loss of this one. */
bool cf_lab_cache_is_other(const cf_lab *lab);

/* Another reply beside `reply`, constrained to calls of the declared tools
 * where the engine can be constrained. */
CF_MUST_USE cf_status cf_lab_retry_calls(cf_lab *lab, cf_uuid reply, cf_error *err);

#endif
