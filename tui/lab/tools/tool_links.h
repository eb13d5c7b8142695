/*
 * tool_links.h - the links to the tool servers of a session, with a log of both
 * directions.
 *
 * Place in the flow:  a file or a command line --> [links] --> core/mcp; what
 * they say --> the log --> the history, the Servers view, `confab mcp log`.
 * Knows: the history, the environment that a server gets.  Does not know:
 * screens, who answers a question.
 *
 * Threads:  the log may be read on any thread while another steps the servers
 *           (cf_tool_links_mcp()); the rest as for core/api/mcp.h.
 */
#ifndef CF_TUI_LAB_TOOLS_TOOL_LINKS_H
#define CF_TUI_LAB_TOOLS_TOOL_LINKS_H

#include "core/api/mcp.h"
#include "core/base/uuid.h"
#include "storage/store.h"
#include "tui/lab/tools/sign_in.h"
#include "tui/sys/trust.h"

typedef struct cf_tool_links cf_tool_links;

typedef struct cf_tool_links_options {
    cf_store *store;            /* NULL: nothing is kept */
    uint32_t call_ms, start_ms; /* 0: as in cf_mcp_options */
    bool listens;
    cf_mcp_event_fn event;             /* after the log has it; may be NULL */
    cf_mcp_ask_fn ask;                 /* NULL: questions are declined */
    const cf_sign_in_options *sign_in; /* NULL: servers are not signed in to */
    void *ud;
} cf_tool_links_options;

CF_MUST_USE cf_status cf_tool_links_new(cf_tool_links **out, const cf_tool_links_options *options,
                                        cf_error *err);
void cf_tool_links_free(cf_tool_links *s);

cf_mcp *cf_tool_links_mcp(cf_tool_links *s);

/* Reads a file of servers.  "${NAME}" in it is the environment's if every server
 * gets that variable anyway, or if `trust` (NULL: nothing is) allows it to files;
 * CF_EINVAL names the first other one that is set. */
CF_MUST_USE cf_status cf_tool_links_read_file(json_t **out, const char *path, const cf_trust *trust,
                                              cf_error *err);

/* ---- the log ------------------------------------------------------------ */

/* What the log has so far goes into that conversation's, and what comes from
 * now on. */
void cf_tool_links_keep(cf_tool_links *s, cf_uuid conversation);

typedef struct cf_tool_links_line {
    int64_t at_ms;
    const char *direction; /* "out", "in", "stdout", "stderr", "note" */
    cf_str server, text;
    uint64_t call; /* 0: none */
} cf_tool_links_line;

/* Calls fn for each line from number `from` on, in order, under the log's
 * lock, until it returns false; returns the number after the last. */
typedef bool (*cf_tool_links_line_fn)(void *ud, size_t n, const cf_tool_links_line *line);
size_t cf_tool_links_each_line(cf_tool_links *s, size_t from, cf_tool_links_line_fn fn, void *ud);

#endif
