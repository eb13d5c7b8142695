/*
 * paths.h - where confab keeps its files, by the XDG base directory rules.
 *
 * Threads:  reads the environment; call on the main thread.
 */
#ifndef CF_TUI_SYS_PATHS_H
#define CF_TUI_SYS_PATHS_H

#include "core/base/buf.h"
#include "core/base/status.h"

typedef struct cf_paths {
    char *config;   /* $XDG_CONFIG_HOME/confab/confabrc */
    char *database; /* $XDG_DATA_HOME/confab/confab.db */
    char *state;    /* $XDG_STATE_HOME/confab: see tui/app/keepsakes.h */
    char *cache;    /* $XDG_CACHE_HOME/confab: what can be made again */
} cf_paths;

/* Finds the four places; makes nothing.  A variable that is empty or not an
 * absolute path is ignored, as the rules say; without it the place is below
 * $HOME.  CF_EINVAL when HOME is needed and not set, CF_ENOMEM. */
CF_MUST_USE cf_status cf_paths_find(cf_paths *out, cf_error *err);
void cf_paths_deinit(cf_paths *paths);

/* Appends a path as the user wrote it, with "~/" as the home folder. */
void cf_paths_expand(cf_buf *out, const char *path);

#endif
