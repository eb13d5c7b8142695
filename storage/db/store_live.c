/*
 * store_live.c - finds out which programs are still writing.
 *
 * A store that streams keeps a file "PATH-writer-NAME" locked; the system
 * gives the lock up when the program ends, however it ends.  A turn that is
 * "streaming" under a name whose file can be locked by us, or is gone, was
 * interrupted.  Names are never used twice.
 */
#if defined(__linux__) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE /* flock */
#elif defined(__APPLE__)
#define _DARWIN_C_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/uuid.h"
#include "storage/db/store_int.h"

static cf_status file_name(const cf_store *s, cf_str writer, cf_buf *out, cf_error *err)
{
    cf_buf_addf(out, "%s-writer-%.*s", s->path, (int)writer.n, writer.p);
    return cf_buf_check(out, err);
}

cf_status cf_live__claim(cf_store *s, cf_error *err)
{
    if (s->lock_fd >= 0) {
        return CF_OK;
    }
    char name[CF_UUID_TEXT + 1];
    cf_uuid_format(name, cf_uuid_new());
    cf_buf path = CF_BUF_INIT;
    CF_TRY(file_name(s, cf_str_from(name), &path, err));
    int fd = open(path.p, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        (void)unlink(path.p);
        (void)close(fd);
        fd = -1;
    }
    cf_buf_deinit(&path);
    if (fd < 0) {
        return cf_fail(err, CF_EIO,
                       "the folder of the database is read-only "
                       "or full");
    }
    s->lock_fd = fd;
    memcpy(s->writer, name, sizeof name);
    return CF_OK;
}

void cf_live__release(cf_store *s)
{
    if (s->lock_fd < 0) {
        return;
    }
    cf_buf path = CF_BUF_INIT;
    cf_error ignored;
    if (file_name(s, cf_str_from(s->writer), &path, &ignored) == CF_OK) {
        (void)unlink(path.p); /* if it stays, it is found unlocked */
    }
    cf_buf_deinit(&path);
    (void)close(s->lock_fd);
    s->lock_fd = -1;
}

/* Our names are UUIDs; anything else in a column must not become a path. */
static bool is_name(cf_str writer)
{
    cf_uuid id;
    return cf_uuid_parse(&id, writer.p, writer.n);
}

bool cf_live__is_alive(const cf_store *s, cf_str writer)
{
    if (!is_name(writer)) {
        return false;
    }
    cf_buf path = CF_BUF_INIT;
    cf_error ignored;
    bool is_alive = true; /* where it is not known, too: leave it alone */
    if (file_name(s, writer, &path, &ignored) == CF_OK) {
        int fd = open(path.p, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0) {
            is_alive = errno != ENOENT;
        } else {
            if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
                is_alive = false;
                (void)unlink(path.p); /* of a program that ended */
            }
            (void)close(fd);
        }
    }
    cf_buf_deinit(&path);
    return is_alive;
}

/* The next streaming turn after *id whose writer has ended; 0: none. */
static cf_status next_dead(cf_store *s, cf_sql *sql, cf_arena *arena, int64_t *id, cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row = true;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT id, writer FROM turn INDEXED BY "
                         "turn_streaming WHERE status = 'streaming' AND "
                         "id > ? ORDER BY id",
                         "i", *id));
    *id = 0;
    for (;;) {
        CF_TRY(cf_sql__step(sql, st, &has_row, err));
        if (!has_row) {
            return CF_OK;
        }
        cf_arena_reset(arena);
        cf_str writer = cf_sql__str(st, 1, arena);
        if (arena->failed) {
            cf_sql__done(st);
            return cf_sql__oom(err);
        }
        if (!cf_live__is_alive(s, writer)) {
            *id = sqlite3_column_int64(st, 0);
            cf_sql__done(st);
            return CF_OK;
        }
    }
}

cf_status cf_live__recover(cf_store *s, cf_sql *sql, cf_error *err)
{
    int64_t id = 0;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_status st = next_dead(s, sql, &arena, &id, err);
    if (st == CF_OK && id != 0) {
        st = cf_sql__script(sql, "BEGIN IMMEDIATE", err);
        bool is_open = st == CF_OK;
        /* Looked up again under the lock: another process may be at it. */
        id = 0;
        while (st == CF_OK) {
            st = next_dead(s, sql, &arena, &id, err);
            if (st != CF_OK || id == 0) {
                break;
            }
            st = cf_stream__salvage(sql, id, err);
        }
        CF_THEN(st, cf_sql__script(sql, "COMMIT", err));
        if (st != CF_OK && is_open) {
            cf_sql__try(sql, "ROLLBACK");
        }
    }
    cf_arena_deinit(&arena);
    return st;
}
