/*
 * sign_in.h - signs in to tool servers: the file of tokens, the user's
 * browser, and the address on this machine where it ends.
 *
 * Place in the flow:  core/mcp --> [sign in] --> the browser and back; a
 * question and an address --> the command or the workbench.
 * Knows: $BROWSER, loopback.  Does not know: the protocol, screens.
 *
 * Threads:  made on the main thread; then as core/api/mcp_sign_in.h says.
 */
#ifndef CF_TUI_LAB_TOOLS_SIGN_IN_H
#define CF_TUI_LAB_TOOLS_SIGN_IN_H

#include "core/api/mcp_sign_in.h"
#include "tui/lab/tools/token_file.h"

typedef struct cf_sign_in cf_sign_in;

typedef struct cf_sign_in_options {
    bool no_browser;     /* only show the address */
    bool reads_terminal; /* takes the browser's last address from standard
                            input, too */
    /* As in cf_mcp_sign_in. */
    cf_status (*may)(void *ud, size_t server, cf_str issuer, cf_str scopes, cf_error *err);
    void (*show)(void *ud, size_t server, const char *address);
    bool (*must_stop)(void *ud);
    void *ud;
} cf_sign_in_options;

CF_MUST_USE cf_status cf_sign_in_new(cf_sign_in **out, const cf_sign_in_options *options,
                                     cf_error *err);
void cf_sign_in_free(cf_sign_in *s);
const cf_mcp_sign_in *cf_sign_in_steps(const cf_sign_in *s);

#endif
