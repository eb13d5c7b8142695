/*
 * store_migrate.c - migrates a database forward, one transaction per step.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/os.h"
#include "storage/db/store_int.h"
#include "storage/db/store_shown.h"
#include "storage/db/store_words.h"

enum { BACKUPS_MAX = 10 }; /* of one version, beside a database */

extern const unsigned char cf_embed_storage_schema_0001_init_sql[];
extern const size_t cf_embed_storage_schema_0001_init_sql_size;
extern const unsigned char cf_embed_storage_schema_0002_search_sql[];
extern const size_t cf_embed_storage_schema_0002_search_sql_size;
extern const unsigned char cf_embed_storage_schema_0003_mark_sql[];
extern const size_t cf_embed_storage_schema_0003_mark_sql_size;
extern const unsigned char cf_embed_storage_schema_0004_exchange_sql[];
extern const size_t cf_embed_storage_schema_0004_exchange_sql_size;
extern const unsigned char cf_embed_storage_schema_0005_mcp_sql[];
extern const size_t cf_embed_storage_schema_0005_mcp_sql_size;
extern const unsigned char cf_embed_storage_schema_0006_work_sql[];
extern const size_t cf_embed_storage_schema_0006_work_sql_size;
extern const unsigned char cf_embed_storage_schema_0007_study_sql[];
extern const size_t cf_embed_storage_schema_0007_study_sql_size;
extern const unsigned char cf_embed_storage_schema_0008_sweep_sql[];
extern const size_t cf_embed_storage_schema_0008_sweep_sql_size;
extern const unsigned char cf_embed_storage_schema_0009_role_sql[];
extern const size_t cf_embed_storage_schema_0009_role_sql_size;
extern const unsigned char cf_embed_storage_schema_0010_shown_sql[];
extern const size_t cf_embed_storage_schema_0010_shown_sql_size;
extern const unsigned char cf_embed_storage_schema_0011_usage_sql[];
extern const size_t cf_embed_storage_schema_0011_usage_sql_size;
extern const unsigned char cf_embed_storage_schema_upkeep_sql[];
extern const size_t cf_embed_storage_schema_upkeep_sql_size;

static cf_status index_one(cf_sql *sql, sqlite3_stmt *row, bool is_title, cf_error *err)
{
    cf_buf a = CF_BUF_INIT;
    cf_buf b = CF_BUF_INIT;
    for (int i = 1; i <= (is_title ? 1 : 2); i++) {
        const char *p = (const char *)sqlite3_column_text(row, i);
        size_t n = (size_t)sqlite3_column_bytes(row, i);
        cf_words__index(i == 1 ? &a : &b, cf_str_make(p, p != NULL ? n : 0));
    }
    int64_t id = sqlite3_column_int64(row, 0);
    cf_str text = cf_buf_str(&a);
    cf_str tool = cf_buf_str(&b);
    cf_status st = a.failed || b.failed ? cf_sql__oom(err) : CF_OK;
    if (st == CF_OK && is_title) {
        st = cf_sql__run(sql, err, "INSERT INTO title_words(rowid, title) VALUES(?, ?)", "is", id,
                         text);
    } else if (st == CF_OK) {
        st = cf_sql__run(sql, err,
                         "INSERT INTO message_words(rowid, text, tool_text) "
                         "VALUES(?, ?, ?)",
                         "iss", id, text, tool);
    }
    cf_buf_deinit(&a);
    cf_buf_deinit(&b);
    return st;
}

static cf_status index_rows(cf_sql *sql, const char *select, bool is_title, cf_error *err)
{
    sqlite3_stmt *st;
    CF_TRY(cf_sql__prepare(sql, &st, select, err));
    cf_status status = CF_OK;
    while (cf_sql__next(sql, st, &status, err)) {
        status = index_one(sql, st, is_title, err);
    }
    cf_sql__drop(st);
    return status;
}

/* Step 2: indexes the words of version 1's content. */
static cf_status fill_words(cf_sql *sql, cf_error *err)
{
    CF_TRY(index_rows(sql,
                      "SELECT id, text, tool_text FROM message "
                      "WHERE text <> '' OR tool_text <> '' ORDER BY id",
                      false, err));
    return index_rows(sql, "SELECT id, title FROM conversation WHERE title <> ''", true, err);
}

typedef struct step {
    const unsigned char *sql;
    const size_t *n;
    cf_status (*after)(cf_sql *sql, cf_error *err);
} step;

static const step steps[] = {
    {cf_embed_storage_schema_0001_init_sql, &cf_embed_storage_schema_0001_init_sql_size, NULL},
    {cf_embed_storage_schema_0002_search_sql, &cf_embed_storage_schema_0002_search_sql_size,
     fill_words},
    {cf_embed_storage_schema_0003_mark_sql, &cf_embed_storage_schema_0003_mark_sql_size, NULL},
    {cf_embed_storage_schema_0004_exchange_sql, &cf_embed_storage_schema_0004_exchange_sql_size,
     NULL},
    {cf_embed_storage_schema_0005_mcp_sql, &cf_embed_storage_schema_0005_mcp_sql_size, NULL},
    {cf_embed_storage_schema_0006_work_sql, &cf_embed_storage_schema_0006_work_sql_size, NULL},
    {cf_embed_storage_schema_0007_study_sql, &cf_embed_storage_schema_0007_study_sql_size, NULL},
    {cf_embed_storage_schema_0008_sweep_sql, &cf_embed_storage_schema_0008_sweep_sql_size, NULL},
    {cf_embed_storage_schema_0009_role_sql, &cf_embed_storage_schema_0009_role_sql_size, NULL},
    {cf_embed_storage_schema_0010_shown_sql, &cf_embed_storage_schema_0010_shown_sql_size,
     cf_shown__fill},
    {cf_embed_storage_schema_0011_usage_sql, &cf_embed_storage_schema_0011_usage_sql_size, NULL},
};

int cf_store__version(void)
{
    return (int)(sizeof steps / sizeof steps[0]);
}

static cf_status get_version(cf_sql *sql, int64_t *out, cf_error *err)
{
    return cf_sql__int(sql, out, 0, err, "PRAGMA user_version", "");
}

static cf_status do_step(cf_sql *sql, int version, cf_error *err)
{
    const step *s = &steps[version];
    cf_buf text = CF_BUF_INIT;
    cf_buf_addf(&text, "PRAGMA application_id=%d; PRAGMA user_version=%d;", CF_STORE_APP_ID,
                version + 1);
    cf_buf_add(&text, s->sql, *s->n);
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, cf_sql__script(sql, text.p, err));
    cf_buf_deinit(&text);
    return st == CF_OK && s->after != NULL ? s->after(sql, err) : st;
}

/* The name of a backup: PATH-vN.backup, or with a number when that is taken. */
static cf_status name_backup(cf_buf *name, const char *path, int64_t version, cf_error *err)
{
    struct stat sb;
    for (int i = 0; i < BACKUPS_MAX; i++) {
        cf_buf_reset(name);
        cf_buf_addf(name, "%s-v%d.backup", path, (int)version);
        if (i != 0) {
            cf_buf_addf(name, ".%d", i);
        }
        CF_TRY(cf_buf_check(name, err));
        if (lstat(name->p, &sb) != 0) {
            return CF_OK;
        }
    }
    return cf_fail(err, CF_EIO,
                   "%d backups *-v%d.backup are beside it already: move them "
                   "away",
                   BACKUPS_MAX, (int)version);
}

/* Copies the database to a new file, whose name it leaves in `name`. */
static cf_status back_up(cf_sql *sql, const char *path, int64_t version, cf_buf *name,
                         cf_error *err)
{
    cf_status st = name_backup(name, path, version, err);
    if (st == CF_OK) {
        st = cf_sql__run(sql, err, "VACUUM INTO ?", "z", name->p);
        if (st == CF_OK) {
            (void)chmod(name->p, 0600); /* the umask may have been wider */
        } else {
            (void)unlink(name->p); /* what there is of it */
        }
    }
    return st == CF_OK ? CF_OK : cf_fail_in(err, st, "backup before migration");
}

/* One step in a transaction; another process may have done it already. */
static cf_status locked_step(cf_sql *sql, int64_t version, cf_error *err)
{
    CF_TRY(cf_sql__script(sql, "BEGIN IMMEDIATE", err));
    int64_t now = 0;
    cf_status st = get_version(sql, &now, err);
    if (st == CF_OK && now == version) {
        st = do_step(sql, (int)version, err);
    }
    CF_THEN(st, cf_sql__script(sql, "COMMIT", err));
    if (st != CF_OK) {
        cf_sql__try(sql, "ROLLBACK");
    }
    return st;
}

/* Goes from `version`, the file's own, to `last`; `*version` is where it got. */
static cf_status all_steps(cf_sql *sql, int64_t *version, int last, cf_error *err)
{
    while (*version < last) {
        int64_t now;
        CF_TRY(locked_step(sql, *version, err));
        CF_TRY(get_version(sql, &now, err));
        if (now <= *version) {
            return cf_fail(err, CF_EFORMAT, "nothing changed");
        }
        *version = now;
    }
    return CF_OK;
}

cf_status cf_store__migrate(cf_sql *sql, const char *path, int upto, cf_error *err)
{
    int64_t first;
    int last = upto != 0 ? upto : cf_store__version();
    CF_TRY(get_version(sql, &first, err));
    if (first < 0 || first >= last) {
        return CF_OK;
    }
    cf_buf backup = CF_BUF_INIT; /* a new file has nothing to lose */
    cf_status st = first > 0 ? back_up(sql, path, first, &backup, err) : CF_OK;
    int64_t version = first;
    if (st == CF_OK) {
        st = all_steps(sql, &version, last, err);
        if (st != CF_OK && version == first && backup.n > 0) {
            /* The file is as it was, and the next start will try again. */
            (void)unlink(backup.p);
        }
        if (st != CF_OK && first > 0) {
            char text[120];
            snprintf(text, sizeof text,
                     "a database of version %d cannot become one of version "
                     "%d; use another file (--db) or move this one away",
                     (int)version, last);
            st = cf_fail_in(err, st, text);
        }
    }
    cf_buf_deinit(&backup);
    return st;
}

cf_status cf_store__begin_upkeep(cf_sql *sql, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_buf_add(&text, cf_embed_storage_schema_upkeep_sql, cf_embed_storage_schema_upkeep_sql_size);
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, cf_sql__script(sql, text.p, err));
    cf_buf_deinit(&text);
    return st;
}
