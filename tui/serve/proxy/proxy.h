/*
 * proxy.h - passes requests on to a server, and records both ways.
 *
 * Place in the flow:  client --> http server --> [proxy] --> upstream server;
 *                     copies --> record.
 * Knows: which exchange belongs to which request.  Does not know: formats of
 * bodies, the history.
 *
 * Threads:  requests run on their connections' threads.
 * Memory:   owns links to the server, one a client's connection.
 */
#ifndef CF_TUI_SERVE_PROXY_H
#define CF_TUI_SERVE_PROXY_H

#include "core/net/upstream.h"
#include "tui/serve/record/record.h"

typedef struct cf_proxy {
    cf_upstream upstream;
    cf_recorder *recorder; /* NULL: nothing is recorded */
    char *shown;           /* the server's address without credentials */
    const char *breaks;    /* folder of breakpoint.h, borrowed; NULL: none */
} cf_proxy;

CF_MUST_USE cf_status cf_proxy_init(cf_proxy *p, const cf_upstream *upstream, cf_recorder *recorder,
                                    cf_error *err);
void cf_proxy_deinit(cf_proxy *p);
cf_http_handler cf_proxy_handler(cf_proxy *p);

#endif
