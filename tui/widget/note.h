/*
 * note.h - a sentence for the user, wrapped, so that its end, which often says
 * what to do, is never cut.
 */
#ifndef CF_TUI_WIDGET_NOTE_H
#define CF_TUI_WIDGET_NOTE_H

#include "tui/grid/grid.h"

/* Writes `text` in at most r.h rows and returns the number used; text that does not fit
 * is cut with '~'.  g NULL: only counts. */
int cf_note_put(cf_grid *g, cf_rect r, cf_str text, cf_style style);

/* The same for a C string. */
int cf_note_puts(cf_grid *g, cf_rect r, const char *text, cf_style style);

#endif
