/*
 * methods_obj.c - the methods of lists, dicts, numbers, ranges and views.
 */
#include "templates/python/methods.h"

#include <math.h>
#include <stdio.h>

#include "templates/language/gen.h"
#include "templates/language/number.h"
#include "templates/language/state.h"

#define NO_ARGS(what)                                          \
    if (args->n + args->n_kw != 0) {                           \
        return cf_t__fail(r, "%s() takes no arguments", what); \
    }

/* ---- sorting ------------------------------------------------------------ */

typedef struct sorter {
    cf_tr *r;
    cf_tv *v, *k, *tv, *tk; /* items, keys, and room for as many */
    bool failed;
} sorter;

static bool less(sorter *s, cf_tv a, cf_tv b)
{
    int c;
    if (s->failed || !cf_t__compare(s->r, a, b, "<", &c)) {
        s->failed = true;
        return false;
    }
    return c == -1;
}

/* Merge sort: stable, and asks only "is the later one less?", as Python. */
static void merge_sort(sorter *s, uint32_t from, uint32_t to)
{
    if (to - from < 2 || s->failed) {
        return;
    }
    uint32_t mid = from + (to - from) / 2;
    merge_sort(s, from, mid);
    merge_sort(s, mid, to);
    uint32_t i = from, j = mid, at = from;
    while (i < mid || j < to) {
        bool right = i == mid || (j < to && less(s, s->k[j], s->k[i]));
        uint32_t take = right ? j++ : i++;
        s->tv[at] = s->v[take];
        s->tk[at++] = s->k[take];
    }
    memcpy(s->v + from, s->tv + from, (to - from) * sizeof *s->v);
    memcpy(s->k + from, s->tk + from, (to - from) * sizeof *s->k);
}

static void reverse(cf_tv *v, uint32_t n)
{
    for (uint32_t i = 0; i < n / 2; i++) {
        cf_tv t = v[i];
        v[i] = v[n - 1 - i];
        v[n - 1 - i] = t;
    }
}

bool cf_t__sort(cf_tr *r, cf_tlist *items, cf_tlist *keys, bool is_reverse)
{
    uint32_t n = items->n;
    cf_tv *room = cf_t__alloc(r, (size_t)n * 3 * sizeof *room + 1);
    if (room == NULL) {
        return false;
    }
    const cf_tv *from = keys != NULL ? keys->v : items->v;
    if (n != 0) {
        memcpy(room, from, n * sizeof *room);
    }
    sorter s = {r, items->v, room, room + n, room + 2 * (size_t)n, false};
    if (is_reverse) { /* keeps the order of equal items */
        reverse(s.v, n);
        reverse(s.k, n);
    }
    merge_sort(&s, 0, n);
    if (is_reverse) {
        reverse(s.v, n);
    }
    return !s.failed;
}

/* ---- lists -------------------------------------------------------------- */

static cf_tv m_count(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("count", "value", 1, 1)
    int64_t n = 0;
    cf_titer it;
    cf_tv v;
    int got;
    if (!cf_t__iter_init(r, &it, self)) {
        return CF_TV_ERR;
    }
    while ((got = cf_t__iter_next(r, &it, &v)) > 0) {
        int e = cf_t__eq(r, v, a[0]);
        if (e < 0) {
            return CF_TV_ERR;
        }
        n += e;
    }
    return got < 0 ? CF_TV_ERR : cf_tv_int(n);
}

static cf_tv m_index(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("index", "value start stop", 1, 3)
    int64_t n = cf_t__len(self), lo = 0, hi = n, at = 0;
    cf_titer it;
    cf_tv v;
    int got;
    if ((a[1].k != CF_TMISSING && !cf_t__arg_int(r, a[1], &lo)) ||
        (a[2].k != CF_TMISSING && !cf_t__arg_int(r, a[2], &hi)) || !cf_t__iter_init(r, &it, self)) {
        return CF_TV_ERR;
    }
    lo = lo < 0 ? lo + n : lo;
    hi = hi < 0 ? hi + n : hi;
    for (; (got = cf_t__iter_next(r, &it, &v)) > 0; at++) {
        int e = at >= lo && at < hi ? cf_t__eq(r, v, a[0]) : 0;
        if (e != 0) {
            return e < 0 ? CF_TV_ERR : cf_tv_int(at);
        }
    }
    return got < 0 ? CF_TV_ERR : cf_t__fail(r, "the value is not in the %s", cf_t__type_name(self));
}

static cf_tv m_list_copy(cf_tr *r, cf_tv self, const cf_targs *args)
{
    NO_ARGS("copy")
    cf_tlist *l = cf_t__to_list(r, self);
    return l != NULL ? cf_tv_list(l) : CF_TV_ERR;
}

static cf_tv m_append(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("append", "object", 1, 1)
    return cf_t__list_add(r, self.u.l, a[0]) ? CF_TV_NONE : CF_TV_ERR;
}

static cf_tv m_extend(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("extend", "iterable", 1, 1)
    cf_tlist *l = cf_t__to_list(r, a[0]);
    for (uint32_t i = 0; l != NULL && i < l->n; i++) {
        if (!cf_t__list_add(r, self.u.l, l->v[i])) {
            return CF_TV_ERR;
        }
    }
    return l != NULL ? CF_TV_NONE : CF_TV_ERR;
}

static cf_tv m_insert(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("insert", "index object", 2, 2)
    int64_t i;
    cf_tlist *l = self.u.l;
    if (!cf_t__arg_int(r, a[0], &i) || !cf_t__list_add(r, l, a[1]) || !cf_t__spend(r, l->n >> 2)) {
        return CF_TV_ERR;
    }
    int64_t n = l->n - 1;
    i = i < 0 ? (i + n < 0 ? 0 : i + n) : i > n ? n : i;
    memmove(l->v + i + 1, l->v + i, (size_t)(n - i) * sizeof *l->v);
    l->v[i] = a[1];
    return CF_TV_NONE;
}

static void list_drop(cf_tlist *l, int64_t i)
{
    memmove(l->v + i, l->v + i + 1, (size_t)(l->n - i - 1) * sizeof *l->v);
    l->n--;
}

static cf_tv m_list_pop(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("pop", "index", 0, 1)
    int64_t i = -1;
    cf_tlist *l = self.u.l;
    if (a[0].k != CF_TMISSING && !cf_t__arg_int(r, a[0], &i)) {
        return CF_TV_ERR;
    }
    i = i < 0 ? i + l->n : i;
    if (i < 0 || i >= l->n) {
        return cf_t__fail(r, l->n == 0 ? "pop from empty list" : "pop index out of range");
    }
    cf_tv v = l->v[i];
    list_drop(l, i);
    return v;
}

static cf_tv m_list_remove(cf_tr *r, cf_tv self, const cf_targs *args)
{
    cf_tv at = m_index(r, self, args);
    CF_TVTRY(at);
    list_drop(self.u.l, at.u.i);
    return CF_TV_NONE;
}

static cf_tv m_list_clear(cf_tr *r, cf_tv self, const cf_targs *args)
{
    NO_ARGS("clear")
    self.u.l->n = 0;
    return CF_TV_NONE;
}

static cf_tv m_list_reverse(cf_tr *r, cf_tv self, const cf_targs *args)
{
    NO_ARGS("reverse")
    reverse(self.u.l->v, self.u.l->n);
    return CF_TV_NONE;
}

static cf_tv m_list_sort(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("sort", "key reverse", 0, 2)
    if (a[0].k != CF_TMISSING && a[0].k != CF_TNONE) {
        return cf_t__fail(r, "sort() with a key is not supported");
    }
    return cf_t__sort(r, self.u.l, NULL, cf_t__truth(a[1])) ? CF_TV_NONE : CF_TV_ERR;
}

/* ---- dicts -------------------------------------------------------------- */

static cf_tentry *find(cf_tr *r, cf_tv self, cf_tv key, bool *ok)
{
    uint32_t hash = 0;
    *ok = cf_t__hash(r, key, &hash);
    return *ok ? cf_t__dict_find(r, self.u.d, key, hash) : NULL;
}

static cf_tv m_get(cf_tr *r, cf_tv self, const cf_targs *args)
{
    if (args->n_kw != 0 || args->n < 1 || args->n > 2) {
        return cf_t__fail(r, "get expected 1 or 2 arguments, got %u",
                          (unsigned)(args->n + args->n_kw));
    }
    bool ok;
    const cf_tentry *e = find(r, self, args->v[0], &ok);
    if (!ok) {
        return CF_TV_ERR;
    }
    return e != NULL ? e->val : args->n == 2 ? args->v[1] : CF_TV_NONE;
}

static cf_tv view(cf_tr *r, cf_tv self, const cf_targs *args, cf_tview_kind kind)
{
    NO_ARGS("a view of a dict")
    cf_tview *w = cf_t__alloc(r, sizeof *w);
    if (w == NULL) {
        return CF_TV_ERR;
    }
    *w = (cf_tview){self.u.d, kind};
    return (cf_tv){.k = CF_TVIEW, .org = self.org, .u.view = w};
}

static cf_tv m_keys(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return view(r, self, args, CF_VIEW_KEYS);
}

static cf_tv m_values(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return view(r, self, args, CF_VIEW_VALUES);
}

static cf_tv m_items(cf_tr *r, cf_tv self, const cf_targs *args)
{
    return view(r, self, args, CF_VIEW_ITEMS);
}

static cf_tv m_dict_copy(cf_tr *r, cf_tv self, const cf_targs *args)
{
    NO_ARGS("copy")
    cf_tdict *d = cf_t__dict_copy(r, self.u.d);
    return d != NULL ? cf_tv_dict(d) : CF_TV_ERR;
}

static cf_tv m_fromkeys(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("fromkeys", "iterable value", 1, 2)
    (void)self;
    cf_tdict *d = cf_t__dict_new(r, 0);
    cf_tlist *l = cf_t__to_list(r, a[0]);
    cf_tv v = a[1].k == CF_TMISSING ? CF_TV_NONE : a[1];
    for (uint32_t i = 0; d != NULL && l != NULL && i < l->n; i++) {
        if (!cf_t__dict_set(r, d, l->v[i], v)) {
            return CF_TV_ERR;
        }
    }
    return d != NULL && l != NULL ? cf_tv_dict(d) : CF_TV_ERR;
}

static cf_tv m_dict_pop(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("pop", "key default", 1, 2)
    bool ok;
    cf_tentry *e = find(r, self, a[0], &ok);
    if (!ok) {
        return CF_TV_ERR;
    }
    if (e == NULL) {
        return a[1].k != CF_TMISSING ? a[1] : cf_t__fail(r, "pop(): no such key");
    }
    cf_tv v = e->val;
    return cf_t__dict_remove(r, self.u.d, e) ? v : CF_TV_ERR;
}

static cf_tv m_popitem(cf_tr *r, cf_tv self, const cf_targs *args)
{
    NO_ARGS("popitem")
    cf_tdict *d = self.u.d;
    if (d->n == 0) {
        return cf_t__fail(r, "popitem(): dictionary is empty");
    }
    cf_tentry *e = &d->e[d->n - 1];
    cf_tv v = cf_t__pair(r, e->key, e->val);
    return v.k != CF_TERR && cf_t__dict_remove(r, d, e) ? v : CF_TV_ERR;
}

static cf_tv m_setdefault(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("setdefault", "key default", 1, 2)
    bool ok;
    const cf_tentry *e = find(r, self, a[0], &ok);
    if (!ok) {
        return CF_TV_ERR;
    }
    if (e != NULL) {
        return e->val;
    }
    cf_tv v = a[1].k == CF_TMISSING ? CF_TV_NONE : a[1];
    return cf_t__dict_set(r, self.u.d, a[0], v) ? v : CF_TV_ERR;
}

static cf_tv m_dict_clear(cf_tr *r, cf_tv self, const cf_targs *args)
{
    NO_ARGS("clear")
    self.u.d->n = 0;
    if (self.u.d->index != NULL) {
        memset(self.u.d->index, 0, (self.u.d->mask + 1) * sizeof *self.u.d->index);
    }
    return CF_TV_NONE;
}

static cf_tv m_update(cf_tr *r, cf_tv self, const cf_targs *args)
{
    cf_tv made = cf_t__global_call(r, cf_t__global(cf_str_from("dict")).sub, args);
    CF_TVTRY(made);
    for (uint32_t i = 0; i < made.u.d->n; i++) {
        if (!cf_t__dict_set(r, self.u.d, made.u.d->e[i].key, made.u.d->e[i].val)) {
            return CF_TV_ERR;
        }
    }
    return CF_TV_NONE;
}

/* ---- numbers ------------------------------------------------------------ */

static cf_tv m_bit_length(cf_tr *r, cf_tv self, const cf_targs *args)
{
    NO_ARGS("bit_length")
    cf_tv v = cf_t__abs(r, self);
    CF_TVTRY(v);
    if (v.k == CF_TBIG) {
        uint32_t n = v.u.big->n;
        int64_t bits = (int64_t)(n - 1) * 32;
        for (uint32_t top = v.u.big->limb[n - 1]; top != 0; top >>= 1) {
            bits++;
        }
        return cf_tv_int(bits);
    }
    int64_t bits = 0;
    for (int64_t i = v.u.i; i != 0; i >>= 1) {
        bits++;
    }
    return cf_tv_int(bits);
}

static cf_tv m_bit_count(cf_tr *r, cf_tv self, const cf_targs *args)
{
    NO_ARGS("bit_count")
    cf_tv v = cf_t__abs(r, self);
    CF_TVTRY(v);
    int64_t n = 0;
    if (v.k == CF_TINT) {
        for (int64_t i = v.u.i; i != 0; i >>= 1) {
            n += i & 1;
        }
        return cf_tv_int(n);
    }
    for (uint32_t k = 0; k < v.u.big->n; k++) {
        for (uint32_t x = v.u.big->limb[k]; x != 0; x >>= 1) {
            n += x & 1;
        }
    }
    return cf_tv_int(n);
}

static cf_tv m_conjugate(cf_tr *r, cf_tv self, const cf_targs *args)
{
    NO_ARGS("conjugate")
    return self.k == CF_TBOOL ? cf_tv_int(self.u.b) : self;
}

static cf_tv m_is_integer(cf_tr *r, cf_tv self, const cf_targs *args)
{
    NO_ARGS("is_integer")
    return cf_tv_bool(isfinite(self.u.f) && self.u.f == floor(self.u.f));
}

static cf_tv m_as_integer_ratio(cf_tr *r, cf_tv self, const cf_targs *args)
{
    NO_ARGS("as_integer_ratio")
    if (self.k != CF_TFLOAT) {
        return cf_t__pair(r, self.k == CF_TBOOL ? cf_tv_int(self.u.b) : self, cf_tv_int(1));
    }
    if (!isfinite(self.u.f)) {
        return cf_t__fail(r, "cannot convert %s to integer ratio",
                          isnan(self.u.f) ? "NaN" : "Infinity");
    }
    double f = self.u.f;
    int64_t shift = 0;
    while (f != floor(f)) {
        f *= 2;
        shift++;
    }
    cf_tv num = cf_t__int_from_double(r, f);
    cf_tv den = cf_t__arith(r, CF_OP_POW, cf_tv_int(2), cf_tv_int(shift));
    if (num.k == CF_TERR || den.k == CF_TERR) {
        return CF_TV_ERR;
    }
    return cf_t__pair(r, num, den);
}

static cf_tv m_float_hex(cf_tr *r, cf_tv self, const cf_targs *args)
{
    NO_ARGS("hex")
    double f = self.u.f;
    if (!isfinite(f)) {
        char text[CF_FLOAT_TEXT];
        size_t n = cf_t__float_repr(text, f);
        return cf_t__str_copy(r, text, n, self.org);
    }
    char out[48];
    int exp = 0;
    double m = f == 0 ? 0 : frexp(fabs(f), &exp) * 2;
    exp = f == 0 ? 0 : exp - 1;
    if (exp < -1022) { /* subnormal: 0.xxxp-1022 */
        m = ldexp(m, exp + 1022);
        exp = -1022;
    }
    unsigned lead = (unsigned)m;
    uint64_t rest = (uint64_t)((m - lead) * 4503599627370496.0);
    int n = f == 0 ? snprintf(out, sizeof out, "%s0x0.0p+0", signbit(f) ? "-" : "")
                   : snprintf(out, sizeof out, "%s0x%u.%013llxp%+d", f < 0 ? "-" : "", lead,
                              (unsigned long long)rest, exp);
    return cf_t__str_copy(r, out, (size_t)n, self.org);
}

static cf_tv m_isdisjoint(cf_tr *r, cf_tv self, const cf_targs *args)
{
    CF_TBIND("isdisjoint", "other", 1, 1)
    cf_tlist *l = cf_t__to_list(r, a[0]);
    for (uint32_t i = 0; l != NULL && i < l->n; i++) {
        int has = cf_t__contains(r, self, l->v[i]);
        if (has != 0) {
            return has < 0 ? CF_TV_ERR : cf_tv_bool(false);
        }
    }
    return l != NULL ? cf_tv_bool(true) : CF_TV_ERR;
}

const cf_tmethod_entry cf_t__list_methods[] = {
    {"append", m_append},        {"clear", m_list_clear}, {"copy", m_list_copy},
    {"count", m_count},          {"extend", m_extend},    {"index", m_index},
    {"insert", m_insert},        {"pop", m_list_pop},     {"remove", m_list_remove},
    {"reverse", m_list_reverse}, {"sort", m_list_sort},   {NULL, NULL},
};

const cf_tmethod_entry cf_t__tuple_methods[] = {
    {"count", m_count},
    {"index", m_index},
    {NULL, NULL},
};

const cf_tmethod_entry cf_t__dict_methods[] = {
    {"get", m_get},          {"items", m_items},
    {"keys", m_keys},        {"values", m_values},
    {"copy", m_dict_copy},   {"fromkeys", m_fromkeys},
    {"clear", m_dict_clear}, {"pop", m_dict_pop},
    {"popitem", m_popitem},  {"setdefault", m_setdefault},
    {"update", m_update},    {NULL, NULL},
};

const cf_tmethod_entry cf_t__int_methods[] = {
    {"bit_length", m_bit_length},
    {"bit_count", m_bit_count},
    {"conjugate", m_conjugate},
    {"as_integer_ratio", m_as_integer_ratio},
    {NULL, NULL},
};

const cf_tmethod_entry cf_t__float_methods[] = {
    {"is_integer", m_is_integer},
    {"hex", m_float_hex},
    {"conjugate", m_conjugate},
    {"as_integer_ratio", m_as_integer_ratio},
    {NULL, NULL},
};

const cf_tmethod_entry cf_t__range_methods[] = {
    {"count", m_count},
    {"index", m_index},
    {NULL, NULL},
};

const cf_tmethod_entry cf_t__view_methods[] = {
    {"isdisjoint", m_isdisjoint},
    {NULL, NULL},
};
