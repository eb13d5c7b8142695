/*
 * keep.h - a conversation of a command, loaded from the history and kept in
 * it.
 */
#ifndef CF_TUI_CLI_TALK_KEEP_H
#define CF_TUI_CLI_TALK_KEEP_H

#include "storage/store.h"
#include "templates/open.h"
#include "tui/cli/shell/cli.h"

typedef struct cf_keep cf_keep;

/*
 * Makes the conversation *conv: a new one with `preface`, or the one that
 * `continue_id` (may be NULL) names, with its head at the turn named.  *out
 * is NULL when nothing is to be stored.  A saved conversation is loaded as
 * saved.h says; fields of `preface` replace the saved ones.
 */
CF_MUST_USE cf_status cf_keep_open(cf_keep **out, const cf_cli *cli, bool is_kept_out,
                                   const char *continue_id, const cf_preface *preface,
                                   cf_conversation **conv, cf_error *err);

/* Stores a turn of a saved conversation, a copy of the stored turn `from`
 * (nil: of none).  A failure is reported once, on standard error. */
void cf_keep_branch(cf_keep *keep, const cf_turn *turn, cf_uuid from);

/*
 * Before a send: adds its message to the conversation, stores it, and begins
 * the reply in the store under send->reply_id, which is made here.  The send
 * then has its parent and no message.  A failure to store is reported once, on
 * standard error; the answer is worth more than its copy.  cf_keep_close()
 * returns whether there was one.  A message that
 * cannot be added fails as the send would.
 */
CF_MUST_USE cf_status cf_keep_sending(cf_keep *keep, cf_conversation *conv, const cf_opened *engine,
                                      cf_str constraint, cf_send *send, cf_error *err);
/* Adds a message to the conversation after *parent and stores it; *parent is
 * its turn then.  Errors as cf_keep_sending(). */
CF_MUST_USE cf_status cf_keep_message(cf_keep *keep, cf_conversation *conv, const json_t *message,
                                      cf_uuid *parent, cf_error *err);
void cf_keep_event(cf_keep *keep, const cf_chat_event *event);
/* Stores the send's outcome, however it ended. */
void cf_keep_sent(cf_keep *keep, const cf_conversation *conv, const cf_sent *sent);
/* A second writer of replies to the same conversation, which has turns
 * already; closed by cf_keep_close() before `keep`.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_keep_side(cf_keep **out, const cf_keep *keep, cf_error *err);
/* Writes everything pending and closes the history.  False, with a message, if
 * not all of it is on disk.  `keep` may be NULL. */
bool cf_keep_close(cf_keep *keep);
/* The conversation in the history; nil before its first turn is stored. */
cf_uuid cf_keep_conversation(const cf_keep *keep);
/* The history it writes to. */
cf_store *cf_keep_store(const cf_keep *keep);

#endif
