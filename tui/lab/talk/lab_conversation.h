/*
 * lab_conversation.h - the conversation in the workbench: its turns as views
 * show them, its replies, opening another one, and marks on saved ones.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_TALK_LAB_CONVERSATION_H
#define CF_TUI_LAB_TALK_LAB_CONVERSATION_H

#include "tui/lab/reply/lab_reply.h"
#include "tui/lab/state/lab_state.h"

/* ---- turns -------------------------------------------------------------- */

/* The turns from the first to the head, as views show them. */
const cf_turn *const *cf_lab_path(const cf_lab *lab, size_t *n);

/* All turns, in the order they came. */
const cf_turn *const *cf_lab_turns(const cf_lab *lab, size_t *n);

/* Siblings of a turn, itself included; *index is its place among them. */
size_t cf_lab_siblings(const cf_lab *lab, const cf_turn *turn, size_t *index);
/* The sibling `by` places further; NULL past an end. */
const cf_turn *cf_lab_sibling(const cf_lab *lab, const cf_turn *turn, int by);

/* NULL when nothing is known (not a reply, or from elsewhere). */
const cf_reply *cf_lab_reply(cf_lab *lab, cf_uuid turn);
/* The same without a look into the history: of the replies that were written
 * or shown since the conversation was opened. */
const cf_reply *cf_lab_reply_here(cf_lab *lab, cf_uuid turn);

/* Gives a reply the tokens of a reading in place of its own. */
CF_MUST_USE cf_status cf_lab_take_read(cf_lab *lab, cf_uuid turn, const cf_reply_read *read,
                                       cf_error *err);

/* Borrowed; a thread's while a reply is written. */
const cf_conversation *cf_lab_conv(const cf_lab *lab);
/* A copy of the conversation, for a comparison; the caller frees it.  CF_EBUSY
 * while a reply is written. */
CF_MUST_USE cf_status cf_lab_clone_conv(const cf_lab *lab, cf_conversation **out, cf_error *err);

/* ---- which conversation ------------------------------------------------- */

cf_uuid cf_lab_conv_id(const cf_lab *lab);
/* How many conversations were begun or opened, this one included. */
uint64_t cf_lab_n_opened(const cf_lab *lab);
/* Whether the history has it. */
bool cf_lab_is_stored(const cf_lab *lab);
/* "" when it has none, and no message of the user that could stand for it. */
const char *cf_lab_title(const cf_lab *lab);
/* Shown in its place for a saved conversation. */
#define CF_UNTITLED "(untitled)"

/* The conversation at hand is there to be read: the next message begins a new
 * one (see cf_lab_leave_example). */
void cf_lab_only_show(cf_lab *lab);
/* Begins a new conversation where the one at hand is only shown, and says
 * whether it did; called before a message is written. */
bool cf_lab_leave_example(cf_lab *lab);

void cf_lab_new_conv(cf_lab *lab);
/* Opens a saved conversation, as saved.h loads it, with `turn` (nil: where it
 * was left) as the head.  After a failure the one that was open stays. */
CF_MUST_USE cf_status cf_lab_open_conv(cf_lab *lab, cf_uuid conv, cf_uuid turn, cf_error *err);

/* The same with a reply after `turn` that is still being written by another
 * program, under a UUID of its own; it is only shown. */
CF_MUST_USE cf_status cf_lab_open_live(cf_lab *lab, cf_uuid conv, cf_uuid turn, cf_uuid reply,
                                       const json_t *message, cf_error *err);

/* Shows the path to another turn. */
CF_MUST_USE cf_status cf_lab_set_head(cf_lab *lab, cf_uuid turn, cf_error *err);

/* ---- tools ---------------------------------------------------------------- */

/* The tools that the model may call; borrowed. */
const cf_tool_set *cf_lab_tools(const cf_lab *lab);

/* Other declarations from now on (referenced); NULL: none. */
CF_MUST_USE cf_status cf_lab_set_tools(cf_lab *lab, const json_t *tools, cf_error *err);

/* ---- texts ---------------------------------------------------------------- */

/* Appends what a message says, as plain text; the JSON of stored messages
 * and the object. */
void cf_lab_plain_text(cf_buf *out, cf_str message_json);
void cf_lab_message_text(cf_buf *out, const json_t *message);

#endif
