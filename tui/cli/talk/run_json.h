/*
 * run_json.h - the events of confab run --json.
 *
 * Threads:  no state.
 * Memory:   text is appended to the caller's buffer, which remembers a lack
 *           of memory.
 */
#ifndef CF_TUI_CLI_TALK_RUN_JSON_H
#define CF_TUI_CLI_TALK_RUN_JSON_H

#include "core/api/backend.h"

/* An event as one line, with the number of its candidate (-1: none).  A prompt
 * and a stop have their kind only. */
void cf_run_json_event(cf_buf *out, const cf_chat_event *event, int candidate);

/* Members, each with a comma before it. */
void cf_run_json_stop(cf_buf *out, const cf_stop *stop);
/* Members, without a comma before the first. */
void cf_run_json_usage(cf_buf *out, const cf_usage *usage);

#endif
