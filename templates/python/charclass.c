/*
 * charclass.c - characters as Python's str methods see them: classes by
 * Unicode category and case mappings by Unicode's data files, both from utf8proc.
 */
#include <utf8proc.h>

#include "core/base/utf8.h"
#include "templates/language/text.h"

static utf8proc_category_t category(uint32_t cp)
{
    return utf8proc_category((utf8proc_int32_t)cp);
}

/* ---- case --------------------------------------------------------------- */

enum { FOLD_MAX = 4 }; /* more than any character folds to */

/* The full case folding of Unicode (CaseFolding.txt, status C and F). */
static size_t fold(utf8proc_int32_t to[FOLD_MAX], uint32_t cp)
{
    int boundary = 0;
    utf8proc_ssize_t n =
        utf8proc_decompose_char((utf8proc_int32_t)cp, to, FOLD_MAX, UTF8PROC_CASEFOLD, &boundary);
    if (n < 1 || n > FOLD_MAX) {
        to[0] = (utf8proc_int32_t)cp;
        return 1;
    }
    return (size_t)n;
}

/*
 * Maps a folding of several characters on to upper or title case, which gives
 * the mappings of SpecialCasing.txt: upper case is that of every character; title
 * case is that of the first cased one, and a last iota is written below the letter.
 */
static void raise_all(utf8proc_int32_t *v, size_t n, cf_tcase how)
{
    bool is_done = false;
    for (size_t i = 0; i < n; i++) {
        if (how == CF_CASE_UPPER) {
            v[i] = utf8proc_toupper(v[i]);
        } else if (!is_done && cf_t__is_cased((uint32_t)v[i])) {
            v[i] = utf8proc_totitle(v[i]);
            is_done = true;
        } else if (i == n - 1 && v[i] == 0x3B9) {
            v[i] = 0x345;
        }
    }
}

/* A character's mapping, as characters. */
static size_t map_case(utf8proc_int32_t to[FOLD_MAX], uint32_t cp, cf_tcase how)
{
    utf8proc_int32_t c = (utf8proc_int32_t)cp;
    size_t n = fold(to, cp);
    if (how == CF_CASE_FOLD || (how == CF_CASE_LOWER && cp == 0x130)) {
        return n;
    }
    utf8proc_category_t class = category(cp);
    bool is_simple = n == 1 || how == CF_CASE_LOWER || class == UTF8PROC_CATEGORY_LU;
    if (!is_simple && how == CF_CASE_TITLE) {
        is_simple = category((uint32_t)utf8proc_totitle(c)) == UTF8PROC_CATEGORY_LT;
    }
    if (!is_simple) {
        raise_all(to, n, how);
        return n;
    }
    to[0] = how == CF_CASE_UPPER   ? utf8proc_toupper(c)
            : how == CF_CASE_LOWER ? utf8proc_tolower(c)
                                   : utf8proc_totitle(c);
    return 1;
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
    utf8proc_int32_t to[FOLD_MAX];
    size_t n = map_case(to, cp, how), at = 0;
    for (size_t i = 0; i < n; i++) {
        at += cf_utf8_encode(out + at, (uint32_t)to[i]);
    }
    return (uint32_t)at;
}

/* ---- classes ------------------------------------------------------------ */

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

/* Characters that case rules skip: marks, modifiers, and punctuation inside words. */
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
