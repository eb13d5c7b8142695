/*
 * tool_servers.h - the tool servers of the workbench: started and stopped,
 * switched on and off, their tools declared to the model, their calls
 * approved and made, their questions handed to the user.
 *
 * Place in the flow:  :mcp and --mcp --> [tool_servers] --> the tools of the
 * conversation; a call of the Tools view --> its thread --> the server.
 * Knows: the workbench's model (lab.h), what the user approved.  Does not
 * know: screens.
 *
 * Threads:  the interface thread, except cf_tool_servers_call().  A thread of
 *           its own steps the servers while no call does.
 * Memory:   texts and trees returned live until the next poll.
 */
#ifndef CF_TUI_LAB_TOOLS_TOOL_SERVERS_H
#define CF_TUI_LAB_TOOLS_TOOL_SERVERS_H

#include "tui/lab/state/lab_state.h"
#include "tui/lab/tools/approvals.h"
#include "tui/lab/tools/tool_links.h"

typedef struct cf_tool_servers cf_tool_servers;

CF_MUST_USE cf_status cf_tool_servers_new(cf_tool_servers **out, cf_lab *lab, cf_store *store,
                                          cf_error *err);
void cf_tool_servers_free(cf_tool_servers *s);
/* A descriptor to write a byte to when there is something to poll; -1 for none. */
void cf_tool_servers_wake_with(cf_tool_servers *s, int fd);

/* Takes over what the servers have done: declares their tools again where they
 * changed, and counts their tokens.  True when something changed; `notice`
 * gets lines that the user should see, the first one first. */
bool cf_tool_servers_poll(cf_tool_servers *s, cf_buf *notice);

/* ---- servers ------------------------------------------------------------ */

typedef enum cf_tool_server_state {
    CF_TOOL_SERVER_ASKED, /* waits for the user to allow its start */
    CF_TOOL_SERVER_STARTING,
    CF_TOOL_SERVER_READY,
    CF_TOOL_SERVER_FAILED,
    CF_TOOL_SERVER_STOPPED
} cf_tool_server_state;

typedef struct cf_server_tool {
    cf_str name, description;
    const json_t *tool; /* as the server lists it */
    bool is_on;
    bool has_changed; /* since it was approved: off until it is accepted */
    bool is_approved; /* calls run unasked */
    int64_t tokens;   /* -1: not known */
} cf_server_tool;

typedef struct cf_tool_server {
    cf_str name, protocol, error, instructions;
    const json_t *config;
    const json_t *prompts, *resources; /* as listed; NULL: none */
    cf_tool_server_state state;
    bool is_on, is_approved;
    size_t n_tools;
    size_t index;   /* for calls; SIZE_MAX: not started yet */
    int64_t tokens; /* of its tools that are on; -1: not known */
} cf_tool_server;

size_t cf_tool_servers_n(const cf_tool_servers *s);
cf_tool_server cf_tool_servers_at(cf_tool_servers *s, size_t i);
cf_server_tool cf_tool_servers_tool(cf_tool_servers *s, size_t i, size_t k);

/* Adds a server that waits for the user's yes. */
CF_MUST_USE cf_status cf_tool_servers_add(cf_tool_servers *s, const json_t *config, cf_error *err);
/* Starts it, or starts it again. */
void cf_tool_servers_start(cf_tool_servers *s, size_t i);
void cf_tool_servers_stop(cf_tool_servers *s, size_t i);
/* Declares a server's tools, or one of them, or not. */
void cf_tool_servers_switch(cf_tool_servers *s, size_t i, cf_str tool);
/* The tool is accepted as it is now. */
void cf_tool_servers_accept(cf_tool_servers *s, size_t i, size_t k);
/* How it differs from what was approved; lines. */
void cf_tool_servers_difference(cf_tool_servers *s, size_t i, size_t k, cf_buf *out);

/* Declarations of other origin, which come first. */
void cf_tool_servers_set_others(cf_tool_servers *s, const json_t *others);

/* Seconds of prefill for so many tokens, by the newest replies of the path;
 * < 0: not known. */
double cf_tool_servers_seconds(const cf_tool_servers *s, int64_t tokens);

/* ---- calls -------------------------------------------------------------- */

/* Finds the server and tool of a declared name; false if no server has it. */
bool cf_tool_servers_find(const cf_tool_servers *s, cf_str name, size_t *i, cf_str *tool);

bool cf_tool_servers_may_call(cf_tool_servers *s, size_t i, cf_str tool);
/* As cf_approvals_give() and cf_approvals_take_back(). */
CF_MUST_USE cf_status cf_tool_servers_approve(cf_tool_servers *s, size_t i, cf_str tool,
                                              cf_approval scope, cf_error *err);
CF_MUST_USE cf_status cf_tool_servers_forbid(cf_tool_servers *s, size_t i, cf_str tool,
                                             cf_error *err);

/*
 * Calls the tool and waits; from a task's thread.  `index` is that of
 * cf_tool_server.  A server that has ended is restarted first.  `text` gets the result
 * for the model.  Errors of cf_mcp_call(), and CF_EIO for a result marked as an error.
 */
CF_MUST_USE cf_status cf_tool_servers_call(cf_tool_servers *s, size_t index, cf_str tool,
                                           const json_t *arguments, uint32_t timeout_ms,
                                           cf_cancel *cancel, cf_buf *text, cf_error *err);
/* "step 2 of 4  reading", while a call runs; empty. */
void cf_tool_servers_progress(cf_tool_servers *s, cf_buf *out);

/* ---- questions of servers ----------------------------------------------- */

/* A copy of the question that waits for the user, and its server's name;
 * NULL. */
json_t *cf_tool_servers_question(cf_tool_servers *s, cf_str *server);
/* Answers it, in the form of cf_mcp_ask_fn; takes ownership of `answer`. */
void cf_tool_servers_answer(cf_tool_servers *s, json_t *answer);

/* ---- the log ------------------------------------------------------------ */

cf_tool_links *cf_tool_servers_log(cf_tool_servers *s);

#endif
