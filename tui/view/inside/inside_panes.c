/*
 * inside_panes.c - parts, layers, and the map of a patch.
 */
#include <math.h>
#include <stdio.h>

#include "core/base/safe_text.h"
#include "tui/view/inside/inside_view.h"

enum { LABEL_W = 22 };

void cf_inside__put_token(cf_buf *out, const cf_inside_work *w, cf_token id)
{
    if (id == CF_TOKEN_NONE) {
        cf_buf_adds(out, "nothing");
    } else {
        cf_inside_token_text(out, w->c.engine.tok, id);
    }
}

static int draw_buf(cf_grid *g, cf_rect r, int x, cf_buf *text, cf_style style)
{
    int n = x < r.w ? cf_grid_put(g, r.x + x, r.y, r.w - x, cf_buf_str(text), style) : 0;
    cf_buf_restart(text);
    return n;
}

double cf_inside__margin(const cf_app *app, const cf_inside_answer *a)
{
    const cf_inside_view *s = app->state[CF_VIEW_INSIDE];
    return (double)a->logit[s->a] - (double)a->logit[s->b];
}

/* ---- parts -------------------------------------------------------------- */

/* "12.3%  -4.21 flips  tool get_time  to 'x' 41%" */
static void draw_part(cf_app *app, cf_grid *g, cf_rect r, size_t i, bool is_on)
{
    const cf_inside_work *w = cf_inside__done(app);
    cf_style plain = is_on ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
    const cf_inside_answer *a = &w->without[i];
    bool flips = a->top[0] != w->plain.top[0];
    cf_buf text = CF_BUF_INIT;
    cf_grid_fill(g, r, ' ', plain);
    cf_buf_addf(&text, "%6.1f%% %+8.2f ", 100 * w->share[i],
                cf_inside__margin(app, a) - cf_inside__margin(app, &w->plain) + 0.0);
    int x = draw_buf(g, r, 0, &text, plain);
    cf_buf_adds(&text, flips ? "flips " : "      ");
    x += draw_buf(g, r, x, &text, is_on ? plain : CF_STYLE_ERROR);
    cf_safe_line(&text, w->c.part[i].label.p, w->c.part[i].label.n);
    x += draw_buf(g, r, x, &text, plain);
    if (flips) {
        cf_buf_adds(&text, "  to ");
        cf_inside__put_token(&text, w, a->top[0]);
        draw_buf(g, r, x, &text, is_on ? plain : CF_STYLE_DIM);
    }
    cf_buf_deinit(&text);
}

void cf_inside__draw_parts(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_inside_work *w = cf_inside__done(app);
    cf_inside_view *s = cf_inside__state(app);
    cf_grid_puts(g, r.x, r.y, r.w, "looked at  if hidden", CF_STYLE_DIM);
    if (w->heads.is_some) {
        cf_grid_putf(g, r.x + 22, r.y, r.w - 22, CF_STYLE_DIM, "(heads %u.%u-%u)", w->heads.layer,
                     w->heads.first, w->heads.end - 1);
    }
    r.y++;
    r.h--;
    cf_rows rows = cf_rows_begin(g, r, &s->list[CF_INSIDE_ON_PARTS], w->c.n_part,
                                 s->focus == CF_INSIDE_ON_PARTS);
    while (cf_rows_next(&rows, CF_INSIDE_ON_PARTS)) {
        draw_part(app, g, rows.at, rows.i, rows.is_on);
    }
}

/* ---- layers ------------------------------------------------------------- */

size_t cf_inside__n_layer_row(const cf_inside_work *w)
{
    return w->c.n_watch + w->layers.n_layer + 2; /* the second is a heading */
}

/* "A 'get'  99.8%  12.21" */
static void put_watched(cf_buf *out, const cf_inside_work *w, const cf_inside_view *s, size_t i)
{
    const cf_inside_rival *v = &w->layers.rival[i];
    cf_buf_addf(out, "%c %c %6.2f%% %8.2f  ",
                i == s->a   ? '>'
                : i == s->b ? '<'
                            : ' ',
                (int)('A' + (int)i), 100 * v->p[w->layers.n_layer], (double)w->plain.logit[i]);
    cf_inside__put_token(out, w, w->c.watch[i]);
    if (v->turned != UINT32_MAX) {
        cf_buf_addf(out, "  best from layer %u on", v->turned);
    }
}

/* "layer, what it wrote, the ranks of all, its best" */
static void put_layer(cf_buf *out, const cf_inside_work *w, const cf_inside_view *s, uint32_t l)
{
    cf_buf_addf(out, "%5u %+7.2f ", l, cf_inside_work_wrote(w, l, s->a, s->b) + 0.0);
    for (size_t i = 0; i < w->c.n_watch; i++) {
        unsigned rank = w->layers.rival[i].rank[l] + 1;
        cf_buf_addf(out, rank < 1000 ? "%4u" : "   .", rank);
    }
    cf_buf_adds(out, "  ");
    cf_inside__put_token(out, w, w->layers.top[l]);
    cf_buf_addf(out, " %.0f%%", 100 * w->layers.p[l]);
}

static void draw_head(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_inside_work *w = cf_inside__done(app);
    const cf_inside_view *s = cf_inside__state(app);
    cf_buf text = CF_BUF_INIT;
    cf_inside__put_token(&text, w, w->c.watch[s->a]);
    cf_buf_adds(&text, " against ");
    cf_inside__put_token(&text, w, w->c.watch[s->b]);
    cf_buf_addf(&text, ": %+.2f", w->margin[s->a].margin - w->margin[s->b].margin);
    draw_buf(g, r, 0, &text, CF_STYLE_NORMAL);
    cf_buf_deinit(&text);
}

static void put_heading(cf_buf *out, const cf_inside_work *w)
{
    cf_buf_adds(out, "layer   wrote ");
    for (size_t i = 0; i < w->c.n_watch; i++) {
        cf_buf_addf(out, "   %c", (int)('A' + (int)i));
    }
    cf_buf_adds(out, "  best");
}

void cf_inside__draw_layers(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_inside_work *w = cf_inside__done(app);
    cf_inside_view *s = cf_inside__state(app);
    cf_buf text = CF_BUF_INIT;
    draw_head(app, g, r);
    r.y++;
    r.h--;
    bool has_focus = s->focus == CF_INSIDE_ON_LAYERS;
    cf_rows rows =
        cf_rows_begin(g, r, &s->list[CF_INSIDE_ON_LAYERS], cf_inside__n_layer_row(w), has_focus);
    while (cf_rows_next(&rows, CF_INSIDE_ON_LAYERS)) {
        bool is_watched = rows.i < w->c.n_watch;
        uint32_t l = is_watched ? 0 : (uint32_t)(cf_inside__n_layer_row(w) - 1 - rows.i);
        cf_style style = rows.is_on && has_focus ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
        if (is_watched) {
            put_watched(&text, w, s, rows.i);
        } else if (rows.i == w->c.n_watch) {
            put_heading(&text, w);
            style = style == CF_STYLE_NORMAL ? CF_STYLE_DIM : style;
        } else {
            put_layer(&text, w, s, l);
            bool is_early = style == CF_STYLE_NORMAL && w->layers.top[l] != w->c.watch[s->a];
            style = is_early ? CF_STYLE_DIM : style;
        }
        cf_grid_fill(g, rows.at, ' ', style);
        draw_buf(g, rows.at, 0, &text, style);
    }
    cf_buf_deinit(&text);
}

/* ---- the map ------------------------------------------------------------ */

/* A share of the difference in a cell: tenths, "#" for all of it. */
static void draw_cell(cf_grid *g, int x, int y, double v)
{
    int tenths = (int)lround(10 * v);
    char mark[2] = {'.', '\0'};
    mark[0] = tenths >= 10 ? '#' : tenths < 0 ? '-' : tenths > 0 ? (char)('0' + tenths) : '.';
    int heat = tenths >= 7 ? 3 : tenths >= 4 ? 2 : tenths >= 1 ? 1 : 0;
    cf_grid_puts(g, x, y, 1, mark, (cf_style)(CF_STYLE_HEAT_0 + heat));
}

void cf_inside__draw_map(cf_app *app, cf_grid *g, cf_rect r)
{
    const cf_inside_work *w = cf_inside__done(app);
    const cf_inside_map *m = &w->map;
    cf_inside_view *s = cf_inside__state(app);
    bool has_focus = s->focus == CF_INSIDE_ON_LAYERS;
    cf_grid_putf(g, r.x, r.y, r.w, CF_STYLE_NORMAL, "margin %+.2f, with the other prompt %+.2f",
                 m->margin, m->from_margin);
    cf_grid_puts(g, r.x, r.y + 1, r.w, "tenths of that, by layer", CF_STYLE_DIM);
    for (uint32_t l = 0; l < m->n; l += 5) {
        cf_grid_putf(g, r.x + LABEL_W + (int)l + 3, r.y + 1, 3, CF_STYLE_DIM, "%u", m->first + l);
    }
    r.y += 2;
    r.h -= 2;
    cf_rows rows = cf_rows_begin(g, r, &s->list[CF_INSIDE_ON_LAYERS], m->n_row, has_focus);
    while (cf_rows_next(&rows, CF_INSIDE_ON_LAYERS)) {
        cf_rect at = rows.at;
        bool is_part = m->part[rows.i] < w->c.n_part;
        cf_str label =
            is_part ? w->c.part[m->part[rows.i]].label : cf_str_from("the position itself");
        cf_style style = rows.is_on && has_focus ? CF_STYLE_SELECTED : CF_STYLE_NORMAL;
        cf_grid_put(g, at.x, at.y, LABEL_W + 2, label, style);
        for (uint32_t l = 0; l < m->n && LABEL_W + 3 + (int)l < at.w; l++) {
            draw_cell(g, at.x + LABEL_W + 3 + (int)l, at.y, m->v[l * m->n_row + rows.i]);
        }
    }
}
