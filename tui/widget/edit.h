/*
 * edit.h - a text field: the composer, the command line, the
 * search line.
 *
 * The text is any bytes; the cursor is between clusters (grid/cluster.h).
 * A paste or a run of typed characters is one step of undo.
 *
 * Memory:   owns its text and its history; a failed allocation leaves the text
 *           unchanged and is reported by cf_edit_failed().
 */
#ifndef CF_TUI_WIDGET_EDIT_H
#define CF_TUI_WIDGET_EDIT_H

#include "tui/grid/grid.h"
#include "tui/grid/wrap.h"
#include "tui/term/key.h"

enum { CF_EDIT_UNDO_MAX = 64 };

typedef struct cf_edit_step {
    char *text; /* n bytes, owned */
    size_t n, cursor;
} cf_edit_step;

typedef struct cf_edit {
    cf_buf text;
    size_t cursor; /* byte offset */
    bool one_line; /* newlines are not accepted */
    bool failed;

    cf_edit_step undo[CF_EDIT_UNDO_MAX];
    size_t n_undo;
    enum { CF_EDIT_NONE, CF_EDIT_TYPING, CF_EDIT_OTHER } last;

    char **history; /* [n_history] earlier texts, oldest first, owned */
    size_t n_history, cap_history;
    size_t browsing; /* row of history shown; n_history: the unsent text */
    char *unsent;    /* what was being written before browsing */
    size_t top;      /* first visible line */
} cf_edit;

void cf_edit_init(cf_edit *e, bool one_line);
void cf_edit_deinit(cf_edit *e);

cf_str cf_edit_text(const cf_edit *e);

/* Replaces the text; the cursor goes to its end.  One step of undo. */
void cf_edit_set(cf_edit *e, cf_str text);

/* Inserts at the cursor. */
void cf_edit_insert(cf_edit *e, cf_str text);

/* Whether memory ran out since the last call. */
bool cf_edit_failed(cf_edit *e);

/*
 * Handles a key: characters, Backspace, Del, arrows, Home, End, ^A ^E ^B ^F
 * ^W ^U ^K ^D ^_ (undo), Alt+b f d, by words with Ctrl or Alt and an arrow,
 * Del or Backspace, to either end of the text with Ctrl and Home or End, ^J,
 * Alt+Enter or Shift+Enter (newline), Up and Down (lines, then history in a
 * one-line text).  `width`: cells of a line, for Up
 * and Down.  False when the key means nothing here (Enter, Esc, Tab ...).
 */
bool cf_edit_key(cf_edit *e, cf_key key, int width);

/* Puts the text into the history (unless it is empty or the newest there)
 * and empties it. */
void cf_edit_commit(cf_edit *e);

/* Puts a text into the history only. */
void cf_edit_remember(cf_edit *e, cf_str text);

/* Draws the text wrapped into r, scrolled to the cursor, and puts the grid's
 * cursor there when `focused`. */
void cf_edit_draw(cf_edit *e, cf_grid *g, cf_rect r, bool focused);

#endif
