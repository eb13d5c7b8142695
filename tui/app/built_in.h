/*
 * built_in.h - the tools of the program itself, for views: one call, run by
 * hand.
 *
 * Threads:  the interface thread; they take no time.
 */
#ifndef CF_TUI_APP_BUILT_IN_H
#define CF_TUI_APP_BUILT_IN_H

#include "core/json/json.h"
#include "tui/app/app.h"

/* Whether they are declared, and one of them has this name. */
bool cf_built_in_has(cf_app *app, cf_str name);

/* Appends the result as a message's content.  What is wrong with the arguments
 * is an error; CF_ENOMEM. */
CF_MUST_USE cf_status cf_built_in_run(cf_app *app, cf_str name, json_t *arguments, cf_buf *out,
                                      cf_error *err);

#endif
