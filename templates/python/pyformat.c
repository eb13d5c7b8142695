/*
 * pyformat.c - "...".format(...) and the format mini-language, after Python's
 * library reference.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/utf8.h"
#include "templates/language/ast.h"
#include "templates/language/number.h"
#include "templates/python/methods.h"
#include "templates/python/pyformat.h"

/* ---- padding ------------------------------------------------------------ */

static void fill(cf_tsb *b, const cf_tspec *f, int64_t n)
{
    for (int64_t i = 0; i < n && !b->failed; i++) {
        cf_t__sb_add(b, f->fill, f->fill_n, CF_ORG_NONE, CF_NO_COPY, 0);
    }
    if (n > 0) {
        b->r->steps += (uint64_t)n;
    }
}

void cf_t__pad_str(cf_tsb *b, const cf_tspec *f, const cf_tstr *s, char align)
{
    int64_t room = f->width - cf_t__str_cps(s);
    int64_t left = room <= 0 ? 0 : align == '>' ? room : align == '^' ? room / 2 : 0;
    fill(b, f, left);
    cf_t__sb_str(b, s);
    fill(b, f, room - left);
}

/* A number: sign or prefix, then digits; '=' puts the fill between. */
static void pad_number(cf_tsb *b, const cf_tspec *f, const char *head, const char *digits, size_t n,
                       uint32_t org)
{
    int64_t room = f->width - (int64_t)strlen(head) - (int64_t)n;
    char align = f->align != '\0' ? f->align : '>';
    int64_t left = room <= 0 ? 0 : align == '>' ? room : align == '^' ? room / 2 : 0;
    fill(b, f, left);
    cf_t__sb_adds(b, head, org);
    if (align == '=' && room > 0) {
        fill(b, f, room);
        room = left;
    }
    cf_t__sb_add(b, digits, n, org, CF_NO_COPY, 0);
    fill(b, f, room - left);
}

/* ---- numbers ------------------------------------------------------------ */

/* Inserts `sep` every `every` digits of the integer part, and zeros up to
 * the width when the fill is zeros by '='.  text holds only digits, then the
 * rest from `n_int` on. */
static char *grouped(cf_tr *r, const cf_tspec *f, const char *text, size_t n, size_t n_int,
                     size_t n_head, size_t *out_n)
{
    size_t every = f->type == 'b' || f->type == 'o' || f->type == 'x' || f->type == 'X' ? 4 : 3;
    int64_t want = f->align == '=' && f->fill_n == 1 && f->fill[0] == '0'
                       ? f->width - (int64_t)n_head - (int64_t)(n - n_int)
                       : 0;
    size_t cap = n * 2 + (want > 0 ? (size_t)want * 2 : 0) + 8;
    char *out = cf_t__alloc(r, cap);
    if (out == NULL) {
        return NULL;
    }
    size_t at = cap, done = 0;
    memcpy(out + (at -= n - n_int), text + n_int, n - n_int);
    for (size_t i = n_int; i > 0 || (int64_t)(cap - at - (n - n_int)) < want;) {
        if (done != 0 && done % every == 0) {
            out[--at] = f->group;
            if (i == 0 && (int64_t)(cap - at - (n - n_int)) >= want) {
                out[--at] = '0'; /* without a leading separator */
                break;
            }
        }
        out[--at] = i > 0 ? text[--i] : '0';
        done++;
    }
    *out_n = cap - at;
    return out + at;
}

void cf_t__add_int(cf_tsb *b, cf_tspec *f, cf_tv v)
{
    cf_tr *r = b->r;
    unsigned base = f->type == 'b'                     ? 2
                    : f->type == 'o'                   ? 8
                    : f->type == 'x' || f->type == 'X' ? 16
                                                       : 10;
    uint32_t org = v.org;
    bool is_neg = cf_t__num_compare(v, cf_tv_int(0)) < 0;
    v = cf_t__abs(r, v);
    cf_tv text = v.k == CF_TERR ? v : cf_t__int_text(r, v, base);
    if (text.k == CF_TERR) {
        b->failed = true;
        return;
    }
    char head[8];
    const char *prefix = f->alt && base != 10 ? (base == 2        ? "0b"
                                                 : base == 8      ? "0o"
                                                 : f->type == 'X' ? "0X"
                                                                  : "0x")
                                              : "";
    snprintf(head, sizeof head, "%s%s",
             is_neg           ? "-"
             : f->sign == '+' ? "+"
             : f->sign == ' ' ? " "
                              : "",
             prefix);
    const char *digits = text.u.s->p;
    size_t n = text.u.s->n;
    if (f->type == 'X') {
        char *up = cf_t__alloc(r, n + 1);
        for (size_t i = 0; up != NULL && i < n; i++) {
            up[i] = digits[i] >= 'a' ? (char)(digits[i] - 32) : digits[i];
        }
        digits = up;
    }
    if (digits != NULL && f->group != '\0') {
        digits = grouped(r, f, digits, n, n, strlen(head), &n);
    }
    if (digits == NULL) {
        b->failed = true;
        return;
    }
    pad_number(b, f, head, digits, n, org);
}

/* Type '' with a precision: %g that keeps ".0". */
static void general_text(char *out, size_t cap, double f, int precision)
{
    char probe[CF_TDIGITS_MAX + 32];
    snprintf(probe, sizeof probe, "%.*e", precision - 1, f);
    int exp = (int)strtol(strchr(probe, 'e') + 1, NULL, 10);
    snprintf(out, cap, "%.*g", precision, f);
    if (strpbrk(out, ".e") != NULL) {
        return;
    }
    if (exp != precision - 1) {
        size_t n = strlen(out);
        snprintf(out + n, cap - n, ".0");
        return;
    }
    /* Python turns to exponents one digit earlier, to have room for ".0". */
    snprintf(out, cap, "%.*e", precision - 1, f);
    char *e = strchr(out, 'e'), *end = e;
    if (memchr(out, '.', (size_t)(e - out)) != NULL) {
        while (end[-1] == '0') {
            end--;
        }
        end -= end[-1] == '.';
    }
    memmove(end, e, strlen(e) + 1);
}

/* The digits of a finite f >= 0. */
static void float_text(char *out, size_t cap, double f, const cf_tspec *s)
{
    int precision = s->precision < 0 ? 6 : (int)s->precision;
    switch (s->type) {
    case '\0':
        if (s->precision < 0) {
            out[cf_t__float_repr(out, f)] = '\0';
        } else {
            general_text(out, cap, f, precision == 0 ? 1 : precision);
        }
        break;
    case 'e':
        snprintf(out, cap, s->alt ? "%#.*e" : "%.*e", precision, f);
        break;
    case 'E':
        snprintf(out, cap, s->alt ? "%#.*E" : "%.*E", precision, f);
        break;
    case 'f':
    case 'F':
    case '%':
        snprintf(out, cap, s->alt ? "%#.*f" : "%.*f", precision, f);
        break;
    case 'G':
        snprintf(out, cap, s->alt ? "%#.*G" : "%.*G", precision, f);
        break;
    default:
        snprintf(out, cap, s->alt ? "%#.*g" : "%.*g", precision, f);
    }
}

void cf_t__add_float(cf_tsb *b, cf_tspec *s, double f, uint32_t org)
{
    char text[CF_TDIGITS_MAX + 400];
    char head[2] = "";
    bool is_neg = signbit(f) && !isnan(f);
    bool percent = s->type == '%';
    if (!isfinite(f)) {
        bool up = s->type == 'F' || s->type == 'E' || s->type == 'G';
        snprintf(text, sizeof text, "%s", isnan(f) ? (up ? "NAN" : "nan") : (up ? "INF" : "inf"));
    } else {
        float_text(text, sizeof text, fabs(f) * (percent ? 100 : 1), s);
    }
    if (is_neg && s->no_neg_zero && isfinite(f) && strpbrk(text, "123456789") == NULL) {
        is_neg = false;
    }
    if (is_neg || s->sign == '+' || s->sign == ' ') {
        head[0] = is_neg ? '-' : s->sign;
        head[1] = '\0';
    }
    size_t n = strlen(text);
    if (percent) {
        text[n++] = '%';
    }
    const char *digits = text;
    if (s->group != '\0' && isfinite(f)) {
        size_t n_int = strspn(text, "0123456789");
        digits = grouped(b->r, s, text, n, n_int, strlen(head), &n);
        if (digits == NULL) {
            b->failed = true;
            return;
        }
    }
    pad_number(b, s, head, digits, n, org);
}

/* ---- the mini-language -------------------------------------------------- */

bool cf_t__spec_number(cf_tr *r, const cf_tstr *s, uint32_t *at, int64_t *out, int64_t most)
{
    *out = -1;
    while (*at < s->n && s->p[*at] >= '0' && s->p[*at] <= '9') {
        *out = (*out < 0 ? 0 : *out) * 10 + (s->p[(*at)++] - '0');
        if (*out > most) {
            cf_t__fail_limit(r, "a format's width or precision is over %d", (int)most);
            return false;
        }
    }
    return true;
}

static bool is_align(char c)
{
    return c == '<' || c == '>' || c == '=' || c == '^';
}

/* [[fill]align][sign][z][#][0]; returns where the width begins. */
static uint32_t parse_flags(const cf_tstr *s, cf_tspec *f)
{
    uint32_t at = 0, len = 0;
    bool has_fill = false;
    if (s->n > 0) {
        cf_t__cp(s->p, &len);
    }
    if (s->n > len && len > 0 && is_align(s->p[len])) {
        memcpy(f->fill, s->p, len);
        f->fill_n = len;
        f->align = s->p[len];
        has_fill = true;
        at = len + 1;
    } else if (s->n > 0 && is_align(s->p[0])) {
        f->align = s->p[at++];
    }
    if (at < s->n && (s->p[at] == '+' || s->p[at] == '-' || s->p[at] == ' ')) {
        f->sign = s->p[at++];
    }
    if (at < s->n && s->p[at] == 'z') {
        f->no_neg_zero = true;
        at++;
    }
    if (at < s->n && s->p[at] == '#') {
        f->alt = true;
        at++;
    }
    if (at < s->n && s->p[at] == '0') {
        if (!has_fill) {
            f->fill[0] = '0';
            f->fill_n = 1;
        }
        if (f->align == '\0') {
            f->align = '=';
            f->zero_align = true;
        }
        at++;
    }
    return at;
}

/* The whole of a format specification; its grammar is Python's. */
static bool parse_spec(cf_tr *r, const cf_tstr *s, cf_tspec *f)
{
    *f = (cf_tspec){.fill = " ", .fill_n = 1, .width = -1, .precision = -1};
    uint32_t at = parse_flags(s, f);
    if (!cf_t__spec_number(r, s, &at, &f->width, CF_TFIELD_MAX)) {
        return false;
    }
    if (at < s->n && (s->p[at] == ',' || s->p[at] == '_')) {
        f->group = s->p[at++];
    }
    if (at < s->n && s->p[at] == '.') {
        at++;
        if (!cf_t__spec_number(r, s, &at, &f->precision, CF_TDIGITS_MAX)) {
            return false;
        }
        if (f->precision < 0) {
            cf_t__fail(r, "Format specifier missing precision");
            return false;
        }
    }
    if (at < s->n) {
        f->type = s->p[at++];
    }
    if (at < s->n) {
        cf_t__fail(r, "Invalid format specifier '%.*s'", (int)s->n, s->p);
        return false;
    }
    /* Commas group decimal digits, underscores those of b, o and x, too. */
    const char *types = f->group == ',' ? "defgEFG%" : "defgEFG%boxX";
    if (f->group != '\0' && f->type != '\0' && strchr(types, f->type) == NULL) {
        cf_t__fail(r, "Cannot specify '%c' with '%c'.", f->group, f->type);
        return false;
    }
    return true;
}

static void bad_code(cf_tsb *b, char type, cf_tv v)
{
    cf_t__fail(b->r, "Unknown format code '%c' for object of type '%s'", type, cf_t__type_name(v));
    b->failed = true;
}

void cf_t__add_char(cf_tsb *b, cf_tspec *f, cf_tv v)
{
    int64_t c = v.k == CF_TINT ? v.u.i : v.k == CF_TBOOL ? v.u.b : -1;
    if (c < 0 || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) {
        cf_t__fail(b->r, "%%c arg not in range(0x110000)");
        b->failed = true;
        return;
    }
    char out[4];
    size_t n = cf_utf8_encode(out, (uint32_t)c);
    cf_tv s = cf_t__str_copy(b->r, out, n, v.org);
    if (s.k == CF_TERR) {
        b->failed = true;
        return;
    }
    cf_t__pad_str(b, f, s.u.s, f->align != '\0' ? f->align : '>');
}

static void refuse(cf_tsb *b, const char *why)
{
    cf_t__fail(b->r, "%s", why);
    b->failed = true;
}

static void format_str(cf_tsb *b, cf_tspec *f, cf_tv v)
{
    if (f->type != '\0' && f->type != 's') {
        bad_code(b, f->type, v);
        return;
    }
    if (f->zero_align) {
        f->align = '<';
    }
    if (f->align == '=' || f->sign != '\0' || f->group != '\0' || f->alt) {
        refuse(b, "this format is not allowed for a string");
        return;
    }
    const cf_tstr *s = v.u.s;
    if (f->precision >= 0) {
        cf_tv cut = cf_t__str_sub(b->r, s, 0, cf_t__str_at_cp(s, (uint32_t)f->precision));
        if (cut.k == CF_TERR) {
            b->failed = true;
            return;
        }
        s = cut.u.s;
    }
    cf_t__pad_str(b, f, s, f->align != '\0' ? f->align : '<');
}

static void format_int(cf_tsb *b, cf_tspec *f, cf_tv v)
{
    bool is_plain =
        f->type == '\0' && f->align == '\0' && f->width < 0 && f->sign == '\0' && f->group == '\0';
    if (f->type != '\0' && strchr("bcdoxXn", f->type) == NULL) {
        bad_code(b, f->type, v);
    } else if (f->precision >= 0) {
        refuse(b, "Precision not allowed in integer format specifier");
    } else if (f->type == 'c' && f->sign != '\0') {
        refuse(b, "Sign not allowed with integer format specifier 'c'");
    } else if (f->type == 'c' && f->alt) {
        refuse(b, "Alternate form (#) not allowed with integer format "
                  "specifier 'c'");
    } else if (f->type == 'c') {
        cf_t__add_char(b, f, v);
    } else if (v.k == CF_TBOOL && is_plain) {
        cf_t__add_str(b, v);
    } else {
        cf_t__add_int(b, f, v);
    }
}

void cf_t__add_format(cf_tsb *b, cf_tv v, const cf_tstr *format)
{
    cf_tspec f;
    double d;
    if (b->failed) {
        return;
    }
    if (format->n == 0) {
        cf_t__add_str(b, v);
        return;
    }
    bool is_int = cf_tv_is_intlike(v);
    if (v.k != CF_TSTR && !is_int && v.k != CF_TFLOAT) {
        cf_t__fail(b->r, "unsupported format string passed to %s.__format__", cf_t__type_name(v));
        b->failed = true;
        return;
    }
    if (!parse_spec(b->r, format, &f)) {
        b->failed = true;
        return;
    }
    bool float_type = f.type != '\0' && strchr("eEfFgG%", f.type) != NULL;
    if (f.no_neg_zero && (v.k == CF_TSTR || (is_int && !float_type))) {
        refuse(b, "Negative zero coercion (z) is not allowed in this format "
                  "specifier");
    } else if (v.k == CF_TSTR) {
        format_str(b, &f, v);
    } else if (is_int && !float_type) {
        format_int(b, &f, v);
    } else if (!float_type && f.type != '\0' && f.type != 'n') {
        bad_code(b, f.type, v);
    } else if (!cf_t__to_double(v, &d)) {
        refuse(b, "int too large to convert to float");
    } else {
        cf_t__add_float(b, &f, d, v.org);
    }
}

/* ---- str.format --------------------------------------------------------- */

typedef struct formatter {
    cf_tsb b;
    const cf_targs *args;
    int64_t next; /* automatic number; -1 once numbers are given */
    bool has_auto;
    bool escapes; /* Markup escapes each field */
} formatter;

/* The argument called p[0..n); is_whole: it is all that the field says. The
 * sandbox's formatter is string.Formatter: only such a field is numbered by
 * itself ("{}", not "{.a}"), and only such a number excludes those. */
static cf_tv find_arg(formatter *x, const char *p, uint32_t n, bool is_whole)
{
    cf_tr *r = x->b.r;
    bool is_number = n > 0;
    for (uint32_t i = 0; i < n; i++) {
        is_number = is_number && p[i] >= '0' && p[i] <= '9';
    }
    if ((n == 0 && is_whole) || is_number) {
        int64_t i = 0;
        if (n == 0) {
            if (x->next < 0) {
                return cf_t__fail(r, "cannot switch from manual field "
                                     "specification to automatic field "
                                     "numbering");
            }
            i = x->next++;
            x->has_auto = true;
        } else {
            if (x->has_auto && is_whole) {
                return cf_t__fail(r, "cannot switch from automatic field "
                                     "numbering to manual field specification");
            }
            x->next = is_whole ? -1 : x->next;
            for (uint32_t k = 0; k < n && i < CF_TFIELD_MAX; k++) {
                i = i * 10 + (p[k] - '0');
            }
        }
        return i < x->args->n ? x->args->v[i]
                              : cf_t__fail(r,
                                           "Replacement index %lld out of range for "
                                           "positional args tuple",
                                           (long long)i);
    }
    for (uint32_t i = 0; i < x->args->n_kw; i++) {
        const cf_tstr *name = x->args->kw[i].name;
        if (name->n == n && memcmp(name->p, p, n) == 0) {
            return x->args->kw[i].val;
        }
    }
    return cf_t__fail(r, "no argument '%.*s' to format", (int)n, p);
}

/* "name.attr[key]" */
static cf_tv find_field(formatter *x, const char *p, uint32_t n)
{
    cf_tr *r = x->b.r;
    uint32_t at = 0;
    while (at < n && p[at] != '.' && p[at] != '[') {
        at++;
    }
    cf_tv v = find_arg(x, p, at, at == n);
    while (at < n && v.k != CF_TERR) {
        uint32_t from = at + 1, end = from;
        bool is_item = p[at] == '[';
        while (end < n && (is_item ? p[end] != ']' : p[end] != '.' && p[end] != '[')) {
            end++;
        }
        if (end == from || (is_item && end == n)) {
            return cf_t__fail(r, is_item ? "Missing ']' in format string"
                                         : "Empty attribute in format string");
        }
        bool is_number = is_item;
        for (uint32_t i = from; i < end; i++) {
            is_number = is_number && p[i] >= '0' && p[i] <= '9';
        }
        cf_tv key = is_number ? cf_t__int_parse(r, p + from, end - from, 10, false)
                              : cf_t__str_copy(r, p + from, end - from, 0);
        CF_TVTRY(key);
        v = is_item ? cf_t__getitem(r, v, key) : cf_t__getattr(r, v, key);
        at = is_item ? end + 1 : end;
        if (is_item && at < n && p[at] != '.' && p[at] != '[') {
            return cf_t__fail(r, "Only '.' or '[' may follow ']' in format "
                                 "field specifier");
        }
    }
    return v;
}

static bool run_format(formatter *x, const cf_tstr *s, cf_tsb *out, int depth);

/* Where the name of the field in s[from..end) ends, at ':' or '!'; 0 with the
 * error set for a brace in it. */
static uint32_t field_name_end(cf_tr *r, const cf_tstr *s, uint32_t from, uint32_t end)
{
    uint32_t at = from, brackets = 0;
    for (; at < end; at++) {
        char c = s->p[at];
        brackets += c == '[';
        brackets -= c == ']' && brackets > 0;
        if (brackets == 0 && (c == ':' || c == '!')) {
            break;
        }
        if (c == '{') {
            cf_t__fail(r, "unexpected '{' in field name");
            return 0;
        }
    }
    return at;
}

/* v after "!r", "!s" or "!a". */
static cf_tv converted(cf_tr *r, cf_tv v, char conversion)
{
    cf_tsb b;
    switch (conversion) {
    case 's':
        return cf_t__to_str(r, v);
    case 'a':
        return cf_t__ascii(r, v);
    case 'r':
        cf_t__sb_init(&b, r);
        cf_t__add_repr(&b, v);
        return cf_t__sb_take(&b, false);
    default:
        return v;
    }
}

/* Appends v by its format; Markup escapes the result. */
static bool add_field(formatter *x, cf_tv v, const cf_tstr *format, cf_tsb *out)
{
    cf_tsb b;
    if (!x->escapes) {
        cf_t__add_format(out, v, format);
        return !out->failed;
    }
    cf_tv text = v;
    if (!(v.k == CF_TSTR && v.u.s->is_markup)) {
        cf_t__sb_init(&b, x->b.r);
        cf_t__add_format(&b, v, format);
        text = cf_t__sb_take(&b, false);
        text = text.k != CF_TERR ? cf_t__escape(x->b.r, text) : text;
    } else if (format->n != 0) {
        cf_t__fail(x->b.r, "Format specifier given, but Markup does not define "
                           "__html_format__");
        return false;
    }
    if (text.k == CF_TERR) {
        return false;
    }
    cf_t__sb_str(out, text.u.s);
    return !out->failed;
}

/* One field: s[from..end) is what is inside the braces. */
static bool format_field(formatter *x, const cf_tstr *s, uint32_t from, uint32_t end, cf_tsb *out,
                         int depth)
{
    cf_tr *r = x->b.r;
    uint32_t at = field_name_end(r, s, from, end);
    if (r->error != CF_TE_NONE) {
        return false;
    }
    cf_tv v = find_field(x, s->p + from, at - from);
    char conversion = '\0';
    if (v.k == CF_TERR) {
        return false;
    }
    if (at < end && s->p[at] == '!') {
        conversion = at + 1 < end ? s->p[at + 1] : '\0';
        at += 2;
        if ((conversion != 'r' && conversion != 's' && conversion != 'a') ||
            (at < end && s->p[at] != ':')) {
            cf_t__fail(r, "Unknown conversion specifier");
            return false;
        }
    }
    cf_tv format = cf_t__str_cstr(r, "");
    if (format.k != CF_TERR && at < end) {
        cf_tv raw = cf_t__str_sub(r, s, at + 1, end);
        cf_tsb b;
        cf_t__sb_init(&b, r);
        if (raw.k == CF_TERR || !run_format(x, raw.u.s, &b, depth - 1)) {
            return false;
        }
        format = cf_t__sb_take(&b, false);
    }
    v = converted(r, v, conversion);
    return format.k != CF_TERR && v.k != CF_TERR && add_field(x, v, format.u.s, out);
}

static bool run_format(formatter *x, const cf_tstr *s, cf_tsb *out, int depth)
{
    cf_tr *r = x->b.r;
    uint32_t run = 0;
    if (depth == 0) {
        cf_t__fail(r, "Max string recursion exceeded");
        return false;
    }
    for (uint32_t at = 0; at < s->n; at++) {
        char c = s->p[at];
        if (c != '{' && c != '}') {
            continue;
        }
        cf_t__sb_sub(out, s, run, at);
        if (at + 1 < s->n && s->p[at + 1] == c) {
            cf_t__sb_sub(out, s, at, at + 1);
            at++;
            run = at + 1;
            continue;
        }
        if (c == '}') {
            cf_t__fail(r, "Single '}' encountered in format string");
            return false;
        }
        uint32_t end = at + 1, open = 1;
        for (; end < s->n; end++) {
            open += s->p[end] == '{';
            open -= s->p[end] == '}';
            if (open == 0) {
                break;
            }
        }
        if (open != 0) {
            cf_t__fail(r, at + 1 == s->n ? "Single '{' encountered in format string"
                                         : "expected '}' before end of string");
            return false;
        }
        if (!format_field(x, s, at + 1, end, out, depth) || !cf_t__spend(r, 1)) {
            return false;
        }
        at = end;
        run = end + 1;
    }
    cf_t__sb_sub(out, s, run, s->n);
    return !out->failed;
}

cf_tv cf_t__str_format(cf_tr *r, const cf_tstr *s, const cf_targs *args)
{
    formatter x = {.args = args, .escapes = s->is_markup};
    cf_tsb out;
    cf_t__sb_init(&x.b, r);
    cf_t__sb_init(&out, r);
    return run_format(&x, s, &out, 2) ? cf_t__sb_take(&out, s->is_markup) : CF_TV_ERR;
}
