/*
 * json_writer.c - puts commas, keys and brackets in their places.
 *
 * Rules:
 *  1. Bit d of is_array and has_items belongs to level d, 0 the outermost;
 *     bits at and above `depth` mean nothing.
 *  2. In an object every value follows a key: its own, or cf_jw_key()'s.  In
 *     an array and at the top none does.  Anything else is a programming
 *     error and asserted.
 *  3. Once is_too_deep or out->failed is set nothing more is written.
 */
#include "core/json/json_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/utf8.h"

void cf_jw_init(cf_jw *w, cf_buf *out)
{
    memset(w, 0, sizeof *w);
    w->out = out;
}

/* The comma before an item of the innermost level. */
static void separate(cf_jw *w)
{
    if (w->depth == 0) {
        return;
    }
    uint64_t bit = UINT64_C(1) << (w->depth - 1);
    if ((w->has_items & bit) != 0) {
        cf_buf_addc(w->out, ',');
    }
    w->has_items |= bit;
}

static bool is_in_object(const cf_jw *w)
{
    return w->depth != 0 && (w->is_array >> (w->depth - 1) & 1) == 0;
}

void cf_jw_key(cf_jw *w, cf_str key)
{
    if (w->is_too_deep) {
        return;
    }
    CF_ASSERT(is_in_object(w) && !w->after_key);
    separate(w);
    cf_json_write_str(w->out, key);
    cf_buf_addc(w->out, ':');
    w->after_key = true;
}

/* Everything before a value; false when nothing is to be written. */
static bool begin(cf_jw *w, const char *key)
{
    if (w->is_too_deep) {
        return false;
    }
    if (key != NULL) {
        cf_jw_key(w, cf_str_from(key));
    }
    CF_ASSERT(w->after_key == is_in_object(w));
    if (!w->after_key) {
        separate(w);
    }
    w->after_key = false;
    return !w->out->failed;
}

static void open_level(cf_jw *w, const char *key, bool is_array)
{
    (void)begin(w, key);
    if (w->depth == CF_JW_DEPTH_MAX) {
        w->is_too_deep = true;
    }
    if (w->is_too_deep) {
        return;
    }
    uint64_t bit = UINT64_C(1) << w->depth++;
    w->is_array = is_array ? w->is_array | bit : w->is_array & ~bit;
    w->has_items &= ~bit;
    cf_buf_addc(w->out, is_array ? '[' : '{');
}

void cf_jw_object(cf_jw *w, const char *key)
{
    open_level(w, key, false);
}

void cf_jw_array(cf_jw *w, const char *key)
{
    open_level(w, key, true);
}

void cf_jw_end(cf_jw *w)
{
    if (w->is_too_deep) {
        return;
    }
    CF_ASSERT(w->depth != 0 && !w->after_key);
    cf_buf_addc(w->out, is_in_object(w) ? '}' : ']');
    w->depth--;
}

void cf_jw_str(cf_jw *w, const char *key, cf_str s)
{
    if (begin(w, key)) {
        cf_json_write_str(w->out, s);
    }
}

void cf_jw_text(cf_jw *w, const char *key, const char *s)
{
    if (s != NULL) {
        cf_jw_str(w, key, cf_str_from(s));
    } else {
        cf_jw_null(w, key);
    }
}

void cf_jw_int(cf_jw *w, const char *key, int64_t v)
{
    if (begin(w, key)) {
        cf_buf_addf(w->out, "%lld", (long long)v);
    }
}

void cf_jw_uint(cf_jw *w, const char *key, uint64_t v)
{
    if (begin(w, key)) {
        cf_buf_addf(w->out, "%llu", (unsigned long long)v);
    }
}

void cf_jw_bool(cf_jw *w, const char *key, bool v)
{
    if (begin(w, key)) {
        cf_buf_adds(w->out, v ? "true" : "false");
    }
}

void cf_jw_null(cf_jw *w, const char *key)
{
    if (begin(w, key)) {
        cf_buf_adds(w->out, "null");
    }
}

void cf_jw_double(cf_jw *w, const char *key, double v)
{
    if (begin(w, key)) {
        cf_json_write_double(w->out, v);
    }
}

void cf_jw_float(cf_jw *w, const char *key, float v)
{
    if (begin(w, key)) {
        cf_json_write_float(w->out, v);
    }
}

void cf_jw_format(cf_jw *w, const char *key, const char *fmt, ...)
{
    char text[128];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    CF_ASSERT(n >= 0 && (size_t)n < sizeof text);
    cf_jw_raw(w, key, cf_str_make(text, (size_t)n));
}

void cf_jw_json(cf_jw *w, const char *key, const json_t *v)
{
    if (begin(w, key)) {
        cf_json_write(w->out, v);
    }
}

void cf_jw_raw(cf_jw *w, const char *key, cf_str json)
{
    if (begin(w, key)) {
        cf_buf_add(w->out, json.p, json.n);
    }
}

void cf_jw_int32s(cf_jw *w, const char *key, const int32_t *v, size_t n)
{
    cf_jw_array(w, key);
    for (size_t i = 0; i < n; i++) {
        cf_jw_int(w, NULL, v[i]);
    }
    cf_jw_end(w);
}

void cf_jw_buf(cf_jw *w, const char *key, const cf_buf *b)
{
    cf_jw_str(w, key, cf_buf_str(b));
    w->out->failed = w->out->failed || b->failed;
}

void cf_jw_uuid(cf_jw *w, const char *key, cf_uuid id)
{
    char text[CF_UUID_TEXT + 1];
    cf_uuid_format(text, id);
    cf_jw_str(w, key, cf_str_make(text, CF_UUID_TEXT));
}

void cf_jw_base64(cf_jw *w, const char *key, cf_str bytes)
{
    if (begin(w, key)) {
        cf_buf_addc(w->out, '"');
        cf_base64_put(w->out, bytes);
        cf_buf_addc(w->out, '"');
    }
}

void cf_jw_bytes(cf_jw *w, const char *key, cf_str bytes)
{
    char hex_key[64];
    cf_jw_str(w, key, bytes);
    if (cf_utf8_valid_prefix(bytes.p, bytes.n) == bytes.n) {
        return;
    }
    int n = snprintf(hex_key, sizeof hex_key, "%s_hex", key);
    CF_ASSERT(n >= 0 && (size_t)n < sizeof hex_key);
    if (begin(w, hex_key)) {
        cf_buf_addc(w->out, '"');
        for (size_t i = 0; i < bytes.n; i++) {
            cf_buf_addf(w->out, "%02x", (unsigned)(unsigned char)bytes.p[i]);
        }
        cf_buf_addc(w->out, '"');
    }
}

cf_status cf_jw_finish(const cf_jw *w, cf_error *err)
{
    if (w->is_too_deep) {
        return cf_fail(err, CF_ELIMIT, "JSON nests more than %d levels deep", CF_JW_DEPTH_MAX);
    }
    CF_ASSERT(w->depth == 0);
    return cf_buf_check(w->out, err);
}
