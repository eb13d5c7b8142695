/*
 * grid.c - cells, clipping, lines, dumps.
 */
#include "tui/grid/grid.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"

void cf_grid_init(cf_grid *g)
{
    *g = (cf_grid){.cursor_x = -1, .cursor_y = -1};
}

void cf_grid_deinit(cf_grid *g)
{
    cf_free(g->cell);
    cf_free(g->spot);
    cf_free(g->plate);
    cf_grid_init(g);
}

cf_status cf_grid_resize(cf_grid *g, int w, int h, cf_error *err)
{
    size_t n;
    if (w < 1 || h < 1 || w > 10000 || h > 10000 || !cf_mul_size(&n, (size_t)w, (size_t)h)) {
        return cf_fail(err, CF_ELIMIT, "a screen of %d x %d cells", w, h);
    }
    cf_cell *cell = cf_calloc(n, sizeof *cell);
    if (cell == NULL) {
        return cf_oom_for(err, "the screen");
    }
    cf_free(g->cell);
    g->cell = cell;
    g->w = w;
    g->h = h;
    cf_grid_clear(g);
    return CF_OK;
}

static const cf_cell blank = {{{' ', 0, 0, 0}, 1}, CF_STYLE_NORMAL, 0, 0};

void cf_grid_clear(cf_grid *g)
{
    for (int i = 0; i < g->w * g->h; i++) {
        g->cell[i] = blank;
    }
    g->clip = (cf_rect){0, 0, g->w, g->h};
    g->cursor_x = g->cursor_y = -1;
    g->n_spot = 0;
    g->n_plate = 0;
}

static int clamp(int v, int lo, int hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

void cf_grid_set_clip(cf_grid *g, cf_rect r)
{
    int x0 = clamp(r.x, 0, g->w), x1 = clamp(r.x + r.w, 0, g->w);
    int y0 = clamp(r.y, 0, g->h), y1 = clamp(r.y + r.h, 0, g->h);
    g->clip = (cf_rect){x0, y0, x1 > x0 ? x1 - x0 : 0, y1 > y0 ? y1 - y0 : 0};
}

static bool is_inside(const cf_grid *g, int x, int y)
{
    return x >= g->clip.x && x < g->clip.x + g->clip.w && y >= g->clip.y &&
           y < g->clip.y + g->clip.h;
}

void cf_grid_spot(cf_grid *g, cf_rect r, int what, size_t value)
{
    int x1 = r.x + r.w, y1 = r.y + r.h;
    int cx1 = g->clip.x + g->clip.w, cy1 = g->clip.y + g->clip.h;
    r.x = r.x > g->clip.x ? r.x : g->clip.x;
    r.y = r.y > g->clip.y ? r.y : g->clip.y;
    r.w = (x1 < cx1 ? x1 : cx1) - r.x;
    r.h = (y1 < cy1 ? y1 : cy1) - r.y;
    if (r.w < 1 || r.h < 1) {
        return;
    }
    if (g->n_spot == g->cap_spot) {
        size_t cap = g->cap_spot != 0 ? g->cap_spot * 2 : 128;
        cf_spot *v = cf_realloc(g->spot, cap, sizeof *v);
        if (v == NULL) {
            return;
        }
        g->spot = v;
        g->cap_spot = cap;
    }
    g->spot[g->n_spot++] = (cf_spot){r, g->spot_view, what, value};
}

const cf_spot *cf_grid_spot_at(const cf_grid *g, int x, int y)
{
    for (size_t i = g->n_spot; i-- > 0;) {
        const cf_rect *r = &g->spot[i].r;
        if (x >= r->x && x < r->x + r->w && y >= r->y && y < r->y + r->h) {
            return &g->spot[i];
        }
    }
    return NULL;
}

static cf_cell *at(const cf_grid *g, int x, int y)
{
    return &g->cell[(size_t)y * (size_t)g->w + (size_t)x];
}

/* A wide glyph that is half covered leaves a blank in its other half. */
static void uncover(cf_grid *g, int x, int y)
{
    cf_cell *c = at(g, x, y);
    if (c->glyph.width == 0 && x > 0) {
        at(g, x - 1, y)->glyph = blank.glyph;
    } else if (c->glyph.width == 2 && x + 1 < g->w) {
        at(g, x + 1, y)->glyph = blank.glyph;
    }
}

/* Puts a glyph; a wide one whose right half falls outside becomes a blank. */
static void put_glyph(cf_grid *g, int x, int y, cf_glyph glyph, cf_style style)
{
    if (!is_inside(g, x, y)) {
        return;
    }
    if (glyph.width == 2 && !is_inside(g, x + 1, y)) {
        glyph = blank.glyph;
    }
    uncover(g, x, y);
    *at(g, x, y) = (cf_cell){glyph, style, 0, 0};
    if (glyph.width == 2) {
        uncover(g, x + 1, y);
        *at(g, x + 1, y) = (cf_cell){{{0, 0, 0, 0}, 0}, style, 0, 0};
    }
}

void cf_grid_fill(cf_grid *g, cf_rect r, uint32_t cp, cf_style style)
{
    cf_glyph glyph = {{cp, 0, 0, 0}, 1};
    for (int y = r.y; y < r.y + r.h; y++) {
        for (int x = r.x; x < r.x + r.w; x++) {
            put_glyph(g, x, y, glyph, style);
        }
    }
}

int cf_grid_put_cluster(cf_grid *g, int x, int y, int width, const cf_cluster *c, cf_style style)
{
    if (c->width > width) {
        return 0;
    }
    cf_style shown = style;
    if (c->is_escaped && (style & CF_STYLE_NAME_MASK) == CF_STYLE_NORMAL) {
        shown = (cf_style)(CF_STYLE_ESCAPED | (style & ~CF_STYLE_NAME_MASK));
    }
    int used = 0;
    for (int i = 0; i < c->n_glyph; i++) {
        put_glyph(g, x + used, y, c->glyph[i], shown);
        used += c->glyph[i].width;
    }
    return used;
}

/* Newlines have no cells of their own on one line: they are spelled out. */
static bool next_on_line(cf_cluster *c, cf_str text, size_t *at_byte, int used)
{
    size_t before = *at_byte;
    if (!cf_cluster_next(c, text.p, text.n, at_byte, (size_t)used, CF_SPACE_PLAIN)) {
        return false;
    }
    if (c->is_newline) {
        *at_byte = before;
        cf_cluster_next(c, text.p, text.n, at_byte, (size_t)used, CF_SPACE_VISIBLE);
    }
    return true;
}

int cf_grid_put(cf_grid *g, int x, int y, int width, cf_str text, cf_style style)
{
    int used = 0;
    int last_x = x; /* where the last cluster that leaves room for '~' ends */
    size_t at_byte = 0;
    cf_cluster c;
    while (next_on_line(&c, text, &at_byte, used)) {
        if (used + c.width > width) {
            if (width > 0) {
                cf_grid_fill(g, (cf_rect){last_x, y, x + width - last_x, 1}, ' ', style);
                put_glyph(g, last_x, y, (cf_glyph){{'~', 0, 0, 0}, 1}, style);
            }
            return width > 0 ? width : 0;
        }
        used += cf_grid_put_cluster(g, x + used, y, width - used, &c, style);
        if (used < width) {
            last_x = x + used;
        }
    }
    return used;
}

int cf_grid_puts(cf_grid *g, int x, int y, int width, const char *text, cf_style style)
{
    return cf_grid_put(g, x, y, width, cf_str_from(text), style);
}

int cf_grid_putf(cf_grid *g, int x, int y, int width, cf_style style, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        return 0;
    }
    size_t len = strlen(text);
    if ((size_t)n > len) {
        len -= cf_utf8_incomplete_tail(text, len);
    }
    return cf_grid_put(g, x, y, width, cf_str_make(text, len), style);
}

void cf_grid_change_style(cf_grid *g, cf_rect r, cf_style from, cf_style to)
{
    for (int y = r.y; y < r.y + r.h; y++) {
        for (int x = r.x; x < r.x + r.w; x++) {
            cf_style *style = &at(g, x, y)->style;
            if ((*style & CF_STYLE_NAME_MASK) == from) {
                *style = (cf_style)((*style & ~CF_STYLE_NAME_MASK) | to);
            }
        }
    }
}

void cf_grid_restyle(cf_grid *g, cf_rect r, cf_style style)
{
    for (int y = r.y; y < r.y + r.h; y++) {
        for (int x = r.x; x < r.x + r.w; x++) {
            if (is_inside(g, x, y)) {
                at(g, x, y)->style = style;
            }
        }
    }
}

static void put_line_cell(cf_grid *g, int x, int y, uint32_t drawn, char ascii, cf_style style)
{
    uint32_t cp = g->no_lines ? ' ' : g->ascii_lines ? (unsigned char)ascii : drawn;
    put_glyph(g, x, y, (cf_glyph){{cp, 0, 0, 0}, 1}, style);
}

void cf_grid_hline(cf_grid *g, int x, int y, int w, cf_style style)
{
    for (int i = 0; i < w; i++) {
        put_line_cell(g, x + i, y, 0x2500, '-', style);
    }
}

void cf_grid_vline(cf_grid *g, int x, int y, int h, cf_style style)
{
    for (int i = 0; i < h; i++) {
        put_line_cell(g, x, y + i, 0x2502, '|', style);
    }
}

void cf_grid_box(cf_grid *g, cf_rect r, const char *title, cf_style style, cf_style title_style)
{
    if (r.w < 2 || r.h < 2) {
        return;
    }
    int right = r.x + r.w - 1, bottom = r.y + r.h - 1;
    cf_grid_hline(g, r.x + 1, r.y, r.w - 2, style);
    cf_grid_hline(g, r.x + 1, bottom, r.w - 2, style);
    cf_grid_vline(g, r.x, r.y + 1, r.h - 2, style);
    cf_grid_vline(g, right, r.y + 1, r.h - 2, style);
    put_line_cell(g, r.x, r.y, 0x250C, '+', style);
    put_line_cell(g, right, r.y, 0x2510, '+', style);
    put_line_cell(g, r.x, bottom, 0x2514, '+', style);
    put_line_cell(g, right, bottom, 0x2518, '+', style);
    if (title != NULL && r.w > 6) {
        int used = cf_grid_puts(g, r.x + 3, r.y, r.w - 6, title, title_style);
        cf_grid_puts(g, r.x + 2, r.y, 1, " ", title_style);
        cf_grid_puts(g, r.x + 3 + used, r.y, 1, " ", title_style);
    }
}

void cf_grid_add_text(const cf_grid *g, int from, int to, int y, cf_buf *out)
{
    size_t end = out->n;
    for (int x = from < 0 ? 0 : from; x < to && x < g->w; x++) {
        const cf_glyph *glyph = &at(g, x, y)->glyph;
        for (int i = 0; glyph->width != 0 && i < 1 + CF_CELL_MARKS; i++) {
            char text[4];
            if (glyph->cp[i] != 0) {
                cf_buf_add(out, text, cf_utf8_encode(text, glyph->cp[i]));
            }
        }
        if (glyph->width != 0 && glyph->cp[0] != ' ') {
            end = out->n;
        }
    }
    if (!out->failed) {
        out->n = end;
    }
}

void cf_grid_dump(const cf_grid *g, cf_buf *out)
{
    for (int y = 0; y < g->h; y++) {
        cf_grid_add_text(g, 0, g->w, y, out);
        cf_buf_addc(out, '\n');
    }
}

static const char *const style_names[CF_STYLE_COUNT] = {
    "normal",   "dim",     "border",  "title",   "focus",     "bar",     "bar-on", "key",
    "selected", "marked",  "match",   "user",    "assistant", "system",  "tool",   "thinking",
    "escaped",  "special", "token-a", "token-b", "ok",        "warning", "error",  "added",
    "removed",  "kept",    "new",     "break",   "heat-0",    "heat-1",  "heat-2", "heat-3",
    "plot-0",   "plot-1",  "plot-2",  "plot-3",  "image"};

const char *cf_style_get_name(cf_style style)
{
    unsigned name = style & CF_STYLE_NAME_MASK;
    return name < CF_STYLE_COUNT ? style_names[name] : "?";
}

void cf_grid_dump_styles(const cf_grid *g, cf_buf *out)
{
    for (int y = 0; y < g->h; y++) {
        bool is_first = true;
        for (int x = 0; x < g->w;) {
            cf_style style = at(g, x, y)->style;
            int end = x + 1;
            while (end < g->w && at(g, end, y)->style == style) {
                end++;
            }
            if (style != CF_STYLE_NORMAL) {
                if (is_first) {
                    cf_buf_addf(out, "%d:", y);
                    is_first = false;
                }
                cf_buf_addf(out, " %s%s%s%s:%d @%d", cf_style_get_name(style),
                            style & CF_BOLD ? "+bold" : "",
                            style & CF_UNDERLINE ? "+underline" : "",
                            style & CF_REVERSE ? "+reverse" : "", end - x, x);
            }
            x = end;
        }
        if (!is_first) {
            cf_buf_addc(out, '\n');
        }
    }
    if (g->cursor_x >= 0) {
        cf_buf_addf(out, "cursor %d,%d\n", g->cursor_x, g->cursor_y);
    }
}
