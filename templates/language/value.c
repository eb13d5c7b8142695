/*
 * value.c - lists, dicts, equality, order, truth.
 */
#include "templates/language/value.h"

#include <math.h>
#include <string.h>

#include "templates/language/gen.h"
#include "templates/language/number.h"
#include "templates/language/state.h"

/* ---- lists -------------------------------------------------------------- */

cf_tlist *cf_t__list_new(cf_tr *r, uint32_t cap)
{
    cf_tlist *l = cf_t__alloc(r, sizeof *l);
    cf_tv *v = cap != 0 ? cf_t__alloc(r, (size_t)cap * sizeof *v) : NULL;
    if (l == NULL || (cap != 0 && v == NULL)) {
        return NULL;
    }
    *l = (cf_tlist){v, 0, cap};
    return l;
}

/* A copy of the n items of `size` bytes at v with twice the room, at least 4
 * items; NULL with the error set, `too_many` for more than `most`. */
static void *grow(cf_tr *r, const void *v, uint32_t n, uint32_t *cap, size_t size, uint32_t most,
                  const char *too_many)
{
    uint32_t want = *cap < 4 ? 4 : *cap * 2;
    if (want > most) {
        cf_t__fail_limit(r, "%s", too_many);
        return NULL;
    }
    void *to = cf_t__alloc(r, want * size);
    if (to != NULL) {
        if (n != 0) {
            memcpy(to, v, n * size);
        }
        *cap = want;
    }
    return to;
}

bool cf_t__list_add(cf_tr *r, cf_tlist *l, cf_tv v)
{
    if (l->n == l->cap) {
        cf_tv *grown =
            grow(r, l->v, l->n, &l->cap, sizeof *grown, UINT32_MAX / 64, "a list is too long");
        if (grown == NULL) {
            return false;
        }
        l->v = grown;
    }
    l->v[l->n++] = v;
    return true;
}

cf_tv cf_t__pair(cf_tr *r, cf_tv a, cf_tv b)
{
    cf_tlist *l = cf_t__list_new(r, 2);
    if (l == NULL) {
        return CF_TV_ERR;
    }
    l->v[0] = a;
    l->v[1] = b;
    l->n = 2;
    return cf_tv_tuple(l);
}

/* ---- hashes ------------------------------------------------------------- */

uint32_t cf_t__hash_bytes(const char *p, size_t n)
{
    uint64_t h = UINT64_C(0x9E3779B97F4A7C15) ^ n;
    while (n >= 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        h = (h ^ w) * UINT64_C(0xFF51AFD7ED558CCD);
        h ^= h >> 32;
        p += 8;
        n -= 8;
    }
    uint64_t w = 0;
    if (n != 0) {
        memcpy(&w, p, n);
    }
    h = (h ^ w) * UINT64_C(0xFF51AFD7ED558CCD);
    return (uint32_t)(h >> 32) | 1;
}

/* The hash of a string; those of templates and contexts have theirs. */
static uint32_t str_hash(cf_tr *r, const cf_tstr *s)
{
    if (s->hash != 0) {
        return s->hash;
    }
    r->steps += s->n >> 4;
    return cf_t__hash_bytes(s->p, s->n);
}

enum { HASH_DEPTH = 64 };

static int hash_depth(cf_tr *r, cf_tv v, uint32_t depth, uint32_t *out);

/* Tuples may share tuples: each visit is charged, so that 2^n of them end. */
static int hash_tuple(cf_tr *r, const cf_tlist *l, uint32_t depth, uint32_t *out)
{
    uint32_t h = 0x345678;
    for (uint32_t i = 0; i < l->n; i++) {
        uint32_t x;
        int got = depth != 0 ? hash_depth(r, l->v[i], depth - 1, &x) : 0;
        if (got <= 0) {
            return got;
        }
        h = (h ^ x) * 0x01000193u + i;
    }
    *out = h | 1;
    return 1;
}

static int hash_depth(cf_tr *r, cf_tv v, uint32_t depth, uint32_t *out)
{
    if (!cf_t__spend(r, 1)) {
        return -1;
    }
    switch (v.k) {
    case CF_TSTR:
    case CF_TBYTES:
        *out = str_hash(r, v.u.s);
        return 1;
    case CF_TBOOL:
    case CF_TINT:
    case CF_TBIG:
    case CF_TFLOAT:
        *out = cf_t__num_hash(v);
        return 1;
    case CF_TTUPLE:
        return hash_tuple(r, v.u.l, depth, out);
    case CF_TLIST:
    case CF_TDICT:
    case CF_TVIEW:
        return 0;
    case CF_TNONE:
    case CF_TUNDEF:
        *out = 3u + v.k;
        return 1;
    case CF_TRANGE:
        *out = (uint32_t)(v.u.range->start * 31 + v.u.range->n) | 1;
        return 1;
    default:
        *out = (uint32_t)((uintptr_t)v.u.p >> 4) | 1;
        return 1;
    }
}

int cf_t__try_hash(cf_tr *r, cf_tv v, uint32_t *out)
{
    return hash_depth(r, v, HASH_DEPTH, out);
}

bool cf_t__hash(cf_tr *r, cf_tv v, uint32_t *out)
{
    int got = cf_t__try_hash(r, v, out);
    if (got == 0) {
        cf_t__fail(r, "unhashable type: '%s'", cf_t__type_name(v));
    }
    return got == 1;
}

/* ---- dicts -------------------------------------------------------------- */

enum { SMALL_DICT = 8 };

cf_tdict *cf_t__dict_new(cf_tr *r, uint32_t cap)
{
    cf_tdict *d = cf_t__alloc(r, sizeof *d);
    cf_tentry *e = cap != 0 ? cf_t__alloc(r, (size_t)cap * sizeof *e) : NULL;
    if (d == NULL || (cap != 0 && e == NULL)) {
        return NULL;
    }
    *d = (cf_tdict){.e = e, .cap = cap};
    return d;
}

static bool strings_equal(cf_tr *r, const cf_tstr *a, const cf_tstr *b)
{
    if (a == b || a->n != b->n) {
        return a == b;
    }
    r->steps += a->n >> 4;
    return memcmp(a->p, b->p, a->n) == 0;
}

static bool key_equal(cf_tr *r, cf_tv a, cf_tv b)
{
    return a.k == CF_TSTR && b.k == CF_TSTR ? strings_equal(r, a.u.s, b.u.s)
                                            : cf_t__eq(r, a, b) == 1;
}

cf_tentry *cf_t__dict_find(cf_tr *r, const cf_tdict *d, cf_tv key, uint32_t hash)
{
    if (d->index == NULL) {
        for (uint32_t i = 0; i < d->n; i++) {
            if (d->e[i].hash == hash && key_equal(r, d->e[i].key, key)) {
                return &d->e[i];
            }
        }
        return NULL;
    }
    for (uint32_t at = hash & d->mask; d->index[at] != 0; at = (at + 1) & d->mask) {
        cf_tentry *e = &d->e[d->index[at] - 1];
        if (e->hash == hash && key_equal(r, e->key, key)) {
            return e;
        }
        r->steps++; /* many keys may share a slot */
    }
    return NULL;
}

cf_tentry *cf_t__dict_find_str(cf_tr *r, const cf_tdict *d, const cf_tstr *key)
{
    union {
        const cf_tstr *in;
        cf_tstr *out;
    } u = {key};
    return cf_t__dict_find(r, d, cf_tv_str(u.out), str_hash(r, key));
}

void cf_t__dict_build_index(cf_tdict *d, uint32_t *index, uint32_t size)
{
    memset(index, 0, size * sizeof *index);
    d->index = index;
    d->mask = size - 1;
    for (uint32_t i = 0; i < d->n; i++) {
        uint32_t at = d->e[i].hash & d->mask;
        while (index[at] != 0) {
            at = (at + 1) & d->mask;
        }
        index[at] = i + 1;
    }
}

static bool rebuild_index(cf_tr *r, cf_tdict *d)
{
    if (d->cap <= SMALL_DICT) {
        d->index = NULL;
        return true;
    }
    uint32_t size = 16;
    while (size < d->cap * 2) {
        size *= 2;
    }
    uint32_t *index =
        d->index != NULL && d->mask == size - 1 ? d->index : cf_t__alloc(r, size * sizeof *index);
    if (index == NULL) {
        return false;
    }
    cf_t__dict_build_index(d, index, size);
    return true;
}

bool cf_t__dict_set(cf_tr *r, cf_tdict *d, cf_tv key, cf_tv val)
{
    uint32_t hash;
    if (!cf_t__hash(r, key, &hash)) {
        return false;
    }
    cf_tentry *e = cf_t__dict_find(r, d, key, hash);
    if (e != NULL) {
        e->val = val;
        return true;
    }
    if (d->n == d->cap) {
        cf_tentry *grown =
            grow(r, d->e, d->n, &d->cap, sizeof *grown, UINT32_MAX / 128, "a dict is too large");
        if (grown == NULL) {
            return false;
        }
        d->e = grown;
        d->e[d->n++] = (cf_tentry){key, val, hash};
        return rebuild_index(r, d);
    }
    d->e[d->n++] = (cf_tentry){key, val, hash};
    if (d->cap > SMALL_DICT && d->index == NULL) {
        return rebuild_index(r, d);
    }
    if (d->index != NULL) {
        uint32_t at = hash & d->mask;
        while (d->index[at] != 0) {
            at = (at + 1) & d->mask;
        }
        d->index[at] = d->n;
    }
    return true;
}

bool cf_t__dict_remove(cf_tr *r, cf_tdict *d, cf_tentry *e)
{
    size_t at = (size_t)(e - d->e);
    memmove(e, e + 1, (d->n - at - 1) * sizeof *e);
    d->n--;
    return cf_t__spend(r, d->n) && rebuild_index(r, d);
}

cf_tdict *cf_t__dict_copy(cf_tr *r, const cf_tdict *d)
{
    cf_tdict *c = cf_t__dict_new(r, d->n);
    if (c == NULL || !cf_t__spend(r, d->n)) {
        return NULL;
    }
    if (d->n != 0) {
        memcpy(c->e, d->e, d->n * sizeof *c->e);
    }
    c->n = d->n;
    return rebuild_index(r, c) ? c : NULL;
}

/* ---- truth, length, names ----------------------------------------------- */

int64_t cf_t__len(cf_tv v)
{
    switch (v.k) {
    case CF_TSTR:
        return cf_t__str_cps(v.u.s);
    case CF_TBYTES:
        return v.u.s->n;
    case CF_TLIST:
    case CF_TTUPLE:
        return v.u.l->n;
    case CF_TDICT:
        return v.u.d->n;
    case CF_TVIEW:
        return v.u.view->d->n;
    case CF_TRANGE:
        return v.u.range->n;
    case CF_TUNDEF:
        return 0;
    default:
        return -1;
    }
}

bool cf_t__truth(cf_tv v)
{
    switch (v.k) {
    case CF_TBOOL:
        return v.u.b;
    case CF_TINT:
        return v.u.i != 0;
    case CF_TFLOAT:
        return v.u.f != 0;
    case CF_TSTR:
    case CF_TBYTES:
        return v.u.s->n != 0;
    case CF_TLIST:
    case CF_TTUPLE:
        return v.u.l->n != 0;
    case CF_TDICT:
        return v.u.d->n != 0;
    case CF_TVIEW:
        return v.u.view->d->n != 0;
    case CF_TRANGE:
        return v.u.range->n != 0;
    case CF_TNONE:
    case CF_TUNDEF:
    case CF_TMISSING:
    case CF_TERR:
        return false;
    default:
        return true;
    }
}

const char *cf_t__type_name(cf_tv v)
{
    static const char *const names[] = {
        [CF_TERR] = "error",
        [CF_TMISSING] = "missing",
        [CF_TUNDEF] = "Undefined",
        [CF_TNONE] = "NoneType",
        [CF_TBOOL] = "bool",
        [CF_TINT] = "int",
        [CF_TBIG] = "int",
        [CF_TFLOAT] = "float",
        [CF_TSTR] = "str",
        [CF_TBYTES] = "bytes",
        [CF_TLIST] = "list",
        [CF_TTUPLE] = "tuple",
        [CF_TDICT] = "dict",
        [CF_TVIEW] = "dict_items",
        [CF_TRANGE] = "range",
        [CF_TGEN] = "generator",
        [CF_TNAMESPACE] = "Namespace",
        [CF_TLOOP] = "LoopContext",
        [CF_TFUNC] = "function",
        [CF_TMETHOD] = "builtin_function_or_method",
        [CF_TMACRO] = "Macro",
        [CF_TCYCLER] = "Cycler",
        [CF_TJOINER] = "Joiner",
    };
    if (v.k == CF_TSTR && v.u.s->is_markup) {
        return "Markup";
    }
    if (v.k == CF_TVIEW) {
        static const char *const views[] = {"dict_keys", "dict_values", "dict_items"};
        return views[v.u.view->kind];
    }
    return names[v.k];
}

/* ---- equality ----------------------------------------------------------- */

enum { EQ_DEPTH = 400 };

/* Comparing big integers looks at their limbs. */
static void charge_numbers(cf_tr *r, cf_tv a, cf_tv b)
{
    if (a.k == CF_TBIG && b.k == CF_TBIG) {
        r->steps += a.u.big->n >> 3;
    }
}

static int eq_depth(cf_tr *r, cf_tv a, cf_tv b, uint32_t depth);

static int eq_lists(cf_tr *r, const cf_tlist *a, const cf_tlist *b, uint32_t depth)
{
    if (a == b) {
        return 1;
    }
    if (a->n != b->n) {
        return 0;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        int e = eq_depth(r, a->v[i], b->v[i], depth - 1);
        if (e != 1) {
            return e;
        }
    }
    return 1;
}

static int eq_dicts(cf_tr *r, const cf_tdict *a, const cf_tdict *b, uint32_t depth)
{
    if (a == b) {
        return 1;
    }
    if (a->n != b->n) {
        return 0;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        const cf_tentry *e = cf_t__dict_find(r, b, a->e[i].key, a->e[i].hash);
        if (e == NULL) {
            return 0;
        }
        int c = eq_depth(r, a->e[i].val, e->val, depth - 1);
        if (c != 1) {
            return c;
        }
    }
    return 1;
}

static int eq_views(cf_tr *r, const cf_tview *a, const cf_tview *b, uint32_t depth)
{
    if (a->kind != b->kind || a->kind == CF_VIEW_VALUES || a->d->n != b->d->n) {
        return a == b;
    }
    for (uint32_t i = 0; i < a->d->n; i++) {
        const cf_tentry *e = cf_t__dict_find(r, b->d, a->d->e[i].key, a->d->e[i].hash);
        if (e == NULL || !cf_t__spend(r, 1)) {
            return e == NULL ? 0 : -1;
        }
        int c = a->kind == CF_VIEW_ITEMS ? eq_depth(r, a->d->e[i].val, e->val, depth - 1) : 1;
        if (c != 1) {
            return c;
        }
    }
    return 1;
}

static int eq_ranges(const cf_trange *a, const cf_trange *b)
{
    return a->n == b->n && (a->n == 0 || a->start == b->start) && (a->n < 2 || a->step == b->step);
}

static int eq_depth(cf_tr *r, cf_tv a, cf_tv b, uint32_t depth)
{
    if (depth == 0) {
        cf_t__fail_limit(r, "values are nested too deeply to compare");
        return -1;
    }
    if (!cf_t__spend(r, 1)) {
        return -1;
    }
    if (cf_tv_is_num(a) && cf_tv_is_num(b)) {
        charge_numbers(r, a, b);
        return cf_t__num_compare(a, b) == 0;
    }
    if (a.k != b.k) {
        return 0;
    }
    switch (a.k) {
    case CF_TSTR:
    case CF_TBYTES:
        return strings_equal(r, a.u.s, b.u.s);
    case CF_TLIST:
    case CF_TTUPLE:
        return eq_lists(r, a.u.l, b.u.l, depth);
    case CF_TDICT:
        return eq_dicts(r, a.u.d, b.u.d, depth);
    case CF_TVIEW:
        return eq_views(r, a.u.view, b.u.view, depth);
    case CF_TRANGE:
        return eq_ranges(a.u.range, b.u.range);
    case CF_TNONE:
    case CF_TUNDEF:
    case CF_TMISSING:
        return 1;
    case CF_TFUNC:
        return a.sub == b.sub;
    case CF_TMETHOD:
        return a.u.method->id == b.u.method->id && a.u.method->self.k == b.u.method->self.k &&
               a.u.method->self.u.p == b.u.method->self.u.p;
    default:
        return a.u.p == b.u.p;
    }
}

int cf_t__eq(cf_tr *r, cf_tv a, cf_tv b)
{
    return eq_depth(r, a, b, EQ_DEPTH);
}

/* ---- order -------------------------------------------------------------- */

static bool order_depth(cf_tr *r, cf_tv a, cf_tv b, const char *op, int *out, uint32_t depth);

static int order_strings(cf_tr *r, cf_str a, cf_str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n != 0 ? memcmp(a.p, b.p, n) : 0;
    r->steps += n >> 4;
    return c != 0 ? (c < 0 ? -1 : 1) : (a.n < b.n ? -1 : a.n > b.n);
}

static bool order_lists(cf_tr *r, const cf_tlist *a, const cf_tlist *b, const char *op, int *out,
                        uint32_t depth)
{
    for (uint32_t i = 0; i < a->n && i < b->n; i++) {
        int e = eq_depth(r, a->v[i], b->v[i], depth - 1);
        if (e < 0) {
            return false;
        }
        if (e == 0) {
            return order_depth(r, a->v[i], b->v[i], op, out, depth - 1);
        }
    }
    *out = a->n < b->n ? -1 : a->n > b->n;
    return true;
}

static bool order_depth(cf_tr *r, cf_tv a, cf_tv b, const char *op, int *out, uint32_t depth)
{
    if (a.k == CF_TUNDEF || b.k == CF_TUNDEF) {
        cf_t__fail_undef(r, a.k == CF_TUNDEF ? a : b);
        return false;
    }
    if (depth == 0) {
        cf_t__fail_limit(r, "values are nested too deeply to compare");
        return false;
    }
    if (!cf_t__spend(r, 1)) {
        return false;
    }
    if (cf_tv_is_num(a) && cf_tv_is_num(b)) {
        charge_numbers(r, a, b);
        *out = cf_t__num_compare(a, b);
        return true;
    }
    if (a.k == b.k && (a.k == CF_TSTR || a.k == CF_TBYTES)) {
        *out = order_strings(r, cf_tv_text(a), cf_tv_text(b));
        return true;
    }
    if (a.k == b.k && (a.k == CF_TLIST || a.k == CF_TTUPLE)) {
        return order_lists(r, a.u.l, b.u.l, op, out, depth);
    }
    cf_t__fail(r, "'%s' not supported between instances of '%s' and '%s'", op, cf_t__type_name(a),
               cf_t__type_name(b));
    return false;
}

bool cf_t__compare(cf_tr *r, cf_tv a, cf_tv b, const char *op, int *out)
{
    return order_depth(r, a, b, op, out, EQ_DEPTH);
}

/* ---- the "in" operator -------------------------------------------------- */

static int contains_range(const cf_trange *g, cf_tv item)
{
    if (!cf_tv_is_num(item)) {
        return 0;
    }
    double f;
    if (!cf_t__to_double(item, &f) || f != trunc(f) || fabs(f) > 9e15) {
        return 0;
    }
    int64_t i = (int64_t)f - g->start;
    return i % g->step == 0 && i / g->step >= 0 && i / g->step < g->n;
}

int cf_t__contains(cf_tr *r, cf_tv c, cf_tv item)
{
    switch (c.k) {
    case CF_TSTR:
        if (item.k != CF_TSTR) {
            cf_t__fail(r, "'in <string>' requires string as left operand, not %s",
                       cf_t__type_name(item));
            return -1;
        }
        if (!cf_t__spend(r, c.u.s->n >> 4)) {
            return -1;
        }
        return cf_t__find(cf_tv_text(c), cf_tv_text(item), 0) != UINT32_MAX;
    case CF_TDICT: {
        uint32_t hash;
        if (!cf_t__hash(r, item, &hash)) {
            return -1;
        }
        return cf_t__dict_find(r, c.u.d, item, hash) != NULL;
    }
    case CF_TVIEW:
        if (c.u.view->kind == CF_VIEW_KEYS) {
            return cf_t__contains(r, cf_tv_dict(c.u.view->d), item);
        }
        break;
    case CF_TRANGE:
        return contains_range(c.u.range, item);
    case CF_TUNDEF:
        return 0;
    default:
        break;
    }
    cf_titer it;
    if (!cf_t__can_iterate(c)) {
        cf_t__fail(r, "argument of type '%s' is not iterable", cf_t__type_name(c));
        return -1;
    }
    if (!cf_t__iter_init(r, &it, c)) {
        return -1;
    }
    for (;;) {
        cf_tv v;
        int got = cf_t__iter_next(r, &it, &v);
        if (got <= 0) {
            return got;
        }
        int e = cf_t__eq(r, v, item);
        if (e != 0) {
            return e;
        }
    }
}

/* ---- iteration ---------------------------------------------------------- */

bool cf_t__can_iterate(cf_tv v)
{
    switch (v.k) {
    case CF_TSTR:
    case CF_TBYTES:
    case CF_TLIST:
    case CF_TTUPLE:
    case CF_TDICT:
    case CF_TVIEW:
    case CF_TRANGE:
    case CF_TGEN:
    case CF_TLOOP:
    case CF_TUNDEF:
        return true;
    default:
        return false;
    }
}

bool cf_t__iter_init(cf_tr *r, cf_titer *it, cf_tv v)
{
    if (!cf_t__can_iterate(v)) {
        cf_t__fail(r, "'%s' object is not iterable", cf_t__type_name(v));
        return false;
    }
    *it = (cf_titer){v, 0};
    return true;
}

static int next_char(cf_tr *r, cf_titer *it, cf_tv *out)
{
    const cf_tstr *s = it->src.u.s;
    uint32_t at = (uint32_t)it->i, len;
    if (at >= s->n) {
        return 0;
    }
    cf_t__cp(s->p + at, &len);
    it->i += len;
    *out = cf_t__str_sub(r, s, at, at + len);
    if (out->k == CF_TSTR) {
        out->u.s->is_markup = false; /* iterating Markup gives str */
    }
    return out->k == CF_TERR ? -1 : 1;
}

static int next_view(cf_tr *r, cf_titer *it, cf_tv *out)
{
    const cf_tview *w = it->src.u.view;
    if (it->i >= w->d->n) {
        return 0;
    }
    const cf_tentry *e = &w->d->e[it->i++];
    *out = w->kind == CF_VIEW_KEYS     ? e->key
           : w->kind == CF_VIEW_VALUES ? e->val
                                       : cf_t__pair(r, e->key, e->val);
    return out->k == CF_TERR ? -1 : 1;
}

int cf_t__iter_next(cf_tr *r, cf_titer *it, cf_tv *out)
{
    if (!cf_t__spend(r, 1)) {
        return -1;
    }
    switch (it->src.k) {
    case CF_TLIST:
    case CF_TTUPLE:
        if (it->i >= it->src.u.l->n) {
            return 0;
        }
        *out = it->src.u.l->v[it->i++];
        return 1;
    case CF_TDICT:
        if (it->i >= it->src.u.d->n) {
            return 0;
        }
        *out = it->src.u.d->e[it->i++].key;
        return 1;
    case CF_TSTR:
        return next_char(r, it, out);
    case CF_TBYTES:
        if (it->i >= it->src.u.s->n) {
            return 0;
        }
        *out = cf_tv_int((unsigned char)it->src.u.s->p[it->i++]);
        return 1;
    case CF_TVIEW:
        return next_view(r, it, out);
    case CF_TRANGE:
        if (it->i >= (uint64_t)it->src.u.range->n) {
            return 0;
        }
        *out = cf_tv_int(it->src.u.range->start + (int64_t)it->i++ * it->src.u.range->step);
        return 1;
    case CF_TGEN:
        return cf_t__gen_next(r, it->src.u.gen, out);
    case CF_TLOOP:
        return cf_t__loop_pair(r, it->src.u.loop, out);
    default:
        return 0;
    }
}

cf_tlist *cf_t__to_list(cf_tr *r, cf_tv v)
{
    cf_titer it;
    int64_t n = cf_t__len(v);
    cf_tlist *l = cf_t__list_new(r, n > 0 && n < 1 << 20 ? (uint32_t)n : 0);
    if (l == NULL || !cf_t__iter_init(r, &it, v)) {
        return NULL;
    }
    for (;;) {
        cf_tv item;
        int got = cf_t__iter_next(r, &it, &item);
        if (got <= 0) {
            return got == 0 ? l : NULL;
        }
        if (!cf_t__list_add(r, l, item)) {
            return NULL;
        }
    }
}
