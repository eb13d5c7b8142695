/*
 * validate.c - checks values against schemas, keyword by keyword.
 *
 * The keywords of one type are read as the atom that the grammar is made of
 * (schema_keywords.c); this file tests values against atoms and follows what
 * combines schemas, validate_seen.c what they have evaluated.
 *
 * 1. A text that a format may or may not allow is judged on the safe side:
 *    `is_wide` is set below a negation, and the wide language of a format is
 *    taken there, the narrow one elsewhere.
 * 2. While `quiet` is not 0 nothing is reported.
 */
#include "core/schema/validate.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/json/json_same.h"
#include "core/schema/schema.h"
#include "core/schema/validate_walk.h"

enum { FLAWS_MAX = 200, WORK_MAX = 8000000, SHOWN_MAX = 80 };

/* ---- reporting flaws ---------------------------------------------------- */

bool cf_walk__is_heard(const cf_walk *w)
{
    return w->fn != NULL && w->quiet == 0 && w->n_left > 0;
}

/* The text of the flaw to report, empty.  Once it has failed it stays so. */
static cf_buf *say(cf_walk *w)
{
    cf_buf_reset(&w->text);
    return &w->text;
}

static void say_value(cf_walk *w, const json_t *v)
{
    cf_buf t = CF_BUF_INIT;
    cf_json_write(&t, v);
    size_t n = t.n < SHOWN_MAX ? t.n : SHOWN_MAX;
    while (n > 0 && n < t.n && ((unsigned char)t.p[n] & 0xC0) == 0x80) {
        n--;
    }
    cf_buf_add(&w->text, cf_buf_cstr(&t), n);
    if (n < t.n) {
        cf_buf_adds(&w->text, "...");
    }
    w->text.failed = w->text.failed || t.failed;
    cf_buf_deinit(&t);
}

/* Reports w->text; false, for the caller to return. */
static bool flaw(cf_walk *w, cf_flaw_kind kind, const char *keyword)
{
    if (cf_walk__is_heard(w)) {
        const cf_flaw f = {kind, keyword, cf_buf_str(&w->path), cf_buf_str(&w->text)};
        w->n_left--;
        w->fn(w->ud, &f);
    }
    return false;
}

static bool is_plain_key(cf_str key)
{
    for (size_t i = 0; i < key.n; i++) {
        char c = key.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              c == '_' || c == '-')) {
            return false;
        }
    }
    return key.n > 0;
}

size_t cf_walk__push_key(cf_walk *w, cf_str key)
{
    size_t mark = w->path.n;
    if (!cf_walk__is_heard(w)) {
        return mark;
    }
    if (is_plain_key(key)) {
        cf_buf_adds(&w->path, mark > 0 ? "." : "");
        cf_buf_add(&w->path, key.p, key.n);
    } else {
        cf_buf_addc(&w->path, '[');
        cf_json_write_str(&w->path, key);
        cf_buf_addc(&w->path, ']');
    }
    return mark;
}

void cf_walk__pop(cf_walk *w, size_t mark)
{
    if (mark < w->path.n) {
        w->path.n = mark;
        w->path.p[mark] = '\0';
    }
}

static const char *type_name(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return "number";
    case JSON_NULL:
        return "null";
    default:
        return "boolean";
    }
}

cf_atom_kind cf_walk__kind(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return CF_ATOM_OBJ;
    case JSON_ARRAY:
        return CF_ATOM_ARR;
    case JSON_STRING:
        return CF_ATOM_STR;
    case JSON_INTEGER:
    case JSON_REAL:
        return CF_ATOM_NUM;
    case JSON_NULL:
        return CF_ATOM_NULL;
    default:
        return CF_ATOM_BOOL;
    }
}

/* Reports that `n` violates the limit of `keyword`. */
static bool count_flaw(cf_walk *w, size_t n, const char *things, bool is_few, const char *keyword,
                       uint32_t limit)
{
    cf_buf_addf(say(w), "%zu %s, %s than %s %u", n, things, is_few ? "fewer" : "more", keyword,
                (unsigned)limit);
    return flaw(w, CF_FLAW_VALUE, keyword);
}

/* ---- one type ----------------------------------------------------------- */

static bool bound_flaw(cf_walk *w, const json_t *v, const cf_dec *d, bool is_low, bool is_open)
{
    static const char *const keyword[2][2] = {{"maximum", "exclusiveMaximum"},
                                              {"minimum", "exclusiveMinimum"}};
    static const char *const word[2][2] = {{"over", "not below"}, {"below", "not over"}};
    const char *key = keyword[is_low][is_open];
    say(w);
    say_value(w, v);
    cf_buf_addf(&w->text, " is %s %s %s", word[is_low][is_open], key, d->neg ? "-" : "");
    cf_buf_add(&w->text, d->n_whole > 0 ? d->whole : "0", d->n_whole > 0 ? d->n_whole : 1);
    if (d->n_frac > 0) {
        cf_buf_addc(&w->text, '.');
        cf_buf_add(&w->text, d->frac, d->n_frac);
    }
    return flaw(w, CF_FLAW_VALUE, key);
}

static bool check_num(cf_walk *w, const cf_atom *a, const json_t *v)
{
    const cf_dec *d = cf_dec__from(w->s, v);
    if (d == NULL) {
        return false;
    }
    /* 1.0 has been an integer since draft 6. */
    bool is_int = d->n_frac == 0 && !(json_is_real(v) && w->s->draft <= 4);
    bool ok = true;
    if ((a->num == CF_NUM_INT && !is_int) || (a->num == CF_NUM_NOT_INT && is_int)) {
        cf_buf_addf(say(w), "integer expected, this is number");
        return flaw(w, CF_FLAW_TYPE, "type");
    }
    int lo = a->lo != NULL ? cf_dec__cmp(d, a->lo) : 1;
    int hi = a->hi != NULL ? cf_dec__cmp(d, a->hi) : -1;
    if (lo < 0 || (lo == 0 && a->lo_open)) {
        ok = bound_flaw(w, v, a->lo, true, a->lo_open);
    }
    if (hi > 0 || (hi == 0 && a->hi_open)) {
        ok = bound_flaw(w, v, a->hi, false, a->hi_open);
    }
    for (uint32_t i = 0; i < a->n_factor; i++) {
        if (!cf_dec__is_multiple(d, a->factor[i])) {
            say(w);
            say_value(w, v);
            cf_buf_addf(&w->text, " is not a multiple of multipleOf");
            ok = flaw(w, CF_FLAW_VALUE, "multipleOf");
        }
    }
    for (uint32_t i = 0; ok && i < a->n_not_factor; i++) {
        ok = !cf_dec__is_multiple(d, a->not_factor[i]);
    }
    for (uint32_t i = 0; ok && i < a->n_except; i++) {
        ok = cf_dec__cmp(d, a->except[i]) != 0;
    }
    return ok;
}

static size_t characters(cf_str t)
{
    size_t count = 0;
    for (size_t i = 0; i < t.n; i++) {
        count += ((unsigned char)t.p[i] & 0xC0) != 0x80;
    }
    return count;
}

/* Which of pattern and format the text breaks; `own` is the schema that the
 * atom was read from, NULL where it came from several. */
static bool text_flaw(cf_walk *w, const json_t *own, const json_t *v)
{
    const json_t *pattern = cf_schema__get(w->s, own, "pattern");
    const char *format = json_string_value(cf_schema__get(w->s, own, "format"));
    if (!cf_walk__is_heard(w)) {
        return false;
    }
    bool is_pattern = json_is_string(pattern);
    if (is_pattern && format != NULL) {
        cf_rx p = cf_rx_parse(&w->s->rx, cf_schema__text(pattern), true);
        is_pattern = !cf_rx_matches(&w->s->rx, p, cf_schema__text(v));
    }
    say(w);
    say_value(w, v);
    cf_buf_addf(&w->text, " does not match %s ", is_pattern ? "pattern" : "format");
    cf_buf_adds(&w->text, is_pattern ? json_string_value(pattern) : format != NULL ? format : "");
    return flaw(w, CF_FLAW_VALUE, is_pattern ? "pattern" : "format");
}

static bool check_str(cf_walk *w, const cf_atom *a, const json_t *own, const json_t *v)
{
    cf_str t = cf_schema__text(v);
    size_t n = characters(t);
    bool ok = true;
    if (n < a->min) {
        ok = count_flaw(w, n, "characters", true, "minLength", a->min);
    }
    if (n > a->max) {
        ok = count_flaw(w, n, "characters", false, "maxLength", a->max);
    }
    if (!cf_rx_matches(&w->s->rx, w->is_wide ? a->wide : a->text, t)) {
        ok = text_flaw(w, own, v);
    }
    return ok;
}

/* All schemas of a set, and the complements of those negated. */
static bool check_conj(cf_walk *w, cf_conj c, const json_t *v)
{
    if (c == CF_CONJ_TRUE || c == CF_CONJ_FALSE) {
        return c == CF_CONJ_TRUE;
    }
    cf_conj_info info = w->s->conj[c];
    bool ok = true;
    for (uint32_t i = 0; i < info.n && cf_schema_ok(w->s); i++) {
        uint32_t ref = w->s->list[info.first + i];
        bool is_negated = (ref & 1) != 0;
        w->quiet += is_negated ? 1 : 0;
        w->is_wide ^= is_negated;
        bool one = cf_walk__ref(w, ref >> 1, v) != is_negated;
        w->is_wide ^= is_negated;
        w->quiet -= is_negated ? 1 : 0;
        ok = ok && one;
        if (!ok && !cf_walk__is_heard(w)) {
            break;
        }
    }
    return ok && cf_schema_ok(w->s);
}

bool cf_walk__quietly(cf_walk *w, cf_conj c, const json_t *v)
{
    w->quiet++;
    bool ok = check_conj(w, c, v);
    w->quiet--;
    return ok;
}

static bool check_twins(cf_walk *w, const json_t *v)
{
    size_t n = json_array_size(v);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i && cf_gbuild_spend(w->s->b, 1); k++) {
            if (cf_json_same(json_array_get(v, i), json_array_get(v, k))) {
                cf_buf_addf(say(w), "items %zu and %zu are equal", k, i);
                return flaw(w, CF_FLAW_VALUE, "uniqueItems");
            }
        }
    }
    return true;
}

/* Checks the number of items against `contains` and its limits. */
static bool check_some(cf_walk *w, const cf_some *some, const json_t *v)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(v); i++) {
        n += cf_walk__quietly(w, some->value, json_array_get(v, i)) ? 1 : 0;
    }
    if (n < some->min) {
        if (some->min == 1) {
            cf_buf_addf(say(w), "no item is one that contains asks for");
            return flaw(w, CF_FLAW_VALUE, "contains");
        }
        return count_flaw(w, n, "items of contains", true, "minContains", some->min);
    }
    return n <= some->max || count_flaw(w, n, "items of contains", false, "maxContains", some->max);
}

static bool check_arr(cf_walk *w, const cf_atom *a, const json_t *v)
{
    size_t n = json_array_size(v);
    bool ok = true;
    if (n < a->min) {
        ok = count_flaw(w, n, "items", true, "minItems", a->min);
    }
    if (n > a->max) {
        ok = count_flaw(w, n, "items", false, "maxItems", a->max);
    }
    for (size_t i = 0; i < n && (ok || cf_walk__is_heard(w)); i++) {
        cf_conj c = i < a->n_prefix ? a->prefix[i] : a->items;
        size_t mark = w->path.n;
        if (cf_walk__is_heard(w)) {
            cf_buf_addf(&w->path, "[%zu]", i);
        }
        if (c != CF_CONJ_FALSE) {
            ok = check_conj(w, c, json_array_get(v, i)) && ok;
        } else if (i < a->max) { /* the excess is only counted */
            cf_buf_adds(say(w), "no item is allowed here");
            ok = flaw(w, CF_FLAW_VALUE, "prefixItems");
        }
        cf_walk__pop(w, mark);
    }
    if (a->is_unique && (ok || cf_walk__is_heard(w))) {
        ok = check_twins(w, v) && ok;
    }
    for (uint32_t i = 0; i < a->n_some && (ok || cf_walk__is_heard(w)); i++) {
        ok = check_some(w, &a->some[i], v) && ok;
    }
    return ok;
}

static bool is_required(const cf_atom *a, cf_str name)
{
    for (uint32_t i = 0; i < a->n_prop; i++) {
        if (a->prop[i].is_required && cf_str_eq(a->prop[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* Reports missing keys and keys that are not allowed. */
static bool check_names(cf_walk *w, const cf_atom *a, const json_t *v)
{
    bool ok = true;
    const char *key;
    size_t len;
    json_t *child;
    json_object_keylen_foreach(cf_json_ref(v), key, len, child)
    {
        cf_str name = cf_str_make(key, len);
        if (cf_atom__key(w->s, a, name) == CF_CONJ_FALSE) {
            size_t mark = cf_walk__push_key(w, name);
            cf_buf_adds(say(w), "no property has this name");
            ok = flaw(w, CF_FLAW_NAME, "additionalProperties");
            cf_walk__pop(w, mark);
        }
    }
    for (uint32_t i = 0; i < a->n_prop; i++) {
        cf_str name = a->prop[i].name;
        if (a->prop[i].is_required && json_object_getn(v, name.p, name.n) == NULL) {
            size_t mark = cf_walk__push_key(w, name);
            cf_buf_adds(say(w), "this property is required");
            ok = flaw(w, CF_FLAW_MISSING, "required");
            cf_walk__pop(w, mark);
        }
    }
    for (uint32_t i = 0; i < a->n_dep; i++) {
        const cf_dep *d = &a->dep[i];
        if (json_object_getn(v, d->has.p, d->has.n) != NULL &&
            json_object_getn(v, d->needs.p, d->needs.n) == NULL) {
            size_t mark = cf_walk__push_key(w, d->needs);
            cf_buf_adds(say(w), "this property is required together with ");
            cf_buf_add(&w->text, d->has.p, d->has.n);
            ok = flaw(w, CF_FLAW_MISSING, "dependentRequired");
            cf_walk__pop(w, mark);
        }
    }
    return ok;
}

static bool has_some_key(cf_walk *w, const cf_key_class *some, const json_t *v)
{
    const char *key;
    size_t len;
    json_t *child;
    json_object_keylen_foreach(cf_json_ref(v), key, len, child)
    {
        if (cf_rx_matches(&w->s->rx, some->keys, cf_str_make(key, len)) &&
            cf_walk__quietly(w, some->value, child)) {
            return true;
        }
    }
    return false;
}

static bool check_obj(cf_walk *w, const cf_atom *a, const json_t *v)
{
    size_t n = json_object_size(v);
    bool ok = true;
    if (n < a->min) {
        ok = count_flaw(w, n, "properties", true, "minProperties", a->min);
    }
    if (n > a->max) {
        ok = count_flaw(w, n, "properties", false, "maxProperties", a->max);
    }
    if (ok || cf_walk__is_heard(w)) {
        ok = check_names(w, a, v) && ok;
    }
    const char *key;
    size_t len;
    json_t *child;
    json_object_keylen_foreach(cf_json_ref(v), key, len, child)
    {
        if (!ok && !cf_walk__is_heard(w)) {
            return false;
        }
        cf_str name = cf_str_make(key, len);
        cf_conj c = cf_atom__key(w->s, a, name);
        if (c == CF_CONJ_FALSE ||
            (json_is_null(child) && w->null_is_absent && !is_required(a, name))) {
            continue;
        }
        size_t mark = cf_walk__push_key(w, name);
        ok = check_conj(w, c, child) && ok;
        cf_walk__pop(w, mark);
    }
    for (uint32_t i = 0; ok && i < a->n_some_key; i++) {
        ok = has_some_key(w, &a->some_key[i], v);
    }
    return ok;
}

/* `own` as text_flaw() takes it. */
static bool check_atom(cf_walk *w, const cf_atom *a, const json_t *own, const json_t *v)
{
    if (!cf_gbuild_spend(w->s->b, 1)) {
        return false;
    }
    if (a->kind == CF_ATOM_LIT) {
        return cf_json_same(a->lit, v);
    }
    if (a->kind != cf_walk__kind(v)) {
        return false;
    }
    switch (a->kind) {
    case CF_ATOM_BOOL:
        return (a->bools & (json_is_true(v) ? 2 : 1)) != 0;
    case CF_ATOM_NUM:
        return check_num(w, a, v);
    case CF_ATOM_STR:
        return check_str(w, a, own, v);
    case CF_ATOM_ARR:
        return check_arr(w, a, v);
    case CF_ATOM_OBJ:
        return check_obj(w, a, v);
    default:
        return true;
    }
}

/* ---- one schema --------------------------------------------------------- */

static bool type_flaw(cf_walk *w, unsigned types, const json_t *v)
{
    static const char *const names[] = {"null",  "boolean", "number", "string",
                                        "array", "object",  "integer"};
    bool is_first = true;
    say(w);
    for (int k = 0; k < 7; k++) {
        if ((types >> k & 1) != 0 && !(k == 6 && (types & 4) != 0)) {
            cf_buf_addf(&w->text, "%s%s", is_first ? "" : " or ", names[k]);
            is_first = false;
        }
    }
    cf_buf_addf(&w->text, " expected, this is %s", type_name(v));
    return flaw(w, CF_FLAW_TYPE, "type");
}

static bool check_own(cf_walk *w, uint32_t ref, const json_t *v)
{
    cf_atom_kind kind = cf_walk__kind(v);
    unsigned types = cf_schema__types(w->s, ref);
    const cf_atom *a = cf_schema__own(w->s, ref, kind);
    if (!cf_schema_ok(w->s)) {
        return false;
    }
    if (a == NULL) {
        return type_flaw(w, types, v);
    }
    return check_atom(w, a, w->s->ref[ref].s, v);
}

static bool check_values(cf_walk *w, uint32_t ref, const json_t *v)
{
    const json_t *own = w->s->ref[ref].s;
    const json_t *values = cf_schema__get(w->s, own, "enum");
    const json_t *only = cf_schema__get(w->s, own, "const");
    bool is_in = values == NULL;
    for (size_t i = 0; !is_in && i < json_array_size(values); i++) {
        is_in = cf_json_same(json_array_get(values, i), v);
    }
    if (!is_in) {
        say(w);
        say_value(w, v);
        cf_buf_adds(&w->text, " is not one of ");
        say_value(w, values);
        return flaw(w, CF_FLAW_VALUE, "enum");
    }
    bool has_const = only != NULL && w->s->draft != 3;
    if (has_const && !cf_json_same(only, v)) {
        say(w);
        say_value(w, v);
        cf_buf_adds(&w->text, " is not ");
        say_value(w, only);
        return flaw(w, CF_FLAW_VALUE, "const");
    }
    return true;
}

static bool check_child(cf_walk *w, uint32_t ref, const json_t *schema, const char *key,
                        const json_t *v)
{
    uint32_t child = cf_schema__child(w->s, ref, schema, key);
    return cf_schema_ok(w->s) && cf_walk__ref(w, child, v);
}

bool cf_walk__quiet_child(cf_walk *w, uint32_t ref, const json_t *schema, const char *key,
                          const json_t *v, bool is_wide)
{
    bool was = w->is_wide;
    w->is_wide = is_wide;
    w->quiet++;
    bool ok = check_child(w, ref, schema, key, v);
    w->quiet--;
    w->is_wide = was;
    return ok;
}

/* Whether the alternative may be the intended one, which allows the value's type. */
static bool is_meant(cf_walk *w, uint32_t ref, const json_t *schema, const char *key,
                     const json_t *v)
{
    uint32_t child = cf_schema__child(w->s, ref, schema, key);
    for (int hops = 0; hops < 20 && cf_schema_ok(w->s); hops++) {
        uint32_t to = cf_schema__target(w->s, child, 0);
        if (to == 0) {
            break;
        }
        child = to;
    }
    return cf_schema_ok(w->s) && json_is_object(w->s->ref[child].s) &&
           (cf_schema__types(w->s, child) >> cf_walk__kind(v) & 1) != 0;
}

/* Reports, when no alternative accepts v, the flaws of the intended one, or else that
 * none matches. */
static bool alternatives_flaw(cf_walk *w, uint32_t ref, const char *keyword, const json_t *list,
                              const json_t *v)
{
    size_t n = json_array_size(list);
    size_t meant = n;
    size_t n_meant = 0;
    char at[40];
    for (size_t i = 0; i < n && cf_walk__is_heard(w); i++) {
        snprintf(at, sizeof at, "%s/%zu", keyword, i);
        if (is_meant(w, ref, json_array_get(list, i), at, v)) {
            meant = i;
            n_meant++;
        }
    }
    if (n_meant == 1) {
        snprintf(at, sizeof at, "%s/%zu", keyword, meant);
        return check_child(w, ref, json_array_get(list, meant), at, v);
    }
    cf_buf_addf(say(w), "none of the %zu alternatives takes this %s", n, type_name(v));
    return flaw(w, CF_FLAW_TYPE, keyword);
}

static bool check_any(cf_walk *w, uint32_t ref, const json_t *v)
{
    const json_t *list = cf_schema__get(w->s, w->s->ref[ref].s, "anyOf");
    char at[40];
    for (size_t i = 0; i < json_array_size(list) && cf_schema_ok(w->s); i++) {
        snprintf(at, sizeof at, "anyOf/%zu", i);
        if (cf_walk__quiet_child(w, ref, json_array_get(list, i), at, v, w->is_wide)) {
            return true;
        }
    }
    return list == NULL || alternatives_flaw(w, ref, "anyOf", list, v);
}

/* Exactly one of the branches: certainly one (in the narrow reading), and
 * certainly no other. */
static bool check_one(cf_walk *w, uint32_t ref, const json_t *v)
{
    const json_t *list = cf_schema__get(w->s, w->s->ref[ref].s, "oneOf");
    size_t n_wide = 0;
    size_t n_narrow = 0;
    size_t which[2] = {0, 0};
    char at[40];
    for (size_t i = 0; i < json_array_size(list) && cf_schema_ok(w->s); i++) {
        const json_t *one = json_array_get(list, i);
        snprintf(at, sizeof at, "oneOf/%zu", i);
        if (!cf_walk__quiet_child(w, ref, one, at, v, true)) {
            continue;
        }
        which[n_wide > 0 ? 1 : 0] = i;
        n_wide++;
        n_narrow += !w->s->has_wide || cf_walk__quiet_child(w, ref, one, at, v, false);
    }
    bool ok = w->is_wide ? n_wide >= 1 && n_narrow <= 1 : n_wide == 1 && n_narrow == 1;
    if (list == NULL || ok) {
        return true;
    }
    if (n_wide < 2) {
        return alternatives_flaw(w, ref, "oneOf", list, v);
    }
    cf_buf_addf(say(w), "alternatives %zu and %zu of oneOf both take it", which[0], which[1]);
    return flaw(w, CF_FLAW_VALUE, "oneOf");
}

static bool check_condition(cf_walk *w, uint32_t ref, const json_t *v)
{
    const json_t *own = w->s->ref[ref].s;
    const json_t *cond = cf_schema__get(w->s, own, "if");
    const json_t *then = cf_schema__get(w->s, own, "then");
    const json_t *otherwise = cf_schema__get(w->s, own, "else");
    if (cond == NULL || w->s->draft < 7 || (then == NULL && otherwise == NULL)) {
        return true;
    }
    bool certainly = cf_walk__quiet_child(w, ref, cond, "if", v, false);
    bool possibly =
        certainly || (w->s->has_wide && cf_walk__quiet_child(w, ref, cond, "if", v, true));
    bool ok = true;
    if (possibly && then != NULL) {
        ok = check_child(w, ref, then, "then", v);
    }
    if (!certainly && otherwise != NULL && (ok || cf_walk__is_heard(w))) {
        ok = check_child(w, ref, otherwise, "else", v) && ok;
    }
    return ok;
}

static bool check_dependent(cf_walk *w, uint32_t ref, const json_t *v)
{
    static const char *const keys[] = {"dependencies", "dependentSchemas"};
    bool ok = true;
    for (int i = 0; i < 2; i++) {
        const char *has;
        json_t *then;
        json_object_foreach(cf_schema__get(w->s, w->s->ref[ref].s, keys[i]), has, then)
        {
            char at[200];
            if (json_is_array(then) || json_is_string(then) || json_object_get(v, has) == NULL) {
                continue;
            }
            snprintf(at, sizeof at, "%s/%s", keys[i], has);
            ok = check_child(w, ref, then, at, v) && ok;
        }
    }
    return ok;
}

static bool check_not(cf_walk *w, uint32_t ref, const json_t *v)
{
    const json_t *no = cf_schema__get(w->s, w->s->ref[ref].s, "not");
    if (no == NULL || w->s->draft < 4 || !cf_walk__quiet_child(w, ref, no, "not", v, !w->is_wide)) {
        return true;
    }
    say(w);
    say_value(w, v);
    cf_buf_adds(&w->text, " is what not forbids");
    return flaw(w, CF_FLAW_VALUE, "not");
}

static bool check_all(cf_walk *w, uint32_t ref, const json_t *v)
{
    const json_t *list = cf_schema__get(w->s, w->s->ref[ref].s, "allOf");
    bool ok = true;
    for (size_t i = 0; i < json_array_size(list) && (ok || cf_walk__is_heard(w)); i++) {
        char at[40];
        snprintf(at, sizeof at, "allOf/%zu", i);
        ok = check_child(w, ref, json_array_get(list, i), at, v) && ok;
    }
    return ok;
}

static bool check_keywords(cf_walk *w, uint32_t ref, const json_t *v)
{
    static bool (*const checks[])(cf_walk *, uint32_t, const json_t *) = {
        check_own,       check_values,    check_all,
        check_any,       check_one,       check_not,
        check_condition, check_dependent, cf_walk__unevaluated,
    };
    bool ok = true;
    for (int i = 0; i < CF_REFERENCES && cf_schema_ok(w->s); i++) {
        uint32_t target = cf_schema__target(w->s, ref, i);
        if (target != 0 && (ok || cf_walk__is_heard(w))) {
            ok = cf_walk__ref(w, target, v) && ok;
        }
    }
    if (cf_schema__is_alias(w->s, w->s->ref[ref].s)) {
        return ok && cf_schema_ok(w->s);
    }
    cf_schema__refuse(w->s, ref);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (!cf_schema_ok(w->s) || (!ok && !cf_walk__is_heard(w))) {
            return false;
        }
        ok = checks[i](w, ref, v) && ok;
    }
    return ok;
}

bool cf_walk__ref(cf_walk *w, uint32_t ref, const json_t *v)
{
    if (!cf_schema_ok(w->s) || !cf_gbuild_spend(w->s->b, 1)) {
        return false;
    }
    const json_t *own = w->s->ref[ref].s;
    for (uint32_t i = 0; i < w->s->ref[ref].n_either; i++) {
        if (cf_walk__quietly(w, w->s->ref[ref].either[i], v)) {
            return true;
        }
    }
    if (own == NULL) {
        return false;
    }
    if (json_is_boolean(own)) {
        cf_buf_adds(say(w), "nothing is allowed here");
        return json_is_true(own) || flaw(w, CF_FLAW_VALUE, "false");
    }
    if (++w->depth > CF_WALK_DEPTH_MAX) {
        cf_schema__exceed(w->s, w->s->ref[ref].path, "over %d levels of schemas",
                          (int)CF_WALK_DEPTH_MAX);
    }
    bool ok = check_keywords(w, ref, v);
    w->depth--;
    return ok && cf_schema_ok(w->s);
}

/* ---- for the grammar ---------------------------------------------------- */

bool cf_atom__accepts(cf_schema *s, const cf_atom *a, const json_t *v)
{
    cf_walk w = {.s = s};
    bool ok = check_atom(&w, a, NULL, v);
    cf_buf_deinit(&w.text);
    return ok && cf_schema_ok(s);
}

bool cf_conj__accepts(cf_schema *s, cf_conj c, const json_t *v)
{
    cf_walk w = {.s = s};
    bool ok = check_conj(&w, c, v);
    cf_buf_deinit(&w.text);
    return ok && cf_schema_ok(s);
}

/* ---- the interface ------------------------------------------------------ */

struct cf_validator {
    cf_gbuild b;
    cf_schema s;
    uint32_t root;
    cf_validate_options opts;
};

cf_status cf_validator_new(cf_validator **out, const json_t *schema,
                           const cf_validate_options *opts, cf_error *err)
{
    if (!json_is_object(schema) && !json_is_boolean(schema)) {
        return cf_fail(err, CF_EFORMAT, "a schema is an object, true or false");
    }
    cf_validator *v = cf_calloc(1, sizeof *v);
    if (v == NULL) {
        return cf_oom(err);
    }
    if (opts != NULL) {
        v->opts = *opts;
    }
    cf_gbuild_init(&v->b, NULL);
    const cf_grammar_options grammar = {.schema_dir = v->opts.schema_dir};
    cf_schema_init(&v->s, &v->b, schema, &grammar);
    v->s.is_tool = v->opts.is_tool;
    v->root = cf_schema_root(&v->s, schema, "$");
    if (v->b.st != CF_OK) {
        cf_status st = v->b.st;
        *err = v->b.err;
        cf_validator_free(v);
        return st;
    }
    *out = v;
    return CF_OK;
}

void cf_validator_free(cf_validator *v)
{
    if (v == NULL) {
        return;
    }
    cf_schema_deinit(&v->s);
    cf_gbuild_deinit(&v->b);
    cf_free(v);
}

cf_status cf_validator_run(cf_validator *v, const json_t *value, cf_flaw_fn fn, void *ud,
                           bool *is_valid, cf_error *err)
{
    const cf_validate_options *o = &v->opts;
    cf_walk w = {.s = &v->s,
                 .fn = fn,
                 .ud = ud,
                 .null_is_absent = o->null_is_absent,
                 .n_left = o->max_flaws != 0 ? o->max_flaws : FLAWS_MAX};
    v->b.st = CF_OK;
    v->b.work = o->max_work != 0 ? o->max_work : WORK_MAX;
    *is_valid = cf_walk__ref(&w, v->root, value);
    cf_status st = v->b.st;
    if (st == CF_OK && (w.path.failed || w.text.failed)) {
        st = cf_oom(err);
    } else if (st != CF_OK) {
        *is_valid = false;
        *err = v->b.err;
    }
    cf_buf_deinit(&w.path);
    cf_buf_deinit(&w.text);
    return st;
}
