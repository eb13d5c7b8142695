/*
 * command_undo.c - the file of a template is written again only while it has
 * the text that is taken back: nobody else changed it since.
 */
#include "tui/app/command_undo.h"

#include "core/base/os.h"
#include "storage/store.h"
#include "tui/lab/lab.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/talk/lab_template.h"
#include "tui/lab/talk/lab_undo.h"

enum { TEMPLATE_MAX = 16 << 20 };

/* Puts the text that is in use again into its file; `what` says how it went. */
static void write_file(cf_app *app, const cf_buf *taken_back, cf_buf *what)
{
    cf_error err;
    cf_buf now = CF_BUF_INIT;
    const char *path = cf_lab_template_name(app->lab);
    cf_str source = cf_lab_engine_of(app->lab)->template_source;
    cf_status st = cf_app_may(app, &err);
    CF_THEN(st, cf_os_read_file(&now, path, TEMPLATE_MAX, &err));
    if (st == CF_OK && !cf_str_eq(cf_buf_str(&now), cf_buf_str(taken_back))) {
        cf_buf_adds(what, "; the file has changed since and stays");
    } else {
        CF_THEN(st, cf_os_write_file(path, source.p, source.n, 0644, &err));
        cf_buf_adds(what, st == CF_OK ? ", and of its file" : "; its file stays: ");
        cf_buf_adds(what, st == CF_OK ? "" : err.text);
    }
    cf_buf_deinit(&now);
}

void cf_app_stale(cf_app *app)
{
    for (int v = 0; v < CF_VIEW_COUNT; v++) {
        if (cf_views[v]->stale != NULL) {
            cf_views[v]->stale(app);
        }
    }
}

void cf_cmd_did_line(cf_app *app, const char *back, const char *line)
{
    if (!app->is_undoing) {
        cf_lab_add_undo_line(app->lab, back, line);
    }
}

void cf_cmd_undo_list(cf_app *app)
{
    cf_error err;
    cf_buf_restart(&app->output);
    if (cf_lab_list_undo(app->lab, &app->output, &err) != CF_OK) {
        cf_app_error(app, &err);
        return;
    }
    cf_app_open_view(app, CF_VIEW_OUTPUT);
}

void cf_cmd_undo(cf_app *app, int again)
{
    cf_error err;
    cf_lab_undone undone = {.kind = CF_LAB_UNDO_STORE};
    cf_buf what = CF_BUF_INIT;
    cf_status st = cf_lab_undo(app->lab, again, &undone, &what, &err);
    if (st == CF_ENOTFOUND && cf_app_view(app) == CF_VIEW_LIBRARY && app->store != NULL) {
        st =
            again ? cf_store_redo(app->store, &what, &err) : cf_store_undo(app->store, &what, &err);
    }
    if (st != CF_OK) {
        cf_app_say(app, CF_STYLE_WARNING, "%s", err.text);
    } else {
        if (undone.has_file) {
            write_file(app, &undone.text, &what);
        }
        if (undone.kind == CF_LAB_UNDO_LINE) {
            app->is_undoing = true;
            cf_app_command(app, cf_buf_cstr(&undone.text));
            app->is_undoing = false;
        }
        cf_app_stale(app);
        cf_app_say(app, CF_STYLE_OK, "%s: %s", again ? "done again" : "undone", cf_buf_cstr(&what));
    }
    cf_lab_undone_deinit(&undone);
    cf_buf_deinit(&what);
}
