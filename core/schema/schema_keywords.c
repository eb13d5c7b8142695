/*
 * schema_keywords.c - reads the keywords of one schema as atoms, one for each
 * type.
 *
 * The only reader of the keywords of values: the grammar is made of these
 * atoms, and instances are checked against them (validate.c).  What combines
 * schemas is read in schema_expand.c and validate.c.
 */
#include "core/schema/schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Whether a keyword is of the vocabulary of validation (2019-09 and later). */
static bool is_validation(const char *key)
{
    static const char *const known[] = {
        "type",        "enum",          "const",         "multipleOf",       "maximum",
        "minimum",     "maxLength",     "minLength",     "exclusiveMaximum", "pattern",
        "maxItems",    "minItems",      "uniqueItems",   "exclusiveMinimum", "maxContains",
        "minContains", "maxProperties", "minProperties", "required",         "dependentRequired"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(key, known[i]) == 0) {
            return true;
        }
    }
    return false;
}

json_t *cf_schema__get(const cf_schema *s, const json_t *v, const char *key)
{
    if (s->skips_validation && is_validation(key)) {
        return NULL;
    }
    json_t *found = json_object_get(v, key);
    if (found != NULL || !s->is_tool || !json_is_object(v)) {
        return found;
    }
    char snake[40];
    size_t n = 0;
    for (const char *c = key; *c != '\0' && n + 2 < sizeof snake; c++) {
        bool is_upper = *c >= 'A' && *c <= 'Z';
        if (is_upper) {
            snake[n++] = '_';
        }
        snake[n++] = (char)(is_upper ? *c - 'A' + 'a' : *c);
    }
    snake[n] = '\0';
    return json_object_get(v, snake);
}

/* Reads a count keyword, 0 .. UINT32_MAX - 1; `otherwise` if absent. */
static uint32_t count_of(cf_schema *s, uint32_t ref, const char *key, uint32_t otherwise)
{
    const cf_schema_ref r = s->ref[ref];
    const json_t *v = cf_schema__get(s, r.s, key);
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

typedef enum number_rule { LOWER, UPPER, FACTOR } number_rule;

/* The meaning of a keyword for numbers. */
typedef struct number_keyword {
    const char *name;
    number_rule rule;
    bool is_exclusive; /* in draft 4 a flag of the plain bound */
    int draft;         /* the only one that has it; 0: all of them */
} number_keyword;

static const number_keyword number_table[] = {
    {"minimum", LOWER, false, 0},     {"exclusiveMinimum", LOWER, true, 0},
    {"maximum", UPPER, false, 0},     {"exclusiveMaximum", UPPER, true, 0},
    {"multipleOf", FACTOR, false, 0}, {"divisibleBy", FACTOR, false, 3},
};

/* Narrows the atom to one side of `d`. */
static void put_bound(cf_atom *a, const number_keyword *k, const cf_dec *d)
{
    const cf_dec **limit = k->rule == LOWER ? &a->lo : &a->hi;
    bool *is_open = k->rule == LOWER ? &a->lo_open : &a->hi_open;
    int c = *limit == NULL ? 1 : k->rule == LOWER ? cf_dec__cmp(d, *limit) : cf_dec__cmp(*limit, d);
    if (c > 0 || (c == 0 && k->is_exclusive)) {
        *limit = d;
        *is_open = *is_open || k->is_exclusive;
    }
}

static void put_factor(cf_schema *s, cf_atom *a, const cf_dec *d)
{
    const cf_dec **one = cf_schema_alloc(s, 1, sizeof *one);
    if (one != NULL) {
        *one = d;
        a->factor = one;
        a->n_factor = 1;
    }
}

static void number_keywords(cf_schema *s, uint32_t ref, cf_atom *a)
{
    const cf_schema_ref r = s->ref[ref];
    for (size_t i = 0; i < sizeof number_table / sizeof number_table[0]; i++) {
        const number_keyword *k = &number_table[i];
        const json_t *v = cf_schema__get(s, r.s, k->name);
        if (v == NULL || (k->draft != 0 && s->draft != k->draft)) {
            continue;
        }
        if (json_is_boolean(v) && k->is_exclusive) {
            if (json_is_true(v)) {
                *(k->rule == LOWER ? &a->lo_open : &a->hi_open) = true;
            }
            continue;
        }
        const cf_dec *d = cf_dec__from(s, v);
        if (d == NULL) {
            cf_schema_fail(s, r.path, "%s is not a number", k->name);
            return;
        }
        if (k->rule != FACTOR) {
            put_bound(a, k, d);
        } else if (d->neg || d->n_whole + d->n_frac == 0) {
            cf_schema_fail(s, r.path, "%s is not positive", k->name);
            return;
        } else {
            put_factor(s, a, d);
        }
    }
}

static void string_keywords(cf_schema *s, uint32_t ref, cf_atom *a)
{
    const cf_schema_ref r = s->ref[ref];
    a->min = count_of(s, ref, "minLength", 0);
    a->max = count_of(s, ref, "maxLength", CF_RX_INF);
    const json_t *pattern = cf_schema__get(s, r.s, "pattern");
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
        a->wide = a->text;
    }
    const char *format = json_string_value(cf_schema__get(s, r.s, "format"));
    if (format != NULL) {
        cf_rx wide = CF_RX_FAIL;
        cf_rx f = cf_schema__format(s, format, &wide);
        if (cf_schema_ok(s) && f != CF_RX_FAIL) {
            a->wide = cf_rx_and2(&s->rx, a->text, wide);
            a->text = cf_rx_and2(&s->rx, a->text, f);
        }
    }
}

/* "contains" with its limits. */
static void contains_keywords(cf_schema *s, uint32_t ref, cf_atom *a)
{
    const json_t *contains = cf_schema__get(s, s->ref[ref].s, "contains");
    if (contains == NULL || s->draft < 6) {
        return;
    }
    cf_some *some = cf_schema_alloc(s, 1, sizeof *some);
    if (some == NULL) {
        return;
    }
    bool has_limits = s->draft >= 2019;
    if (s->draft >= 2020) {
        a->seen_some = &some->value;
        a->n_seen_some = 1;
    }
    some->value = cf_conj_one(s, cf_schema__child(s, ref, contains, "contains"), false);
    some->min = has_limits ? count_of(s, ref, "minContains", 1) : 1;
    some->max = has_limits ? count_of(s, ref, "maxContains", CF_RX_INF) : CF_RX_INF;
    if (some->min > 0 || some->max != CF_RX_INF) {
        a->some = some;
        a->n_some = 1;
    }
}

static void array_keywords(cf_schema *s, uint32_t ref, cf_atom *a)
{
    const cf_schema_ref r = s->ref[ref];
    a->min = count_of(s, ref, "minItems", 0);
    a->max = count_of(s, ref, "maxItems", CF_RX_INF);
    const json_t *items = cf_schema__get(s, r.s, "items");
    const json_t *prefix = cf_schema__get(s, r.s, "prefixItems");
    const char *prefix_key = "prefixItems";
    const char *rest_key = "items";
    if (json_is_array(items)) {
        prefix = items;
        prefix_key = "items";
        items = cf_schema__get(s, r.s, "additionalItems");
        rest_key = "additionalItems";
    }
    size_t n = json_array_size(prefix);
    if (n > 0) {
        cf_conj *v = cf_schema_alloc(s, n, sizeof *v);
        for (size_t i = 0; v != NULL && i < n; i++) {
            char key[40];
            snprintf(key, sizeof key, "%s/%u", prefix_key, (unsigned)i);
            uint32_t c = cf_schema__child(s, ref, json_array_get(prefix, i), key);
            v[i] = cf_conj_one(s, c, false);
        }
        a->prefix = v;
        a->n_prefix = v != NULL ? (uint32_t)n : 0;
    }
    if (items != NULL) {
        a->items = cf_conj_one(s, cf_schema__child(s, ref, items, rest_key), false);
    }
    if (a->items == CF_CONJ_FALSE) {
        a->max = a->max < a->n_prefix ? a->max : a->n_prefix;
    }
    a->n_seen = items != NULL ? CF_RX_INF : (uint32_t)n;
    a->is_unique = json_is_true(cf_schema__get(s, r.s, "uniqueItems")) && a->max > 1;
    contains_keywords(s, ref, a);
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
    json_t *patterns = cf_schema__get(s, s->ref[ref].s, "patternProperties");
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
                cf_schema_fail(s, s->ref[ref].path, "patternProperties overlap in too many ways");
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
    const json_t *additional = cf_schema__get(s, r.s, "additionalProperties");
    if (additional != NULL) {
        more = cf_conj_one(s, cf_schema__child(s, ref, additional, "additionalProperties"), false);
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
    const json_t *names = cf_schema__get(s, s->ref[ref].s, "propertyNames");
    if (names == NULL || s->draft < 6) {
        return;
    }
    cf_conj c = cf_conj_one(s, cf_schema__child(s, ref, names, "propertyNames"), false);
    const cf_dnf *d = cf_conj_expand(s, c);
    cf_rx all = CF_RX_NONE;
    for (size_t i = 0; cf_schema_ok(s) && i < d->n; i++) {
        const cf_atom *x = d->v[i];
        if (x->kind == CF_ATOM_STR) {
            cf_rx len = cf_rx_loop(&s->rx, cf_rx_any(&s->rx), x->min, x->max);
            cf_rx one = cf_rx_and2(&s->rx, x->text, len);
            all = cf_rx_or2(&s->rx, all, one);
            a->is_narrowed |= x->is_narrowed || x->text != x->wide;
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

/* Reads declared properties, each with the constraints that patterns add. */
static uint32_t declared(cf_schema *s, uint32_t ref, cf_prop *v)
{
    json_t *props = cf_schema__get(s, s->ref[ref].s, "properties");
    json_t *patterns = cf_schema__get(s, s->ref[ref].s, "patternProperties");
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
                c = cf_conj__and(s, c, cf_conj_one(s, cf_schema__child(s, ref, more, at), false));
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
            json_object_foreach(cf_schema__get(s, s->ref[ref].s, keys[w]), has, needs)
            {
                size_t m = json_is_string(needs) ? 1 : json_array_size(needs);
                for (size_t i = 0; i < m; i++) {
                    const json_t *one = json_is_string(needs) ? needs : json_array_get(needs, i);
                    if (!json_is_string(one)) {
                        cf_schema_fail(s, s->ref[ref].path, "%s holds a value that is not a string",
                                       keys[w]);
                        return;
                    }
                    if (v != NULL) {
                        v[k] = (cf_dep){cf_str_from(has), cf_str_from(json_string_value(one))};
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

/* The keys that the schema's own keywords evaluate. */
static cf_rx seen_keys(cf_schema *s, uint32_t ref, const cf_atom *a)
{
    const json_t *own = s->ref[ref].s;
    cf_rx all = cf_rx_all(&s->rx);
    if (cf_schema__get(s, own, "additionalProperties") != NULL) {
        return all;
    }
    cf_rx seen = CF_RX_NONE;
    for (uint32_t i = 0; i < a->n_prop; i++) {
        seen = cf_rx_or2(&s->rx, seen, cf_rx_text(&s->rx, a->prop[i].name));
    }
    const char *key;
    json_t *child;
    json_object_foreach(cf_schema__get(s, own, "patternProperties"), key, child)
    {
        seen = cf_rx_or2(&s->rx, seen, cf_rx_parse(&s->rx, cf_str_from(key), true));
    }
    return seen;
}

static void object_keywords(cf_schema *s, uint32_t ref, cf_atom *a)
{
    const cf_schema_ref r = s->ref[ref];
    const json_t *required = cf_schema__get(s, r.s, "required");
    size_t n = json_object_size(cf_schema__get(s, r.s, "properties")) + json_array_size(required);
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
    if (s->has_unevaluated) { /* before "required" adds names */
        a->seen_keys = seen_keys(s, ref, a);
    }
    key_names(s, ref, a, v);
    if (required != NULL && !json_is_array(required)) {
        cf_schema_fail(s, r.path, "required is not an array");
        return;
    }
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        if (name == NULL) {
            cf_schema_fail(s, r.path, "required holds a value that is not a string");
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
    } known[] = {{"null", "NULL", 1},       {"boolean", "BOOLEAN", 2}, {"number", "NUMBER", 4},
                 {"string", "STRING", 8},   {"array", "ARRAY", 16},    {"object", "OBJECT", 32},
                 {"integer", "INTEGER", 64}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(t, known[i].name) == 0 || (s->is_tool && strcmp(t, known[i].loud) == 0)) {
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
        } loose[] = {{"any", 63}, {"dict", 32}, {"float", 4}, {"double", 4}, {"int", 64},
                     {"str", 8},  {"bool", 2},  {"list", 16}, {"tuple", 16}};
        for (size_t i = 0; i < sizeof loose / sizeof *loose; i++) {
            if (strcmp(t, loose[i].name) == 0) {
                return loose[i].bits;
            }
        }
    }
    return 0;
}

unsigned cf_schema__types(cf_schema *s, uint32_t ref)
{
    const cf_schema_ref r = s->ref[ref];
    const json_t *type = cf_schema__get(s, r.s, "type");
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
    if (s->is_tool && json_is_true(cf_schema__get(s, r.s, "nullable"))) {
        bits |= 1;
    }
    return bits;
}

const cf_atom *cf_schema__own(cf_schema *s, uint32_t ref, cf_atom_kind kind)
{
    unsigned types = cf_schema__types(s, ref);
    bool is_int = kind == CF_ATOM_NUM && (types & 4) == 0 && (types & 64) != 0;
    if (!cf_schema_ok(s) || ((types >> kind & 1) == 0 && !is_int)) {
        return NULL;
    }
    if (s->ref[ref].own[kind] != NULL) {
        return s->ref[ref].own[kind];
    }
    cf_atom *a = cf_atom__new(s, kind);
    if (a == NULL) {
        return NULL;
    }
    switch (kind) {
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
    s->ref[ref].own[kind] = a;
    return cf_schema_ok(s) ? a : NULL;
}

/* ---- unsupported keywords ----------------------------------------------- */

static void refuse_unknown(cf_schema *s, uint32_t ref)
{
    static const char *const unknown[] = {"extends", "disallow"};
    const cf_schema_ref r = s->ref[ref];
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown && s->draft == 3; i++) {
        if (cf_schema__get(s, r.s, unknown[i]) != NULL) {
            cf_schema_fail(s, r.path, "%s is not supported", unknown[i]);
        }
    }
}

/* A keyword with a value of the wrong type would otherwise be ignored. An empty array in
 * place of an object is ignored on purpose. */
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
        const json_t *v = cf_schema__get(s, r.s, known[i].key);
        char shape = known[i].shape;
        bool ok = v == NULL || (shape == 'o'   ? json_is_object(v)
                                : shape == 'a' ? json_is_array(v)
                                : shape == 'b' ? json_is_boolean(v)
                                               : json_is_string(v));
        if (!ok && !(shape == 'o' && json_is_array(v) && json_array_size(v) == 0)) {
            cf_schema_fail(s, r.path, "%s is not %s", known[i].key,
                           shape == 'o'   ? "an object"
                           : shape == 'a' ? "an array"
                           : shape == 'b' ? "true or false"
                                          : "a string");
        }
    }
}

void cf_schema__refuse(cf_schema *s, uint32_t ref)
{
    refuse_unknown(s, ref);
    refuse_misshapen(s, ref);
}
