/*
 * upstream.h - forwards a client's request to a server, with the same method,
 * path, headers and body, and returns the answer as it arrives.
 *
 * Place in the flow:  a client's request --> [upstream] --> the server --> the
 *                     answer's status, headers, bytes.
 * Knows: libcurl, which headers belong to one connection only.  Does not know:
 * who asked, what is recorded.
 *
 * TLS is verified.  A redirect is an answer like any other: it is passed on
 * and not followed, so no key goes to another host.
 *
 * Threads:  a link belongs to one thread, and so do its calls.
 * Memory:   a call owns its headers; a link keeps connections for later calls.
 */
#ifndef CF_CORE_NET_UPSTREAM_H
#define CF_CORE_NET_UPSTREAM_H

#include "core/net/http_server.h"

typedef struct cf_upstream {
    const char *url; /* of the server; a path before the client's may follow */
    const char *ca;  /* file of certificates to trust; NULL: the system's */
    const char *key; /* for clients that gave the token in its place */
} cf_upstream;

/* Connections that a client's requests may use one after another. */
typedef struct cf_upstream_link cf_upstream_link;
CF_MUST_USE cf_status cf_upstream_link_new(cf_upstream_link **out, cf_error *err);
void cf_upstream_link_free(cf_upstream_link *link);

/* Appends the address without user, password, query and path's end: what may
 * be shown and stored. */
void cf_upstream_show(cf_buf *out, const char *url);

/* CF_EINVAL for what is not an http or https address. */
CF_MUST_USE cf_status cf_upstream_check(const char *url, cf_error *err);

typedef struct cf_upstream_call cf_upstream_call;

/* Sends `request` with `body`, and waits for the answer's headers.  CF_EIO for
 * a server that cannot be reached or trusted; CF_ECANCELLED when the client
 * left or the program ends. */
CF_MUST_USE cf_status cf_upstream_open(cf_upstream_call **out, cf_upstream_link *link,
                                       const cf_upstream *upstream, const cf_http_request *request,
                                       cf_str body, cf_error *err);

unsigned cf_upstream_status(const cf_upstream_call *call);
/* The answer's headers as they came, also those of one connection only. */
const cf_http_header *cf_upstream_headers(const cf_upstream_call *call, size_t *n);
/* Bytes of the answer's body as the server announced them; -1: not known. */
int64_t cf_upstream_size(const cf_upstream_call *call);

/* The next bytes: how many, 0 at the end, -1 when the answer broke off, the
 * client left or the program ends.  Waits until there are some. */
ssize_t cf_upstream_read(cf_upstream_call *call, char *to, size_t n);
/* Whether the call ended because the client left or the program ends. */
bool cf_upstream_left(const cf_upstream_call *call);
void cf_upstream_close(cf_upstream_call *call);

/* Whether a header is about one connection, and not passed on: by its name, or
 * because a Connection header among the n has it (RFC 9110, section 7.6.1). */
bool cf_upstream_is_hop(const cf_http_header *headers, size_t n, cf_str name);

#endif
