/*
 * json_scan.c - walks through JSON text, one value at a time.
 */
#include "core/hub/json_scan.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/utf8.h"

enum { NUMBER_MAX = 64, DEPTH_MAX = 256 };

static cf_status broken(const cf_json_scan *s, const char *what)
{
    return cf_fail_at(s->err, CF_EFORMAT, s->at, "not JSON: %s at byte %zu", what, s->at);
}

char cf_json_scan_peek(cf_json_scan *s)
{
    while (s->at < s->text.n) {
        char c = s->text.p[s->at];
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
            return c;
        }
        s->at++;
    }
    return '\0';
}

cf_status cf_json_scan_enter(cf_json_scan *s, char bracket)
{
    if (cf_json_scan_peek(s) != bracket) {
        return broken(s, bracket == '{' ? "no object" : "no array");
    }
    s->at++;
    return CF_OK;
}

cf_status cf_json_scan_item(cf_json_scan *s, bool first, bool *more)
{
    char c = cf_json_scan_peek(s);
    *more = c != ']' && c != '}';
    if (!*more) {
        s->at++;
        return CF_OK;
    }
    if (first) {
        return c != '\0' ? CF_OK : broken(s, "the end");
    }
    if (c != ',') {
        return broken(s, "no comma");
    }
    s->at++;
    c = cf_json_scan_peek(s);
    return c != '\0' && c != ']' && c != '}' ? CF_OK : broken(s, "nothing");
}

cf_status cf_json_scan_key(cf_json_scan *s, bool first, bool *more, cf_str *key)
{
    CF_TRY(cf_json_scan_item(s, first, more));
    if (!*more) {
        return CF_OK;
    }
    CF_TRY(cf_json_scan_string(s, key));
    if (cf_json_scan_peek(s) != ':') {
        return broken(s, "no colon");
    }
    s->at++;
    return CF_OK;
}

/* ---- strings ------------------------------------------------------------- */

/* The end of the string that starts at `at`, after its quote. */
static bool find_end(const cf_json_scan *s, size_t at, size_t *end, bool *escapes)
{
    *escapes = false;
    while (at < s->text.n) {
        unsigned char c = (unsigned char)s->text.p[at];
        if (c == '"') {
            *end = at;
            return true;
        }
        if (c < 0x20) {
            return false;
        }
        *escapes |= c == '\\';
        at += c == '\\' ? 2 : 1;
    }
    return false;
}

/* Writes s[from..to) with its escapes resolved, which never makes it longer. */
static cf_status resolve(cf_json_scan *s, size_t from, size_t to, cf_str *out)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    char *p = cf_arena_alloc(s->arena, to - from + 1);
    if (p == NULL) {
        return cf_oom(s->err);
    }
    size_t n = 0;
    while (from < to) {
        char c = s->text.p[from];
        if (c != '\\') {
            p[n++] = c;
            from++;
            continue;
        }
        c = s->text.p[from + 1];
        const char *name = c != '\0' ? strchr(names, c) : NULL;
        if (name != NULL) {
            p[n++] = values[name - names];
            from += 2;
            continue;
        }
        uint32_t cp = 0;
        size_t used = c == 'u' ? cf_utf16_escape(&cp, s->text.p + from, to - from) : 0;
        if (used == 0) {
            s->at = from;
            return broken(s, "an unknown escape");
        }
        n += cf_utf8_encode(p + n, cp);
        from += used;
    }
    *out = cf_str_make(p, n);
    return CF_OK;
}

cf_status cf_json_scan_string(cf_json_scan *s, cf_str *out)
{
    size_t end;
    bool escapes;
    if (cf_json_scan_peek(s) != '"') {
        return broken(s, "no string");
    }
    size_t from = s->at + 1;
    if (!find_end(s, from, &end, &escapes)) {
        return broken(s, "an open string");
    }
    if (escapes) {
        CF_TRY(resolve(s, from, end, out));
    } else {
        *out = cf_str_make(s->text.p + from, end - from);
    }
    s->at = end + 1;
    return CF_OK;
}

/* ---- numbers ------------------------------------------------------------- */

cf_status cf_json_scan_number(cf_json_scan *s, double *out)
{
    char text[NUMBER_MAX];
    size_t n = 0;
    char c = cf_json_scan_peek(s);
    if (c != '-' && (c < '0' || c > '9')) {
        return broken(s, "no number");
    }
    while (s->at + n < s->text.n && n < sizeof text - 1 && s->text.p[s->at + n] != '\0' &&
           strchr("+-.0123456789eE", s->text.p[s->at + n]) != NULL) {
        text[n] = s->text.p[s->at + n];
        n++;
    }
    text[n] = '\0';
    char *end;
    *out = strtod(text, &end);
    if (end != text + n) {
        return broken(s, "no number");
    }
    s->at += n;
    return CF_OK;
}

cf_status cf_json_scan_id(cf_json_scan *s, uint32_t *out)
{
    uint64_t v = 0;
    char c = cf_json_scan_peek(s);
    size_t from = s->at;
    if (c < '0' || c > '9') {
        return broken(s, "no id");
    }
    while (s->at < s->text.n && s->text.p[s->at] >= '0' && s->text.p[s->at] <= '9' &&
           v <= UINT32_MAX) {
        v = v * 10 + (uint64_t)(s->text.p[s->at++] - '0');
    }
    if (v > INT32_MAX) {
        s->at = from;
        return broken(s, "an id that is too large");
    }
    *out = (uint32_t)v;
    return CF_OK;
}

/* ---- any value ----------------------------------------------------------- */

cf_status cf_json_scan_skip(cf_json_scan *s, cf_str *out, size_t *n_items)
{
    size_t depth = 0;
    size_t commas = 0;
    bool filled = false;
    char first = cf_json_scan_peek(s);
    size_t from = s->at;
    do {
        char c = cf_json_scan_peek(s);
        size_t end;
        bool escapes;
        filled |= depth == 1 && c != ']' && c != '}';
        if (c == '\0') {
            return broken(s, "the end");
        }
        if (c == '"') {
            if (!find_end(s, s->at + 1, &end, &escapes)) {
                return broken(s, "an open string");
            }
            s->at = end;
        } else if (c == '[' || c == '{') {
            depth++;
        } else if (c == ']' || c == '}') {
            depth -= depth != 0;
        } else if (depth == 0) {
            while (s->at + 1 < s->text.n && strchr(",]} \n\r\t", s->text.p[s->at + 1]) == NULL) {
                s->at++;
            }
        }
        commas += c == ',' && depth == 1;
        s->at++;
        if (depth > DEPTH_MAX) {
            return broken(s, "too many brackets");
        }
    } while (depth != 0);
    *out = cf_str_make(s->text.p + from, s->at - from);
    if (n_items != NULL) {
        *n_items = (first == '[' || first == '{') && filled ? commas + 1 : 0;
    }
    return CF_OK;
}
