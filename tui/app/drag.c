/*
 * drag.c - what is selected is read from the screen as it is shown, from the
 * cell of the press to that of the pointer, as text flows: the rest of the
 * first line, whole lines, the beginning of the last one.
 */
#include "tui/app/drag.h"

#include "tui/app/frame.h"

static const cf_cell *cell_at(const cf_grid *g, int x, int y)
{
    return &g->cell[y * g->w + x];
}

/* Whether the cells are of one vertical border. */
static bool is_border(const cf_grid *g, int x, int y, uint32_t bar)
{
    const cf_cell *c = cell_at(g, x, y);
    return (c->style & CF_STYLE_NAME_MASK) == CF_STYLE_BORDER && c->glyph.cp[0] == bar;
}

/* What is inside the box around (x, y); without one the rows between the
 * bars. */
static cf_rect pane_at(const cf_grid *g, int x, int y)
{
    uint32_t bar = g->ascii_lines ? '|' : 0x2502;
    int left = x, right = x, top = y, bottom = y;
    cf_rect all = {0, 1, g->w, g->h - 3};
    while (left >= 0 && !is_border(g, left, y, bar)) {
        left--;
    }
    while (right < g->w && !is_border(g, right, y, bar)) {
        right++;
    }
    if (left < 0 || right >= g->w || left == right) {
        return all;
    }
    while (top > 0 && is_border(g, left, top - 1, bar)) {
        top--;
    }
    while (bottom + 1 < g->h && is_border(g, left, bottom + 1, bar)) {
        bottom++;
    }
    return (cf_rect){left + 1, top, right - left - 1, bottom - top + 1};
}

void cf_drag_press(cf_app *app, int x, int y)
{
    app->pointer.drag =
        (cf_drag){.is_on = x >= 0 && x < app->grid.w && y >= 1 && y < app->grid.h - 2,
                  .x = x,
                  .y = y,
                  .to_x = x,
                  .to_y = y};
    app->pointer.drag.is_split = app->pointer.drag.is_on && cf_frame_is_split(app, x);
}

static int between(int v, int from, int to)
{
    return v < from ? from : v >= to ? to - 1 : v;
}

void cf_drag_move(cf_app *app, int x, int y)
{
    cf_drag *d = &app->pointer.drag;
    if (!d->is_on || app->mode == CF_MODE_ASK) {
        return;
    }
    app->is_dirty = true;
    if (d->is_split) {
        cf_frame_move_split(app, x);
        return;
    }
    if (!d->has_moved) {
        d->pane = pane_at(&app->grid, d->x, d->y);
        d->has_moved = true;
    }
    d->to_x = between(x, d->pane.x, d->pane.x + d->pane.w);
    d->to_y = between(y, d->pane.y, d->pane.y + d->pane.h);
}

/* The selected cells of row y; an empty range where there are none. */
static void range_of(const cf_drag *d, int y, int *from, int *to)
{
    bool is_down = d->to_y > d->y || (d->to_y == d->y && d->to_x >= d->x);
    int x0 = is_down ? d->x : d->to_x, y0 = is_down ? d->y : d->to_y;
    int x1 = is_down ? d->to_x : d->x, y1 = is_down ? d->to_y : d->y;
    *from = y == y0 ? x0 : d->pane.x;
    *to = y == y1 ? x1 + 1 : d->pane.x + d->pane.w;
    if (y < y0 || y > y1) {
        *from = *to = 0;
    }
}

void cf_drag_release(cf_app *app)
{
    cf_drag d = app->pointer.drag;
    cf_buf text = CF_BUF_INIT;
    app->pointer.drag = (cf_drag){.is_on = false};
    if (!d.has_moved) {
        return;
    }
    app->is_dirty = true;
    for (int y = d.pane.y; y < d.pane.y + d.pane.h; y++) {
        int from, to;
        range_of(&d, y, &from, &to);
        if (from < to) {
            cf_buf_adds(&text, text.n != 0 ? "\n" : "");
            cf_grid_add_text(&app->grid, from, to, y, &text);
        }
    }
    if (text.n != 0) {
        cf_app_copy(app, cf_buf_str(&text));
    }
    cf_buf_deinit(&text);
}

void cf_drag_draw(const cf_app *app, cf_grid *g)
{
    const cf_drag *d = &app->pointer.drag;
    for (int y = d->pane.y; d->has_moved && y < d->pane.y + d->pane.h; y++) {
        int from, to;
        range_of(d, y, &from, &to);
        for (int x = from; x < to && x < g->w && y < g->h; x++) {
            cf_grid_restyle(g, (cf_rect){x, y, 1, 1},
                            (cf_style)(cell_at(g, x, y)->style ^ CF_REVERSE));
        }
    }
}
