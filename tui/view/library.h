/*
 * library.h - what other parts ask the Library view.
 */
#ifndef CF_TUI_VIEW_LIBRARY_H
#define CF_TUI_VIEW_LIBRARY_H

#include "core/base/uuid.h"
#include "tui/app/app.h"

/* The conversation under the cursor; its title as well when `title` is given.
 * False when there is none. */
bool cf_library_current(cf_app *app, cf_uuid *id, char title[80]);

/* The store has changed: the list is read again when it is shown. */
void cf_library_changed(cf_app *app);

#endif
