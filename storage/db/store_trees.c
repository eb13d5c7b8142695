/*
 * store_trees.c - stores whole imported conversations, all or nothing.
 */
#include <string.h>

#include "core/base/os.h"
#include "storage/db/store_int.h"

/* Row and conversation of a turn by UUID; zeros when it is not known. */
static cf_status look_up(cf_sql *sql, cf_uuid id, int64_t *row, int64_t *conv, cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row;
    *row = *conv = 0;
    CF_TRY(cf_sql__query(sql, &st, err, "SELECT id, conversation_id FROM turn WHERE uuid = ?", "u",
                         id));
    CF_TRY(cf_sql__step(sql, st, &has_row, err));
    if (has_row) {
        *row = sqlite3_column_int64(st, 0);
        *conv = sqlite3_column_int64(st, 1);
        cf_sql__done(st);
    }
    return CF_OK;
}

/* The conversation a tree belongs to; 0: a new one. */
static cf_status find_conv(cf_sql *sql, const cf_store_tree *t, int64_t *conv, cf_error *err)
{
    *conv = 0;
    if (!cf_uuid_is_nil(t->conv.id)) {
        return cf_sql__int(sql, conv, 0, err, "SELECT id FROM conversation WHERE uuid = ?", "u",
                           t->conv.id);
    }
    for (size_t i = 0; *conv == 0 && i < t->n; i++) {
        int64_t row;
        if (!cf_uuid_is_nil(t->turns[i].id)) {
            CF_TRY(look_up(sql, t->turns[i].id, &row, conv, err));
        }
    }
    return CF_OK;
}

static cf_status find_parent(cf_sql *sql, const cf_store_turn *t, int64_t conv, int64_t *parent,
                             cf_error *err)
{
    int64_t parent_conv;
    *parent = 0;
    if (cf_uuid_is_nil(t->parent)) {
        return CF_OK;
    }
    CF_TRY(look_up(sql, t->parent, parent, &parent_conv, err));
    if (*parent == 0) {
        return cf_fail(err, CF_EFORMAT, "a turn comes before its parent, or has none");
    }
    if (parent_conv != conv) {
        *parent = 0; /* the parent stays where it was: this is a first turn */
    }
    return CF_OK;
}

static cf_status put_one(cf_sql *sql, const cf_store_turn *t, int64_t conv,
                         cf_store_put_report *report, int64_t *last, cf_error *err)
{
    int64_t row, row_conv, parent;
    CF_TRY(look_up(sql, t->id, &row, &row_conv, err));
    if (row != 0) {
        report->n_skipped++;
        return CF_OK;
    }
    CF_TRY(find_parent(sql, t, conv, &parent, err));
    cf_store_turn copy = *t;
    copy.id = cf_uuid_is_nil(t->id) ? cf_uuid_new() : t->id;
    if (copy.status == CF_TURN_STREAMING) {
        copy.status = CF_TURN_INTERRUPTED;
    }
    CF_TRY(cf_rows__put_turn(sql, conv, parent, &copy, NULL, last, err));
    report->n_added++;
    return CF_OK;
}

/* Columns that follow from the turns. */
static cf_status settle(cf_sql *sql, const cf_store_tree *t, int64_t conv, int64_t last,
                        bool is_new, cf_error *err)
{
    int64_t head, head_conv;
    CF_TRY(cf_rows__touch(sql, conv, last, is_new, err));
    CF_TRY(look_up(sql, t->conv.head, &head, &head_conv, err));
    if (head != 0 && head_conv == conv) {
        CF_TRY(cf_sql__run(sql, err, "UPDATE conversation SET head_id = ? WHERE id = ?", "ii", head,
                           conv));
    }
    if (is_new && t->conv.updated_ms != 0) {
        CF_TRY(cf_sql__run(sql, err,
                           "UPDATE conversation SET updated_ms = ? "
                           "WHERE id = ?",
                           "ii", t->conv.updated_ms, conv));
    }
    return cf_sql__run(sql, err,
                       "UPDATE conversation SET model = coalesce(r.model, ''), template_hash "
                       "= coalesce((SELECT hash FROM template WHERE id = r.template_id), '') "
                       "FROM (SELECT model, template_id FROM run JOIN turn ON turn.id = "
                       "turn_id WHERE conversation_id = ?1 ORDER BY ordinal DESC LIMIT 1) AS "
                       "r WHERE id = ?1",
                       "i", conv);
}

/* Notes that conversation `conv` got a tag; neighbours share an entry. */
static bool note_tag(json_t *tagged, int64_t conv, cf_str tag)
{
    json_t *last = json_array_get(tagged, json_array_size(tagged) - 1);
    json_t *name = json_stringn(tag.p, tag.n);
    if (name == NULL) {
        return true; /* not UTF-8: undo cannot name it */
    }
    if (json_equal(json_array_get(last, 2), name) &&
        json_integer_value(json_array_get(last, 1)) == conv - 1) {
        json_decref(name);
        return json_array_set_new(last, 1, json_integer(conv)) == 0;
    }
    return json_array_append_new(
               tagged, json_pack("[I,I,o]", (json_int_t)conv, (json_int_t)conv, name)) == 0;
}

/* The tags of a tree whose conversation is known; those that are new to it are
 * noted. */
static cf_status add_tags(cf_sql *sql, const cf_store_tree *t, int64_t conv, json_t *tagged,
                          cf_store_put_report *report, cf_error *err)
{
    for (size_t i = 0; i < t->conv.n_tags; i++) {
        cf_str tag = t->conv.tags[i];
        int64_t has;
        CF_TRY(cf_sql__int(sql, &has, 0, err,
                           "SELECT count(*) FROM tag WHERE conversation_id = ? "
                           "AND name = ?",
                           "is", conv, tag));
        if (has != 0) {
            continue;
        }
        CF_TRY(cf_sql__run(sql, err, "INSERT INTO tag VALUES(?, ?)", "is", conv, tag));
        report->n_tagged++;
        if (tagged != NULL && !note_tag(tagged, conv, tag)) {
            return cf_sql__oom(err);
        }
    }
    return CF_OK;
}

cf_status cf_rows__put_tree(cf_sql *sql, const cf_store_tree *t, json_t *tagged,
                            cf_store_put_report *report, cf_error *err)
{
    int64_t conv;
    *report = (cf_store_put_report){0};
    CF_TRY(find_conv(sql, t, &conv, err));
    if (conv == 0) {
        cf_store_conv c = t->conv;
        c.id = cf_uuid_is_nil(c.id) ? cf_uuid_new() : c.id;
        CF_TRY(cf_rows__put_conv(sql, &c, &conv, err));
        report->is_new = true;
        report->conversation = c.id;
    } else {
        sqlite3_stmt *st;
        bool has_row;
        CF_TRY(
            cf_sql__query(sql, &st, err, "SELECT uuid FROM conversation WHERE id = ?", "i", conv));
        CF_TRY(cf_sql__step(sql, st, &has_row, err));
        if (has_row) {
            report->conversation = cf_sql__uuid(st, 0);
            cf_sql__done(st);
        }
        CF_TRY(add_tags(sql, t, conv, tagged, report, err));
    }
    int64_t last = 0;
    for (size_t i = 0; i < t->n; i++) {
        CF_TRY(put_one(sql, &t->turns[i], conv, report, &last, err));
    }
    return last != 0 ? settle(sql, t, conv, last, report->is_new, err) : CF_OK;
}

typedef struct trees_arg {
    const cf_store_tree *const *trees;
    size_t n;
    const cf_store_origin *origin; /* NULL: undo does not know of them */
    cf_store_put_report *reports;
    cf_error *errs;
} trees_arg;

static cf_status newest_rows(cf_sql *sql, int64_t *turn, int64_t *conv, cf_error *err)
{
    CF_TRY(cf_sql__int(sql, turn, 0, err, "SELECT max(id) FROM turn", ""));
    return cf_sql__int(sql, conv, 0, err, "SELECT max(id) FROM conversation", "");
}

static cf_status put_all(cf_sql *sql, const trees_arg *a, json_t *tagged, cf_error *err)
{
    for (size_t i = 0; i < a->n; i++) {
        CF_TRY(cf_sql__script(sql, "SAVEPOINT tree", err));
        cf_error why = {0};
        cf_status st = cf_rows__put_tree(sql, a->trees[i], tagged, &a->reports[i], &why);
        if (cf_sql__may_heal(st) || st == CF_ECANCELLED) {
            *err = why;
            return st; /* all of it is undone */
        }
        if (st != CF_OK) {
            a->reports[i] = (cf_store_put_report){0};
            CF_TRY(cf_sql__script(sql, "ROLLBACK TO tree", err));
        }
        if (a->errs != NULL) {
            a->errs[i] = why;
        }
        CF_TRY(cf_sql__script(sql, "RELEASE tree", err));
    }
    return CF_OK;
}

/* New rows get the highest numbers without gaps, since other writers are locked
 * out meanwhile. */
static cf_status do_trees(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    const trees_arg *a = arg;
    cf_import_rows rows = {.tagged = json_array()};
    cf_status st = rows.tagged != NULL ? CF_OK : cf_sql__oom(err);
    CF_THEN(st, newest_rows(sql, &rows.turn_from, &rows.conv_from, err));
    sql->cancel = a->origin != NULL ? a->origin->cancel : NULL;
    CF_THEN(st, put_all(sql, a, rows.tagged, err));
    sql->cancel = NULL;
    CF_THEN(st, newest_rows(sql, &rows.turn_to, &rows.conv_to, err));
    if (st == CF_OK && a->origin != NULL) {
        st = cf_undo__log_import(sql, a->origin, &rows, err);
    }
    json_decref(rows.tagged);
    return st;
}

cf_status cf_store_put_trees(cf_store *s, const cf_store_tree *const *trees, size_t n,
                             const cf_store_origin *origin, cf_store_put_report *reports,
                             cf_error *errs, cf_error *err)
{
    trees_arg a = {trees, n, origin, reports, errs};
    return cf_op__call(s, do_trees, &a, err);
}

typedef struct templates_arg {
    const cf_store_template *v;
    size_t n;
} templates_arg;

static cf_status do_templates(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    const templates_arg *a = arg;
    for (size_t i = 0; i < a->n; i++) {
        CF_TRY(cf_rows__put_template(sql, &a->v[i], err));
    }
    return CF_OK;
}

cf_status cf_store_put_templates(cf_store *s, const cf_store_template *v, size_t n, cf_error *err)
{
    templates_arg a = {v, n};
    return cf_op__call(s, do_templates, &a, err);
}
