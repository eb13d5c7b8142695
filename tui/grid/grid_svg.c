/*
 * grid_svg.c - backgrounds, then lines and blocks, then text, row by row.
 *
 * A cell is CELL_W x CELL_H units.  Cells next to each other that look alike
 * are one rectangle and one text.
 */
#include "tui/grid/grid_svg.h"

#include "core/base/junit.h"
#include "core/base/utf8.h"
#include "tui/grid/grid_ink.h"

enum {
    CELL_W = 9,
    CELL_H = 19,
    BASELINE = 14, /* of the text, from the top of its cell */
    FONT = 15,     /* its advance is 0.6 of this in most monospaced fonts */
    MARGIN = 12
};

static const cf_cell *cell_at(const cf_grid *g, int x, int y)
{
    return &g->cell[(size_t)y * (size_t)g->w + (size_t)x];
}

static bool same_ink(cf_ink a, cf_ink b)
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

static void put_arms(cf_buf *out, int x, int y, unsigned arms, uint32_t rgb)
{
    int mid_x = x + CELL_W / 2, mid_y = y + CELL_H / 2;
    int from_x = arms & CF_ARM_LEFT ? x : mid_x;
    int to_x = arms & CF_ARM_RIGHT ? x + CELL_W : mid_x + 1;
    int from_y = arms & CF_ARM_UP ? y : mid_y;
    int to_y = arms & CF_ARM_DOWN ? y + CELL_H : mid_y + 1;
    if (arms & (CF_ARM_LEFT | CF_ARM_RIGHT)) {
        put_rect(out, from_x, mid_y, to_x - from_x, 1, rgb);
    }
    if (arms & (CF_ARM_UP | CF_ARM_DOWN)) {
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
static bool put_shape(cf_buf *out, int x, int y, const cf_cell *c, cf_ink k)
{
    unsigned arms = cf_ink_arms(c->glyph.cp[0]);
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
        cf_xml_markup(out, text, cf_utf8_encode(text, glyph->cp[i]));
    }
}

static bool is_blank(const cf_cell *c)
{
    return c->glyph.width != 0 && (c->glyph.cp[0] == ' ' || c->glyph.cp[0] == 0);
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
    cf_ink k = cf_ink_of(first, theme);
    if (!is_ascii(first)) {
        return x + (first->glyph.width > 1 ? 2 : 1);
    }
    int end = x + 1, last = end;
    while (end < g->w && is_ascii(cell_at(g, end, y)) &&
           same_ink(cf_ink_of(cell_at(g, end, y), theme), k)) {
        last = is_blank(cell_at(g, end, y)) ? last : end + 1;
        end++;
    }
    return last;
}

static void put_text(cf_buf *out, const cf_grid *g, int x, int y, int end, cf_ink k)
{
    cf_buf_addf(out, "<text x=\"%d\" y=\"%d\" textLength=\"%d\" fill=\"#%06x\"%s%s>",
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
static void put_grounds(cf_buf *out, const cf_grid *g, int y, const cf_theme *theme)
{
    int top = MARGIN + y * CELL_H;
    for (int x = 0, end; x < g->w; x = end) {
        cf_ink k = cf_ink_of(cell_at(g, x, y), theme);
        end = x + 1;
        while (end < g->w && same_ink(cf_ink_of(cell_at(g, end, y), theme), k)) {
            end++;
        }
        int left = MARGIN + x * CELL_W, width = (end - x) * CELL_W;
        if (k.bg != cf_ink_own_bg(theme)) {
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
        cf_ink k = cf_ink_of(c, theme);
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
                w, h, w, h, FONT, w, h, (unsigned)cf_ink_own_bg(theme));
    for (int y = 0; y < g->h; y++) {
        put_row(out, g, y, theme);
    }
    if (g->cursor_x >= 0) {
        cf_buf_addf(out,
                    "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                    "fill=\"#%06x\" fill-opacity=\"0.5\"/>\n",
                    MARGIN + g->cursor_x * CELL_W, MARGIN + g->cursor_y * CELL_H, CELL_W, CELL_H,
                    (unsigned)cf_ink_own_fg(theme));
    }
    cf_buf_adds(out, "</svg>\n");
}
