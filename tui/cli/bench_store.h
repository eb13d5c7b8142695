/*
 * bench_store.h - `confab bench --store N`: how fast the history is.
 */
#ifndef CF_TUI_CLI_BENCH_STORE_H
#define CF_TUI_CLI_BENCH_STORE_H

#include "tui/cli/cli.h"

/* Makes N conversations of ten turns in --db (a new file; an existing one is
 * measured as it is), then measures list, open, search and streaming. */
int cf_cli_bench_store(cf_cli *cli, uint32_t n, uint32_t n_reps);

#endif
