/*
 * store_template.c - templates that are kept: stored, deleted, and the deleted
 * ones taken back.
 *
 * The log's entry of a deleted template has its name, origin and date in the
 * operation and its source, as it is, in the undo.
 */
#include <string.h>

#include "core/base/hash.h"
#include "core/base/os.h"
#include "core/json/json_writer.h"
#include "storage/db/store_int.h"
#include "storage/db/store_message.h"

static cf_status do_put_template(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    return cf_rows__put_template(sql, arg, err);
}

cf_status cf_store_put_template(cf_store *s, cf_str name, cf_str source, cf_str parent_hash,
                                char hash[65], cf_error *err)
{
    cf_op *op = cf_op__new(do_put_template);
    if (op == NULL) {
        return cf_sql__oom(err);
    }
    cf_store_template *t = cf_arena_calloc(&op->arena, 1, sizeof *t);
    if (t != NULL) {
        t->name = cf_copy__str(&op->arena, name);
        t->source = cf_copy__str(&op->arena, source);
        t->parent_hash = cf_copy__str(&op->arena, parent_hash);
        t->created_ms = cf_os_now_ms();
        if (hash != NULL) {
            cf_hash_hex(hash, source.p, source.n);
        }
    }
    op->arg = t;
    return cf_op__submit(s, op, err);
}

static void write_op(cf_buf *out, const cf_store_template *t)
{
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "do", CF_UNDO_TEMPLATE);
    cf_jw_str(&w, "text", t->name);
    cf_jw_str(&w, "parent", t->parent_hash);
    cf_jw_int(&w, "n", t->created_ms);
    cf_jw_end(&w);
}

/* Deletes the row and logs how to put it back. */
static cf_status delete_row(cf_sql *sql, int64_t id, cf_arena *a, cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row;
    cf_store_template t = {.created_ms = 0};
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT name, source, parent_hash, created_ms FROM "
                         "template WHERE id = ?",
                         "i", id));
    CF_TRY(cf_sql__step(sql, st, &has_row, err));
    if (has_row) {
        t.name = cf_sql__str(st, 0, a);
        t.source = cf_sql__str(st, 1, a);
        t.parent_hash = cf_sql__str(st, 2, a);
        t.created_ms = sqlite3_column_int64(st, 3);
        cf_sql__done(st);
    }
    cf_buf op = CF_BUF_INIT;
    write_op(&op, &t);
    cf_status s = a->failed ? cf_sql__oom(err) : cf_buf_check(&op, err);
    CF_THEN(s, cf_undo__log(sql, cf_buf_str(&op), t.source, err));
    CF_THEN(s, cf_sql__run(sql, err, "DELETE FROM template WHERE id = ?1", "i", id));
    cf_buf_deinit(&op);
    return s;
}

static cf_status do_delete_template(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    const cf_str *hash = arg;
    int64_t id, n_runs;
    CF_TRY(cf_sql__int(sql, &id, -1, err, "SELECT id FROM template WHERE hash = ?1", "s", *hash));
    if (id < 0) {
        return cf_fail(err, CF_ENOTFOUND, "no such template is kept");
    }
    CF_TRY(cf_sql__int(sql, &n_runs, 0, err, "SELECT count(*) FROM run WHERE template_id = ?1", "i",
                       id));
    if (n_runs > 0) {
        return cf_fail(err, CF_EINVAL,
                       "%lld repl%s made with it: it is needed to show their "
                       "prompts",
                       (long long)n_runs, n_runs == 1 ? "y was" : "ies were");
    }
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_status st = delete_row(sql, id, &a, err);
    cf_arena_deinit(&a);
    return st;
}

cf_status cf_store_delete_template(cf_store *s, cf_str hash, cf_error *err)
{
    return cf_op__call(s, do_delete_template, &hash, err);
}

cf_status cf_undo__template(cf_sql *sql, const json_t *op, cf_str undo, cf_error *err)
{
    const cf_store_template t = {.name = cf_json_get_str(op, "text"),
                                 .source = undo,
                                 .parent_hash = cf_json_get_str(op, "parent"),
                                 .created_ms = json_integer_value(json_object_get(op, "n"))};
    return cf_rows__put_template(sql, &t, err);
}

cf_status cf_undo__template_again(cf_sql *sql, cf_str source, cf_error *err)
{
    char hash[65];
    cf_hash_hex(hash, source.p, source.n);
    /* One that a reply was made with since stays. */
    return cf_sql__run(sql, err,
                       "DELETE FROM template WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM run "
                       "WHERE template_id = template.id)",
                       "s", cf_str_from(hash));
}

void cf_undo__say_template(cf_buf *what, const json_t *op)
{
    cf_str name = cf_json_get_str(op, "text");
    cf_buf_adds(what, "deleted: a text of '");
    cf_buf_add(what, name.p, name.n < 60 ? name.n : 60);
    cf_buf_addc(what, '\'');
}
