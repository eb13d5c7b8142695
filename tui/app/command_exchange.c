/*
 * command_exchange.c - conversations into files and out of them, as tasks of
 * the worker.
 *
 * Exports, in the library, the ticked conversations, or else the one
 * under the cursor; elsewhere the one in the workbench.  A file that is there is
 * written over only when the user says so.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/exchange.h"
#include "tui/app/command_file.h"
#include "tui/lab/state/lab_marks.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_conversation.h"
#include "tui/lab/talk/lab_undo.h"
#include "tui/sys/paths.h"

enum { FLUSH_MS = 2000, NAME_MAX_CHARS = 40 };

/* ---- names and formats -------------------------------------------------- */

static void begin_line(cf_app *app, const char *line)
{
    cf_edit_set(&app->command_line, cf_str_from(line));
    app->mode = CF_MODE_COMMAND;
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* The format to write, by the file's name. */
static cf_format format_of(const char *name)
{
    return ends_in(name, ".md") || ends_in(name, ".txt") ? CF_FORMAT_MARKDOWN : CF_FORMAT_CONFAB;
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

/* ---- what is exported --------------------------------------------------- */

/* The conversation under the library's cursor. */
static bool current(cf_app *app, cf_uuid *id, char title[80])
{
    return cf_views[CF_VIEW_LIBRARY]->conversation(app, id, title);
}

/* The ids, *one when there is only that; NULL: none. */
static const cf_uuid *choose(cf_app *app, cf_uuid *one, size_t *n)
{
    *n = 1;
    if (cf_app_view(app) != CF_VIEW_LIBRARY) {
        size_t n_path;
        cf_lab_path(app->lab, &n_path);
        *one = cf_lab_conv_id(app->lab);
        return n_path != 0 ? one : NULL;
    }
    const cf_uuid *ticked = cf_lab_ticked(app->lab, n);
    if (*n != 0) {
        return ticked;
    }
    *n = 1;
    return current(app, one, NULL) ? one : NULL;
}

/* A file name out of a title: its letters and digits. */
static void suggest(cf_app *app, size_t n, char *out, size_t size)
{
    char title[80] = "", name[NAME_MAX_CHARS + 1];
    size_t used = 0;
    cf_uuid id;
    bool from_library = cf_app_view(app) == CF_VIEW_LIBRARY;
    if (n == 1 && from_library) {
        (void)current(app, &id, title);
    } else if (n == 1) {
        snprintf(title, sizeof title, "%s", cf_lab_title(app->lab));
    }
    for (const char *p = title; *p != '\0' && used < NAME_MAX_CHARS; p++) {
        char c = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
        bool is_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (is_word) {
            name[used++] = c;
        } else if (used > 0 && name[used - 1] != '-') {
            name[used++] = '-';
        }
    }
    used -= used > 0 && name[used - 1] == '-';
    name[used] = '\0';
    snprintf(out, size, "export %s%s",
             used != 0 ? name
             : n > 1   ? "conversations"
                       : "conversation",
             n > 1 ? ".jsonl" : ".md");
}

/* ---- export ------------------------------------------------------------- */

typedef struct export
{
    cf_app *app;
    cf_uuid *id; /* [n], owned */
    size_t n, n_done;
    char name[512];
    cf_buf path;
    cf_export_options options;
    uint64_t n_bytes; /* written */
}
export;

static void free_export(export *e)
{
    cf_free(e->id);
    cf_buf_deinit(&e->path);
    cf_free(e);
}

/* One item is one conversation done. */
static void tell_one(cf_runner *runner)
{
    char *item = cf_alloc(1);
    if (item != NULL) {
        cf_runner_tell(runner, item);
    }
}

static cf_status write_one(cf_exporter *ex, cf_uuid id, cf_os_out *out, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = cf_export_conv(ex, id, &text, err);
    CF_THEN(st, cf_os_out_put(out, cf_buf_cstr(&text), text.n, err));
    cf_buf_deinit(&text);
    return st;
}

static cf_status run_export(void *ud, cf_runner *runner, cf_error *err)
{
    export *e = ud;
    cf_exporter *ex;
    cf_os_out out;
    cf_cancel *cancel = cf_runner_cancel_flag(runner);
    CF_TRY(cf_app_may(e->app, err));
    CF_TRY(cf_store_flush(e->app->store, FLUSH_MS, err));
    CF_TRY(cf_export_begin(&ex, e->app->store, &e->options, err));
    cf_status st = cf_os_out_open(&out, cf_buf_cstr(&e->path), err);
    if (st == CF_OK) {
        for (size_t i = 0; st == CF_OK && i < e->n; i++) {
            st = atomic_load(cancel) ? cf_fail(err, CF_ECANCELLED, "stopped")
                                     : write_one(ex, e->id[i], &out, err);
            tell_one(runner);
        }
        e->n_bytes = out.n;
        st = cf_os_out_close(&out, st, 0600, err);
    }
    cf_export_end(ex);
    return st;
}

static void take_export(void *ud, void *item)
{
    export *e = ud;
    e->n_done++;
    cf_free(item);
}

static void export_progress(const void *ud, cf_buf *out)
{
    const export *e = ud;
    cf_buf_addf(out, "%zu of %zu", e->n_done, e->n);
}

static void end_export(void *ud, cf_status status, const cf_error *err)
{
    export *e = ud;
    (void)err; /* the workbench reports it */
    if (status == CF_OK) {
        cf_app_say(e->app, CF_STYLE_OK, "%s: %zu conversation%s as %s, %llu bytes", e->name, e->n,
                   e->n == 1 ? "" : "s", cf_format_name(e->options.format),
                   (unsigned long long)e->n_bytes);
    } else if (status == CF_ECANCELLED) {
        cf_app_say(e->app, CF_STYLE_WARNING, "stopped: nothing was written");
    }
    free_export(e);
}

static cf_status prepare(export *e, const char *arg, const cf_uuid *id, size_t n, cf_error *err)
{
    CF_TRY(cf_app_may(e->app, err));
    snprintf(e->name, sizeof e->name, "%s", arg);
    if (!take_format(e->name, &e->options.format)) {
        e->options.format = format_of(e->name);
    }
    if (!cf_format_writes(e->options.format)) {
        return cf_fail(err, CF_EINVAL, "%s can only be imported",
                       cf_format_name(e->options.format));
    }
    cf_paths_expand(&e->path, e->name);
    CF_TRY(cf_buf_check(&e->path, err));
    e->id = cf_calloc(n, sizeof *e->id);
    if (e->id == NULL) {
        return cf_oom(err);
    }
    memcpy(e->id, id, n * sizeof *id);
    e->n = n;
    return CF_OK;
}

/* Asks in the ":" line: Enter says yes. */
static void ask_over(cf_app *app, const char *name, const char *arg)
{
    char line[600];
    snprintf(line, sizeof line, "export! %s", arg);
    begin_line(app, line);
    cf_app_say(app, CF_STYLE_WARNING, "%.80s exists: Enter overwrites it, Esc cancels", name);
}

static void export_to(cf_app *app, const char *arg, bool overwrites)
{
    cf_error err;
    cf_uuid one;
    size_t n;
    struct stat there;
    const cf_uuid *id = choose(app, &one, &n);
    if (id == NULL) {
        cf_app_say(app, CF_STYLE_WARNING, "there is nothing to export");
        return;
    }
    if (arg[0] == '\0') {
        char line[128];
        suggest(app, n, line, sizeof line);
        begin_line(app, line);
        return;
    }
    export *e = cf_calloc(1, sizeof *e);
    if (e == NULL) {
        cf_app_say(app, CF_STYLE_ERROR, "out of memory");
        return;
    }
    e->app = app;
    cf_status st = prepare(e, arg, id, n, &err);
    if (st == CF_OK && !overwrites && stat(cf_buf_cstr(&e->path), &there) == 0) {
        ask_over(app, e->name, arg);
        free_export(e);
        return;
    }
    const cf_task task = {.name = "exporting",
                          .run = run_export,
                          .take = take_export,
                          .progress = export_progress,
                          .end = end_export,
                          .free_item = cf_free,
                          .ud = e};
    CF_THEN(st, cf_lab_start_task(app->lab, &task, &err));
    if (st != CF_OK) {
        free_export(e);
        cf_app_error(app, &err);
    }
}

static bool has_store(cf_app *app)
{
    if (app->store == NULL) {
        cf_app_say(app, CF_STYLE_WARNING, "nothing is saved without a database; :w writes a turn");
    }
    return app->store != NULL;
}

void cf_cmd_export(cf_app *app, const char *arg)
{
    if (has_store(app)) {
        export_to(app, arg, false);
    }
}

void cf_cmd_export_over(cf_app *app, const char *arg)
{
    if (has_store(app)) {
        export_to(app, arg, true);
    }
}

/* ---- import ------------------------------------------------------------- */

typedef struct import {
    cf_app *app;
    cf_lab *lab;
    char name[512];
    cf_buf path;
    cf_format format;
    bool guesses; /* no format was named */
    cf_import_report report;
    cf_import_report so_far; /* as the interface knows it */
    cf_buf notes;            /* of records that were left out */
} import;

static void note(void *ud, uint64_t line, const char *text)
{
    import *m = ud;
    cf_buf_addf(&m->notes, "%s, line %llu: %s\n", m->name, (unsigned long long)line, text);
}

static void tell_progress(void *ud, const cf_import_report *so_far)
{
    const import *m = ud;
    cf_import_report *item = cf_alloc(sizeof *item);
    if (item != NULL) {
        *item = *so_far;
        cf_lab_tell(m->lab, item);
    }
}

static cf_status run_import(void *ud, cf_runner *runner, cf_error *err)
{
    import *m = ud;
    const cf_import_options opts = {.format = m->format,
                                    .guesses = m->guesses,
                                    .name = m->name,
                                    .note = note,
                                    .progress = tell_progress,
                                    .ud = m,
                                    .cancel = cf_runner_cancel_flag(runner)};
    return cf_import_file(m->app->store, cf_buf_cstr(&m->path), &opts, &m->report, err);
}

static void take_import(void *ud, void *item)
{
    import *m = ud;
    m->so_far = *(const cf_import_report *)item;
    cf_free(item);
}

static void import_progress(const void *ud, cf_buf *out)
{
    const import *m = ud;
    cf_buf_addf(out, "%zu conversations, %zu turns", m->so_far.n_new + m->so_far.n_known,
                m->so_far.n_turns);
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
    char left_out[64] = "";
    (void)err; /* the workbench reports it */
    if (m->notes.n != 0) {
        cf_buf_adds(&m->app->log, cf_buf_cstr(&m->notes));
    }
    if (r->n_bad != 0) {
        snprintf(left_out, sizeof left_out, "; %zu left out, @ says why", r->n_bad);
    }
    if (status == CF_OK || status == CF_ECANCELLED) {
        cf_app_say(m->app, r->n_bad != 0 ? CF_STYLE_WARNING : CF_STYLE_OK,
                   "%s%zu new and %zu known conversations, %zu turns added%s, "
                   "%zu duplicates refused%s%s%s",
                   status == CF_OK ? "" : "stopped: ", r->n_new, r->n_known, r->n_turns,
                   r->n_turns + r->n_tagged != 0 ? " (u: undo)" : "", r->n_skipped, left_out,
                   r->read_as[0] != '\0' ? "; read as " : "", r->read_as);
    }
    if (r->n_turns + r->n_tagged != 0) {
        cf_lab_add_undo(m->lab, CF_LAB_UNDO_STORE, (cf_uuid){{0}});
    }
    cf_views[CF_VIEW_LIBRARY]->stale(m->app);
    free_import(m);
}

static cf_status start_import(cf_app *app, const char *arg, cf_error *err)
{
    import *m = cf_calloc(1, sizeof *m);
    if (m == NULL) {
        return cf_oom(err);
    }
    m->app = app;
    m->lab = app->lab;
    snprintf(m->name, sizeof m->name, "%s", arg);
    m->guesses = !take_format(m->name, &m->format);
    cf_paths_expand(&m->path, m->name);
    cf_status st = cf_buf_check(&m->path, err);
    if (st == CF_OK && !m->guesses && !cf_format_reads(m->format)) {
        st = cf_fail(err, CF_EINVAL, "%s can only be exported", cf_format_name(m->format));
    }
    const cf_task task = {.name = "importing",
                          .run = run_import,
                          .take = take_import,
                          .progress = import_progress,
                          .end = end_import,
                          .free_item = cf_free,
                          .ud = m};
    CF_THEN(st, cf_lab_start_task(app->lab, &task, err));
    if (st != CF_OK) {
        free_import(m);
    }
    return st;
}

void cf_cmd_import(cf_app *app, const char *arg)
{
    cf_error err;
    if (!has_store(app)) {
        return;
    }
    if (arg[0] == '\0') {
        begin_line(app, "import ");
    } else if (start_import(app, arg, &err) == CF_OK) {
        app->is_dirty = true;
    } else {
        cf_app_error(app, &err);
    }
}
