/*
 * loop.h - whether a reply has begun to repeat itself, from which token on, and
 * how likely it was to stop.
 *
 * Place in the flow:  tokens of a reply, one by one --> [loop watch] --> a run
 *                     with its period --> the screen, a stop.
 * Knows: token ids.  Does not know: text, why they were drawn.
 *
 * A suffix automaton (Blumer et al., "The smallest automaton recognizing the
 * subwords of a text", TCS 40, 1985) has the longest end of the tokens that
 * occurred before.  Where that occurrence overlaps the end, the tokens are
 * periodic.  A run counts as a loop from 32 tokens and four periods on (three,
 * where the period is 64 tokens or more).
 *
 * Threads:  one thread at a time.
 * Memory:   bounded: the automaton holds the last 1024 to 2048 tokens.
 */
#ifndef CF_CORE_API_LOOP_H
#define CF_CORE_API_LOOP_H

#include "core/api/tokenizer.h"
#include "core/base/decls.h"

CF_BEGIN_DECLS

/* Tokens [first, first + length) of a reply repeat after `period` tokens. */
typedef struct cf_loop {
    size_t first, period, length; /* length 0: none */
} cf_loop;

typedef struct cf_loop_watch cf_loop_watch;

/* CF_ENOMEM. */
CF_MUST_USE cf_status cf_loop_watch_new(cf_loop_watch **out, cf_error *err);
void cf_loop_watch_free(cf_loop_watch *watch);

/* Adds the next token.  CF_ENOMEM: the watch can only be freed. */
CF_MUST_USE cf_status cf_loop_watch_add(cf_loop_watch *watch, cf_token id, cf_error *err);

/* The loop that the last token is in; length 0: none. */
cf_loop cf_loop_watch_get(const cf_loop_watch *watch);

/* The longest loop among ids[0..n).  CF_ENOMEM. */
CF_MUST_USE cf_status cf_loop_find(cf_loop *out, const cf_token *ids, size_t n, cf_error *err);

/*
 * The first repeated token from which on the way out stayed below `least` to
 * the loop's end: p[i] is the probability that token i had, and 1 - p[i] what
 * every other token had together.  SIZE_MAX where it was open at the end, or
 * there is no loop.
 */
size_t cf_loop_trap(const cf_loop *loop, const float *p, float least);

CF_END_DECLS

#endif
