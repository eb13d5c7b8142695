/*
 * grid_ink.h - the colours of cells in pictures of the screen.
 *
 * Place in the flow:  grid + theme --> [ink] --> SVG, pixels.
 * Knows: the theme, the palette.  Does not know: file formats.
 *
 * Threads:  no state.
 */
#ifndef CF_TUI_GRID_GRID_INK_H
#define CF_TUI_GRID_GRID_INK_H

#include "tui/grid/grid.h"
#include "tui/grid/theme.h"

/* How a cell looks once theme, flags and reverse video are worked out. */
typedef struct cf_ink {
    uint32_t fg, bg; /* 0xRRGGBB */
    uint8_t attr;    /* CF_ATTR_BOLD, _UNDERLINE, _DIM */
} cf_ink;

/* The terminal's own colours, where a look names none. */
uint32_t cf_ink_own_fg(const cf_theme *theme);
uint32_t cf_ink_own_bg(const cf_theme *theme);

cf_ink cf_ink_of(const cf_cell *c, const cf_theme *theme);

/* Directions of lines. */
enum { CF_ARM_LEFT = 1, CF_ARM_RIGHT = 2, CF_ARM_UP = 4, CF_ARM_DOWN = 8 };

/* The arms of a box-drawing character, thick and double ones like thin ones;
 * 0 for any other character. */
unsigned cf_ink_arms(uint32_t cp);

#endif
