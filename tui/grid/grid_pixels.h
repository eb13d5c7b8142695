/*
 * grid_pixels.h - a grid as pixels, for a PNG file.
 *
 * Place in the flow:  views --> grid --> [pixels] --> tui/image/png_write.c.
 * Knows: cells, the theme, a font of its own.  Does not know: file formats,
 *        fonts of the system.
 *
 * Printable ASCII, lines, blocks and Braille are drawn; another character is a
 * frame of its width.  The SVG file has every character.
 *
 * Threads:  no state.
 * Memory:   one block, the caller's.
 */
#ifndef CF_TUI_GRID_GRID_PIXELS_H
#define CF_TUI_GRID_GRID_PIXELS_H

#include "tui/grid/grid.h"
#include "tui/grid/theme.h"

typedef struct cf_pixmap {
    int w, h;
    unsigned char *rgb; /* [h, w, 3], owned */
} cf_pixmap;

/* CF_ENOMEM; *out is then empty. */
CF_MUST_USE cf_status cf_grid_pixels(cf_pixmap *out, const cf_grid *g, const cf_theme *theme,
                                     cf_error *err);
void cf_pixmap_deinit(cf_pixmap *p);

#endif
