/*
 * sample_filters.c - filters candidates.  Sums run in the order of the
 * candidates, in double, so that the same logits always give the same token.
 */
#include "core/sample/sample_filters.h"

#include <math.h>

double cf_filter_sum_all(const float *logits, size_t n, float best)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += cf_cand_weight(logits[i], best);
    }
    return sum;
}

double cf_filter_sum(const cf_cand *c, size_t n, float best)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += cf_cand_weight(c[i].logit, best);
    }
    return sum;
}

size_t cf_filter_top_p(const cf_cand *c, size_t n, float p, double total, bool *is_enough)
{
    double want = (double)p * total;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += cf_cand_weight(c[i].logit, c[0].logit);
        if (sum >= want) {
            *is_enough = true;
            return i + 1;
        }
    }
    *is_enough = false;
    return n;
}

float cf_filter_min_p_logit(float best, float min_p)
{
    return best + logf(min_p);
}

double cf_filter_temper(float *weight, const cf_cand *c, size_t n, float best, float temperature)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        weight[i] = c[i].logit == best ? 1.0f : expf((c[i].logit - best) / temperature);
        sum += weight[i];
    }
    return sum;
}

size_t cf_filter_pick(const float *weight, size_t n, double sum, double r)
{
    double target = r * sum;
    double at = 0;
    size_t last = 0; /* rounding may leave the target unreached */
    for (size_t i = 0; i < n; i++) {
        if (weight[i] > 0) {
            at += weight[i];
            last = i;
            if (at > target) {
                return i;
            }
        }
    }
    return last;
}
