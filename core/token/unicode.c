/*
 * unicode.c - properties of characters.
 */
#include "core/token/unicode.h"

#include <utf8proc.h>

#include "core/base/utf8.h"

static utf8proc_category_t category(uint32_t cp)
{
    return utf8proc_category((utf8proc_int32_t)cp);
}

bool cf_unicode_is_white(uint32_t c)
{
    if (c < 0x80) {
        return c == ' ' || (c >= 0x09 && c <= 0x0D);
    }
    return c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

bool cf_unicode_is_mark(uint32_t cp)
{
    if (cp < 0x300) {
        return false;
    }
    utf8proc_category_t c = category(cp);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC ||
           c == UTF8PROC_CATEGORY_ME;
}

bool cf_unicode_is_other(uint32_t cp)
{
    utf8proc_category_t c = category(cp);
    return c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF ||
           c == UTF8PROC_CATEGORY_CO;
}

bool cf_unicode_is_punct(uint32_t cp)
{
    if (cp < 0x80) {
        return (cp >= '!' && cp <= '/') || (cp >= ':' && cp <= '@') ||
               (cp >= '[' && cp <= '`') || (cp >= '{' && cp <= '~');
    }
    utf8proc_category_t c = category(cp);
    return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO;
}

bool cf_unicode_is_numeric(uint32_t cp)
{
    if (cp < 0x80) {
        return cp >= '0' && cp <= '9';
    }
    utf8proc_category_t c = category(cp);
    return c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_NO;
}

/* Symbols that are Alphabetic: circled and squared letters. */
static bool is_letter_sign(uint32_t c)
{
    return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
           (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

bool cf_unicode_is_word(uint32_t cp)
{
    if (cp < 0x80) {
        return (cp >= '0' && cp <= '9') || (cp >= 'A' && cp <= 'Z') ||
               (cp >= 'a' && cp <= 'z') || cp == '_';
    }
    utf8proc_category_t c = category(cp);
    return (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_NL) ||
           c == UTF8PROC_CATEGORY_PC || cp == 0x200C || cp == 0x200D ||
           is_letter_sign(cp);
}

size_t cf_unicode_skip_white(cf_str s, size_t at)
{
    while (at < s.n) {
        uint32_t cp;
        size_t n = cf_utf8_decode(&cp, s.p + at, s.n - at);
        if (!cf_unicode_is_white(cp)) {
            break;
        }
        at += n;
    }
    return at;
}

size_t cf_unicode_last(cf_str s, size_t end, uint32_t *cp)
{
    size_t n = 1;
    while (n < 4 && n < end && ((unsigned char)s.p[end - n] & 0xC0) == 0x80) {
        n++;
    }
    size_t got = cf_utf8_decode(cp, s.p + end - n, n);
    if (got != n) {
        *cp = CF_UTF8_BAD;
        return 1;
    }
    return n;
}

size_t cf_unicode_trim_white(cf_str s, size_t end)
{
    while (end > 0) {
        uint32_t cp;
        size_t n = cf_unicode_last(s, end, &cp);
        if (!cf_unicode_is_white(cp)) {
            break;
        }
        end -= n;
    }
    return end;
}
