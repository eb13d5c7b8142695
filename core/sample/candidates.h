/*
 * candidates.h - tokens with their logits: the best, the k best, how many
 * are better.
 *
 * Order: a larger logit is better, at equal logits the smaller id.  -INFINITY
 * and values that are not numbers are no candidates.
 *
 * Threads:  no state.
 */
#ifndef CF_CORE_SAMPLE_CANDIDATES_H
#define CF_CORE_SAMPLE_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/api/tokenizer.h"

typedef struct cf_cand {
    float logit;
    cf_token id;
} cf_cand;

static inline bool cf_cand_is_better(cf_cand a, cf_cand b)
{
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

/* The best of logits[n]; CF_TOKEN_NONE without a candidate. */
cf_token cf_cand_best(const float *logits, size_t n);

/* The same among the ids whose bit is set (bit id%32 of word id/32). */
cf_token cf_cand_best_masked(const float *logits, size_t n, const uint32_t *allowed);

/* The k best of logits[n], best first, into out[k]; returns how many there
 * are.  One pass with a heap of k: O(n + k log k) for usual logits, at worst
 * O(n log k). */
size_t cf_cand_top(cf_cand *out, size_t k, const float *logits, size_t n);

/* All candidates of logits[n] whose logit is at least `least`, by id. */
size_t cf_cand_all(cf_cand *out, const float *logits, size_t n, float least);

/* How many of logits[n] are better than `c`. */
size_t cf_cand_n_better(const float *logits, size_t n, cf_cand c);

/* exp(logit - best), the weight of a candidate in a softmax whose largest
 * logit is `best`; 0 for a removed token (-inf). */
float cf_cand_weight(float logit, float best);

#endif
