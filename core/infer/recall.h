/*
 * recall.h - a growing list of tokens in which the end is looked up: where
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
#ifndef CF_CORE_INFER_RECALL_H
#define CF_CORE_INFER_RECALL_H

#include "core/api/tokenizer.h"
#include "core/base/status.h"

enum { CF_RECALL_GRAM = 3 };

typedef struct cf_recall {
    cf_token *ids;    /* [n], CF_TOKEN_NONE between texts */
    uint32_t *before; /* [n]: the last place with the same hash, + 1 */
    size_t n, cap, cap_before;
    uint32_t *head; /* by hash: the latest place, + 1; 0: none */
} cf_recall;

CF_MUST_USE cf_status cf_recall_init(cf_recall *out, cf_error *err);
void cf_recall_deinit(cf_recall *l);

/* Appends ids[0..n).  CF_ENOMEM, and the list is as it was. */
CF_MUST_USE cf_status cf_recall_add(cf_recall *l, const cf_token *ids, size_t n, cf_error *err);

/* Forgets all tokens from n on. */
void cf_recall_truncate(cf_recall *l, size_t n);

/* The tokens that may follow: fills out[0..cap) and returns how many; *match
 * is the number of tokens at the end that were found before (0: none). */
size_t cf_recall_find(const cf_recall *l, cf_token *out, size_t cap, size_t *match);

#endif
