/*
 * lab_undo.h - what the user did in this session, to be taken back: branches,
 * by showing the path that was shown before (nothing is removed from the tree),
 * other templates, and changes that the history takes back.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_LAB_TALK_LAB_UNDO_H
#define CF_TUI_LAB_TALK_LAB_UNDO_H

#include "tui/lab/lab.h"

typedef enum cf_lab_undo_kind {
    CF_LAB_UNDO_HEAD,  /* another path is shown; `head` was the end of the last
                         one */
    CF_LAB_UNDO_STORE, /* cf_store_undo() takes it back */
    CF_LAB_UNDO_TEMPLATE
} cf_lab_undo_kind;

/* Notes that something was done; the oldest is forgotten when many were. */
void cf_lab_add_undo(cf_lab *lab, cf_lab_undo_kind kind, cf_uuid head);

/* The same for another template: `name` and `source` (copied) were in use. */
void cf_lab_add_undo_template(cf_lab *lab, const char *name, cf_str source);

/* The template in use was edited in its file: taking the newest step back
 * changes the file as well. */
void cf_lab_undo_has_file(cf_lab *lab);

/* What was done last belongs to what was done before: results that the program
 * added by itself. */
void cf_lab_join_undo(cf_lab *lab);

/* What was taken back. */
typedef struct cf_lab_undone {
    cf_lab_undo_kind kind;
    bool has_file; /* a template's: its file is to be written by the caller */
    cf_buf text;   /* then: what was in use, and may be in the file */
} cf_lab_undone;

void cf_lab_undone_deinit(cf_lab_undone *undone);

/* Takes the last one back; `what` gets one line about it, `out` is the
 * caller's.  CF_ENOTFOUND: there is nothing; CF_EBUSY while a reply is
 * written. */
CF_MUST_USE cf_status cf_lab_undo(cf_lab *lab, cf_lab_undone *out, cf_buf *what, cf_error *err);

/* Takes the newest change of the history back, of this session or one
 * before. */
CF_MUST_USE cf_status cf_lab_undo_store(cf_lab *lab, cf_buf *what, cf_error *err);

#endif
