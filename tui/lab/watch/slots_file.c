/*
 * slots_file.c - a server's slots in a file.
 */
#include "tui/lab/watch/slots_file.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "core/base/os.h"
#include "core/json/json_writer.h"

enum { FILE_MAX = 1 << 20 };

static cf_status put_path(cf_buf *out, const char *db, cf_error *err)
{
    cf_buf_addf(out, "%s-slots", db);
    return cf_buf_check(out, err);
}

void cf_slots_write(const char *db, const char *server, cf_str slots)
{
    cf_buf path = CF_BUF_INIT, text = CF_BUF_INIT;
    cf_error ignored;
    cf_jw w;
    cf_jw_init(&w, &text);
    cf_jw_object(&w, NULL);
    cf_jw_int(&w, "pid", getpid());
    cf_jw_text(&w, "server", server);
    cf_jw_raw(&w, "slots", slots);
    cf_jw_end(&w);
    cf_buf_addc(&text, '\n');
    cf_status st = cf_buf_check(&text, &ignored);
    CF_THEN(st, put_path(&path, db, &ignored));
    CF_THEN(st, cf_os_write_file(cf_buf_cstr(&path), cf_buf_cstr(&text), text.n, 0600, &ignored));
    cf_ignore(st);
    cf_buf_deinit(&path);
    cf_buf_deinit(&text);
}

void cf_slots_remove(const char *db)
{
    cf_buf path = CF_BUF_INIT;
    cf_error ignored;
    if (put_path(&path, db, &ignored) == CF_OK) {
        (void)unlink(cf_buf_cstr(&path));
    }
    cf_buf_deinit(&path);
}

/* A process that may not be signalled runs, too. */
static bool is_running(json_int_t pid)
{
    return pid > 0 && pid <= INT32_MAX && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

json_t *cf_slots_read(const char *db)
{
    cf_buf path = CF_BUF_INIT, text = CF_BUF_INIT;
    cf_error ignored;
    json_t *v = NULL;
    cf_status st = put_path(&path, db, &ignored);
    CF_THEN(st, cf_os_read_file(&text, cf_buf_cstr(&path), FILE_MAX, &ignored));
    CF_THEN(st, cf_json_read(&v, cf_buf_cstr(&text), text.n, &ignored));
    if (st != CF_OK || !is_running(json_integer_value(json_object_get(v, "pid")))) {
        json_decref(v);
        v = NULL;
    }
    cf_buf_deinit(&path);
    cf_buf_deinit(&text);
    return v;
}
