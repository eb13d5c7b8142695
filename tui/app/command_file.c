/*
 * command_file.c - writes the current item, the whole screen, or a report of
 * the reply to a file.
 */
#include "tui/app/command_file.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "core/base/os.h"
#include "tui/grid/grid_pixels.h"
#include "tui/grid/grid_svg.h"
#include "tui/image/png_write.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_options.h"
#include "tui/study/report/report.h"
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

static cf_status write_file(const cf_app *app, const char *command, const char *name,
                            const cf_buf *text, bool overwrites, cf_error *err)
{
    cf_buf path = CF_BUF_INIT;
    struct stat s;
    cf_paths_expand(&path, name);
    cf_status st = cf_app_may(app, err);
    CF_THEN(st, cf_buf_check(&path, err));
    if (st == CF_OK && !overwrites && stat(cf_buf_cstr(&path), &s) == 0) {
        st = cf_fail(err, CF_EINVAL, "'%s' exists; %s! overwrites it", name, command);
    }
    CF_THEN(st, cf_os_write_file(cf_buf_cstr(&path), cf_buf_cstr(text), text->n, 0644, err));
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
        st = cf_fail(&err, CF_ENOTFOUND, "nothing to write here; :screen FILE writes the screen");
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

static cf_status as_svg(const cf_grid *g, cf_buf *out, cf_error *err)
{
    cf_grid_svg(g, cf_theme_current(), out);
    return cf_buf_check(out, err);
}

static cf_status as_png(const cf_grid *g, cf_buf *out, cf_error *err)
{
    cf_pixmap p;
    CF_TRY(cf_grid_pixels(&p, g, cf_theme_current(), err));
    cf_status st = cf_png_write(out, p.rgb, p.w, p.h, err);
    cf_pixmap_deinit(&p);
    return st;
}

static cf_status as_text(const cf_grid *g, cf_buf *out, cf_error *err)
{
    cf_grid_dump(g, out);
    return cf_buf_check(out, err);
}

/* The forms of a screen, by the ending of its file; the last is any other. */
static const struct {
    const char *ending, *what;
    cf_status (*make)(const cf_grid *g, cf_buf *out, cf_error *err);
} forms[] = {{".svg", "a picture", as_svg}, {".png", "a picture", as_png}, {"", "text", as_text}};

static size_t form_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    size_t i = 0;
    while (forms[i].ending[0] != '\0' && (dot == NULL || strcasecmp(dot, forms[i].ending) != 0)) {
        i++;
    }
    return i;
}

/* The screen as it was without the ":" line. */
static void write_screen(cf_app *app, const char *name, bool overwrites)
{
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    size_t form = form_of(name);
    cf_app_draw(app);
    cf_status st = forms[form].make(&app->grid, &text, &err);
    CF_THEN(st, write_file(app, "screen", name, &text, overwrites, &err));
    if (st == CF_OK) {
        cf_app_say(app, CF_STYLE_OK, "wrote the screen as %s to %s", forms[form].what, name);
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

/* ---- reports ------------------------------------------------------------ */

/* What a picture shows: the part that the view is about. */
static cf_report_part part_of(const cf_app *app)
{
    switch (cf_app_view(app)) {
    case CF_VIEW_CHAT:
        return CF_REPORT_CONVERSATION;
    case CF_VIEW_PROMPT:
        return CF_REPORT_PROMPT;
    case CF_VIEW_TOOLS:
        return CF_REPORT_CALLS;
    case CF_VIEW_DIFF:
        return CF_REPORT_DIFFERENCES;
    default:
        return CF_REPORT_REPLY;
    }
}

/* The newest reply of the path; nil: none. */
static cf_uuid newest_reply(const cf_lab *lab)
{
    size_t n;
    const cf_turn *const *path = cf_lab_path(lab, &n);
    while (n-- > 0) {
        if (cf_role_parse(cf_json_get_str(path[n]->message, "role")) == CF_ROLE_ASSISTANT) {
            return path[n]->id;
        }
    }
    return (cf_uuid){{0}};
}

/* What the session knows; nothing is computed by the model. */
static cf_status make_report(cf_app *app, const char *name, cf_buf *out, cf_error *err)
{
    const cf_lab_engine *e = cf_lab_engine_of(app->lab);
    const cf_turn_options options = {.extra_context = cf_lab_vars(app->lab),
                                     .chat = cf_lab_settings(app->lab)->chat};
    cf_conversation *conv;
    cf_report_facts facts;
    cf_uuid turn = newest_reply(app->lab);
    CF_TRY(cf_lab_clone_conv(app->lab, &conv, err));
    const cf_report_source from = {.conv = conv,
                                   .id = cf_lab_is_stored(app->lab) ? cf_lab_conv_id(app->lab)
                                                                    : (cf_uuid){{0}},
                                   .title = cf_str_from(cf_lab_title(app->lab)),
                                   .turn = turn,
                                   .backend = e->backend,
                                   .engine = e->engine,
                                   .tokenizer = e->tokenizer,
                                   .options = &options,
                                   .template_name = e->template_name,
                                   .template_source = e->template_source,
                                   .family = e->family,
                                   .store = app->store,
                                   .reply = cf_lab_reply(app->lab, turn)};
    cf_status st = cf_report_facts_init(&facts, &from, err);
    if (st == CF_OK) {
        bool is_picture = forms[form_of(name)].make == as_svg;
        st = cf_report_write(out, &facts, is_picture ? part_of(app) : CF_REPORT_ALL, name, err);
        cf_report_facts_deinit(&facts);
    }
    cf_conversation_free(conv);
    return st;
}

static void write_report(cf_app *app, const char *name, bool overwrites)
{
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    cf_status st = make_report(app, name, &text, &err);
    CF_THEN(st, write_file(app, "report", name, &text, overwrites, &err));
    if (st == CF_OK) {
        cf_app_say(app, CF_STYLE_OK, "wrote the report to %s", name);
    } else {
        cf_app_error(app, &err);
    }
    cf_buf_deinit(&text);
}

void cf_cmd_report_file(cf_app *app, const char *arg)
{
    if (has_file(app, "report", arg)) {
        write_report(app, arg, false);
    }
}

void cf_cmd_report_over(cf_app *app, const char *arg)
{
    if (has_file(app, "report!", arg)) {
        write_report(app, arg, true);
    }
}
