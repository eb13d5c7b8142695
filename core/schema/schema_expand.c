/*
 * schema_expand.c - from keywords to a disjunctive normal form.
 *
 * A schema's own keywords give one atom for each type it allows; the
 * combining keywords are then intersected with that.
 */
#include "core/schema/schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 120 };

static json_t *get(const json_t *v, const char *key)
{
    return json_object_get(v, key);
}

/* A count keyword: 0 .. UINT32_MAX - 1; `otherwise` when absent. */
static uint32_t count_of(cf_schema *s, uint32_t ref, const char *key,
                         uint32_t otherwise)
{
    const cf_schema_ref r = s->ref[ref];
    const json_t *v = get(r.s, key);
    if (v == NULL) {
        return otherwise;
    }
    double d = json_is_number(v) ? json_number_value(v) : -1;
    if (d < 0 || d != floor(d)) {
        cf_schema_fail(s, r.path, "%s is not a count", key);
        return otherwise;
    }
    return d >= 1e9 ? 1000000000 : (uint32_t)d;
}

/* ---- atoms of one type -------------------------------------------------- */

static void number_keywords(cf_schema *s, uint32_t ref, cf_atom *a)
{
    const cf_schema_ref r = s->ref[ref];
    static const char *const keys[] = {"minimum",    "exclusiveMinimum",
                                       "maximum",    "exclusiveMaximum",
                                       "multipleOf", "divisibleBy"};
    for (int i = 0; i < 6; i++) {
        const json_t *v = get(r.s, keys[i]);
        if (v == NULL || (i == 5 && s->draft != 3)) {
            continue;
        }
        if (json_is_boolean(v) && (i == 1 || i == 3)) {
            if (json_is_true(v)) { /* draft 4: a flag for the plain bound */
                *(i == 1 ? &a->lo_open : &a->hi_open) = true;
            }
            continue;
        }
        const cf_dec *d = json_is_number(v) ? cf_dec__from(s, v) : NULL;
        if (d == NULL) {
            cf_schema_fail(s, r.path, "%s is not a number", keys[i]);
            return;
        }
        if (i >= 4) {
            const cf_dec **one = cf_schema_alloc(s, 1, sizeof *one);
            if (one == NULL || d->neg || d->n_whole + d->n_frac == 0) {
                cf_schema_fail(s, r.path, "%s is not positive", keys[i]);
                return;
            }
            *one = d;
            a->factor = one;
            a->n_factor = 1;
        } else if (i < 2) {
            int c = a->lo != NULL ? cf_dec__cmp(d, a->lo) : 1;
            if (c > 0 || (c == 0 && i == 1)) {
                a->lo = d;
                a->lo_open = a->lo_open || i == 1;
            }
        } else {
            int c = a->hi != NULL ? cf_dec__cmp(d, a->hi) : -1;
            if (c < 0 || (c == 0 && i == 3)) {
                a->hi = d;
                a->hi_open = a->hi_open || i == 3;
            }
        }
    }
}

static void string_keywords(cf_schema *s, uint32_t ref, cf_atom *a)
{
    const cf_schema_ref r = s->ref[ref];
    a->min = count_of(s, ref, "minLength", 0);
    a->max = count_of(s, ref, "maxLength", CF_RX_INF);
    const json_t *pattern = get(r.s, "pattern");
    if (pattern != NULL) {
        if (!json_is_string(pattern)) {
            cf_schema_fail(s, r.path, "pattern is not a string");
            return;
        }
        cf_rx p = cf_rx_parse(&s->rx, cf_schema__text(pattern), true);
        if (!cf_schema_ok(s)) {
            cf_fail_in(&s->b->err, s->b->st, r.path);
            return;
        }
        a->text = cf_rx_and2(&s->rx, a->text, p);
    }
    const char *format = json_string_value(get(r.s, "format"));
    if (format != NULL) {
        bool is_exact = true;
        cf_rx f = cf_schema__format(s, format, r.path, &is_exact);
        if (cf_schema_ok(s) && f != CF_RX_FAIL) {
            a->text = cf_rx_and2(&s->rx, a->text, f);
            a->is_narrowed = !is_exact;
        }
    }
}

static void array_keywords(cf_schema *s, uint32_t ref, cf_atom *a)
{
    const cf_schema_ref r = s->ref[ref];
    a->min = count_of(s, ref, "minItems", 0);
    a->max = count_of(s, ref, "maxItems", CF_RX_INF);
    const json_t *items = get(r.s, "items");
    const json_t *prefix = get(r.s, "prefixItems");
    const char *prefix_key = "prefixItems";
    const char *rest_key = "items";
    if (json_is_array(items)) {
        prefix = items;
        prefix_key = "items";
        items = get(r.s, "additionalItems");
        rest_key = "additionalItems";
    }
    size_t n = json_array_size(prefix);
    if (n > 0) {
        cf_conj *v = cf_schema_alloc(s, n, sizeof *v);
        for (size_t i = 0; v != NULL && i < n; i++) {
            char key[40];
            snprintf(key, sizeof key, "%s/%u", prefix_key, (unsigned)i);
            uint32_t c =
                cf_schema__child(s, ref, json_array_get(prefix, i), key);
            v[i] = cf_conj_one(s, c, false);
        }
        a->prefix = v;
        a->n_prefix = v != NULL ? (uint32_t)n : 0;
    }
    if (items != NULL) {
        a->items =
            cf_conj_one(s, cf_schema__child(s, ref, items, rest_key), false);
    }
    if (a->items == CF_CONJ_FALSE) {
        a->max = a->max < a->n_prefix ? a->max : a->n_prefix;
    }
    if (json_is_true(get(r.s, "uniqueItems")) && a->max > 1) {
        cf_schema_fail(s, r.path, "uniqueItems is not supported");
    }
    const json_t *contains = get(r.s, "contains");
    if (contains != NULL && s->draft >= 6) {
        const json_t *least = get(r.s, "minContains");
        bool is_void = s->draft >= 2019 && json_is_integer(least) &&
                       json_integer_value(least) == 0 &&
                       get(r.s, "maxContains") == NULL;
        if (!is_void) {
            cf_schema_fail(s, r.path, "contains is not supported");
        }
    }
}

typedef struct key_split {
    cf_rx keys;
    cf_conj value;
    bool is_matched; /* by a pattern */
} key_split;

enum { CLASSES_MAX = 64 };

/* Splits the keys by patternProperties; returns the number of classes. */
static size_t split_by_patterns(cf_schema *s, uint32_t ref, key_split *v)
{
    json_t *patterns = get(s->ref[ref].s, "patternProperties");
    size_t n = 1;
    v[0] = (key_split){cf_rx_all(&s->rx), CF_CONJ_TRUE, false};
    const char *key;
    json_t *child;
    json_object_foreach(patterns, key, child)
    {
        char at[200];
        snprintf(at, sizeof at, "patternProperties/%s", key);
        cf_conj c = cf_conj_one(s, cf_schema__child(s, ref, child, at), false);
        cf_rx p = cf_rx_parse(&s->rx, cf_str_from(key), true);
        if (!cf_schema_ok(s)) {
            cf_fail_in(&s->b->err, s->b->st, s->ref[ref].path);
            return 0;
        }
        size_t had = n;
        for (size_t i = 0; i < had; i++) {
            key_split in = v[i];
            in.keys = cf_rx_and2(&s->rx, v[i].keys, p);
            in.value = cf_conj__and(s, v[i].value, c);
            in.is_matched = true;
            v[i].keys = cf_rx_and2(&s->rx, v[i].keys, cf_rx_not(&s->rx, p));
            if (n == CLASSES_MAX) {
                cf_schema_fail(s, s->ref[ref].path,
                               "patternProperties overlap in too many ways");
                return 0;
            }
            if (cf_schema_ok(s) && !cf_rx_is_empty(&s->rx, in.keys)) {
                v[n++] = in;
            }
        }
    }
    return n;
}

static void key_classes(cf_schema *s, uint32_t ref, cf_atom *a)
{
    const cf_schema_ref r = s->ref[ref];
    key_split v[CLASSES_MAX];
    size_t n = split_by_patterns(s, ref, v);
    cf_conj more = CF_CONJ_TRUE;
    const json_t *additional = get(r.s, "additionalProperties");
    if (additional != NULL) {
        more = cf_conj_one(
            s, cf_schema__child(s, ref, additional, "additionalProperties"),
            false);
    }
    cf_key_class *cls = cf_schema_alloc(s, n, sizeof *cls);
    if (cls == NULL) {
        return;
    }
    a->n_cls = 0;
    a->cls = cls;
    for (size_t i = 0; i < n; i++) {
        cf_conj c = v[i].is_matched ? v[i].value : more;
        if (c != CF_CONJ_FALSE && v[i].keys != CF_RX_NONE) {
            cls[a->n_cls++] = (cf_key_class){v[i].keys, c};
        }
    }
}

/* "propertyNames": narrows the classes and strikes declared names. */
static void key_names(cf_schema *s, uint32_t ref, cf_atom *a, cf_prop *props)
{
    const json_t *names = get(s->ref[ref].s, "propertyNames");
    if (names == NULL || s->draft < 6) {
        return;
    }
    cf_conj c =
        cf_conj_one(s, cf_schema__child(s, ref, names, "propertyNames"), false);
    const cf_dnf *d = cf_conj_expand(s, c);
    cf_rx all = CF_RX_NONE;
    for (size_t i = 0; cf_schema_ok(s) && i < d->n; i++) {
        const cf_atom *x = d->v[i];
        if (x->kind == CF_ATOM_STR) {
            cf_rx len = cf_rx_loop(&s->rx, cf_rx_any(&s->rx), x->min, x->max);
            cf_rx one = cf_rx_and2(&s->rx, x->text, len);
            all = cf_rx_or2(&s->rx, all, one);
            a->is_narrowed |= x->is_narrowed;
        } else if (x->kind == CF_ATOM_LIT && json_is_string(x->lit)) {
            cf_str t = cf_schema__text(x->lit);
            all = cf_rx_or2(&s->rx, all, cf_rx_text(&s->rx, t));
        }
    }
    for (uint32_t i = 0; cf_schema_ok(s) && i < a->n_prop; i++) {
        if (!cf_rx_matches(&s->rx, all, props[i].name)) {
            props[i].value = CF_CONJ_FALSE;
        }
    }
    cf_key_class *cls = cf_schema_alloc(s, a->n_cls, sizeof *cls);
    uint32_t n = 0;
    for (uint32_t i = 0; cls != NULL && i < a->n_cls; i++) {
        cf_rx k = cf_rx_and2(&s->rx, a->cls[i].keys, all);
        if (cf_schema_ok(s) && !cf_rx_is_empty(&s->rx, k)) {
            cls[n++] = (cf_key_class){k, a->cls[i].value};
        }
    }
    a->cls = cls;
    a->n_cls = n;
}

static cf_prop *find_prop(cf_prop *v, uint32_t n, cf_str name)
{
    for (uint32_t i = 0; i < n; i++) {
        if (cf_str_eq(v[i].name, name)) {
            return &v[i];
        }
    }
    return NULL;
}

/* Declared properties, each with what patterns add to it. */
static uint32_t declared(cf_schema *s, uint32_t ref, cf_prop *v)
{
    json_t *props = get(s->ref[ref].s, "properties");
    json_t *patterns = get(s->ref[ref].s, "patternProperties");
    uint32_t n = 0;
    const char *key;
    json_t *child;
    json_object_foreach(props, key, child)
    {
        if (!cf_schema_ok(s)) {
            return 0;
        }
        char at[200];
        snprintf(at, sizeof at, "properties/%s", key);
        cf_conj c = cf_conj_one(s, cf_schema__child(s, ref, child, at), false);
        const char *pattern;
        json_t *more;
        json_object_foreach(patterns, pattern, more)
        {
            cf_rx p = cf_rx_parse(&s->rx, cf_str_from(pattern), true);
            if (cf_schema_ok(s) && cf_rx_matches(&s->rx, p, cf_str_from(key))) {
                snprintf(at, sizeof at, "patternProperties/%s", pattern);
                c = cf_conj__and(
                    s, c,
                    cf_conj_one(s, cf_schema__child(s, ref, more, at), false));
            }
        }
        v[n++] = (cf_prop){cf_str_from(key), c, false};
    }
    return n;
}

static void require(cf_schema *s, cf_atom *a, cf_prop *v, const char *name)
{
    cf_str key = cf_str_from(name);
    cf_prop *p = find_prop(v, a->n_prop, key);
    if (p == NULL) {
        cf_conj c = CF_CONJ_FALSE;
        for (uint32_t i = 0; cf_schema_ok(s) && i < a->n_cls; i++) {
            if (cf_rx_matches(&s->rx, a->cls[i].keys, key)) {
                c = a->cls[i].value;
                break;
            }
        }
        p = &v[a->n_prop++];
        *p = (cf_prop){key, c, true};
    }
    p->is_required = true;
}

/* "dependentRequired" and the array form of "dependencies". */
static void key_deps(cf_schema *s, uint32_t ref, cf_atom *a)
{
    static const char *const keys[] = {"dependencies", "dependentRequired"};
    size_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        cf_dep *v = pass == 1 ? cf_schema_alloc(s, n, sizeof *v) : NULL;
        size_t k = 0;
        for (int w = 0; w < 2; w++) {
            const char *has;
            json_t *needs;
            json_object_foreach(get(s->ref[ref].s, keys[w]), has, needs)
            {
                size_t m = json_is_string(needs) ? 1 : json_array_size(needs);
                for (size_t i = 0; i < m; i++) {
                    const json_t *one = json_is_string(needs)
                                            ? needs
                                            : json_array_get(needs, i);
                    if (!json_is_string(one)) {
                        cf_schema_fail(s, s->ref[ref].path,
                                       "%s holds what is no name", keys[w]);
                        return;
                    }
                    if (v != NULL) {
                        v[k] = (cf_dep){cf_str_from(has),
                                        cf_str_from(json_string_value(one))};
                    }
                    k++;
                }
            }
        }
        n = k;
        a->dep = v;
    }
    a->n_dep = (uint32_t)n;
}

static void object_keywords(cf_schema *s, uint32_t ref, cf_atom *a)
{
    const cf_schema_ref r = s->ref[ref];
    const json_t *required = get(r.s, "required");
    size_t n =
        json_object_size(get(r.s, "properties")) + json_array_size(required);
    a->min = count_of(s, ref, "minProperties", 0);
    a->max = count_of(s, ref, "maxProperties", CF_RX_INF);
    cf_prop *v = cf_schema_alloc(s, n, sizeof *v);
    if (v == NULL || !cf_gbuild_spend(s->b, n)) {
        return;
    }
    a->prop = v;
    a->n_prop = declared(s, ref, v);
    key_classes(s, ref, a);
    if (!cf_schema_ok(s)) {
        return;
    }
    key_names(s, ref, a, v);
    if (required != NULL && !json_is_array(required)) {
        cf_schema_fail(s, r.path, "required is not an array");
        return;
    }
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        if (name == NULL) {
            cf_schema_fail(s, r.path, "required holds what is no name");
            return;
        }
        require(s, a, v, name);
    }
    key_deps(s, ref, a);
}

/* ---- one schema --------------------------------------------------------- */

static unsigned type_bit(const cf_schema *s, const char *t)
{
    static const struct {
        const char *name, *loud;
        unsigned bits;
    } known[] = {{"null", "NULL", 1},       {"boolean", "BOOLEAN", 2},
                 {"number", "NUMBER", 4},   {"string", "STRING", 8},
                 {"array", "ARRAY", 16},    {"object", "OBJECT", 32},
                 {"integer", "INTEGER", 64}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(t, known[i].name) == 0 ||
            (s->is_tool && strcmp(t, known[i].loud) == 0)) {
            return known[i].bits;
        }
    }
    if (s->draft == 3 && strcmp(t, "any") == 0) {
        return 63;
    }
    if (s->is_tool) {
        static const struct {
            const char *name;
            unsigned bits;
        } loose[] = {{"any", 63},   {"dict", 32}, {"float", 4},
                     {"double", 4}, {"int", 64},  {"str", 8},
                     {"bool", 2},   {"list", 16}, {"tuple", 16}};
        for (size_t i = 0; i < sizeof loose / sizeof *loose; i++) {
            if (strcmp(t, loose[i].name) == 0) {
                return loose[i].bits;
            }
        }
    }
    return 0;
}

static unsigned types_of(cf_schema *s, uint32_t ref)
{
    const cf_schema_ref r = s->ref[ref];
    const json_t *type = get(r.s, "type");
    unsigned bits = 0;
    if (type == NULL) {
        return 63;
    }
    size_t n = json_is_array(type) ? json_array_size(type) : 1;
    for (size_t i = 0; i < n; i++) {
        const json_t *t = json_is_array(type) ? json_array_get(type, i) : type;
        unsigned b = json_is_string(t) ? type_bit(s, json_string_value(t)) : 0;
        if (b == 0) {
            cf_schema_fail(s, r.path, "type is none of JSON Schema's");
            return 0;
        }
        bits |= b;
    }
    if (s->is_tool && json_is_true(get(r.s, "nullable"))) {
        bits |= 1;
    }
    return bits;
}

static cf_dnf own_atoms(cf_schema *s, uint32_t ref)
{
    cf_dnf d = {0};
    unsigned types = types_of(s, ref);
    static const cf_atom_kind kinds[] = {CF_ATOM_NULL, CF_ATOM_BOOL,
                                         CF_ATOM_NUM,  CF_ATOM_STR,
                                         CF_ATOM_ARR,  CF_ATOM_OBJ};
    for (int i = 0; i < 6 && cf_schema_ok(s); i++) {
        bool is_int =
            kinds[i] == CF_ATOM_NUM && (types & 4) == 0 && (types & 64) != 0;
        if ((types >> i & 1) == 0 && !is_int) {
            continue;
        }
        cf_atom *a = cf_atom__new(s, kinds[i]);
        if (a == NULL) {
            break;
        }
        switch (kinds[i]) {
        case CF_ATOM_NUM:
            a->num = is_int ? CF_NUM_INT : CF_NUM_ANY;
            number_keywords(s, ref, a);
            break;
        case CF_ATOM_STR:
            string_keywords(s, ref, a);
            break;
        case CF_ATOM_ARR:
            array_keywords(s, ref, a);
            break;
        case CF_ATOM_OBJ:
            object_keywords(s, ref, a);
            break;
        default:
            break;
        }
        if (a->min <= a->max) {
            cf_dnf__add(s, &d, a);
        }
    }
    return d;
}

static const cf_dnf *child_dnf(cf_schema *s, uint32_t ref, const json_t *v,
                               const char *key)
{
    cf_conj c = cf_conj_one(s, cf_schema__child(s, ref, v, key), false);
    return cf_conj_expand(s, c);
}

static cf_dnf with_values(cf_schema *s, uint32_t ref, cf_dnf d)
{
    const json_t *v = s->ref[ref].s;
    const json_t *all[2] = {get(v, "enum"), get(v, "const")};
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

static cf_dnf any_of(cf_schema *s, uint32_t ref, const json_t *v,
                     const char *key)
{
    cf_dnf out = {0};
    for (size_t i = 0; i < json_array_size(v) && cf_schema_ok(s); i++) {
        char at[40];
        snprintf(at, sizeof at, "%s/%u", key, (unsigned)i);
        const cf_dnf *d = child_dnf(s, ref, json_array_get(v, i), at);
        for (size_t k = 0; k < d->n; k++) {
            cf_dnf__add(s, &out, d->v[k]);
        }
    }
    return out;
}

/* Exactly one of the branches: a branch that overlaps others is cut by their
 * complements. */
static cf_dnf one_of(cf_schema *s, uint32_t ref, const json_t *v,
                     const cf_dnf *outer)
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
                cf_dnf__not(s, child_dnf(s, ref, json_array_get(v, k), at),
                            s->ref[ref].path);
            mine = cf_dnf__and(s, &mine, &not_k);
        }
        for (size_t k = 0; k < mine.n && cf_schema_ok(s); k++) {
            cf_dnf__add(s, &out, mine.v[k]);
        }
    }
    return out;
}

/* if c then a else b = (c and a) or (not c and b) */
static cf_dnf choose(cf_schema *s, const cf_dnf *d, const cf_dnf *c,
                     const cf_dnf *yes, const cf_dnf *no, const char *path)
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

/* Schemas that hold once a key is there. */
static cf_dnf with_dependent(cf_schema *s, uint32_t ref, cf_dnf d)
{
    static const char *const keys[] = {"dependencies", "dependentSchemas"};
    for (int w = 0; w < 2; w++) {
        const char *has;
        json_t *then;
        json_object_foreach(get(s->ref[ref].s, keys[w]), has, then)
        {
            if (!cf_schema_ok(s) || json_is_array(then) ||
                json_is_string(then)) {
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
            d = choose(s, &d, &c, child_dnf(s, ref, then, at), NULL,
                       s->ref[ref].path);
        }
    }
    return d;
}

static void refuse_unknown(cf_schema *s, uint32_t ref)
{
    static const char *const keys[] = {
        "unevaluatedProperties", "unevaluatedItems", "$dynamicRef",
        "$recursiveRef",         "extends",          "disallow"};
    const cf_schema_ref r = s->ref[ref];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *v = get(r.s, keys[i]);
        bool is_asserted = i < 4 ? s->draft >= 2019 : s->draft == 3;
        if (v != NULL && is_asserted && !(i < 2 && json_is_true(v))) {
            cf_schema_fail(s, r.path, "%s is not supported", keys[i]);
        }
    }
}

/* A keyword of another shape than it has would otherwise say nothing.  An
 * empty array in the place of an object does say nothing. */
static void refuse_misshapen(cf_schema *s, uint32_t ref)
{
    static const struct {
        const char *key;
        char shape; /* object, array, boolean or string */
    } known[] = {{"properties", 'o'},
                 {"patternProperties", 'o'},
                 {"dependencies", 'o'},
                 {"dependentRequired", 'o'},
                 {"dependentSchemas", 'o'},
                 {"allOf", 'a'},
                 {"anyOf", 'a'},
                 {"oneOf", 'a'},
                 {"prefixItems", 'a'},
                 {"uniqueItems", 'b'},
                 {"format", 's'}};
    const cf_schema_ref r = s->ref[ref];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const json_t *v = get(r.s, known[i].key);
        char shape = known[i].shape;
        bool ok = v == NULL || (shape == 'o'   ? json_is_object(v)
                                : shape == 'a' ? json_is_array(v)
                                : shape == 'b' ? json_is_boolean(v)
                                               : json_is_string(v));
        if (!ok &&
            !(shape == 'o' && json_is_array(v) && json_array_size(v) == 0)) {
            cf_schema_fail(s, r.path, "%s is not %s", known[i].key,
                           shape == 'o'   ? "an object"
                           : shape == 'a' ? "an array"
                           : shape == 'b' ? "true or false"
                                          : "a string");
        }
    }
}

static cf_dnf expand_schema(cf_schema *s, uint32_t ref)
{
    const json_t *v = s->ref[ref].s;
    cf_dnf d = {0};
    const json_t *to = get(v, "$ref");
    if (to != NULL && !json_is_string(to)) {
        cf_schema_fail(s, s->ref[ref].path, "$ref is not a string");
        return d;
    }
    const cf_dnf *target = NULL;
    if (to != NULL) {
        uint32_t other = cf_schema__resolve(s, ref, json_string_value(to));
        target = cf_conj_expand(s, cf_conj_one(s, other, false));
        if (s->draft <= 7) {
            return *target; /* neighbours of $ref were ignored then */
        }
    }
    refuse_unknown(s, ref);
    refuse_misshapen(s, ref);
    if (cf_schema_ok(s)) {
        d = own_atoms(s, ref);
    }
    d = with_values(s, ref, d);
    if (target != NULL) {
        d = cf_dnf__and(s, &d, target);
    }
    const json_t *all = get(v, "allOf");
    for (size_t i = 0; i < json_array_size(all) && cf_schema_ok(s); i++) {
        char at[40];
        snprintf(at, sizeof at, "allOf/%u", (unsigned)i);
        d = cf_dnf__and(s, &d, child_dnf(s, ref, json_array_get(all, i), at));
    }
    const json_t *any = get(v, "anyOf");
    if (any != NULL && cf_schema_ok(s)) {
        cf_dnf one = any_of(s, ref, any, "anyOf");
        d = cf_dnf__and(s, &d, &one);
    }
    if (get(v, "not") != NULL && s->draft >= 4 && cf_schema_ok(s)) {
        cf_dnf no = cf_dnf__not(s, child_dnf(s, ref, get(v, "not"), "not"),
                                s->ref[ref].path);
        d = cf_dnf__and(s, &d, &no);
    }
    const json_t *cond = get(v, "if");
    if (cond != NULL && s->draft >= 7 && cf_schema_ok(s)) {
        const json_t *yes = get(v, "then");
        const json_t *no = get(v, "else");
        if (yes != NULL || no != NULL) {
            d = choose(s, &d, child_dnf(s, ref, cond, "if"),
                       yes != NULL ? child_dnf(s, ref, yes, "then") : NULL,
                       no != NULL ? child_dnf(s, ref, no, "else") : NULL,
                       s->ref[ref].path);
        }
    }
    if (cf_schema_ok(s)) {
        d = with_dependent(s, ref, d);
    }
    const json_t *one = get(v, "oneOf");
    if (one != NULL && cf_schema_ok(s)) {
        d = one_of(s, ref, one, &d);
    }
    return d;
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
    if (info.state == 1 || ++s->depth > DEPTH_MAX) {
        cf_schema_fail(s, s->ref[first].path, "the schema contains itself");
        return &nothing;
    }
    s->conj[c].state = 1;
    cf_dnf d = {0};
    for (uint32_t i = 0; i < info.n && cf_schema_ok(s); i++) {
        uint32_t ref = s->list[info.first + i];
        cf_dnf one;
        if (info.n == 1 && (ref & 1) == 0) {
            one = expand_schema(s, ref >> 1);
        } else if ((ref & 1) == 0) {
            one = *cf_conj_expand(s, cf_conj_one(s, ref >> 1, false));
        } else {
            const cf_dnf *pos =
                cf_conj_expand(s, cf_conj_one(s, ref >> 1, false));
            one = cf_dnf__not(s, pos, s->ref[ref >> 1].path);
        }
        d = i == 0 ? one : cf_dnf__and(s, &d, &one);
    }
    s->depth--;
    s->conj[c].state = 2;
    s->conj[c].dnf = d;
    *keep = d;
    return keep;
}
