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

CF_END_DECLS

#endif
