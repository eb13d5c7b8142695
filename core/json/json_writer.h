/*
 * json_writer.h - JSON text written one value at a time into a buffer.
 *
 * Place in the flow:  what a command or an export has to say --> [writer]
 *                     --> cf_buf --> standard output or a file.
 * Knows: commas, keys, nesting, escapes.  Does not know: what the values
 * mean, jansson's trees (except to copy one in), files.
 *
 * The writer puts the commas.  Every value takes a key: the member's name in
 * an object, NULL in an array and at the top.  Output is on one line without
 * blanks:
 *
 *     cf_jw w;
 *     cf_jw_init(&w, &buf);
 *     cf_jw_object(&w, NULL);
 *     cf_jw_str(&w, "role", role);
 *     cf_jw_array(&w, "ids");
 *     cf_jw_int(&w, NULL, 7);
 *     cf_jw_end(&w);
 *     cf_jw_end(&w);                      {"role":"user","ids":[7]}
 *     return cf_jw_finish(&w, err);
 *
 * Sticky: after a failure (memory, more than CF_JW_DEPTH_MAX levels) every
 * call does nothing, so one check at the end is enough.
 *
 * Threads:  one thread at a time.
 * Memory:   the writer owns nothing; it borrows the buffer it appends to.
 */
#ifndef CF_CORE_JSON_JSON_WRITER_H
#define CF_CORE_JSON_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/decls.h"
#include "core/base/uuid.h"
#include "core/json/json.h"

CF_BEGIN_DECLS

enum { CF_JW_DEPTH_MAX = 64 };

typedef struct cf_jw {
    cf_buf *out;
    unsigned depth;     /* open objects and arrays */
    uint64_t is_array;  /* bit d: level d is an array */
    uint64_t has_items; /* bit d: level d has an item already */
    bool after_key;     /* cf_jw_key() was called, its value is missing */
    bool is_too_deep;
} cf_jw;

/* Starts a value at the end of `out`, which must outlive the writer. */
void cf_jw_init(cf_jw *w, cf_buf *out);

/* Opens an object or an array; each needs its cf_jw_end(). */
void cf_jw_object(cf_jw *w, const char *key);
void cf_jw_array(cf_jw *w, const char *key);
void cf_jw_end(cf_jw *w);

/* A key that is not a C string (data, or with NUL bytes in it); the next
 * value belongs to it and is given the key NULL. */
void cf_jw_key(cf_jw *w, cf_str key);

/* Values.  Bytes that are not UTF-8 become U+FFFD. */
void cf_jw_str(cf_jw *w, const char *key, cf_str s);
void cf_jw_text(cf_jw *w, const char *key, const char *s); /* NULL: null */
void cf_jw_int(cf_jw *w, const char *key, int64_t v);
void cf_jw_uint(cf_jw *w, const char *key, uint64_t v);
void cf_jw_bool(cf_jw *w, const char *key, bool v);
void cf_jw_null(cf_jw *w, const char *key);

/* The shortest digits that read back as `v`, for a double and a float; null
 * when it is not finite. */
void cf_jw_double(cf_jw *w, const char *key, double v);
void cf_jw_float(cf_jw *w, const char *key, float v);

/* As printf would: for a number whose digits are part of a format.  The
 * result must be valid JSON. */
void cf_jw_format(cf_jw *w, const char *key, const char *fmt, ...) CF_PRINTF(3, 4);

/* A tree of jansson's (NULL: null), and text that is JSON already. */
void cf_jw_json(cf_jw *w, const char *key, const json_t *v);
void cf_jw_raw(cf_jw *w, const char *key, cf_str json);

/* [1,2,3] */
void cf_jw_int32s(cf_jw *w, const char *key, const int32_t *v, size_t n);

/* The contents of a buffer as a string; if the buffer has failed, so does the
 * writer. */
void cf_jw_buf(cf_jw *w, const char *key, const cf_buf *b);

/* A UUID in its 36 characters, and bytes as base64. */
void cf_jw_uuid(cf_jw *w, const char *key, cf_uuid id);
void cf_jw_base64(cf_jw *w, const char *key, cf_str bytes);

/* Bytes that may not be UTF-8: KEY holds the text and, where some are not,
 * KEY_hex all of them as hexadecimal digits.  Only in an object. */
void cf_jw_bytes(cf_jw *w, const char *key, cf_str bytes);

/* Every object and array must be closed.  CF_ENOMEM; CF_ELIMIT for more than
 * CF_JW_DEPTH_MAX levels. */
CF_MUST_USE cf_status cf_jw_finish(const cf_jw *w, cf_error *err);

CF_END_DECLS

#endif
