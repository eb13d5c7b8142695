/*
 * cli_recorded.h - a model opened as a stored reply recorded it.
 *
 * Threads:  the main one.
 */
#ifndef CF_TUI_CLI_SHELL_CLI_RECORDED_H
#define CF_TUI_CLI_SHELL_CLI_RECORDED_H

#include "storage/store.h"
#include "tui/cli/shell/cli.h"
#include "tui/study/ask/predicate.h"

/*
 * Opens what the command line names, with the template, the adapters, the type
 * of weights and the arithmetic that the reply was written with, unless it
 * names others.
 * `turn` names the reply as cf_study_case_of() does; where there is none, or
 * the model takes no such adapters, it is opened without (and a line says the
 * latter).  Names live in the arena.  Errors of cf_open_backend().
 */
CF_MUST_USE cf_status cf_cli_open_recorded(cf_opened *out, const cf_cli *cli, cf_store *store,
                                           const char *uuid, const char *turn, const char *family,
                                           cf_arena *arena, cf_error *err);

/* Reads a predicate.  CF_EINVAL for one that runs a program and is not
 * approved (--yes); errors of cf_predicate_read(). */
CF_MUST_USE cf_status cf_cli_predicate(cf_predicate **out, const char *text, bool is_approved,
                                       cf_error *err);

/* Why --repeat N and --at-least K do not go together; NULL: they do. */
const char *cf_cli_wrong_repeat(uint32_t repeat, uint32_t at_least);

/* The names of such a list of adapters, "FILE=SCALE", or of steering,
 * "FILE=SCALE:A-B"; NULL when memory ran
 * out. */
const char **cf_cli_adapter_names(const json_t *stored, cf_arena *arena);

/* Takes the steering that a reply was written with, where the command line
 * names none.  Names live in the arena.  CF_EFORMAT, CF_ENOMEM. */
CF_MUST_USE cf_status cf_cli_take_steering(cf_open_options *o, cf_str stored, cf_arena *arena,
                                           cf_error *err);

#endif
