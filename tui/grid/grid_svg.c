/*
 * grid_svg.c - backgrounds, then lines and blocks, then text, row by row.
 *
 * A cell is CELL_W x CELL_H units.  Cells next to each other that look alike
 * are one rectangle and one text.
 */
#include "tui/grid/grid_svg.h"

#include "core/base/utf8.h"

enum {
    CELL_W = 9,
    CELL_H = 19,
    BASELINE = 14, /* of the text, from the top of its cell */
    FONT = 15,     /* its advance is 0.6 of this in most monospaced fonts */
    MARGIN = 12
};

/* The terminal's own colours, where a look names none. */
#define OWN_FG UINT32_C(0xD4D4D4)
#define OWN_BG UINT32_C(0x181818)

/* How a cell looks once theme, flags and reverse video are worked out. */
typedef struct ink {
    uint32_t fg, bg; /* 0xRRGGBB */
    uint8_t attr;    /* CF_ATTR_BOLD, _UNDERLINE, _DIM */
} ink;

static const cf_cell *cell_at(const cf_grid *g, int x, int y)
{
    return &g->cell[(size_t)y * (size_t)g->w + (size_t)x];
}

static ink ink_of(const cf_cell *c, const cf_theme *theme)
{
    cf_look look = cf_theme_look(theme, c->style, 256);
    if ((c->style & CF_STYLE_NAME_MASK) == CF_STYLE_IMAGE) {
        look.fg = c->fg;
        look.bg = c->bg;
    }
    ink k = {look.fg >= 0 ? cf_palette_rgb((uint8_t)look.fg) : OWN_FG,
             look.bg >= 0 ? cf_palette_rgb((uint8_t)look.bg) : OWN_BG,
             look.attr};
    if (look.attr & CF_ATTR_REVERSE) {
        uint32_t fg = k.fg;
        k.fg = k.bg;
        k.bg = fg;
    }
    return k;
}

static bool same_ink(ink a, ink b)
{
    return a.fg == b.fg && a.bg == b.bg && a.attr == b.attr;
}

static void put_rect(cf_buf *out, int x, int y, int w, int h, uint32_t rgb)
{
    cf_buf_addf(out,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                "fill=\"#%06x\"/>\n",
                x, y, w, h, (unsigned)rgb);
}

/* ---- lines and blocks --------------------------------------------------- */

enum { LEFT = 1, RIGHT = 2, UP = 4, DOWN = 8 };

/* The arms of a box-drawing character, thick and double ones like thin ones;
 * 0 for any other character. */
static unsigned arms_of(uint32_t cp)
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

static void put_arms(cf_buf *out, int x, int y, unsigned arms, uint32_t rgb)
{
    int mid_x = x + CELL_W / 2, mid_y = y + CELL_H / 2;
    int from_x = arms & LEFT ? x : mid_x;
    int to_x = arms & RIGHT ? x + CELL_W : mid_x + 1;
    int from_y = arms & UP ? y : mid_y;
    int to_y = arms & DOWN ? y + CELL_H : mid_y + 1;
    if (arms & (LEFT | RIGHT)) {
        put_rect(out, from_x, mid_y, to_x - from_x, 1, rgb);
    }
    if (arms & (UP | DOWN)) {
        put_rect(out, mid_x, from_y, 1, to_y - from_y, rgb);
    }
}

/* Draws U+2580..U+2588: the upper half, and the lower eighths up to the full
 * block; false for any other character. */
static bool put_block(cf_buf *out, int x, int y, uint32_t cp, uint32_t rgb)
{
    if (cp < 0x2580 || cp > 0x2588) {
        return false;
    }
    if (cp == 0x2580) {
        put_rect(out, x, y, CELL_W, CELL_H / 2, rgb);
    } else {
        int h = (int)(cp - 0x2580) * CELL_H / 8;
        put_rect(out, x, y + CELL_H - h, CELL_W, h, rgb);
    }
    return true;
}

/* Draws a cell that is a shape; false when it is text. */
static bool put_shape(cf_buf *out, int x, int y, const cf_cell *c, ink k)
{
    unsigned arms = arms_of(c->glyph.cp[0]);
    if (arms != 0) {
        put_arms(out, x, y, arms, k.fg);
        return true;
    }
    return put_block(out, x, y, c->glyph.cp[0], k.fg);
}

/* ---- text --------------------------------------------------------------- */

static void put_glyph(cf_buf *out, const cf_glyph *glyph)
{
    for (int i = 0; i < 1 + CF_CELL_MARKS && glyph->cp[i] != 0; i++) {
        char text[4];
        switch (glyph->cp[i]) {
        case '&':
            cf_buf_adds(out, "&amp;");
            break;
        case '<':
            cf_buf_adds(out, "&lt;");
            break;
        case '>':
            cf_buf_adds(out, "&gt;");
            break;
        default:
            cf_buf_add(out, text, cf_utf8_encode(text, glyph->cp[i]));
        }
    }
}

static bool is_blank(const cf_cell *c)
{
    return c->glyph.width != 0 &&
           (c->glyph.cp[0] == ' ' || c->glyph.cp[0] == 0);
}

static bool is_ascii(const cf_cell *c)
{
    return c->glyph.width == 1 && c->glyph.cp[0] < 0x7F && c->glyph.cp[1] == 0;
}

/* One past the last cell of the text that starts at x: ASCII of one look, or
 * a single other character, whose width fonts do not agree on. */
static int end_of_text(const cf_grid *g, int x, int y, const cf_theme *theme)
{
    const cf_cell *first = cell_at(g, x, y);
    ink k = ink_of(first, theme);
    if (!is_ascii(first)) {
        return x + (first->glyph.width > 1 ? 2 : 1);
    }
    int end = x + 1, last = end;
    while (end < g->w && is_ascii(cell_at(g, end, y)) &&
           same_ink(ink_of(cell_at(g, end, y), theme), k)) {
        last = is_blank(cell_at(g, end, y)) ? last : end + 1;
        end++;
    }
    return last;
}

static void put_text(cf_buf *out, const cf_grid *g, int x, int y, int end,
                     ink k)
{
    cf_buf_addf(
        out, "<text x=\"%d\" y=\"%d\" textLength=\"%d\" fill=\"#%06x\"%s%s>",
        MARGIN + x * CELL_W, MARGIN + y * CELL_H + BASELINE, (end - x) * CELL_W,
        (unsigned)k.fg, k.attr & CF_ATTR_BOLD ? " font-weight=\"bold\"" : "",
        k.attr & CF_ATTR_DIM ? " fill-opacity=\"0.6\"" : "");
    for (int i = x; i < end && i < g->w; i++) {
        if (cell_at(g, i, y)->glyph.width != 0) {
            put_glyph(out, &cell_at(g, i, y)->glyph);
        }
    }
    cf_buf_adds(out, "</text>\n");
}

/* ---- a row -------------------------------------------------------------- */

/* Backgrounds and underlines, which reach over blanks too. */
static void put_grounds(cf_buf *out, const cf_grid *g, int y,
                        const cf_theme *theme)
{
    int top = MARGIN + y * CELL_H;
    for (int x = 0, end; x < g->w; x = end) {
        ink k = ink_of(cell_at(g, x, y), theme);
        end = x + 1;
        while (end < g->w && same_ink(ink_of(cell_at(g, end, y), theme), k)) {
            end++;
        }
        int left = MARGIN + x * CELL_W, width = (end - x) * CELL_W;
        if (k.bg != OWN_BG) {
            put_rect(out, left, top, width, CELL_H, k.bg);
        }
        if (k.attr & CF_ATTR_UNDERLINE) {
            put_rect(out, left, top + BASELINE + 2, width, 1, k.fg);
        }
    }
}

static void put_row(cf_buf *out, const cf_grid *g, int y, const cf_theme *theme)
{
    put_grounds(out, g, y, theme);
    for (int x = 0; x < g->w;) {
        const cf_cell *c = cell_at(g, x, y);
        ink k = ink_of(c, theme);
        int end = x + 1;
        if (c->glyph.width != 0 && !is_blank(c) &&
            !put_shape(out, MARGIN + x * CELL_W, MARGIN + y * CELL_H, c, k)) {
            end = end_of_text(g, x, y, theme);
            put_text(out, g, x, y, end, k);
        }
        x = end;
    }
}

void cf_grid_svg(const cf_grid *g, const cf_theme *theme, cf_buf *out)
{
    int w = 2 * MARGIN + g->w * CELL_W, h = 2 * MARGIN + g->h * CELL_H;
    cf_buf_addf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                "height=\"%d\" viewBox=\"0 0 %d %d\" font-size=\"%d\" "
                "font-family=\"ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,"
                "monospace\" xml:space=\"preserve\">\n"
                "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#%06x\"/>\n",
                w, h, w, h, FONT, w, h, (unsigned)OWN_BG);
    for (int y = 0; y < g->h; y++) {
        put_row(out, g, y, theme);
    }
    if (g->cursor_x >= 0) {
        cf_buf_addf(out,
                    "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                    "fill=\"#%06x\" fill-opacity=\"0.5\"/>\n",
                    MARGIN + g->cursor_x * CELL_W,
                    MARGIN + g->cursor_y * CELL_H, CELL_W, CELL_H,
                    (unsigned)OWN_FG);
    }
    cf_buf_adds(out, "</svg>\n");
}
