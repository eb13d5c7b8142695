/*
 * pattern_syntax.c - translates Oniguruma's expressions to PCRE2's.
 *
 * Most of what tokenizers use is spelled the same.  Different are the classes
 * of characters that \s, \w, \d and \h name, four hex digits after \u, the flag
 * m (a dot that matches line ends), and classes inside of classes: unions are
 * written out, and intersections become assertions before the class.
 * Source: Oniguruma, doc/RE, syntax ONIG_SYNTAX_RUBY.
 */
#include <string.h>

#include "core/token/pattern.h"
#include "core/token/unicode.h"

enum { NEST_MAX = 8, OPERANDS_MAX = 4, SOURCE_MAX = 1 << 16 };

/* Unicode's word characters (UTS #18, C): Alphabetic, marks, decimal digits,
 * connectors and joiners. */
#define WORD                                              \
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200c}\\x{200d}" \
    "\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}"            \
    "\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}"

typedef struct reader {
    cf_str s;
    size_t at;
    cf_error *err;
} reader;

/* The characters a class matches: those in `text`, or all others. */
typedef struct operand {
    cf_buf text;
    bool negated;
} operand;

static cf_status refuse(const reader *r, const char *what)
{
    return cf_fail_at(r->err, CF_EUNSUPPORTED, r->at,
                      "the tokenizer's pattern has %s at byte %zu, which "
                      "confab cannot express",
                      what, r->at);
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Letters that this PCRE2 may not know yet. */
static void add_new_letters(cf_buf *out)
{
    size_t n;
    const uint32_t(*range)[2] = cf_unicode_new_letters(&n);
    for (size_t i = 0; i < n; i++) {
        cf_buf_addf(out, "\\x{%x}-\\x{%x}", (unsigned)range[i][0], (unsigned)range[i][1]);
    }
}

static bool has_hex4(const reader *r, size_t at)
{
    for (size_t i = 0; i < 4; i++) {
        if (at + i >= r->s.n || !is_hex(r->s.p[at + i])) {
            return false;
        }
    }
    return true;
}

/* The characters of an escape, as they are written inside of a class; NULL
 * for escapes that both know.  `*negated` for all other characters. */
static const char *class_of(char c, bool *negated)
{
    *negated = c >= 'A' && c <= 'Z';
    switch (c) {
    case 's':
    case 'S':
        return CF_WHITE;
    case 'w':
    case 'W':
        return WORD;
    case 'd':
    case 'D':
        return "\\p{Nd}";
    case 'h':
    case 'H':
        return "0-9A-Fa-f";
    default:
        return NULL;
    }
}

static bool looking_at(const reader *r, const char *text)
{
    size_t n = strlen(text);
    return r->s.n - r->at >= n && memcmp(r->s.p + r->at, text, n) == 0;
}

/* An escape at the backslash.  in_class: inside of brackets. */
static cf_status read_escape(reader *r, cf_buf *out, bool in_class)
{
    if (r->at + 1 >= r->s.n) {
        return refuse(r, "a backslash at its end");
    }
    char c = r->s.p[r->at + 1];
    bool negated;
    const char *members = class_of(c, &negated);
    bool letters = looking_at(r, "\\p{L}");
    if (letters || looking_at(r, "\\p{Lo}")) { /* nearly all of them are Lo */
        cf_buf_addf(out, "%s\\p{%s}", in_class ? "" : "[", letters ? "L" : "Lo");
        add_new_letters(out);
        cf_buf_adds(out, in_class ? "" : "]");
        r->at += letters ? 5 : 6;
        return CF_OK;
    }
    if (c == 'u' && has_hex4(r, r->at + 2)) {
        cf_buf_addf(out, "\\x{%.4s}", r->s.p + r->at + 2);
        r->at += 6;
        return CF_OK;
    }
    if (members == NULL || (in_class && negated)) {
        /* PCRE2's own complements differ in no character that matters. */
        cf_buf_add(out, r->s.p + r->at, 2);
    } else if (in_class) {
        cf_buf_adds(out, members);
    } else {
        cf_buf_addf(out, "[%s%s]", negated ? "^" : "", members);
    }
    r->at += 2;
    return CF_OK;
}

static cf_status read_class(reader *r, operand *out, unsigned depth);

/* "[:alpha:]" is copied; another bracket starts a class of its own, which
 * joins the operand. */
static cf_status read_inner(reader *r, operand *o, unsigned depth)
{
    if (looking_at(r, "[:")) {
        const char *end = memchr(r->s.p + r->at + 2, ']', r->s.n - r->at - 2);
        if (end == NULL) {
            return refuse(r, "an open bracket");
        }
        size_t n = (size_t)(end + 1 - (r->s.p + r->at));
        cf_buf_add(&o->text, r->s.p + r->at, n);
        r->at += n;
        return CF_OK;
    }
    operand inner = {CF_BUF_INIT, false};
    cf_status st = read_class(r, &inner, depth + 1);
    bool alone = o->text.n == 0 && (looking_at(r, "]") || looking_at(r, "&&"));
    if (st == CF_OK && inner.negated && !alone) {
        st = refuse(r, "a negated class inside of a class");
    }
    if (st == CF_OK) {
        o->negated = inner.negated;
        o->text.failed |= inner.text.failed;
        cf_buf_add(&o->text, cf_buf_cstr(&inner.text), inner.text.n);
    }
    cf_buf_deinit(&inner.text);
    return st;
}

/* Characters up to "&&" or the closing bracket. */
static cf_status read_operand(reader *r, operand *o, unsigned depth)
{
    size_t start = r->at;
    while (r->at < r->s.n && !looking_at(r, "&&")) {
        char c = r->s.p[r->at];
        if (c == ']' && r->at != start) {
            return CF_OK;
        }
        if (c == '\\') {
            CF_TRY(read_escape(r, &o->text, true));
        } else if (c == '[') {
            CF_TRY(read_inner(r, o, depth));
        } else {
            cf_buf_addc(&o->text, c);
            r->at++;
        }
    }
    return r->at < r->s.n ? CF_OK : refuse(r, "an open bracket");
}

/* Writes the intersection of n classes as text of one class; with more than
 * one, assertions come first, so it is good outside of brackets only. */
static void write_operands(cf_buf *out, const operand *o, size_t n, bool negate)
{
    for (size_t i = 0; i < n; i++) {
        out->failed |= o[i].text.failed;
    }
    if (n > 1) {
        cf_buf_adds(out, "(?:");
    }
    for (size_t i = n; i-- > 1;) {
        cf_buf_addf(out, "(?=[%s%s])", o[i].negated ? "^" : "", cf_buf_cstr(&o[i].text));
    }
    cf_buf_addf(out, "[%s%s]%s", o[0].negated != negate ? "^" : "", cf_buf_cstr(&o[0].text),
                n > 1 ? ")" : "");
}

/* Reads "[...]" at the bracket into up to OPERANDS_MAX operands. */
static cf_status read_operands(reader *r, operand *o, size_t *n, bool *negate, unsigned depth)
{
    if (depth > NEST_MAX) {
        return refuse(r, "classes nested too deeply");
    }
    r->at++;
    *negate = looking_at(r, "^");
    r->at += *negate;
    for (;;) {
        if (*n == OPERANDS_MAX) {
            return refuse(r, "too many intersections");
        }
        CF_TRY(read_operand(r, &o[(*n)++], depth));
        if (!looking_at(r, "&&")) {
            r->at++;
            return *negate && *n > 1 ? refuse(r, "a negated intersection") : CF_OK;
        }
        r->at += 2;
    }
}

/* A class inside of another one. */
static cf_status read_class(reader *r, operand *out, unsigned depth)
{
    operand o[OPERANDS_MAX] = {{CF_BUF_INIT, false}};
    size_t n = 0;
    bool negate = false;
    cf_status st = read_operands(r, o, &n, &negate, depth);
    if (st == CF_OK && n > 1) {
        st = refuse(r, "an intersection inside of a class");
    }
    if (st == CF_OK) {
        cf_buf_add(&out->text, cf_buf_cstr(&o[0].text), o[0].text.n);
        out->text.failed |= o[0].text.failed;
        out->negated = o[0].negated != negate;
    }
    for (size_t i = 0; i < OPERANDS_MAX; i++) {
        cf_buf_deinit(&o[i].text);
    }
    return st;
}

static cf_status write_class(reader *r, cf_buf *out)
{
    operand o[OPERANDS_MAX] = {{CF_BUF_INIT, false}};
    size_t n = 0;
    bool negate = false;
    cf_status st = read_operands(r, o, &n, &negate, 0);
    if (st == CF_OK) {
        write_operands(out, o, n, negate);
    }
    for (size_t i = 0; i < OPERANDS_MAX; i++) {
        cf_buf_deinit(&o[i].text);
    }
    return st;
}

/* "(?im-x:" and "(?i)": the flag m is PCRE2's s. */
static void write_flags(reader *r, cf_buf *out)
{
    cf_buf_adds(out, "(?");
    r->at += 2;
    size_t end = r->at;
    while (end < r->s.n && strchr("imx-", r->s.p[end]) != NULL && r->s.p[end] != '\0') {
        end++;
    }
    bool is_flags = end < r->s.n && (r->s.p[end] == ':' || r->s.p[end] == ')');
    for (; is_flags && r->at < end; r->at++) {
        cf_buf_addc(out, r->s.p[r->at] == 'm' ? 's' : r->s.p[r->at]);
    }
}

cf_status cf_pattern__translate(cf_buf *out, cf_str source, cf_error *err)
{
    reader r = {source, 0, err};
    if (source.n > SOURCE_MAX) {
        return cf_fail(err, CF_ELIMIT,
                       "the tokenizer's pattern is %zu bytes long, at most %d "
                       "are supported",
                       source.n, SOURCE_MAX);
    }
    while (r.at < source.n) {
        char c = source.p[r.at];
        if (c == '\\') {
            CF_TRY(read_escape(&r, out, false));
        } else if (c == '[') {
            CF_TRY(write_class(&r, out));
        } else if (looking_at(&r, "(?")) {
            write_flags(&r, out);
        } else {
            cf_buf_addc(out, c);
            r.at++;
        }
    }
    return CF_OK;
}
