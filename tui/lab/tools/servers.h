/*
 * servers.h - the tool servers of a session with what confab keeps of them:
 * the log of both directions, and the tools as the user saw them last.
 *
 * Place in the flow:  a file or a command line --> [servers] --> core/mcp;
 * what it says --> the log --> the history, the Tools view, `confab mcp log`.
 * Knows: the history, the environment that a server gets.  Does not know:
 * screens, who answers a question.
 *
 * Threads:  the log may be read on any thread while another steps the servers
 *           (cf_servers_mcp()); the rest as for core/api/mcp.h.
 */
#ifndef CF_TUI_LAB_TOOLS_SERVERS_H
#define CF_TUI_LAB_TOOLS_SERVERS_H

#include "core/api/mcp.h"
#include "core/base/uuid.h"
#include "storage/store.h"

typedef struct cf_servers cf_servers;

typedef struct cf_servers_options {
    cf_store *store;            /* NULL: nothing is kept */
    uint32_t call_ms, start_ms; /* 0: as in cf_mcp_options */
    bool listens;
    cf_mcp_event_fn event; /* after the log has it; may be NULL */
    cf_mcp_ask_fn ask;     /* NULL: questions are declined */
    void *ud;
} cf_servers_options;

CF_MUST_USE cf_status cf_servers_new(cf_servers **out, const cf_servers_options *options,
                                     cf_error *err);
void cf_servers_free(cf_servers *s);

cf_mcp *cf_servers_mcp(cf_servers *s);

/* Reads a file of servers; "${NAME}" in it is the environment's. */
CF_MUST_USE cf_status cf_servers_read_file(json_t **out, const char *path, cf_error *err);

/* ---- the log ------------------------------------------------------------ */

/* What the log has so far goes into that conversation's, and what comes from
 * now on. */
void cf_servers_keep(cf_servers *s, cf_uuid conversation);

typedef struct cf_servers_line {
    int64_t at_ms;
    const char *direction; /* "out", "in", "stdout", "stderr", "note" */
    cf_str server, text;
    uint64_t call; /* 0: none */
} cf_servers_line;

/* Calls fn for each line from number `from` on, in order, under the log's
 * lock, until it returns false; returns the number after the last. */
typedef bool (*cf_servers_line_fn)(void *ud, size_t n, const cf_servers_line *line);
size_t cf_servers_each_line(cf_servers *s, size_t from, cf_servers_line_fn fn, void *ud);

/* ---- what the user saw -------------------------------------------------- */

typedef enum cf_tool_news {
    CF_TOOL_FIRST_SEEN,
    CF_TOOL_AS_BEFORE,
    CF_TOOL_OTHER /* its description or schema is another */
} cf_tool_news;

/* Compares a tool with what is remembered; *before (a new reference, or NULL)
 * is that. */
cf_tool_news cf_servers_compare(cf_servers *s, cf_str server, const json_t *tool, json_t **before);
/* From now on the user knows the tool as it is. */
void cf_servers_remember(cf_servers *s, cf_str server, const json_t *tool);

/* Whether calls of the tool (empty: all of the server) may run unasked for
 * good; that ends when the server's command or the tool changes. */
bool cf_servers_is_approved(cf_servers *s, const cf_mcp_server *server, cf_str tool);
void cf_servers_approve(cf_servers *s, const cf_mcp_server *server, cf_str tool, bool is_approved);

#endif
