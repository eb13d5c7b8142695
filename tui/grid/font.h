/*
 * font.h - a small font for pictures of the screen, so that they need none of
 * the system: printable ASCII.
 *
 * Threads:  no state.
 */
#ifndef CF_TUI_GRID_FONT_H
#define CF_TUI_GRID_FONT_H

#include <stddef.h>
#include <stdint.h>

enum { CF_FONT_W = 5, CF_FONT_H = 9 };

/* Rows of dots from the top, bit 4 the leftmost; NULL: not in the font. */
const uint8_t *cf_font_glyph(uint32_t cp);

#endif
