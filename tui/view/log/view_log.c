/*
 * view_log.c - what was done, with its figures, and what the engine and the
 * libraries wrote to standard error, which is kept off the screen.
 */
#include "core/base/alloc.h"
#include "tui/app/app.h"
#include "tui/view/kit/moves.h"
#include "tui/widget/pager.h"

static cf_pager *pager(cf_app *app)
{
    return app->state[CF_VIEW_LOG];
}

static void log_close(cf_app *app)
{
    cf_pager_deinit(pager(app));
}

static void log_enter(cf_app *app)
{
    cf_buf out = CF_BUF_INIT;
    cf_buf_adds(&out, cf_buf_cstr(&app->log));
    if (app->term != NULL) {
        cf_term_captured_stderr(&out);
    }
    if (out.n == 0) {
        cf_buf_adds(&out, "Nothing was said.");
    }
    cf_pager_set(pager(app), cf_buf_str(&out));
    cf_buf_deinit(&out);
}

static void log_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    int w = r.w - 2 < CF_READ_WIDTH ? r.w - 2 : CF_READ_WIDTH;
    cf_pager_draw(pager(app), g, (cf_rect){r.x + 1, r.y, w, r.h});
}

static void log_search(cf_app *app, const char *text, int direction)
{
    if (!cf_pager_search(pager(app), text, direction)) {
        cf_app_say(app, CF_STYLE_WARNING, "'%s' is not here", text);
    }
}

static void log_move(cf_app *app, int move)
{
    cf_pager_move(pager(app), (cf_move)move);
}

static const cf_command log_commands[] = {
    CF_READ_ROWS(log_move, CF_IN(CF_VIEW_LOG)),
    CF_MOVE_ROWS(log_move, CF_IN(CF_VIEW_LOG)),
    {0},
};

const cf_view_ops cf_view_log = {
    .name = "log",
    .title = "Log",
    .commands = log_commands,
    .footer = "page search next back",
    .state_size = sizeof(cf_pager),
    .close = log_close,
    .enter = log_enter,
    .draw = log_draw,
    .search = log_search,
};
