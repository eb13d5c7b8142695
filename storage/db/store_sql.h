/*
 * store_sql.h - SQLite with confab's errors, allocator and value types.
 *
 * Statements are prepared once a connection and found again by their text's
 * address, so the text must be a constant that lives as long as the program,
 * and a statement must not be used while an outer user of it still steps.
 *
 * Threads:  one thread at a time for a cf_sql.
 */
#ifndef CF_STORAGE_DB_STORE_SQL_H
#define CF_STORAGE_DB_STORE_SQL_H

#include <sqlite3.h>

#include "core/api/session.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/base/str.h"
#include "core/base/uuid.h"

enum { CF_SQL_CACHE = 160, CF_SQL_PARAMS = 48 };

typedef struct cf_sql {
    sqlite3 *db; /* NULL: not open */
    struct {
        const char *text;
        sqlite3_stmt *st;
    } cache[CF_SQL_CACHE];
    size_t n_cached;
    uint64_t deadline_us; /* a query is stopped then; 0: never */
    bool was_stopped;     /* by the deadline */
    cf_cancel *cancel;    /* statements end with CF_ECANCELLED; NULL: never */
} cf_sql;

/* How to open a file. */
typedef enum cf_sql_mode {
    CF_SQL_READ,
    CF_SQL_WRITE,
    CF_SQL_ALONE, /* reads with the index of the log in memory, for a disk
                     without room for it; no one else can open it meanwhile */
    CF_SQL_FROZEN /* read-only file in a read-only folder */
} cf_sql_mode;

/* Gives SQLite our allocator; before its first use in the process. */
void cf_sql__setup(void);

/* Whether an allocation of SQLite has failed on this thread since the last
 * call. */
bool cf_sql__watch_memory(void);

/* Opens an existing file with every guard against hostile contents. */
CF_MUST_USE cf_status cf_sql__open(cf_sql *sql, const char *path, cf_sql_mode mode, int busy_ms,
                                   cf_error *err);
void cf_sql__close(cf_sql *sql);

/* CF_EFORMAT for a file that has generated columns: one instruction of SQLite
 * computes such a value, which may take hours and gigabytes, and nothing can
 * stop it. */
CF_MUST_USE cf_status cf_sql__refuse_computed(cf_sql *sql, cf_error *err);

/* Turns a result code into a status with a message for the user. */
cf_status cf_sql__fail(cf_sql *sql, int rc, cf_error *err);

/* True for a failure that may be temporary: disk full, locked, read-only, out
 * of memory, I/O error. */
bool cf_sql__may_heal(cf_status st);

/*
 * Prepares `text` (cached) and binds by `fmt`, one letter a parameter:
 * i int64_t, d double, s cf_str text (NULL pointer: NULL), b cf_str blob
 * (likewise), z const char *, u cf_uuid (nil: NULL), n NULL, o int64_t
 * (negative: NULL).
 */
CF_MUST_USE cf_status cf_sql__query(cf_sql *sql, sqlite3_stmt **out, cf_error *err,
                                    const char *text, const char *fmt, ...);
/* The same for a text that is built; finalise it with cf_sql__drop. */
CF_MUST_USE cf_status cf_sql__prepare(cf_sql *sql, sqlite3_stmt **out, const char *text,
                                      cf_error *err);
void cf_sql__drop(sqlite3_stmt *st);

/* A statement that is built piece by piece, with its parameters. */
typedef struct cf_sql_text {
    cf_buf sql;
    struct {
        cf_str s; /* borrowed; p NULL: v */
        int64_t v;
    } param[CF_SQL_PARAMS];
    int n;
} cf_sql_text;

/* Appends a piece with one "?", and its value; a string that is empty leaves
 * the piece out. */
void cf_sql__add_str(cf_sql_text *t, const char *piece, cf_str v);
void cf_sql__add_int(cf_sql_text *t, const char *piece, int64_t v);

/* cf_sql__prepare() of it, with its parameters bound.  *out is NULL or to be
 * dropped where that fails, too. */
CF_MUST_USE cf_status cf_sql__prepare_text(cf_sql *sql, sqlite3_stmt **out, const cf_sql_text *t,
                                           cf_error *err);

/* Steps once; *has_row is whether there is a row.  Without one, and on an
 * error, the statement is reset. */
CF_MUST_USE cf_status cf_sql__step(cf_sql *sql, sqlite3_stmt *st, bool *has_row, cf_error *err);
void cf_sql__done(sqlite3_stmt *st);
/* The condition of a loop over rows: while *s is CF_OK it takes the next row.
 * Returns false after the last row, and on an error, which is then in *s.  A
 * loop that is left early calls cf_sql__done(). */
bool cf_sql__next(cf_sql *sql, sqlite3_stmt *st, cf_status *s, cf_error *err);

/* Runs a statement that gives no rows. */
CF_MUST_USE cf_status cf_sql__run(cf_sql *sql, cf_error *err, const char *text, const char *fmt,
                                  ...);
/* The first column of the first row; `none` without a row. */
CF_MUST_USE cf_status cf_sql__int(cf_sql *sql, int64_t *out, int64_t none, cf_error *err,
                                  const char *text, const char *fmt, ...);
/* The texts that `list` gives for the row `id` (its parameter), copied into
 * `a`; `count` says how many there are.  *out stays as it is when there is
 * none. */
CF_MUST_USE cf_status cf_sql__strs(cf_sql *sql, cf_str **out, size_t *n, const char *count,
                                   const char *list, int64_t id, cf_arena *a, cf_error *err);
/* Several statements without parameters. */
CF_MUST_USE cf_status cf_sql__script(cf_sql *sql, const char *text, cf_error *err);
/* The same where a failure does not matter. */
void cf_sql__try(cf_sql *sql, const char *text);

/* Column i as text copied to the arena, bad UTF-8 replaced; {NULL, 0} for
 * NULL.  When memory runs out the arena is marked as failed. */
cf_str cf_sql__str(sqlite3_stmt *st, int i, cf_arena *arena);
/* A copy in the arena with bad UTF-8 replaced, each byte of it by U+FFFD.  When
 * memory runs out the arena is marked as failed and the copy is empty. */
cf_str cf_sql__repaired(const char *p, size_t n, cf_arena *arena);
cf_str cf_sql__blob(sqlite3_stmt *st, int i, cf_arena *arena);
/* Nil for NULL and for text that is not a UUID. */
cf_uuid cf_sql__uuid(sqlite3_stmt *st, int i);
/* -1 for NULL. */
int64_t cf_sql__opt(sqlite3_stmt *st, int i);

/* CF_ENOMEM when an arena or a buffer failed. */
static inline cf_status cf_sql__oom(cf_error *err)
{
    return cf_oom(err);
}

#endif
