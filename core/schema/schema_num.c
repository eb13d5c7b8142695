/*
 * schema_num.c - handles numbers as texts: exact decimals, ranges, multiples.
 *
 * A range over decimals is a comparison of digits, so it is a regular
 * language.  Numbers with conditions are written without an exponent; all
 * have at most 40 digits before the point and exponents below 200, so that no
 * text means infinity.
 */
#include "core/schema/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buf.h"
#include "core/json/json_digits.h"

enum { DIGITS_MAX = 40, MULTIPLE_STATES_MAX = 20000 };

/* The digits of an integer beyond 64 bits; empty for other values. */
static cf_str wide_integer(const json_t *v)
{
    cf_str digits = cf_json_digits(v);
    for (size_t i = 0; i < digits.n; i++) {
        bool is_sign = i == 0 && digits.p[i] == '-';
        if (digits.n > DIGITS_MAX || (!is_sign && (digits.p[i] < '0' || digits.p[i] > '9'))) {
            return cf_str_make(NULL, 0);
        }
    }
    return digits;
}

const cf_dec *cf_dec__from(cf_schema *s, const json_t *v)
{
    char text[64];
    cf_str wide = wide_integer(v);
    if (wide.n > 0) {
        snprintf(text, sizeof text, "%.*s", (int)wide.n, wide.p);
    } else if (json_is_integer(v)) {
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(v));
    } else if (json_is_real(v)) {
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*e", digits - 1, json_real_value(v));
            if (strtod(text, NULL) == json_real_value(v)) {
                break;
            }
        }
    } else {
        return NULL;
    }
    /* mantissa digits and where the point is */
    char digit[40];
    size_t n = 0;
    long point = -1;
    const char *p = text + (text[0] == '-' ? 1 : 0);
    for (; *p != '\0' && *p != 'e'; p++) {
        if (*p == '.') {
            point = (long)n;
        } else {
            digit[n++] = *p;
        }
    }
    if (point < 0) {
        point = (long)n;
    }
    point += *p == 'e' ? strtol(p + 1, NULL, 10) : 0;
    long whole = point > 0 ? point : 0;
    long end = point > (long)n ? point : (long)n;
    size_t size = (size_t)(end + (point < 0 ? -point : 0));
    cf_dec *d = cf_schema_alloc(s, 1, sizeof *d);
    char *out = cf_schema_alloc(s, size + 1, 1);
    if (d == NULL || out == NULL) {
        return NULL;
    }
    size_t k = 0;
    for (long i = point < 0 ? point : 0; i < end; i++) {
        out[k++] = i >= 0 && i < (long)n ? digit[i] : '0';
    }
    size_t skip = 0;
    while (skip < (size_t)whole && out[skip] == '0') {
        skip++;
    }
    while (k > (size_t)whole && out[k - 1] == '0') {
        k--;
    }
    d->whole = out + skip;
    d->n_whole = (uint32_t)((size_t)whole - skip);
    d->frac = out + whole;
    d->n_frac = (uint32_t)(k - (size_t)whole);
    d->neg = text[0] == '-' && d->n_whole + d->n_frac > 0;
    return d;
}

static int magnitude_cmp(const cf_dec *a, const cf_dec *b)
{
    if (a->n_whole != b->n_whole) {
        return a->n_whole < b->n_whole ? -1 : 1;
    }
    int c = memcmp(a->whole, b->whole, a->n_whole);
    if (c != 0) {
        return c < 0 ? -1 : 1;
    }
    uint32_t n = a->n_frac < b->n_frac ? a->n_frac : b->n_frac;
    c = memcmp(a->frac, b->frac, n);
    if (c != 0) {
        return c < 0 ? -1 : 1;
    }
    return a->n_frac < b->n_frac ? -1 : a->n_frac > b->n_frac ? 1 : 0;
}

int cf_dec__cmp(const cf_dec *a, const cf_dec *b)
{
    if (a->neg != b->neg) {
        return a->neg ? -1 : 1;
    }
    int c = magnitude_cmp(a, b);
    return a->neg ? -c : c;
}

/* The digits of d as a whole number p with k of them after the point; false
 * when p is too large. */
static bool scale(const cf_dec *d, uint64_t *p, uint32_t *k)
{
    uint64_t v = 0;
    for (uint32_t i = 0; i < d->n_whole + d->n_frac; i++) {
        char c = i < d->n_whole ? d->whole[i] : d->frac[i - d->n_whole];
        v = v * 10 + (uint64_t)(c - '0');
        if (v > 1000000000) {
            return false;
        }
    }
    *p = v;
    *k = d->n_frac;
    return v > 0;
}

bool cf_dec__to_int(const cf_dec *d, bool is_low, int64_t *out)
{
    int64_t v = 0;
    if (d == NULL || d->n_whole > 17) {
        return false;
    }
    for (uint32_t i = 0; i < d->n_whole; i++) {
        v = v * 10 + (d->whole[i] - '0');
    }
    v = d->neg ? -v : v;
    if (d->n_frac > 0 && is_low != d->neg) {
        v += is_low ? 1 : -1;
    }
    *out = v;
    return true;
}

bool cf_dec__is_multiple(const cf_dec *v, const cf_dec *of)
{
    uint64_t p;
    uint32_t k;
    if (!scale(of, &p, &k) || v->n_frac > k) {
        return false;
    }
    uint64_t r = 0;
    for (uint32_t i = 0; i < v->n_whole + k; i++) {
        uint32_t f = i - v->n_whole;
        char c = i < v->n_whole ? v->whole[i] : f < v->n_frac ? v->frac[f] : '0';
        r = (r * 10 + (uint64_t)(c - '0')) % p;
    }
    return r == 0;
}

/* ---- ranges ------------------------------------------------------------- */

typedef struct num_rx {
    cf_schema *s;
    cf_rx_pool *rx;
    cf_rx digit, nonzero, dot, whole, frac, any_frac, some_frac;
} num_rx;

static cf_rx span(cf_rx_pool *rx, char lo, char hi)
{
    const cf_cprange r = {(uint32_t)lo, (uint32_t)hi};
    return lo <= hi ? cf_rx_set(rx, &r, 1) : CF_RX_NONE;
}

static cf_rx digits(num_rx *n, uint32_t min, uint32_t max)
{
    return cf_rx_loop(n->rx, n->digit, min, max);
}

static cf_rx opt(cf_rx_pool *rx, cf_rx a)
{
    return cf_rx_loop(rx, a, 0, 1);
}

static void num_init(num_rx *n, cf_schema *s)
{
    cf_rx_pool *rx = &s->rx;
    n->s = s;
    n->rx = rx;
    n->digit = span(rx, '0', '9');
    n->nonzero = span(rx, '1', '9');
    n->dot = span(rx, '.', '.');
    n->whole =
        cf_rx_or2(rx, span(rx, '0', '0'), cf_rx_cat(rx, n->nonzero, digits(n, 0, DIGITS_MAX - 1)));
    n->frac = cf_rx_cat(rx, n->dot, digits(n, 1, CF_RX_INF));
    n->any_frac = opt(rx, n->frac);
    /* a fraction that is not zero */
    n->some_frac = cf_rx_cat(
        rx, n->dot,
        cf_rx_cat(rx, digits(n, 0, CF_RX_INF), cf_rx_cat(rx, n->nonzero, digits(n, 0, CF_RX_INF))));
}

static cf_rx text_of(num_rx *n, const char *p, uint32_t len)
{
    return cf_rx_text(n->rx, cf_str_make(p, len));
}

static cf_rx whole_is(num_rx *n, const cf_dec *d)
{
    return d->n_whole > 0 ? text_of(n, d->whole, d->n_whole) : text_of(n, "0", 1);
}

/* Integers greater (or less) than the integer part of d. */
static cf_rx whole_beyond(num_rx *n, const cf_dec *d, bool greater)
{
    cf_rx_pool *rx = n->rx;
    uint32_t len = d->n_whole;
    cf_rx out = CF_RX_NONE;
    if (len == 0) {
        return greater ? cf_rx_cat(rx, n->nonzero, digits(n, 0, DIGITS_MAX - 1)) : CF_RX_NONE;
    }
    if (greater && len < DIGITS_MAX) {
        out = cf_rx_cat(rx, n->nonzero, digits(n, len, DIGITS_MAX - 1));
    } else if (!greater) {
        out = span(rx, '0', '0');
        if (len > 1) {
            out = cf_rx_or2(rx, out, cf_rx_cat(rx, n->nonzero, digits(n, 0, len - 2)));
        }
    }
    for (uint32_t k = 0; k < len && cf_schema_ok(n->s); k++) {
        char c = d->whole[k];
        cf_rx set =
            greater ? span(rx, (char)(c + 1), '9') : span(rx, k == 0 ? '1' : '0', (char)(c - 1));
        cf_rx tail = cf_rx_cat(rx, set, digits(n, len - k - 1, len - k - 1));
        out = cf_rx_or2(rx, out, cf_rx_cat(rx, text_of(n, d->whole, k), tail));
    }
    return out;
}

/* Fractions (with their point, or none) at least that of d. */
static cf_rx frac_from(num_rx *n, const cf_dec *d, bool is_open)
{
    cf_rx_pool *rx = n->rx;
    if (d->n_frac == 0) {
        return is_open ? n->some_frac : n->any_frac;
    }
    cf_rx out = is_open ? cf_rx_cat(rx, digits(n, 0, CF_RX_INF),
                                    cf_rx_cat(rx, n->nonzero, digits(n, 0, CF_RX_INF)))
                        : digits(n, 0, CF_RX_INF);
    out = cf_rx_cat(rx, text_of(n, d->frac, d->n_frac), out);
    for (uint32_t k = 0; k < d->n_frac && cf_schema_ok(n->s); k++) {
        cf_rx set = span(rx, (char)(d->frac[k] + 1), '9');
        cf_rx tail = cf_rx_cat(rx, set, digits(n, 0, CF_RX_INF));
        out = cf_rx_or2(rx, out, cf_rx_cat(rx, text_of(n, d->frac, k), tail));
    }
    return cf_rx_cat(rx, n->dot, out);
}

static cf_rx frac_is(num_rx *n, const cf_dec *d)
{
    cf_rx_pool *rx = n->rx;
    cf_rx zeros = cf_rx_loop(rx, span(rx, '0', '0'), 0, CF_RX_INF);
    if (d->n_frac == 0) {
        cf_rx some = cf_rx_cat(rx, span(rx, '0', '0'), zeros);
        return opt(rx, cf_rx_cat(rx, n->dot, some));
    }
    return cf_rx_cat(rx, n->dot, cf_rx_cat(rx, text_of(n, d->frac, d->n_frac), zeros));
}

static cf_rx frac_to(num_rx *n, const cf_dec *d, bool is_open)
{
    cf_rx_pool *rx = n->rx;
    cf_rx out = is_open ? CF_RX_NONE : frac_is(n, d);
    if (d->n_frac == 0) {
        return out;
    }
    out = cf_rx_or2(rx, out, CF_RX_EPS);
    for (uint32_t k = 0; k < d->n_frac && cf_schema_ok(n->s); k++) {
        cf_rx set = span(rx, '0', (char)(d->frac[k] - 1));
        cf_rx tail = cf_rx_cat(rx, set, digits(n, 0, CF_RX_INF));
        if (k > 0) {
            tail = opt(rx, tail);
        }
        cf_rx one = cf_rx_cat(rx, text_of(n, d->frac, k), tail);
        out = cf_rx_or2(rx, out, cf_rx_cat(rx, n->dot, one));
    }
    return out;
}

/* Unsigned texts of at least / at most d's magnitude. */
static cf_rx from(num_rx *n, const cf_dec *d, bool is_open)
{
    return cf_rx_or2(n->rx, cf_rx_cat(n->rx, whole_beyond(n, d, true), n->any_frac),
                     cf_rx_cat(n->rx, whole_is(n, d), frac_from(n, d, is_open)));
}

static cf_rx up_to(num_rx *n, const cf_dec *d, bool is_open)
{
    return cf_rx_or2(n->rx, cf_rx_cat(n->rx, whole_beyond(n, d, false), n->any_frac),
                     cf_rx_cat(n->rx, whole_is(n, d), frac_to(n, d, is_open)));
}

static bool is_zero(const cf_dec *d)
{
    return d->n_whole + d->n_frac == 0;
}

static cf_rx ranged(num_rx *n, const cf_atom *a)
{
    static const cf_dec zero = {false, "", "", 0, 0};
    cf_rx_pool *rx = n->rx;
    cf_rx all = cf_rx_cat(rx, n->whole, n->any_frac);
    cf_rx pos = CF_RX_NONE;
    cf_rx neg = CF_RX_NONE;
    if (a->hi == NULL || !a->hi->neg) {
        pos = all;
        if (a->lo != NULL && !a->lo->neg && !(is_zero(a->lo) && !a->lo_open)) {
            pos = cf_rx_and2(rx, pos, from(n, a->lo, a->lo_open));
        }
        if (a->hi != NULL) {
            pos = cf_rx_and2(rx, pos, up_to(n, a->hi, a->hi_open));
        }
    }
    if (a->lo == NULL || a->lo->neg) {
        neg = a->hi != NULL && a->hi->neg ? from(n, a->hi, a->hi_open) : from(n, &zero, true);
        if (a->lo != NULL) {
            neg = cf_rx_and2(rx, neg, up_to(n, a->lo, a->lo_open));
        }
        neg = cf_rx_cat(rx, span(rx, '-', '-'), neg);
    }
    return cf_rx_or2(rx, pos, neg);
}

static cf_rx exponent(num_rx *n)
{
    cf_rx_pool *rx = n->rx;
    const cf_cprange e[2] = {{'E', 'E'}, {'e', 'e'}};
    const cf_cprange sign[2] = {{'+', '+'}, {'-', '-'}};
    cf_rx power =
        cf_rx_or2(rx, digits(n, 1, 2), cf_rx_cat(rx, span(rx, '1', '1'), digits(n, 2, 2)));
    return cf_rx_cat(rx, cf_rx_set(rx, e, 2),
                     cf_rx_cat(rx, opt(rx, cf_rx_set(rx, sign, 2)), power));
}

/* The texts of the atom, ignoring its multiples. */
static cf_rx num_text(cf_schema *s, const cf_atom *a)
{
    num_rx n;
    num_init(&n, s);
    cf_rx_pool *rx = n.rx;
    cf_rx minus = opt(rx, span(rx, '-', '-'));
    bool is_open_above = a->hi == NULL;
    bool is_signed = a->lo == NULL;
    bool is_positive = a->lo != NULL && is_zero(a->lo) && !a->lo_open; /* from zero on */
    cf_rx out;
    if (is_open_above && (is_signed || is_positive) && a->n_factor == 0 && a->n_not_factor == 0 &&
        a->n_except == 0 && a->num == CF_NUM_ANY) {
        cf_rx power = opt(rx, exponent(&n));
        out = cf_rx_cat(rx, n.whole, cf_rx_cat(rx, n.any_frac, power));
        return is_signed ? cf_rx_cat(rx, minus, out) : out;
    }
    out = ranged(&n, a);
    if (a->num == CF_NUM_INT) {
        out = cf_rx_and2(rx, out, cf_rx_cat(rx, minus, n.whole));
    } else if (a->num == CF_NUM_NOT_INT) {
        cf_rx broken = cf_rx_cat(rx, n.whole, n.some_frac);
        out = cf_rx_and2(rx, out, cf_rx_cat(rx, minus, broken));
    }
    for (uint32_t i = 0; i < a->n_except && cf_schema_ok(s); i++) {
        const cf_dec *d = a->except[i];
        cf_rx same = cf_rx_cat(rx, whole_is(&n, d), frac_is(&n, d));
        if (d->neg) {
            same = cf_rx_cat(rx, span(rx, '-', '-'), same);
        } else if (is_zero(d)) {
            same = cf_rx_cat(rx, minus, same);
        }
        out = cf_rx_and2(rx, out, cf_rx_not(rx, same));
    }
    return out;
}

/* ---- multiples ---------------------------------------------------------- */

/* Digits read so far modulo p, by phase: whole part, after the point, the
 * k counted digits after it, and zeros beyond them. */
typedef struct multiple {
    uint64_t p;
    uint32_t k;
    bool is_not; /* the texts that are no multiples */
    cf_dfa *d;
    cf_gbuild *b;
} multiple;

static uint32_t multiple_state(const multiple *m, uint32_t phase, uint64_t r)
{
    return (uint32_t)(2 + phase * m->p + r);
}

static void put_move(multiple *m, char lo, char hi, uint32_t to)
{
    cf_dfa *d = m->d;
    if (m->b->st != CF_OK) {
        return;
    }
    if (!cf_grow(&d->move, &d->cap_move, d->n_move + 1, sizeof *d->move)) {
        cf_gbuild_oom(m->b);
        return;
    }
    d->move[d->n_move++] = (cf_dfa_move){(uint32_t)lo, (uint32_t)hi, to};
    d->state[d->n_state - 1].n++;
}

static void put_state(multiple *m, bool is_final)
{
    cf_dfa *d = m->d;
    if (m->b->st != CF_OK) {
        return;
    }
    if (!cf_grow(&d->state, &d->cap_state, d->n_state + 1, sizeof *d->state)) {
        cf_gbuild_oom(m->b);
        return;
    }
    d->state[d->n_state++] = (cf_dfa_state){(uint32_t)d->n_move, 0, is_final};
}

static void put_phase(multiple *m, uint32_t phase, uint64_t r)
{
    uint32_t last = m->k + 2; /* phases: 0 whole, 1 point, 2.. digits, zeros */
    uint32_t n_frac = phase >= 2 ? phase - 1 : 0;
    uint64_t scaled = r;
    for (uint32_t i = n_frac; i < m->k; i++) {
        scaled = scaled * 10 % m->p;
    }
    put_state(m, phase != 1 && (scaled % m->p == 0) != m->is_not);
    if (phase == 0) {
        put_move(m, '.', '.', multiple_state(m, 1, r));
    }
    for (char c = '0'; c <= '9' && m->b->st == CF_OK; c++) {
        uint64_t next = (r * 10 + (uint64_t)(c - '0')) % m->p;
        if (phase == 0) {
            put_move(m, c, c, multiple_state(m, 0, next));
        } else if (phase <= m->k) {
            put_move(m, c, c, multiple_state(m, phase + 1, next));
        } else if (c == '0') {
            put_move(m, c, c, multiple_state(m, last, r));
        } else if (m->is_not) {
            put_move(m, c, c, multiple_state(m, last + 1, 0));
        }
    }
}

static void multiples(cf_schema *s, const cf_dec *factor, bool is_not, cf_dfa *out)
{
    multiple m = {.d = out, .b = s->b, .is_not = is_not};
    if (!scale(factor, &m.p, &m.k) || m.p * (m.k + 3) > MULTIPLE_STATES_MAX) {
        cf_gbuild_fail(s->b, CF_EUNSUPPORTED, "%s: multipleOf has too many digits", s->at);
        return;
    }
    if (!cf_gbuild_spend(s->b, m.p * (m.k + 3))) {
        return;
    }
    for (int i = 0; i < 2 && s->b->st == CF_OK; i++) {
        put_state(&m, false);
        if (i == 0) {
            put_move(&m, '-', '-', 1);
        }
        for (char c = '0'; c <= '9' && s->b->st == CF_OK; c++) {
            put_move(&m, c, c, multiple_state(&m, 0, (uint64_t)(c - '0') % m.p));
        }
    }
    for (uint32_t phase = 0; phase < m.k + 3; phase++) {
        for (uint64_t r = 0; r < m.p && s->b->st == CF_OK; r++) {
            put_phase(&m, phase, r);
        }
    }
    put_state(&m, is_not); /* a digit beyond the last one that a multiple can have */
    put_move(&m, '0', '9', multiple_state(&m, m.k + 3, 0));
}

void cf_num__dfa(cf_schema *s, const cf_atom *a, cf_dfa *out)
{
    cf_rx_dfa(&s->rx, num_text(s, a), out);
    uint32_t n = a->n_factor + a->n_not_factor;
    for (uint32_t i = 0; i < n && cf_schema_ok(s); i++) {
        bool is_not = i >= a->n_factor;
        cf_dfa m = {0};
        cf_dfa both = {0};
        multiples(s, is_not ? a->not_factor[i - a->n_factor] : a->factor[i], is_not, &m);
        if (cf_schema_ok(s)) {
            cf_dfa_and(s->b, out, &m, &both);
        }
        cf_dfa_deinit(&m);
        cf_dfa_deinit(out);
        *out = both;
    }
}
