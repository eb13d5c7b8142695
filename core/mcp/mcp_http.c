/*
 * mcp_http.c - a server at an address: every message is a POST, the answer a
 * JSON document or a stream of events ("Streamable HTTP").
 *
 * libcurl's callbacks only collect; messages are handed on from
 * cf_mcp__http_step(), because what they lead to starts and ends transfers.
 *
 * 1. A stream is in its server's list from its start until drop().
 * 2. The stream of a request that has its answer is dropped.
 * 3. A stream of the old era that ends before its answer goes on from its last
 *    event, where the server numbers them ("Resumability and Redelivery").
 * 4. TLS certificates are verified and redirects are not followed; headers of
 *    the configuration go to the server alone, and never into the log.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "core/api/http_once.h"
#include "core/base/alloc.h"
#include "core/mcp/mcp_oauth.h"
#include "core/net/http_client.h"
#include "core/net/http_header.h"
#include "core/net/sse.h"

enum {
    ERROR_SHOWN = 120,
    SESSION_MAX = 1024,
    EVENT_ID_MAX = 1024, /* bytes of an id that a stream goes on from */
    DELETE_MS = 1000,
    SIGN_INS_MAX = 3, /* for one request */
    UNTAKEN_MAX = 64, /* messages that a server has not taken, other than requests */
    RESUME_MS = 1000, /* before a stream is asked for again, unless told */
    RESUME_MIN_MS = 50,
    UNAUTHORIZED = 401,
    FORBIDDEN = 403,
    NOT_FOUND = 404
};

typedef struct stream {
    struct stream *next;
    cf_mcp__server *s;
    cf_http_transfer transfer;
    int64_t id;         /* of the request; -1: none */
    bool is_open;       /* the long-lived GET for server-initiated messages */
    uint64_t resume_us; /* when it is asked for again; 0: it runs or is over */
    cf_buf sent;        /* the message; empty: none */
    cf_buf body;        /* of an answer that is not a stream */
    cf_buf inbox;       /* events, a NUL after each */
    cf_sse sse;
    bool is_sse;
    json_t *challenge; /* what a refusal wants; NULL */
    uint64_t n_token;  /* which of the server's tokens it carries */
    int n_sign_ins;
    char session[SESSION_MAX];
    cf_status st;
    cf_error err;
} stream;

struct cf_mcp__http_state {
    stream *first;
    char session[SESSION_MAX]; /* old era; "" */
};

/* ---- what comes --------------------------------------------------------- */

static cf_http_took on_header(void *ud, cf_str line)
{
    stream *t = ud;
    cf_str value;
    if (cf_http_header(line, "content-type", &value)) {
        t->is_sse = cf_str_starts(value, cf_str_from("text/event-stream"));
    } else if (cf_http_header(line, "mcp-session-id", &value) && value.n > 0 &&
               value.n < SESSION_MAX) {
        memcpy(t->session, value.p, value.n);
        t->session[value.n] = '\0';
    } else if (cf_http_header(line, "www-authenticate", &value)) {
        cf_mcp__challenge_add(&t->challenge, value);
    }
    return CF_HTTP_TOOK;
}

static cf_status on_event(cf_str data, void *ud, cf_error *err)
{
    stream *t = ud;
    if (data.n == 0) {
        return CF_OK; /* an event that only carries an id */
    }
    cf_buf_add(&t->inbox, data.p, data.n);
    cf_buf_addc(&t->inbox, '\0');
    return t->inbox.n > CF_MCP__LISTS_MAX ? cf_fail(err, CF_ELIMIT, "the server sent too much")
                                          : cf_buf_check(&t->inbox, err);
}

static cf_http_took on_body(void *ud, cf_str bytes)
{
    stream *t = ud;
    size_t max = t->s->mcp->options.message_max;
    if (t->is_sse) {
        t->st = cf_sse_feed(&t->sse, bytes.p, bytes.n, on_event, t, &t->err);
        if (t->st == CF_OK && t->sse.line.n + t->sse.data.n > max) {
            t->st =
                cf_fail(&t->err, CF_ELIMIT, "the server sent an event of more than %zu bytes", max);
        }
    } else if (t->body.n + bytes.n > max) {
        t->st =
            cf_fail(&t->err, CF_ELIMIT, "the server sent an answer of more than %zu bytes", max);
    } else {
        cf_buf_add(&t->body, bytes.p, bytes.n);
        t->st = cf_buf_check(&t->body, &t->err);
    }
    return t->st == CF_OK ? CF_HTTP_TOOK : CF_HTTP_STOP;
}

/* ---- streams ------------------------------------------------------------ */

static void free_stream(stream *t)
{
    if (t == NULL) {
        return;
    }
    cf_http_end(&t->transfer, t->s->mcp->multi);
    cf_buf_deinit(&t->sent);
    cf_buf_deinit(&t->body);
    cf_buf_deinit(&t->inbox);
    cf_sse_deinit(&t->sse);
    json_decref(t->challenge);
    cf_free(t);
}

static void drop(stream *t)
{
    for (stream **at = &t->s->http->first; *at != NULL; at = &(*at)->next) {
        if (*at == t) {
            *at = t->next;
            break;
        }
    }
    free_stream(t);
}

static void add_header(stream *t, const char *name, cf_str value)
{
    /* "Name: " without a value would be dropped. */
    cf_http_header_add(&t->transfer, cf_str_from(name), value.n > 0 ? ": " : ";", value);
}

static void on_param(void *ud, const char *name, cf_str value)
{
    stream *t = ud;
    char header[128];
    cf_buf text = CF_BUF_INIT;
    snprintf(header, sizeof header, "Mcp-Param-%s", name);
    cf_mcp__header_value(&text, value);
    add_header(t, header, cf_buf_str(&text));
    t->transfer.failed = t->transfer.failed || text.failed;
    cf_buf_deinit(&text);
}

/* The headers of the new era that say what the body says. */
static void add_mirrors(stream *t, const cf_mcp__parcel *parcel)
{
    cf_mcp__server *s = t->s;
    if (parcel->method[0] != '\0') {
        add_header(t, "Mcp-Method", cf_str_from(parcel->method));
    }
    if (parcel->name.n > 0) {
        cf_buf text = CF_BUF_INIT, why = CF_BUF_INIT;
        const json_t *tool = cf_mcp_tool_find(s->tools, parcel->name);
        cf_mcp__header_value(&text, parcel->name);
        add_header(t, "Mcp-Name", cf_buf_str(&text));
        t->transfer.failed = t->transfer.failed || text.failed;
        if (strcmp(parcel->method, "tools/call") == 0) {
            (void)cf_mcp__param_headers(json_object_get(tool, "inputSchema"),
                                        json_object_get(parcel->params, "arguments"), on_param, t,
                                        &why);
        }
        cf_buf_deinit(&text);
        cf_buf_deinit(&why);
    }
}

static void add_headers(stream *t, const cf_mcp__parcel *parcel)
{
    cf_mcp__server *s = t->s;
    const json_t *own = json_object_get(s->config, "headers");
    const char *key;
    json_t *v;
    bool is_modern = s->era != CF_MCP__LEGACY;
    const char *revision = s->revision != NULL ? s->revision
                           : is_modern         ? cf_mcp_revisions[0]
                                               : NULL;
    add_header(
        t, "Accept",
        cf_str_from(parcel == NULL ? "text/event-stream" : "application/json, text/event-stream"));
    add_header(t, "Content-Type", cf_str_from("application/json"));
    cf_http_header_add(&t->transfer, cf_str_from("Expect"), ":", cf_str_make("", 0));
    if (revision != NULL) {
        add_header(t, "MCP-Protocol-Version", cf_str_from(revision));
    }
    if (is_modern && parcel != NULL) {
        add_mirrors(t, parcel);
    }
    if (s->http->session[0] != '\0') {
        add_header(t, "Mcp-Session-Id", cf_str_from(s->http->session));
    }
    if (t->sse.id.n > 0) {
        add_header(t, "Last-Event-ID", cf_buf_str(&t->sse.id));
    }
    if (s->token.n > 0) {
        cf_http_header_add(&t->transfer, cf_str_from("Authorization"), ": Bearer ",
                           cf_buf_str(&s->token));
    }
    json_object_foreach(cf_json_ref(own), key, v)
    {
        add_header(t, key, cf_str_from(json_string_value(v)));
    }
}

static const char *url_of(const cf_mcp__server *s)
{
    return json_string_value(json_object_get(s->config, "url"));
}

/* Starts the stream's transfer: a POST of the parcel, or with NULL a GET. */
static cf_status launch(stream *t, const cf_mcp__parcel *parcel, cf_error *err)
{
    t->transfer = (cf_http_transfer){.on_header = on_header, .on_body = on_body, .ud = t};
    t->is_sse = false;
    t->resume_us = 0;
    t->n_token = t->s->n_token;
    json_decref(t->challenge);
    t->challenge = NULL;
    add_headers(t, parcel);
    const cf_http_ask ask = {.url = url_of(t->s),
                             .body = parcel != NULL ? cf_str_make(cf_buf_cstr(&t->sent), t->sent.n)
                                                    : cf_str_make(NULL, 0)};
    return t->sent.failed ? cf_oom_for(err, "a request")
                          : cf_http_start(&t->transfer, t->s->mcp->multi, &ask, err);
}

/* Begins a stream: a POST of the parcel, or with NULL the GET that stays open. */
static cf_status begin(cf_mcp__server *s, const cf_mcp__parcel *parcel, cf_error *err)
{
    stream *t = cf_calloc(1, sizeof *t);
    if (t == NULL) {
        return cf_oom_for(err, "a request");
    }
    t->s = s;
    t->id = parcel != NULL ? parcel->id : -1;
    t->is_open = parcel == NULL;
    cf_sse_init(&t->sse);
    if (parcel != NULL) {
        cf_buf_add(&t->sent, parcel->text.p, parcel->text.n);
    }
    cf_status st = launch(t, parcel, err);
    if (st != CF_OK) {
        free_stream(t);
        return st;
    }
    t->next = s->http->first;
    s->http->first = t;
    return CF_OK;
}

/* ---- the transport ------------------------------------------------------ */

static cf_status start(cf_mcp__server *s, cf_error *err)
{
    if (s->http == NULL) {
        s->http = cf_calloc(1, sizeof *s->http);
    }
    if (s->http == NULL) {
        return cf_oom_for(err, "a server");
    }
    s->http->session[0] = '\0';
    cf_mcp__take_kept(s);
    return CF_OK;
}

/* Each message is a transfer of its own: a server that asks on and on, and takes no
 * answer, would have us open a connection for each. */
static cf_status post(cf_mcp__server *s, const cf_mcp__parcel *parcel, cf_error *err)
{
    size_t n_untaken = 0;
    for (const stream *t = s->http->first; t != NULL; t = t->next) {
        n_untaken += t->id < 0 && !t->is_open;
    }
    if (parcel->id < 0 && n_untaken >= UNTAKEN_MAX) {
        return cf_fail(err, CF_ELIMIT, "the server asked for more than %d answers at a time",
                       UNTAKEN_MAX);
    }
    return begin(s, parcel, err);
}

static void forget(cf_mcp__server *s, int64_t id)
{
    for (stream *t = s->http != NULL ? s->http->first : NULL; t != NULL; t = t->next) {
        if (t->id == id) {
            drop(t);
            return;
        }
    }
}

/* Tells a server of the old era that its session is over; it may not offer
 * that. */
static void end_session(cf_mcp__server *s)
{
    stream t = {.s = s};
    cf_error ignored;
    CURLM *multi = curl_multi_init();
    add_headers(&t, NULL);
    const cf_http_ask ask = {.url = url_of(s), .method = "DELETE"};
    if (multi != NULL && cf_http_start(&t.transfer, multi, &ask, &ignored) == CF_OK) {
        uint64_t until = cf_mcp__now() + (uint64_t)DELETE_MS * 1000;
        int n_running = 1;
        while (n_running > 0 && cf_mcp__now() < until &&
               curl_multi_perform(multi, &n_running) == CURLM_OK) {
            if (n_running > 0) {
                (void)curl_multi_poll(multi, NULL, 0, DELETE_MS / 10, NULL);
            }
        }
    }
    cf_http_end(&t.transfer, multi);
    curl_multi_cleanup(multi);
}

static void stop(cf_mcp__server *s, uint32_t grace_ms)
{
    if (s->http == NULL) {
        return;
    }
    while (s->http->first != NULL) {
        drop(s->http->first);
    }
    if (grace_ms > 0 && s->http->session[0] != '\0') {
        end_session(s);
    }
    cf_free(s->http);
    s->http = NULL;
}

void cf_mcp__http_listen(cf_mcp__server *s)
{
    if (s->transport == &cf_mcp__http) {
        cf_error ignored; /* the server works without this stream */
        cf_ignore(begin(s, NULL, &ignored));
    }
}

bool cf_mcp__http_lost_session(const cf_mcp__server *s, long status)
{
    return s->http != NULL && status == NOT_FOUND && s->http->session[0] != '\0';
}

const cf_mcp__transport cf_mcp__http = {
    .start = start,
    .send = post,
    .forget = forget,
    .stop = stop,
    .forgets_by_closing = true,
};

/* ---- ends --------------------------------------------------------------- */

static void failure(const stream *t, cf_error *why)
{
    const char *hint = t->transfer.code == CURLE_COULDNT_CONNECT        ? "; is the server running?"
                       : t->transfer.code == CURLE_COULDNT_RESOLVE_HOST ? "; is the address right?"
                                                                        : "";
    if (t->st != CF_OK) {
        *why = t->err;
    } else if (t->transfer.code != CURLE_OK) {
        cf_fail(why, CF_EIO, "%s%s", curl_easy_strerror((CURLcode)t->transfer.code), hint);
    } else if (t->transfer.status == UNAUTHORIZED || t->transfer.status == FORBIDDEN) {
        cf_fail(why, CF_EIO, "HTTP %ld: the server wants authorization; give it with \"headers\"",
                t->transfer.status);
    } else if (t->transfer.status >= 400) {
        size_t n = strcspn(cf_buf_cstr(&t->body), "\r\n");
        cf_fail(why, CF_EIO, "HTTP %ld%s%.*s", t->transfer.status, n > 0 ? ": " : "",
                (int)(n < ERROR_SHOWN ? n : ERROR_SHOWN), cf_buf_cstr(&t->body));
    } else {
        cf_fail(why, CF_EIO, "HTTP %ld without an answer", t->transfer.status);
    }
}

/* The body as a message, with the request's id where an error has none. */
static bool take_body(stream *t)
{
    cf_mcp__server *s = t->s;
    json_t *v = NULL;
    cf_error ignored;
    cf_buf text = CF_BUF_INIT;
    if (t->st != CF_OK || t->transfer.code != CURLE_OK ||
        cf_mcp__read(&v, cf_buf_str(&t->body), &ignored) != CF_OK) {
        return false;
    }
    bool is_error = cf_mcp__error_of(v) != NULL && t->id >= 0;
    bool is_answer = json_is_array(v) || is_error || cf_mcp__answer_id(v) == t->id;
    if (is_error && cf_mcp__answer_id(v) < 0) {
        json_object_set_new(v, "id", json_integer((json_int_t)t->id));
        cf_json_write(&text, v);
    } else {
        cf_buf_add(&text, cf_buf_cstr(&t->body), t->body.n);
    }
    json_decref(v);
    cf_buf_deinit(&t->body);
    if (is_answer && !text.failed) {
        cf_mcp__receive(s, cf_buf_str(&text));
    }
    cf_buf_deinit(&text);
    return is_answer;
}

static bool is_awaited(const cf_mcp__server *s, int64_t id)
{
    for (size_t i = 0; i < s->n_request; i++) {
        if (s->request[i].id == id) {
            return true;
        }
    }
    return false;
}

/* Whether more may come where the stream left off. */
static bool may_resume(const stream *t)
{
    return t->s->era == CF_MCP__LEGACY && t->is_sse && t->st == CF_OK && t->transfer.status < 300 &&
           t->sse.id.n > 0 && t->sse.id.n <= EVENT_ID_MAX &&
           (t->is_open || is_awaited(t->s, t->id));
}

/* Has the stream asked for again after the time that the server wants. */
static void put_off(stream *t)
{
    int64_t ms = t->sse.retry_ms < 0               ? RESUME_MS
                 : t->sse.retry_ms < RESUME_MIN_MS ? RESUME_MIN_MS
                                                   : t->sse.retry_ms;
    cf_http_end(&t->transfer, t->s->mcp->multi);
    t->transfer.is_over = false;
    t->resume_us = cf_mcp__now() + (uint64_t)ms * 1000;
    cf_buf_reset(&t->sse.line);
    cf_buf_reset(&t->sse.data);
    if (!t->is_open) {
        cf_mcp__note(t->s,
                     "the answer's stream has ended without the answer: it is asked for "
                     "again in %lld ms",
                     (long long)ms);
    }
}

/* Sends the same message again, with the token that the server has now. */
static cf_status send_again(stream *t, cf_error *err)
{
    json_t *message = NULL;
    const json_t *params;
    cf_str name, method;
    cf_http_end(&t->transfer, t->s->mcp->multi);
    cf_buf_deinit(&t->body);
    if (t->sent.n == 0) {
        return launch(t, NULL, err);
    }
    CF_TRY(cf_json_read(&message, cf_buf_cstr(&t->sent), t->sent.n, err));
    params = json_object_get(message, "params");
    name = cf_json_get_str(params, "name");
    method = cf_json_get_str(message, "method"); /* an answer of ours has none */
    const cf_mcp__parcel parcel = {.text = cf_buf_str(&t->sent),
                                   .method = method.p != NULL ? method.p : "",
                                   .name = name.n > 0 ? name : cf_json_get_str(params, "uri"),
                                   .params = params,
                                   .id = t->id};
    cf_status st = launch(t, &parcel, err);
    json_decref(message);
    return st;
}

static bool wants_sign_in(const stream *t)
{
    return cf_mcp__may_sign_in(t->s) && t->st == CF_OK && t->transfer.code == CURLE_OK &&
           (t->transfer.status == UNAUTHORIZED ||
            (t->transfer.status == FORBIDDEN &&
             cf_str_is(cf_json_get_str(t->challenge, "error"), "insufficient_scope")));
}

/* Whether a refused message was sent again, signed in; else *why says why not. */
static bool signs_in(stream *t, cf_error *why)
{
    cf_mcp__server *s = t->s;
    bool is_new = t->n_token != s->n_token; /* somebody else signed in */
    bool may_refresh = t->transfer.status == UNAUTHORIZED && t->n_sign_ins < SIGN_INS_MAX - 1;
    cf_status st = CF_OK;
    if (t->is_open && !is_new) {
        return false; /* nobody waits for it */
    }
    if (t->n_sign_ins >= SIGN_INS_MAX) {
        cf_fail(why, CF_EIO, "HTTP %ld after %d sign-ins: the server wants more",
                t->transfer.status, SIGN_INS_MAX);
        return false;
    }
    t->n_sign_ins++;
    if (!is_new) {
        st = cf_mcp__sign_in(s, t->challenge, may_refresh, why);
    }
    CF_THEN(st, send_again(t, why));
    return st == CF_OK;
}

static void resume(stream *t)
{
    cf_mcp__server *s = t->s;
    int64_t id = t->id;
    cf_error why;
    if (launch(t, NULL, &why) != CF_OK) {
        drop(t);
        cf_mcp__lose(s, id, 0, &why);
    }
}

/* A transfer has ended.  `t` may be gone after. */
static void finish(stream *t)
{
    cf_mcp__server *s = t->s;
    if (may_resume(t)) {
        put_off(t);
        return;
    }
    int64_t id = t->id;
    long status = t->transfer.status;
    cf_error why;
    bool is_open = t->is_open;
    failure(t, &why);
    if (wants_sign_in(t) && signs_in(t, &why)) {
        return;
    }
    if (id >= 0 && !t->is_sse && take_body(t)) {
        forget(s, id); /* the server may have been stopped */
        return;
    }
    drop(t);
    if (id >= 0) {
        cf_mcp__lose(s, id, status, &why);
    } else if (!is_open && (status >= 400 || status == 0)) {
        cf_mcp__note(s, "a message was refused: %s", why.text);
    }
}

/* Hands on the messages of one stream; false: it had none.  `t` may be gone
 * after. */
static bool deliver(stream *t)
{
    cf_mcp__server *s = t->s;
    if (t->session[0] != '\0' && s->era == CF_MCP__LEGACY && s->http->session[0] == '\0') {
        memcpy(s->http->session, t->session, SESSION_MAX);
    }
    if (t->inbox.n == 0) {
        return false;
    }
    cf_buf inbox = t->inbox;
    int64_t id = t->id;
    cf_buf_init(&t->inbox);
    cf_mcp__http_state *http = s->http;
    if (cf_mcp__count(s, inbox.n)) {
        for (size_t at = 0; at < inbox.n && s->http == http;) {
            size_t n = strlen(inbox.p + at);
            cf_mcp__receive(s, cf_str_make(inbox.p + at, n));
            at += n + 1;
        }
    }
    if (id >= 0 && s->http == http && !is_awaited(s, id)) {
        forget(s, id);
    }
    cf_buf_deinit(&inbox);
    return true;
}

static void serve(cf_mcp__server *s)
{
    bool again = true;
    while (again) {
        again = false;
        for (stream *t = s->http != NULL ? s->http->first : NULL; t != NULL && !again;
             t = t->next) {
            again = deliver(t);
            if (!again && t->transfer.is_over) {
                finish(t);
                again = true;
            } else if (!again && t->resume_us != 0 && cf_mcp__now() >= t->resume_us) {
                resume(t);
                again = true;
            }
            if (again) {
                break; /* the list may be another */
            }
        }
    }
}

/* ---- the loop ----------------------------------------------------------- */

cf_status cf_mcp__http_init(cf_mcp *mcp, cf_error *err)
{
    cf_http_once();
    mcp->multi = curl_multi_init();
    return mcp->multi != NULL ? CF_OK : cf_oom_for(err, "libcurl");
}

void cf_mcp__http_deinit(cf_mcp *mcp)
{
    curl_multi_cleanup(mcp->multi);
}

/* The smaller of `ms` and the time until `due_us`; 0: nothing is due. */
static uint64_t sooner(uint64_t ms, uint64_t due_us, uint64_t now)
{
    uint64_t left = due_us <= now ? 0 : (due_us - now) / 1000 + 1;
    return due_us != 0 && left < ms ? left : ms;
}

/* Until something is due. */
static uint32_t wait_ms(const cf_mcp *mcp, uint32_t timeout_ms)
{
    uint64_t now = cf_mcp__now(), ms = timeout_ms;
    for (size_t i = 0; i < mcp->n_server; i++) {
        const cf_mcp__server *s = mcp->server[i];
        for (size_t k = 0; k < s->n_request; k++) {
            ms = sooner(ms, s->request[k].deadline_us, now);
        }
        for (const stream *t = s->http != NULL ? s->http->first : NULL; t != NULL; t = t->next) {
            ms = sooner(ms, t->resume_us, now);
        }
    }
    return (uint32_t)ms;
}

static unsigned add_fd(struct curl_waitfd *fds, unsigned n, int fd, int events)
{
    if (fd >= 0) {
        fds[n++] = (struct curl_waitfd){.fd = fd, .events = (short)events};
    }
    return n;
}

cf_status cf_mcp__http_step(cf_mcp *mcp, uint32_t timeout_ms, cf_error *err)
{
    struct curl_waitfd *fds = cf_calloc(3 * mcp->n_server + 1, sizeof *fds);
    unsigned n = 0;
    int n_running;
    if (fds == NULL) {
        return cf_oom_for(err, "a tool server");
    }
    for (size_t i = 0; i < mcp->n_server; i++) {
        const cf_mcp__server *s = mcp->server[i];
        if (s->transport != &cf_mcp__stdio) {
            continue;
        }
        n = add_fd(fds, n, s->process.out, CURL_WAIT_POLLIN);
        n = add_fd(fds, n, s->process.err, CURL_WAIT_POLLIN);
        n = s->out.n > 0 ? add_fd(fds, n, s->process.in, CURL_WAIT_POLLOUT) : n;
    }
    curl_multi_poll(mcp->multi, fds, n, (int)wait_ms(mcp, timeout_ms), NULL);
    cf_free(fds);
    curl_multi_perform(mcp->multi, &n_running);
    cf_http_ends(mcp->multi);
    for (size_t i = 0; i < mcp->n_server; i++) {
        serve(mcp->server[i]);
    }
    return CF_OK;
}
