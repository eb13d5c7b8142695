/*
 * store_sql.c - the only file that prepares, binds and steps.
 */
#include "storage/db/store_sql.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buf.h"
#include "core/base/os.h"
#include "core/base/utf8.h"

/* ---- allocator: SQLite asks for the size of a block --------------------- */

typedef union block_head {
    size_t n;
    max_align_t align;
} block_head;

/* See cf_sql__watch_memory(). */
static _Thread_local bool was_refused;

bool cf_sql__watch_memory(void)
{
    bool was = was_refused;
    was_refused = false;
    return was;
}

static void *mem_alloc(int n)
{
    block_head *h = cf_alloc(sizeof *h + (size_t)n);
    if (h == NULL) {
        was_refused = true;
        return NULL;
    }
    h->n = (size_t)n;
    return h + 1;
}

static void mem_free(void *p)
{
    if (p != NULL) {
        cf_free((block_head *)p - 1);
    }
}

static void *mem_realloc(void *p, int n)
{
    block_head *h = cf_realloc((block_head *)p - 1, sizeof *h + (size_t)n, 1);
    if (h == NULL) {
        was_refused = true;
        return NULL;
    }
    h->n = (size_t)n;
    return h + 1;
}

static int mem_size(void *p)
{
    return p != NULL ? (int)((block_head *)p - 1)->n : 0;
}

static int mem_roundup(int n)
{
    return (n + 7) & ~7;
}

static int mem_init(void *ud)
{
    (void)ud;
    return SQLITE_OK;
}

static void mem_shutdown(void *ud)
{
    (void)ud;
}

static void setup_once(void)
{
    static const sqlite3_mem_methods methods = {mem_alloc,   mem_free, mem_realloc,  mem_size,
                                                mem_roundup, mem_init, mem_shutdown, NULL};
    /* Has no effect if SQLite is already in use: then it keeps libc's. */
    (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    (void)sqlite3_initialize();
}

void cf_sql__setup(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, setup_once);
}

/* ---- errors ------------------------------------------------------------- */

cf_status cf_sql__fail(cf_sql *sql, int rc, cf_error *err)
{
    const char *more = sql->db != NULL ? sqlite3_errmsg(sql->db) : "";
    switch (rc & 0xFF) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return CF_OK;
    case SQLITE_NOMEM:
        return cf_sql__oom(err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return cf_fail(err, CF_EBUSY, "the database is locked by another program");
    case SQLITE_FULL:
        return cf_fail(err, CF_EIO, "the disk is full");
    case SQLITE_READONLY:
        return cf_fail(err, CF_EIO, "the database or its folder is read-only");
    case SQLITE_CANTOPEN:
        return cf_fail(err, CF_EIO, "the database file cannot be opened");
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return cf_fail(err, CF_EIO, "no permission for the database file");
    case SQLITE_CORRUPT:
        return cf_fail(err, CF_EFORMAT, "the database is damaged (%s)", more);
    case SQLITE_NOTADB:
        return cf_fail(err, CF_EFORMAT, "not a database");
    case SQLITE_CONSTRAINT:
        return cf_fail(err, CF_EINVAL, "the database rejected it: %s", more);
    case SQLITE_TOOBIG:
        return cf_fail(err, CF_ELIMIT, "too large for one row");
    case SQLITE_INTERRUPT:
        return cf_fail(err, CF_ELIMIT, "the query took too long");
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
    case SQLITE_SCHEMA:
        return cf_fail(err, CF_EFORMAT, "the database is not as expected (%s)", more);
    default:
        break;
    }
    if (rc == SQLITE_IOERR_SHMSIZE ||
        (sql->db != NULL && sqlite3_system_errno(sql->db) == ENOSPC)) {
        return cf_fail(err, CF_EIO, "the disk is full");
    }
    return cf_fail(err, CF_EIO, "input or output error (%s)", more);
}

bool cf_sql__may_heal(cf_status st)
{
    return st == CF_EBUSY || st == CF_EIO || st == CF_ENOMEM;
}

/* ---- opening ------------------------------------------------------------ */

static bool is_cancelled(const cf_sql *sql)
{
    return sql->cancel != NULL && atomic_load_explicit(sql->cancel, memory_order_relaxed);
}

static int on_progress(void *ud)
{
    cf_sql *sql = ud;
    if (is_cancelled(sql)) {
        return 1;
    }
    if (sql->deadline_us != 0 && cf_os_monotonic_us() > sql->deadline_us) {
        sql->was_stopped = true;
        return 1;
    }
    return 0;
}

/* A database may be hostile: its schema is not trusted, and no value in it may
 * be larger than we would write. */
static void set_guards(sqlite3 *db)
{
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 512 << 20);
    (void)sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
    (void)sqlite3_limit(db, SQLITE_LIMIT_COLUMN, 100);
    (void)sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 100);
    (void)sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 10);
    (void)sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000);
    (void)sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 10);
}

/* "file:PATH?immutable=1" with the path escaped. */
static void frozen_uri(cf_buf *b, const char *path)
{
    cf_buf_adds(b, "file:");
    for (; *path != '\0'; path++) {
        if (*path == '%' || *path == '?' || *path == '#') {
            cf_buf_addf(b, "%%%02x", (unsigned char)*path);
        } else {
            cf_buf_addc(b, *path);
        }
    }
    cf_buf_adds(b, "?immutable=1");
}

static cf_status set_mode(cf_sql *sql, cf_sql_mode mode, cf_error *err)
{
    if (mode == CF_SQL_ALONE) { /* the log stays for the next writer */
        (void)sqlite3_db_config(sql->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        CF_TRY(cf_sql__script(sql, "PRAGMA locking_mode=EXCLUSIVE", err));
    }
    CF_TRY(cf_sql__script(sql,
                          "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
                          "PRAGMA cache_size=-16000; PRAGMA temp_store=MEMORY",
                          err));
    return cf_sql__script(
        sql, mode == CF_SQL_WRITE ? "PRAGMA synchronous=NORMAL" : "PRAGMA query_only=ON", err);
}

cf_status cf_sql__open(cf_sql *sql, const char *path, cf_sql_mode mode, int busy_ms, cf_error *err)
{
    *sql = (cf_sql){0};
    cf_buf uri = CF_BUF_INIT;
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    flags |=
        mode == CF_SQL_WRITE || mode == CF_SQL_ALONE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    if (mode == CF_SQL_FROZEN) {
        frozen_uri(&uri, path);
        CF_TRY(cf_buf_check(&uri, err));
        flags |= SQLITE_OPEN_URI;
    }
    int rc = sqlite3_open_v2(mode == CF_SQL_FROZEN ? uri.p : path, &sql->db, flags, NULL);
    cf_buf_deinit(&uri);
    if (rc == SQLITE_OK) {
        sqlite3_extended_result_codes(sql->db, 1);
        sqlite3_busy_timeout(sql->db, busy_ms);
        set_guards(sql->db);
        sqlite3_progress_handler(sql->db, 2000, on_progress, sql);
        cf_status st = set_mode(sql, mode, err);
        if (st != CF_OK) {
            cf_sql__close(sql);
        }
        return st;
    }
    cf_status st = cf_sql__fail(sql, rc, err);
    cf_sql__close(sql);
    return st;
}

cf_status cf_sql__refuse_computed(cf_sql *sql, cf_error *err)
{
    int64_t n = 0;
    CF_TRY(cf_sql__int(sql, &n, 0, err,
                       "SELECT count(*) FROM sqlite_schema m, pragma_table_xinfo(m.name) c "
                       "WHERE m.type = 'table' AND c.hidden IN (2, 3)",
                       ""));
    return n == 0
               ? CF_OK
               : cf_fail(err, CF_EFORMAT, "the database has generated columns, which are not read");
}

void cf_sql__close(cf_sql *sql)
{
    for (size_t i = 0; i < sql->n_cached; i++) {
        (void)sqlite3_finalize(sql->cache[i].st);
    }
    sql->n_cached = 0;
    if (sql->db != NULL) {
        (void)sqlite3_close_v2(sql->db); /* fails only on misuse */
        sql->db = NULL;
    }
}

/* ---- statements --------------------------------------------------------- */

cf_status cf_sql__prepare(cf_sql *sql, sqlite3_stmt **out, const char *text, cf_error *err)
{
    int rc = sqlite3_prepare_v2(sql->db, text, -1, out, NULL);
    return rc == SQLITE_OK ? CF_OK : cf_sql__fail(sql, rc, err);
}

void cf_sql__add_str(cf_sql_text *t, const char *piece, cf_str v)
{
    if (v.n != 0) {
        CF_ASSERT(t->n < CF_SQL_PARAMS);
        cf_buf_adds(&t->sql, piece);
        t->param[t->n++].s = v;
    }
}

void cf_sql__add_int(cf_sql_text *t, const char *piece, int64_t v)
{
    CF_ASSERT(t->n < CF_SQL_PARAMS);
    cf_buf_adds(&t->sql, piece);
    t->param[t->n].s = cf_str_make(NULL, 0);
    t->param[t->n++].v = v;
}

cf_status cf_sql__prepare_text(cf_sql *sql, sqlite3_stmt **out, const cf_sql_text *t, cf_error *err)
{
    *out = NULL;
    CF_TRY(cf_buf_check(&t->sql, err));
    CF_TRY(cf_sql__prepare(sql, out, t->sql.p, err));
    for (int i = 0; i < t->n; i++) {
        cf_str s = t->param[i].s;
        int rc = s.p == NULL
                     ? sqlite3_bind_int64(*out, i + 1, t->param[i].v)
                     : sqlite3_bind_text64(*out, i + 1, s.p, s.n, SQLITE_TRANSIENT, SQLITE_UTF8);
        if (rc != SQLITE_OK) {
            return cf_sql__fail(sql, rc, err);
        }
    }
    return CF_OK;
}

void cf_sql__drop(sqlite3_stmt *st)
{
    (void)sqlite3_finalize(st);
}

static cf_status find_statement(cf_sql *sql, sqlite3_stmt **out, const char *text, cf_error *err)
{
    for (size_t i = 0; i < sql->n_cached; i++) {
        if (sql->cache[i].text == text) {
            *out = sql->cache[i].st;
            return CF_OK;
        }
    }
    CF_ASSERT(sql->n_cached < CF_SQL_CACHE);
    int rc = sqlite3_prepare_v3(sql->db, text, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
    if (rc != SQLITE_OK) {
        return cf_sql__fail(sql, rc, err);
    }
    sql->cache[sql->n_cached].text = text;
    sql->cache[sql->n_cached++].st = *out;
    return CF_OK;
}

static int bind_text(sqlite3_stmt *st, int i, cf_str s)
{
    if (s.p == NULL) {
        return sqlite3_bind_null(st, i);
    }
    return sqlite3_bind_text64(st, i, s.p, s.n, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static int bind_uuid(sqlite3_stmt *st, int i, cf_uuid id)
{
    char text[CF_UUID_TEXT + 1];
    if (cf_uuid_is_nil(id)) {
        return sqlite3_bind_null(st, i);
    }
    cf_uuid_format(text, id);
    return bind_text(st, i, cf_str_make(text, CF_UUID_TEXT));
}

static int bind_all(sqlite3_stmt *st, const char *fmt, va_list ap)
{
    int rc = SQLITE_OK;
    for (int i = 1; *fmt != '\0' && rc == SQLITE_OK; fmt++, i++) {
        switch (*fmt) {
        case 'i':
            rc = sqlite3_bind_int64(st, i, va_arg(ap, int64_t));
            break;
        case 'o': {
            int64_t v = va_arg(ap, int64_t);
            rc = v < 0 ? sqlite3_bind_null(st, i) : sqlite3_bind_int64(st, i, v);
            break;
        }
        case 'd':
            rc = sqlite3_bind_double(st, i, va_arg(ap, double));
            break;
        case 's':
            rc = bind_text(st, i, va_arg(ap, cf_str));
            break;
        case 'b': {
            cf_str s = va_arg(ap, cf_str);
            rc = s.p == NULL ? sqlite3_bind_null(st, i)
                             : sqlite3_bind_blob64(st, i, s.p, s.n, SQLITE_TRANSIENT);
            break;
        }
        case 'z':
            rc = bind_text(st, i, cf_str_from(va_arg(ap, const char *)));
            break;
        case 'u':
            rc = bind_uuid(st, i, va_arg(ap, cf_uuid));
            break;
        default:
            CF_ASSERT(*fmt == 'n');
            rc = sqlite3_bind_null(st, i);
        }
    }
    return rc;
}

static cf_status query_va(cf_sql *sql, sqlite3_stmt **out, cf_error *err, const char *text,
                          const char *fmt, va_list ap)
{
    CF_TRY(find_statement(sql, out, text, err));
    int rc = bind_all(*out, fmt, ap);
    if (rc != SQLITE_OK) {
        cf_sql__done(*out);
        return cf_sql__fail(sql, rc, err);
    }
    return CF_OK;
}

cf_status cf_sql__query(cf_sql *sql, sqlite3_stmt **out, cf_error *err, const char *text,
                        const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    cf_status st = query_va(sql, out, err, text, fmt, ap);
    va_end(ap);
    return st;
}

cf_status cf_sql__step(cf_sql *sql, sqlite3_stmt *st, bool *has_row, cf_error *err)
{
    int rc = is_cancelled(sql) ? SQLITE_INTERRUPT : sqlite3_step(st);
    *has_row = rc == SQLITE_ROW;
    if (rc == SQLITE_ROW) {
        return CF_OK;
    }
    cf_status status = rc == SQLITE_INTERRUPT && is_cancelled(sql)
                           ? cf_fail(err, CF_ECANCELLED, "interrupted")
                           : cf_sql__fail(sql, rc, err);
    cf_sql__done(st);
    return status;
}

bool cf_sql__next(cf_sql *sql, sqlite3_stmt *st, cf_status *s, cf_error *err)
{
    bool has_row = false;
    if (*s == CF_OK) {
        *s = cf_sql__step(sql, st, &has_row, err);
    }
    return *s == CF_OK && has_row;
}

void cf_sql__done(sqlite3_stmt *st)
{
    (void)sqlite3_reset(st); /* repeats the error of the step before */
    (void)sqlite3_clear_bindings(st);
}

cf_status cf_sql__run(cf_sql *sql, cf_error *err, const char *text, const char *fmt, ...)
{
    sqlite3_stmt *st;
    va_list ap;
    va_start(ap, fmt);
    cf_status status = query_va(sql, &st, err, text, fmt, ap);
    va_end(ap);
    while (cf_sql__next(sql, st, &status, err)) {
    }
    return status;
}

cf_status cf_sql__int(cf_sql *sql, int64_t *out, int64_t none, cf_error *err, const char *text,
                      const char *fmt, ...)
{
    sqlite3_stmt *st;
    va_list ap;
    va_start(ap, fmt);
    cf_status status = query_va(sql, &st, err, text, fmt, ap);
    va_end(ap);
    if (status != CF_OK) {
        return status;
    }
    bool has_row;
    CF_TRY(cf_sql__step(sql, st, &has_row, err));
    *out = none;
    if (has_row) {
        *out = sqlite3_column_int64(st, 0);
        cf_sql__done(st);
    }
    return CF_OK;
}

cf_status cf_sql__strs(cf_sql *sql, cf_str **out, size_t *n, const char *count, const char *list,
                       int64_t id, cf_arena *a, cf_error *err)
{
    int64_t n_all;
    *n = 0;
    CF_TRY(cf_sql__int(sql, &n_all, 0, err, count, "i", id));
    if (n_all <= 0) {
        return CF_OK;
    }
    cf_str *v = cf_arena_calloc(a, (size_t)n_all, sizeof *v);
    if (v == NULL) {
        return cf_sql__oom(err);
    }
    sqlite3_stmt *st;
    CF_TRY(cf_sql__query(sql, &st, err, list, "i", id));
    cf_status s = CF_OK;
    while (cf_sql__next(sql, st, &s, err)) {
        if (*n < (size_t)n_all) {
            v[(*n)++] = cf_sql__str(st, 0, a);
        }
    }
    CF_TRY(s);
    *out = v;
    return CF_OK;
}

cf_status cf_sql__script(cf_sql *sql, const char *text, cf_error *err)
{
    int rc = sqlite3_exec(sql->db, text, NULL, NULL, NULL);
    return rc == SQLITE_OK ? CF_OK : cf_sql__fail(sql, rc, err);
}

void cf_sql__try(cf_sql *sql, const char *text)
{
    (void)sqlite3_exec(sql->db, text, NULL, NULL, NULL);
}

/* ---- columns ------------------------------------------------------------ */

cf_str cf_sql__repaired(const char *p, size_t n, cf_arena *arena)
{
    cf_buf b = CF_BUF_INIT;
    cf_utf8_repair(&b, cf_str_make(p, n));
    cf_str s = {NULL, 0};
    if (b.failed) {
        arena->failed = true;
    } else {
        s = cf_str_make(cf_arena_strndup(arena, cf_buf_cstr(&b), b.n), b.n);
    }
    cf_buf_deinit(&b);
    return s;
}

cf_str cf_sql__str(sqlite3_stmt *st, int i, cf_arena *arena)
{
    if (sqlite3_column_type(st, i) == SQLITE_NULL) {
        return cf_str_make(NULL, 0);
    }
    const char *p = (const char *)sqlite3_column_text(st, i);
    if (p == NULL) {
        arena->failed = true;
        return cf_str_make(NULL, 0);
    }
    size_t n = (size_t)sqlite3_column_bytes(st, i);
    if (cf_utf8_valid_prefix(p, n) != n) {
        return cf_sql__repaired(p, n, arena);
    }
    const char *copy = cf_arena_strndup(arena, p, n);
    return cf_str_make(copy, copy != NULL ? n : 0);
}

cf_str cf_sql__blob(sqlite3_stmt *st, int i, cf_arena *arena)
{
    if (sqlite3_column_type(st, i) == SQLITE_NULL) {
        return cf_str_make(NULL, 0);
    }
    const void *p = sqlite3_column_blob(st, i);
    size_t n = (size_t)sqlite3_column_bytes(st, i);
    if (p == NULL && n != 0) {
        arena->failed = true;
        return cf_str_make(NULL, 0);
    }
    const char *copy = cf_arena_strndup(arena, p != NULL ? p : "", n);
    return cf_str_make(copy, copy != NULL ? n : 0);
}

cf_uuid cf_sql__uuid(sqlite3_stmt *st, int i)
{
    cf_uuid id = {{0}};
    const char *p = (const char *)sqlite3_column_text(st, i);
    if (p != NULL) {
        (void)cf_uuid_parse(&id, p, (size_t)sqlite3_column_bytes(st, i));
    }
    return id;
}

int64_t cf_sql__opt(sqlite3_stmt *st, int i)
{
    return sqlite3_column_type(st, i) == SQLITE_NULL ? -1 : sqlite3_column_int64(st, i);
}
