/*
 * server_bench.h - the tool servers of the workbench: started and stopped,
 * switched on and off, their tools declared to the model, their calls
 * approved and made, their questions handed to the user.
 *
 * Place in the flow:  :mcp and --mcp --> [server_bench] --> the tools of the
 * conversation; a call of the Tools view --> its thread --> the server.
 * Knows: the workbench's model (lab.h), what the user approved.  Does not
 * know: screens.
 *
 * Threads:  the interface thread, except cf_server_bench_call().  A thread of
 *           its own steps the servers while no call does.
 * Memory:   texts and trees returned live until the next poll.
 */
#ifndef CF_TUI_LAB_TOOLS_SERVER_BENCH_H
#define CF_TUI_LAB_TOOLS_SERVER_BENCH_H

#include "tui/lab/state/lab_state.h"
#include "tui/lab/tools/servers.h"

typedef struct cf_server_bench cf_server_bench;

CF_MUST_USE cf_status cf_server_bench_new(cf_server_bench **out, cf_lab *lab, cf_store *store,
                                          cf_error *err);
void cf_server_bench_free(cf_server_bench *b);
/* A descriptor that gets a byte when there is something to poll; -1: none. */
void cf_server_bench_wake_with(cf_server_bench *b, int fd);

/* Takes over what the servers have done: declares their tools again where they
 * changed, and counts their tokens.  True when something changed; `notice`
 * gets lines that the user should see, the first one first. */
bool cf_server_bench_poll(cf_server_bench *b, cf_buf *notice);

/* ---- servers ------------------------------------------------------------ */

typedef enum cf_bench_state {
    CF_BENCH_ASKED, /* waits for the user: may it be started? */
    CF_BENCH_STARTING,
    CF_BENCH_READY,
    CF_BENCH_FAILED,
    CF_BENCH_STOPPED
} cf_bench_state;

typedef struct cf_bench_tool {
    cf_str name, description;
    const json_t *tool; /* as the server lists it */
    bool is_on;
    bool has_changed; /* since it was approved: off until it is accepted */
    bool is_approved; /* calls run unasked */
    int64_t tokens;   /* -1: not known */
} cf_bench_tool;

typedef struct cf_bench_server {
    cf_str name, protocol, error;
    const json_t *config;
    cf_bench_state state;
    bool is_on, is_approved;
    size_t n_tools;
    size_t index;   /* for calls; SIZE_MAX: not started yet */
    int64_t tokens; /* of its tools that are on; -1: not known */
} cf_bench_server;

size_t cf_server_bench_n(const cf_server_bench *b);
cf_bench_server cf_server_bench_at(cf_server_bench *b, size_t i);
cf_bench_tool cf_server_bench_tool(cf_server_bench *b, size_t i, size_t k);

/* Adds a server that waits for the user's yes. */
CF_MUST_USE cf_status cf_server_bench_add(cf_server_bench *b, const json_t *config, cf_error *err);
/* Starts it, or starts it again. */
void cf_server_bench_start(cf_server_bench *b, size_t i);
void cf_server_bench_stop(cf_server_bench *b, size_t i);
/* Declares a server's tools, or one of them, or not. */
void cf_server_bench_switch(cf_server_bench *b, size_t i, cf_str tool);
/* The tool is accepted as it is now. */
void cf_server_bench_accept(cf_server_bench *b, size_t i, size_t k);
/* How it differs from what was approved; lines. */
void cf_server_bench_difference(cf_server_bench *b, size_t i, size_t k, cf_buf *out);

/* Declarations of other origin, which come first. */
void cf_server_bench_set_others(cf_server_bench *b, const json_t *others);

/* Seconds of prefill for so many tokens, by the newest replies of the path;
 * < 0: not known. */
double cf_server_bench_seconds(const cf_server_bench *b, int64_t tokens);

/* ---- calls -------------------------------------------------------------- */

/* Which tool a declared name means; false: none of a server. */
bool cf_server_bench_find(const cf_server_bench *b, cf_str name, size_t *i, cf_str *tool);

typedef enum cf_bench_scope {
    CF_BENCH_ONCE,
    CF_BENCH_CONVERSATION, /* this tool, in this conversation */
    CF_BENCH_SERVER,       /* all of the server, in this conversation */
    CF_BENCH_FOR_GOOD      /* this tool, until it or its server changes */
} cf_bench_scope;

bool cf_server_bench_may_call(cf_server_bench *b, size_t i, cf_str tool);
void cf_server_bench_approve(cf_server_bench *b, size_t i, cf_str tool, cf_bench_scope scope);
/* Takes every approval of the tool back. */
void cf_server_bench_forbid(cf_server_bench *b, size_t i, cf_str tool);

/*
 * Calls the tool and waits; from a task's thread.  `index` is that of
 * cf_bench_server.  A server that has ended is
 * started again first.  `text` gets what the model gets.  As cf_mcp_call(),
 * and CF_EIO for a result that says it is an error.
 */
CF_MUST_USE cf_status cf_server_bench_call(cf_server_bench *b, size_t index, cf_str tool,
                                           const json_t *arguments, uint32_t timeout_ms,
                                           cf_cancel *cancel, cf_buf *text, cf_error *err);
/* "step 2 of 4  reading", while a call runs; empty. */
void cf_server_bench_progress(cf_server_bench *b, cf_buf *out);

/* ---- questions of servers ----------------------------------------------- */

/* A copy of the question that waits for the user, and its server's name;
 * NULL. */
json_t *cf_server_bench_question(cf_server_bench *b, cf_str *server);
/* Takes the answer over: as for cf_mcp_ask_fn. */
void cf_server_bench_answer(cf_server_bench *b, json_t *answer);

/* ---- the log ------------------------------------------------------------ */

cf_servers *cf_server_bench_log(cf_server_bench *b);

#endif
