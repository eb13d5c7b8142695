/*
 * store_write.c - kept writes: a conversation's own content.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/hash.h"
#include "core/base/os.h"
#include "storage/db/store_codec.h"
#include "storage/db/store_int.h"
#include "storage/db/store_message.h"

static cf_uuid id_or_new(cf_uuid id)
{
    return cf_uuid_is_nil(id) ? cf_uuid_new() : id;
}

/* ---- conversations, templates, calls ------------------------------------ */

static cf_status do_put_conv(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    int64_t id;
    return cf_rows__put_conv(sql, arg, &id, err);
}

cf_status cf_store_put_conv(cf_store *s, const cf_store_conv *conv, cf_uuid *id, cf_error *err)
{
    cf_op *op = cf_op__new(do_put_conv);
    if (op == NULL) {
        return cf_sql__oom(err);
    }
    cf_store_conv *copy = cf_copy__conv(&op->arena, conv);
    if (copy != NULL) {
        copy->id = id_or_new(conv->id);
        copy->created_ms = conv->created_ms != 0 ? conv->created_ms : cf_os_now_ms();
        if (id != NULL) {
            *id = copy->id;
        }
    }
    op->arg = copy;
    return cf_op__submit(s, op, err);
}

typedef struct put_call_arg {
    cf_uuid turn;
    const cf_store_call *call;
} put_call_arg;

static cf_status do_put_call(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    const put_call_arg *a = arg;
    int64_t id;
    CF_TRY(cf_rows__turn_id(sql, a->turn, &id, err));
    return cf_rows__put_call(sql, id, a->call, err);
}

cf_status cf_store_put_call(cf_store *s, cf_uuid turn, const cf_store_call *call, cf_error *err)
{
    cf_op *op = cf_op__new(do_put_call);
    if (op == NULL) {
        return cf_sql__oom(err);
    }
    put_call_arg *a = cf_arena_calloc(&op->arena, 1, sizeof *a);
    if (a != NULL) {
        a->turn = turn;
        a->call = cf_copy__calls(&op->arena, call, 1);
    }
    op->arg = a;
    return cf_op__submit(s, op, err);
}

/* ---- turns -------------------------------------------------------------- */

/* Rows of a new turn's conversation and parent. */
static cf_status find_place(cf_sql *sql, const cf_store_turn *t, int64_t *conv_id,
                            int64_t *parent_id, cf_error *err)
{
    int64_t parent_conv = 0;
    CF_TRY(cf_rows__conv_id(sql, t->conversation, conv_id, err));
    *parent_id = 0;
    if (cf_uuid_is_nil(t->parent)) {
        return CF_OK;
    }
    CF_TRY(cf_rows__turn_id(sql, t->parent, parent_id, err));
    CF_TRY(cf_sql__int(sql, &parent_conv, 0, err, "SELECT conversation_id FROM turn WHERE id = ?",
                       "i", *parent_id));
    return parent_conv == *conv_id
               ? CF_OK
               : cf_fail(err, CF_EINVAL, "the parent turn is in another conversation");
}

static cf_status put_at_place(cf_sql *sql, const cf_store_turn *t, const char *writer, int64_t *id,
                              cf_error *err)
{
    int64_t conv_id, parent_id;
    CF_TRY(find_place(sql, t, &conv_id, &parent_id, err));
    CF_TRY(cf_rows__put_turn(sql, conv_id, parent_id, t, writer, id, err));
    return cf_rows__touch(sql, conv_id, *id, true, err);
}

static cf_status do_put_turn(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    int64_t id;
    return put_at_place(sql, arg, NULL, &id, err);
}

static cf_store_turn *copy_turn(cf_op *op, const cf_store_turn *turn)
{
    cf_store_turn *copy = cf_copy__turn(&op->arena, turn);
    if (copy != NULL) {
        copy->id = id_or_new(turn->id);
        copy->created_ms = turn->created_ms != 0 ? turn->created_ms : cf_os_now_ms();
    }
    op->arg = copy;
    return copy;
}

/* The checks that need no database. */
static cf_status check_message(const cf_store_turn *turn, cf_error *err)
{
    cf_msg m;
    CF_TRY(cf_msg__init(&m, turn->message, err));
    cf_msg__deinit(&m);
    return CF_OK;
}

cf_status cf_store_put_turn(cf_store *s, const cf_store_turn *turn, cf_uuid *id, cf_error *err)
{
    CF_TRY(check_message(turn, err));
    if (turn->status == CF_TURN_STREAMING) {
        return cf_fail(err, CF_EINVAL, "a streaming turn needs a stream");
    }
    cf_op *op = cf_op__new(do_put_turn);
    if (op == NULL) {
        return cf_sql__oom(err);
    }
    const cf_store_turn *copy = copy_turn(op, turn);
    if (copy != NULL && id != NULL) {
        *id = copy->id;
    }
    return cf_op__submit(s, op, err);
}

/* ---- streams ------------------------------------------------------------ */

static cf_stream *find_stream(cf_store *s, cf_uuid turn)
{
    cf_stream *st = s->streams;
    while (st != NULL && !cf_uuid_eq(st->turn, turn)) {
        st = st->next;
    }
    return st;
}

static cf_status do_begin(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    const cf_store_turn *t = arg;
    int64_t id = 0;
    CF_TRY(cf_live__claim(s, err));
    cf_status st = put_at_place(sql, t, s->writer, &id, err);
    /* Should this transaction be undone, the operation runs again before any
     * piece is written: pieces of an unknown row are not inserted. */
    pthread_mutex_lock(&s->lock);
    cf_stream *stream = find_stream(s, t->id);
    if (stream != NULL) {
        stream->turn_id = st == CF_OK ? id : 0;
        stream->is_lost = st != CF_OK && !cf_sql__may_heal(st);
    }
    pthread_mutex_unlock(&s->lock);
    return st;
}

static void drop_stream(cf_store *s, cf_stream *stream)
{
    pthread_mutex_lock(&s->lock);
    cf_stream **at = &s->streams;
    while (*at != NULL && *at != stream) {
        at = &(*at)->next;
    }
    if (*at == stream) {
        *at = stream->next;
    }
    pthread_mutex_unlock(&s->lock);
}

cf_status cf_store_begin(cf_store *s, const cf_store_turn *turn, cf_stream **out, cf_error *err)
{
    CF_TRY(check_message(turn, err));
    cf_op *op = cf_op__new(do_begin);
    cf_stream *stream = cf_calloc(1, sizeof *stream);
    if (op == NULL || stream == NULL) {
        cf_free(stream);
        if (op != NULL) {
            cf_op__free(op);
        }
        return cf_sql__oom(err);
    }
    cf_store_turn *copy = copy_turn(op, turn);
    if (copy != NULL) {
        copy->status = CF_TURN_STREAMING;
        stream->turn = copy->id;
    }
    stream->store = s;
    pthread_mutex_lock(&s->lock);
    stream->next = s->streams;
    s->streams = stream;
    pthread_mutex_unlock(&s->lock);
    cf_status st = cf_op__submit(s, op, err);
    if (st != CF_OK && st != CF_EBUSY) {
        drop_stream(s, stream);
        cf_stream__free(stream);
        return st;
    }
    *out = stream;
    return st;
}

typedef struct finish_arg {
    cf_stream *stream;
    cf_turn_status status;
    cf_str message;
    cf_store_run *run;
    const cf_store_call *calls;
    size_t n_calls;
    int64_t finished_ms;
} finish_arg;

/* The role that the turn began with. */
static cf_status final_message(cf_sql *sql, const finish_arg *a, int64_t id, cf_buf *out,
                               cf_error *err)
{
    if (a->message.n != 0) {
        cf_buf_add(out, a->message.p, a->message.n);
        return cf_buf_check(out, err);
    }
    sqlite3_stmt *st;
    bool has_row;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    cf_str role = cf_str_from("assistant");
    cf_status s = cf_sql__query(sql, &st, err,
                                "SELECT role FROM message JOIN turn ON "
                                "message_id = message.id WHERE turn.id = ?",
                                "i", id);
    if (s == CF_OK) {
        s = cf_sql__step(sql, st, &has_row, err);
        if (s == CF_OK && has_row) {
            role = cf_sql__str(st, 0, &arena);
            s = arena.failed ? cf_sql__oom(err) : CF_OK;
            cf_sql__done(st);
        }
    }
    if (s == CF_OK) {
        const cf_buf *raw = &a->stream->raw;
        s = cf_stream__message(out, role, cf_buf_str(raw), err);
    }
    cf_arena_deinit(&arena);
    return s;
}

static cf_status set_message(cf_sql *sql, int64_t id, cf_str json, cf_error *err)
{
    cf_msg m;
    int64_t message_id, old;
    CF_TRY(cf_sql__int(sql, &old, 0, err, "SELECT message_id FROM turn WHERE id = ?", "i", id));
    CF_TRY(cf_msg__init(&m, json, err));
    cf_status st = cf_msg__put(sql, &m, &message_id, err);
    cf_msg__deinit(&m);
    CF_TRY(st);
    CF_TRY(
        cf_sql__run(sql, err, "UPDATE turn SET message_id = ? WHERE id = ?", "ii", message_id, id));
    return old != message_id ? cf_msg__collect(sql, old, err) : CF_OK;
}

static cf_str whole(const cf_buf *b)
{
    return cf_str_make(b->n != 0 ? b->p : NULL, b->n);
}

static cf_status put_end(cf_sql *sql, const finish_arg *a, int64_t id, cf_error *err)
{
    const cf_stream *stream = a->stream;
    cf_store_run run = a->run != NULL ? *a->run : cf_store_run_none();
    run.raw = whole(&stream->raw);
    run.trace = whole(&stream->trace);
    run.reply_ids = stream->ids;
    run.n_reply_ids = stream->n_ids;
    run.chunks = stream->chunks;
    run.n_chunks = stream->n_chunks;
    run.token_us = stream->us;
    run.n_token_us = stream->n_us;
    if (run.n_reply < 0) {
        run.n_reply = (int64_t)stream->n_ids;
    }
    CF_TRY(cf_rows__put_run(sql, id, &run, err));
    for (size_t i = 0; i < a->n_calls; i++) {
        CF_TRY(cf_rows__put_call(sql, id, &a->calls[i], err));
    }
    CF_TRY(cf_sql__run(sql, err, "DELETE FROM piece WHERE turn_id = ?", "i", id));
    return cf_sql__run(sql, err,
                       "UPDATE turn SET status = ?, finished_ms = ?, "
                       "writer = NULL WHERE id = ?",
                       "zii", cf_turn_status_name(a->status), a->finished_ms, id);
}

static cf_status do_finish(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    const finish_arg *a = arg;
    int64_t id, conv_id;
    CF_TRY(cf_rows__turn_id(sql, a->stream->turn, &id, err));
    cf_buf json = CF_BUF_INIT;
    cf_status st = final_message(sql, a, id, &json, err);
    CF_THEN(st, set_message(sql, id, cf_buf_str(&json), err));
    cf_buf_deinit(&json);
    CF_TRY(st);
    CF_TRY(put_end(sql, a, id, err));
    CF_TRY(cf_sql__int(sql, &conv_id, 0, err, "SELECT conversation_id FROM turn WHERE id = ?", "i",
                       id));
    return cf_rows__touch(sql, conv_id, id, false, err);
}

cf_status cf_store_finish(cf_stream *stream, const cf_stream_end *end, cf_error *err)
{
    cf_store *s = stream->store;
    cf_op *op = cf_op__new(do_finish);
    drop_stream(s, stream);
    if (op == NULL) {
        cf_stream__free(stream);
        return cf_sql__oom(err);
    }
    op->stream = stream;
    finish_arg *a = cf_arena_calloc(&op->arena, 1, sizeof *a);
    if (a != NULL) {
        a->stream = stream;
        a->status = end->status;
        a->message = cf_copy__str(&op->arena, end->message);
        a->run = cf_copy__run(&op->arena, end->run);
        a->calls = cf_copy__calls(&op->arena, end->calls, end->n_calls);
        a->n_calls = end->n_calls;
        a->finished_ms = cf_os_now_ms();
    }
    op->arg = a;
    return cf_op__submit(s, op, err);
}
