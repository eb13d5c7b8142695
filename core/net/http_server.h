/*
 * http_server.h - an HTTP server for the programs of one user: it checks access,
 * reads whole requests and streams answers.
 *
 * Place in the flow:  a client --> [http server] --> proxy or engine --> the
 *                     same client.
 * Knows: libmicrohttpd, addresses, who may ask.  Does not know: what is asked.
 *
 * Who may ask: on a loopback address, requests whose Host is a loopback name
 * and that no browser sent from a page of another origin; elsewhere only with
 * the token, in X-Confab-Token, or as the key of an ordinary client.  All
 * others get 403 (401 without the token), and no handler sees them.
 *
 * Threads:  one a connection; a handler is called on it.
 * Memory:   a request and an answer live until the answer is out; the bodies
 *           of all requests together are bounded, and one that is over the
 *           bound gets 503.
 */
#ifndef CF_CORE_NET_HTTP_SERVER_H
#define CF_CORE_NET_HTTP_SERVER_H

#include <stdatomic.h>
#include <sys/types.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/base/str.h"

enum {
    CF_HTTP_BODY_MAX = 128 << 20,  /* bytes of a request's body */
    CF_HTTP_BODIES_MAX = 512 << 20 /* of the bodies of all of them at a time */
};

typedef struct cf_http_header {
    cf_str name, value;
} cf_http_header;

typedef struct cf_http_request {
    cf_str method;
    cf_str target;                 /* as sent, query included */
    cf_str path;                   /* the target without its query */
    const cf_http_header *headers; /* [n_headers], in the order sent */
    size_t n_headers;
    cf_str body;
    int fd;                      /* of the connection, to notice a disconnect */
    bool takes_interim;          /* HTTP/1.1: answers of 1xx may come before the answer */
    const atomic_bool *stopping; /* the server is shutting down: finish soon */
    bool used_token;             /* the client's key was the server's token */
    cf_arena *arena;             /* for the answer's headers */
    void **link;                 /* the handler's own, for all requests of a connection */
} cf_http_request;

/* The value of the first header of that name, in any case; {NULL, 0} if there
 * is none. */
cf_str cf_http_header_get(const cf_http_header *headers, size_t n, const char *name);
/* Compares a header name without regard to case. */
bool cf_http_name_is(cf_str name, const char *want);

typedef struct cf_http_answer {
    unsigned status;
    const cf_http_header *headers; /* [n_headers], in the request's arena */
    size_t n_headers;
    cf_str body;  /* without `read`: all of it, in the request's arena */
    int64_t size; /* with `read`: bytes in all, -1: not known */
    /* The next bytes: how many, 0 at the end, -1 for an answer that broke
     * off.  Waits until there are some. */
    ssize_t (*read)(void *ud, char *to, size_t n);
    /* Once, when the answer is out or the client has gone; may be NULL. */
    void (*done)(void *ud, bool is_sent);
    void *ud;
} cf_http_answer;

typedef struct cf_http_handler {
    void (*answer)(void *ud, const cf_http_request *request, cf_http_answer *answer);
    void (*unlink)(void *ud, void *link); /* a connection has ended */
    /* Writes an error as the request's client expects it; NULL: cf_http_fail(). */
    void (*fail)(const cf_http_request *request, cf_http_answer *answer, unsigned status,
                 const char *type, const char *message);
    void *ud;
} cf_http_handler;

/* Answers with a JSON error, {"error":{"message","type"}}. */
void cf_http_fail(const cf_http_request *request, cf_http_answer *answer, unsigned status,
                  const char *type, const char *message);

typedef struct cf_http_options {
    const char *listen; /* "HOST:PORT", "[::1]:PORT"; port 0: any */
    const char *token;  /* NULL: none */
    size_t bodies_max;  /* 0: CF_HTTP_BODIES_MAX */
} cf_http_options;

typedef struct cf_http_server cf_http_server;

/* CF_EINVAL for an address that cannot be read, or that is not a loopback
 * address while there is no token; CF_EIO when it is taken. */
CF_MUST_USE cf_status cf_http_server_new(cf_http_server **out, const cf_http_options *options,
                                         const cf_http_handler *handler, cf_error *err);
/* "http://127.0.0.1:8080" */
const char *cf_http_server_url(const cf_http_server *server);
/* Accepts no more requests, gives running ones grace_ms to finish, then ends
 * them. */
void cf_http_server_free(cf_http_server *server, unsigned grace_ms);

#endif
