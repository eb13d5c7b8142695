/*
 * utf8.h - UTF-8 by code point, with invalid bytes as a case of their own.
 *
 * Place in the flow:  any text --> [utf8] --> tokenizers, templates, screen.
 * Knows: well-formed sequences (Unicode Standard, table 3-7).  Does not know:
 * properties of characters, grapheme clusters, width.
 *
 * Threads:  no state.
 * Memory:   allocates nothing but what a buffer grows by.
 */
#ifndef CF_CORE_BASE_UTF8_H
#define CF_CORE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/str.h"

CF_BEGIN_DECLS

#define CF_UTF8_BAD UINT32_MAX

/* Decodes the code point at p[0..n), n > 0, into *cp and returns its length
 * in bytes (1 to 4).  A byte that starts no well-formed sequence (overlong,
 * surrogate, over U+10FFFF, truncated) gives CF_UTF8_BAD and length 1. */
size_t cf_utf8_decode(uint32_t *cp, const char *p, size_t n);

/* Writes cp (a scalar value) to out and returns its length, 1 to 4. */
size_t cf_utf8_encode(char out[4], uint32_t cp);

/* The UTF-16 code unit that the four hexadecimal digits at p[0..n) spell; -1
 * where they are not there. */
int cf_utf16_unit(const char *p, size_t n);

/* Reads the escape of JSON at p[0..n), "\u0041" or a pair as in
 * "\uD83D\uDE00", into *cp and returns its length, 6 or 12; 0 where the digits
 * are broken.  Half a pair is read as U+FFFD. */
size_t cf_utf16_escape(uint32_t *cp, const char *p, size_t n);

/* Length of the longest well-formed prefix; n when all of it is valid. */
size_t cf_utf8_valid_prefix(const char *p, size_t n);

/* Bytes at the end of p[0..n) that start a sequence which more bytes could
 * complete: 0 to 3.  Text is released up to n minus this. */
size_t cf_utf8_incomplete_tail(const char *p, size_t n);

/* Copies s into out[0..cap), cap > 0, with a NUL after it.  A text that is too
 * long is cut at a character boundary.  Returns the length. */
size_t cf_utf8_copy(char *out, size_t cap, cf_str s);

/* Appends s with U+FFFD for each byte that is not UTF-8. */
void cf_utf8_repair(cf_buf *out, cf_str s);

/* Number of code points; each bad byte counts as one. */
size_t cf_utf8_count(const char *p, size_t n);

CF_END_DECLS

#endif
