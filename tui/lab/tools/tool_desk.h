/*
 * tool_desk.h - the user's decisions about tools: mock results, the commands that run
 * them, what may run without asking, and what the model gets when a call fails.
 *
 * Mocks, commands, "never" and the rest are kept in a file, so that the next
 * start has them; "always" lasts until the program ends, and no longer than
 * the command that it was given for.
 *
 * Mocks, commands and policies belong to a set of declarations: those made for
 * the tools of one file say nothing about a tool of the same name elsewhere.
 *
 * The file is JSON: {"tools":{SCOPE:{"mocks":{NAME:TEXT},"commands":{NAME:
 * COMMAND},"policies":{NAME:"never"}}},"on_failure":"send","timeout_s":30},
 * where SCOPE is cf_tool_desk_scope()'s.  Files of earlier versions have the
 * three at the top; they hold for declarations that are not the program's own.
 * A change writes its own member over what the file has by then, so two
 * programs lose nothing of each other's.
 *
 * Threads:  the interface thread.
 * Memory:   owns everything; texts returned live until the next change.
 */
#ifndef CF_TUI_LAB_TOOLS_TOOL_DESK_H
#define CF_TUI_LAB_TOOLS_TOOL_DESK_H

#include <stdint.h>

#include "core/base/status.h"
#include "core/base/str.h"
#include "core/json/json.h"

typedef enum cf_tool_policy {
    CF_POLICY_ASK,    /* before each run */
    CF_POLICY_ALWAYS, /* runs unasked */
    CF_POLICY_NEVER   /* is refused */
} cf_tool_policy;

/* What happens with a call that does not parse, is not valid, or whose command
 * fails. */
typedef enum cf_on_failure {
    CF_FAILURE_SEND,  /* the model gets the reason and continues */
    CF_FAILURE_RETRY, /* another reply, as a sibling */
    CF_FAILURE_STOP,  /* nothing: the user looks at it */
    CF_FAILURE_DROP,  /* a sibling reply without the calls */
    CF_FAILURE_COUNT
} cf_on_failure;

enum { CF_DESK_SCOPE = 33 };

typedef struct cf_tool_desk {
    json_t *mocks, *commands, *policies; /* objects */
    cf_on_failure on_failure;
    uint32_t timeout_s;        /* of a command */
    char *path;                /* NULL: nothing is kept */
    char scope[CF_DESK_SCOPE]; /* whose the three are; "" for the top */
    char *any;                 /* command of "*" that is not kept; NULL */
} cf_tool_desk;

CF_MUST_USE cf_status cf_tool_desk_init(cf_tool_desk *desk, cf_error *err);
void cf_tool_desk_deinit(cf_tool_desk *desk);

/* Reads the file and keeps later changes in it; it may be absent.  CF_EFORMAT
 * when it cannot be understood: it is left alone then, and nothing is kept. */
CF_MUST_USE cf_status cf_tool_desk_open(cf_tool_desk *desk, const char *path, cf_error *err);

/* The scope of declarations: "built-in" for the program's own, a part of the
 * hash of others, "none" without any. */
void cf_tool_desk_scope(char out[CF_DESK_SCOPE], const json_t *declarations, bool is_own);

/* Goes to another scope: what was kept for it is read, and *loaded gets a line
 * "get_weather: mock; calculate: command" of it.  Approvals end.  A file that
 * cannot be read gives nothing. */
CF_MUST_USE cf_status cf_tool_desk_go(cf_tool_desk *desk, const char *scope, cf_buf *loaded,
                                      cf_error *err);

/* NULL when there is none. */
const char *cf_tool_desk_mock(const cf_tool_desk *desk, cf_str name);
/* `text` NULL removes it.  CF_EINVAL: no UTF-8, or a name too long.  CF_EIO:
 * done, but it cannot be kept. */
CF_MUST_USE cf_status cf_tool_desk_set_mock(cf_tool_desk *desk, cf_str name, const char *text,
                                            cf_error *err);

/* The tool's own command, else the one of "*"; NULL. */
const char *cf_tool_desk_command(const cf_tool_desk *desk, cf_str name);
/* `name` may be "*"; `command` NULL removes it.  Tools it ran for are asked
 * about again. */
CF_MUST_USE cf_status cf_tool_desk_set_command(cf_tool_desk *desk, cf_str name, const char *command,
                                               bool is_kept, cf_error *err);

cf_tool_policy cf_tool_desk_policy(const cf_tool_desk *desk, cf_str name);
CF_MUST_USE cf_status cf_tool_desk_set_policy(cf_tool_desk *desk, cf_str name,
                                              cf_tool_policy policy, cf_error *err);
/* "ask", "always", "never" */
const char *cf_tool_policy_name(cf_tool_policy policy);
bool cf_tool_policy_parse(cf_tool_policy *out, cf_str name);

CF_MUST_USE cf_status cf_tool_desk_set_on_failure(cf_tool_desk *desk, cf_on_failure what,
                                                  cf_error *err);
/* "send", "retry", "stop", "drop", and what it does in some words. */
const char *cf_on_failure_name(cf_on_failure what);
const char *cf_on_failure_help(cf_on_failure what);
bool cf_on_failure_parse(cf_on_failure *out, cf_str name);

/* CF_EINVAL unless 1 to 86400. */
CF_MUST_USE cf_status cf_tool_desk_set_timeout(cf_tool_desk *desk, uint32_t seconds, cf_error *err);

#endif
