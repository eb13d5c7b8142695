/*
 * text_cut.h - a text as its sentences or words.
 *
 * Place in the flow:  messages --> [text_cut] --> studies.
 * Knows: where they end.  Does not know: what they are for.
 *
 * Threads:  pure functions.
 * Memory:   nothing is kept.
 */
#ifndef CF_CORE_BASE_TEXT_CUT_H
#define CF_CORE_BASE_TEXT_CUT_H

#include "core/base/str.h"

/* Calls fn with the bytes of each sentence (or word), white space after it
 * included, until it returns false. */
void cf_text_cut(cf_str text, bool words, bool (*fn)(void *ud, size_t off, size_t len), void *ud);

#endif
