/*
 * record.c - the queue of records, and the thread that stores them.
 *
 * Rules:
 *  1. A record is put into the queue twice: when its request is whole, and when
 *     it has ended.  The thread takes them in order, so it sees the first
 *     before the second.
 *     A record that has already ended by the first time is stored at the
 *     second.  Pieces of a running answer may be queued between the two.
 *  2. Until the second time the thread reads only the request, which no longer
 *     changes, and writes only `kept`.
 *  3. n_bytes is what all records hold; a record that would make it more than
 *     CF_RECORD_WAITING_MAX is not begun, or not continued.
 */
#include "tui/serve/record/record.h"

#include <pthread.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/json/json_writer.h"
#include "tui/lab/watch/live_file.h"
#include "tui/serve/record/record_impl.h"
#include "tui/serve/record/request_name.h"

enum {
    LIVE_US = 500000, /* between two looks at a running answer */
    LIVE_MAX = 1 << 20
};

typedef struct cf_record__item item;
struct cf_record__item {
    item *next;
    cf_record *x;
    bool is_end, is_live;
    cf_buf live;      /* what came since the last look */
    uint64_t *chunks; /* [n_chunks] of it */
    size_t n_chunks;
};

struct cf_recorder {
    cf_recorder_options o;
    pthread_mutex_t lock;
    pthread_cond_t work;
    pthread_t thread;
    item *head, *tail;
    bool is_closing, has_said;
    size_t n_bytes;
    cf_recorder_work_done done; /* guarded */
    /* Of the thread. */
    cf_uuid last;
    bool has_last;
    cf_wire_request last_request;
};

/* ---- headers ------------------------------------------------------------ */

/* Headers whose values are never a key.  The value of any other header is not
 * kept, since a key may be in a header of any name. */
static bool is_open_header(cf_str name)
{
    static const char *const names[] = {"Accept",
                                        "Accept-Encoding",
                                        "Accept-Language",
                                        "Age",
                                        "Anthropic-Beta",
                                        "Anthropic-Version",
                                        "Cache-Control",
                                        "Connection",
                                        "Content-Encoding",
                                        "Content-Length",
                                        "Content-Type",
                                        "Date",
                                        "Host",
                                        "OpenAI-Beta",
                                        "OpenAI-Model",
                                        "OpenAI-Version",
                                        "Request-Id",
                                        "Retry-After",
                                        "Server",
                                        "Transfer-Encoding",
                                        "User-Agent",
                                        "X-App",
                                        "X-Request-Id",
                                        "OpenAI-Processing-Ms",
                                        "X-Stainless-Lang"};
    static const char *const starts[] = {"x-ratelimit-", "anthropic-ratelimit-"};
    if (cf_is_session_header(name)) {
        return true;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (cf_http_name_is(name, names[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        size_t n = strlen(starts[i]);
        if (name.n > n && cf_http_name_is(cf_str_make(name.p, n), starts[i])) {
            return true;
        }
    }
    return false;
}

/* Appends a JSON list of [name, value]; the value is null unless the header is
 * known not to hold a secret. */
static void headers_json(cf_buf *out, const cf_http_header *headers, size_t n)
{
    cf_jw w;
    cf_jw_init(&w, out);
    cf_jw_array(&w, NULL);
    for (size_t i = 0; i < n; i++) {
        cf_jw_array(&w, NULL);
        cf_jw_str(&w, NULL, headers[i].name);
        if (is_open_header(headers[i].name)) {
            cf_jw_str(&w, NULL, headers[i].value);
        } else {
            cf_jw_null(&w, NULL);
        }
        cf_jw_end(&w);
    }
    cf_jw_end(&w);
    if (cf_jw_finish(&w, NULL) != CF_OK) {
        out->failed = true;
    }
}

/* ---- the thread --------------------------------------------------------- */

void cf_record__say(const cf_recorder *r, const char *line)
{
    if (r->o.say != NULL) {
        r->o.say(r->o.ud, line);
    }
}

void cf_record__count(cf_recorder *r, size_t n_requests, size_t n_bytes)
{
    pthread_mutex_lock(&r->lock);
    r->done.n_requests += n_requests;
    r->done.n_bytes += n_bytes;
    pthread_mutex_unlock(&r->lock);
}

cf_recorder_work_done cf_recorder_work(cf_recorder *r)
{
    pthread_mutex_lock(&r->lock);
    cf_recorder_work_done done = r->done;
    pthread_mutex_unlock(&r->lock);
    return done;
}

const cf_wire_request *cf_record__last_request(const cf_recorder *r, cf_uuid exchange)
{
    return r->has_last && cf_uuid_eq(r->last, exchange) ? &r->last_request : NULL;
}

void cf_record__set_last_request(cf_recorder *r, cf_uuid exchange, cf_wire_request *request)
{
    cf_wire_request_deinit(&r->last_request);
    r->last = exchange;
    r->has_last = true;
    r->last_request = *request;
    memset(request, 0, sizeof *request);
}

static void free_item(item *i)
{
    cf_buf_deinit(&i->live);
    cf_free(i->chunks);
    cf_free(i);
}

static void *recorder_main(void *arg)
{
    cf_recorder *r = arg;
    pthread_mutex_lock(&r->lock);
    for (;;) {
        item *i = r->head;
        if (i == NULL) {
            if (r->is_closing) {
                break;
            }
            pthread_cond_wait(&r->work, &r->lock);
            continue;
        }
        r->head = i->next;
        if (r->head == NULL) {
            r->tail = NULL;
        }
        pthread_mutex_unlock(&r->lock);
        if (i->is_end) {
            cf_record__store_end(&r->o, i->x);
        } else if (i->is_live) {
            cf_record__show_live(&r->o, i->x,
                                 &(cf_record__piece){cf_buf_str(&i->live), i->chunks, i->n_chunks});
        } else if (!atomic_load(&i->x->has_ended)) {
            cf_record__store_begin(&r->o, i->x);
        }
        size_t freed = i->is_end ? i->x->n_bytes : 0;
        if (i->is_end) {
            cf_record__free(i->x);
        }
        free_item(i);
        pthread_mutex_lock(&r->lock);
        r->n_bytes -= freed;
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

cf_status cf_recorder_new(cf_recorder **out, const cf_recorder_options *options, cf_error *err)
{
    cf_recorder *r = cf_calloc(1, sizeof *r);
    if (r == NULL) {
        return cf_oom(err);
    }
    r->o = *options;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->work, NULL);
    cf_live_begin(cf_store_path(r->o.store));
    cf_status st = cf_os_thread(&r->thread, recorder_main, r, err);
    if (st != CF_OK) {
        pthread_cond_destroy(&r->work);
        pthread_mutex_destroy(&r->lock);
        cf_free(r);
        return st;
    }
    *out = r;
    return CF_OK;
}

void cf_recorder_free(cf_recorder *r)
{
    if (r == NULL) {
        return;
    }
    pthread_mutex_lock(&r->lock);
    r->is_closing = true;
    pthread_cond_signal(&r->work);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    cf_wire_request_deinit(&r->last_request);
    cf_live_end(cf_store_path(r->o.store));
    pthread_cond_destroy(&r->work);
    pthread_mutex_destroy(&r->lock);
    cf_free(r);
}

/* ---- records ------------------------------------------------------------ */

/* Reserves n bytes; false, reported once, when there is no room for them. */
static bool take_room(cf_recorder *r, size_t n)
{
    pthread_mutex_lock(&r->lock);
    bool has_room = n <= CF_RECORD_WAITING_MAX - r->n_bytes;
    bool says = !has_room && !r->has_said;
    if (has_room) {
        r->n_bytes += n;
    } else {
        r->has_said = true;
    }
    pthread_mutex_unlock(&r->lock);
    if (says) {
        cf_record__say(r, "not everything is recorded: too much is waiting to "
                          "be stored");
    }
    return has_room;
}

static void give_room(cf_recorder *r, size_t n)
{
    pthread_mutex_lock(&r->lock);
    r->n_bytes -= n;
    pthread_mutex_unlock(&r->lock);
}

static void append(cf_recorder *r, item *i)
{
    pthread_mutex_lock(&r->lock);
    if (r->tail != NULL) {
        r->tail->next = i;
    } else {
        r->head = i;
    }
    r->tail = i;
    pthread_cond_signal(&r->work);
    pthread_mutex_unlock(&r->lock);
}

static item *new_item(cf_record *x, bool is_end)
{
    item *i = cf_calloc(1, sizeof *i);
    if (i != NULL) {
        i->x = x;
        i->is_end = is_end;
    }
    return i;
}

/* Queues the beginning, and allocates the item for the end, so that ending a
 * record cannot fail. */
static bool enqueue(cf_recorder *r, cf_record *x)
{
    item *i = new_item(x, false);
    x->end = i != NULL ? new_item(x, true) : NULL;
    if (x->end == NULL) {
        cf_free(i);
        return false;
    }
    append(r, i);
    return true;
}

/* Shows a long answer while it streams, at intervals and only while the
 * recorder is idle. */
static void show_live(cf_record *x, uint64_t us)
{
    cf_recorder *r = x->recorder;
    if (us < x->live_us + LIVE_US || !cf_api_talks(x->api) || x->encoding.n != 0 ||
        x->response.n > LIVE_MAX) {
        return;
    }
    x->live_us = us;
    pthread_mutex_lock(&r->lock);
    bool is_idle = r->head == NULL;
    pthread_mutex_unlock(&r->lock);
    item *i = is_idle ? new_item(x, false) : NULL;
    if (i == NULL) {
        return;
    }
    i->is_live = true;
    i->n_chunks = x->n_chunks - x->n_live_chunks;
    i->chunks = cf_calloc(i->n_chunks + 1, sizeof *i->chunks);
    cf_buf_add(&i->live, x->response.p + x->n_live, x->response.n - x->n_live);
    if (i->live.failed || i->chunks == NULL) {
        free_item(i);
        return;
    }
    memcpy(i->chunks, x->chunks + x->n_live_chunks, i->n_chunks * sizeof *i->chunks);
    x->n_live = x->response.n;
    x->n_live_chunks = x->n_chunks;
    append(r, i);
}

void cf_record__free(cf_record *x)
{
    cf_buf_deinit(&x->request);
    cf_buf_deinit(&x->request_headers);
    cf_buf_deinit(&x->response);
    cf_buf_deinit(&x->response_headers);
    cf_buf_deinit(&x->kept.findings);
    cf_wire_request_deinit(&x->kept.request);
    if (x->kept.is_reading) {
        cf_wire_reader_deinit(&x->kept.reader);
    }
    cf_arena_deinit(&x->arena);
    cf_free(x->chunks);
    cf_free(x->end);
    cf_free(x);
}

static cf_str copy(cf_record *x, cf_str s)
{
    return cf_str_make(cf_arena_strndup(&x->arena, s.p != NULL ? s.p : "", s.n), s.n);
}

static void fill(cf_record *x, const cf_http_request *q, cf_str body, const char *upstream)
{
    x->id = cf_uuid_new();
    x->started_ms = cf_os_now_ms();
    x->started_us = cf_os_monotonic_us();
    x->first_us = -1;
    x->method = copy(x, q->method);
    x->path = copy(x, q->path);
    x->client = copy(x, cf_http_header_get(q->headers, q->n_headers, "User-Agent"));
    x->upstream = copy(x, cf_str_from(upstream));
    headers_json(&x->request_headers, q->headers, q->n_headers);
    cf_buf_add(&x->request, body.p, body.n);
    x->api = cf_api_of(q->method, q->path);
}

cf_record *cf_record_begin(cf_recorder *r, const cf_http_request *q, cf_str body,
                           const char *upstream)
{
    if (r == NULL || !take_room(r, body.n + sizeof(cf_record))) {
        return NULL;
    }
    cf_record *x = cf_calloc(1, sizeof *x);
    if (x != NULL) {
        x->recorder = r;
        x->n_bytes = body.n + sizeof *x;
        cf_arena_init(&x->arena, 0);
        fill(x, q, body, upstream);
    }
    if (x == NULL || x->arena.failed || x->request.failed || x->request_headers.failed ||
        !enqueue(r, x)) {
        give_room(r, body.n + sizeof(cf_record));
        if (x != NULL) {
            cf_record__free(x);
        }
        cf_record__say(r, "a request is not recorded: out of memory");
        return NULL;
    }
    return x;
}

cf_uuid cf_record_id(const cf_record *x)
{
    return x != NULL ? x->id : (cf_uuid){{0}};
}

void cf_record_head(cf_record *x, unsigned status, const cf_http_header *headers, size_t n)
{
    if (x == NULL) {
        return;
    }
    x->status = status;
    cf_str id = cf_http_header_get(headers, n, "X-Request-Id");
    id = id.p != NULL ? id : cf_http_header_get(headers, n, "Request-Id");
    x->request_id = id.p != NULL ? copy(x, id) : id;
    x->encoding = copy(x, cf_http_header_get(headers, n, "Content-Encoding"));
    headers_json(&x->response_headers, headers, n);
}

void cf_record_bytes(cf_record *x, const char *p, size_t n)
{
    if (x == NULL || x->is_cut) {
        return;
    }
    uint64_t us = cf_os_monotonic_us() - x->started_us;
    if (x->first_us < 0) {
        x->first_us = (int64_t)us;
    }
    if (x->response.n + n > CF_RECORD_BODY_MAX || !take_room(x->recorder, n)) {
        x->is_cut = true;
        return;
    }
    x->n_bytes += n;
    cf_buf_add(&x->response, p, n);
    if (x->response.failed ||
        !cf_grow(&x->chunks, &x->cap_chunks, x->n_chunks + 2, sizeof *x->chunks)) {
        x->is_cut = true;
        return;
    }
    x->chunks[x->n_chunks++] = n;
    x->chunks[x->n_chunks++] = us;
    show_live(x, us);
}

void cf_record_usage(cf_record *x, uint64_t n_prompt, uint64_t n_cached, uint64_t n_reply)
{
    if (x != NULL) {
        x->usage = cf_wire_usage_none();
        x->usage.n_prompt = (int64_t)n_prompt;
        x->usage.n_cached = (int64_t)n_cached;
        x->usage.n_reply = (int64_t)n_reply;
        x->has_usage = true;
    }
}

void cf_record_note(cf_record *x, const char *line)
{
    if (x != NULL) {
        snprintf(x->note, sizeof x->note, "%s", line);
    }
}

void cf_record_end_with(cf_record *x, cf_record_end how, const char *why)
{
    if (x == NULL) {
        return;
    }
    x->total_us = (int64_t)(cf_os_monotonic_us() - x->started_us);
    x->how = how;
    x->why = why != NULL ? copy(x, cf_str_from(why)) : cf_str_make(NULL, 0);
    atomic_store(&x->has_ended, true);
    item *end = x->end; /* x is the thread's from now on */
    x->end = NULL;
    append(x->recorder, end);
}
