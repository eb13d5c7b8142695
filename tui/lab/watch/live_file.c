/*
 * live_file.c - a folder of replies that are not stored yet.
 */
#include "tui/lab/watch/live_file.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/base/os.h"
#include "core/json/json_writer.h"

enum { FILE_MAX = 4 << 20, NAMES_MAX = 10000 };

static cf_status put_folder(cf_buf *out, const char *db, cf_error *err)
{
    cf_buf_addf(out, "%s-live", db);
    return cf_buf_check(out, err);
}

static cf_status put_path(cf_buf *out, const char *db, cf_uuid exchange, cf_error *err)
{
    char id[CF_UUID_TEXT + 1];
    cf_uuid_format(id, exchange);
    cf_buf_addf(out, "%s-live/%s", db, id);
    return cf_buf_check(out, err);
}

/* A process that may not be signalled runs, too. */
static bool is_running(json_int_t pid)
{
    return pid > 0 && pid <= INT32_MAX && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

/* The file's object, if its writer still runs; NULL. */
static json_t *read_file(const char *path)
{
    cf_buf text = CF_BUF_INIT;
    cf_error ignored;
    json_t *v = NULL;
    cf_status st = cf_os_read_file(&text, path, FILE_MAX, &ignored);
    CF_THEN(st, cf_json_read(&v, cf_buf_cstr(&text), text.n, &ignored));
    if (st != CF_OK || !is_running(json_integer_value(json_object_get(v, "pid")))) {
        json_decref(v);
        v = NULL;
    }
    cf_buf_deinit(&text);
    return v;
}

/* ---- the folder --------------------------------------------------------- */

void cf_live_begin(const char *db)
{
    cf_buf folder = CF_BUF_INIT, names = CF_BUF_INIT;
    cf_error ignored;
    cf_status st = put_folder(&folder, db, &ignored);
    CF_THEN(st, cf_os_make_dirs(cf_buf_cstr(&folder), &ignored));
    CF_THEN(st, cf_os_list_dir(&names, cf_buf_cstr(&folder), NAMES_MAX, &ignored));
    for (size_t at = 0; st == CF_OK && at < names.n; at += strlen(names.p + at) + 1) {
        cf_buf path = CF_BUF_INIT;
        cf_buf_addf(&path, "%s/%s", cf_buf_cstr(&folder), names.p + at);
        json_t *v = read_file(cf_buf_cstr(&path));
        if (v == NULL && !path.failed) {
            (void)unlink(cf_buf_cstr(&path));
        }
        json_decref(v);
        cf_buf_deinit(&path);
    }
    cf_buf_deinit(&names);
    cf_buf_deinit(&folder);
}

void cf_live_end(const char *db)
{
    cf_buf folder = CF_BUF_INIT;
    cf_error ignored;
    if (put_folder(&folder, db, &ignored) == CF_OK) {
        (void)rmdir(cf_buf_cstr(&folder));
    }
    cf_buf_deinit(&folder);
}

/* ---- a reply ------------------------------------------------------------ */

void cf_live_write(const char *db, cf_uuid exchange, const json_t *message)
{
    cf_buf path = CF_BUF_INIT, text = CF_BUF_INIT, json = CF_BUF_INIT;
    cf_error ignored;
    cf_jw w;
    cf_json_write(&json, message);
    cf_jw_init(&w, &text);
    cf_jw_object(&w, NULL);
    cf_jw_int(&w, "pid", getpid());
    cf_jw_raw(&w, "message", cf_buf_str(&json));
    cf_jw_end(&w);
    cf_status st = cf_jw_finish(&w, &ignored);
    CF_THEN(st, cf_buf_check(&json, &ignored));
    CF_THEN(st, put_path(&path, db, exchange, &ignored));
    CF_THEN(st, cf_os_write_file(cf_buf_cstr(&path), text.p, text.n, 0600, &ignored));
    cf_ignore(st);
    cf_buf_deinit(&path);
    cf_buf_deinit(&text);
    cf_buf_deinit(&json);
}

void cf_live_remove(const char *db, cf_uuid exchange)
{
    cf_buf path = CF_BUF_INIT;
    cf_error ignored;
    if (put_path(&path, db, exchange, &ignored) == CF_OK) {
        (void)unlink(cf_buf_cstr(&path));
    }
    cf_buf_deinit(&path);
}

json_t *cf_live_read(const char *db, cf_uuid exchange)
{
    cf_buf path = CF_BUF_INIT;
    cf_error ignored;
    json_t *v = NULL, *message = NULL;
    if (put_path(&path, db, exchange, &ignored) == CF_OK) {
        v = read_file(cf_buf_cstr(&path));
        message = json_incref(json_object_get(v, "message"));
    }
    json_decref(v);
    cf_buf_deinit(&path);
    return message;
}
