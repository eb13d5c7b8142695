/*
 * open_store.h - where the history is, and what to do when it cannot be
 * opened.
 *
 * Threads:  any.
 */
#ifndef CF_TUI_LAB_STATE_OPEN_STORE_H
#define CF_TUI_LAB_STATE_OPEN_STORE_H

#include "templates/open.h"

/* The database that the options name, or the usual one; the caller frees
 * *out. */
CF_MUST_USE cf_status cf_open_store_path(const cf_open_options *o, char **out, cf_error *err);

/* Adds what to do to the reason why a history cannot be opened or written. */
void cf_open_store_hint(cf_error *err);

#endif
