/*
 * http_client.h - one transfer of libcurl: a request to a server, and its
 * answer as it arrives.
 *
 * Place in the flow:  mcp, backend, upstream --> [http client] --> a server -->
 *                     lines of its head, bytes of its body.
 * Knows: libcurl, which options every transfer has.  Does not know: what is
 * asked, when to give up, who waits for what else meanwhile.
 *
 * The caller drives its multi handle (curl_multi_perform, curl_multi_poll), in
 * which many transfers may be; cf_http_ends() then notes which are over.  TLS
 * is verified, redirects are answers like any other, and addresses of this
 * machine are asked without a proxy.
 *
 * Threads:  a transfer belongs to the thread of its multi handle.
 * Memory:   a transfer owns its headers; the body is borrowed until it is over.
 *           Text of headers, which may be keys, is overwritten.
 */
#ifndef CF_CORE_NET_HTTP_CLIENT_H
#define CF_CORE_NET_HTTP_CLIENT_H

#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/str.h"

/* What becomes of bytes that arrived. */
typedef enum cf_http_took {
    CF_HTTP_TOOK,  /* they are taken */
    CF_HTTP_PAUSE, /* they are to come again after curl_easy_pause() */
    CF_HTTP_STOP   /* the transfer ends with a failure */
} cf_http_took;

typedef struct cf_http_transfer {
    void *easy;    /* CURL; the caller's where it is set before the start */
    void *headers; /* struct curl_slist */
    bool is_lent;  /* `easy` is the caller's */
    bool failed;   /* memory ran out for a header */
    /* Called with each line of the answer's head and with its body; set before
     * the start. */
    cf_http_took (*on_header)(void *ud, cf_str line);
    cf_http_took (*on_body)(void *ud, cf_str bytes);
    void *ud;
    /* Once it is over. */
    bool is_over;
    int code;      /* CURLcode; 0: the answer is whole */
    long status;   /* HTTP's; 0: none */
    char why[256]; /* in words; "" where `code` says it */
} cf_http_transfer;

typedef struct cf_http_ask {
    const char *url;
    const char *method;  /* NULL: POST with a body, else GET */
    cf_str body;         /* p NULL: none */
    const char *ca;      /* file of certificates to trust; NULL: the system's */
    uint32_t connect_ms; /* 0: 10 s */
    bool as_is;          /* HTTP/1.1, the path as it is written, and a proxy as
                            the environment says also on this machine */
} cf_http_ask;

/* Adds a request header, name followed by `between` and the value.  Where the
 * value is empty, libcurl sends "name;" as a header without a value and drops
 * the header that "name:" names (CURLOPT_HTTPHEADER). */
void cf_http_header_add(cf_http_transfer *t, cf_str name, const char *between, cf_str value);

/* Starts the transfer in `multi` (CURLM).  CF_ENOMEM. */
CF_MUST_USE cf_status cf_http_start(cf_http_transfer *t, void *multi, const cf_http_ask *ask,
                                    cf_error *err);
/* Takes it out of `multi` and releases what it owns; `t` may be started
 * again. */
void cf_http_end(cf_http_transfer *t, void *multi);

/* Notes the transfers of `multi` that are over. */
void cf_http_ends(void *multi);

#endif
