/*
 * json.c - reading through jansson, writing by hand: jansson prints doubles
 * with 17 digits, we print the shortest that read back.
 */
#include "core/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/os.h"
#include "core/base/utf8.h"
#include "core/json/json_digits.h"

/* Bytes of the longest number, word or string with its quotes. */
static size_t longest_token(const char *p, size_t n)
{
    size_t longest = 0, len = 0;
    bool is_string = false;
    for (size_t i = 0; i < n; i++) {
        char c = p[i];
        if (is_string) {
            is_string = c != '"';
            i += c == '\\';
            len += 1 + (size_t)(c == '\\');
        } else if (c == '"') {
            is_string = true;
            len = 1;
        } else if (c > ' ' && c != ',' && c != ':' && c != '[' && c != ']' && c != '{' &&
                   c != '}') {
            len++;
        } else {
            len = 0;
        }
        longest = len > longest ? len : longest;
    }
    return longest;
}

static cf_status check_read(json_t *v, bool failed, const json_error_t *why, json_t **out,
                            cf_error *err)
{
    if (v != NULL && !failed) {
        *out = v;
        return CF_OK;
    }
    json_decref(v);
    if (failed || json_error_code(why) == json_error_out_of_memory || why->text[0] == '\0') {
        return cf_oom(err);
    }
    return cf_fail_line(err, CF_EFORMAT, (uint32_t)(why->line > 0 ? why->line : 0),
                        (uint32_t)(why->column > 0 ? why->column : 0),
                        "not valid JSON: %s at line %d column %d", why->text, why->line,
                        why->column);
}

/* A text on its way to jansson. */
typedef struct text_source {
    const char *p;
    size_t left;
    bool (*stops)(void *ud); /* NULL: never */
    void *ud;
    bool is_stopped;
} text_source;

/* For json_load_callback(). */
static size_t next_piece(void *to, size_t n, void *ud)
{
    text_source *s = ud;
    s->is_stopped = s->is_stopped || s->stops(s->ud);
    if (s->is_stopped) {
        return (size_t)-1;
    }
    n = n < s->left ? n : s->left;
    memcpy(to, s->p, n);
    s->p += n;
    s->left -= n;
    return n;
}

static cf_status read_as(json_t **out, text_source *from, size_t flags, cf_error *err)
{
    const char *p = from->p;
    const size_t n = from->left;

    /* jansson drops the byte that its buffer of the token has no room for, and
     * reads past the end of a string whose closing quote is dropped.  FITS:
     * what needs no larger buffer. */
    enum { FITS = 14, SLACK = 4096 };
    json_error_t why;
    size_t token = longest_token(p, n);
    size_t n_reserve = token >= FITS ? token * 4 + SLACK : 0;
    void *reserve = n_reserve > 0 ? cf_alloc(n_reserve) : NULL;
    if (n_reserve > 0 && reserve == NULL) {
        return cf_oom(err);
    }
    cf_alloc_reserve(reserve, n_reserve);
    flags |= JSON_DECODE_ANY | JSON_ALLOW_NUL;
    json_t *v = from->stops != NULL ? json_load_callback(next_piece, from, flags, &why)
                                    : json_loadb(p, n, flags, &why);
    /* When an allocation fails, jansson reports no error text, or a missing
     * string, or drops a character and continues. */
    bool failed = cf_alloc_was_refused();
    cf_status st = v == NULL && !failed && json_error_code(&why) == json_error_numeric_overflow
                       ? cf_json_read_digits(out, p, n, err)
                       : check_read(v, failed, &why, out, err);
    cf_alloc_reserve(NULL, 0);
    cf_free(reserve);
    return st != CF_OK && from->is_stopped ? cf_fail(err, CF_ECANCELLED, "interrupted") : st;
}

cf_status cf_json_read(json_t **out, const char *p, size_t n, cf_error *err)
{
    return read_as(out, &(text_source){.p = p, .left = n}, 0, err);
}

cf_status cf_json_read_until(json_t **out, const char *p, size_t n, bool (*stops)(void *ud),
                             void *ud, cf_error *err)
{
    text_source from = {p, n, stops, ud, false};
    return read_as(out, &from, 0, err);
}

cf_status cf_json_read_doubles(json_t **out, const char *p, size_t n, cf_error *err)
{
    return read_as(out, &(text_source){.p = p, .left = n}, JSON_DECODE_INT_AS_REAL, err);
}

cf_status cf_json_read_file(json_t **out, const char *path, cf_error *err)
{
    return cf_json_read_small(out, path, CF_JSON_FILE_MAX, err);
}

cf_status cf_json_read_small(json_t **out, const char *path, size_t max_bytes, cf_error *err)
{
    cf_buf text = CF_BUF_INIT;
    cf_status st = cf_os_read_file(&text, path, max_bytes, err);
    if (st == CF_OK) {
        st = cf_json_read(out, cf_buf_cstr(&text), text.n, err);
        if (st != CF_OK) {
            cf_fail_in(err, st, path);
        }
    }
    cf_buf_deinit(&text);
    return st;
}

static json_t *copy_object(const json_t *v, json_t *(*of)(const json_t *))
{
    json_t *from = cf_json_ref(v); /* its iterators change nothing */
    json_t *to = json_object();
    for (void *it = json_object_iter(from); to != NULL && it != NULL;
         it = json_object_iter_next(from, it)) {
        if (json_object_setn_new_nocheck(to, json_object_iter_key(it), json_object_iter_key_len(it),
                                         of(json_object_iter_value(it))) != 0) {
            json_decref(to);
            to = NULL;
        }
    }
    return to;
}

static json_t *copy_array(const json_t *v, json_t *(*of)(const json_t *))
{
    json_t *to = json_array();
    for (size_t i = 0; to != NULL && i < json_array_size(v); i++) {
        if (json_array_append_new(to, of(json_array_get(v, i))) != 0) {
            json_decref(to);
            to = NULL;
        }
    }
    return to;
}

/* `of` gives the copy's value for each member and item. */
static json_t *copy_with(const json_t *v, json_t *(*of)(const json_t *))
{
    return json_is_object(v)  ? copy_object(v, of)
           : json_is_array(v) ? copy_array(v, of)
                              : json_copy(cf_json_ref(v));
}

static json_t *share(const json_t *v)
{
    return json_incref(cf_json_ref(v));
}

json_t *cf_json_copy(const json_t *v)
{
    return copy_with(v, share);
}

json_t *cf_json_deep_copy(const json_t *v)
{
    return copy_with(v, cf_json_deep_copy);
}

/* The shortest digits that read back as v, laid out as Python's repr does:
 * with an exponent only below 1e-4 and from 1e16 on. */
void cf_json_write_double(cf_buf *b, double v)
{
    if (!isfinite(v)) {
        cf_buf_adds(b, "null");
        return;
    }
    char text[40];
    int digits = 1;
    for (; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, v);
        if (strtod(text, NULL) == v) {
            break;
        }
    }
    const char *e = strchr(text, 'e');
    int exponent = e != NULL ? (int)strtol(e + 1, NULL, 10) : 0;
    if (exponent >= -4 && exponent < 16) {
        int decimals = digits - 1 - exponent;
        snprintf(text, sizeof text, "%.*f", decimals > 1 ? decimals : 1, v);
    }
    cf_buf_adds(b, text);
}

void cf_json_write_float(cf_buf *b, float v)
{
    if (!isfinite(v)) {
        cf_buf_adds(b, "null");
        return;
    }
    char text[32];
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)v);
        if (strtof(text, NULL) == v) {
            break;
        }
    }
    cf_buf_adds(b, text);
}

void cf_json_write_str(cf_buf *b, cf_str s)
{
    cf_buf_addc(b, '"');
    for (size_t i = 0; i < s.n;) {
        unsigned char c = (unsigned char)s.p[i];
        if (c >= 0x80) {
            uint32_t cp;
            size_t len = cf_utf8_decode(&cp, s.p + i, s.n - i);
            if (cp == CF_UTF8_BAD) {
                cf_buf_adds(b, "\xEF\xBF\xBD");
            } else {
                cf_buf_add(b, s.p + i, len);
            }
            i += len;
            continue;
        }
        switch (c) {
        case '"':
            cf_buf_adds(b, "\\\"");
            break;
        case '\\':
            cf_buf_adds(b, "\\\\");
            break;
        case '\n':
            cf_buf_adds(b, "\\n");
            break;
        case '\r':
            cf_buf_adds(b, "\\r");
            break;
        case '\t':
            cf_buf_adds(b, "\\t");
            break;
        default:
            if (c < 0x20 || c == 0x7F) {
                cf_buf_addf(b, "\\u%04x", c);
            } else {
                cf_buf_addc(b, (char)c);
            }
        }
        i++;
    }
    cf_buf_addc(b, '"');
}

/* `gap` stands after each ',' and ':'. */
static void write_value(cf_buf *b, const json_t *v, const char *gap);

static void write_object(cf_buf *b, const json_t *v, const char *gap)
{
    json_t *object = cf_json_ref(v); /* its iterators change nothing */
    bool is_first = true;
    cf_buf_addc(b, '{');
    for (void *it = json_object_iter(object); it != NULL; it = json_object_iter_next(object, it)) {
        if (!is_first) {
            cf_buf_addc(b, ',');
            cf_buf_adds(b, gap);
        }
        is_first = false;
        cf_json_write_str(b, cf_str_make(json_object_iter_key(it), json_object_iter_key_len(it)));
        cf_buf_addc(b, ':');
        cf_buf_adds(b, gap);
        write_value(b, json_object_iter_value(it), gap);
    }
    cf_buf_addc(b, '}');
}

/* A string, or a number that only its digits can say. */
static void write_string(cf_buf *b, const json_t *v)
{
    cf_str number = cf_json_digits(v);
    if (number.p != NULL) {
        cf_buf_add(b, number.p, number.n);
    } else {
        cf_json_write_str(b, cf_str_make(json_string_value(v), json_string_length(v)));
    }
}

static void write_value(cf_buf *b, const json_t *v, const char *gap)
{
    switch (v != NULL ? json_typeof(v) : JSON_NULL) {
    case JSON_OBJECT:
        write_object(b, v, gap);
        break;
    case JSON_ARRAY:
        cf_buf_addc(b, '[');
        for (size_t i = 0; i < json_array_size(v); i++) {
            if (i != 0) {
                cf_buf_addc(b, ',');
                cf_buf_adds(b, gap);
            }
            write_value(b, json_array_get(v, i), gap);
        }
        cf_buf_addc(b, ']');
        break;
    case JSON_STRING:
        write_string(b, v);
        break;
    case JSON_INTEGER:
        cf_buf_addf(b, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
        break;
    case JSON_REAL:
        cf_json_write_double(b, json_real_value(v));
        break;
    case JSON_TRUE:
        cf_buf_adds(b, "true");
        break;
    case JSON_FALSE:
        cf_buf_adds(b, "false");
        break;
    case JSON_NULL:
        cf_buf_adds(b, "null");
        break;
    }
}

void cf_json_write(cf_buf *b, const json_t *v)
{
    write_value(b, v, "");
}

void cf_json_write_spaced(cf_buf *b, const json_t *v)
{
    write_value(b, v, " ");
}

json_t *cf_json_str(cf_str s)
{
    if (cf_utf8_valid_prefix(s.p, s.n) == s.n) {
        return json_stringn_nocheck(s.n > 0 ? s.p : "", s.n);
    }
    cf_buf repaired = CF_BUF_INIT;
    cf_utf8_repair(&repaired, s);
    json_t *v = cf_json_buf(&repaired);
    cf_buf_deinit(&repaired);
    return v;
}

json_t *cf_json_buf(const cf_buf *b)
{
    return b->failed ? NULL : cf_json_str(cf_buf_str(b));
}

cf_str cf_json_get_str(const json_t *obj, const char *key)
{
    const json_t *v = json_object_get(obj, key);
    if (!json_is_string(v)) {
        return cf_str_make(NULL, 0);
    }
    return cf_str_make(json_string_value(v), json_string_length(v));
}
