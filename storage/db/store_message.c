/*
 * store_message.c - messages as text, blobs and a hash.
 */
#include "storage/db/store_message.h"

#include <string.h>

#include "core/api/message.h"
#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "storage/db/store_codec.h"
#include "storage/db/store_words.h"

enum { BLOB_MIN = 512 }; /* base64 characters; shorter ones stay inline */

static const char blob_key[] = "$confab_blob";

bool cf_msg__is_tool_role(cf_str role)
{
    static const char *const names[] = {"tool",         "tool_response", "tool_result", "function",
                                        "pcp_response", "mcp_response",  "observation", "ipython"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (cf_str_is(role, names[i])) {
            return true;
        }
    }
    return false;
}

static cf_str json_str(const json_t *v)
{
    return cf_str_make(json_string_value(v), json_string_length(v));
}

/* ---- text --------------------------------------------------------------- */

static void add_line(cf_buf *to, cf_str s)
{
    if (s.n == 0) {
        return;
    }
    if (to->n != 0) {
        cf_buf_addc(to, '\n');
    }
    size_t from = to->n;
    cf_buf_add(to, s.p, s.n);
    for (size_t i = from; !to->failed && i < to->n; i++) {
        if (to->p[i] == '\0') {
            to->p[i] = ' ';
        }
    }
}

static void add_json_line(cf_buf *to, const json_t *v)
{
    if (json_is_string(v)) {
        add_line(to, json_str(v));
    } else if (v != NULL && !json_is_null(v)) {
        if (to->n != 0) {
            cf_buf_addc(to, '\n');
        }
        cf_json_write(to, v);
    }
}

static void add_content(cf_buf *to, cf_buf *tool, const json_t *content)
{
    if (json_is_string(content)) {
        add_line(to, json_str(content));
        return;
    }
    if (json_is_object(content)) {
        add_line(to, cf_json_get_str(content, "text"));
        return;
    }
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        if (json_is_string(part)) {
            add_line(to, json_str(part));
            continue;
        }
        add_line(to, cf_json_get_str(part, "text"));
        add_json_line(tool, json_object_get(part, "tool_response"));
        add_json_line(tool, json_object_get(part, "response"));
    }
}

static void add_calls(cf_buf *to, const json_t *message)
{
    cf_message_call call;
    for (size_t i = 0; cf_message_call_at(&call, message, i); i++) {
        add_line(to, call.name);
        add_json_line(to, call.arguments);
    }
}

static void take_texts(cf_msg *m, const json_t *msg)
{
    cf_str role = cf_json_get_str(msg, "role");
    cf_buf *to = cf_msg__is_tool_role(role) ? &m->tool_text : &m->text;
    cf_buf_add(&m->role, role.p, role.n);
    add_content(to, &m->tool_text, json_object_get(msg, "content"));
    add_line(&m->text, cf_json_get_str(msg, "reasoning_content"));
    union {
        const json_t *in;
        json_t *out;
    } channels = {json_object_get(msg, "channels")};
    for (void *it = json_object_iter(channels.out); it != NULL;
         it = json_object_iter_next(channels.out, it)) {
        add_json_line(&m->text, json_object_iter_value(it));
    }
    add_calls(&m->tool_text, msg);
}

static bool is_plain(const json_t *msg)
{
    union {
        const json_t *in;
        json_t *out;
    } m = {msg};
    if (json_object_size(msg) != 2) {
        return false;
    }
    void *it = json_object_iter(m.out);
    if (strcmp(json_object_iter_key(it), "role") != 0) {
        return false;
    }
    it = json_object_iter_next(m.out, it);
    cf_str text = json_str(json_object_iter_value(it));
    return strcmp(json_object_iter_key(it), "content") == 0 &&
           json_is_string(json_object_iter_value(it)) &&
           (text.n == 0 || memchr(text.p, 0, text.n) == NULL);
}

/* ---- blobs -------------------------------------------------------------- */

static bool mentions_key(const json_t *v)
{
    union {
        const json_t *in;
        json_t *out;
    } o = {v};
    if (json_is_object(v)) {
        for (void *it = json_object_iter(o.out); it != NULL;
             it = json_object_iter_next(o.out, it)) {
            if (strcmp(json_object_iter_key(it), blob_key) == 0 ||
                mentions_key(json_object_iter_value(it))) {
                return true;
            }
        }
    }
    for (size_t i = 0; json_is_array(v) && i < json_array_size(v); i++) {
        if (mentions_key(json_array_get(v, i))) {
            return true;
        }
    }
    return false;
}

/* The place in s where base64 begins: after "data:...;base64,", or 0. */
static size_t base64_start(cf_str s)
{
    static const char mark[] = ";base64,";
    if (s.n < 5 || memcmp(s.p, "data:", 5) != 0) {
        return 0;
    }
    size_t limit = s.n < 200 ? s.n : 200;
    for (size_t i = 5; i + sizeof mark - 1 <= limit; i++) {
        if (memcmp(s.p + i, mark, sizeof mark - 1) == 0) {
            return i + sizeof mark - 1;
        }
    }
    return 0;
}

/* Keeps the bytes of a long base64 string as a blob and makes a reference to
 * it; *out is NULL if `v` is not such a string. */
static cf_status take_blob(cf_msg *m, const json_t *v, json_t **out, cf_error *err)
{
    *out = NULL;
    cf_str s = json_str(v);
    if (s.n < BLOB_MIN) {
        return CF_OK;
    }
    size_t start = base64_start(s);
    cf_buf data = CF_BUF_INIT;
    if (!cf_base64_get(&data, cf_str_make(s.p + start, s.n - start))) {
        bool failed = data.failed;
        cf_buf_deinit(&data);
        return failed ? cf_sql__oom(err) : CF_OK;
    }
    cf_msg_blob *grown = cf_realloc(m->blobs, m->n_blobs + 1, sizeof *m->blobs);
    if (grown == NULL) {
        cf_buf_deinit(&data);
        return cf_sql__oom(err);
    }
    m->blobs = grown;
    cf_msg_blob *b = &m->blobs[m->n_blobs++];
    b->data = data;
    cf_hash_hex(b->hash, data.p, data.n);
    json_t *ref = json_object();
    if (ref == NULL || json_object_set_new(ref, blob_key, json_string(b->hash)) != 0 ||
        json_object_set_new(ref, "prefix", json_stringn(s.p, start)) != 0) {
        json_decref(ref);
        return cf_sql__oom(err);
    }
    *out = ref;
    return CF_OK;
}

static cf_status take_blobs(cf_msg *m, json_t *v, cf_error *err)
{
    if (json_is_object(v)) {
        for (void *it = json_object_iter(v); it != NULL; it = json_object_iter_next(v, it)) {
            json_t *child = json_object_iter_value(it);
            json_t *ref = NULL;
            if (!json_is_string(child)) {
                CF_TRY(take_blobs(m, child, err));
                continue;
            }
            CF_TRY(take_blob(m, child, &ref, err));
            if (ref != NULL && json_object_iter_set_new(v, it, ref) != 0) {
                return cf_sql__oom(err);
            }
        }
    }
    for (size_t i = 0; json_is_array(v) && i < json_array_size(v); i++) {
        json_t *child = json_array_get(v, i);
        json_t *ref = NULL;
        if (!json_is_string(child)) {
            CF_TRY(take_blobs(m, child, err));
            continue;
        }
        CF_TRY(take_blob(m, child, &ref, err));
        if (ref != NULL && json_array_set_new(v, i, ref) != 0) {
            return cf_sql__oom(err);
        }
    }
    return CF_OK;
}

/* ---- taking apart ------------------------------------------------------- */

static cf_status take_apart(cf_msg *m, json_t *msg, cf_error *err)
{
    cf_str role = cf_json_get_str(msg, "role");
    if (role.n == 0 || memchr(role.p, 0, role.n) != NULL) {
        return cf_fail(err, CF_EINVAL, "message: no role");
    }
    take_texts(m, msg);
    m->is_plain = is_plain(msg);
    if (!m->is_plain && !mentions_key(msg)) {
        CF_TRY(take_blobs(m, msg, err));
    }
    cf_json_write(&m->body, msg);
    if (m->body.failed || m->text.failed || m->tool_text.failed || m->role.failed) {
        return cf_sql__oom(err);
    }
    cf_hash_hex(m->hash, m->body.p, m->body.n);
    return CF_OK;
}

cf_status cf_msg__init(cf_msg *m, cf_str json, cf_error *err)
{
    *m = (cf_msg){0};
    json_t *msg;
    cf_status st = cf_json_read(&msg, json.p, json.n, err);
    if (st != CF_OK) {
        return st == CF_EFORMAT ? cf_fail_in(err, st, "message") : st;
    }
    st = json_is_object(msg) ? take_apart(m, msg, err)
                             : cf_fail(err, CF_EINVAL, "message: not a JSON object");
    json_decref(msg);
    if (st != CF_OK) {
        cf_msg__deinit(m);
    }
    return st;
}

void cf_msg__deinit(cf_msg *m)
{
    for (size_t i = 0; i < m->n_blobs; i++) {
        cf_buf_deinit(&m->blobs[i].data);
    }
    cf_free(m->blobs);
    cf_buf_deinit(&m->role);
    cf_buf_deinit(&m->text);
    cf_buf_deinit(&m->tool_text);
    cf_buf_deinit(&m->body);
    *m = (cf_msg){0};
}

/* ---- rows --------------------------------------------------------------- */

/* Puts the words of a message into the index, or takes them out. */
static cf_status index_words(cf_sql *sql, int64_t id, cf_str text, cf_str tool_text, bool is_in,
                             cf_error *err)
{
    cf_buf a = CF_BUF_INIT;
    cf_buf b = CF_BUF_INIT;
    cf_words__index(&a, text);
    cf_words__index(&b, tool_text);
    cf_status st = a.failed || b.failed ? cf_sql__oom(err) : CF_OK;
    if (st == CF_OK && is_in) {
        st = cf_sql__run(sql, err,
                         "INSERT INTO message_words(rowid, text, tool_text) "
                         "VALUES(?, ?, ?)",
                         "iss", id, cf_buf_str(&a), cf_buf_str(&b));
    } else if (st == CF_OK) {
        st = cf_sql__run(sql, err,
                         "INSERT INTO message_words(message_words, rowid, "
                         "text, tool_text) VALUES('delete', ?, ?, ?)",
                         "iss", id, cf_buf_str(&a), cf_buf_str(&b));
    }
    cf_buf_deinit(&a);
    cf_buf_deinit(&b);
    return st;
}

static cf_status put_blob(cf_sql *sql, int64_t message, const cf_msg_blob *b, cf_error *err)
{
    CF_TRY(cf_sql__run(sql, err,
                       "INSERT INTO blob(hash, data) VALUES(?, ?) "
                       "ON CONFLICT(hash) DO NOTHING",
                       "zb", b->hash, cf_buf_str(&b->data)));
    return cf_sql__run(sql, err,
                       "INSERT OR IGNORE INTO message_blob SELECT ?, id "
                       "FROM blob WHERE hash = ?",
                       "iz", message, b->hash);
}

cf_status cf_msg__put(cf_sql *sql, const cf_msg *m, int64_t *id, cf_error *err)
{
    CF_TRY(cf_sql__int(sql, id, 0, err, "SELECT id FROM message WHERE hash = ?", "z", m->hash));
    if (*id != 0) {
        return CF_OK;
    }
    cf_str body = m->is_plain ? cf_str_make(NULL, 0) : cf_buf_str(&m->body);
    CF_TRY(cf_sql__run(sql, err,
                       "INSERT INTO message(hash, role, text, tool_text, body) "
                       "VALUES(?, ?, ?, ?, ?)",
                       "zssss", m->hash, cf_buf_str(&m->role), cf_buf_str(&m->text),
                       cf_buf_str(&m->tool_text), body));
    *id = sqlite3_last_insert_rowid(sql->db);
    for (size_t i = 0; i < m->n_blobs; i++) {
        CF_TRY(put_blob(sql, *id, &m->blobs[i], err));
    }
    if (m->text.n == 0 && m->tool_text.n == 0) {
        return CF_OK;
    }
    return index_words(sql, *id, cf_buf_str(&m->text), cf_buf_str(&m->tool_text), true, err);
}

static cf_status get_texts(cf_sql *sql, int64_t id, cf_arena *arena, cf_str *text,
                           cf_str *tool_text, cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row;
    *text = *tool_text = cf_str_make(NULL, 0);
    CF_TRY(
        cf_sql__query(sql, &st, err, "SELECT text, tool_text FROM message WHERE id = ?", "i", id));
    CF_TRY(cf_sql__step(sql, st, &has_row, err));
    if (has_row) {
        *text = cf_sql__str(st, 0, arena);
        *tool_text = cf_sql__str(st, 1, arena);
        cf_sql__done(st);
    }
    return arena->failed ? cf_sql__oom(err) : CF_OK;
}

/* Whether no turn refers to this message any more. */
static cf_status is_unused(cf_sql *sql, int64_t id, bool *out, cf_error *err)
{
    int64_t n;
    CF_TRY(
        cf_sql__int(sql, &n, 0, err, "SELECT 1 FROM turn WHERE message_id = ? LIMIT 1", "i", id));
    *out = n == 0;
    return CF_OK;
}

cf_status cf_msg__forget_words(cf_sql *sql, int64_t id, cf_error *err)
{
    cf_arena arena;
    bool unused;
    CF_TRY(is_unused(sql, id, &unused, err));
    if (!unused) {
        return CF_OK;
    }
    cf_arena_init(&arena, 0);
    cf_str text, tool_text;
    cf_status st = get_texts(sql, id, &arena, &text, &tool_text, err);
    if (st == CF_OK && (text.n != 0 || tool_text.n != 0)) {
        st = index_words(sql, id, text, tool_text, false, err);
    }
    cf_arena_deinit(&arena);
    return st;
}

cf_status cf_msg__collect(cf_sql *sql, int64_t id, cf_error *err)
{
    bool unused;
    CF_TRY(cf_msg__forget_words(sql, id, err));
    CF_TRY(is_unused(sql, id, &unused, err));
    return unused ? cf_sql__run(sql, err, "DELETE FROM message WHERE id = ?", "i", id) : CF_OK;
}

/* ---- putting together --------------------------------------------------- */

static cf_status find_blob(cf_sql *sql, int64_t message, const char *hash, cf_str prefix,
                           json_t **out, cf_error *err)
{
    sqlite3_stmt *st;
    bool has_row;
    *out = NULL;
    CF_TRY(cf_sql__query(sql, &st, err,
                         "SELECT data FROM blob JOIN message_blob ON "
                         "blob_id = id WHERE hash = ? AND message_id = ?",
                         "zi", hash, message));
    CF_TRY(cf_sql__step(sql, st, &has_row, err));
    if (!has_row) {
        return CF_OK;
    }
    cf_buf b = CF_BUF_INIT;
    cf_buf_add(&b, prefix.p, prefix.n);
    const void *data = sqlite3_column_blob(st, 0);
    size_t n = (size_t)sqlite3_column_bytes(st, 0);
    if (data != NULL) {
        cf_base64_put(&b, cf_str_make(data, n));
    }
    *out = b.failed || (data == NULL && n != 0) ? NULL : json_stringn(cf_buf_cstr(&b), b.n);
    cf_buf_deinit(&b);
    cf_sql__done(st);
    return *out == NULL ? cf_sql__oom(err) : CF_OK;
}

/* The string that the reference `v` stands for; *out is NULL if `v` is not a
 * reference. */
static cf_status resolve(cf_sql *sql, int64_t message, const json_t *v, json_t **out, cf_error *err)
{
    *out = NULL;
    cf_str hash = cf_json_get_str(v, blob_key);
    if (json_object_size(v) != 2 || hash.n != CF_HASH_TEXT) {
        return CF_OK;
    }
    return find_blob(sql, message, hash.p, cf_json_get_str(v, "prefix"), out, err);
}

static cf_status put_back(cf_sql *sql, int64_t message, json_t *v, cf_error *err)
{
    json_t *back = NULL;
    if (json_is_object(v)) {
        for (void *it = json_object_iter(v); it != NULL; it = json_object_iter_next(v, it)) {
            json_t *child = json_object_iter_value(it);
            CF_TRY(resolve(sql, message, child, &back, err));
            if (back == NULL) {
                CF_TRY(put_back(sql, message, child, err));
            } else if (json_object_iter_set_new(v, it, back) != 0) {
                return cf_sql__oom(err);
            }
        }
    }
    for (size_t i = 0; json_is_array(v) && i < json_array_size(v); i++) {
        json_t *child = json_array_get(v, i);
        CF_TRY(resolve(sql, message, child, &back, err));
        if (back == NULL) {
            CF_TRY(put_back(sql, message, child, err));
        } else if (json_array_set_new(v, i, back) != 0) {
            return cf_sql__oom(err);
        }
    }
    return CF_OK;
}

static bool mentions_text(cf_str body)
{
    for (size_t i = 0; i + sizeof blob_key - 1 <= body.n; i++) {
        const char *at = memchr(body.p + i, blob_key[0], body.n - i);
        if (at == NULL) {
            return false;
        }
        i = (size_t)(at - body.p);
        if (body.n - i >= sizeof blob_key - 1 && memcmp(at, blob_key, sizeof blob_key - 1) == 0) {
            return true;
        }
    }
    return false;
}

static cf_status to_arena(cf_buf *b, cf_arena *arena, cf_str *out, cf_error *err)
{
    char *copy = b->failed ? NULL : cf_arena_strndup(arena, cf_buf_cstr(b), b->n);
    *out = cf_str_make(copy, b->n);
    cf_buf_deinit(b);
    return copy == NULL ? cf_sql__oom(err) : CF_OK;
}

void cf_msg__write_plain(cf_buf *out, cf_str role, cf_str content)
{
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_object(&w, NULL);
    cf_jw_str(&w, "role", role);
    cf_jw_str(&w, "content", content);
    cf_jw_end(&w);
}

cf_status cf_msg__join(cf_sql *sql, const cf_msg_row *row, cf_arena *arena, cf_str *out,
                       cf_error *err)
{
    cf_buf b = CF_BUF_INIT;
    if (row->body.p == NULL) {
        bool is_tool = cf_msg__is_tool_role(row->role);
        cf_msg__write_plain(&b, row->role, is_tool ? row->tool_text : row->text);
        return to_arena(&b, arena, out, err);
    }
    if (!mentions_text(row->body)) {
        *out = row->body;
        return CF_OK;
    }
    json_t *msg;
    CF_TRY(cf_json_read(&msg, row->body.p, row->body.n, err));
    cf_status st = put_back(sql, row->id, msg, err);
    if (st == CF_OK) {
        cf_json_write(&b, msg);
        st = to_arena(&b, arena, out, err);
    }
    json_decref(msg);
    return st;
}
