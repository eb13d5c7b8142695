/*
 * charclass.c - characters as Python's str methods see them: classes by
 * Unicode category (utf8proc), case mappings by utf8proc and, where one
 * character maps to several, by the table of Unicode's SpecialCasing.txt
 * (unconditional mappings) and CaseFolding.txt (status F).
 */
#include <utf8proc.h>

#include "core/base/utf8.h"
#include "templates/language/text.h"

typedef struct special {
    uint32_t cp;
    const char *upper, *title, *fold;
} special;

static const special specials[] = {
    {0x00DF, "\x53\x53", "\x53\x73", "\x73\x73"},
    {0x0130, "\xC4\xB0", "\xC4\xB0", "\x69\xCC\x87"},
    {0x0149, "\xCA\xBC\x4E", "\xCA\xBC\x4E", "\xCA\xBC\x6E"},
    {0x01F0, "\x4A\xCC\x8C", "\x4A\xCC\x8C", "\x6A\xCC\x8C"},
    {0x0390, "\xCE\x99\xCC\x88\xCC\x81", "\xCE\x99\xCC\x88\xCC\x81", "\xCE\xB9\xCC\x88\xCC\x81"},
    {0x03B0, "\xCE\xA5\xCC\x88\xCC\x81", "\xCE\xA5\xCC\x88\xCC\x81", "\xCF\x85\xCC\x88\xCC\x81"},
    {0x0587, "\xD4\xB5\xD5\x92", "\xD4\xB5\xD6\x82", "\xD5\xA5\xD6\x82"},
    {0x1E96, "\x48\xCC\xB1", "\x48\xCC\xB1", "\x68\xCC\xB1"},
    {0x1E97, "\x54\xCC\x88", "\x54\xCC\x88", "\x74\xCC\x88"},
    {0x1E98, "\x57\xCC\x8A", "\x57\xCC\x8A", "\x77\xCC\x8A"},
    {0x1E99, "\x59\xCC\x8A", "\x59\xCC\x8A", "\x79\xCC\x8A"},
    {0x1E9A, "\x41\xCA\xBE", "\x41\xCA\xBE", "\x61\xCA\xBE"},
    {0x1E9E, "\xE1\xBA\x9E", "\xE1\xBA\x9E", "\x73\x73"},
    {0x1F50, "\xCE\xA5\xCC\x93", "\xCE\xA5\xCC\x93", "\xCF\x85\xCC\x93"},
    {0x1F52, "\xCE\xA5\xCC\x93\xCC\x80", "\xCE\xA5\xCC\x93\xCC\x80", "\xCF\x85\xCC\x93\xCC\x80"},
    {0x1F54, "\xCE\xA5\xCC\x93\xCC\x81", "\xCE\xA5\xCC\x93\xCC\x81", "\xCF\x85\xCC\x93\xCC\x81"},
    {0x1F56, "\xCE\xA5\xCC\x93\xCD\x82", "\xCE\xA5\xCC\x93\xCD\x82", "\xCF\x85\xCC\x93\xCD\x82"},
    {0x1F80, "\xE1\xBC\x88\xCE\x99", "\xE1\xBE\x88", "\xE1\xBC\x80\xCE\xB9"},
    {0x1F81, "\xE1\xBC\x89\xCE\x99", "\xE1\xBE\x89", "\xE1\xBC\x81\xCE\xB9"},
    {0x1F82, "\xE1\xBC\x8A\xCE\x99", "\xE1\xBE\x8A", "\xE1\xBC\x82\xCE\xB9"},
    {0x1F83, "\xE1\xBC\x8B\xCE\x99", "\xE1\xBE\x8B", "\xE1\xBC\x83\xCE\xB9"},
    {0x1F84, "\xE1\xBC\x8C\xCE\x99", "\xE1\xBE\x8C", "\xE1\xBC\x84\xCE\xB9"},
    {0x1F85, "\xE1\xBC\x8D\xCE\x99", "\xE1\xBE\x8D", "\xE1\xBC\x85\xCE\xB9"},
    {0x1F86, "\xE1\xBC\x8E\xCE\x99", "\xE1\xBE\x8E", "\xE1\xBC\x86\xCE\xB9"},
    {0x1F87, "\xE1\xBC\x8F\xCE\x99", "\xE1\xBE\x8F", "\xE1\xBC\x87\xCE\xB9"},
    {0x1F88, "\xE1\xBC\x88\xCE\x99", "\xE1\xBE\x88", "\xE1\xBC\x80\xCE\xB9"},
    {0x1F89, "\xE1\xBC\x89\xCE\x99", "\xE1\xBE\x89", "\xE1\xBC\x81\xCE\xB9"},
    {0x1F8A, "\xE1\xBC\x8A\xCE\x99", "\xE1\xBE\x8A", "\xE1\xBC\x82\xCE\xB9"},
    {0x1F8B, "\xE1\xBC\x8B\xCE\x99", "\xE1\xBE\x8B", "\xE1\xBC\x83\xCE\xB9"},
    {0x1F8C, "\xE1\xBC\x8C\xCE\x99", "\xE1\xBE\x8C", "\xE1\xBC\x84\xCE\xB9"},
    {0x1F8D, "\xE1\xBC\x8D\xCE\x99", "\xE1\xBE\x8D", "\xE1\xBC\x85\xCE\xB9"},
    {0x1F8E, "\xE1\xBC\x8E\xCE\x99", "\xE1\xBE\x8E", "\xE1\xBC\x86\xCE\xB9"},
    {0x1F8F, "\xE1\xBC\x8F\xCE\x99", "\xE1\xBE\x8F", "\xE1\xBC\x87\xCE\xB9"},
    {0x1F90, "\xE1\xBC\xA8\xCE\x99", "\xE1\xBE\x98", "\xE1\xBC\xA0\xCE\xB9"},
    {0x1F91, "\xE1\xBC\xA9\xCE\x99", "\xE1\xBE\x99", "\xE1\xBC\xA1\xCE\xB9"},
    {0x1F92, "\xE1\xBC\xAA\xCE\x99", "\xE1\xBE\x9A", "\xE1\xBC\xA2\xCE\xB9"},
    {0x1F93, "\xE1\xBC\xAB\xCE\x99", "\xE1\xBE\x9B", "\xE1\xBC\xA3\xCE\xB9"},
    {0x1F94, "\xE1\xBC\xAC\xCE\x99", "\xE1\xBE\x9C", "\xE1\xBC\xA4\xCE\xB9"},
    {0x1F95, "\xE1\xBC\xAD\xCE\x99", "\xE1\xBE\x9D", "\xE1\xBC\xA5\xCE\xB9"},
    {0x1F96, "\xE1\xBC\xAE\xCE\x99", "\xE1\xBE\x9E", "\xE1\xBC\xA6\xCE\xB9"},
    {0x1F97, "\xE1\xBC\xAF\xCE\x99", "\xE1\xBE\x9F", "\xE1\xBC\xA7\xCE\xB9"},
    {0x1F98, "\xE1\xBC\xA8\xCE\x99", "\xE1\xBE\x98", "\xE1\xBC\xA0\xCE\xB9"},
    {0x1F99, "\xE1\xBC\xA9\xCE\x99", "\xE1\xBE\x99", "\xE1\xBC\xA1\xCE\xB9"},
    {0x1F9A, "\xE1\xBC\xAA\xCE\x99", "\xE1\xBE\x9A", "\xE1\xBC\xA2\xCE\xB9"},
    {0x1F9B, "\xE1\xBC\xAB\xCE\x99", "\xE1\xBE\x9B", "\xE1\xBC\xA3\xCE\xB9"},
    {0x1F9C, "\xE1\xBC\xAC\xCE\x99", "\xE1\xBE\x9C", "\xE1\xBC\xA4\xCE\xB9"},
    {0x1F9D, "\xE1\xBC\xAD\xCE\x99", "\xE1\xBE\x9D", "\xE1\xBC\xA5\xCE\xB9"},
    {0x1F9E, "\xE1\xBC\xAE\xCE\x99", "\xE1\xBE\x9E", "\xE1\xBC\xA6\xCE\xB9"},
    {0x1F9F, "\xE1\xBC\xAF\xCE\x99", "\xE1\xBE\x9F", "\xE1\xBC\xA7\xCE\xB9"},
    {0x1FA0, "\xE1\xBD\xA8\xCE\x99", "\xE1\xBE\xA8", "\xE1\xBD\xA0\xCE\xB9"},
    {0x1FA1, "\xE1\xBD\xA9\xCE\x99", "\xE1\xBE\xA9", "\xE1\xBD\xA1\xCE\xB9"},
    {0x1FA2, "\xE1\xBD\xAA\xCE\x99", "\xE1\xBE\xAA", "\xE1\xBD\xA2\xCE\xB9"},
    {0x1FA3, "\xE1\xBD\xAB\xCE\x99", "\xE1\xBE\xAB", "\xE1\xBD\xA3\xCE\xB9"},
    {0x1FA4, "\xE1\xBD\xAC\xCE\x99", "\xE1\xBE\xAC", "\xE1\xBD\xA4\xCE\xB9"},
    {0x1FA5, "\xE1\xBD\xAD\xCE\x99", "\xE1\xBE\xAD", "\xE1\xBD\xA5\xCE\xB9"},
    {0x1FA6, "\xE1\xBD\xAE\xCE\x99", "\xE1\xBE\xAE", "\xE1\xBD\xA6\xCE\xB9"},
    {0x1FA7, "\xE1\xBD\xAF\xCE\x99", "\xE1\xBE\xAF", "\xE1\xBD\xA7\xCE\xB9"},
    {0x1FA8, "\xE1\xBD\xA8\xCE\x99", "\xE1\xBE\xA8", "\xE1\xBD\xA0\xCE\xB9"},
    {0x1FA9, "\xE1\xBD\xA9\xCE\x99", "\xE1\xBE\xA9", "\xE1\xBD\xA1\xCE\xB9"},
    {0x1FAA, "\xE1\xBD\xAA\xCE\x99", "\xE1\xBE\xAA", "\xE1\xBD\xA2\xCE\xB9"},
    {0x1FAB, "\xE1\xBD\xAB\xCE\x99", "\xE1\xBE\xAB", "\xE1\xBD\xA3\xCE\xB9"},
    {0x1FAC, "\xE1\xBD\xAC\xCE\x99", "\xE1\xBE\xAC", "\xE1\xBD\xA4\xCE\xB9"},
    {0x1FAD, "\xE1\xBD\xAD\xCE\x99", "\xE1\xBE\xAD", "\xE1\xBD\xA5\xCE\xB9"},
    {0x1FAE, "\xE1\xBD\xAE\xCE\x99", "\xE1\xBE\xAE", "\xE1\xBD\xA6\xCE\xB9"},
    {0x1FAF, "\xE1\xBD\xAF\xCE\x99", "\xE1\xBE\xAF", "\xE1\xBD\xA7\xCE\xB9"},
    {0x1FB2, "\xE1\xBE\xBA\xCE\x99", "\xE1\xBE\xBA\xCD\x85", "\xE1\xBD\xB0\xCE\xB9"},
    {0x1FB3, "\xCE\x91\xCE\x99", "\xE1\xBE\xBC", "\xCE\xB1\xCE\xB9"},
    {0x1FB4, "\xCE\x86\xCE\x99", "\xCE\x86\xCD\x85", "\xCE\xAC\xCE\xB9"},
    {0x1FB6, "\xCE\x91\xCD\x82", "\xCE\x91\xCD\x82", "\xCE\xB1\xCD\x82"},
    {0x1FB7, "\xCE\x91\xCD\x82\xCE\x99", "\xCE\x91\xCD\x82\xCD\x85", "\xCE\xB1\xCD\x82\xCE\xB9"},
    {0x1FBC, "\xCE\x91\xCE\x99", "\xE1\xBE\xBC", "\xCE\xB1\xCE\xB9"},
    {0x1FC2, "\xE1\xBF\x8A\xCE\x99", "\xE1\xBF\x8A\xCD\x85", "\xE1\xBD\xB4\xCE\xB9"},
    {0x1FC3, "\xCE\x97\xCE\x99", "\xE1\xBF\x8C", "\xCE\xB7\xCE\xB9"},
    {0x1FC4, "\xCE\x89\xCE\x99", "\xCE\x89\xCD\x85", "\xCE\xAE\xCE\xB9"},
    {0x1FC6, "\xCE\x97\xCD\x82", "\xCE\x97\xCD\x82", "\xCE\xB7\xCD\x82"},
    {0x1FC7, "\xCE\x97\xCD\x82\xCE\x99", "\xCE\x97\xCD\x82\xCD\x85", "\xCE\xB7\xCD\x82\xCE\xB9"},
    {0x1FCC, "\xCE\x97\xCE\x99", "\xE1\xBF\x8C", "\xCE\xB7\xCE\xB9"},
    {0x1FD2, "\xCE\x99\xCC\x88\xCC\x80", "\xCE\x99\xCC\x88\xCC\x80", "\xCE\xB9\xCC\x88\xCC\x80"},
    {0x1FD3, "\xCE\x99\xCC\x88\xCC\x81", "\xCE\x99\xCC\x88\xCC\x81", "\xCE\xB9\xCC\x88\xCC\x81"},
    {0x1FD6, "\xCE\x99\xCD\x82", "\xCE\x99\xCD\x82", "\xCE\xB9\xCD\x82"},
    {0x1FD7, "\xCE\x99\xCC\x88\xCD\x82", "\xCE\x99\xCC\x88\xCD\x82", "\xCE\xB9\xCC\x88\xCD\x82"},
    {0x1FE2, "\xCE\xA5\xCC\x88\xCC\x80", "\xCE\xA5\xCC\x88\xCC\x80", "\xCF\x85\xCC\x88\xCC\x80"},
    {0x1FE3, "\xCE\xA5\xCC\x88\xCC\x81", "\xCE\xA5\xCC\x88\xCC\x81", "\xCF\x85\xCC\x88\xCC\x81"},
    {0x1FE4, "\xCE\xA1\xCC\x93", "\xCE\xA1\xCC\x93", "\xCF\x81\xCC\x93"},
    {0x1FE6, "\xCE\xA5\xCD\x82", "\xCE\xA5\xCD\x82", "\xCF\x85\xCD\x82"},
    {0x1FE7, "\xCE\xA5\xCC\x88\xCD\x82", "\xCE\xA5\xCC\x88\xCD\x82", "\xCF\x85\xCC\x88\xCD\x82"},
    {0x1FF2, "\xE1\xBF\xBA\xCE\x99", "\xE1\xBF\xBA\xCD\x85", "\xE1\xBD\xBC\xCE\xB9"},
    {0x1FF3, "\xCE\xA9\xCE\x99", "\xE1\xBF\xBC", "\xCF\x89\xCE\xB9"},
    {0x1FF4, "\xCE\x8F\xCE\x99", "\xCE\x8F\xCD\x85", "\xCF\x8E\xCE\xB9"},
    {0x1FF6, "\xCE\xA9\xCD\x82", "\xCE\xA9\xCD\x82", "\xCF\x89\xCD\x82"},
    {0x1FF7, "\xCE\xA9\xCD\x82\xCE\x99", "\xCE\xA9\xCD\x82\xCD\x85", "\xCF\x89\xCD\x82\xCE\xB9"},
    {0x1FFC, "\xCE\xA9\xCE\x99", "\xE1\xBF\xBC", "\xCF\x89\xCE\xB9"},
    {0xFB00, "\x46\x46", "\x46\x66", "\x66\x66"},
    {0xFB01, "\x46\x49", "\x46\x69", "\x66\x69"},
    {0xFB02, "\x46\x4C", "\x46\x6C", "\x66\x6C"},
    {0xFB03, "\x46\x46\x49", "\x46\x66\x69", "\x66\x66\x69"},
    {0xFB04, "\x46\x46\x4C", "\x46\x66\x6C", "\x66\x66\x6C"},
    {0xFB05, "\x53\x54", "\x53\x74", "\x73\x74"},
    {0xFB06, "\x53\x54", "\x53\x74", "\x73\x74"},
    {0xFB13, "\xD5\x84\xD5\x86", "\xD5\x84\xD5\xB6", "\xD5\xB4\xD5\xB6"},
    {0xFB14, "\xD5\x84\xD4\xB5", "\xD5\x84\xD5\xA5", "\xD5\xB4\xD5\xA5"},
    {0xFB15, "\xD5\x84\xD4\xBB", "\xD5\x84\xD5\xAB", "\xD5\xB4\xD5\xAB"},
    {0xFB16, "\xD5\x8E\xD5\x86", "\xD5\x8E\xD5\xB6", "\xD5\xBE\xD5\xB6"},
    {0xFB17, "\xD5\x84\xD4\xBD", "\xD5\x84\xD5\xAD", "\xD5\xB4\xD5\xAD"},
};

static const special *find_special(uint32_t cp)
{
    size_t lo = 0, hi = sizeof specials / sizeof *specials;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (specials[mid].cp < cp) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < sizeof specials / sizeof *specials && specials[lo].cp == cp ? &specials[lo] : NULL;
}

static uint32_t put(char out[12], const char *s)
{
    uint32_t n = (uint32_t)strlen(s);
    memcpy(out, s, n);
    return n;
}

static uint32_t fold_simple(uint32_t cp)
{
    utf8proc_int32_t to[8];
    int boundary = 0;
    utf8proc_ssize_t n =
        utf8proc_decompose_char((utf8proc_int32_t)cp, to, 8, UTF8PROC_CASEFOLD, &boundary);
    return n == 1 ? (uint32_t)to[0] : cp;
}

uint32_t cf_t__map_case(char out[12], uint32_t cp, cf_tcase how)
{
    if (cp < 0x80) {
        bool is_up = cp >= 'A' && cp <= 'Z', is_low = cp >= 'a' && cp <= 'z';
        if (is_low && (how == CF_CASE_UPPER || how == CF_CASE_TITLE)) {
            cp -= 32;
        } else if (is_up && (how == CF_CASE_LOWER || how == CF_CASE_FOLD)) {
            cp += 32;
        }
        out[0] = (char)cp;
        return 1;
    }
    if (cp == 0x130 && how == CF_CASE_LOWER) {
        return put(out, "i\xCC\x87");
    }
    const special *s = how != CF_CASE_LOWER ? find_special(cp) : NULL;
    if (s != NULL) {
        return put(out, how == CF_CASE_UPPER   ? s->upper
                        : how == CF_CASE_TITLE ? s->title
                                               : s->fold);
    }
    utf8proc_int32_t c = (utf8proc_int32_t)cp;
    switch (how) {
    case CF_CASE_UPPER:
        c = utf8proc_toupper(c);
        break;
    case CF_CASE_LOWER:
        c = utf8proc_tolower(c);
        break;
    case CF_CASE_TITLE:
        c = utf8proc_totitle(c);
        break;
    case CF_CASE_FOLD:
        c = (utf8proc_int32_t)fold_simple(cp);
        break;
    }
    return (uint32_t)cf_utf8_encode(out, (uint32_t)c);
}

static utf8proc_category_t category(uint32_t cp)
{
    return utf8proc_category((utf8proc_int32_t)cp);
}

bool cf_t__is_space(uint32_t cp)
{
    if (cp < 0x80) {
        return (cp >= 9 && cp <= 13) || (cp >= 0x1C && cp <= 0x20);
    }
    return cp == 0x85 || cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) ||
           cp == 0x2028 || cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000;
}

bool cf_t__is_upper(uint32_t cp)
{
    if (cp < 0x80) {
        return cp >= 'A' && cp <= 'Z';
    }
    return category(cp) == UTF8PROC_CATEGORY_LU || (cp >= 0x2160 && cp <= 0x216F) ||
           (cp >= 0x24B6 && cp <= 0x24CF) || (cp >= 0x1F130 && cp <= 0x1F149) ||
           (cp >= 0x1F150 && cp <= 0x1F169) || (cp >= 0x1F170 && cp <= 0x1F189);
}

bool cf_t__is_lower(uint32_t cp)
{
    if (cp < 0x80) {
        return cp >= 'a' && cp <= 'z';
    }
    return category(cp) == UTF8PROC_CATEGORY_LL || cp == 0xAA || cp == 0xBA ||
           (cp >= 0x2B0 && cp <= 0x2B8) || cp == 0x2C0 || cp == 0x2C1 ||
           (cp >= 0x2E0 && cp <= 0x2E4) || cp == 0x345 || cp == 0x37A ||
           (cp >= 0x1D2C && cp <= 0x1D6A) || cp == 0x1D78 || (cp >= 0x1D9B && cp <= 0x1DBF) ||
           cp == 0x2071 || cp == 0x207F || (cp >= 0x2090 && cp <= 0x209C) ||
           (cp >= 0x2170 && cp <= 0x217F) || (cp >= 0x24D0 && cp <= 0x24E9) || cp == 0x2C7C ||
           cp == 0x2C7D || cp == 0xA69C || cp == 0xA69D || cp == 0xA770 || cp == 0xA7F8 ||
           cp == 0xA7F9 || (cp >= 0xAB5C && cp <= 0xAB5F);
}

bool cf_t__is_title(uint32_t cp)
{
    return cp >= 0x80 && category(cp) == UTF8PROC_CATEGORY_LT;
}

bool cf_t__is_cased(uint32_t cp)
{
    return cf_t__is_upper(cp) || cf_t__is_lower(cp) || cf_t__is_title(cp);
}

bool cf_t__is_alpha(uint32_t cp)
{
    if (cp < 0x80) {
        return (cp | 32) >= 'a' && (cp | 32) <= 'z';
    }
    switch (category(cp)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return true;
    default:
        return false;
    }
}

bool cf_t__is_decimal(uint32_t cp)
{
    return cp < 0x80 ? cp >= '0' && cp <= '9' : category(cp) == UTF8PROC_CATEGORY_ND;
}

int cf_t__digit_value(uint32_t cp)
{
    if (cp < 0x80) {
        return cp >= '0' && cp <= '9' ? (int)cp - '0' : -1;
    }
    if (!cf_t__is_decimal(cp)) {
        return -1;
    }
    /* Decimal digits come in runs of ten, zero first, on a multiple of 10 of
     * the block; count back to where the run starts. */
    uint32_t back = 0;
    while (back < 10 && cf_t__is_decimal(cp - back - 1)) {
        back++;
    }
    if (cp >= 0x1D7CE && cp <= 0x1D7FF) {
        return (int)((cp - 0x1D7CE) % 10);
    }
    return (int)(back % 10);
}

bool cf_t__is_digit(uint32_t cp)
{
    return cf_t__is_decimal(cp) || cp == 0xB2 || cp == 0xB3 || cp == 0xB9 ||
           (cp >= 0x1369 && cp <= 0x1371) || cp == 0x19DA || cp == 0x2070 ||
           (cp >= 0x2074 && cp <= 0x2079) || (cp >= 0x2080 && cp <= 0x2089) ||
           (cp >= 0x2460 && cp <= 0x2468) || (cp >= 0x2474 && cp <= 0x247C) ||
           (cp >= 0x2488 && cp <= 0x2490) || cp == 0x24EA || (cp >= 0x24F5 && cp <= 0x24FD) ||
           cp == 0x24FF || (cp >= 0x2776 && cp <= 0x277E) || (cp >= 0x2780 && cp <= 0x2788) ||
           (cp >= 0x278A && cp <= 0x2792) || (cp >= 0x10A40 && cp <= 0x10A43) ||
           (cp >= 0x10E60 && cp <= 0x10E68) || (cp >= 0x11052 && cp <= 0x1105A) ||
           (cp >= 0x1F100 && cp <= 0x1F10A);
}

bool cf_t__is_numeric(uint32_t cp)
{
    if (cf_t__is_digit(cp)) {
        return true;
    }
    if (cp < 0x80) {
        return false;
    }
    utf8proc_category_t c = category(cp);
    if (c == UTF8PROC_CATEGORY_NO || c == UTF8PROC_CATEGORY_NL) {
        return true;
    }
    /* Ideographs that stand for numbers (Unihan's kPrimaryNumeric,
     * kAccountingNumeric, kOtherNumeric of Unicode 14), and compatibility
     * forms of those. */
    static const uint32_t han[] = {
        0x3405,  0x3483,  0x382A,  0x3B4D,  0x4E00,  0x4E03,  0x4E07,  0x4E09,  0x4E5D,
        0x4E8C,  0x4E94,  0x4E96,  0x4EBF,  0x4EC0,  0x4EDF,  0x4EE8,  0x4F0D,  0x4F70,
        0x5104,  0x5146,  0x5169,  0x516B,  0x516D,  0x5341,  0x5343,  0x5344,  0x5345,
        0x534C,  0x53C1,  0x53C2,  0x53C3,  0x53C4,  0x56DB,  0x58F1,  0x58F9,  0x5E7A,
        0x5EFE,  0x5EFF,  0x5F0C,  0x5F0D,  0x5F0E,  0x5F10,  0x62FE,  0x634C,  0x67D2,
        0x6F06,  0x7396,  0x767E,  0x8086,  0x842C,  0x8CAE,  0x8CB3,  0x8D30,  0x9621,
        0x9646,  0x964C,  0x9678,  0x96F6,  0xF96B,  0xF973,  0xF978,  0xF9B2,  0xF9D1,
        0xF9D3,  0xF9FD,  0x20001, 0x20064, 0x200E2, 0x20121, 0x2092A, 0x20983, 0x2098C,
        0x2099C, 0x20AEA, 0x20AFD, 0x20B19, 0x22390, 0x22998, 0x23B1B, 0x2626D, 0x2F890,
    };
    size_t i = 0;
    while (i < sizeof han / sizeof han[0] && han[i] < cp) {
        i++;
    }
    return i < sizeof han / sizeof han[0] && han[i] == cp;
}

bool cf_t__is_printable(uint32_t cp)
{
    if (cp < 0x7F) {
        return cp >= 0x20;
    }
    switch (category(cp)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
        return false;
    default:
        return true;
    }
}

bool cf_t__is_ident_start(uint32_t cp)
{
    return cp == '_' || cf_t__is_alpha(cp) || (cp >= 0x80 && category(cp) == UTF8PROC_CATEGORY_NL);
}

bool cf_t__is_ident_part(uint32_t cp)
{
    if (cp < 0x80) {
        return cf_t__is_ident_start(cp) || (cp >= '0' && cp <= '9');
    }
    if (cf_t__is_ident_start(cp)) {
        return true;
    }
    switch (category(cp)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_PC:
        return true;
    default:
        return cp == 0xB7;
    }
}

/* Letters that case rules look through: marks, modifiers, and punctuation
 * that is written inside words. */
static bool is_case_ignorable(uint32_t cp)
{
    if (cp < 0x80) {
        return cp == '\'' || cp == '.' || cp == ':' || cp == '^' || cp == '`';
    }
    switch (category(cp)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
        return true;
    default:
        break;
    }
    /* Word_Break = MidLetter, MidNumLet (Unicode Annex 29). */
    static const uint32_t inside[] = {0xB7,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019, 0x2024,
                                      0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        if (cp == inside[i]) {
            return true;
        }
    }
    return false;
}

bool cf_t__is_final_sigma(const cf_tstr *s, uint32_t at)
{
    uint32_t len, cp = 0, i = at;
    bool has_before = false;
    while (i > 0) {
        do {
            i--;
        } while (i > 0 && ((unsigned char)s->p[i] & 0xC0) == 0x80);
        cp = cf_t__cp(s->p + i, &len);
        if (!is_case_ignorable(cp)) {
            has_before = cf_t__is_cased(cp);
            break;
        }
    }
    if (!has_before) {
        return false;
    }
    for (i = at + 2; i < s->n; i += len) {
        cp = cf_t__cp(s->p + i, &len);
        if (!is_case_ignorable(cp)) {
            return !cf_t__is_cased(cp);
        }
    }
    return true;
}
