/*
 * caps_table.h - a table of what a template can do, alone or beside another one, for
 * the Templates and the Diff view.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_KIT_CAPS_TABLE_H
#define CF_TUI_VIEW_KIT_CAPS_TABLE_H

#include "templates/template_caps.h"
#include "tui/grid/grid.h"

/* Rows that the table takes in `width` cells, for one template or for two. */
int cf_caps_table_rows(int width, bool is_pair);

/* `b` may be NULL: then each row has one value.  Rows that differ are marked
 * with "!". */
void cf_caps_table_draw(cf_grid *g, cf_rect r, const cf_template_caps *a,
                        const cf_template_caps *b);

#endif
