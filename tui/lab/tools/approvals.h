/*
 * approvals.h - which tools of tool servers the user has seen, and which of them may be
 * called without asking: in one conversation, or permanently.
 *
 * Place in the flow:  a tool as its server lists it --> [approvals] --> whether
 * it is shown as changed, and whether a call of it is asked about.
 * Knows: the history, where tools and permanent approvals are kept.  Does not
 * know: servers that run, screens.
 *
 * Threads:  one thread at a time.
 * Memory:   owns the approvals of conversations.
 */
#ifndef CF_TUI_LAB_TOOLS_APPROVALS_H
#define CF_TUI_LAB_TOOLS_APPROVALS_H

#include "core/api/mcp.h"
#include "core/base/uuid.h"

typedef struct cf_store cf_store;

typedef struct cf_approvals {
    cf_store *store; /* NULL: nothing is kept */
    struct cf_approved *list;
    size_t n, cap;
} cf_approvals;

void cf_approvals_init(cf_approvals *a, cf_store *store);
void cf_approvals_deinit(cf_approvals *a);

/* ---- tools as the user saw them last ------------------------------------ */

typedef enum cf_tool_news {
    CF_TOOL_FIRST_SEEN,
    CF_TOOL_AS_BEFORE,
    CF_TOOL_OTHER /* its description or schema differs, or cannot be compared */
} cf_tool_news;

/* Compares a tool with what is remembered, which becomes *before: a new
 * reference, or NULL.  CF_ENOMEM; then nothing is known about the tool. */
CF_MUST_USE cf_status cf_approvals_compare(const cf_approvals *a, cf_str server, const json_t *tool,
                                           cf_tool_news *news, json_t **before, cf_error *err);
/* From now on the user knows the tool as it is; without memory it is asked
 * about again. */
void cf_approvals_remember(const cf_approvals *a, cf_str server, const json_t *tool);

/* ---- calls -------------------------------------------------------------- */

typedef enum cf_approval {
    CF_APPROVE_ONCE,         /* nothing is remembered */
    CF_APPROVE_CONVERSATION, /* this tool, in this conversation */
    CF_APPROVE_SERVER,       /* all of the server, in this conversation */
    CF_APPROVE_FOR_GOOD      /* this tool, until it or its server changes */
} cf_approval;

/* What cannot be kept for good, as without a history or where the state folder cannot
 * be written, holds in this conversation, and the error says why. */
CF_MUST_USE cf_status cf_approvals_give(cf_approvals *a, cf_uuid conversation,
                                        const cf_mcp_server *server, cf_str tool, cf_approval scope,
                                        cf_error *err);
/* Takes every approval of the tool back, and those of its whole server.  After an
 * error one that was given for good still holds. */
CF_MUST_USE cf_status cf_approvals_take_back(cf_approvals *a, const cf_mcp_server *server,
                                             cf_str tool, cf_error *err);

/* Whether calls of the tool may run unasked in this conversation. */
bool cf_approvals_may_call(const cf_approvals *a, cf_uuid conversation, const cf_mcp_server *server,
                           cf_str tool);
/* Whether calls of all tools of the server may. */
bool cf_approvals_has_server(const cf_approvals *a, cf_uuid conversation, cf_str server);

#endif
