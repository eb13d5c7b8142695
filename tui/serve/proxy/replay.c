/*
 * replay.c - looks a request up by its hash, and by its messages and tools.
 *
 * Always true: rows[0..n) are the exchanges that were recorded before the first
 * request that had to be compared; they change under `lock` only, once.
 */
#include "tui/serve/proxy/replay.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/wire/wire.h"
#include "tui/serve/record/api_fail.h"
#include "tui/serve/record/path_key.h"
#include "tui/serve/record/record.h"

enum { NEWEST = 8, POINTER_MAX = 200, POINTER_DEPTH = 12 };

/* What is compared of a request. */
typedef struct keys {
    char (*at)[CF_HASH_TEXT + 1]; /* [n] of the messages up to each; heap */
    size_t n;
    char tools[CF_HASH_TEXT + 1];
    cf_api api;
} keys;

typedef struct row {
    cf_uuid id;
    keys k;
} row;

struct cf_replay {
    cf_replay_options o;
    pthread_mutex_t lock;
    row *rows; /* [n], heap, oldest first */
    size_t n, cap;
    bool is_read;
};

const char *cf_replay_name(cf_replay_how how)
{
    static const char *const names[] = {"exact", "messages", "none"};
    return names[how];
}

/* ---- keys ---------------------------------------------------------------- */

static cf_status hash_tools(char out[CF_HASH_TEXT + 1], const json_t *tools, cf_error *err)
{
    char *text = json_dumps(tools, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    out[0] = '\0';
    if (tools == NULL) {
        return CF_OK;
    }
    if (text == NULL) {
        return cf_oom(err);
    }
    cf_hash_hex(out, text, strlen(text));
    cf_free(text);
    return CF_OK;
}

/* CF_EFORMAT for what is no request with messages. */
static cf_status make_keys(keys *k, cf_str method, cf_str path, cf_str body, cf_error *err)
{
    cf_wire_request w;
    cf_path_key key;
    *k = (keys){.api = cf_api_of(method, path)};
    CF_TRY(cf_wire_request_read(&w, k->api, body, err));
    k->n = json_array_size(w.messages);
    k->at = cf_calloc(k->n + 1, sizeof *k->at);
    cf_status st = k->at != NULL ? hash_tools(k->tools, w.tools, err) : cf_oom(err);
    cf_path_key_init(&key, "");
    for (size_t i = 0; st == CF_OK && i < k->n; i++) {
        st = cf_path_key_add(&key, json_array_get(w.messages, i), err);
        memcpy(k->at[i], key.all, sizeof key.all);
    }
    cf_wire_request_deinit(&w);
    if (st != CF_OK) {
        cf_free(k->at);
        k->at = NULL;
    }
    return st;
}

/* How many messages two requests begin with alike. */
static size_t common(const keys *a, const keys *b)
{
    size_t n = 0;
    while (n < a->n && n < b->n && strcmp(a->at[n], b->at[n]) == 0) {
        n++;
    }
    return n;
}

static bool is_same(const keys *a, const keys *b)
{
    return a->api == b->api && a->n == b->n && a->n > 0 && common(a, b) == a->n &&
           strcmp(a->tools, b->tools) == 0;
}

/* ---- the index ----------------------------------------------------------- */

static bool has_answer(const cf_exchange *x)
{
    return x->response_headers.n > 2;
}

static cf_status add_row(cf_replay *r, cf_uuid id, cf_error *err)
{
    cf_arena a;
    cf_exchange x;
    cf_arena_init(&a, 0);
    cf_status st = cf_store_get_exchange(r->o.store, id, &a, &x, err);
    if (st == CF_OK && !cf_grow(&r->rows, &r->cap, r->n + 1, sizeof *r->rows)) {
        st = cf_oom(err);
    }
    if (st == CF_OK) {
        r->rows[r->n].id = id;
        st = make_keys(&r->rows[r->n].k, x.method, x.path, x.request, err);
        r->n += st == CF_OK;
    }
    cf_arena_deinit(&a);
    return st == CF_ENOMEM ? st : CF_OK; /* what cannot be read is not compared */
}

static void drop_rows(cf_replay *r)
{
    while (r->n > 0) {
        cf_free(r->rows[--r->n].k.at);
    }
}

static cf_status read_index(cf_replay *r, cf_error *err)
{
    cf_arena a;
    const cf_exchange *list;
    size_t n = 0;
    const cf_exchange_query q = {.has_ended = true, .limit = CF_REPLAY_MAX};
    cf_arena_init(&a, 0);
    pthread_mutex_lock(&r->lock);
    cf_status st = r->is_read ? CF_OK : cf_store_exchanges(r->o.store, &q, &a, &list, &n, err);
    for (size_t i = 0; st == CF_OK && i < n; i++) {
        if (has_answer(&list[i])) {
            st = add_row(r, list[i].id, err);
        }
    }
    r->is_read = st == CF_OK;
    if (!r->is_read) {
        drop_rows(r);
    }
    pthread_mutex_unlock(&r->lock);
    cf_arena_deinit(&a);
    return st;
}

/* ---- differences --------------------------------------------------------- */

/* Where two values differ first, as a JSON pointer from *n on. */
static void point(char out[POINTER_MAX], size_t n, const json_t *a, const json_t *b, int depth)
{
    const char *key;
    json_t *value;
    if (depth > POINTER_DEPTH || n + 2 > POINTER_MAX) {
        return;
    }
    if (json_is_object(a) && json_is_object(b)) {
        json_object_foreach(cf_json_ref(b), key, value)
        {
            const json_t *was = json_object_get(a, key);
            if (was == NULL || !json_equal(was, value)) {
                int more = snprintf(out + n, POINTER_MAX - n, "/%s", key);
                point(out, n + (size_t)more, was, value, depth + 1);
                return;
            }
        }
    } else if (json_is_array(a) && json_is_array(b)) {
        size_t i = 0;
        while (json_equal(json_array_get(a, i), json_array_get(b, i)) &&
               json_array_get(b, i) != NULL) {
            i++;
        }
        int more = snprintf(out + n, POINTER_MAX - n, "/%zu", i);
        point(out, n + (size_t)more, json_array_get(a, i), json_array_get(b, i), depth + 1);
    }
}

/* What a request says and the model reads; ids of messages are not read. */
static json_t *read_part(const json_t *body)
{
    static const char *const keys_read[] = {
        "messages", "input",        "contents",          "prompt",
        "system",   "instructions", "systemInstruction", "tools"};
    json_t *out = json_object();
    for (size_t i = 0; i < sizeof keys_read / sizeof *keys_read; i++) {
        json_t *v = cf_json_deep_copy(json_object_get(body, keys_read[i]));
        for (size_t k = 0; k < json_array_size(v); k++) {
            (void)json_object_del(json_array_get(v, k), "id");
        }
        if (v != NULL) {
            (void)json_object_set_new(out, keys_read[i], v); /* less is said without memory */
        }
    }
    return out;
}

/* The first difference of two bodies; `only_read`: in what the model reads. */
static void differ(char out[POINTER_MAX], cf_str was, cf_str is, bool only_read)
{
    json_t *a = NULL, *b = NULL;
    out[0] = '\0';
    if (cf_json_read(&a, was.p, was.n, NULL) == CF_OK &&
        cf_json_read(&b, is.p, is.n, NULL) == CF_OK) {
        json_t *x = only_read ? read_part(a) : json_incref(a);
        json_t *y = only_read ? read_part(b) : json_incref(b);
        point(out, 0, x, y, 0);
        if (out[0] == '\0' && !json_equal(x, y)) { /* members that are no more there */
            point(out, 0, y, x, 0);
        }
        json_decref(x);
        json_decref(y);
    }
    json_decref(a);
    json_decref(b);
}

/* ---- a request ----------------------------------------------------------- */

/* A request while its answer is looked for. */
typedef struct search {
    cf_replay *r;
    const cf_http_request *q;
    cf_exchange found; /* or the nearest */
    bool has_any;
    cf_replayed told;
    char differs[POINTER_MAX];
} search;

/* The newest exchange of the same bytes that has an answer from a server. */
static cf_status find_exact(search *s, cf_error *err)
{
    char hash[65] = "";
    const cf_exchange *rows;
    size_t n;
    CF_TRY(cf_record_hash(hash, s->q->method, s->q->path, s->q->body, err));
    const cf_exchange_query q = {
        .request_hash = cf_str_from(hash), .has_ended = true, .limit = NEWEST};
    CF_TRY(cf_store_exchanges(s->r->o.store, &q, s->q->arena, &rows, &n, err));
    for (size_t i = n; i > 0; i--) {
        if (has_answer(&rows[i - 1])) {
            s->has_any = true;
            s->told.how = CF_REPLAY_EXACT;
            return cf_store_get_exchange(s->r->o.store, rows[i - 1].id, s->q->arena, &s->found,
                                         err);
        }
    }
    return CF_OK;
}

/* The newest that says the same, or the nearest: most messages in common. */
static const row *nearest(const cf_replay *r, const keys *k, bool *same)
{
    const row *best = NULL;
    size_t most = 0;
    *same = false;
    for (size_t i = r->n; i > 0; i--) {
        const row *x = &r->rows[i - 1];
        size_t n = common(&x->k, k);
        if (is_same(&x->k, k)) {
            *same = true;
            return x;
        }
        /* Of equal beginnings the one of nearly as many messages. */
        bool is_nearer =
            best == NULL || n > most || (n == most && x->k.n >= k->n && x->k.n < best->k.n);
        if (x->k.api == k->api && is_nearer) {
            best = x;
            most = n;
        }
    }
    return best;
}

static cf_status find_messages(search *s, cf_error *err)
{
    keys k;
    bool same;
    s->told.how = CF_REPLAY_NONE;
    cf_status st = make_keys(&k, s->q->method, s->q->path, s->q->body, err);
    if (st != CF_OK) {
        return st == CF_ENOMEM ? st : CF_OK;
    }
    s->told.has_messages = k.n > 0;
    st = read_index(s->r, err);
    const row *x = st == CF_OK ? nearest(s->r, &k, &same) : NULL;
    if (x != NULL) {
        s->has_any = true;
        s->told.how = same ? CF_REPLAY_MESSAGES : CF_REPLAY_NONE;
        st = cf_store_get_exchange(s->r->o.store, x->id, s->q->arena, &s->found, err);
    }
    cf_free(k.at);
    return st;
}

static cf_status find(search *s, cf_error *err)
{
    cf_status st = find_exact(s, err);
    if (st == CF_OK && !s->has_any) {
        st = find_messages(s, err);
    }
    if (st == CF_OK && s->has_any) {
        s->told.exchange = s->found.id;
        if (s->told.how != CF_REPLAY_EXACT) {
            differ(s->differs, s->found.request, s->q->body, s->told.how == CF_REPLAY_NONE);
        }
    }
    return st;
}

/* ---- the answer ---------------------------------------------------------- */

/* The recorded headers that say how the body is to be read, and ours. */
static void set_headers(const cf_http_request *r, cf_http_answer *a, cf_str recorded,
                        cf_replay_how how)
{
    static const char *const kept[] = {"Content-Type", "Content-Encoding", "X-Request-Id",
                                       "Retry-After"};
    json_t *list = NULL;
    if (recorded.n == 0 || cf_json_read(&list, recorded.p, recorded.n, NULL) != CF_OK) {
        list = NULL;
    }
    size_t n = json_array_size(list), n_own = a->n_headers;
    cf_http_header *h = cf_arena_calloc(r->arena, n + n_own + 1, sizeof *h);
    if (h != NULL && n_own != 0) {
        memcpy(h, a->headers, n_own * sizeof *h);
    }
    for (size_t i = 0; h != NULL && i < n; i++) {
        const json_t *pair = json_array_get(list, i);
        const char *name = json_string_value(json_array_get(pair, 0));
        const char *value = json_string_value(json_array_get(pair, 1));
        for (size_t k = 0; k < sizeof kept / sizeof kept[0]; k++) {
            if (name == NULL || value == NULL || !cf_http_name_is(cf_str_from(name), kept[k])) {
                continue;
            }
            size_t len = strlen(value);
            const char *copy = cf_arena_strndup(r->arena, value, len);
            if (copy != NULL) {
                h[a->n_headers++] = (cf_http_header){cf_str_from(kept[k]), cf_str_make(copy, len)};
            }
        }
    }
    if (h != NULL) {
        h[a->n_headers++] =
            (cf_http_header){cf_str_from("X-Confab-Replay"), cf_str_from(cf_replay_name(how))};
    }
    a->headers = h;
    a->n_headers = h != NULL ? a->n_headers : 0;
    json_decref(list);
}

/* Why there is no answer, in one line. */
static void put_reason(const search *s, char line[400])
{
    char id[CF_UUID_TEXT + 1] = "";
    if (!s->has_any) {
        snprintf(line, 400, "this request was not recorded, and none like it");
        return;
    }
    cf_uuid_format(id, s->found.id);
    snprintf(line, 400, "this request was not recorded; the nearest is %s, which differs at %s", id,
             s->differs[0] != '\0' ? s->differs : "its end");
}

static void on_answer(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    search s = {.r = ud, .q = r, .told = {.method = r->method, .path = r->path}};
    cf_error err;
    char line[400];
    cf_status st = find(&s, &err);
    s.told.differs = s.differs;
    if (st != CF_OK) {
        cf_api_fail(r, a, 500, "not_recorded", err.text);
    } else if (s.told.how == CF_REPLAY_NONE) {
        put_reason(&s, line);
        cf_api_fail(r, a, 404, "not_recorded", line);
        set_headers(r, a, cf_str_make(NULL, 0), CF_REPLAY_NONE);
    } else {
        *a = (cf_http_answer){.status = (unsigned)s.found.status, .body = s.found.response};
        set_headers(r, a, s.found.response_headers, s.told.how);
    }
    if (st == CF_OK && s.r->o.told != NULL) {
        s.r->o.told(s.r->o.ud, &s.told);
    }
}

cf_status cf_replay_new(cf_replay **out, const cf_replay_options *options, cf_error *err)
{
    cf_replay *r = cf_calloc(1, sizeof *r);
    if (r == NULL) {
        return cf_oom(err);
    }
    r->o = *options;
    pthread_mutex_init(&r->lock, NULL);
    *out = r;
    return CF_OK;
}

void cf_replay_free(cf_replay *r)
{
    if (r == NULL) {
        return;
    }
    drop_rows(r);
    cf_free(r->rows);
    pthread_mutex_destroy(&r->lock);
    cf_free(r);
}

cf_http_handler cf_replay_handler(cf_replay *r)
{
    return (cf_http_handler){.answer = on_answer, .fail = cf_api_fail, .ud = r};
}
