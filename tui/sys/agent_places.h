/*
 * agent_places.h - where coding agents keep their sessions on this machine.
 *
 * Memory:   names are the caller's (cf_free).
 */
#ifndef CF_TUI_SYS_AGENT_PLACES_H
#define CF_TUI_SYS_AGENT_PLACES_H

#include "core/base/buf.h"
#include "core/base/status.h"

/* Appends the paths that may hold sessions, each with a NUL after it: folders
 * of one project or day, and databases.  Nothing of it needs to be there. */
CF_MUST_USE cf_status cf_agent_places(cf_buf *out, cf_error *err);

/* The same with a history, whose traffic is sessions, and the traces beside it. */
CF_MUST_USE cf_status cf_agent_places_with(cf_buf *out, const char *history, cf_error *err);

/* Appends the path of the traces that `proxy --otlp` keeps beside a history. */
void cf_agent_traces(cf_buf *out, const char *history);

#endif
