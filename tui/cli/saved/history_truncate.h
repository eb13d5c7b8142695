/*
 * history_truncate.h - confab history truncate: a branch of a saved
 * conversation without its oldest turns.
 */
#ifndef CF_TUI_CLI_SAVED_HISTORY_TRUNCATE_H
#define CF_TUI_CLI_SAVED_HISTORY_TRUNCATE_H

#include "storage/store.h"
#include "tui/cli/shell/cli.h"

typedef struct cf_history_truncate {
    const char *id;           /* of a conversation or a turn */
    uint32_t turns, tokens;   /* one of them; 0: not given */
    bool is_dry, is_approved; /* --dry-run, --yes */
} cf_history_truncate;

/* Shows what goes, asks on a terminal, makes the branch.  Returns the exit
 * status. */
int cf_history_truncate_run(cf_cli *cli, cf_store *store, const cf_history_truncate *o);

#endif
