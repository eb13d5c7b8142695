/*
 * render_ledger.h - confab render --ledger: what a prompt's tokens cost here.
 *
 * Threads:  one thread.
 * Memory:   nothing is kept.
 */
#ifndef CF_TUI_CLI_INSPECT_RENDER_LEDGER_H
#define CF_TUI_CLI_INSPECT_RENDER_LEDGER_H

#include "tui/cli/shell/cli.h"

/*
 * Tokens of a prompt that the model of `open` reads in a second on this
 * machine, measured over the first few hundred of ids[0..n); 0 where it has no
 * weights that run here, or is a server.
 */
double cf_ledger_speed(const cf_open_options *open, const cf_token_span *ids, size_t n);

#endif
