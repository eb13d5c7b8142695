/*
 * diff_side.h - one row of a difference in two columns.
 */
#ifndef CF_TUI_CLI_ANSWERS_DIFF_SIDE_H
#define CF_TUI_CLI_ANSWERS_DIFF_SIDE_H

#include "tui/cli/answers/diff_text.h"

enum { CF_DIFF_SIDE_MIN = 40 }; /* least cells of a line */

/* Appends the row, on as many lines as its longer side needs.  Here a row
 * that is neither kept nor changed may have both sides: '-' and '+'. */
void cf_diff_side_row(cf_buf *out, const cf_diff *d, const cf_diff_row *row,
                      const cf_diff_style *style);

#endif
