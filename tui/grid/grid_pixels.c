/*
 * grid_pixels.c - a cell is CELL_W x CELL_H pixels.
 *
 * A letter of 5 x 9 dots is doubled twice by Scale2x, which rounds diagonals
 * (https://www.scale2x.it/algorithm), and halved again: each pixel has the
 * share of the four small ones that are ink.
 */
#include "tui/grid/grid_pixels.h"

#include <string.h>

#include "core/base/alloc.h"
#include "tui/grid/font.h"
#include "tui/grid/grid_ink.h"

enum {
    CELL_W = 12,
    CELL_H = 24,
    MARGIN = 12,
    LETTER_X = 1, /* of the letter in its cell */
    LETTER_Y = 3,
    BASELINE = 18,
    LETTER_W = 2 * CF_FONT_W,
    LETTER_H = 2 * CF_FONT_H
};

/* ---- drawing ------------------------------------------------------------ */

static void put(cf_pixmap *p, int x, int y, uint32_t rgb, int share, int of)
{
    if (x < 0 || y < 0 || x >= p->w || y >= p->h) {
        return;
    }
    unsigned char *to = p->rgb + 3 * ((size_t)y * (size_t)p->w + (size_t)x);
    for (int c = 0; c < 3; c++) {
        int ink = (int)(rgb >> (16 - 8 * c) & 0xFF);
        to[c] = (unsigned char)(((int)to[c] * (of - share) + ink * share) / of);
    }
}

static void fill(cf_pixmap *p, cf_rect r, uint32_t rgb)
{
    for (int y = r.y; y < r.y + r.h; y++) {
        for (int x = r.x; x < r.x + r.w; x++) {
            put(p, x, y, rgb, 1, 1);
        }
    }
}

/* ---- letters ------------------------------------------------------------ */

typedef struct dots {
    int w, h;
    bool on[4 * CF_FONT_H][4 * CF_FONT_W];
} dots;

static bool dot(const dots *d, int x, int y)
{
    return x >= 0 && y >= 0 && x < d->w && y < d->h && d->on[y][x];
}

static void scale2x(dots *to, const dots *from)
{
    to->w = 2 * from->w;
    to->h = 2 * from->h;
    for (int y = 0; y < from->h; y++) {
        for (int x = 0; x < from->w; x++) {
            bool e = dot(from, x, y), b = dot(from, x, y - 1), d = dot(from, x - 1, y),
                 f = dot(from, x + 1, y), h = dot(from, x, y + 1);
            bool is_edge = b != h && d != f;
            to->on[2 * y][2 * x] = is_edge && d == b ? d : e;
            to->on[2 * y][2 * x + 1] = is_edge && b == f ? f : e;
            to->on[2 * y + 1][2 * x] = is_edge && d == h ? d : e;
            to->on[2 * y + 1][2 * x + 1] = is_edge && h == f ? f : e;
        }
    }
}

static void draw_letter(cf_pixmap *p, int x, int y, const uint8_t *rows, cf_ink k)
{
    dots one = {.w = CF_FONT_W, .h = CF_FONT_H}, two = {0}, four = {0};
    int of = k.attr & CF_ATTR_DIM ? 7 : 4;
    for (int i = 0; i < CF_FONT_H; i++) {
        for (int j = 0; j < CF_FONT_W; j++) {
            one.on[i][j] = (rows[i] >> (CF_FONT_W - 1 - j) & 1) != 0;
        }
    }
    scale2x(&two, &one);
    scale2x(&four, &two);
    for (int i = 0; i < LETTER_H; i++) {
        for (int j = 0; j < LETTER_W; j++) {
            int share = four.on[2 * i][2 * j] + four.on[2 * i][2 * j + 1] +
                        four.on[2 * i + 1][2 * j] + four.on[2 * i + 1][2 * j + 1];
            put(p, x + LETTER_X + j, y + LETTER_Y + i, k.fg, share, of);
            if (k.attr & CF_ATTR_BOLD) {
                put(p, x + LETTER_X + j + 1, y + LETTER_Y + i, k.fg, share, of);
            }
        }
    }
}

/* ---- other characters --------------------------------------------------- */

static void draw_arms(cf_pixmap *p, int x, int y, unsigned arms, uint32_t rgb)
{
    int mx = x + CELL_W / 2 - 1, my = y + CELL_H / 2 - 1;
    if (arms & (CF_ARM_LEFT | CF_ARM_RIGHT)) {
        int from = arms & CF_ARM_LEFT ? x : mx;
        int to = arms & CF_ARM_RIGHT ? x + CELL_W : mx + 2;
        fill(p, (cf_rect){from, my, to - from, 2}, rgb);
    }
    if (arms & (CF_ARM_UP | CF_ARM_DOWN)) {
        int from = arms & CF_ARM_UP ? y : my;
        int to = arms & CF_ARM_DOWN ? y + CELL_H : my + 2;
        fill(p, (cf_rect){mx, from, 2, to - from}, rgb);
    }
}

/* U+2580..U+2588, as in SVG files. */
static void draw_block(cf_pixmap *p, int x, int y, uint32_t cp, uint32_t rgb)
{
    if (cp == 0x2580) {
        fill(p, (cf_rect){x, y, CELL_W, CELL_H / 2}, rgb);
    } else {
        int h = (int)(cp - 0x2580) * CELL_H / 8;
        fill(p, (cf_rect){x, y + CELL_H - h, CELL_W, h}, rgb);
    }
}

/* Two columns of four dots; bits 6 and 7 are the lowest two. */
static void draw_braille(cf_pixmap *p, int x, int y, uint32_t bits, uint32_t rgb)
{
    static const uint8_t at[8][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 0},
                                     {1, 1}, {1, 2}, {0, 3}, {1, 3}};
    for (int i = 0; i < 8; i++) {
        if (bits >> i & 1) {
            fill(p, (cf_rect){x + 2 + 5 * at[i][0], y + 3 + 5 * at[i][1], 3, 3}, rgb);
        }
    }
}

static void draw_frame(cf_pixmap *p, int x, int y, int w, uint32_t rgb)
{
    cf_rect r = {x + 2, y + LETTER_Y + 1, w - 4, BASELINE - LETTER_Y - 1};
    fill(p, (cf_rect){r.x, r.y, r.w, 1}, rgb);
    fill(p, (cf_rect){r.x, r.y + r.h - 1, r.w, 1}, rgb);
    fill(p, (cf_rect){r.x, r.y, 1, r.h}, rgb);
    fill(p, (cf_rect){r.x + r.w - 1, r.y, 1, r.h}, rgb);
}

static void draw_glyph(cf_pixmap *p, int x, int y, const cf_cell *c, cf_ink k)
{
    uint32_t cp = c->glyph.cp[0];
    const uint8_t *letter = cf_font_glyph(cp);
    unsigned arms = cf_ink_arms(cp);
    if (letter != NULL) {
        draw_letter(p, x, y, letter, k);
    } else if (arms != 0) {
        draw_arms(p, x, y, arms, k.fg);
    } else if (cp >= 0x2580 && cp <= 0x2588) {
        draw_block(p, x, y, cp, k.fg);
    } else if (cp >= 0x2800 && cp <= 0x28FF) {
        draw_braille(p, x, y, cp - 0x2800, k.fg);
    } else if (cp == 0xB7) { /* middle dot: a space made visible */
        fill(p, (cf_rect){x + CELL_W / 2 - 1, y + CELL_H / 2 - 1, 2, 2}, k.fg);
    } else if (cp > 32) {
        draw_frame(p, x, y, c->glyph.width > 1 ? 2 * CELL_W : CELL_W, k.fg);
    }
}

static void draw_cell(cf_pixmap *p, const cf_grid *g, int cx, int cy, const cf_theme *theme)
{
    const cf_cell *c = &g->cell[(size_t)cy * (size_t)g->w + (size_t)cx];
    cf_ink k = cf_ink_of(c, theme);
    int x = MARGIN + cx * CELL_W, y = MARGIN + cy * CELL_H;
    if (cx == g->cursor_x && cy == g->cursor_y) {
        k.bg = k.fg;
        k.fg = cf_ink_own_bg(theme);
    }
    int w = c->glyph.width > 1 ? 2 * CELL_W : CELL_W;
    if (c->glyph.width == 0) {
        return; /* drawn with the cell before */
    }
    fill(p, (cf_rect){x, y, w, CELL_H}, k.bg);
    draw_glyph(p, x, y, c, k);
    if (k.attr & CF_ATTR_UNDERLINE) {
        fill(p, (cf_rect){x, y + BASELINE + 2, w, 1}, k.fg);
    }
}

cf_status cf_grid_pixels(cf_pixmap *out, const cf_grid *g, const cf_theme *theme, cf_error *err)
{
    size_t n, row;
    *out = (cf_pixmap){.w = 2 * MARGIN + g->w * CELL_W, .h = 2 * MARGIN + g->h * CELL_H};
    if (!cf_mul_size(&row, 3, (size_t)out->w) || !cf_mul_size(&n, row, (size_t)out->h)) {
        return cf_fail(err, CF_ELIMIT, "a picture of %d x %d", out->w, out->h);
    }
    out->rgb = cf_calloc(n, 1);
    if (out->rgb == NULL) {
        *out = (cf_pixmap){0};
        return cf_oom_for(err, "the picture");
    }
    fill(out, (cf_rect){0, 0, out->w, out->h}, cf_ink_own_bg(theme));
    for (int y = 0; y < g->h; y++) {
        for (int x = 0; x < g->w; x++) {
            draw_cell(out, g, x, y, theme);
        }
    }
    return CF_OK;
}

void cf_pixmap_deinit(cf_pixmap *p)
{
    cf_free(p->rgb);
    *p = (cf_pixmap){0};
}
