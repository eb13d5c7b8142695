/*
 * reply_options.c - holds the table of the options of a reply.
 */
#include "core/api/reply_options.h"

#include <errno.h>
#include <float.h>
#include <stddef.h>
#include <stdlib.h>

#define AT(field) offsetof(cf_chat_options, sampling.field)

const cf_option cf_options[CF_OPTION_N] = {
    [CF_OPTION_TEMPERATURE] = {"temperature",
                               CF_OPTION_F32,
                               AT(temperature),
                               0,
                               2,
                               "between 0 and 2",
                               "X",
                               "divide logits by X; 0 is greedy (default: 0.8)",
                               {"temperature", NULL}},
    [CF_OPTION_TOP_K] = {"top_k",
                         CF_OPTION_U32,
                         AT(top_k),
                         0,
                         UINT32_MAX,
                         "a whole number",
                         "N",
                         "keep the N most probable; 0 is off (default: 40)",
                         {"top_k", NULL}},
    [CF_OPTION_TOP_P] = {"top_p",
                         CF_OPTION_F32,
                         AT(top_p),
                         0,
                         1,
                         "between 0 and 1",
                         "X",
                         "keep the most probable up to a sum of X; 1 is off (default: 0.95)",
                         {"top_p", NULL}},
    [CF_OPTION_MIN_P] = {"min_p",
                         CF_OPTION_F32,
                         AT(min_p),
                         0,
                         1,
                         "between 0 and 1",
                         "X",
                         "keep tokens with at least X times the best probability; 0 is off "
                         "(default: 0.05)",
                         {"min_p", NULL}},
    [CF_OPTION_REPETITION_PENALTY] = {"repetition_penalty",
                                      CF_OPTION_F32,
                                      AT(repetition_penalty),
                                      0,
                                      FLT_MAX,
                                      "at least 0",
                                      "X",
                                      "divide logits of seen tokens by X, multiply negative ones",
                                      {"repeat_penalty", "repetition_penalty"}},
    [CF_OPTION_PRESENCE_PENALTY] = {"presence_penalty",
                                    CF_OPTION_F32,
                                    AT(presence_penalty),
                                    -FLT_MAX,
                                    FLT_MAX,
                                    "a number",
                                    "X",
                                    "subtract X from logits of seen tokens",
                                    {"presence_penalty", NULL}},
    [CF_OPTION_FREQUENCY_PENALTY] = {"frequency_penalty",
                                     CF_OPTION_F32,
                                     AT(frequency_penalty),
                                     -FLT_MAX,
                                     FLT_MAX,
                                     "a number",
                                     "X",
                                     "subtract X for every time a token was seen",
                                     {"frequency_penalty", NULL}},
    [CF_OPTION_PENALTY_WINDOW] = {"penalty_window",
                                  CF_OPTION_U32,
                                  AT(penalty_window),
                                  0,
                                  UINT32_MAX,
                                  "a whole number",
                                  "N",
                                  "penalties look at the last N tokens (default: all)",
                                  {"repeat_last_n", NULL}},
    [CF_OPTION_NO_REPEAT_NGRAM] = {"no_repeat_ngram",
                                   CF_OPTION_U32,
                                   AT(no_repeat_ngram),
                                   0,
                                   UINT32_MAX,
                                   "a whole number",
                                   "N",
                                   "never complete a run of N tokens seen before",
                                   {NULL, NULL}},
    [CF_OPTION_NO_REPEAT_WINDOW] = {"no_repeat_window",
                                    CF_OPTION_U32,
                                    AT(no_repeat_window),
                                    0,
                                    UINT32_MAX,
                                    "a whole number",
                                    "N",
                                    "look for such runs in the last N tokens (default: all)",
                                    {NULL, NULL}},
    [CF_OPTION_LOGIT_BIAS] = {"logit_bias",
                              CF_OPTION_BIAS,
                              AT(bias),
                              0,
                              0,
                              NULL,
                              "ID=X",
                              "add X to a token's logit (-inf removes it); may be repeated",
                              {"logit_bias", NULL}},
    [CF_OPTION_SUPPRESS] = {"suppress",
                            CF_OPTION_TOKENS,
                            AT(suppress),
                            0,
                            0,
                            NULL,
                            "ID",
                            "never choose a token; may be repeated",
                            {"logit_bias", NULL}},
    [CF_OPTION_SEED_VALUE] =
        {"seed", CF_OPTION_SEED, AT(seed), 0, 0, NULL, "N", "seed of the draws", {"seed", NULL}},
};

static const void *field(const cf_chat_options *options, cf_option_id id)
{
    return (const char *)options + cf_options[id].offset;
}

double cf_option_number(const cf_chat_options *options, cf_option_id id)
{
    switch (cf_options[id].kind) {
    case CF_OPTION_F32:
        return (double)*(const float *)field(options, id);
    case CF_OPTION_U32:
        return (double)*(const uint32_t *)field(options, id);
    case CF_OPTION_SEED:
        return (double)options->sampling.seed;
    case CF_OPTION_BIAS:
        return (double)options->sampling.n_bias;
    case CF_OPTION_TOKENS:
        return (double)options->sampling.n_suppress;
    }
    return 0;
}

bool cf_option_is_asked(const cf_chat_options *options, cf_option_id id)
{
    if (options->has_asked) {
        return (options->asked >> id & 1) != 0;
    }
    double v = cf_option_number(options, id);
    bool is_off = !(v < 0) && !(v > 0);
    bool always = id == CF_OPTION_TEMPERATURE || id == CF_OPTION_SEED_VALUE;
    return options->has_sampling && (always || !is_off);
}

/* ---- values as text ----------------------------------------------------- */

/* Digits alone, at most `max`. */
static bool read_whole(uint64_t *out, const char *value, uint64_t max)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(value, &end, 10);
    *out = v;
    return value[0] >= '0' && value[0] <= '9' && *end == '\0' && errno == 0 && v <= max;
}

cf_status cf_option_read_u32(uint32_t *out, const char *name, const char *value, uint32_t max,
                             cf_error *err)
{
    uint64_t v;
    if (!read_whole(&v, value, max)) {
        return cf_fail(err, CF_EINVAL, "%s is a whole number from 0 to %u, not '%.40s'", name,
                       (unsigned)max, value);
    }
    *out = (uint32_t)v;
    return CF_OK;
}

static cf_status read_f32(float *out, const cf_option *row, const char *value, cf_error *err)
{
    char *end;
    float v = strtof(value, &end);
    if (end == value || *end != '\0' || !((double)v >= row->min) || !((double)v <= row->max)) {
        return cf_fail(err, CF_EINVAL, "%s must be %s, not '%.40s'", row->name, row->range, value);
    }
    *out = v;
    return CF_OK;
}

static bool is_name(const char *name, const char *of)
{
    while (*name != '\0' && (*name == *of || (*name == '-' && *of == '_'))) {
        name++;
        of++;
    }
    return *name == '\0' && *of == '\0';
}

cf_status cf_option_set(cf_chat_options *options, const char *name, const char *value,
                        cf_error *err)
{
    unsigned id = 0;
    while (id < CF_OPTION_N && !is_name(name, cf_options[id].name)) {
        id++;
    }
    if (id == CF_OPTION_N) {
        return cf_fail(err, CF_ENOTFOUND, "no option is named '%.40s'", name);
    }
    const cf_option *row = &cf_options[id];
    void *to = (char *)options + row->offset;
    uint64_t seed;
    switch (row->kind) {
    case CF_OPTION_F32:
        CF_TRY(read_f32(to, row, value, err));
        break;
    case CF_OPTION_U32:
        CF_TRY(cf_option_read_u32(to, row->name, value, UINT32_MAX, err));
        break;
    case CF_OPTION_SEED:
        if (!read_whole(&seed, value, UINT64_MAX)) {
            return cf_fail(err, CF_EINVAL, "seed is a whole number, not '%.40s'", value);
        }
        options->sampling.seed = seed;
        break;
    case CF_OPTION_BIAS:
    case CF_OPTION_TOKENS:
        return cf_fail(err, CF_EUNSUPPORTED, "%s is a list, and cannot be set from text",
                       row->name);
    }
    options->has_sampling = true;
    options->has_asked = true;
    options->asked |= 1u << id;
    return CF_OK;
}
