/*
 * schema.c - numbers schemas and resolves the references between them.
 */
#include "core/schema/schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"

static int draft_of(const json_t *root)
{
    const char *s = json_string_value(json_object_get(root, "$schema"));
    static const struct {
        const char *part;
        int draft;
    } known[] = {{"draft-03", 3}, {"draft-04", 4},   {"draft-05", 4},  {"draft-06", 6},
                 {"draft-07", 7}, {"2019-09", 2019}, {"2020-12", 2020}};
    for (size_t i = 0; s != NULL && i < sizeof known / sizeof *known; i++) {
        if (strstr(s, known[i].part) != NULL) {
            return known[i].draft;
        }
    }
    return 2020;
}

void cf_schema_init(cf_schema *s, cf_gbuild *b, const json_t *root, const cf_grammar_options *opts)
{
    memset(s, 0, sizeof *s);
    s->b = b;
    s->root = root;
    s->made = json_array();
    s->draft = draft_of(root);
    s->at = "$";
    if (opts != NULL) {
        s->opts = *opts;
    }
    cf_arena_init(&s->arena, (size_t)128 << 20);
    cf_rx_init(&s->rx, b);
    if (!cf_grow(&s->conj, &s->cap_conj, 2, sizeof *s->conj) ||
        !cf_grow(&s->ref, &s->cap_ref, 1, sizeof *s->ref) ||
        !cf_grow(&s->ref_next, &s->cap_ref_next, 1, sizeof *s->ref_next)) {
        cf_gbuild_oom(b);
        return;
    }
    memset(s->conj, 0, 2 * sizeof *s->conj);
    memset(s->ref, 0, sizeof *s->ref);
    s->conj[CF_CONJ_FALSE].state = 2;
    s->n_conj = 2;
    s->n_ref = 1;
}

void cf_schema_deinit(cf_schema *s)
{
    cf_rx_deinit(&s->rx);
    cf_arena_deinit(&s->arena);
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

static const char *own_id(const cf_schema *s, const json_t *v)
{
    const char *id = json_string_value(json_object_get(v, "$id"));
    if (id == NULL && s->draft <= 4) {
        id = json_string_value(json_object_get(v, "id"));
    }
    return id != NULL && id[0] != '#' && id[0] != '\0' ? id : NULL;
}

static uint32_t number_of(cf_schema *s, const json_t *v, const json_t *base, const char *path,
                          const char *key)
{
    size_t h = ((uintptr_t)v >> 4) % CF_SCHEMA_HASH;
    for (uint32_t i = s->ref_bucket[h]; i != 0; i = s->ref_next[i]) {
        if (s->ref[i].s == v) {
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
    if (json_is_object(v) && own_id(s, v) != NULL) {
        base = v;
    }
    s->ref[id] = (cf_schema_ref){.s = v, .base = base, .path = full};
    s->ref_next[id] = s->ref_bucket[h];
    s->ref_bucket[h] = id;
    return id;
}

uint32_t cf_schema__child(cf_schema *s, uint32_t parent, const json_t *v, const char *key)
{
    if (!cf_schema_ok(s)) {
        return 0;
    }
    const json_t *base = parent != 0 ? s->ref[parent].base : s->root;
    const char *path = parent != 0 ? s->ref[parent].path : "$";
    if (!json_is_object(v) && !json_is_boolean(v)) {
        cf_schema_fail(s, path, "%s is not a schema", key != NULL ? key : "it");
        return 0;
    }
    return number_of(s, v, base, path, key);
}

uint32_t cf_schema_root(cf_schema *s, const json_t *v, const char *path)
{
    return cf_schema_ok(s) ? number_of(s, v, v, path, NULL) : 0;
}

/* ---- $ref --------------------------------------------------------------- */

static void unescape_token(char *t)
{
    char *w = t;
    for (const char *r = t; *r != '\0'; r++, w++) {
        unsigned v;
        if (r[0] == '%' && sscanf(r + 1, "%2x", &v) == 1 && v != 0) {
            *w = (char)v;
            r += 2;
        } else {
            *w = *r;
        }
    }
    *w = '\0';
    w = t;
    for (const char *r = t; *r != '\0'; r++, w++) {
        if (r[0] == '~' && (r[1] == '0' || r[1] == '1')) {
            *w = r[1] == '0' ? '~' : '/';
            r++;
        } else {
            *w = *r;
        }
    }
    *w = '\0';
}

/* Resolves a JSON pointer "/a/b" below *base; NULL if there is no such value. *base
 * becomes the innermost resource that contains the value. */
static const json_t *at_pointer(cf_schema *s, const json_t **base, const char *pointer)
{
    const json_t *v = *base;
    while (v != NULL && *pointer == '/') {
        const char *end = strchr(pointer + 1, '/');
        size_t n = end != NULL ? (size_t)(end - pointer - 1) : strlen(pointer + 1);
        char *token = cf_arena_strndup(&s->arena, pointer + 1, n);
        if (token == NULL) {
            cf_gbuild_oom(s->b);
            return NULL;
        }
        unescape_token(token);
        if (json_is_array(v)) {
            char *stop;
            unsigned long i = strtoul(token, &stop, 10);
            v = *token != '\0' && *stop == '\0' ? json_array_get(v, i) : NULL;
        } else {
            v = json_object_get(v, token);
        }
        if (own_id(s, v) != NULL) {
            *base = v;
        }
        pointer += n + 1;
    }
    return *pointer == '\0' ? v : NULL;
}

/* The target of a search: a resource by its URI, or an anchor, or the URI of
 * a resource that is at hand. */
typedef struct finder {
    cf_schema *s;
    const char *id;     /* a whole URI without "#", or NULL */
    const char *anchor; /* or a name */
    const json_t *at;   /* or a resource, whose URI goes to `uri` */
    const char *uri;
    unsigned depth;
} finder;

/* Whether the text begins with a scheme and its colon (RFC 3986, 3.1). */
static bool is_absolute(const char *uri)
{
    size_t n = strcspn(uri, ":/?#");
    return n > 0 && uri[n] == ':';
}

/* Resolves `ref` against `base`, without its fragment (RFC 3986, 5.2, except for dot
 * segments); "" if memory runs out. */
static const char *resolve_uri(cf_schema *s, const char *base, const char *ref)
{
    size_t n = strcspn(ref, "#");
    size_t keep = 0;
    if (n == 0) {
        keep = strlen(base);
    } else if (!is_absolute(ref)) {
        const char *colon = is_absolute(base) ? strchr(base, ':') + 1 : base;
        const char *host = strncmp(colon, "//", 2) == 0 ? colon + 2 : colon;
        const char *path = host > colon ? host + strcspn(host, "/") : colon;
        const char *slash = strrchr(path, '/');
        keep = strncmp(ref, "//", 2) == 0 ? (size_t)(colon - base)
               : ref[0] == '/'            ? (size_t)(path - base)
               : slash != NULL            ? (size_t)(slash - base) + 1
                                          : (size_t)(path - base);
    }
    char *out = cf_schema_alloc(s, keep + n + 1, 1);
    if (out == NULL) {
        return "";
    }
    memcpy(out, base, keep);
    memcpy(out + keep, ref, n);
    return out;
}

static bool has_anchor(const json_t *v, const char *name)
{
    static const struct {
        const char *key;
        const char *before; /* the name */
    } keys[] = {{"$anchor", ""}, {"$dynamicAnchor", ""}, {"$id", "#"}, {"id", "#"}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *t = json_string_value(json_object_get(v, keys[i].key));
        size_t n = strlen(keys[i].before);
        if (t != NULL && strncmp(t, keys[i].before, n) == 0 && strcmp(t + n, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Keywords that hold values, and those that hold schemas by any name. */
static bool is_one_of(const char *key, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Depth-first in the schema v, or where it is a map in those it holds. */
static const json_t *find(finder *f, const json_t *v, const char *base, bool is_map)
{
    static const char *const values[] = {"enum", "const", "default", "examples", "example"};
    static const char *const maps[] = {"properties",  "patternProperties", "$defs",
                                       "definitions", "dependentSchemas",  "dependencies"};
    const json_t *out = NULL;
    if (f->depth > 200 || !cf_gbuild_spend(f->s->b, 1)) {
        return NULL;
    }
    f->depth++;
    for (size_t i = 0; out == NULL && i < json_array_size(v); i++) {
        out = find(f, json_array_get(v, i), base, false);
    }
    if (json_is_object(v) && !is_map) {
        const char *id = own_id(f->s, v);
        base = id != NULL ? resolve_uri(f->s, base, id) : base;
        if (f->at == v) {
            f->uri = base;
            out = v;
        } else if (f->id != NULL ? id != NULL && strcmp(base, f->id) == 0
                                 : f->anchor != NULL && has_anchor(v, f->anchor)) {
            out = v;
        }
    }
    json_t *in = cf_json_ref(v);
    const char *key;
    json_t *child;
    json_object_foreach(in, key, child)
    {
        if (out != NULL) {
            break;
        }
        if (is_map || !is_one_of(key, values, sizeof values / sizeof *values)) {
            out = find(f, child, base, !is_map && is_one_of(key, maps, sizeof maps / sizeof *maps));
        }
    }
    f->depth--;
    return out;
}

/* The resource that a URI without its fragment names, seen from `base`. */
static const json_t *find_resource(cf_schema *s, const json_t *base, const char *uri, size_t n)
{
    if (n == 0) {
        return base;
    }
    char *whole = cf_arena_strndup(&s->arena, uri, n);
    if (whole == NULL) {
        cf_gbuild_oom(s->b);
        return NULL;
    }
    finder here = {.s = s, .at = base, .uri = ""};
    find(&here, s->root, "", false);
    finder f = {.s = s, .id = resolve_uri(s, here.uri, whole)};
    const json_t *out = find(&f, s->root, "", false);
    if (out == NULL) { /* an id that was not intended as relative */
        f = (finder){.s = s, .id = whole};
        out = find(&f, s->root, "", false);
    }
    return out;
}

uint32_t cf_schema__resolve(cf_schema *s, uint32_t from, const char *uri)
{
    cf_schema_ref r = s->ref[from];
    const char *hash = strchr(uri, '#');
    size_t n = hash != NULL ? (size_t)(hash - uri) : strlen(uri);
    const char *fragment = hash != NULL ? hash + 1 : "";
    const json_t *base = find_resource(s, r.base, uri, n);
    const json_t *to = NULL;
    if (base != NULL && (*fragment == '\0' || *fragment == '/')) {
        to = at_pointer(s, &base, fragment);
        if (to == NULL && n == 0 && r.base != s->root) {
            base = s->root;
            to = at_pointer(s, &base, fragment);
        }
    } else if (base != NULL) {
        finder f = {.s = s, .anchor = fragment};
        to = find(&f, base, "", false);
    }
    if (to == NULL || (!json_is_object(to) && !json_is_boolean(to))) {
        cf_schema_fail(s, r.path, "$ref %s is not to be found", uri);
        return 0;
    }
    return number_of(s, to, base, uri, NULL);
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
