/*
 * mcp_sign_in.h - what the program provides for signing in to a tool server:
 * storage for tokens, a question to the user, a browser.
 *
 * Place in the flow:  a server that answers 401 or 403 --> core/mcp -->
 *                     [sign in] --> the user's browser, the file of tokens.
 * Knows: which steps of OAuth 2.1 need the program.  Does not know: the
 * protocol, files, browsers.
 *
 * Threads:  everything is called on the thread that steps the servers, which
 *           waits meanwhile; it must not call back into the servers, except
 *           for what takes a const object.
 * Memory:   arguments are borrowed for the call.
 */
#ifndef CF_CORE_API_MCP_SIGN_IN_H
#define CF_CORE_API_MCP_SIGN_IN_H

#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/str.h"
#include "core/json/json.h"

CF_BEGIN_DECLS

/* Reads `kept`, an object, and may change it; *changed says so. */
typedef cf_status (*cf_mcp_kept_fn)(void *ud, json_t *kept, bool *changed, cf_error *err);

typedef struct cf_mcp_sign_in {
    /* Calls fn with what is kept for the server at this address, an empty
     * object at first, while no other thread or process does the same; what
     * fn changed is on disk before this returns, also where fn failed. */
    cf_status (*with_kept)(void *ud, cf_str address, cf_mcp_kept_fn fn, void *fn_ud, cf_error *err);
    /* Asks the user.  CF_EINVAL: there is no way to ask; CF_ECANCELLED: the answer is no. */
    cf_status (*may)(void *ud, size_t server, cf_str issuer, cf_str scopes, cf_error *err);
    /* Begins to listen for the browser's answer on this machine, on `port` if
     * that is free (0: any; `must` be this one), and appends the address. */
    cf_status (*open)(void *ud, uint16_t port, bool must, cf_buf *redirect, cf_error *err);
    /* Shows the user the address, waits, and appends the query of the address
     * at which the browser ended.  CF_ELIMIT, CF_ECANCELLED. */
    cf_status (*visit)(void *ud, size_t server, const char *address, cf_buf *query, cf_error *err);
    /* Ends what open() began; also after a failure of it. */
    void (*close)(void *ud);
    /* Whether to give up; asked several times a second. */
    bool (*must_stop)(void *ud);
    void *ud;
} cf_mcp_sign_in;

CF_END_DECLS

#endif
