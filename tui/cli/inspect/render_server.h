/*
 * render_server.h - confab render -m ADDRESS: the prompt that a server makes.
 */
#ifndef CF_TUI_CLI_INSPECT_RENDER_SERVER_H
#define CF_TUI_CLI_INSPECT_RENDER_SERVER_H

#include "tui/cli/shell/cli.h"

/*
 * Prints the prompt of a context's file (NULL: an empty context), or its token
 * ids, as the server shows them.  A server that does not show its prompt gets
 * ours, with the template of -t, and a note says so.  With --json one object:
 * server, n_ctx, ours, output, and tokens with their texts.
 */
int cf_render_server(cf_cli *cli, const char *path, bool with_ids);

#endif
