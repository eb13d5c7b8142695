/*
 * page_diff.h - a line of a difference as a block of a page.
 *
 * Threads:  one thread at a time.
 * Memory:   copied into the page.
 */
#ifndef CF_TUI_PAGE_PAGE_DIFF_H
#define CF_TUI_PAGE_PAGE_DIFF_H

#include "templates/template_diff.h"
#include "tui/page/page.h"

/* Begins a line with its sign: '-', '+' or ' '. */
void cf_page_begin_line(cf_page *p, char sign);

/* One side of a row with its changed bytes marked: the first one for '-', the
 * second one for '+' and ' '.  Nothing for a side that the row does not have. */
void cf_page_add_line(cf_page *p, const cf_diff *d, const cf_diff_row *r, char sign);

#endif
