/*
 * theme.h - how meanings look: colours and attributes for each cf_style.
 *
 * Each entry has a form for 256 colours, one for 8 or 16, and one without
 * colour; the terminal picks.  A person's `color` lines change entries.
 */
#ifndef CF_TUI_GRID_THEME_H
#define CF_TUI_GRID_THEME_H

#include "core/base/status.h"
#include "tui/grid/style.h"

enum {
    CF_ATTR_BOLD = 1,
    CF_ATTR_UNDERLINE = 2,
    CF_ATTR_REVERSE = 4,
    CF_ATTR_DIM = 8
};

typedef struct cf_look {
    int16_t fg, bg; /* -1: the terminal's own */
    uint8_t attr;
} cf_look;

typedef struct cf_theme {
    cf_look rich[CF_STYLE_COUNT];  /* 256 colours */
    cf_look basic[CF_STYLE_COUNT]; /* 8 or 16 */
    cf_look mono[CF_STYLE_COUNT];  /* none: attributes only */
} cf_theme;

void cf_theme_default(cf_theme *theme);

/* One `color` line: STYLE FOREGROUND BACKGROUND [bold] [underline] [reverse]
 * [dim]; colours are "default", a name (red, brightblue) or 0..255.
 * CF_EINVAL says what is wrong. */
CF_MUST_USE cf_status cf_theme_set(cf_theme *theme, const char *line,
                                   cf_error *err);

/* The look of a style for a number of colours. */
cf_look cf_theme_look(const cf_theme *theme, cf_style style, int n_colors);

/* The theme in effect: process-wide, set before the terminal is opened. */
void cf_theme_use(const cf_theme *theme);
const cf_theme *cf_theme_current(void);

#endif
