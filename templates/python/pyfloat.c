/*
 * pyfloat.c - floats to text and back, and rounded, as Python does it.
 */
#include "templates/language/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "templates/language/state.h"

size_t cf_t__float_repr(char out[CF_FLOAT_TEXT], double f)
{
    if (!isfinite(f)) {
        const char *name = isnan(f) ? "nan" : f < 0 ? "-inf" : "inf";
        size_t n = strlen(name);
        memcpy(out, name, n);
        return n;
    }
    char text[CF_FLOAT_TEXT];
    int digits = fabs(f) < 1e-300 ? 1 : 15; /* subnormals have fewer digits */
    do {
        snprintf(text, sizeof text, "%.*e", digits - 1, f);
    } while (digits++ < 17 && strtod(text, NULL) != f);
    /* text: [-]d[.ddd]e[+-]dd */
    char *e = strchr(text, 'e');
    int exp = (int)strtol(e + 1, NULL, 10);
    char digit[20] = {0};
    size_t n = 0, at = 0;
    for (char *p = text; p < e; p++) {
        if (*p >= '0' && *p <= '9') {
            digit[n++] = *p;
        }
    }
    while (n > 1 && digit[n - 1] == '0') {
        n--;
    }
    if (text[0] == '-') {
        out[at++] = '-';
    }
    if (exp < -4 || exp >= 16) {
        out[at++] = digit[0];
        if (n > 1) {
            out[at++] = '.';
            memcpy(out + at, digit + 1, n - 1);
            at += n - 1;
        }
        return at + (size_t)snprintf(out + at, CF_FLOAT_TEXT - at, "e%+03d", exp);
    }
    if (exp < 0) {
        out[at++] = '0';
        out[at++] = '.';
        for (int i = -1; i > exp; i--) {
            out[at++] = '0';
        }
        memcpy(out + at, digit, n);
        return at + n;
    }
    for (size_t i = 0; i <= (size_t)exp || i < n; i++) {
        if (i == (size_t)exp + 1) {
            out[at++] = '.';
        }
        out[at++] = i < n ? digit[i] : '0';
    }
    if (n <= (size_t)exp + 1) {
        out[at++] = '.';
        out[at++] = '0';
    }
    return at;
}

double cf_t__round_digits(double f, int digits)
{
    if (!isfinite(f) || digits > 323) {
        return f;
    }
    if (digits < -308) {
        return copysign(0, f);
    }
    char text[400];
    text[0] = '\0';
    if (digits >= 0) {
        snprintf(text, sizeof text, "%.*f", digits > 60 ? 60 : digits, f);
        return strtod(text, NULL);
    }
    /* snprintf rounds the exact value, halves to even: ask for as many digits
     * as are left of the place. */
    double whole = trunc(fabs(f));
    int places = whole < 1 ? 0 : snprintf(text, sizeof text, "%.0f", whole); /* exact */
    if (places > -digits) {
        snprintf(text, sizeof text, "%.*e", places + digits - 1, f);
        return strtod(text, NULL);
    }
    if (places < -digits || text[0] < '5') {
        return copysign(0, f);
    }
    bool is_half =
        text[0] == '5' && whole == fabs(f) && strspn(text + 1, "0") == (size_t)places - 1;
    snprintf(text, sizeof text, "1e%d", places);
    return copysign(is_half ? 0 : strtod(text, NULL), f);
}

static cf_str trim_spaces(cf_str s)
{
    uint32_t len;
    while (s.n > 0 && cf_t__is_space(cf_t__cp(s.p, &len))) {
        s.p += len;
        s.n -= len;
    }
    while (s.n > 0) {
        size_t at = s.n - 1;
        while (at > 0 && ((unsigned char)s.p[at] & 0xC0) == 0x80) {
            at--;
        }
        if (!cf_t__is_space(cf_t__cp(s.p + at, &len))) {
            break;
        }
        s.n = at;
    }
    return s;
}

static bool is_ascii_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Copies the number in `s` to text[s.n + 1] with ASCII digits and without
 * underscores; the length, 0 when it cannot be a number. */
static size_t plain_number(char *text, cf_str s, bool *has_digit)
{
    size_t n = 0;
    uint32_t len;
    for (size_t i = 0; i < s.n; i += len) {
        uint32_t cp = cf_t__cp(s.p + i, &len);
        int d = cf_t__digit_value(cp);
        if (cp == '_') {
            if (i == 0 || i + 1 >= s.n || !is_ascii_digit(s.p[i - 1]) ||
                !is_ascii_digit(s.p[i + 1])) {
                return 0;
            }
            continue;
        }
        if (d >= 0) {
            cp = (uint32_t)('0' + d);
            *has_digit = true;
        }
        if (cp == 0 || cp >= 0x80) {
            return 0;
        }
        text[n++] = (char)cp;
    }
    text[n] = '\0';
    return n;
}

/* inf, infinity and nan in any case, after the sign. */
static bool named_number(const char *text, bool is_neg, double *out)
{
    char low[12];
    size_t k = 0;
    for (; k < sizeof low - 1 && text[k] != '\0'; k++) {
        low[k] = (char)(text[k] | 32);
    }
    low[k] = '\0';
    bool is_inf = strcmp(low, "inf") == 0 || strcmp(low, "infinity") == 0;
    if (!is_inf && strcmp(low, "nan") != 0) {
        return false;
    }
    *out = is_inf ? HUGE_VAL : (double)NAN;
    *out = is_neg ? -*out : *out;
    return true;
}

bool cf_t__float_parse(cf_tr *r, cf_str s, double *out)
{
    char few[512], *text = few;
    bool has_digit = false;
    if (!cf_t__spend(r, s.n >> 2)) {
        return false;
    }
    s = trim_spaces(s);
    if (s.n >= sizeof few) {
        text = cf_t__alloc(r, s.n + 1);
    }
    size_t n = text != NULL ? plain_number(text, s, &has_digit) : 0;
    if (n == 0) {
        return false;
    }
    size_t sign = text[0] == '-' || text[0] == '+';
    if (!has_digit) {
        return named_number(text + sign, text[0] == '-', out);
    }
    if (strspn(text + sign, "0123456789.eE+-") != n - sign) {
        return false;
    }
    char *end;
    *out = strtod(text, &end);
    return *end == '\0';
}
