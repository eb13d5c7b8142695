/*
 * serve_job.c - generates the replies to a request, and hands them on whole or
 * as they are written.
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
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/json/json_builder.h"
#include "tui/serve/record/api_fail.h"
#include "tui/serve/server/serve_impl.h"

/* A request, from its first byte to the end of its answer. */
typedef struct job {
    cf_serve *serve;
    cf_record *record;
    cf_serve__asked asked;
    cf_serve__slot *slot;         /* while it is computed */
    const cf_serve__given *given; /* the prompt that is computed */
    const cf_serve__echo *echo;   /* of it; NULL: it is not repeated */
    char id[CF_UUID_TEXT + 1];
    cf_wire_writer writer;
    cf_chat_response reply[CF_SERVE_N_MAX];
    cf_usage usage;
    cf_timings timings;
    cf_cancel cancel;
    cf_serve__client client;
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

/* What the prompt costs, which some interfaces say at the beginning. */
static void note_usage(job *j, const cf_chat_event *e)
{
    cf_wire_usage *usage = &j->writer.reply.usage;
    const bool is_one = j->asked.n * j->asked.n_given == 1;
    if (is_one && e->kind == CF_CHAT_PROMPT) {
        usage->n_prompt = (int64_t)e->n_ids;
    } else if (is_one && e->kind == CF_CHAT_PREFILL && e->n_done == 0) {
        usage->n_cached = usage->n_prompt - (int64_t)e->n_total;
    }
}

static void on_event(const cf_chat_event *e, void *ud)
{
    choice *d = ud;
    job *j = d->j;
    cf_serve__note(j->slot, e);
    if (e->kind == CF_CHAT_TOKEN) {
        cf_serve__draft(j->serve->slots, j->slot, d->backend);
    }
    note_usage(j, e);
    cf_serve__write_event(&j->writer, d->i, j->serve->tok, e, &d->piece);
    if (j->asked.wire.is_stream && d->piece.n > 0) {
        push(j, &d->piece);
    }
}

static cf_chat_request request_of(job *j, const cf_chat_options *options)
{
    return (cf_chat_request){.messages = j->given->messages,
                             .prompt_ids = j->given->ids,
                             .n_prompt_ids = j->given->n_ids,
                             .reply_prefix = j->asked.prefix,
                             .is_pending = j->asked.is_prompt_only,
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
    options.sampling.seed += d->i % j->asked.n;
    const cf_chat_request request = request_of(j, &options);
    cf_chat_response *out = &j->reply[d->i];
    if (j->echo != NULL) {
        cf_serve__echo_write(j->echo, &j->writer, d->i, &d->piece);
    }
    d->st = cf_backend_generate_stream(d->backend, &request, on_event, d, out, &d->err);
    if (d->st == CF_OK) {
        cf_serve__write_end(&j->writer, d->i, out, &d->piece);
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

/* Tokens of the reply that it was to begin with. */
static uint64_t n_begun(const cf_chat_response *r)
{
    const uint64_t n = r->usage.n_prompt - r->n_prompt_ids;
    return r->usage.n_prompt > r->n_prompt_ids && n <= r->usage.n_reply ? n : 0;
}

/* Sums, and the first failure. */
static void take_choices(job *j, const choice *v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const cf_chat_response *r = &j->reply[v[i].i];
        if (v[i].st != CF_OK && j->st == CF_OK) {
            j->st = v[i].st;
            j->err = v[i].err;
            j->fault = j->fault != CF_FAULT_NONE ? j->fault : r->stop.fault;
        }
        j->usage.n_prompt += i == 0 ? r->usage.n_prompt : 0;
        j->usage.n_reply += r->usage.n_reply - n_begun(r);
        j->timings.decode_us = r->timings.decode_us > j->timings.decode_us ? r->timings.decode_us
                                                                           : j->timings.decode_us;
    }
    if (n == 1) {
        j->usage.n_cached += j->reply[v[0].i].usage.n_cached;
        j->timings.prefill_us += j->reply[v[0].i].timings.prefill_us;
    }
}

/* The slot that has most of the prompt; where there is no prompt, the backend
 * reports why. */
static cf_serve__slot *take_slot(job *j, const cf_token_list *tokens, cf_arena *arena)
{
    cf_token *ids = cf_arena_calloc(arena, tokens->n + 1, sizeof *ids);
    for (size_t i = 0; ids != NULL && i < tokens->n; i++) {
        ids[i] = tokens->v[i].id;
    }
    const cf_serve__task task = {
        .exchange = cf_record_id(j->record), .n = j->asked.n, .n_max = j->asked.options.max_tokens};
    return cf_serve__take(j->serve->slots, ids, ids != NULL ? tokens->n : 0, &task);
}

/* The replies to one prompt: choices from v[0] on. */
static void generate_prompt(job *j, choice *v, cf_arena *arena)
{
    cf_serve *s = j->serve;
    cf_prompt prompt = {.n_spans = 0};
    cf_token_list tokens = {NULL, 0};
    cf_error ignored;
    if (cf_serve__prompt(s, &j->asked, j->given, arena, &prompt, &tokens, &ignored) != CF_OK) {
        tokens.n = 0;
    }
    cf_serve__slot *slot = take_slot(j, &tokens, arena);
    cf_serve__echo *echo = NULL;
    j->slot = slot;
    cf_backend_core_set(slot->backend, j->asked.is_raw ? &s->raw : &s->chat);
    if (j->asked.has_echo) {
        v[0].st = cf_serve__echo_new(&echo, s, slot, &prompt, &tokens, j->asked.options.n_top,
                                     &j->cancel, arena, &v[0].err);
        j->fault = v[0].st == CF_ELIMIT ? CF_FAULT_CONTEXT : j->fault;
    }
    j->echo = echo;
    if (v[0].st == CF_OK) {
        generate_choices(j, slot, v, j->asked.n);
    }
    cf_serve__give(s->slots, slot);
    take_choices(j, v, j->asked.n);
}

static void generate(job *j)
{
    choice v[CF_SERVE_N_MAX];
    const uint32_t n = j->asked.n * j->asked.n_given;
    cf_serve__watch(&j->client);
    memset(v, 0, sizeof v);
    for (uint32_t i = 0; i < n; i++) {
        v[i].j = j;
        v[i].i = i;
    }
    j->st = CF_OK;
    for (uint32_t p = 0; p < j->asked.n_given && j->st == CF_OK; p++) {
        cf_arena arena;
        cf_arena_init(&arena, 0);
        j->given = &j->asked.given[p];
        generate_prompt(j, v + (size_t)p * j->asked.n, &arena);
        cf_arena_deinit(&arena);
    }
    if (j->st == CF_OK) {
        cf_record_usage(j->record, j->usage.n_prompt, j->usage.n_cached, j->usage.n_reply);
    }
    for (uint32_t i = 0; i < n; i++) {
        cf_buf_deinit(&v[i].piece);
    }
    cf_serve__unwatch(&j->client);
}

/* Keeps the conversation for responses that go on from this one. */
static void keep_response(const job *j)
{
    const json_t *store = json_object_get(j->asked.wire.body, "store");
    char id[CF_UUID_TEXT + 8];
    if (j->asked.api != CF_API_OPENAI_RESPONSES || json_is_false(store)) {
        return;
    }
    json_t *all = json_array();
    bool ok = all != NULL;
    for (size_t i = j->asked.n_rules; ok && i < json_array_size(j->asked.wire.messages); i++) {
        ok = json_array_append(all, json_array_get(j->asked.wire.messages, i)) == 0;
    }
    if (ok && json_array_append_new(all, cf_wire_reply_message(&j->writer.reply, 0)) == 0) {
        snprintf(id, sizeof id, "resp_%s", j->id);
        cf_serve__past_put(j->serve->past, id, all);
    }
    json_decref(all);
}

static void write_finish(job *j, cf_buf *out)
{
    keep_response(j);
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
    } else if (j->has_any && j->st != CF_ECANCELLED) { /* else it is the answer's status */
        const cf_wire_failure f = {.status = 500, .type = "server_error", .message = j->err.text};
        cf_wire_write_error(j->writer.o.api, true, &f, &j->piece);
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
    j->client = (cf_serve__client){.fd = r->fd,
                                   .takes_interim = r->takes_interim,
                                   .stopping = r->stopping,
                                   .cancel = &j->cancel,
                                   .lock_answer = &j->lock,
                                   .has_answer = &j->has_any,
                                   .stream = &j->pipe,
                                   .changed = &j->changed,
                                   .ignored = ""};
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->changed, NULL);
    for (int i = 0; i < CF_SERVE_N_MAX; i++) {
        cf_chat_response_init(&j->reply[i]);
    }
    return j;
}

/* Agents know by the words up to the two numbers, which are Anthropic's, that
 * they must compact; a session that begins so long will grow. */
static cf_status fail_too_long(const job *j, cf_error *err)
{
    const uint32_t n_ctx = cf_serve__slots_ctx(j->serve->slots);
    uint32_t n_enough = 1024;
    while (n_enough < n_ctx || n_enough < j->usage.n_prompt + j->usage.n_prompt / 2) {
        n_enough *= 2;
    }
    return cf_fail(err, CF_ELIMIT,
                   "prompt is too long: %u tokens > %u of the context size; send less, or start "
                   "the server with --ctx %u",
                   (unsigned)j->usage.n_prompt, n_ctx, n_enough);
}

/* What the client did wrong, and what the server could not do. */
static void answer_failure(const cf_http_request *r, cf_http_answer *a, const job *j)
{
    if (j->st == CF_ECANCELLED) {
        cf_api_fail(r, a, 503, "server_error", "the request was cancelled");
        cf_record_end_with(j->record, CF_RECORD_LEFT, NULL);
        return;
    }
    const bool is_asked = j->fault == CF_FAULT_OPTION || j->fault == CF_FAULT_TEMPLATE;
    cf_error err = j->err;
    const cf_status st = j->fault == CF_FAULT_CONTEXT     ? fail_too_long(j, &err)
                         : is_asked || j->st == CF_EINVAL ? CF_EINVAL
                                                          : CF_EIO;
    cf_serve__answer_failure(r, a, j->record, st, &err);
}

/* Until there is something to read, or the end.  Locked. */
static void wait_for_pipe(job *j)
{
    while (j->pipe.n == 0 && !j->is_over) {
        pthread_cond_wait(&j->changed, &j->lock);
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
    bool is_broken = n == 0 && (atomic_load(&j->cancel) || j->pipe.failed);
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
    const char *type = cf_api_type(j->asked.api, true);
    j->client.ignored = strstr(type, "json") != NULL ? " " : ":\n\n";
    if (cf_os_thread(&j->thread, stream_main, j, &err) != CF_OK) {
        const cf_wire_failure f = {.status = 503, .type = "server_error", .message = err.text};
        cf_serve__answer_error(r, a, j->record, &f);
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
    cf_serve__answer_head(r, a, j->record, type);
}

static void answer_whole(const cf_http_request *r, cf_http_answer *a, job *j)
{
    cf_buf text = CF_BUF_INIT;
    generate(j);
    if (j->st != CF_OK) {
        answer_failure(r, a, j);
    } else {
        write_finish(j, &text);
        cf_serve__answer_text(r, a, j->record, &text);
    }
    cf_buf_deinit(&text);
    free_job(j);
}

/* What was accepted and has no effect is listed with the exchange. */
static void note_accepted(const job *j)
{
    char line[CF_ERROR_TEXT_MAX];
    if (j->asked.accepted.n > 0) {
        snprintf(line, sizeof line, "accepted without effect: %s", cf_buf_cstr(&j->asked.accepted));
        cf_record_note(j->record, line);
    }
}

void cf_serve__complete(cf_serve *s, const cf_http_request *r, cf_http_answer *a, cf_api api)
{
    job *j = new_job(s, r);
    if (j == NULL) {
        cf_api_fail(r, a, 503, "server_error", "out of memory");
        return;
    }
    j->record = cf_record_begin(s->o.recorder, r, r->body, "");
    const cf_engine_info info = cf_engine_get_info(s->opened->engine);
    if (info.is_encoder) {
        cf_ignore(
            cf_fail(&j->err, CF_EUNSUPPORTED, "architecture %s continues no text", info.arch));
        cf_serve__answer_failure(r, a, j->record, CF_EUNSUPPORTED, &j->err);
        free_job(j);
        return;
    }
    cf_status st = cf_serve__read(&j->asked, s, r->body, api, &j->err);
    if (st != CF_OK) {
        cf_serve__answer_failure(r, a, j->record, st == CF_ENOMEM ? st : CF_EINVAL, &j->err);
        free_job(j);
        return;
    }
    note_accepted(j);
    cf_uuid_format(j->id, cf_uuid_new());
    cf_wire_writer_init(
        &j->writer, &(cf_wire_writer_options){.api = api,
                                              .is_stream = j->asked.wire.is_stream,
                                              .has_usage = j->asked.wire.has_usage,
                                              .has_logprobs = j->asked.has_logprobs,
                                              .id = j->id,
                                              .model = s->o.model,
                                              .created = cf_os_now_ms() / 1000,
                                              .n_choices = (size_t)j->asked.n * j->asked.n_given});
    if (j->asked.wire.is_stream) {
        answer_stream(r, a, j);
    } else {
        answer_whole(r, a, j);
    }
}
