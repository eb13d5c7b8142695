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

/* Whether a reply was written under another system prompt and copied. */
bool cf_lab_is_copied(const cf_lab *lab, const cf_turn *turn);

/* A system prompt of the conversation, and what was said under it. */
typedef struct cf_lab_version {
    const cf_turn *turn; /* that it is; NULL: of the start, or none */
    cf_buf text;
    const cf_turn *reply; /* the newest; NULL: none */
    bool is_copied;       /* that reply */
    bool is_now;          /* it is in effect */
    size_t n_turns, n_copied;
} cf_lab_version;

typedef struct cf_lab_versions {
    cf_lab_version *v; /* [n], in the order in which they were written */
    size_t n;
} cf_lab_versions;

/* Turns are borrowed until the conversation changes.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_lab_find_versions(const cf_lab *lab, cf_lab_versions *out, cf_error *err);
void cf_lab_versions_deinit(cf_lab_versions *versions);

#endif
