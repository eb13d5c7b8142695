/*
 * pynum.c - arithmetic by Python's rules.
 *
 * Small integers take the fast way in 64 bits and fall over to limbs of 32
 * bits when that overflows.  Schoolbook algorithms do: the sizes are bounded.
 */
#include "templates/language/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "templates/language/state.h"

/* ---- magnitudes --------------------------------------------------------- */

static cf_tbig *big_new(cf_tr *r, uint32_t n)
{
    if (n > CF_BIG_MAX_LIMBS) {
        cf_t__fail_limit(r, "an integer is over %d bits", CF_BIG_MAX_BITS);
        return NULL;
    }
    r->steps += n >> 3;
    cf_tbig *b = cf_t__alloc(r, sizeof *b + n * sizeof b->limb[0]);
    if (b != NULL) {
        b->is_neg = false;
        b->n = n;
        memset(b->limb, 0, n * sizeof b->limb[0]);
    }
    return b;
}

/* The value, as a small integer where it fits. */
static cf_tv big_value(cf_tbig *b)
{
    if (b == NULL) {
        return CF_TV_ERR;
    }
    while (b->n > 0 && b->limb[b->n - 1] == 0) {
        b->n--;
    }
    if (b->n <= 2) {
        uint64_t m = 0;
        for (uint32_t i = b->n; i-- > 0;) {
            m = m << 32 | b->limb[i];
        }
        if (!b->is_neg && m <= INT64_MAX) {
            return cf_tv_int((int64_t)m);
        }
        if (b->is_neg && m <= (uint64_t)INT64_MAX + 1) {
            return cf_tv_int(m == 0 ? 0 : -(int64_t)(m - 1) - 1);
        }
    }
    return (cf_tv){.k = CF_TBIG, .u.big = b};
}

static cf_tbig *big_of(cf_tr *r, cf_tv v)
{
    if (v.k == CF_TBIG) {
        return v.u.big;
    }
    int64_t i = v.k == CF_TBOOL ? v.u.b : v.u.i;
    uint64_t m = i < 0 ? (uint64_t) - (i + 1) + 1 : (uint64_t)i;
    cf_tbig *b = big_new(r, 2);
    if (b != NULL) {
        b->is_neg = i < 0;
        b->limb[0] = (uint32_t)m;
        b->limb[1] = (uint32_t)(m >> 32);
        while (b->n > 0 && b->limb[b->n - 1] == 0) {
            b->n--;
        }
    }
    return b;
}

static int mag_compare(const cf_tbig *a, const cf_tbig *b)
{
    if (a->n != b->n) {
        return a->n < b->n ? -1 : 1;
    }
    for (uint32_t i = a->n; i-- > 0;) {
        if (a->limb[i] != b->limb[i]) {
            return a->limb[i] < b->limb[i] ? -1 : 1;
        }
    }
    return 0;
}

static cf_tbig *mag_add(cf_tr *r, const cf_tbig *a, const cf_tbig *b)
{
    if (a->n < b->n) {
        const cf_tbig *t = a;
        a = b;
        b = t;
    }
    cf_tbig *c = big_new(r, a->n + 1);
    if (c == NULL) {
        return NULL;
    }
    uint64_t carry = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        carry += (uint64_t)a->limb[i] + (i < b->n ? b->limb[i] : 0);
        c->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    c->limb[a->n] = (uint32_t)carry;
    return c;
}

/* |a| - |b| where |a| >= |b|. */
static cf_tbig *mag_sub(cf_tr *r, const cf_tbig *a, const cf_tbig *b)
{
    cf_tbig *c = big_new(r, a->n);
    if (c == NULL) {
        return NULL;
    }
    int64_t borrow = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        int64_t d = (int64_t)a->limb[i] - (i < b->n ? b->limb[i] : 0) - borrow;
        borrow = d < 0;
        c->limb[i] = (uint32_t)(d + (borrow << 32));
    }
    return c;
}

static cf_tv big_add(cf_tr *r, cf_tbig *a, cf_tbig *b, bool flip_b)
{
    if (a == NULL || b == NULL) {
        return CF_TV_ERR;
    }
    bool neg_b = b->is_neg != flip_b;
    cf_tbig *c;
    if (a->is_neg == neg_b) {
        c = mag_add(r, a, b);
        if (c != NULL) {
            c->is_neg = a->is_neg;
        }
    } else if (mag_compare(a, b) >= 0) {
        c = mag_sub(r, a, b);
        if (c != NULL) {
            c->is_neg = a->is_neg;
        }
    } else {
        c = mag_sub(r, b, a);
        if (c != NULL) {
            c->is_neg = neg_b;
        }
    }
    return big_value(c);
}

static cf_tv big_mul(cf_tr *r, cf_tbig *a, cf_tbig *b)
{
    if (a == NULL || b == NULL) {
        return CF_TV_ERR;
    }
    if (!cf_t__spend(r, (uint64_t)a->n * b->n / 4 + 1)) {
        return CF_TV_ERR;
    }
    cf_tbig *c = big_new(r, a->n + b->n);
    if (c == NULL) {
        return CF_TV_ERR;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        uint64_t carry = 0;
        for (uint32_t j = 0; j < b->n; j++) {
            carry += (uint64_t)a->limb[i] * b->limb[j] + c->limb[i + j];
            c->limb[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        c->limb[i + b->n] = (uint32_t)carry;
    }
    c->is_neg = a->is_neg != b->is_neg;
    return big_value(c);
}

/* Divides in place by a small number and returns the remainder. */
static uint32_t mag_div_small(cf_tbig *a, uint32_t by)
{
    uint64_t rest = 0;
    for (uint32_t i = a->n; i-- > 0;) {
        rest = rest << 32 | a->limb[i];
        a->limb[i] = (uint32_t)(rest / by);
        rest %= by;
    }
    while (a->n > 0 && a->limb[a->n - 1] == 0) {
        a->n--;
    }
    return (uint32_t)rest;
}

/* out = a << shift, shift < 32; returns what is shifted out of a's limbs. */
static uint32_t shift_left(uint32_t *out, const cf_tbig *a, unsigned shift)
{
    uint32_t spill = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        uint64_t w = (uint64_t)a->limb[i] << shift | spill;
        out[i] = (uint32_t)w;
        spill = (uint32_t)(w >> 32);
    }
    return spill;
}

/* The digit of the quotient at u[j + n], at most one too large. */
static uint64_t guess_digit(const uint32_t *u, const uint32_t *v, uint32_t n)
{
    uint64_t top = (uint64_t)u[n] << 32 | u[n - 1];
    uint64_t guess = top / v[n - 1], left = top % v[n - 1];
    while (guess >> 32 != 0 || (n > 1 && guess * v[n - 2] > (left << 32 | u[n - 2]))) {
        guess--;
        left += v[n - 1];
        if (left >> 32 != 0) {
            break;
        }
    }
    return guess;
}

/* u[0..n] -= guess * v[0..n); adds v back, and returns one less, where the
 * guess was too large. */
static uint32_t take_digit(uint32_t *u, const uint32_t *v, uint32_t n, uint64_t guess)
{
    int64_t borrow = 0;
    uint64_t carry = 0;
    for (uint32_t i = 0; i < n; i++) {
        carry += guess * v[i];
        int64_t d = (int64_t)u[i] - (int64_t)(uint32_t)carry - borrow;
        carry >>= 32;
        borrow = d < 0;
        u[i] = (uint32_t)(d + (borrow << 32));
    }
    int64_t d = (int64_t)u[n] - (int64_t)carry - borrow;
    u[n] = (uint32_t)d;
    if (d >= 0) {
        return (uint32_t)guess;
    }
    uint64_t back = 0;
    for (uint32_t i = 0; i < n; i++) {
        back += (uint64_t)u[i] + v[i];
        u[i] = (uint32_t)back;
        back >>= 32;
    }
    u[n] += (uint32_t)back;
    return (uint32_t)(guess - 1);
}

/* Quotient and remainder of magnitudes: Knuth's algorithm D (TAOCP 2,
 * 4.3.1). */
static bool mag_divmod(cf_tr *r, const cf_tbig *a, const cf_tbig *b, cf_tbig **quot, cf_tbig **rest)
{
    uint32_t n = b->n, n_quot = a->n >= n ? a->n - n + 1 : 0;
    cf_tbig *q = big_new(r, n_quot != 0 ? n_quot : 1);
    cf_tbig *u = big_new(r, a->n + 1);
    cf_tbig *v = big_new(r, n);
    if (q == NULL || u == NULL || v == NULL || !cf_t__spend(r, (uint64_t)a->n * n / 4 + 1)) {
        return false;
    }
    unsigned shift = 0;
    while (((b->limb[n - 1] << shift) & 0x80000000u) == 0) {
        shift++;
    }
    u->limb[a->n] = shift_left(u->limb, a, shift);
    shift_left(v->limb, b, shift);
    for (uint32_t j = n_quot; j-- > 0;) {
        uint64_t guess = guess_digit(u->limb + j, v->limb, n);
        q->limb[j] = take_digit(u->limb + j, v->limb, n, guess);
    }
    for (uint32_t i = 0; i < n; i++) {
        u->limb[i] = u->limb[i] >> shift | (uint32_t)((uint64_t)u->limb[i + 1] << 32 >> shift);
    }
    u->n = n;
    *quot = q;
    *rest = u;
    return true;
}

/* Floor division and the remainder with the divisor's sign. */
static cf_tv big_divmod(cf_tr *r, cf_tbig *a, cf_tbig *b, bool want_mod)
{
    cf_tbig *q, *m;
    if (a == NULL || b == NULL) {
        return CF_TV_ERR;
    }
    if (mag_compare(a, b) < 0) {
        q = big_new(r, 0);
        m = big_new(r, a->n);
        if (q == NULL || m == NULL) {
            return CF_TV_ERR;
        }
        memcpy(m->limb, a->limb, a->n * sizeof a->limb[0]);
    } else if (!mag_divmod(r, a, b, &q, &m)) {
        return CF_TV_ERR;
    }
    bool differ = a->is_neg != b->is_neg;
    q->is_neg = differ;
    m->is_neg = a->is_neg;
    cf_tv mod = big_value(m), quot = big_value(q);
    bool is_zero = mod.k == CF_TINT && mod.u.i == 0;
    if (differ && !is_zero) {
        if (want_mod) {
            return big_add(r, big_of(r, mod), b, false);
        }
        return big_add(r, big_of(r, quot), big_of(r, cf_tv_int(1)), true);
    }
    return want_mod ? mod : quot;
}

/* ---- conversions -------------------------------------------------------- */

/* The magnitude as a double, rounded to nearest, ties to even. */
static double mag_to_double(const cf_tbig *b)
{
    /* The top 64 bits carry all that matters but "is anything below". */
    uint32_t n = b->n;
    if (n == 0) {
        return 0;
    }
    uint64_t hi = b->limb[n - 1];
    unsigned bits = 0;
    while (bits < 32 && hi >> bits != 0) {
        bits++;
    }
    uint64_t total = (uint64_t)(n - 1) * 32 + bits;
    if (total > 1024) {
        return HUGE_VAL;
    }
    uint64_t top = 0;
    int64_t low = (int64_t)total - 64;
    for (int64_t i = (int64_t)total - 1; i >= low && i >= 0; i--) {
        top = top << 1 | (b->limb[i / 32] >> (i % 32) & 1);
    }
    if (low > 0) {
        bool sticky = false;
        for (int64_t i = 0; i < low && !sticky; i++) {
            sticky = b->limb[i / 32] >> (i % 32) & 1;
        }
        top |= sticky;
    }
    return ldexp((double)top, low > 0 ? (int)low : 0);
}

bool cf_t__to_double(cf_tv v, double *out)
{
    switch (v.k) {
    case CF_TBOOL:
        *out = v.u.b;
        return true;
    case CF_TINT:
        *out = (double)v.u.i;
        return true;
    case CF_TBIG:
        *out = mag_to_double(v.u.big);
        if (v.u.big->is_neg) {
            *out = -*out;
        }
        return isfinite(*out);
    default:
        *out = v.u.f;
        return true;
    }
}

cf_tv cf_t__int_from_double(cf_tr *r, double f)
{
    f = trunc(f);
    if (fabs(f) < 9.2e18) {
        return cf_tv_int((int64_t)f);
    }
    int exp;
    double m = frexp(fabs(f), &exp); /* f = m * 2^exp, 53 bits in m */
    uint64_t top = (uint64_t)ldexp(m, 64);
    uint32_t shift = (uint32_t)exp - 64 + 64;
    cf_tbig *b = big_new(r, shift / 32 + 2);
    if (b == NULL) {
        return CF_TV_ERR;
    }
    b->is_neg = f < 0;
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t bit = (uint32_t)exp - 64 + i;
        if ((int64_t)exp - 64 + i >= 0 && (top >> i & 1) != 0) {
            b->limb[bit / 32] |= 1u << (bit % 32);
        }
    }
    return big_value(b);
}

cf_tv cf_t__int_parse(cf_tr *r, const char *digits, size_t n, unsigned base, bool is_neg)
{
    bool is_pow2 = (base & (base - 1)) == 0;
    if (n > CF_INT_MAX_DIGITS && !is_pow2) {
        return cf_t__fail(r, "an integer of more than %d digits", CF_INT_MAX_DIGITS);
    }
    if (n > CF_BIG_MAX_BITS) {
        return cf_t__fail_limit(r, "an integer is over %d bits", CF_BIG_MAX_BITS);
    }
    cf_tbig *b = NULL;
    uint64_t small = 0;
    bool is_small = true;
    for (size_t i = 0; i < n; i++) {
        char c = digits[i];
        unsigned d = c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a') + 10;
        if (is_small && small > ((uint64_t)INT64_MAX - d) / base) {
            is_small = false;
            b = big_new(r, (uint32_t)(n * 6 / 32) + 3);
            if (b == NULL || !cf_t__spend(r, n * b->n / 8)) {
                return CF_TV_ERR;
            }
            b->limb[0] = (uint32_t)small;
            b->limb[1] = (uint32_t)(small >> 32);
        }
        if (is_small) {
            small = small * base + d;
            continue;
        }
        uint64_t carry = d;
        for (uint32_t k = 0; k < b->n; k++) {
            carry += (uint64_t)b->limb[k] * base;
            b->limb[k] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    if (is_small) {
        return cf_tv_int(is_neg ? -(int64_t)small : (int64_t)small);
    }
    b->is_neg = is_neg;
    return big_value(b);
}

size_t cf_t__int64_text(char out[24], int64_t i)
{
    char back[24];
    size_t n = 0;
    uint64_t m = i < 0 ? (uint64_t) - (i + 1) + 1 : (uint64_t)i;
    do {
        back[n++] = (char)('0' + m % 10);
        m /= 10;
    } while (m != 0);
    size_t len = 0;
    if (i < 0) {
        out[len++] = '-';
    }
    while (n > 0) {
        out[len++] = back[--n];
    }
    return len;
}

cf_tv cf_t__int_text(cf_tr *r, cf_tv v, unsigned base)
{
    if (v.k != CF_TBIG && base == 10) {
        char text[24];
        size_t n = cf_t__int64_text(text, v.k == CF_TBOOL ? v.u.b : v.u.i);
        return cf_t__str_copy(r, text, n, v.org);
    }
    cf_tbig *from = big_of(r, v);
    cf_tbig *b = from != NULL ? big_new(r, from->n) : NULL;
    if (b == NULL) {
        return CF_TV_ERR;
    }
    memcpy(b->limb, from->limb, from->n * sizeof b->limb[0]);
    size_t cap = (size_t)b->n * 32 + 3;
    char *text = cf_t__alloc(r, cap);
    if (text == NULL || !cf_t__spend(r, (uint64_t)b->n * b->n)) {
        return CF_TV_ERR;
    }
    size_t at = cap;
    do {
        uint32_t d = mag_div_small(b, base);
        text[--at] = (char)(d < 10 ? '0' + d : 'a' + (d - 10));
    } while (b->n > 0);
    if (base == 10 && cap - at > CF_INT_MAX_DIGITS) {
        return cf_t__fail(r, "an integer of more than %d digits has no text", CF_INT_MAX_DIGITS);
    }
    if (from->is_neg) {
        text[--at] = '-';
    }
    return cf_t__str_of(r, text + at, cap - at, v.org);
}

uint32_t cf_t__num_hash(cf_tv v)
{
    double f = 0;
    if (v.k == CF_TFLOAT && (v.u.f != trunc(v.u.f) || fabs(v.u.f) > 9e18)) {
        f = v.u.f;
    } else if (v.k == CF_TBIG) {
        if (!cf_t__to_double(v, &f)) {
            return 77;
        }
    } else {
        int64_t i = v.k == CF_TFLOAT ? (int64_t)v.u.f : v.k == CF_TBOOL ? v.u.b : v.u.i;
        if (i < INT64_C(-9000000000000000000) || i > INT64_C(9000000000000000000)) {
            f = (double)i;
        } else {
            return (uint32_t)(((uint64_t)i * UINT64_C(0x9E3779B97F4A7C15)) >> 32) | 1;
        }
    }
    uint64_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint32_t)(bits >> 32 ^ bits) | 1;
}

/* ---- comparison --------------------------------------------------------- */

/* |b| and |f|, where both have the same top bit and f is finite. */
static int compare_big_double(const cf_tbig *b, double f)
{
    int exp;
    uint64_t mantissa = (uint64_t)ldexp(frexp(fabs(f), &exp), 53);
    for (uint32_t i = b->n; i-- > 0;) {
        int from = (int)i * 32 - (exp - 53); /* of the mantissa */
        uint32_t limb = from >= 64 || from <= -32 ? 0
                        : from >= 0               ? (uint32_t)(mantissa >> from)
                                                  : (uint32_t)(mantissa << -from);
        if (b->limb[i] != limb) {
            return b->limb[i] < limb ? -1 : 1;
        }
    }
    return 0;
}

static int compare_int_double(cf_tv a, double f)
{
    if (isinf(f)) {
        return f > 0 ? -1 : 1;
    }
    double da;
    bool ok = cf_t__to_double(a, &da);
    if (!ok) {
        return a.u.big->is_neg ? -1 : 1;
    }
    if (da != f) {
        return da < f ? -1 : 1;
    }
    if (a.k != CF_TBIG && fabs(f) < 9.2e18) {
        int64_t i = a.k == CF_TBOOL ? a.u.b : a.u.i, j = (int64_t)f;
        return i < j ? -1 : i > j;
    }
    if (a.k == CF_TBIG) {
        int c = compare_big_double(a.u.big, f);
        return a.u.big->is_neg ? -c : c;
    }
    return 0;
}

int cf_t__num_compare(cf_tv a, cf_tv b)
{
    if ((a.k == CF_TFLOAT && isnan(a.u.f)) || (b.k == CF_TFLOAT && isnan(b.u.f))) {
        return 2;
    }
    if (a.k == CF_TFLOAT && b.k == CF_TFLOAT) {
        return a.u.f < b.u.f ? -1 : a.u.f > b.u.f;
    }
    if (b.k == CF_TFLOAT) {
        return compare_int_double(a, b.u.f);
    }
    if (a.k == CF_TFLOAT) {
        return -compare_int_double(b, a.u.f);
    }
    if (a.k != CF_TBIG && b.k != CF_TBIG) {
        int64_t i = a.k == CF_TBOOL ? a.u.b : a.u.i;
        int64_t j = b.k == CF_TBOOL ? b.u.b : b.u.i;
        return i < j ? -1 : i > j;
    }
    if (a.k != CF_TBIG) {
        return b.u.big->is_neg ? 1 : -1;
    }
    if (b.k != CF_TBIG || a.u.big->is_neg != b.u.big->is_neg) {
        return a.u.big->is_neg ? -1 : 1;
    }
    int c = mag_compare(a.u.big, b.u.big);
    return a.u.big->is_neg ? -c : c;
}

/* ---- arithmetic --------------------------------------------------------- */

static cf_tv float_divmod(cf_tr *r, double a, double b, bool want_mod)
{
    if (b == 0) {
        return cf_t__fail(r, want_mod ? "modulo by zero" : "division by zero");
    }
    double mod = fmod(a, b);
    double div = (a - mod) / b;
    if (mod != 0) {
        if ((b < 0) != (mod < 0)) {
            mod += b;
            div -= 1;
        }
    } else {
        mod = copysign(0, b);
    }
    if (want_mod) {
        return cf_tv_float(mod);
    }
    double fl = 0;
    if (div != 0) {
        fl = floor(div);
        if (div - fl > 0.5) {
            fl += 1;
        }
    } else {
        fl = copysign(0, a / b);
    }
    return cf_tv_float(fl);
}

static cf_tv float_pow(cf_tr *r, double a, double b)
{
    if (a == 0 && b < 0) {
        return cf_t__fail(r, "zero cannot be raised to a negative power");
    }
    if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b)) {
        return cf_t__fail(r, "a negative number to a fractional power is "
                             "complex, which templates do not have");
    }
    double p = pow(a, b);
    if (isinf(p) && isfinite(a) && isfinite(b)) {
        return cf_t__fail(r, "a float power is too large");
    }
    return cf_tv_float(p);
}

static cf_tv float_arith(cf_tr *r, cf_tarith op, double a, double b)
{
    switch (op) {
    case CF_OP_ADD:
        return cf_tv_float(a + b);
    case CF_OP_SUB:
        return cf_tv_float(a - b);
    case CF_OP_MUL:
        return cf_tv_float(a * b);
    case CF_OP_DIV:
        return b == 0 ? cf_t__fail(r, "division by zero") : cf_tv_float(a / b);
    case CF_OP_FLOORDIV:
        return float_divmod(r, a, b, false);
    case CF_OP_MOD:
        return float_divmod(r, a, b, true);
    case CF_OP_POW:
        return float_pow(r, a, b);
    }
    return CF_TV_ERR;
}

static bool is_zero(cf_tv v)
{
    return (v.k == CF_TBOOL && !v.u.b) || (v.k == CF_TINT && v.u.i == 0);
}

static cf_tv int_pow(cf_tr *r, cf_tv a, cf_tv b)
{
    double fa, fb;
    bool is_neg = b.k == CF_TBIG ? b.u.big->is_neg : b.k == CF_TINT && b.u.i < 0;
    if (is_neg) {
        if (!cf_t__to_double(a, &fa) || !cf_t__to_double(b, &fb)) {
            return cf_t__fail(r, "integer too large to convert to float");
        }
        return float_pow(r, fa, fb);
    }
    uint64_t e = b.k == CF_TBOOL ? b.u.b : b.k == CF_TINT ? (uint64_t)b.u.i : UINT64_MAX;
    cf_tv out = cf_tv_int(1);
    if (a.k != CF_TBIG) {
        int64_t base = a.k == CF_TBOOL ? a.u.b : a.u.i;
        if (base == 0 || base == 1 || base == -1) {
            bool is_odd = b.k == CF_TBIG ? b.u.big->limb[0] & 1 : e & 1;
            return cf_tv_int(e == 0 ? 1 : base < 0 ? (is_odd ? -1 : 1) : base);
        }
    }
    if (e > CF_BIG_MAX_BITS) {
        return cf_t__fail_limit(r, "an integer is over %d bits", CF_BIG_MAX_BITS);
    }
    while (e != 0) {
        if (e & 1) {
            out = cf_t__arith(r, CF_OP_MUL, out, a);
            CF_TVTRY(out);
        }
        e >>= 1;
        if (e != 0) {
            a = cf_t__arith(r, CF_OP_MUL, a, a);
            CF_TVTRY(a);
        }
    }
    return out;
}

static int64_t mag_bits(const cf_tbig *a)
{
    int64_t bits = (int64_t)a->n * 32;
    for (uint32_t top = a->n != 0 ? a->limb[a->n - 1] : 1; top >> 31 == 0; top <<= 1) {
        bits--;
    }
    return a->n != 0 ? bits : 0;
}

/* a * 2^by, as a magnitude. */
static cf_tbig *mag_shift(cf_tr *r, const cf_tbig *a, int64_t by)
{
    uint32_t limbs = (uint32_t)(by / 32), shift = (uint32_t)(by % 32);
    cf_tbig *out = big_new(r, a->n + limbs + 1);
    for (uint32_t i = 0; out != NULL && i < a->n; i++) {
        uint64_t w = (uint64_t)a->limb[i] << shift;
        out->limb[i + limbs] |= (uint32_t)w;
        out->limb[i + limbs + 1] = (uint32_t)(w >> 32);
    }
    while (out != NULL && out->n > 0 && out->limb[out->n - 1] == 0) {
        out->n--;
    }
    return out;
}

/* True division of integers: the nearest double of the exact quotient. The
 * quotient is taken to 66 bits or one more, and its last bit says whether
 * anything is left. */
static cf_tv int_div(cf_tr *r, cf_tv a, cf_tv b)
{
    static const double exact = 9007199254740992.0; /* 2^53 */
    double fa, fb;
    if (is_zero(b)) {
        return cf_t__fail(r, "division by zero");
    }
    if (cf_t__to_double(a, &fa) && cf_t__to_double(b, &fb) && fabs(fa) < exact &&
        fabs(fb) < exact) {
        return cf_tv_float(fa / fb);
    }
    cf_tbig *x = big_of(r, a), *y = big_of(r, b), *q = NULL, *rest = NULL;
    if (x == NULL || y == NULL) {
        return CF_TV_ERR;
    }
    bool is_neg = x->is_neg != y->is_neg;
    int64_t up = mag_bits(y) - mag_bits(x) + 66;
    if (x->n == 0 || up > 66 + 1100) {
        return cf_tv_float(is_neg ? -0.0 : 0.0);
    }
    if (up > 0) {
        x = mag_shift(r, x, up);
    } else if (up < 0) {
        y = mag_shift(r, y, -up);
    }
    if (x == NULL || y == NULL || !mag_divmod(r, x, y, &q, &rest)) {
        return CF_TV_ERR;
    }
    for (uint32_t i = 0; i < rest->n; i++) {
        q->limb[0] |= rest->limb[i] != 0;
    }
    cf_tv quot = big_value(q);
    double f = 0;
    cf_t__to_double(quot, &f);
    f = ldexp(f, (int)-up);
    return isfinite(f) ? cf_tv_float(is_neg ? -f : f)
                       : cf_t__fail(r, "integer division result too large for "
                                       "a float");
}

static bool small_arith(cf_tarith op, int64_t a, int64_t b, cf_tv *out)
{
    int64_t c;
    switch (op) {
    case CF_OP_ADD:
        if ((b > 0 && a > INT64_MAX - b) || (b < 0 && a < INT64_MIN - b)) {
            return false;
        }
        c = a + b;
        break;
    case CF_OP_SUB:
        if ((b < 0 && a > INT64_MAX + b) || (b > 0 && a < INT64_MIN + b)) {
            return false;
        }
        c = a - b;
        break;
    case CF_OP_MUL:
        if (a > INT32_MAX || a < INT32_MIN || b > INT32_MAX || b < INT32_MIN) {
            return false;
        }
        c = a * b;
        break;
    case CF_OP_FLOORDIV:
        if (a == INT64_MIN) {
            return false;
        }
        c = a / b - (a % b != 0 && (a < 0) != (b < 0));
        break;
    case CF_OP_MOD:
        if (a == INT64_MIN) {
            return false;
        }
        c = a % b;
        if (c != 0 && (c < 0) != (b < 0)) {
            c += b;
        }
        break;
    default:
        return false;
    }
    *out = cf_tv_int(c);
    return true;
}

cf_tv cf_t__arith(cf_tr *r, cf_tarith op, cf_tv a, cf_tv b)
{
    if (a.k == CF_TFLOAT || b.k == CF_TFLOAT) {
        double fa, fb;
        if (!cf_t__to_double(a, &fa) || !cf_t__to_double(b, &fb)) {
            return cf_t__fail(r, "integer too large to convert to float");
        }
        return float_arith(r, op, fa, fb);
    }
    if ((op == CF_OP_FLOORDIV || op == CF_OP_MOD) && is_zero(b)) {
        return cf_t__fail(r, op == CF_OP_MOD ? "integer modulo by zero"
                                             : "integer division or modulo by zero");
    }
    if (op == CF_OP_DIV) {
        return int_div(r, a, b);
    }
    if (op == CF_OP_POW) {
        return int_pow(r, a, b);
    }
    cf_tv out;
    if (a.k != CF_TBIG && b.k != CF_TBIG &&
        small_arith(op, a.k == CF_TBOOL ? a.u.b : a.u.i, b.k == CF_TBOOL ? b.u.b : b.u.i, &out)) {
        return out;
    }
    cf_tbig *x = big_of(r, a), *y = big_of(r, b);
    switch (op) {
    case CF_OP_ADD:
        return big_add(r, x, y, false);
    case CF_OP_SUB:
        return big_add(r, x, y, true);
    case CF_OP_MUL:
        return big_mul(r, x, y);
    default:
        return big_divmod(r, x, y, op == CF_OP_MOD);
    }
}

cf_tv cf_t__negate(cf_tr *r, cf_tv v)
{
    if (v.k == CF_TFLOAT) {
        return cf_tv_float(-v.u.f);
    }
    return cf_t__arith(r, CF_OP_SUB, cf_tv_int(0), v);
}

cf_tv cf_t__abs(cf_tr *r, cf_tv v)
{
    if (v.k == CF_TFLOAT) {
        return cf_tv_float(fabs(v.u.f));
    }
    bool is_neg = v.k == CF_TBIG ? v.u.big->is_neg : v.k == CF_TINT && v.u.i < 0;
    return is_neg ? cf_t__negate(r, v) : v.k == CF_TBOOL ? cf_tv_int(v.u.b) : v;
}
