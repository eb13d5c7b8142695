/*
 * inside_batch.h - confab inside --batch: one request a line, as JSON.
 */
#ifndef CF_TUI_CLI_INSIDE_INSIDE_BATCH_H
#define CF_TUI_CLI_INSIDE_INSIDE_BATCH_H

#include "core/api/inside.h"
#include "core/json/json_writer.h"
#include "tui/cli/shell/cli.h"

/* The members of a margin, in an open object. */
void cf_inside_json_margin(cf_jw *w, const cf_margin *m);

/* Answers the requests of a file on a session; the exit status. */
int cf_inside_batch(const cf_cli *cli, const char *path, cf_session *session);

#endif
