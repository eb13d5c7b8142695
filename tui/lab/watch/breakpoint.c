/*
 * breakpoint.c - the folder of requests that wait.
 */
#include "tui/lab/watch/breakpoint.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/os.h"

enum { LOOK_MS = 20, NAMES_MAX = 4 * CF_BREAK_HELD_MAX };

static const char waits[] = ".request", goes[] = ".send", falls[] = ".drop";

void cf_break_folder(cf_buf *out, const char *db)
{
    cf_buf_addf(out, "%s-break", db);
}

/* ---- files -------------------------------------------------------------- */

/* An id is part of a file's name: letters, digits and "-". */
static bool is_id(const char *id)
{
    return id[0] != '\0' && id[strspn(id, "0123456789abcdefghijklmnopqrstuvwxyz-")] == '\0';
}

static cf_status no_such(const char *id, cf_error *err)
{
    return cf_fail(err, CF_ENOTFOUND, "no request '%.60s' waits", id);
}

static cf_status put_path(cf_buf *out, const char *folder, const char *id, const char *end,
                          cf_error *err)
{
    cf_buf_addf(out, "%s/%s%s", folder, id, end);
    return cf_buf_check(out, err);
}

static cf_status write_one(const char *folder, const char *id, const char *end, cf_str text,
                           cf_error *err)
{
    cf_buf path = CF_BUF_INIT;
    cf_status st = put_path(&path, folder, id, end, err);
    CF_THEN(st, cf_os_write_file(cf_buf_cstr(&path), text.p, text.n, 0600, err));
    cf_buf_deinit(&path);
    return st;
}

static bool read_one(const char *folder, const char *id, const char *end, cf_buf *out)
{
    cf_buf path = CF_BUF_INIT;
    cf_error ignored;
    bool ok = put_path(&path, folder, id, end, &ignored) == CF_OK &&
              cf_os_read_file(out, cf_buf_cstr(&path), CF_BREAK_BODY_MAX, &ignored) == CF_OK;
    cf_buf_deinit(&path);
    return ok;
}

static void remove_one(const char *folder, const char *id, const char *end)
{
    cf_buf path = CF_BUF_INIT;
    cf_error ignored;
    if (put_path(&path, folder, id, end, &ignored) == CF_OK) {
        (void)unlink(cf_buf_cstr(&path));
    }
    cf_buf_deinit(&path);
}

static void remove_all(const char *folder, const char *id)
{
    remove_one(folder, id, waits);
    remove_one(folder, id, goes);
    remove_one(folder, id, falls);
}

/* ---- setting ------------------------------------------------------------ */

cf_status cf_break_set(const char *folder, const char *text, cf_error *err)
{
    CF_TRY(cf_os_make_dirs(folder, err));
    return write_one(folder, "on", "", cf_str_from(text), err);
}

bool cf_break_is_set(const char *folder, cf_buf *text)
{
    return read_one(folder, "on", "", text);
}

void cf_break_clear(const char *folder)
{
    remove_one(folder, "on", "");
}

/* ---- those that wait ---------------------------------------------------- */

cf_status cf_break_held(const char *folder, cf_buf *ids, cf_error *err)
{
    cf_buf names = CF_BUF_INIT;
    const size_t n_end = sizeof waits - 1;
    cf_status st = cf_os_list_dir(&names, folder, NAMES_MAX, err);
    if (st == CF_ENOTFOUND) {
        st = CF_OK; /* no breakpoint was ever set */
    }
    for (size_t at = 0; st == CF_OK && at < names.n; at += strlen(names.p + at) + 1) {
        const char *name = names.p + at;
        size_t n = strlen(name);
        if (n > n_end && strcmp(name + n - n_end, waits) == 0) {
            cf_buf_add(ids, name, n - n_end);
            cf_buf_addc(ids, '\0');
        }
    }
    CF_THEN(st, cf_buf_check(ids, err));
    cf_buf_deinit(&names);
    return st;
}

cf_status cf_break_read(const char *folder, const char *id, cf_buf *body, cf_error *err)
{
    return is_id(id) && read_one(folder, id, waits, body) ? CF_OK : no_such(id, err);
}

static cf_status let_go(const char *folder, const char *id, const char *end, cf_str body,
                        cf_error *err)
{
    cf_buf held = CF_BUF_INIT;
    cf_status st = cf_break_read(folder, id, &held, err);
    cf_buf_deinit(&held);
    CF_THEN(st, write_one(folder, id, end, body, err));
    return st;
}

cf_status cf_break_send(const char *folder, const char *id, cf_str body, cf_error *err)
{
    return let_go(folder, id, goes, body, err);
}

cf_status cf_break_drop(const char *folder, const char *id, cf_error *err)
{
    return let_go(folder, id, falls, cf_str_from(""), err);
}

/* ---- holding ------------------------------------------------------------ */

void cf_break_begin(const char *folder)
{
    cf_buf ids = CF_BUF_INIT;
    cf_error ignored;
    if (cf_break_held(folder, &ids, &ignored) == CF_OK) {
        for (size_t at = 0; at < ids.n; at += strlen(ids.p + at) + 1) {
            remove_all(folder, ids.p + at);
        }
    }
    cf_buf_deinit(&ids);
}

static bool holds(cf_str in, cf_str what)
{
    for (size_t i = 0; i + what.n <= in.n; i++) {
        if (what.n == 0 || memcmp(in.p + i, what.p, what.n) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the breakpoint is set for this body. */
static bool is_for(const char *folder, cf_str body)
{
    cf_buf text = CF_BUF_INIT;
    bool yes = cf_break_is_set(folder, &text) && holds(body, cf_buf_str(&text));
    cf_buf_deinit(&text);
    return yes;
}

static bool is_there(const char *folder, const char *id, const char *end)
{
    cf_buf text = CF_BUF_INIT;
    bool yes = read_one(folder, id, end, &text);
    cf_buf_deinit(&text);
    return yes;
}

static cf_break_how wait_for(const char *folder, const char *id, cf_str request,
                             bool (*is_over)(void *ud), void *ud, cf_buf *body)
{
    const struct timespec slice = {0, LOOK_MS * 1000000L};
    for (;;) {
        if (is_there(folder, id, falls)) {
            return CF_BREAK_DROPPED;
        }
        if (read_one(folder, id, goes, body)) {
            return CF_BREAK_SENT;
        }
        if (!is_there(folder, "on", "")) {
            cf_buf_add(body, request.p, request.n);
            return CF_BREAK_SENT;
        }
        if (is_over(ud)) {
            return CF_BREAK_LEFT;
        }
        nanosleep(&slice, NULL);
    }
}

cf_break_how cf_break_hold(const char *folder, const char *id, cf_str request,
                           bool (*is_over)(void *ud), void *ud, cf_buf *body)
{
    cf_error ignored;
    if (!is_id(id) || !is_for(folder, request) ||
        write_one(folder, id, waits, request, &ignored) != CF_OK) {
        return CF_BREAK_PASSED;
    }
    cf_break_how how = wait_for(folder, id, request, is_over, ud, body);
    remove_all(folder, id);
    return how;
}
