/*
 * match.h - which symbols of two sequences go together.
 *
 * Myers' difference algorithm in linear space ("An O(ND) Difference Algorithm
 * and Its Variations", 1986), with two additions: symbols that the other side
 * does not have are left out first, and a search of max_cost edits takes the
 * best split found so far.  The second bounds the time to about 4 * max_cost
 * steps a symbol, for any input; as long as no search gets there, the result is
 * a longest common subsequence.
 *
 * Threads:  no state.
 */
#ifndef CF_TEMPLATES_DIFF_MATCH_H
#define CF_TEMPLATES_DIFF_MATCH_H

#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/status.h"
#include "core/base/str.h"

#define CF_MATCH_NONE UINT32_MAX

/* Symbols count from 0; CF_MATCH_NONE matches nothing. */
typedef struct cf_match_seq {
    const uint32_t *v; /* [n] */
    uint32_t n;
} cf_match_seq;

/*
 * Fills pair[0..a.n) with the index in b that goes with each symbol of a, or
 * CF_MATCH_NONE.  The indices rise, and paired symbols are equal.  `n_symbols`
 * is one more than the largest symbol.  tmp holds scratch memory and is left
 * as it was.  CF_ENOMEM; CF_ELIMIT for 2^29 symbols or more.
 */
CF_MUST_USE cf_status cf_diff__match(uint32_t *pair, cf_match_seq a, cf_match_seq b,
                                     uint32_t n_symbols, uint32_t max_cost, cf_arena *tmp,
                                     cf_error *err);

/* A table that numbers strings by first appearance. */
typedef struct cf_match_names {
    cf_str *names;    /* [cap], p NULL: empty */
    uint32_t *number; /* [cap] */
    uint32_t *tag;    /* [cap] */
    size_t mask;      /* cap - 1 */
    uint32_t n;
} cf_match_names;

/* Room for `n_max` names; memory from the arena.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_diff__names_init(cf_match_names *t, size_t n_max, cf_arena *arena,
                                          cf_error *err);

/* The number of (s, tag), a new one when it was not there.  s.p must stay. */
uint32_t cf_diff__names_get(cf_match_names *t, cf_str s, uint32_t tag);

#endif
