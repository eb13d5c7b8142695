/*
 * backend.c - does what is the same for every engine: names, checks of options,
 * responses, and the one terminal event.
 */
#include <math.h>
#include <string.h>

#include "core/api/reply_options.h"
#include "core/backend/backend_impl.h"
#include "core/base/alloc.h"
#include "core/base/os.h"

/* ---- names -------------------------------------------------------------- */

const char *cf_chat_event_name(cf_chat_event_kind kind)
{
    static const char *const names[] = {
        [CF_CHAT_PROMPT] = "prompt",
        [CF_CHAT_ENCODE] = "encode",
        [CF_CHAT_PREFILL] = "prefill",
        [CF_CHAT_TOKEN] = "token",
        [CF_CHAT_RAW] = "raw",
        [CF_CHAT_TEXT] = "text",
        [CF_CHAT_THINKING] = "thinking",
        [CF_CHAT_CALL_DELTA] = "tool_call_delta",
        [CF_CHAT_CALL_PART] = "tool_call_part",
        [CF_CHAT_CALL] = "tool_call",
        [CF_CHAT_CALL_FAILED] = "tool_call_failed",
        [CF_CHAT_NOTE] = "note",
        [CF_CHAT_USAGE] = "usage",
        [CF_CHAT_TIMINGS] = "timings",
        [CF_CHAT_STOP] = "stop",
    };
    return names[kind];
}

void cf_chat_encode_text(char *out, size_t cap, const cf_chat_event *e)
{
    snprintf(out, cap, "%.*s %zu, layer %llu of %llu", (int)e->text.n, e->text.p, e->index + 1,
             (unsigned long long)e->n_done, (unsigned long long)e->n_total);
}

const char *cf_stop_reason_name(cf_stop_reason reason)
{
    static const char *const names[] = {
        [CF_STOP_NONE] = "none",          [CF_STOP_END] = "end",
        [CF_STOP_STRING] = "stop string", [CF_STOP_TOKEN] = "stop token",
        [CF_STOP_LENGTH] = "length",      [CF_STOP_CONTEXT] = "context",
        [CF_STOP_LOOP] = "loop",          [CF_STOP_FILTERED] = "filtered",
        [CF_STOP_PENDING] = "pending",    [CF_STOP_CANCELLED] = "cancelled",
        [CF_STOP_ERROR] = "error",
    };
    return names[reason];
}

static const char *const fault_names[] = {
    [CF_FAULT_NONE] = "none",
    [CF_FAULT_RATE_LIMIT] = "rate_limit",
    [CF_FAULT_AUTHENTICATION] = "authentication",
    [CF_FAULT_MODEL_NOT_FOUND] = "model_not_found",
    [CF_FAULT_NETWORK] = "network",
    [CF_FAULT_PROTOCOL] = "protocol",
    [CF_FAULT_OPTION] = "option",
    [CF_FAULT_TEMPLATE] = "template",
    [CF_FAULT_CONTEXT] = "context",
    [CF_FAULT_OTHER] = "other",
};

const char *cf_fault_name(cf_fault fault)
{
    return fault_names[fault];
}

bool cf_fault_parse(cf_fault *out, cf_str name)
{
    for (size_t i = 0; i < sizeof fault_names / sizeof fault_names[0]; i++) {
        if (cf_str_is(name, fault_names[i])) {
            *out = (cf_fault)i;
            return true;
        }
    }
    return false;
}

/* ---- options ------------------------------------------------------------ */

cf_status cf_chat_options_check(const cf_chat_options *o, cf_error *err)
{
    for (int i = 0; i < CF_OPTION_N; i++) {
        const cf_option *row = &cf_options[i];
        double v = cf_option_number(o, (cf_option_id)i);
        /* Written so that NaN fails. */
        if (row->kind == CF_OPTION_F32 && !(v >= row->min && v <= row->max)) {
            return cf_fail(err, CF_EINVAL, "%s must be %s", row->name, row->range);
        }
    }
    if (o->n_top > CF_TRACE_TOP_MAX) {
        return cf_fail(err, CF_EINVAL, "n_top must be at most %d", CF_TRACE_TOP_MAX);
    }
    for (size_t i = 0; i < o->n_stop; i++) {
        if (o->stop[i].n == 0) {
            return cf_fail(err, CF_EINVAL, "stop must not hold empty strings");
        }
    }
    if (o->vendor != NULL && !json_is_object(o->vendor)) {
        return cf_fail(err, CF_EINVAL, "vendor must be an object");
    }
    return CF_OK;
}

/* ---- responses ---------------------------------------------------------- */

void cf_chat_response_init(cf_chat_response *r)
{
    memset(r, 0, sizeof *r);
    cf_buf_init(&r->raw);
    cf_buf_init(&r->chunks);
    cf_buf_init(&r->prompt);
    r->stop.token = CF_TOKEN_NONE;
}

void cf_chat_response_deinit(cf_chat_response *r)
{
    json_decref(r->message);
    json_decref(r->findings);
    json_decref(r->vendor);
    json_decref(r->media);
    cf_buf_deinit(&r->raw);
    cf_buf_deinit(&r->chunks);
    cf_buf_deinit(&r->prompt);
    cf_free(r->prompt_ids);
    cf_free(r->reply_ids);
    cf_chat_response_init(r);
}

/* Appends the message of response `in` to the merged message. */
static bool merge_message(json_t *calls, cf_buf *text, const cf_chat_response *in, bool is_first)
{
    cf_str content = cf_json_get_str(in->message, "content");
    if (!is_first) {
        cf_buf_addc(text, '\n');
    }
    cf_buf_add(text, content.p, content.n);
    const json_t *more = json_object_get(in->message, "tool_calls");
    for (size_t i = 0; i < json_array_size(more); i++) {
        if (json_array_append(calls, json_array_get(more, i)) != 0) {
            return false;
        }
    }
    return true;
}

cf_status cf_chat_response_merge(cf_chat_response *out, const cf_chat_response *const *in, size_t n,
                                 cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    json_t *calls = json_array();
    json_t *vendor = NULL;
    cf_usage usage = {0};
    bool ok = calls != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        ok = merge_message(calls, &text, in[i], i == 0);
        if (in[i]->usage.is_known) {
            usage.is_known = true;
            usage.n_prompt += in[i]->usage.n_prompt;
            usage.n_reply += in[i]->usage.n_reply;
            usage.n_total += in[i]->usage.n_total;
            usage.n_cached += in[i]->usage.n_cached;
        }
        if (ok && in[i]->vendor != NULL) {
            vendor = vendor != NULL ? vendor : json_object();
            ok = json_object_update(vendor, in[i]->vendor) == 0;
        }
    }
    json_t *message =
        json_pack("{s:s, s:s%}", "role", "assistant", "content", cf_buf_cstr(&text), text.n);
    ok = ok && message != NULL && !text.failed;
    if (ok && json_array_size(calls) > 0) {
        ok = json_object_set(message, "tool_calls", calls) == 0;
    }
    cf_buf_deinit(&text);
    json_decref(calls);
    if (!ok) {
        json_decref(message);
        json_decref(vendor);
        return cf_oom_for(err, "the merged reply");
    }
    cf_chat_response_deinit(out);
    out->message = message;
    out->vendor = vendor;
    out->usage = usage;
    return CF_OK;
}

/* ---- helpers of the kinds ----------------------------------------------- */

void cf_chat__emit(const cf_chat__run *run, const cf_chat_event *event)
{
    if (run->fn != NULL) {
        run->fn(event, run->ud);
    }
}

void cf_chat__add_raw(const cf_chat__run *run, cf_str piece)
{
    uint32_t n = (uint32_t)piece.n;
    if (n > 0) {
        cf_buf_add(&run->out->raw, piece.p, piece.n);
        cf_buf_add(&run->out->chunks, &n, sizeof n);
    }
}

void cf_chat__tell_raw(const cf_chat__run *run, cf_str piece)
{
    const cf_chat_event ev = {.kind = CF_CHAT_RAW, .text = piece};
    if (piece.n > 0) {
        cf_chat__emit(run, &ev);
    }
}

bool cf_chat__is_cancelled(const cf_chat__run *run)
{
    /* Set by another thread; nothing is handed over with it. */
    return run->request->cancel != NULL &&
           atomic_load_explicit(run->request->cancel, memory_order_relaxed);
}

cf_status cf_chat__cancelled(cf_error *err)
{
    return cf_fail(err, CF_ECANCELLED, "cancelled");
}

cf_status cf_chat__fault(cf_chat__run *run, cf_fault fault, cf_status st)
{
    run->out->stop.fault = fault;
    return st;
}

cf_status cf_chat__render(const cf_prompt_renderer *r, const cf_chat_request *request,
                          const json_t *context, cf_arena *arena, cf_prompt *out, cf_error *err)
{
    const bool as_is =
        request->options != NULL && request->options->as_is && r->render_as_is != NULL;
    return as_is ? r->render_as_is(r->ud, context, arena, out, err)
                 : r->render(r->ud, context, arena, out, err);
}

json_t *cf_chat__context(const cf_chat_request *request)
{
    json_t *context = json_object();
    bool ok = context != NULL;
    if (ok && request->extra_context != NULL) {
        ok = json_object_update(context, cf_json_ref(request->extra_context)) == 0;
    }
    const cf_chat_options *o = request->options;
    if (ok && o != NULL && o->thinking != CF_THINKING_DEFAULT &&
        json_object_get(context, "enable_thinking") == NULL) {
        ok = json_object_set_new(context, "enable_thinking",
                                 json_boolean(o->thinking == CF_THINKING_ON)) == 0;
    }
    if (ok && request->tools != NULL) {
        size_t n;
        cf_tool_set_items(request->tools, &n);
        if (n > 0) {
            ok = json_object_set_new(context, "tools", cf_tool_set_openai(request->tools)) == 0;
        }
    }
    if (ok) {
        ok = json_object_set(context, "messages", cf_json_ref(request->messages)) == 0 &&
             json_object_set_new(context, "add_generation_prompt",
                                 json_boolean(!request->is_pending)) == 0;
    }
    if (!ok) {
        json_decref(context);
        return NULL;
    }
    return context;
}

/* ---- dispatch ----------------------------------------------------------- */

cf_backend_info cf_backend_get_info(const cf_backend *b)
{
    cf_backend_info info = b->ops->info(b);
    info.server = info.server != NULL ? info.server : "";
    return info;
}

cf_status cf_backend_ask(cf_backend *b, cf_cancel *cancel, cf_error *err)
{
    return b->ops->ask != NULL ? b->ops->ask(b, cancel, err) : CF_OK;
}

void cf_backend_free(cf_backend *b)
{
    if (b != NULL) {
        b->ops->free(b);
    }
}

static void send_end(const cf_chat__run *run)
{
    const cf_chat_response *out = run->out;
    if (out->usage.is_known) {
        cf_chat_event ev = {.kind = CF_CHAT_USAGE, .usage = out->usage};
        cf_chat__emit(run, &ev);
    }
    cf_chat_event timings = {.kind = CF_CHAT_TIMINGS, .timings = out->timings};
    cf_chat__emit(run, &timings);
    cf_chat_event stop = {.kind = CF_CHAT_STOP, .stop = out->stop};
    cf_chat__emit(run, &stop);
}

/* What is checked before anything is done. */
static cf_status begin(const cf_backend_job *job, cf_chat__run *run, cf_error *err)
{
    const cf_chat_request *q = job->request;
    if (q->options != NULL) {
        CF_TRY(cf_chat_options_check(q->options, err));
    }
    if (!json_is_array(q->messages)) {
        return cf_fail(err, CF_EINVAL, "messages must be an array");
    }
    if (job->backend->is_answering) {
        return cf_fail(err, CF_EINVAL, "the engine is answering: an event cannot ask it again");
    }
    job->backend->is_answering = true;
    cf_chat_response_deinit(job->out);
    *run = (cf_chat__run){q, job->fn, job->ud, job->out, cf_os_monotonic_us()};
    return CF_OK;
}

/* How it ended, in the response and as the last event. */
static void end(cf_backend *b, const cf_chat__run *run, cf_status st, const cf_error *why)
{
    cf_chat_response *out = run->out;
    out->timings.total_us = cf_os_monotonic_us() - run->started_us;
    if (st == CF_ECANCELLED) {
        out->stop.reason = CF_STOP_CANCELLED;
        out->stop.fault = CF_FAULT_NONE;
    } else if (st != CF_OK) {
        out->stop.reason = CF_STOP_ERROR;
        out->stop.err = *why;
        if (out->stop.fault == CF_FAULT_NONE) {
            out->stop.fault = CF_FAULT_OTHER;
        }
    }
    send_end(run);
    b->is_answering = false;
}

cf_status cf_backend_generate_stream(cf_backend *b, const cf_chat_request *request,
                                     cf_chat_event_fn fn, void *ud, cf_chat_response *out,
                                     cf_error *err)
{
    const cf_backend_job job = {b, request, fn, ud, out, CF_OK, {0}};
    cf_chat__run run = {request, fn, ud, out, 0};
    CF_TRY(begin(&job, &run, err));
    cf_error why = {.off = CF_NO_OFFSET};
    cf_status st =
        cf_chat__is_cancelled(&run) ? cf_chat__cancelled(&why) : b->ops->stream(b, &run, &why);
    end(b, &run, st, &why);
    if (st != CF_OK && err != NULL) {
        *err = why;
    }
    return st;
}

enum { SIDE_BY_SIDE = 32 };

/* Whether all jobs can be streamed together. */
static bool go_together(const cf_backend_job *jobs, size_t n)
{
    const cf_backend__ops *ops = jobs[0].backend->ops;
    bool yes = n > 1 && n <= SIDE_BY_SIDE && ops->stream_many != NULL;
    for (size_t i = 1; yes && i < n; i++) {
        yes =
            jobs[i].backend->ops == ops && ops->is_of_one_engine(jobs[0].backend, jobs[i].backend);
    }
    return yes;
}

static void generate_together(cf_backend_job *jobs, size_t n)
{
    cf_chat__run runs[SIDE_BY_SIDE];
    cf_backend *backends[SIDE_BY_SIDE];
    cf_status status[SIDE_BY_SIDE];
    cf_error err[SIDE_BY_SIDE];
    size_t of[SIDE_BY_SIDE]; /* jobs that began */
    size_t n_run = 0;
    for (size_t i = 0; i < n; i++) {
        jobs[i].status = begin(&jobs[i], &runs[n_run], &jobs[i].err);
        if (jobs[i].status == CF_OK) {
            status[n_run] = CF_OK;
            err[n_run] = (cf_error){.off = CF_NO_OFFSET};
            backends[n_run] = jobs[i].backend;
            of[n_run++] = i;
        }
    }
    if (n_run > 0) {
        backends[0]->ops->stream_many(backends, runs, n_run, status, err);
    }
    for (size_t k = 0; k < n_run; k++) {
        end(backends[k], &runs[k], status[k], &err[k]);
        jobs[of[k]].status = status[k];
        jobs[of[k]].err = err[k];
    }
}

void cf_backend_generate_many(cf_backend_job *jobs, size_t n)
{
    if (n > 0 && go_together(jobs, n)) {
        generate_together(jobs, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        cf_backend_job *job = &jobs[i];
        job->status = cf_backend_generate_stream(job->backend, job->request, job->fn, job->ud,
                                                 job->out, &job->err);
    }
}

cf_status cf_backend_generate(cf_backend *b, const cf_chat_request *request, cf_chat_response *out,
                              cf_error *err)
{
    return cf_backend_generate_stream(b, request, NULL, NULL, out, err);
}

static cf_status cannot(const cf_backend *b, const char *what, cf_error *err)
{
    return cf_fail(err, CF_EUNSUPPORTED, "the %s engine cannot %s", b->ops->info(b).kind, what);
}

cf_status cf_backend_render(cf_backend *b, const cf_chat_request *request, cf_arena *arena,
                            cf_prompt *out, cf_error *err)
{
    *out = (cf_prompt){.n_spans = 0};
    return b->ops->render != NULL ? b->ops->render(b, request, arena, out, err)
                                  : cannot(b, "show its prompt", err);
}

cf_status cf_backend_tokenise(cf_backend *b, const cf_chat_request *request, cf_arena *arena,
                              cf_prompt *prompt, cf_token_list *out, cf_error *err)
{
    *prompt = (cf_prompt){.n_spans = 0};
    return b->ops->tokenise != NULL ? b->ops->tokenise(b, request, arena, prompt, out, err)
                                    : cannot(b, "count tokens", err);
}

cf_status cf_backend_score(cf_backend *b, cf_str context, cf_str text, cf_cancel *cancel,
                           cf_arena *arena, cf_score *out, cf_error *err)
{
    return b->ops->score != NULL ? b->ops->score(b, context, text, cancel, arena, out, err)
                                 : cannot(b, "score a text", err);
}

cf_status cf_backend_clone(cf_backend **out, const cf_backend *from, cf_error *err)
{
    const cf_status st = from->ops->clone != NULL ? from->ops->clone(out, from, err)
                                                  : cannot(from, "be cloned", err);
    if (st == CF_OK) {
        (*out)->is_answering = false;
    }
    return st;
}

const cf_token *cf_backend_cache(const cf_backend *b, size_t *n)
{
    *n = 0;
    return b->ops->cache != NULL ? b->ops->cache(b, n) : NULL;
}

size_t cf_backend_checkpoints(const cf_backend *b, uint32_t *pos, size_t cap)
{
    return b->ops->checkpoints != NULL ? b->ops->checkpoints(b, pos, cap) : 0;
}
