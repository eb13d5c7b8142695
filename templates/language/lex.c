/*
 * lex.c - template text to tokens, with jinja2's whitespace control.
 *
 * Whether a tag eats the blanks around it is settled here, so that the
 * parser sees only the text that stays.
 */
#include "core/base/utf8.h"
#include "templates/language/ast.h"

typedef struct lexer {
    cf_tr *r;
    const cf_template *tpl;
    const char *s; /* the text */
    uint32_t n, at;
    cf_tok *tok;
    uint32_t n_tok, cap;
    bool line_starting; /* the previous token ended with a line end */
    char open[256];     /* closing brackets still expected */
    uint32_t n_open;
    uint32_t more_open; /* beyond what fits there */
} lexer;

static bool add(lexer *x, cf_toktype type, uint32_t pos, uint32_t end, cf_str text)
{
    if (x->n_tok == x->cap) {
        uint32_t cap = x->cap < 64 ? 64 : x->cap * 2;
        cf_tok *grown = cf_t__alloc(x->r, cap * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        if (x->n_tok != 0) {
            memcpy(grown, x->tok, x->n_tok * sizeof *grown);
        }
        x->tok = grown;
        x->cap = cap;
    }
    x->tok[x->n_tok++] = (cf_tok){type, pos, end, text};
    return true;
}

static bool is_at(const lexer *x, uint32_t at, const char *what)
{
    size_t n = strlen(what);
    return at + n <= x->n && memcmp(x->s + at, what, n) == 0;
}

static uint32_t skip_space(const lexer *x, uint32_t at)
{
    uint32_t len;
    while (at < x->n && cf_t__is_space(cf_t__cp(x->s + at, &len))) {
        at += len;
    }
    return at;
}

/* End of the text [from, to) without the blanks at its end. */
static uint32_t rstrip(const lexer *x, uint32_t from, uint32_t to)
{
    while (to > from) {
        uint32_t at = to - 1, len;
        while (at > from && ((unsigned char)x->s[at] & 0xC0) == 0x80) {
            at--;
        }
        if (!cf_t__is_space(cf_t__cp(x->s + at, &len))) {
            break;
        }
        to = at;
    }
    return to;
}

/* Where text before a tag ends: after "-" all blanks go, with lstrip_blocks
 * those of a line that holds nothing else. */
static uint32_t text_end(const lexer *x, uint32_t from, uint32_t to, char sign, bool is_variable)
{
    if (sign == '-') {
        return rstrip(x, from, to);
    }
    if (sign == '+' || is_variable || x->tpl->options.no_lstrip_blocks) {
        return to;
    }
    uint32_t line = to;
    while (line > from && x->s[line - 1] != '\n') {
        line--;
    }
    if (line == from && !x->line_starting) {
        return to;
    }
    return skip_space(x, line) >= to ? line : to;
}

static bool add_text(lexer *x, uint32_t from, uint32_t to)
{
    return to <= from || add(x, CF_TOK_DATA, from, to, cf_str_make(x->s + from, to - from));
}

static char sign_at(const lexer *x, uint32_t at)
{
    char c = at < x->n ? x->s[at] : '\0';
    return c == '-' || c == '+' ? c : '\0';
}

/* If a tag "{% WORD %}" starts at `at`: the place after its closing, with
 * what that eats; else 0.  eats_line: trim_blocks applies. */
static uint32_t match_word_tag(const lexer *x, uint32_t at, const char *word, bool eats_line)
{
    uint32_t i = at + 2;
    if (sign_at(x, i) != '\0') {
        i++;
    }
    i = skip_space(x, i);
    if (!is_at(x, i, word)) {
        return 0;
    }
    i = skip_space(x, i + (uint32_t)strlen(word));
    if (is_at(x, i, "-%}")) {
        return skip_space(x, i + 3);
    }
    if (eats_line && is_at(x, i, "+%}")) {
        return i + 3;
    }
    if (!is_at(x, i, "%}")) {
        return 0;
    }
    i += 2;
    return eats_line && !x->tpl->options.no_trim_blocks && is_at(x, i, "\n") ? i + 1 : i;
}

static bool lex_raw(lexer *x, uint32_t start, uint32_t body)
{
    x->line_starting = x->s[body - 1] == '\n';
    for (uint32_t at = body; at + 1 < x->n; at++) {
        if (!is_at(x, at, "{%")) {
            continue;
        }
        uint32_t end = match_word_tag(x, at, "endraw", true);
        if (end != 0) {
            uint32_t to = text_end(x, body, at, sign_at(x, at + 2), false);
            x->at = end;
            x->line_starting = x->s[end - 1] == '\n';
            return add_text(x, body, to);
        }
    }
    if (body >= x->n) {
        x->at = x->n; /* at the end, which jinja2 accepts */
        return true;
    }
    cf_t__fail_at(x->r, start, body, "Missing end of raw directive");
    return false;
}

static bool lex_comment(lexer *x, uint32_t start)
{
    uint32_t from = start + 2 + (sign_at(x, start + 2) != '\0');
    for (uint32_t at = from; at + 1 < x->n; at++) {
        if (!is_at(x, at, "#}")) {
            continue;
        }
        char before = at > from ? x->s[at - 1] : '\0';
        uint32_t end = at + 2;
        if (before == '-') {
            end = skip_space(x, end);
        } else if (before != '+' && !x->tpl->options.no_trim_blocks && is_at(x, end, "\n")) {
            end++;
        }
        x->at = end;
        x->line_starting = x->s[end - 1] == '\n';
        return true;
    }
    if (from >= x->n) {
        x->at = x->n;
        return true;
    }
    cf_t__fail_at(x->r, start, start + 2, "Missing end of comment tag");
    return false;
}

/* ---- inside a tag ------------------------------------------------------- */

static uint32_t digits(const lexer *x, uint32_t at, const char *set)
{
    while (at < x->n) {
        uint32_t d = x->s[at] == '_' ? at + 1 : at;
        if (d >= x->n || x->s[d] == '\0' || strchr(set, x->s[d]) == NULL) {
            break;
        }
        at = d + 1;
    }
    return at;
}

#define DEC "0123456789"

static bool is_dec(const lexer *x, uint32_t at)
{
    return at < x->n && x->s[at] >= '0' && x->s[at] <= '9';
}

/* End of the float at x->at, 0 when there is none. */
static uint32_t match_float(const lexer *x)
{
    if (x->at > 0 && x->s[x->at - 1] == '.') {
        return 0;
    }
    uint32_t i = digits(x, x->at, DEC);
    bool is_float = false;
    if (i < x->n && x->s[i] == '.' && is_dec(x, i + 1)) {
        i = digits(x, i + 1, DEC);
        is_float = true;
    }
    if (i < x->n && (x->s[i] | 32) == 'e') {
        uint32_t e = i + 1;
        if (e < x->n && (x->s[e] == '+' || x->s[e] == '-')) {
            e++;
        }
        if (is_dec(x, e)) {
            return digits(x, e, DEC);
        }
    }
    return is_float ? i : 0;
}

static uint32_t match_int(const lexer *x)
{
    static const struct {
        char letter;
        const char *set;
    } bases[] = {{'b', "01"}, {'o', "01234567"}, {'x', "0123456789abcdefABCDEF"}};
    uint32_t at = x->at;
    if (x->s[at] == '0' && at + 1 < x->n) {
        for (size_t i = 0; i < 3; i++) {
            if ((x->s[at + 1] | 32) == bases[i].letter) {
                uint32_t end = digits(x, at + 2, bases[i].set);
                if (end > at + 2) {
                    return end;
                }
            }
        }
    }
    return x->s[at] == '0' ? digits(x, at, "0") : digits(x, at, DEC);
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Reads the escape after the backslash at s[at]; returns the place after
 * it, 0 for a broken one. */
static uint32_t unescape_one(const char *s, uint32_t at, uint32_t end, char out[8], uint32_t *n)
{
    static const char names[] = "abfnrtv\\'\"";
    static const char codes[] = "\a\b\f\n\r\t\v\\'\"";
    char c = s[at + 1];
    const char *known = c != '\0' ? strchr(names, c) : NULL;
    if (known != NULL) {
        out[0] = codes[known - names];
        *n = 1;
        return at + 2;
    }
    if (c == '\n') {
        *n = 0;
        return at + 2;
    }
    uint32_t cp = 0, i = at + 2;
    if (c >= '0' && c <= '7') {
        for (i = at + 1; i < end && i < at + 4 && s[i] >= '0' && s[i] <= '7'; i++) {
            cp = cp * 8 + (uint32_t)(s[i] - '0');
        }
    } else if (c == 'x' || c == 'u' || c == 'U') {
        uint32_t want = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        for (; i < at + 2 + want; i++) {
            int h = i < end ? hex_value(s[i]) : -1;
            if (h < 0 || cp > 0x10FFFF) {
                return 0;
            }
            cp = cp * 16 + (uint32_t)h;
        }
        if (cp > 0x10FFFF) {
            return 0;
        }
        /* "\ud83d\ude00": a pair is one character here, as when written out */
        if (cp >= 0xD800 && cp < 0xDC00 && i + 6 <= end && s[i] == '\\' && s[i + 1] == 'u') {
            uint32_t low = 0;
            for (uint32_t k = i + 2; k < i + 6; k++) {
                int h = hex_value(s[k]);
                low = h < 0 ? 0 : low * 16 + (uint32_t)h;
            }
            if (low >= 0xDC00 && low < 0xE000) {
                cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
                i += 6;
            }
        }
        if (cp >= 0xD800 && cp < 0xE000) {
            cp = 0xFFFD;
        }
    } else if (c == 'N') {
        return 0;
    } else {
        out[0] = '\\';
        *n = 1;
        return at + 1;
    }
    *n = (uint32_t)cf_utf8_encode(out, cp);
    return i;
}

static bool lex_string(lexer *x)
{
    char quote = x->s[x->at];
    uint32_t start = x->at, i = start + 1;
    bool has_escape = false;
    while (i < x->n && x->s[i] != quote) {
        if (x->s[i] == '\\') {
            has_escape = true;
            i++;
        }
        i++;
    }
    if (i >= x->n) {
        cf_t__fail_at(x->r, start, start + 1, "unexpected char '%c': the string does not end",
                      quote);
        return false;
    }
    x->at = i + 1;
    cf_str raw = cf_str_make(x->s + start + 1, i - start - 1);
    if (!has_escape) {
        return add(x, CF_TOK_STRING, start, x->at, raw);
    }
    char *out = cf_t__alloc(x->r, raw.n + 8);
    if (out == NULL) {
        return false;
    }
    uint32_t n = 0;
    for (uint32_t k = start + 1; k < i;) {
        if (x->s[k] != '\\') {
            out[n++] = x->s[k++];
            continue;
        }
        uint32_t len = 0;
        uint32_t next = unescape_one(x->s, k, i, out + n, &len);
        if (next == 0) {
            cf_t__fail_at(x->r, k, k + 2, "a broken escape in a string");
            return false;
        }
        n += len;
        k = next;
    }
    return add(x, CF_TOK_STRING, start, x->at, cf_str_make(out, n));
}

static bool lex_operator(lexer *x)
{
    static const struct {
        const char *text;
        cf_toktype type;
    } ops[] = {
        {"//", CF_TOK_FLOORDIV}, {"**", CF_TOK_POW},      {"==", CF_TOK_EQ},
        {"!=", CF_TOK_NE},       {">=", CF_TOK_GE},       {"<=", CF_TOK_LE},
        {"+", CF_TOK_ADD},       {"-", CF_TOK_SUB},       {"/", CF_TOK_DIV},
        {"*", CF_TOK_MUL},       {"%", CF_TOK_MOD},       {"~", CF_TOK_TILDE},
        {"[", CF_TOK_LBRACKET},  {"]", CF_TOK_RBRACKET},  {"(", CF_TOK_LPAREN},
        {")", CF_TOK_RPAREN},    {"{", CF_TOK_LBRACE},    {"}", CF_TOK_RBRACE},
        {">", CF_TOK_GT},        {"<", CF_TOK_LT},        {"=", CF_TOK_ASSIGN},
        {".", CF_TOK_DOT},       {":", CF_TOK_COLON},     {"|", CF_TOK_PIPE},
        {",", CF_TOK_COMMA},     {";", CF_TOK_SEMICOLON},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (!is_at(x, x->at, ops[i].text)) {
            continue;
        }
        uint32_t start = x->at;
        x->at += (uint32_t)strlen(ops[i].text);
        char c = ops[i].text[0];
        if (c == '(' || c == '[' || c == '{') {
            if (x->n_open == sizeof x->open) {
                cf_t__fail_at(x->r, start, x->at, "brackets nested too deeply");
                return false;
            }
            x->open[x->n_open++] = c == '(' ? ')' : c == '[' ? ']' : '}';
        } else if (c == ')' || c == ']' || c == '}') {
            if (x->n_open == 0) {
                cf_t__fail_at(x->r, start, x->at, "unexpected '%c'", c);
                return false;
            }
            char want = x->open[--x->n_open];
            if (want != c) {
                cf_t__fail_at(x->r, start, x->at, "unexpected '%c', expected '%c'", c, want);
                return false;
            }
        }
        return add(x, ops[i].type, start, x->at, cf_str_from(ops[i].text));
    }
    uint32_t len;
    cf_t__cp(x->s + x->at, &len);
    cf_t__fail_at(x->r, x->at, x->at + len, "unexpected char '%.*s'", (int)len, x->s + x->at);
    return false;
}

static bool lex_name(lexer *x)
{
    uint32_t start = x->at, len;
    uint32_t first = cf_t__cp(x->s + start, &len);
    while (x->at < x->n && cf_t__is_ident_part(cf_t__cp(x->s + x->at, &len))) {
        x->at += len;
    }
    if (!cf_t__is_ident_start(first)) {
        cf_t__fail_at(x->r, start, x->at, "Invalid character in identifier");
        return false;
    }
    return add(x, CF_TOK_NAME, start, x->at, cf_str_make(x->s + start, x->at - start));
}

/* Returns the position after the end of the tag if it ends here, else 0. */
static uint32_t match_tag_end(const lexer *x, bool is_block)
{
    const char *close = is_block ? "%}" : "}}";
    uint32_t at = x->at;
    if (is_block && x->s[at] == '+' && is_at(x, at + 1, close)) {
        return at + 3;
    }
    if (x->s[at] == '-' && is_at(x, at + 1, close)) {
        return skip_space(x, at + 3);
    }
    if (!is_at(x, at, close)) {
        return 0;
    }
    at += 2;
    return is_block && !x->tpl->options.no_trim_blocks && is_at(x, at, "\n") ? at + 1 : at;
}

static bool lex_tag(lexer *x, uint32_t start, bool is_block)
{
    x->at = start + 2 + (sign_at(x, start + 2) != '\0');
    if (!add(x, is_block ? CF_TOK_BLOCK_BEGIN : CF_TOK_VAR_BEGIN, start, x->at,
             cf_str_from(is_block ? "{%" : "{{"))) {
        return false;
    }
    x->n_open = 0;
    while (x->at < x->n) {
        if (x->n_open == 0) {
            uint32_t end = match_tag_end(x, is_block);
            if (end != 0) {
                bool ok =
                    add(x, is_block ? CF_TOK_BLOCK_END : CF_TOK_VAR_END, x->at,
                        x->at + 2 + (x->s[x->at] == '-'), cf_str_from(is_block ? "%}" : "}}"));
                x->at = end;
                x->line_starting = x->s[end - 1] == '\n';
                return ok;
            }
        }
        uint32_t next = skip_space(x, x->at), len;
        if (next > x->at) {
            x->at = next;
            continue;
        }
        char c = x->s[x->at];
        bool ok;
        if (c >= '0' && c <= '9') {
            uint32_t from = x->at, end = match_float(x);
            cf_toktype type = end != 0 ? CF_TOK_FLOAT : CF_TOK_INT;
            x->at = end != 0 ? end : match_int(x);
            ok = add(x, type, from, x->at, cf_str_make(x->s + from, x->at - from));
        } else if (c == '\'' || c == '"') {
            ok = lex_string(x);
        } else if (cf_t__is_ident_part(cf_t__cp(x->s + x->at, &len))) {
            ok = lex_name(x);
        } else {
            ok = lex_operator(x);
        }
        if (!ok) {
            return false;
        }
    }
    return true; /* the parser reports what is missing */
}

static bool lex_all(lexer *x)
{
    while (x->at < x->n) {
        uint32_t from = x->at, tag = from;
        while (tag + 1 < x->n &&
               !(x->s[tag] == '{' &&
                 (x->s[tag + 1] == '{' || x->s[tag + 1] == '%' || x->s[tag + 1] == '#'))) {
            tag++;
        }
        if (tag + 1 >= x->n) {
            x->at = x->n;
            return add_text(x, from, x->n);
        }
        char kind = x->s[tag + 1], sign = sign_at(x, tag + 2);
        if (!add_text(x, from, text_end(x, from, tag, sign, kind == '{'))) {
            return false;
        }
        uint32_t raw = kind == '%' ? match_word_tag(x, tag, "raw", false) : 0;
        if (!(raw != 0      ? lex_raw(x, tag, raw)
              : kind == '#' ? lex_comment(x, tag)
                            : lex_tag(x, tag, kind == '%'))) {
            return false;
        }
    }
    return true;
}

cf_tok *cf_t__lex(cf_tr *r, const cf_template *tpl)
{
    lexer x = {
        .r = r, .tpl = tpl, .s = tpl->text.p, .n = (uint32_t)tpl->text.n, .line_starting = true};
    if (!lex_all(&x) || !add(&x, CF_TOK_EOF, x.n, x.n, cf_str_from("end of template"))) {
        return NULL;
    }
    return x.tok;
}
