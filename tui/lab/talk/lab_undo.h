/*
 * lab_undo.h - undoes what the user did in this session: branches, by showing the
 * previous path (nothing is removed from the tree), changes of the template, and
 * changes that the history can undo.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_TALK_LAB_UNDO_H
#define CF_TUI_LAB_TALK_LAB_UNDO_H

#include "tui/lab/talk/undo_stack.h"

/* What was taken back, or done again. */
typedef struct cf_lab_undone {
    cf_lab_undo_kind kind;
    bool has_file; /* a template's: its file is to be written by the caller */
    cf_buf text;   /* then: what was in use, and may be in the file; of
                      CF_LAB_UNDO_LINE the line to run */
} cf_lab_undone;

void cf_lab_undone_deinit(cf_lab_undone *undone);

/* Takes the last one back, or does again what was taken back last; `what` gets
 * one line about it, `out` is the caller's.  CF_ENOTFOUND: there is nothing;
 * CF_EBUSY while a reply is written. */
CF_MUST_USE cf_status cf_lab_undo(cf_lab *lab, bool again, cf_lab_undone *out, cf_buf *what,
                                  cf_error *err);

/* All of them as lines, the newest first. */
CF_MUST_USE cf_status cf_lab_list_undo(const cf_lab *lab, cf_buf *out, cf_error *err);

#endif
