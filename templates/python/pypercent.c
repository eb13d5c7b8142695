/*
 * pypercent.c - "..." % values: formatting in the manner of printf, after
 * Python's library reference.
 */
#include <math.h>
#include <string.h>

#include "templates/language/ast.h"
#include "templates/language/number.h"
#include "templates/python/methods.h"
#include "templates/python/pyformat.h"

typedef struct percent {
    cf_tsb b;
    cf_tv arg;
    uint32_t used;
    bool is_markup;
} percent;

static cf_tv next_arg(percent *x)
{
    cf_tr *r = x->b.r;
    if (x->arg.k == CF_TTUPLE) {
        return x->used < x->arg.u.l->n ? x->arg.u.l->v[x->used++]
                                       : cf_t__fail(r, "not enough arguments for format string");
    }
    return x->used++ == 0 ? x->arg : cf_t__fail(r, "not enough arguments for format string");
}

static bool star_or_number(percent *x, const cf_tstr *s, uint32_t *at, int64_t *out, int64_t most)
{
    if (*at < s->n && s->p[*at] == '*') {
        (*at)++;
        cf_tv v = next_arg(x);
        if (v.k == CF_TERR) {
            return false;
        }
        if (v.k != CF_TINT && v.k != CF_TBOOL) {
            cf_t__fail(x->b.r, "* wants int");
            return false;
        }
        *out = v.k == CF_TINT ? v.u.i : v.u.b;
        if (*out > most || *out < -most) {
            cf_t__fail_limit(x->b.r, "a format's width or precision is over %d", (int)most);
            return false;
        }
        return true;
    }
    return cf_t__spec_number(x->b.r, s, at, out, most);
}

static bool percent_str(percent *x, cf_tspec *f, cf_tv v, char type)
{
    cf_tr *r = x->b.r;
    cf_tv s;
    if (type == 's') {
        s = cf_t__soft_str(r, v);
    } else if (type == 'a') {
        s = cf_t__ascii(r, v);
    } else {
        cf_tsb b;
        cf_t__sb_init(&b, r);
        cf_t__add_repr(&b, v);
        s = cf_t__sb_take(&b, false);
    }
    if (s.k != CF_TERR && x->is_markup) {
        s = cf_t__escape(r, s);
    }
    if (s.k != CF_TERR && f->precision >= 0) {
        s = cf_t__str_sub(r, s.u.s, 0, cf_t__str_at_cp(s.u.s, (uint32_t)f->precision));
    }
    if (s.k == CF_TERR) {
        return false;
    }
    f->fill[0] = ' ';
    cf_t__pad_str(&x->b, f, s.u.s, f->align == '<' ? '<' : '>');
    return true;
}

/* %d: the integer part; a precision is a least number of digits. */
static bool percent_int(percent *x, cf_tspec *f, cf_tv v, char type)
{
    cf_tr *r = x->b.r;
    uint32_t org = v.org;
    if (v.k == CF_TFLOAT && (type == 'd' || type == 'i' || type == 'u')) {
        if (!isfinite(v.u.f)) {
            cf_t__fail(r, "cannot convert float to integer");
            return false;
        }
        v = cf_t__int_from_double(r, v.u.f);
    }
    if (!cf_tv_is_intlike(v)) {
        if (v.k == CF_TUNDEF) {
            cf_t__fail_undef(r, v);
        } else if (v.k != CF_TERR) {
            cf_t__fail(r, "%%%c format: a number is required, not %s", type, cf_t__type_name(v));
        }
        return false;
    }
    v.org = org;
    f->type = type == 'i' || type == 'u' ? 'd' : type;
    if (f->precision >= 0) {
        cf_tspec digits = {.fill = "0",
                           .fill_n = 1,
                           .align = '=',
                           .type = f->type,
                           .alt = f->alt,
                           .sign = f->sign,
                           .precision = -1};
        bool is_neg = cf_t__num_compare(v, cf_tv_int(0)) < 0;
        digits.width =
            f->precision + (is_neg || f->sign != '\0') + (f->alt && f->type != 'd' ? 2 : 0);
        cf_tsb b;
        cf_t__sb_init(&b, r);
        cf_t__add_int(&b, &digits, v);
        cf_tv s = cf_t__sb_take(&b, false);
        if (s.k == CF_TERR) {
            return false;
        }
        f->fill[0] = ' ';
        cf_t__pad_str(&x->b, f, s.u.s, f->align == '<' ? '<' : '>');
        return true;
    }
    cf_t__add_int(&x->b, f, v);
    return true;
}

static bool percent_float(percent *x, cf_tspec *f, cf_tv v, char type)
{
    double d;
    if (!cf_tv_is_num(v)) {
        if (v.k == CF_TUNDEF) {
            cf_t__fail_undef(x->b.r, v);
        } else {
            cf_t__fail(x->b.r, "must be real number, not %s", cf_t__type_name(v));
        }
        return false;
    }
    if (!cf_t__to_double(v, &d)) {
        cf_t__fail(x->b.r, "int too large to convert to float");
        return false;
    }
    f->type = type;
    cf_t__add_float(&x->b, f, d, v.org);
    return true;
}

static bool percent_char(percent *x, cf_tspec *f, cf_tv v)
{
    f->fill[0] = ' ';
    if (v.k == CF_TSTR) {
        if (cf_t__str_cps(v.u.s) != 1) {
            cf_t__fail(x->b.r, "%%c requires int or char");
            return false;
        }
        cf_t__pad_str(&x->b, f, v.u.s, f->align == '<' ? '<' : '>');
        return true;
    }
    if (v.k != CF_TINT && v.k != CF_TBOOL) {
        cf_t__fail(x->b.r, "%%c requires int or char");
        return false;
    }
    f->align = f->align == '<' ? '<' : '>';
    cf_t__add_char(&x->b, f, v);
    return true;
}

/* "(key)": the value of that name; *v is left where there is none. */
static bool percent_key(percent *x, const cf_tstr *s, uint32_t *at, cf_tv *v)
{
    cf_tr *r = x->b.r;
    if (*at >= s->n || s->p[*at] != '(') {
        return true;
    }
    uint32_t from = ++*at, open = 1;
    for (; *at < s->n; (*at)++) {
        open += s->p[*at] == '(';
        open -= s->p[*at] == ')';
        if (open == 0) {
            break;
        }
    }
    if (open != 0) {
        cf_t__fail(r, "incomplete format key");
        return false;
    }
    if (x->arg.k != CF_TDICT) {
        cf_t__fail(r, "format requires a mapping");
        return false;
    }
    cf_tv key = cf_t__str_sub(r, s, from, (*at)++);
    if (key.k == CF_TERR) {
        return false;
    }
    const cf_tentry *e = cf_t__dict_find_str(x->b.r, x->arg.u.d, key.u.s);
    if (e == NULL) {
        cf_t__fail(r, "no key '%.*s' to format", (int)key.u.s->n, key.u.s->p);
        return false;
    }
    *v = e->val;
    x->used = 1; /* the mapping itself is not an argument any more */
    return true;
}

static void percent_flags(cf_tspec *f, const cf_tstr *s, uint32_t *at)
{
    for (; *at < s->n && s->p[*at] != '\0' && strchr("-+ #0", s->p[*at]) != NULL; (*at)++) {
        switch (s->p[*at]) {
        case '-':
            f->align = '<';
            break;
        case '+':
            f->sign = '+';
            break;
        case ' ':
            f->sign = f->sign == '+' ? '+' : ' ';
            break;
        case '#':
            f->alt = true;
            break;
        default:
            if (f->align != '<') {
                f->align = '=';
                f->fill[0] = '0';
            }
        }
    }
    if (f->align == '<') {
        f->fill[0] = ' ';
    }
}

/* One "%..." from `at`, which is after the %; moves `at` past it. */
static bool percent_one(percent *x, const cf_tstr *s, uint32_t *at)
{
    cf_tr *r = x->b.r;
    cf_tspec f = {.fill = " ", .fill_n = 1, .width = -1, .precision = -1};
    cf_tv v = cf_tv_make(CF_TMISSING);
    if (!percent_key(x, s, at, &v)) {
        return false;
    }
    percent_flags(&f, s, at);
    if (!star_or_number(x, s, at, &f.width, CF_TFIELD_MAX)) {
        return false;
    }
    if (f.width < -1) {
        f.align = '<';
        f.width = -f.width;
    }
    if (*at < s->n && s->p[*at] == '.') {
        (*at)++;
        if (!star_or_number(x, s, at, &f.precision, CF_TDIGITS_MAX)) {
            return false;
        }
        f.precision = f.precision < 0 ? 0 : f.precision;
    }
    if (*at < s->n && (s->p[*at] == 'l' || s->p[*at] == 'h' || s->p[*at] == 'L')) {
        (*at)++;
    }
    if (*at >= s->n) {
        cf_t__fail(r, "incomplete format");
        return false;
    }
    char type = s->p[(*at)++];
    if (type == '\0' || strchr("srauidxXoeEfFgGc", type) == NULL) {
        cf_t__fail(r, "unsupported format character '%c'", type);
        return false;
    }
    if (v.k == CF_TMISSING) {
        v = next_arg(x);
        if (v.k == CF_TERR) {
            return false;
        }
    }
    if (strchr("sra", type) != NULL) {
        return percent_str(x, &f, v, type);
    }
    if (type == 'c') {
        return percent_char(x, &f, v);
    }
    return strchr("eEfFgG", type) != NULL ? percent_float(x, &f, v, type)
                                          : percent_int(x, &f, v, type);
}

cf_tv cf_t__percent(cf_tr *r, const cf_tstr *s, cf_tv arg)
{
    percent x = {.arg = arg, .is_markup = s->is_markup};
    cf_t__sb_init(&x.b, r);
    uint32_t run = 0;
    for (uint32_t at = 0; at < s->n && !x.b.failed;) {
        if (s->p[at] != '%') {
            at++;
            continue;
        }
        cf_t__sb_sub(&x.b, s, run, at);
        at++;
        if (at < s->n && s->p[at] == '%') { /* "%%", nothing between */
            run = at++;
            continue;
        }
        if (!percent_one(&x, s, &at) || !cf_t__spend(r, 1)) {
            return CF_TV_ERR;
        }
        run = at;
    }
    cf_t__sb_sub(&x.b, s, run, s->n);
    bool all_used = arg.k == CF_TTUPLE ? x.used == arg.u.l->n
                                       : x.used > 0 || arg.k == CF_TDICT || arg.k == CF_TUNDEF ||
                                             arg.k == CF_TRANGE || arg.k == CF_TLIST;
    if (!all_used && !x.b.failed) {
        return cf_t__fail(r, "not all arguments converted during string "
                             "formatting");
    }
    return cf_t__sb_take(&x.b, s->is_markup);
}
