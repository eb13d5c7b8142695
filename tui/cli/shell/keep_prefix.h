/*
 * keep_prefix.h - --keep-prefix: the file of computed prompts beside the
 * history, read after the model is opened and written before it is closed.
 *
 * The file is a convenience: where it cannot be used or written, a line says
 * so and the command goes on.
 *
 * Threads:  call on one thread.
 * Memory:   borrows the cache until it is written.
 */
#ifndef CF_TUI_CLI_SHELL_KEEP_PREFIX_H
#define CF_TUI_CLI_SHELL_KEEP_PREFIX_H

#include "tui/cli/shell/cli.h"

typedef struct cf_keep_prefix {
    bool is_wanted;         /* CF_ROW_KEEP_PREFIX */
    cf_prefix_cache *cache; /* NULL: nothing to keep */
    uint64_t n_read;        /* bytes that the file had */
} cf_keep_prefix;

/* Where the option was given, adds what the file has to the cache (may be
 * NULL).  Appends to *problems (may be NULL: standard error) a line that says
 * why a file is not used. */
void cf_keep_prefix_read(cf_keep_prefix *k, const cf_cli *cli, cf_prefix_cache *cache,
                         cf_buf *problems);

/* Writes the cache to the file if it has changed since it was read.  Reports a failure
 * on standard error. */
void cf_keep_prefix_write(const cf_keep_prefix *k, const cf_cli *cli);

#endif
