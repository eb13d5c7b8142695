/*
 * gguf_value.c - reads metadata values as numbers, strings and arrays.
 */
#include <string.h>

#include "core/model/gguf_impl.h"

uint64_t cf_gguf__load_uint(const unsigned char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;) {
        v = v << 8 | p[i];
    }
    return v;
}

static double load_f32(const unsigned char *p)
{
    uint32_t bits = (uint32_t)cf_gguf__load_uint(p, 4);
    float v;
    memcpy(&v, &bits, sizeof v);
    return (double)v;
}

static double load_f64(const unsigned char *p)
{
    uint64_t bits = cf_gguf__load_uint(p, 8);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

size_t cf_gguf__scalar_bytes(uint32_t type)
{
    switch (type) {
    case CF_GGUF_U8:
    case CF_GGUF_I8:
    case CF_GGUF_BOOL:
        return 1;
    case CF_GGUF_U16:
    case CF_GGUF_I16:
        return 2;
    case CF_GGUF_U32:
    case CF_GGUF_I32:
    case CF_GGUF_F32:
        return 4;
    case CF_GGUF_U64:
    case CF_GGUF_I64:
    case CF_GGUF_F64:
        return 8;
    default:
        return 0;
    }
}

/* The integer at p; false for other types and values that do not fit. */
static bool load_i64(cf_gguf_type type, const unsigned char *p, int64_t *out)
{
    uint64_t u = cf_gguf__load_uint(p, cf_gguf__scalar_bytes(type));
    switch (type) {
    case CF_GGUF_U8:
    case CF_GGUF_U16:
    case CF_GGUF_U32:
        *out = (int64_t)u;
        return true;
    case CF_GGUF_I8:
        *out = u < 0x80 ? (int64_t)u : (int64_t)u - 0x100;
        return true;
    case CF_GGUF_I16:
        *out = u < 0x8000 ? (int64_t)u : (int64_t)u - 0x10000;
        return true;
    case CF_GGUF_I32:
        *out = u < 0x80000000 ? (int64_t)u : (int64_t)u - 0x100000000;
        return true;
    case CF_GGUF_I64:
        memcpy(out, &u, sizeof *out);
        return true;
    case CF_GGUF_U64:
        *out = (int64_t)(u & INT64_MAX);
        return u <= INT64_MAX;
    default:
        return false;
    }
}

static bool load_number(cf_gguf_type type, const unsigned char *p, double *out)
{
    int64_t i = 0;
    if (type == CF_GGUF_F32) {
        *out = load_f32(p);
        return true;
    }
    if (type == CF_GGUF_F64) {
        *out = load_f64(p);
        return true;
    }
    if (type == CF_GGUF_U64) {
        *out = (double)cf_gguf__load_uint(p, 8);
        return true;
    }
    if (!load_i64(type, p, &i)) {
        return false;
    }
    *out = (double)i;
    return true;
}

bool cf_gguf__value_i64(const cf_gguf_value *v, int64_t *out)
{
    return load_i64(v->type, v->p, out);
}

bool cf_gguf_get_u64(const cf_gguf *g, const char *key, uint64_t *out)
{
    const cf_gguf_value *v = cf_gguf_find(g, key);
    int64_t i = 0;
    if (v != NULL && v->type == CF_GGUF_U64) {
        *out = cf_gguf__load_uint(v->p, 8);
        return true;
    }
    if (v == NULL || !cf_gguf__value_i64(v, &i) || i < 0) {
        return false;
    }
    *out = (uint64_t)i;
    return true;
}

bool cf_gguf_get_i64(const cf_gguf *g, const char *key, int64_t *out)
{
    const cf_gguf_value *v = cf_gguf_find(g, key);
    int64_t i = 0;
    if (v == NULL || !cf_gguf__value_i64(v, &i)) {
        return false;
    }
    *out = i;
    return true;
}

bool cf_gguf_get_f64(const cf_gguf *g, const char *key, double *out)
{
    const cf_gguf_value *v = cf_gguf_find(g, key);
    return v != NULL && load_number(v->type, v->p, out);
}

bool cf_gguf_get_bool(const cf_gguf *g, const char *key, bool *out)
{
    const cf_gguf_value *v = cf_gguf_find(g, key);
    if (v == NULL || v->type != CF_GGUF_BOOL) {
        return false;
    }
    *out = v->p[0] != 0;
    return true;
}

bool cf_gguf_get_str(const cf_gguf *g, const char *key, cf_str *out)
{
    const cf_gguf_value *v = cf_gguf_find(g, key);
    if (v == NULL || v->type != CF_GGUF_STRING) {
        return false;
    }
    *out = cf_str_make((const char *)v->p + 8, (size_t)cf_gguf__load_uint(v->p, 8));
    return true;
}

double cf_gguf_item_f64(const cf_gguf_value *v, uint64_t i)
{
    double d = 0;
    CF_ASSERT(i < v->n);
    const unsigned char *p = v->p + i * cf_gguf__scalar_bytes(v->item);
    if (v->item == CF_GGUF_BOOL) {
        return p[0];
    }
    return load_number(v->item, p, &d) ? d : 0;
}

int64_t cf_gguf_item_i64(const cf_gguf_value *v, uint64_t i)
{
    int64_t out = 0;
    CF_ASSERT(i < v->n);
    const unsigned char *p = v->p + i * cf_gguf__scalar_bytes(v->item);
    if (v->item == CF_GGUF_BOOL) {
        return p[0];
    }
    if (v->item == CF_GGUF_U64 && cf_gguf__load_uint(p, 8) > INT64_MAX) {
        return INT64_MAX;
    }
    if (v->item == CF_GGUF_F32 || v->item == CF_GGUF_F64) {
        double d = cf_gguf_item_f64(v, i);
        return d >= -9e18 && d <= 9e18 ? (int64_t)d : 0;
    }
    return load_i64(v->item, p, &out) ? out : 0;
}

bool cf_gguf_next_str(const cf_gguf_value *v, uint64_t *at, uint64_t *i, cf_str *out)
{
    if (v->item != CF_GGUF_STRING || *i >= v->n) {
        return false;
    }
    const unsigned char *p = v->p + *at;
    uint64_t n = cf_gguf__load_uint(p, 8);
    *out = cf_str_make((const char *)p + 8, (size_t)n);
    *at += 8 + n;
    (*i)++;
    return true;
}

const char *cf_gguf_type_name(cf_gguf_type type)
{
    static const char *const names[] = {"uint8",  "int8",    "uint16", "int16",  "uint32",
                                        "int32",  "float32", "bool",   "string", "array",
                                        "uint64", "int64",   "float64"};
    size_t i = (size_t)type;
    return i < sizeof names / sizeof *names ? names[i] : "unknown";
}
