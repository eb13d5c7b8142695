/*
 * schema_expand.c - expands keywords to a disjunctive normal form.
 *
 * A schema's own keywords give one atom for each type it allows
 * (schema_keywords.c); the combining keywords are then intersected with that.
 */
#include "core/schema/schema.h"

#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 120 };

static cf_dnf own_atoms(cf_schema *s, uint32_t ref)
{
    cf_dnf d = {0};
    for (int k = CF_ATOM_NULL; k <= CF_ATOM_OBJ; k++) {
        const cf_atom *a = cf_schema__own(s, ref, (cf_atom_kind)k);
        if (a != NULL && a->min <= a->max) {
            cf_dnf__add(s, &d, a);
        }
    }
    return d;
}

static const cf_dnf *child_dnf(cf_schema *s, uint32_t ref, const json_t *v, const char *key)
{
    cf_conj c = cf_conj_one(s, cf_schema__child(s, ref, v, key), false);
    return cf_conj_expand(s, c);
}

static cf_dnf with_values(cf_schema *s, uint32_t ref, cf_dnf d)
{
    const json_t *v = s->ref[ref].s;
    const json_t *all[2] = {cf_schema__get(s, v, "enum"), cf_schema__get(s, v, "const")};
    for (int w = 0; w < 2 && cf_schema_ok(s); w++) {
        if (all[w] == NULL || (w == 1 && s->draft < 6 && s->draft != 4)) {
            continue;
        }
        if (w == 0 && !json_is_array(all[w])) {
            cf_schema_fail(s, s->ref[ref].path, "enum is not an array");
            break;
        }
        cf_dnf kept = {0};
        size_t n = w == 0 ? json_array_size(all[w]) : 1;
        for (size_t i = 0; i < n && cf_gbuild_spend(s->b, 1); i++) {
            cf_atom *a = cf_atom__new(s, CF_ATOM_LIT);
            if (a == NULL) {
                break;
            }
            a->lit = w == 0 ? json_array_get(all[w], i) : all[w];
            bool is_in = false;
            for (size_t k = 0; k < d.n && !is_in && cf_schema_ok(s); k++) {
                is_in = cf_atom__accepts(s, d.v[k], a->lit);
                a->seen_keys = d.v[k]->seen_keys;
                a->n_seen = d.v[k]->n_seen;
                a->seen_some = d.v[k]->seen_some;
                a->n_seen_some = d.v[k]->n_seen_some;
            }
            if (is_in) {
                cf_dnf__add(s, &kept, a);
            }
        }
        d = kept;
    }
    return d;
}

static bool are_disjoint(cf_schema *s, const cf_dnf *x, const cf_dnf *y)
{
    for (size_t i = 0; i < x->n; i++) {
        for (size_t k = 0; k < y->n && cf_gbuild_spend(s->b, 4); k++) {
            const cf_atom *both = cf_atom__and(s, x->v[i], y->v[k]);
            if (both != NULL && !cf_atom__is_empty(s, both, 0)) {
                return false;
            }
        }
    }
    return cf_schema_ok(s);
}

static cf_dnf any_of(cf_schema *s, uint32_t ref, const json_t *v, const char *key)
{
    cf_dnf out = {0};
    for (size_t i = 0; i < json_array_size(v) && cf_schema_ok(s); i++) {
        char at[40];
        snprintf(at, sizeof at, "%s/%u", key, (unsigned)i);
        const cf_dnf *d = child_dnf(s, ref, json_array_get(v, i), at);
        size_t n_before = out.n;
        for (size_t k = 0; k < d->n; k++) {
            cf_dnf__add(s, &out, d->v[k]);
        }
        for (size_t k = 0; s->has_unevaluated && k < n_before * d->n; k++) {
            cf_dnf__add_both(s, &out, out.v[k % n_before], d->v[k / n_before]);
        }
    }
    return out;
}

/* Exactly one of the branches: a branch that overlaps others is cut by their
 * complements. */
static cf_dnf one_of(cf_schema *s, uint32_t ref, const json_t *v, const cf_dnf *outer)
{
    enum { BRANCH_MAX = 100 };
    size_t n = json_array_size(v);
    cf_dnf out = {0};
    if (n > BRANCH_MAX) {
        cf_schema_fail(s, s->ref[ref].path, "oneOf has too many branches");
        return out;
    }
    cf_dnf branch[BRANCH_MAX] = {0};
    for (size_t i = 0; i < n && cf_schema_ok(s); i++) {
        char at[40];
        snprintf(at, sizeof at, "oneOf/%u", (unsigned)i);
        const cf_dnf *d = child_dnf(s, ref, json_array_get(v, i), at);
        branch[i] = cf_dnf__and(s, outer, d);
    }
    for (size_t i = 0; i < n && cf_schema_ok(s); i++) {
        cf_dnf mine = branch[i];
        for (size_t k = 0; k < n && cf_schema_ok(s); k++) {
            if (k == i || are_disjoint(s, &branch[i], &branch[k])) {
                continue;
            }
            char at[40];
            snprintf(at, sizeof at, "oneOf/%u", (unsigned)k);
            cf_dnf not_k =
                cf_dnf__not(s, child_dnf(s, ref, json_array_get(v, k), at), s->ref[ref].path);
            mine = cf_dnf__and(s, &mine, &not_k);
        }
        for (size_t k = 0; k < mine.n && cf_schema_ok(s); k++) {
            cf_dnf__add(s, &out, mine.v[k]);
        }
    }
    return out;
}

/* if c then a else b = (c and a) or (not c and b) */
static cf_dnf choose(cf_schema *s, const cf_dnf *d, const cf_dnf *c, const cf_dnf *yes,
                     const cf_dnf *no, const char *path)
{
    cf_dnf out = {0};
    cf_dnf with = cf_dnf__and(s, d, c);
    cf_dnf all = yes != NULL ? cf_dnf__and(s, &with, yes) : with;
    for (size_t i = 0; i < all.n && cf_schema_ok(s); i++) {
        cf_dnf__add(s, &out, all.v[i]);
    }
    cf_dnf not_c = cf_dnf__not(s, c, path);
    cf_dnf without = cf_dnf__and(s, d, &not_c);
    all = no != NULL ? cf_dnf__and(s, &without, no) : without;
    for (size_t i = 0; i < all.n && cf_schema_ok(s); i++) {
        cf_dnf__add(s, &out, all.v[i]);
    }
    return out;
}

/* Schemas that apply if a key is present. */
static cf_dnf with_dependent(cf_schema *s, uint32_t ref, cf_dnf d)
{
    static const char *const keys[] = {"dependencies", "dependentSchemas"};
    for (int w = 0; w < 2; w++) {
        const char *has;
        json_t *then;
        json_object_foreach(cf_schema__get(s, s->ref[ref].s, keys[w]), has, then)
        {
            if (!cf_schema_ok(s) || json_is_array(then) || json_is_string(then)) {
                continue;
            }
            char at[200];
            snprintf(at, sizeof at, "%s/%s", keys[w], has);
            cf_dnf c = {0};
            cf_atom *a = cf_atom__new(s, CF_ATOM_OBJ);
            cf_prop *p = cf_schema_alloc(s, 1, sizeof *p);
            if (a == NULL || p == NULL) {
                return d;
            }
            *p = (cf_prop){cf_str_from(has), CF_CONJ_TRUE, true};
            a->prop = p;
            a->n_prop = 1;
            cf_dnf__add(s, &c, a);
            d = choose(s, &d, &c, child_dnf(s, ref, then, at), NULL, s->ref[ref].path);
        }
    }
    return d;
}

/* "if" with "then" and "else". */
static cf_dnf with_condition(cf_schema *s, uint32_t ref, cf_dnf d)
{
    const json_t *v = s->ref[ref].s;
    const json_t *cond = cf_schema__get(s, v, "if");
    if (cond != NULL && s->draft >= 7) {
        const json_t *yes = cf_schema__get(s, v, "then");
        const json_t *no = cf_schema__get(s, v, "else");
        if (yes != NULL || no != NULL) {
            d = choose(s, &d, child_dnf(s, ref, cond, "if"),
                       yes != NULL ? child_dnf(s, ref, yes, "then") : NULL,
                       no != NULL ? child_dnf(s, ref, no, "else") : NULL, s->ref[ref].path);
        } else if (s->has_unevaluated) {
            const cf_dnf *c = child_dnf(s, ref, cond, "if");
            size_t n = d.n;
            for (size_t i = 0; i < n * c->n && cf_schema_ok(s); i++) {
                cf_dnf__add_both(s, &d, d.v[i % n], c->v[i / n]);
            }
        }
    }
    return d;
}

static cf_dnf expand_schema(cf_schema *s, uint32_t ref)
{
    const json_t *v = s->ref[ref].s;
    cf_dnf d = {0};
    for (uint32_t i = 0; i < s->ref[ref].n_either && cf_schema_ok(s); i++) {
        const cf_dnf *one = cf_conj_expand(s, s->ref[ref].either[i]);
        for (size_t k = 0; k < one->n; k++) {
            cf_dnf__add(s, &d, one->v[k]);
        }
    }
    if (v == NULL) {
        return d;
    }
    const cf_dnf *target[CF_REFERENCES] = {NULL};
    for (int i = 0; i < CF_REFERENCES && cf_schema_ok(s); i++) {
        uint32_t other = cf_schema__target(s, ref, i);
        if (other != 0) {
            target[i] = cf_conj_expand(s, cf_conj_one(s, other, false));
        }
        if (target[i] != NULL && cf_schema__is_alias(s, v)) {
            return *target[i];
        }
    }
    cf_schema__refuse(s, ref);
    if (cf_schema_ok(s)) {
        d = own_atoms(s, ref);
    }
    d = with_values(s, ref, d);
    for (int i = 0; i < CF_REFERENCES && cf_schema_ok(s); i++) {
        if (target[i] != NULL) {
            d = cf_dnf__and(s, &d, target[i]);
        }
    }
    const json_t *all = cf_schema__get(s, v, "allOf");
    for (size_t i = 0; i < json_array_size(all) && cf_schema_ok(s); i++) {
        char at[40];
        snprintf(at, sizeof at, "allOf/%u", (unsigned)i);
        d = cf_dnf__and(s, &d, child_dnf(s, ref, json_array_get(all, i), at));
    }
    const json_t *any = cf_schema__get(s, v, "anyOf");
    if (any != NULL && cf_schema_ok(s)) {
        cf_dnf one = any_of(s, ref, any, "anyOf");
        d = cf_dnf__and(s, &d, &one);
    }
    if (cf_schema__get(s, v, "not") != NULL && s->draft >= 4 && cf_schema_ok(s)) {
        cf_dnf no =
            cf_dnf__not(s, child_dnf(s, ref, cf_schema__get(s, v, "not"), "not"), s->ref[ref].path);
        d = cf_dnf__and(s, &d, &no);
    }
    if (cf_schema_ok(s)) {
        d = with_condition(s, ref, d);
    }
    if (cf_schema_ok(s)) {
        d = with_dependent(s, ref, d);
    }
    const json_t *one = cf_schema__get(s, v, "oneOf");
    if (one != NULL && cf_schema_ok(s)) {
        d = one_of(s, ref, one, &d);
    }
    return s->has_unevaluated && s->draft >= 2019 ? cf_dnf__unevaluated(s, ref, d) : d;
}

const cf_dnf *cf_conj_expand(cf_schema *s, cf_conj c)
{
    static const cf_dnf nothing = {0};
    if (!cf_schema_ok(s)) {
        return &nothing;
    }
    cf_dnf *keep = cf_schema_alloc(s, 1, sizeof *keep);
    if (keep == NULL) {
        return &nothing;
    }
    if (s->conj[c].state == 2) {
        *keep = s->conj[c].dnf;
        return keep;
    }
    if (c == CF_CONJ_TRUE) {
        *keep = cf_dnf__all(s);
        s->conj[c].dnf = *keep;
        s->conj[c].state = 2;
        return keep;
    }
    cf_conj_info info = s->conj[c];
    uint32_t first = s->list[info.first] >> 1;
    if (info.state == 1) {
        cf_schema_fail(s, s->ref[first].path, "the schema contains itself");
        return &nothing;
    }
    if (++s->depth > DEPTH_MAX) {
        cf_schema__exceed(s, s->ref[first].path, "schemas nest over %d levels deep in each other",
                          (int)DEPTH_MAX);
        return &nothing;
    }
    s->conj[c].state = 1;
    const char *was_at = s->at;
    s->at = s->ref[first].path;
    cf_dnf d = {0};
    for (uint32_t i = 0; i < info.n && cf_schema_ok(s); i++) {
        uint32_t ref = s->list[info.first + i];
        cf_dnf one;
        if (info.n == 1 && (ref & 1) == 0) {
            one = expand_schema(s, ref >> 1);
        } else if ((ref & 1) == 0) {
            one = *cf_conj_expand(s, cf_conj_one(s, ref >> 1, false));
        } else {
            const cf_dnf *pos = cf_conj_expand(s, cf_conj_one(s, ref >> 1, false));
            one = cf_dnf__not(s, pos, s->ref[ref >> 1].path);
        }
        d = i == 0 ? one : cf_dnf__and(s, &d, &one);
    }
    s->depth--;
    s->at = was_at;
    s->conj[c].state = 2;
    s->conj[c].dnf = d;
    *keep = d;
    return keep;
}
