/*
 * store_mark.c - named values about the file itself.
 */
#include "core/base/os.h"
#include "storage/db/store_int.h"

typedef struct mark {
    cf_str name, value;
} mark;

static cf_status do_put_mark(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    const mark *m = arg;
    int64_t is_taken;
    CF_TRY(cf_sql__int(sql, &is_taken, 0, err,
                       "SELECT 1 FROM mark WHERE name = ?", "s", m->name));
    if (is_taken != 0) {
        return cf_fail(err, CF_EINVAL, "the mark '%.*s' is there already",
                       (int)m->name.n, m->name.p);
    }
    return cf_sql__run(sql, err,
                       "INSERT INTO mark(name, value, at_ms) VALUES(?, ?, ?)",
                       "ssi", m->name, m->value, cf_os_now_ms());
}

cf_status cf_store_put_mark(cf_store *s, cf_str name, cf_str value,
                            cf_error *err)
{
    if (name.n == 0 || name.n > 60 || value.p == NULL) {
        return cf_fail(err, CF_EINVAL, "a mark has a name of 1 to 60 bytes");
    }
    mark m = {name, value};
    return cf_op__call(s, do_put_mark, &m, err);
}

cf_status cf_store_get_mark(cf_store *s, cf_str name, cf_arena *arena,
                            cf_str *value, cf_error *err)
{
    cf_reader *r;
    sqlite3_stmt *st;
    bool has_row = false;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status status = cf_sql__query(
        &r->sql, &st, err, "SELECT value FROM mark WHERE name = ?", "s", name);
    CF_THEN(status, cf_sql__step(&r->sql, st, &has_row, err));
    if (status == CF_OK && has_row) {
        *value = cf_sql__str(st, 0, arena);
        cf_sql__done(st);
        status = arena->failed ? cf_sql__oom(err) : CF_OK;
    } else if (status == CF_OK) {
        status = cf_fail(err, CF_ENOTFOUND, "no mark '%.*s'",
                         (int)(name.n < 60 ? name.n : 60), name.p);
    }
    cf_store__give(s, r);
    return status;
}
