/*
 * plain.c - compiles regular expressions and choice lists to grammars.
 */
#include <string.h>

#include "core/regex/regex.h"

cf_status cf_grammar_from_regex(cf_grammar **out, cf_str pattern, const cf_grammar_options *opts,
                                cf_error *err)
{
    cf_gbuild b;
    cf_rx_pool rx;
    cf_dfa d = {0};
    cf_gbuild_init(&b, opts);
    cf_rx_init(&rx, &b);
    uint32_t rule = cf_g_rule(&b, "expression");
    cf_rx e = b.st == CF_OK ? cf_rx_parse(&rx, pattern, false) : CF_RX_FAIL;
    if (b.st == CF_OK) {
        cf_rx_dfa(&rx, e, &d);
    }
    b.rule = rule;
    uint32_t end = cf_g_node(&b);
    cf_dfa_emit(&b, &d, CF_SPELL_RAW, -1, cf_g_start(&b, rule), end);
    cf_g_end(&b, end, 0);
    cf_dfa_deinit(&d);
    cf_rx_deinit(&rx);
    cf_status st = cf_gbuild_finish(&b, rule, out, err);
    cf_gbuild_deinit(&b);
    return st;
}

cf_status cf_grammar_from_choices(cf_grammar **out, const cf_str *choices, size_t n,
                                  const cf_grammar_options *opts, cf_error *err)
{
    cf_gbuild b;
    if (n == 0) {
        return cf_fail(err, CF_EINVAL, "no choices are given");
    }
    cf_gbuild_init(&b, opts);
    uint32_t rule = cf_g_rule(&b, "choice");
    b.rule = rule;
    uint32_t end = cf_g_node(&b);
    for (size_t i = 0; i < n; i++) {
        uint32_t at = cf_g_bytes(&b, cf_g_start(&b, rule), choices[i].p, choices[i].n);
        cf_g_jump(&b, at, 0, end);
    }
    cf_g_end(&b, end, 0);
    cf_status st = cf_gbuild_finish(&b, rule, out, err);
    cf_gbuild_deinit(&b);
    return st;
}
