/*
 * bar.c - block characters from U+2581 (an eighth) to U+2588 (a whole cell).
 */
#include "tui/widget/bar.h"

#include <math.h>

/* The part of `eighths` that row `y` of h rows holds, 0 to 8. */
static int part_of(int eighths, int y, int h)
{
    int part = eighths - 8 * (h - 1 - y);
    return part < 0 ? 0 : part > 8 ? 8 : part;
}

void cf_bar_draw(cf_grid *g, cf_rect r, double share, cf_style style)
{
    int eighths = (int)lround(share * 8 * r.h);
    eighths = eighths < 1 ? 1 : eighths;
    for (int y = 0; y < r.h; y++) {
        int part = part_of(eighths, y, r.h);
        if (part != 0) {
            uint32_t cp = !g->ascii_lines ? 0x2580 + (uint32_t)part : part > 4 ? '#' : '.';
            cf_grid_fill(g, (cf_rect){r.x, r.y + y, r.w, 1}, cp, style);
        }
    }
}
