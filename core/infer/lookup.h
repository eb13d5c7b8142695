/*
 * lookup.h - a growing list of tokens in which the end is looked up: where
 * did its last tokens stand before, and which followed?
 *
 * Three tokens are the least that counts as the same place; of several places
 * the one that goes back furthest is taken, of equals the latest.
 *
 * Threads:  one thread at a time.
 * Memory:   eight bytes a token, and 64 KiB.
 *
 * Private to core/infer.
 */
#ifndef CF_CORE_INFER_LOOKUP_H
#define CF_CORE_INFER_LOOKUP_H

#include "core/api/tokenizer.h"
#include "core/base/status.h"

enum { CF_LOOKUP_GRAM = 3 };

typedef struct cf_lookup {
    cf_token *ids;    /* [n], CF_TOKEN_NONE between texts */
    uint32_t *before; /* [n]: the last place with the same hash, + 1 */
    size_t n, cap, cap_before;
    uint32_t *head; /* by hash: the latest place, + 1; 0: none */
} cf_lookup;

CF_MUST_USE cf_status cf_lookup_init(cf_lookup *out, cf_error *err);
void cf_lookup_deinit(cf_lookup *l);

/* Appends ids[0..n).  CF_ENOMEM, and the list is as it was. */
CF_MUST_USE cf_status cf_lookup_add(cf_lookup *l, const cf_token *ids, size_t n,
                                    cf_error *err);

/* Forgets all tokens from n on. */
void cf_lookup_truncate(cf_lookup *l, size_t n);

/* The tokens that may follow: fills out[0..cap) and returns how many; *match
 * is the number of tokens at the end that were found before (0: none). */
size_t cf_lookup_find(const cf_lookup *l, cf_token *out, size_t cap,
                      size_t *match);

#endif
