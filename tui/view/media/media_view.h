/*
 * media_view.h - the way into the Media view: a picture or sound of the prompt
 * as the model gets it.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_MEDIA_MEDIA_VIEW_H
#define CF_TUI_VIEW_MEDIA_MEDIA_VIEW_H

#include "tui/app/app.h"

/* Shows the picture or sound that `token` of the prompt is part of. */
void cf_media_view_show(cf_app *app, size_t token);

#endif
