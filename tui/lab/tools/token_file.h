/*
 * token_file.h - what sign-ins to tool servers leave behind: tokens and
 * registrations, by server and issuer, in one file that only the user reads.
 *
 * Place in the flow:  a sign-in --> [token file] --> the next start of confab.
 * Knows: $XDG_STATE_HOME/confab/mcp-tokens.json, and how processes take turns.
 * Does not know: what the members mean.
 *
 * Threads:  any, one call at a time for each object; processes take turns by
 *           flock() on a file beside it.
 */
#ifndef CF_TUI_LAB_TOOLS_TOKEN_FILE_H
#define CF_TUI_LAB_TOOLS_TOKEN_FILE_H

#include "core/api/mcp_sign_in.h"

typedef struct cf_token_file {
    char *folder, *path, *lock;
} cf_token_file;

/* Finds the places and makes nothing; on the main thread.  CF_EINVAL, CF_ENOMEM. */
CF_MUST_USE cf_status cf_token_file_init(cf_token_file *f, cf_error *err);
void cf_token_file_deinit(cf_token_file *f);

/* As cf_mcp_sign_in.with_kept().  `must_stop` is asked while another process
 * has its turn; NULL: never.  CF_ELIMIT after a minute, CF_EIO. */
CF_MUST_USE cf_status cf_token_file_with(const cf_token_file *f, cf_str address, cf_mcp_kept_fn fn,
                                         void *ud, bool (*must_stop)(void *), void *stop_ud,
                                         cf_error *err);

/* Forgets all of a server; *was: there was something. */
CF_MUST_USE cf_status cf_token_file_forget(const cf_token_file *f, cf_str address, bool *was,
                                           cf_error *err);

#endif
