/*
 * complete_batch.h - confab complete --batch: prompts as ids, one session.
 */
#ifndef CF_TUI_CLI_TALK_COMPLETE_BATCH_H
#define CF_TUI_CLI_TALK_COMPLETE_BATCH_H

#include "core/api/sampling.h"
#include "core/api/session.h"
#include "tui/cli/shell/cli.h"

/*
 * Answers each line {"name", "ids", "n"} of the file with {"name", "ids",
 * "logits", "kept", "computed"}: up to n tokens that follow the prompt `ids`
 * (fewer where the model ends or the context is full), each with its raw logit,
 * and how many of the prompt's tokens the session had already.  A line's own
 * failure is in its answer.  Returns the exit status.
 */
int cf_complete_batch(const cf_cli *cli, const char *path, cf_session *session,
                      cf_sampler *sampler);

#endif
