/*
 * scripted.h - answers requests from a file, in the form that each interface
 * has: tests of agents without a model and without a history.
 *
 * Place in the flow:  http server --> [scripted] --> answer; copies --> record.
 * Knows: the script, the forms of answers.  Does not know: models.
 *
 * The file is {"replies": [REPLY, ...]}.  A request takes the next reply
 * whose "when" is in its body (or that has none), in order, starting over at
 * the end.  REPLY:
 *
 *   {"text": "Hello"}                       what the model says
 *   {"calls": [{"name": "f", "arguments": {...}}]}, also with "text"
 *   {"status": 429, "error": "slow down"}   an error, with that status
 *   with "when" (a text), "thinking" (a text), "usage" ({"prompt_tokens",
 *   "completion_tokens"}) and "retry_after" (seconds)
 *
 * Threads:  requests run on their connections' threads.
 * Memory:   owns the script.
 */
#ifndef CF_TUI_SERVE_SCRIPTED_H
#define CF_TUI_SERVE_SCRIPTED_H

#include "tui/serve/record/record.h"

typedef struct cf_scripted cf_scripted;

/* CF_EFORMAT for a script that is not one, naming the reply; CF_ENOMEM.
 * `recorder` may be NULL. */
CF_MUST_USE cf_status cf_scripted_new(cf_scripted **out, const json_t *script,
                                      cf_recorder *recorder, cf_error *err);
void cf_scripted_free(cf_scripted *s);
cf_http_handler cf_scripted_handler(cf_scripted *s);

#endif
