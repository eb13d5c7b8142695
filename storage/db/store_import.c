/*
 * store_import.c - the log entry of an import, and taking an import back.
 *
 * An entry names rows: (turn_from, turn_to] are the turns that were added,
 * (conv_from, conv_to] the conversations, and [first, last, "tag"] those that
 * were there before and got a tag.  An import is put in batches; each adds its
 * rows to the one entry, in the transaction that adds the turns.
 *
 * Invariants
 * 1. Row numbers grow: a turn has a higher number than its parent, and rows
 *    of an entry that is still to be undone exist, or were removed with the
 *    whole log (purge).
 * 2. A turn that another hangs on stays, whoever added it.
 */
#include <string.h>

#include "core/base/os.h"
#include "core/json/json_writer.h"
#include "storage/db/store_int.h"
#include "storage/db/store_message.h"

/* ---- the entry ---------------------------------------------------------- */

static void write_op(cf_buf *out, const cf_store_origin *origin)
{
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "do", CF_UNDO_IMPORT);
    cf_jw_uuid(&w, "id", origin->id);
    cf_jw_str(&w, "text", origin->name);
    cf_jw_end(&w);
}

static int64_t number_at(const json_t *list, size_t i)
{
    return json_integer_value(json_array_get(list, i));
}

/* Appends the tags, the first one to the last entry where it goes on. */
static bool add_tags(json_t *list, const json_t *tagged)
{
    size_t from = 0;
    json_t *last = json_array_get(list, json_array_size(list) - 1);
    const json_t *first = json_array_get(tagged, 0);
    if (last != NULL && first != NULL && json_array_size(last) == 3 &&
        json_equal(json_array_get(last, 2), json_array_get(first, 2)) &&
        number_at(last, 1) + 1 == number_at(first, 0)) {
        from = 1;
        if (json_array_set_new(last, 1, json_integer(number_at(first, 1))) != 0) {
            return false;
        }
    }
    for (size_t i = from; i < json_array_size(tagged); i++) {
        if (json_array_append(list, json_array_get(tagged, i)) != 0) {
            return false;
        }
    }
    return true;
}

/* Appends the rows, or extends the last ones where they go on. */
static bool add_rows(json_t *list, const cf_import_rows *r)
{
    json_t *last = json_array_get(list, json_array_size(list) - 1);
    if (r->turn_from == r->turn_to && r->conv_from == r->conv_to) {
        return true;
    }
    if (last != NULL && json_array_size(last) == 4 && number_at(last, 1) == r->turn_from &&
        number_at(last, 3) == r->conv_from) {
        return json_array_set_new(last, 1, json_integer(r->turn_to)) == 0 &&
               json_array_set_new(last, 3, json_integer(r->conv_to)) == 0;
    }
    return json_array_append_new(list, json_pack("[I,I,I,I]", (json_int_t)r->turn_from,
                                                 (json_int_t)r->turn_to, (json_int_t)r->conv_from,
                                                 (json_int_t)r->conv_to)) == 0;
}

/* The rows so far, an array that the caller decrefs, and the entry's number;
 * an empty array and 0 where there is no entry yet. */
static cf_status find_entry(cf_sql *sql, const cf_buf *op, int64_t *id, json_t **rows,
                            cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row;
    *id = 0;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT id, undo FROM oplog WHERE op = ? AND "
                         "is_undone = 0 ORDER BY id DESC LIMIT 1",
                         "s", cf_buf_str(op)));
    CF_TRY(cf_sql__step(sql, st, &has_row, err));
    if (!has_row) {
        *rows = json_array();
        return *rows != NULL ? CF_OK : cf_sql__oom(err);
    }
    *id = sqlite3_column_int64(st, 0);
    const char *text = (const char *)sqlite3_column_text(st, 1);
    cf_status s =
        cf_json_read(rows, text != NULL ? text : "", text != NULL ? strlen(text) : 0, err);
    cf_sql__done(st);
    return s;
}

static cf_status write_entry(cf_sql *sql, const cf_buf *op, int64_t id, const json_t *rows,
                             cf_error *err)
{
    cf_buf undo = CF_BUF_INIT;
    cf_json_write(&undo, rows);
    cf_status st = cf_buf_check(&undo, err);
    if (st == CF_OK && id != 0) {
        st = cf_sql__run(sql, err, "UPDATE oplog SET undo = ? WHERE id = ?", "si",
                         cf_buf_str(&undo), id);
    } else if (st == CF_OK) {
        st = cf_undo__log(sql, cf_buf_str(op), cf_buf_str(&undo), err);
    }
    cf_buf_deinit(&undo);
    return st;
}

cf_status cf_undo__log_import(cf_sql *sql, const cf_store_origin *origin,
                              const cf_import_rows *added, cf_error *err)
{
    int64_t id = 0;
    json_t *rows = NULL;
    cf_buf op = CF_BUF_INIT;
    if (added->turn_from == added->turn_to && added->conv_from == added->conv_to &&
        json_array_size(added->tagged) == 0) {
        return CF_OK;
    }
    write_op(&op, origin);
    cf_status st = cf_buf_check(&op, err);
    CF_THEN(st, find_entry(sql, &op, &id, &rows, err));
    if (st == CF_OK && !(add_rows(rows, added) && add_tags(rows, added->tagged))) {
        st = cf_sql__oom(err);
    }
    CF_THEN(st, write_entry(sql, &op, id, rows, err));
    json_decref(rows);
    cf_buf_deinit(&op);
    return st;
}

/* ---- taking back -------------------------------------------------------- */

typedef struct id_list {
    int64_t *v; /* in the arena */
    size_t n;
} id_list;

/* The numbers that `list` finds in (from, to]; `count` counts them. */
static cf_status read_ids(cf_sql *sql, const char *count, const char *list, int64_t from,
                          int64_t to, cf_arena *a, id_list *out, cf_error *err)
{
    sqlite3_stmt *st;
    int64_t room;
    CF_TRY(cf_sql__int(sql, &room, 0, err, count, "ii", from, to));
    out->n = 0;
    out->v = cf_arena_calloc(a, (size_t)(room > 0 ? room : 1), sizeof *out->v);
    if (out->v == NULL) {
        return cf_sql__oom(err);
    }
    CF_TRY(cf_sql__query(sql, &st, err, list, "ii", from, to));
    cf_status s = CF_OK;
    while (cf_sql__next(sql, st, &s, err)) {
        if (out->n < (size_t)room) {
            out->v[out->n++] = sqlite3_column_int64(st, 0);
        }
    }
    return s;
}

/* Counters, head and the columns of the newest turn, after turns are gone. */
static cf_status settle(cf_sql *sql, int64_t conv, cf_error *err)
{
    return cf_sql__run(sql, err,
                       "UPDATE conversation AS c SET "
                       "n_turns = (SELECT count(*) FROM turn WHERE conversation_id = c.id), "
                       "n_forks = max(0, (SELECT count(*) FROM turn t WHERE conversation_id = "
                       "c.id AND NOT EXISTS (SELECT 1 FROM turn k WHERE k.parent_id = t.id)) "
                       "- "
                       "1), "
                       "head_id = coalesce(head_id, (SELECT id FROM turn WHERE "
                       "conversation_id = c.id ORDER BY ordinal DESC LIMIT 1)), "
                       "status = coalesce((SELECT status FROM turn WHERE conversation_id = "
                       "c.id ORDER BY ordinal DESC LIMIT 1), ''), "
                       "model = coalesce((SELECT r.model FROM run r JOIN turn t ON t.id = "
                       "turn_id WHERE conversation_id = c.id ORDER BY ordinal DESC LIMIT 1), "
                       "''), "
                       "template_hash = coalesce((SELECT p.hash FROM run r JOIN turn t ON "
                       "t.id = turn_id JOIN template p ON p.id = template_id WHERE "
                       "conversation_id = c.id ORDER BY ordinal DESC LIMIT 1), '') "
                       "WHERE id = ?",
                       "i", conv);
}

/* *convs gets the conversations that had some of them. */
static cf_status remove_turns(cf_sql *sql, const cf_import_rows *r, cf_arena *a, id_list *convs,
                              int64_t *n_left, cf_error *err)
{
    id_list messages;
    CF_TRY(read_ids(sql, "SELECT count(*) FROM turn WHERE id > ? AND id <= ?",
                    "SELECT DISTINCT message_id FROM turn WHERE id > ? AND "
                    "id <= ?",
                    r->turn_from, r->turn_to, a, &messages, err));
    CF_TRY(read_ids(sql, "SELECT count(*) FROM turn WHERE id > ? AND id <= ?",
                    "SELECT DISTINCT conversation_id FROM turn WHERE id > ? "
                    "AND id <= ?",
                    r->turn_from, r->turn_to, a, convs, err));
    CF_TRY(cf_sql__run(sql, err,
                       "WITH RECURSIVE kept(id) AS (SELECT parent_id FROM turn WHERE "
                       "parent_id > ?1 AND parent_id <= ?2 AND id > ?2 UNION SELECT "
                       "t.parent_id FROM kept JOIN turn t ON t.id = kept.id WHERE "
                       "t.parent_id > ?1) DELETE FROM turn WHERE id > ?1 AND id <= ?2 AND "
                       "id NOT IN (SELECT id FROM kept)",
                       "ii", r->turn_from, r->turn_to));
    CF_TRY(cf_rows__collect(sql, messages.v, messages.n, err));
    int64_t left;
    CF_TRY(cf_sql__int(sql, &left, 0, err, "SELECT count(*) FROM turn WHERE id > ? AND id <= ?",
                       "ii", r->turn_from, r->turn_to));
    *n_left += left;
    return CF_OK;
}

/* Conversations of the import that have no turn left; in one statement, for
 * each statement of a long transaction costs time with all that came before. */
static cf_status remove_convs(cf_sql *sql, const cf_import_rows *r, cf_arena *a, cf_error *err)
{
    static const char count[] = "SELECT count(*) FROM conversation WHERE id > "
                                "? AND id <= ?";
    static const char titled[] =
        "SELECT id FROM conversation c WHERE id > ? AND id <= ? AND title <> "
        "'' AND NOT EXISTS (SELECT 1 FROM turn WHERE conversation_id = c.id)";
    id_list empty;
    CF_TRY(read_ids(sql, count, titled, r->conv_from, r->conv_to, a, &empty, err));
    for (size_t i = 0; i < empty.n; i++) {
        CF_TRY(cf_rows__title_words(sql, empty.v[i], false, err));
    }
    return cf_sql__run(sql, err,
                       "DELETE FROM conversation WHERE id > ? AND id <= ? AND NOT EXISTS "
                       "(SELECT 1 FROM turn WHERE conversation_id = conversation.id)",
                       "ii", r->conv_from, r->conv_to);
}

static cf_status take_back(cf_sql *sql, const json_t *rows, cf_arena *a, int64_t *n_left,
                           cf_error *err)
{
    if (!json_is_array(rows)) {
        return cf_fail(err, CF_EFORMAT, "the operation log is damaged");
    }
    /* Each turn that goes is looked for among the heads: that must not be a
     * walk through all conversations.  The index lives as long as this. */
    CF_TRY(cf_sql__script(sql,
                          "CREATE INDEX undo_heads ON "
                          "conversation(head_id)",
                          err));
    /* Newest first: what hangs on older turns of this import goes before. */
    for (size_t i = json_array_size(rows); i > 0; i--) {
        const json_t *v = json_array_get(rows, i - 1);
        const char *tag = json_string_value(json_array_get(v, 2));
        cf_import_rows r = {number_at(v, 0), number_at(v, 1), number_at(v, 2), number_at(v, 3),
                            NULL};
        if (tag != NULL) {
            CF_TRY(cf_sql__run(sql, err,
                               "DELETE FROM tag WHERE conversation_id BETWEEN "
                               "? AND ? AND name = ?",
                               "iis", number_at(v, 0), number_at(v, 1), cf_str_from(tag)));
            continue;
        }
        id_list convs;
        CF_TRY(remove_turns(sql, &r, a, &convs, n_left, err));
        CF_TRY(remove_convs(sql, &r, a, err));
        for (size_t k = 0; k < convs.n; k++) {
            CF_TRY(settle(sql, convs.v[k], err));
        }
    }
    return cf_sql__script(sql, "DROP INDEX undo_heads", err);
}

void cf_undo__say_import(cf_buf *what, const json_t *op)
{
    cf_str name = cf_json_get_str(op, "text");
    cf_buf_adds(what, "import of ");
    cf_buf_add(what, name.n != 0 ? name.p : "a file", name.n != 0 ? name.n : strlen("a file"));
}

cf_status cf_undo__import(cf_sql *sql, cf_str undo, cf_buf *what, cf_error *err)
{
    json_t *rows;
    cf_arena a;
    int64_t n_left = 0;
    CF_TRY(cf_json_read(&rows, undo.p, undo.n, err));
    cf_arena_init(&a, 0);
    cf_status st = take_back(sql, rows, &a, &n_left, err);
    cf_arena_deinit(&a);
    json_decref(rows);
    if (n_left != 0) {
        cf_buf_addf(what, "; %lld turn%s that %s continued since stay%s", (long long)n_left,
                    n_left == 1 ? "" : "s", n_left == 1 ? "was" : "were", n_left == 1 ? "s" : "");
    }
    return st;
}
