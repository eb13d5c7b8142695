/*
 * json_digits.c - builds a jansson tree from the events of json_exact.h.
 */
#include "core/json/json_digits.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/json/json_exact.h"

enum { MARK = 0xFF };

cf_str cf_json_digits(const json_t *v)
{
    const char *p = json_string_value(v);
    size_t n = json_string_length(v);
    return p != NULL && n > 1 && (unsigned char)p[0] == MARK ? cf_str_make(p + 1, n - 1)
                                                             : cf_str_make(NULL, 0);
}

static json_t *digits(cf_str text, cf_arena *a)
{
    char *s = cf_arena_calloc(a, text.n + 1, 1);
    if (s == NULL) {
        return NULL;
    }
    s[0] = (char)MARK;
    memcpy(s + 1, text.p, text.n);
    return json_stringn_nocheck(s, text.n + 1);
}

static json_t *integer(cf_str text, cf_arena *a)
{
    const char *s = cf_arena_strndup(a, text.p, text.n);
    if (s == NULL) {
        return NULL;
    }
    errno = 0;
    long long v = strtoll(s, NULL, 10);
    return errno == ERANGE ? digits(text, a) : json_integer(v);
}

static json_t *real(cf_str text, cf_arena *a)
{
    const char *s = cf_arena_strndup(a, text.p, text.n);
    if (s == NULL) {
        return NULL;
    }
    double v = strtod(s, NULL);
    return isfinite(v) ? json_real(v) : digits(text, a);
}

static json_t *scalar(const cf_jx_event *e, cf_arena *a)
{
    switch (e->kind) {
    case CF_JX_TRUE:
        return json_true();
    case CF_JX_FALSE:
        return json_false();
    case CF_JX_INT:
        return integer(e->text, a);
    case CF_JX_FLOAT:
        return real(e->text, a);
    case CF_JX_STRING:
        return json_stringn_nocheck(e->text.p != NULL ? e->text.p : "", e->text.n);
    case CF_JX_OBJECT:
        return json_object();
    case CF_JX_ARRAY:
        return json_array();
    default:
        return json_null();
    }
}

typedef struct builder {
    json_t *root;
    json_t *open[CF_JX_DEPTH_MAX]; /* borrowed from root */
    size_t depth;
    cf_str key;
} builder;

/* Hangs v, which is taken, on the innermost container. */
static bool hang(builder *b, json_t *v)
{
    if (v == NULL) {
        return false;
    }
    if (b->depth == 0) {
        json_decref(b->root);
        b->root = v;
        return true;
    }
    json_t *top = b->open[b->depth - 1];
    return json_is_array(top) ? json_array_append_new(top, v) == 0
                              : json_object_setn_new_nocheck(top, b->key.p != NULL ? b->key.p : "",
                                                             b->key.n, v) == 0;
}

static cf_status take(builder *b, const cf_jx_event *e, cf_arena *a, cf_error *err)
{
    if (e->kind == CF_JX_KEY) {
        b->key = e->text;
        return CF_OK;
    }
    if (e->kind == CF_JX_OBJECT_END || e->kind == CF_JX_ARRAY_END) {
        b->depth--;
        return CF_OK;
    }
    if (e->kind == CF_JX_FLOAT &&
        (e->text.p[e->text.n - 1] == 'N' || e->text.p[e->text.n - 1] == 'y')) {
        return cf_fail(err, CF_EFORMAT, "not valid JSON: %.*s", (int)e->text.n, e->text.p);
    }
    json_t *v = scalar(e, a);
    if (!hang(b, v)) {
        return cf_oom(err);
    }
    if (e->kind == CF_JX_OBJECT || e->kind == CF_JX_ARRAY) {
        b->open[b->depth++] = v; /* within what cf_jx_next() lets be */
    }
    return CF_OK;
}

cf_status cf_json_read_digits(json_t **out, const char *p, size_t n, cf_error *err)
{
    cf_jx x;
    cf_arena a;
    cf_jx_event e = {.kind = CF_JX_NULL};
    builder b; /* `open` is large */
    cf_status st = CF_OK;
    b.root = NULL;
    b.depth = 0;
    b.key = cf_str_make(NULL, 0);
    cf_arena_init(&a, 0);
    cf_jx_init(&x, cf_str_make(p, n), &a);
    for (;;) {
        st = cf_jx_next(&x, &e, err);
        if (st != CF_OK || e.kind == CF_JX_END) {
            break;
        }
        st = take(&b, &e, &a, err);
        if (st != CF_OK) {
            break;
        }
    }
    if (st == CF_OK && b.root == NULL) {
        st = cf_oom(err);
    }
    cf_arena_deinit(&a);
    if (st != CF_OK) {
        json_decref(b.root);
        return st;
    }
    *out = b.root;
    return CF_OK;
}
