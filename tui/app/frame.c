/*
 * frame.c - a frame: the views in their places, then the bars around them.
 */
#include "tui/app/frame.h"

#include "tui/app/bars.h"
#include "tui/app/drag.h"
#include "tui/app/menu.h"

enum {
    NARROW = 100,
    WIDE = 160,
    CHAT_MIN_W = 64,
    CHAT_MAX_W = 99 /* text of 97 cells */
};

bool cf_frame_is_too_small(const cf_app *app)
{
    return app->grid.w < CF_MIN_W || app->grid.h < CF_MIN_H;
}

static bool goes_beside(cf_view_id view)
{
    return view == CF_VIEW_PROMPT || view == CF_VIEW_TOKENS || view == CF_VIEW_TOOLS;
}

cf_view_id cf_frame_beside(const cf_app *app)
{
    cf_view_id top = cf_app_view(app);
    if (app->grid.w < WIDE || app->config.a11y || app->is_maximized || app->lab == NULL) {
        return CF_VIEW_COUNT;
    }
    return top == CF_VIEW_CHAT ? app->beside : goes_beside(top) ? CF_VIEW_CHAT : CF_VIEW_COUNT;
}

/* Cells of Chat beside another view. */
static int split_of(const cf_app *app)
{
    int chat_w = app->pointer.split_w != 0 ? app->pointer.split_w : app->grid.w * 9 / 20;
    int most = app->pointer.split_w != 0 ? app->grid.w - CHAT_MIN_W : CHAT_MAX_W;
    chat_w = chat_w > most ? most : chat_w;
    return chat_w < CHAT_MIN_W ? CHAT_MIN_W : chat_w;
}

bool cf_frame_is_split(const cf_app *app, int x)
{
    int chat_w = split_of(app);
    return cf_frame_beside(app) != CF_VIEW_COUNT && (x == chat_w - 1 || x == chat_w);
}

void cf_frame_move_split(cf_app *app, int x)
{
    app->pointer.split_w = x > 1 ? x : 1;
    app->pointer.split_w = split_of(app);
}

/* Where a view is drawn, when it is. */
static cf_rect area_of(const cf_app *app, cf_view_id view)
{
    cf_rect body = {0, 1, app->grid.w, app->grid.h - 3};
    if (cf_frame_beside(app) == CF_VIEW_COUNT) {
        return body;
    }
    int chat_w = split_of(app);
    if (view == CF_VIEW_CHAT) {
        body.w = chat_w;
    } else {
        body.x += chat_w;
        body.w -= chat_w;
    }
    return body;
}

static bool is_in(cf_rect r, int x, int y)
{
    return x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + r.h;
}

cf_view_id cf_frame_view_at(const cf_app *app, int x, int y)
{
    cf_view_id top = cf_app_view(app), beside = cf_frame_beside(app);
    if (is_in(area_of(app, top), x, y)) {
        return top;
    }
    bool is_beside = beside != CF_VIEW_COUNT && is_in(area_of(app, beside), x, y);
    return is_beside ? beside : CF_VIEW_COUNT;
}

/* The view that asks: the one that is being drawn, or the top one. */
static cf_view_id asking(const cf_app *app)
{
    return app->is_drawing ? (cf_view_id)app->grid.spot_view : cf_app_view(app);
}

int cf_app_width(const cf_app *app)
{
    return area_of(app, asking(app)).w;
}

bool cf_app_is_narrow(const cf_app *app)
{
    return cf_app_width(app) < NARROW || app->config.a11y;
}

void cf_frame_follow(cf_app *app, cf_view_id view)
{
    const cf_view_ops *chat = cf_views[CF_VIEW_CHAT];
    const cf_turn *turn = chat->turn != NULL ? chat->turn(app) : NULL;
    if (turn != NULL && cf_views[view]->follow != NULL) {
        cf_views[view]->follow(app, turn);
    }
}

static void draw_view(cf_app *app, cf_grid *g, cf_view_id view)
{
    cf_rect r = area_of(app, view);
    g->spot_view = (int)view;
    cf_grid_set_clip(g, r);
    app->is_drawing = true;
    cf_views[view]->draw(app, g, r);
    app->is_drawing = false;
}

/* The view beside has neither the cursor nor a pane with the focus. */
static void draw_beside(cf_app *app, cf_grid *g, cf_view_id view)
{
    if (view != CF_VIEW_CHAT) {
        cf_frame_follow(app, view);
    }
    draw_view(app, g, view);
    cf_grid_change_style(g, area_of(app, view), CF_STYLE_FOCUS, CF_STYLE_TITLE);
    g->cursor_x = g->cursor_y = -1;
}

static void draw_too_small(cf_grid *g)
{
    cf_grid_putf(g, 0, 0, g->w, CF_STYLE_NORMAL, "needs %d x %d cells", CF_MIN_W, CF_MIN_H);
    cf_grid_putf(g, 0, 1, g->w, CF_STYLE_DIM, "this is %d x %d", g->w, g->h);
    cf_grid_puts(g, 0, 2, g->w, "enlarge it; ^C twice leaves", CF_STYLE_DIM);
}

void cf_app_draw(cf_app *app)
{
    cf_grid *g = &app->grid;
    g->ascii_lines = app->config.ascii_lines || (app->term != NULL && !app->term->utf8);
    g->no_lines = app->config.a11y;
    g->n_colors = app->term != NULL ? app->term->n_colors : g->n_colors;
    g->has_graphics = app->term != NULL && app->term->has_graphics;
    cf_grid_clear(g);
    app->is_dirty = false;
    if (cf_frame_is_too_small(app)) {
        draw_too_small(g);
        return;
    }
    cf_view_id beside = cf_frame_beside(app);
    if (beside != CF_VIEW_COUNT) {
        draw_beside(app, g, beside);
    }
    draw_view(app, g, cf_app_view(app));
    cf_grid_set_clip(g, (cf_rect){0, 0, g->w, g->h});
    if (app->mode == CF_MODE_COMMAND) {
        cf_menu_draw(app, g, (cf_rect){0, 1, g->w, g->h - 3});
    }
    cf_bars_draw(app, g);
    cf_drag_draw(app, g);
}
