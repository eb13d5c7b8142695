/*
 * demo_calc.c - a parser by recursive descent that computes as it reads.
 *
 * Every recursion passes deeper(), so depth is bounded; every loop eats a
 * byte, so time is.
 */
#include "tui/demo/demo_calc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POWER_MAX = 4096 }; /* exponents that are multiplied out exactly */

typedef struct calc {
    cf_str text;
    size_t at;
    unsigned depth;
    cf_error *err;
} calc;

/* ---- numbers ------------------------------------------------------------ */

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

static cf_calc_value real(double v)
{
    return (cf_calc_value){.real = v};
}

/* INT64_MIN is kept out, so that a sign can always be turned. */
static cf_calc_value fraction(int64_t num, int64_t den)
{
    if (num == INT64_MIN || den == INT64_MIN || den == 0) {
        return real((double)num / (double)den);
    }
    int64_t d = common_divisor(num, den);
    d = den < 0 ? -d : d;
    return (cf_calc_value){.is_exact = true, .num = num / d, .den = den / d};
}

static double as_real(const cf_calc_value *v)
{
    return v->is_exact ? (double)v->num / (double)v->den : v->real;
}

static bool is_zero(const cf_calc_value *v)
{
    return v->is_exact ? v->num == 0 : v->real == 0;
}

static cf_calc_value negated(cf_calc_value v)
{
    v.num = -v.num;
    v.real = -v.real;
    return v;
}

/* a * b and a + b of 64 bits; false when they do not fit. */
static bool mul(int64_t *out, int64_t a, int64_t b)
{
    return !__builtin_mul_overflow(a, b, out);
}

static cf_calc_value sum(cf_calc_value a, cf_calc_value b)
{
    int64_t x, y, num, den;
    if (a.is_exact && b.is_exact && mul(&x, a.num, b.den) && mul(&y, b.num, a.den) &&
        !__builtin_add_overflow(x, y, &num) && mul(&den, a.den, b.den)) {
        return fraction(num, den);
    }
    return real(as_real(&a) + as_real(&b));
}

static cf_calc_value product(cf_calc_value a, cf_calc_value b)
{
    int64_t num, den;
    if (a.is_exact && b.is_exact) {
        /* Cut across first: the product is then in lowest terms. */
        int64_t p = common_divisor(a.num, b.den);
        int64_t q = common_divisor(b.num, a.den);
        p = p != 0 ? p : 1;
        q = q != 0 ? q : 1;
        if (mul(&num, a.num / p, b.num / q) && mul(&den, a.den / q, b.den / p)) {
            return fraction(num, den);
        }
    }
    return real(as_real(&a) * as_real(&b));
}

/* 1 / v of a value that is not zero. */
static cf_calc_value inverse(cf_calc_value v)
{
    return v.is_exact ? fraction(v.den, v.num) : real(1 / v.real);
}

/* The rest of a / b, with the sign of b. */
static cf_calc_value rest(cf_calc_value a, cf_calc_value b)
{
    int64_t x, y, den;
    if (a.is_exact && b.is_exact && mul(&x, a.num, b.den) && mul(&y, b.num, a.den) &&
        mul(&den, a.den, b.den)) {
        int64_t r = y == -1 ? 0 : x % y;
        if (r != 0 && (r < 0) != (y < 0)) {
            r += y;
        }
        return fraction(r, den);
    }
    double p = as_real(&a), q = as_real(&b), r = fmod(p, q);
    return real(r != 0 && (r < 0) != (q < 0) ? r + q : r);
}

static cf_status power(calc *c, cf_calc_value *v, cf_calc_value by)
{
    if (is_zero(v) && as_real(&by) < 0) {
        return cf_fail(c->err, CF_EINVAL, "division by zero");
    }
    if (v->is_exact && by.is_exact && by.den == 1 && by.num <= POWER_MAX && by.num >= -POWER_MAX) {
        cf_calc_value base = by.num < 0 ? inverse(*v) : *v;
        cf_calc_value out = fraction(1, 1);
        int64_t n = by.num < 0 ? -by.num : by.num;
        for (; n > 0 && out.is_exact; n >>= 1) {
            out = (n & 1) != 0 ? product(out, base) : out;
            base = product(base, base);
        }
        if (out.is_exact) {
            *v = out;
            return CF_OK;
        }
    }
    *v = real(pow(as_real(v), as_real(&by)));
    return isnan(v->real) ? cf_fail(c->err, CF_EINVAL,
                                    "a power of a negative number with a "
                                    "fraction is not a real number")
                          : CF_OK;
}

/* ---- reading ------------------------------------------------------------ */

static void skip_blanks(calc *c)
{
    while (c->at < c->text.n && (c->text.p[c->at] == ' ' || c->text.p[c->at] == '\t')) {
        c->at++;
    }
}

/* Eats `word` when it comes next. */
static bool eat(calc *c, const char *word)
{
    skip_blanks(c);
    size_t n = strlen(word);
    if (c->text.n - c->at < n || memcmp(c->text.p + c->at, word, n) != 0) {
        return false;
    }
    c->at += n;
    return true;
}

static cf_status unexpected(calc *c)
{
    skip_blanks(c);
    if (c->at == c->text.n) {
        return cf_fail(c->err, CF_EINVAL, "the expression ends too early");
    }
    unsigned char byte = (unsigned char)c->text.p[c->at];
    return byte > ' ' && byte < 0x7f
               ? cf_fail(c->err, CF_EINVAL, "'%c' at byte %zu is not expected", byte, c->at)
               : cf_fail(c->err, CF_EINVAL, "the byte %02x at %zu is not expected", byte, c->at);
}

static cf_status deeper(calc *c)
{
    return ++c->depth > CF_CALC_DEPTH_MAX
               ? cf_fail(c->err, CF_EINVAL, "the expression is nested too deeply")
               : CF_OK;
}

static bool is_digit(const calc *c, size_t at)
{
    return at < c->text.n && c->text.p[at] >= '0' && c->text.p[at] <= '9';
}

/* Digits, a point and digits; commas may part groups of three. */
static cf_status number(calc *c, cf_calc_value *out)
{
    int64_t num = 0, den = 1;
    double approximate = 0, scale = 1;
    bool fits = true, has_point = false;
    size_t n_digits = 0;
    for (;; c->at++) {
        bool is_point = c->at < c->text.n && c->text.p[c->at] == '.';
        bool is_comma = c->at < c->text.n && c->text.p[c->at] == ',' && !has_point &&
                        n_digits > 0 && is_digit(c, c->at + 1) && is_digit(c, c->at + 2) &&
                        is_digit(c, c->at + 3) && !is_digit(c, c->at + 4);
        if (is_comma) {
            continue;
        }
        if (is_point && !has_point) {
            has_point = true;
            continue;
        }
        if (!is_digit(c, c->at)) {
            break;
        }
        int digit = c->text.p[c->at] - '0';
        n_digits++;
        fits = fits && mul(&num, num, 10) && !__builtin_add_overflow(num, digit, &num) &&
               (!has_point || mul(&den, den, 10));
        scale = has_point ? scale / 10 : scale;
        approximate = has_point ? approximate + digit * scale : approximate * 10 + digit;
    }
    if (n_digits == 0) {
        return unexpected(c);
    }
    *out = fits ? fraction(num, den) : real(approximate);
    return CF_OK;
}

static cf_status read_sum(calc *c, cf_calc_value *out);
static cf_status read_sign(calc *c, cf_calc_value *out);

static cf_status read_atom(calc *c, cf_calc_value *out)
{
    if (!eat(c, "(")) {
        skip_blanks(c);
        return number(c, out);
    }
    CF_TRY(deeper(c));
    CF_TRY(read_sum(c, out));
    c->depth--;
    return eat(c, ")") ? CF_OK : unexpected(c);
}

static cf_status read_power(calc *c, cf_calc_value *out)
{
    CF_TRY(read_atom(c, out));
    if (!eat(c, "**") && !eat(c, "^")) {
        return CF_OK;
    }
    cf_calc_value by;
    CF_TRY(deeper(c));
    CF_TRY(read_sign(c, &by));
    c->depth--;
    return power(c, out, by);
}

static cf_status read_sign(calc *c, cf_calc_value *out)
{
    if (eat(c, "-") || eat(c, "\xe2\x88\x92")) { /* U+2212 */
        CF_TRY(deeper(c));
        CF_TRY(read_sign(c, out));
        c->depth--;
        *out = negated(*out);
        return CF_OK;
    }
    if (eat(c, "+")) {
        CF_TRY(deeper(c));
        CF_TRY(read_sign(c, out));
        c->depth--;
        return CF_OK;
    }
    return read_power(c, out);
}

static cf_status read_product(calc *c, cf_calc_value *out)
{
    CF_TRY(read_sign(c, out));
    for (;;) {
        cf_calc_value by;
        bool is_mul = eat(c, "*") || eat(c, "x") || eat(c, "\xc3\x97") || eat(c, "\xc2\xb7");
        bool is_div = !is_mul && (eat(c, "/") || eat(c, "\xc3\xb7"));
        if (!is_mul && !is_div && !eat(c, "%")) {
            return CF_OK;
        }
        CF_TRY(read_sign(c, &by));
        if (!is_mul && is_zero(&by)) {
            return cf_fail(c->err, CF_EINVAL, "division by zero");
        }
        *out = is_mul ? product(*out, by) : is_div ? product(*out, inverse(by)) : rest(*out, by);
    }
}

static cf_status read_sum(calc *c, cf_calc_value *out)
{
    CF_TRY(read_product(c, out));
    for (;;) {
        bool is_minus = eat(c, "-") || eat(c, "\xe2\x88\x92");
        cf_calc_value by;
        if (!is_minus && !eat(c, "+")) {
            return CF_OK;
        }
        CF_TRY(read_product(c, &by));
        *out = sum(*out, is_minus ? negated(by) : by);
    }
}

cf_status cf_calc(cf_calc_value *out, cf_str text, cf_error *err)
{
    calc c = {.text = text, .err = err};
    if (text.n > CF_CALC_TEXT_MAX) {
        return cf_fail(err, CF_EINVAL, "the expression is longer than %d bytes", CF_CALC_TEXT_MAX);
    }
    CF_TRY(read_sum(&c, out));
    if (!eat(&c, "=")) { /* "2 + 2 =" */
        skip_blanks(&c);
    }
    skip_blanks(&c);
    if (c.at != text.n) {
        return unexpected(&c);
    }
    if (!out->is_exact && !isfinite(out->real)) {
        return cf_fail(err, CF_EINVAL, "the result is too large");
    }
    return CF_OK;
}

json_t *cf_calc_json(const cf_calc_value *v)
{
    double d = as_real(v);
    if (v->is_exact && v->den == 1) {
        return json_integer((json_int_t)v->num);
    }
    /* A double that is a whole number of its precision is written as one. */
    if (d == floor(d) && fabs(d) < 9007199254740992.0) {
        return json_integer((json_int_t)d);
    }
    return json_real(d);
}
