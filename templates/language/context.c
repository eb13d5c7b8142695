/*
 * context.c - JSON to values, each with its origin.
 *
 * Strings are hashed and counted here, once, so that renders only read them
 * (value.h, invariant 3).
 */
#include <math.h>
#include <stdlib.h>

#include "core/json/json_digits.h"
#include "core/json/json_exact.h"
#include "templates/language/ast.h"
#include "templates/language/number.h"

enum { PATH_MAX_BYTES = 160 };

typedef struct maker {
    cf_tr r; /* for its memory */
    cf_torg *org;
    uint32_t n_org, cap_org;
    cf_error *err;
} maker;

static void start(maker *m, cf_arena *arena, cf_error *err)
{
    *m = (maker){.err = err};
    m->r.arena = arena;
    m->r.max_mem = SIZE_MAX / 2;
    m->r.max_steps = UINT64_MAX;
    m->r.max_depth = CF_JX_DEPTH_MAX + 10;
    m->r.max_out = UINT32_MAX / 4;
}

static const cf_torg *org_at(const maker *m, uint32_t org)
{
    return org >= CF_ORG_FIRST ? &m->org[org - CF_ORG_FIRST] : NULL;
}

static bool grow_origins(maker *m)
{
    uint32_t cap = m->cap_org < 32 ? 32 : m->cap_org * 2;
    cf_torg *grown = cf_t__alloc(&m->r, cap * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    if (m->n_org != 0) {
        memcpy(grown, m->org, m->n_org * sizeof *grown);
    }
    m->org = grown;
    m->cap_org = cap;
    return true;
}

/* Appends "[index]", or as much of `key` as a path may have, to text[n]. */
static size_t add_step(char *text, size_t n, const cf_str *key, uint32_t index)
{
    if (key == NULL) {
        text[n++] = '[';
        n += cf_t__int64_text(text + n, index);
        text[n++] = ']';
        return n;
    }
    size_t room = n < PATH_MAX_BYTES ? PATH_MAX_BYTES - n : 0;
    size_t len = key->n;
    if (len > room) {
        len = room;
        while (len > 0 && ((unsigned char)key->p[len] & 0xC0) == 0x80) {
            len--;
        }
    }
    if (len != 0) {
        memcpy(text + n, key->p, len);
    }
    return n + len;
}

/* The origin of the member `key` (or item `index`) of something. */
static uint32_t new_org(maker *m, uint32_t parent, const cf_str *key, uint32_t index)
{
    static const cf_str nothing = {"", 0};
    if (m->n_org == m->cap_org && !grow_origins(m)) {
        return CF_ORG_NONE;
    }
    const cf_torg *up = org_at(m, parent);
    cf_torg o = {.source = CF_SPAN_VARIABLE};
    char text[PATH_MAX_BYTES + 32];
    size_t n = 0;
    if (up != NULL) {
        o.source = up->source;
        o.index = up->index;
        bool is_message = key == NULL && cf_str_is(up->path, "messages");
        bool is_tool = key == NULL && cf_str_is(up->path, "tools");
        if (up->source == CF_SPAN_VARIABLE && (is_message || is_tool)) {
            o.source = is_message ? CF_SPAN_MESSAGE : CF_SPAN_TOOL;
            o.index = index;
            key = &nothing;
        } else {
            n = up->path.n;
            memcpy(text, up->path.p, n);
            if (key != NULL) {
                text[n++] = '.';
            }
        }
    }
    n = add_step(text, n, key, index);
    n = n > PATH_MAX_BYTES ? PATH_MAX_BYTES : n;
    char *copy = cf_t__alloc(&m->r, n + 1);
    if (copy == NULL) {
        return CF_ORG_NONE;
    }
    memcpy(copy, text, n);
    o.path = cf_str_make(copy, n);
    m->org[m->n_org] = o;
    return CF_ORG_FIRST + m->n_org++;
}

static cf_tv make_str(maker *m, cf_str s, uint32_t org, uint32_t off, bool copy)
{
    if (s.n > UINT32_MAX / 4) {
        return cf_t__fail_limit(&m->r, "a string of the context is too long");
    }
    cf_tv v = copy ? cf_t__str_copy(&m->r, s.p, s.n, org) : cf_t__str_of(&m->r, s.p, s.n, org);
    if (v.k == CF_TSTR) {
        v.u.s->one.off = off;
        v.u.s->hash = cf_t__hash_bytes(v.u.s->p, s.n);
        cf_t__str_cps(v.u.s);
    }
    return v;
}

/* ---- from jansson ------------------------------------------------------- */

static cf_tv from_json(maker *m, const json_t *j, uint32_t org);

static cf_tv from_object(maker *m, const json_t *j, uint32_t org)
{
    union {
        const json_t *in;
        json_t *out;
    } object = {j};
    cf_tdict *d = cf_t__dict_new(&m->r, (uint32_t)json_object_size(j));
    for (void *it = json_object_iter(object.out); d != NULL && it != NULL;
         it = json_object_iter_next(object.out, it)) {
        cf_str name = cf_str_make(json_object_iter_key(it), json_object_iter_key_len(it));
        uint32_t member = new_org(m, org, &name, 0);
        cf_tv key = make_str(m, name, member, CF_NO_COPY, true);
        cf_tv val = key.k == CF_TERR ? key : from_json(m, json_object_iter_value(it), member);
        if (val.k == CF_TERR || !cf_t__dict_set(&m->r, d, key, val)) {
            return CF_TV_ERR;
        }
    }
    return d != NULL ? (cf_tv){.k = CF_TDICT, .org = org, .u.d = d} : CF_TV_ERR;
}

static cf_tv from_array(maker *m, const json_t *j, uint32_t org)
{
    size_t n = json_array_size(j);
    cf_tlist *l = n < UINT32_MAX / 64 ? cf_t__list_new(&m->r, (uint32_t)n) : NULL;
    for (size_t i = 0; l != NULL && i < n; i++) {
        cf_tv v = from_json(m, json_array_get(j, i), new_org(m, org, NULL, (uint32_t)i));
        CF_TVTRY(v);
        l->v[l->n++] = v;
    }
    return l != NULL ? (cf_tv){.k = CF_TLIST, .org = org, .u.l = l} : CF_TV_ERR;
}

static double read_double(maker *m, cf_str s)
{
    if (cf_str_is(s, "NaN")) {
        return (double)NAN;
    }
    if (s.p[s.n - 1] == 'y') {
        return s.p[0] == '-' ? -HUGE_VAL : HUGE_VAL;
    }
    char few[64];
    char *text = s.n < sizeof few ? few : cf_t__alloc(&m->r, s.n + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    return strtod(text, NULL);
}

static cf_tv read_int(maker *m, cf_str s)
{
    bool is_neg = s.p[0] == '-';
    return cf_t__int_parse(&m->r, s.p + is_neg, s.n - is_neg, 10, is_neg);
}

/* A number that a tree of JSON has as it is spelled. */
static cf_tv from_digits(maker *m, cf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (strchr(".eE", s.p[i]) != NULL) {
            return cf_tv_float(read_double(m, s));
        }
    }
    return read_int(m, s);
}

static cf_tv from_json(maker *m, const json_t *j, uint32_t org)
{
    cf_tv v = CF_TV_NONE;
    if (!cf_t__enter(&m->r)) {
        return CF_TV_ERR;
    }
    switch (j != NULL ? json_typeof(j) : JSON_NULL) {
    case JSON_OBJECT:
        v = from_object(m, j, org);
        break;
    case JSON_ARRAY:
        v = from_array(m, j, org);
        break;
    case JSON_STRING:
        if (cf_json_digits(j).p != NULL) {
            v = from_digits(m, cf_json_digits(j));
            v.org = org;
            break;
        }
        v = make_str(m, cf_str_make(json_string_value(j), json_string_length(j)), org, 0, true);
        break;
    case JSON_INTEGER:
        v = cf_tv_int(json_integer_value(j));
        v.org = org;
        break;
    case JSON_REAL:
        v = cf_tv_float(json_real_value(j));
        v.org = org;
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        v = cf_tv_bool(json_is_true(j));
        v.org = org;
        break;
    case JSON_NULL:
        v.org = org;
        break;
    }
    cf_t__leave(&m->r);
    return v;
}

/* ---- from text ---------------------------------------------------------- */

static cf_tv from_text(maker *m, cf_jx *x, cf_jx_event e, uint32_t org);

static bool next(maker *m, cf_jx *x, cf_jx_event *e)
{
    cf_error err;
    cf_status st = cf_jx_next(x, e, &err);
    if (st == CF_OK) {
        return true;
    }
    if (m->err != NULL) {
        *m->err = err;
    }
    if (st == CF_ENOMEM) {
        cf_t__fail_memory(&m->r);
    } else if (st == CF_ELIMIT) {
        cf_t__fail_limit(&m->r, "%s", err.text);
    } else {
        cf_t__fail(&m->r, "%s", err.text);
    }
    return false;
}

static cf_tv object_from_text(maker *m, cf_jx *x, uint32_t org)
{
    cf_tdict *d = cf_t__dict_new(&m->r, 0);
    cf_jx_event e;
    while (d != NULL) {
        if (!next(m, x, &e)) {
            return CF_TV_ERR;
        }
        if (e.kind == CF_JX_OBJECT_END) {
            return (cf_tv){.k = CF_TDICT, .org = org, .u.d = d};
        }
        uint32_t member = new_org(m, org, &e.text, 0);
        cf_tv key = make_str(m, e.text, member, CF_NO_COPY, true);
        if (key.k == CF_TERR || !next(m, x, &e)) {
            return CF_TV_ERR;
        }
        cf_tv val = from_text(m, x, e, member);
        if (val.k == CF_TERR || !cf_t__dict_set(&m->r, d, key, val)) {
            return CF_TV_ERR;
        }
    }
    return CF_TV_ERR;
}

static cf_tv array_from_text(maker *m, cf_jx *x, uint32_t org)
{
    cf_tlist *l = cf_t__list_new(&m->r, 0);
    cf_jx_event e;
    while (l != NULL) {
        if (!next(m, x, &e)) {
            return CF_TV_ERR;
        }
        if (e.kind == CF_JX_ARRAY_END) {
            return (cf_tv){.k = CF_TLIST, .org = org, .u.l = l};
        }
        cf_tv v = from_text(m, x, e, new_org(m, org, NULL, l->n));
        if (v.k == CF_TERR || !cf_t__list_add(&m->r, l, v)) {
            return CF_TV_ERR;
        }
    }
    return CF_TV_ERR;
}

static cf_tv from_text(maker *m, cf_jx *x, cf_jx_event e, uint32_t org)
{
    cf_tv v = CF_TV_NONE;
    switch (e.kind) {
    case CF_JX_OBJECT:
        return object_from_text(m, x, org);
    case CF_JX_ARRAY:
        return array_from_text(m, x, org);
    case CF_JX_STRING:
        return make_str(m, e.text, org, 0, true);
    case CF_JX_INT:
        v = read_int(m, e.text);
        break;
    case CF_JX_FLOAT:
        v = cf_tv_float(read_double(m, e.text));
        break;
    case CF_JX_TRUE:
    case CF_JX_FALSE:
        v = cf_tv_bool(e.kind == CF_JX_TRUE);
        break;
    default:
        break;
    }
    v.org = org;
    return v;
}

/* ---- the context -------------------------------------------------------- */

static cf_status finish(maker *m, cf_tv v, cf_context **out)
{
    cf_context *c = v.k != CF_TERR ? cf_t__alloc(&m->r, sizeof *c) : NULL;
    if (m->r.error == CF_TE_LIMIT) {
        return cf_fail(m->err, CF_ELIMIT, "%.*s", (int)m->r.message.n, m->r.message.p);
    }
    if (m->r.error == CF_TE_TEMPLATE) {
        if (m->err != NULL && m->err->code == CF_EFORMAT) {
            return CF_EFORMAT; /* with the line and column of the JSON reader */
        }
        return cf_fail(m->err, CF_EFORMAT, "%.*s", (int)m->r.message.n, m->r.message.p);
    }
    if (c == NULL || m->r.error != CF_TE_NONE) {
        return cf_oom(m->err);
    }
    if (v.k != CF_TDICT) {
        return cf_fail(m->err, CF_EINVAL, "a context must be a JSON object");
    }
    *c = (cf_context){.vars = v.u.d, .org = m->org, .n_org = m->n_org};
    *out = c;
    return CF_OK;
}

cf_status cf_context_from_json(cf_context **out, const json_t *json, cf_arena *arena, cf_error *err)
{
    maker m;
    start(&m, arena, err);
    return finish(&m, from_json(&m, json, CF_ORG_NONE), out);
}

cf_status cf_context_read(cf_context **out, cf_str text, cf_arena *arena, cf_error *err)
{
    maker m;
    cf_jx x;
    cf_jx_event e;
    cf_error why = {0};
    start(&m, arena, &why);
    cf_jx_init(&x, text, arena);
    cf_tv v = next(&m, &x, &e) ? from_text(&m, &x, e, CF_ORG_NONE) : CF_TV_ERR;
    if (v.k != CF_TERR && !next(&m, &x, &e)) {
        v = CF_TV_ERR;
    }
    cf_status st = finish(&m, v, out);
    if (st != CF_OK && err != NULL) {
        *err = why;
    }
    return st;
}
