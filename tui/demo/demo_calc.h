/*
 * demo_calc.h - arithmetic from a text that a model wrote.
 *
 *   sum     = product { (+|-) product }
 *   product = sign { (*|/|%) sign }          also x, ×, ÷, · for * and /
 *   sign    = { - | + } power
 *   power   = atom [ (^|**) sign ]           2^3^2 is 2^9, -2^2 is -4
 *   atom    = number | ( sum )
 *
 * Numbers are fractions of 64-bit integers for as long as they fit, so that
 * 0.1 + 0.2 is 0.3; then doubles.  % is the rest with the sign of the divisor.
 *
 * Threads:  any.
 */
#ifndef CF_TUI_DEMO_DEMO_CALC_H
#define CF_TUI_DEMO_DEMO_CALC_H

#include "core/json/json.h"

enum {
    CF_CALC_TEXT_MAX = 512, /* bytes of an expression */
    CF_CALC_DEPTH_MAX = 64  /* of parentheses, signs and powers */
};

typedef struct cf_calc_value {
    bool is_exact;
    int64_t num, den; /* exact: num / den, in lowest terms, den > 0 */
    double real;      /* else */
} cf_calc_value;

/* CF_EINVAL with one line for the model: what is wrong and at which byte. */
CF_MUST_USE cf_status cf_calc(cf_calc_value *out, cf_str text, cf_error *err);

/* An integer, or the nearest double; a new reference, NULL when memory ran
 * out. */
json_t *cf_calc_json(const cf_calc_value *v);

#endif
