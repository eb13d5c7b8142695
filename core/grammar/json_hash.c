/*
 * json_hash.c - hashes the value of a JSON text while reading it.
 */
#include "core/grammar/json_hash.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/utf8.h"

enum { DEPTH_MAX = 200 };

typedef struct reader {
    const char *p, *end;
    unsigned depth;
} reader;

static uint64_t mix(uint64_t h, uint64_t v)
{
    /* not symmetrical: mix(a, b) is not mix(b, a) */
    h = h * UINT64_C(0x9E3779B97F4A7C15) + v + UINT64_C(0xA0761D6478BD642F);
    h ^= h >> 32;
    h *= UINT64_C(0xD6E8FEB86659FD93);
    return h ^ h >> 29;
}

static void skip_space(reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t')) {
        r->p++;
    }
}

static uint32_t hex4(reader *r)
{
    uint32_t v = 0;
    for (int i = 0; i < 4 && r->p < r->end; i++, r->p++) {
        char c = (char)(*r->p | 0x20);
        v = v << 4 | (uint32_t)(c >= 'a' ? c - 'a' + 10 : *r->p - '0');
    }
    return v;
}

/* The code point after a backslash. */
static uint32_t escaped(reader *r)
{
    static const char from[] = "bfnrt";
    static const char to[] = "\b\f\n\r\t";
    char c = *r->p++;
    if (c != 'u') {
        const char *at = memchr(from, c, sizeof from - 1);
        return (unsigned char)(at != NULL ? to[at - from] : c);
    }
    uint32_t cp = hex4(r);
    if (cp >= 0xD800 && cp < 0xDC00 && r->end - r->p >= 6 && r->p[0] == '\\') {
        r->p += 2;
        cp = 0x10000 + ((cp - 0xD800) << 10) + (hex4(r) - 0xDC00);
    }
    return cp;
}

static uint64_t hash_string(reader *r)
{
    uint64_t h = 's';
    r->p++;
    while (r->p < r->end && *r->p != '"') {
        uint32_t cp;
        if (*r->p == '\\' && r->end - r->p >= 2) {
            r->p++;
            cp = escaped(r);
        } else {
            r->p += cf_utf8_decode(&cp, r->p, (size_t)(r->end - r->p));
        }
        h = mix(h, cp);
    }
    r->p += r->p < r->end ? 1 : 0;
    return h;
}

/* By sign, digits without zeros at either end, and the place of the point. */
static uint64_t hash_number(reader *r)
{
    bool is_neg = *r->p == '-';
    bool has_point = false;
    long point = 0; /* digits after it, from the first that is not 0 */
    long zeros = 0; /* since the last other digit */
    bool has_digit = false;
    uint64_t h = 'n';
    r->p += is_neg ? 1 : 0;
    for (; r->p < r->end; r->p++) {
        char c = *r->p;
        if (c == '.') {
            has_point = true;
            continue;
        }
        if (c < '0' || c > '9') {
            break;
        }
        point -= has_point ? 1 : 0;
        if (c == '0') {
            zeros++;
            continue;
        }
        for (; has_digit && zeros > 0; zeros--) {
            h = mix(h, '0');
        }
        zeros = 0;
        has_digit = true;
        h = mix(h, (uint64_t)c);
    }
    if (r->p < r->end && (*r->p | 0x20) == 'e') {
        long e = 0;
        r->p++;
        bool is_down = r->p < r->end && *r->p == '-';
        r->p += r->p < r->end && (*r->p == '-' || *r->p == '+') ? 1 : 0;
        for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++) {
            e = e < 100000000 ? e * 10 + (*r->p - '0') : e;
        }
        point += is_down ? -e : e;
    }
    if (!has_digit) {
        return mix('n', 0);
    }
    return mix(mix(h, (uint64_t)(point + zeros)), is_neg ? 1 : 2);
}

static uint64_t hash_value(reader *r);

static uint64_t hash_list(reader *r)
{
    bool is_object = *r->p++ == '{';
    uint64_t h = 0;
    uint64_t n = 0;
    skip_space(r);
    while (r->p < r->end && *r->p != '}' && *r->p != ']') {
        uint64_t key = 0;
        if (is_object) {
            key = hash_string(r);
            skip_space(r);
            r->p += r->p < r->end ? 1 : 0; /* the colon */
        }
        uint64_t one = hash_value(r);
        h = is_object ? h + mix(key, one) : mix(h, one);
        n++;
        skip_space(r);
        if (r->p < r->end && *r->p == ',') {
            r->p++;
            skip_space(r);
        }
    }
    r->p += r->p < r->end ? 1 : 0;
    return mix(mix(is_object ? 'o' : 'a', n), h);
}

static uint64_t hash_value(reader *r)
{
    skip_space(r);
    if (r->p == r->end) {
        return 0;
    }
    char c = *r->p;
    if (c == '"') {
        return hash_string(r);
    }
    if (c == '{' || c == '[') {
        if (r->depth >= DEPTH_MAX) {
            r->p = r->end;
            return 0;
        }
        r->depth++;
        uint64_t h = hash_list(r);
        r->depth--;
        return h;
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        return hash_number(r);
    }
    while (r->p < r->end && *r->p >= 'a' && *r->p <= 'z') {
        r->p++;
    }
    return mix('w', (uint64_t)c);
}

uint64_t cf_json_hash(const char *p, size_t n)
{
    reader r = {p, p + n, 0};
    return hash_value(&r);
}
