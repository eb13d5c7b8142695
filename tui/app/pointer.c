/*
 * pointer.c - from a cell to what was drawn there.
 */
#include "tui/app/pointer.h"

#include "core/base/os.h"
#include "tui/app/bars.h"
#include "tui/app/drag.h"
#include "tui/app/frame.h"
#include "tui/app/menu.h"

enum { DOUBLE_US = 400000 };

static bool is_double(cf_app *app, int x, int y)
{
    uint64_t now = cf_os_monotonic_us();
    cf_press *last = &app->pointer.last;
    bool is = last->us != 0 && now - last->us < DOUBLE_US && last->x == x && last->y == y;
    *last = (cf_press){x, y, is ? 0 : now};
    return is;
}

/* Text that is being written stays where it is; a line is left. */
static bool leaves_mode(cf_app *app, const cf_spot *spot)
{
    switch (app->mode) {
    case CF_MODE_COMMAND:
    case CF_MODE_SEARCH:
        if (spot->what != CF_SPOT_MENU) {
            cf_app_key(app, CF_KEY_ESC);
        }
        return true;
    case CF_MODE_PREFILL:
    case CF_MODE_ASK:
        return false; /* a key decides */
    case CF_MODE_INSERT:
    case CF_MODE_VISUAL:
        app->mode = CF_MODE_NORMAL;
        return true;
    case CF_MODE_NORMAL:
        break;
    }
    return true;
}

static void press_bar(cf_app *app, const cf_spot *spot)
{
    char name[64];
    if (spot->what == CF_SPOT_TAB) {
        cf_app_open_view(app, (cf_view_id)spot->value);
    } else if (spot->what == CF_SPOT_MENU) {
        cf_menu_choose(app, spot->value, true);
    } else {
        cf_bars_command(app, spot->value, name);
        cf_app_command(app, name);
    }
}

void cf_pointer_press(cf_app *app, int x, int y)
{
    const cf_spot *found = cf_grid_spot_at(&app->grid, x, y);
    bool again = is_double(app, x, y);
    cf_drag_press(app, x, y);
    if (found == NULL || app->pointer.drag.is_split) {
        return;
    }
    cf_spot spot = *found; /* a command may draw a frame */
    if (!leaves_mode(app, &spot)) {
        return;
    }
    app->is_dirty = true;
    app->notice.text[0] = '\0';
    app->n_pending = 0;
    if (spot.what < 0) {
        press_bar(app, &spot);
        return;
    }
    cf_view_id view = (cf_view_id)spot.view;
    if (view != cf_app_view(app)) {
        cf_app_open_view(app, view);
    }
    if (cf_views[view]->click != NULL) {
        cf_views[view]->click(app, spot.what, spot.value);
    }
    if (again && app->mode == CF_MODE_NORMAL && cf_app_view(app) == view) {
        cf_app_key(app, CF_KEY_ENTER);
    }
}

/* ---- the wheel ---------------------------------------------------------- */

/* Runs a binding of a view that need not be the top one. */
static void run_in(cf_app *app, cf_view_id view, const cf_binding *b)
{
    cf_view_id top = cf_app_view(app);
    app->stack[app->n_stack - 1] = view;
    cf_app_run_binding(app, b);
    if (cf_app_view(app) == view) { /* else it has opened another one */
        app->stack[app->n_stack - 1] = top;
    }
}

static void turn_wheel(cf_app *app, cf_view_id view, int x, int y, int by, const cf_binding *b)
{
    enum { LINES = 3 };
    const cf_view_ops *ops = cf_views[view];
    const cf_spot *found = cf_grid_spot_at(&app->grid, x, y);
    bool is_its = found != NULL && found->what >= 0 && found->view == (int)view;
    cf_spot none = {.what = CF_SPOT_NONE};
    cf_spot spot = is_its ? *found : none;
    if (ops->wheel != NULL && ops->wheel(app, spot.what, spot.value, by)) {
        return;
    }
    /* Where nothing can be chosen, the text is read. */
    for (int i = 0; b != NULL && i < (ops->click == NULL ? LINES : 1); i++) {
        run_in(app, view, b);
    }
}

void cf_pointer_wheel(cf_app *app, int x, int y, cf_key key)
{
    const cf_binding *b;
    cf_view_id view = cf_frame_view_at(app, x, y);
    int by = key == CF_KEY_MOUSE_DOWN ? 1 : -1;
    if (app->mode == CF_MODE_COMMAND) {
        cf_menu_step(app, by);
        app->is_dirty = true;
        return;
    }
    if (view == CF_VIEW_COUNT || app->mode == CF_MODE_SEARCH || app->mode == CF_MODE_ASK) {
        return;
    }
    app->is_dirty = true;
    app->n_pending = 0;
    if (cf_keymap_find(&app->keymap, CF_IN(view), &key, 1, &b) != CF_LOOKUP_FOUND) {
        b = NULL;
    }
    if (b != NULL && b->is_user) {
        run_in(app, view, b);
    } else {
        turn_wheel(app, view, x, y, by, b);
    }
}
