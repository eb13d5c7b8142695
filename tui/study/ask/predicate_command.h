/*
 * predicate_command.h - a command that gets a text on standard input and
 * answers by its exit status.
 *
 * Threads:  any; the call waits for the command's end.
 */
#ifndef CF_TUI_STUDY_ASK_PREDICATE_COMMAND_H
#define CF_TUI_STUDY_ASK_PREDICATE_COMMAND_H

#include "core/api/session.h"
#include "core/base/buf.h"

/*
 * Runs a shell command in a session of its own with `input` on standard input.
 * *status as of waitpid(); the last line that it wrote on either stream is
 * appended to `last` (may be NULL).  CF_ELIMIT after `ms` milliseconds,
 * CF_ECANCELLED, CF_EIO, CF_ENOMEM; the command is then ended with everything
 * it started.
 */
CF_MUST_USE cf_status cf_study_command(const char *command, cf_str input, uint32_t ms,
                                       cf_cancel *cancel, int *status, cf_buf *last, cf_error *err);

#endif
