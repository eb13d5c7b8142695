/*
 * view_output.c - the output of the last background command of the user (tui/app/command_user.h).
 */
#include "core/base/alloc.h"
#include "tui/app/app.h"
#include "tui/view/kit/moves.h"
#include "tui/widget/pager.h"

static cf_pager *pager(cf_app *app)
{
    return app->state[CF_VIEW_OUTPUT];
}

static void output_close(cf_app *app)
{
    cf_pager_deinit(pager(app));
}

static void output_enter(cf_app *app)
{
    cf_str text = app->output.n != 0 ? cf_buf_str(&app->output) : cf_str_from("Nothing ran yet.");
    if (app->output.failed) {
        cf_app_say(app, CF_STYLE_ERROR, "out of memory: not all of it is here");
    }
    cf_pager_set(pager(app), text);
}

static void output_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    cf_pager_draw(pager(app), g, (cf_rect){r.x + 1, r.y, r.w - 2, r.h});
}

static void output_search(cf_app *app, const char *text, int direction)
{
    if (!cf_pager_search(pager(app), text, direction)) {
        cf_app_say(app, CF_STYLE_WARNING, "'%s' is not here", text);
    }
}

static void output_move(cf_app *app, int move)
{
    cf_pager_move(pager(app), (cf_move)move);
}

static const cf_command output_commands[] = {
    CF_READ_ROWS(output_move, CF_IN(CF_VIEW_OUTPUT)),
    CF_MOVE_ROWS(output_move, CF_IN(CF_VIEW_OUTPUT)),
    {0},
};

static bool output_text(cf_app *app, cf_buf *out)
{
    cf_buf_add(out, cf_buf_cstr(&app->output), app->output.n);
    return true;
}

const cf_view_ops cf_view_output = {
    .name = "output",
    .title = "Output",
    .commands = output_commands,
    .footer = "page search next back",
    .state_size = sizeof(cf_pager),
    .close = output_close,
    .enter = output_enter,
    .draw = output_draw,
    .search = output_search,
    .text = output_text,
};
