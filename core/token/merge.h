/*
 * merge.h - joining neighbouring symbols until no pair is left that joins.
 *
 * Both families of vocabularies work this way: of all neighbouring pairs
 * that a rule allows, the one with the lowest priority number is joined, the
 * leftmost of equals; its neighbours are looked at again.
 *
 * Threads:  one thread at a time for a cf_merge.
 * Memory:   scratch from the heap that grows and is kept until deinit.
 */
#ifndef CF_CORE_TOKEN_MERGE_H
#define CF_CORE_TOKEN_MERGE_H

#include "core/api/tokenizer.h"

#define CF_MERGE_NONE UINT32_MAX /* no priority: the pair does not join */

typedef struct cf_symbol {
    uint32_t off, len;     /* bytes in the text that is merged */
    uint32_t src, src_len; /* bytes in the text that was given */
    cf_token id;           /* CF_TOKEN_NONE where not looked up */
    uint32_t prio;         /* of the pair with the next symbol */
    cf_token joined;       /* what that pair becomes */
    uint32_t prev, next;   /* used in long runs only */
} cf_symbol;

/* Sets left->prio and left->joined for the pair. */
typedef void (*cf_merge_pair_fn)(void *ud, cf_symbol *left, const cf_symbol *right);

typedef struct cf_merge {
    cf_symbol *sym; /* [cap_sym]; the caller fills, merging compacts */
    size_t cap_sym;
    uint64_t *heap; /* [cap_heap]: priority, left symbol */
    size_t n_heap, cap_heap;
} cf_merge;

void cf_merge__deinit(cf_merge *m);

/* Makes room for n symbols in all; n < 2^32.  May move them. */
CF_MUST_USE cf_status cf_merge__reserve(cf_merge *m, size_t n, cf_error *err);

/* Merges sym[0..n) and returns in *n_out how many are left, in order.
 * O(n log n) calls of `pair`. */
CF_MUST_USE cf_status cf_merge__run(cf_merge *m, size_t n, size_t *n_out, cf_merge_pair_fn pair,
                                    void *ud, cf_error *err);

/* Grows *p to hold `need` items of `size` bytes, keeping the contents; at
 * least doubles.  false when memory ran out. */
bool cf_merge__grow(void **p, size_t *cap, size_t need, size_t size);

#endif
