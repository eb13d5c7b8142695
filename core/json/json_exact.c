/*
 * json_exact.c - a small state machine: inside a container, before a value,
 * after a key.
 */
#include "core/json/json_exact.h"

#include <stdint.h>

#include "core/base/utf8.h"

void cf_jx_init(cf_jx *x, cf_str text, cf_arena *arena)
{
    *x = (cf_jx){.text = text, .arena = arena};
}

static cf_status fail(const cf_jx *x, cf_error *err, const char *what)
{
    uint32_t line = 1, col = 1;
    for (size_t i = 0; i < x->at && i < x->text.n; i++) {
        col = x->text.p[i] == '\n' ? 1 : col + 1;
        line += x->text.p[i] == '\n';
    }
    return cf_fail_line(err, CF_EFORMAT, line, col, "not valid JSON: %s at line %u column %u", what,
                        (unsigned)line, (unsigned)col);
}

static char peek(const cf_jx *x)
{
    return x->at < x->text.n ? x->text.p[x->at] : '\0';
}

static void skip_blanks(cf_jx *x)
{
    while (x->at < x->text.n) {
        char c = x->text.p[x->at];
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
            break;
        }
        x->at++;
    }
}

/* Decodes the escape at x->at (after the backslash) into out and returns its
 * length; 0 if it is not an escape. */
static size_t unescape(cf_jx *x, char out[4])
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = peek(x);
    const char *known = c != '\0' ? strchr(from, c) : NULL;
    if (known != NULL) {
        out[0] = to[known - from];
        x->at++;
        return 1;
    }
    uint32_t cp;
    size_t at = x->at - 1;
    size_t n = c == 'u' ? cf_utf16_escape(&cp, x->text.p + at, x->text.n - at) : 0;
    if (n == 0) {
        return 0;
    }
    x->at += n - 1;
    return cf_utf8_encode(out, cp);
}

static cf_status string(cf_jx *x, cf_str *out, cf_error *err)
{
    size_t from = ++x->at, end = from;
    bool has_escape = false;
    while (end < x->text.n && x->text.p[end] != '"') {
        if ((unsigned char)x->text.p[end] < 0x20) {
            x->at = end;
            return fail(x, err, "a control character in a string");
        }
        if (x->text.p[end] == '\\') {
            has_escape = true;
            end++;
        }
        end++;
    }
    if (end >= x->text.n) {
        x->at = x->text.n;
        return fail(x, err, "a string does not end");
    }
    size_t good = cf_utf8_valid_prefix(x->text.p + from, end - from);
    if (good != end - from) {
        x->at = from + good;
        return fail(x, err, "a byte that is not UTF-8");
    }
    if (!has_escape) {
        *out = cf_str_make(x->text.p + from, end - from);
        x->at = end + 1;
        return CF_OK;
    }
    char *copy = cf_arena_alloc(x->arena, end - from + 4);
    if (copy == NULL) {
        return cf_oom(err);
    }
    size_t n = 0;
    while (x->at < end) {
        if (x->text.p[x->at] != '\\') {
            copy[n++] = x->text.p[x->at++];
            continue;
        }
        x->at++;
        size_t len = unescape(x, copy + n);
        if (len == 0) {
            return fail(x, err, "a broken escape");
        }
        n += len;
    }
    x->at = end + 1;
    *out = cf_str_make(copy, n);
    return CF_OK;
}

static size_t digits(cf_jx *x)
{
    size_t n = 0;
    while (peek(x) >= '0' && peek(x) <= '9') {
        x->at++;
        n++;
    }
    return n;
}

static bool word(cf_jx *x, const char *w)
{
    size_t n = strlen(w);
    if (x->text.n - x->at < n || memcmp(x->text.p + x->at, w, n) != 0) {
        return false;
    }
    x->at += n;
    return true;
}

static cf_status number(cf_jx *x, cf_jx_event *out, cf_error *err)
{
    size_t from = x->at;
    out->kind = CF_JX_INT;
    if (peek(x) == '-') {
        x->at++;
    }
    if (word(x, "Infinity")) {
        out->kind = CF_JX_FLOAT;
    } else {
        bool zero = peek(x) == '0';
        size_t n = digits(x);
        if (n == 0 || (zero && n > 1)) {
            return fail(x, err, "a value is expected");
        }
        if (peek(x) == '.') {
            x->at++;
            out->kind = CF_JX_FLOAT;
            if (digits(x) == 0) {
                return fail(x, err, "digits are expected");
            }
        }
        if (peek(x) == 'e' || peek(x) == 'E') {
            x->at++;
            out->kind = CF_JX_FLOAT;
            if (peek(x) == '+' || peek(x) == '-') {
                x->at++;
            }
            if (digits(x) == 0) {
                return fail(x, err, "digits are expected");
            }
        }
    }
    out->text = cf_str_make(x->text.p + from, x->at - from);
    return CF_OK;
}

static void value_done(cf_jx *x)
{
    x->after_key = false;
    x->is_first = false;
    x->is_done = x->depth == 0;
}

static cf_status open_container(cf_jx *x, cf_jx_event *out, bool is_object, cf_error *err)
{
    if (x->depth == CF_JX_DEPTH_MAX) {
        return cf_fail(err, CF_ELIMIT, "JSON is nested over %d deep", CF_JX_DEPTH_MAX);
    }
    x->is_object[x->depth++] = is_object;
    x->at++;
    x->is_first = true;
    x->after_key = false;
    out->kind = is_object ? CF_JX_OBJECT : CF_JX_ARRAY;
    return CF_OK;
}

static cf_status close_it(cf_jx *x, cf_jx_event *out)
{
    x->at++;
    out->kind = x->is_object[--x->depth] ? CF_JX_OBJECT_END : CF_JX_ARRAY_END;
    value_done(x);
    return CF_OK;
}

static cf_status value(cf_jx *x, cf_jx_event *out, cf_error *err)
{
    char c = peek(x);
    if (c == '{' || c == '[') {
        return open_container(x, out, c == '{', err);
    }
    cf_status st = CF_OK;
    if (c == '"') {
        out->kind = CF_JX_STRING;
        st = string(x, &out->text, err);
    } else if (word(x, "null")) {
        out->kind = CF_JX_NULL;
    } else if (word(x, "true")) {
        out->kind = CF_JX_TRUE;
    } else if (word(x, "false")) {
        out->kind = CF_JX_FALSE;
    } else if (word(x, "NaN")) {
        *out = (cf_jx_event){CF_JX_FLOAT, cf_str_from("NaN")};
    } else if (c == 'I' && word(x, "Infinity")) {
        *out = (cf_jx_event){CF_JX_FLOAT, cf_str_from("Infinity")};
    } else {
        st = number(x, out, err);
    }
    if (st == CF_OK) {
        value_done(x);
    }
    return st;
}

static cf_status key(cf_jx *x, cf_jx_event *out, cf_error *err)
{
    if (peek(x) != '"') {
        return fail(x, err, "a key is expected");
    }
    out->kind = CF_JX_KEY;
    CF_TRY(string(x, &out->text, err));
    skip_blanks(x);
    if (peek(x) != ':') {
        return fail(x, err, "':' is expected");
    }
    x->at++;
    x->after_key = true;
    return CF_OK;
}

cf_status cf_jx_next(cf_jx *x, cf_jx_event *out, cf_error *err)
{
    skip_blanks(x);
    *out = (cf_jx_event){CF_JX_END, {NULL, 0}};
    if (x->is_done) {
        return x->at == x->text.n ? CF_OK : fail(x, err, "something follows the value");
    }
    if (x->depth == 0 || x->after_key) {
        return value(x, out, err);
    }
    bool is_object = x->is_object[x->depth - 1];
    char c = peek(x);
    if (c == (is_object ? '}' : ']')) {
        return close_it(x, out);
    }
    if (!x->is_first) {
        if (c != ',') {
            return fail(x, err, is_object ? "',' or '}' is expected" : "',' or ']' is expected");
        }
        x->at++;
        skip_blanks(x);
    }
    x->is_first = false;
    return is_object ? key(x, out, err) : value(x, out, err);
}
