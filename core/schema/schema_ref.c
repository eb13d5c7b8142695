/*
 * schema_ref.c - finds documents, the resources and anchors in them, and what
 * references name.
 *
 * Each document is walked once, through the keywords that hold schemas: an
 * "$id" in a constant or in an unknown keyword names nothing.  Documents come
 * from the caller, from the metaschemas in the program, and from files; never
 * from a network.
 *
 * A schema is numbered together with its dynamic scope (cf_scope), since what
 * "$dynamicRef" and "$recursiveRef" name depends on it.  A scope lists no
 * resource twice, so there are finitely many.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/schema/schema.h"
#include "core/schema/uri.h"

enum { DEPTH_MAX = 2048 };

static const char *text_of(const json_t *v, const char *key)
{
    return json_string_value(json_object_get(v, key));
}

/* ---- walking a document ------------------------------------------------- */

typedef enum holds { NO_SCHEMA, SCHEMA, MAP } holds;

/* Whether a keyword's value is a schema or a list of schemas, or a map of such. */
static holds what_holds(const char *keyword)
{
    static const char *const maps[] = {"properties",  "patternProperties", "$defs",
                                       "definitions", "dependentSchemas",  "dependencies"};
    static const char *const schemas[] = {"additionalItems",
                                          "additionalProperties",
                                          "allOf",
                                          "anyOf",
                                          "contains",
                                          "contentSchema",
                                          "disallow",
                                          "else",
                                          "extends",
                                          "if",
                                          "items",
                                          "not",
                                          "oneOf",
                                          "prefixItems",
                                          "propertyNames",
                                          "unevaluatedItems",
                                          "unevaluatedProperties",
                                          "then"};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        if (maps[i][0] == keyword[0] && strcmp(keyword, maps[i]) == 0) {
            return MAP;
        }
    }
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        if (schemas[i][0] == keyword[0] && strcmp(keyword, schemas[i]) == 0) {
            return SCHEMA;
        }
    }
    return NO_SCHEMA;
}

bool cf_schema__is_alias(const cf_schema *s, const json_t *v)
{
    return s->draft <= 7 && text_of(v, "$ref") != NULL;
}

static const char *resolve(cf_schema *s, const char *base, const char *ref)
{
    const char *uri = cf_uri__resolve(&s->arena, base, ref);
    if (uri == NULL) {
        cf_gbuild_oom(s->b);
    }
    return uri != NULL ? uri : "";
}

static uint32_t add_resource(cf_schema *s, cf_resource r)
{
    if (!cf_grow(&s->resource, &s->cap_resource, s->n_resource + 1, sizeof *s->resource)) {
        cf_gbuild_oom(s->b);
        return 0;
    }
    s->resource[s->n_resource] = r;
    return (uint32_t)s->n_resource++;
}

static void add_anchor(cf_schema *s, const char *name, const json_t *v, uint32_t home, bool is_dyn)
{
    if (!cf_grow(&s->anchor, &s->cap_anchor, s->n_anchor + 1, sizeof *s->anchor)) {
        cf_gbuild_oom(s->b);
        return;
    }
    s->anchor[s->n_anchor++] = (cf_anchor){v, name, home, is_dyn};
}

static const char *id_of(const cf_schema *s, const json_t *v)
{
    const char *id = text_of(v, "$id");
    return id == NULL && s->draft <= 4 ? text_of(v, "id") : id;
}

/* Notes what the schema itself is called; the resource it belongs to. */
static uint32_t add_names(cf_schema *s, const json_t *v, uint32_t home)
{
    const char *id = id_of(s, v);
    if (s->resource[home].s != v && id != NULL && !cf_schema__is_alias(s, v)) {
        const char *hash = strchr(id, '#');
        if (id != hash && id[0] != '\0') {
            const cf_resource r = {.s = v,
                                   .uri = resolve(s, s->resource[home].uri, id),
                                   .id = id,
                                   .doc = s->resource[home].doc};
            home = add_resource(s, r);
        }
        if (hash != NULL && hash[1] != '\0') {
            add_anchor(s, hash + 1, v, home, false);
        }
    }
    const char *anchor = text_of(v, "$anchor");
    const char *dynamic = text_of(v, "$dynamicAnchor");
    if (anchor != NULL) {
        add_anchor(s, anchor, v, home, false);
    }
    if (dynamic != NULL) {
        add_anchor(s, dynamic, v, home, true);
    }
    if (json_is_true(json_object_get(v, "$recursiveAnchor")) && s->resource[home].s == v) {
        add_anchor(s, "", v, home, true);
    }
    return home;
}

/* Notes the resources and anchors of a schema or a list of schemas. */
static void index_schema(cf_schema *s, const json_t *v, uint32_t home, unsigned depth)
{
    if (depth > DEPTH_MAX || !cf_schema_ok(s)) {
        return;
    }
    for (size_t i = 0; i < json_array_size(v); i++) {
        index_schema(s, json_array_get(v, i), home, depth + 1);
    }
    if (!json_is_object(v)) {
        return;
    }
    home = add_names(s, v, home);
    const char *key;
    json_t *child;
    json_object_foreach(cf_json_ref(v), key, child)
    {
        holds what = what_holds(key);
        s->has_unevaluated = s->has_unevaluated || strncmp(key, "unevaluated", 11) == 0;
        const char *name;
        json_t *one;
        if (what == SCHEMA) {
            index_schema(s, child, home, depth + 1);
        } else if (what == MAP) {
            json_object_foreach(child, name, one)
            {
                index_schema(s, one, home, depth + 1);
            }
        }
    }
}

uint32_t cf_schema__add_document(cf_schema *s, const json_t *v, const char *uri)
{
    const char *id = id_of(s, v);
    cf_resource r = {.s = v, .uri = uri, .at = uri, .doc = (uint32_t)s->n_resource};
    if (id != NULL && id[0] != '#') {
        r.id = id;
        r.uri = resolve(s, uri, id);
    }
    uint32_t home = add_resource(s, r);
    if (cf_schema_ok(s)) {
        index_schema(s, v, home, 0);
    }
    return home;
}

/* A step of work for so many entries of a list that are compared. */
static bool spend_search(cf_schema *s, size_t n)
{
    return cf_gbuild_spend(s->b, 1 + n / 16);
}

uint32_t cf_schema__resource_of(cf_schema *s, const json_t *v)
{
    bool has_id = json_object_get(v, "$id") != NULL || json_object_get(v, "id") != NULL;
    if (!has_id || !spend_search(s, s->n_resource)) {
        return UINT32_MAX;
    }
    for (size_t i = 0; i < s->n_resource; i++) {
        if (s->resource[i].s == v) {
            return (uint32_t)i;
        }
    }
    return UINT32_MAX;
}

/* ---- other documents ---------------------------------------------------- */

/* Whether the path stays below the folder that it is appended to. */
static bool stays_below(const char *path)
{
    for (const char *c = path; c != NULL; c = strchr(c, '/')) {
        c += *c == '/' ? 1 : 0;
        if (strncmp(c, "..", 2) == 0 && (c[2] == '/' || c[2] == '\0')) {
            return false;
        }
    }
    return path[0] != '\0' && path[0] != '/';
}

/* Reads the document that the URI's path names inside the schema folder; NULL if
 * there is no such file. */
static json_t *read_document(cf_schema *s, const char *uri)
{
    const char *path = cf_uri__path(&s->arena, uri);
    if (path == NULL) {
        cf_gbuild_oom(s->b);
        return NULL;
    }
    if (s->opts.schema_dir == NULL || !stays_below(path)) {
        return NULL;
    }
    cf_buf file = CF_BUF_INIT;
    cf_error err = {0};
    json_t *doc = NULL;
    cf_buf_addf(&file, "%s/%s", s->opts.schema_dir, path);
    cf_status st = cf_buf_check(&file, &err);
    CF_THEN(st, cf_json_read_small(&doc, cf_buf_cstr(&file), CF_JSON_SMALL_MAX, &err));
    cf_buf_deinit(&file);
    if (st != CF_OK && st != CF_ENOTFOUND) {
        cf_gbuild_fail(s->b, st, "%s", err.text);
    }
    return doc;
}

/* The resource that is the document of this URI; UINT32_MAX if there is none. */
static uint32_t load(cf_schema *s, const char *uri)
{
    json_t *doc = cf_schema__is_official(uri) ? cf_schema__metaschema(s, uri) : NULL;
    if (doc == NULL && cf_schema_ok(s)) {
        doc = read_document(s, uri);
    }
    if (doc == NULL) {
        return UINT32_MAX;
    }
    if (json_array_append_new(s->made, doc) != 0) {
        cf_gbuild_oom(s->b);
        return UINT32_MAX;
    }
    return cf_schema__add_document(s, doc, uri);
}

/* The resource that a URI without its fragment names, seen from `home`. */
static uint32_t find_resource(cf_schema *s, uint32_t home, const char *uri)
{
    size_t n = strcspn(uri, "#");
    if (n == 0) {
        return home;
    }
    const char *whole = resolve(s, s->resource[home].uri, uri);
    if (!spend_search(s, 2 * s->n_resource)) {
        return UINT32_MAX;
    }
    for (size_t i = 0; i < s->n_resource; i++) {
        const cf_resource *r = &s->resource[i];
        if (strcmp(r->uri, whole) == 0 || (r->at != NULL && strcmp(r->at, whole) == 0)) {
            return (uint32_t)i;
        }
    }
    /* an id that was not intended as relative */
    for (size_t i = 0; i < s->n_resource; i++) {
        const char *id = s->resource[i].id;
        if (id != NULL && strcspn(id, "#") == n && strncmp(id, uri, n) == 0) {
            return (uint32_t)i;
        }
    }
    return cf_schema_ok(s) ? load(s, whole) : UINT32_MAX;
}

static void read_draft(cf_schema *s, const char *uri)
{
    static const struct {
        const char *part;
        int draft;
    } known[] = {{"draft-03", 3}, {"draft-04", 4},   {"draft-05", 4},  {"draft-06", 6},
                 {"draft-07", 7}, {"2019-09", 2019}, {"2020-12", 2020}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strstr(uri, known[i].part) != NULL) {
            s->draft = known[i].draft;
        }
    }
}

/* Whether a metaschema that lists its vocabularies leaves out that of validation. */
static bool lacks_validation(const json_t *meta)
{
    const json_t *list = json_object_get(meta, "$vocabulary");
    const char *name;
    json_t *is_needed;
    json_object_foreach(cf_json_ref(list), name, is_needed)
    {
        if (strstr(name, "/vocab/validation") != NULL) {
            return false;
        }
    }
    return json_is_object(list);
}

void cf_schema__read_dialect(cf_schema *s, const json_t *root)
{
    enum { HOPS_MAX = 4 };
    for (int hop = 0; hop < HOPS_MAX && root != NULL; hop++) {
        const char *uri = text_of(root, "$schema");
        if (uri == NULL) {
            return;
        }
        read_draft(s, uri);
        uint32_t meta = UINT32_MAX;
        if (!cf_schema__is_official(uri) && s->opts.schema_dir != NULL) {
            meta = load(s, resolve(s, "", uri));
        }
        root = meta != UINT32_MAX ? s->resource[meta].s : NULL;
        s->skips_validation = s->skips_validation || lacks_validation(root);
    }
}

/* ---- dynamic scopes ----------------------------------------------------- */

/* The outermost resource of the scope that defines the dynamic anchor; NULL if none does,
 * and when the work is over its bound. */
static const cf_anchor *outermost(cf_schema *s, uint32_t scope, const char *name)
{
    const cf_anchor *out = NULL;
    for (; scope != 0 && spend_search(s, s->n_anchor); scope = s->scope[scope].outer) {
        for (size_t i = 0; i < s->n_anchor; i++) {
            const cf_anchor *a = &s->anchor[i];
            if (a->is_dynamic && a->home == s->scope[scope].home && strcmp(a->name, name) == 0) {
                out = a;
            }
        }
    }
    return out;
}

uint32_t cf_schema__enter(cf_schema *s, uint32_t scope, uint32_t home)
{
    bool has_new = false;
    if (s->n_anchor > 0 && !spend_search(s, s->n_anchor)) {
        return scope;
    }
    for (size_t i = 0; i < s->n_anchor && !has_new; i++) {
        const cf_anchor *a = &s->anchor[i];
        has_new = a->is_dynamic && a->home == home && spend_search(s, s->n_anchor) &&
                  outermost(s, scope, a->name) == NULL;
    }
    if (!has_new || !spend_search(s, s->n_scope)) {
        return scope;
    }
    for (uint32_t i = 1; i < s->n_scope; i++) {
        if (s->scope[i].outer == scope && s->scope[i].home == home) {
            return i;
        }
    }
    if (!cf_grow(&s->scope, &s->cap_scope, s->n_scope + 1, sizeof *s->scope)) {
        cf_gbuild_oom(s->b);
        return scope;
    }
    s->scope[s->n_scope] = (cf_scope){scope, home};
    return (uint32_t)s->n_scope++;
}

/* ---- references --------------------------------------------------------- */

/* A schema and the resource that it lies in. */
typedef struct place {
    const json_t *s;
    uint32_t home;
    bool is_dynamic; /* found by a dynamic anchor */
} place;

/* Replaces "~1" and "~0" (RFC 6901, section 4). */
static void unescape_token(char *t)
{
    char *to = t;
    for (const char *c = t; *c != '\0'; c++, to++) {
        bool is_escape = c[0] == '~' && (c[1] == '0' || c[1] == '1');
        *to = !is_escape ? *c : c[1] == '0' ? '~' : '/';
        c += is_escape ? 1 : 0;
    }
    *to = '\0';
}

/* Resolves a JSON pointer "/a/b" in a resource; `s` is NULL if there is no such value. */
static place at_pointer(cf_schema *s, uint32_t home, const char *pointer)
{
    place p = {.s = s->resource[home].s, .home = home};
    while (p.s != NULL && *pointer == '/') {
        size_t n = strcspn(pointer + 1, "/");
        char *token = cf_arena_strndup(&s->arena, pointer + 1, n);
        if (token == NULL) {
            cf_gbuild_oom(s->b);
            return (place){0};
        }
        cf_uri__unescape(token);
        unescape_token(token);
        if (json_is_array(p.s)) {
            char *stop;
            unsigned long i = strtoul(token, &stop, 10);
            p.s = *token != '\0' && *stop == '\0' ? json_array_get(p.s, i) : NULL;
        } else {
            p.s = json_object_get(p.s, token);
        }
        uint32_t own = json_is_object(p.s) ? cf_schema__resource_of(s, p.s) : UINT32_MAX;
        p.home = own != UINT32_MAX ? own : p.home;
        pointer += n + 1;
    }
    p.s = *pointer == '\0' ? p.s : NULL;
    return p;
}

static place at_anchor(cf_schema *s, uint32_t home, const char *fragment)
{
    char *name = cf_arena_strndup(&s->arena, fragment, strlen(fragment));
    if (name == NULL) {
        cf_gbuild_oom(s->b);
        return (place){0};
    }
    cf_uri__unescape(name);
    place p = {0};
    if (!spend_search(s, s->n_anchor)) {
        return p;
    }
    for (size_t i = 0; i < s->n_anchor; i++) {
        const cf_anchor *a = &s->anchor[i];
        if (a->home == home && strcmp(a->name, name) == 0 && (p.s == NULL || a->is_dynamic)) {
            p = (place){a->s, home, a->is_dynamic};
        }
    }
    return p;
}

static place find(cf_schema *s, uint32_t from, const char *uri)
{
    const char *hash = strchr(uri, '#');
    const char *fragment = hash != NULL ? hash + 1 : "";
    uint32_t here = s->ref[from].home;
    uint32_t home = find_resource(s, here, uri);
    if (home == UINT32_MAX) {
        return (place){0};
    }
    if (*fragment != '\0' && *fragment != '/') {
        return at_anchor(s, home, fragment);
    }
    place p = at_pointer(s, home, fragment);
    uint32_t root = s->resource[here].doc;
    if (p.s == NULL && hash == uri && here != root) { /* meant from the document's root */
        p = at_pointer(s, root, fragment);
    }
    return p;
}

uint32_t cf_schema__target(cf_schema *s, uint32_t from, int kind)
{
    static const struct {
        const char *keyword;
        int draft;
    } kinds[CF_REFERENCES] = {{"$ref", 0}, {"$dynamicRef", 2019}, {"$recursiveRef", 2019}};
    const cf_schema_ref r = s->ref[from];
    const json_t *v = json_object_get(r.s, kinds[kind].keyword);
    const char *uri = json_string_value(v);
    if (v == NULL || s->draft < kinds[kind].draft) {
        return 0;
    }
    if (uri == NULL) {
        cf_schema_fail(s, r.path, "%s is not a string", kinds[kind].keyword);
        return 0;
    }
    place p = find(s, from, uri);
    if (!cf_schema_ok(s)) {
        return 0;
    }
    if (!json_is_object(p.s) && !json_is_boolean(p.s)) {
        cf_schema_fail(s, r.path, "%s %s is not to be found", kinds[kind].keyword, uri);
        return 0;
    }
    const cf_anchor *dynamic = NULL;
    if (kind == 1 && p.is_dynamic) {
        dynamic = outermost(s, r.scope, strchr(uri, '#') + 1);
    } else if (kind == 2 && json_is_true(json_object_get(p.s, "$recursiveAnchor"))) {
        dynamic = outermost(s, r.scope, "");
    }
    if (dynamic != NULL) {
        p = (place){dynamic->s, dynamic->home, true};
    }
    return cf_schema__number(s, p.s, p.home, cf_schema__enter(s, r.scope, p.home), uri, NULL);
}
