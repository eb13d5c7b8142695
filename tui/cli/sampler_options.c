/*
 * sampler_options.c - options to cf_sampling.
 */
#include "tui/cli/sampler_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/os.h"

void cf_sampler_options_table(cf_sampler_options *o, cf_opt *rows)
{
    cf_sampling *s = &o->sampling;
    const cf_opt all[CF_SAMPLER_OPTIONS] = {
        {"--greedy", 0, CF_OPT_FLAG, &o->is_greedy, NULL,
         "always take the most probable token", NULL},
        {"--temperature", 0, CF_OPT_F32, &s->temperature, "X",
         "divide logits by X; 0 is greedy (default 0.8)", &o->has_temperature},
        {"--top-k", 0, CF_OPT_U32, &s->top_k, "N",
         "keep the N most probable; 0 is off (default 40)", &o->has_top_k},
        {"--top-p", 0, CF_OPT_F32, &s->top_p, "X",
         "keep the most probable up to a sum of X; 1 is off (default 0.95)",
         &o->has_top_p},
        {"--min-p", 0, CF_OPT_F32, &s->min_p, "X",
         "keep tokens with at least X times the best probability; 0 is off "
         "(default 0.05)",
         &o->has_min_p},
        {"--repetition-penalty", 0, CF_OPT_F32, &s->repetition_penalty, "X",
         "divide logits of seen tokens by X, multiply negative ones", NULL},
        {"--presence-penalty", 0, CF_OPT_F32, &s->presence_penalty, "X",
         "subtract X from logits of seen tokens", NULL},
        {"--frequency-penalty", 0, CF_OPT_F32, &s->frequency_penalty, "X",
         "subtract X for every time a token was seen", NULL},
        {"--penalty-window", 0, CF_OPT_U32, &s->penalty_window, "N",
         "penalties look at the last N tokens (default: all)", NULL},
        {"--no-repeat-ngram", 0, CF_OPT_U32, &s->no_repeat_ngram, "N",
         "never complete a run of N tokens seen before", NULL},
        {"--no-repeat-window", 0, CF_OPT_U32, &s->no_repeat_window, "N",
         "look for such runs in the last N tokens (default: all)", NULL},
        {"--logit-bias", 0, CF_OPT_LIST, &o->bias_list, "ID=X",
         "add X to a token's logit (-inf removes it); may be repeated", NULL},
        {"--suppress", 0, CF_OPT_LIST, &o->suppress_list, "ID",
         "never choose a token; may be repeated", NULL},
    };
    memcpy(rows, all, sizeof all);
}

/* Reads a token id at text; *end is what follows. */
static bool read_id(cf_token *out, const char *text, char **end)
{
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    unsigned long v = strtoul(text, end, 10);
    if (v > INT32_MAX) {
        return false;
    }
    *out = (cf_token)v;
    return true;
}

static cf_status read_lists(cf_sampler_options *o, cf_error *err)
{
    char *end;
    for (size_t i = 0; i < o->bias_list.n; i++) {
        const char *text = o->bias_list.v[i];
        bool ok = read_id(&o->bias[i].id, text, &end) && *end == '=';
        if (ok) {
            const char *number = end + 1;
            o->bias[i].bias = strtof(number, &end);
            ok = end != number && *end == '\0' && !isnan(o->bias[i].bias) &&
                 o->bias[i].bias != INFINITY;
        }
        if (!ok) {
            return cf_fail(err, CF_EINVAL,
                           "--logit-bias: '%s' is not of the form ID=X", text);
        }
    }
    for (size_t i = 0; i < o->suppress_list.n; i++) {
        const char *text = o->suppress_list.v[i];
        if (!read_id(&o->suppress[i], text, &end) || *end != '\0') {
            return cf_fail(err, CF_EINVAL, "--suppress: '%s' is not a token id",
                           text);
        }
    }
    return CF_OK;
}

cf_status cf_sampler_options_finish(cf_sampler_options *o, const cf_cli *cli,
                                    cf_sampling *out, cf_error *err)
{
    CF_TRY(read_lists(o, err));
    cf_sampling s = o->sampling;
    bool is_chosen =
        o->has_temperature || o->has_top_k || o->has_top_p || o->has_min_p;
    if (o->is_greedy && is_chosen) {
        return cf_fail(err, CF_EINVAL,
                       "--greedy takes no --temperature, --top-k, --top-p or "
                       "--min-p");
    }
    /* The bundled model is small: it says what it knows at temperature 0. */
    bool is_greedy =
        o->is_greedy || (!is_chosen && cf_open_is_bundled(&cli->open));
    if (!is_greedy) {
        s.temperature = o->has_temperature ? s.temperature : 0.8f;
        s.top_k = o->has_top_k || is_chosen ? s.top_k : 40;
        s.top_p = o->has_top_p || is_chosen ? s.top_p : 0.95f;
        s.min_p = o->has_min_p || is_chosen ? s.min_p : 0.05f;
    }
    s.seed = cli->seed;
    if (!cli->has_seed && !is_greedy) {
        uint32_t fresh; /* short enough to be typed again */
        cf_os_entropy(&fresh, sizeof fresh);
        s.seed = fresh;
    }
    s.bias = o->bias;
    s.n_bias = o->bias_list.n;
    s.suppress = o->suppress;
    s.n_suppress = o->suppress_list.n;
    *out = s;
    return CF_OK;
}
