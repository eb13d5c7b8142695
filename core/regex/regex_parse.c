/*
 * regex_parse.c - parses ECMA-262 patterns into expressions.
 *
 * Anchors are kept apart instead of being matched: a parsed piece is four
 * languages, by whether it passed "^" (then nothing may precede it) and "$"
 * (then nothing may follow).  A look-ahead is an intersection with the rest
 * of the pattern, so what follows it must run to the end of the pattern.
 *
 * Refused: back references, look-behind, \b and \B, look-ahead inside a
 * repetition or before the end of its group, inline flags.
 */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/regex/regex.h"

#include <utf8proc.h>

enum { GROUP_DEPTH_MAX = 100, COUNT_MAX = 1000000, SET_RANGES_MAX = 4000 };

typedef struct piece {
    cf_rx l[2][2];  /* [passed ^][passed $] */
    bool has_ahead; /* l[.][1] holds a look-ahead that runs to the end */
} piece;

typedef struct ranges {
    cf_cprange v[SET_RANGES_MAX];
    size_t n;
} ranges;

/* Nothing large is in the functions for groups, which call each other: the
 * stack of a thread is small. */
typedef struct parser {
    cf_rx_pool *rx;
    cf_str s;
    size_t i;
    unsigned depth;
    ranges *set;  /* the class that is being read; classes do not nest */
    piece *piece; /* [n_piece], those of all open sequences */
    size_t n_piece, cap_piece;
} parser;

static bool fail_at(parser *p, cf_status code, const char *what)
{
    cf_gbuild_fail(p->rx->b, code, "%s at byte %u of the pattern", what, (unsigned)p->i);
    if (p->rx->b->err.off == CF_NO_OFFSET) {
        p->rx->b->err.off = p->i;
    }
    return false;
}

static bool is_ok(const parser *p)
{
    return p->rx->b->st == CF_OK;
}

static int peek(const parser *p)
{
    return p->i < p->s.n ? (unsigned char)p->s.p[p->i] : -1;
}

static bool take(parser *p, const char *text)
{
    size_t n = strlen(text);
    if (p->s.n - p->i >= n && memcmp(p->s.p + p->i, text, n) == 0) {
        p->i += n;
        return true;
    }
    return false;
}

static piece plain(cf_rx a)
{
    piece out = {{{a, CF_RX_NONE}, {CF_RX_NONE, CF_RX_NONE}}, false};
    return out;
}

/* a then b, where both kinds of anchor were passed as s and e say. */
static cf_rx join(parser *p, cf_rx a, bool a_end, cf_rx b, bool b_start)
{
    cf_rx_pool *rx = p->rx;
    if (!is_ok(p) || a == CF_RX_NONE || b == CF_RX_NONE) {
        return CF_RX_NONE;
    }
    if (b_start && !cf_rx_nullable(rx, a)) {
        return CF_RX_NONE;
    }
    if (a_end && !cf_rx_nullable(rx, b)) {
        return CF_RX_NONE;
    }
    if (b_start && a_end) {
        return CF_RX_EPS;
    }
    return b_start ? b : a_end ? a : cf_rx_cat(rx, a, b);
}

static piece join_pieces(parser *p, piece a, piece b)
{
    piece out = plain(CF_RX_NONE);
    if (a.has_ahead && (b.l[0][0] != CF_RX_EPS || b.l[0][1] != CF_RX_NONE ||
                        b.l[1][0] != CF_RX_NONE || b.l[1][1] != CF_RX_NONE)) {
        fail_at(p, CF_EUNSUPPORTED, "look-ahead before the end of its group");
    }
    out.has_ahead = a.has_ahead || b.has_ahead;
    for (int i = 0; i < 16 && is_ok(p); i++) {
        int as = i & 1;
        int ae = i >> 1 & 1;
        int bs = i >> 2 & 1;
        int be = i >> 3;
        cf_rx both = join(p, a.l[as][ae], ae != 0, b.l[bs][be], bs != 0);
        cf_rx *to = &out.l[as | bs][ae | be];
        *to = cf_rx_or2(p->rx, *to, both);
    }
    return out;
}

static piece either(parser *p, piece a, piece b)
{
    piece out;
    out.has_ahead = a.has_ahead || b.has_ahead;
    for (int i = 0; i < 4; i++) {
        out.l[i & 1][i >> 1] = cf_rx_or2(p->rx, a.l[i & 1][i >> 1], b.l[i & 1][i >> 1]);
    }
    return out;
}

/*
 * min to max copies of a piece that can pass an anchor.  The copy that passes
 * "^" comes first and the one that passes "$" last, but for copies that match
 * nothing: those fill up the count, and only where they stand (an empty copy
 * that passes "^" before the first, one that passes "$" after the last).
 */
static piece repeat_anchored(parser *p, piece a, uint32_t min, uint32_t max)
{
    cf_rx_pool *rx = p->rx;
    const cf_rx mid = a.l[0][0];
    const cf_rx first = a.l[1][0];
    const cf_rx last = a.l[0][1];
    const cf_rx both = a.l[1][1];
    bool fills_front = cf_rx_nullable(rx, first);
    bool fills_back = cf_rx_nullable(rx, last);
    bool fills = fills_front || fills_back;
    uint32_t min1 = min > 0 ? min - 1 : 0;
    uint32_t min2 = min > 1 ? min - 2 : 0;
    uint32_t max1 = max == CF_RX_INF ? max : max - 1;
    uint32_t max2 = max == CF_RX_INF ? max : max > 1 ? max - 2 : 0;
    piece out = plain(cf_rx_loop(rx, mid, min, max));
    out.l[1][0] = cf_rx_cat(rx, first, cf_rx_loop(rx, mid, fills_front ? 0 : min1, max1));
    out.l[0][1] = cf_rx_cat(rx, cf_rx_loop(rx, mid, fills_back ? 0 : min1, max1), last);
    if (min <= 1 || fills || cf_rx_nullable(rx, mid)) {
        out.l[1][1] = both;
    } else if (cf_rx_nullable(rx, both)) {
        out.l[1][1] = CF_RX_EPS;
    }
    if (max > 1) {
        cf_rx two = cf_rx_loop(rx, mid, fills ? 0 : min2, max2);
        out.l[1][1] = cf_rx_or2(rx, out.l[1][1], cf_rx_cat(rx, first, cf_rx_cat(rx, two, last)));
    }
    return out;
}

static piece repeat(parser *p, piece a, uint32_t min, uint32_t max)
{
    cf_rx_pool *rx = p->rx;
    if (a.has_ahead) {
        fail_at(p, CF_EUNSUPPORTED, "look-ahead inside a repetition");
        return a;
    }
    if (a.l[0][1] == CF_RX_NONE && a.l[1][0] == CF_RX_NONE && a.l[1][1] == CF_RX_NONE) {
        return plain(cf_rx_loop(rx, a.l[0][0], min, max));
    }
    if (!is_ok(p) || max == 0) {
        return plain(CF_RX_EPS);
    }
    return repeat_anchored(p, a, min, max);
}

/* ---- characters and classes --------------------------------------------- */

static void add(parser *p, ranges *r, uint32_t lo, uint32_t hi)
{
    if (r->n == SET_RANGES_MAX) {
        fail_at(p, CF_ELIMIT, "character class too large");
        return;
    }
    r->v[r->n++] = (cf_cprange){lo, hi};
}

static void sort_and_invert(parser *p, ranges *r)
{
    /* Insertion sort: classes are short or already in order. */
    uint64_t n_moved = 0;
    for (size_t i = 1; i < r->n; i++) {
        cf_cprange x = r->v[i];
        size_t k = i;
        for (; k > 0 && r->v[k - 1].lo > x.lo; k--) {
            r->v[k] = r->v[k - 1];
        }
        r->v[k] = x;
        n_moved += i - k;
    }
    (void)cf_gbuild_spend(p->rx->b, n_moved / 8); /* seen by is_ok() */
    ranges out = {.n = 0};
    uint32_t at = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (r->v[i].lo > at) {
            add(p, &out, at, r->v[i].lo - 1);
        }
        if (r->v[i].hi + 1 > at) {
            at = r->v[i].hi + 1;
        }
    }
    if (at <= CF_CP_MAX) {
        add(p, &out, at, CF_CP_MAX);
    }
    memcpy(r->v, out.v, out.n * sizeof *out.v);
    r->n = out.n;
}

/* Adds a class such as \d; is_not adds all others. */
static void add_class(parser *p, ranges *to, char kind, bool is_not)
{
    static const cf_cprange digit[] = {{'0', '9'}};
    static const cf_cprange word[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    static const cf_cprange space[] = {
        {9, 13},          {32, 32},         {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
        {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
    static const cf_cprange line_end[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
    const cf_cprange *v = kind == 'd' ? digit : kind == 'w' ? word : kind == 's' ? space : line_end;
    size_t n = kind == 'd' ? 1 : kind == 'w' ? 4 : kind == 's' ? 10 : 3;
    ranges r = {.n = n};
    memcpy(r.v, v, n * sizeof *v);
    if (is_not) {
        sort_and_invert(p, &r);
    }
    for (size_t i = 0; i < r.n; i++) {
        add(p, to, r.v[i].lo, r.v[i].hi);
    }
}

static bool category_is(utf8proc_category_t have, const char *want, size_t n)
{
    static const char *const names[] = {"Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd",
                                        "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm",
                                        "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};
    return memcmp(names[have], want, n) == 0;
}

/* The short form of a name of a general category (Unicode, PropertyValueAliases.txt);
 * NULL if it is none. */
static const char *short_category(const char *name)
{
    static const char *const names[][2] = {{"Letter", "L"},
                                           {"Uppercase_Letter", "Lu"},
                                           {"Lowercase_Letter", "Ll"},
                                           {"Titlecase_Letter", "Lt"},
                                           {"Modifier_Letter", "Lm"},
                                           {"Other_Letter", "Lo"},
                                           {"Mark", "M"},
                                           {"Combining_Mark", "M"},
                                           {"Nonspacing_Mark", "Mn"},
                                           {"Spacing_Mark", "Mc"},
                                           {"Enclosing_Mark", "Me"},
                                           {"Number", "N"},
                                           {"Decimal_Number", "Nd"},
                                           {"digit", "Nd"},
                                           {"Letter_Number", "Nl"},
                                           {"Other_Number", "No"},
                                           {"Punctuation", "P"},
                                           {"punct", "P"},
                                           {"Connector_Punctuation", "Pc"},
                                           {"Dash_Punctuation", "Pd"},
                                           {"Open_Punctuation", "Ps"},
                                           {"Close_Punctuation", "Pe"},
                                           {"Initial_Punctuation", "Pi"},
                                           {"Final_Punctuation", "Pf"},
                                           {"Other_Punctuation", "Po"},
                                           {"Symbol", "S"},
                                           {"Math_Symbol", "Sm"},
                                           {"Currency_Symbol", "Sc"},
                                           {"Modifier_Symbol", "Sk"},
                                           {"Other_Symbol", "So"},
                                           {"Separator", "Z"},
                                           {"Space_Separator", "Zs"},
                                           {"Line_Separator", "Zl"},
                                           {"Paragraph_Separator", "Zp"},
                                           {"Other", "C"},
                                           {"Control", "Cc"},
                                           {"cntrl", "Cc"},
                                           {"Format", "Cf"},
                                           {"Surrogate", "Cs"},
                                           {"Private_Use", "Co"},
                                           {"Unassigned", "Cn"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i][0]) == 0) {
            return names[i][1];
        }
    }
    for (int c = 0; c < 30; c++) {
        size_t n = strlen(name);
        if (n > 0 && n <= 2 && category_is((utf8proc_category_t)c, name, n)) {
            return name;
        }
    }
    return NULL;
}

/* \p{L}, \p{Letter}, \p{gc=Letter}: general categories. */
static void add_property(parser *p, ranges *to, bool is_not)
{
    char given[40] = "";
    size_t n = 0;
    if (!take(p, "{")) {
        fail_at(p, CF_EFORMAT, "\\p without a name");
        return;
    }
    while (n + 1 < sizeof given && peek(p) > 0 && peek(p) < 0x80 && peek(p) != '}') {
        given[n++] = (char)peek(p);
        p->i++;
    }
    const char *value = given;
    if (strncmp(given, "gc=", 3) == 0 || strncmp(given, "General_Category=", 17) == 0) {
        value = strchr(given, '=') + 1;
    }
    const char *name = short_category(value);
    if (!take(p, "}") || name == NULL) {
        fail_at(p, CF_EUNSUPPORTED, "property that is not the name of a general category");
        return;
    }
    n = strlen(name);
    ranges r = {.n = 0};
    uint32_t first = UINT32_MAX;
    if (!cf_gbuild_spend(p->rx->b, 100000)) {
        return;
    }
    for (uint32_t cp = 0; cp <= CF_CP_MAX + 1 && is_ok(p); cp++) {
        bool yes = cp <= CF_CP_MAX && category_is(utf8proc_category((utf8proc_int32_t)cp), name, n);
        if (yes && first == UINT32_MAX) {
            first = cp;
        } else if (!yes && first != UINT32_MAX) {
            add(p, &r, first, cp - 1);
            first = UINT32_MAX;
        }
    }
    if (is_not) {
        sort_and_invert(p, &r);
    }
    for (size_t i = 0; i < r.n && is_ok(p); i++) {
        add(p, to, r.v[i].lo, r.v[i].hi);
    }
}

static int hex_value(int c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool take_hex(parser *p, size_t n, uint32_t *out)
{
    uint32_t v = 0;
    for (size_t i = 0; i < n; i++) {
        int d = p->i + i < p->s.n ? hex_value((unsigned char)p->s.p[p->i + i]) : -1;
        if (d < 0) {
            return false;
        }
        v = v << 4 | (uint32_t)d;
    }
    p->i += n;
    *out = v;
    return true;
}

/* After "\u": four digits (a surrogate pair counts as one) or {...}. */
static uint32_t take_unicode(parser *p)
{
    uint32_t v = 0;
    if (take(p, "{")) {
        size_t n = 0;
        while (n < 6 && p->i + n < p->s.n && hex_value((unsigned char)p->s.p[p->i + n]) >= 0) {
            n++;
        }
        if (n == 0 || !take_hex(p, n, &v) || !take(p, "}") || v > CF_CP_MAX) {
            fail_at(p, CF_EFORMAT, "bad \\u{...}");
            return 0;
        }
        return v;
    }
    if (!take_hex(p, 4, &v)) {
        return 'u';
    }
    uint32_t low;
    size_t was = p->i;
    if (v >= 0xD800 && v <= 0xDBFF) {
        if (take(p, "\\u") && take_hex(p, 4, &low) && low >= 0xDC00 && low <= 0xDFFF) {
            return 0x10000 + ((v - 0xD800) << 10) + (low - 0xDC00);
        }
        p->i = was;
    }
    return v;
}

/* An escape that stands for one character, the backslash and c being taken;
 * false when it is a class or something else. */
static bool take_escape(parser *p, int c, bool in_class, uint32_t *out)
{
    switch (c) {
    case 'n':
        *out = '\n';
        return true;
    case 'r':
        *out = '\r';
        return true;
    case 't':
        *out = '\t';
        return true;
    case 'f':
        *out = '\f';
        return true;
    case 'v':
        *out = '\v';
        return true;
    case '0':
        *out = 0;
        if (peek(p) >= '0' && peek(p) <= '9') {
            fail_at(p, CF_EUNSUPPORTED, "octal escape");
        }
        return true;
    case 'b':
        *out = '\b';
        return in_class;
    case 'x':
        if (!take_hex(p, 2, out)) {
            *out = 'x';
        }
        return true;
    case 'u':
        *out = take_unicode(p);
        return true;
    case 'c':
        if ((peek(p) | 0x20) >= 'a' && (peek(p) | 0x20) <= 'z') {
            *out = (uint32_t)peek(p) % 32;
            p->i++;
            return true;
        }
        fail_at(p, CF_EFORMAT, "bad \\c");
        return false;
    default:
        break;
    }
    bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c >= 0x80) {
        p->i--;
        p->i += cf_utf8_decode(out, p->s.p + p->i, p->s.n - p->i);
        return true;
    }
    *out = (uint32_t)c;
    return !is_word;
}

/* \d \D \w \W \s \S \p{..} \P{..}; the letter is taken. */
static bool take_class(parser *p, int c, ranges *to)
{
    switch (c) {
    case 'd':
    case 'w':
    case 's':
        add_class(p, to, (char)c, false);
        return true;
    case 'D':
    case 'W':
    case 'S':
        add_class(p, to, (char)(c | 0x20), true);
        return true;
    case 'p':
    case 'P':
        add_property(p, to, c == 'P');
        return true;
    default:
        return false;
    }
}

/* One member of [...]: true and *cp for a character, false for a class. */
static bool class_atom(parser *p, ranges *r, uint32_t *cp)
{
    if (!take(p, "\\")) {
        p->i += cf_utf8_decode(cp, p->s.p + p->i, p->s.n - p->i);
        if (*cp == CF_UTF8_BAD) {
            fail_at(p, CF_EFORMAT, "not UTF-8");
        }
        return true;
    }
    int c = peek(p);
    if (c < 0) {
        fail_at(p, CF_EFORMAT, "pattern ends in a backslash");
        return false;
    }
    p->i++;
    if (take_class(p, c, r)) {
        return false;
    }
    if (!take_escape(p, c, true, cp) && is_ok(p)) {
        /* Identity escapes of letters are Annex B, and common. */
        *cp = (uint32_t)c;
        if (c >= '1' && c <= '9') {
            fail_at(p, CF_EUNSUPPORTED, "octal escape");
        }
    }
    return true;
}

static cf_rx parse_set(parser *p)
{
    ranges *r = p->set;
    r->n = 0;
    bool is_not = take(p, "^");
    while (is_ok(p) && !take(p, "]")) {
        if (peek(p) < 0) {
            fail_at(p, CF_EFORMAT, "[ without ]");
            break;
        }
        uint32_t lo = 0;
        uint32_t hi = 0;
        if (!class_atom(p, r, &lo)) {
            continue;
        }
        hi = lo;
        if (peek(p) == '-' && p->i + 1 < p->s.n && p->s.p[p->i + 1] != ']') {
            size_t dash = p->i++;
            if (!class_atom(p, r, &hi)) {
                /* [a-\d]: the dash stands for itself. */
                add(p, r, '-', '-');
                hi = lo;
            } else if (hi < lo) {
                p->i = dash;
                fail_at(p, CF_EFORMAT, "range out of order");
            }
        }
        add(p, r, lo, hi);
    }
    if (is_not && is_ok(p)) {
        sort_and_invert(p, r);
    }
    return is_ok(p) ? cf_rx_set(p->rx, r->v, r->n) : CF_RX_FAIL;
}

static cf_rx one_class(parser *p, char kind, bool is_not)
{
    ranges *r = p->set;
    r->n = 0;
    add_class(p, r, kind, is_not);
    return cf_rx_set(p->rx, r->v, r->n);
}

static cf_rx one_char(parser *p, uint32_t cp)
{
    const cf_cprange r = {cp, cp};
    return cf_rx_set(p->rx, &r, 1);
}

/* ---- structure ---------------------------------------------------------- */

static piece parse_either(parser *p);

static piece parse_escape(parser *p)
{
    int c = peek(p);
    if (c < 0) {
        fail_at(p, CF_EFORMAT, "pattern ends in a backslash");
        return plain(CF_RX_NONE);
    }
    p->i++;
    ranges *r = p->set;
    r->n = 0;
    if (take_class(p, c, r)) {
        return plain(is_ok(p) ? cf_rx_set(p->rx, r->v, r->n) : CF_RX_NONE);
    }
    uint32_t cp = 0;
    if (!take_escape(p, c, false, &cp) && is_ok(p)) {
        if ((c >= '1' && c <= '9') || c == 'k') {
            fail_at(p, CF_EUNSUPPORTED, "back reference");
        } else if (c == 'b' || c == 'B') {
            fail_at(p, CF_EUNSUPPORTED, "word boundary");
        } else if (c != 0 && strchr("aAeEgGhHKNQRVXzZ", c) != NULL) {
            /* a letter of its own to ECMA-262, much else to others */
            fail_at(p, CF_EUNSUPPORTED, "escape that is not ECMA-262's");
        }
    }
    return plain(is_ok(p) ? one_char(p, cp) : CF_RX_NONE);
}

static piece parse_group(parser *p)
{
    if (take(p, "?")) {
        if (take(p, "<")) {
            if (peek(p) == '=' || peek(p) == '!') {
                fail_at(p, CF_EUNSUPPORTED, "look-behind");
            }
            while (is_ok(p) && peek(p) >= 0 && !take(p, ">")) {
                p->i++;
            }
        } else if (!take(p, ":")) {
            fail_at(p, CF_EUNSUPPORTED, "inline flags");
        }
    }
    piece out = parse_either(p);
    if (is_ok(p) && !take(p, ")")) {
        fail_at(p, CF_EFORMAT, "( without )");
    }
    return out;
}

static piece parse_atom(parser *p)
{
    uint32_t cp;
    if (take(p, "(")) {
        return parse_group(p);
    }
    if (take(p, "[")) {
        return plain(parse_set(p));
    }
    if (take(p, ".")) {
        return plain(one_class(p, '.', true));
    }
    if (take(p, "\\")) {
        return parse_escape(p);
    }
    if (take(p, "^")) {
        piece out = plain(CF_RX_NONE);
        out.l[1][0] = CF_RX_EPS;
        return out;
    }
    if (take(p, "$")) {
        piece out = plain(CF_RX_NONE);
        out.l[0][1] = CF_RX_EPS;
        return out;
    }
    int c = peek(p);
    if (c == '*' || c == '+' || c == '?') {
        fail_at(p, CF_EFORMAT, "nothing to repeat");
        return plain(CF_RX_NONE);
    }
    size_t n = cf_utf8_decode(&cp, p->s.p + p->i, p->s.n - p->i);
    if (cp == CF_UTF8_BAD) {
        fail_at(p, CF_EFORMAT, "not UTF-8");
        return plain(CF_RX_NONE);
    }
    p->i += n;
    return plain(one_char(p, cp));
}

static bool take_number(parser *p, uint32_t *out)
{
    uint64_t v = 0;
    size_t was = p->i;
    while (peek(p) >= '0' && peek(p) <= '9') {
        v = v * 10 + (uint64_t)(peek(p) - '0');
        if (v > COUNT_MAX) {
            fail_at(p, CF_ELIMIT, "count over 1000000");
            return false;
        }
        p->i++;
    }
    *out = (uint32_t)v;
    return p->i > was;
}

/* {m}, {m,} or {m,n}; anything else is text, as browsers have it. */
static bool take_counts(parser *p, uint32_t *min, uint32_t *max)
{
    size_t was = p->i;
    if (take(p, "{") && take_number(p, min)) {
        *max = *min;
        if (take(p, ",") && !take_number(p, max)) {
            *max = CF_RX_INF;
        }
        if (take(p, "}")) {
            if (*max < *min) {
                fail_at(p, CF_EFORMAT, "counts out of order");
            }
            return true;
        }
    }
    p->i = was;
    return false;
}

/* A quantifier, if one stands here; {m,n} only as take_counts() knows it. */
static bool take_quantifier(parser *p, uint32_t *min, uint32_t *max)
{
    *min = 0;
    *max = CF_RX_INF;
    if (take(p, "+")) {
        *min = 1;
    } else if (take(p, "?")) {
        *max = 1;
    } else if (!take(p, "*") && !take_counts(p, min, max)) {
        return false;
    }
    return true;
}

static piece parse_repeated(parser *p)
{
    piece a = parse_atom(p);
    uint32_t min;
    uint32_t max;
    if (is_ok(p) && take_quantifier(p, &min, &max)) {
        (void)take(p, "?"); /* a lazy repetition has the same language */
        a = repeat(p, a, min, max);
        if (is_ok(p) && take_quantifier(p, &min, &max)) {
            /* elsewhere this may mean a possessive repetition */
            fail_at(p, CF_EUNSUPPORTED, "two quantifiers in a row");
        }
    }
    return a;
}

/* Everything the rest of a pattern may still match, up to the text's end. */
static cf_rx to_the_end(parser *p, piece a)
{
    cf_rx_pool *rx = p->rx;
    cf_rx open = cf_rx_or2(rx, a.l[0][0], a.l[1][0]);
    cf_rx shut = cf_rx_or2(rx, a.l[0][1], a.l[1][1]);
    return cf_rx_or2(rx, cf_rx_cat(rx, open, cf_rx_all(rx)), shut);
}

static piece parse_sequence(parser *p);

static piece parse_ahead(parser *p, bool is_not)
{
    piece inside = parse_either(p);
    if (is_ok(p) && !take(p, ")")) {
        fail_at(p, CF_EFORMAT, "( without )");
    }
    piece rest = parse_sequence(p);
    if (inside.l[1][0] != CF_RX_NONE || inside.l[1][1] != CF_RX_NONE ||
        rest.l[1][0] != CF_RX_NONE || rest.l[1][1] != CF_RX_NONE) {
        fail_at(p, CF_EUNSUPPORTED, "^ in or after a look-ahead");
    }
    cf_rx x = to_the_end(p, inside);
    if (is_not) {
        x = cf_rx_not(p->rx, x);
    }
    piece out = plain(CF_RX_NONE);
    out.l[0][1] = cf_rx_and2(p->rx, x, to_the_end(p, rest));
    out.has_ahead = true;
    return out;
}

static void push(parser *p, piece a)
{
    if (!cf_grow(&p->piece, &p->cap_piece, p->n_piece + 1, sizeof a)) {
        cf_gbuild_oom(p->rx->b);
        return;
    }
    p->piece[p->n_piece++] = a;
}

/* Pieces are joined from the last to the first, so that each join sees the
 * shared rest. */
static piece parse_sequence(parser *p)
{
    size_t first = p->n_piece;
    bool is_ahead = false;
    if (++p->depth > GROUP_DEPTH_MAX) {
        fail_at(p, CF_ELIMIT, "groups nest too deeply");
        return plain(CF_RX_NONE);
    }
    while (is_ok(p) && !is_ahead) {
        int c = peek(p);
        if (c < 0 || c == '|' || c == ')') {
            break;
        }
        bool is_not = take(p, "(?!");
        is_ahead = is_not || take(p, "(?=");
        push(p, is_ahead ? parse_ahead(p, is_not) : parse_repeated(p));
    }
    piece out = plain(CF_RX_EPS);
    while (p->n_piece > first && is_ok(p)) {
        out = join_pieces(p, p->piece[--p->n_piece], out);
    }
    p->depth--;
    return out;
}

static piece parse_either(parser *p)
{
    piece out = parse_sequence(p);
    while (is_ok(p) && take(p, "|")) {
        out = either(p, out, parse_sequence(p));
    }
    return out;
}

cf_rx cf_rx_parse(cf_rx_pool *rx, cf_str pattern, bool is_search)
{
    ranges set;
    parser p = {.rx = rx, .s = pattern, .set = &set};
    piece a = parse_either(&p);
    cf_free(p.piece);
    if (is_ok(&p) && p.i < pattern.n) {
        fail_at(&p, CF_EFORMAT, ") without (");
    }
    if (!is_ok(&p)) {
        return CF_RX_FAIL;
    }
    if (!is_search) {
        if (a.has_ahead) {
            /* The look-ahead ran to the end, with anything after. */
            fail_at(&p, CF_EUNSUPPORTED, "look-ahead in a whole match");
            return CF_RX_FAIL;
        }
        const cf_rx v[4] = {a.l[0][0], a.l[0][1], a.l[1][0], a.l[1][1]};
        return cf_rx_alt(rx, v, 4);
    }
    cf_rx all = cf_rx_all(rx);
    const cf_rx v[4] = {
        cf_rx_cat(rx, all, cf_rx_cat(rx, a.l[0][0], all)),
        cf_rx_cat(rx, all, a.l[0][1]),
        cf_rx_cat(rx, a.l[1][0], all),
        a.l[1][1],
    };
    return cf_rx_alt(rx, v, 4);
}
