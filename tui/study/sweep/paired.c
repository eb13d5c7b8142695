/*
 * paired.c - exact tests and intervals of paired differences.
 */
#include "tui/study/sweep/paired.h"

#include <math.h>

static const double PI = 3.14159265358979323846;
static const double LEVEL = 0.05;
static const double Z_975 = 1.959963984540054; /* quantiles of the normal distribution */
static const double Z_80 = 0.8416212335729143;
static const double NOTHING = 1e-9; /* means of shares that are equal differ by rounding */

double cf_paired_sign_test(size_t better, size_t worse)
{
    size_t n = better + worse, least = better < worse ? better : worse;
    double term = exp2(-(double)n), sum = 0;
    for (size_t k = 0; k <= least; k++) {
        sum += term;
        term *= (double)(n - k) / (double)(k + 1);
    }
    return fmin(1, 2 * sum);
}

/* The two-sided p of Student's t with so many degrees of freedom: a finite
 * series in the cosine, by parity. */
static double t_test(double t, size_t freedom)
{
    double theta = atan(fabs(t) / sqrt((double)freedom));
    double c = cos(theta), s = sin(theta);
    bool is_odd = freedom % 2 == 1;
    double term = is_odd ? c : 1, sum = freedom > 1 ? term : 0;
    for (size_t k = is_odd ? 3 : 2; k < freedom; k += 2) {
        term *= c * c * (double)(k - 1) / (double)k;
        sum += term;
    }
    double inside = is_odd ? 2 / PI * (theta + s * sum) : s * sum;
    return fmin(1, fmax(0, 1 - inside));
}

/* The t that 95 % of the distribution lie within. */
static double t_quantile(size_t freedom)
{
    double low = 1, high = 13; /* of one degree: 12.7 */
    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;
        *(t_test(middle, freedom) > LEVEL ? &low : &high) = middle;
    }
    return high;
}

/* All prompts differ by the same: nothing spreads, so the interval goes as far
 * as a share of unseen prompts at the other end would move the mean, the share
 * being Clopper and Pearson's upper limit of 0 of n. */
static void widen(cf_paired *v)
{
    double share = 1 - pow(LEVEL / 2, 1 / (double)v->n);
    double other = v->mean > 0 ? -1 : 1;
    double end = v->mean + share * (other - v->mean);
    v->low = fmin(v->mean, end);
    v->high = fmax(v->mean, end);
}

/* Returns the smallest difference that is not 0. */
static double find_moments(cf_paired *v, const double *difference)
{
    double sum = 0, squares = 0, least = 2;
    for (size_t i = 0; i < v->n; i++) {
        sum += difference[i];
        v->better += difference[i] > NOTHING;
        v->worse += difference[i] < -NOTHING;
        least = fabs(difference[i]) > NOTHING ? fmin(least, fabs(difference[i])) : least;
    }
    v->same = v->n - v->better - v->worse;
    v->mean = sum / (double)v->n;
    for (size_t i = 0; i < v->n; i++) {
        squares += (difference[i] - v->mean) * (difference[i] - v->mean);
    }
    v->deviation = v->n > 1 ? sqrt(squares / (double)(v->n - 1)) : 0;
    return least;
}

cf_paired cf_paired_find(const double *difference, size_t n)
{
    cf_paired v = {.n = n, .p = 1};
    if (n == 0) {
        return v;
    }
    double step = find_moments(&v, difference) / (double)n; /* of the mean, where a sign turns */
    v.has_interval = v.better + v.worse >= CF_PAIRED_LEAST;
    v.p = cf_paired_sign_test(v.better, v.worse);
    if (v.has_interval && v.deviation < NOTHING) {
        widen(&v);
    } else if (v.has_interval) {
        double error = v.deviation / sqrt((double)n);
        double reach = t_quantile(n - 1) * error + step;
        v.p = t_test(fmax(0, fabs(v.mean) - step) / error, n - 1);
        v.low = v.mean - reach;
        v.high = v.mean + reach;
    }
    return v;
}

bool cf_paired_is_clear(double p, const double *family, size_t n)
{
    /* Each p up to this one must be below its own step of the level. */
    for (size_t i = 0; i < n; i++) {
        size_t below = 0, alike = 0;
        for (size_t k = 0; k < n; k++) {
            below += family[k] < family[i];
            alike += family[k] == family[i] && k < i;
        }
        if (family[i] <= p && family[i] > LEVEL / (double)(n - below - alike)) {
            return false;
        }
    }
    return p <= LEVEL;
}

/* The normal quantile that leaves `level` outside, both sides together. */
static double normal_quantile(double level)
{
    double low = 0, high = 40;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(erfc(middle / sqrt(2)) > level ? &low : &high) = middle;
    }
    return high;
}

size_t cf_paired_needed(const cf_paired *v, double level)
{
    size_t n_differ = v->better + v->worse;
    if (n_differ == 0 || fabs(v->mean) < NOTHING) {
        return 0;
    }
    /* n = ((z of the level + z of the power) * deviation / mean)^2, and at least
     * the fewest prompts that differ all in one direction. */
    double z = normal_quantile(level) + Z_80;
    double n = pow(z * v->deviation / v->mean, 2);
    double fewest = ceil(1 - log2(level)) * (double)v->n / (double)n_differ;
    return (size_t)fmin(ceil(fmax(n, fewest)), 1e9);
}

void cf_paired_wilson(double passed, size_t n, double *low, double *high)
{
    double z2 = Z_975 * Z_975, all = (double)n, share = passed / all;
    double middle = (share + z2 / (2 * all)) / (1 + z2 / all);
    double reach = Z_975 * sqrt(share * (1 - share) / all + z2 / (4 * all * all)) / (1 + z2 / all);
    *low = fmax(0, middle - reach);
    *high = fmin(1, middle + reach);
}
