/*
 * number.h - Python's numbers: integers of any size (up to CF_BIG_MAX_BITS),
 * floats that print as repr() prints them.  The code is python/pynum.c and
 * python/pyfloat.c.
 *
 * Threads:  a render belongs to one thread.
 * Memory:   big integers live in the render's arena.
 */
#ifndef CF_TEMPLATES_LANGUAGE_NUMBER_H
#define CF_TEMPLATES_LANGUAGE_NUMBER_H

#include "templates/language/text.h"

/* An integer beyond 64 bits: sign and magnitude, least limb first, the last
 * one not zero. */
struct cf_tbig {
    bool is_neg;
    uint32_t n;
    uint32_t limb[];
};

enum {
    CF_BIG_MAX_BITS = 1 << 16,
    CF_BIG_MAX_LIMBS = CF_BIG_MAX_BITS / 32,
    CF_INT_MAX_DIGITS = 4300, /* Python's own limit between int and str */
    CF_FLOAT_TEXT = 40
};

typedef enum cf_tarith {
    CF_OP_ADD,
    CF_OP_SUB,
    CF_OP_MUL,
    CF_OP_DIV,
    CF_OP_FLOORDIV,
    CF_OP_MOD,
    CF_OP_POW
} cf_tarith;

/* a op b for two numbers (bool, int, float), by Python's rules; CF_TERR with
 * the error set for a division by zero, an overflow, or a limit. */
cf_tv cf_t__arith(cf_tr *r, cf_tarith op, cf_tv a, cf_tv b);
cf_tv cf_t__negate(cf_tr *r, cf_tv v);
cf_tv cf_t__abs(cf_tr *r, cf_tv v);

/* An integer from digits (no sign, no blanks) in a base of 2 to 36. */
cf_tv cf_t__int_parse(cf_tr *r, const char *digits, size_t n, unsigned base, bool is_neg);
/* The integer part of f, which is finite. */
cf_tv cf_t__int_from_double(cf_tr *r, double f);
/* The nearest double; false when it overflows. */
bool cf_t__to_double(cf_tv v, double *out);
/* Order of two numbers; 2 when a NaN is among them. */
int cf_t__num_compare(cf_tv a, cf_tv b);
uint32_t cf_t__num_hash(cf_tv v);

/* Digits of an integer value in a base, with sign; a string value. */
cf_tv cf_t__int_text(cf_tr *r, cf_tv v, unsigned base);
/* repr(f); returns the length. */
size_t cf_t__float_repr(char out[CF_FLOAT_TEXT], double f);
size_t cf_t__int64_text(char out[24], int64_t i);

/* Python's round(f, digits): to even, on the exact decimal value. */
double cf_t__round_digits(double f, int digits);
/* Python's float(text): blanks around, underscores, inf, nan.  false also,
 * with the error set, when steps or memory ran out. */
bool cf_t__float_parse(cf_tr *r, cf_str text, double *out);

#endif
