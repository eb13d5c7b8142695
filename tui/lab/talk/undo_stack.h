/*
 * undo_stack.h - the list of what the user did in this session, for lab_undo.h.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_TALK_UNDO_STACK_H
#define CF_TUI_LAB_TALK_UNDO_STACK_H

#include "tui/lab/state/lab_state.h"

typedef enum cf_lab_undo_kind {
    CF_LAB_UNDO_HEAD,  /* another path is shown; `head` was the end of the last
                         one */
    CF_LAB_UNDO_STORE, /* cf_store_undo() takes it back */
    CF_LAB_UNDO_TEMPLATE,
    CF_LAB_UNDO_LINE /* a ":" line of the caller takes it back */
} cf_lab_undo_kind;

/* Notes that something was done; the oldest is forgotten when many were, and
 * nothing that was taken back before can be done again. */
void cf_lab_add_undo(cf_lab *lab, cf_lab_undo_kind kind, cf_uuid head);

/* The same for another template: `name` and `source` (copied) were in use. */
void cf_lab_add_undo_template(cf_lab *lab, const char *name, cf_str source);

/* The same for a line like "set seed=3"; `back` takes it back. */
void cf_lab_add_undo_line(cf_lab *lab, const char *back, const char *line);

/* The template in use was edited in its file: taking the newest step back
 * changes the file as well. */
void cf_lab_undo_has_file(cf_lab *lab);

/* What was done last belongs to what was done before: results that the program
 * added by itself. */
void cf_lab_join_undo(cf_lab *lab);

#endif
