/*
 * unicode.c - looks up the properties of characters.
 */
#include "core/token/unicode.h"

#include <utf8proc.h>

#include "core/base/utf8.h"

static utf8proc_category_t category(uint32_t cp)
{
    return utf8proc_category((utf8proc_int32_t)cp);
}

/* Whether c is in one of n ranges, which are in order. */
static bool is_in(uint32_t c, const uint32_t (*range)[2], size_t n)
{
    size_t lo = 0;
    while (lo < n) {
        size_t mid = lo + (n - lo) / 2;
        if (range[mid][1] < c) {
            lo = mid + 1;
        } else {
            n = mid;
        }
    }
    return range[lo][0] <= c && c <= range[lo][1];
}

bool cf_unicode_is_white(uint32_t c)
{
    if (c < 0x80) {
        return c == ' ' || (c >= 0x09 && c <= 0x0D);
    }
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool cf_unicode_is_mark(uint32_t cp)
{
    if (cp < 0x300) {
        return false;
    }
    utf8proc_category_t c = category(cp);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_ME;
}

bool cf_unicode_is_other(uint32_t cp)
{
    utf8proc_category_t c = category(cp);
    return c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF || c == UTF8PROC_CATEGORY_CO;
}

/* Punctuation that came after Unicode 8; the last row ends the search. */
static const uint32_t new_punct[][2] = {
    {0x61D, 0x61D},     {0x9FD, 0x9FD},     {0xA76, 0xA76},     {0xC77, 0xC77},
    {0xC84, 0xC84},     {0x1B4E, 0x1B4F},   {0x1B7D, 0x1B7F},   {0x2E43, 0x2E4F},
    {0x2E52, 0x2E5D},   {0x10D6E, 0x10D6E}, {0x10EAD, 0x10EAD}, {0x10F55, 0x10F59},
    {0x10F86, 0x10F89}, {0x113D4, 0x113D5}, {0x113D7, 0x113D8}, {0x1144B, 0x1144F},
    {0x1145A, 0x1145B}, {0x1145D, 0x1145D}, {0x11660, 0x1166C}, {0x116B9, 0x116B9},
    {0x1183B, 0x1183B}, {0x11944, 0x11946}, {0x119E2, 0x119E2}, {0x11A3F, 0x11A46},
    {0x11A9A, 0x11A9C}, {0x11A9E, 0x11AA2}, {0x11B00, 0x11B09}, {0x11BE1, 0x11BE1},
    {0x11C41, 0x11C45}, {0x11C70, 0x11C71}, {0x11EF7, 0x11EF8}, {0x11F43, 0x11F4F},
    {0x11FFF, 0x11FFF}, {0x12FF1, 0x12FF2}, {0x16D6D, 0x16D6F}, {0x16E97, 0x16E9A},
    {0x16FE2, 0x16FE2}, {0x1E5FF, 0x1E5FF}, {0x1E95E, 0x1E95F}, {UINT32_MAX, UINT32_MAX},
};

bool cf_unicode_is_punct(uint32_t cp)
{
    if (cp < 0x80) {
        return (cp >= '!' && cp <= '/') || (cp >= ':' && cp <= '@') || (cp >= '[' && cp <= '`') ||
               (cp >= '{' && cp <= '~');
    }
    utf8proc_category_t c = category(cp);
    return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO &&
           !is_in(cp, new_punct, sizeof new_punct / sizeof new_punct[0] - 1);
}

bool cf_unicode_is_numeric(uint32_t cp)
{
    if (cp < 0x80) {
        return cp >= '0' && cp <= '9';
    }
    utf8proc_category_t c = category(cp);
    return c >= UTF8PROC_CATEGORY_ND && c <= UTF8PROC_CATEGORY_NO;
}

/* Letters of Unicode 15, 15.1 and 16 (DerivedAge.txt). */
static const uint32_t new_letters[][2] = {
    {0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},         {0xA7DA, 0xA7DC},   {0x105C0, 0x105F3},
    {0x10D4A, 0x10D65}, {0x10D6F, 0x10D85},       {0x10EC2, 0x10EC4}, {0x11240, 0x11240},
    {0x11380, 0x11389}, {0x1138B, 0x1138B},       {0x1138E, 0x1138E}, {0x11390, 0x113B5},
    {0x113B7, 0x113B7}, {0x113D1, 0x113D1},       {0x113D3, 0x113D3}, {0x11BC0, 0x11BE0},
    {0x11F02, 0x11F02}, {0x11F04, 0x11F10},       {0x11F12, 0x11F33}, {0x13441, 0x13446},
    {0x13460, 0x143FA}, {0x16100, 0x1611D},       {0x16D40, 0x16D6C}, {0x18CFF, 0x18CFF},
    {0x1B132, 0x1B132}, {0x1B155, 0x1B155},       {0x1DF25, 0x1DF2A}, {0x1E030, 0x1E06D},
    {0x1E4D0, 0x1E4EB}, {0x1E5D0, 0x1E5ED},       {0x1E5F0, 0x1E5F0}, {0x2EBF0, 0x2EE5D},
    {0x31350, 0x323AF}, {UINT32_MAX, UINT32_MAX},
};

const uint32_t (*cf_unicode_new_letters(size_t *n))[2]
{
    *n = sizeof new_letters / sizeof new_letters[0] - 1;
    return new_letters;
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
        return (cp >= '0' && cp <= '9') || (cp >= 'A' && cp <= 'Z') || (cp >= 'a' && cp <= 'z') ||
               cp == '_';
    }
    utf8proc_category_t c = category(cp);
    return (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_NL) || c == UTF8PROC_CATEGORY_PC ||
           cp == 0x200C || cp == 0x200D || is_letter_sign(cp) ||
           is_in(cp, new_letters, sizeof new_letters / sizeof new_letters[0] - 1);
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
