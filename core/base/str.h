/*
 * str.h - a borrowed string: pointer and length, UTF-8 unless said otherwise,
 * NUL bytes allowed inside.
 *
 * Place in the flow:  passed between all modules.
 * Knows: bytes.  Does not know: who owns them.
 *
 * Threads:  a value; the bytes follow their owner's rules.
 * Memory:   borrowed, never freed through a cf_str.
 */
#ifndef CF_CORE_BASE_STR_H
#define CF_CORE_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/base/decls.h"

CF_BEGIN_DECLS

typedef struct cf_str {
    const char *p; /* n bytes, not NUL-terminated; may be NULL when n is 0 */
    size_t n;
} cf_str;

static inline cf_str cf_str_make(const char *p, size_t n)
{
    cf_str s = {p, n};
    return s;
}

static inline cf_str cf_str_from(const char *cstr)
{
    return cf_str_make(cstr, strlen(cstr));
}

static inline bool cf_str_eq(cf_str a, cf_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool cf_str_is(cf_str a, const char *cstr)
{
    return cf_str_eq(a, cf_str_from(cstr));
}

static inline bool cf_str_starts(cf_str s, cf_str prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

/* Whether `in` has the bytes `what`, which begin at *at (may be NULL) first. */
static inline bool cf_str_find(cf_str in, cf_str what, size_t *at)
{
    for (size_t i = 0; i + what.n <= in.n; i++) {
        if (what.n == 0 || memcmp(in.p + i, what.p, what.n) == 0) {
            if (at != NULL) {
                *at = i;
            }
            return true;
        }
    }
    return false;
}

/* Whether s begins, or ends, with a C string. */
static inline bool cf_str_begins(cf_str s, const char *cstr)
{
    return cf_str_starts(s, cf_str_from(cstr));
}

static inline bool cf_str_ends(cf_str s, const char *cstr)
{
    size_t n = strlen(cstr);
    return s.n >= n && memcmp(s.p + s.n - n, cstr, n) == 0;
}

/* The white space of JSON: blank, tab, line feed, carriage return. */
static inline bool cf_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* A letter, a digit, '_', or a byte of a character beyond ASCII. */
static inline bool cf_is_word(char c)
{
    unsigned char b = (unsigned char)c;
    return b >= 0x80 || b == '_' || (b >= '0' && b <= '9') || (b >= 'A' && b <= 'Z') ||
           (b >= 'a' && b <= 'z');
}

/* Without white space at both ends. */
static inline cf_str cf_str_trim(cf_str s)
{
    while (s.n > 0 && cf_is_blank(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && cf_is_blank(s.p[s.n - 1])) {
        s.n--;
    }
    return s;
}

CF_END_DECLS

#endif
