/*
 * grid_svg.h - a grid as a picture: what a terminal with 24-bit colours
 * and the theme would show, as an SVG file.
 *
 * Place in the flow:  views --> grid --> [grid_svg] --> a file.
 * Knows: cells, the theme, the palette.  Does not know: views, terminals.
 *
 * Every run of text is given the width of its cells, lines and blocks are
 * drawn as shapes, and there is no script and no reference to anything
 * outside, so that the picture looks the same with any monospaced font and
 * can be shown in a web page as an image.
 *
 * Threads:  one thread at a time.
 * Memory:   appends to the caller's buffer.
 */
#ifndef CF_TUI_GRID_GRID_SVG_H
#define CF_TUI_GRID_GRID_SVG_H

#include "tui/grid/grid.h"
#include "tui/grid/theme.h"

/* Appends the picture; out->failed when memory runs out. */
void cf_grid_svg(const cf_grid *g, const cf_theme *theme, cf_buf *out);

#endif
