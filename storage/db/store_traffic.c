/*
 * store_traffic.c - exchanges of the proxy and the server: puts them with the
 * turns that came of them, and finds them again.
 *
 * Bodies are deflated before they are handed to the writer, so its copy is
 * small, and inflated on the thread that reads.
 */
#include <string.h>
#include <zlib.h>

#include "core/base/alloc.h"
#include "storage/db/store_codec.h"
#include "storage/db/store_int.h"
#include "storage/traffic.h"

enum { DEFLATE_LEVEL = 3, ROWS_MAX = 1000 };

cf_exchange cf_exchange_none(void)
{
    return (cf_exchange){.first_us = -1,
                         .total_us = -1,
                         .status = -1,
                         .n_messages = -1,
                         .n_prompt = -1,
                         .n_cached = -1,
                         .n_reply = -1,
                         .n_written = -1,
                         .n_thinking = -1,
                         .request_bytes = -1,
                         .response_bytes = -1};
}

/* ---- bodies ------------------------------------------------------------- */

static voidpf zalloc(voidpf ud, uInt n, uInt size)
{
    (void)ud;
    return cf_calloc(n, size);
}

static void zfree(voidpf ud, voidpf p)
{
    (void)ud;
    cf_free(p);
}

/* Deflates `in` into the arena; {NULL, 0} for an empty body. */
static cf_status pack(cf_str *out, cf_str in, cf_arena *a, cf_error *err)
{
    *out = cf_str_make(NULL, 0);
    if (in.n == 0) {
        return CF_OK;
    }
    if (in.n > CF_STORE_TEXT_MAX) {
        return cf_fail(err, CF_ELIMIT, "a body of more than %d MiB", CF_STORE_TEXT_MAX >> 20);
    }
    z_stream z = {.zalloc = zalloc, .zfree = zfree};
    if (deflateInit(&z, DEFLATE_LEVEL) != Z_OK) {
        return cf_oom(err);
    }
    size_t room = deflateBound(&z, (uLong)in.n);
    unsigned char *to = cf_arena_alloc(a, room);
    if (to == NULL) {
        (void)deflateEnd(&z);
        return cf_oom(err);
    }
    union {
        const char *in;
        Bytef *z;
    } from = {in.p};
    z.next_in = from.z;
    z.avail_in = (uInt)in.n;
    z.next_out = to;
    z.avail_out = (uInt)room;
    int rc = deflate(&z, Z_FINISH);
    size_t n = z.total_out;
    (void)deflateEnd(&z);
    *out = cf_str_make((const char *)to, n);
    return rc == Z_STREAM_END ? CF_OK : cf_oom(err);
}

/* Inflates a blob to exactly n bytes in the arena. */
static cf_status unpack(cf_str *out, cf_str in, int64_t n, cf_arena *a, cf_error *err)
{
    *out = cf_str_make("", 0);
    if (in.n == 0 || n == 0) {
        return CF_OK;
    }
    if (n < 0 || n > CF_STORE_TEXT_MAX) {
        return cf_fail(err, CF_EFORMAT, "a stored body has a bad size");
    }
    char *to = cf_arena_alloc(a, (size_t)n + 1);
    z_stream z = {.zalloc = zalloc, .zfree = zfree};
    if (to == NULL || inflateInit(&z) != Z_OK) {
        return cf_oom(err);
    }
    union {
        const char *in;
        Bytef *z;
    } from = {in.p};
    z.next_in = from.z;
    z.avail_in = (uInt)in.n;
    z.next_out = (Bytef *)to;
    z.avail_out = (uInt)n;
    int rc = inflate(&z, Z_FINISH);
    bool is_whole = rc == Z_STREAM_END && z.avail_out == 0;
    (void)inflateEnd(&z);
    if (!is_whole) {
        return cf_fail(err, CF_EFORMAT, "a stored body is damaged");
    }
    to[n] = '\0';
    *out = cf_str_make(to, (size_t)n);
    return CF_OK;
}

/* ---- writing ------------------------------------------------------------ */

typedef struct put_arg {
    cf_exchange x; /* texts in the arena, bodies deflated */
    cf_str chunks;
    cf_store_tree tree;
    bool has_tree;
    cf_exchange_key *keys;
    size_t n_keys;
} put_arg;

static cf_status put_row(cf_sql *sql, const put_arg *p, cf_error *err)
{
    const cf_exchange *x = &p->x;
    return cf_sql__run(sql, err,
                       "INSERT INTO exchange(uuid, conversation_id, turn_id, started_ms, "
                       "first_us, total_us, client, method, path, upstream, api, model, "
                       "status, request_id, response_id, n_messages, n_prompt, n_cached, "
                       "n_reply, ended, note, findings, request_headers, response_headers, "
                       "request, request_bytes, response, response_bytes, chunks, "
                       "request_hash, reply_hash, n_written, n_thinking) VALUES(?1, (SELECT id FROM conversation "
                       "WHERE uuid = ?2), (SELECT id FROM turn WHERE uuid = ?3), ?4, ?5, ?6, "
                       "?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, "
                       "?21, coalesce(?22, '[]'), ?23, ?24, ?25, max(?26, 0), ?27, "
                       "max(?28, 0), ?29, ?30, ?31, ?32, ?33) ON CONFLICT(uuid) DO UPDATE SET "
                       "conversation_id = excluded.conversation_id, turn_id = "
                       "excluded.turn_id, first_us = excluded.first_us, total_us = "
                       "excluded.total_us, api = excluded.api, model = excluded.model, "
                       "status = excluded.status, request_id = excluded.request_id, "
                       "response_id = excluded.response_id, n_messages = "
                       "excluded.n_messages, n_prompt = excluded.n_prompt, n_cached = "
                       "excluded.n_cached, n_reply = excluded.n_reply, ended = "
                       "excluded.ended, note = excluded.note, findings = excluded.findings, "
                       "response_headers = excluded.response_headers, request = "
                       "coalesce(excluded.request, request), request_bytes = CASE WHEN "
                       "excluded.request IS NULL THEN request_bytes ELSE "
                       "excluded.request_bytes END, response = coalesce(excluded.response, "
                       "response), response_bytes = CASE WHEN excluded.response IS NULL THEN "
                       "response_bytes ELSE excluded.response_bytes END, chunks = "
                       "coalesce(excluded.chunks, chunks), request_hash = "
                       "excluded.request_hash, reply_hash = excluded.reply_hash, "
                       "n_written = excluded.n_written, n_thinking = excluded.n_thinking",
                       "uuuioo"
                       "ssssss"
                       "o"
                       "ss"
                       "oooo"
                       "sssss"
                       "bibib"
                       "ss"
                       "oo",
                       x->id, x->conversation, x->turn, x->started_ms, x->first_us, x->total_us,
                       x->client, x->method, x->path, x->upstream, x->api, x->model, x->status,
                       x->request_id, x->response_id, x->n_messages, x->n_prompt, x->n_cached,
                       x->n_reply, x->end, x->note, x->findings, x->request_headers,
                       x->response_headers, x->request, x->request_bytes, x->response,
                       x->response_bytes, p->chunks, x->request_hash, x->reply_hash,
                       x->n_written, x->n_thinking);
}

static cf_status do_put_exchange(cf_store *s, cf_sql *sql, void *arg, cf_error *err)
{
    (void)s;
    const put_arg *p = arg;
    cf_store_put_report report;
    if (p->has_tree) {
        CF_TRY(cf_rows__put_tree(sql, &p->tree, NULL, &report, err));
    }
    CF_TRY(put_row(sql, p, err));
    for (size_t i = 0; i < p->n_keys; i++) {
        CF_TRY(cf_sql__run(sql, err,
                           "INSERT OR REPLACE INTO exchange_key(hash, conversation_id, "
                           "turn_id) SELECT ?1, conversation_id, id FROM turn WHERE uuid = ?2",
                           "su", p->keys[i].hash, p->keys[i].turn));
    }
    return CF_OK;
}

static void copy_texts(cf_arena *a, cf_exchange *x)
{
    cf_str *const texts[] = {&x->client,
                             &x->method,
                             &x->path,
                             &x->upstream,
                             &x->api,
                             &x->model,
                             &x->request_id,
                             &x->response_id,
                             &x->end,
                             &x->note,
                             &x->findings,
                             &x->request_headers,
                             &x->response_headers,
                             &x->request_hash,
                             &x->reply_hash};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        *texts[i] = cf_copy__str(a, *texts[i]);
    }
}

static void copy_tree(cf_arena *a, put_arg *p, const cf_store_tree *tree)
{
    const cf_store_conv *conv = cf_copy__conv(a, &tree->conv);
    cf_store_turn *turns = cf_arena_calloc(a, tree->n + 1, sizeof *turns);
    for (size_t i = 0; turns != NULL && i < tree->n; i++) {
        const cf_store_turn *t = cf_copy__turn(a, &tree->turns[i]);
        if (t != NULL) {
            turns[i] = *t;
        }
    }
    if (conv != NULL) {
        p->tree = (cf_store_tree){.conv = *conv, .turns = turns, .n = tree->n};
        p->has_tree = true;
    }
}

static cf_status fill_put(cf_arena *a, put_arg *p, const cf_exchange *x, cf_error *err)
{
    cf_buf list = CF_BUF_INIT;
    p->x = *x;
    copy_texts(a, &p->x);
    p->x.request_bytes = (int64_t)x->request.n;
    p->x.response_bytes = (int64_t)x->response.n;
    cf_codec__put_u64s(&list, x->chunks, x->n_chunks);
    if (list.n != 0) {
        p->chunks = cf_copy__str(a, cf_buf_str(&list));
    }
    cf_status st = cf_buf_check(&list, err);
    cf_buf_deinit(&list);
    CF_THEN(st, pack(&p->x.request, x->request, a, err));
    CF_THEN(st, pack(&p->x.response, x->response, a, err));
    return st;
}

cf_status cf_store_put_exchange(cf_store *s, const cf_exchange *x, const cf_store_tree *tree,
                                const cf_exchange_key *keys, size_t n_keys, cf_error *err)
{
    cf_op *op = cf_op__new(do_put_exchange);
    if (op == NULL) {
        return cf_oom(err);
    }
    put_arg *p = cf_arena_calloc(&op->arena, 1, sizeof *p);
    cf_status st = p != NULL ? fill_put(&op->arena, p, x, err) : cf_oom(err);
    if (st != CF_OK) {
        cf_op__free(op);
        return st;
    }
    if (tree != NULL) {
        copy_tree(&op->arena, p, tree);
    }
    p->keys = cf_arena_calloc(&op->arena, n_keys + 1, sizeof *p->keys);
    for (size_t i = 0; p->keys != NULL && i < n_keys; i++) {
        p->keys[i].hash = cf_copy__str(&op->arena, keys[i].hash);
        p->keys[i].turn = keys[i].turn;
    }
    p->n_keys = n_keys;
    op->arg = p;
    return cf_op__submit(s, op, err);
}

/* ---- reading ------------------------------------------------------------ */

#define ROW_COLUMNS                                                            \
    "x.uuid, c.uuid, t.uuid, x.started_ms, x.first_us, x.total_us, x.client, " \
    "x.method, x.path, x.upstream, x.api, x.model, x.status, x.request_id, "   \
    "x.response_id, x.n_messages, x.n_prompt, x.n_cached, x.n_reply, "         \
    "x.ended, x.note, x.findings, x.request_headers, x.response_headers, "     \
    "x.request_bytes, x.response_bytes, x.request_hash, x.reply_hash, "   \
    "x.n_written, x.n_thinking "
#define ROW_TABLES                                                          \
    "FROM exchange x LEFT JOIN conversation c ON c.id = x.conversation_id " \
    "LEFT JOIN turn t ON t.id = x.turn_id "

static void read_row(sqlite3_stmt *st, cf_arena *a, cf_exchange *x)
{
    *x = cf_exchange_none();
    x->id = cf_sql__uuid(st, 0);
    x->conversation = cf_sql__uuid(st, 1);
    x->turn = cf_sql__uuid(st, 2);
    x->started_ms = sqlite3_column_int64(st, 3);
    x->first_us = cf_sql__opt(st, 4);
    x->total_us = cf_sql__opt(st, 5);
    cf_str *const first[] = {&x->client, &x->method, &x->path, &x->upstream, &x->api, &x->model};
    for (int i = 0; i < 6; i++) {
        *first[i] = cf_sql__str(st, 6 + i, a);
    }
    x->status = cf_sql__opt(st, 12);
    x->request_id = cf_sql__str(st, 13, a);
    x->response_id = cf_sql__str(st, 14, a);
    x->n_messages = cf_sql__opt(st, 15);
    x->n_prompt = cf_sql__opt(st, 16);
    x->n_cached = cf_sql__opt(st, 17);
    x->n_reply = cf_sql__opt(st, 18);
    cf_str *const second[] = {&x->end, &x->note, &x->findings, &x->request_headers,
                              &x->response_headers};
    for (int i = 0; i < 5; i++) {
        *second[i] = cf_sql__str(st, 19 + i, a);
    }
    x->request_bytes = cf_sql__opt(st, 24);
    x->response_bytes = cf_sql__opt(st, 25);
    x->request_hash = cf_sql__str(st, 26, a);
    x->reply_hash = cf_sql__str(st, 27, a);
    x->n_written = cf_sql__opt(st, 28);
    x->n_thinking = cf_sql__opt(st, 29);
}

/* An exchange that is not stored yet comes after all others. */
#define LIST_WHERE(condition)                                             \
    "SELECT " ROW_COLUMNS ROW_TABLES "WHERE " condition                   \
    " AND (?2 IS NULL OR x.id < coalesce((SELECT id FROM exchange WHERE " \
    "uuid = ?2), 9223372036854775807)) AND (?3 = 0 OR (x.status IS NOT "  \
    "NULL AND x.ended IS NOT NULL)) ORDER BY x.id DESC LIMIT ?4"

/* Each filter has a text of its own, so that it finds its index. */
static cf_status start_list(cf_sql *sql, sqlite3_stmt **st, const cf_exchange_query *q, int64_t max,
                            cf_error *err)
{
    int64_t ended = q->has_ended;
    if (q->request_hash.n != 0) {
        return cf_sql__query(sql, st, err, LIST_WHERE("x.request_hash = ?1"), "suii",
                             q->request_hash, q->before, ended, max);
    }
    if (q->response_id.n != 0) {
        return cf_sql__query(sql, st, err, LIST_WHERE("x.response_id = ?1"), "suii", q->response_id,
                             q->before, ended, max);
    }
    if (!cf_uuid_is_nil(q->conversation)) {
        return cf_sql__query(sql, st, err,
                             LIST_WHERE("x.conversation_id = (SELECT id FROM "
                                        "conversation WHERE uuid = ?1)"),
                             "uuii", q->conversation, q->before, ended, max);
    }
    return cf_sql__query(sql, st, err, LIST_WHERE("?1 IS NULL"), "nuii", q->before, ended, max);
}

static cf_status list_rows(cf_sql *sql, const cf_exchange_query *q, cf_arena *a, cf_exchange *v,
                           size_t max, size_t *n, cf_error *err)
{
    sqlite3_stmt *st;
    CF_TRY(start_list(sql, &st, q, (int64_t)max, err));
    cf_status s = CF_OK;
    while (*n < max && cf_sql__next(sql, st, &s, err)) {
        read_row(st, a, &v[(*n)++]);
    }
    if (*n == max) {
        cf_sql__done(st);
    }
    return s;
}

cf_status cf_store_exchanges(cf_store *s, const cf_exchange_query *q, cf_arena *arena,
                             const cf_exchange **rows, size_t *n, cf_error *err)
{
    size_t max = q->limit != 0 ? q->limit : ROWS_MAX;
    cf_exchange *v = cf_arena_calloc(arena, max, sizeof *v);
    *n = 0;
    if (v == NULL) {
        return cf_oom(err);
    }
    cf_reader *r;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status st = list_rows(&r->sql, q, arena, v, max, n, err);
    cf_store__give(s, r);
    for (size_t i = 0; i < *n / 2; i++) { /* oldest first */
        cf_exchange x = v[i];
        v[i] = v[*n - 1 - i];
        v[*n - 1 - i] = x;
    }
    *rows = v;
    return st == CF_OK && arena->failed ? cf_oom(err) : st;
}

static cf_status get_one(cf_sql *sql, cf_uuid id, cf_arena *a, cf_exchange *x, cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT " ROW_COLUMNS ", x.request, x.response, "
                         "x.chunks " ROW_TABLES "WHERE x.uuid = ?",
                         "u", id));
    CF_TRY(cf_sql__step(sql, st, &has_row, err));
    if (!has_row) {
        return cf_fail(err, CF_ENOTFOUND, "no such exchange");
    }
    read_row(st, a, x);
    cf_str request = cf_sql__blob(st, 30, a);
    cf_str response = cf_sql__blob(st, 31, a);
    x->chunks = cf_codec__get_u64s(cf_sql__blob(st, 32, a), a, &x->n_chunks);
    cf_sql__done(st);
    CF_TRY(unpack(&x->request, request, x->request_bytes, a, err));
    return unpack(&x->response, response, x->response_bytes, a, err);
}

cf_status cf_store_get_exchange(cf_store *s, cf_uuid id, cf_arena *arena, cf_exchange *out,
                                cf_error *err)
{
    cf_reader *r;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status st = get_one(&r->sql, id, arena, out, err);
    cf_store__give(s, r);
    return st == CF_OK && arena->failed ? cf_oom(err) : st;
}

cf_status cf_store_find_exchange(cf_store *s, cf_str name, cf_uuid *out, cf_error *err)
{
    char text[CF_UUID_TEXT + 1];
    if (!cf_name__clean(name, text)) {
        return cf_fail(err, CF_EINVAL, "'%.*s' is not a UUID of an exchange",
                       (int)(name.n < 60 ? name.n : 60), name.p);
    }
    cf_reader *r;
    sqlite3_stmt *st;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status status = cf_sql__query(&r->sql, &st, err,
                                     "SELECT uuid FROM exchange WHERE uuid >= "
                                     "?1 AND uuid < ?1 || 'g' LIMIT 2",
                                     "z", text);
    size_t n = 0;
    while (status == CF_OK && cf_sql__next(&r->sql, st, &status, err)) {
        *out = cf_sql__uuid(st, 0);
        n++;
    }
    cf_store__give(s, r);
    if (status == CF_OK && n != 1) {
        status = n == 0 ? cf_fail(err, CF_ENOTFOUND, "no exchange '%s'", text)
                        : cf_fail(err, CF_EINVAL,
                                  "'%s' fits several exchanges: give more of "
                                  "the UUID",
                                  text);
    }
    return status;
}

static cf_status find_one_key(cf_sql *sql, cf_str hash, bool *has, cf_store_ref *where,
                              cf_error *err)
{
    sqlite3_stmt *st;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT c.uuid, t.uuid FROM exchange_key k JOIN "
                         "conversation c ON c.id = k.conversation_id JOIN turn "
                         "t ON t.id = k.turn_id WHERE k.hash = ?",
                         "s", hash));
    CF_TRY(cf_sql__step(sql, st, has, err));
    if (*has) {
        where->conversation = cf_sql__uuid(st, 0);
        where->turn = cf_sql__uuid(st, 1);
        cf_sql__done(st);
    }
    return CF_OK;
}

cf_status cf_store_find_key(cf_store *s, const cf_str *hashes, size_t n, size_t *at,
                            cf_store_ref *where, cf_error *err)
{
    cf_reader *r;
    bool has = false;
    CF_TRY(cf_store__take(s, &r, 0, err));
    cf_status st = CF_OK;
    *at = n;
    for (size_t i = n; st == CF_OK && !has && i > 0; i--) {
        st = find_one_key(&r->sql, hashes[i - 1], &has, where, err);
        *at = has ? i - 1 : n;
    }
    cf_store__give(s, r);
    return st;
}
