/*
 * schema_unevaluated.c - what a schema says of the keys and items that none of
 * its other keywords has evaluated.
 *
 * Each atom carries what the schemas it is made of have evaluated.  A value
 * may satisfy several atoms of one form; since evaluating more never makes a
 * value wrong, it is right if one of them says so, and a form needs an atom
 * for each union of alternatives (cf_dnf__add_both), but no complement.
 */
#include <string.h>

#include "core/schema/schema.h"

static cf_conj item_at(const cf_atom *a, uint32_t i)
{
    return i < a->n_prefix ? a->prefix[i] : a->items;
}

/* Whether the keys or items of a constant that were not evaluated satisfy `rest`. */
static bool fits_lit(cf_schema *s, const cf_atom *a, cf_conj rest)
{
    const char *key;
    size_t len;
    json_t *child;
    json_object_keylen_foreach(cf_json_ref(a->lit), key, len, child)
    {
        if (!cf_rx_matches(&s->rx, a->seen_keys, cf_str_make(key, len)) &&
            !cf_conj__accepts(s, rest, child)) {
            return false;
        }
    }
    for (size_t i = a->n_seen; i < json_array_size(a->lit); i++) {
        if (!cf_conj__accepts(s, rest, json_array_get(a->lit, i))) {
            return false;
        }
    }
    return cf_schema_ok(s);
}

static bool narrow_props(cf_schema *s, cf_atom *a, cf_conj rest)
{
    cf_prop *v = cf_schema_alloc(s, a->n_prop, sizeof *v);
    for (uint32_t i = 0; v != NULL && i < a->n_prop; i++) {
        v[i] = a->prop[i];
        if (!cf_rx_matches(&s->rx, a->seen_keys, v[i].name)) {
            v[i].value = cf_conj__and(s, v[i].value, rest);
        }
        if (v[i].is_required && v[i].value == CF_CONJ_FALSE) {
            return false;
        }
    }
    a->prop = v;
    return v != NULL;
}

static bool narrow_classes(cf_schema *s, cf_atom *a, cf_conj rest)
{
    cf_key_class *v = cf_schema_alloc(s, 2 * (size_t)a->n_cls, sizeof *v);
    cf_rx unseen = cf_rx_not(&s->rx, a->seen_keys);
    uint32_t n = 0;
    for (uint32_t i = 0; v != NULL && i < a->n_cls && cf_schema_ok(s); i++) {
        const cf_key_class *c = &a->cls[i];
        cf_conj value = cf_conj__and(s, c->value, rest);
        if (value == c->value) {
            v[n++] = *c;
            continue;
        }
        cf_rx old = cf_rx_and2(&s->rx, c->keys, a->seen_keys);
        cf_rx other = cf_rx_and2(&s->rx, c->keys, unseen);
        if (cf_schema_ok(s) && !cf_rx_is_empty(&s->rx, old)) {
            v[n++] = (cf_key_class){old, c->value};
        }
        if (cf_schema_ok(s) && value != CF_CONJ_FALSE && !cf_rx_is_empty(&s->rx, other)) {
            v[n++] = (cf_key_class){other, value};
        }
    }
    a->cls = v;
    a->n_cls = n;
    return v != NULL;
}

static bool narrow_items(cf_schema *s, cf_atom *a, cf_conj rest)
{
    if (a->n_seen == CF_RX_INF) {
        return true;
    }
    uint32_t n = a->n_prefix > a->n_seen ? a->n_prefix : a->n_seen;
    cf_conj *v = cf_schema_alloc(s, n, sizeof *v);
    for (uint32_t i = 0; v != NULL && i < n; i++) {
        v[i] = i < a->n_seen ? item_at(a, i) : cf_conj__and(s, item_at(a, i), rest);
        a->max = v[i] == CF_CONJ_FALSE && a->max > i ? i : a->max;
    }
    a->prefix = v;
    a->n_prefix = n;
    a->items = cf_conj__and(s, a->items, rest);
    a->max = a->items == CF_CONJ_FALSE && a->max > n ? n : a->max;
    return v != NULL && a->min <= a->max;
}

/* `rest`, or what "contains" has evaluated. */
static cf_conj with_some(cf_schema *s, const cf_atom *a, cf_conj rest)
{
    if (a->n_seen_some == 0) {
        return rest;
    }
    cf_conj *v = cf_schema_alloc(s, (size_t)a->n_seen_some + 1, sizeof *v);
    if (v == NULL) {
        return CF_CONJ_FALSE;
    }
    memcpy(v, a->seen_some, a->n_seen_some * sizeof *v);
    v[a->n_seen_some] = rest;
    return cf_conj__or(s, v, a->n_seen_some + 1);
}

/* The atom with `rest` applied to what was not evaluated; NULL if nothing is left. */
static const cf_atom *narrow(cf_schema *s, const cf_atom *old, bool is_array, cf_conj rest)
{
    cf_atom *a = cf_schema_alloc(s, 1, sizeof *a);
    if (a == NULL) {
        return NULL;
    }
    *a = *old;
    bool ok = true;
    if (is_array) {
        rest = with_some(s, a, rest);
    }
    if (a->kind == CF_ATOM_LIT) {
        ok = fits_lit(s, a, rest);
    } else if (is_array) {
        ok = narrow_items(s, a, rest);
    } else {
        ok = narrow_props(s, a, rest) && narrow_classes(s, a, rest);
    }
    if (is_array) {
        a->n_seen = CF_RX_INF;
        a->n_seen_some = 0;
    } else {
        a->seen_keys = cf_rx_all(&s->rx);
    }
    return ok ? a : NULL;
}

static cf_dnf apply(cf_schema *s, uint32_t ref, cf_dnf d, const char *keyword, bool is_array)
{
    const json_t *v = cf_schema__get(s, s->ref[ref].s, keyword);
    if (v == NULL || !cf_schema_ok(s)) {
        return d;
    }
    cf_conj rest = cf_conj_one(s, cf_schema__child(s, ref, v, keyword), false);
    cf_dnf out = {0};
    for (size_t i = 0; i < d.n && cf_gbuild_spend(s->b, 1); i++) {
        const cf_atom *a = d.v[i];
        bool is_meant =
            a->kind == (is_array ? CF_ATOM_ARR : CF_ATOM_OBJ) ||
            (a->kind == CF_ATOM_LIT && (is_array ? json_is_array(a->lit) : json_is_object(a->lit)));
        a = is_meant ? narrow(s, a, is_array, rest) : a;
        if (a != NULL) {
            cf_dnf__add(s, &out, a);
        }
    }
    return out;
}

cf_dnf cf_dnf__unevaluated(cf_schema *s, uint32_t ref, cf_dnf d)
{
    d = apply(s, ref, d, "unevaluatedProperties", false);
    return apply(s, ref, d, "unevaluatedItems", true);
}
