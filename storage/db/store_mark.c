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
    CF_TRY(cf_sql__int(sql, &is_taken, 0, err, "SELECT 1 FROM mark WHERE name = ?", "s", m->name));
    if (is_taken != 0) {
        return cf_fail(err, CF_EINVAL, "the mark '%.*s' is there already", (int)m->name.n,
                       m->name.p);
    }
    return cf_sql__run(sql, err, "INSERT INTO mark(name, value, at_ms) VALUES(?, ?, ?)", "ssi",
                       m->name, m->value, cf_os_now_ms());
}

cf_status cf_store_put_mark(cf_store *s, cf_str name, cf_str value, cf_error *err)
{
    if (name.n == 0 || name.n > 60 || value.p == NULL) {
        return cf_fail(err, CF_EINVAL, "a mark has a name of 1 to 60 bytes");
    }
    mark m = {name, value};
    return cf_op__call(s, do_put_mark, &m, err);
}

cf_status cf_store_get_mark(cf_store *s, cf_str name, cf_arena *arena, cf_str *value, cf_error *err)
{
    bool found;
    CF_TRY(cf_store__get_text(s, "SELECT value FROM mark WHERE name = ?", name, arena, value,
                              &found, err));
    return found ? CF_OK
                 : cf_fail(err, CF_ENOTFOUND, "no mark '%.*s'", (int)(name.n < 60 ? name.n : 60),
                           name.p);
}
