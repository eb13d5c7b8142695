/*
 * command_file.c - what is on the screen into a file, conversations in and
 * out.
 */
#include "tui/command_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/exchange.h"
#include "tui/bench.h"
#include "tui/paths.h"

enum { FLUSH_MS = 2000 };

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

static cf_status write_file(const cf_app *app, const char *name,
                            const cf_buf *text, bool overwrites, cf_error *err)
{
    cf_buf path = CF_BUF_INIT;
    struct stat s;
    cf_paths_expand(&path, name);
    cf_status st = cf_app_may(app, err);
    if (st == CF_OK) {
        st = cf_buf_check(&path, err);
    }
    if (st == CF_OK && !overwrites && stat(cf_buf_cstr(&path), &s) == 0) {
        st = cf_fail(err, CF_EINVAL, "'%s' is there already; w! writes over it",
                     name);
    }
    if (st == CF_OK) {
        st = cf_os_write_file(cf_buf_cstr(&path), cf_buf_cstr(text), text->n,
                              0644, err);
    }
    cf_buf_deinit(&path);
    return st;
}

/* The view's text, or else the screen as it was without the ":" line. */
static void write_view(cf_app *app, const char *name, bool overwrites)
{
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    const cf_view_ops *view = cf_views[cf_app_view(app)];
    bool is_screen = view->text == NULL || !view->text(app, &text);
    if (is_screen) {
        cf_buf_reset(&text);
        cf_app_draw(app);
        cf_grid_dump(&app->grid, &text);
    }
    cf_status st = cf_buf_check(&text, &err);
    if (st == CF_OK) {
        st = write_file(app, name, &text, overwrites, &err);
    }
    if (st == CF_OK) {
        cf_app_say(app, CF_STYLE_OK, "wrote %zu bytes%s to %s", text.n,
                   is_screen ? " (the screen)" : "", name);
    } else {
        cf_app_error(app, &err);
    }
    cf_buf_deinit(&text);
}

void cf_cmd_write_file(cf_app *app, const char *arg)
{
    if (has_file(app, "w", arg)) {
        write_view(app, arg, false);
    }
}

void cf_cmd_overwrite_file(cf_app *app, const char *arg)
{
    if (has_file(app, "w!", arg)) {
        write_view(app, arg, true);
    }
}

/* The format that a file's name speaks of. */
static cf_format format_of(const char *name)
{
    const char *dot = strrchr(name, '.');
    bool is_markdown =
        dot != NULL && (strcmp(dot, ".md") == 0 || strcmp(dot, ".txt") == 0);
    return is_markdown ? CF_FORMAT_MARKDOWN : CF_FORMAT_CONFAB;
}

/* Takes a last word that is the name of a format off `text`. */
static bool take_format(char *text, cf_format *out)
{
    char *blank = strrchr(text, ' ');
    if (blank == NULL || !cf_format_parse(out, cf_str_from(blank + 1))) {
        return false;
    }
    while (blank > text && blank[-1] == ' ') {
        blank--;
    }
    *blank = '\0';
    return true;
}

static cf_status export_to(cf_app *app, const char *name, cf_format format,
                           cf_buf *text, cf_error *err)
{
    cf_export_options opts = {.format = format};
    cf_exporter *ex;
    if (!cf_format_writes(format)) {
        return cf_fail(err, CF_EINVAL, "%s is read, not written",
                       cf_format_name(format));
    }
    CF_TRY(cf_store_flush(app->store, FLUSH_MS, err));
    CF_TRY(cf_export_begin(&ex, app->store, &opts, err));
    cf_status st = cf_export_conv(ex, cf_bench_conv_id(app->bench), text, err);
    cf_export_end(ex);
    CF_TRY(st);
    CF_TRY(cf_buf_check(text, err));
    return write_file(app, name, text, false, err);
}

void cf_cmd_export(cf_app *app, const char *arg)
{
    char name[512];
    cf_format format;
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    if (app->store == NULL) {
        cf_app_say(app, CF_STYLE_WARNING,
                   "nothing is kept here, so there is nothing to export; :w "
                   "writes a turn");
        return;
    }
    if (!has_file(app, "export", arg)) {
        return;
    }
    snprintf(name, sizeof name, "%s", arg);
    if (!take_format(name, &format)) {
        format = format_of(name);
    }
    if (export_to(app, name, format, &text, &err) == CF_OK) {
        cf_app_say(app, CF_STYLE_OK, "%s: the conversation as %s, %zu bytes",
                   name, cf_format_name(format), text.n);
    } else {
        cf_app_error(app, &err);
    }
    cf_buf_deinit(&text);
}

/* ---- import: a task of the worker --------------------------------------- */

typedef struct import {
    cf_app *app;
    char name[512];
    cf_buf path;
    cf_format format;
    cf_import_report report;
    cf_buf notes; /* of records that were left out */
} import;

static void note(void *ud, uint64_t line, const char *text)
{
    import *m = ud;
    cf_buf_addf(&m->notes, "%s, line %llu: %s\n", m->name,
                (unsigned long long)line, text);
}

static cf_status run_import(void *ud, cf_bench *bench, cf_error *err)
{
    import *m = ud;
    const cf_import_options opts = {.format = m->format,
                                    .name = m->name,
                                    .note = note,
                                    .ud = m,
                                    .cancel = cf_bench_cancel_flag(bench)};
    return cf_import_file(m->app->store, cf_buf_cstr(&m->path), &opts,
                          &m->report, err);
}

static void free_import(import *m)
{
    cf_buf_deinit(&m->path);
    cf_buf_deinit(&m->notes);
    cf_free(m);
}

static void end_import(void *ud, cf_status status, const cf_error *err)
{
    import *m = ud;
    const cf_import_report *r = &m->report;
    (void)err; /* the bench tells */
    if (m->notes.n != 0) {
        cf_buf_adds(&m->app->log, cf_buf_cstr(&m->notes));
    }
    if (status == CF_OK || status == CF_ECANCELLED) {
        cf_app_say(m->app, CF_STYLE_OK,
                   "%s%zu new and %zu known conversations, %zu turns%s",
                   status == CF_OK ? "" : "stopped: ", r->n_new, r->n_known,
                   r->n_turns,
                   r->n_bad != 0 ? "; @ tells what was left out" : "");
    }
    free_import(m);
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static cf_status start_import(cf_app *app, const char *arg, cf_error *err)
{
    import *m = cf_calloc(1, sizeof *m);
    if (m == NULL) {
        return cf_fail(err, CF_ENOMEM, "out of memory");
    }
    m->app = app;
    snprintf(m->name, sizeof m->name, "%s", arg);
    if (!take_format(m->name, &m->format)) {
        m->format =
            ends_in(m->name, ".db") ? CF_FORMAT_LLM_DB : CF_FORMAT_CONFAB;
    }
    cf_paths_expand(&m->path, m->name);
    cf_status st = cf_buf_check(&m->path, err);
    if (st == CF_OK && !cf_format_reads(m->format)) {
        st = cf_fail(err, CF_EINVAL, "%s is written, not read",
                     cf_format_name(m->format));
    }
    const cf_bench_task task = {
        .name = "importing", .run = run_import, .end = end_import, .ud = m};
    if (st == CF_OK) {
        st = cf_bench_start_task(app->bench, &task, err);
    }
    if (st != CF_OK) {
        free_import(m);
    }
    return st;
}

void cf_cmd_import(cf_app *app, const char *arg)
{
    cf_error err;
    if (app->store == NULL) {
        cf_app_say(app, CF_STYLE_WARNING, "nothing is kept here");
    } else if (has_file(app, "import", arg)) {
        if (start_import(app, arg, &err) == CF_OK) {
            app->is_dirty = true;
        } else {
            cf_app_error(app, &err);
        }
    }
}
