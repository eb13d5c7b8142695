/*
 * wrap.h - text broken into lines of a given width.
 *
 * Breaks at spaces; a word wider than the line is cut between clusters.  No
 * byte is lost: the lines, with the break bytes between them, are the text.
 * Streaming text is only wrapped again from its last newline on.
 */
#ifndef CF_TUI_GRID_WRAP_H
#define CF_TUI_GRID_WRAP_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/str.h"
#include "tui/grid/grid.h"

typedef struct cf_line {
    uint32_t off, len;   /* bytes of the text, the break not included */
    bool ends_paragraph; /* a newline, or the end of the text, follows */
} cf_line;

/* Lines of a growing text. */
typedef struct cf_wrapped {
    cf_line *v; /* [n], owned */
    size_t n, cap;
    int width;        /* cells the lines were broken for; 0: nothing yet */
    size_t n_bytes;   /* text seen so far */
    size_t n_settled; /* lines before the last paragraph */
    size_t settled_bytes;
    bool failed;
} cf_wrapped;

void cf_wrapped_deinit(cf_wrapped *w);

/* Forgets the lines; for a text that was replaced, not continued. */
void cf_wrapped_reset(cf_wrapped *w);

/* Brings the lines up to date with `text`, which continues what the last call
 * saw, at `width` cells (at least 2).  CF_ENOMEM leaves no lines. */
CF_MUST_USE cf_status cf_wrapped_update(cf_wrapped *w, cf_str text, int width, cf_error *err);

/* Puts a text into the rect, wrapped at its width (at least 2); its first `skip`
 * lines are scrolled away.  Returns how many lines the text has, 0 when it could
 * not be put. */
size_t cf_grid_put_wrapped(cf_grid *g, cf_rect r, size_t skip, cf_str text, cf_style style);

#endif
