/*
 * store_cell.c - records of sweeps, by key.
 */
#include "core/base/os.h"
#include "storage/db/store_int.h"

typedef struct cell {
    cf_str key, record;
} cell;

static cf_status do_put(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    const cell *c = arg;
    (void)s;
    if (c->record.n > CF_STORE_TEXT_MAX) {
        return cf_fail(err, CF_ELIMIT, "the record of a cell is too long");
    }
    CF_TRY(cf_sql__run(sql, err,
                       "INSERT INTO sweep_cell(key, at_ms, record) "
                       "VALUES(?1, ?2, ?3) ON CONFLICT(key) DO UPDATE SET "
                       "at_ms = ?2, record = ?3",
                       "sis", c->key, cf_os_now_ms(), c->record));
    return cf_sql__run(sql, err,
                       "DELETE FROM sweep_cell WHERE id <= (SELECT max(id) "
                       "FROM sweep_cell) - ?",
                       "i", (int64_t)CF_STORE_CELLS_MAX);
}

cf_status cf_store_put_cell(cf_store *s, cf_str key, cf_str record, cf_error *err)
{
    cell c = {key, record};
    return cf_op__call(s, do_put, &c, err);
}

cf_status cf_store_get_cell(cf_store *s, cf_str key, cf_arena *arena, cf_str *record, cf_error *err)
{
    bool found;
    CF_TRY(cf_store__get_text(s, "SELECT record FROM sweep_cell WHERE key = ?", key, arena, record,
                              &found, err));
    return found ? CF_OK : cf_fail(err, CF_ENOTFOUND, "the cell was not run before");
}
