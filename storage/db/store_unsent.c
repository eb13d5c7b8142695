/*
 * store_unsent.c - messages that were written and not sent.
 *
 * Unsent text knows the program it was written in: that of a conversation which
 * was never stored belongs to this program alone until it ends, and the next
 * one finds it.
 */
#include "core/base/os.h"
#include "storage/db/store_int.h"

typedef struct unsent {
    cf_uuid conv;
    cf_str text;
} unsent;

static cf_status do_put_draft(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    const unsent *d = arg;
    if (d->text.n == 0) {
        return cf_sql__run(sql, err, "DELETE FROM draft WHERE conversation = ?", "u", d->conv);
    }
    CF_TRY(cf_live__claim(s, err)); /* again, where the first call failed */
    return cf_sql__run(sql, err, "INSERT OR REPLACE INTO draft VALUES(?, ?, ?, ?)", "usis", d->conv,
                       d->text, cf_os_now_ms(), cf_str_from(s->writer));
}

static cf_status do_claim(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)sql;
    (void)arg;
    return cf_live__claim(s, err);
}

cf_status cf_store_put_unsent(cf_store *s, cf_uuid conv, cf_str text, cf_error *err)
{
    if (!s->has_unsent) {
        /* So that our name does not depend on when the writer runs; where it
         * fails the next unsent text tries again. */
        s->has_unsent = cf_op__call(s, do_claim, NULL, NULL) == CF_OK;
    }
    cf_op *op = cf_op__new(do_put_draft);
    unsent *d = op != NULL ? cf_arena_calloc(&op->arena, 1, sizeof *d) : NULL;
    if (d == NULL) {
        if (op != NULL) {
            cf_op__free(op);
        }
        return cf_sql__oom(err);
    }
    d->conv = conv;
    d->text = text.n != 0 ? cf_copy__str(&op->arena, text) : text;
    op->arg = d;
    return cf_op__post(s, op, err);
}

cf_status cf_store_get_unsent(cf_store *s, cf_uuid conv, cf_arena *arena, cf_str *text,
                              cf_error *err)
{
    cf_reader *r;
    sqlite3_stmt *st;
    bool has_row = false;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status status = cf_sql__query(&r->sql, &st, err,
                                     "SELECT text FROM draft WHERE conversation = ?", "u", conv);
    CF_THEN(status, cf_sql__step(&r->sql, st, &has_row, err));
    if (status == CF_OK && has_row) {
        *text = cf_sql__str(st, 0, arena);
        cf_sql__done(st);
        status = arena->failed ? cf_sql__oom(err) : CF_OK;
    } else if (status == CF_OK) {
        status = cf_fail(err, CF_ENOTFOUND, "no draft");
    }
    cf_store__give(s, r);
    return status;
}

static cf_status find_lost(cf_store *s, cf_sql *sql, cf_arena *arena, cf_uuid *conv, cf_str *text,
                           cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row = true;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT conversation, writer, text FROM draft d WHERE "
                         "NOT EXISTS (SELECT 1 FROM conversation c WHERE "
                         "c.uuid = d.conversation) ORDER BY at_ms DESC LIMIT "
                         "100",
                         ""));
    for (;;) {
        CF_TRY(cf_sql__step(sql, st, &has_row, err));
        if (!has_row) {
            return cf_fail(err, CF_ENOTFOUND, "no draft");
        }
        if (!cf_live__is_alive(s, cf_sql__str(st, 1, arena))) {
            *conv = cf_sql__uuid(st, 0);
            *text = cf_sql__str(st, 2, arena);
            cf_sql__done(st);
            return arena->failed ? cf_sql__oom(err) : CF_OK;
        }
    }
}

cf_status cf_store_lost_unsent(cf_store *s, cf_arena *arena, cf_uuid *conv, cf_str *text,
                               cf_error *err)
{
    cf_reader *r;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status st = find_lost(s, &r->sql, arena, conv, text, err);
    cf_store__give(s, r);
    return st;
}
