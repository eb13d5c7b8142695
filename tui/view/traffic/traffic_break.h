/*
 * traffic_break.h - the breakpoint of the proxy, from the Traffic view: set,
 * and the requests that wait there edited, sent on or dropped.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_TRAFFIC_TRAFFIC_BREAK_H
#define CF_TUI_VIEW_TRAFFIC_TRAFFIC_BREAK_H

#include "tui/app/app.h"

/* ":break TEXT" stops requests that hold TEXT, ":break *" all of them, and
 * ":break off" lets them go; ":break" alone asks which. */
void cf_traffic_break(cf_app *app, const char *arg);
/* The request that has waited longest. */
void cf_traffic_break_edit(cf_app *app);
void cf_traffic_break_send(cf_app *app);
void cf_traffic_break_drop(cf_app *app);

/* Appends one line about it; nothing when it is not set and none waits. */
void cf_traffic_break_line(cf_app *app, cf_buf *out);

#endif
