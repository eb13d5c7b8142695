/*
 * store_change.c - changes of titles, tags, ratings, notes and places, forks,
 * and undo (of imports: store_import.c, of deleted templates:
 * store_template.c).
 *
 * A change is a JSON object; the operation log keeps the change and the one
 * that takes it back, in the same form, so that undoing is applying.  Changes
 * that were made together have the number of a batch and are undone together.
 */
#include <string.h>

#include "core/base/os.h"
#include "core/base/utf8.h"
#include "core/json/json_writer.h"
#include "storage/db/store_int.h"
#include "storage/db/store_message.h"

enum { LOG_MAX = 10000 }; /* entries kept */

typedef enum change_kind {
    CHANGE_TITLE,
    CHANGE_PLACE,
    CHANGE_TAG,
    CHANGE_UNTAG,
    CHANGE_RATING,
    CHANGE_NOTE
} change_kind;

static const char *const kind_names[] = {"title", "place", "tag", "untag", "rating", "note"};

typedef struct change {
    change_kind kind;
    cf_uuid id; /* of a turn for ratings and notes, else a conversation */
    cf_str text;
    int64_t n;
} change;

static bool is_about_turn(change_kind kind)
{
    return kind == CHANGE_RATING || kind == CHANGE_NOTE;
}

static void write_change(cf_buf *out, const change *c)
{
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_text(&w, "do", kind_names[c->kind]);
    cf_jw_uuid(&w, "id", c->id);
    cf_jw_int(&w, "n", c->n);
    cf_jw_str(&w, "text", c->text);
    cf_jw_end(&w);
}

static cf_status read_change(change *out, const json_t *v, cf_error *err)
{
    cf_str name = cf_json_get_str(v, "do");
    cf_str id = cf_json_get_str(v, "id");
    size_t kind = 0;
    while (kind <= CHANGE_NOTE && !cf_str_is(name, kind_names[kind])) {
        kind++;
    }
    if (kind > CHANGE_NOTE || !cf_uuid_parse(&out->id, id.p, id.n)) {
        return cf_fail(err, CF_EFORMAT, "the operation log is damaged");
    }
    out->kind = (change_kind)kind;
    out->text = cf_json_get_str(v, "text");
    out->n = json_integer_value(json_object_get(v, "n"));
    return CF_OK;
}

/* ---- applying ----------------------------------------------------------- */

static cf_status read_text(cf_sql *sql, const char *text, int64_t row, cf_arena *a, cf_str *out,
                           cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row;
    *out = cf_str_make("", 0);
    CF_TRY(cf_sql__query(sql, &st, err, text, "i", row));
    CF_TRY(cf_sql__step(sql, st, &has_row, err));
    if (has_row) {
        cf_str got = cf_sql__str(st, 0, a);
        *out = got.p != NULL ? got : *out;
        cf_sql__done(st);
    }
    return a->failed ? cf_sql__oom(err) : CF_OK;
}

/* Makes the inverse of a change; *is_noop is set if it changes nothing. */
static cf_status invert(cf_sql *sql, const change *c, int64_t row, cf_arena *a, change *back,
                        bool *is_noop, cf_error *err)
{
    int64_t n = 0;
    *back = *c;
    *is_noop = false;
    switch (c->kind) {
    case CHANGE_TITLE:
        CF_TRY(read_text(sql, "SELECT title FROM conversation WHERE id = ?", row, a, &back->text,
                         err));
        *is_noop = cf_str_eq(back->text, c->text);
        break;
    case CHANGE_NOTE:
        CF_TRY(read_text(sql, "SELECT note FROM turn WHERE id = ?", row, a, &back->text, err));
        *is_noop = cf_str_eq(back->text, c->text);
        break;
    case CHANGE_PLACE:
        CF_TRY(cf_sql__int(sql, &back->n, 0, err, "SELECT place FROM conversation WHERE id = ?",
                           "i", row));
        *is_noop = back->n == c->n;
        break;
    case CHANGE_RATING:
        CF_TRY(
            cf_sql__int(sql, &back->n, 0, err, "SELECT rating FROM turn WHERE id = ?", "i", row));
        *is_noop = back->n == c->n;
        break;
    case CHANGE_TAG:
    case CHANGE_UNTAG:
        CF_TRY(cf_sql__int(sql, &n, 0, err,
                           "SELECT 1 FROM tag WHERE conversation_id = ? AND "
                           "name = ?",
                           "is", row, c->text));
        back->kind = c->kind == CHANGE_TAG ? CHANGE_UNTAG : CHANGE_TAG;
        *is_noop = (n != 0) == (c->kind == CHANGE_TAG);
        break;
    }
    return CF_OK;
}

static cf_status apply(cf_sql *sql, const change *c, int64_t row, cf_error *err)
{
    cf_str text = c->text.n != 0 ? c->text : cf_str_make(NULL, 0);
    switch (c->kind) {
    case CHANGE_TITLE:
        return cf_rows__set_title(sql, row, c->text, err);
    case CHANGE_PLACE:
        return cf_sql__run(sql, err, "UPDATE conversation SET place = ? WHERE id = ?", "ii", c->n,
                           row);
    case CHANGE_TAG:
        return cf_sql__run(sql, err, "INSERT OR IGNORE INTO tag VALUES(?, ?)", "is", row, c->text);
    case CHANGE_UNTAG:
        return cf_sql__run(sql, err,
                           "DELETE FROM tag WHERE conversation_id = ? AND "
                           "name = ?",
                           "is", row, c->text);
    case CHANGE_RATING:
        return cf_sql__run(sql, err, "UPDATE turn SET rating = nullif(?, 0) WHERE id = ?", "ii",
                           c->n, row);
    case CHANGE_NOTE:
        return cf_sql__run(sql, err, "UPDATE turn SET note = ? WHERE id = ?", "si", text, row);
    }
    return CF_OK;
}

static cf_status find_row(cf_sql *sql, const change *c, int64_t *row, cf_error *err)
{
    return is_about_turn(c->kind) ? cf_rows__turn_id(sql, c->id, row, err)
                                  : cf_rows__conv_id(sql, c->id, row, err);
}

static cf_status log_in(cf_sql *sql, int64_t batch, cf_str op, cf_str undo, cf_error *err)
{
    CF_TRY(cf_sql__run(sql, err,
                       "INSERT INTO oplog(at_ms, op, undo, batch) VALUES(?, ?, "
                       "?, ?)",
                       "issi", cf_os_now_ms(), op, undo, batch));
    return cf_sql__run(sql, err, "DELETE FROM oplog WHERE id <= ?1 AND (batch = 0 OR batch <> ?2)",
                       "ii", sqlite3_last_insert_rowid(sql->db) - LOG_MAX, batch);
}

cf_status cf_undo__log(cf_sql *sql, cf_str op, cf_str undo, cf_error *err)
{
    return log_in(sql, 0, op, undo, err);
}

static cf_status log_change(cf_sql *sql, const change *done, const change *back, int64_t batch,
                            cf_error *err)
{
    cf_buf a = CF_BUF_INIT;
    cf_buf b = CF_BUF_INIT;
    write_change(&a, done);
    write_change(&b, back);
    cf_status st = a.failed || b.failed ? cf_sql__oom(err)
                                        : log_in(sql, batch, cf_buf_str(&a), cf_buf_str(&b), err);
    cf_buf_deinit(&a);
    cf_buf_deinit(&b);
    return st;
}

static cf_status change_one(cf_sql *sql, const change *c, int64_t batch, cf_error *err)
{
    int64_t row;
    change back;
    bool is_noop;
    CF_TRY(find_row(sql, c, &row, err));
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_status st = invert(sql, c, row, &a, &back, &is_noop, err);
    if (st == CF_OK && !is_noop) {
        st = apply(sql, c, row, err);
        CF_THEN(st, log_change(sql, c, &back, batch, err));
    }
    cf_arena_deinit(&a);
    return st;
}

static cf_status do_change(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    return change_one(sql, arg, 0, err);
}

/* One change of many conversations. */
typedef struct many {
    change c; /* its id is none */
    const cf_uuid *id;
    size_t n;
} many;

static cf_status do_many(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    const many *m = arg;
    int64_t batch = 0;
    (void)s;
    if (m->n > 1) {
        CF_TRY(
            cf_sql__int(sql, &batch, 1, err, "SELECT coalesce(max(batch), 0) + 1 FROM oplog", ""));
    }
    for (size_t i = 0; i < m->n; i++) {
        change c = m->c;
        c.id = m->id[i];
        CF_TRY(change_one(sql, &c, batch, err));
    }
    return CF_OK;
}

cf_status cf_store_set_places(cf_store *s, const cf_uuid *conv, size_t n, cf_store_place place,
                              cf_error *err)
{
    many m = {{CHANGE_PLACE, {{0}}, {NULL, 0}, (int64_t)place}, conv, n};
    return cf_op__call(s, do_many, &m, err);
}

cf_status cf_store_set_title(cf_store *s, cf_uuid conv, cf_str title, cf_error *err)
{
    change c = {CHANGE_TITLE, conv, title, 0};
    return cf_op__call(s, do_change, &c, err);
}

cf_status cf_store_set_place(cf_store *s, cf_uuid conv, cf_store_place place, cf_error *err)
{
    change c = {CHANGE_PLACE, conv, {NULL, 0}, (int64_t)place};
    return cf_op__call(s, do_change, &c, err);
}

cf_status cf_store_set_tag(cf_store *s, cf_uuid conv, cf_str tag, bool is_on, cf_error *err)
{
    return cf_store_set_tags(s, &conv, 1, tag, is_on, err);
}

cf_status cf_store_set_tags(cf_store *s, const cf_uuid *conv, size_t n, cf_str tag, bool is_on,
                            cf_error *err)
{
    if (tag.n == 0 || tag.n > 200 || memchr(tag.p, 0, tag.n) != NULL) {
        return cf_fail(err, CF_EINVAL, "a tag has 1 to 200 bytes");
    }
    many m = {{is_on ? CHANGE_TAG : CHANGE_UNTAG, {{0}}, tag, 0}, conv, n};
    return cf_op__call(s, do_many, &m, err);
}

cf_status cf_store_set_rating(cf_store *s, cf_uuid turn, int rating, cf_error *err)
{
    change c = {CHANGE_RATING, turn, {NULL, 0}, rating};
    return cf_op__call(s, do_change, &c, err);
}

cf_status cf_store_set_note(cf_store *s, cf_uuid turn, cf_str note, cf_error *err)
{
    change c = {CHANGE_NOTE, turn, note, 0};
    return cf_op__call(s, do_change, &c, err);
}

static cf_status do_set_head(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    const cf_uuid *turn = arg;
    int64_t id;
    CF_TRY(cf_rows__turn_id(sql, *turn, &id, err));
    return cf_sql__run(sql, err,
                       "UPDATE conversation SET head_id = ?1 WHERE id = "
                       "(SELECT conversation_id FROM turn WHERE id = ?1)",
                       "i", id);
}

cf_status cf_store_set_head(cf_store *s, cf_uuid turn, cf_error *err)
{
    return cf_op__call(s, do_set_head, &turn, err);
}

/* ---- undo --------------------------------------------------------------- */

/* The title of the conversation that a change is about, as lists show it. */
static cf_status title_of(cf_sql *sql, const change *c, cf_arena *a, cf_str *out, cf_error *err)
{
    int64_t row;
    *out = cf_str_make("", 0);
    cf_status st = find_row(sql, c, &row, err);
    if (st == CF_ENOTFOUND) {
        return CF_OK; /* purged since */
    }
    CF_TRY(st);
    return is_about_turn(c->kind) ? read_text(sql,
                                              "SELECT iif(title <> '', title, preview) FROM "
                                              "conversation WHERE id = (SELECT conversation_id "
                                              "FROM turn WHERE id = ?)",
                                              row, a, out, err)
                                  : read_text(sql,
                                              "SELECT iif(title <> '', title, preview) FROM "
                                              "conversation WHERE id = ?",
                                              row, a, out, err);
}

/* "'Weather in Oslo'", or "12 conversations". */
static void add_which(cf_buf *out, cf_str title, size_t n)
{
    if (n > 1) {
        cf_buf_addf(out, "%zu conversations", n);
        return;
    }
    size_t len = cf_utf8_valid_prefix(title.p, title.n < 60 ? title.n : 60);
    cf_buf_addc(out, '\'');
    cf_buf_add(out, title.p, len);
    cf_buf_adds(out, len < title.n ? "..'" : "'");
}

/* One line about a change: of one thing, or of n at once. */
static void describe(cf_buf *out, const change *done, cf_str title, size_t n)
{
    int len = (int)(done->text.n < 60 ? done->text.n : 60);
    const char *text = done->text.p != NULL ? done->text.p : "";
    switch (done->kind) {
    case CHANGE_PLACE:
        cf_buf_adds(out, done->n == CF_PLACE_TRASH      ? "moved to the trash: "
                         : done->n == CF_PLACE_ARCHIVED ? "archived: "
                                                        : "taken back: ");
        break;
    case CHANGE_TITLE:
        cf_buf_addf(out, "title '%.*s'", len, text);
        if (n == 1 && cf_str_eq(title, done->text)) {
            return;
        }
        cf_buf_adds(out, " of ");
        break;
    case CHANGE_TAG:
    case CHANGE_UNTAG:
        cf_buf_addf(out, "%s '%.*s': ", done->kind == CHANGE_TAG ? "tag" : "untag", len, text);
        break;
    case CHANGE_RATING:
        cf_buf_addf(out, "rated %lld: a turn of ", (long long)done->n);
        break;
    case CHANGE_NOTE:
        cf_buf_addf(out, "note '%.*s': a turn of ", len, text);
        break;
    }
    add_which(out, title, n);
}

typedef struct log_entry {
    int64_t id, batch; /* id 0: there is none */
    cf_str op, undo;
    size_t n; /* of its batch, this one included */
} log_entry;

/* What is asked of the log: to take the newest entry back, or to do the one
 * that was taken back last again. */
typedef struct way {
    bool again;
    cf_buf *what; /* one line about it */
} way;

static cf_status say_change(cf_sql *sql, const json_t *op, size_t n, cf_buf *what, cf_error *err)
{
    change done;
    cf_str title = {"", 0};
    CF_TRY(read_change(&done, op, err));
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_status st = title_of(sql, &done, &a, &title, err);
    if (st == CF_OK) {
        describe(what, &done, title, n);
    }
    cf_arena_deinit(&a);
    return st;
}

/* One line about an entry. */
static cf_status say_entry(cf_sql *sql, const json_t *op, size_t n, cf_buf *what, cf_error *err)
{
    cf_str name = cf_json_get_str(op, "do");
    if (cf_str_is(name, CF_UNDO_IMPORT)) {
        cf_undo__say_import(what, op);
    } else if (cf_str_is(name, CF_UNDO_TEMPLATE)) {
        cf_undo__say_template(what, op);
    } else {
        return say_change(sql, op, n, what, err);
    }
    return CF_OK;
}

static cf_status move_change(cf_sql *sql, const json_t *to, cf_error *err)
{
    change c;
    int64_t row;
    CF_TRY(read_change(&c, to, err));
    cf_status st = find_row(sql, &c, &row, err);
    /* Purged since: nothing is left to change. */
    return st == CF_OK ? apply(sql, &c, row, err) : st == CF_ENOTFOUND ? CF_OK : st;
}

static cf_status move_back(cf_sql *sql, const json_t *op, cf_str undo, cf_buf *what, cf_error *err)
{
    cf_str name = cf_json_get_str(op, "do");
    if (cf_str_is(name, CF_UNDO_IMPORT)) {
        return cf_undo__import(sql, undo, what, err);
    }
    if (cf_str_is(name, CF_UNDO_TEMPLATE)) {
        return cf_undo__template(sql, op, undo, err);
    }
    json_t *v;
    CF_TRY(cf_json_read(&v, undo.p, undo.n, err));
    cf_status st = move_change(sql, v, err);
    json_decref(v);
    return st;
}

static cf_status move_again(cf_sql *sql, const json_t *op, cf_str undo, cf_error *err)
{
    cf_str name = cf_json_get_str(op, "do");
    if (cf_str_is(name, CF_UNDO_IMPORT)) {
        cf_str file = cf_json_get_str(op, "text");
        return cf_fail(err, CF_EUNSUPPORTED,
                       "an import is not done again; :import %.*s reads it once more", (int)file.n,
                       file.p != NULL ? file.p : "");
    }
    return cf_str_is(name, CF_UNDO_TEMPLATE) ? cf_undo__template_again(sql, undo, err)
                                             : move_change(sql, op, err);
}

static cf_status move_entry(cf_sql *sql, const log_entry *e, const way *w, cf_error *err)
{
    json_t *v;
    CF_TRY(cf_json_read(&v, e->op.p, e->op.n, err));
    cf_buf_reset(w->what);
    cf_status st = say_entry(sql, v, e->n, w->what, err);
    CF_THEN(st,
            w->again ? move_again(sql, v, e->undo, err) : move_back(sql, v, e->undo, w->what, err));
    CF_THEN(st, cf_buf_check(w->what, err));
    CF_THEN(st, cf_sql__run(sql, err, "UPDATE oplog SET is_undone = ? WHERE id = ?", "ii",
                            (int64_t)!w->again, e->id));
    json_decref(v);
    return st;
}

/* The entry that is due, of a batch (0: of any): the newest that is not undone,
 * or the oldest undone one after all that are not. */
static cf_status due(cf_sql *sql, bool again, int64_t batch, cf_arena *a, log_entry *out,
                     cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row;
    *out = (log_entry){0};
    CF_TRY(cf_sql__query(sql, &st, err,
                         again ? "SELECT id, op, undo, batch FROM oplog WHERE is_undone = 1 AND "
                                 "(?1 = 0 OR batch = ?1) AND id > (SELECT coalesce(max(id), 0) "
                                 "FROM oplog WHERE is_undone = 0) ORDER BY id LIMIT 1"
                               : "SELECT id, op, undo, batch FROM oplog WHERE is_undone = 0 AND "
                                 "(?1 = 0 OR batch = ?1) ORDER BY id DESC LIMIT 1",
                         "i", batch));
    CF_TRY(cf_sql__step(sql, st, &has_row, err));
    if (has_row) {
        out->id = sqlite3_column_int64(st, 0);
        out->op = cf_sql__str(st, 1, a);
        out->undo = cf_sql__str(st, 2, a);
        out->batch = sqlite3_column_int64(st, 3);
        cf_sql__done(st);
    }
    return a->failed ? cf_sql__oom(err) : CF_OK;
}

static cf_status do_move(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    const way *w = arg;
    cf_arena a;
    log_entry e;
    int64_t n = 1;
    cf_arena_init(&a, 0);
    cf_status st = due(sql, w->again, 0, &a, &e, err);
    if (st == CF_OK && e.id == 0) {
        st = cf_fail(err, CF_ENOTFOUND, "nothing to %s", w->again ? "redo" : "undo");
    }
    if (st == CF_OK && e.batch != 0) {
        st = cf_sql__int(sql, &n, 1, err,
                         "SELECT count(*) FROM oplog WHERE batch = ? AND "
                         "is_undone = ?",
                         "ii", e.batch, (int64_t)w->again);
    }
    while (st == CF_OK && e.id != 0) {
        int64_t batch = e.batch;
        e.n = (size_t)n;
        st = move_entry(sql, &e, w, err);
        e.id = 0;
        cf_arena_reset(&a);
        if (batch != 0) {
            CF_THEN(st, due(sql, w->again, batch, &a, &e, err));
        }
    }
    cf_arena_deinit(&a);
    return st;
}

cf_status cf_store_undo(cf_store *s, cf_buf *what, cf_error *err)
{
    return cf_op__call(s, do_move, &(way){false, what}, err);
}

cf_status cf_store_redo(cf_store *s, cf_buf *what, cf_error *err)
{
    return cf_op__call(s, do_move, &(way){true, what}, err);
}

static cf_status do_list(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    cf_buf *out = arg;
    sqlite3_stmt *st;
    cf_status done = CF_OK;
    cf_arena a;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT op, is_undone, count(*), max(id) FROM oplog GROUP BY "
                         "iif(batch = 0, -id, batch) ORDER BY max(id) DESC LIMIT 100",
                         ""));
    cf_arena_init(&a, 0);
    while (cf_sql__next(sql, st, &done, err)) {
        json_t *v = NULL;
        cf_str op = cf_sql__str(st, 0, &a);
        cf_buf_addc(out, sqlite3_column_int64(st, 1) != 0 ? '-' : '+');
        done = a.failed ? cf_sql__oom(err) : cf_json_read(&v, op.p, op.n, err);
        CF_THEN(done, say_entry(sql, v, (size_t)sqlite3_column_int64(st, 2), out, err));
        cf_buf_addc(out, '\n');
        json_decref(v);
        if (done != CF_OK) {
            cf_sql__done(st);
            break;
        }
    }
    cf_arena_deinit(&a);
    CF_THEN(done, cf_buf_check(out, err));
    return done;
}

cf_status cf_store_list_changes(cf_store *s, cf_buf *out, cf_error *err)
{
    return cf_op__call(s, do_list, out, err);
}

/* ---- forks -------------------------------------------------------------- */

typedef struct fork_arg {
    cf_uuid turn, out;
} fork_arg;

static cf_status copy_turn_row(cf_sql *sql, int64_t from, int64_t conv, int64_t parent,
                               int64_t ordinal, int64_t *id, cf_error *err)
{
    CF_TRY(cf_sql__run(sql, err,
                       "INSERT INTO turn(uuid, conversation_id, parent_id, ordinal, "
                       "message_id, status, edited_from, fork_of, fork_token, forced_ids, "
                       "rating, note, created_ms, finished_ms, source) SELECT ?1, ?2, "
                       "nullif(?3, 0), ?4, message_id, CASE status WHEN 'streaming' THEN "
                       "'interrupted' ELSE status END, NULL, fork_of, fork_token, "
                       "forced_ids, rating, note, created_ms, finished_ms, source "
                       "FROM turn WHERE id = ?5",
                       "uiiii", cf_uuid_new(), conv, parent, ordinal, from));
    *id = sqlite3_last_insert_rowid(sql->db);
    CF_TRY(cf_sql__run(sql, err,
                       "INSERT INTO run(turn_id, engine, model, model_hash, template_id, "
                       "vars, options, constraint_spec, seed, n_threads, isa, is_exact, "
                       "prompt_hash, prompt_bytes, n_prompt, n_kept, n_new, n_reply, "
                       "diverged_at, load_us, render_us, prefill_us, first_us, decode_us, "
                       "stop_reason, error, prompt_ids, reply_ids, raw, chunks, token_us, "
                       "trace) SELECT ?, engine, model, model_hash, template_id, vars, "
                       "options, constraint_spec, seed, n_threads, isa, is_exact, "
                       "prompt_hash, prompt_bytes, n_prompt, n_kept, n_new, n_reply, "
                       "diverged_at, load_us, render_us, prefill_us, first_us, decode_us, "
                       "stop_reason, error, prompt_ids, reply_ids, raw, chunks, token_us, "
                       "trace FROM run WHERE turn_id = ?",
                       "ii", *id, from));
    CF_TRY(cf_sql__run(sql, err,
                       "INSERT INTO run_tool SELECT ?, n, tool_id FROM "
                       "run_tool WHERE turn_id = ?",
                       "ii", *id, from));
    return cf_sql__run(sql, err,
                       "INSERT INTO tool_call SELECT ?, n, call_id, name, arguments, "
                       "byte_from, byte_to, token_from, token_to, status, findings, "
                       "parse_error, error_at, state, NULL, result, started_ms, duration_us, "
                       "exit_code, is_mocked FROM tool_call WHERE turn_id = ?",
                       "ii", *id, from);
}

/* Rows from the first turn to `leaf`, first one first. */
static cf_status path_rows(cf_sql *sql, int64_t leaf, cf_arena *a, int64_t **out, size_t *n,
                           cf_error *err)
{
    int64_t count;
    CF_TRY(cf_sql__int(sql, &count, 0, err,
                       "SELECT count(*) FROM turn WHERE conversation_id = "
                       "(SELECT conversation_id FROM turn WHERE id = ?)",
                       "i", leaf));
    int64_t *v = cf_arena_calloc(a, (size_t)(count > 0 ? count : 1), sizeof *v);
    if (v == NULL) {
        return cf_sql__oom(err);
    }
    size_t at = (size_t)count;
    for (int64_t row = leaf; row != 0;) {
        if (at == 0) {
            return cf_fail(err, CF_EFORMAT,
                           "the database is damaged: turns "
                           "form a circle");
        }
        v[--at] = row;
        CF_TRY(cf_sql__int(sql, &row, 0, err, "SELECT parent_id FROM turn WHERE id = ?", "i", row));
    }
    *out = v + at;
    *n = (size_t)count - at;
    return CF_OK;
}

static cf_status fork_conv(cf_sql *sql, int64_t turn, const fork_arg *f, int64_t *conv,
                           cf_error *err)
{
    int64_t now = cf_os_now_ms();
    CF_TRY(cf_sql__run(sql, err,
                       "INSERT INTO conversation(uuid, title, preview, created_ms, "
                       "updated_ms, forked_from, preface, model, template_hash, status) "
                       "SELECT ?1, title, preview, ?2, ?2, ?3, preface, model, "
                       "template_hash, status FROM conversation WHERE id = "
                       "(SELECT conversation_id FROM turn WHERE id = ?4)",
                       "uiui", f->out, now, f->turn, turn));
    *conv = sqlite3_last_insert_rowid(sql->db);
    return cf_rows__title_words(sql, *conv, true, err);
}

static cf_status do_fork(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    const fork_arg *f = arg;
    int64_t turn, conv;
    CF_TRY(cf_rows__turn_id(sql, f->turn, &turn, err));
    CF_TRY(fork_conv(sql, turn, f, &conv, err));
    cf_arena a;
    cf_arena_init(&a, 0);
    int64_t *rows;
    size_t n = 0;
    cf_status st = path_rows(sql, turn, &a, &rows, &n, err);
    int64_t parent = 0;
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        int64_t id = 0;
        st = copy_turn_row(sql, rows[i], conv, parent, (int64_t)i + 1, &id, err);
        parent = id;
    }
    cf_arena_deinit(&a);
    CF_TRY(st);
    CF_TRY(cf_sql__run(sql, err,
                       "UPDATE conversation SET n_turns = ?, head_id = ? "
                       "WHERE id = ?",
                       "iii", (int64_t)n, parent, conv));
    change done = {CHANGE_PLACE, f->out, {NULL, 0}, CF_PLACE_LIVE};
    change back = {CHANGE_PLACE, f->out, {NULL, 0}, CF_PLACE_TRASH};
    return log_change(sql, &done, &back, 0, err);
}

cf_status cf_store_fork(cf_store *s, cf_uuid turn, cf_uuid *out, cf_error *err)
{
    fork_arg f = {turn, cf_uuid_new()};
    CF_TRY(cf_op__call(s, do_fork, &f, err));
    *out = f.out;
    return CF_OK;
}

/* ---- purging ------------------------------------------------------------ */

cf_status cf_rows__collect(cf_sql *sql, const int64_t *v, size_t n, cf_error *err)
{
    enum { FEW = 64 };
    for (size_t i = 0; i < n; i++) {
        CF_TRY(n <= FEW ? cf_msg__collect(sql, v[i], err) : cf_msg__forget_words(sql, v[i], err));
    }
    if (n > FEW) { /* one walk through all is less than many statements */
        CF_TRY(cf_sql__run(sql, err,
                           "DELETE FROM message WHERE NOT EXISTS (SELECT 1 "
                           "FROM turn WHERE message_id = message.id)",
                           ""));
    }
    CF_TRY(cf_sql__run(sql, err,
                       "DELETE FROM blob WHERE NOT EXISTS (SELECT 1 FROM "
                       "message_blob WHERE blob_id = blob.id)",
                       ""));
    return cf_sql__run(sql, err,
                       "DELETE FROM tool WHERE NOT EXISTS (SELECT 1 FROM "
                       "run_tool WHERE tool_id = tool.id)",
                       "");
}

static cf_status messages_of(cf_sql *sql, int64_t conv, cf_arena *a, int64_t **out, size_t *n,
                             cf_error *err)
{
    int64_t count;
    CF_TRY(cf_sql__int(sql, &count, 0, err, "SELECT count(*) FROM turn WHERE conversation_id = ?",
                       "i", conv));
    int64_t *v = cf_arena_calloc(a, (size_t)(count > 0 ? count : 1), sizeof *v);
    if (v == NULL) {
        return cf_sql__oom(err);
    }
    sqlite3_stmt *st;
    *n = 0;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT message_id FROM turn WHERE conversation_id = "
                         "?",
                         "i", conv));
    cf_status s = CF_OK;
    while (cf_sql__next(sql, st, &s, err)) {
        if (*n < (size_t)count) {
            v[(*n)++] = sqlite3_column_int64(st, 0);
        }
    }
    CF_TRY(s);
    *out = v;
    return CF_OK;
}

static cf_status purge_rows(cf_sql *sql, int64_t conv, cf_error *err)
{
    CF_TRY(cf_rows__title_words(sql, conv, false, err));
    CF_TRY(cf_sql__run(sql, err, "UPDATE conversation SET head_id = NULL WHERE id = ?", "i", conv));
    CF_TRY(cf_sql__run(sql, err, "DELETE FROM turn WHERE conversation_id = ?", "i", conv));
    return cf_sql__run(sql, err, "DELETE FROM conversation WHERE id = ?", "i", conv);
}

static cf_status do_purge(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    const cf_uuid *id = arg;
    int64_t conv;
    int64_t *messages = NULL;
    size_t n = 0;
    CF_TRY(cf_rows__conv_id(sql, *id, &conv, err));
    cf_arena a;
    cf_arena_init(&a, 0);
    cf_status st = messages_of(sql, conv, &a, &messages, &n, err);
    CF_THEN(st, purge_rows(sql, conv, err));
    CF_THEN(st, cf_rows__collect(sql, messages, n, err));
    cf_arena_deinit(&a);
    CF_TRY(st);
    /* Titles and notes in the log would outlive what was to be forgotten. */
    CF_TRY(cf_sql__run(sql, err, "DELETE FROM oplog", ""));
    return cf_sql__run(sql, err, "DELETE FROM facet WHERE n <= 0", "");
}

cf_status cf_store_purge(cf_store *s, cf_uuid conv, cf_error *err)
{
    return cf_op__call(s, do_purge, &conv, err);
}
