/*
 * store_read.c - reads turns, trees and templates.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "storage/db/store_codec.h"
#include "storage/db/store_int.h"
#include "storage/db/store_message.h"

enum { TREE_MAX = 1000000 }; /* turns of one conversation */

static cf_status arena_status(const cf_arena *a, cf_error *err)
{
    return a->failed ? cf_sql__oom(err) : CF_OK;
}

/* ---- runs and calls ----------------------------------------------------- */

static const char select_run[] =
    "SELECT engine, model, model_hash, t.hash, vars, options, constraint_spec, "
    "seed, n_threads, isa, is_exact, prompt_hash, prompt_bytes, n_prompt, "
    "n_kept, n_new, n_reply, diverged_at, load_us, render_us, prefill_us, "
    "first_us, decode_us, stop_reason, error, prompt_ids, reply_ids, raw, "
    "chunks, token_us, trace FROM run LEFT JOIN template t ON "
    "t.id = template_id WHERE turn_id = ?";

static void read_run(sqlite3_stmt *st, cf_arena *a, cf_store_run *r)
{
    cf_str *const texts[] = {&r->engine, &r->model,   &r->model_hash,     &r->template_hash,
                             &r->vars,   &r->options, &r->constraint_spec};
    for (int i = 0; i < 7; i++) {
        *texts[i] = cf_sql__str(st, i, a);
    }
    r->has_seed = sqlite3_column_type(st, 7) != SQLITE_NULL;
    r->seed = (uint64_t)sqlite3_column_int64(st, 7);
    int64_t threads = cf_sql__opt(st, 8);
    r->n_threads = threads > INT32_MAX || threads < 0 ? -1 : (int)threads;
    r->isa = cf_sql__str(st, 9, a);
    r->arithmetic = cf_arithmetic_from(cf_sql__opt(st, 10));
    r->prompt_hash = cf_sql__str(st, 11, a);
    int64_t *const numbers[] = {&r->prompt_bytes, &r->n_prompt,    &r->n_kept,   &r->n_new,
                                &r->n_reply,      &r->diverged_at, &r->load_us,  &r->render_us,
                                &r->prefill_us,   &r->first_us,    &r->decode_us};
    for (int i = 0; i < 11; i++) {
        *numbers[i] = cf_sql__opt(st, 12 + i);
    }
    r->stop_reason = cf_sql__str(st, 23, a);
    r->error = cf_sql__str(st, 24, a);
    r->raw = cf_sql__blob(st, 27, a);
}

static void read_lists(sqlite3_stmt *st, cf_arena *a, cf_store_run *r)
{
    r->prompt_ids = cf_codec__get_ids(cf_sql__blob(st, 25, a), a, &r->n_prompt_ids);
    r->reply_ids = cf_codec__get_ids(cf_sql__blob(st, 26, a), a, &r->n_reply_ids);
    r->chunks = cf_codec__get_u64s(cf_sql__blob(st, 28, a), a, &r->n_chunks);
    r->token_us = cf_codec__get_u64s(cf_sql__blob(st, 29, a), a, &r->n_token_us);
    r->trace = cf_sql__blob(st, 30, a);
}

static cf_status read_tools(cf_sql *sql, int64_t turn_id, cf_arena *a, cf_store_run *r,
                            cf_error *err)
{
    cf_str *tools = NULL;
    CF_TRY(cf_sql__strs(sql, &tools, &r->n_tools, "SELECT count(*) FROM run_tool WHERE turn_id = ?",
                        "SELECT declaration FROM run_tool JOIN tool ON "
                        "tool.id = tool_id WHERE turn_id = ? ORDER BY n",
                        turn_id, a, err));
    r->tools = tools;
    return CF_OK;
}

/* Lists of a reply that is still being written. */
static cf_status read_pieces(cf_sql *sql, int64_t turn_id, cf_arena *a, cf_store_run *r,
                             cf_error *err)
{
    cf_stream_parts p;
    CF_TRY(cf_stream__join(sql, turn_id, &p, err));
    if (p.raw.n != 0 || p.ids.n != 0) {
        cf_str raw = cf_buf_str(&p.raw);
        r->raw = cf_copy__str(a, raw);
        r->reply_ids = cf_codec__get_ids(cf_buf_str(&p.ids), a, &r->n_reply_ids);
        r->chunks = cf_codec__get_u64s(cf_buf_str(&p.chunks), a, &r->n_chunks);
        r->token_us = cf_codec__get_u64s(cf_buf_str(&p.us), a, &r->n_token_us);
        r->trace = cf_copy__str(a, cf_buf_str(&p.trace));
    }
    cf_stream__free_parts(&p);
    return CF_OK;
}

static cf_status load_run(cf_sql *sql, int64_t turn_id, bool with_lists, bool is_streaming,
                          cf_arena *a, const cf_store_run **out, cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row;
    *out = NULL;
    cf_store_run *r = cf_arena_calloc(a, 1, sizeof *r);
    if (r == NULL) {
        return cf_sql__oom(err);
    }
    *r = cf_store_run_none();
    CF_TRY(cf_sql__query(sql, &st, err, select_run, "i", turn_id));
    CF_TRY(cf_sql__step(sql, st, &has_row, err));
    if (has_row) {
        read_run(st, a, r);
        if (with_lists) {
            read_lists(st, a, r);
        }
        cf_sql__done(st);
        CF_TRY(read_tools(sql, turn_id, a, r, err));
    }
    if (with_lists && is_streaming) {
        CF_TRY(read_pieces(sql, turn_id, a, r, err));
    }
    *out = has_row || is_streaming ? r : NULL;
    return arena_status(a, err);
}

static void read_call(sqlite3_stmt *st, cf_arena *a, cf_store_call *c)
{
    c->n = sqlite3_column_int64(st, 0);
    c->call_id = cf_sql__str(st, 1, a);
    c->name = cf_sql__str(st, 2, a);
    c->arguments = cf_sql__str(st, 3, a);
    c->byte_from = cf_sql__opt(st, 4);
    c->byte_to = cf_sql__opt(st, 5);
    c->token_from = cf_sql__opt(st, 6);
    c->token_to = cf_sql__opt(st, 7);
    c->status = cf_sql__str(st, 8, a);
    c->findings = cf_sql__str(st, 9, a);
    c->parse_error = cf_sql__str(st, 10, a);
    c->error_at = cf_sql__opt(st, 11);
    c->state = cf_sql__str(st, 12, a);
    c->result_turn = cf_sql__uuid(st, 13);
    c->result = cf_sql__str(st, 14, a);
    c->started_ms = cf_sql__opt(st, 15);
    c->duration_us = cf_sql__opt(st, 16);
    c->exit_code = cf_sql__opt(st, 17);
    c->is_mocked = sqlite3_column_int64(st, 18) != 0;
}

static cf_status load_calls(cf_sql *sql, int64_t turn_id, cf_arena *a, cf_store_turn *t,
                            cf_error *err)
{
    int64_t n;
    CF_TRY(cf_sql__int(sql, &n, 0, err, "SELECT count(*) FROM tool_call WHERE turn_id = ?", "i",
                       turn_id));
    if (n <= 0) {
        return CF_OK;
    }
    cf_store_call *v = cf_arena_calloc(a, (size_t)n, sizeof *v);
    if (v == NULL) {
        return cf_sql__oom(err);
    }
    sqlite3_stmt *st;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT n, call_id, name, arguments, byte_from, byte_to, token_from, "
                         "token_to, status, findings, parse_error, error_at, state, "
                         "result_turn, result, started_ms, duration_us, exit_code, is_mocked "
                         "FROM tool_call WHERE turn_id = ? ORDER BY n",
                         "i", turn_id));
    cf_status s = CF_OK;
    while (cf_sql__next(sql, st, &s, err)) {
        if (t->n_calls < (size_t)n) {
            read_call(st, a, &v[t->n_calls++]);
        }
    }
    CF_TRY(s);
    t->calls = v;
    return arena_status(a, err);
}

/* ---- turns -------------------------------------------------------------- */

#define TURN_COLUMNS                                                      \
    "t.id, t.uuid, c.uuid, p.uuid, t.ordinal, t.status, t.edited_from, "  \
    "t.fork_of, t.fork_token, t.forced_ids, t.rating, t.note, "           \
    "t.created_ms, t.finished_ms, t.source, m.id, m.role, m.text, "       \
    "m.tool_text, m.body, EXISTS (SELECT 1 FROM run r WHERE r.turn_id = " \
    "t.id) FROM turn t JOIN conversation c ON c.id = t.conversation_id "  \
    "JOIN message m ON m.id = t.message_id LEFT JOIN turn p ON p.id = "   \
    "t.parent_id "

/* Holds the message's columns until the statement is free. */
typedef struct raw_message {
    int64_t turn_id, message_id;
    cf_str text, tool_text, body;
} raw_message;

static void read_turn(sqlite3_stmt *st, cf_arena *a, cf_store_turn *t, raw_message *m)
{
    m->turn_id = sqlite3_column_int64(st, 0);
    t->id = cf_sql__uuid(st, 1);
    t->conversation = cf_sql__uuid(st, 2);
    t->parent = cf_sql__uuid(st, 3);
    t->ordinal = (uint32_t)sqlite3_column_int64(st, 4);
    t->status = CF_TURN_ERROR;
    cf_str status = cf_sql__str(st, 5, a);
    (void)cf_turn_status_parse(&t->status, status);
    t->edited_from = cf_sql__uuid(st, 6);
    t->fork_of = cf_sql__uuid(st, 7);
    t->fork_token = cf_sql__opt(st, 8);
    t->forced_ids = cf_codec__get_ids(cf_sql__blob(st, 9, a), a, &t->n_forced);
    t->rating = (int)sqlite3_column_int(st, 10);
    t->note = cf_sql__str(st, 11, a);
    t->created_ms = sqlite3_column_int64(st, 12);
    t->finished_ms = cf_sql__opt(st, 13);
    t->source = cf_sql__str(st, 14, a);
    m->message_id = sqlite3_column_int64(st, 15);
    t->role = cf_sql__str(st, 16, a);
    m->text = cf_sql__str(st, 17, a);
    m->tool_text = cf_sql__str(st, 18, a);
    m->body = cf_sql__str(st, 19, a);
    t->has_run = sqlite3_column_int(st, 20) != 0;
}

static cf_status complete_turn(cf_sql *sql, cf_store_turn *t, const raw_message *m, uint32_t flags,
                               cf_arena *a, cf_error *err)
{
    const cf_msg_row row = {m->message_id, t->role, m->text, m->tool_text, m->body};
    CF_TRY(cf_msg__join(sql, &row, a, &t->message, err));
    if ((flags & (CF_TREE_RUNS | CF_TREE_TRACE)) != 0) {
        CF_TRY(load_run(sql, m->turn_id, (flags & CF_TREE_TRACE) != 0,
                        t->status == CF_TURN_STREAMING, a, &t->run, err));
        CF_TRY(load_calls(sql, m->turn_id, a, t, err));
    }
    return CF_OK;
}

static cf_status get_turn(cf_sql *sql, cf_uuid id, cf_arena *a, cf_store_turn *out, cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row;
    int64_t row;
    raw_message m;
    cf_store_turn t = {0};
    CF_TRY(cf_rows__turn_id(sql, id, &row, err));
    CF_TRY(cf_sql__query(sql, &st, err, "SELECT " TURN_COLUMNS "WHERE t.id = ?", "i", row));
    CF_TRY(cf_sql__step(sql, st, &has_row, err));
    if (!has_row) {
        return cf_fail(err, CF_EFORMAT,
                       "the database is damaged: a turn "
                       "without conversation or message");
    }
    read_turn(st, a, &t, &m);
    cf_sql__done(st);
    CF_TRY(arena_status(a, err));
    CF_TRY(complete_turn(sql, &t, &m, CF_TREE_RUNS | CF_TREE_TRACE, a, err));
    *out = t;
    return CF_OK;
}

cf_status cf_store_get_turn(cf_store *s, cf_uuid turn, cf_arena *arena, cf_store_turn *out,
                            cf_error *err)
{
    cf_reader *r;
    CF_TRY(cf_store__take(s, &r, 0, err));
    /* One transaction: the run and its pieces belong together. */
    cf_status st = cf_sql__script(&r->sql, "BEGIN", err);
    if (st == CF_OK) {
        st = get_turn(&r->sql, turn, arena, out, err);
        cf_sql__try(&r->sql, "COMMIT");
    }
    cf_store__give(s, r);
    return st;
}

/* ---- trees -------------------------------------------------------------- */

static cf_status read_turns(cf_sql *sql, int64_t conv_id, uint32_t flags, cf_arena *a,
                            cf_store_tree *out, cf_error *err)
{
    int64_t n;
    CF_TRY(cf_sql__int(sql, &n, 0, err, "SELECT count(*) FROM turn WHERE conversation_id = ?", "i",
                       conv_id));
    if (n > TREE_MAX) {
        return cf_fail(err, CF_ELIMIT, "the conversation has over %d turns", TREE_MAX);
    }
    out->turns = NULL;
    out->n = 0;
    if (n <= 0) {
        return CF_OK;
    }
    cf_store_turn *v = cf_arena_calloc(a, (size_t)n, sizeof *v);
    raw_message *raw = cf_calloc((size_t)n, sizeof *raw);
    if (v == NULL || raw == NULL) {
        cf_free(raw);
        return cf_sql__oom(err);
    }
    sqlite3_stmt *st;
    size_t got = 0;
    cf_status status = cf_sql__query(sql, &st, err,
                                     "SELECT " TURN_COLUMNS "WHERE t.conversation_id = ? "
                                     "ORDER BY t.ordinal",
                                     "i", conv_id);
    while (cf_sql__next(sql, st, &status, err)) {
        if (got < (size_t)n) {
            read_turn(st, a, &v[got], &raw[got]);
            got++;
        }
    }
    CF_THEN(status, arena_status(a, err));
    for (size_t i = 0; status == CF_OK && i < got; i++) {
        status = complete_turn(sql, &v[i], &raw[i], flags, a, err);
    }
    cf_free(raw);
    out->turns = v;
    out->n = got;
    return status;
}

static cf_status get_tree(cf_sql *sql, cf_uuid conv, uint32_t flags, cf_arena *a,
                          cf_store_tree *out, cf_error *err)
{
    int64_t id;
    cf_store_tree tree = {0};
    CF_TRY(cf_rows__conv_id(sql, conv, &id, err));
    CF_TRY(cf_rows__get_conv(sql, id, a, &tree.conv, err));
    CF_TRY(read_turns(sql, id, flags, a, &tree, err));
    *out = tree;
    return CF_OK;
}

cf_status cf_store_get_tree(cf_store *s, cf_uuid conv, uint32_t flags, cf_arena *arena,
                            cf_store_tree *out, cf_error *err)
{
    cf_reader *r;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status st = cf_sql__script(&r->sql, "BEGIN", err);
    if (st == CF_OK) {
        st = get_tree(&r->sql, conv, flags, arena, out, err);
        cf_sql__try(&r->sql, "COMMIT");
    }
    cf_store__give(s, r);
    return st;
}

size_t cf_store_path_to(const cf_store_tree *tree, cf_uuid leaf, size_t *out)
{
    size_t n = 0;
    cf_uuid at = leaf;
    /* Parents come before children, so one pass from the end is enough and a
     * circle in a damaged file ends. */
    for (size_t i = tree->n; i > 0; i--) {
        if (cf_uuid_eq(tree->turns[i - 1].id, at)) {
            out[n++] = i - 1;
            at = tree->turns[i - 1].parent;
            if (cf_uuid_is_nil(at)) {
                break;
            }
        }
    }
    for (size_t i = 0; i < n / 2; i++) {
        size_t swap = out[i];
        out[i] = out[n - 1 - i];
        out[n - 1 - i] = swap;
    }
    return n;
}

/* ---- templates ---------------------------------------------------------- */

static void read_template(sqlite3_stmt *st, cf_arena *a, cf_store_template *t)
{
    t->hash = cf_sql__str(st, 0, a);
    t->name = cf_sql__str(st, 1, a);
    t->source = cf_sql__str(st, 2, a);
    t->parent_hash = cf_sql__str(st, 3, a);
    t->created_ms = sqlite3_column_int64(st, 4);
}

static cf_status get_template(cf_sql *sql, cf_str hash, cf_arena *a, cf_store_template *out,
                              cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT hash, name, source, parent_hash, created_ms "
                         "FROM template WHERE hash = ?",
                         "s", hash));
    CF_TRY(cf_sql__step(sql, st, &has_row, err));
    if (!has_row) {
        return cf_fail(err, CF_ENOTFOUND, "no template %.*s", (int)hash.n, hash.p);
    }
    read_template(st, a, out);
    cf_sql__done(st);
    return arena_status(a, err);
}

cf_status cf_store_get_template(cf_store *s, cf_str hash, cf_arena *arena, cf_store_template *out,
                                cf_error *err)
{
    cf_reader *r;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status st = get_template(&r->sql, hash, arena, out, err);
    cf_store__give(s, r);
    return st;
}

static cf_status get_templates(cf_sql *sql, cf_arena *a, const cf_store_template **v, size_t *n,
                               cf_error *err)
{
    int64_t count;
    *v = NULL;
    *n = 0;
    CF_TRY(cf_sql__int(sql, &count, 0, err, "SELECT count(*) FROM template", ""));
    cf_store_template *t = cf_arena_calloc(a, count > 0 ? (size_t)count : 1, sizeof *t);
    if (t == NULL) {
        return cf_sql__oom(err);
    }
    sqlite3_stmt *st;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT hash, name, source, parent_hash, created_ms "
                         "FROM template ORDER BY created_ms, id",
                         ""));
    cf_status s = CF_OK;
    while (cf_sql__next(sql, st, &s, err)) {
        if (*n < (size_t)count) {
            read_template(st, a, &t[(*n)++]);
        }
    }
    CF_TRY(s);
    *v = t;
    return arena_status(a, err);
}

cf_status cf_store_templates(cf_store *s, cf_arena *arena, const cf_store_template **v, size_t *n,
                             cf_error *err)
{
    cf_reader *r;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status st = get_templates(&r->sql, arena, v, n, err);
    cf_store__give(s, r);
    return st;
}
