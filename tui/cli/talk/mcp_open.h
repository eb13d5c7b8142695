/*
 * mcp_open.h - the tool servers of a command: a question before each one is
 * started and before each call, answered by --yes or on the terminal.
 *
 * Memory:  cf_mcp_open owns everything, until cf_mcp_opened_close().
 */
#ifndef CF_TUI_CLI_TALK_MCP_OPEN_H
#define CF_TUI_CLI_TALK_MCP_OPEN_H

#include "tui/cli/shell/cli.h"
#include "tui/lab/tools/approvals.h"
#include "tui/lab/tools/tool_links.h"

typedef struct cf_mcp_opened {
    /* given */
    cf_cli *cli;
    const char *path;         /* --mcp */
    bool is_approved;         /* --yes */
    bool no_browser;          /* --no-browser */
    bool with_instructions;   /* for the command: in the system prompt */
    bool is_login;            /* only servers at an address, each step shown */
    uint32_t start_s, call_s; /* 0: as usual */
    FILE *log;                /* messages as lines of JSON; NULL: not */
    /* made */
    cf_store *store;
    bool owns_store;
    cf_tool_links *servers;
    cf_approvals approvals;
    json_t *refused; /* configurations that were not started */
    json_t *declared, *map;
} cf_mcp_opened;

/*
 * Starts the servers of the file and waits for them.  CF_EINVAL without --yes
 * and without a terminal: nothing is started; or for an address of the file that
 * the user does not trust (cf_trust_check()).  `store` NULL: the one of the
 * options, if it can be opened.  `only`: the server of that name (NULL: all).
 * Every tool is compared with what the user saw last; a difference is shown.
 */
CF_MUST_USE cf_status cf_mcp_open(cf_mcp_opened *o, cf_store *store, const char *only,
                                  cf_error *err);
void cf_mcp_opened_close(cf_mcp_opened *o);

/* Says on standard error which servers are not ready, and why. */
void cf_mcp_opened_tell_failed(const cf_mcp_opened *o);

/* Declares the tools, after those of `others` (may be NULL). */
CF_MUST_USE cf_status cf_mcp_opened_declare(cf_mcp_opened *o, const json_t *others, cf_error *err);
/* The server and the tool of a declared name; false: not a server's. */
bool cf_mcp_opened_find(const cf_mcp_opened *o, cf_str name, size_t *server, cf_str *tool);

/* Whether the call may be made; asks on a terminal. */
bool cf_mcp_opened_may_call(cf_mcp_opened *o, size_t server, cf_str tool, const json_t *arguments);

/*
 * Calls the tool.  A server that has ended is started again first.  *result is
 * what the model gets: the text, or {"error": text} where the tool failed or
 * its arguments do not fit.  Findings are shown on standard error.  Errors as
 * of cf_mcp_call().
 */
CF_MUST_USE cf_status cf_mcp_opened_call(cf_mcp_opened *o, size_t server, cf_str tool,
                                         const json_t *arguments, json_t **result, cf_error *err);

#endif
