/*
 * graphics.h - the pictures of a grid in a terminal that has graphics: by the
 * kitty graphics protocol, as sixels, or as iTerm2's inline images.
 *
 * Place in the flow:  grid --> [graphics] blanks the cells of its pictures
 * --> paint.h writes the cells --> [graphics] draws what is new.
 * Knows: which pictures the terminal shows.  Does not know: how it was found
 * out what the terminal can do (term_curses.c), descriptors.
 *
 * A picture is shown by its terminal only where all its cells are still those
 * of the picture: below a menu or a note it is in half blocks.
 *
 * Sources: "Terminal graphics protocol" of kitty; "Inline images protocol" of
 * iTerm2; sixel.h.
 *
 * Threads:  one thread at a time.
 * Memory:   a copy of the cells of a frame, and of one picture while it is
 *           written.  Where memory runs out, pictures are cells from then on.
 */
#ifndef CF_TUI_TERM_GRAPHICS_H
#define CF_TUI_TERM_GRAPHICS_H

#include "core/base/buf.h"
#include "tui/grid/grid.h"

typedef enum cf_graphics_kind {
    CF_GRAPHICS_AUTO,   /* a wish: as the terminal says; never in use */
    CF_GRAPHICS_BLOCKS, /* cells only */
    CF_GRAPHICS_KITTY,
    CF_GRAPHICS_SIXEL,
    CF_GRAPHICS_ITERM
} cf_graphics_kind;

typedef struct cf_graphics cf_graphics;

CF_MUST_USE cf_status cf_graphics_new(cf_graphics **out, cf_error *err);
void cf_graphics_free(cf_graphics *x);

/* From the next frame on pictures are shown so; a cell has cell_w x cell_h
 * pixels.  The next frame has to be sent whole. */
void cf_graphics_use(cf_graphics *x, cf_graphics_kind kind, int cell_w, int cell_h);
cf_graphics_kind cf_graphics_in_use(const cf_graphics *x);

/*
 * Begins a frame: appends what removes pictures that are gone, and marks their
 * cells in sent [h, w] as unknown.  Returns the grid to send: `g`, or a copy
 * that has blanks where pictures are, valid until the next call.  `all`: the
 * screen is cleared and nothing is shown on it.
 */
const cf_grid *cf_graphics_begin(cf_graphics *x, cf_buf *out, const cf_grid *g, cf_cell *sent,
                                 bool all);

/* Ends it: appends the pictures that are not on the screen yet.  The cursor
 * stays where it is.  Sets out->failed where one cannot be written: then the
 * next frame has to be sent whole. */
void cf_graphics_end(cf_graphics *x, cf_buf *out);

/* Appends what removes all pictures, for the time when another program has the
 * screen. */
void cf_graphics_clear(cf_graphics *x, cf_buf *out);

#endif
