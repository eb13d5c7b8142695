/*
 * run_open.h - what a saved conversation waits for: an answer to its last
 * message, or results of calls, which may be typed on the terminal.
 */
#ifndef CF_TUI_CLI_TALK_RUN_OPEN_H
#define CF_TUI_CLI_TALK_RUN_OPEN_H

#include "core/api/conversation.h"
#include "tui/cli/shell/options.h"

/* The turn at the end of the head's path that is to be answered: a message of
 * the user or a result.  Failed replies after it do not count.  CF_EINVAL
 * where the path ends otherwise. */
CF_MUST_USE cf_status cf_run_open_turn(cf_uuid *out, const cf_conversation *conv, cf_error *err);

/*
 * The messages with the results of `given`, each ID=JSON, for calls at the end
 * of the head's path that have none: a new array in *out.  ID is a call's id,
 * or its name where it has no id.  *parent is the turn that they follow.
 * *n_open counts the calls that stay without a result.  CF_EINVAL names an id
 * that is not open, or a text that is not JSON.
 */
CF_MUST_USE cf_status cf_run_results(json_t **out, cf_uuid *parent, size_t *n_open,
                                     const cf_conversation *conv, const cf_opt_list *given,
                                     cf_error *err);

/* One line from the terminal; false at its end, or out of memory. */
bool cf_run_ask(const char *question, cf_buf *answer);

/* A result that is typed: JSON, or a text.  CF_EIO, CF_EFORMAT. */
CF_MUST_USE cf_status cf_run_typed_result(json_t **result, cf_error *err);

#endif
