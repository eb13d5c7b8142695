/*
 * prefix_cache.h - what sessions do with a cache of prefixes.
 *
 * Private to core/infer.
 */
#ifndef CF_CORE_INFER_PREFIX_CACHE_H
#define CF_CORE_INFER_PREFIX_CACHE_H

#include "core/api/prefix.h"
#include "core/infer/session_impl.h"

/* What a session got. */
typedef struct cf_prefix_loan {
    uint32_t n;   /* tokens; 0: nothing */
    uint64_t of;  /* the prompt they are from */
    bool is_sure; /* false: from a file, and not checked yet */
} cf_prefix_loan;

/*
 * Makes the session's timeline the beginning of ids[0..n) that the cache has,
 * in whole blocks and at most n - 1 tokens, where that is more than it has
 * ready.  With is_sure only from prompts that need no check.  Where memory
 * runs out it gets nothing.
 */
cf_prefix_loan cf_prefix__borrow(cf_session *s, const cf_token *ids, size_t n, bool is_sure);

/* How many tokens cf_prefix__borrow() would leave the session with; 0: it would
 * lend nothing. */
uint32_t cf_prefix__would_lend(const cf_session *s, const cf_token *ids, size_t n);

/* The check of a loan came out well, or the prompt is to be forgotten. */
void cf_prefix__judge(cf_prefix_cache *cache, uint64_t of, bool is_good);

/* Leaves the session's whole blocks in its cache. */
void cf_prefix__offer(const cf_session *s);

#endif
