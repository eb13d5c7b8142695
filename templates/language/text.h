/*
 * text.h - strings with origins: slicing, building, code points.
 *
 * A builder appends pieces of other strings with their origins, or bytes
 * with an origin given, and merges neighbours that continue each other.
 */
#ifndef CF_TEMPLATES_LANGUAGE_TEXT_H
#define CF_TEMPLATES_LANGUAGE_TEXT_H

#include "templates/language/value.h"

typedef struct cf_tsb {
    cf_tr *r;
    char *p;
    uint32_t n, cap;
    cf_tseg *seg;
    uint32_t n_seg, cap_seg;
    uint32_t pos;   /* given to segments that have none */
    bool is_output; /* counted against the output limit */
    bool failed;    /* the error is set */
} cf_tsb;

void cf_t__sb_init(cf_tsb *b, cf_tr *r);
/* Reserves room that is known to be needed. */
void cf_t__sb_reserve(cf_tsb *b, uint32_t bytes, uint32_t segments);
/* n bytes with one origin. */
void cf_t__sb_add(cf_tsb *b, const char *p, size_t n, uint32_t org, uint32_t off, uint32_t pos);
/* The same, changed from their origin, from a C string. */
void cf_t__sb_adds(cf_tsb *b, const char *s, uint32_t org);
void cf_t__sb_addc(cf_tsb *b, char c, uint32_t org);
/* Bytes [from, to) of s with their origins. */
void cf_t__sb_sub(cf_tsb *b, const cf_tstr *s, uint32_t from, uint32_t to);
void cf_t__sb_str(cf_tsb *b, const cf_tstr *s);
/* n bytes that stand for byte `at` of s, as a changed copy. */
void cf_t__sb_changed(cf_tsb *b, const cf_tstr *s, uint32_t at, const char *p, size_t n);
/* The built string as a value; the builder must not be used afterwards. */
cf_tv cf_t__sb_take(cf_tsb *b, bool is_markup);

/* A string of bytes that stay alive (not copied), from one origin. */
cf_tv cf_t__str_of(cf_tr *r, const char *p, size_t n, uint32_t org);
cf_tv cf_t__str_copy(cf_tr *r, const char *p, size_t n, uint32_t org);
cf_tv cf_t__str_cstr(cf_tr *r, const char *s);
/* Bytes [from, to) of s. */
cf_tv cf_t__str_sub(cf_tr *r, const cf_tstr *s, uint32_t from, uint32_t to);
/* s as Markup, or as plain string. */
cf_tv cf_t__str_mark(cf_tr *r, const cf_tstr *s, bool is_markup);
cf_tv cf_t__concat(cf_tr *r, const cf_tstr *a, const cf_tstr *b);
static inline uint32_t cf_t__str_org(const cf_tstr *s)
{
    return s->n_seg == 0 ? s->one.org : s->seg[0].org;
}

/* Code points of s (counted once). */
uint32_t cf_t__str_cps(const cf_tstr *s);
/* Code points and bytes (of bytes, too) are the same. */
static inline bool cf_t__str_is_ascii(const cf_tstr *s)
{
    return cf_t__str_cps(s) == s->n;
}
/* Byte offset of code point i (0 .. cps). */
uint32_t cf_t__str_at_cp(const cf_tstr *s, uint32_t i);
/* Code points in the first `bytes` bytes. */
uint32_t cf_t__cps_before(const cf_tstr *s, uint32_t bytes);

/* The code point at p (valid UTF-8), and its length. */
static inline uint32_t cf_t__cp(const char *p, uint32_t *len)
{
    const unsigned char *c = (const unsigned char *)p;
    if (c[0] < 0x80) {
        *len = 1;
        return c[0];
    }
    if (c[0] < 0xE0) {
        *len = 2;
        return (uint32_t)(c[0] & 0x1F) << 6 | (c[1] & 0x3F);
    }
    if (c[0] < 0xF0) {
        *len = 3;
        return (uint32_t)(c[0] & 0x0F) << 12 | (uint32_t)(c[1] & 0x3F) << 6 | (c[2] & 0x3F);
    }
    *len = 4;
    return (uint32_t)(c[0] & 0x07) << 18 | (uint32_t)(c[1] & 0x3F) << 12 |
           (uint32_t)(c[2] & 0x3F) << 6 | (c[3] & 0x3F);
}

/* First occurrence of needle in hay at or after `from`; UINT32_MAX: none. */
uint32_t cf_t__find(cf_str hay, cf_str needle, uint32_t from);
uint32_t cf_t__rfind(cf_str hay, cf_str needle);

/* ---- what Python says about characters ---------------------------------- */

bool cf_t__is_space(uint32_t cp);
bool cf_t__is_upper(uint32_t cp);
bool cf_t__is_lower(uint32_t cp);
bool cf_t__is_title(uint32_t cp);
bool cf_t__is_cased(uint32_t cp);
bool cf_t__is_alpha(uint32_t cp);
bool cf_t__is_decimal(uint32_t cp);
bool cf_t__is_digit(uint32_t cp);
bool cf_t__is_numeric(uint32_t cp);
bool cf_t__is_printable(uint32_t cp);
bool cf_t__is_ident_start(uint32_t cp);
bool cf_t__is_ident_part(uint32_t cp);
/* Value of a decimal digit, -1 for other characters. */
int cf_t__digit_value(uint32_t cp);

typedef enum cf_tcase { CF_CASE_UPPER, CF_CASE_LOWER, CF_CASE_TITLE, CF_CASE_FOLD } cf_tcase;
/* Writes the mapping of cp to out (at most 12 bytes) and returns its length.
 * The final sigma is the caller's business. */
uint32_t cf_t__map_case(char out[12], uint32_t cp, cf_tcase how);

/* Whether byte `at` (a capital sigma) of s ends a word. */
bool cf_t__is_final_sigma(const cf_tstr *s, uint32_t at);

#endif
