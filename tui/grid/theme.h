/*
 * theme.h - how meanings look: colours and attributes for each cf_style.
 *
 * Each entry has a form in 24-bit colours, for a dark and for a light
 * background, which a terminal with 256 colours shows in the nearest of them;
 * one for 8 or 16; and one without colour.  The user's `color` lines change
 * entries.
 */
#ifndef CF_TUI_GRID_THEME_H
#define CF_TUI_GRID_THEME_H

#include <stdbool.h>

#include "core/base/status.h"
#include "tui/grid/style.h"

enum { CF_ATTR_BOLD = 1, CF_ATTR_UNDERLINE = 2, CF_ATTR_REVERSE = 4, CF_ATTR_DIM = 8 };

/* A colour: a number of the palette, -1 for the terminal's own, or 24 bits. */
typedef int32_t cf_color;
#define CF_RGB(rgb) ((cf_color)(INT32_C(0x1000000) | (rgb)))

/* Colours of a terminal that takes 24 bits. */
#define CF_TRUE_COLOR (1 << 24)

typedef struct cf_look {
    cf_color fg, bg;
    uint8_t attr;
} cf_look;

typedef struct cf_theme {
    cf_look rich[CF_STYLE_COUNT];  /* 256 colours and more */
    cf_look basic[CF_STYLE_COUNT]; /* 8 or 16 */
    cf_look mono[CF_STYLE_COUNT];  /* none: attributes only */
    bool is_own[CF_STYLE_COUNT];   /* changed by a `color` line */
    bool is_light;                 /* made for a light background */
} cf_theme;

/* The theme for a dark background. */
void cf_theme_default(cf_theme *theme);

/* The same for a light background, or a dark one again; entries of the user
 * stay. */
void cf_theme_set_light(cf_theme *theme, bool is_light);

/* One `color` line: STYLE FOREGROUND BACKGROUND [bold] [underline] [reverse]
 * [dim]; colours are "default", a name (red, brightblue), 0..255 or
 * #rrggbb.
 * CF_EINVAL says what is wrong. */
CF_MUST_USE cf_status cf_theme_set(cf_theme *theme, const char *line, cf_error *err);

/* The look of a style for a number of colours. */
cf_look cf_theme_look(const cf_theme *theme, cf_style style, int n_colors);

/* The theme in effect: process-wide, set before the terminal is opened. */
void cf_theme_use(const cf_theme *theme);
const cf_theme *cf_theme_current(void);

#endif
