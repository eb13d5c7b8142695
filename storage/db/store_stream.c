/*
 * store_stream.c - replies while they are generated.
 *
 * A stream keeps all of its reply in memory.  The writer appends the new part
 * as rows of `piece`; finishing writes the whole reply into `run` and removes
 * the pieces, in one transaction.
 *
 * Rules:
 *  1. Every field of a stream is guarded by the store's lock.  The thread that
 *     appends and the writer are the only ones that touch it.
 *  2. `done` marks how much of each list is committed, never more than there
 *     is.  It moves only in cf_stream__written(), after the commit.
 *  3. A piece row is written once and never changed.  Row n_pieces is next; a
 *     transaction that failed writes it again under the same number, with
 *     everything that has arrived since.
 *  4. dirty_us is 0 if and only if everything appended is committed.
 *  5. Nothing is written while turn_id is 0 (the turn itself is not inserted
 *     yet), nor once is_lost is set (it never will be).  When the transaction
 *     that inserted the turn is undone, the insert runs again before any
 *     piece, and pieces of a turn that does not exist are not inserted.
 *  6. A piece is recorded whole or not at all: raw bytes, chunks, ids, times
 *     and trace grow together.
 *  7. A stream is in store->streams from cf_store_begin() to
 *     cf_store_finish().  After that it belongs to the finishing operation,
 *     which frees it.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "storage/db/store_codec.h"
#include "storage/db/store_int.h"
#include "storage/db/store_message.h"
#include "storage/trace.h"

/* ---- appending ---------------------------------------------------------- */

/* All room is made first, so that a piece is recorded whole or not at all. */
static bool make_room(cf_stream *st, const cf_stream_piece *p)
{
    return cf_grow(&st->ids, &st->cap_ids, st->n_ids + p->n_ids, sizeof *st->ids) &&
           cf_grow(&st->chunks, &st->cap_chunks, st->n_chunks + 1, sizeof *st->chunks) &&
           cf_grow(&st->us, &st->cap_us, st->n_us + p->n_ids, sizeof *st->us) &&
           cf_buf_reserve(&st->raw, p->raw.n) != NULL;
}

static void add_piece(cf_stream *st, const cf_stream_piece *p)
{
    if (p->raw.n != 0) {
        cf_buf_add(&st->raw, p->raw.p, p->raw.n);
        st->chunks[st->n_chunks++] = p->raw.n;
    }
    if (p->n_ids != 0) {
        memcpy(st->ids + st->n_ids, p->ids, p->n_ids * sizeof *p->ids);
        st->n_ids += p->n_ids;
        for (size_t i = 0; i < p->n_ids; i++) {
            st->us[st->n_us++] = i == 0 ? p->us : 0;
        }
    }
    if (st->dirty_us == 0) {
        st->dirty_us = cf_os_monotonic_us();
        pthread_cond_signal(&st->store->work);
    }
}

cf_status cf_stream_append(cf_stream *st, const cf_stream_piece *p, cf_error *err)
{
    cf_store *s = st->store;
    pthread_mutex_lock(&s->lock);
    size_t before = st->trace.n;
    size_t names = st->names.n_names;
    cf_status status = CF_OK;
    for (size_t i = 0; p->draw != NULL && i < p->n_ids; i++) {
        cf_trace_put(&st->names, &st->trace, p->ids[i], i == 0 ? p->draw : NULL);
    }
    if (st->trace.failed || !make_room(st, p)) {
        st->trace.failed = false;
        st->raw.failed = false;
        st->trace.n = before;
        st->names.n_names = names;
        status = cf_sql__oom(err);
    } else {
        add_piece(st, p);
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

cf_uuid cf_stream_turn(const cf_stream *st)
{
    return st->turn;
}

void cf_stream__free(cf_stream *st)
{
    if (st != NULL) {
        cf_buf_deinit(&st->raw);
        cf_buf_deinit(&st->trace);
        cf_free(st->ids);
        cf_free(st->chunks);
        cf_free(st->us);
        cf_free(st);
    }
}

/* ---- the writer's side -------------------------------------------------- */

static bool can_write(const cf_stream *st)
{
    return st->dirty_us != 0 && st->turn_id != 0 && !st->is_lost;
}

uint64_t cf_stream__due(const cf_store *s)
{
    uint64_t first = UINT64_MAX;
    for (const cf_stream *st = s->streams; st != NULL; st = st->next) {
        if (can_write(st) && st->dirty_us < first) {
            first = st->dirty_us;
        }
    }
    if (first == UINT64_MAX) {
        return first;
    }
    uint64_t at = first + UINT64_C(1000) * CF_STORE_FLUSH_MS;
    uint64_t now = cf_os_monotonic_us();
    return at > now ? at - now : 0;
}

/* One stream's new part, copied out under the lock. */
typedef struct slice {
    cf_uuid turn;
    int64_t turn_id, n;
    cf_buf raw, ids, chunks, us, trace;
    struct cf_stream_mark upto;
} slice;

struct cf_stream_batch {
    size_t n;
    slice v[];
};

static void free_batch(cf_stream_batch *b)
{
    for (size_t i = 0; b != NULL && i < b->n; i++) {
        cf_buf_deinit(&b->v[i].raw);
        cf_buf_deinit(&b->v[i].ids);
        cf_buf_deinit(&b->v[i].chunks);
        cf_buf_deinit(&b->v[i].us);
        cf_buf_deinit(&b->v[i].trace);
    }
    cf_free(b);
}

static void take_slice(slice *out, const cf_stream *st)
{
    const struct cf_stream_mark *d = &st->done;
    out->turn = st->turn;
    out->turn_id = st->turn_id;
    out->n = st->n_pieces;
    out->upto = (struct cf_stream_mark){st->raw.n, st->trace.n, st->n_ids, st->n_chunks, st->n_us};
    if (st->raw.n != d->raw) {
        cf_buf_add(&out->raw, st->raw.p + d->raw, st->raw.n - d->raw);
    }
    if (st->trace.n != d->trace) {
        cf_buf_add(&out->trace, st->trace.p + d->trace, st->trace.n - d->trace);
    }
    if (st->n_ids != d->ids) {
        cf_codec__put_ids(&out->ids, st->ids + d->ids, st->n_ids - d->ids);
    }
    if (st->n_chunks != d->chunks) {
        cf_codec__put_u64s(&out->chunks, st->chunks + d->chunks, st->n_chunks - d->chunks);
    }
    if (st->n_us != d->us) {
        cf_codec__put_u64s(&out->us, st->us + d->us, st->n_us - d->us);
    }
}

static cf_str whole(const cf_buf *b)
{
    return cf_str_make(b->n != 0 ? b->p : NULL, b->n);
}

static cf_status write_slice(cf_sql *sql, const slice *p, cf_error *err)
{
    if (p->raw.failed || p->ids.failed || p->chunks.failed || p->us.failed || p->trace.failed) {
        return cf_sql__oom(err);
    }
    /* The turn may have been removed in the meantime. */
    return cf_sql__run(sql, err,
                       "INSERT OR REPLACE INTO piece SELECT id, ?, ?, ?, ?, "
                       "?, ? FROM turn WHERE id = ?",
                       "ibbbbbi", p->n, whole(&p->raw), whole(&p->ids), whole(&p->chunks),
                       whole(&p->us), whole(&p->trace), p->turn_id);
}

cf_status cf_stream__write(cf_store *s, cf_sql *sql, uint64_t min_age_us, cf_stream_batch **batch,
                           cf_error *err)
{
    pthread_mutex_lock(&s->lock);
    uint64_t now = cf_os_monotonic_us();
    size_t n = 0;
    for (cf_stream *st = s->streams; st != NULL; st = st->next) {
        n += can_write(st);
    }
    cf_stream_batch *b = NULL;
    if (n != 0) {
        b = cf_calloc(1, sizeof *b + n * sizeof b->v[0]);
        for (cf_stream *st = s->streams; b != NULL && st != NULL; st = st->next) {
            if (can_write(st) && now - st->dirty_us >= min_age_us) {
                take_slice(&b->v[b->n++], st);
            }
        }
    }
    pthread_mutex_unlock(&s->lock);
    *batch = b;
    if (n != 0 && b == NULL) {
        return cf_sql__oom(err);
    }
    for (size_t i = 0; b != NULL && i < b->n; i++) {
        CF_TRY(write_slice(sql, &b->v[i], err));
    }
    return CF_OK;
}

void cf_stream__written(cf_store *s, cf_stream_batch *b, bool committed)
{
    if (committed && b != NULL) {
        pthread_mutex_lock(&s->lock);
        for (size_t i = 0; i < b->n; i++) {
            cf_stream *st = s->streams;
            while (st != NULL && !cf_uuid_eq(st->turn, b->v[i].turn)) {
                st = st->next;
            }
            if (st != NULL) {
                const struct cf_stream_mark *u = &b->v[i].upto;
                st->done = *u;
                st->n_pieces++;
                bool has_more =
                    st->raw.n != u->raw || st->n_ids != u->ids || st->trace.n != u->trace;
                st->dirty_us = has_more ? cf_os_monotonic_us() : 0;
            }
        }
        pthread_mutex_unlock(&s->lock);
    }
    free_batch(b);
}

/* ---- salvage ------------------------------------------------------------ */

/* Joins a list column of pieces: the codec byte is kept once. */
static void join_list(cf_buf *to, sqlite3_stmt *st, int i)
{
    const char *p = sqlite3_column_blob(st, i);
    size_t n = (size_t)sqlite3_column_bytes(st, i);
    if (p == NULL || n < 2 || (to->n != 0 && p[0] != to->p[0])) {
        return;
    }
    size_t skip = to->n != 0 ? 1 : 0;
    cf_buf_add(to, p + skip, n - skip);
}

static void join_bytes(cf_buf *to, sqlite3_stmt *st, int i)
{
    const char *p = sqlite3_column_blob(st, i);
    if (p != NULL) {
        cf_buf_add(to, p, (size_t)sqlite3_column_bytes(st, i));
    }
}

cf_status cf_stream__join(cf_sql *sql, int64_t turn_id, cf_stream_parts *out, cf_error *err)
{
    sqlite3_stmt *st;
    *out = (cf_stream_parts){0};
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT raw, reply_ids, chunks, token_us, trace "
                         "FROM piece WHERE turn_id = ? ORDER BY n",
                         "i", turn_id));
    cf_status status = CF_OK;
    while (cf_sql__next(sql, st, &status, err)) {
        join_bytes(&out->raw, st, 0);
        join_list(&out->ids, st, 1);
        join_list(&out->chunks, st, 2);
        join_list(&out->us, st, 3);
        join_bytes(&out->trace, st, 4);
    }
    if (status == CF_OK && (out->raw.failed || out->ids.failed || out->chunks.failed ||
                            out->us.failed || out->trace.failed)) {
        status = cf_sql__oom(err);
    }
    if (status != CF_OK) {
        cf_stream__free_parts(out);
    }
    return status;
}

void cf_stream__free_parts(cf_stream_parts *p)
{
    cf_buf_deinit(&p->raw);
    cf_buf_deinit(&p->ids);
    cf_buf_deinit(&p->chunks);
    cf_buf_deinit(&p->us);
    cf_buf_deinit(&p->trace);
}

cf_status cf_stream__message(cf_buf *out, cf_str role, cf_str raw, cf_error *err)
{
    cf_msg__write_plain(out, role, raw);
    return cf_buf_check(out, err);
}

static cf_status salvage_message(cf_sql *sql, int64_t turn_id, cf_str raw, cf_error *err)
{
    cf_buf json = CF_BUF_INIT;
    cf_arena arena;
    cf_arena_init(&arena, 0);
    sqlite3_stmt *st;
    bool has_row = false;
    cf_msg m = {0};
    cf_str role = {"assistant", 9};
    int64_t id = 0, old = 0;
    cf_status s = cf_sql__query(sql, &st, err,
                                "SELECT role, message_id FROM turn JOIN "
                                "message ON message.id = message_id "
                                "WHERE turn.id = ?",
                                "i", turn_id);
    CF_THEN(s, cf_sql__step(sql, st, &has_row, err));
    if (s == CF_OK && has_row) {
        role = cf_sql__str(st, 0, &arena);
        s = arena.failed ? cf_sql__oom(err) : CF_OK;
        old = sqlite3_column_int64(st, 1);
        cf_sql__done(st);
    }
    CF_THEN(s, cf_stream__message(&json, role, raw, err));
    CF_THEN(s, cf_msg__init(&m, cf_str_make(json.p, json.n), err));
    CF_THEN(s, cf_msg__put(sql, &m, &id, err));
    CF_THEN(
        s, cf_sql__run(sql, err, "UPDATE turn SET message_id = ? WHERE id = ?", "ii", id, turn_id));
    if (s == CF_OK && old != id) {
        s = cf_msg__collect(sql, old, err);
    }
    cf_msg__deinit(&m);
    cf_buf_deinit(&json);
    cf_arena_deinit(&arena);
    return s;
}

cf_status cf_stream__salvage(cf_sql *sql, int64_t turn_id, cf_error *err)
{
    cf_stream_parts p;
    CF_TRY(cf_stream__join(sql, turn_id, &p, err));
    cf_status st = CF_OK;
    if (p.raw.n != 0) {
        st = salvage_message(sql, turn_id, whole(&p.raw), err);
    }
    CF_THEN(st,
            cf_sql__run(sql, err, "INSERT OR IGNORE INTO run(turn_id) VALUES(?)", "i", turn_id));
    CF_THEN(st, cf_sql__run(sql, err,
                            "UPDATE run SET raw = ?, reply_ids = ?, chunks = ?, "
                            "token_us = ?, trace = ?, stop_reason = 'interrupted' "
                            "WHERE turn_id = ?",
                            "bbbbbi", whole(&p.raw), whole(&p.ids), whole(&p.chunks), whole(&p.us),
                            whole(&p.trace), turn_id));
    cf_stream__free_parts(&p);
    CF_TRY(st);
    CF_TRY(cf_sql__run(sql, err, "DELETE FROM piece WHERE turn_id = ?", "i", turn_id));
    CF_TRY(cf_sql__run(sql, err,
                       "UPDATE turn SET status = 'interrupted', writer = NULL "
                       "WHERE id = ?",
                       "i", turn_id));
    return cf_sql__run(sql, err,
                       "UPDATE conversation SET status = 'interrupted' WHERE "
                       "id = (SELECT conversation_id FROM turn WHERE id = ?)",
                       "i", turn_id);
}
