/*
 * methods_chars.c - str's methods that pad and that ask about characters.
 */
#include "templates/python/methods.h"

#include "templates/language/state.h"

/* ---- padding ------------------------------------------------------------ */

static cf_tv pad(cf_tr *r, const cf_tstr *s, int64_t left, int64_t right, const cf_tstr *fill)
{
    if (left <= 0 && right <= 0) {
        return cf_t__str_sub(r, s, 0, s->n);
    }
    if (left > (int64_t)r->max_out || right > (int64_t)r->max_out) {
        return cf_t__fail_limit(r, "a string is over %zu bytes", r->max_out);
    }
    cf_tsb b;
    cf_t__sb_init(&b, r);
    static const cf_tstr blank = {.p = " ", .n = 1, .n_cp = 1, .one = {1, 0, CF_NO_COPY, 0}};
    const cf_tstr *f = fill != NULL ? fill : &blank;
    for (int64_t i = 0; i < left && !b.failed; i++) {
        cf_t__sb_str(&b, f);
    }
    cf_t__sb_str(&b, s);
    for (int64_t i = 0; i < right && !b.failed; i++) {
        cf_t__sb_str(&b, f);
    }
    if (!cf_t__spend(r, (uint64_t)((left > 0 ? left : 0) + (right > 0 ? right : 0)))) {
        return CF_TV_ERR;
    }
    return cf_t__sb_take(&b, s->is_markup);
}

cf_tv cf_t__center(cf_tr *r, const cf_tstr *s, int64_t width, const cf_tstr *fill)
{
    int64_t room = width - cf_t__str_cps(s);
    int64_t left = room / 2 + (room & width & 1);
    return room <= 0 ? pad(r, s, 0, 0, NULL) : pad(r, s, left, room - left, fill);
}

static bool pad_args(cf_tr *r, const char *what, const cf_targs *args, int64_t *width,
                     const cf_tstr **fill)
{
    cf_tv a[2];
    if (!cf_t__bind(r, what, "width fillchar", 1, args, a) || !cf_t__arg_int(r, a[0], width)) {
        return false;
    }
    *fill = NULL;
    if (a[1].k == CF_TMISSING) {
        return true;
    }
    if (a[1].k != CF_TSTR || cf_t__str_cps(a[1].u.s) != 1) {
        cf_t__fail(r, "The fill character must be exactly one character long");
        return false;
    }
    *fill = a[1].u.s;
    return true;
}

static cf_tv m_center(cf_tr *r, cf_tv self, const cf_targs *args)
{
    int64_t width;
    const cf_tstr *fill;
    return pad_args(r, "center", args, &width, &fill) ? cf_t__center(r, self.u.s, width, fill)
                                                      : CF_TV_ERR;
}

static cf_tv m_ljust(cf_tr *r, cf_tv self, const cf_targs *args)
{
    int64_t width;
    const cf_tstr *fill;
    return pad_args(r, "ljust", args, &width, &fill)
               ? pad(r, self.u.s, 0, width - cf_t__str_cps(self.u.s), fill)
               : CF_TV_ERR;
}

static cf_tv m_rjust(cf_tr *r, cf_tv self, const cf_targs *args)
{
    int64_t width;
    const cf_tstr *fill;
    return pad_args(r, "rjust", args, &width, &fill)
               ? pad(r, self.u.s, width - cf_t__str_cps(self.u.s), 0, fill)
               : CF_TV_ERR;
}

static cf_tv m_zfill(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("zfill", "width", 1, 1)
    int64_t width;
    cf_tstr *s = self.u.s;
    if (!cf_t__arg_int(r, a[0], &width)) {
        return CF_TV_ERR;
    }
    static const cf_tstr zero = {.p = "0", .n = 1, .n_cp = 1, .one = {1, 0, CF_NO_COPY, 0}};
    int64_t room = width - cf_t__str_cps(s);
    if (s->n == 0 || (s->p[0] != '-' && s->p[0] != '+') || room <= 0) {
        return pad(r, s, room, 0, &zero);
    }
    cf_tv sign = cf_t__str_sub(r, s, 0, 1);
    cf_tv rest = cf_t__str_sub(r, s, 1, s->n);
    if (sign.k == CF_TERR || rest.k == CF_TERR) {
        return CF_TV_ERR;
    }
    rest = pad(r, rest.u.s, room, 0, &zero);
    return rest.k == CF_TERR ? rest : cf_t__concat(r, sign.u.s, rest.u.s);
}

static cf_tv m_expandtabs(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("expandtabs", "tabsize", 0, 1)
    int64_t size = 8, col = 0;
    const cf_tstr *s = self.u.s;
    if (a[0].k != CF_TMISSING && !cf_t__arg_int(r, a[0], &size)) {
        return CF_TV_ERR;
    }
    cf_tsb b;
    cf_t__sb_init(&b, r);
    uint32_t len;
    for (uint32_t at = 0; at < s->n && !b.failed; at += len) {
        uint32_t cp = cf_t__cp(s->p + at, &len);
        if (cp == '\t') {
            int64_t n = size > 0 ? size - col % size : 0;
            for (int64_t i = 0; i < n && !b.failed; i++) {
                cf_t__sb_changed(&b, s, at, " ", 1);
            }
            col += n;
            if (!cf_t__spend(r, (uint64_t)n)) {
                return CF_TV_ERR;
            }
        } else {
            cf_t__sb_sub(&b, s, at, at + len);
            col = cp == '\n' || cp == '\r' ? 0 : col + 1;
        }
        if (!cf_t__spend(r, 1)) {
            return CF_TV_ERR;
        }
    }
    return cf_t__sb_take(&b, s->is_markup);
}

/* ---- questions ---------------------------------------------------------- */

typedef bool (*char_test)(uint32_t cp);

static cf_tv all_chars(cf_tr *r, cf_tv self, const cf_targs *args, const char *what, char_test test,
                       bool when_empty)
{
    const cf_tstr *s = self.u.s;
    uint32_t len;
    if (!cf_t__no_str_args(r, what, args) || !cf_t__spend(r, s->n >> 2)) {
        return CF_TV_ERR;
    }
    for (uint32_t at = 0; at < s->n; at += len) {
        if (!test(cf_t__cp(s->p + at, &len))) {
            return cf_tv_bool(false);
        }
    }
    return cf_tv_bool(s->n != 0 || when_empty);
}

static bool is_alnum(uint32_t cp)
{
    return cf_t__is_alpha(cp) || cf_t__is_numeric(cp);
}

static bool is_ascii(uint32_t cp)
{
    return cp < 0x80;
}

#define CHAR_METHOD(name, test, empty)                                \
    static cf_tv m_##name(cf_tr *r, cf_tv self, const cf_targs *args) \
    {                                                                 \
        return all_chars(r, self, args, #name, test, empty);          \
    }
CHAR_METHOD(isalpha, cf_t__is_alpha, false)
CHAR_METHOD(isalnum, is_alnum, false)
CHAR_METHOD(isascii, is_ascii, true)
CHAR_METHOD(isdecimal, cf_t__is_decimal, false)
CHAR_METHOD(isdigit, cf_t__is_digit, false)
CHAR_METHOD(isnumeric, cf_t__is_numeric, false)
CHAR_METHOD(isspace, cf_t__is_space, false)
CHAR_METHOD(isprintable, cf_t__is_printable, true)

static cf_tv m_isidentifier(cf_tr *r, cf_tv self, const cf_targs *args)
{
    const cf_tstr *s = self.u.s;
    uint32_t len;
    if (!cf_t__no_str_args(r, "isidentifier", args) || !cf_t__spend(r, s->n >> 2)) {
        return CF_TV_ERR;
    }
    for (uint32_t at = 0; at < s->n; at += len) {
        uint32_t cp = cf_t__cp(s->p + at, &len);
        if (at == 0 ? !cf_t__is_ident_start(cp) : !cf_t__is_ident_part(cp)) {
            return cf_tv_bool(false);
        }
    }
    return cf_tv_bool(s->n != 0);
}

static cf_tv is_case(cf_tr *r, const cf_tstr *s, char_test want, char_test not )
{
    bool any = false;
    uint32_t len;
    if (!cf_t__spend(r, s->n >> 2)) {
        return CF_TV_ERR;
    }
    for (uint32_t at = 0; at < s->n; at += len) {
        uint32_t cp = cf_t__cp(s->p + at, &len);
        if (not(cp) || cf_t__is_title(cp)) {
            return cf_tv_bool(false);
        }
        any = any || want(cp);
    }
    return cf_tv_bool(any);
}

static cf_tv m_isupper(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return cf_t__no_str_args(r, "isupper", args)
               ? is_case(r, self.u.s, cf_t__is_upper, cf_t__is_lower)
               : CF_TV_ERR;
}

static cf_tv m_islower(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return cf_t__no_str_args(r, "islower", args)
               ? is_case(r, self.u.s, cf_t__is_lower, cf_t__is_upper)
               : CF_TV_ERR;
}

static cf_tv m_istitle(cf_tr *r, cf_tv self, const cf_targs *args)
{
    const cf_tstr *s = self.u.s;
    uint32_t len;
    bool in_word = false, any = false;
    if (!cf_t__no_str_args(r, "istitle", args) || !cf_t__spend(r, s->n >> 2)) {
        return CF_TV_ERR;
    }
    for (uint32_t at = 0; at < s->n; at += len) {
        uint32_t cp = cf_t__cp(s->p + at, &len);
        bool is_up = cf_t__is_upper(cp) || cf_t__is_title(cp);
        bool is_low = cf_t__is_lower(cp);
        if ((is_up && in_word) || (is_low && !in_word)) {
            return cf_tv_bool(false);
        }
        any = any || is_up || is_low;
        in_word = is_up || is_low;
    }
    return cf_tv_bool(any);
}

const cf_tmethod_entry cf_t__char_methods[] = {
    {"center", m_center},
    {"expandtabs", m_expandtabs},
    {"ljust", m_ljust},
    {"rjust", m_rjust},
    {"zfill", m_zfill},
    {"isalnum", m_isalnum},
    {"isalpha", m_isalpha},
    {"isascii", m_isascii},
    {"isdecimal", m_isdecimal},
    {"isdigit", m_isdigit},
    {"isidentifier", m_isidentifier},
    {"islower", m_islower},
    {"isnumeric", m_isnumeric},
    {"isprintable", m_isprintable},
    {"isspace", m_isspace},
    {"istitle", m_istitle},
    {"isupper", m_isupper},
    {NULL, NULL},
};
