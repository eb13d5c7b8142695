/*
 * view_help.c - the help sheet of the view below, made from the command
 * tables and the bindings in effect.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "tui/app/app.h"
#include "tui/app/command_user.h"
#include "tui/view/moves.h"
#include "tui/widget/pager.h"

typedef struct help_view {
    cf_pager pager;
    int width; /* of the screen that the sheet was made for */
    bool settings_only;
} help_view;

static help_view *state(cf_app *app)
{
    return app->state[CF_VIEW_HELP];
}

static cf_pager *pager(cf_app *app)
{
    return &state(app)->pager;
}

static cf_status help_open(cf_app *app, cf_error *err)
{
    app->state[CF_VIEW_HELP] = cf_calloc(1, sizeof(help_view));
    return app->state[CF_VIEW_HELP] != NULL ? CF_OK : cf_oom(err);
}

static void help_close(cf_app *app)
{
    if (state(app) != NULL) {
        cf_pager_deinit(pager(app));
        cf_free(state(app));
        app->state[CF_VIEW_HELP] = NULL;
    }
}

/* Cells of the column of keys. */
static int keys_width(int width)
{
    return width < 100 ? 14 : 20;
}

/* "  KEYS  :NAME ARGS  help", the help wrapped in its own column. */
static void add_row(cf_buf *out, int width, const char *keys,
                    const char *command, const char *help)
{
    size_t start = out->n;
    cf_wrapped lines = {0};
    cf_buf_addf(out, "  %-*s ", keys_width(width), keys);
    cf_buf_addf(out, ":%-*s ", width < 100 ? 18 : 24, command);
    int column = (int)(out->n - start);
    int room = width - column - 3;
    if (room < 12 ||
        cf_wrapped_update(&lines, cf_str_from(help), room, NULL) != CF_OK) {
        cf_buf_addf(out, "%s\n", help);
        cf_wrapped_deinit(&lines);
        return;
    }
    for (size_t i = 0; i < lines.n; i++) {
        cf_buf_addf(out, "%*s%.*s\n", i == 0 ? 0 : column, "",
                    (int)lines.v[i].len, help + lines.v[i].off);
    }
    cf_wrapped_deinit(&lines);
}

/* Appends the keys that mean the command, as far as there is room next to the
 * first. */
static void add_keys(cf_buf *out, const cf_app *app, cf_view_id view,
                     const cf_command *c)
{
    for (size_t i = 0; i < app->keymap.n; i++) {
        const cf_binding *b = &app->keymap.v[i];
        const cf_binding *meant = NULL;
        if (!(b->views & CF_IN(view)) || strcmp(b->command, c->name) != 0 ||
            cf_keymap_find(&app->keymap, CF_IN(view), b->keys, b->n_keys,
                           &meant) != CF_LOOKUP_FOUND ||
            meant != b) {
            continue;
        }
        cf_buf key = CF_BUF_INIT;
        for (size_t k = 0; k < b->n_keys; k++) {
            cf_key_format(&key, b->keys[k]);
        }
        if (out->n == 0 ||
            out->n + 1 + key.n <= (size_t)keys_width(app->grid.w)) {
            cf_buf_addf(out, "%s%s", out->n != 0 ? " " : "", cf_buf_cstr(&key));
        }
        cf_buf_deinit(&key);
    }
}

static void add_table(const cf_app *app, cf_buf *out, cf_view_id view,
                      const cf_command *table)
{
    for (const cf_command *c = table; c != NULL && c->name != NULL; c++) {
        if (!(c->views & CF_IN(view))) {
            continue;
        }
        cf_buf keys = CF_BUF_INIT, command = CF_BUF_INIT;
        add_keys(&keys, app, view, c);
        cf_buf_addf(&command, "%s%s%s", c->name, c->args[0] != '\0' ? " " : "",
                    c->args);
        add_row(out, app->grid.w, cf_buf_cstr(&keys), cf_buf_cstr(&command),
                c->help);
        cf_buf_deinit(&keys);
        cf_buf_deinit(&command);
    }
}

/* The sheet for the width of the screen. */
static void make_sheet(cf_app *app)
{
    help_view *s = state(app);
    cf_view_id below =
        app->n_stack > 1 ? app->stack[app->n_stack - 2] : CF_VIEW_CHAT;
    cf_buf out = CF_BUF_INIT;
    if (!s->settings_only) {
        cf_buf_addf(&out, "# %s\n", cf_views[below]->title);
        add_table(app, &out, below, cf_views[below]->commands);
        cf_buf_adds(&out, "\n# Everywhere\n");
        add_table(app, &out, below, cf_global_commands);
        cf_user_command_help(app, below, &out);
        cf_buf_addc(&out, '\n');
    }
    cf_buf_adds(&out, "# Settings (:set NAME=VALUE, or confabrc)\n");
    cf_config_list(cf_app_config(app), &out);
    cf_pager_set(pager(app), cf_buf_str(&out));
    cf_buf_deinit(&out);
    s->width = app->grid.w;
}

static void help_enter(cf_app *app)
{
    state(app)->settings_only = app->lists_settings;
    app->lists_settings = false;
    make_sheet(app);
}

static void help_draw(cf_app *app, cf_grid *g, cf_rect r)
{
    if (state(app)->width != app->grid.w) {
        make_sheet(app);
    }
    cf_pager_draw(pager(app), g, (cf_rect){r.x + 1, r.y, r.w - 2, r.h});
}

static void help_search(cf_app *app, const char *text, int direction)
{
    if (!cf_pager_search(pager(app), text, direction)) {
        cf_app_say(app, CF_STYLE_WARNING, "'%s' is not here", text);
    }
}

static void help_move(cf_app *app, int move)
{
    cf_list_move(&pager(app)->list, move);
}

static const cf_command help_commands[] = {
    CF_MOVE_ROWS(help_move, CF_IN(CF_VIEW_HELP)),
    {0},
};

const cf_view_ops cf_view_help = {
    .name = "help",
    .title = "Help",
    .commands = help_commands,
    .footer = "down up search next back",
    .open = help_open,
    .close = help_close,
    .enter = help_enter,
    .draw = help_draw,
    .search = help_search,
};
