/*
 * mcp.h - tool servers that speak the Model Context Protocol.
 *
 * Place in the flow:  a file of servers --> [mcp] --> their tools, declared to
 *                     the model; a call --> [mcp] --> its result.
 * Knows: JSON-RPC, both eras of the protocol (2026-07-28, which is stateless,
 * and 2024-11-05 to 2025-11-25, which begin with `initialize`), the transports
 * stdio and streamable HTTP, JSON Schema.  Does not know: models, turns, who
 * approves a program or a call, where the log is kept.
 *
 * One object holds all servers of a session.  Starting them is a state
 * machine: cf_mcp_add() begins, cf_mcp_step() continues all of them at
 * once.  A call waits for its own answer and steps meanwhile.
 *
 * Servers are not trusted: lines, lists, pages, results and times are bounded;
 * what a server says is text to be made safe before a terminal gets it, tool
 * names and descriptions too.
 *
 * Threads:  one thread at a time; cf_mcp_wake() from any thread.
 * Memory:   results are borrowed until the next call that is given the object
 *           without const, except where a function says otherwise.
 */
#ifndef CF_CORE_API_MCP_H
#define CF_CORE_API_MCP_H

#include "core/api/mcp_sign_in.h"
#include "core/api/session.h"
#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/str.h"
#include "core/json/json.h"

CF_BEGIN_DECLS

/* The revisions spoken here, the newest first; NULL at the end. */
extern const char *const cf_mcp_revisions[];

/* ---- which servers ------------------------------------------------------ */

/*
 * Reads the "mcpServers" object that clients share: by name {"command",
 * "args", "env", "cwd"} or {"url", "headers", "oauth"}; "servers" is read as
 * well.  *out is a new array of {"name", "command":[...], "env":{}, "cwd"} and
 * {"name", "url", "headers":{}, "oauth"} in the file's order, without those that say
 * "disabled": true.  "${NAME}" and "${NAME:-default}" in a value are replaced
 * by `lookup` (may be NULL: they are left alone), which returns NULL for an
 * unknown name.
 * CF_EFORMAT naming the server and the member, CF_ENOMEM.
 */
typedef const char *(*cf_mcp_lookup_fn)(void *ud, const char *name);
CF_MUST_USE cf_status cf_mcp_config_read(json_t **out, const json_t *file, cf_mcp_lookup_fn lookup,
                                         void *ud, cf_error *err);

/* The same object for a command line, cut into words as a shell does (quotes
 * and backslashes, nothing else), or for an address.  Its name comes from the
 * program: "npx -y @scope/server-files /tmp" is "files".  CF_EINVAL. */
CF_MUST_USE cf_status cf_mcp_config_line(json_t **out, const char *line, cf_error *err);

/* Appends the command with quotes where they are needed, or the address: for
 * the question whether it may be started.  Variables that decide what runs are
 * warned of.  Values of `env` and `headers` are shown as the file has them, the
 * first 100 bytes: what is in a "${VARIABLE}" is not. */
void cf_mcp_config_show(cf_buf *out, const json_t *config);

/* ---- the servers -------------------------------------------------------- */

typedef struct cf_mcp cf_mcp;

typedef enum cf_mcp_state {
    CF_MCP_STARTING,
    CF_MCP_READY,
    CF_MCP_FAILED,
    CF_MCP_STOPPED
} cf_mcp_state;

/* "starting", "ready", "failed", "stopped" */
const char *cf_mcp_state_name(cf_mcp_state state);

typedef enum cf_mcp_event_kind {
    CF_MCP_SENT,     /* text: a message of ours */
    CF_MCP_RECEIVED, /* text: a message of the server's, as it came */
    CF_MCP_STRAY,    /* text: a line on its standard output that is not
                        a message */
    CF_MCP_STDERR,   /* text: a line on its standard error */
    CF_MCP_NOTE,     /* text: what was done about something odd */
    CF_MCP_STATE,    /* the server's state changed */
    CF_MCP_TOOLS,    /* another list of tools came; `before` is the old one */
    CF_MCP_PROGRESS, /* of a call: progress, total (< 0: unknown), text */
    CF_MCP_STEP      /* text: a step of a sign-in, without secrets */
} cf_mcp_event_kind;

typedef struct cf_mcp_event {
    cf_mcp_event_kind kind;
    size_t server;
    uint64_t call; /* the number of the call it belongs to; 0: none */
    cf_str text;
    double progress, total;
    const json_t *before; /* an array; NULL: there was none */
} cf_mcp_event;

/* Called on the thread that steps; must not call back into the object. */
typedef void (*cf_mcp_event_fn)(void *ud, const cf_mcp_event *event);

/*
 * A server asks the user: `params` of elicitation/create ("message", and
 * "requestedSchema" or "url").  Fills *answer with a new object {"action":
 * "accept"|"decline"|"cancel", "content":{...}}, or leaves it NULL: declined.
 * May take its time; the call's limit is extended by it.
 */
typedef void (*cf_mcp_ask_fn)(void *ud, size_t server, const json_t *params, json_t **answer);

/* Zero is the default everywhere. */
typedef struct cf_mcp_options {
    const char *const *env; /* "NAME=VALUE" that every program gets, NULL at
                               the end; NULL: none but the server's own */
    uint32_t probe_ms;      /* silence before the old way is tried; 3,000 */
    uint32_t start_ms;      /* each answer until it is ready; 30,000 */
    uint32_t call_ms;       /* of a call; 60,000 */
    uint32_t grace_ms;      /* each step of ending a program; 2,000 */
    size_t message_max;     /* bytes of one message; 16 MiB */
    bool listens;           /* to changes of the lists, too */
    cf_mcp_event_fn event;  /* may be NULL */
    cf_mcp_ask_fn ask;      /* NULL: declined */
    /* How servers at an address are signed in to; NULL: they are not. */
    const cf_mcp_sign_in *sign_in;
    void *ud;
} cf_mcp_options;

CF_MUST_USE cf_status cf_mcp_new(cf_mcp **out, const cf_mcp_options *options, cf_error *err);
/* Ends every server: standard input is closed, then SIGTERM, then SIGKILL. */
void cf_mcp_free(cf_mcp *mcp);

/* Adds a server (`config` as from cf_mcp_config_read(), referenced) and begins
 * to start it.  A program that cannot be started is a server in the state
 * failed.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_mcp_add(cf_mcp *mcp, const json_t *config, size_t *index, cf_error *err);
/* Ends one and begins to start it again; its tools stay known until then. */
CF_MUST_USE cf_status cf_mcp_restart(cf_mcp *mcp, size_t index, cf_error *err);
void cf_mcp_stop(cf_mcp *mcp, size_t index);

/* Waits up to `timeout_ms` for anything to happen, and does what follows. */
CF_MUST_USE cf_status cf_mcp_step(cf_mcp *mcp, uint32_t timeout_ms, cf_error *err);
/* Makes a cf_mcp_step() return. */
void cf_mcp_wake(cf_mcp *mcp);
/* Steps until no server is starting; CF_ECANCELLED. */
CF_MUST_USE cf_status cf_mcp_settle(cf_mcp *mcp, cf_cancel *cancel, cf_error *err);
/* Lists again the tools whose list has outlived the time that its server gave
 * it (ttlMs), and waits for the answers. */
CF_MUST_USE cf_status cf_mcp_refresh(cf_mcp *mcp, cf_cancel *cancel, cf_error *err);

typedef struct cf_mcp_server {
    cf_str name; /* of the file */
    cf_mcp_state state;
    const char *error; /* why it failed; "" */
    cf_status error_code;
    const char *protocol;                /* the revision; "" until it is known */
    cf_str title, version, instructions; /* as it calls itself; empty */
    /* As the server lists them, in its order: name, description, inputSchema,
     * outputSchema ...  Never NULL. */
    const json_t *tools;
    /* As the server lists them; NULL where it has none. */
    const json_t *prompts;   /* name, description, arguments ... */
    const json_t *resources; /* uri, name, mimeType, size ... */
    const json_t *templates; /* uriTemplate, name ... */
    const json_t *config;
    /* {"issuer", "scope", "until": ms since 1970}, of the token in use, the last
     * two where they are known; NULL: no token. */
    const json_t *signed_in;
} cf_mcp_server;

size_t cf_mcp_n(const cf_mcp *mcp);
cf_mcp_server cf_mcp_server_at(const cf_mcp *mcp, size_t index);

/* The tool of that name in a list of tools; NULL. */
const json_t *cf_mcp_tool_find(const json_t *tools, cf_str name);

/* Whether the tool can be called as a task only, which is not offered here. */
bool cf_mcp_tool_needs_task(const json_t *tool);

/* ---- calls -------------------------------------------------------------- */

typedef struct cf_mcp_call_options {
    uint32_t timeout_ms; /* 0: as in cf_mcp_options */
    uint64_t call;       /* its number in the log; 0: the next one */
    cf_cancel *cancel;   /* may be NULL */
} cf_mcp_call_options;

typedef struct cf_mcp_result {
    bool is_sent;       /* false: the arguments do not fit, nothing was sent */
    bool is_error;      /* the tool says that it failed */
    bool is_bad;        /* structuredContent is not what outputSchema says */
    json_t *content;    /* array of blocks, never NULL */
    json_t *structured; /* NULL: none */
    json_t *findings;   /* array of {"path","text"}; "unchecked": true where
                           a schema cannot be used to check with */
    uint64_t call;      /* its number in the log */
    uint64_t duration_us;
} cf_mcp_result;

void cf_mcp_result_deinit(cf_mcp_result *result);

/*
 * Calls a tool and waits for its result.
 *
 * The arguments are checked against inputSchema first, the result's
 * structuredContent against outputSchema after.  A question of the server
 * (elicitation) goes to the `ask` of the options; sampling and roots are not
 * offered.
 *
 * CF_ENOTFOUND: no such tool, or the server is not ready.  CF_EIO: it died, or
 * cannot be reached.  CF_ELIMIT: no answer in time (the server is notified), or
 * too much of one.  CF_EFORMAT: the answer is an error of the protocol, or
 * is not a result.  CF_ECANCELLED (the server is notified), CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_mcp_call(cf_mcp *mcp, size_t index, cf_str tool, const json_t *arguments,
                                  const cf_mcp_call_options *options, cf_mcp_result *out,
                                  cf_error *err);

/* Reads a resource (resources/read); *out is the result, a new reference, with
 * a list "contents" of {"uri", "mimeType", "text" or "blob"}.  Errors as of
 * cf_mcp_call(). */
CF_MUST_USE cf_status cf_mcp_read_resource(cf_mcp *mcp, size_t index, cf_str uri,
                                           const cf_mcp_call_options *options, json_t **out,
                                           cf_error *err);
/* Has a prompt made (prompts/get), `arguments` an object of texts or NULL; *out
 * is the result, with a list "messages" of {"role", "content"}. */
CF_MUST_USE cf_status cf_mcp_get_prompt(cf_mcp *mcp, size_t index, cf_str name,
                                        const json_t *arguments, const cf_mcp_call_options *options,
                                        json_t **out, cf_error *err);

/* Appends the result as text for a model: text blocks and the text of
 * resources as they are, everything else in a line that says what it is. */
void cf_mcp_result_text(const cf_mcp_result *result, cf_buf *out);

/* The result as a message's content: that text, or, where there are images or
 * sounds, a list of parts that begins with it.  A new reference; NULL without
 * memory. */
json_t *cf_mcp_result_content(const cf_mcp_result *result);

/* ---- all tools together ------------------------------------------------- */

/*
 * Declares tools of several servers to a model.  `servers` is an array of
 * {"name", "tools":[...], "off": true | [names]}; `others` (may be NULL) are
 * declarations of other origin, which come first and keep their names.
 *
 * *declared: a new array of declarations in OpenAI's form, schemas as they
 * are.  *map: a new array of {"name", "server": index, "tool"}, one for each
 * tool of a server, in the order of *declared.  A name that occurs more than
 * once carries its server's name: SERVER_TOOL.
 */
CF_MUST_USE cf_status cf_mcp_declare(json_t **declared, json_t **map, const json_t *servers,
                                     const json_t *others, cf_error *err);

/* Compares two lists of tools: appends lines "+ name", "- name", and for a
 * changed one "~ name" with its lines before and after.  Nothing when they are
 * the same. */
void cf_mcp_tools_diff(cf_buf *out, const json_t *before, const json_t *after);

/* The same for one tool; false when nothing differs that a model sees. */
bool cf_mcp_tool_differs(const json_t *before, const json_t *after);

CF_END_DECLS

#endif
