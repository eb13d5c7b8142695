/*
 * sampler_options.c - turns options into cf_sampling.
 */
#include "tui/cli/shell/sampler_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/os.h"

/* "top_k" as "--top-k" */
static const char *spell(char out[CF_SAMPLER_NAME], const char *name)
{
    snprintf(out, CF_SAMPLER_NAME, "--%s", name);
    for (char *p = out; *p != '\0'; p++) {
        *p = *p == '_' ? '-' : *p;
    }
    return out;
}

void cf_sampler_options_table(cf_sampler_options *o, cf_opt *rows)
{
    *rows++ = (cf_opt){"--greedy",    0,    CF_OPT_FLAG,
                       &o->is_greedy, NULL, "always take the most probable token",
                       NULL};
    for (int i = 0; i < CF_OPTION_SEED_VALUE; i++) {
        const cf_option *from = &cf_options[i];
        cf_opt row = {.name = spell(o->names[i], from->name),
                      .to = (char *)&o->chat + from->offset,
                      .value = from->value,
                      .help = from->help,
                      .was_given = &o->given[i]};
        switch (from->kind) {
        case CF_OPTION_F32:
            row.kind = CF_OPT_F32;
            break;
        case CF_OPTION_U32:
            row.kind = CF_OPT_U32;
            break;
        case CF_OPTION_BIAS:
            row.kind = CF_OPT_LIST;
            row.to = &o->bias_list;
            break;
        case CF_OPTION_TOKENS:
            row.kind = CF_OPT_LIST;
            row.to = &o->suppress_list;
            break;
        case CF_OPTION_SEED:
            break; /* --seed is an option of every command */
        }
        *rows++ = row;
    }
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
            return cf_fail(err, CF_EINVAL, "--logit-bias: '%s' is not of the form ID=X", text);
        }
    }
    for (size_t i = 0; i < o->suppress_list.n; i++) {
        const char *text = o->suppress_list.v[i];
        if (!read_id(&o->suppress[i], text, &end) || *end != '\0') {
            return cf_fail(err, CF_EINVAL, "--suppress: '%s' is not a token id", text);
        }
    }
    return CF_OK;
}

/* Takes from confabrc what no option gave.  --greedy leaves no choice. */
static void take_settings(cf_sampler_options *o, const cf_reply_settings *from,
                          bool given[CF_OPTION_N])
{
    memcpy(given, o->given, sizeof o->given);
    for (int i = 0; from != NULL && i < CF_OPTION_SEED_VALUE; i++) {
        const cf_option *option = &cf_options[i];
        bool is_set = (from->chat.asked >> i & 1) != 0;
        bool is_choice = i == CF_OPTION_TEMPERATURE || i == CF_OPTION_TOP_K ||
                         i == CF_OPTION_TOP_P || i == CF_OPTION_MIN_P;
        if (is_set && !given[i] && !(is_choice && o->is_greedy)) {
            memcpy((char *)&o->chat + option->offset, (const char *)&from->chat + option->offset,
                   option->kind == CF_OPTION_F32 ? sizeof(float) : sizeof(uint32_t));
            given[i] = true;
        }
    }
}

cf_status cf_sampler_options_finish(cf_sampler_options *o, const cf_cli *cli, cf_chat_options *out,
                                    cf_error *err)
{
    CF_TRY(read_lists(o, err));
    const cf_reply_settings *from = cli->reply;
    bool given[CF_OPTION_N];
    take_settings(o, from, given);
    cf_sampling s = o->chat.sampling;
    bool seed_is_set = from != NULL && (from->chat.asked >> CF_OPTION_SEED_VALUE & 1) != 0;
    bool has_seed = cli->has_seed || seed_is_set;
    bool is_chosen = given[CF_OPTION_TEMPERATURE] || given[CF_OPTION_TOP_K] ||
                     given[CF_OPTION_TOP_P] || given[CF_OPTION_MIN_P];
    if (o->is_greedy && is_chosen) {
        return cf_fail(err, CF_EINVAL,
                       "--greedy takes no --temperature, --top-k, --top-p or "
                       "--min-p");
    }
    /* The bundled model is small: it says what it knows at temperature 0. */
    bool is_greedy = o->is_greedy || (!is_chosen && cf_open_is_bundled(&cli->open));
    if (!is_greedy && !is_chosen) {
        s.top_k = 40;
        s.top_p = 0.95f;
        s.min_p = 0.05f;
    }
    if (!is_greedy && !given[CF_OPTION_TEMPERATURE]) {
        s.temperature = 0.8f;
    }
    s.seed = cli->has_seed || from == NULL ? cli->seed : from->chat.sampling.seed;
    if (!has_seed && !is_greedy) {
        uint32_t fresh; /* short enough to be typed again */
        cf_os_entropy(&fresh, sizeof fresh);
        s.seed = fresh;
    }
    s.bias = o->bias;
    s.n_bias = o->bias_list.n;
    s.suppress = o->suppress;
    s.n_suppress = o->suppress_list.n;
    out->sampling = s;
    out->has_sampling = true;
    out->has_asked = true;
    out->asked = 0;
    for (int i = 0; i < CF_OPTION_SEED_VALUE; i++) {
        bool is_set = i == CF_OPTION_LOGIT_BIAS ? s.n_bias > 0
                      : i == CF_OPTION_SUPPRESS ? s.n_suppress > 0
                                                : given[i];
        out->asked |= (uint32_t)is_set << i;
    }
    out->asked |= (uint32_t)o->is_greedy << CF_OPTION_TEMPERATURE;
    out->asked |= (uint32_t)has_seed << CF_OPTION_SEED_VALUE;
    return CF_OK;
}
