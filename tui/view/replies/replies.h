/*
 * replies.h - the view of siblings: replies to the same turn, side by side.
 */
#ifndef CF_TUI_VIEW_REPLIES_REPLIES_H
#define CF_TUI_VIEW_REPLIES_REPLIES_H

#include "tui/app/app.h"

/* Shows the siblings of a turn. */
void cf_replies_show(cf_app *app, cf_uuid turn);

#endif
