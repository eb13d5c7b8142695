/*
 * bind.h - from names and keys to rows of the command tables.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_APP_BIND_H
#define CF_TUI_APP_BIND_H

#include "tui/app/app.h"
#include "tui/sys/word_index.h"

/* The row that a word means in a view: a whole name, or the only one that
 * begins so; the view's rows come before those of all views.  *n_found counts
 * the rows that fit. */
const cf_command *cf_command_find(cf_view_id view, const char *word, size_t n, size_t *n_found);

/* The row of exactly that name; NULL when the view has none. */
const cf_command *cf_command_named(cf_view_id view, const char *name);

/* Binds the keys of all command tables.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_bind_tables(cf_keymap *m, cf_error *err);

/* Binds a line of the user, as cf_binder has it; `ud` is the cf_keymap.  The
 * line's command is resolved here, once for each view.  CF_EINVAL: an unknown
 * view, command or key. */
CF_MUST_USE cf_status cf_bind_line(void *ud, const char *view, const char *keys, const char *line,
                                   cf_error *err);

/* Adds the commands of all views with the keys that reach them, and the
 * settings. */
void cf_find_rows(cf_word_index *index, const cf_keymap *m, const cf_config *config);

#endif
