/*
 * pointer.c - from a cell to what was drawn there.
 */
#include "tui/app/pointer.h"

#include "core/base/os.h"
#include "tui/app/bars.h"
#include "tui/app/menu.h"

enum { DOUBLE_US = 400000 };

static bool is_double(cf_app *app, int x, int y)
{
    uint64_t now = cf_os_monotonic_us();
    cf_press *last = &app->last_press;
    bool is = last->us != 0 && now - last->us < DOUBLE_US && last->x == x &&
              last->y == y;
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
    if (found == NULL) {
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
