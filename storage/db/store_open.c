/*
 * store_open.c - identifies and opens a database, and lends readers.
 *
 * SQLite's locks are POSIX record locks, which a process loses when it closes
 * any descriptor of the file.  So the header is read here only while no store
 * of this process has the file open; a file that one has open is ours anyway.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "storage/db/store_int.h"

/* ---- files this process has open ---------------------------------------- */

enum { FILES_MAX = 64 };

static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static struct open_file {
    uint64_t dev, ino;
    unsigned n;
} files[FILES_MAX];

/* The slot of a file, or NULL.  files_lock is held. */
static struct open_file *find_file(uint64_t dev, uint64_t ino)
{
    for (size_t i = 0; i < FILES_MAX; i++) {
        if (files[i].n != 0 && files[i].dev == dev && files[i].ino == ino) {
            return &files[i];
        }
    }
    return NULL;
}

static cf_status register_file(cf_store *s, cf_error *err)
{
    struct stat sb;
    if (stat(s->path, &sb) != 0) {
        return cf_fail(err, CF_EIO, "the database file cannot be opened");
    }
    s->dev = (uint64_t)sb.st_dev;
    s->ino = (uint64_t)sb.st_ino;
    pthread_mutex_lock(&files_lock);
    struct open_file *f = find_file(s->dev, s->ino);
    for (size_t i = 0; f == NULL && i < FILES_MAX; i++) {
        if (files[i].n == 0) {
            f = &files[i];
            f->dev = s->dev;
            f->ino = s->ino;
        }
    }
    if (f != NULL) {
        f->n++;
        s->is_registered = true;
    }
    pthread_mutex_unlock(&files_lock);
    return f != NULL ? CF_OK : cf_fail(err, CF_ELIMIT, "too many databases are open");
}

static void unregister_file(cf_store *s)
{
    if (s->is_registered) {
        pthread_mutex_lock(&files_lock);
        find_file(s->dev, s->ino)->n--;
        pthread_mutex_unlock(&files_lock);
        s->is_registered = false;
    }
}

/* ---- whose file it is --------------------------------------------------- */

static cf_status not_ours(cf_error *err)
{
    return cf_fail(err, CF_EFORMAT, "not a confab database; it was not touched");
}

/* Reads up to n bytes from the beginning of a file; SIZE_MAX if it cannot be
 * opened. */
static size_t read_head(const char *path, unsigned char *head, size_t n_max)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return SIZE_MAX;
    }
    size_t n = 0;
    while (n < n_max) {
        ssize_t got = read(fd, head + n, n_max - n);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            break;
        }
        n += (size_t)got;
    }
    (void)close(fd);
    return n;
}

static uint32_t be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

/* SQLite's file format, section 1.3: the magic string, and the application's
 * number in bytes 68 to 71. */
static cf_status check_header(const char *path, cf_error *err)
{
    unsigned char head[72];
    size_t n = read_head(path, head, sizeof head);
    if (n == SIZE_MAX) {
        return cf_fail(err, CF_EIO, "no permission to read the database");
    }
    if (n < sizeof head || memcmp(head, "SQLite format 3", 16) != 0 ||
        be32(head + 68) != CF_STORE_APP_ID) {
        return not_ours(err);
    }
    return CF_OK;
}

/* Whether the power failed while the file was being created: its journal says
 * that it had no pages, and SQLite will truncate it (file format, section 3). */
static bool is_half_made(const char *path)
{
    static const unsigned char magic[] = {0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7};
    enum { PAGES_BEFORE = 16, HEAD = 20 };
    unsigned char head[HEAD];
    cf_buf name = CF_BUF_INIT;
    cf_buf_addf(&name, "%s-journal", path);
    bool yes = !name.failed && read_head(cf_buf_cstr(&name), head, HEAD) == HEAD &&
               memcmp(head, magic, sizeof magic) == 0 && be32(head + PAGES_BEFORE) == 0;
    cf_buf_deinit(&name);
    return yes;
}

/* SQLite opens the files beside a database as they are, and would wait for ever
 * for the other end of a pipe. */
static cf_status check_beside(const char *path, cf_error *err)
{
    static const char *const ends[] = {"-journal", "-wal", "-shm"};
    cf_status st = CF_OK;
    for (size_t i = 0; st == CF_OK && i < sizeof ends / sizeof ends[0]; i++) {
        struct stat sb;
        cf_buf name = CF_BUF_INIT;
        cf_buf_addf(&name, "%s%s", path, ends[i]);
        st = cf_buf_check(&name, err);
        if (st == CF_OK && stat(cf_buf_cstr(&name), &sb) == 0 && !S_ISREG(sb.st_mode)) {
            st = cf_fail(err, CF_EIO, "the file that ends in %s is not a regular file", ends[i]);
        }
        cf_buf_deinit(&name);
    }
    return st;
}

/* CF_ENOTFOUND if the file does not exist; an empty file is a new database. */
static cf_status check_file(const char *path, bool *is_empty, cf_error *err)
{
    struct stat sb;
    *is_empty = false;
    if (stat(path, &sb) != 0) {
        char why[CF_OS_WHY];
        return errno == ENOENT || errno == ENOTDIR ? cf_fail(err, CF_ENOTFOUND, "no such file")
               : errno == EACCES ? cf_fail(err, CF_EIO, "no permission for its folder")
                                 : cf_fail(err, CF_EIO, "%s", cf_os_why(why, errno));
    }
    if (!S_ISREG(sb.st_mode)) {
        return not_ours(err);
    }
    CF_TRY(check_beside(path, err));
    *is_empty = sb.st_size == 0 || is_half_made(path);
    pthread_mutex_lock(&files_lock);
    bool is_known = find_file((uint64_t)sb.st_dev, (uint64_t)sb.st_ino) != NULL;
    cf_status st = *is_empty || is_known ? CF_OK : check_header(path, err);
    pthread_mutex_unlock(&files_lock);
    return st;
}

/* An empty file that only its owner may read, and its folder. */
static cf_status make_file(const char *path, cf_error *err)
{
    const char *slash = strrchr(path, '/');
    if (slash != NULL && slash != path) {
        char *folder = cf_strndup(path, (size_t)(slash - path));
        if (folder == NULL) {
            return cf_sql__oom(err);
        }
        cf_status st = cf_os_make_dirs(folder, err);
        cf_free(folder);
        CF_TRY(st);
    }
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno != EEXIST) {
        return cf_fail(err, CF_EIO,
                       errno == ENOSPC ? "the disk is full"
                                       : "the file cannot be created: its folder "
                                         "is read-only or not ours");
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return CF_OK;
}

/* ---- the writer's connection -------------------------------------------- */

static cf_status check_version(cf_store *s, cf_sql *sql, cf_error *err)
{
    int64_t version, app;
    CF_TRY(cf_sql__int(sql, &app, 0, err, "PRAGMA application_id", ""));
    CF_TRY(cf_sql__int(sql, &version, 0, err, "PRAGMA user_version", ""));
    if (app != CF_STORE_APP_ID && (app != 0 || version != 0)) {
        return not_ours(err);
    }
    if (version > cf_store__version()) {
        cf_fail(&s->refused, CF_EUNSUPPORTED,
                "the database was written by a newer confab (version %d, this "
                "one knows %d): it is open for reading only",
                (int)version, cf_store__version());
    }
    return cf_sql__refuse_computed(sql, err);
}

static cf_status prepare_writer(cf_store *s, cf_error *err)
{
    CF_TRY(check_version(s, &s->w, err));
    if (s->refused.code != CF_OK) {
        return CF_OK;
    }
    CF_TRY(cf_store__migrate(&s->w, s->path, 0, err));
    /* Only now, so that the header with our number is in the file itself. */
    CF_TRY(cf_sql__script(&s->w, "PRAGMA journal_mode=WAL", err));
    CF_TRY(cf_store__begin_upkeep(&s->w, err));
    if ((s->opts.flags & CF_STORE_NO_RECOVERY) == 0) {
        CF_TRY(cf_live__recover(s, &s->w, err));
    }
    return CF_OK;
}

/* Fails if the path does not lead to the file any more that was opened: what
 * is written to the old one would be lost. */
static cf_status check_same_file(const cf_store *s, cf_error *err)
{
    struct stat sb;
    if (!s->is_registered || (stat(s->path, &sb) == 0 && (uint64_t)sb.st_dev == s->dev &&
                              (uint64_t)sb.st_ino == s->ino)) {
        return CF_OK;
    }
    return cf_fail(err, CF_EIO, "the database file was removed or replaced");
}

cf_status cf_store__open_writer(cf_store *s, cf_error *err)
{
    CF_TRY(check_same_file(s, err));
    if (s->w.db != NULL) {
        return CF_OK;
    }
    bool is_empty;
    cf_status st = check_file(s->path, &is_empty, err);
    if (st == CF_ENOTFOUND && (s->opts.flags & CF_STORE_CREATE) != 0) {
        st = make_file(s->path, err);
    }
    CF_TRY(st);
    if (!s->is_registered) {
        CF_TRY(register_file(s, err));
    }
    st = cf_sql__open(&s->w, s->path, CF_SQL_WRITE, (int)s->opts.busy_ms, err);
    CF_THEN(st, prepare_writer(s, err));
    if (st != CF_OK || s->refused.code != CF_OK) {
        cf_sql__close(&s->w);
    }
    return st;
}

/* ---- readers ------------------------------------------------------------ */

static cf_status open_reader(cf_store *s, cf_sql *sql, cf_error *err)
{
    return cf_sql__open(sql, s->path, s->read_mode, (int)s->opts.busy_ms, err);
}

cf_status cf_store__take(cf_store *s, cf_reader **out, uint32_t max_ms, cf_error *err)
{
    pthread_mutex_lock(&s->lock);
    cf_reader *r = s->idle;
    if (r != NULL) {
        s->idle = r->next;
        s->n_idle--;
    }
    pthread_mutex_unlock(&s->lock);
    if (r == NULL) {
        r = cf_calloc(1, sizeof *r);
        if (r == NULL) {
            return cf_sql__oom(err);
        }
        cf_status st = open_reader(s, &r->sql, err);
        if (st != CF_OK) {
            cf_free(r);
            return st;
        }
    }
    r->sql.was_stopped = false;
    r->sql.deadline_us = cf_os_monotonic_us() + (uint64_t)(max_ms != 0 ? max_ms : 30000) * 1000;
    *out = r;
    return CF_OK;
}

void cf_store__give(cf_store *s, cf_reader *r)
{
    pthread_mutex_lock(&s->lock);
    /* If a transaction could not be ended because memory ran out, closing the
     * connection ends it. */
    bool is_kept = s->read_mode != CF_SQL_ALONE && s->n_idle < CF_STORE_MAX_IDLE &&
                   sqlite3_get_autocommit(r->sql.db) != 0;
    if (is_kept) {
        r->next = s->idle;
        s->idle = r;
        s->n_idle++;
    }
    pthread_mutex_unlock(&s->lock);
    if (!is_kept) {
        cf_sql__close(&r->sql);
        cf_free(r);
    }
}

cf_status cf_store__get_text(cf_store *s, const char *sql, cf_str key, cf_arena *arena, cf_str *out,
                             bool *found, cf_error *err)
{
    cf_reader *r;
    sqlite3_stmt *st;
    *found = false;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status status = cf_sql__query(&r->sql, &st, err, sql, "s", key);
    CF_THEN(status, cf_sql__step(&r->sql, st, found, err));
    if (status == CF_OK && *found) {
        *out = cf_sql__str(st, 0, arena);
        cf_sql__done(st);
        status = arena->failed ? cf_sql__oom(err) : CF_OK;
    }
    cf_store__give(s, r);
    return status;
}

/* Opens for reading only: the first reader shows whether that works. */
static cf_status open_reading(cf_store *s, cf_error *err)
{
    bool is_empty;
    CF_TRY(check_file(s->path, &is_empty, err));
    if (is_empty) {
        return not_ours(err);
    }
    if (!s->is_registered) {
        CF_TRY(register_file(s, err));
    }
    cf_reader *r;
    cf_status st = cf_store__take(s, &r, 0, err);
    if (st == CF_OK) {
        int64_t n;
        st = cf_sql__int(&r->sql, &n, 0, err, "SELECT count(*) FROM sqlite_schema", "");
        CF_THEN(st, check_version(s, &r->sql, err));
        cf_sql__close(&r->sql);
        cf_free(r);
    }
    if (st == CF_EIO && s->read_mode != CF_SQL_FROZEN) {
        /* Nothing can be made in its folder: the disk is full, or the folder
         * and the file are read-only. */
        s->read_mode = s->read_mode == CF_SQL_READ ? CF_SQL_ALONE : CF_SQL_FROZEN;
        return open_reading(s, err);
    }
    return st;
}

/* ---- opening and closing ------------------------------------------------ */

static cf_status new_store(cf_store **out, const char *path, const cf_store_options *opts,
                           cf_error *err)
{
    cf_store *s = cf_calloc(1, sizeof *s);
    if (s == NULL || (s->path = cf_strdup(path)) == NULL) {
        cf_free(s);
        return cf_sql__oom(err);
    }
    s->opts = opts != NULL ? *opts : (cf_store_options){0};
    if (s->opts.patience_ms == 0) {
        s->opts.patience_ms = 2000;
    }
    if (s->opts.busy_ms == 0) {
        s->opts.busy_ms = 5000;
    }
    if (s->opts.max_kept_bytes == 0) {
        s->opts.max_kept_bytes = UINT64_C(256) << 20;
    }
    s->lock_fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
#if !defined(__APPLE__)
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
#endif
    pthread_cond_init(&s->work, &attr);
    pthread_cond_init(&s->done, &attr);
    pthread_condattr_destroy(&attr);
    *out = s;
    return CF_OK;
}

static cf_status open_store(cf_store *s, cf_error *err)
{
    if ((s->opts.flags & CF_STORE_READ_ONLY) != 0) {
        cf_fail(&s->refused, CF_EUNSUPPORTED, "opened for reading only");
        return open_reading(s, err);
    }
    cf_error why = {0};
    cf_status st = cf_store__open_writer(s, &why);
    if (st == CF_OK && s->refused.code != CF_OK) {
        return open_reading(s, err);
    }
    if (st == CF_EIO || st == CF_EBUSY) {
        /* Perhaps it can still be read; writing is tried again later. */
        cf_error ignored;
        bool can_read = open_reading(s, &ignored) == CF_OK;
        if (can_read || (s->opts.flags & CF_STORE_KEEP_GOING) != 0) {
            s->is_failing = true;
            s->why = why;
            st = CF_OK;
        }
    }
    if (st != CF_OK) {
        if (err != NULL) {
            *err = why;
        }
        return st;
    }
    return s->refused.code == CF_OK ? cf_writer__start(s, err) : CF_OK;
}

cf_status cf_store_open(cf_store **out, const char *path, const cf_store_options *opts,
                        cf_error *err)
{
    cf_store *s = NULL;
    cf_sql__setup();
    CF_TRY(new_store(&s, path, opts, err));
    cf_status st = open_store(s, err);
    if (st != CF_OK) {
        cf_store_close(s);
        return cf_fail_in(err, st, path);
    }
    *out = s;
    return CF_OK;
}

void cf_store_close(cf_store *s)
{
    if (s == NULL) {
        return;
    }
    cf_writer__stop(s);
    cf_live__release(s);
    while (s->idle != NULL) {
        cf_reader *r = s->idle;
        s->idle = r->next;
        cf_sql__close(&r->sql);
        cf_free(r);
    }
    cf_sql__close(&s->w); /* the last to close tidies the log away */
    while (s->streams != NULL) {
        cf_stream *st = s->streams;
        s->streams = st->next;
        cf_stream__free(st);
    }
    unregister_file(s);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->done);
    pthread_mutex_destroy(&s->lock);
    cf_free(s->path);
    cf_free(s);
}

const char *cf_store_path(const cf_store *s)
{
    return s->path;
}

void cf_store_get_state(cf_store *s, cf_store_state *out)
{
    pthread_mutex_lock(&s->lock);
    *out = (cf_store_state){
        .is_read_only = s->refused.code != CF_OK,
        .is_failing = s->is_failing,
        .n_waiting = s->n_queued,
        .n_lost = s->n_lost,
        .why = s->refused.code != CF_OK ? s->refused : s->why,
        .lost_why = s->lost_why,
    };
    pthread_mutex_unlock(&s->lock);
}

void cf_store_note_lost(cf_store *s, const cf_error *why)
{
    pthread_mutex_lock(&s->lock);
    s->n_lost++;
    s->lost_why = *why;
    pthread_mutex_unlock(&s->lock);
}
