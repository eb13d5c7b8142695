/*
 * influence_keys.h - how other views ask what made a reply so.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_INFLUENCE_KEYS_H
#define CF_TUI_VIEW_INFLUENCE_KEYS_H

#include "tui/app/app.h"

/* Ask and open the Influence view: about the reply under Chat's cursor (else
 * the last one of the path), the token under that of Tokens, the call under
 * that of Tools. */
void cf_influence__ask_turn(cf_app *app);
void cf_influence__ask_token(cf_app *app);
void cf_influence__ask_call(cf_app *app);

#endif
