/*
 * sampler_options.h - the sampler's options, the same for every command that
 * generates.
 */
#ifndef CF_TUI_CLI_SAMPLER_OPTIONS_H
#define CF_TUI_CLI_SAMPLER_OPTIONS_H

#include "core/api/sampling.h"
#include "tui/cli/cli.h"

enum { CF_SAMPLER_OPTIONS = 13 }; /* rows of the table, without an end */

typedef struct cf_sampler_options {
    bool is_greedy;
    bool has_temperature, has_top_k, has_top_p, has_min_p;
    cf_sampling sampling; /* as given; the defaults are filled by finish */
    cf_opt_list bias_list, suppress_list;
    cf_logit_bias bias[CF_OPT_LIST_MAX];
    cf_token suppress[CF_OPT_LIST_MAX];
} cf_sampler_options;

/* Writes CF_SAMPLER_OPTIONS rows to `rows`, which store into *o (zeroed by
 * the caller, and not moved afterwards). */
void cf_sampler_options_table(cf_sampler_options *o, cf_opt *rows);

/*
 * Turns what was given into options for cf_sampler_new(): temperature 0.8,
 * top-k 40, top-p 0.95 and min-p 0.05 where none of the four and not
 * --greedy was given; the seed of --seed, else a fresh one.  The result
 * points into *o.  CF_EINVAL, naming the option.
 */
CF_MUST_USE cf_status cf_sampler_options_finish(cf_sampler_options *o,
                                                const cf_cli *cli,
                                                cf_sampling *out,
                                                cf_error *err);

#endif
