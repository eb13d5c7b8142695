/*
 * penalties.h - what the tokens before do to the next one.
 *
 * Threads:  one thread at a time (counts are kept in scratch).
 */
#ifndef CF_CORE_SAMPLE_PENALTIES_H
#define CF_CORE_SAMPLE_PENALTIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/api/tokenizer.h"

typedef struct cf_penalties {
    float repetition; /* >= 1; 1 is off */
    float presence, frequency;
    uint32_t window; /* tokens; 0: all */
} cf_penalties;

bool cf_penalties_are_on(const cf_penalties *p);

/* Changes logits[n] of the tokens that occur in the window at the end of
 * past[n_past].  count[n] is scratch: zero before, zero after.  Ids outside
 * 0..n-1 are ignored. */
void cf_penalties_apply(const cf_penalties *p, float *logits, size_t n, const cf_token *past,
                        size_t n_past, uint32_t *count);

/* Sets logits to -INFINITY for every token that would complete an n-gram
 * already seen in the window (the last `window` tokens, 0: all; raised to
 * `ngram`), and the token's bit in banned[], which starts out zero and may be
 * NULL. */
void cf_no_repeat_apply(uint32_t ngram, uint32_t window, float *logits, size_t n,
                        const cf_token *past, size_t n_past, uint32_t *banned);

#endif
