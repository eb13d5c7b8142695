/*
 * html.c - escaping as markupsafe does it, and the way back as Python's
 * html.unescape does it.
 */
#include "core/base/utf8.h"
#include "templates/language/call.h"
#include "templates/language/state.h"
#include "templates/python/methods.h"

cf_tv cf_t__escape(cf_tr *r, cf_tv v)
{
    if (v.k == CF_TSTR && v.u.s->is_markup) {
        return v;
    }
    v = cf_t__to_str(r, v);
    CF_TVTRY(v);
    const cf_tstr *s = v.u.s;
    cf_tsb b;
    cf_t__sb_init(&b, r);
    uint32_t run = 0;
    for (uint32_t at = 0; at < s->n && !b.failed; at++) {
        const char *to = NULL;
        switch (s->p[at]) {
        case '&':
            to = "&amp;";
            break;
        case '<':
            to = "&lt;";
            break;
        case '>':
            to = "&gt;";
            break;
        case '\'':
            to = "&#39;";
            break;
        case '"':
            to = "&#34;";
            break;
        default:
            continue;
        }
        cf_t__sb_sub(&b, s, run, at);
        cf_t__sb_changed(&b, s, at, to, strlen(to));
        run = at + 1;
    }
    cf_t__sb_sub(&b, s, run, s->n);
    return cf_t__spend(r, s->n >> 3) ? cf_t__sb_take(&b, true) : CF_TV_ERR;
}

/* ---- character references ------------------------------------------------ */

/* Names of the HTML standard, sorted: all that need no semicolon, and some
 * common ones that do. */
static const struct {
    const char *name;
    uint16_t cp;
    bool needs_semicolon;
} names[] = {
    {"AElig", 0xC6, false},  {"AMP", 0x26, false},    {"Aacute", 0xC1, false},
    {"Acirc", 0xC2, false},  {"Agrave", 0xC0, false}, {"Aring", 0xC5, false},
    {"Atilde", 0xC3, false}, {"Auml", 0xC4, false},   {"COPY", 0xA9, false},
    {"Ccedil", 0xC7, false}, {"ETH", 0xD0, false},    {"Eacute", 0xC9, false},
    {"Ecirc", 0xCA, false},  {"Egrave", 0xC8, false}, {"Euml", 0xCB, false},
    {"GT", 0x3E, false},     {"Iacute", 0xCD, false}, {"Icirc", 0xCE, false},
    {"Igrave", 0xCC, false}, {"Iuml", 0xCF, false},   {"LT", 0x3C, false},
    {"Ntilde", 0xD1, false}, {"Oacute", 0xD3, false}, {"Ocirc", 0xD4, false},
    {"Ograve", 0xD2, false}, {"Oslash", 0xD8, false}, {"Otilde", 0xD5, false},
    {"Ouml", 0xD6, false},   {"QUOT", 0x22, false},   {"REG", 0xAE, false},
    {"THORN", 0xDE, false},  {"Uacute", 0xDA, false}, {"Ucirc", 0xDB, false},
    {"Ugrave", 0xD9, false}, {"Uuml", 0xDC, false},   {"Yacute", 0xDD, false},
    {"aacute", 0xE1, false}, {"acirc", 0xE2, false},  {"acute", 0xB4, false},
    {"aelig", 0xE6, false},  {"agrave", 0xE0, false}, {"amp", 0x26, false},
    {"apos", 0x27, true},    {"aring", 0xE5, false},  {"atilde", 0xE3, false},
    {"auml", 0xE4, false},   {"brvbar", 0xA6, false}, {"bull", 0x2022, true},
    {"ccedil", 0xE7, false}, {"cedil", 0xB8, false},  {"cent", 0xA2, false},
    {"copy", 0xA9, false},   {"curren", 0xA4, false}, {"deg", 0xB0, false},
    {"divide", 0xF7, false}, {"eacute", 0xE9, false}, {"ecirc", 0xEA, false},
    {"egrave", 0xE8, false}, {"eth", 0xF0, false},    {"euml", 0xEB, false},
    {"euro", 0x20AC, true},  {"frac12", 0xBD, false}, {"frac14", 0xBC, false},
    {"frac34", 0xBE, false}, {"gt", 0x3E, false},     {"hellip", 0x2026, true},
    {"iacute", 0xED, false}, {"icirc", 0xEE, false},  {"iexcl", 0xA1, false},
    {"igrave", 0xEC, false}, {"iquest", 0xBF, false}, {"iuml", 0xEF, false},
    {"laquo", 0xAB, false},  {"larr", 0x2190, true},  {"ldquo", 0x201C, true},
    {"lsquo", 0x2018, true}, {"lt", 0x3C, false},     {"macr", 0xAF, false},
    {"mdash", 0x2014, true}, {"micro", 0xB5, false},  {"middot", 0xB7, false},
    {"nbsp", 0xA0, false},   {"ndash", 0x2013, true}, {"not", 0xAC, false},
    {"ntilde", 0xF1, false}, {"oacute", 0xF3, false}, {"ocirc", 0xF4, false},
    {"ograve", 0xF2, false}, {"ordf", 0xAA, false},   {"ordm", 0xBA, false},
    {"oslash", 0xF8, false}, {"otilde", 0xF5, false}, {"ouml", 0xF6, false},
    {"para", 0xB6, false},   {"plusmn", 0xB1, false}, {"pound", 0xA3, false},
    {"quot", 0x22, false},   {"raquo", 0xBB, false},  {"rarr", 0x2192, true},
    {"rdquo", 0x201D, true}, {"reg", 0xAE, false},    {"rsquo", 0x2019, true},
    {"sect", 0xA7, false},   {"shy", 0xAD, false},    {"sup1", 0xB9, false},
    {"sup2", 0xB2, false},   {"sup3", 0xB3, false},   {"szlig", 0xDF, false},
    {"thorn", 0xFE, false},  {"times", 0xD7, false},  {"trade", 0x2122, true},
    {"uacute", 0xFA, false}, {"ucirc", 0xFB, false},  {"ugrave", 0xF9, false},
    {"uml", 0xA8, false},    {"uuml", 0xFC, false},   {"yacute", 0xFD, false},
    {"yen", 0xA5, false},    {"yuml", 0xFF, false},
};

/* 0x80 to 0x9F, which browsers read as Windows-1252. */
static const uint16_t windows_1252[32] = {
    0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021, 0x2C6,  0x2030, 0x160,
    0x2039, 0x152,  0x8D,   0x17D,  0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};

enum { LONGEST_NAME = 8 };

/* A reference that was read. */
typedef struct reference {
    uint32_t n;  /* number of bytes after the '&' */
    uint32_t cp; /* the character; NO_TEXT: none */
} reference;

enum { NO_TEXT = 0 };

/* The character of a numeric reference; NO_TEXT for one that is left out. */
static uint32_t numbered(uint32_t cp)
{
    if (cp >= 0x80 && cp < 0xA0) {
        return windows_1252[cp - 0x80];
    }
    if (cp == 0 || cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000)) {
        return 0xFFFD;
    }
    bool is_invalid = cp < 9 || cp == 0xB || (cp >= 0xE && cp < 0x20) || cp == 0x7F ||
                      (cp >= 0xFDD0 && cp < 0xFDF0) || (cp & 0xFFFE) == 0xFFFE;
    return is_invalid ? NO_TEXT : cp;
}

/* "#65;" or "#x41;" at p, the semicolon optional. */
static bool read_number(const char *p, uint32_t n, reference *out)
{
    bool is_hex = n > 1 && (p[1] | 32) == 'x';
    uint32_t at = is_hex ? 2 : 1, first = at, cp = 0;
    for (; at < n; at++) {
        char c = (char)(p[at] | 32);
        bool is_digit = p[at] >= '0' && p[at] <= '9';
        if (!is_digit && !(is_hex && c >= 'a' && c <= 'f')) {
            break;
        }
        uint32_t d = is_digit ? (uint32_t)(p[at] - '0') : (uint32_t)(c - 'a') + 10;
        cp = cp > 0x10FFFF ? cp : cp * (is_hex ? 16 : 10) + d;
    }
    bool has_end = at < n && p[at] == ';';
    *out = (reference){at + has_end, numbered(cp)};
    return at > first;
}

/* The longest name at p; one that needs its semicolon only with it. */
static bool read_name(const char *p, uint32_t n, reference *out)
{
    for (uint32_t len = n < LONGEST_NAME ? n : LONGEST_NAME; len >= 2; len--) {
        bool has_end = len < n && p[len] == ';';
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            if (strlen(names[i].name) == len && memcmp(names[i].name, p, len) == 0 &&
                (has_end || !names[i].needs_semicolon)) {
                *out = (reference){len + has_end, names[i].cp};
                return true;
            }
        }
    }
    return false;
}

cf_tv cf_t__unescape(cf_tr *r, const cf_tstr *s)
{
    cf_tsb b;
    cf_t__sb_init(&b, r);
    uint32_t run = 0;
    for (uint32_t at = 0; at < s->n && !b.failed; at++) {
        reference ref;
        if (s->p[at] != '&') {
            continue;
        }
        const char *p = s->p + at + 1;
        uint32_t n = s->n - at - 1;
        if (!cf_t__spend(r, 16) ||
            !(n != 0 && p[0] == '#' ? read_number(p, n, &ref) : read_name(p, n, &ref))) {
            continue;
        }
        char out[4];
        size_t n_out = ref.cp != NO_TEXT ? cf_utf8_encode(out, ref.cp) : 0;
        cf_t__sb_sub(&b, s, run, at);
        cf_t__sb_changed(&b, s, at, out, n_out);
        run = at + 1 + ref.n;
        at += ref.n;
    }
    cf_t__sb_sub(&b, s, run, s->n);
    return cf_t__spend(r, s->n >> 3) ? cf_t__sb_take(&b, false) : CF_TV_ERR;
}

cf_tv cf_t__strip_tags(cf_tr *r, const cf_tstr *s)
{
    /* Removes comments, then tags, and collapses the remaining blanks. */
    cf_tsb b;
    cf_t__sb_init(&b, r);
    cf_str text = cf_str_make(s->p, s->n);
    uint32_t len;
    bool owed = false;
    for (uint32_t at = 0; at < s->n && !b.failed;) {
        if (s->p[at] == '<') {
            bool is_comment = s->n - at >= 4 && memcmp(s->p + at, "<!--", 4) == 0;
            uint32_t end =
                cf_t__find(text, cf_str_from(is_comment ? "-->" : ">"), at + (is_comment ? 4 : 1));
            if (end != UINT32_MAX) {
                at = end + (is_comment ? 3 : 1);
                continue;
            }
            if (!cf_t__spend(r, (s->n - at) >> 4)) {
                return CF_TV_ERR;
            }
        }
        uint32_t cp = cf_t__cp(s->p + at, &len);
        if (cf_t__is_space(cp)) {
            owed = b.n != 0;
        } else {
            if (owed) {
                cf_t__sb_changed(&b, s, at, " ", 1);
                owed = false;
            }
            cf_t__sb_sub(&b, s, at, at + len);
        }
        at += len;
        if (!cf_t__spend(r, 1)) {
            return CF_TV_ERR;
        }
    }
    cf_tv v = cf_t__sb_take(&b, true);
    return v.k == CF_TERR ? v : cf_t__unescape(r, v.u.s);
}
