/*
 * influence_keys.h - how other views ask what made a reply so.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_INFLUENCE_INFLUENCE_KEYS_H
#define CF_TUI_VIEW_INFLUENCE_INFLUENCE_KEYS_H

#include "tui/app/app.h"

/* Ask and open the Influence view: about the reply under Chat's cursor (else
 * the last one of the path), the token under that of Tokens, the call under
 * that of Tools. */
void cf_influence__ask_turn(cf_app *app);
void cf_influence__ask_token(cf_app *app);
void cf_influence__ask_call(cf_app *app);

/* About the last reply, with the cursor on the part that wrote the byte under
 * the cursor of Prompt: where in the reply that part mattered. */
void cf_influence__ask_part(cf_app *app);

/* Begins a span at the token under Tokens' cursor; cf_influence__ask_token()
 * then asks about all tokens from there to the cursor. */
void cf_influence__mark_token(cf_app *app);
/* Whether the token is in that span. */
bool cf_influence__is_marked(cf_app *app, cf_uuid turn, size_t token);

/* Shades over the Prompt view: on or off, and the shade of a byte of the prompt
 * there (0 .. CF_SHADES - 1; -1: no shades, or another prompt there). */
void cf_influence__toggle_shades(cf_app *app);
int cf_influence__shade_at(cf_app *app, const cf_prompt *prompt, size_t off);

#endif
