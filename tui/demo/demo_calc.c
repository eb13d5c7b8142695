/*
 * demo_calc.c - a parser by precedence that computes as it reads.
 *
 * Depth is bounded by read_level(), and time because every loop eats a byte.
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

static double as_real(cf_calc_value v)
{
    return v.is_exact ? (double)v.num / (double)v.den : v.real;
}

static cf_calc_value negated(cf_calc_value v)
{
    v.num = -v.num;
    v.real = -v.real;
    return v;
}

/* a * b; false when it does not fit. */
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
    return real(as_real(a) + as_real(b));
}

static cf_calc_value product(cf_calc_value a, cf_calc_value b)
{
    int64_t num, den;
    if (a.is_exact && b.is_exact && mul(&num, a.num, b.num) && mul(&den, a.den, b.den)) {
        return fraction(num, den);
    }
    return real(as_real(a) * as_real(b));
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
    double p = as_real(a), q = as_real(b), r = fmod(p, q);
    return real(r != 0 && (r < 0) != (q < 0) ? r + q : r);
}

static cf_status power(calc *c, cf_calc_value *v, cf_calc_value by)
{
    if (as_real(*v) == 0 && as_real(by) < 0) {
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
    *v = real(pow(as_real(*v), as_real(by)));
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

static bool is_digit(const calc *c, size_t at)
{
    return at < c->text.n && c->text.p[at] >= '0' && c->text.p[at] <= '9';
}

/* Digits, a point and digits; commas may part groups of three. */
static cf_status number(calc *c, cf_calc_value *out)
{
    int64_t num = 0, den = 1;
    double approximate = 0;
    bool fits = true, has_point = false;
    size_t n_digits = 0, n_places = 0;
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
        approximate = approximate * 10 + digit;
        n_places += has_point;
    }
    if (n_digits == 0) {
        return unexpected(c);
    }
    *out = fits ? fraction(num, den) : real(approximate / pow(10, (double)n_places));
    return CF_OK;
}

/* ---- operators ---------------------------------------------------------- */

enum { SUM = 1, PRODUCT, SIGN, POWER }; /* how tightly an operator binds */

typedef struct operator
{
    const char *text;
    int level;
    char kind;
}
operator;

/* "**" before "*": the first that matches is taken. */
static const operator operators[] = {
    {"**", POWER, '^'},
    {"^", POWER, '^'},
    {"*", PRODUCT, '*'},
    {"x", PRODUCT, '*'},
    {"\xc3\x97", PRODUCT, '*'},
    {"\xc2\xb7", PRODUCT, '*'},
    {"/", PRODUCT, '/'},
    {"\xc3\xb7", PRODUCT, '/'},
    {"%", PRODUCT, '%'},
    {"+", SUM, '+'},
    {"-", SUM, '-'},
    {"\xe2\x88\x92", SUM, '-'},
};

/* Eats the next operator if it binds as tightly as `level`; NULL for none. */
static const operator* eat_operator(calc *c, int level)
{
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        size_t at = c->at;
        if (eat(c, operators[i].text)) {
            if (operators[i].level >= level) {
                return &operators[i];
            }
            c->at = at;
            return NULL;
        }
    }
    return NULL;
}

static cf_status apply(calc *c, char kind, cf_calc_value *v, cf_calc_value by)
{
    if ((kind == '/' || kind == '%') && as_real(by) == 0) {
        return cf_fail(c->err, CF_EINVAL, "division by zero");
    }
    switch (kind) {
    case '^':
        return power(c, v, by);
    case '*':
        *v = product(*v, by);
        break;
    case '/':
        *v = product(*v, inverse(by));
        break;
    case '%':
        *v = rest(*v, by);
        break;
    default:
        *v = sum(*v, kind == '-' ? negated(by) : by);
    }
    return CF_OK;
}

static cf_status read_level(calc *c, int level, cf_calc_value *out);

static cf_status read_operand(calc *c, cf_calc_value *out)
{
    if (eat(c, "(")) {
        CF_TRY(read_level(c, SUM, out));
        return eat(c, ")") ? CF_OK : unexpected(c);
    }
    bool is_minus = eat(c, "-") || eat(c, "\xe2\x88\x92"); /* U+2212 */
    if (is_minus || eat(c, "+")) {
        CF_TRY(read_level(c, SIGN, out));
        *out = is_minus ? negated(*out) : *out;
        return CF_OK;
    }
    skip_blanks(c);
    return number(c, out);
}

/* An operand, and operators that bind at least as tightly as `level`, from left to
 * right; an exponent is read with its own sign and exponents. */
static cf_status read_level(calc *c, int level, cf_calc_value *out)
{
    if (++c->depth > CF_CALC_DEPTH_MAX) {
        return cf_fail(c->err, CF_EINVAL, "the expression is nested too deeply");
    }
    CF_TRY(read_operand(c, out));
    for (const operator* o; (o = eat_operator(c, level)) != NULL;) {
        cf_calc_value by;
        CF_TRY(read_level(c, o->level == POWER ? SIGN : o->level + 1, &by));
        CF_TRY(apply(c, o->kind, out, by));
    }
    c->depth--;
    return CF_OK;
}

cf_status cf_calc(cf_calc_value *out, cf_str text, cf_error *err)
{
    calc c = {.text = text, .err = err};
    if (text.n > CF_CALC_TEXT_MAX) {
        return cf_fail(err, CF_EINVAL, "the expression is longer than %d bytes", CF_CALC_TEXT_MAX);
    }
    CF_TRY(read_level(&c, SUM, out));
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
    double d = as_real(*v);
    if (v->is_exact && v->den == 1) {
        return json_integer((json_int_t)v->num);
    }
    /* A double that is a whole number of its precision is written as one. */
    if (d == floor(d) && fabs(d) < 9007199254740992.0) {
        return json_integer((json_int_t)d);
    }
    return json_real(d);
}
