/*
 * work_journal.c - reads and appends to the journal of a work queue.
 *
 * Always true:
 *   1. The file's first `end` bytes are whole lines; a write that fails is
 *      cut off again.
 *   2. While it is open, this process holds a write lock on all of it.
 */
#include "core/backend/work_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/base/os.h"
#include "core/base/os_append.h"
#include "core/json/json_writer.h"

enum { JOURNAL_MAX = 1 << 30 };

static cf_status system_error(const cf_work__journal *j, int code, cf_error *err)
{
    char why[CF_OS_WHY];
    return cf_fail(err, CF_EIO, "%.120s: %s", j->path, cf_os_why(why, code));
}

/* ---- reading ------------------------------------------------------------ */

static cf_status read_line(cf_work__journal *j, cf_str line, size_t n_line, cf_error *err)
{
    json_t *v = NULL;
    cf_error why;
    cf_status st = cf_json_read(&v, line.p, line.n, &why);
    if (st == CF_ENOMEM) {
        return cf_oom_for(err, "the journal");
    }
    const char *key = json_string_value(json_object_get(v, "key"));
    json_t *result = json_object_get(v, "result");
    if (key == NULL || result == NULL) {
        st = cf_fail(err, CF_EFORMAT,
                     "%.120s: line %zu is not a journal's: it needs \"key\" "
                     "and \"result\"",
                     j->path, n_line);
    } else if (json_object_set(j->old, key, result) != 0) {
        st = cf_oom_for(err, "the journal");
    }
    json_decref(v);
    return st;
}

static cf_status read_lines(cf_work__journal *j, cf_str text, cf_error *err)
{
    size_t n_line = 0;
    while (j->end < text.n) {
        const char *p = text.p + j->end;
        const char *nl = memchr(p, '\n', text.n - (size_t)j->end);
        if (nl == NULL) {
            break; /* cut short: the job is done again */
        }
        CF_TRY(read_line(j, cf_str_make(p, (size_t)(nl - p)), ++n_line, err));
        j->end += (uint64_t)(nl - p) + 1;
    }
    return CF_OK;
}

static cf_status lock(const cf_work__journal *j, cf_error *err)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(j->fd, F_SETLK, &all) == 0) {
        return CF_OK;
    }
    return errno == EACCES || errno == EAGAIN
               ? cf_fail(err, CF_EBUSY, "%.120s: another program has it open", j->path)
               : system_error(j, errno, err);
}

static cf_status read_all(cf_work__journal *j, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    char piece[16384];
    cf_status st = CF_OK;
    ssize_t n;
    while (st == CF_OK && (n = read(j->fd, piece, sizeof piece)) != 0) {
        if (n < 0 && errno != EINTR) {
            st = system_error(j, errno, err);
        } else if (n > 0) {
            cf_buf_add(&text, piece, (size_t)n);
            st = text.n > JOURNAL_MAX ? cf_fail(err, CF_ELIMIT, "%.120s: more than 1 GiB", j->path)
                                      : cf_buf_check(&text, err);
        }
    }
    CF_THEN(st, read_lines(j, cf_buf_str(&text), err));
    if (st == CF_OK && j->end < text.n && ftruncate(j->fd, (off_t)j->end) != 0) {
        st = system_error(j, errno, err);
    }
    cf_buf_deinit(&text);
    return st;
}

cf_status cf_work__journal_open(cf_work__journal *j, const char *path, cf_error *err)
{
    memset(j, 0, sizeof *j);
    j->fd = -1;
    j->path = path;
    j->old = json_object();
    if (j->old == NULL) {
        return cf_oom_for(err, "the journal");
    }
    if (path == NULL) {
        return CF_OK;
    }
    CF_TRY(cf_os_append_open(&j->fd, path, err));
    CF_TRY(lock(j, err));
    return read_all(j, err);
}

void cf_work__journal_close(cf_work__journal *j)
{
    json_decref(j->old);
    if (j->fd >= 0) {
        close(j->fd); /* unlocks it */
    }
    memset(j, 0, sizeof *j);
    j->fd = -1;
}

const json_t *cf_work__journal_find(const cf_work__journal *j, cf_str key)
{
    return json_object_getn(j->old, key.p, key.n);
}

/* ---- writing ------------------------------------------------------------ */

static cf_status write_all(const cf_work__journal *j, cf_str text, cf_error *err)
{
    for (size_t at = 0; at < text.n;) {
        ssize_t n = write(j->fd, text.p + at, text.n - at);
        if (n < 0 && errno != EINTR) {
            return system_error(j, errno, err);
        }
        at += n > 0 ? (size_t)n : 0;
    }
    return fsync(j->fd) == 0 ? CF_OK : system_error(j, errno, err);
}

cf_status cf_work__journal_add(cf_work__journal *j, cf_str key, cf_str result, cf_error *err)
{
    if (j->fd < 0) {
        return CF_OK;
    }
    cf_buf line = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &line);
    cf_jw_object(&w, NULL);
    cf_jw_str(&w, "key", key);
    cf_jw_raw(&w, "result", result);
    cf_jw_end(&w);
    cf_buf_addc(&line, '\n');
    cf_status st = cf_jw_finish(&w, err);
    if (st == CF_OK) {
        st = write_all(j, cf_buf_str(&line), err);
        if (st == CF_OK) {
            j->end += line.n;
        } else {
            int cut = ftruncate(j->fd, (off_t)j->end);
            (void)cut; /* the next open cuts it as well */
        }
    }
    cf_buf_deinit(&line);
    return st;
}
