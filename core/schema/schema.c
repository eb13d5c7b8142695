/*
 * schema.c - numbers schemas and the sets of them.
 */
#include "core/schema/schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

void cf_schema_init(cf_schema *s, cf_gbuild *b, const json_t *root, const cf_grammar_options *opts)
{
    memset(s, 0, sizeof *s);
    s->b = b;
    s->made = json_array();
    s->draft = 2020;
    s->at = "$";
    if (opts != NULL) {
        s->opts = *opts;
    }
    cf_arena_init(&s->arena, (size_t)128 << 20);
    cf_rx_init(&s->rx, b);
    if (!cf_grow(&s->conj, &s->cap_conj, 2, sizeof *s->conj) ||
        !cf_grow(&s->ref, &s->cap_ref, 1, sizeof *s->ref) ||
        !cf_grow(&s->ref_next, &s->cap_ref_next, 1, sizeof *s->ref_next) ||
        !cf_grow(&s->scope, &s->cap_scope, 1, sizeof *s->scope)) {
        cf_gbuild_oom(b);
        return;
    }
    memset(s->conj, 0, 2 * sizeof *s->conj);
    memset(s->ref, 0, sizeof *s->ref);
    memset(s->scope, 0, sizeof *s->scope);
    s->n_scope = 1;
    s->conj[CF_CONJ_FALSE].state = 2;
    s->n_conj = 2;
    s->n_ref = 1;
    s->has_unevaluated = s->opts.schema_dir != NULL; /* documents read later may ask, too */
    if (root != NULL) {
        cf_schema__read_dialect(s, root);
        cf_schema__add_document(s, root, "");
    }
}

void cf_schema_deinit(cf_schema *s)
{
    cf_rx_deinit(&s->rx);
    cf_arena_deinit(&s->arena);
    cf_free(s->resource);
    cf_free(s->anchor);
    cf_free(s->scope);
    cf_free(s->ref);
    cf_free(s->ref_next);
    cf_free(s->conj);
    cf_free(s->list);
    cf_free(s->leaf);
    cf_free(s->pending);
    json_decref(s->made);
    memset(s, 0, sizeof *s);
}

static void fail_at(cf_schema *s, cf_status code, const char *path, const char *fmt, va_list ap)
{
    enum { PATH_SHOWN_MAX = 100 }; /* its end; the reason must be kept */
    char text[CF_ERROR_TEXT_MAX];
    vsnprintf(text, sizeof text, fmt, ap);
    size_t n = strlen(path);
    bool is_long = n > PATH_SHOWN_MAX;
    cf_gbuild_fail(s->b, code, "%s%s: %s", is_long ? "..." : "",
                   is_long ? path + n - PATH_SHOWN_MAX : path, text);
}

void cf_schema_fail(cf_schema *s, const char *path, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail_at(s, CF_EUNSUPPORTED, path, fmt, ap);
    va_end(ap);
}

void cf_schema__exceed(cf_schema *s, const char *path, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail_at(s, CF_ELIMIT, path, fmt, ap);
    va_end(ap);
}

bool cf_schema_ok(const cf_schema *s)
{
    return s->b->st == CF_OK;
}

void *cf_schema_alloc(cf_schema *s, size_t n, size_t size)
{
    void *p = cf_arena_calloc(&s->arena, n > 0 ? n : 1, size);
    if (p == NULL) {
        cf_gbuild_fail(s->b, s->arena.total > s->arena.limit / 2 ? CF_ELIMIT : CF_ENOMEM,
                       "out of memory");
    }
    return p;
}

/* ---- schemas by number -------------------------------------------------- */

uint32_t cf_schema__number(cf_schema *s, const json_t *v, uint32_t home, uint32_t scope,
                           const char *path, const char *key)
{
    uint32_t own = json_is_object(v) ? cf_schema__resource_of(s, v) : UINT32_MAX;
    if (own != UINT32_MAX) {
        home = own;
        scope = cf_schema__enter(s, scope, home);
    }
    size_t h = (((uintptr_t)v >> 4) + scope) % CF_SCHEMA_HASH;
    for (uint32_t i = s->ref_bucket[h]; i != 0; i = s->ref_next[i]) {
        if (s->ref[i].s == v && s->ref[i].scope == scope) {
            return i;
        }
    }
    if (!cf_gbuild_spend(s->b, 1)) {
        return 0;
    }
    size_t n = strlen(path) + (key != NULL ? strlen(key) + 1 : 0);
    char *full = cf_schema_alloc(s, n + 1, 1);
    if (full == NULL || !cf_grow(&s->ref, &s->cap_ref, s->n_ref + 1, sizeof *s->ref) ||
        !cf_grow(&s->ref_next, &s->cap_ref_next, s->n_ref + 1, sizeof *s->ref_next)) {
        cf_gbuild_oom(s->b);
        return 0;
    }
    snprintf(full, n + 1, "%s%s%s", path, key != NULL ? "/" : "", key != NULL ? key : "");
    uint32_t id = (uint32_t)s->n_ref++;
    s->ref[id] = (cf_schema_ref){.s = v, .home = home, .scope = scope, .path = full};
    s->ref_next[id] = s->ref_bucket[h];
    s->ref_bucket[h] = id;
    return id;
}

uint32_t cf_schema__child(cf_schema *s, uint32_t parent, const json_t *v, const char *key)
{
    if (!cf_schema_ok(s)) {
        return 0;
    }
    const cf_schema_ref r = s->ref[parent];
    if (!json_is_object(v) && !json_is_boolean(v)) {
        cf_schema_fail(s, r.path, "%s is not a schema", key);
        return 0;
    }
    return cf_schema__number(s, v, r.home, r.scope, r.path, key);
}

uint32_t cf_schema_root(cf_schema *s, const json_t *v, const char *path)
{
    uint32_t home = 0;
    while (home < s->n_resource && s->resource[home].s != v) {
        home++;
    }
    if (home == s->n_resource) {
        home = cf_schema__add_document(s, v, "");
    }
    return cf_schema_ok(s) ? cf_schema__number(s, v, home, cf_schema__enter(s, 0, home), path, NULL)
                           : 0;
}

/* ---- sets --------------------------------------------------------------- */

static cf_conj intern_conj(cf_schema *s, const uint32_t *v, uint32_t n)
{
    uint32_t h = 17;
    for (uint32_t i = 0; i < n; i++) {
        h = (h ^ v[i]) * UINT32_C(0x9E3779B1);
        h ^= h >> 15;
    }
    uint32_t *head = &s->conj_bucket[h % CF_SCHEMA_HASH];
    for (uint32_t i = *head; i != 0; i = s->conj[i].next) {
        if (s->conj[i].n == n && memcmp(s->list + s->conj[i].first, v, n * sizeof *v) == 0) {
            return i;
        }
    }
    if (!cf_gbuild_spend(s->b, 1 + n)) {
        return CF_CONJ_FALSE;
    }
    if (!cf_grow(&s->conj, &s->cap_conj, s->n_conj + 1, sizeof *s->conj) ||
        !cf_grow(&s->list, &s->cap_list, s->n_list + n, sizeof *s->list)) {
        cf_gbuild_oom(s->b);
        return CF_CONJ_FALSE;
    }
    cf_conj id = (cf_conj)s->n_conj++;
    memset(&s->conj[id], 0, sizeof s->conj[id]);
    s->conj[id].first = (uint32_t)s->n_list;
    s->conj[id].n = n;
    s->conj[id].next = *head;
    *head = id;
    memcpy(s->list + s->n_list, v, n * sizeof *v);
    s->n_list += n;
    return id;
}

/* Annotations, which do not constrain the value. */
static bool is_annotation(const char *key)
{
    static const char *const known[] = {"title",    "description", "default",  "examples",
                                        "$comment", "deprecated",  "readOnly", "writeOnly"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(key, known[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool allows_all(const json_t *v)
{
    if (json_is_true(v)) {
        return true;
    }
    json_t *in = cf_json_ref(v);
    for (void *it = json_object_iter(in); it != NULL; it = json_object_iter_next(in, it)) {
        if (!is_annotation(json_object_iter_key(it))) {
            return false;
        }
    }
    return json_is_object(v);
}

cf_conj cf_conj_one(cf_schema *s, uint32_t ref, bool negated)
{
    if (!cf_schema_ok(s) || ref == 0) {
        return CF_CONJ_FALSE;
    }
    const json_t *v = s->ref[ref].s;
    if (allows_all(v)) {
        return negated ? CF_CONJ_FALSE : CF_CONJ_TRUE;
    }
    if (json_is_false(v)) {
        return negated ? CF_CONJ_TRUE : CF_CONJ_FALSE;
    }
    const uint32_t one = ref << 1 | (negated ? 1 : 0);
    return intern_conj(s, &one, 1);
}

cf_conj cf_conj__and(cf_schema *s, cf_conj a, cf_conj b)
{
    if (a == CF_CONJ_FALSE || b == CF_CONJ_FALSE || !cf_schema_ok(s)) {
        return CF_CONJ_FALSE;
    }
    if (a == CF_CONJ_TRUE || a == b) {
        return b;
    }
    if (b == CF_CONJ_TRUE) {
        return a;
    }
    cf_conj_info x = s->conj[a];
    cf_conj_info y = s->conj[b];
    uint32_t *v = cf_schema_alloc(s, x.n + y.n, sizeof *v);
    if (v == NULL) {
        return CF_CONJ_FALSE;
    }
    uint32_t n = 0;
    for (uint32_t i = 0, k = 0; i < x.n || k < y.n;) {
        uint32_t p = i < x.n ? s->list[x.first + i] : UINT32_MAX;
        uint32_t q = k < y.n ? s->list[y.first + k] : UINT32_MAX;
        uint32_t least = p < q ? p : q;
        i += p == least ? 1 : 0;
        k += q == least ? 1 : 0;
        if (n > 0 && v[n - 1] == (least ^ 1)) {
            return CF_CONJ_FALSE; /* a schema and its negation */
        }
        v[n++] = least;
    }
    return intern_conj(s, v, n);
}

/* The schema that holds where one of the sets does. */
static uint32_t either(cf_schema *s, const cf_conj *v, uint32_t n)
{
    if (!cf_gbuild_spend(s->b, 1 + s->n_ref / 16)) {
        return 0;
    }
    for (size_t i = 1; i < s->n_ref; i++) {
        const cf_schema_ref *r = &s->ref[i];
        if (r->n_either == n && memcmp(r->either, v, n * sizeof *v) == 0) {
            return (uint32_t)i;
        }
    }
    cf_conj *copy = cf_schema_alloc(s, n, sizeof *copy);
    if (copy == NULL || !cf_gbuild_spend(s->b, n) ||
        !cf_grow(&s->ref, &s->cap_ref, s->n_ref + 1, sizeof *s->ref) ||
        !cf_grow(&s->ref_next, &s->cap_ref_next, s->n_ref + 1, sizeof *s->ref_next)) {
        cf_gbuild_oom(s->b);
        return 0;
    }
    memcpy(copy, v, n * sizeof *copy);
    s->ref_next[s->n_ref] = 0;
    s->ref[s->n_ref] = (cf_schema_ref){.path = s->at, .either = copy, .n_either = n};
    return (uint32_t)s->n_ref++;
}

cf_conj cf_conj__or(cf_schema *s, const cf_conj *v, uint32_t n)
{
    cf_conj *kept = cf_schema_alloc(s, n, sizeof *kept);
    uint32_t n_kept = 0;
    for (uint32_t i = 0; kept != NULL && i < n; i++) {
        bool is_new = v[i] != CF_CONJ_FALSE;
        for (uint32_t k = 0; k < n_kept; k++) {
            is_new = is_new && kept[k] != v[i];
        }
        if (v[i] == CF_CONJ_TRUE) {
            return CF_CONJ_TRUE;
        }
        if (is_new) {
            kept[n_kept++] = v[i];
        }
    }
    return n_kept == 0   ? CF_CONJ_FALSE
           : n_kept == 1 ? kept[0]
                         : cf_conj_one(s, either(s, kept, n_kept), false);
}

cf_conj cf_conj__not(cf_schema *s, cf_conj c)
{
    if (c == CF_CONJ_TRUE || c == CF_CONJ_FALSE) {
        return c == CF_CONJ_TRUE ? CF_CONJ_FALSE : CF_CONJ_TRUE;
    }
    cf_conj_info info = s->conj[c];
    cf_conj *v = cf_schema_alloc(s, info.n, sizeof *v);
    for (uint32_t i = 0; v != NULL && i < info.n; i++) {
        uint32_t one = s->list[info.first + i];
        v[i] = cf_conj_one(s, one >> 1, (one & 1) == 0);
    }
    return v != NULL ? cf_conj__or(s, v, info.n) : CF_CONJ_FALSE;
}
