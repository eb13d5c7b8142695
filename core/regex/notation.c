/*
 * notation.c - reads grammars in confab's notation (docs/constraints.md).
 *
 *   grammar  := rule+                 the first rule is the start
 *   rule     := NAME '=' choice ';'
 *   choice   := sequence ('|' sequence)*
 *   sequence := repeated*             none: the empty text
 *   repeated := item ('*' | '+' | '?' | '{' N (',' N?)? '}')*
 *   item     := STRING | '/' REGEX '/' | NAME | '(' choice ')'
 *
 * STRING is a JSON string; '#' begins a comment that runs to the line's end.
 */
#include <string.h>

#include "core/base/utf8.h"
#include "core/regex/notation_parts.h"

static int peek(cf_notation *r)
{
    while (r->i < r->s.n) {
        char c = r->s.p[r->i];
        if (c == '#') {
            while (r->i < r->s.n && r->s.p[r->i] != '\n') {
                r->i++;
            }
        } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            r->i++;
        } else {
            return (unsigned char)c;
        }
    }
    return -1;
}

static bool take(cf_notation *r, char c)
{
    if (peek(r) == c) {
        r->i++;
        return true;
    }
    return false;
}

static bool is_name_byte(int c, bool is_first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!is_first && ((c >= '0' && c <= '9') || c == '-'));
}

static cf_str take_name(cf_notation *r)
{
    size_t from = r->i;
    while (r->i < r->s.n && is_name_byte((unsigned char)r->s.p[r->i], r->i == from)) {
        r->i++;
    }
    return cf_str_make(r->s.p + from, r->i - from);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hex digits at p; UINT32_MAX when they are none. */
static uint32_t hex4(const char *p, const char *end)
{
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        int d = p + i < end ? hex_value(p[i]) : -1;
        if (d < 0) {
            return UINT32_MAX;
        }
        v = v << 4 | (uint32_t)d;
    }
    return v;
}

/* Decodes the body of a JSON string into out.  Returns its length, SIZE_MAX
 * when it is malformed. */
static size_t decode(char *out, const char *p, const char *end)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    size_t n = 0;
    while (p < end) {
        if (*p != '\\') {
            out[n++] = *p++;
            continue;
        }
        const char *at = p + 1 < end && p[1] != '\0' ? strchr(from, p[1]) : NULL;
        if (at != NULL) {
            out[n++] = to[at - from];
            p += 2;
            continue;
        }
        uint32_t cp = p + 1 < end && p[1] == 'u' ? hex4(p + 2, end) : UINT32_MAX;
        p += 6;
        if (cp >= 0xD800 && cp <= 0xDBFF && p + 1 < end && p[0] == '\\' && p[1] == 'u') {
            uint32_t low = hex4(p + 2, end);
            cp = low >= 0xDC00 && low <= 0xDFFF ? 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00)
                                                : UINT32_MAX;
            p += 6;
        }
        if (cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF)) {
            return SIZE_MAX;
        }
        n += cf_utf8_encode(out + n, cp);
    }
    return n;
}

static cf_part *take_string(cf_notation *r)
{
    size_t from = r->i++;
    while (r->i < r->s.n && r->s.p[r->i] != '"') {
        r->i += r->s.p[r->i] == '\\' ? 2 : 1;
    }
    if (r->i >= r->s.n) {
        cf_notation_fail(r, CF_EFORMAT, from, "a string does not end");
        return NULL;
    }
    cf_part *p = cf_notation_part(r, CF_PART_TEXT, from);
    char *text = cf_arena_alloc(&r->arena, r->i - from);
    if (p == NULL || text == NULL) {
        cf_notation_fail(r, CF_ENOMEM, from, "out of memory");
        return NULL;
    }
    p->text.p = text;
    p->text.n = decode(text, r->s.p + from + 1, r->s.p + r->i);
    r->i++;
    if (p->text.n == SIZE_MAX) {
        cf_notation_fail(r, CF_EFORMAT, from, "not a JSON string");
        return NULL;
    }
    return p;
}

static cf_part *take_regex(cf_notation *r)
{
    size_t from = r->i++;
    bool in_class = false;
    while (r->i < r->s.n && r->s.p[r->i] != '\n' && (in_class || r->s.p[r->i] != '/')) {
        char c = r->s.p[r->i];
        in_class = c == '[' || (in_class && c != ']');
        r->i += c == '\\' ? 2 : 1;
    }
    if (r->i >= r->s.n || r->s.p[r->i] != '/') {
        cf_notation_fail(r, CF_EFORMAT, from, "an expression does not end");
        return NULL;
    }
    cf_part *p = cf_notation_part(r, CF_PART_REGEX, from);
    if (p != NULL) {
        p->text = cf_str_make(r->s.p + from + 1, r->i - from - 1);
    }
    r->i++;
    return p;
}

static cf_part *take_choice(cf_notation *r);

static cf_part *take_item(cf_notation *r)
{
    int c = peek(r);
    size_t at = r->i;
    if (c == '"') {
        return take_string(r);
    }
    if (c == '/') {
        return take_regex(r);
    }
    if (c == '(') {
        r->i++;
        cf_part *p = take_choice(r);
        if (cf_notation_is_ok(r) && !take(r, ')')) {
            cf_notation_fail(r, CF_EFORMAT, at, "( without )");
        }
        return p;
    }
    cf_part *p = cf_notation_part(r, CF_PART_RULE, at);
    if (p != NULL) {
        p->text = take_name(r);
    }
    return p;
}

static bool take_counts(cf_notation *r, uint32_t *min, uint32_t *max)
{
    size_t at = r->i;
    *min = 0;
    *max = CF_RX_INF;
    if (take(r, '*')) {
        return true;
    }
    if (take(r, '+')) {
        *min = 1;
        return true;
    }
    if (take(r, '?')) {
        *max = 1;
        return true;
    }
    if (!take(r, '{')) {
        return false;
    }
    bool ok = cf_notation_number(r, min);
    *max = *min;
    if (ok && take(r, ',') && !cf_notation_number(r, max)) {
        *max = CF_RX_INF;
    }
    if (!ok || !take(r, '}') || *max < *min) {
        cf_notation_fail(r, CF_EFORMAT, at, "not {N}, {N,} or {N,M}");
    }
    return cf_notation_is_ok(r);
}

static cf_part *take_repeated(cf_notation *r)
{
    cf_part *p = take_item(r);
    uint32_t min;
    uint32_t max;
    peek(r);
    while (cf_notation_is_ok(r) && p != NULL && take_counts(r, &min, &max)) {
        p = cf_notation_repeat(r, p, min, max);
        peek(r);
    }
    return p;
}

static cf_part *take_sequence(cf_notation *r)
{
    cf_part *seq = cf_notation_part(r, CF_PART_SEQUENCE, r->i);
    if (seq == NULL) {
        return NULL;
    }
    cf_part **tail = &seq->first;
    while (cf_notation_is_ok(r)) {
        int c = peek(r);
        if (c != '"' && c != '/' && c != '(' && !is_name_byte(c, true)) {
            break;
        }
        *tail = take_repeated(r);
        if (*tail != NULL) {
            tail = &(*tail)->next;
        }
    }
    return seq;
}

static cf_part *take_choice(cf_notation *r)
{
    if (++r->depth > CF_NOTATION_DEPTH_MAX) {
        cf_notation_fail(r, CF_ELIMIT, r->i, "groups nest too deeply");
        return NULL;
    }
    cf_part *choice = cf_notation_part(r, CF_PART_CHOICE, r->i);
    if (choice == NULL) {
        return NULL;
    }
    cf_part **tail = &choice->first;
    while (cf_notation_is_ok(r)) {
        *tail = take_sequence(r);
        if (*tail == NULL || !take(r, '|')) {
            break;
        }
        tail = &(*tail)->next;
    }
    r->depth--;
    return choice;
}

static void take_rule(cf_notation *r)
{
    size_t at = r->i;
    cf_str name = take_name(r);
    if (name.n == 0 || !take(r, '=')) {
        cf_notation_fail(r, CF_EFORMAT, at, "not a rule: NAME = ... ;");
        return;
    }
    cf_rule *k = cf_notation_rule(r, name, at);
    if (k == NULL) {
        return;
    }
    k->body = take_choice(r);
    if (cf_notation_is_ok(r) && !take(r, ';')) {
        cf_notation_fail(r, CF_EFORMAT, r->i, "expected an item, | or ;");
    }
}

void cf_notation_read(cf_notation *r)
{
    while (cf_notation_is_ok(r) && peek(r) >= 0) {
        take_rule(r);
    }
}
