/*
 * run_limit.h - what the options of a command allow a reply to be.
 */
#ifndef CF_TUI_CLI_TALK_RUN_LIMIT_H
#define CF_TUI_CLI_TALK_RUN_LIMIT_H

#include "core/api/constraint.h"
#include "core/api/conversation.h"
#include "tui/cli/shell/cli.h"

typedef struct cf_run_limit {
    const char *schema, *regex, *grammar_path, *tool_mode; /* options */
    cf_opt_list choices;
    json_t *spec;        /* NULL: no constraint */
    cf_grammar *grammar; /* of the built-in core */
    cf_constraint_vocab *vocab;
    cf_buf constraint; /* as JSON, for the history */
} cf_run_limit;

/* Makes the constraint that the options ask for, of which at most one may be
 * given; a server gets the spec alone.  CF_EINVAL, CF_EFORMAT, CF_EUNSUPPORTED
 * for an engine that cannot be constrained. */
CF_MUST_USE cf_status cf_run_limit_make(cf_run_limit *l, const cf_cli *cli,
                                        const cf_conversation *conv, cf_error *err);
/* Whether one of the options is given. */
bool cf_run_limit_is_asked(const cf_run_limit *l);
void cf_run_limit_deinit(cf_run_limit *l);

#endif
