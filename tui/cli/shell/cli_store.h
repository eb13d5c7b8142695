/*
 * cli_store.h - what the commands on the history share.
 */
#ifndef CF_TUI_CLI_SHELL_CLI_STORE_H
#define CF_TUI_CLI_SHELL_CLI_STORE_H

#include "core/json/json_writer.h"
#include "storage/store.h"
#include "tui/cli/shell/cli.h"
#include "tui/lab/state/open_store.h"

/* Opens it; says on standard error when it can only be read. */
CF_MUST_USE cf_status cf_cli_open_store(cf_store **out, const cf_cli *cli, uint32_t flags,
                                        cf_error *err);

/*
 * At the end of a command that saves as it goes: waits until what was handed
 * to the store is on disk, a few seconds at most.  False, with the reason on
 * standard error, if it is not, or if the store lost something before.
 * `store` may be NULL.
 */
bool cf_cli_all_saved(const cf_cli *cli, cf_store *store);

/* Appends the writer's value as one line of ASCII: exact, and harmless on a
 * terminal.  If the writer has failed, `out` fails too. */
void cf_cli_put_json(cf_buf *out, const cf_jw *w);

/* Untrusted text on one line. */
void cf_cli_put_line(cf_buf *out, cf_str s);

#endif
