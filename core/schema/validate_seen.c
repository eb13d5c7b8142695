/*
 * validate_seen.c - checks the keys and items that a schema has not evaluated.
 *
 * What is evaluated is marked in a second walk over the schemas at the same
 * place, through those that take the value.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/schema/validate_walk.h"

static void mark(cf_walk *w, uint32_t ref, const json_t *v, bool *seen);

/* Marks what a schema at the same place evaluates, if it takes v. */
static void mark_child(cf_walk *w, uint32_t ref, const json_t *schema, const char *key,
                       const json_t *v, bool *seen)
{
    if (schema != NULL && cf_walk__quiet_child(w, ref, schema, key, v, w->is_wide)) {
        mark(w, cf_schema__child(w->s, ref, schema, key), v, seen);
    }
}

static void mark_list(cf_walk *w, uint32_t ref, const char *keyword, const json_t *v, bool *seen)
{
    const json_t *list = cf_schema__get(w->s, w->s->ref[ref].s, keyword);
    for (size_t i = 0; i < json_array_size(list) && cf_schema_ok(w->s); i++) {
        char at[40];
        snprintf(at, sizeof at, "%s/%zu", keyword, i);
        mark_child(w, ref, json_array_get(list, i), at, v, seen);
    }
}

static void mark_condition(cf_walk *w, uint32_t ref, const json_t *v, bool *seen)
{
    const json_t *own = w->s->ref[ref].s;
    const json_t *cond = cf_schema__get(w->s, own, "if");
    if (cond == NULL) {
        return;
    }
    bool is_met = cf_walk__quiet_child(w, ref, cond, "if", v, w->is_wide);
    const char *next = is_met ? "then" : "else";
    mark_child(w, ref, cond, "if", v, seen);
    mark_child(w, ref, cf_schema__get(w->s, own, next), next, v, seen);
}

static void mark_dependent(cf_walk *w, uint32_t ref, const json_t *v, bool *seen)
{
    const char *has;
    json_t *then;
    json_object_foreach(cf_schema__get(w->s, w->s->ref[ref].s, "dependentSchemas"), has, then)
    {
        char at[200];
        snprintf(at, sizeof at, "dependentSchemas/%s", has);
        if (json_object_get(v, has) != NULL) {
            mark_child(w, ref, then, at, v, seen);
        }
    }
}

/* Marks what the schema's own keywords evaluate. */
static void mark_own(cf_walk *w, uint32_t ref, const json_t *v, bool *seen)
{
    const cf_atom *a = cf_schema__own(w->s, ref, cf_walk__kind(v));
    size_t n = 0;
    const char *key;
    size_t len;
    json_t *child;
    if (a == NULL) {
        return;
    }
    json_object_keylen_foreach(cf_json_ref(v), key, len, child)
    {
        seen[n] = seen[n] || cf_rx_matches(&w->s->rx, a->seen_keys, cf_str_make(key, len));
        n++;
    }
    for (size_t i = 0; i < json_array_size(v) && cf_schema_ok(w->s); i++) {
        seen[i] = seen[i] || i < a->n_seen;
        for (uint32_t k = 0; k < a->n_seen_some && !seen[i]; k++) {
            seen[i] = cf_walk__quietly(w, a->seen_some[k], json_array_get(v, i));
        }
    }
}

static const char *unevaluated_of(const json_t *v)
{
    return json_is_object(v)  ? "unevaluatedProperties"
           : json_is_array(v) ? "unevaluatedItems"
                              : NULL;
}

static void mark_below(cf_walk *w, uint32_t ref, const json_t *v, bool *seen)
{
    for (int i = 0; i < CF_REFERENCES && cf_schema_ok(w->s); i++) {
        uint32_t target = cf_schema__target(w->s, ref, i);
        if (target != 0) {
            mark(w, target, v, seen);
        }
    }
    mark_own(w, ref, v, seen);
    mark_list(w, ref, "allOf", v, seen);
    mark_list(w, ref, "anyOf", v, seen);
    mark_list(w, ref, "oneOf", v, seen);
    mark_condition(w, ref, v, seen);
    mark_dependent(w, ref, v, seen);
}

/* Marks what a schema that takes v evaluates. */
static void mark(cf_walk *w, uint32_t ref, const json_t *v, bool *seen)
{
    if (!cf_schema_ok(w->s) || !cf_gbuild_spend(w->s->b, 1)) {
        return;
    }
    if (++w->depth > CF_WALK_DEPTH_MAX) {
        cf_schema__exceed(w->s, w->s->ref[ref].path, "over %d levels of schemas",
                          (int)CF_WALK_DEPTH_MAX);
    }
    if (cf_schema__get(w->s, w->s->ref[ref].s, unevaluated_of(v)) != NULL) {
        memset(seen, true, json_object_size(v) + json_array_size(v));
    } else {
        mark_below(w, ref, v, seen);
    }
    w->depth--;
}

/* Checks the keys or items of v that are not marked. */
static bool check_rest(cf_walk *w, uint32_t ref, const json_t *v, const bool *seen)
{
    const char *keyword = unevaluated_of(v);
    uint32_t child =
        cf_schema__child(w->s, ref, cf_schema__get(w->s, w->s->ref[ref].s, keyword), keyword);
    bool ok = true;
    size_t n = 0;
    const char *key;
    size_t len;
    json_t *one;
    json_object_keylen_foreach(cf_json_ref(v), key, len, one)
    {
        if (!seen[n++] && cf_schema_ok(w->s) && (ok || cf_walk__is_heard(w))) {
            size_t at = cf_walk__push_key(w, cf_str_make(key, len));
            ok = cf_walk__ref(w, child, one) && ok;
            cf_walk__pop(w, at);
        }
    }
    for (size_t i = 0; i < json_array_size(v) && cf_schema_ok(w->s) && (ok || cf_walk__is_heard(w));
         i++) {
        size_t at = w->path.n;
        if (!seen[i]) {
            if (cf_walk__is_heard(w)) {
                cf_buf_addf(&w->path, "[%zu]", i);
            }
            ok = cf_walk__ref(w, child, json_array_get(v, i)) && ok;
            cf_walk__pop(w, at);
        }
    }
    return ok && cf_schema_ok(w->s);
}

bool cf_walk__unevaluated(cf_walk *w, uint32_t ref, const json_t *v)
{
    const char *keyword = unevaluated_of(v);
    if (w->s->draft < 2019 || keyword == NULL ||
        cf_schema__get(w->s, w->s->ref[ref].s, keyword) == NULL) {
        return true;
    }
    bool *seen = cf_calloc(json_object_size(v) + json_array_size(v) + 1, sizeof *seen);
    if (seen == NULL) {
        cf_gbuild_oom(w->s->b);
        return false;
    }
    w->quiet++;
    mark_below(w, ref, v, seen);
    w->quiet--;
    bool ok = cf_schema_ok(w->s) && check_rest(w, ref, v, seen);
    cf_free(seen);
    return ok;
}
