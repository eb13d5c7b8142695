/*
 * paint.h - cells in 24-bit colours, or 256, as escape sequences.
 *
 * curses knows palettes only, and writes over cells that did not change where
 * that is shorter, which would erase pictures; a terminal that takes 24-bit
 * colours or has graphics also takes the sequences of ECMA-48 that are written
 * here.
 *
 * Place in the flow:  grid, and what was sent --> [paint] --> bytes.
 * Knows: SGR, CUP.  Does not know: curses, descriptors.
 *
 * Threads:  no state.
 */
#ifndef CF_TUI_TERM_PAINT_H
#define CF_TUI_TERM_PAINT_H

#include "tui/grid/grid.h"
#include "tui/grid/theme.h"

/* Appends what makes the screen show `grid`.  sent [h, w]: what it shows, and
 * shows afterwards; `all` clears the screen first.  n_colors: 256 or
 * CF_TRUE_COLOR. */
void cf_paint(cf_buf *out, const cf_grid *grid, cf_cell *sent, bool all, const cf_theme *theme,
              int n_colors);

/* Whether two cells look the same. */
bool cf_paint_same_cell(const cf_cell *a, const cf_cell *b);

#endif
