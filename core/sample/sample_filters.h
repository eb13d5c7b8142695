/*
 * sample_filters.h - top-p, min-p and temperature over candidates.  (Top-k is
 * cf_cand_top.)
 *
 * Threads:  no state.
 */
#ifndef CF_CORE_SAMPLE_SAMPLE_FILTERS_H
#define CF_CORE_SAMPLE_SAMPLE_FILTERS_H

#include "core/sample/candidates.h"

/* Sum of the softmax weights of logits[n], largest logit `best`; in order. */
double cf_filter_sum_all(const float *logits, size_t n, float best);

/* The same over candidates. */
double cf_filter_sum(const cf_cand *c, size_t n, float best);

/* How many of c[n], best first, top-p keeps when the weights of everything
 * in the distribution sum to `total`: at least 1.  *is_enough says whether
 * they reach p, so that a caller with more candidates can go on. */
size_t cf_filter_top_p(const cf_cand *c, size_t n, float p, double total, bool *is_enough);

/* The least logit that min-p keeps. */
float cf_filter_min_p_logit(float best, float min_p);

/* Weights of c[n] at a temperature > 0 into weight[n]; returns their sum.
 * c's largest logit is `best`. */
double cf_filter_temper(float *weight, const cf_cand *c, size_t n, float best, float temperature);

/* Index of the candidate that r in [0, 1) falls on; n > 0. */
size_t cf_filter_pick(const float *weight, size_t n, double sum, double r);

#endif
