/*
 * utf8.c - decoding after the table of well-formed sequences in the Unicode
 * Standard, section 3.9 (table 3-7).
 */
#include "core/base/utf8.h"

#include <string.h>

/* Length that a lead byte announces, with the allowed range of the second
 * byte; 0 for a byte that leads nothing. */
static size_t lead(unsigned char c, unsigned char *lo, unsigned char *hi)
{
    *lo = 0x80;
    *hi = 0xBF;
    if (c < 0x80) {
        return 1;
    }
    if (c >= 0xC2 && c <= 0xDF) {
        return 2;
    }
    if (c >= 0xE0 && c <= 0xEF) {
        *lo = c == 0xE0 ? 0xA0 : 0x80;
        *hi = c == 0xED ? 0x9F : 0xBF;
        return 3;
    }
    if (c >= 0xF0 && c <= 0xF4) {
        *lo = c == 0xF0 ? 0x90 : 0x80;
        *hi = c == 0xF4 ? 0x8F : 0xBF;
        return 4;
    }
    return 0;
}

/* The number of announced bytes that are present and valid; *need is the
 * length. */
static size_t matched(const char *p, size_t n, size_t *need)
{
    unsigned char lo, hi;
    *need = lead((unsigned char)p[0], &lo, &hi);
    if (*need == 0) {
        return 0;
    }
    size_t i = 1;
    while (i < *need && i < n) {
        unsigned char c = (unsigned char)p[i];
        if (c < lo || c > hi) {
            return i;
        }
        lo = 0x80;
        hi = 0xBF;
        i++;
    }
    return i;
}

size_t cf_utf8_decode(uint32_t *cp, const char *p, size_t n)
{
    static const unsigned char lead_mask[5] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    size_t need;
    if (matched(p, n, &need) != need || need == 0) {
        *cp = CF_UTF8_BAD;
        return 1;
    }
    uint32_t v = (unsigned char)p[0] & lead_mask[need];
    for (size_t i = 1; i < need; i++) {
        v = v << 6 | ((unsigned char)p[i] & 0x3F);
    }
    *cp = v;
    return need;
}

size_t cf_utf8_encode(char out[4], uint32_t cp)
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        out[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}

int cf_utf16_unit(const char *p, size_t n)
{
    int v = 0;
    for (size_t i = 0; i < 4; i++) {
        char c = i < n ? p[i] : '\0';
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0) {
            return -1;
        }
        v = v * 16 + d;
    }
    return v;
}

size_t cf_utf16_escape(uint32_t *cp, const char *p, size_t n)
{
    int high = n >= 6 ? cf_utf16_unit(p + 2, n - 2) : -1;
    if (high < 0) {
        return 0;
    }
    *cp = (uint32_t)high;
    if (high >= 0xD800 && high < 0xDC00 && n >= 12 && p[6] == '\\' && p[7] == 'u') {
        int low = cf_utf16_unit(p + 8, n - 8);
        if (low >= 0xDC00 && low < 0xE000) {
            *cp = 0x10000 + ((uint32_t)(high - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
            return 12;
        }
    }
    if (high >= 0xD800 && high < 0xE000) {
        *cp = 0xFFFD;
    }
    return 6;
}

size_t cf_utf8_valid_prefix(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n) {
        if ((unsigned char)p[i] < 0x80) {
            i++;
            continue;
        }
        uint32_t cp;
        size_t len = cf_utf8_decode(&cp, p + i, n - i);
        if (cp == CF_UTF8_BAD) {
            break;
        }
        i += len;
    }
    return i;
}

size_t cf_utf8_incomplete_tail(const char *p, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        const char *at = p + n - back;
        if (((unsigned char)*at & 0xC0) == 0x80) {
            continue;
        }
        size_t need;
        size_t have = matched(at, back, &need);
        return have == back && need > back ? back : 0;
    }
    return 0;
}

size_t cf_utf8_copy(char *out, size_t cap, cf_str s)
{
    size_t n = s.n;
    if (n >= cap) {
        n = cap - 1;
        n -= cf_utf8_incomplete_tail(s.p, n);
    }
    if (n != 0) {
        memcpy(out, s.p, n);
    }
    out[n] = '\0';
    return n;
}

void cf_utf8_repair(cf_buf *out, cf_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        size_t valid = cf_utf8_valid_prefix(s.p + i, s.n - i);
        cf_buf_add(out, s.p + i, valid);
        i += valid;
        if (i < s.n) {
            cf_buf_adds(out, "\xEF\xBF\xBD");
        }
    }
}

size_t cf_utf8_count(const char *p, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; count++) {
        uint32_t cp;
        i += cf_utf8_decode(&cp, p + i, n - i);
    }
    return count;
}
