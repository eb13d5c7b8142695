/*
 * style.h - what a cell means; a theme says how that looks.
 *
 * Views speak of meanings only, so that a terminal without colour, with 8 or
 * with 256 colours, and the user's own theme, all come down to one table
 * (tui/grid/theme.c).  Nothing is shown by colour alone: views add a mark.
 */
#ifndef CF_TUI_GRID_STYLE_H
#define CF_TUI_GRID_STYLE_H

#include <stdint.h>

typedef uint16_t cf_style; /* a cf_style_name, with cf_style_flags added */

typedef enum cf_style_name {
    CF_STYLE_NORMAL = 0,
    CF_STYLE_DIM,      /* less important */
    CF_STYLE_BORDER,   /* lines between panes */
    CF_STYLE_TITLE,    /* head of a pane */
    CF_STYLE_FOCUS,    /* head of the pane with the focus */
    CF_STYLE_BAR,      /* first and last lines */
    CF_STYLE_BAR_ON,   /* the current view in the first line */
    CF_STYLE_KEY,      /* a key in the footer */
    CF_STYLE_SELECTED, /* the item under the cursor */
    CF_STYLE_MARKED,
    CF_STYLE_MATCH, /* found by a search */
    CF_STYLE_USER,
    CF_STYLE_ASSISTANT,
    CF_STYLE_SYSTEM,
    CF_STYLE_TOOL,
    CF_STYLE_THINKING,
    CF_STYLE_ESCAPED, /* shown as an escape, not as itself */
    CF_STYLE_SPECIAL, /* control tokens */
    CF_STYLE_TOKEN_A, /* token boundaries: two in turn */
    CF_STYLE_TOKEN_B,
    CF_STYLE_OK,
    CF_STYLE_WARNING,
    CF_STYLE_ERROR,
    CF_STYLE_ADDED,
    CF_STYLE_REMOVED,
    CF_STYLE_KEPT,   /* reused from the cache */
    CF_STYLE_NEW,    /* computed again */
    CF_STYLE_BREAK,  /* where reuse ends */
    CF_STYLE_HEAT_0, /* likely ... */
    CF_STYLE_HEAT_1,
    CF_STYLE_HEAT_2,
    CF_STYLE_HEAT_3, /* ... surprising */
    CF_STYLE_PLOT_0, /* the same steps, for the bars of a plot */
    CF_STYLE_PLOT_1,
    CF_STYLE_PLOT_2,
    CF_STYLE_PLOT_3,
    CF_STYLE_IMAGE, /* a cell of a picture, with colours of its own */
    CF_STYLE_COUNT
} cf_style_name;

enum cf_style_flags {
    CF_BOLD = 1 << 8,
    CF_UNDERLINE = 1 << 9,
    CF_REVERSE = 1 << 10,
    CF_STYLE_NAME_MASK = 0xFF
};

#endif
