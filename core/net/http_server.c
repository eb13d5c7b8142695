/*
 * http_server.c - libmicrohttpd with a thread a connection.
 *
 * Rules:
 *  1. A request exists from its first line (on_uri) to on_completed, which
 *     frees it; both run on the connection's thread.
 *  2. The handler is asked once, when the body is whole and the client may
 *     ask.
 *  3. `done` of an answer is called by on_completed, and by nothing else.
 *  4. n_bodies is the length of all requests' bodies together, and never over
 *     bodies_max; on_completed gives a body's length back.
 *  5. An answer of success is sent whole or not at all: where the arena, which
 *     has its headers and its body, has failed, 503 goes in its place.
 */
#define _DEFAULT_SOURCE 1 /* strncasecmp, timersub and the like of MHD */
#include "core/net/http_server.h"

#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/json/json_writer.h"

enum {
    HEADERS_MAX = 256,
    CONNECTIONS_MAX = 1000,
    CONNECTION_BYTES = 64 << 10, /* of headers, and of one write */
    STACK_BYTES = 4 << 20,
    IDLE_SECONDS = 300,
    BLOCK_BYTES = 32 << 10
};

#define VERSION_OF_DISCIPLINE 0x00097701 /* of MHD_OPTION_CLIENT_DISCIPLINE_LVL */

struct cf_http_server {
    struct MHD_Daemon *daemon;
    cf_http_handler handler;
    char *token; /* NULL: none */
    char url[300];
    bool is_loopback;
    atomic_bool stopping;
    atomic_int n_active; /* requests between on_uri and on_completed */
    size_t bodies_max;
    atomic_size_t n_bodies;
};

typedef struct request {
    cf_http_request in; /* first */
    cf_http_server *server;
    cf_arena arena;
    cf_buf body;
    cf_http_header *headers; /* [HEADERS_MAX] */
    bool has_more_headers;   /* than there is room for */
    bool is_folded;          /* a header goes on in a second line */
    bool is_begun, is_answered;
    bool is_too_big; /* over CF_HTTP_BODY_MAX */
    bool is_crowded; /* over what is left for the bodies of all requests */
    bool is_lost;    /* `out` could not be made whole: 503 was sent */
    cf_http_answer out;
} request;

/* ---- headers ------------------------------------------------------------ */

bool cf_http_name_is(cf_str name, const char *want)
{
    return name.n == strlen(want) && strncasecmp(name.p, want, name.n) == 0;
}

cf_str cf_http_header_get(const cf_http_header *headers, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (cf_http_name_is(headers[i].name, name)) {
            return headers[i].value;
        }
    }
    return cf_str_make(NULL, 0);
}

static cf_str header(const request *r, const char *name)
{
    return cf_http_header_get(r->headers, r->in.n_headers, name);
}

/*
 * Whether a header was put together from several lines (RFC 9112, section 5.2).
 * The library of before this version has no option to refuse these, and adds the second
 * line to the name, in memory of its own; otherwise name and value are where the
 * client's line was: NUL in the place of the colon, and blanks.
 */
static bool is_folded(const char *name, size_t n_name, const char *value)
{
    uintptr_t end = (uintptr_t)name + n_name, at = (uintptr_t)value;
    if (MHD_VERSION >= VERSION_OF_DISCIPLINE || value == NULL) {
        return false;
    }
    if (at <= end || at - end > CONNECTION_BYTES) {
        return true;
    }
    for (const char *p = name + n_name + 1; p < value; p++) {
        if (*p != ' ' && *p != '\t') {
            return true;
        }
    }
    return false;
}

/* RFC 9110, section 5.6.2. */
static bool is_http_token(cf_str s)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
            memchr(marks, c, sizeof marks - 1) == NULL) {
            return false;
        }
    }
    return s.n > 0;
}

/* A line break, or another control character but the tab, ends a value early
 * for some programs. */
static bool has_control(cf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c < 0x20 && c != '\t') || c == 0x7F) {
            return true;
        }
    }
    return false;
}

static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                 size_t n_name, const char *value, size_t n_value)
{
    request *r = cls;
    (void)kind;
    if (r->in.n_headers == HEADERS_MAX) {
        r->has_more_headers = true;
        return MHD_NO;
    }
    r->is_folded = r->is_folded || is_folded(name, n_name, value);
    r->headers[r->in.n_headers++] =
        (cf_http_header){cf_str_make(name, n_name),
                         cf_str_make(value != NULL ? value : "", value != NULL ? n_value : 0)};
    return MHD_YES;
}

/* ---- who may ask -------------------------------------------------------- */

/* The host of "host:port", brackets and port left out. */
static cf_str host_of(cf_str s)
{
    if (s.n > 0 && s.p[0] == '[') {
        const char *end = memchr(s.p, ']', s.n);
        return end != NULL ? cf_str_make(s.p + 1, (size_t)(end - s.p) - 1) : s;
    }
    const char *colon = s.n > 0 ? memchr(s.p, ':', s.n) : NULL;
    return cf_str_make(s.p, colon != NULL ? (size_t)(colon - s.p) : s.n);
}

static bool is_loopback_name(cf_str host)
{
    if (cf_http_name_is(host, "localhost") || cf_str_is(host, "::1")) {
        return true;
    }
    /* 127.0.0.0/8, as four numbers and nothing else */
    int dots = 0;
    for (size_t i = 0; i < host.n; i++) {
        dots += host.p[i] == '.';
        if (host.p[i] != '.' && (host.p[i] < '0' || host.p[i] > '9')) {
            return false;
        }
    }
    return dots == 3 && cf_str_starts(host, cf_str_from("127."));
}

/* A page of this very server may ask; every other page may not. */
static bool is_foreign_origin(const request *r)
{
    cf_str origin = header(r, "Origin");
    cf_str host = header(r, "Host");
    cf_str site = header(r, "Sec-Fetch-Site");
    if (site.p != NULL && !cf_str_is(site, "same-origin") && !cf_str_is(site, "none")) {
        return true;
    }
    cf_str scheme = cf_str_from("http://");
    return origin.p != NULL &&
           (!cf_str_starts(origin, scheme) ||
            !cf_str_eq(cf_str_make(origin.p + scheme.n, origin.n - scheme.n), host));
}

/* In the same time for every text of one length. */
static bool is_token(const cf_http_server *s, cf_str text)
{
    size_t n = strlen(s->token);
    unsigned char differs = 0;
    for (size_t i = 0; text.n == n && i < n; i++) {
        differs |= (unsigned char)(s->token[i] ^ text.p[i]);
    }
    return text.n == n && differs == 0;
}

static bool has_token(request *r)
{
    cf_str bearer = cf_str_from("Bearer ");
    cf_str key = header(r, "Authorization");
    if (cf_str_starts(key, bearer)) {
        key = cf_str_make(key.p + bearer.n, key.n - bearer.n);
    }
    r->in.used_token = is_token(r->server, key) || is_token(r->server, header(r, "X-Api-Key"));
    return r->in.used_token || is_token(r->server, header(r, "X-Confab-Token"));
}

/* Whether programs could see different ends, headers or hosts in this request:
 * then one of them can be made to take its body for a request, or a page of
 * another site for one of ours. */
static bool is_ambiguous(const request *r)
{
    size_t n_lengths = 0, n_codings = 0, n_hosts = 0, n_origins = 0, n_sites = 0;
    if (r->is_folded || !is_http_token(r->in.method) || has_control(r->in.target)) {
        return true;
    }
    for (size_t i = 0; i < r->in.n_headers; i++) {
        const cf_http_header *h = &r->headers[i];
        if (!is_http_token(h->name) || has_control(h->value)) {
            return true;
        }
        n_origins += cf_http_name_is(h->name, "Origin");
        n_sites += cf_http_name_is(h->name, "Sec-Fetch-Site");
        n_lengths += cf_http_name_is(h->name, "Content-Length");
        n_hosts += cf_http_name_is(h->name, "Host");
        if (cf_http_name_is(h->name, "Transfer-Encoding")) {
            n_codings += cf_http_name_is(h->value, "chunked") ? 1 : 2;
        }
    }
    return n_lengths + n_codings > 1 || n_hosts > 1 || n_origins > 1 || n_sites > 1;
}

/* Whether the body that is announced is too large, however many digits say so. */
static bool is_announced_too_large(const request *r)
{
    cf_str length = header(r, "Content-Length");
    size_t n = 0;
    for (size_t i = 0; i < length.n && n <= CF_HTTP_BODY_MAX; i++) {
        n = length.p[i] >= '0' && length.p[i] <= '9' ? 10 * n + (size_t)(length.p[i] - '0') : n;
    }
    return n > CF_HTTP_BODY_MAX;
}

/* The status of a refusal, and why; 0 for a client that may ask. */
static unsigned refuses(request *r, const char **why)
{
    cf_str host = header(r, "Host");
    if (r->has_more_headers) {
        *why = "this request has more than 256 headers";
        return MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
    }
    if (is_ambiguous(r)) {
        *why = "this request's headers, length, coding, host or origin are not clear";
        return MHD_HTTP_BAD_REQUEST;
    }
    if (is_announced_too_large(r)) {
        *why = "the body of this request is too large";
        return MHD_HTTP_CONTENT_TOO_LARGE;
    }
    if (is_foreign_origin(r)) {
        *why = "this request came from a page of another origin";
        return MHD_HTTP_FORBIDDEN;
    }
    if (r->server->is_loopback && host.p != NULL && !is_loopback_name(host_of(host))) {
        *why = "the Host of this request is not a name of this machine";
        return MHD_HTTP_FORBIDDEN;
    }
    if (r->server->token != NULL && !has_token(r)) {
        *why = "this server wants its token, as the key or in X-Confab-Token";
        return MHD_HTTP_UNAUTHORIZED;
    }
    return 0;
}

/* ---- answers ------------------------------------------------------------ */

static const cf_http_header json = {{"Content-Type", 12}, {"application/json", 16}};
/* Needs no memory. */
static const char no_memory[] =
    "{\"error\":{\"message\":\"out of memory\",\"type\":\"server_error\","
    "\"code\":503}}";

void cf_http_fail(const cf_http_request *r, cf_http_answer *a, unsigned status, const char *type,
                  const char *message)
{
    cf_buf text = CF_BUF_INIT;
    cf_jw w;
    cf_jw_init(&w, &text);
    cf_jw_object(&w, NULL);
    cf_jw_object(&w, "error");
    cf_jw_text(&w, "message", message);
    cf_jw_text(&w, "type", type);
    cf_jw_uint(&w, "code", status);
    cf_jw_end(&w);
    cf_jw_end(&w);
    const char *copy = cf_arena_strndup(r->arena, cf_buf_cstr(&text), text.n);
    bool is_whole = cf_jw_finish(&w, NULL) == CF_OK && copy != NULL;
    *a = (cf_http_answer){.status = status,
                          .headers = &json,
                          .n_headers = 1,
                          .body = is_whole ? cf_str_make(copy, text.n) : cf_str_from(no_memory)};
    cf_buf_deinit(&text);
}

static void fail(request *r, unsigned status, const char *type, const char *message)
{
    const cf_http_handler *h = &r->server->handler;
    (h->fail != NULL ? h->fail : cf_http_fail)(&r->in, &r->out, status, type, message);
}

static ssize_t on_read(void *cls, uint64_t pos, char *to, size_t max)
{
    (void)pos;
    const request *r = cls;
    ssize_t n = r->out.read(r->out.ud, to, max);
    return n > 0    ? n
           : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM
                    : MHD_CONTENT_READER_END_WITH_ERROR;
}

/* NULL without memory, and perhaps without headers when the arena failed. */
static struct MHD_Response *make_response(request *r)
{
    const cf_http_answer *a = &r->out;
    struct MHD_Response *response;
    if (a->read != NULL) {
        response = MHD_create_response_from_callback(
            a->size >= 0 ? (uint64_t)a->size : MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_read, r, NULL);
    } else {
        char empty[1] = "";
        union {
            const char *in;
            void *out;
        } body = {a->body.n != 0 ? a->body.p : empty};
        response = MHD_create_response_from_buffer(a->body.n, body.out, MHD_RESPMEM_MUST_COPY);
    }
    for (size_t i = 0; response != NULL && i < a->n_headers; i++) {
        const cf_http_header *h = &a->headers[i];
        char *name = cf_arena_strndup(&r->arena, h->name.p, h->name.n);
        char *value = cf_arena_strndup(&r->arena, h->value.p, h->value.n);
        if (name != NULL && value != NULL) {
            (void)MHD_add_response_header(response, name, value);
        }
    }
    return response;
}

/* Puts 503 in the place of an answer that is not whole; `done` stays. */
static void lose_answer(request *r)
{
    r->is_lost = true;
    r->out.status = MHD_HTTP_SERVICE_UNAVAILABLE;
    r->out.headers = &json;
    r->out.n_headers = 1;
    r->out.read = NULL;
    r->out.body = cf_str_from(no_memory);
}

static enum MHD_Result send_answer(request *r, struct MHD_Connection *c)
{
    const bool is_success = r->out.status < MHD_HTTP_BAD_REQUEST;
    struct MHD_Response *response = make_response(r);
    if (is_success && r->arena.failed) {
        if (response != NULL) {
            MHD_destroy_response(response);
        }
        lose_answer(r);
        response = make_response(r);
    }
    if (response == NULL) {
        return MHD_NO;
    }
    enum MHD_Result ok = MHD_queue_response(c, r->out.status, response);
    MHD_destroy_response(response);
    r->is_answered = true;
    return ok;
}

/* ---- requests ----------------------------------------------------------- */

static void *on_uri(void *cls, const char *uri, struct MHD_Connection *c)
{
    (void)c;
    cf_http_server *s = cls;
    request *r = cf_calloc(1, sizeof *r);
    if (r == NULL) {
        return NULL;
    }
    r->server = s;
    cf_arena_init(&r->arena, 0);
    r->headers = cf_arena_calloc(&r->arena, HEADERS_MAX, sizeof *r->headers);
    const char *target = cf_arena_strndup(&r->arena, uri, strlen(uri));
    r->in.arena = &r->arena;
    r->in.headers = r->headers;
    r->in.stopping = &s->stopping;
    if (r->arena.failed) {
        cf_arena_deinit(&r->arena);
        cf_free(r);
        return NULL;
    }
    r->in.target = cf_str_from(target);
    r->in.path = cf_str_make(target, strcspn(target, "?#"));
    atomic_fetch_add(&s->n_active, 1);
    return r;
}

static enum MHD_Result begin(request *r, struct MHD_Connection *c, const char *method)
{
    const char *why = NULL;
    r->is_begun = true;
    r->in.method = cf_str_from(method);
    (void)MHD_get_connection_values_n(c, MHD_HEADER_KIND, on_header, r);
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *link =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    r->in.fd = fd != NULL ? fd->connect_fd : -1;
    r->in.link = link != NULL ? (void **)link->socket_context : NULL;
    unsigned refused = refuses(r, &why);
    if (refused != 0) {
        fail(r, refused, "refused", why);
        return send_answer(r, c);
    }
    return MHD_YES;
}

static void drop_body(request *r)
{
    atomic_fetch_sub(&r->server->n_bodies, r->body.n);
    cf_buf_deinit(&r->body);
}

/* Keeps a piece of the body, or says in `r` why it cannot be kept; then the
 * rest is read and thrown away, because a client reads the answer last. */
static enum MHD_Result take_piece(request *r, const char *p, size_t n)
{
    cf_http_server *s = r->server;
    if (r->is_too_big || r->is_crowded) {
        return MHD_YES;
    }
    r->is_too_big = r->body.n + n > CF_HTTP_BODY_MAX;
    if (!r->is_too_big) {
        r->is_crowded = atomic_fetch_add(&s->n_bodies, n) + n > s->bodies_max;
        if (r->is_crowded) {
            atomic_fetch_sub(&s->n_bodies, n);
        }
    }
    if (r->is_too_big || r->is_crowded) {
        drop_body(r);
        return MHD_YES;
    }
    cf_buf_add(&r->body, p, n);
    if (r->body.failed) {
        atomic_fetch_sub(&s->n_bodies, n);
        return MHD_NO;
    }
    return MHD_YES;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *n_upload, void **con)
{
    (void)url;
    cf_http_server *s = cls;
    request *r = *con;
    if (r == NULL) {
        return MHD_NO; /* no memory: the connection is closed */
    }
    if (!r->is_begun) {
        return begin(r, c, method);
    }
    if (*n_upload != 0) {
        size_t n = *n_upload;
        *n_upload = 0;
        return take_piece(r, upload, n);
    }
    if (r->is_answered) {
        return MHD_YES;
    }
    r->in.body = cf_buf_str(&r->body);
    r->in.takes_interim = strcmp(version, "HTTP/1.1") == 0;
    if (r->is_too_big) {
        fail(r, MHD_HTTP_CONTENT_TOO_LARGE, "too_large", "the body of this request is too large");
    } else if (r->is_crowded) {
        fail(r, MHD_HTTP_SERVICE_UNAVAILABLE, "crowded",
             "the requests under way hold too much memory: try again "
             "when they have ended");
    } else {
        s->handler.answer(s->handler.ud, &r->in, &r->out);
    }
    return send_answer(r, c);
}

static void on_completed(void *cls, struct MHD_Connection *c, void **con,
                         enum MHD_RequestTerminationCode how)
{
    (void)c;
    cf_http_server *s = cls;
    request *r = *con;
    if (r == NULL) {
        return;
    }
    *con = NULL;
    if (r->out.done != NULL) {
        r->out.done(r->out.ud, how == MHD_REQUEST_TERMINATED_COMPLETED_OK && !r->is_lost);
    }
    drop_body(r);
    cf_arena_deinit(&r->arena);
    cf_free(r);
    atomic_fetch_sub(&s->n_active, 1);
}

/* The place for a handler's own data lives as long as the connection. */
static void on_connection(void *cls, struct MHD_Connection *c, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    (void)c;
    cf_http_server *s = cls;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = cf_calloc(1, sizeof(void *));
        return;
    }
    void **link = *context;
    if (link != NULL && *link != NULL && s->handler.unlink != NULL) {
        s->handler.unlink(s->handler.ud, *link);
    }
    cf_free(link);
    *context = NULL;
}

/* ---- the server --------------------------------------------------------- */

static bool is_loopback_address(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, a, sizeof in);
        return (ntohl(in.sin_addr.s_addr) >> 24) == 127;
    }
    struct sockaddr_in6 in6;
    memcpy(&in6, a, sizeof in6);
    return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
}

/* Splits "HOST:PORT"; the port is what follows the last colon. */
static cf_status split(const char *listen, char host[200], char port[8], cf_error *err)
{
    const char *colon = strrchr(listen, ':');
    size_t n = colon != NULL ? (size_t)(colon - listen) : 0;
    if (colon == NULL || n == 0 || n > 190 || strlen(colon + 1) > 5 || colon[1] == '\0' ||
        colon[1 + strspn(colon + 1, "0123456789")] != '\0' || strtol(colon + 1, NULL, 10) > 65535) {
        return cf_fail(err, CF_EINVAL, "--listen: expected HOST:PORT, not '%.80s'", listen);
    }
    cf_str h = host_of(cf_str_make(listen, n));
    if (listen[0] != '[') {
        h = cf_str_make(listen, n);
    }
    memcpy(host, h.p, h.n);
    host[h.n] = '\0';
    snprintf(port, 8, "%.5s", colon + 1);
    return CF_OK;
}

static cf_status start(cf_http_server *s, const struct addrinfo *a, const char *host, cf_error *err)
{
    unsigned flags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD |
                     MHD_USE_POLL | MHD_USE_ITC |
                     (a->ai_family == AF_INET6 ? (unsigned)MHD_USE_IPv6 : 0);
    s->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, s, MHD_OPTION_SOCK_ADDR, a->ai_addr,
        MHD_OPTION_URI_LOG_CALLBACK, on_uri, s, MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
        MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_SECONDS,
#if MHD_VERSION >= VERSION_OF_DISCIPLINE
        MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1,
#endif
        MHD_OPTION_END);
    if (s->daemon == NULL) {
        return cf_fail(err, CF_EIO, "cannot listen on %s: is it taken?", host);
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
    bool is_v6 = a->ai_family == AF_INET6;
    snprintf(s->url, sizeof s->url, "http://%s%s%s:%u", is_v6 ? "[" : "", host, is_v6 ? "]" : "",
             info != NULL ? (unsigned)info->port : 0);
    return CF_OK;
}

static cf_status listen_on(cf_http_server *s, const char *where, cf_error *err)
{
    char host[200], port[8];
    CF_TRY(split(where, host, port, err));
    /* Clients that try both kinds of "localhost" end with IPv4. */
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICSERV,
                             .ai_family = strchr(host, ':') != NULL ? AF_INET6 : AF_INET};
    struct addrinfo *found = NULL;
    int rc = getaddrinfo(host, port, &hints, &found);
    if (rc != 0) {
        hints.ai_family = AF_UNSPEC;
        rc = getaddrinfo(host, port, &hints, &found);
    }
    if (rc != 0 || found == NULL) {
        return cf_fail(err, CF_EINVAL, "--listen: no address '%.80s'", host);
    }
    s->is_loopback = is_loopback_address(found->ai_addr);
    cf_status st = s->is_loopback || s->token != NULL
                       ? start(s, found, host, err)
                       : cf_fail(err, CF_EINVAL,
                                 "--listen %.80s can be reached from other machines: give "
                                 "a token (--token or $CONFAB_TOKEN)",
                                 where);
    freeaddrinfo(found);
    return st;
}

cf_status cf_http_server_new(cf_http_server **out, const cf_http_options *options,
                             const cf_http_handler *handler, cf_error *err)
{
    cf_http_server *s = cf_calloc(1, sizeof *s);
    if (s == NULL) {
        return cf_oom(err);
    }
    s->handler = *handler;
    s->bodies_max = options->bodies_max != 0 ? options->bodies_max : CF_HTTP_BODIES_MAX;
    if (options->token != NULL && options->token[0] != '\0') {
        s->token = cf_strdup(options->token);
    }
    cf_status st = options->token != NULL && options->token[0] != '\0' && s->token == NULL
                       ? cf_oom(err)
                       : listen_on(s, options->listen, err);
    if (st != CF_OK) {
        cf_http_server_free(s, 0);
        return st;
    }
    *out = s;
    return CF_OK;
}

const char *cf_http_server_url(const cf_http_server *s)
{
    return s->url;
}

void cf_http_server_free(cf_http_server *s, unsigned grace_ms)
{
    if (s == NULL) {
        return;
    }
    if (s->daemon != NULL) {
        MHD_socket fd = MHD_quiesce_daemon(s->daemon);
        uint64_t until = cf_os_monotonic_us() + (uint64_t)grace_ms * 1000;
        while (atomic_load(&s->n_active) > 0 && cf_os_monotonic_us() < until) {
            (void)usleep(10000);
        }
        atomic_store(&s->stopping, true);
        MHD_stop_daemon(s->daemon);
        if (fd != MHD_INVALID_SOCKET) {
            (void)close(fd);
        }
    }
    cf_free(s->token);
    cf_free(s);
}
