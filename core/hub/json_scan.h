/*
 * json_scan.h - walking through a large JSON text without building it.
 *
 * A tokenizer.json holds a quarter of a million strings; as values of a JSON
 * library they would take half a second and a gigabyte.  The scanner hands
 * out one after the other, and any value as the stretch of text that it is.
 *
 * Threads:  one thread at a time.
 * Memory:   strings without escapes are borrowed from the text, others live
 *           in the arena.
 */
#ifndef CF_CORE_HUB_JSON_SCAN_H
#define CF_CORE_HUB_JSON_SCAN_H

#include "core/base/arena.h"
#include "core/base/status.h"
#include "core/base/str.h"

typedef struct cf_json_scan {
    cf_str text;
    size_t at;
    cf_arena *arena;
    cf_error *err;
} cf_json_scan;

/* The first character of the next value, or of what follows; 0 at the end. */
char cf_json_scan_peek(cf_json_scan *s);

/* Enters an array or object; its opening bracket must be next. */
CF_MUST_USE cf_status cf_json_scan_enter(cf_json_scan *s, char bracket);

/* Moves to the next item, and in an object past its key. *more is false at the end, which
 * passes the closing bracket. `first`: no item has been read yet. */
CF_MUST_USE cf_status cf_json_scan_item(cf_json_scan *s, bool first, bool *more);
CF_MUST_USE cf_status cf_json_scan_key(cf_json_scan *s, bool first, bool *more, cf_str *key);

/* A string, with its escapes resolved; half of a surrogate pair is U+FFFD. */
CF_MUST_USE cf_status cf_json_scan_string(cf_json_scan *s, cf_str *out);
CF_MUST_USE cf_status cf_json_scan_number(cf_json_scan *s, double *out);
CF_MUST_USE cf_status cf_json_scan_id(cf_json_scan *s, uint32_t *out);

/* Skips a value of any kind and returns its bytes; *n_items (may be NULL) gets the number
 * of items of an array or object. */
CF_MUST_USE cf_status cf_json_scan_skip(cf_json_scan *s, cf_str *out, size_t *n_items);

#endif
