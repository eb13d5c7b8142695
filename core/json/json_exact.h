/*
 * json_exact.h - JSON one event at a time, with numbers as they are spelled.
 *
 * Place in the flow:  JSON text --> [json_exact] --> template values, tool
 *                     arguments.
 * Knows: RFC 8259 and what Python's json reads beyond it (NaN, Infinity,
 * -Infinity).  Does not know: jansson, or the values its callers build.
 *
 * For readers that jansson cannot serve: integers of any size, and values
 * built directly in another form.
 *
 * Threads:  one thread at a time.
 * Memory:   strings without escapes point into the text; others live in the
 *           arena.
 */
#ifndef CF_CORE_JSON_JSON_EXACT_H
#define CF_CORE_JSON_JSON_EXACT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/arena.h"
#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/str.h"

CF_BEGIN_DECLS

typedef enum cf_jx_kind {
    CF_JX_END, /* of the text */
    CF_JX_NULL,
    CF_JX_TRUE,
    CF_JX_FALSE,
    CF_JX_INT,   /* text: the digits, with '-' */
    CF_JX_FLOAT, /* text: as spelled; or NaN, Infinity, -Infinity */
    CF_JX_STRING,
    CF_JX_KEY,
    CF_JX_OBJECT,
    CF_JX_OBJECT_END,
    CF_JX_ARRAY,
    CF_JX_ARRAY_END
} cf_jx_kind;

enum { CF_JX_DEPTH_MAX = 500 };

typedef struct cf_jx {
    cf_str text;
    size_t at;
    cf_arena *arena;
    size_t depth;
    bool is_first; /* nothing yet in the innermost container */
    bool is_done;  /* the outermost value is complete */
    bool after_key;
    unsigned char is_object[CF_JX_DEPTH_MAX];
} cf_jx;

typedef struct cf_jx_event {
    cf_jx_kind kind;
    cf_str text; /* of strings, keys and numbers */
} cf_jx_event;

void cf_jx_init(cf_jx *x, cf_str text, cf_arena *arena);

/*
 * The next event; CF_JX_END after the value and the blanks after it.
 *
 * CF_EFORMAT with line and column for text that is not JSON or not UTF-8;
 * CF_ELIMIT beyond CF_JX_DEPTH_MAX; CF_ENOMEM.  An escape of half a
 * surrogate pair becomes U+FFFD.
 */
CF_MUST_USE cf_status cf_jx_next(cf_jx *x, cf_jx_event *out, cf_error *err);

CF_END_DECLS

#endif
