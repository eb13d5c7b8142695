/*
 * lint_pane.h - a list of the findings about a template, for the Prompt and the
 * Templates view.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_KIT_LINT_PANE_H
#define CF_TUI_VIEW_KIT_LINT_PANE_H

#include "tui/grid/grid.h"
#include "tui/lab/prompt/lab_lint.h"
#include "tui/widget/list.h"

/* A row of the list that can be clicked: the `what` of its spot. */
enum { CF_SPOT_FINDING = 100 };

/* The height of a pane with a box for n findings, out of `all` rows. */
int cf_lint_pane_height(int n, int all, bool explains);

/*
 * A box with the findings; `explains` adds, if there is room below the list, the effect
 * and the fix of the finding under the cursor.  `lint` is NULL while the findings are
 * not known.  The grid's cursor is set when the pane has the focus.
 */
void cf_lint_pane_draw(cf_grid *g, cf_rect r, const cf_lab_lint *lint, cf_list *list,
                       bool has_focus, bool explains);

/* 'E', 'W' or 'I' in one cell where a finding is about the line. */
void cf_lint_pane_mark(cf_grid *g, int x, int y, const cf_lab_lint *lint, uint32_t line);

#endif
