/*
 * bar.h - one bar of a plot, in eighths of a cell.
 *
 * Place in the flow:  a share from 0 to 1 --> cells of the grid.
 * Threads:  the interface thread.
 * Memory:   none of its own.
 */
#ifndef CF_TUI_WIDGET_BAR_H
#define CF_TUI_WIDGET_BAR_H

#include "tui/grid/grid.h"

/* Draws a bar that fills `share` (0 to 1) of the height of r, from below; the
 * least is an eighth of a cell.  Where lines are ASCII it is made of # and . */
void cf_bar_draw(cf_grid *g, cf_rect r, double share, cf_style style);

#endif
