/*
 * page_form.h - what a paper writes around each kind of block: a table.
 *
 * Threads:  no state.
 * Memory:   results are appended to the caller's buffer.
 */
#ifndef CF_TUI_PAGE_PAGE_FORM_H
#define CF_TUI_PAGE_PAGE_FORM_H

#include "tui/page/page.h"

/*
 * $t is the title, $n the note, $l the name of the look, $w the share in
 * percent; $( and $) enclose what a block without a note does not have.  NULL
 * leaves the block and everything in it out.
 */
typedef struct cf_page_form {
    const char *open, *close;
    const char *between; /* two blocks of this kind; NULL: nothing */
} cf_page_form;

/* Escapes a text for the paper. */
typedef void (*cf_page_escape)(cf_buf *out, cf_str text);

void cf_page__fill(cf_buf *out, const char *form, const cf_page *p, const cf_page_item *it,
                   const char *const *looks, cf_page_escape escape);

/* The end of the block that begins at item i. */
size_t cf_page__end_of(const cf_page *p, size_t i);

#endif
