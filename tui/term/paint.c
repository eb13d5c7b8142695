/*
 * paint.c - the cells that differ, row by row, with as few colours and moves as
 * runs of cells allow.
 */
#include "tui/term/paint.h"

#include <string.h>
#include <wchar.h>

#include "core/base/utf8.h"

typedef struct painter {
    cf_buf *out;
    const cf_theme *theme;
    int n_colors;
    cf_look look; /* in effect */
    bool has_look;
    int x, y; /* of the cursor; -1: not known */
} painter;

bool cf_paint_same_cell(const cf_cell *a, const cf_cell *b)
{
    return a->style == b->style && a->fg == b->fg && a->bg == b->bg &&
           a->glyph.width == b->glyph.width &&
           memcmp(a->glyph.cp, b->glyph.cp, sizeof a->glyph.cp) == 0;
}

static void add_color(cf_buf *out, cf_color c, int base)
{
    if (c >= CF_RGB(0)) {
        cf_buf_addf(out, ";%d;2;%d;%d;%d", base + 8, (int)(c >> 16 & 0xFF), (int)(c >> 8 & 0xFF),
                    (int)(c & 0xFF));
    } else if (c >= 0) {
        cf_buf_addf(out, ";%d;5;%d", base + 8, (int)c);
    }
}

static void use(painter *p, cf_look look)
{
    if (p->has_look && look.fg == p->look.fg && look.bg == p->look.bg &&
        look.attr == p->look.attr) {
        return;
    }
    static const struct {
        uint8_t bit;
        const char *code;
    } attrs[] = {{CF_ATTR_BOLD, ";1"},
                 {CF_ATTR_DIM, ";2"},
                 {CF_ATTR_UNDERLINE, ";4"},
                 {CF_ATTR_REVERSE, ";7"}};
    cf_buf_adds(p->out, "\033[0");
    for (size_t i = 0; i < sizeof attrs / sizeof attrs[0]; i++) {
        cf_buf_adds(p->out, look.attr & attrs[i].bit ? attrs[i].code : "");
    }
    add_color(p->out, look.fg, 30);
    add_color(p->out, look.bg, 40);
    cf_buf_adds(p->out, "m");
    p->look = look;
    p->has_look = true;
}

static void put_glyph(cf_buf *out, const cf_glyph *glyph)
{
    bool is_plain = glyph->cp[0] >= 32 && glyph->cp[0] < 127;
    size_t n = 1 + CF_CELL_MARKS;
    uint32_t first = glyph->cp[0];
    if (!is_plain && wcwidth((wchar_t)first) != (int)glyph->width) {
        first = 0xFFFD; /* the terminal would count it otherwise */
        n = 1;
    }
    for (size_t i = 0; i < n && glyph->cp[i] != 0; i++) {
        char text[4];
        cf_buf_add(out, text, cf_utf8_encode(text, i == 0 ? first : glyph->cp[i]));
    }
}

static void put_cell(painter *p, int x, int y, const cf_cell *c)
{
    cf_look look = cf_theme_look(p->theme, c->style, p->n_colors);
    if ((c->style & CF_STYLE_NAME_MASK) == CF_STYLE_IMAGE && c->glyph.cp[0] != ' ') {
        look.fg = c->fg;
        look.bg = c->bg;
    }
    if (x != p->x || y != p->y) {
        cf_buf_addf(p->out, "\033[%d;%dH", y + 1, x + 1);
    }
    use(p, look);
    put_glyph(p->out, &c->glyph);
    p->x = x + c->glyph.width;
    p->y = y;
}

static void paint_row(painter *p, const cf_grid *g, cf_cell *sent, int y, bool all)
{
    size_t row = (size_t)y * (size_t)g->w;
    for (int x = 0; x < g->w; x++) {
        const cf_cell *now = &g->cell[row + (size_t)x];
        cf_cell *was = &sent[row + (size_t)x];
        if (!all && cf_paint_same_cell(now, was)) {
            continue;
        }
        *was = *now;
        if (now->glyph.width == 0) {
            continue; /* came with the cell before */
        }
        put_cell(p, x, y, now);
        if (now->glyph.width == 2 && x + 1 < g->w) {
            sent[row + (size_t)x + 1] = g->cell[row + (size_t)x + 1];
            x++;
        }
    }
}

void cf_paint(cf_buf *out, const cf_grid *g, cf_cell *sent, bool all, const cf_theme *theme,
              int n_colors)
{
    painter p = {.out = out, .theme = theme, .n_colors = n_colors, .x = -1, .y = -1};
    cf_buf_adds(out, all ? "\033[?25l\033[0m\033[2J" : "\033[?25l");
    for (int y = 0; y < g->h; y++) {
        p.x = -1; /* the last column may have wrapped, or not */
        paint_row(&p, g, sent, y, all);
    }
    cf_buf_adds(out, "\033[0m");
    if (g->cursor_x >= 0) {
        cf_buf_addf(out, "\033[%d;%dH\033[?25h", g->cursor_y + 1, g->cursor_x + 1);
    }
}
