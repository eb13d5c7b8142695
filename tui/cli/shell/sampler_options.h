/*
 * sampler_options.h - the sampler's options, the same for every command that
 * generates.
 */
#ifndef CF_TUI_CLI_SHELL_SAMPLER_OPTIONS_H
#define CF_TUI_CLI_SHELL_SAMPLER_OPTIONS_H

#include "core/api/reply_options.h"
#include "tui/cli/shell/cli.h"

/* Rows of the table, without an end: --greedy and cf_options but the seed. */
enum { CF_SAMPLER_OPTIONS = CF_OPTION_N, CF_SAMPLER_NAME = 32 };

typedef struct cf_sampler_options {
    bool is_greedy;
    bool given[CF_OPTION_N];
    char names[CF_OPTION_N][CF_SAMPLER_NAME];
    cf_chat_options chat; /* as given; the defaults are filled by finish */
    cf_opt_list bias_list, suppress_list;
    cf_logit_bias bias[CF_OPT_LIST_MAX];
    cf_token suppress[CF_OPT_LIST_MAX];
} cf_sampler_options;

/* Writes CF_SAMPLER_OPTIONS rows to `rows`, which store into *o (zeroed by
 * the caller, and not moved afterwards). */
void cf_sampler_options_table(cf_sampler_options *o, cf_opt *rows);

/*
 * Fills the sampling of a reply and notes which options were given.  Without
 * any of --temperature, --top-k, --top-p, --min-p and --greedy these are 0.8,
 * 40, 0.95 and 0.05; the seed is that of --seed, else a fresh one.  Settings
 * of confabrc count as options that the command line overrides.  The result
 * points into *o.  CF_EINVAL, naming the option.
 */
CF_MUST_USE cf_status cf_sampler_options_finish(cf_sampler_options *o, const cf_cli *cli,
                                                cf_chat_options *out, cf_error *err);

#endif
