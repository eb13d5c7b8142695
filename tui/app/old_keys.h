/*
 * old_keys.h - keys that meant something else in another view: they work for
 * one more version, and say the key that took their place.
 *
 * The table of all keys by view is in docs/keys.md.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_APP_OLD_KEYS_H
#define CF_TUI_APP_OLD_KEYS_H

#include "tui/app/app.h"

/* Adds them to the bindings. */
CF_MUST_USE cf_status cf_old_keys_bind(cf_keymap *m, cf_error *err);

/* Adds "(u is w now)" to what an old key's command said. */
void cf_old_keys_say(cf_app *app, const cf_binding *old);

#endif
