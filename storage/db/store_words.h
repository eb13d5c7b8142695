/*
 * store_words.h - text prepared for the word index, and queries likewise.
 *
 * Scripts without spaces between words (Chinese, Japanese, Korean, Thai, Lao,
 * Khmer, Burmese) are indexed as overlapping pairs of characters, so that any
 * substring is found; all other text is left to FTS5's unicode61.
 */
#ifndef CF_STORAGE_DB_STORE_WORDS_H
#define CF_STORAGE_DB_STORE_WORDS_H

#include "core/base/buf.h"
#include "core/base/str.h"

/* Appends the indexed form of `text`: of its first MiB at most. */
void cf_words__index(cf_buf *out, cf_str text);

/* True for a character of a script without spaces. */
bool cf_words__is_unspaced(uint32_t cp);

/* Appends a quoted FTS5 term for a word or phrase the user typed.  Returns
 * false if nothing searchable is left. */
bool cf_words__term(cf_buf *out, cf_str text, bool is_prefix);

#endif
