/*
 * pixels.c - colours of a picture in what a terminal has, and where pictures
 * are.
 *
 * The 256 colours are the 16 of the terminal, a cube of 6 x 6 x 6 and 24
 * greys, as xterm numbers them; cube and greys have fixed values, so those
 * are used.  Of 16 or 8 colours xterm's values are assumed.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "tui/grid/grid.h"

static const unsigned char levels[6] = {0, 95, 135, 175, 215, 255};

static const uint32_t ansi[16] = {0x000000, 0xCD0000, 0x00CD00, 0xCDCD00, 0x0000EE, 0xCD00CD,
                                  0x00CDCD, 0xE5E5E5, 0x7F7F7F, 0xFF0000, 0x00FF00, 0xFFFF00,
                                  0x5C5CFF, 0xFF00FF, 0x00FFFF, 0xFFFFFF};

uint32_t cf_palette_rgb(uint8_t c)
{
    if (c < 16) {
        return ansi[c];
    }
    if (c >= 232) {
        return (uint32_t)(8 + 10 * (c - 232)) * UINT32_C(0x010101);
    }
    int i = c - 16;
    return (uint32_t)levels[i / 36] << 16 | (uint32_t)levels[i / 6 % 6] << 8 | levels[i % 6];
}

static int channel(uint32_t rgb, int c)
{
    return (int)(rgb >> (16 - 8 * c) & 0xFF);
}

/* Eyes tell greens apart better than reds, and reds better than blues. */
static int distance(uint32_t a, uint32_t b)
{
    static const int weight[3] = {3, 6, 1};
    int sum = 0;
    for (int c = 0; c < 3; c++) {
        int d = channel(a, c) - channel(b, c);
        sum += weight[c] * d * d;
    }
    return sum;
}

static int nearest_level(int v)
{
    return v < 48 ? 0 : v < 115 ? 1 : (v - 35) / 40;
}

static uint8_t nearest_256(uint32_t rgb)
{
    int l[3];
    for (int c = 0; c < 3; c++) {
        l[c] = nearest_level(channel(rgb, c));
    }
    uint32_t cube = (uint32_t)levels[l[0]] << 16 | (uint32_t)levels[l[1]] << 8 | levels[l[2]];
    int mean = (channel(rgb, 0) + channel(rgb, 1) + channel(rgb, 2)) / 3;
    int step = mean < 8 ? 0 : mean > 238 ? 23 : (mean - 3) / 10;
    uint32_t v = (uint32_t)(8 + 10 * step);
    uint32_t grey = v << 16 | v << 8 | v;
    return distance(rgb, grey) < distance(rgb, cube) ? (uint8_t)(232 + step)
                                                     : (uint8_t)(16 + 36 * l[0] + 6 * l[1] + l[2]);
}

static uint8_t nearest_ansi(uint32_t rgb, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++) {
        if (distance(rgb, ansi[i]) < distance(rgb, ansi[best])) {
            best = i;
        }
    }
    return (uint8_t)best;
}

uint8_t cf_palette_nearest(uint32_t rgb, int n_colors)
{
    return n_colors >= 256  ? nearest_256(rgb)
           : n_colors >= 16 ? nearest_ansi(rgb, 16)
                            : nearest_ansi(rgb, 8);
}

static cf_color color_of(uint32_t rgb, int n_colors)
{
    return n_colors >= CF_TRUE_COLOR ? CF_RGB((int32_t)rgb) : cf_palette_nearest(rgb, n_colors);
}

static int brightness(uint32_t rgb)
{
    return (3 * channel(rgb, 0) + 6 * channel(rgb, 1) + channel(rgb, 2)) / 10;
}

void cf_grid_put_pixels(cf_grid *g, int x, int y, uint32_t upper, uint32_t lower)
{
    static const char ramp[] = " .:-=+*#%@";
    bool is_inside =
        x >= g->clip.x && x < g->clip.x + g->clip.w && y >= g->clip.y && y < g->clip.y + g->clip.h;
    if (!is_inside) {
        return;
    }
    bool has_halves = g->n_colors >= 8 && !g->ascii_lines;
    int light = (brightness(upper) + brightness(lower)) / 2;
    uint32_t cp = has_halves ? 0x2580 : (uint32_t)ramp[(size_t)light * (sizeof ramp - 2) / 255];
    cf_grid_fill(g, (cf_rect){x, y, 1, 1}, cp, has_halves ? CF_STYLE_IMAGE : CF_STYLE_NORMAL);
    if (has_halves) {
        cf_cell *c = &g->cell[(size_t)y * (size_t)g->w + (size_t)x];
        c->fg = color_of(upper, g->n_colors);
        c->bg = color_of(lower, g->n_colors);
    }
}

uint32_t cf_pixels_mean(const unsigned char *rgb, int w, int h, int x, int y, int to_w, int to_h)
{
    int x0 = (int)((int64_t)x * w / to_w), y0 = (int)((int64_t)y * h / to_h);
    int x1 = (int)((int64_t)(x + 1) * w / to_w);
    int y1 = (int)((int64_t)(y + 1) * h / to_h);
    uint64_t sum[3] = {0, 0, 0}, n = 0;
    for (int j = y0; j < y1 || j == y0; j++) {
        for (int i = x0; i < x1 || i == x0; i++) {
            const unsigned char *p = rgb + 3 * ((size_t)j * (size_t)w + (size_t)i);
            for (int c = 0; c < 3; c++) {
                sum[c] += p[c];
            }
            n++;
        }
    }
    return (uint32_t)(sum[0] / n) << 16 | (uint32_t)(sum[1] / n) << 8 | (uint32_t)(sum[2] / n);
}

void cf_grid_put_picture(cf_grid *g, cf_rect r, const unsigned char *rgb, int w, int h)
{
    for (int y = 0; y < r.h; y++) {
        for (int x = 0; x < r.w; x++) {
            cf_grid_put_pixels(g, r.x + x, r.y + y,
                               cf_pixels_mean(rgb, w, h, x, 2 * y, r.w, 2 * r.h),
                               cf_pixels_mean(rgb, w, h, x, 2 * y + 1, r.w, 2 * r.h));
        }
    }
}

/* ---- plates ------------------------------------------------------------- */

static cf_rect overlap(cf_rect a, cf_rect b)
{
    int x1 = a.x + a.w < b.x + b.w ? a.x + a.w : b.x + b.w;
    int y1 = a.y + a.h < b.y + b.h ? a.y + a.h : b.y + b.h;
    cf_rect r = {a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y, 0, 0};
    r.w = x1 > r.x ? x1 - r.x : 0;
    r.h = y1 > r.y ? y1 - r.y : 0;
    return r;
}

static bool same_rect(cf_rect a, cf_rect b)
{
    return a.x == b.x && a.y == b.y && a.w == b.w && a.h == b.h;
}

void cf_grid_plate(cf_grid *g, cf_rect r, cf_rect part, const unsigned char *rgb, int w, int h)
{
    cf_rect seen = overlap(overlap(r, part), g->clip);
    cf_plate *last = g->n_plate > 0 ? &g->plate[g->n_plate - 1] : NULL;
    if (!g->has_graphics || rgb == NULL || seen.w < 1 || seen.h < 1) {
        return;
    }
    if (last != NULL && last->rgb == rgb && same_rect(last->r, r) && last->seen.x == seen.x &&
        last->seen.w == seen.w && last->seen.y + last->seen.h == seen.y) {
        last->seen.h += seen.h;
        return;
    }
    if (cf_grow(&g->plate, &g->cap_plate, g->n_plate + 1, sizeof *g->plate)) {
        g->plate[g->n_plate++] = (cf_plate){.r = r, .seen = seen, .rgb = rgb, .w = w, .h = h};
    }
}
