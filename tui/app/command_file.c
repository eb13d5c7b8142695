/*
 * command_file.c - writes the current item, or the whole screen, to a file.
 */
#include "tui/app/command_file.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "core/base/os.h"
#include "tui/grid/grid_svg.h"
#include "tui/sys/paths.h"

/* Begins a ":" line for a command that was given no file. */
static bool has_file(cf_app *app, const char *command, const char *arg)
{
    char line[32];
    if (arg[0] != '\0') {
        return true;
    }
    snprintf(line, sizeof line, "%s ", command);
    cf_edit_set(&app->command_line, cf_str_from(line));
    app->mode = CF_MODE_COMMAND;
    return false;
}

static cf_status write_file(const cf_app *app, const char *command,
                            const char *name, const cf_buf *text,
                            bool overwrites, cf_error *err)
{
    cf_buf path = CF_BUF_INIT;
    struct stat s;
    cf_paths_expand(&path, name);
    cf_status st = cf_app_may(app, err);
    CF_THEN(st, cf_buf_check(&path, err));
    if (st == CF_OK && !overwrites && stat(cf_buf_cstr(&path), &s) == 0) {
        st = cf_fail(err, CF_EINVAL, "'%s' exists; %s! overwrites it", name,
                     command);
    }
    CF_THEN(st, cf_os_write_file(cf_buf_cstr(&path), cf_buf_cstr(text), text->n,
                                 0644, err));
    cf_buf_deinit(&path);
    return st;
}

/* The view's object: a template's source, a prompt, a difference ... */
static void write_view(cf_app *app, const char *name, bool overwrites)
{
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    const cf_view_ops *view = cf_views[cf_app_view(app)];
    cf_status st = CF_OK;
    if (view->text == NULL || !view->text(app, &text)) {
        st = cf_fail(&err, CF_ENOTFOUND,
                     "nothing to write here; :screen FILE writes the screen");
    }
    CF_THEN(st, cf_buf_check(&text, &err));
    CF_THEN(st, write_file(app, "w", name, &text, overwrites, &err));
    if (st == CF_OK) {
        cf_app_say(app, CF_STYLE_OK, "wrote %zu bytes to %s", text.n, name);
    } else {
        cf_app_error(app, &err);
    }
    cf_buf_deinit(&text);
}

/* Back to the file that the object came from; false when there is none. */
static bool write_back(cf_app *app)
{
    cf_buf file = CF_BUF_INIT;
    const cf_view_ops *view = cf_views[cf_app_view(app)];
    bool has = view->file != NULL && view->file(app, &file) && !file.failed;
    if (has) {
        write_view(app, cf_buf_cstr(&file), true);
    }
    cf_buf_deinit(&file);
    return has;
}

void cf_cmd_write_file(cf_app *app, const char *arg)
{
    if ((arg[0] != '\0' || !write_back(app)) && has_file(app, "w", arg)) {
        write_view(app, arg, false);
    }
}

void cf_cmd_overwrite_file(cf_app *app, const char *arg)
{
    if ((arg[0] != '\0' || !write_back(app)) && has_file(app, "w!", arg)) {
        write_view(app, arg, true);
    }
}

/* The screen as it was without the ":" line, as a picture or as text. */
static void write_screen(cf_app *app, const char *name, bool overwrites)
{
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    const char *dot = strrchr(name, '.');
    bool is_svg = dot != NULL && strcasecmp(dot, ".svg") == 0;
    cf_app_draw(app);
    if (is_svg) {
        cf_grid_svg(&app->grid, cf_theme_current(), &text);
    } else {
        cf_grid_dump(&app->grid, &text);
    }
    cf_status st = cf_buf_check(&text, &err);
    CF_THEN(st, write_file(app, "screen", name, &text, overwrites, &err));
    if (st == CF_OK) {
        cf_app_say(app, CF_STYLE_OK, "wrote the screen as %s to %s",
                   is_svg ? "a picture" : "text", name);
    } else {
        cf_app_error(app, &err);
    }
    cf_buf_deinit(&text);
}

void cf_cmd_screen(cf_app *app, const char *arg)
{
    if (has_file(app, "screen", arg)) {
        write_screen(app, arg, false);
    }
}

void cf_cmd_screen_over(cf_app *app, const char *arg)
{
    if (has_file(app, "screen!", arg)) {
        write_screen(app, arg, true);
    }
}
