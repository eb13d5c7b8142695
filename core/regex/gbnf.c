/*
 * gbnf.c - reads GBNF, the grammar notation of llama.cpp (its page
 * grammars/README.md is the source of the syntax).
 *
 *   grammar  := rule+                       "root" is the start
 *   rule     := NAME '::=' choice end       ends with its line
 *   choice   := sequence ('|' sequence)*
 *   sequence := (item count?)*              none: the empty text
 *   count    := '*' | '+' | '?' | '{' N (',' N?)? '}'
 *   item     := '"' CHAR* '"' | '[' '^'? CHAR* ']' | '.' | NAME | '(' choice ')'
 *
 * '#' begins a comment that runs to the line's end.  A choice goes on in the
 * next line after "::=", after "|", and inside parentheses.  CHAR is a character
 * or an escape (\n \r \t \\ \" \[ \] \xHH \uHHHH \UHHHHHHHH), and in a class
 * also a range "a-z".  Tokens ("<think>", "<[1000]>") need a vocabulary, which a
 * grammar over bytes does not have; they are refused.
 */
#include <string.h>

#include "core/base/utf8.h"
#include "core/regex/notation_parts.h"

enum { RANGES_MAX = 1000 };

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

/* The offset behind blanks and comments, and behind line ends where these do
 * not end the rule. */
static size_t skip(cf_str s, size_t i, bool over_lines)
{
    while (i < s.n) {
        char c = s.p[i];
        if (c == '#') {
            while (i < s.n && s.p[i] != '\n' && s.p[i] != '\r') {
                i++;
            }
        } else if (c == ' ' || c == '\t' || (over_lines && (c == '\n' || c == '\r'))) {
            i++;
        } else {
            break;
        }
    }
    return i;
}

static size_t name_end(cf_str s, size_t i)
{
    while (i < s.n && is_name_byte(s.p[i])) {
        i++;
    }
    return i;
}

bool cf_gbnf_is(cf_str text)
{
    size_t from = skip(text, 0, true);
    size_t end = name_end(text, from);
    size_t i = skip(text, end, false);
    return end > from && text.n - i >= 3 && memcmp(text.p + i, "::=", 3) == 0;
}

/* The next byte of the source, 0 at its end. */
static char at(const cf_notation *r)
{
    return r->i < r->s.n ? r->s.p[r->i] : '\0';
}

static bool take(cf_notation *r, char c)
{
    if (r->i < r->s.n && r->s.p[r->i] == c) {
        r->i++;
        return true;
    }
    return false;
}

/* A code point of `n` hex digits; UINT32_MAX when they are none. */
static uint32_t take_hex(cf_notation *r, int n)
{
    uint32_t v = 0;
    for (; n > 0; n--) {
        char c = at(r);
        int d = c >= '0' && c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
        if (d < 0 || d > 15 || (c < '0' || (c > '9' && (c | 0x20) < 'a'))) {
            return UINT32_MAX;
        }
        v = v << 4 | (uint32_t)d;
        r->i++;
    }
    return v <= CF_CP_MAX && (v < 0xD800 || v > 0xDFFF) ? v : UINT32_MAX;
}

/* One character of a literal or a class; false with the error set. */
static bool take_char(cf_notation *r, uint32_t *out)
{
    static const char from[] = "nrt\\\"[]";
    static const char to[] = "\n\r\t\\\"[]";
    size_t begin = r->i;
    if (!take(r, '\\')) {
        r->i += cf_utf8_decode(out, r->s.p + r->i, r->s.n - r->i);
        if (*out == CF_UTF8_BAD) {
            cf_notation_fail(r, CF_EFORMAT, begin, "not UTF-8");
        }
        return *out != CF_UTF8_BAD;
    }
    char c = at(r);
    r->i += c != '\0';
    const char *plain = c != '\0' ? strchr(from, c) : NULL;
    if (plain != NULL) {
        *out = (unsigned char)to[plain - from];
        return true;
    }
    int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    *out = digits > 0 ? take_hex(r, digits) : UINT32_MAX;
    if (*out == UINT32_MAX) {
        cf_notation_fail(r, CF_EFORMAT, begin, "not an escape of GBNF");
        return false;
    }
    return true;
}

/* After the opening quote. */
static cf_part *take_literal(cf_notation *r)
{
    size_t from = r->i - 1;
    cf_part *p = cf_notation_part(r, CF_PART_TEXT, from);
    size_t room = 4; /* a character is written in at least one byte */
    for (size_t k = r->i; k < r->s.n && r->s.p[k] != '"'; k += r->s.p[k] == '\\' ? 2 : 1) {
        room += 4;
    }
    char *text = cf_arena_alloc(&r->arena, room);
    if (p == NULL || text == NULL) {
        cf_notation_fail(r, CF_ENOMEM, from, "out of memory");
        return NULL;
    }
    p->text = cf_str_make(text, 0);
    while (r->i < r->s.n && r->s.p[r->i] != '"') {
        uint32_t cp;
        if (!take_char(r, &cp)) {
            return NULL;
        }
        p->text.n += cf_utf8_encode(text + p->text.n, cp);
    }
    if (!take(r, '"')) {
        cf_notation_fail(r, CF_EFORMAT, from, "a literal does not end");
    }
    return p;
}

/* The characters outside `set`. */
static cf_rx outside(cf_rx_pool *rx, cf_rx set)
{
    return cf_rx_and2(rx, cf_rx_any(rx), cf_rx_not(rx, set));
}

/* After the opening bracket. */
static cf_part *take_class(cf_notation *r)
{
    size_t from = r->i - 1;
    cf_part *p = cf_notation_part(r, CF_PART_SET, from);
    cf_cprange range[RANGES_MAX];
    if (p == NULL) {
        return NULL;
    }
    bool is_negated = take(r, '^');
    size_t n = 0;
    while (r->i < r->s.n && at(r) != ']') {
        if (n == RANGES_MAX) {
            cf_notation_fail(r, CF_ELIMIT, from, "a class of more than 1000 ranges");
            return NULL;
        }
        cf_cprange *k = &range[n++];
        if (!take_char(r, &k->lo)) {
            return NULL;
        }
        k->hi = k->lo;
        bool is_range = r->i + 1 < r->s.n && at(r) == '-' && r->s.p[r->i + 1] != ']';
        if (is_range && (r->i++, !take_char(r, &k->hi))) {
            return NULL;
        }
        if (k->hi < k->lo) {
            cf_notation_fail(r, CF_EFORMAT, from, "a range of a class runs backwards");
            return NULL;
        }
    }
    if (!take(r, ']')) {
        cf_notation_fail(r, CF_EFORMAT, from, "a class does not end");
        return NULL;
    }
    p->set = n > 0 ? cf_rx_set(r->rx, range, n) : CF_RX_NONE;
    if (is_negated) {
        p->set = outside(r->rx, p->set);
    }
    return p;
}

static cf_part *take_choice(cf_notation *r, bool is_nested);

static cf_part *take_group(cf_notation *r)
{
    size_t from = r->i - 1;
    r->i = skip(r->s, r->i, true);
    cf_part *p = take_choice(r, true);
    if (cf_notation_is_ok(r) && !take(r, ')')) {
        cf_notation_fail(r, CF_EFORMAT, from, "( without )");
    }
    return p;
}

/* NULL where no item begins, and on failure. */
static cf_part *take_item(cf_notation *r)
{
    size_t from = r->i;
    if (take(r, '"')) {
        return take_literal(r);
    }
    if (take(r, '[')) {
        return take_class(r);
    }
    if (take(r, '(')) {
        return take_group(r);
    }
    if (take(r, '.')) {
        cf_part *p = cf_notation_part(r, CF_PART_SET, from);
        if (p != NULL) {
            p->set = cf_rx_any(r->rx);
        }
        return p;
    }
    if (at(r) == '<' || at(r) == '!') {
        cf_notation_fail(r, CF_EUNSUPPORTED, from,
                         "a token in the grammar: write the text that it stands for");
        return NULL;
    }
    size_t end = name_end(r->s, from);
    if (end == from) {
        return NULL;
    }
    cf_part *p = cf_notation_part(r, CF_PART_RULE, from);
    if (p != NULL) {
        p->text = cf_str_make(r->s.p + from, end - from);
    }
    r->i = end;
    return p;
}

/* After the opening brace. */
static void take_braces(cf_notation *r, uint32_t *min, uint32_t *max)
{
    size_t from = r->i - 1;
    r->i = skip(r->s, r->i, false);
    bool ok = cf_notation_number(r, min);
    *max = *min;
    r->i = skip(r->s, r->i, false);
    if (ok && take(r, ',')) {
        r->i = skip(r->s, r->i, false);
        *max = cf_notation_number(r, max) ? *max : CF_RX_INF;
        r->i = skip(r->s, r->i, false);
    }
    if (!ok || !take(r, '}') || *max < *min) {
        cf_notation_fail(r, CF_EFORMAT, from, "not {N}, {N,} or {N,M}");
    }
}

static bool take_count(cf_notation *r, uint32_t *min, uint32_t *max)
{
    static const struct {
        char sign;
        uint32_t min, max;
    } signs[] = {{'*', 0, CF_RX_INF}, {'+', 1, CF_RX_INF}, {'?', 0, 1}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (take(r, signs[i].sign)) {
            *min = signs[i].min;
            *max = signs[i].max;
            return true;
        }
    }
    if (!take(r, '{')) {
        return false;
    }
    *min = 0;
    take_braces(r, min, max);
    return true;
}

static cf_part *take_sequence(cf_notation *r, bool is_nested)
{
    cf_part *seq = cf_notation_part(r, CF_PART_SEQUENCE, r->i);
    cf_part **tail = seq != NULL ? &seq->first : NULL;
    while (tail != NULL && cf_notation_is_ok(r)) {
        cf_part *p = take_item(r);
        if (p == NULL) {
            break;
        }
        uint32_t min;
        uint32_t max;
        r->i = skip(r->s, r->i, is_nested);
        while (p != NULL && cf_notation_is_ok(r) && take_count(r, &min, &max)) {
            p = cf_notation_repeat(r, p, min, max);
            r->i = skip(r->s, r->i, is_nested);
        }
        *tail = p;
        tail = p != NULL ? &p->next : NULL;
    }
    return seq;
}

static cf_part *take_choice(cf_notation *r, bool is_nested)
{
    if (++r->depth > CF_NOTATION_DEPTH_MAX) {
        cf_notation_fail(r, CF_ELIMIT, r->i, "groups nest too deeply");
        return NULL;
    }
    cf_part *choice = cf_notation_part(r, CF_PART_CHOICE, r->i);
    cf_part **tail = choice != NULL ? &choice->first : NULL;
    while (tail != NULL && cf_notation_is_ok(r)) {
        *tail = take_sequence(r, is_nested);
        tail = *tail != NULL ? &(*tail)->next : NULL;
        if (!take(r, '|')) {
            break;
        }
        r->i = skip(r->s, r->i, true);
    }
    r->depth--;
    return choice;
}

static void take_rule(cf_notation *r)
{
    size_t from = r->i;
    r->i = name_end(r->s, from);
    cf_str name = cf_str_make(r->s.p + from, r->i - from);
    r->i = skip(r->s, r->i, false);
    cf_str rest = cf_str_make(r->s.p + r->i, r->s.n - r->i);
    if (name.n == 0 || rest.n < 3 || memcmp(rest.p, "::=", 3) != 0) {
        cf_notation_fail(r, CF_EFORMAT, from, "not a rule: NAME ::= ...");
        return;
    }
    r->i = skip(r->s, r->i + 3, true);
    cf_rule *k = cf_notation_rule(r, name, from);
    if (k == NULL) {
        return;
    }
    k->body = take_choice(r, false);
    if (cf_notation_is_ok(r) && r->i < r->s.n && at(r) != '\n' && at(r) != '\r') {
        cf_notation_fail(r, CF_EFORMAT, r->i, "expected an item, | or the line's end");
    }
}

void cf_gbnf_read(cf_notation *r)
{
    for (r->i = skip(r->s, r->i, true); cf_notation_is_ok(r) && r->i < r->s.n;
         r->i = skip(r->s, r->i, true)) {
        take_rule(r);
    }
}
