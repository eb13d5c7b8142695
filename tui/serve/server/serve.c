/*
 * serve.c - requests to the built-in engine: routes them, generates replies,
 * and hands them on whole or as they are written.
 *
 * Rules:
 *  1. A reply is generated on the connection's thread when it is wanted whole,
 *     and on a thread of its own when it is streamed; that thread writes to
 *     the pipe of the request, which the connection's thread reads.
 *  2. Replies of one request go on from one prompt, each on a thread, in
 *     common passes; each event of a stream is pushed whole.
 *  3. The client's end sets `cancel`, and the request is freed only after its
 *     thread has ended.
 *  4. A stream's status is sent with its first event, so that a request that
 *     fails before its first token gets the status of its failure.
 */
#include "tui/serve/server/serve.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/json/json_builder.h"
#include "templates/chat_template.h"
#include "tui/serve/record/api_fail.h"
#include "tui/serve/server/serve_impl.h"

enum { SLOTS_DEFAULT = 4, WAIT_MS = 100 };

struct cf_serve {
    cf_serve_options o;
    const cf_opened *opened;
    const cf_tokenizer *tok;
    cf_core_options chat, raw; /* what a slot is set to */
    cf_constraint_vocab *vocab;
    cf_serve__slots *slots;
    cf_serve__embedder *embedder;
    int64_t created;
};

/* A request, from its first byte to the end of its answer. */
typedef struct job {
    cf_serve *serve;
    cf_record *record;
    cf_serve__asked asked;
    cf_serve__slot *slot; /* while it is computed */
    char id[CF_UUID_TEXT + 1];
    cf_wire_writer writer;
    cf_chat_response reply[CF_SERVE_N_MAX];
    cf_usage usage;
    cf_timings timings;
    cf_cancel cancel;
    int fd; /* the client's */
    const atomic_bool *stopping;
    cf_status st;
    cf_error err;
    cf_fault fault;
    /* A streamed answer. */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    cf_buf pipe;  /* written, not read yet; guarded */
    bool has_any; /* something was written; guarded */
    bool is_over; /* nothing more will be written; guarded */
    cf_buf piece; /* the end, of the writing thread */
} job;

/* ---- prompts that are not conversations --------------------------------- */

static cf_status render_raw(const void *ud, const json_t *context, cf_arena *arena, cf_prompt *out,
                            cf_error *err)
{
    (void)ud;
    const json_t *list = json_object_get(context, "messages");
    cf_str text = cf_json_get_str(json_array_get(list, 0), "content");
    cf_prompt_span *span = cf_arena_calloc(arena, 1, sizeof *span);
    const char *copy = cf_arena_strndup(arena, text.p, text.n);
    if (span == NULL || copy == NULL) {
        return cf_oom(err);
    }
    *span =
        (cf_prompt_span){.len = (uint32_t)text.n, .source = CF_SPAN_TEMPLATE, .line = 1, .col = 1};
    *out = (cf_prompt){cf_str_make(copy, text.n), span, text.n > 0 ? 1 : 0};
    return CF_OK;
}

/* ---- generating --------------------------------------------------------- */

/* One of the replies to a request. */
typedef struct choice {
    job *j;
    uint32_t i;
    cf_backend *backend; /* the slot's, or a fork of it */
    pthread_t thread;
    bool has_thread;
    cf_buf piece; /* written, not pushed yet */
    cf_status st;
    cf_error err;
} choice;

/* Hands over what was written, and forgets it. */
static void push(job *j, cf_buf *piece)
{
    pthread_mutex_lock(&j->lock);
    /* After a piece that is lost the stream breaks off. */
    j->pipe.failed = j->pipe.failed || piece->failed;
    if (!j->pipe.failed) {
        cf_buf_add(&j->pipe, piece->p, piece->n);
        j->has_any = j->has_any || piece->n > 0;
    }
    pthread_cond_signal(&j->changed);
    pthread_mutex_unlock(&j->lock);
    cf_buf_reset(piece);
}

/* A client that waits for a whole answer may leave: then nobody wants it. */
static void check_disconnect(job *j)
{
    char one;
    if (j->stopping != NULL && atomic_load(j->stopping)) {
        atomic_store(&j->cancel, true);
    }
    if (j->fd >= 0 && recv(j->fd, &one, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
        atomic_store(&j->cancel, true);
    }
}

static void on_event(const cf_chat_event *e, void *ud)
{
    choice *d = ud;
    job *j = d->j;
    cf_serve__note(j->slot, e);
    cf_serve__write_event(&j->writer, d->i, j->serve->tok, e, &d->piece);
    if (e->kind == CF_CHAT_TOKEN) {
        check_disconnect(j);
    }
    if (j->asked.wire.is_stream && d->piece.n > 0) {
        push(j, &d->piece);
    }
}

static cf_chat_request request_of(job *j, const cf_chat_options *options)
{
    return (cf_chat_request){.messages = j->asked.messages,
                             .tools = j->asked.tools,
                             .extra_context = j->asked.wire.variables,
                             .options = options,
                             .cancel = &j->cancel};
}

static void *one_reply(void *ud)
{
    choice *d = ud;
    job *j = d->j;
    cf_chat_options options = j->asked.options;
    options.sampling.seed += d->i;
    const cf_chat_request request = request_of(j, &options);
    cf_chat_response *out = &j->reply[d->i];
    d->st = cf_backend_generate_stream(d->backend, &request, on_event, d, out, &d->err);
    if (d->st == CF_OK) {
        cf_serve__write_reply(&j->writer, d->i, out, &d->piece);
        push(j, &d->piece);
    }
    cf_serve__rest(j->serve->slots, true);
    return NULL;
}

/* Computes the prompt once, for all replies that continue it. */
static cf_status prefill(job *j, cf_backend *backend, cf_error *err)
{
    cf_chat_request request = request_of(j, &j->asked.options);
    cf_chat_response out;
    cf_chat_response_init(&out);
    request.is_pending = true;
    cf_status st = cf_backend_generate(backend, &request, &out, err);
    j->fault = out.stop.fault;
    j->usage.n_cached = out.sync.n_kept;
    j->timings.prefill_us = out.timings.prefill_us;
    cf_chat_response_deinit(&out);
    return st;
}

/* Several replies: forks of the slot, each on a thread, in common passes. */
static void generate_choices(job *j, cf_serve__slot *slot, choice *v, uint32_t n)
{
    cf_serve *s = j->serve;
    uint32_t n_forks = 1; /* the slot itself is the first */
    v[0].backend = slot->backend;
    v[0].st = n > 1 ? prefill(j, slot->backend, &v[0].err) : CF_OK;
    while (v[0].st == CF_OK && n_forks < n) {
        choice *d = &v[n_forks];
        v[0].st = cf_serve__fork(s->slots, slot, &d->backend, &v[0].err);
        n_forks += v[0].st == CF_OK;
    }
    const bool goes = v[0].st == CF_OK;
    for (uint32_t i = 1; i < n_forks; i++) {
        cf_status st =
            goes ? cf_os_thread(&v[i].thread, one_reply, &v[i], &v[i].err) : CF_ECANCELLED;
        v[i].has_thread = st == CF_OK;
        if (!v[i].has_thread) {
            v[i].st = st;
            cf_serve__rest(s->slots, true);
        }
    }
    if (goes) {
        one_reply(&v[0]);
    } else {
        cf_serve__rest(s->slots, true);
    }
    for (uint32_t i = 1; i < n_forks; i++) {
        if (v[i].has_thread) {
            pthread_join(v[i].thread, NULL);
        }
        cf_serve__fork_free(s->slots, v[i].backend);
    }
    cf_serve__rest(s->slots, false); /* the slot's, until it is given back */
}

/* Sums, and the first failure. */
static void take_choices(job *j, const choice *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const cf_chat_response *r = &j->reply[i];
        if (v[i].st != CF_OK && j->st == CF_OK) {
            j->st = v[i].st;
            j->err = v[i].err;
            j->fault = j->fault != CF_FAULT_NONE ? j->fault : r->stop.fault;
        }
        j->usage.n_prompt = i == 0 ? r->usage.n_prompt : j->usage.n_prompt;
        j->usage.n_reply += r->usage.n_reply;
        j->timings.decode_us = r->timings.decode_us > j->timings.decode_us ? r->timings.decode_us
                                                                           : j->timings.decode_us;
    }
    if (n == 1) {
        j->usage.n_cached = j->reply[0].usage.n_cached;
        j->timings.prefill_us = j->reply[0].timings.prefill_us;
    }
}

/* What the prompt is rendered from, as the backend does it; a new reference. */
static cf_status context_of(const job *j, json_t **out, cf_error *err)
{
    const char *key;
    json_t *value;
    cf_jb b = CF_JB_INIT;
    cf_jb_object(&b, NULL);
    json_object_foreach(j->asked.wire.variables, key, value)
    {
        cf_jb_add(&b, key, value);
    }
    cf_jb_add(&b, "messages", j->asked.messages);
    if (j->asked.tools != NULL) {
        cf_jb_take(&b, "tools", cf_tool_set_openai(j->asked.tools));
    }
    cf_jb_bool(&b, "add_generation_prompt", true);
    cf_jb_end(&b);
    return cf_jb_finish(&b, out, err);
}

/* The slot's tokens are compared with the prompt's before it is chosen; where
 * there is no prompt, the backend reports why. */
static cf_serve__slot *take_slot(job *j, cf_error *err)
{
    cf_serve *s = j->serve;
    cf_arena arena;
    cf_prompt prompt;
    cf_token_list list = {NULL, 0};
    cf_token *ids = NULL;
    cf_serve__slot *slot = NULL;
    json_t *context = NULL;
    cf_arena_init(&arena, 0);
    const cf_core_options *o = j->asked.is_raw ? &s->raw : &s->chat;
    cf_status st = context_of(j, &context, err);
    CF_THEN(st, cf_prompt_add_special(context, s->tok, err));
    CF_THEN(st, o->renderer.render(o->renderer.ud, context, &arena, &prompt, err));
    CF_THEN(st, cf_prompt_tokenise(&list, &prompt, cf_str_make("", 0), s->tok, &arena, err));
    if (st == CF_OK) {
        ids = cf_arena_calloc(&arena, list.n + 1, sizeof *ids);
    }
    for (size_t i = 0; ids != NULL && i < list.n; i++) {
        ids[i] = list.v[i].id;
    }
    const cf_serve__task task = {
        .exchange = cf_record_id(j->record), .n = j->asked.n, .n_max = j->asked.options.max_tokens};
    slot = cf_serve__take(s->slots, ids, ids != NULL ? list.n : 0, &task);
    json_decref(context);
    cf_arena_deinit(&arena);
    return slot;
}

static void generate(job *j)
{
    cf_serve *s = j->serve;
    cf_error ignored;
    choice v[CF_SERVE_N_MAX];
    const uint32_t n = j->asked.n;
    memset(v, 0, sizeof v);
    for (uint32_t i = 0; i < n; i++) {
        v[i].j = j;
        v[i].i = i;
    }
    cf_serve__slot *slot = take_slot(j, &ignored);
    j->slot = slot;
    cf_backend_core_set(slot->backend, j->asked.is_raw ? &s->raw : &s->chat);
    j->st = CF_OK;
    generate_choices(j, slot, v, n);
    cf_serve__give(s->slots, slot);
    take_choices(j, v, n);
    if (j->st == CF_OK) {
        cf_record_usage(j->record, j->usage.n_prompt, j->usage.n_cached, j->usage.n_reply);
    }
    for (uint32_t i = 0; i < n; i++) {
        cf_buf_deinit(&v[i].piece);
    }
}

static void write_finish(job *j, cf_buf *out)
{
    cf_wire_usage usage = cf_wire_usage_none();
    usage.n_prompt = (int64_t)j->usage.n_prompt;
    usage.n_cached = (int64_t)j->usage.n_cached;
    usage.n_reply = (int64_t)j->usage.n_reply;
    usage.prompt_us = (int64_t)j->timings.prefill_us;
    usage.reply_us = (int64_t)j->timings.decode_us;
    cf_wire_write_finish(&j->writer, &usage, out);
}

static void *stream_main(void *ud)
{
    job *j = ud;
    generate(j);
    if (j->st == CF_OK) {
        write_finish(j, &j->piece);
    } else if (j->has_any) { /* else it is the answer's status */
        cf_wire_write_error(j->writer.o.api, true, "server_error", j->err.text, &j->piece);
    }
    push(j, &j->piece);
    pthread_mutex_lock(&j->lock);
    j->is_over = true;
    pthread_cond_signal(&j->changed);
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

/* ---- a job's life ------------------------------------------------------- */

static void free_job(job *j)
{
    for (int i = 0; i < CF_SERVE_N_MAX; i++) {
        cf_chat_response_deinit(&j->reply[i]);
    }
    cf_wire_writer_deinit(&j->writer);
    cf_serve__asked_deinit(&j->asked);
    cf_buf_deinit(&j->pipe);
    cf_buf_deinit(&j->piece);
    pthread_cond_destroy(&j->changed);
    pthread_mutex_destroy(&j->lock);
    cf_free(j);
}

static job *new_job(cf_serve *s, const cf_http_request *r)
{
    job *j = cf_calloc(1, sizeof *j);
    if (j == NULL) {
        return NULL;
    }
    j->serve = s;
    j->fd = r->fd;
    j->stopping = r->stopping;
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->changed, NULL);
    for (int i = 0; i < CF_SERVE_N_MAX; i++) {
        cf_chat_response_init(&j->reply[i]);
    }
    return j;
}

/* ---- answers ------------------------------------------------------------ */

/* Headers of an answer; the id is also the history's. */
static void set_headers(const cf_http_request *r, cf_http_answer *a, cf_record *record,
                        const char *type)
{
    char id[CF_UUID_TEXT + 1];
    cf_uuid uuid = cf_record_id(record);
    cf_uuid_format(id, cf_uuid_is_nil(uuid) ? cf_uuid_new() : uuid);
    cf_http_header *h = cf_arena_calloc(r->arena, 3, sizeof *h);
    const char *copy = cf_arena_strndup(r->arena, id, CF_UUID_TEXT);
    if (h == NULL || copy == NULL) {
        return;
    }
    h[0] = (cf_http_header){cf_str_from("Content-Type"), cf_str_from(type)};
    h[1] = (cf_http_header){cf_str_from("X-Request-Id"), cf_str_from(copy)};
    h[2] = (cf_http_header){cf_str_from("Cache-Control"), cf_str_from("no-cache")};
    a->headers = h;
    a->n_headers = 3;
    cf_record_head(record, a->status, h, 3);
}

static void answer_error(const cf_http_request *r, cf_http_answer *a, cf_record *record,
                         unsigned status, const char *type, const char *message)
{
    cf_api_fail(r, a, status, type, message);
    cf_str body = a->body;
    set_headers(r, a, record, "application/json");
    cf_record_bytes(record, body.p, body.n);
    cf_record_end_with(record, CF_RECORD_WHOLE, NULL);
}

/* 200 and the text, or 500 where it is not whole. */
static void answer_text(const cf_http_request *r, cf_http_answer *a, cf_record *record,
                        const cf_buf *text)
{
    const char *copy = cf_arena_strndup(r->arena, cf_buf_cstr(text), text->n);
    if (text->failed || copy == NULL) {
        answer_error(r, a, record, 500, "server_error", "out of memory");
        return;
    }
    *a = (cf_http_answer){.status = 200, .body = cf_str_make(copy, text->n)};
    set_headers(r, a, record, "application/json");
    cf_record_bytes(record, a->body.p, a->body.n);
    cf_record_end_with(record, CF_RECORD_WHOLE, NULL);
}

/* What the client did wrong, and what the server could not do. */
static void answer_failure(const cf_http_request *r, cf_http_answer *a, const job *j)
{
    if (j->st == CF_ECANCELLED) {
        cf_api_fail(r, a, 503, "server_error", "the request was cancelled");
        cf_record_end_with(j->record, CF_RECORD_LEFT, NULL);
        return;
    }
    bool is_asked = j->fault == CF_FAULT_OPTION || j->fault == CF_FAULT_TEMPLATE ||
                    j->fault == CF_FAULT_CONTEXT || j->st == CF_EINVAL;
    answer_error(r, a, j->record, is_asked ? 400 : 500,
                 j->fault == CF_FAULT_CONTEXT ? "context_length_exceeded"
                 : is_asked                   ? "invalid_request_error"
                                              : "server_error",
                 j->err.text);
}

/* Until there is something to read, the end, or nobody who waits.  Locked. */
static void wait_for_pipe(job *j)
{
    while (j->pipe.n == 0 && !j->is_over && !atomic_load(&j->cancel)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WAIT_MS * 1000000L;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        (void)pthread_cond_timedwait(&j->changed, &j->lock, &until);
        check_disconnect(j);
    }
}

static ssize_t read_pipe(void *ud, char *to, size_t max)
{
    job *j = ud;
    pthread_mutex_lock(&j->lock);
    wait_for_pipe(j);
    size_t n = j->pipe.n < max ? j->pipe.n : max;
    if (n > 0) {
        memcpy(to, j->pipe.p, n);
        memmove(j->pipe.p, j->pipe.p + n, j->pipe.n - n);
        j->pipe.n -= n;
    }
    bool is_broken = n == 0 && (!j->is_over || j->pipe.failed);
    pthread_mutex_unlock(&j->lock);
    cf_record_bytes(j->record, to, n);
    return is_broken ? -1 : (ssize_t)n;
}

static void end_stream(void *ud, bool is_sent)
{
    job *j = ud;
    atomic_store(&j->cancel, true);
    if (j->has_thread) {
        pthread_join(j->thread, NULL);
    }
    cf_record_end_with(j->record, is_sent ? CF_RECORD_WHOLE : CF_RECORD_LEFT, NULL);
    free_job(j);
}

static void answer_stream(const cf_http_request *r, cf_http_answer *a, job *j)
{
    cf_error err;
    if (cf_os_thread(&j->thread, stream_main, j, &err) != CF_OK) {
        answer_error(r, a, j->record, 503, "server_error", err.text);
        free_job(j);
        return;
    }
    j->has_thread = true;
    pthread_mutex_lock(&j->lock);
    wait_for_pipe(j);
    const bool has_any = j->has_any;
    pthread_mutex_unlock(&j->lock);
    if (!has_any) {
        pthread_join(j->thread, NULL);
        if (j->st == CF_OK) { /* the first piece was lost */
            j->st = cf_oom(&j->err);
        }
        answer_failure(r, a, j);
        free_job(j);
        return;
    }
    *a =
        (cf_http_answer){.status = 200, .size = -1, .read = read_pipe, .done = end_stream, .ud = j};
    set_headers(r, a, j->record, "text/event-stream");
}

static void answer_whole(const cf_http_request *r, cf_http_answer *a, job *j)
{
    cf_buf text = CF_BUF_INIT;
    generate(j);
    if (j->st != CF_OK) {
        answer_failure(r, a, j);
    } else {
        write_finish(j, &text);
        answer_text(r, a, j->record, &text);
    }
    cf_buf_deinit(&text);
    free_job(j);
}

/* ---- routes ------------------------------------------------------------- */

static void complete(cf_serve *s, const cf_http_request *r, cf_http_answer *a, cf_api api)
{
    job *j = new_job(s, r);
    if (j == NULL) {
        cf_api_fail(r, a, 503, "server_error", "out of memory");
        return;
    }
    j->record = cf_record_begin(s->o.recorder, r, r->body, "");
    cf_status st = cf_serve__read(&j->asked, r->body, api, s->opened, s->vocab, &j->err);
    if (st != CF_OK) {
        answer_error(r, a, j->record, st == CF_ENOMEM ? 500 : 400, "invalid_request_error",
                     j->err.text);
        free_job(j);
        return;
    }
    cf_uuid_format(j->id, cf_uuid_new());
    cf_wire_writer_init(&j->writer, &(cf_wire_writer_options){.api = api,
                                                              .is_stream = j->asked.wire.is_stream,
                                                              .has_usage = j->asked.wire.has_usage,
                                                              .has_logprobs = j->asked.has_logprobs,
                                                              .id = j->id,
                                                              .model = s->o.model,
                                                              .created = cf_os_now_ms() / 1000,
                                                              .n_choices = j->asked.n});
    if (j->asked.wire.is_stream) {
        answer_stream(r, a, j);
    } else {
        answer_whole(r, a, j);
    }
}

static void chat(cf_serve *s, const cf_http_request *r, cf_http_answer *a)
{
    complete(s, r, a, CF_API_OPENAI_CHAT);
}

static void completions(cf_serve *s, const cf_http_request *r, cf_http_answer *a)
{
    complete(s, r, a, CF_API_OPENAI_COMPLETIONS);
}

/* Answers with what `write` writes. */
static void small(cf_serve *s, const cf_http_request *r, cf_http_answer *a,
                  void (*write)(cf_serve *s, cf_jw *w))
{
    cf_buf text = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &text);
    write(s, &w);
    answer_text(r, a, NULL, &text);
    cf_buf_deinit(&text);
}

static void write_model(cf_serve *s, cf_jw *w)
{
    cf_jw_object(w, NULL);
    cf_jw_text(w, "id", s->o.model);
    cf_jw_text(w, "object", "model");
    cf_jw_int(w, "created", s->created);
    cf_jw_text(w, "owned_by", "confab");
    cf_jw_end(w);
}

static void write_models(cf_serve *s, cf_jw *w)
{
    cf_jw_object(w, NULL);
    cf_jw_text(w, "object", "list");
    cf_jw_array(w, "data");
    write_model(s, w);
    cf_jw_end(w);
    cf_jw_end(w);
}

static void models(cf_serve *s, const cf_http_request *r, cf_http_answer *a)
{
    small(s, r, a, write_models);
}

/* The name after the last slash but one of "/v1/models/NAME"; a name may have
 * slashes itself. */
static cf_str last_of(cf_str path)
{
    const char *at = strstr(path.p, "models/") + strlen("models/");
    return cf_str_make(at, path.n - (size_t)(at - path.p));
}

/* "/v1/models/NAME" */
static void model(cf_serve *s, const cf_http_request *r, cf_http_answer *a)
{
    if (cf_str_is(last_of(r->path), s->o.model)) {
        small(s, r, a, write_model);
    } else {
        cf_api_fail(r, a, 404, "not_found", "this server has another model");
    }
}

static void write_slots(cf_serve *s, cf_jw *w)
{
    cf_serve__slots_write(s->slots, w);
}

static void slots(cf_serve *s, const cf_http_request *r, cf_http_answer *a)
{
    small(s, r, a, write_slots);
}

static void write_health(cf_serve *s, cf_jw *w)
{
    (void)s;
    cf_jw_object(w, NULL);
    cf_jw_text(w, "status", "ok");
    cf_jw_end(w);
}

static void health(cf_serve *s, const cf_http_request *r, cf_http_answer *a)
{
    small(s, r, a, write_health);
}

static void tokenize(cf_serve *s, const cf_http_request *r, cf_http_answer *a)
{
    json_t *body = NULL;
    cf_error err;
    cf_arena arena;
    cf_token_list list = {NULL, 0};
    cf_buf out = CF_BUF_INIT;
    cf_jw w;
    cf_arena_init(&arena, 0);
    cf_status st = cf_json_read(&body, r->body.p, r->body.n, &err);
    cf_str text = cf_json_get_str(body, "content");
    if (st == CF_OK && text.p == NULL) {
        st = cf_fail(&err, CF_EINVAL, "'content' must be a text");
    }
    const json_t *plain = json_object_get(body, "parse_special");
    CF_THEN(st,
            cf_tokenizer_encode(&list, s->tok, text, !json_is_false(plain),
                                json_is_true(json_object_get(body, "add_special")), &arena, &err));
    cf_jw_init(&w, &out);
    cf_jw_object(&w, NULL);
    cf_jw_array(&w, "tokens");
    for (size_t i = 0; st == CF_OK && i < list.n; i++) {
        cf_jw_int(&w, NULL, list.v[i].id);
    }
    cf_jw_end(&w);
    cf_jw_end(&w);
    if (st == CF_OK) {
        answer_text(r, a, NULL, &out);
    } else {
        answer_error(r, a, NULL, 400, "invalid_request_error", err.text);
    }
    cf_buf_deinit(&out);
    cf_arena_deinit(&arena);
    json_decref(body);
}

static void embeddings(cf_serve *s, const cf_http_request *r, cf_http_answer *a)
{
    cf_error err;
    cf_buf text = CF_BUF_INIT;
    cf_record *record = cf_record_begin(s->o.recorder, r, r->body, "");
    cf_status st = cf_serve__embed(s->embedder, r->body, s->o.model, NULL, &text, &err);
    if (st == CF_OK) {
        answer_text(r, a, record, &text);
    } else if (st == CF_EUNSUPPORTED) {
        answer_error(r, a, record, 501, "not_supported", err.text);
    } else if (st == CF_ELIMIT) {
        answer_error(r, a, record, 400, "context_length_exceeded", err.text);
    } else {
        bool is_asked = st == CF_EINVAL || st == CF_EFORMAT;
        answer_error(r, a, record, is_asked ? 400 : 500,
                     is_asked ? "invalid_request_error" : "server_error", err.text);
    }
    cf_buf_deinit(&text);
}

/* Whether a path is `want`, or begins as it does before a '*'. */
static bool matches(cf_str path, const char *want)
{
    size_t n = strcspn(want, "*");
    return want[n] == '\0' ? cf_str_is(path, want) : path.n > n && memcmp(path.p, want, n) == 0;
}

static void on_answer(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    static const struct {
        const char *method, *path;
        void (*answer)(cf_serve *, const cf_http_request *, cf_http_answer *);
    } routes[] = {
        {"POST", "/v1/chat/completions", chat},
        {"POST", "/v1/completions", completions},
        {"POST", "/v1/embeddings", embeddings},
        {"GET", "/v1/models", models},
        {"GET", "/v1/models/*", model},
        {"POST", "/tokenize", tokenize},
        {"GET", "/slots", slots},
        {"GET", "/health", health},
    };
    cf_str path = r->path; /* "/chat/completions" works, too */
    bool is_known = false;
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const char *p = routes[i].path;
        bool is_path = matches(path, p) || (strncmp(p, "/v1/", 4) == 0 && matches(path, p + 3));
        is_known = is_known || is_path;
        if (is_path && cf_str_is(r->method, routes[i].method)) {
            routes[i].answer(ud, r, a);
            return;
        }
    }
    cf_api_fail(r, a, is_known ? 405 : 404, "not_found",
                is_known ? "this path takes another method" : "this server has no such path");
}

/* ---- the server --------------------------------------------------------- */

cf_status cf_serve_new(cf_serve **out, const cf_serve_options *options, cf_error *err)
{
    const cf_opened *opened = options->opened;
    cf_serve *s = cf_calloc(1, sizeof *s);
    if (s == NULL) {
        return cf_oom(err);
    }
    s->o = *options;
    s->opened = opened;
    s->tok = cf_engine_tokenizer(opened->engine);
    s->created = cf_os_now_ms() / 1000;
    s->chat = (cf_core_options){.renderer = opened->tpl != NULL ? cf_renderer_template(opened->tpl)
                                                                : cf_renderer_plain(),
                                .family = opened->family,
                                .media = opened->media_cache,
                                .session = {.n_ctx = options->n_ctx, .prefixes = opened->prefixes}};
    s->chat.channels = cf_channels_detect(cf_buf_str(&opened->source), &s->chat.n_channels);
    uint32_t n = options->n_slots != 0 ? options->n_slots : SLOTS_DEFAULT;
    cf_status st = cf_constraint_vocab_from_tokenizer(&s->vocab, s->tok, err);
    CF_THEN(st, cf_serve__slots_new(&s->slots, opened->engine, &s->chat, n, err));
    CF_THEN(st, cf_serve__embedder_new(&s->embedder, opened->engine, options->n_ctx, err));
    if (st != CF_OK) {
        cf_serve_free(s);
        return st;
    }
    cf_serve__slots_hook(s->slots, &s->chat);
    s->raw = s->chat;
    s->raw.renderer = (cf_prompt_renderer){.render = render_raw};
    s->raw.media = NULL;
    s->raw.family = CF_TOOLS_NONE;
    s->raw.channels = NULL;
    s->raw.n_channels = 0;
    *out = s;
    return CF_OK;
}

void cf_serve_free(cf_serve *s)
{
    if (s != NULL) {
        cf_serve__embedder_free(s->embedder);
        cf_serve__slots_free(s->slots);
        cf_constraint_vocab_free(s->vocab);
        cf_free(s);
    }
}

void cf_serve_slots(cf_serve *s, cf_buf *out)
{
    cf_jw w;
    cf_jw_init(&w, out);
    cf_serve__slots_write(s->slots, &w);
}

cf_http_handler cf_serve_handler(cf_serve *s)
{
    return (cf_http_handler){.answer = on_answer, .fail = cf_api_fail, .ud = s};
}
