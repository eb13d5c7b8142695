/*
 * proxy.c - one request: asks the server, gives its answer to the client as it
 * comes, and a copy of it to the recorder.
 */
#include "tui/serve/proxy/proxy.h"

#include <string.h>
#include <sys/socket.h>

#include "core/api/http_once.h"
#include "core/base/alloc.h"
#include "tui/lab/watch/breakpoint.h"
#include "tui/serve/record/api_fail.h"

cf_status cf_proxy_init(cf_proxy *p, const cf_upstream *upstream, cf_recorder *recorder,
                        cf_error *err)
{
    cf_buf shown = CF_BUF_INIT;
    CF_TRY(cf_upstream_check(upstream->url, err));
    cf_http_once();
    cf_upstream_show(&shown, upstream->url);
    *p = (cf_proxy){.upstream = *upstream, .recorder = recorder};
    p->shown = cf_buf_take(&shown);
    return p->shown != NULL ? CF_OK : cf_oom(err);
}

void cf_proxy_deinit(cf_proxy *p)
{
    cf_free(p->shown);
    p->shown = NULL;
}

/* A request on its way. */
typedef struct passing {
    cf_upstream_call *call;
    cf_record *record;
    bool is_whole, is_broken;
} passing;

static ssize_t on_read(void *ud, char *to, size_t n)
{
    passing *p = ud;
    ssize_t got = cf_upstream_read(p->call, to, n);
    if (got > 0) {
        cf_record_bytes(p->record, to, (size_t)got);
    }
    p->is_whole = p->is_whole || got == 0;
    p->is_broken = p->is_broken || got < 0;
    return got;
}

static void on_done(void *ud, bool is_sent)
{
    passing *p = ud;
    /* An answer of an announced size is over before its end is read. */
    cf_record_end how = is_sent        ? CF_RECORD_WHOLE
                        : p->is_broken ? CF_RECORD_BROKEN
                                       : CF_RECORD_LEFT;
    if (p->is_broken && cf_upstream_left(p->call)) {
        how = CF_RECORD_LEFT;
    }
    cf_record_end_with(p->record, how, NULL);
    cf_upstream_close(p->call);
    cf_free(p);
}

static bool get_link(const cf_http_request *r, cf_upstream_link **link, cf_error *err)
{
    if (r->link == NULL) {
        (void)cf_oom(err);
        return false;
    }
    if (*r->link == NULL) {
        cf_upstream_link *made;
        if (cf_upstream_link_new(&made, err) != CF_OK) {
            return false;
        }
        *r->link = made;
    }
    *link = *r->link;
    return true;
}

/* The answer's headers without those of one connection. */
static void pass_headers(const cf_http_request *r, const cf_upstream_call *call, cf_http_answer *a)
{
    size_t n;
    const cf_http_header *all = cf_upstream_headers(call, &n);
    cf_http_header *out = cf_arena_calloc(r->arena, n + 1, sizeof *out);
    for (size_t i = 0; out != NULL && i < n; i++) {
        if (!cf_upstream_is_hop(all, n, all[i].name) &&
            !cf_http_name_is(all[i].name, "Content-Length")) {
            out[a->n_headers++] = all[i];
        }
    }
    a->headers = out;
}

static void fail(const cf_http_request *r, cf_http_answer *a, passing *p, const cf_error *err)
{
    cf_error line;
    cf_fail(&line, err->code, "the server cannot be asked: %s", err->text);
    cf_api_fail(r, a, 502, "proxy_error", line.text);
    cf_record_head(p->record, 502, NULL, 0);
    cf_record_end_with(p->record, err->code == CF_ECANCELLED ? CF_RECORD_LEFT : CF_RECORD_FAILED,
                       err->text);
    cf_free(p);
}

/* Whether nobody waits for the answer any more. */
static bool has_left(void *ud)
{
    const cf_http_request *r = ud;
    char one;
    return (r->stopping != NULL && atomic_load(r->stopping)) ||
           (r->fd >= 0 && recv(r->fd, &one, 1, MSG_PEEK | MSG_DONTWAIT) == 0);
}

/* Stops at the breakpoint.  False: the request is not to be sent; else *body
 * is what goes on, in the request's arena where the user changed it. */
static bool stop_at_break(const cf_proxy *proxy, const cf_http_request *r, cf_str *body)
{
    char id[CF_UUID_TEXT + 1];
    cf_http_request watched = *r;
    cf_buf text = CF_BUF_INIT;
    if (proxy->breaks == NULL || r->body.n == 0) {
        return true;
    }
    cf_uuid_format(id, cf_uuid_new());
    cf_break_how how = cf_break_hold(proxy->breaks, id, r->body, has_left, &watched, &text);
    bool goes = how == CF_BREAK_PASSED || how == CF_BREAK_SENT;
    if (how == CF_BREAK_SENT) {
        char *copy = cf_arena_strndup(r->arena, cf_buf_cstr(&text), text.n);
        goes = copy != NULL && !text.failed;
        *body = cf_str_make(copy, text.n);
    }
    cf_buf_deinit(&text);
    return goes;
}

/* A client that hears 426 goes on over HTTP at once; one whose upgrade is
 * ignored tries again and again. */
static bool wants_upgrade(const cf_http_request *r)
{
    return cf_http_name_is(cf_http_header_get(r->headers, r->n_headers, "Upgrade"), "websocket");
}

static void on_answer(void *ud, const cf_http_request *r, cf_http_answer *a)
{
    const cf_proxy *proxy = ud;
    if (wants_upgrade(r)) {
        cf_api_fail(r, a, 426, "upgrade_refused", "WebSockets are not passed on; use HTTP");
        return;
    }
    cf_str body = r->body;
    cf_upstream_link *link = NULL;
    cf_error err;
    passing *p = cf_calloc(1, sizeof *p);
    if (p == NULL || !get_link(r, &link, &err)) {
        cf_free(p);
        cf_api_fail(r, a, 503, "proxy_error", "out of memory");
        return;
    }
    if (!stop_at_break(proxy, r, &body)) {
        cf_fail(&err, CF_ECANCELLED, "stopped at a breakpoint and dropped");
        p->record = cf_record_begin(proxy->recorder, r, body, proxy->shown);
        fail(r, a, p, &err);
        return;
    }
    p->record = cf_record_begin(proxy->recorder, r, body, proxy->shown);
    if (cf_upstream_open(&p->call, link, &proxy->upstream, r, body, &err) != CF_OK) {
        fail(r, a, p, &err);
        return;
    }
    size_t n;
    const cf_http_header *headers = cf_upstream_headers(p->call, &n);
    *a = (cf_http_answer){.status = cf_upstream_status(p->call),
                          .size = cf_upstream_size(p->call),
                          .read = on_read,
                          .done = on_done,
                          .ud = p};
    cf_record_head(p->record, a->status, headers, n);
    pass_headers(r, p->call, a);
}

static void on_unlink(void *ud, void *link)
{
    (void)ud;
    cf_upstream_link_free(link);
}

cf_http_handler cf_proxy_handler(cf_proxy *p)
{
    return (cf_http_handler){
        .answer = on_answer, .unlink = on_unlink, .fail = cf_api_fail, .ud = p};
}
