/*
 * json_builder.c - hangs values on the innermost container that is open.
 *
 * Rules:
 *  1. open[0..depth) are alive: each hangs on the one before it or on the
 *     caller's tree, and open[0] is the root unless it is the caller's.
 *  2. In an object every value follows a key: its own, or cf_jb_key()'s.  In
 *     an array and at the top none does.  Anything else is a programming
 *     error and asserted.
 *  3. Once failed is set nothing is added, depth means nothing, and the
 *     caller's containers are not looked at: a failure may have released them.
 */
#include "core/json/json_builder.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/json/json.h"

void cf_jb_fail(cf_jb *b)
{
    b->failed = true;
}

/* Sets a member whose key may not be UTF-8; takes v. */
static bool set_member(json_t *object, cf_str key, json_t *v)
{
    cf_buf repaired = CF_BUF_INIT;
    if (cf_utf8_valid_prefix(key.p, key.n) != key.n) {
        cf_utf8_repair(&repaired, key);
        key = cf_buf_str(&repaired);
    }
    if (repaired.failed) {
        json_decref(v);
        return false;
    }
    bool ok = json_object_setn_new_nocheck(object, key.p, key.n, v) == 0;
    cf_buf_deinit(&repaired);
    return ok;
}

void cf_jb_take(cf_jb *b, const char *key, json_t *v)
{
    if (b->failed || v == NULL) {
        json_decref(v);
        b->failed = true;
        return;
    }
    json_t *in = b->depth > 0 ? b->open[b->depth - 1] : NULL;
    const cf_str name = key != NULL ? cf_str_from(key) : b->key;
    CF_ASSERT((in != NULL && json_is_object(in)) == (name.p != NULL));
    CF_ASSERT(key == NULL || b->key.p == NULL);
    b->key = cf_str_make(NULL, 0);
    if (in == NULL) {
        CF_ASSERT(b->root == NULL);
        b->root = v;
    } else if (json_is_object(in)) {
        b->failed = !set_member(in, name, v);
    } else {
        b->failed = json_array_append_new(in, v) != 0;
    }
}

void cf_jb_open(cf_jb *b, json_t *container)
{
    if (b->failed || !(json_is_object(container) || json_is_array(container))) {
        b->failed = true;
    } else if (b->depth == CF_JB_DEPTH_MAX) {
        b->failed = b->is_too_deep = true;
    } else {
        b->open[b->depth++] = container;
    }
}

static void begin(cf_jb *b, const char *key, json_t *v)
{
    cf_jb_take(b, key, v);
    cf_jb_open(b, b->failed ? NULL : v); /* a failure has released it */
}

void cf_jb_object(cf_jb *b, const char *key)
{
    begin(b, key, json_object());
}

void cf_jb_array(cf_jb *b, const char *key)
{
    begin(b, key, json_array());
}

void cf_jb_end(cf_jb *b)
{
    if (!b->failed) {
        CF_ASSERT(b->depth > 0 && b->key.p == NULL);
        b->depth--;
    }
}

void cf_jb_key(cf_jb *b, cf_str key)
{
    CF_ASSERT(b->failed || b->key.p == NULL);
    b->key = cf_str_make(key.p != NULL ? key.p : "", key.n);
}

void cf_jb_str(cf_jb *b, const char *key, cf_str s)
{
    cf_jb_take(b, key, cf_json_str(s));
}

void cf_jb_text(cf_jb *b, const char *key, const char *s)
{
    cf_jb_take(b, key, s != NULL ? cf_json_str(cf_str_from(s)) : json_null());
}

void cf_jb_buf(cf_jb *b, const char *key, const cf_buf *s)
{
    cf_jb_take(b, key, cf_json_buf(s));
}

void cf_jb_int(cf_jb *b, const char *key, int64_t v)
{
    cf_jb_take(b, key, json_integer(v));
}

void cf_jb_double(cf_jb *b, const char *key, double v)
{
    cf_jb_take(b, key, isfinite(v) ? json_real(v) : json_null());
}

void cf_jb_bool(cf_jb *b, const char *key, bool v)
{
    cf_jb_take(b, key, json_boolean(v));
}

void cf_jb_null(cf_jb *b, const char *key)
{
    cf_jb_take(b, key, json_null());
}

void cf_jb_add(cf_jb *b, const char *key, const json_t *v)
{
    cf_jb_take(b, key, v != NULL ? json_incref(cf_json_ref(v)) : json_null());
}

void cf_jb_copy(cf_jb *b, const char *key, const json_t *v)
{
    cf_jb_take(b, key, v != NULL ? cf_json_deep_copy(v) : json_null());
}

void cf_jb_pack(cf_jb *b, const char *key, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    cf_jb_take(b, key, json_vpack_ex(NULL, 0, fmt, ap));
    va_end(ap);
}

void cf_jb_set(cf_jb *b, json_t *object, const char *key, json_t *v)
{
    cf_jb_open(b, !b->failed && json_is_object(object) ? object : NULL);
    cf_jb_take(b, key, v);
    cf_jb_end(b);
}

void cf_jb_append(cf_jb *b, json_t *array, json_t *v)
{
    cf_jb_open(b, !b->failed && json_is_array(array) ? array : NULL);
    cf_jb_take(b, NULL, v);
    cf_jb_end(b);
}

void cf_jb_deinit(cf_jb *b)
{
    json_decref(b->root);
    memset(b, 0, sizeof *b);
}

json_t *cf_jb_done(cf_jb *b)
{
    CF_ASSERT(b->failed || b->depth == 0);
    json_t *v = b->failed ? NULL : json_incref(b->root);
    cf_jb_deinit(b);
    return v;
}

cf_status cf_jb_check(const cf_jb *b, cf_error *err)
{
    if (b->is_too_deep) {
        return cf_fail(err, CF_ELIMIT, "JSON is nested over %d deep", CF_JB_DEPTH_MAX);
    }
    return b->failed ? cf_oom(err) : CF_OK;
}

cf_status cf_jb_finish(cf_jb *b, json_t **out, cf_error *err)
{
    CF_ASSERT(b->failed || b->root != NULL);
    cf_status st = cf_jb_check(b, err);
    json_t *v = cf_jb_done(b);
    if (st == CF_OK) {
        *out = v;
    }
    return st;
}
