/*
 * traffic_break.c - the breakpoint's folder, shown and changed.
 */
#include "tui/view/traffic/traffic_break.h"

#include <string.h>

#include "core/json/json.h"
#include "storage/store.h"
#include "tui/app/editor.h"
#include "tui/lab/watch/breakpoint.h"

/* The folder beside the history; false without one. */
static bool folder_of(cf_app *app, cf_buf *out)
{
    if (app->store != NULL) {
        cf_break_folder(out, cf_store_path(app->store));
    }
    return out->n > 0 && !out->failed;
}

static size_t count(const cf_buf *ids)
{
    size_t n = 0;
    for (size_t i = 0; i < ids->n; i++) {
        n += ids->p[i] == '\0';
    }
    return n;
}

void cf_traffic_break(cf_app *app, const char *arg)
{
    cf_buf folder = CF_BUF_INIT;
    cf_error err;
    if (!folder_of(app, &folder)) {
        cf_app_say(app, CF_STYLE_WARNING, "a breakpoint needs the history");
    } else if (strcmp(arg, "off") == 0) {
        cf_break_clear(cf_buf_cstr(&folder));
        cf_app_say(app, CF_STYLE_DIM, "breakpoint removed; held requests go on");
    } else if (arg[0] == '\0') {
        cf_edit_set(&app->command_line, cf_str_from("break "));
        app->mode = CF_MODE_COMMAND;
        cf_app_say(app, CF_STYLE_DIM,
                   "TEXT that a request must contain to stop, * for every request, off to let "
                   "them go");
    } else if (cf_break_set(cf_buf_cstr(&folder), strcmp(arg, "*") != 0 ? arg : "", &err) !=
               CF_OK) {
        cf_app_error(app, &err);
    } else if (strcmp(arg, "*") == 0) {
        cf_app_say(app, CF_STYLE_WARNING, "every request stops here; :break off lets them go");
    } else {
        cf_app_say(app, CF_STYLE_WARNING,
                   "requests with '%.80s' stop here; :break off lets them go", arg);
    }
    cf_buf_deinit(&folder);
}

/* Does something with the request that has waited longest. */
static void with_first(cf_app *app, cf_status (*fn)(cf_app *app, const char *folder, const char *id,
                                                    cf_error *err))
{
    cf_buf folder = CF_BUF_INIT, ids = CF_BUF_INIT;
    cf_error err;
    if (!folder_of(app, &folder) || cf_break_held(cf_buf_cstr(&folder), &ids, &err) != CF_OK ||
        ids.n == 0) {
        cf_app_say(app, CF_STYLE_WARNING,
                   "no request is held; :break TEXT holds those that contain TEXT");
    } else if (fn(app, cf_buf_cstr(&folder), ids.p, &err) != CF_OK) {
        cf_app_error(app, &err);
    }
    cf_buf_deinit(&ids);
    cf_buf_deinit(&folder);
}

static int add_dumped(const char *p, size_t n, void *ud)
{
    cf_buf_add(ud, p, n);
    return 0;
}

/* A body with line breaks and indentation, as people edit it. */
static cf_status indented(cf_buf *out, cf_str body, cf_error *err)
{
    json_t *v = NULL;
    cf_error ignored;
    bool is_json =
        cf_json_read(&v, body.p, body.n, &ignored) == CF_OK &&
        json_dump_callback(v, add_dumped, out, JSON_INDENT(2) | JSON_PRESERVE_ORDER) == 0;
    json_decref(v);
    if (!is_json) {
        cf_buf_reset(out);
        cf_buf_add(out, body.p, body.n);
    }
    return cf_buf_check(out, err);
}

/* Sends what was edited; it must be JSON again.  What was not changed goes on
 * byte for byte. */
static cf_status send_edited(const char *folder, const char *id, cf_str before, cf_str shown,
                             cf_str after, cf_error *err)
{
    json_t *v = NULL;
    cf_buf body = CF_BUF_INIT;
    if (cf_str_eq(shown, after)) {
        return cf_break_send(folder, id, before, err);
    }
    cf_status st = cf_json_read(&v, after.p, after.n, err);
    if (st == CF_OK) {
        cf_json_write(&body, v);
        st = cf_buf_check(&body, err);
    }
    CF_THEN(st, cf_break_send(folder, id, cf_buf_str(&body), err));
    json_decref(v);
    cf_buf_deinit(&body);
    return st;
}

static cf_status edit(cf_app *app, const char *folder, const char *id, cf_error *err)
{
    cf_buf before = CF_BUF_INIT, shown = CF_BUF_INIT, after = CF_BUF_INIT;
    cf_status st = cf_break_read(folder, id, &before, err);
    CF_THEN(st, indented(&shown, cf_buf_str(&before), err));
    cf_buf_add(&after, shown.p, shown.n);
    CF_THEN(st, cf_buf_check(&after, err));
    CF_THEN(st, cf_editor_run(app, ".json", &after, err));
    CF_THEN(st, send_edited(folder, id, cf_buf_str(&before), cf_buf_str(&shown), cf_buf_str(&after),
                            err));
    cf_buf_deinit(&before);
    cf_buf_deinit(&shown);
    cf_buf_deinit(&after);
    return st;
}

static cf_status send(cf_app *app, const char *folder, const char *id, cf_error *err)
{
    cf_buf body = CF_BUF_INIT;
    (void)app;
    cf_status st = cf_break_read(folder, id, &body, err);
    CF_THEN(st, cf_break_send(folder, id, cf_buf_str(&body), err));
    cf_buf_deinit(&body);
    return st;
}

static cf_status drop(cf_app *app, const char *folder, const char *id, cf_error *err)
{
    (void)app;
    return cf_break_drop(folder, id, err);
}

void cf_traffic_break_edit(cf_app *app)
{
    with_first(app, edit);
}

void cf_traffic_break_send(cf_app *app)
{
    with_first(app, send);
}

void cf_traffic_break_drop(cf_app *app)
{
    with_first(app, drop);
}

void cf_traffic_break_line(cf_app *app, cf_buf *out)
{
    cf_buf folder = CF_BUF_INIT, ids = CF_BUF_INIT, text = CF_BUF_INIT;
    cf_error ignored;
    if (folder_of(app, &folder)) {
        bool is_set = cf_break_is_set(cf_buf_cstr(&folder), &text);
        size_t n = cf_break_held(cf_buf_cstr(&folder), &ids, &ignored) == CF_OK ? count(&ids) : 0;
        if (n > 0) {
            cf_buf_addf(out,
                        "%zu request%s wait%s at the breakpoint: e edits and "
                        "sends the first, gn sends it, gk drops it",
                        n, n == 1 ? "" : "s", n == 1 ? "s" : "");
        } else if (is_set) {
            cf_buf_addf(out, "breakpoint: %s%s; :break off removes it",
                        text.n > 0 ? "requests with " : "every request", cf_buf_cstr(&text));
        }
    }
    cf_buf_deinit(&text);
    cf_buf_deinit(&ids);
    cf_buf_deinit(&folder);
}
