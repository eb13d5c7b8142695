/*
 * template_file.c - a file is looked at twice a second: by its time, its size
 * and its inode, since editors replace files.
 */
#include "tui/view/templates/template_file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/os.h"
#include "storage/store.h"
#include "tui/lab/lab.h"
#include "tui/lab/prompt/lab_prompt.h"
#include "tui/lab/state/lab_task.h"
#include "tui/lab/talk/lab_send.h"
#include "tui/lab/talk/lab_template.h"

enum { EVERY_MS = 500, TEMPLATE_MAX = 16 << 20 };

const char cf_template_edited[] = " (edited)";

size_t cf_template_plain_name(const char *name)
{
    size_t n = strlen(name), m = strlen(cf_template_edited);
    return n > m && strcmp(name + n - m, cf_template_edited) == 0 ? n - m : n;
}

/* The state of the file that a template's name is the path of. */
static bool look_at(const char *name, struct stat *s)
{
    char path[512];
    size_t n = cf_template_plain_name(name);
    if (n == 0 || n >= sizeof path) {
        return false;
    }
    memcpy(path, name, n);
    path[n] = '\0';
    return stat(path, s) == 0 && S_ISREG(s->st_mode);
}

bool cf_template_is_file(const char *name)
{
    struct stat s;
    return look_at(name, &s);
}

bool cf_template_use(cf_app *app, const char *why, const char *name, cf_str source)
{
    cf_error err;
    if (cf_lab_set_template(app->lab, name, source, &err) != CF_OK) {
        cf_app_error(app, &err);
        return false;
    }
    const cf_prompt_model *m = cf_lab_prompt(app->lab);
    if (m == NULL) {
        cf_lab_prompt_error(app->lab, &err);
        cf_app_say(app, err.code == CF_ENOTFOUND ? CF_STYLE_OK : CF_STYLE_WARNING, "%s; %s", why,
                   err.text);
    } else if (m->n == 0) {
        cf_app_say(app, CF_STYLE_OK, "%s; the prompt has %zu bytes now", why, m->prompt.text.n);
    } else {
        cf_app_say(app, CF_STYLE_OK,
                   "%s; of %zu tokens the cache keeps %zu (2 shows where they "
                   "part)",
                   why, m->n, m->n_kept);
    }
    return true;
}

void cf_template_keep(cf_app *app, const char *name, cf_str was, cf_str source)
{
    char hash[65];
    cf_error err;
    if (app->store == NULL || was.n == 0) {
        return;
    }
    cf_status st =
        cf_store_put_template(app->store, cf_str_from(name), was, cf_str_from(""), hash, &err);
    CF_THEN(st, cf_store_put_template(app->store, cf_str_from(name), source, cf_str_from(hash),
                                      NULL, &err));
    if (st != CF_OK && st != CF_EBUSY) {
        cf_app_error(app, &err);
    }
}

static bool is_same_file(const cf_watched_file *w, const struct stat *s)
{
    return w->has && w->size == (int64_t)s->st_size && w->inode == (uint64_t)s->st_ino &&
           w->at_s == (int64_t)s->st_mtim.tv_sec && w->at_ns == (int64_t)s->st_mtim.tv_nsec;
}

static void note(cf_watched_file *w, const struct stat *s)
{
    w->has = true;
    w->size = (int64_t)s->st_size;
    w->inode = (uint64_t)s->st_ino;
    w->at_s = (int64_t)s->st_mtim.tv_sec;
    w->at_ns = (int64_t)s->st_mtim.tv_nsec;
}

/* The file has another text now. */
static void read_again(cf_watched_file *w, cf_app *app, const char *name)
{
    cf_buf text = CF_BUF_INIT, why = CF_BUF_INIT, path = CF_BUF_INIT;
    const cf_lab_engine *e = cf_lab_engine_of(app->lab);
    cf_error err;
    cf_buf_add(&path, name, cf_template_plain_name(name));
    cf_status st = cf_os_read_file(&text, cf_buf_cstr(&path), TEMPLATE_MAX, &err);
    bool is_edited = strcmp(cf_buf_cstr(&path), name) != 0;
    bool is_same = st == CF_OK && cf_str_eq(cf_buf_str(&text), e->template_source);
    cf_buf_restart(&w->broken);
    w->is_news = true;
    if (st == CF_OK && !is_same) {
        cf_buf_addf(&why, "%s changed on the disk: in use", cf_buf_cstr(&path));
        cf_buf was = CF_BUF_INIT;
        cf_buf_add(&was, e->template_source.p, e->template_source.n);
        if (cf_template_use(app, cf_buf_cstr(&why), cf_buf_cstr(&path), cf_buf_str(&text))) {
            cf_template_keep(app, cf_buf_cstr(&path), cf_buf_str(&was), cf_buf_str(&text));
        } else {
            snprintf(err.text, sizeof err.text, "%s", app->notice.text);
            cf_buf_add(&w->broken, text.p, text.n);
            cf_app_say(app, CF_STYLE_ERROR,
                       "%s changed on the disk and does not compile: %s; the "
                       "text before it stays in use",
                       cf_buf_cstr(&path), err.text);
        }
        cf_buf_deinit(&was);
    } else if (is_same && is_edited) { /* it was written back */
        if (cf_lab_set_template(app->lab, cf_buf_cstr(&path), cf_buf_str(&text), &err) != CF_OK) {
            cf_app_error(app, &err);
        }
    }
    app->is_dirty = true;
    cf_buf_deinit(&text);
    cf_buf_deinit(&why);
    cf_buf_deinit(&path);
}

void cf_watched_file_step(cf_watched_file *w, cf_app *app)
{
    struct stat s;
    uint64_t now = cf_os_monotonic_us();
    bool is_due = app->term == NULL || now >= w->due_us;
    if (app->lab == NULL || !is_due || cf_lab_is_busy(app->lab) ||
        cf_lab_task_name(app->lab) != NULL) {
        return;
    }
    w->due_us = now + EVERY_MS * 1000;
    char name[300];
    snprintf(name, sizeof name, "%s", cf_lab_template_name(app->lab));
    if (!look_at(name, &s)) {
        w->has = false;
        return;
    }
    bool is_other = !w->has || strcmp(w->name, name) != 0;
    bool has_changed = !is_other && !is_same_file(w, &s);
    snprintf(w->name, sizeof w->name, "%s", name);
    note(w, &s);
    if (has_changed) {
        read_again(w, app, name);
    }
}

int cf_watched_file_wait_ms(const cf_watched_file *w)
{
    return w->has ? EVERY_MS : -1;
}
