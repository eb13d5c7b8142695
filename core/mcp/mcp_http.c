/*
 * mcp_http.c - a server at an address: every message is a POST, the answer a
 * JSON document or a stream of events ("Streamable HTTP").
 *
 * libcurl's callbacks only collect; messages are handed on from
 * cf_mcp__http_step(), because what they lead to starts and ends transfers.
 *
 * 1. A stream is in its server's list from its start until drop().
 * 2. The stream of a request that has its answer is dropped.
 * 3. TLS certificates are verified and redirects are not followed; headers of
 *    the configuration go to the server alone, and never into the log.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "core/api/http_once.h"
#include "core/base/alloc.h"
#include "core/mcp/mcp_impl.h"
#include "core/net/http_header.h"
#include "core/net/sse.h"

enum {
    CONNECT_MS = 10000,
    ERROR_SHOWN = 120,
    SESSION_MAX = 1024,
    DELETE_MS = 1000,
    UNAUTHORIZED = 401,
    FORBIDDEN = 403,
    NOT_FOUND = 404
};

typedef struct stream {
    struct stream *next;
    cf_mcp__server *s;
    CURL *easy;
    struct curl_slist *headers;
    int64_t id;   /* of the request; -1: none */
    bool is_open; /* a GET that stays open for what comes unasked */
    cf_buf sent;
    cf_buf body;  /* of an answer that is not a stream */
    cf_buf inbox; /* events, a NUL after each */
    cf_sse sse;
    bool is_sse, is_over;
    CURLcode code;
    long status;
    char session[SESSION_MAX];
    cf_status st;
    cf_error err;
} stream;

struct cf_mcp__http_state {
    stream *first;
    char session[SESSION_MAX]; /* old era; "" */
};

/* ---- what comes --------------------------------------------------------- */

static size_t on_header(char *p, size_t size, size_t n, void *ud)
{
    stream *t = ud;
    cf_str value, line = cf_str_make(p, n * size);
    if (cf_http_header(line, "content-type", &value)) {
        t->is_sse = cf_str_starts(value, cf_str_from("text/event-stream"));
    } else if (cf_http_header(line, "mcp-session-id", &value) && value.n > 0 &&
               value.n < SESSION_MAX) {
        memcpy(t->session, value.p, value.n);
        t->session[value.n] = '\0';
    }
    return line.n;
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

static size_t on_body(char *p, size_t size, size_t n, void *ud)
{
    stream *t = ud;
    size_t max = t->s->mcp->options.message_max;
    n *= size;
    if (t->is_sse) {
        t->st = cf_sse_feed(&t->sse, p, n, on_event, t, &t->err);
        if (t->st == CF_OK && t->sse.line.n + t->sse.data.n > max) {
            t->st =
                cf_fail(&t->err, CF_ELIMIT, "the server sent an event of more than %zu bytes", max);
        }
    } else if (t->body.n + n > max) {
        t->st =
            cf_fail(&t->err, CF_ELIMIT, "the server sent an answer of more than %zu bytes", max);
    } else {
        cf_buf_add(&t->body, p, n);
        t->st = cf_buf_check(&t->body, &t->err);
    }
    return t->st == CF_OK ? n : CURL_WRITEFUNC_ERROR;
}

/* ---- streams ------------------------------------------------------------ */

static void free_stream(stream *t)
{
    if (t == NULL) {
        return;
    }
    if (t->easy != NULL) {
        curl_multi_remove_handle(t->s->mcp->multi, t->easy);
        curl_easy_cleanup(t->easy);
    }
    curl_slist_free_all(t->headers);
    cf_buf_deinit(&t->sent);
    cf_buf_deinit(&t->body);
    cf_buf_deinit(&t->inbox);
    cf_sse_deinit(&t->sse);
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

static bool add_header(stream *t, const char *name, cf_str value)
{
    cf_buf line = CF_BUF_INIT;
    cf_buf_addf(&line, "%s: ", name);
    cf_buf_add(&line, value.p, value.n);
    struct curl_slist *list =
        line.failed ? NULL : curl_slist_append(t->headers, cf_buf_cstr(&line));
    if (line.p != NULL) {
        memset(line.p, 0, line.n); /* it may be a key */
    }
    cf_buf_deinit(&line);
    t->headers = list != NULL ? list : t->headers;
    return list != NULL;
}

typedef struct params {
    stream *t;
    bool ok;
} params;

static void on_param(void *ud, const char *name, cf_str value)
{
    params *p = ud;
    char header[128];
    cf_buf text = CF_BUF_INIT;
    snprintf(header, sizeof header, "Mcp-Param-%s", name);
    cf_mcp__header_value(&text, value);
    p->ok = !text.failed && add_header(p->t, header, cf_buf_str(&text)) && p->ok;
    cf_buf_deinit(&text);
}

/* The headers of the new era that say what the body says. */
static bool add_mirrors(stream *t, const cf_mcp__parcel *parcel)
{
    cf_mcp__server *s = t->s;
    bool ok = parcel->method[0] == '\0' || add_header(t, "Mcp-Method", cf_str_from(parcel->method));
    if (ok && parcel->name.n > 0) {
        cf_buf text = CF_BUF_INIT, why = CF_BUF_INIT;
        params p = {.t = t, .ok = true};
        const json_t *tool = cf_mcp_tool_find(s->tools, parcel->name);
        cf_mcp__header_value(&text, parcel->name);
        ok = !text.failed && add_header(t, "Mcp-Name", cf_buf_str(&text));
        (void)cf_mcp__param_headers(json_object_get(tool, "inputSchema"),
                                    json_object_get(parcel->params, "arguments"), on_param, &p,
                                    &why);
        ok = ok && p.ok;
        cf_buf_deinit(&text);
        cf_buf_deinit(&why);
    }
    return ok;
}

static bool add_headers(stream *t, const cf_mcp__parcel *parcel)
{
    cf_mcp__server *s = t->s;
    const json_t *own = json_object_get(s->config, "headers");
    const char *key;
    json_t *v;
    bool is_modern = s->era != CF_MCP__LEGACY;
    const char *revision = s->revision != NULL ? s->revision
                           : is_modern         ? cf_mcp_revisions[0]
                                               : NULL;
    bool ok = add_header(t, "Accept",
                         cf_str_from(t->is_open ? "text/event-stream"
                                                : "application/json, "
                                                  "text/event-stream")) &&
              add_header(t, "Content-Type", cf_str_from("application/json")) &&
              (t->headers = curl_slist_append(t->headers, "Expect:")) != NULL;
    ok = ok && (revision == NULL || add_header(t, "MCP-Protocol-Version", cf_str_from(revision)));
    ok = ok && (!is_modern || parcel == NULL || add_mirrors(t, parcel));
    ok = ok && (s->http->session[0] == '\0' ||
                add_header(t, "Mcp-Session-Id", cf_str_from(s->http->session)));
    json_object_foreach(cf_json_ref(own), key, v)
    {
        ok = ok && add_header(t, key, cf_str_from(json_string_value(v)));
    }
    return ok;
}

static void set_up(const cf_mcp__server *s, CURL *e, struct curl_slist *headers)
{
    curl_easy_setopt(e, CURLOPT_URL, json_string_value(json_object_get(s->config, "url")));
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers);
    cf_http_usual(e);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(e, CURLOPT_NOPROXY, "localhost,127.0.0.1,::1");
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
}

/* Begins a transfer: a POST of the parcel, or with NULL the GET that stays
 * open. */
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
    t->easy = curl_easy_init();
    if (t->easy == NULL || t->sent.failed || !add_headers(t, parcel)) {
        free_stream(t);
        return cf_oom_for(err, "a request");
    }
    set_up(s, t->easy, t->headers);
    curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
    if (parcel != NULL) {
        curl_easy_setopt(t->easy, CURLOPT_POST, 1L);
        curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->sent.n);
        curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, cf_buf_cstr(&t->sent));
    }
    t->next = s->http->first;
    s->http->first = t;
    curl_multi_add_handle(s->mcp->multi, t->easy);
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
    return CF_OK;
}

static cf_status post(cf_mcp__server *s, const cf_mcp__parcel *parcel, cf_error *err)
{
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

/* Tells a server of the old era that its session is over. */
static void end_session(cf_mcp__server *s)
{
    stream t = {.s = s};
    t.easy = curl_easy_init();
    if (t.easy != NULL && add_headers(&t, NULL)) {
        set_up(s, t.easy, t.headers);
        curl_easy_setopt(t.easy, CURLOPT_CUSTOMREQUEST, "DELETE");
        curl_easy_setopt(t.easy, CURLOPT_NOBODY, 1L);
        curl_easy_setopt(t.easy, CURLOPT_TIMEOUT_MS, (long)DELETE_MS);
        (void)curl_easy_perform(t.easy); /* it may not offer that */
    }
    curl_easy_cleanup(t.easy);
    curl_slist_free_all(t.headers);
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
    const char *hint = t->code == CURLE_COULDNT_CONNECT        ? "; is the server running?"
                       : t->code == CURLE_COULDNT_RESOLVE_HOST ? "; is the address right?"
                                                               : "";
    if (t->st != CF_OK) {
        *why = t->err;
    } else if (t->code != CURLE_OK) {
        cf_fail(why, CF_EIO, "%s%s", curl_easy_strerror(t->code), hint);
    } else if (t->status == UNAUTHORIZED || t->status == FORBIDDEN) {
        cf_fail(why, CF_EIO,
                "HTTP %ld: the server wants authorization; give it with "
                "\"headers\"",
                t->status);
    } else if (t->status >= 400) {
        size_t n = strcspn(cf_buf_cstr(&t->body), "\r\n");
        cf_fail(why, CF_EIO, "HTTP %ld%s%.*s", t->status, n > 0 ? ": " : "",
                (int)(n < ERROR_SHOWN ? n : ERROR_SHOWN), cf_buf_cstr(&t->body));
    } else {
        cf_fail(why, CF_EIO, "HTTP %ld without an answer", t->status);
    }
}

/* The body as a message, with the request's id where an error has none. */
static bool take_body(stream *t)
{
    cf_mcp__server *s = t->s;
    json_t *v = NULL;
    cf_error ignored;
    cf_buf text = CF_BUF_INIT;
    if (t->st != CF_OK || t->code != CURLE_OK ||
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

/* A transfer has ended.  `t` is gone after. */
static void finish(stream *t)
{
    cf_mcp__server *s = t->s;
    int64_t id = t->id;
    long status = t->status;
    cf_error why;
    bool is_open = t->is_open;
    failure(t, &why);
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
            if (!again && t->is_over) {
                finish(t);
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

/* Until something is due. */
static uint32_t wait_ms(const cf_mcp *mcp, uint32_t timeout_ms)
{
    uint64_t now = cf_mcp__now(), ms = timeout_ms;
    for (size_t i = 0; i < mcp->n_server; i++) {
        const cf_mcp__server *s = mcp->server[i];
        for (size_t k = 0; k < s->n_request; k++) {
            uint64_t due = s->request[k].deadline_us;
            uint64_t left = due <= now ? 0 : (due - now) / 1000 + 1;
            ms = due != 0 && left < ms ? left : ms;
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
    int n_running, left;
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
    for (CURLMsg *m; (m = curl_multi_info_read(mcp->multi, &left)) != NULL;) {
        stream *t = NULL;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        if (m->msg == CURLMSG_DONE && t != NULL) {
            t->is_over = true;
            t->code = m->data.result;
            curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->status);
        }
    }
    for (size_t i = 0; i < mcp->n_server; i++) {
        serve(mcp->server[i]);
    }
    return CF_OK;
}
