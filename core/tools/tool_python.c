/*
 * tool_python.c - reads calls written as Python.
 *
 *   body  := statement* where a newline or ';' ends a statement
 *   statement := call | '[' (call (',' call)* ','?)? ']' | print(call)
 *   call  := NAME ('.' NAME)* '(' (NAME '=' value (',' NAME '=' value)* ','?)?
 *            ')'
 *   value := number | True | False | None | true | false | null | string+
 *            | list | tuple | dict | NAME '(' keyword arguments ')'
 *
 * Strings take Python's prefixes r, u and b, triple quotes and escapes.
 * "default_api." in front of a name is dropped.  A constructor NAME(k=v)
 * becomes {"__type__":"NAME","k":v}.  Everything else of Python is refused:
 * nothing is computed.
 */
#include <string.h>

#include "core/base/utf8.h"
#include "core/tools/tool_emit.h"

static char peek(const cf_tool__emit *e)
{
    return e->at < e->end ? e->p[e->at] : '\0';
}

/* Spaces, comments, joined lines, and newlines too: for inside brackets. */
static void skip(cf_tool__emit *e, bool newlines)
{
    while (e->at < e->end) {
        char c = e->p[e->at];
        if (c == '#') {
            while (e->at < e->end && e->p[e->at] != '\n') {
                e->at++;
            }
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || (newlines && c == '\n')) {
            e->at++;
        } else if (c == '\\' && e->at + 1 < e->end && e->p[e->at + 1] == '\n') {
            e->at += 2;
        } else {
            return;
        }
    }
}

static cf_str read_word(cf_tool__emit *e)
{
    size_t off = e->at;
    if (e->at < e->end && cf_tool__is_name_start(e->p[e->at])) {
        while (e->at < e->end && cf_tool__is_name(e->p[e->at])) {
            e->at++;
        }
    }
    return cf_str_make(e->p + off, e->at - off);
}

/* ---- strings ------------------------------------------------------------ */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hex_escape(cf_tool__emit *e, size_t n)
{
    uint32_t cp = 0;
    for (size_t i = 0; i < n; i++) {
        int d = hex_digit(peek(e));
        if (d < 0) {
            return cf_tool__expect(e, e->at, "a hex digit of the escape");
        }
        cp = cp << 4 | (uint32_t)d;
        e->at++;
    }
    if (cp > 0x10FFFF) {
        return cf_tool__expect(e, e->at, "a character up to U+10FFFF");
    }
    if (cp >= 0xD800 && cp < 0xE000) {
        cp = 0xFFFD;
    }
    char out[4];
    cf_buf_add(&e->str, out, cf_utf8_encode(out, cp));
    return true;
}

/* Reads an escape after its backslash, which is at e->at - 1. */
static bool py_escape(cf_tool__emit *e)
{
    static const char from[] = "\\'\"abfnrtv";
    static const char to[] = "\\'\"\a\b\f\n\r\t\v";
    char c = peek(e);
    e->at++;
    if (c == 'x') {
        return hex_escape(e, 2);
    }
    if (c == 'u') {
        return hex_escape(e, 4);
    }
    if (c == 'U') {
        return hex_escape(e, 8);
    }
    if (c == '\n') {
        return true; /* joins two lines */
    }
    if (c == '\r' && peek(e) == '\n') {
        e->at++;
        return true;
    }
    if (c >= '0' && c <= '7') {
        uint32_t cp = (uint32_t)(c - '0');
        for (int i = 0; i < 2 && peek(e) >= '0' && peek(e) <= '7'; i++) {
            cp = cp * 8 + (uint32_t)(peek(e) - '0');
            e->at++;
        }
        char out[4];
        cf_buf_add(&e->str, out, cf_utf8_encode(out, cp));
        return true;
    }
    const char *hit = c != '\0' ? strchr(from, c) : NULL;
    if (hit != NULL) {
        cf_buf_addc(&e->str, to[hit - from]);
    } else { /* Python keeps an escape that it does not know */
        cf_buf_addc(&e->str, '\\');
        cf_buf_addc(&e->str, c);
    }
    return true;
}

/* One string literal, its quote at the cursor, appended to e->str. */
static bool py_literal(cf_tool__emit *e, bool is_raw)
{
    size_t open = e->at;
    char quote = peek(e);
    bool is_long = e->end - e->at >= 3 && e->p[e->at + 1] == quote && e->p[e->at + 2] == quote;
    e->at += is_long ? 3 : 1;
    while (e->at < e->end) {
        char c = e->p[e->at];
        if (c == quote && (!is_long || (e->end - e->at >= 3 && e->p[e->at + 1] == quote &&
                                        e->p[e->at + 2] == quote))) {
            e->at += is_long ? 3 : 1;
            return true;
        }
        if (c == '\n' && !is_long && !e->spans_lines) {
            break;
        }
        e->at++;
        if (c != '\\' || e->at >= e->end) {
            cf_buf_addc(&e->str, c);
        } else if (is_raw) {
            cf_buf_addc(&e->str, c);
            cf_buf_addc(&e->str, e->p[e->at++]);
        } else if (!py_escape(e)) {
            return false;
        }
    }
    cf_tool__expect(e, e->at, "the closing quote of the string");
    e->open_off = open;
    return false;
}

/* Length of a string prefix at the cursor (r, u, b, rb ...), when a quote
 * follows it. */
static bool at_string(const cf_tool__emit *e, size_t *prefix, bool *is_raw)
{
    *prefix = 0;
    *is_raw = false;
    while (e->at + *prefix < e->end && *prefix < 3) {
        char c = e->p[e->at + *prefix];
        if (c == '"' || c == '\'') {
            return true;
        }
        c = (char)(c | 32);
        if (c == 'r') {
            *is_raw = true;
        } else if (c != 'u' && c != 'b') {
            return false;
        }
        ++*prefix;
    }
    return false;
}

/* One or more literals side by side, into e->str. */
static bool py_string(cf_tool__emit *e)
{
    size_t prefix;
    bool is_raw;
    cf_buf_reset(&e->str);
    size_t behind = e->at;
    while (at_string(e, &prefix, &is_raw)) {
        e->at += prefix;
        if (!py_literal(e, is_raw)) {
            return false;
        }
        behind = e->at;
        skip(e, true);
    }
    e->at = behind;
    return !e->str.failed || cf_tool__oom(e);
}

/* ---- numbers ------------------------------------------------------------ */

static bool py_hex(cf_tool__emit *e, bool is_negative)
{
    uint64_t v = 0;
    size_t n = 0;
    e->at += 2;
    for (; hex_digit(peek(e)) >= 0; n++, e->at++) {
        if (n == 15) {
            return cf_tool__expect(e, e->at, "at most 15 hex digits");
        }
        v = v << 4 | (uint64_t)hex_digit(peek(e));
    }
    if (n == 0) {
        return cf_tool__expect(e, e->at, "a hex digit");
    }
    cf_buf_addf(&e->json, "%s%llu", is_negative && v != 0 ? "-" : "", (unsigned long long)v);
    return true;
}

/* Digits with single underscores between them, copied without. */
static size_t py_digits(cf_tool__emit *e)
{
    size_t n = 0;
    while (cf_tool__is_digit(peek(e)) ||
           (peek(e) == '_' && n > 0 && e->p[e->at - 1] != '_' && e->at + 1 < e->end &&
            cf_tool__is_digit(e->p[e->at + 1]))) {
        if (peek(e) != '_') {
            cf_buf_addc(&e->str, peek(e));
            n++;
        }
        e->at++;
    }
    return n;
}

static bool py_number(cf_tool__emit *e)
{
    size_t off = e->at;
    bool is_real = false;
    bool is_negative = peek(e) == '-';
    cf_buf_reset(&e->str);
    if (peek(e) == '-' || peek(e) == '+') {
        if (is_negative) {
            cf_buf_addc(&e->str, '-');
        }
        e->at++;
        skip(e, true);
    }
    if (peek(e) == '0' && e->at + 1 < e->end && (e->p[e->at + 1] | 32) == 'x') {
        return py_hex(e, is_negative);
    }
    size_t n = py_digits(e);
    if (peek(e) == '.') {
        is_real = true;
        if (n == 0) {
            cf_buf_addc(&e->str, '0');
        }
        cf_buf_addc(&e->str, '.');
        e->at++;
        n += py_digits(e);
    }
    if (n == 0) {
        return cf_tool__expect(e, e->at, "a digit");
    }
    if ((peek(e) | 32) == 'e') {
        is_real = true;
        cf_buf_addc(&e->str, 'e');
        e->at++;
        if (peek(e) == '-' || peek(e) == '+') {
            cf_buf_addc(&e->str, peek(e));
            e->at++;
        }
        if (py_digits(e) == 0) {
            return cf_tool__expect(e, e->at, "a digit of the exponent");
        }
    }
    if (e->str.failed) {
        return cf_tool__oom(e);
    }
    if (cf_tool__is_name(peek(e))) {
        return cf_tool__expect(e, e->at, "the end of the number");
    }
    size_t behind = e->at;
    e->at = off;
    bool ok = cf_tool__number(e, cf_buf_cstr(&e->str), e->str.n, is_real);
    e->at = behind;
    return ok;
}

/* ---- values ------------------------------------------------------------- */

static bool py_value(cf_tool__emit *e);
static bool py_arguments(cf_tool__emit *e, cf_str type);

/* Items up to `close`, after the opening bracket. */
static bool py_items(cf_tool__emit *e, char close, bool *is_tuple)
{
    cf_buf_addc(&e->json, '[');
    for (size_t i = 0;; i++) {
        skip(e, true);
        if (peek(e) == close && e->at < e->end) {
            e->at++;
            cf_buf_addc(&e->json, ']');
            return true;
        }
        if (i > 0) {
            cf_buf_addc(&e->json, ',');
        }
        size_t mark = cf_tool__path_index(e, i);
        bool ok = py_value(e);
        cf_tool__path_pop(e, mark);
        if (!ok) {
            return false;
        }
        skip(e, true);
        if (peek(e) == ',') {
            *is_tuple = true;
            e->at++;
        } else if (peek(e) != close || e->at >= e->end) {
            return cf_tool__expect(e, e->at, close == ']' ? "',' or ']'" : "',' or ')'");
        }
    }
}

/* '(' value ')' is the value; with a comma, or empty, a tuple. */
static bool py_parens(cf_tool__emit *e)
{
    size_t off = e->json.n;
    bool is_tuple = false;
    e->at++;
    if (!py_items(e, ')', &is_tuple)) {
        return false;
    }
    if (!is_tuple && e->json.n > off + 2 && !e->json.failed) {
        memmove(e->json.p + off, e->json.p + off + 1, e->json.n - off - 2);
        e->json.n -= 2;
        e->json.p[e->json.n] = '\0';
    }
    return true;
}

/* A dict's key: a string, or a number, which becomes one. */
static bool py_key(cf_tool__emit *e)
{
    size_t prefix;
    bool is_raw;
    if (at_string(e, &prefix, &is_raw)) {
        return py_string(e);
    }
    if (cf_tool__is_digit(peek(e)) || peek(e) == '-') {
        size_t mark = e->json.n;
        if (!py_number(e)) {
            return false;
        }
        cf_buf_reset(&e->str);
        cf_buf_add(&e->str, e->json.p + mark, e->json.n - mark);
        e->json.n = mark;
        return !e->str.failed || cf_tool__oom(e);
    }
    return cf_tool__expect(e, e->at, "a key in quotes");
}

/* Key and value of a dict: the key is in e->str. */
static bool py_pair(cf_tool__emit *e, cf_tool__members *m, size_t key_off)
{
    size_t which = 0;
    cf_str key = cf_buf_str(&e->str);
    cf_tool__dup dup = cf_tool__member_begin(e, m, key, &which);
    if (dup == CF_TOOL_DUP_FAILED) {
        return false;
    }
    size_t mark = cf_tool__path_key(e, key);
    bool ok = py_value(e);
    cf_tool__path_pop(e, mark);
    if (ok && dup == CF_TOOL_DUP_YES) {
        cf_tool__note_add(e, key_off, "repeated key: the last value counts");
        cf_tool__member_drop(e, m, which);
    }
    return ok;
}

static bool py_dict(cf_tool__emit *e)
{
    cf_tool__members m = {NULL, 0, 0};
    bool ok = true;
    cf_buf_addc(&e->json, '{');
    e->at++;
    for (;;) {
        skip(e, true);
        if (peek(e) == '}') {
            e->at++;
            break;
        }
        size_t key_off = e->at;
        ok = py_key(e);
        if (!ok) {
            break;
        }
        skip(e, true);
        if (peek(e) != ':') {
            ok = cf_tool__expect(e, e->at, "':'");
            break;
        }
        e->at++;
        ok = py_pair(e, &m, key_off);
        if (!ok) {
            break;
        }
        skip(e, true);
        if (peek(e) == ',') {
            e->at++;
        } else if (peek(e) != '}') {
            ok = cf_tool__expect(e, e->at, "',' or '}'");
            break;
        }
    }
    cf_buf_addc(&e->json, '}');
    cf_tool__members_deinit(&m);
    return ok;
}

static bool py_word(cf_tool__emit *e)
{
    size_t off = e->at;
    cf_str word = read_word(e);
    if (cf_str_is(word, "True") || cf_str_is(word, "true")) {
        cf_buf_adds(&e->json, "true");
    } else if (cf_str_is(word, "False") || cf_str_is(word, "false")) {
        cf_buf_adds(&e->json, "false");
    } else if (cf_str_is(word, "None") || cf_str_is(word, "null")) {
        cf_buf_adds(&e->json, "null");
    } else if (word.n > 0 && peek(e) == '(') {
        return py_arguments(e, word);
    } else {
        return cf_tool__expect(e, off, "a constant value");
    }
    return true;
}

static bool py_value(cf_tool__emit *e)
{
    size_t prefix;
    bool is_raw, unused = false;
    skip(e, true);
    if (e->at >= e->end) {
        return cf_tool__expect(e, e->at, "a constant value");
    }
    if (!cf_tool__enter(e)) {
        return false;
    }
    size_t span = cf_tool__span_open(e);
    bool ok;
    char c = peek(e);
    if (at_string(e, &prefix, &is_raw)) {
        ok = py_string(e);
        if (ok) {
            cf_json_write_str(&e->json, cf_buf_str(&e->str));
        }
    } else if (c == '[') {
        e->at++;
        ok = py_items(e, ']', &unused);
    } else if (c == '(') {
        ok = py_parens(e);
    } else if (c == '{') {
        ok = py_dict(e);
    } else if (c == '-' || c == '+' || c == '.' || cf_tool__is_digit(c)) {
        ok = py_number(e);
    } else {
        ok = py_word(e);
    }
    cf_tool__span_close(e, span);
    cf_tool__leave(e);
    return ok && ((!e->oom && !e->json.failed) || cf_tool__oom(e));
}

bool cf_tool__python_value(cf_tool__emit *e)
{
    return py_value(e);
}

/* ---- calls -------------------------------------------------------------- */

/* One NAME '=' value. */
static bool py_keyword(cf_tool__emit *e, cf_tool__members *m)
{
    size_t off = e->at;
    cf_str name = read_word(e);
    skip(e, true);
    if (name.n == 0 || peek(e) != '=' || (e->at + 1 < e->end && e->p[e->at + 1] == '=')) {
        return cf_tool__expect(e, off, "NAME= (arguments go by name)");
    }
    e->at++;
    size_t which = 0;
    cf_tool__dup dup = cf_tool__member_begin(e, m, name, &which);
    if (dup == CF_TOOL_DUP_YES) {
        return cf_tool__expect(e, off, "each argument once");
    }
    if (dup == CF_TOOL_DUP_FAILED) {
        return false;
    }
    size_t mark = cf_tool__path_key(e, name);
    bool ok = py_value(e);
    cf_tool__path_pop(e, mark);
    return ok;
}

/* '(' keyword arguments ')' as an object; `type` for a constructor. */
static bool py_arguments(cf_tool__emit *e, cf_str type)
{
    cf_tool__members m = {NULL, 0, 0};
    bool ok = true;
    size_t which = 0;
    cf_buf_addc(&e->json, '{');
    if (type.n > 0) {
        ok = cf_tool__member_begin(e, &m, cf_str_from("__type__"), &which) == CF_TOOL_DUP_NO;
        cf_json_write_str(&e->json, type);
    }
    e->at++;
    while (ok) {
        skip(e, true);
        if (peek(e) == ')') {
            e->at++;
            break;
        }
        ok = py_keyword(e, &m);
        if (!ok) {
            break;
        }
        skip(e, true);
        if (peek(e) == ',') {
            e->at++;
        } else if (peek(e) != ')') {
            ok = cf_tool__expect(e, e->at, "',' or ')'");
        }
    }
    cf_buf_addc(&e->json, '}');
    cf_tool__members_deinit(&m);
    return ok;
}

/* NAME ('.' NAME)*; "default_api." in front is left out of the name. */
static bool py_name(cf_tool__emit *e, cf_tool__raw_call *call, const cf_tool_set *tools)
{
    size_t off = e->at;
    for (;;) {
        if (read_word(e).n == 0) {
            return cf_tool__expect(e, e->at, "a function's name");
        }
        if (peek(e) != '.') {
            break;
        }
        e->at++;
    }
    static const char api[] = "default_api.";
    cf_str name = cf_str_make(e->p + off, e->at - off);
    if (cf_str_starts(name, cf_str_from(api)) &&
        (tools == NULL || cf_tool_set_find(tools, name) == NULL)) {
        name.p += sizeof api - 1;
        name.n -= sizeof api - 1;
        off += sizeof api - 1;
    }
    call->name = name;
    call->name_off = off;
    call->name_len = name.n;
    return true;
}

/* A call, or print(call), at the cursor. */
static bool py_call(cf_tool__emit *e, const cf_tool_set *tools, bool may_print)
{
    cf_tool__raw_call call;
    memset(&call, 0, sizeof call);
    call.off = e->at;
    if (!py_name(e, &call, tools)) {
        return false;
    }
    skip(e, false);
    if (peek(e) != '(') {
        return cf_tool__expect(e, e->at, "'('");
    }
    if (may_print && cf_str_is(call.name, "print") &&
        (tools == NULL || cf_tool_set_find(tools, call.name) == NULL)) {
        e->at++;
        skip(e, true);
        if (!py_call(e, tools, false)) {
            return false;
        }
        skip(e, true);
        if (peek(e) != ')') {
            return cf_tool__expect(e, e->at, "')' of print");
        }
        e->at++;
        return true;
    }
    call.args_off = e->at;
    call.first_span = e->n_spans;
    cf_buf_reset(&e->json);
    e->path.n = 0;
    if (!py_arguments(e, cf_str_make(NULL, 0))) {
        return false;
    }
    if (e->json.failed) {
        return cf_tool__oom(e);
    }
    call.args_len = e->at - call.args_off;
    call.n_spans = e->n_spans - call.first_span;
    call.has_args = true;
    call.len = e->at - call.off;
    call.arguments = cf_str_make(e->json.p, e->json.n);
    return cf_tool__call_add(e, &call);
}

static bool py_call_list(cf_tool__emit *e, const cf_tool_set *tools)
{
    e->at++;
    for (;;) {
        skip(e, true);
        if (peek(e) == ']') {
            e->at++;
            return true;
        }
        if (!py_call(e, tools, true)) {
            return false;
        }
        skip(e, true);
        if (peek(e) == ',') {
            e->at++;
        } else if (peek(e) != ']') {
            return cf_tool__expect(e, e->at, "',' or ']'");
        }
    }
}

bool cf_tool__python_calls(cf_tool__emit *e, const cf_tool_set *tools, bool spans_lines)
{
    e->spans_lines = spans_lines;
    for (;;) {
        skip(e, true);
        if (e->at < e->end && peek(e) == ';') {
            e->at++;
            continue;
        }
        if (e->at >= e->end) {
            return true;
        }
        bool ok = peek(e) == '[' ? py_call_list(e, tools) : py_call(e, tools, true);
        if (!ok) {
            return false;
        }
        skip(e, false);
        if (e->at < e->end && peek(e) != '\n' && peek(e) != ';') {
            return cf_tool__expect(e, e->at, "the end of the line");
        }
    }
}
