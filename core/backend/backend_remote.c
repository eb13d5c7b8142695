/*
 * backend_remote.c - talks to an OpenAI-compatible server, through libcurl.
 *
 * A request is retried, after a wait that doubles, on 429 and 5xx, as long as
 * no byte of an answer has been passed on.  It is retried at once without the
 * arguments that a 400 names; they are left out of all later requests too.
 * TLS certificates are verified, redirects are not followed, and the key goes
 * to the server alone: errors, events and logs never hold it.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "core/api/http_once.h"
#include "core/backend/remote.h"
#include "core/backend/server_kind_impl.h"
#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/net/http_client.h"
#include "core/net/http_header.h"
#include "core/net/sse.h"

enum {
    POLL_MS = 50,        /* how soon a cancel is seen */
    BODY_MAX = 64 << 20, /* bytes of one answer */
    ERROR_BODY_MAX = 64 << 10,
    TOTAL_MAX_S = 3600,
    WAIT_MAX_S = 60, /* a longer Retry-After ends the request */
    SAID_MS = 2000
};

typedef struct remote {
    cf_backend base;
    char *url;                  /* without "/v1" and without a slash at its end */
    char *shown;                /* with "/v1", without credentials */
    char *model;                /* NULL: not asked yet */
    char *key;                  /* NULL: none */
    json_t *refused;            /* arguments that this server does not take */
    cf_server_kind kind;        /* what it is, once it was asked */
    cf_backend_trouble trouble; /* of the question that is under way */
    cf_remote_options options;
} remote;

static const cf_backend__ops remote_ops;

static cf_backend_info get_info(const cf_backend *b)
{
    const remote *r = (const remote *)b;
    const bool shows = cf_server_kind__shows_prompt(&r->kind);
    const bool is_ours = r->kind.row != NULL && !shows && r->options.renderer.render != NULL;
    return (cf_backend_info){
        .kind = "openai",
        .name = cf_str_from(r->shown),
        .shows_prompt = is_ours,
        .shows_candidates = true,
        .takes_images = true,
        .can_constrain = true,
        .cannot = shows ? ""
                        : "a server does not show its prompt, its "
                          "tokens' ids or its cache; candidates only "
                          "where it offers logprobs",
        .server = cf_server_kind__name(&r->kind),
        .model = cf_str_from(r->model != NULL ? r->model : ""),
        .n_ctx = r->kind.n_ctx,
        .asks_prompt = shows,
        .asks_tokens = cf_server_kind__shows_tokens(&r->kind),
        .prompt_is_ours = is_ours,
    };
}

static void free_remote(cf_backend *b)
{
    remote *r = (remote *)b;
    if (r->key != NULL) {
        memset(r->key, 0, strlen(r->key));
    }
    cf_free(r->key);
    cf_free(r->url);
    cf_free(r->shown);
    cf_free(r->model);
    json_decref(r->refused);
    cf_server_kind__deinit(&r->kind);
    cf_free(r);
}

/* ---- one transfer ------------------------------------------------------- */

typedef struct transfer {
    cf_http_transfer http;
    const char *key; /* redacted from what the server says; NULL: none */
    cf_chat__run *run;
    cf_remote__answer *answer; /* NULL: the body is only collected */
    cf_sse sse;
    cf_buf body; /* of an error, or of an answer that is not a stream */
    size_t n_bytes;
    long status;
    bool is_stream;
    long retry_after_s; /* < 0: not told */
    uint64_t last_us;   /* when bytes came last */
    cf_status st;
    cf_error err;
} transfer;

static cf_http_took on_header(void *ud, cf_str line)
{
    transfer *t = ud;
    cf_str value;
    t->last_us = cf_os_monotonic_us();
    if (cf_http_header(line, "content-type", &value)) {
        t->is_stream = cf_str_starts(value, cf_str_from("text/event-stream"));
    } else if (cf_http_header(line, "retry-after", &value)) {
        long s = 0;
        size_t i = 0;
        for (; i < value.n && value.p[i] >= '0' && value.p[i] <= '9' && i < 6; i++) {
            s = s * 10 + (value.p[i] - '0');
        }
        t->retry_after_s = i > 0 ? s : -1;
    }
    return CF_HTTP_TOOK;
}

/* Overwrites the key in what a server says, which is shown and stored: some
 * servers repeat it in an error.  The length stays, so that JSON stays JSON. */
static void redact_key(const char *key, char *p, size_t n)
{
    size_t k = key != NULL ? strlen(key) : 0;
    for (size_t i = 0; k != 0 && i + k <= n; i++) {
        if (p[i] == key[0] && memcmp(p + i, key, k) == 0) {
            memset(p + i, '*', k);
            i += k - 1;
        }
    }
}

/* An event of a stream, without the key. */
static cf_status on_event(cf_str data, void *ud, cf_error *err)
{
    transfer *t = ud;
    cf_buf copy = CF_BUF_INIT;
    if (t->key == NULL) {
        return cf_remote__event(data, t->answer, err);
    }
    cf_buf_add(&copy, data.p, data.n);
    cf_status st = cf_buf_check(&copy, err);
    if (st == CF_OK) {
        redact_key(t->key, copy.p, copy.n);
        st = cf_remote__event(cf_buf_str(&copy), t->answer, err);
    }
    cf_buf_deinit(&copy);
    return st;
}

static cf_http_took on_body(void *ud, cf_str bytes)
{
    transfer *t = ud;
    t->last_us = cf_os_monotonic_us();
    t->n_bytes += bytes.n;
    curl_easy_getinfo(t->http.easy, CURLINFO_RESPONSE_CODE, &t->status);
    if (t->n_bytes > BODY_MAX) {
        t->st = cf_fail(&t->err, CF_ELIMIT, "an answer of more than 64 MiB");
    } else if (t->status == 200 && t->is_stream && t->answer != NULL) {
        t->st = cf_sse_feed(&t->sse, bytes.p, bytes.n, on_event, t, &t->err);
    } else if (t->status == 200 || t->body.n < ERROR_BODY_MAX) {
        cf_buf_add(&t->body, bytes.p, bytes.n);
        t->st = cf_buf_check(&t->body, &t->err);
    }
    /* A stop string of ours is complete: the rest is not wanted. */
    bool stop = t->answer != NULL && t->answer->stopped;
    return t->st == CF_OK && !stop ? CF_HTTP_TOOK : CF_HTTP_STOP;
}

static cf_status network(transfer *t, const char *what, cf_error *err)
{
    return cf_chat__fault(t->run, CF_FAULT_NETWORK, cf_fail(err, CF_EIO, "%s", what));
}

/* A server that sends a byte now and then is never silent: the whole answer
 * has a bound too. */
static cf_status check_time(const remote *r, transfer *t, uint64_t started_us, cf_error *err)
{
    uint32_t idle_ms = r->options.idle_ms != 0 ? r->options.idle_ms : 120000;
    uint32_t total_ms = r->options.total_ms != 0 ? r->options.total_ms : TOTAL_MAX_S * 1000;
    uint64_t now = cf_os_monotonic_us();
    if (now - t->last_us > (uint64_t)idle_ms * 1000) {
        return network(t, "the server has been silent for too long", err);
    }
    if (now - started_us > (uint64_t)total_ms * 1000) {
        return cf_chat__fault(
            t->run, CF_FAULT_NETWORK,
            cf_fail(err, CF_EIO, "an answer of more than %.3g s", (double)total_ms / 1000));
    }
    return CF_OK;
}

/* Runs the transfer until it ends, is cancelled or takes too long. */
static cf_status perform(const remote *r, CURLM *multi, transfer *t, cf_error *err)
{
    int n_running = 1;
    uint64_t started_us = cf_os_monotonic_us();
    t->last_us = started_us;
    while (n_running > 0) {
        if (cf_chat__is_cancelled(t->run)) {
            return cf_chat__cancelled(err);
        }
        if (curl_multi_perform(multi, &n_running) != CURLM_OK) {
            return network(t, "libcurl gave up", err);
        }
        CF_TRY(check_time(r, t, started_us, err));
        if (n_running > 0) {
            curl_multi_poll(multi, NULL, 0, POLL_MS, NULL);
        }
    }
    cf_http_ends(multi);
    const CURLcode code = (CURLcode)t->http.code;
    t->status = t->http.status;
    if (t->st != CF_OK) {
        if (err != NULL) {
            *err = t->err;
        }
        return t->st;
    }
    if (code != CURLE_OK && (t->answer == NULL || !t->answer->stopped)) {
        char text[220];
        const char *hint = code == CURLE_COULDNT_CONNECT        ? "; is the server running there?"
                           : code == CURLE_COULDNT_RESOLVE_HOST ? "; is the address right?"
                                                                : "";
        snprintf(text, sizeof text, "%.120s: %s%s", r->shown, curl_easy_strerror(code), hint);
        return network(t, text, err);
    }
    return CF_OK;
}

static cf_status start(const remote *r, transfer *t, CURLM *multi, const char *path,
                       const cf_buf *body, cf_error *err)
{
    cf_buf url = CF_BUF_INIT;
    cf_http_transfer *h = &t->http;
    cf_buf_addf(&url, "%s%s", r->url, path);
    cf_http_header_add(h, cf_str_from("Content-Type"), ": ", cf_str_from("application/json"));
    cf_http_header_add(h, cf_str_from("Expect"), ":", cf_str_make("", 0));
    if (r->key != NULL) {
        cf_http_header_add(h, cf_str_from("Authorization"), ": Bearer ", cf_str_from(r->key));
    }
    h->on_header = on_header;
    h->on_body = on_body;
    h->ud = t;
    const cf_http_ask ask = {.url = cf_buf_cstr(&url),
                             .body = body != NULL ? cf_str_make(cf_buf_cstr(body), body->n)
                                                  : cf_str_make(NULL, 0),
                             .connect_ms = r->options.connect_ms};
    cf_status st = cf_buf_check(&url, err);
    CF_THEN(st, cf_http_start(h, multi, &ask, err));
    cf_buf_deinit(&url);
    return st;
}

static void transfer_init(transfer *t, cf_chat__run *run, cf_remote__answer *answer)
{
    memset(t, 0, sizeof *t);
    t->run = run;
    t->answer = answer;
    t->retry_after_s = -1;
    cf_sse_init(&t->sse);
}

static void transfer_deinit(transfer *t)
{
    cf_sse_deinit(&t->sse);
    cf_buf_deinit(&t->body);
}

/* One request, GET without a body.  CF_OK also for an HTTP error: t->status
 * and t->body tell. */
static cf_status send_once(const remote *r, transfer *t, const char *path, const cf_buf *body,
                           cf_error *err)
{
    CURLM *multi = curl_multi_init();
    t->key = r->key;
    cf_status st = multi != NULL ? start(r, t, multi, path, body, err) : cf_oom_for(err, "libcurl");
    if (st == CF_OK) {
        st = perform(r, multi, t, err);
        redact_key(t->key, t->body.p, t->body.n);
    }
    cf_http_end(&t->http, multi);
    curl_multi_cleanup(multi);
    return st;
}

/* ---- a request with its retries ----------------------------------------- */

static cf_status wait_ms(const cf_chat__run *run, uint64_t ms, cf_error *err)
{
    uint64_t until = cf_os_monotonic_us() + ms * 1000;
    while (cf_os_monotonic_us() < until) {
        if (cf_chat__is_cancelled(run)) {
            return cf_chat__cancelled(err);
        }
        uint64_t left = (until - cf_os_monotonic_us()) / 1000 + 1;
        CURLM *m = curl_multi_init(); /* its poll is a portable sleep */
        curl_multi_poll(m, NULL, 0, (int)(left < POLL_MS ? left : POLL_MS), NULL);
        curl_multi_cleanup(m);
    }
    return CF_OK;
}

/* Waits before another try; a wait that the user would notice is said. */
static cf_status wait_said(cf_chat__run *run, long status, uint64_t ms, cf_error *err)
{
    char text[96];
    int n = snprintf(text, sizeof text, "the server says %ld; trying again in %llu s", status,
                     (unsigned long long)(ms / 1000));
    if (ms >= SAID_MS && n > 0) {
        cf_chat_event ev = {.kind = CF_CHAT_NOTE, .text = cf_str_make(text, (size_t)n)};
        cf_chat__emit(run, &ev);
    }
    return wait_ms(run, ms, err);
}

static bool is_worth_retrying(long status)
{
    return status == 429 || (status >= 500 && status <= 599 && status != 501);
}

/* Interprets a finished transfer: an answer that was not a stream, an HTTP
 * error, or a stream that was cut off. */
static cf_status judge(transfer *t, cf_error *err)
{
    cf_str body = cf_buf_str(&t->body);
    if (t->status != 200) {
        return cf_remote__http_error(t->run, t->status, body, err);
    }
    cf_remote__answer *a = t->answer;
    if (!t->is_stream) {
        CF_TRY(cf_remote__event(body, a, err));
        if (a->reader.n_pieces == 0) {
            return cf_chat__fault(t->run, CF_FAULT_PROTOCOL,
                                  cf_fail(err, CF_EFORMAT, "the server's answer: no choices"));
        }
        return CF_OK;
    }
    if (!a->reader.is_ended && a->reader.reply.choice[0].stop == CF_WIRE_STOP_NONE && !a->stopped) {
        return network(t, "the answer was cut off", err);
    }
    return CF_OK;
}

/* `problem` gets the body of an answer 400 or 422. */
static cf_status exchange(const remote *r, cf_chat__run *run, cf_remote__answer *answer,
                          const cf_buf *body, cf_buf *problem, cf_error *err)
{
    uint32_t n_retries = r->options.n_retries == 0            ? 4
                         : r->options.n_retries == UINT32_MAX ? 0
                                                              : r->options.n_retries;
    uint64_t wait = r->options.backoff_ms != 0 ? r->options.backoff_ms : 500;
    for (uint32_t i = 0;; i++) {
        transfer t;
        transfer_init(&t, run, answer);
        cf_status st = send_once(r, &t, "/v1/chat/completions", body, err);
        CF_THEN(st, judge(&t, err));
        bool again = st != CF_OK && st != CF_ECANCELLED && is_worth_retrying(t.status) &&
                     !answer->has_content && i < n_retries;
        long told_s = t.retry_after_s;
        if (again && told_s > WAIT_MAX_S) {
            cf_error why = *err;
            again = false;
            cf_fail(err, st, "%s; it asks to wait %ld s", why.text, told_s);
        }
        if (t.status == 400 || t.status == 422) {
            cf_buf_add(problem, cf_buf_cstr(&t.body), t.body.n);
        }
        transfer_deinit(&t);
        if (!again) {
            return st;
        }
        run->out->stop.fault = CF_FAULT_NONE;
        run->out->timings.n_retries++;
        uint64_t ms = told_s >= 0 ? (uint64_t)told_s * 1000 : wait;
        CF_TRY(wait_said(run, t.status, ms, err));
        wait *= 2;
    }
}

/* Tells which arguments are left out from now on. */
static void tell_refused(cf_chat__run *run, const json_t *before, const json_t *now)
{
    cf_buf line = CF_BUF_INIT;
    json_t *in = cf_json_ref(now);
    const char *key;
    json_t *to;
    cf_buf_adds(&line, "the server refuses ");
    bool has_one = false;
    json_object_foreach(in, key, to)
    {
        if (json_object_get(before, key) == NULL) {
            cf_buf_addf(&line, "%s%s", has_one ? ", " : "", key);
            if (json_is_string(to)) {
                cf_buf_addf(&line, " (sent as %s)", json_string_value(to));
            }
            has_one = true;
        }
    }
    cf_buf_adds(&line, "; retried without it, and left out from now on");
    cf_chat_event ev = {.kind = CF_CHAT_NOTE, .text = cf_buf_str(&line)};
    cf_chat__emit(run, &ev);
    cf_buf_deinit(&line);
}

/* Sends the body; each argument that the server names in a refusal is left
 * out once. */
static cf_status negotiate(remote *r, cf_chat__run *run, cf_remote__answer *answer, json_t *body,
                           cf_error *err)
{
    for (;;) {
        cf_buf text = CF_BUF_INIT, problem = CF_BUF_INIT;
        cf_status st = cf_remote__leave_out(body, r->refused, err);
        cf_json_write(&text, body);
        CF_THEN(st, cf_buf_check(&text, err));
        CF_THEN(st, exchange(r, run, answer, &text, &problem, err));
        json_t *before = cf_json_copy(r->refused);
        bool again = st != CF_OK && problem.n > 0 && before != NULL &&
                     cf_remote__find_refused(body, cf_buf_str(&problem), r->refused);
        if (again) {
            run->out->stop.fault = CF_FAULT_NONE;
            run->out->timings.n_retries++;
            tell_refused(run, before, r->refused);
        }
        json_decref(before);
        cf_buf_deinit(&text);
        cf_buf_deinit(&problem);
        if (!again) {
            return st;
        }
    }
}

/* Keeps that the server may answer later. */
static void note_status(remote *r, const transfer *t)
{
    if (is_worth_retrying(t->status)) {
        r->trouble.is_busy = true;
        r->trouble.retry_after_s = t->retry_after_s > 0 ? (uint32_t)t->retry_after_s : 0;
    }
}

/* The first model that the server lists; "default" when it lists none.
 * CF_EBUSY from one that has no time to say. */
static cf_status find_model(remote *r, cf_chat__run *run, cf_error *err)
{
    transfer t;
    transfer_init(&t, run, NULL);
    cf_status st = send_once(r, &t, "/v1/models", NULL, err);
    if (st == CF_OK && (t.status == 429 || t.status == 503)) {
        note_status(r, &t);
        transfer_deinit(&t);
        return cf_fail(err, CF_EBUSY, "the server is too busy to answer");
    }
    json_t *v = NULL;
    if (st == CF_OK && t.status == 200) {
        cf_error ignored; /* a server that lists nothing has a model all the same */
        st = cf_json_read(&v, cf_buf_cstr(&t.body), t.body.n, &ignored);
        st = st == CF_ENOMEM ? cf_oom_for(err, "the model's name") : CF_OK;
    } else if (st == CF_OK && (t.status == 401 || t.status == 403)) {
        st = cf_remote__http_error(run, t.status, cf_buf_str(&t.body), err);
    }
    if (st == CF_OK) {
        const json_t *list = json_object_get(v, "data");
        cf_str id = cf_json_get_str(json_array_get(list, 0), "id");
        r->model = id.n > 0 ? cf_strndup(id.p, id.n) : cf_strdup("default");
        if (r->model == NULL) {
            st = cf_oom_for(err, "the model's name");
        }
    }
    json_decref(v);
    transfer_deinit(&t);
    return st;
}

/* Reports each line. */
static void tell_notes(cf_chat__run *run, cf_str lines)
{
    for (size_t at = 0; at < lines.n;) {
        size_t n = 0;
        while (at + n < lines.n && lines.p[at + n] != '\n') {
            n++;
        }
        const cf_chat_event ev = {.kind = CF_CHAT_NOTE, .text = cf_str_make(lines.p + at, n)};
        cf_chat__emit(run, &ev);
        at += n + 1;
    }
}

/* ---- as an open server ----------------------------------------------------- */

enum { ASK_IDLE_MS = 20000 };

/* A request apart from any reply. */
typedef struct aside {
    cf_chat_request request;
    cf_chat_response out;
    cf_chat__run run;
} aside;

static void aside_init(aside *a, cf_cancel *cancel)
{
    memset(a, 0, sizeof *a);
    cf_chat_response_init(&a->out);
    a->request.cancel = cancel;
    a->run = (cf_chat__run){.request = &a->request, .out = &a->out};
}

/* The end of a question to the server. */
static cf_status note_end(remote *r, cf_status st)
{
    r->trouble.is_away = st == CF_EIO;
    return st;
}

/* cf_server_ask.fn; `ud` is the remote. */
static cf_status ask_path(void *ud, const char *path, const json_t *body, cf_cancel *cancel,
                          long *status, json_t **out, cf_error *err)
{
    remote quick = *(const remote *)ud;
    aside a;
    transfer t;
    cf_buf text = CF_BUF_INIT;
    quick.options.idle_ms = quick.options.idle_ms != 0 ? quick.options.idle_ms : ASK_IDLE_MS;
    aside_init(&a, cancel);
    transfer_init(&t, &a.run, NULL);
    if (body != NULL) {
        cf_json_write(&text, body);
    }
    cf_status st = cf_buf_check(&text, err);
    CF_THEN(st, send_once(&quick, &t, path, body != NULL ? &text : NULL, err));
    if (st == CF_OK) {
        cf_error ignored;
        note_status(ud, &t);
        *status = t.status;
        *out = NULL;
        st = cf_json_read(out, cf_buf_cstr(&t.body), t.body.n, &ignored);
        st = st == CF_ENOMEM ? cf_oom_for(err, "the server's answer") : CF_OK;
    }
    transfer_deinit(&t);
    cf_chat_response_deinit(&a.out);
    cf_buf_deinit(&text);
    return st;
}

/* Makes `ask`, with the model's name, and has the server say what it is.  One
 * that was too busy to say is asked again the next time. */
static cf_status know(remote *r, cf_cancel *cancel, cf_server_ask *ask, cf_error *err)
{
    cf_status st = CF_OK;
    bool is_new = r->kind.row == NULL;
    r->trouble = (cf_backend_trouble){.is_busy = false};
    if (r->model == NULL) {
        aside a;
        aside_init(&a, cancel);
        st = find_model(r, &a.run, err);
        cf_chat_response_deinit(&a.out);
    }
    *ask = (cf_server_ask){.fn = ask_path, .ud = r, .cancel = cancel, .model = r->model};
    CF_THEN(st, cf_server_kind__probe(&r->kind, ask, err));
    if (is_new && cf_server_kind__is_plain(&r->kind) && r->trouble.is_busy) {
        r->kind.row = NULL;
    }
    return note_end(r, st);
}

static cf_status ask_what(cf_backend *b, cf_cancel *cancel, cf_error *err)
{
    cf_server_ask ask;
    return know((remote *)b, cancel, &ask, err);
}

/* The prompt as this program would write it. */
static cf_status render_ours(const remote *r, const cf_chat_request *request, cf_arena *arena,
                             cf_prompt *out, cf_error *err)
{
    if (r->options.renderer.render == NULL) {
        return cf_fail(err, CF_EUNSUPPORTED,
                       "the server does not show its prompt; -t NAME renders "
                       "one with a template of yours");
    }
    json_t *context = cf_chat__context(request);
    cf_status st = context != NULL ? CF_OK : cf_oom_for(err, "the context");
    CF_THEN(st, cf_chat__render(&r->options.renderer, request, context, arena, out, err));
    json_decref(context);
    return st;
}

/* Whether the server's prompt is the same when the tools of `body` are left out;
 * false where it does not say. */
static bool is_without_tools(remote *r, const cf_server_ask *ask, json_t *body, cf_str prompt,
                             cf_arena *arena)
{
    cf_str without = {NULL, 0};
    cf_error ignored;
    if (json_object_get(body, "tools") == NULL) {
        return false;
    }
    (void)json_object_del(body, "tools");
    return cf_server_kind__prompt(&r->kind, ask, body, arena, &without, NULL, &ignored) == CF_OK &&
           cf_str_eq(without, prompt);
}

/* The server's prompt.  Where ours has the same bytes, its spans say more. */
static cf_status render_theirs(remote *r, const cf_server_ask *ask, const cf_chat_request *request,
                               cf_arena *arena, cf_prompt *out, cf_token_list *tokens,
                               cf_error *err)
{
    json_t *body = NULL;
    cf_buf notes = CF_BUF_INIT;
    cf_prompt ours;
    cf_error ignored;
    cf_status st = cf_remote__body(&body, r->model, request, &notes, err);
    CF_THEN(st, cf_server_kind__prompt(&r->kind, ask, body, arena, &out->text, tokens, err));
    if (st == CF_OK && r->options.renderer.render != NULL &&
        render_ours(r, request, arena, &ours, &ignored) == CF_OK &&
        cf_str_eq(ours.text, out->text)) {
        *out = ours;
    } else {
        CF_THEN(st, cf_server_kind__spans(out, json_object_get(body, "messages"), arena, err));
        out->is_foreign = true;
        out->shows_tools = st != CF_OK || !is_without_tools(r, ask, body, out->text, arena);
    }
    cf_buf_deinit(&notes);
    json_decref(body);
    return st;
}

static cf_status render(cf_backend *b, const cf_chat_request *request, cf_arena *arena,
                        cf_prompt *out, cf_error *err)
{
    remote *r = (remote *)b;
    cf_server_ask ask;
    CF_TRY(know(r, request->cancel, &ask, err));
    cf_status st = cf_server_kind__shows_prompt(&r->kind)
                       ? render_theirs(r, &ask, request, arena, out, NULL, err)
                       : render_ours(r, request, arena, out, err);
    return note_end(r, st);
}

static cf_status tokenise(cf_backend *b, const cf_chat_request *request, cf_arena *arena,
                          cf_prompt *prompt, cf_token_list *out, cf_error *err)
{
    remote *r = (remote *)b;
    cf_server_ask ask;
    CF_TRY(know(r, request->cancel, &ask, err));
    return note_end(r, render_theirs(r, &ask, request, arena, prompt, out, err));
}

static cf_status score(cf_backend *b, cf_str context, cf_str text, cf_cancel *cancel,
                       cf_arena *arena, cf_score *out, cf_error *err)
{
    remote *r = (remote *)b;
    cf_server_ask ask;
    CF_TRY(know(r, cancel, &ask, err));
    if (r->kind.row == NULL) {
        return cf_fail(err, CF_EBUSY, "the server is too busy to answer");
    }
    return note_end(r, cf_server_kind__score(&r->kind, &ask, context, text, arena, out, err));
}

/* Adds what only a known server takes. */
static cf_status add_to_body(remote *r, cf_chat__run *run, json_t *body, cf_error *err)
{
    const cf_chat_options *o = run->request->options;
    const json_t *spec = o != NULL ? o->constraint : NULL;
    cf_server_ask ask;
    if (spec != NULL) {
        cf_status st = know(r, run->request->cancel, &ask, err);
        CF_THEN(st, cf_server_kind__constrain(&r->kind, body, spec, err));
        if (st == CF_EUNSUPPORTED) {
            return cf_chat__fault(run, CF_FAULT_OPTION, st);
        }
        CF_TRY(st);
    }
    const bool wants_ids = cf_server_kind__returns_ids(&r->kind);
    return wants_ids && json_object_set_new(body, "return_token_ids", json_true()) != 0
               ? cf_oom_for(err, "the request")
               : CF_OK;
}

/* ---- a reply ------------------------------------------------------------ */

static cf_status stream(cf_backend *b, cf_chat__run *run, cf_error *err)
{
    remote *r = (remote *)b;
    if (run->request->is_pending || run->request->n_reply_ids > 0 ||
        run->request->reply_prefix.n > 0) {
        return cf_chat__fault(
            run, CF_FAULT_OPTION,
            cf_fail(err, CF_EUNSUPPORTED, "a server cannot continue a reply or only prefill"));
    }
    if (r->model == NULL) { /* a busy one is asked again by the next request */
        cf_status found = find_model(r, run, err);
        if (found != CF_OK && found != CF_EBUSY) {
            return found;
        }
    }
    const char *model = r->model != NULL ? r->model : "default";
    json_t *body = NULL;
    cf_buf notes = CF_BUF_INIT;
    cf_remote__answer answer;
    cf_remote__answer_init(&answer, run);
    cf_status st = cf_remote__body(&body, model, run->request, &notes, err);
    if (st == CF_OK) {
        tell_notes(run, cf_buf_str(&notes));
    }
    cf_buf_deinit(&notes);
    if (st == CF_EUNSUPPORTED) {
        return cf_chat__fault(run, CF_FAULT_OPTION, st);
    }
    CF_THEN(st, add_to_body(r, run, body, err));
    /* A server may leave the thinking in the content. */
    const cf_channel_set think = cf_tool_family_channels(CF_TOOLS_GENERIC);
    CF_THEN(st, cf_chat__reply_init(&answer.reply, run, r->options.family, think.v, think.n, err));
    if (st == CF_OK) {
        uint64_t started = cf_os_monotonic_us();
        st = negotiate(r, run, &answer, body, err);
        run->out->timings.decode_us = cf_os_monotonic_us() - started;
    }
    if (st != CF_ENOMEM && (st == CF_OK || answer.has_content)) {
        cf_error why;
        cf_status end = cf_remote__finish(&answer, &why);
        if (st == CF_OK && end != CF_OK) {
            st = end;
            if (err != NULL) {
                *err = why;
            }
        }
    }
    cf_remote__answer_deinit(&answer);
    json_decref(body);
    return st;
}

/* ---- making one --------------------------------------------------------- */

/* The address without "/v1" and without a slash at its end. */
static char *make_url(const char *url)
{
    size_t n = strlen(url);
    while (n > 0 && url[n - 1] == '/') {
        n--;
    }
    n -= n >= 3 && memcmp(url + n - 3, "/v1", 3) == 0 ? 3 : 0;
    cf_buf b = CF_BUF_INIT;
    cf_buf_add(&b, url, n);
    char *out = cf_buf_take(&b);
    cf_buf_deinit(&b);
    return out;
}

/* With "/v1" and without "user:password@". */
static char *make_shown(const char *url)
{
    const char *host = strstr(url, "://");
    host = host != NULL ? host + 3 : url;
    size_t n = strcspn(host, "/");
    const char *at = NULL;
    for (size_t i = 0; i < n; i++) {
        at = host[i] == '@' ? host + i : at;
    }
    cf_buf b = CF_BUF_INIT;
    cf_buf_add(&b, url, (size_t)(host - url));
    cf_buf_adds(&b, at != NULL ? at + 1 : host);
    cf_buf_adds(&b, "/v1");
    char *out = cf_buf_take(&b);
    cf_buf_deinit(&b);
    return out;
}

cf_status cf_backend_remote_new(cf_backend **out, const char *url, const cf_remote_options *options,
                                cf_error *err)
{
    static const cf_remote_options none;
    const cf_remote_options *o = options != NULL ? options : &none;
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
        return cf_fail(err, CF_EINVAL, "a server's address starts with http:// or https://");
    }
    if (o->key != NULL && strpbrk(o->key, "\r\n") != NULL) {
        return cf_fail(err, CF_EINVAL, "the server's key holds a line break");
    }
    cf_http_once();
    remote *r = cf_calloc(1, sizeof *r);
    if (r == NULL) {
        return cf_oom_for(err, "the server");
    }
    r->base.ops = &remote_ops;
    r->options = *o;
    r->options.key = r->options.model = NULL;
    r->url = make_url(url);
    r->shown = r->url != NULL ? make_shown(r->url) : NULL;
    r->key = o->key != NULL && o->key[0] != '\0' ? cf_strdup(o->key) : NULL;
    r->model = o->model != NULL ? cf_strdup(o->model) : NULL;
    r->refused = json_object();
    if (r->shown == NULL || r->refused == NULL ||
        (o->key != NULL && o->key[0] != '\0' && r->key == NULL) ||
        (o->model != NULL && r->model == NULL)) {
        free_remote(&r->base);
        return cf_oom_for(err, "the server");
    }
    *out = &r->base;
    return CF_OK;
}

void cf_backend_remote_set(cf_backend *b, cf_prompt_renderer renderer)
{
    if (b->ops == &remote_ops) {
        ((remote *)b)->options.renderer = renderer;
    }
}

void cf_backend_learn(cf_backend *to, const cf_backend *from)
{
    if (to->ops == &remote_ops && from->ops == &remote_ops) {
        cf_server_kind *kind = &((remote *)to)->kind;
        const remote *other = (const remote *)from;
        json_t *pieces = kind->pieces;
        *kind = other->kind;
        kind->pieces = pieces;
        char **model = &((remote *)to)->model;
        if (*model == NULL && other->model != NULL) {
            *model = cf_strdup(other->model); /* NULL: asked for later */
        }
    }
}

cf_backend_trouble cf_backend_last_trouble(const cf_backend *b)
{
    return b->ops == &remote_ops ? ((const remote *)b)->trouble
                                 : (cf_backend_trouble){.is_busy = false};
}

cf_status cf_backend_slots(cf_backend *b, cf_cancel *cancel, json_t **out, cf_error *err)
{
    remote *r = (remote *)b;
    cf_server_ask ask;
    json_t *v = NULL;
    if (b->ops != &remote_ops) {
        return cf_fail(err, CF_EUNSUPPORTED, "only servers have slots");
    }
    CF_TRY(know(r, cancel, &ask, err));
    if (!cf_server_kind__has_slots(&r->kind)) {
        return cf_fail(err, CF_EUNSUPPORTED, "the server shows no slots");
    }
    CF_TRY(note_end(r, cf_server_kind__ask_json(&ask, "/slots", NULL, &v, err)));
    if (!json_is_array(v)) {
        json_decref(v);
        return cf_server_kind__strange("/slots", err);
    }
    *out = v;
    return CF_OK;
}

static cf_status clone(cf_backend **out, const cf_backend *from, cf_error *err)
{
    const remote *r = (const remote *)from;
    cf_remote_options o = r->options;
    o.key = r->key;
    o.model = r->model;
    CF_TRY(cf_backend_remote_new(out, r->url, &o, err));
    if (json_object_update(((remote *)*out)->refused, r->refused) != 0) {
        free_remote(*out);
        *out = NULL;
        return cf_oom_for(err, "the server");
    }
    cf_server_kind *kind = &((remote *)*out)->kind;
    *kind = r->kind;
    kind->pieces = NULL; /* asked for again */
    return CF_OK;
}

static const cf_backend__ops remote_ops = {
    .info = get_info,
    .free = free_remote,
    .stream = stream,
    .render = render,
    .tokenise = tokenise,
    .score = score,
    .clone = clone,
    .ask = ask_what,
};
