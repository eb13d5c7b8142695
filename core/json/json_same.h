/*
 * json_same.h - whether two JSON values are equal.
 *
 * Place in the flow:  schema checks (enum, const, uniqueItems) --> [json_same].
 * Knows: equality as JSON Schema defines it; jansson's own distinguishes 1
 * from 1.0.  Does not know: schemas.
 *
 * Threads:  any; the values are only read.
 * Memory:   allocates nothing.
 */
#ifndef CF_CORE_JSON_JSON_SAME_H
#define CF_CORE_JSON_JSON_SAME_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/decls.h"

CF_BEGIN_DECLS

/* Equality as in JSON Schema: numbers by value at any depth, objects in any
 * order of keys.  NULL is not equal to anything. */
bool cf_json_same(const json_t *a, const json_t *b);

CF_END_DECLS

#endif
