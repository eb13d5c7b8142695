/*
 * unicode.h - properties of characters that tokenizers ask for.
 *
 * Source: the Unicode Character Database, through utf8proc.
 */
#ifndef CF_CORE_TOKEN_UNICODE_H
#define CF_CORE_TOKEN_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/str.h"

bool cf_unicode_is_white(uint32_t cp); /* White_Space */
bool cf_unicode_is_mark(uint32_t cp);  /* Mn, Mc, Me */
bool cf_unicode_is_other(uint32_t cp); /* Cc, Cf, Co */
/* ASCII punctuation, signs such as + and $ included, and P* as of Unicode 8:
 * the table of the crate that Hugging Face's tokenizers use. */
bool cf_unicode_is_punct(uint32_t cp);
bool cf_unicode_is_numeric(uint32_t cp); /* Nd, Nl, No */
/* Alphabetic, marks, Nd, Pc, U+200C and U+200D (UTS #18, annex C). */
bool cf_unicode_is_word(uint32_t cp);

/* Letters of Unicode 15 and 16, which older libraries do not know, as pairs of
 * first and last: [n]. */
const uint32_t (*cf_unicode_new_letters(size_t *n))[2];

/* The first byte at or after `at` that starts another character than white
 * space, and the end of the last one before `end`. */
size_t cf_unicode_skip_white(cf_str s, size_t at);
size_t cf_unicode_trim_white(cf_str s, size_t end);

/* The character that ends at byte `end` > 0 of s, and its length. */
size_t cf_unicode_last(cf_str s, size_t end, uint32_t *cp);

#endif
