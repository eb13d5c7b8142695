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
#include "core/json/json_writer.h"

/* An event as one line, with the number of its candidate (-1: none).  A prompt
 * and a stop have their kind only. */
void cf_run_json_event(cf_buf *out, const cf_chat_event *event, int candidate);

/* Around the members of a line: begins {"event": EVENT, and ends it.  `out`
 * fails if the writer has. */
void cf_run_json_begin(cf_jw *w, cf_buf *out, const char *event);
void cf_run_json_end(cf_jw *w);

/* The members of a stop, and an object. */
void cf_run_json_stop(cf_jw *w, const cf_stop *stop);
void cf_run_json_usage(cf_jw *w, const char *key, const cf_usage *usage);

#endif
