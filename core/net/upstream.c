/*
 * upstream.c - one transfer of libcurl, driven by the thread that reads it.
 *
 * Rules:
 *  1. The transfer moves only inside open and read, which wait on the server's
 *     socket, and on the client's to see it close.
 *  2. `in` holds what arrived and was not read; the transfer pauses while it
 *     holds IN_MAX bytes or more.
 */
#define _DEFAULT_SOURCE 1 /* strncasecmp */
#include "core/net/upstream.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "core/base/alloc.h"
#include "core/net/http_client.h"

enum {
    IN_MAX = 1 << 20,
    WAIT_MS = 100, /* how soon the end of the program is noticed */
    HEADERS_MAX = 256,
    HEADER_BYTES_MAX = 32 << 10 /* our server has 64 KiB for a request's and its answer's */
};

struct cf_upstream_link {
    CURLM *multi;
    CURL *easy;
};

struct cf_upstream_call {
    cf_upstream_link *link;
    cf_http_transfer transfer;
    cf_arena arena;
    cf_http_header *head; /* [n_head] of the answer */
    size_t n_head, head_bytes;
    bool has_head, has_too_many, is_paused;
    unsigned status;
    cf_buf in;
    size_t at; /* of `in`, read so far */
    int fd;    /* the client's; -1: is not watched */
    const atomic_bool *stopping;
    bool is_left; /* by the client, or by the program */
};

cf_status cf_upstream_link_new(cf_upstream_link **out, cf_error *err)
{
    cf_upstream_link *l = cf_calloc(1, sizeof *l);
    if (l != NULL) {
        l->multi = curl_multi_init();
        l->easy = curl_easy_init();
    }
    if (l == NULL || l->multi == NULL || l->easy == NULL) {
        cf_upstream_link_free(l);
        return cf_oom_for(err, "a connection");
    }
    *out = l;
    return CF_OK;
}

void cf_upstream_link_free(cf_upstream_link *l)
{
    if (l != NULL) {
        curl_easy_cleanup(l->easy);
        curl_multi_cleanup(l->multi);
        cf_free(l);
    }
}

/* ---- addresses ---------------------------------------------------------- */

static size_t scheme_of(const char *url)
{
    if (strncasecmp(url, "http://", 7) == 0) {
        return 7;
    }
    return strncasecmp(url, "https://", 8) == 0 ? 8 : 0;
}

cf_status cf_upstream_check(const char *url, cf_error *err)
{
    size_t n = scheme_of(url);
    return n != 0 && url[n] != '\0' && url[n] != '/'
               ? CF_OK
               : cf_fail(err, CF_EINVAL, "--to: expected an http or https address");
}

void cf_upstream_show(cf_buf *out, const char *url)
{
    size_t n = scheme_of(url);
    size_t end = n + strcspn(url + n, "/?#");
    size_t host = n;
    for (size_t i = n; i < end; i++) {
        host = url[i] == '@' ? i + 1 : host;
    }
    end = host + strcspn(url + host, "?#");
    while (end > host && url[end - 1] == '/') {
        end--;
    }
    cf_buf_add(out, url, n);
    cf_buf_add(out, url + host, end - host);
}

/* The server's address and the client's target; "/v1" stands once where both
 * have it. */
static void put_url(cf_buf *out, const char *base, cf_str target)
{
    size_t n = strcspn(base, "?#");
    while (n > 0 && base[n - 1] == '/') {
        n--;
    }
    if (n > 3 && strncmp(base + n - 3, "/v1", 3) == 0 &&
        cf_str_starts(target, cf_str_from("/v1/"))) {
        n -= 3;
    }
    cf_buf_add(out, base, n);
    cf_buf_adds(out, target.n == 0 || target.p[0] != '/' ? "/" : "");
    cf_buf_add(out, target.p, target.n);
}

/* ---- headers ------------------------------------------------------------ */

/* Whether a list of names with commas between has the name. */
static bool lists(cf_str list, cf_str name)
{
    for (size_t at = 0; at < list.n;) {
        const char *p = list.p + at;
        const char *comma = memchr(p, ',', list.n - at);
        size_t n = comma != NULL ? (size_t)(comma - p) : list.n - at, from = 0, to = n;
        while (from < to && (p[from] == ' ' || p[from] == '\t')) {
            from++;
        }
        while (to > from && (p[to - 1] == ' ' || p[to - 1] == '\t')) {
            to--;
        }
        if (to - from == name.n && strncasecmp(p + from, name.p, name.n) == 0) {
            return true;
        }
        at += n + 1;
    }
    return false;
}

bool cf_upstream_is_hop(const cf_http_header *headers, size_t n, cf_str name)
{
    static const char *const names[] = {"Connection",        "Keep-Alive", "Proxy-Connection",
                                        "Transfer-Encoding", "TE",         "Trailer",
                                        "Upgrade",           "Expect",     "Proxy-Authorization"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (cf_http_name_is(name, names[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (cf_http_name_is(headers[i].name, "Connection") && lists(headers[i].value, name)) {
            return true;
        }
    }
    return false;
}

/* A client that gave the token has no key; it gets ours, if there is one. */
static bool is_token_header(const cf_http_request *r, cf_str name)
{
    return cf_http_name_is(name, "X-Confab-Token") ||
           (r->used_token &&
            (cf_http_name_is(name, "Authorization") || cf_http_name_is(name, "X-Api-Key")));
}

static void set_headers(cf_upstream_call *c, const cf_upstream *up, const cf_http_request *r)
{
    static const struct {
        const char *name;
        bool is_never_sent; /* else only what the client sent */
    } own[] = {{"Accept", false}, {"Content-Type", false}, {"Expect", true}};
    const cf_str none = {"", 0};
    for (size_t i = 0; i < r->n_headers; i++) {
        const cf_http_header *h = &r->headers[i];
        if (!cf_upstream_is_hop(r->headers, r->n_headers, h->name) &&
            !cf_http_name_is(h->name, "Host") && !cf_http_name_is(h->name, "Content-Length") &&
            !is_token_header(r, h->name)) {
            cf_http_header_add(&c->transfer, h->name, h->value.n != 0 ? ": " : ";", h->value);
        }
    }
    /* libcurl would add these by itself. */
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (own[i].is_never_sent ||
            cf_http_header_get(r->headers, r->n_headers, own[i].name).p == NULL) {
            cf_http_header_add(&c->transfer, cf_str_from(own[i].name), ":", none);
        }
    }
    if (r->used_token && up->key != NULL) {
        cf_http_header_add(&c->transfer, cf_str_from("Authorization"), ": Bearer ",
                           cf_str_from(up->key));
    }
}

static cf_http_took on_header(void *ud, cf_str line)
{
    cf_upstream_call *c = ud;
    const char *p = line.p;
    size_t len = line.n;
    if (c->has_head) { /* a trailer, which is no header */
        return CF_HTTP_TOOK;
    }
    while (len > 0 && (p[len - 1] == '\r' || p[len - 1] == '\n')) {
        len--;
    }
    if (len >= 5 && strncmp(p, "HTTP/", 5) == 0) { /* another answer begins */
        c->n_head = c->head_bytes = 0;
        return CF_HTTP_TOOK;
    }
    if (len == 0) {
        long status = 0;
        (void)curl_easy_getinfo(c->link->easy, CURLINFO_RESPONSE_CODE, &status);
        c->status = (unsigned)status;
        c->has_head = status >= 200;
        return CF_HTTP_TOOK;
    }
    const char *colon = memchr(p, ':', len);
    c->head_bytes += len;
    if (colon == NULL) {
        return CF_HTTP_TOOK;
    }
    c->has_too_many = c->n_head == HEADERS_MAX || c->head_bytes > HEADER_BYTES_MAX;
    if (c->has_too_many) {
        return CF_HTTP_STOP;
    }
    size_t n_name = (size_t)(colon - p);
    size_t from = n_name + 1;
    while (from < len && (p[from] == ' ' || p[from] == '\t')) {
        from++;
    }
    const char *name = cf_arena_strndup(&c->arena, p, n_name);
    const char *value = cf_arena_strndup(&c->arena, p + from, len - from);
    if (name == NULL || value == NULL) {
        return CF_HTTP_STOP;
    }
    c->head[c->n_head++] =
        (cf_http_header){cf_str_make(name, n_name), cf_str_make(value, len - from)};
    return CF_HTTP_TOOK;
}

static cf_http_took on_body(void *ud, cf_str bytes)
{
    cf_upstream_call *c = ud;
    if (c->in.n >= IN_MAX) {
        c->is_paused = true;
        return CF_HTTP_PAUSE;
    }
    cf_buf_add(&c->in, bytes.p, bytes.n);
    return c->in.failed ? CF_HTTP_STOP : CF_HTTP_TOOK;
}

/* ---- moving ------------------------------------------------------------- */

/* Whether the client's connection is closed.  Bytes of a next request end the
 * watch, as they would wake the wait again and again. */
static void check_disconnect(cf_upstream_call *c, short events)
{
    char one;
    if (c->fd < 0 || events == 0) {
        return;
    }
    ssize_t n = recv(c->fd, &one, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
        c->is_left = true;
    } else if (n > 0) {
        c->fd = -1;
    }
}

/* Moves the transfer; waits for sockets when nothing has changed. */
static void move(cf_upstream_call *c)
{
    int running = 0;
    size_t before = c->in.n;
    bool had_head = c->has_head;
    if (curl_multi_perform(c->link->multi, &running) != CURLM_OK) {
        c->transfer.is_over = true;
        c->transfer.code = CURLE_FAILED_INIT;
        return;
    }
    cf_http_ends(c->link->multi);
    if (c->transfer.is_over || c->in.n != before || c->has_head != had_head) {
        return;
    }
    struct curl_waitfd client = {.fd = c->fd, .events = CURL_WAIT_POLLIN};
    (void)curl_multi_poll(c->link->multi, &client, c->fd >= 0 ? 1 : 0, WAIT_MS, NULL);
    check_disconnect(c, client.revents);
    c->is_left = c->is_left || (c->stopping != NULL && atomic_load(c->stopping));
}

static cf_status start(cf_upstream_call *c, const cf_upstream *up, const cf_http_request *r,
                       cf_str body, cf_error *err)
{
    cf_buf url = CF_BUF_INIT;
    const bool has_body = body.n != 0 || cf_str_is(r->method, "POST") ||
                          cf_str_is(r->method, "PUT") || cf_str_is(r->method, "PATCH");
    char *method = cf_arena_strndup(&c->arena, r->method.p, r->method.n);
    put_url(&url, up->url, r->target);
    set_headers(c, up, r);
    c->transfer.easy = c->link->easy;
    c->transfer.is_lent = true;
    c->transfer.on_header = on_header;
    c->transfer.on_body = on_body;
    c->transfer.ud = c;
    const cf_http_ask ask = {.url = cf_buf_cstr(&url),
                             .method = method,
                             .body = has_body && !cf_str_is(r->method, "HEAD")
                                         ? cf_str_make(body.p != NULL ? body.p : "", body.n)
                                         : cf_str_make(NULL, 0),
                             .ca = up->ca,
                             .as_is = true};
    cf_status st = url.failed || method == NULL
                       ? cf_oom(err)
                       : cf_http_start(&c->transfer, c->link->multi, &ask, err);
    cf_buf_deinit(&url);
    return st;
}

static const char *why(const cf_upstream_call *c)
{
    return c->has_too_many                     ? "its answer has too many headers, or too long ones"
           : c->transfer.why[0] != '\0'        ? c->transfer.why
           : c->transfer.code == (int)CURLE_OK ? "it gave no answer that ends the exchange"
                                               : curl_easy_strerror((CURLcode)c->transfer.code);
}

cf_status cf_upstream_open(cf_upstream_call **out, cf_upstream_link *link, const cf_upstream *up,
                           const cf_http_request *r, cf_str body, cf_error *err)
{
    cf_upstream_call *c = cf_calloc(1, sizeof *c);
    if (c == NULL) {
        return cf_oom(err);
    }
    c->link = link;
    c->fd = r->fd;
    c->stopping = r->stopping;
    cf_arena_init(&c->arena, 0);
    c->head = cf_arena_calloc(&c->arena, HEADERS_MAX, sizeof *c->head);
    cf_status st = c->head != NULL ? start(c, up, r, body, err) : cf_oom(err);
    while (st == CF_OK && !c->has_head) {
        move(c);
        if (c->is_left) {
            st = cf_fail(err, CF_ECANCELLED, "the client is gone");
        } else if (c->transfer.is_over && !c->has_head) {
            st = cf_fail(err, CF_EIO, "%s", why(c));
        }
    }
    if (st != CF_OK) {
        cf_upstream_close(c);
        return st;
    }
    *out = c;
    return CF_OK;
}

unsigned cf_upstream_status(const cf_upstream_call *c)
{
    return c->status;
}

const cf_http_header *cf_upstream_headers(const cf_upstream_call *c, size_t *n)
{
    *n = c->n_head;
    return c->head;
}

int64_t cf_upstream_size(const cf_upstream_call *c)
{
    curl_off_t n = -1;
    (void)curl_easy_getinfo(c->link->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &n);
    return (int64_t)n;
}

ssize_t cf_upstream_read(cf_upstream_call *c, char *to, size_t n)
{
    while (c->at == c->in.n) {
        cf_buf_reset(&c->in);
        c->at = 0;
        if (c->is_left || (c->transfer.is_over && c->transfer.code != CURLE_OK)) {
            return -1;
        }
        if (c->transfer.is_over) {
            return 0;
        }
        if (c->is_paused) {
            c->is_paused = false;
            (void)curl_easy_pause(c->link->easy, CURLPAUSE_CONT);
        }
        if (c->in.n == 0) {
            move(c);
        }
    }
    size_t have = c->in.n - c->at;
    n = n < have ? n : have;
    memcpy(to, c->in.p + c->at, n);
    c->at += n;
    return (ssize_t)n;
}

bool cf_upstream_left(const cf_upstream_call *c)
{
    return c->is_left;
}

void cf_upstream_close(cf_upstream_call *c)
{
    if (c == NULL) {
        return;
    }
    cf_http_end(&c->transfer, c->link->multi);
    cf_buf_deinit(&c->in);
    cf_arena_deinit(&c->arena);
    cf_free(c);
}
