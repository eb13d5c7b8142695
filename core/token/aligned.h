/*
 * aligned.h - text that was changed, each byte of which knows the bytes of
 * the input that it came from.
 *
 * A view is a stretch of text.  As long as nothing was changed it has no map:
 * its bytes are those of the input from `base` on.  An edit is where a step
 * that changes text writes its result.
 *
 * Where a token came from is defined as Hugging Face's tokenizers do: a
 * character that replaces another one stands for the same bytes, a character
 * that was put in stands for those of the character before it.
 * Source: tokenizers, src/tokenizer/normalizer.rs.
 *
 * Threads:  one thread at a time for an edit.
 */
#ifndef CF_CORE_TOKEN_ALIGNED_H
#define CF_CORE_TOKEN_ALIGNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"
#include "core/base/str.h"

/* Bytes [from, to) of the input. */
typedef struct cf_range {
    uint32_t from, to;
} cf_range;

typedef struct cf_view {
    const char *p;       /* [n], well-formed UTF-8 */
    const cf_range *map; /* [n], or NULL: the input as it is */
    size_t n;
    uint32_t base; /* offset in the input of the first byte, without a map */
} cf_view;

typedef struct cf_rewrite {
    char *p;       /* [n] */
    cf_range *map; /* [n] */
    size_t n, cap_p, cap_map;
    size_t limit; /* bytes that n may reach */
    bool no_memory, too_long;
} cf_rewrite;

void cf_rewrite_deinit(cf_rewrite *e);
/* Empties e; later views of it are invalid. */
void cf_rewrite_reset(cf_rewrite *e);
/* CF_ENOMEM or CF_ELIMIT when something could not be added. */
CF_MUST_USE cf_status cf_rewrite_check(const cf_rewrite *e, cf_error *err);

/* Appends bytes that all stand for `r`. */
void cf_rewrite_add(cf_rewrite *e, const char *p, size_t n, cf_range r);
void cf_rewrite_add_cp(cf_rewrite *e, uint32_t cp, cf_range r);
/* Appends bytes [a, b) of v with what they stand for. */
void cf_rewrite_copy(cf_rewrite *e, const cf_view *v, size_t a, size_t b);

cf_view cf_rewrite_view(const cf_rewrite *e);
/* Bytes [a, b) of v. */
cf_view cf_view_sub(const cf_view *v, size_t a, size_t b);

/* The input that byte i of v stands for: all bytes of its character. */
cf_range cf_view_at(const cf_view *v, size_t i);
/* The input of bytes [a, b); when empty, the place in front of a. */
cf_range cf_view_range(const cf_view *v, size_t a, size_t b);

static inline cf_str cf_view_str(const cf_view *v)
{
    return cf_str_make(v->p, v->n);
}

#endif
