/*
 * json.h - jansson with confab's errors.
 *
 * Place in the flow:  files, replies, arguments --> [json] --> json_t trees
 *                     --> text.
 * Knows: RFC 8259 as jansson reads it; numbers that jansson cannot hold keep
 * their digits (json_digits.h).  Does not know: what a document means.
 *
 * jansson keeps the order of an object's keys, keeps integers within 64 bits
 * apart from doubles, and keeps NUL bytes in strings (we always allow them).
 * Text is written value by value with json_writer.h.
 *
 * Threads:  a json_t belongs to one thread at a time.
 * Memory:   trees are counted by jansson; each function says who releases.
 */
#ifndef CF_CORE_JSON_JSON_H
#define CF_CORE_JSON_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/str.h"

CF_BEGIN_DECLS

/* `v` for jansson's functions that take a json_t * but change nothing
 * (iteration, reference counts).  The caller must not change the value. */
static inline json_t *cf_json_ref(const json_t *v)
{
    union {
        const json_t *in;
        json_t *out;
    } u = {v};
    return u.out;
}

/* Reads one JSON value of any kind from p[0..n); the caller decrefs *out.
 * CF_EFORMAT with line and column, CF_ENOMEM. */
CF_MUST_USE cf_status cf_json_read(json_t **out, const char *p, size_t n, cf_error *err);

/* The same, ended with CF_ECANCELLED once stops(ud), which is asked for each
 * kilobyte of the text. */
CF_MUST_USE cf_status cf_json_read_until(json_t **out, const char *p, size_t n,
                                         bool (*stops)(void *ud), void *ud, cf_error *err);

/* The same with every number as a double, for files with integers of any
 * size. */
CF_MUST_USE cf_status cf_json_read_doubles(json_t **out, const char *p, size_t n, cf_error *err);

/* The same from a file; errors name it. */
enum { CF_JSON_FILE_MAX = 512 << 20 }; /* bytes; CF_ELIMIT for more */
CF_MUST_USE cf_status cf_json_read_file(json_t **out, const char *path, cf_error *err);

/* The same for a file that somebody waits for, and cannot stop: of at most
 * max_bytes. */
enum { CF_JSON_SMALL_MAX = 8 << 20 };
CF_MUST_USE cf_status cf_json_read_small(json_t **out, const char *path, size_t max_bytes,
                                         cf_error *err);

/* As json_copy() and json_deep_copy(), which ignore that a field could not be
 * added: a whole copy, or NULL without memory. */
json_t *cf_json_copy(const json_t *v);
json_t *cf_json_deep_copy(const json_t *v);

/* Appends `v` to `b` on one line, UTF-8 unescaped, ", " and ": " left out,
 * keys in their own order, doubles in the shortest form that reads back. */
void cf_json_write(cf_buf *b, const json_t *v);

/* The same with a space after ',' and ':', as Python's json.dumps and the
 * tojson filter write it: what models were trained to read. */
void cf_json_write_spaced(cf_buf *b, const json_t *v);

/* Appends `s` as a JSON string with quotes.  Bytes that are not UTF-8 become
 * U+FFFD. */
void cf_json_write_str(cf_buf *b, cf_str s);

/* Appends a double as JSON: shortest digits that read back, always with a
 * '.' or an exponent; NaN and infinities become null. */
void cf_json_write_double(cf_buf *b, double v);

/* The same for a float, with at least six digits as %g prints them; a whole
 * number has no point. */
void cf_json_write_float(cf_buf *b, float v);

/* A new string; bytes that are not UTF-8 become U+FFFD (p NULL: "").  NULL
 * without memory. */
json_t *cf_json_str(cf_str s);

/* The same of a buffer's contents; NULL when the buffer has failed, too. */
json_t *cf_json_buf(const cf_buf *b);

/* obj[key] as a borrowed string; {NULL, 0} when absent or not a string. */
cf_str cf_json_get_str(const json_t *obj, const char *key);

CF_END_DECLS

#endif
