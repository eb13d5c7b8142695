/*
 * lab_system.h - the system prompt of the conversation in the workbench: the
 * one in effect, another one as a branch, and all versions.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_TALK_LAB_SYSTEM_H
#define CF_TUI_LAB_TALK_LAB_SYSTEM_H

#include "tui/lab/state/lab_state.h"

/* The system message in effect; NULL when there is none.  Borrowed. */
const json_t *cf_lab_system(const cf_lab *lab);

/* A text as the user gives it: the content of a file when it is the path of
 * one, else itself. */
CF_MUST_USE cf_status cf_system_text(cf_buf *out, const char *text_or_file, cf_error *err);

/* Gives the path another system prompt as a branch, in the tree and in the
 * history; see cf_conversation_set_system().  *n_copied (may be NULL) counts
 * the turns that were copied.  CF_EBUSY while a reply is written. */
CF_MUST_USE cf_status cf_lab_set_system(cf_lab *lab, cf_str text, size_t *n_copied, cf_error *err);

/* Lists all system prompts of the conversation, the one in effect marked by a
 * star, each after the first with the lines that differ from the one before. */
CF_MUST_USE cf_status cf_lab_list_systems(const cf_lab *lab, cf_buf *out, cf_error *err);

#endif
