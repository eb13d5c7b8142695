/*
 * special.h - finding tokens that are taken from text as a whole, before
 * anything is split: user-defined ones always, control tokens on request.
 *
 * The leftmost token wins, and of those that start there the longest.
 *
 * Threads:  constant after init.
 */
#ifndef CF_CORE_TOKEN_SPECIAL_H
#define CF_CORE_TOKEN_SPECIAL_H

#include "core/token/vocab.h"

enum { CF_SPECIAL_MAX = 1024 }; /* bytes of the longest such token */

typedef struct cf_specials {
    const cf_vocab *vocab;
    cf_token *id; /* [n], ordered by spelling */
    size_t n;
    uint32_t first[257]; /* id[first[c] .. first[c + 1]) start with byte c */
} cf_specials;

typedef struct cf_special_hit {
    cf_token id; /* CF_TOKEN_NONE: none in the range */
    size_t off, len;
} cf_special_hit;

/* A walk over the text's stretches in which control tokens count. */
typedef struct cf_special_walk {
    const cf_text_span *span; /* [n_span] */
    size_t n_span, next;
    size_t from, to; /* the stretch at or after the last position asked for;
                        neighbouring spans are one stretch */
} cf_special_walk;

/* The end of the stretch that `at` is in, 0 when it is in none; positions
 * asked for never fall. */
size_t cf_special_walk__end(cf_special_walk *w, size_t at);

/* Collects them.  CF_ENOMEM; CF_ELIMIT for one over CF_SPECIAL_MAX. */
CF_MUST_USE cf_status cf_specials__init(cf_specials *s, const cf_vocab *v, cf_error *err);
void cf_specials__deinit(cf_specials *s);

/* The first token in text[at..).  A control token counts only where all of
 * its bytes are in one stretch of `walk`; positions asked for never fall. */
cf_special_hit cf_specials__next(const cf_specials *s, cf_special_walk *walk, cf_str text,
                                 size_t at);

#endif
