/*
 * store_rows.c - writes rows of conversations, turns, runs and calls.
 */
#include <string.h>

#include "core/base/hash.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "storage/db/store_codec.h"
#include "storage/db/store_int.h"
#include "storage/db/store_message.h"
#include "storage/db/store_shown.h"
#include "storage/db/store_words.h"

enum { PREVIEW_MAX = 160, TITLE_MAX = 4096 };

cf_store_run cf_store_run_none(void)
{
    return (cf_store_run){.n_threads = -1,
                          .prompt_bytes = -1,
                          .n_prompt = -1,
                          .n_kept = -1,
                          .n_new = -1,
                          .n_reply = -1,
                          .diverged_at = -1,
                          .load_us = -1,
                          .render_us = -1,
                          .prefill_us = -1,
                          .first_us = -1,
                          .decode_us = -1};
}

cf_store_call cf_store_call_none(void)
{
    return (cf_store_call){.byte_from = -1,
                           .byte_to = -1,
                           .token_from = -1,
                           .token_to = -1,
                           .error_at = -1,
                           .started_ms = -1,
                           .duration_us = -1,
                           .exit_code = -1,
                           .state = {"parsed", 6}};
}

static cf_str none(void)
{
    return cf_str_make(NULL, 0);
}

static cf_str whole(const cf_buf *b)
{
    return b->n != 0 ? cf_str_make(b->p, b->n) : none();
}

static cf_status not_found(cf_error *err, const char *what, cf_uuid id)
{
    char text[CF_UUID_TEXT + 1];
    cf_uuid_format(text, id);
    return cf_fail(err, CF_ENOTFOUND, "no %s %s", what, text);
}

cf_status cf_rows__conv_id(cf_sql *sql, cf_uuid id, int64_t *out, cf_error *err)
{
    CF_TRY(cf_sql__int(sql, out, 0, err, "SELECT id FROM conversation WHERE uuid = ?", "u", id));
    return *out != 0 ? CF_OK : not_found(err, "conversation", id);
}

cf_status cf_rows__turn_id(cf_sql *sql, cf_uuid id, int64_t *out, cf_error *err)
{
    CF_TRY(cf_sql__int(sql, out, 0, err, "SELECT id FROM turn WHERE uuid = ?", "u", id));
    return *out != 0 ? CF_OK : not_found(err, "turn", id);
}

/* ---- conversations ------------------------------------------------------ */

static cf_status title_words(cf_sql *sql, int64_t id, cf_str title, bool is_in, cf_error *err)
{
    if (title.n == 0) {
        return CF_OK;
    }
    cf_buf b = CF_BUF_INIT;
    cf_words__index(&b, title);
    cf_str text = cf_buf_str(&b);
    cf_status st = b.failed ? cf_sql__oom(err) : CF_OK;
    if (st == CF_OK && is_in) {
        st = cf_sql__run(sql, err, "INSERT INTO title_words(rowid, title) VALUES(?, ?)", "is", id,
                         text);
    } else if (st == CF_OK) {
        st = cf_sql__run(sql, err,
                         "INSERT INTO title_words(title_words, rowid, title) "
                         "VALUES('delete', ?, ?)",
                         "is", id, text);
    }
    cf_buf_deinit(&b);
    return st;
}

cf_status cf_rows__title_words(cf_sql *sql, int64_t id, bool is_in, cf_error *err)
{
    CF_TRY(cf_shown__put(sql, id, is_in, err));
    sqlite3_stmt *st;
    bool has_row;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_str title = none();
    cf_status s =
        cf_sql__query(sql, &st, err, "SELECT title FROM conversation WHERE id = ?", "i", id);
    if (s == CF_OK) {
        s = cf_sql__step(sql, st, &has_row, err);
        if (s == CF_OK && has_row) {
            title = cf_sql__str(st, 0, &arena);
            cf_sql__done(st);
        }
    }
    if (s == CF_OK && arena.failed) {
        s = cf_sql__oom(err);
    }
    CF_THEN(s, title_words(sql, id, title, is_in, err));
    cf_arena_deinit(&arena);
    return s;
}

/* No NUL bytes, no more than TITLE_MAX bytes, valid UTF-8. */
static cf_str clean_title(cf_str t)
{
    size_t n = t.n < TITLE_MAX ? t.n : TITLE_MAX;
    const char *nul = n != 0 ? memchr(t.p, 0, n) : NULL;
    n = nul != NULL ? (size_t)(nul - t.p) : n;
    return cf_str_make(t.n != 0 ? t.p : "", cf_utf8_valid_prefix(t.p, n));
}

cf_status cf_rows__set_title(cf_sql *sql, int64_t id, cf_str title, cf_error *err)
{
    cf_str clean = clean_title(title);
    CF_TRY(cf_rows__title_words(sql, id, false, err));
    CF_TRY(
        cf_sql__run(sql, err, "UPDATE conversation SET title = ? WHERE id = ?", "si", clean, id));
    return cf_rows__title_words(sql, id, true, err);
}

cf_status cf_rows__put_conv(cf_sql *sql, const cf_store_conv *c, int64_t *id, cf_error *err)
{
    int64_t known;
    char text[CF_UUID_TEXT + 1];
    cf_uuid_format(text, c->id);
    CF_TRY(
        cf_sql__int(sql, &known, 0, err, "SELECT id FROM conversation WHERE uuid = ?", "u", c->id));
    if (known != 0) {
        return cf_fail(err, CF_EINVAL, "conversation %s exists already", text);
    }
    cf_buf source = CF_BUF_INIT;
    cf_buf preface = CF_BUF_INIT;
    cf_secret__json(&source, c->source);
    cf_secret__json(&preface, c->preface);
    cf_str title = clean_title(c->title);
    int64_t created = c->created_ms != 0 ? c->created_ms : cf_os_now_ms();
    int64_t updated = c->updated_ms != 0 ? c->updated_ms : created;
    cf_status st = source.failed || preface.failed
                       ? cf_sql__oom(err)
                       : cf_sql__run(sql, err,
                                     "INSERT INTO conversation(uuid, place, title, "
                                     "created_ms, updated_ms, forked_from, preface, "
                                     "source) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                                     "uisiiuss", c->id, (int64_t)c->place, title, created, updated,
                                     c->forked_from, whole(&preface), whole(&source));
    cf_buf_deinit(&source);
    cf_buf_deinit(&preface);
    CF_TRY(st);
    *id = sqlite3_last_insert_rowid(sql->db);
    for (size_t i = 0; i < c->n_tags; i++) {
        CF_TRY(
            cf_sql__run(sql, err, "INSERT OR IGNORE INTO tag VALUES(?, ?)", "is", *id, c->tags[i]));
    }
    return cf_rows__title_words(sql, *id, true, err);
}

/* The first line or so of a text, blanks joined. */
static void make_preview(cf_buf *out, cf_str text)
{
    bool is_blank = true;
    for (size_t i = 0; i < text.n && out->n < PREVIEW_MAX;) {
        uint32_t cp;
        size_t len = cf_utf8_decode(&cp, text.p + i, text.n - i);
        bool blank = cp <= ' ' || cp == 0x7F;
        if (!blank) {
            cf_buf_add(out, text.p + i, len);
        } else if (!is_blank) {
            cf_buf_addc(out, ' ');
        }
        is_blank = blank;
        i += len;
    }
}

cf_status cf_rows__touch(cf_sql *sql, int64_t conv_id, int64_t turn_id, bool set_head,
                         cf_error *err)
{
    CF_TRY(cf_sql__run(sql, err,
                       "UPDATE conversation SET "
                       "head_id = CASE WHEN ?3 THEN ?2 ELSE head_id END, "
                       "updated_ms = max(updated_ms, (SELECT "
                       "max(created_ms, coalesce(finished_ms, 0)) FROM turn WHERE id = ?2)), "
                       "status = (SELECT status FROM turn WHERE id = ?2) WHERE id = ?1",
                       "iii", conv_id, turn_id, (int64_t)set_head));
    return cf_sql__run(sql, err,
                       "UPDATE conversation SET model = r.model, template_hash = "
                       "coalesce((SELECT hash FROM template WHERE id = r.template_id), '') "
                       "FROM (SELECT coalesce(model, '') AS model, template_id FROM run "
                       "WHERE turn_id = ?2) AS r WHERE id = ?1",
                       "ii", conv_id, turn_id);
}

/* ---- runs --------------------------------------------------------------- */

static cf_status put_tools(cf_sql *sql, int64_t turn_id, const cf_store_run *run, cf_error *err)
{
    if (run->n_tools == 0) {
        return CF_OK;
    }
    CF_TRY(cf_sql__run(sql, err, "DELETE FROM run_tool WHERE turn_id = ?", "i", turn_id));
    for (size_t i = 0; i < run->n_tools; i++) {
        cf_str tool = run->tools[i];
        char hash[CF_HASH_TEXT + 1];
        cf_hash_hex(hash, tool.p, tool.n);
        json_t *v;
        cf_error ignored;
        cf_buf name = CF_BUF_INIT;
        if (cf_json_read(&v, tool.p, tool.n, &ignored) == CF_OK) {
            const json_t *f = json_object_get(v, "function");
            cf_str s = cf_json_get_str(json_is_object(f) ? f : v, "name");
            cf_buf_add(&name, s.p, s.n);
            json_decref(v);
        }
        cf_status st = cf_sql__run(sql, err,
                                   "INSERT INTO tool(hash, name, declaration) VALUES(?, ?, ?) "
                                   "ON CONFLICT(hash) DO NOTHING",
                                   "zss", hash, cf_buf_str(&name), tool);
        cf_buf_deinit(&name);
        CF_TRY(st);
        CF_TRY(cf_sql__run(sql, err,
                           "INSERT INTO run_tool SELECT ?, ?, id FROM tool "
                           "WHERE hash = ?",
                           "iiz", turn_id, (int64_t)i, hash));
    }
    return CF_OK;
}

/* A field that is absent keeps what the row has. */
static const char put_run_inputs[] =
    "INSERT INTO run(turn_id, engine, model, model_hash, template_id, vars, "
    "options, constraint_spec, n_threads, isa, is_exact, prompt_hash, "
    "prompt_bytes, prompt_ids) VALUES(?, ?, ?, ?, (SELECT id FROM template "
    "WHERE hash = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(turn_id) DO "
    "UPDATE SET engine = coalesce(excluded.engine, engine), "
    "model = coalesce(excluded.model, model), "
    "model_hash = coalesce(excluded.model_hash, model_hash), "
    "template_id = coalesce(excluded.template_id, template_id), "
    "vars = coalesce(excluded.vars, vars), "
    "options = coalesce(excluded.options, options), "
    "constraint_spec = coalesce(excluded.constraint_spec, constraint_spec), "
    "n_threads = coalesce(excluded.n_threads, n_threads), "
    "isa = coalesce(excluded.isa, isa), "
    "is_exact = coalesce(excluded.is_exact, is_exact), "
    "prompt_hash = coalesce(excluded.prompt_hash, prompt_hash), "
    "prompt_bytes = coalesce(excluded.prompt_bytes, prompt_bytes), "
    "prompt_ids = coalesce(excluded.prompt_ids, prompt_ids)";

static const char put_run_results[] =
    "UPDATE run SET n_prompt = coalesce(?2, n_prompt), "
    "n_kept = coalesce(?3, n_kept), n_new = coalesce(?4, n_new), "
    "n_reply = coalesce(?5, n_reply), "
    "diverged_at = coalesce(?6, diverged_at), "
    "load_us = coalesce(?7, load_us), render_us = coalesce(?8, render_us), "
    "prefill_us = coalesce(?9, prefill_us), "
    "first_us = coalesce(?10, first_us), "
    "decode_us = coalesce(?11, decode_us), "
    "stop_reason = coalesce(?12, stop_reason), "
    "error = coalesce(?13, error), reply_ids = coalesce(?14, reply_ids), "
    "raw = coalesce(?15, raw), chunks = coalesce(?16, chunks), "
    "token_us = coalesce(?17, token_us), trace = coalesce(?18, trace) "
    "WHERE turn_id = ?1";

typedef struct run_bytes {
    cf_buf model, vars, options, prompt_ids, reply_ids, chunks, token_us;
} run_bytes;

static cf_status pack_run(run_bytes *b, const cf_store_run *r, cf_error *err)
{
    cf_secret__address(&b->model, r->model);
    cf_secret__json(&b->vars, r->vars);
    cf_secret__json(&b->options, r->options);
    cf_codec__put_ids(&b->prompt_ids, r->prompt_ids, r->n_prompt_ids);
    cf_codec__put_ids(&b->reply_ids, r->reply_ids, r->n_reply_ids);
    cf_codec__put_u64s(&b->chunks, r->chunks, r->n_chunks);
    cf_codec__put_u64s(&b->token_us, r->token_us, r->n_token_us);
    bool failed = b->model.failed || b->vars.failed || b->options.failed || b->prompt_ids.failed ||
                  b->reply_ids.failed || b->chunks.failed || b->token_us.failed;
    return failed ? cf_sql__oom(err) : CF_OK;
}

static void free_run_bytes(run_bytes *b)
{
    cf_buf_deinit(&b->model);
    cf_buf_deinit(&b->vars);
    cf_buf_deinit(&b->options);
    cf_buf_deinit(&b->prompt_ids);
    cf_buf_deinit(&b->reply_ids);
    cf_buf_deinit(&b->chunks);
    cf_buf_deinit(&b->token_us);
}

static cf_status put_run(cf_sql *sql, int64_t id, const cf_store_run *r, const run_bytes *b,
                         cf_error *err)
{
    CF_TRY(cf_sql__run(sql, err, put_run_inputs, "isssssssososob", id, r->engine, whole(&b->model),
                       r->model_hash, r->template_hash, whole(&b->vars), whole(&b->options),
                       r->constraint_spec, (int64_t)r->n_threads, r->isa,
                       (int64_t)(r->arithmetic != CF_ARITHMETIC_16 ? (int)r->arithmetic : -1),
                       r->prompt_hash, r->prompt_bytes, whole(&b->prompt_ids)));
    if (r->has_seed) {
        CF_TRY(cf_sql__run(sql, err, "UPDATE run SET seed = ? WHERE turn_id = ?", "ii",
                           (int64_t)r->seed, id));
    }
    CF_TRY(cf_sql__run(sql, err, put_run_results,
                       "iooooooooo"
                       "ossbbbbb",
                       id, r->n_prompt, r->n_kept, r->n_new, r->n_reply, r->diverged_at, r->load_us,
                       r->render_us, r->prefill_us, r->first_us, r->decode_us, r->stop_reason,
                       r->error, whole(&b->reply_ids), r->raw, whole(&b->chunks),
                       whole(&b->token_us), r->trace));
    return put_tools(sql, id, r, err);
}

cf_status cf_rows__put_run(cf_sql *sql, int64_t turn_id, const cf_store_run *run, cf_error *err)
{
    run_bytes b = {0};
    cf_status st = pack_run(&b, run, err);
    CF_THEN(st, put_run(sql, turn_id, run, &b, err));
    free_run_bytes(&b);
    return st;
}

cf_status cf_rows__put_call(cf_sql *sql, int64_t turn_id, const cf_store_call *c, cf_error *err)
{
    return cf_sql__run(sql, err,
                       "INSERT OR REPLACE INTO tool_call(turn_id, n, call_id, name, "
                       "arguments, byte_from, byte_to, token_from, token_to, status, "
                       "findings, parse_error, error_at, state, result_turn, result, "
                       "started_ms, duration_us, exit_code, is_mocked) VALUES(?, ?, ?, ?, ?, "
                       "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       "iisssoooossso"
                       "suso"
                       "ooi",
                       turn_id, c->n, c->call_id, c->name, c->arguments, c->byte_from, c->byte_to,
                       c->token_from, c->token_to, c->status, c->findings, c->parse_error,
                       c->error_at, c->state, c->result_turn, c->result, c->started_ms,
                       c->duration_us, c->exit_code, (int64_t)c->is_mocked);
}

cf_status cf_rows__put_template(cf_sql *sql, const cf_store_template *t, cf_error *err)
{
    char hash[CF_HASH_TEXT + 1];
    cf_hash_hex(hash, t->source.p, t->source.n);
    if (t->hash.p != NULL && !cf_str_is(t->hash, hash)) {
        return cf_fail(err, CF_EINVAL, "template %.8s: its hash is wrong", hash);
    }
    cf_str name = t->name.p != NULL ? t->name : cf_str_from("");
    return cf_sql__run(sql, err,
                       "INSERT INTO template(hash, name, source, parent_hash, "
                       "created_ms) VALUES(?, ?, ?, ?, ?) "
                       "ON CONFLICT(hash) DO NOTHING",
                       "zsssi", hash, name, t->source,
                       t->parent_hash.n != 0 ? t->parent_hash : none(),
                       t->created_ms != 0 ? t->created_ms : cf_os_now_ms());
}

/* ---- turns -------------------------------------------------------------- */

/* Is there another turn below the same parent?  Then this one is a fork. */
static cf_status count_turn(cf_sql *sql, int64_t conv_id, int64_t parent_id, int64_t turn_id,
                            cf_error *err)
{
    int64_t has_sibling;
    if (parent_id != 0) {
        CF_TRY(cf_sql__int(sql, &has_sibling, 0, err,
                           "SELECT 1 FROM turn WHERE parent_id = ? AND "
                           "id <> ? LIMIT 1",
                           "ii", parent_id, turn_id));
    } else {
        CF_TRY(cf_sql__int(sql, &has_sibling, 0, err,
                           "SELECT 1 FROM turn WHERE conversation_id = ? AND "
                           "parent_id IS NULL AND id <> ? LIMIT 1",
                           "ii", conv_id, turn_id));
    }
    return cf_sql__run(sql, err,
                       "UPDATE conversation SET n_turns = n_turns + 1, "
                       "n_forks = n_forks + ? WHERE id = ?",
                       "ii", has_sibling, conv_id);
}

static cf_status set_preview(cf_sql *sql, int64_t conv_id, const cf_msg *m, cf_error *err)
{
    if (!cf_str_is(cf_buf_str(&m->role), "user") || m->text.n == 0) {
        return CF_OK;
    }
    int64_t is_empty;
    CF_TRY(cf_sql__int(sql, &is_empty, 0, err, "SELECT preview = '' FROM conversation WHERE id = ?",
                       "i", conv_id));
    if (is_empty == 0) {
        return CF_OK;
    }
    cf_buf b = CF_BUF_INIT;
    make_preview(&b, cf_str_make(m->text.p, m->text.n));
    cf_status st = b.failed ? cf_sql__oom(err) : CF_OK;
    CF_THEN(st, cf_sql__run(sql, err, "UPDATE conversation SET preview = ? WHERE id = ?", "si",
                            cf_buf_str(&b), conv_id));
    CF_THEN(st, cf_shown__put(sql, conv_id, true, err));
    cf_buf_deinit(&b);
    return st;
}

static cf_status insert_turn(cf_sql *sql, int64_t conv_id, int64_t parent_id, int64_t message_id,
                             const cf_store_turn *t, const char *writer, cf_error *err)
{
    cf_buf source = CF_BUF_INIT;
    cf_buf forced = CF_BUF_INIT;
    cf_secret__json(&source, t->source);
    cf_codec__put_ids(&forced, t->forced_ids, t->n_forced);
    int64_t created = t->created_ms != 0 ? t->created_ms : cf_os_now_ms();
    int64_t finished = t->finished_ms != 0 ? t->finished_ms : cf_os_now_ms();
    bool is_fork = !cf_uuid_is_nil(t->fork_of);
    cf_status st = CF_OK;
    if (source.failed || forced.failed) {
        st = cf_sql__oom(err);
    } else {
        st = cf_sql__run(sql, err,
                         "INSERT INTO turn(uuid, conversation_id, parent_id, ordinal, "
                         "message_id, status, edited_from, fork_of, fork_token, "
                         "forced_ids, rating, note, created_ms, finished_ms, writer, "
                         "source) VALUES(?1, ?2, nullif(?3, 0), (SELECT "
                         "coalesce(max(ordinal), 0) + 1 FROM turn WHERE conversation_id = "
                         "?2), ?4, ?5, ?6, ?7, ?8, ?9, nullif(?10, 0), ?11, ?12, ?13, ?14, "
                         "?15)",
                         "uiiizuuobisioss", t->id, conv_id, parent_id, message_id,
                         cf_turn_status_name(t->status), t->edited_from, t->fork_of,
                         is_fork ? t->fork_token : (int64_t)-1, whole(&forced), (int64_t)t->rating,
                         t->note.n != 0 ? t->note : none(), created,
                         t->status == CF_TURN_STREAMING ? (int64_t)-1 : finished,
                         writer != NULL ? cf_str_from(writer) : none(), whole(&source));
    }
    cf_buf_deinit(&source);
    cf_buf_deinit(&forced);
    return st;
}

static cf_status put_turn(cf_sql *sql, int64_t conv_id, int64_t parent_id, const cf_store_turn *t,
                          const cf_msg *m, const char *writer, int64_t *id, cf_error *err)
{
    int64_t message_id;
    CF_TRY(cf_msg__put(sql, m, &message_id, err));
    CF_TRY(insert_turn(sql, conv_id, parent_id, message_id, t, writer, err));
    *id = sqlite3_last_insert_rowid(sql->db);
    CF_TRY(count_turn(sql, conv_id, parent_id, *id, err));
    CF_TRY(set_preview(sql, conv_id, m, err));
    if (t->run != NULL) {
        CF_TRY(cf_rows__put_run(sql, *id, t->run, err));
    }
    for (size_t i = 0; i < t->n_calls; i++) {
        CF_TRY(cf_rows__put_call(sql, *id, &t->calls[i], err));
    }
    return CF_OK;
}

cf_status cf_rows__put_turn(cf_sql *sql, int64_t conv_id, int64_t parent_id, const cf_store_turn *t,
                            const char *writer, int64_t *id, cf_error *err)
{
    int64_t known;
    CF_TRY(cf_sql__int(sql, &known, 0, err, "SELECT id FROM turn WHERE uuid = ?", "u", t->id));
    if (known != 0) {
        char text[CF_UUID_TEXT + 1];
        cf_uuid_format(text, t->id);
        return cf_fail(err, CF_EINVAL, "turn %s exists already", text);
    }
    cf_msg m;
    CF_TRY(cf_msg__init(&m, t->message, err));
    cf_status st = put_turn(sql, conv_id, parent_id, t, &m, writer, id, err);
    cf_msg__deinit(&m);
    return st;
}
