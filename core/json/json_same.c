/*
 * json_same.c - compares two JSON values.
 */
#include "core/json/json_same.h"

static bool same_number(const json_t *a, const json_t *b)
{
    if (json_is_integer(a) && json_is_integer(b)) {
        return json_integer_value(a) == json_integer_value(b);
    }
    if (json_is_real(a) && json_is_real(b)) {
        return json_real_value(a) == json_real_value(b);
    }
    double real = json_real_value(json_is_real(a) ? a : b);
    json_int_t whole = json_integer_value(json_is_real(a) ? b : a);
    /* below 2^63 the conversion is defined, and exact for what is whole */
    return real >= -0x1p63 && real < 0x1p63 && real == (double)whole && (json_int_t)real == whole;
}

static bool same_object(const json_t *a, const json_t *b)
{
    /* jansson's iterators take a non-const object but do not change it. */
    union {
        const json_t *in;
        json_t *out;
    } u = {a};
    const char *key;
    size_t n;
    json_t *child;
    if (json_object_size(a) != json_object_size(b)) {
        return false;
    }
    json_object_keylen_foreach(u.out, key, n, child)
    {
        if (!cf_json_same(child, json_object_getn(b, key, n))) {
            return false;
        }
    }
    return true;
}

bool cf_json_same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b)) {
        return same_number(a, b);
    }
    if (json_is_object(a) && json_is_object(b)) {
        return same_object(a, b);
    }
    if (!json_is_array(a) || !json_is_array(b)) {
        return json_equal(a, b) == 1;
    }
    bool is_same = json_array_size(a) == json_array_size(b);
    for (size_t i = 0; is_same && i < json_array_size(a); i++) {
        is_same = cf_json_same(json_array_get(a, i), json_array_get(b, i));
    }
    return is_same;
}
