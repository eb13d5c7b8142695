/*
 * lab_undo.h - what the user did in this session, to be taken back: branches,
 * by showing the path that was shown before (nothing is removed from the tree),
 * and changes that the history takes back.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_LAB_UNDO_H
#define CF_TUI_LAB_LAB_UNDO_H

#include "tui/lab/lab.h"

typedef enum cf_lab_undo_kind {
    CF_LAB_UNDO_HEAD, /* another path is shown; `head` was the end of the last
                         one */
    CF_LAB_UNDO_STORE /* cf_store_undo() takes it back */
} cf_lab_undo_kind;

/* Notes that something was done; the oldest is forgotten when many were. */
void cf_lab_add_undo(cf_lab *lab, cf_lab_undo_kind kind, cf_uuid head);

/* What was done last belongs to what was done before: results that the program
 * added by itself. */
void cf_lab_join_undo(cf_lab *lab);

/* Takes the last one back; `what` gets one line about it.  CF_ENOTFOUND: there
 * is nothing; CF_EBUSY while a reply is written. */
CF_MUST_USE cf_status cf_lab_undo(cf_lab *lab, cf_buf *what, cf_error *err);

#endif
