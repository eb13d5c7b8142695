/*
 * grid_ink.c - styles to colours, and which lines a character is made of.
 */
#include "tui/grid/grid_ink.h"

uint32_t cf_ink_own_fg(const cf_theme *theme)
{
    return theme->is_light ? 0x24292F : 0xD6DAE0;
}

uint32_t cf_ink_own_bg(const cf_theme *theme)
{
    return theme->is_light ? 0xFBFCFD : 0x14181D;
}

static uint32_t rgb_of(cf_color c, uint32_t own)
{
    return c < 0 ? own : c >= CF_RGB(0) ? (uint32_t)(c & 0xFFFFFF) : cf_palette_rgb((uint8_t)c);
}

cf_ink cf_ink_of(const cf_cell *c, const cf_theme *theme)
{
    cf_look look = cf_theme_look(theme, c->style, CF_TRUE_COLOR);
    if ((c->style & CF_STYLE_NAME_MASK) == CF_STYLE_IMAGE) {
        look.fg = c->fg;
        look.bg = c->bg;
    }
    cf_ink k = {rgb_of(look.fg, cf_ink_own_fg(theme)), rgb_of(look.bg, cf_ink_own_bg(theme)),
                look.attr};
    if (look.attr & CF_ATTR_REVERSE) {
        uint32_t fg = k.fg;
        k.fg = k.bg;
        k.bg = fg;
    }
    return k;
}

enum { LEFT = CF_ARM_LEFT, RIGHT = CF_ARM_RIGHT, UP = CF_ARM_UP, DOWN = CF_ARM_DOWN };

unsigned cf_ink_arms(uint32_t cp)
{
    static const struct {
        uint16_t cp;
        uint8_t arms;
    } lines[] = {{0x2500, LEFT | RIGHT},
                 {0x2502, UP | DOWN},
                 {0x250C, RIGHT | DOWN},
                 {0x2510, LEFT | DOWN},
                 {0x2514, RIGHT | UP},
                 {0x2518, LEFT | UP},
                 {0x251C, UP | DOWN | RIGHT},
                 {0x2524, UP | DOWN | LEFT},
                 {0x252C, LEFT | RIGHT | DOWN},
                 {0x2534, LEFT | RIGHT | UP},
                 {0x253C, LEFT | RIGHT | UP | DOWN}};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (lines[i].cp == cp) {
            return lines[i].arms;
        }
    }
    return 0;
}
