/*
 * methods_str.c - str's methods, by code point, keeping origins.
 */
#include "templates/python/methods.h"

#include "core/base/utf8.h"
#include "templates/language/state.h"

bool cf_t__no_str_args(cf_tr *r, const char *what, const cf_targs *args)
{
    if (args->n + args->n_kw != 0) {
        cf_t__fail(r, "str.%s() takes no arguments (%u given)", what,
                   (unsigned)(args->n + args->n_kw));
        return false;
    }
    return true;
}

/* ---- case --------------------------------------------------------------- */

/* How much of s from `at` on is ASCII, so that its bytes map one to one. */
static uint32_t ascii_run(const cf_tstr *s, uint32_t at)
{
    uint32_t end = at;
    while (end < s->n && (unsigned char)s->p[end] < 0x80) {
        end++;
    }
    return end;
}

static void add_mapped(cf_tsb *b, const cf_tstr *s, uint32_t at, uint32_t len, cf_tcase how)
{
    char out[12];
    uint32_t l, cp = cf_t__cp(s->p + at, &l);
    uint32_t n;
    if (cp == 0x3A3 && how == CF_CASE_LOWER) {
        n = (uint32_t)cf_utf8_encode(out, cf_t__is_final_sigma(s, at) ? 0x3C2 : 0x3C3);
    } else {
        n = cf_t__map_case(out, cp, how);
    }
    if (n == len && memcmp(out, s->p + at, n) == 0) {
        cf_t__sb_sub(b, s, at, at + len);
    } else {
        cf_t__sb_changed(b, s, at, out, n);
    }
}

/* A string that is all ASCII and one segment: mapped in one go. */
static cf_tv map_ascii(cf_tr *r, const cf_tstr *s, cf_tcase how)
{
    char lo = how == CF_CASE_UPPER ? 'a' : 'A';
    uint32_t i = 0;
    while (i < s->n && (s->p[i] < lo || s->p[i] > lo + 25)) {
        i++;
    }
    r->steps += s->n >> 4;
    if (i == s->n) {
        return cf_t__str_sub(r, s, 0, s->n);
    }
    char *p = cf_t__alloc(r, s->n);
    if (p == NULL || !cf_t__spend(r, s->n >> 4)) {
        return CF_TV_ERR;
    }
    for (i = 0; i < s->n; i++) {
        p[i] = s->p[i] >= lo && s->p[i] <= lo + 25 ? (char)(s->p[i] ^ 32) : s->p[i];
    }
    cf_tv v = cf_t__str_of(r, p, s->n, s->one.org);
    if (v.k == CF_TSTR) {
        v.u.s->one.pos = s->one.pos;
        v.u.s->n_cp = s->n;
        v.u.s->is_markup = s->is_markup;
    }
    return v;
}

cf_tv cf_t__map_str(cf_tr *r, const cf_tstr *s, cf_tcase how)
{
    if (s->n_seg == 0 && how <= CF_CASE_LOWER && ascii_run(s, 0) == s->n) {
        return map_ascii(r, s, how);
    }
    cf_tsb b;
    cf_t__sb_init(&b, r);
    uint32_t len;
    for (uint32_t at = 0; at < s->n && !b.failed; at += len) {
        cf_t__cp(s->p + at, &len);
        add_mapped(&b, s, at, len, how);
        if (!cf_t__spend(r, 1)) {
            return CF_TV_ERR;
        }
    }
    return cf_t__sb_take(&b, s->is_markup);
}

cf_tv cf_t__capitalize(cf_tr *r, const cf_tstr *s)
{
    cf_tsb b;
    cf_t__sb_init(&b, r);
    uint32_t len;
    for (uint32_t at = 0; at < s->n && !b.failed; at += len) {
        cf_t__cp(s->p + at, &len);
        add_mapped(&b, s, at, len, at == 0 ? CF_CASE_TITLE : CF_CASE_LOWER);
        if (!cf_t__spend(r, 1)) {
            return CF_TV_ERR;
        }
    }
    return cf_t__sb_take(&b, s->is_markup);
}

static cf_tv m_upper(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return cf_t__no_str_args(r, "upper", args) ? cf_t__map_str(r, self.u.s, CF_CASE_UPPER)
                                               : CF_TV_ERR;
}

static cf_tv m_lower(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return cf_t__no_str_args(r, "lower", args) ? cf_t__map_str(r, self.u.s, CF_CASE_LOWER)
                                               : CF_TV_ERR;
}

static cf_tv m_casefold(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return cf_t__no_str_args(r, "casefold", args) ? cf_t__map_str(r, self.u.s, CF_CASE_FOLD)
                                                  : CF_TV_ERR;
}

static cf_tv m_capitalize(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return cf_t__no_str_args(r, "capitalize", args) ? cf_t__capitalize(r, self.u.s) : CF_TV_ERR;
}

static cf_tv m_title(cf_tr *r, cf_tv self, const cf_targs *args)
{
    if (!cf_t__no_str_args(r, "title", args)) {
        return CF_TV_ERR;
    }
    const cf_tstr *s = self.u.s;
    cf_tsb b;
    cf_t__sb_init(&b, r);
    uint32_t len;
    bool in_word = false;
    for (uint32_t at = 0; at < s->n && !b.failed; at += len) {
        uint32_t cp = cf_t__cp(s->p + at, &len);
        add_mapped(&b, s, at, len, in_word ? CF_CASE_LOWER : CF_CASE_TITLE);
        in_word = cf_t__is_cased(cp);
        if (!cf_t__spend(r, 1)) {
            return CF_TV_ERR;
        }
    }
    return cf_t__sb_take(&b, s->is_markup);
}

static cf_tv m_swapcase(cf_tr *r, cf_tv self, const cf_targs *args)
{
    if (!cf_t__no_str_args(r, "swapcase", args)) {
        return CF_TV_ERR;
    }
    const cf_tstr *s = self.u.s;
    cf_tsb b;
    cf_t__sb_init(&b, r);
    uint32_t len;
    for (uint32_t at = 0; at < s->n && !b.failed; at += len) {
        uint32_t cp = cf_t__cp(s->p + at, &len);
        if (cf_t__is_upper(cp)) {
            add_mapped(&b, s, at, len, CF_CASE_LOWER);
        } else if (cf_t__is_lower(cp)) {
            add_mapped(&b, s, at, len, CF_CASE_UPPER);
        } else {
            cf_t__sb_sub(&b, s, at, at + len);
        }
        if (!cf_t__spend(r, 1)) {
            return CF_TV_ERR;
        }
    }
    return cf_t__sb_take(&b, s->is_markup);
}

/* ---- strip -------------------------------------------------------------- */

static bool in_set(const cf_tstr *chars, const char *p, uint32_t len)
{
    uint32_t l;
    if (chars == NULL) {
        return cf_t__is_space(cf_t__cp(p, &l));
    }
    for (uint32_t i = 0; i < chars->n; i += l) {
        cf_t__cp(chars->p + i, &l);
        if (l == len && memcmp(chars->p + i, p, len) == 0) {
            return true;
        }
    }
    return false;
}

cf_tv cf_t__strip(cf_tr *r, const cf_tstr *s, const cf_tstr *chars, bool left, bool right)
{
    uint32_t from = 0, to = s->n, len;
    while (left && from < to) {
        cf_t__cp(s->p + from, &len);
        if (!in_set(chars, s->p + from, len)) {
            break;
        }
        from += len;
    }
    while (right && to > from) {
        uint32_t at = to - 1;
        while (at > from && ((unsigned char)s->p[at] & 0xC0) == 0x80) {
            at--;
        }
        if (!in_set(chars, s->p + at, to - at)) {
            break;
        }
        to = at;
    }
    uint64_t cut = s->n - (to - from);
    if (chars != NULL) { /* each character is looked up in the set */
        cut = (cut + 2) * ((chars->n >> 4) + 1);
    }
    r->steps += cut >> 2;
    if (from == 0 && to == s->n) {
        union {
            const cf_tstr *in;
            cf_tstr *out;
        } u = {s};
        return cf_tv_str(u.out);
    }
    return cf_t__str_sub(r, s, from, to);
}

static cf_tv strip(cf_tr *r, cf_tv self, const cf_targs *args, const char *what, bool left,
                   bool right)
{
    if (args->n == 0 && args->n_kw == 0) {
        return cf_t__strip(r, self.u.s, NULL, left, right);
    }
    if (args->n != 1 || args->n_kw != 0) {
        return cf_t__fail(r, "%s expected at most 1 argument, got %u", what,
                          (unsigned)(args->n + args->n_kw));
    }
    if (args->v[0].k == CF_TNONE) {
        return cf_t__strip(r, self.u.s, NULL, left, right);
    }
    if (args->v[0].k != CF_TSTR) {
        return cf_t__fail(r, "%s arg must be None or str", what);
    }
    return cf_t__strip(r, self.u.s, args->v[0].u.s, left, right);
}

static cf_tv m_strip(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return strip(r, self, args, "strip", true, true);
}

static cf_tv m_lstrip(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return strip(r, self, args, "lstrip", true, false);
}

static cf_tv m_rstrip(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return strip(r, self, args, "rstrip", false, true);
}

static cf_tv m_removeprefix(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("removeprefix", "prefix", 1, 1)
    cf_tstr *x = cf_t__arg_str(r, a[0]), *s = self.u.s;
    if (x == NULL) {
        return CF_TV_ERR;
    }
    bool has = cf_str_starts(cf_tv_text(self), cf_tv_text(a[0]));
    r->steps += x->n <= s->n ? x->n >> 4 : 0;
    return cf_t__str_sub(r, s, has ? x->n : 0, s->n);
}

static bool ends_with(const cf_tstr *s, const cf_tstr *x)
{
    return x->n <= s->n && memcmp(s->p + s->n - x->n, x->p, x->n) == 0;
}

static cf_tv m_removesuffix(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("removesuffix", "suffix", 1, 1)
    cf_tstr *x = cf_t__arg_str(r, a[0]), *s = self.u.s;
    if (x == NULL) {
        return CF_TV_ERR;
    }
    r->steps += x->n <= s->n ? x->n >> 4 : 0;
    return cf_t__str_sub(r, s, 0, x->n != 0 && ends_with(s, x) ? s->n - x->n : s->n);
}

/* ---- searching ---------------------------------------------------------- */

/* start and end of find, count, startswith ...: bytes of s.  false on error;
 * *none when the window is empty beyond the end. */
static bool window(cf_tr *r, const cf_tstr *s, cf_tv vfrom, cf_tv vto, uint32_t *from, uint32_t *to,
                   bool *none)
{
    int64_t n = cf_t__str_cps(s), lo = 0, hi = n;
    r->steps += n != s->n ? s->n >> 4 : 0; /* to count code points */
    if (vfrom.k != CF_TMISSING && vfrom.k != CF_TNONE && !cf_t__arg_int(r, vfrom, &lo)) {
        return false;
    }
    if (vto.k != CF_TMISSING && vto.k != CF_TNONE && !cf_t__arg_int(r, vto, &hi)) {
        return false;
    }
    lo = lo < 0 ? (lo < -n ? 0 : lo + n) : lo;
    hi = hi < 0 ? (hi < -n ? 0 : hi + n) : hi > n ? n : hi;
    *none = lo > n || lo > hi;
    *from = *none ? 0 : cf_t__str_at_cp(s, (uint32_t)lo);
    *to = *none ? 0 : cf_t__str_at_cp(s, (uint32_t)hi);
    return true;
}

static cf_tv find(cf_tr *r, cf_tv self, const cf_targs *args, const char *what, bool from_right,
                  bool must)
{
    CF_TBIND(what, "sub start end", 1, 3)
    cf_tstr *x = cf_t__arg_str(r, a[0]), *s = self.u.s;
    uint32_t from, to;
    bool none;
    if (x == NULL || !window(r, s, a[1], a[2], &from, &to, &none) || !cf_t__spend(r, s->n >> 4)) {
        return CF_TV_ERR;
    }
    cf_str hay = cf_str_make(s->p + from, to - from);
    uint32_t at = none         ? UINT32_MAX
                  : from_right ? cf_t__rfind(hay, cf_tv_text(a[0]))
                               : cf_t__find(hay, cf_tv_text(a[0]), 0);
    if (at == UINT32_MAX) {
        return must ? cf_t__fail(r, "substring not found") : cf_tv_int(-1);
    }
    return cf_tv_int(cf_t__cps_before(s, from + at));
}

static cf_tv m_find(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return find(r, self, args, "find", false, false);
}

static cf_tv m_rfind(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return find(r, self, args, "rfind", true, false);
}

static cf_tv m_index(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return find(r, self, args, "index", false, true);
}

static cf_tv m_rindex(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return find(r, self, args, "rindex", true, true);
}

static cf_tv m_count(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("count", "sub start end", 1, 3)
    cf_tstr *x = cf_t__arg_str(r, a[0]), *s = self.u.s;
    uint32_t from, to;
    bool none;
    if (x == NULL || !window(r, s, a[1], a[2], &from, &to, &none) || !cf_t__spend(r, s->n >> 4)) {
        return CF_TV_ERR;
    }
    if (none) {
        return cf_tv_int(0);
    }
    cf_str hay = cf_str_make(s->p + from, to - from);
    if (x->n == 0) {
        return cf_tv_int((int64_t)cf_t__cps_before(s, to) - cf_t__cps_before(s, from) + 1);
    }
    int64_t n = 0;
    for (uint32_t at = 0; (at = cf_t__find(hay, cf_tv_text(a[0]), at)) != UINT32_MAX; at += x->n) {
        n++;
    }
    return cf_tv_int(n);
}

/* startswith and endswith: a string or a tuple of them. */
static cf_tv affix(cf_tr *r, cf_tv self, const cf_targs *args, bool at_end)
{
    const char *what = at_end ? "endswith" : "startswith";
    CF_TBIND(what, "prefix start end", 1, 3)
    const cf_tstr *s = self.u.s;
    uint32_t from, to;
    bool none;
    if (!window(r, s, a[1], a[2], &from, &to, &none)) {
        return CF_TV_ERR;
    }
    if (a[0].k != CF_TSTR && a[0].k != CF_TTUPLE) {
        return cf_t__fail(r, "%s first arg must be str or a tuple of str, not %s", what,
                          cf_t__type_name(a[0]));
    }
    const cf_tv *v = a[0].k == CF_TTUPLE ? a[0].u.l->v : a;
    uint32_t n = a[0].k == CF_TTUPLE ? a[0].u.l->n : 1;
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].k != CF_TSTR) {
            return cf_t__fail(r, "tuple for %s must only contain str, not %s", what,
                              cf_t__type_name(v[i]));
        }
        const cf_tstr *x = v[i].u.s;
        if (!cf_t__spend(r, 1 + (x->n <= s->n ? x->n >> 4 : 0))) {
            return CF_TV_ERR;
        }
        if (!none && x->n <= to - from &&
            memcmp(at_end ? s->p + to - x->n : s->p + from, x->p, x->n) == 0) {
            return cf_tv_bool(true);
        }
    }
    return cf_tv_bool(false);
}

static cf_tv m_startswith(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return affix(r, self, args, false);
}

static cf_tv m_endswith(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return affix(r, self, args, true);
}

/* ---- replace, split, join ----------------------------------------------- */

cf_tv cf_t__replace(cf_tr *r, const cf_tstr *s, const cf_tstr *old, const cf_tstr *new_,
                    int64_t max_n)
{
    cf_str hay = cf_str_make(s->p, s->n), what = cf_str_make(old->p, old->n);
    if (!cf_t__spend(r, s->n >> 4)) {
        return CF_TV_ERR;
    }
    uint32_t at = cf_t__find(hay, what, 0), done = 0, len;
    if (at == UINT32_MAX || max_n == 0) {
        return cf_t__str_sub(r, s, 0, s->n);
    }
    cf_tsb b;
    cf_t__sb_init(&b, r);
    for (int64_t i = 0; (max_n < 0 || i < max_n) && !b.failed; i++) {
        if (at == UINT32_MAX || !cf_t__spend(r, 1)) {
            break;
        }
        cf_t__sb_sub(&b, s, done, at);
        cf_t__sb_str(&b, new_);
        done = at + old->n;
        if (old->n != 0) {
            at = cf_t__find(hay, what, done);
        } else if (at < s->n) {
            cf_t__cp(s->p + at, &len);
            at += len;
        } else {
            at = UINT32_MAX;
        }
    }
    cf_t__sb_sub(&b, s, done, s->n);
    return r->error != CF_TE_NONE ? CF_TV_ERR : cf_t__sb_take(&b, s->is_markup);
}

/* Markup escapes inserted values. */
static cf_tv like(cf_tr *r, cf_tv self, cf_tv v)
{
    return self.u.s->is_markup && v.k == CF_TSTR && !v.u.s->is_markup ? cf_t__escape(r, v) : v;
}

static cf_tv m_replace(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("replace", "old new count", 2, 3)
    if (args->n_kw != 0) {
        return cf_t__fail(r, "str.replace() takes no keyword arguments");
    }
    int64_t n = -1;
    cf_tv old = like(r, self, a[0]), new_ = like(r, self, a[1]);
    if (old.k == CF_TERR || new_.k == CF_TERR || cf_t__arg_str(r, old) == NULL ||
        cf_t__arg_str(r, new_) == NULL || (a[2].k != CF_TMISSING && !cf_t__arg_int(r, a[2], &n))) {
        return CF_TV_ERR;
    }
    return cf_t__replace(r, self.u.s, old.u.s, new_.u.s, n);
}

static bool add_part(cf_tr *r, cf_tlist *l, const cf_tstr *s, uint32_t from, uint32_t to)
{
    cf_tv v = cf_t__str_sub(r, s, from, to);
    return v.k != CF_TERR && cf_t__list_add(r, l, v) && cf_t__spend(r, 1);
}

static uint32_t step_back(const cf_tstr *s, uint32_t at)
{
    do {
        at--;
    } while (at > 0 && ((unsigned char)s->p[at] & 0xC0) == 0x80);
    return at;
}

/* Words between blanks; max_n < 0: all. */
static bool split_blanks(cf_tr *r, cf_tlist *l, const cf_tstr *s, int64_t max_n)
{
    uint32_t at = 0, len;
    while (at < s->n) {
        while (at < s->n && cf_t__is_space(cf_t__cp(s->p + at, &len))) {
            at += len;
        }
        uint32_t from = at;
        if (at >= s->n) {
            break;
        }
        if (max_n == 0) { /* the rest, blanks at its end too */
            return add_part(r, l, s, from, s->n);
        }
        while (at < s->n && !cf_t__is_space(cf_t__cp(s->p + at, &len))) {
            at += len;
        }
        if (!add_part(r, l, s, from, at)) {
            return false;
        }
        max_n -= max_n > 0;
    }
    return true;
}

static bool rsplit_blanks(cf_tr *r, cf_tlist *l, const cf_tstr *s, int64_t max_n)
{
    uint32_t to = s->n;
    for (;;) {
        while (to > 0 && in_set(NULL, s->p + step_back(s, to), 1)) {
            to = step_back(s, to);
        }
        if (to == 0) {
            return true;
        }
        uint32_t from = to;
        if (max_n == 0) { /* the rest, blanks at its start too */
            return add_part(r, l, s, 0, to);
        }
        while (from > 0 && !in_set(NULL, s->p + step_back(s, from), 1)) {
            from = step_back(s, from);
        }
        if (!add_part(r, l, s, from, to)) {
            return false;
        }
        to = from;
        max_n -= max_n > 0;
    }
}

static void reverse(cf_tlist *l)
{
    for (uint32_t i = 0; i < l->n / 2; i++) {
        cf_tv v = l->v[i];
        l->v[i] = l->v[l->n - 1 - i];
        l->v[l->n - 1 - i] = v;
    }
}

static bool split_by(cf_tr *r, cf_tlist *l, const cf_tstr *s, const cf_tstr *sep, int64_t max_n,
                     bool from_right)
{
    cf_str what = cf_str_make(sep->p, sep->n);
    if (from_right) {
        uint32_t to = s->n;
        while (max_n != 0) {
            uint32_t at = cf_t__rfind(cf_str_make(s->p, to), what);
            if (at == UINT32_MAX) {
                break;
            }
            if (!add_part(r, l, s, at + sep->n, to)) {
                return false;
            }
            to = at;
            max_n -= max_n > 0;
        }
        return add_part(r, l, s, 0, to);
    }
    uint32_t from = 0;
    while (max_n != 0) {
        uint32_t at = cf_t__find(cf_str_make(s->p, s->n), what, from);
        if (at == UINT32_MAX) {
            break;
        }
        if (!add_part(r, l, s, from, at)) {
            return false;
        }
        from = at + sep->n;
        max_n -= max_n > 0;
    }
    return add_part(r, l, s, from, s->n);
}

static cf_tv split(cf_tr *r, cf_tv self, const cf_targs *args, bool from_right)
{
    CF_TBIND(from_right ? "rsplit" : "split", "sep maxsplit", 0, 2)
    int64_t max_n = -1;
    const cf_tstr *s = self.u.s;
    if ((a[1].k != CF_TMISSING && !cf_t__arg_int(r, a[1], &max_n)) || !cf_t__spend(r, s->n >> 4)) {
        return CF_TV_ERR;
    }
    cf_tlist *l = cf_t__list_new(r, 4);
    if (l == NULL) {
        return CF_TV_ERR;
    }
    bool ok;
    if (a[0].k == CF_TMISSING || a[0].k == CF_TNONE) {
        ok = from_right ? rsplit_blanks(r, l, s, max_n) : split_blanks(r, l, s, max_n);
    } else if (a[0].k != CF_TSTR) {
        return cf_t__fail(r, "must be str or None, not %s", cf_t__type_name(a[0]));
    } else if (a[0].u.s->n == 0) {
        return cf_t__fail(r, "empty separator");
    } else {
        ok = split_by(r, l, s, a[0].u.s, max_n, from_right);
    }
    if (!ok) {
        return CF_TV_ERR;
    }
    if (from_right) {
        reverse(l);
    }
    return cf_tv_list(l);
}

static cf_tv m_split(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return split(r, self, args, false);
}

static cf_tv m_rsplit(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return split(r, self, args, true);
}

static bool is_line_end(uint32_t cp)
{
    return (cp >= 0x0A && cp <= 0x0D) || (cp >= 0x1C && cp <= 0x1E) || cp == 0x85 || cp == 0x2028 ||
           cp == 0x2029;
}

cf_tlist *cf_t__split_lines(cf_tr *r, const cf_tstr *s, bool keep_ends)
{
    cf_tlist *l = cf_t__list_new(r, 4);
    uint32_t from = 0, len;
    if (l == NULL || !cf_t__spend(r, s->n >> 3)) {
        return NULL;
    }
    for (uint32_t at = 0; at < s->n;) {
        uint32_t cp = cf_t__cp(s->p + at, &len);
        if (!is_line_end(cp)) {
            at += len;
            continue;
        }
        uint32_t next = at + len;
        if (cp == '\r' && next < s->n && s->p[next] == '\n') {
            next++;
        }
        if (!add_part(r, l, s, from, keep_ends ? next : at)) {
            return NULL;
        }
        from = at = next;
    }
    return from == s->n || add_part(r, l, s, from, s->n) ? l : NULL;
}

static cf_tv m_splitlines(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("splitlines", "keepends", 0, 1)
    int64_t keep = 0;
    if (a[0].k != CF_TMISSING && !cf_t__arg_int(r, a[0], &keep)) {
        return CF_TV_ERR;
    }
    cf_tlist *l = cf_t__split_lines(r, self.u.s, keep != 0);
    return l != NULL ? cf_tv_list(l) : CF_TV_ERR;
}

static cf_tv partition(cf_tr *r, cf_tv self, const cf_targs *args, bool from_right)
{
    CF_TBIND(from_right ? "rpartition" : "partition", "sep", 1, 1)
    cf_tstr *x = cf_t__arg_str(r, a[0]), *s = self.u.s;
    if (x == NULL) {
        return CF_TV_ERR;
    }
    if (x->n == 0) {
        return cf_t__fail(r, "empty separator");
    }
    if (!cf_t__spend_bytes(r, s->n)) {
        return CF_TV_ERR;
    }
    uint32_t at = from_right ? cf_t__rfind(cf_tv_text(self), cf_tv_text(a[0]))
                             : cf_t__find(cf_tv_text(self), cf_tv_text(a[0]), 0);
    uint32_t cut[4] = {0, s->n, s->n, s->n};
    if (at != UINT32_MAX) {
        cut[1] = at;
        cut[2] = at + x->n;
    } else if (from_right) {
        cut[1] = cut[2] = 0;
    }
    cf_tlist *l = cf_t__list_new(r, 3);
    for (int i = 0; l != NULL && i < 3; i++) {
        if (!add_part(r, l, s, cut[i], cut[i + 1])) {
            return CF_TV_ERR;
        }
    }
    return l != NULL ? cf_tv_tuple(l) : CF_TV_ERR;
}

static cf_tv m_partition(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return partition(r, self, args, false);
}

static cf_tv m_rpartition(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return partition(r, self, args, true);
}

cf_tv cf_t__join(cf_tr *r, const cf_tstr *sep, cf_tv items, bool convert)
{
    cf_titer it;
    cf_tsb b;
    cf_tv v;
    int got;
    cf_t__sb_init(&b, r);
    if (!cf_t__iter_init(r, &it, items)) {
        return CF_TV_ERR;
    }
    for (uint32_t i = 0; (got = cf_t__iter_next(r, &it, &v)) > 0; i++) {
        if (i != 0) {
            cf_t__sb_str(&b, sep);
        }
        if (v.k != CF_TSTR && !convert) {
            return cf_t__fail(r, "sequence item %u: expected str instance, %s found", (unsigned)i,
                              cf_t__type_name(v));
        }
        if (sep->is_markup && !(v.k == CF_TSTR && v.u.s->is_markup)) {
            v = cf_t__escape(r, v);
            CF_TVTRY(v);
        }
        cf_t__add_str(&b, v);
        if (b.failed) {
            return CF_TV_ERR;
        }
    }
    return got < 0 ? CF_TV_ERR : cf_t__sb_take(&b, sep->is_markup);
}

static cf_tv m_join(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("join", "iterable", 1, 1)
    return cf_t__join(r, self.u.s, a[0], self.u.s->is_markup);
}

/* ---- format, encode, translate ------------------------------------------ */

static cf_tv m_format(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return cf_t__str_format(r, self.u.s, args);
}

static cf_tv m_format_map(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("format_map", "mapping", 1, 1)
    if (a[0].k != CF_TDICT) {
        return cf_t__fail(r, "format_map() needs a mapping");
    }
    const cf_tdict *d = a[0].u.d;
    cf_tkw *kw = cf_t__alloc(r, (d->n + 1) * sizeof *kw);
    if (kw == NULL) {
        return CF_TV_ERR;
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->n; i++) {
        if (d->e[i].key.k == CF_TSTR) {
            kw[n++] = (cf_tkw){d->e[i].key.u.s, d->e[i].val};
        }
    }
    return cf_t__str_format(r, self.u.s, &(cf_targs){NULL, 0, kw, n});
}

static cf_tv m_encode(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("encode", "encoding errors", 0, 2)
    if (a[0].k == CF_TSTR) {
        cf_str e = cf_tv_text(a[0]);
        bool is_ascii_name = cf_str_is(e, "ascii");
        if (!is_ascii_name && !cf_str_is(e, "utf-8") && !cf_str_is(e, "utf8") &&
            !cf_str_is(e, "UTF-8")) {
            return cf_t__fail(r, "unknown encoding: %.*s", (int)e.n, e.p);
        }
        if (is_ascii_name && cf_t__str_cps(self.u.s) != self.u.s->n) {
            return cf_t__fail(r, "'ascii' codec can't encode characters");
        }
    }
    cf_tv v = cf_t__str_mark(r, self.u.s, false);
    if (v.k == CF_TSTR) {
        v.k = CF_TBYTES;
        v.u.s->n_cp = v.u.s->n; /* bytes objects are counted and cut by bytes */
    }
    return v;
}

static cf_tv m_decode(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("decode", "encoding errors", 0, 2)
    r->steps += self.u.s->n >> 4;
    if (cf_utf8_valid_prefix(self.u.s->p, self.u.s->n) != self.u.s->n) {
        return cf_t__fail(r, "'utf-8' codec can't decode these bytes");
    }
    cf_tv v = cf_t__str_mark(r, self.u.s, false);
    if (v.k == CF_TSTR) {
        v.u.s->n_cp = CF_CP_UNKNOWN;
    }
    return v;
}

static cf_tv m_translate(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("translate", "table", 1, 1)
    const cf_tstr *s = self.u.s;
    if (a[0].k != CF_TDICT) {
        return cf_t__fail(r, "translate() needs a dict");
    }
    cf_tsb b;
    cf_t__sb_init(&b, r);
    uint32_t len;
    for (uint32_t at = 0; at < s->n && !b.failed; at += len) {
        cf_tv key = cf_tv_int(cf_t__cp(s->p + at, &len));
        uint32_t hash = 0;
        if (!cf_t__hash(r, key, &hash) || !cf_t__spend(r, 1)) {
            return CF_TV_ERR;
        }
        const cf_tentry *e = cf_t__dict_find(r, a[0].u.d, key, hash);
        if (e == NULL) {
            cf_t__sb_sub(&b, s, at, at + len);
        } else if (e->val.k == CF_TSTR) {
            cf_t__sb_str(&b, e->val.u.s);
        } else if (e->val.k == CF_TINT && e->val.u.i >= 0 && e->val.u.i < 0x110000 &&
                   (e->val.u.i < 0xD800 || e->val.u.i > 0xDFFF)) {
            char out[4];
            size_t n = cf_utf8_encode(out, (uint32_t)e->val.u.i);
            cf_t__sb_changed(&b, s, at, out, n);
        } else if (e->val.k != CF_TNONE) {
            return cf_t__fail(r, "character mapping must return integer, None "
                                 "or str");
        }
    }
    return cf_t__sb_take(&b, s->is_markup);
}

/* ---- Markup ------------------------------------------------------------- */

static cf_tv m_unescape(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return cf_t__no_str_args(r, "unescape", args) ? cf_t__unescape(r, self.u.s) : CF_TV_ERR;
}

static cf_tv m_striptags(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return cf_t__no_str_args(r, "striptags", args) ? cf_t__strip_tags(r, self.u.s) : CF_TV_ERR;
}

const cf_tmethod_entry cf_t__str_methods[] = {
    {"strip", m_strip},
    {"split", m_split},
    {"lstrip", m_lstrip},
    {"rstrip", m_rstrip},
    {"startswith", m_startswith},
    {"endswith", m_endswith},
    {"replace", m_replace},
    {"upper", m_upper},
    {"lower", m_lower},
    {"title", m_title},
    {"capitalize", m_capitalize},
    {"casefold", m_casefold},
    {"count", m_count},
    {"encode", m_encode},
    {"find", m_find},
    {"format", m_format},
    {"format_map", m_format_map},
    {"index", m_index},
    {"join", m_join},
    {"partition", m_partition},
    {"removeprefix", m_removeprefix},
    {"removesuffix", m_removesuffix},
    {"rfind", m_rfind},
    {"rindex", m_rindex},
    {"rpartition", m_rpartition},
    {"rsplit", m_rsplit},
    {"splitlines", m_splitlines},
    {"swapcase", m_swapcase},
    {"translate", m_translate},
    {NULL, NULL},
};

const cf_tmethod_entry cf_t__markup_methods[] = {
    {"unescape", m_unescape},
    {"striptags", m_striptags},
    {NULL, NULL},
};

const cf_tmethod_entry cf_t__bytes_methods[] = {
    {"decode", m_decode},
    {NULL, NULL},
};
