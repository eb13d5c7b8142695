/*
 * schema_atom.c - intersects, tests and complements atoms.
 */
#include "core/schema/schema.h"

#include <stdio.h>
#include <string.h>

cf_atom *cf_atom__new(cf_schema *s, cf_atom_kind kind)
{
    cf_atom *a = cf_schema_alloc(s, 1, sizeof *a);
    if (a == NULL) {
        return NULL;
    }
    a->kind = (uint8_t)kind;
    a->bools = 3;
    a->max = CF_RX_INF;
    a->items = CF_CONJ_TRUE;
    a->seen_keys = CF_RX_NONE;
    if (kind == CF_ATOM_STR) {
        a->text = cf_rx_all(&s->rx);
        a->wide = a->text;
    } else if (kind == CF_ATOM_OBJ) {
        cf_key_class *all = cf_schema_alloc(s, 1, sizeof *all);
        if (all == NULL) {
            return NULL;
        }
        *all = (cf_key_class){cf_rx_all(&s->rx), CF_CONJ_TRUE};
        a->cls = all;
        a->n_cls = 1;
    }
    return a;
}

cf_conj cf_conj__of_constant(cf_schema *s, const json_t *v)
{
    json_t *one = json_pack("{s:[O]}", "enum", cf_json_ref(v));
    if (one == NULL || json_array_append_new(s->made, one) != 0) {
        cf_gbuild_oom(s->b);
        return CF_CONJ_FALSE;
    }
    return cf_conj_one(s, cf_schema__number(s, one, 0, 0, s->at, NULL), false);
}

cf_atom *cf_atom__of_constant(cf_schema *s, const json_t *v)
{
    cf_atom *a = cf_atom__new(s, json_is_array(v) ? CF_ATOM_ARR : CF_ATOM_OBJ);
    size_t n = json_is_array(v) ? json_array_size(v) : json_object_size(v);
    if (a == NULL || !cf_gbuild_spend(s->b, n)) {
        return NULL;
    }
    if (json_is_array(v)) {
        cf_conj *item = cf_schema_alloc(s, n, sizeof *item);
        for (size_t i = 0; item != NULL && i < n && cf_schema_ok(s); i++) {
            item[i] = cf_conj__of_constant(s, json_array_get(v, i));
        }
        a->prefix = item;
        a->n_prefix = (uint32_t)n;
        a->items = CF_CONJ_FALSE;
        a->min = (uint32_t)n;
        a->max = (uint32_t)n;
        return item != NULL ? a : NULL;
    }
    json_t *in = cf_json_ref(v);
    cf_prop *p = cf_schema_alloc(s, n, sizeof *p);
    const char *key;
    size_t len;
    json_t *child;
    json_object_keylen_foreach(in, key, len, child)
    {
        if (p == NULL || !cf_schema_ok(s)) {
            return NULL;
        }
        p[a->n_prop++] = (cf_prop){cf_str_make(key, len), cf_conj__of_constant(s, child), true};
    }
    a->prop = p;
    a->n_cls = 0;
    return p != NULL ? a : NULL;
}

void cf_dnf__add(cf_schema *s, cf_dnf *d, const cf_atom *a)
{
    if (!cf_schema_ok(s)) {
        return;
    }
    if (d->n == d->cap) {
        size_t cap = d->cap < 8 ? 8 : d->cap * 2;
        const cf_atom **v = cf_schema_alloc(s, cap, sizeof *v);
        if (v == NULL) {
            return;
        }
        if (d->n > 0) {
            memcpy(v, d->v, d->n * sizeof *v);
        }
        d->v = v;
        d->cap = cap;
    } else if (d->n > 0 && d->v[d->n - 1] == a) {
        return;
    }
    d->v[d->n++] = a;
}

cf_dnf cf_dnf__all(cf_schema *s)
{
    cf_dnf d = {0};
    for (int k = CF_ATOM_NULL; k <= CF_ATOM_OBJ; k++) {
        cf_atom *a = cf_atom__new(s, (cf_atom_kind)k);
        if (a != NULL) {
            cf_dnf__add(s, &d, a);
        }
    }
    return d;
}

cf_dnf cf_dnf__and(cf_schema *s, const cf_dnf *x, const cf_dnf *y)
{
    cf_dnf d = {0};
    for (size_t i = 0; i < x->n; i++) {
        for (size_t k = 0; k < y->n && cf_gbuild_spend(s->b, 1); k++) {
            const cf_atom *both = cf_atom__and(s, x->v[i], y->v[k]);
            if (both == NULL) {
                continue;
            }
            cf_dnf__add(s, &d, both);
            if (d.n > CF_ATOMS_MAX && both->kind != CF_ATOM_LIT) {
                cf_schema__exceed(s, s->at, "the alternatives multiply too far");
                return d;
            }
        }
    }
    return d;
}

/* ---- meeting ------------------------------------------------------------ */

/* Concatenates two lists in the arena. */
static const void *join(cf_schema *s, const void *x, size_t n, const void *y, size_t m, size_t size)
{
    char *v = cf_schema_alloc(s, n + m, size);
    if (v != NULL && n > 0) {
        memcpy(v, x, n * size);
    }
    if (v != NULL && m > 0) {
        memcpy(v + n * size, y, m * size);
    }
    return v;
}

static bool has_range(const cf_atom *a)
{
    if (a->lo == NULL || a->hi == NULL) {
        return true;
    }
    int c = cf_dec__cmp(a->lo, a->hi);
    return c < 0 || (c == 0 && !a->lo_open && !a->hi_open);
}

static const cf_atom *meet_num(cf_schema *s, cf_atom *a, const cf_atom *x, const cf_atom *y)
{
    if (x->num != y->num && x->num != CF_NUM_ANY && y->num != CF_NUM_ANY) {
        return NULL;
    }
    a->num = x->num != CF_NUM_ANY ? x->num : y->num;
    int c = x->lo == NULL ? -1 : y->lo == NULL ? 1 : cf_dec__cmp(x->lo, y->lo);
    a->lo = c >= 0 ? x->lo : y->lo;
    a->lo_open = c > 0 ? x->lo_open : c < 0 ? y->lo_open : x->lo_open || y->lo_open;
    c = x->hi == NULL ? 1 : y->hi == NULL ? -1 : cf_dec__cmp(x->hi, y->hi);
    a->hi = c <= 0 ? x->hi : y->hi;
    a->hi_open = c < 0 ? x->hi_open : c > 0 ? y->hi_open : x->hi_open || y->hi_open;
    a->factor = join(s, x->factor, x->n_factor, y->factor, y->n_factor, sizeof *a->factor);
    a->n_factor = x->n_factor + y->n_factor;
    a->not_factor = join(s, x->not_factor, x->n_not_factor, y->not_factor, y->n_not_factor,
                         sizeof *a->not_factor);
    a->n_not_factor = x->n_not_factor + y->n_not_factor;
    a->except = join(s, x->except, x->n_except, y->except, y->n_except, sizeof *a->except);
    a->n_except = x->n_except + y->n_except;
    return has_range(a) ? a : NULL;
}

static cf_conj item_at(const cf_atom *a, uint32_t i)
{
    return i < a->n_prefix ? a->prefix[i] : a->items;
}

static const cf_atom *meet_arr(cf_schema *s, cf_atom *a, const cf_atom *x, const cf_atom *y)
{
    uint32_t n = x->n_prefix > y->n_prefix ? x->n_prefix : y->n_prefix;
    cf_conj *v = cf_schema_alloc(s, n, sizeof *v);
    for (uint32_t i = 0; v != NULL && i < n; i++) {
        v[i] = cf_conj__and(s, item_at(x, i), item_at(y, i));
        if (v[i] == CF_CONJ_FALSE && a->max > i) {
            a->max = i;
        }
    }
    a->prefix = v;
    a->n_prefix = n;
    a->items = cf_conj__and(s, x->items, y->items);
    if (a->items == CF_CONJ_FALSE && a->max > n) {
        a->max = n;
    }
    a->is_unique = x->is_unique || y->is_unique;
    a->some = join(s, x->some, x->n_some, y->some, y->n_some, sizeof *a->some);
    a->n_some = x->n_some + y->n_some;
    return a->min <= a->max ? a : NULL;
}

static const cf_prop *prop_of(const cf_atom *a, cf_str name)
{
    for (uint32_t i = 0; i < a->n_prop; i++) {
        if (cf_str_eq(a->prop[i].name, name)) {
            return &a->prop[i];
        }
    }
    return NULL;
}

cf_conj cf_atom__key(cf_schema *s, const cf_atom *a, cf_str name)
{
    const cf_prop *p = prop_of(a, name);
    if (p != NULL) {
        return p->value;
    }
    for (uint32_t i = 0; i < a->n_cls && cf_schema_ok(s); i++) {
        if (cf_rx_matches(&s->rx, a->cls[i].keys, name)) {
            return a->cls[i].value;
        }
    }
    return CF_CONJ_FALSE;
}

static bool meet_classes(cf_schema *s, cf_atom *a, const cf_atom *x, const cf_atom *y)
{
    cf_key_class *v = cf_schema_alloc(s, (size_t)x->n_cls * y->n_cls, sizeof *v);
    uint32_t n = 0;
    if (v == NULL || (size_t)x->n_cls * y->n_cls > 256) {
        cf_gbuild_fail(s->b, CF_ELIMIT, "too many kinds of keys");
        return false;
    }
    cf_rx all = cf_rx_all(&s->rx);
    for (uint32_t i = 0; i < x->n_cls; i++) {
        for (uint32_t k = 0; k < y->n_cls && cf_schema_ok(s); k++) {
            cf_conj c = cf_conj__and(s, x->cls[i].value, y->cls[k].value);
            cf_rx r = cf_rx_and2(&s->rx, x->cls[i].keys, y->cls[k].keys);
            bool is_plain = x->cls[i].keys == all || y->cls[k].keys == all;
            if (c != CF_CONJ_FALSE && cf_schema_ok(s) && (is_plain || !cf_rx_is_empty(&s->rx, r))) {
                v[n++] = (cf_key_class){r, c};
            }
        }
    }
    a->cls = v;
    a->n_cls = n;
    return true;
}

static const cf_atom *meet_obj(cf_schema *s, cf_atom *a, const cf_atom *x, const cf_atom *y)
{
    cf_prop *v = cf_schema_alloc(s, (size_t)x->n_prop + y->n_prop, sizeof *v);
    uint32_t n = 0;
    if (v == NULL || !cf_gbuild_spend(s->b, x->n_prop + y->n_prop)) {
        return NULL;
    }
    for (uint32_t i = 0; i < x->n_prop; i++) {
        const cf_prop *p = &x->prop[i];
        const cf_prop *q = prop_of(y, p->name);
        cf_conj other = q != NULL ? q->value : cf_atom__key(s, y, p->name);
        v[n++] = (cf_prop){p->name, cf_conj__and(s, p->value, other),
                           p->is_required || (q != NULL && q->is_required)};
    }
    for (uint32_t i = 0; i < y->n_prop; i++) {
        const cf_prop *q = &y->prop[i];
        if (prop_of(x, q->name) == NULL) {
            cf_conj other = cf_atom__key(s, x, q->name);
            v[n++] = (cf_prop){q->name, cf_conj__and(s, q->value, other), q->is_required};
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].is_required && v[i].value == CF_CONJ_FALSE) {
            return NULL;
        }
    }
    a->is_mixed = x->is_mixed || y->is_mixed ||
                  (x->n_prop > 0 && y->n_prop > 0 && (n > x->n_prop || n > y->n_prop));
    a->prop = v;
    a->n_prop = n;
    if (!meet_classes(s, a, x, y)) {
        return NULL;
    }
    a->dep = join(s, x->dep, x->n_dep, y->dep, y->n_dep, sizeof *a->dep);
    a->n_dep = x->n_dep + y->n_dep;
    a->some_key =
        join(s, x->some_key, x->n_some_key, y->some_key, y->n_some_key, sizeof *a->some_key);
    a->n_some_key = x->n_some_key + y->n_some_key;
    return a->min <= a->max ? a : NULL;
}

/* `a` has evaluated what x and y have. */
static void join_seen(cf_schema *s, cf_atom *a, const cf_atom *x, const cf_atom *y)
{
    a->seen_keys = cf_rx_or2(&s->rx, x->seen_keys, y->seen_keys);
    a->n_seen = x->n_seen > y->n_seen ? x->n_seen : y->n_seen;
    a->seen_some =
        join(s, x->seen_some, x->n_seen_some, y->seen_some, y->n_seen_some, sizeof *a->seen_some);
    a->n_seen_some = x->n_seen_some + y->n_seen_some;
}

/* A constant that `other` accepts, too. */
static const cf_atom *meet_lit(cf_schema *s, const cf_atom *lit, const cf_atom *other)
{
    if (!cf_atom__accepts(s, other, lit->lit)) {
        return NULL;
    }
    if (!s->has_unevaluated || !(json_is_object(lit->lit) || json_is_array(lit->lit))) {
        return lit;
    }
    cf_atom *a = cf_schema_alloc(s, 1, sizeof *a);
    if (a != NULL) {
        *a = *lit;
        join_seen(s, a, lit, other);
    }
    return a;
}

/* Whether all that x has evaluated y has, too. */
static bool has_seen_all(cf_schema *s, const cf_atom *x, const cf_atom *y)
{
    if (x->n_seen > y->n_seen || (x->n_seen_some > 0 && y->n_seen != CF_RX_INF)) {
        return false;
    }
    return x->seen_keys == y->seen_keys || x->seen_keys == CF_RX_NONE ||
           cf_rx_is_empty(&s->rx,
                          cf_rx_and2(&s->rx, x->seen_keys, cf_rx_not(&s->rx, y->seen_keys)));
}

void cf_dnf__add_both(cf_schema *s, cf_dnf *d, const cf_atom *x, const cf_atom *y)
{
    if (!cf_gbuild_spend(s->b, 4) || has_seen_all(s, y, x)) {
        return;
    }
    const cf_atom *both = cf_atom__and(s, x, y);
    if (both != NULL) {
        cf_dnf__add(s, d, both);
    }
    if (d->n > CF_ATOMS_MAX) {
        cf_schema__exceed(s, s->at, "the alternatives multiply too far");
    }
}

const cf_atom *cf_atom__and(cf_schema *s, const cf_atom *x, const cf_atom *y)
{
    if (!cf_schema_ok(s)) {
        return NULL;
    }
    if (x == y) {
        return x;
    }
    if (x->kind == CF_ATOM_LIT) {
        return meet_lit(s, x, y);
    }
    if (y->kind == CF_ATOM_LIT) {
        return meet_lit(s, y, x);
    }
    if (x->kind != y->kind) {
        return NULL;
    }
    if (x->kind == CF_ATOM_NULL) {
        return x;
    }
    cf_atom *a = cf_schema_alloc(s, 1, sizeof *a);
    if (a == NULL) {
        return NULL;
    }
    *a = *x;
    if (s->has_unevaluated) {
        join_seen(s, a, x, y);
    }
    a->is_narrowed = x->is_narrowed || y->is_narrowed;
    a->min = x->min > y->min ? x->min : y->min;
    a->max = x->max < y->max ? x->max : y->max;
    switch (x->kind) {
    case CF_ATOM_BOOL:
        a->bools = x->bools & y->bools;
        return a->bools != 0 ? a : NULL;
    case CF_ATOM_NUM:
        return meet_num(s, a, x, y);
    case CF_ATOM_STR:
        a->text = cf_rx_and2(&s->rx, x->text, y->text);
        a->wide = cf_rx_and2(&s->rx, x->wide, y->wide);
        return a->text != CF_RX_NONE && a->min <= a->max ? a : NULL;
    case CF_ATOM_ARR:
        return meet_arr(s, a, x, y);
    default:
        return meet_obj(s, a, x, y);
    }
}

/* ---- emptiness ---------------------------------------------------------- */

bool cf_conj__is_empty(cf_schema *s, cf_conj c, unsigned depth)
{
    if (c == CF_CONJ_TRUE || c == CF_CONJ_FALSE) {
        return c == CF_CONJ_FALSE;
    }
    if (depth > 4 || s->conj[c].state == 1) {
        return false;
    }
    const cf_dnf *d = cf_conj_expand(s, c);
    for (size_t i = 0; i < d->n; i++) {
        if (!cf_atom__is_empty(s, d->v[i], depth + 1)) {
            return false;
        }
    }
    return cf_schema_ok(s);
}

/* Whether the atom's strings have no length between its limits; exact unless
 * that needs a large automaton. */
static bool has_no_text(cf_schema *s, const cf_atom *a)
{
    enum { LIMIT_MAX = 64 };
    bool is_exact = a->max <= LIMIT_MAX || (a->max == CF_RX_INF && a->min <= LIMIT_MAX);
    if (is_exact) {
        cf_rx len = cf_rx_loop(&s->rx, cf_rx_any(&s->rx), a->min, a->max);
        return cf_rx_is_empty(&s->rx, cf_rx_and2(&s->rx, a->wide, len));
    }
    cf_dfa d;
    cf_dfa_lengths len = {0};
    cf_rx_dfa(&s->rx, a->wide, &d);
    bool is_empty = d.n_state == 0;
    if (!is_empty && cf_dfa_lengths_make(s->b, &d, &len)) {
        is_empty = len.least[0] > a->max || len.most[0] < a->min;
    }
    cf_dfa_lengths_deinit(&len);
    cf_dfa_deinit(&d);
    return is_empty && cf_schema_ok(s);
}

bool cf_atom__is_empty(cf_schema *s, const cf_atom *a, unsigned depth)
{
    if (a->kind == CF_ATOM_OBJ) {
        for (uint32_t i = 0; i < a->n_prop; i++) {
            if (a->prop[i].is_required && cf_conj__is_empty(s, a->prop[i].value, depth)) {
                return true;
            }
        }
    } else if (a->kind == CF_ATOM_ARR) {
        for (uint32_t i = 0; i < a->n_some; i++) {
            if (a->some[i].min > a->max || a->some[i].min > a->some[i].max) {
                return true;
            }
        }
        for (uint32_t i = 0; i < a->min && i <= a->n_prefix; i++) {
            if (cf_conj__is_empty(s, item_at(a, i), depth)) {
                return true;
            }
        }
    } else if (a->kind == CF_ATOM_STR) {
        return a->wide != cf_rx_all(&s->rx) && has_no_text(s, a);
    } else if (a->kind == CF_ATOM_NUM) {
        if (a->lo != NULL && a->hi != NULL) {
            cf_dfa d;
            cf_num__dfa(s, a, &d);
            bool is_empty = d.n_state == 0 && cf_schema_ok(s);
            cf_dfa_deinit(&d);
            return is_empty;
        }
    }
    return false;
}
