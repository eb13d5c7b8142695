/*
 * templates.h - ways from other views into the Templates view.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_TEMPLATES_TEMPLATES_H
#define CF_TUI_VIEW_TEMPLATES_TEMPLATES_H

#include "tui/app/app.h"

/* Shows the template in use with the cursor on a line (1-based). */
void cf_templates_show_line(cf_app *app, uint32_t line);

/* Edits the template in use, beginning at a line; what compiles is used at
 * once.  Another view may stay on the screen. */
void cf_templates_edit_line(cf_app *app, uint32_t line);

#endif
