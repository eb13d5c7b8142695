/*
 * mcp_form.h - a question of a tool server, asked on the terminal.
 */
#ifndef CF_TUI_CLI_TALK_MCP_FORM_H
#define CF_TUI_CLI_TALK_MCP_FORM_H

#include "core/json/json.h"

/* Asks for the fields of params["requestedSchema"], or whether an address was
 * visited; *answer as for cf_mcp_ask_fn.  An empty line takes the default, an
 * end of the input cancels. */
void cf_mcp_form(cf_str server, const json_t *params, json_t **answer);

#endif
