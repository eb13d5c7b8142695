/*
 * schema_not.c - complements a disjunctive normal form.
 *
 * The complement of an atom is every value of another type, or one of its
 * own type that breaks one of its conditions: "some item is wrong", "some key
 * of this pattern has a wrong value", "some key is not declared" are
 * conditions of atoms.
 */
#include "core/schema/schema.h"

#include <string.h>

enum { ITEMS_LISTED_MAX = 32 };

static void add_other_types(cf_schema *s, cf_dnf *d, cf_atom_kind kind)
{
    for (int k = CF_ATOM_NULL; k <= CF_ATOM_OBJ; k++) {
        cf_atom *a = k != (int)kind ? cf_atom__new(s, (cf_atom_kind)k) : NULL;
        if (a != NULL) {
            cf_dnf__add(s, d, a);
        }
    }
}

static cf_atom *add_new(cf_schema *s, cf_dnf *d, cf_atom_kind kind)
{
    cf_atom *a = cf_atom__new(s, kind);
    if (a != NULL) {
        cf_dnf__add(s, d, a);
    }
    return a;
}

/* An object with (value) or without (FALSE) the key. */
static void add_key(cf_schema *s, cf_dnf *d, cf_str name, cf_conj value)
{
    cf_atom *a = add_new(s, d, CF_ATOM_OBJ);
    cf_prop *p = cf_schema_alloc(s, 1, sizeof *p);
    if (a != NULL && p != NULL) {
        *p = (cf_prop){name, value, value != CF_CONJ_FALSE};
        a->prop = p;
        a->n_prop = 1;
    }
}

/* Objects whose key has a value that breaks c: one of its schemas. */
static void add_wrong_key(cf_schema *s, cf_dnf *d, cf_str name, cf_conj c)
{
    if (c == CF_CONJ_TRUE) {
        return;
    }
    if (c == CF_CONJ_FALSE) {
        add_key(s, d, name, CF_CONJ_TRUE);
        return;
    }
    cf_conj_info info = s->conj[c];
    for (uint32_t i = 0; i < info.n && cf_schema_ok(s); i++) {
        uint32_t r = s->list[info.first + i];
        add_key(s, d, name, cf_conj_one(s, r >> 1, (r & 1) == 0));
    }
}

static void add_wrong_item(cf_schema *s, cf_dnf *d, uint32_t at, cf_conj c)
{
    cf_conj_info info = {0};
    uint32_t n = 1;
    if (c == CF_CONJ_TRUE) {
        return;
    }
    if (c != CF_CONJ_FALSE) {
        info = s->conj[c];
        n = info.n;
    }
    for (uint32_t i = 0; i < n && cf_schema_ok(s); i++) {
        cf_atom *a = add_new(s, d, CF_ATOM_ARR);
        cf_conj *v = cf_schema_alloc(s, (size_t)at + 1, sizeof *v);
        if (a == NULL || v == NULL) {
            return;
        }
        if (c != CF_CONJ_FALSE) {
            uint32_t r = s->list[info.first + i];
            v[at] = cf_conj_one(s, r >> 1, (r & 1) == 0);
        }
        a->prefix = v; /* the others are CF_CONJ_TRUE, which is zero */
        a->n_prefix = at + 1;
        a->min = at + 1;
    }
}

/* Keys other than the declared ones. */
static cf_rx undeclared(cf_schema *s, const cf_atom *a, cf_rx keys)
{
    cf_rx names = CF_RX_NONE;
    for (uint32_t i = 0; i < a->n_prop && cf_schema_ok(s); i++) {
        names = cf_rx_or2(&s->rx, names, cf_rx_text(&s->rx, a->prop[i].name));
    }
    return cf_rx_and2(&s->rx, keys, cf_rx_not(&s->rx, names));
}

static void add_some_key(cf_schema *s, cf_dnf *d, cf_rx keys, cf_conj value)
{
    cf_atom *a = add_new(s, d, CF_ATOM_OBJ);
    cf_key_class *some = cf_schema_alloc(s, 1, sizeof *some);
    if (a != NULL && some != NULL) {
        *some = (cf_key_class){keys, value};
        a->some_key = some;
        a->n_some_key = 1;
        a->min = 1;
    }
}

/* Objects with a key among `keys` whose value breaks c. */
static void add_wrong_value(cf_schema *s, cf_dnf *d, cf_rx keys, cf_conj c)
{
    if (c == CF_CONJ_FALSE) {
        add_some_key(s, d, keys, CF_CONJ_TRUE);
        return;
    }
    cf_conj_info info = s->conj[c];
    for (uint32_t i = 0; i < info.n && cf_schema_ok(s); i++) {
        uint32_t r = s->list[info.first + i];
        add_some_key(s, d, keys, cf_conj_one(s, r >> 1, (r & 1) == 0));
    }
}

/* Objects all of whose keys among some->keys break some->value. */
static void add_no_key(cf_schema *s, cf_dnf *d, const cf_key_class *some)
{
    cf_conj no = cf_conj__not(s, some->value);
    cf_atom *a = add_new(s, d, CF_ATOM_OBJ);
    cf_key_class *cls = cf_schema_alloc(s, 2, sizeof *cls);
    if (a != NULL && cls != NULL) {
        cls[0] = (cf_key_class){cf_rx_not(&s->rx, some->keys), CF_CONJ_TRUE};
        cls[1] = (cf_key_class){some->keys, no};
        a->cls = cls;
        a->n_cls = no == CF_CONJ_FALSE ? 1 : 2;
    }
}

static void not_obj(cf_schema *s, const cf_atom *a, cf_dnf *d)
{
    for (uint32_t i = 0; i < a->n_prop; i++) {
        const cf_prop *p = &a->prop[i];
        if (p->is_required) {
            add_key(s, d, p->name, CF_CONJ_FALSE);
        }
        add_wrong_key(s, d, p->name, p->value);
    }
    for (uint32_t i = 0; i < a->n_dep; i++) {
        if (cf_str_eq(a->dep[i].has, a->dep[i].needs)) {
            continue; /* never broken */
        }
        cf_atom *x = add_new(s, d, CF_ATOM_OBJ);
        cf_prop *p = cf_schema_alloc(s, 2, sizeof *p);
        if (x == NULL || p == NULL) {
            return;
        }
        p[0] = (cf_prop){a->dep[i].has, CF_CONJ_TRUE, true};
        p[1] = (cf_prop){a->dep[i].needs, CF_CONJ_FALSE, false};
        x->prop = p;
        x->n_prop = 2;
    }
    for (uint32_t i = 0; i < a->n_some_key; i++) {
        add_no_key(s, d, &a->some_key[i]);
    }
    /* Objects with a wrong value for a key of a class, or with a key of no class. */
    cf_rx rest = cf_rx_all(&s->rx);
    for (uint32_t i = 0; i <= a->n_cls && cf_schema_ok(s); i++) {
        cf_conj value = CF_CONJ_FALSE;
        cf_rx keys = rest;
        if (i < a->n_cls) {
            value = a->cls[i].value;
            keys = a->cls[i].keys;
            rest = cf_rx_and2(&s->rx, rest, cf_rx_not(&s->rx, keys));
        }
        if (value == CF_CONJ_TRUE || keys == CF_RX_NONE) {
            continue;
        }
        keys = undeclared(s, a, keys);
        if (cf_schema_ok(s) && !cf_rx_is_empty(&s->rx, keys)) {
            add_wrong_value(s, d, keys, value);
        }
    }
}

/* Arrays with an item that breaks c: one of its schemas. */
static void add_some_wrong(cf_schema *s, cf_dnf *d, cf_conj c)
{
    cf_conj_info info = s->conj[c];
    for (uint32_t i = 0; i < info.n && cf_schema_ok(s); i++) {
        uint32_t r = s->list[info.first + i];
        cf_atom *a = add_new(s, d, CF_ATOM_ARR);
        cf_some *some = cf_schema_alloc(s, 1, sizeof *some);
        if (a != NULL && some != NULL) {
            *some = (cf_some){cf_conj_one(s, r >> 1, (r & 1) == 0), 1, CF_RX_INF};
            a->some = some;
            a->n_some = 1;
            a->min = 1;
        }
    }
}

static void not_arr(cf_schema *s, const cf_atom *a, cf_dnf *d, const char *path)
{
    if (a->is_unique) {
        cf_schema_fail(s, path, "the negation of uniqueItems is not supported");
        return;
    }
    for (uint32_t i = 0; i < a->n_some; i++) {
        const cf_some *some = &a->some[i];
        cf_some *v = cf_schema_alloc(s, 2, sizeof *v);
        for (int k = 0; v != NULL && k < 2; k++) {
            bool is_needed = k == 0 ? some->min > 0 : some->max != CF_RX_INF;
            cf_atom *x = is_needed ? add_new(s, d, CF_ATOM_ARR) : NULL;
            if (x != NULL && k == 0 && some->min == 1) {
                x->items = cf_conj__not(s, some->value);
                x->max = x->items == CF_CONJ_FALSE ? 0 : x->max;
            } else if (x != NULL) {
                v[k] = k == 0 ? (cf_some){some->value, 0, some->min - 1}
                              : (cf_some){some->value, some->max + 1, CF_RX_INF};
                x->some = &v[k];
                x->n_some = 1;
            }
        }
    }
    for (uint32_t i = 0; i < a->n_prefix; i++) {
        add_wrong_item(s, d, i, a->prefix[i]);
    }
    if (a->items == CF_CONJ_TRUE || a->items == CF_CONJ_FALSE) {
        return; /* FALSE has become a maximum */
    }
    if (a->n_prefix == 0) {
        add_some_wrong(s, d, a->items);
        return;
    }
    if (a->max > ITEMS_LISTED_MAX) {
        cf_schema_fail(s, path, "the negation of items is not supported");
        return;
    }
    for (uint32_t i = a->n_prefix; i < a->max; i++) {
        add_wrong_item(s, d, i, a->items);
    }
}

static void not_num(cf_schema *s, const cf_atom *a, cf_dnf *d)
{
    for (uint32_t i = 0; i < a->n_factor; i++) {
        cf_atom *x = add_new(s, d, CF_ATOM_NUM);
        if (x != NULL) {
            x->not_factor = &a->factor[i];
            x->n_not_factor = 1;
        }
    }
    for (uint32_t i = 0; i < a->n_not_factor; i++) {
        cf_atom *x = add_new(s, d, CF_ATOM_NUM);
        if (x != NULL) {
            x->factor = &a->not_factor[i];
            x->n_factor = 1;
        }
    }
    for (uint32_t i = 0; i < a->n_except; i++) {
        cf_atom *x = add_new(s, d, CF_ATOM_NUM);
        if (x != NULL) {
            x->lo = a->except[i];
            x->hi = a->except[i];
        }
    }
    if (a->num != CF_NUM_ANY) {
        cf_atom *x = add_new(s, d, CF_ATOM_NUM);
        if (x != NULL) {
            x->num = a->num == CF_NUM_INT ? CF_NUM_NOT_INT : CF_NUM_INT;
        }
    }
    if (a->lo != NULL) {
        cf_atom *x = add_new(s, d, CF_ATOM_NUM);
        if (x != NULL) {
            x->hi = a->lo;
            x->hi_open = !a->lo_open;
        }
    }
    if (a->hi != NULL) {
        cf_atom *x = add_new(s, d, CF_ATOM_NUM);
        if (x != NULL) {
            x->lo = a->hi;
            x->lo_open = !a->hi_open;
        }
    }
}

/* Texts of other lengths; counts out of range. */
static void not_counts(cf_schema *s, const cf_atom *a, cf_dnf *d)
{
    if (a->min > 0) {
        cf_atom *x = add_new(s, d, (cf_atom_kind)a->kind);
        if (x != NULL) {
            x->max = a->min - 1;
        }
    }
    if (a->max != CF_RX_INF) {
        cf_atom *x = add_new(s, d, (cf_atom_kind)a->kind);
        if (x != NULL) {
            x->min = a->max + 1;
        }
    }
}

static cf_dnf not_atom(cf_schema *s, const cf_atom *a, const char *path);

static void not_lit(cf_schema *s, const json_t *v, cf_dnf *d, const char *path)
{
    if (json_is_null(v)) {
        add_other_types(s, d, CF_ATOM_NULL);
    } else if (json_is_boolean(v)) {
        add_other_types(s, d, CF_ATOM_BOOL);
        cf_atom *a = add_new(s, d, CF_ATOM_BOOL);
        if (a != NULL) {
            a->bools = json_is_true(v) ? 1 : 2;
        }
    } else if (json_is_string(v)) {
        add_other_types(s, d, CF_ATOM_STR);
        cf_atom *a = add_new(s, d, CF_ATOM_STR);
        if (a != NULL) {
            cf_str t = cf_schema__text(v);
            a->text = cf_rx_not(&s->rx, cf_rx_text(&s->rx, t));
            a->wide = a->text;
        }
    } else if (json_is_number(v)) {
        add_other_types(s, d, CF_ATOM_NUM);
        cf_atom *a = add_new(s, d, CF_ATOM_NUM);
        const cf_dec **one = cf_schema_alloc(s, 1, sizeof *one);
        if (a != NULL && one != NULL) {
            *one = cf_dec__from(s, v);
            a->except = one;
            a->n_except = 1;
        }
    } else {
        const cf_atom *a = cf_atom__of_constant(s, v);
        if (a != NULL) {
            *d = not_atom(s, a, path);
        }
    }
}

static cf_dnf not_atom(cf_schema *s, const cf_atom *a, const char *path)
{
    cf_dnf d = {0};
    if (a->is_narrowed) {
        cf_schema_fail(s, path, "the negation of a format is not supported");
        return d;
    }
    if (a->kind == CF_ATOM_LIT) {
        not_lit(s, a->lit, &d, path);
        return d;
    }
    add_other_types(s, &d, (cf_atom_kind)a->kind);
    switch (a->kind) {
    case CF_ATOM_BOOL:
        if (a->bools != 3) {
            cf_atom *x = add_new(s, &d, CF_ATOM_BOOL);
            if (x != NULL) {
                x->bools = (uint8_t)(3 - a->bools);
            }
        }
        break;
    case CF_ATOM_NUM:
        not_num(s, a, &d);
        break;
    case CF_ATOM_STR: {
        cf_rx other = cf_rx_not(&s->rx, a->wide);
        if (cf_schema_ok(s) && other != CF_RX_NONE) {
            cf_atom *x = add_new(s, &d, CF_ATOM_STR);
            if (x != NULL) {
                x->text = other;
                x->wide = cf_rx_not(&s->rx, a->text);
            }
        }
        not_counts(s, a, &d);
        break;
    }
    case CF_ATOM_ARR:
        not_arr(s, a, &d, path);
        not_counts(s, a, &d);
        break;
    case CF_ATOM_OBJ:
        not_obj(s, a, &d);
        not_counts(s, a, &d);
        break;
    default:
        break;
    }
    return d;
}

cf_dnf cf_dnf__not(cf_schema *s, const cf_dnf *x, const char *path)
{
    cf_dnf out = cf_dnf__all(s);
    for (size_t i = 0; i < x->n && cf_schema_ok(s); i++) {
        cf_dnf one = not_atom(s, x->v[i], path);
        out = cf_dnf__and(s, &out, &one);
    }
    return out;
}
