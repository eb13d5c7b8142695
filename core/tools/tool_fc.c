/*
 * tool_fc.c - reads the call syntax of FunctionGemma and Gemma 4.
 *
 *   call   := 'call' ':' NAME object?
 *   object := '{' (KEY ':' value (',' KEY ':' value)*)? '}'
 *   value  := ESC any bytes ESC | number | true | false | null | object |
 *             '[' (value (',' value)*)? ']'
 *   ESC    := <escape> | <|"|> | <ctrl46>, the same one on both sides
 *
 * NAME and KEY are letters, digits, '_', '.' and '-'; a key may also be
 * written as a string.  Nothing inside a string is an escape or a bracket.
 */
#include <string.h>

#include "core/tools/tool_emit.h"

static const char *const escapes[] = {"<|\"|>", "<escape>", "<ctrl46>"};

size_t cf_tool__fc_escape(const char *p, size_t n, bool *is_partial)
{
    *is_partial = false;
    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        size_t len = strlen(escapes[i]);
        if (n >= len) {
            if (memcmp(p, escapes[i], len) == 0) {
                return len;
            }
        } else if (memcmp(p, escapes[i], n) == 0) {
            *is_partial = true;
        }
    }
    return 0;
}

static char peek(const cf_tool__emit *e)
{
    return e->at < e->end ? e->p[e->at] : '\0';
}

static size_t at_escape(const cf_tool__emit *e)
{
    bool is_partial;
    return e->at < e->end ? cf_tool__fc_escape(e->p + e->at, e->end - e->at, &is_partial) : 0;
}

/* The string at the cursor, verbatim; *out borrows the raw bytes. */
static bool fc_string(cf_tool__emit *e, size_t esc, cf_str *out)
{
    const char *mark = e->p + e->at;
    size_t opened = e->at;
    e->at += esc;
    size_t off = e->at;
    for (; e->end - e->at >= esc; e->at++) {
        if (memcmp(e->p + e->at, mark, esc) == 0) {
            *out = cf_str_make(e->p + off, e->at - off);
            e->at += esc;
            return true;
        }
    }
    e->at = e->end;
    return cf_tool__expect(e, opened, "a string that is closed again");
}

static bool is_id(char c)
{
    return cf_tool__is_name(c) || c == '.' || c == '-';
}

static bool fc_key(cf_tool__emit *e, cf_str *out)
{
    size_t esc = at_escape(e);
    if (esc > 0) {
        return fc_string(e, esc, out);
    }
    size_t off = e->at;
    while (e->at < e->end && is_id(e->p[e->at])) {
        e->at++;
    }
    if (e->at == off) {
        return cf_tool__expect(e, off, "a key");
    }
    *out = cf_str_make(e->p + off, e->at - off);
    return true;
}

static bool fc_value(cf_tool__emit *e);

static bool fc_member(cf_tool__emit *e, cf_tool__members *m)
{
    cf_str key = {NULL, 0};
    size_t key_off = e->at;
    size_t which = 0;
    if (!fc_key(e, &key)) {
        return false;
    }
    cf_tool__json_space(e);
    if (peek(e) != ':') {
        return cf_tool__expect(e, e->at, "':'");
    }
    e->at++;
    cf_tool__dup dup = cf_tool__member_begin(e, m, key, &which);
    if (dup == CF_TOOL_DUP_FAILED) {
        return false;
    }
    size_t mark = cf_tool__path_key(e, key);
    bool ok = fc_value(e);
    cf_tool__path_pop(e, mark);
    if (ok && dup == CF_TOOL_DUP_YES) {
        cf_tool__note_add(e, key_off, "repeated key: the last value counts");
        cf_tool__member_drop(e, m, which);
    }
    return ok;
}

/* Digits, fraction and exponent as JSON has them, but "1." and ".5" too. */
static bool fc_number(cf_tool__emit *e)
{
    size_t off = e->at;
    size_t at = off;
    size_t n = 0;
    bool is_real = false;
    if (e->p[at] == '-' || e->p[at] == '+') {
        at++;
    }
    for (; at < e->end && cf_tool__is_digit(e->p[at]); at++) {
        n++;
    }
    if (at < e->end && e->p[at] == '.') {
        is_real = true;
        for (at++; at < e->end && cf_tool__is_digit(e->p[at]); at++) {
            n++;
        }
    }
    if (n == 0) {
        return cf_tool__expect(e, at, "a digit");
    }
    if (at < e->end && (e->p[at] | 32) == 'e') {
        is_real = true;
        at++;
        if (at < e->end && (e->p[at] == '-' || e->p[at] == '+')) {
            at++;
        }
        size_t exponent = at;
        while (at < e->end && cf_tool__is_digit(e->p[at])) {
            at++;
        }
        if (at == exponent) {
            return cf_tool__expect(e, at, "a digit of the exponent");
        }
    }
    if (!cf_tool__number(e, e->p + off, at - off, is_real)) {
        return false;
    }
    e->at = at;
    return true;
}

static bool fc_word(cf_tool__emit *e)
{
    size_t off = e->at;
    while (e->at < e->end && is_id(e->p[e->at])) {
        e->at++;
    }
    cf_str word = cf_str_make(e->p + off, e->at - off);
    if (cf_str_is(word, "true") || cf_str_is(word, "false") || cf_str_is(word, "null")) {
        cf_buf_add(&e->json, word.p, word.n);
        return true;
    }
    return cf_tool__expect(e, off, "a value (strings stand between escapes)");
}

static bool fc_value(cf_tool__emit *e)
{
    cf_tool__json_space(e);
    if (e->at >= e->end) {
        return cf_tool__expect(e, e->at, "a value");
    }
    if (!cf_tool__enter(e)) {
        return false;
    }
    size_t span = cf_tool__span_open(e);
    bool ok;
    cf_str text = {NULL, 0};
    char c = peek(e);
    size_t esc = at_escape(e);
    if (esc > 0) {
        ok = fc_string(e, esc, &text);
        if (ok) {
            cf_json_write_str(&e->json, text);
        }
    } else if (c == '{') {
        ok = cf_tool__object(e, fc_member);
    } else if (c == '[') {
        ok = cf_tool__array(e, fc_value);
    } else if (c == '-' || c == '+' || c == '.' || cf_tool__is_digit(c)) {
        ok = fc_number(e);
    } else {
        ok = fc_word(e);
    }
    cf_tool__span_close(e, span);
    cf_tool__leave(e);
    return ok && ((!e->oom && !e->json.failed) || cf_tool__oom(e));
}

static bool fc_call(cf_tool__emit *e)
{
    cf_tool__raw_call call;
    memset(&call, 0, sizeof call);
    call.off = e->at;
    if (e->end - e->at < 4 || memcmp(e->p + e->at, "call", 4) != 0) {
        return cf_tool__expect(e, e->at, "\"call:\"");
    }
    e->at += 4;
    cf_tool__json_space(e);
    if (peek(e) != ':') {
        return cf_tool__expect(e, e->at, "':' after \"call\"");
    }
    e->at++;
    cf_tool__json_space(e);
    call.name_off = e->at;
    while (e->at < e->end && is_id(e->p[e->at])) {
        e->at++;
    }
    call.name_len = e->at - call.name_off;
    if (call.name_len == 0) {
        return cf_tool__expect(e, e->at, "a function's name");
    }
    call.name = cf_str_make(e->p + call.name_off, call.name_len);
    call.arguments = cf_str_make("{}", 2);
    call.len = e->at - call.off;
    cf_tool__json_space(e);
    if (peek(e) == '{') {
        cf_buf_reset(&e->json);
        e->path.n = 0;
        call.args_off = e->at;
        call.first_span = e->n_spans;
        if (!cf_tool__object(e, fc_member)) {
            return false;
        }
        if (e->json.failed) {
            return cf_tool__oom(e);
        }
        call.has_args = true;
        call.args_len = e->at - call.args_off;
        call.n_spans = e->n_spans - call.first_span;
        call.arguments = cf_str_make(e->json.p, e->json.n);
        call.len = e->at - call.off;
    }
    return cf_tool__call_add(e, &call);
}

bool cf_tool__fc_calls(cf_tool__emit *e)
{
    cf_tool__json_space(e);
    while (e->at < e->end) {
        if (!fc_call(e)) {
            return false;
        }
        cf_tool__json_space(e);
        if (e->at < e->end && e->p[e->at] != 'c') {
            return cf_tool__expect(e, e->at, "the end of the block");
        }
    }
    return true;
}
