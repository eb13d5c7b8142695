/*
 * json_digits.h - numbers that jansson cannot hold, kept as they are spelled.
 *
 * Place in the flow:  JSON text with a number beyond 64 bits --> [json_digits]
 *                     --> json_t tree --> json.c writes the digits again.
 * Knows: how such a number is marked in a tree.  Does not know: what it means;
 * nothing computes with it.
 *
 * In a tree the number is a string of one byte 0xFF and its spelling.  No JSON
 * text and no function of jansson that checks UTF-8 can make such a string,
 * so it is never mistaken for text.
 *
 * Threads:  as json.h.
 * Memory:   as json.h.
 */
#ifndef CF_CORE_JSON_JSON_DIGITS_H
#define CF_CORE_JSON_JSON_DIGITS_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/decls.h"
#include "core/base/status.h"
#include "core/base/str.h"

CF_BEGIN_DECLS

/* Reads p[0..n) as cf_json_read() does, at most CF_JX_DEPTH_MAX levels deep;
 * integers beyond 64 bits and numbers beyond a double keep their digits.  The
 * caller decrefs *out.  CF_EFORMAT with line and column, CF_ELIMIT,
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_json_read_digits(json_t **out, const char *p, size_t n, cf_error *err);

/* The spelling of such a number, borrowed; {NULL, 0} for any other value. */
cf_str cf_json_digits(const json_t *v);

CF_END_DECLS

#endif
