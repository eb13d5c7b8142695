/*
 * store_words.h - text as the word index gets it, and queries likewise.
 *
 * Scripts without spaces between words (Chinese, Japanese, Korean, Thai, Lao,
 * Khmer, Burmese) are indexed as overlapping pairs of characters, so that any
 * substring is found; all other text is left to FTS5's unicode61.
 */
#ifndef CF_STORAGE_DB_STORE_WORDS_H
#define CF_STORAGE_DB_STORE_WORDS_H

#include "core/base/buf.h"
#include "core/base/str.h"

/* Appends what is indexed for `text`: at most its first MiB. */
void cf_words__index(cf_buf *out, cf_str text);

/* True for a character of a script without spaces. */
bool cf_words__is_unspaced(uint32_t cp);

/* Appends FTS5 query syntax for one word or phrase of a person; everything
 * in it is data.  False when it holds nothing to search for. */
bool cf_words__term(cf_buf *out, cf_str text, bool is_prefix);

#endif
