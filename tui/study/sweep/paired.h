/*
 * paired.h - what one difference for each prompt says about two values of an
 * axis: a mean with its interval, a probability, and how many prompts would
 * have been enough.
 *
 * Place in the flow:  a difference a prompt --> [paired] --> a comparison
 *                     (sweep_compare.h); a share of prompts --> an interval.
 * Knows: numbers.  Does not know: cells, plans.
 *
 * Fewer than CF_PAIRED_LEAST prompts that differ get the exact sign test and no
 * interval: an interval of so few promises more than was seen.  From there on
 * it is Student's t over all prompts with a correction for continuity (half of
 * what the mean moves by where the smallest difference turns its sign), since
 * shares of few checks come in steps; its level holds in simulation, also among
 * the tables that get an interval (tests/unit/tui/study/sweep/test_paired.c).
 *
 * Sources: the sign test: W. J. Conover, "Practical Nonparametric Statistics",
 * 1999, chapter 3.4; Student's t: M. Abramowitz, I. Stegun, "Handbook of
 * Mathematical Functions", 26.7.3 and 26.7.4; S. Holm, "A Simple Sequentially
 * Rejective Multiple Test Procedure", 1979; E. B. Wilson, "Probable Inference,
 * the Law of Succession, and Statistical Inference", 1927; C. Clopper, E. S.
 * Pearson, "The Use of Confidence or Fiducial Limits", 1934.
 *
 * Threads:  no state.
 * Memory:   allocates nothing.
 */
#ifndef CF_TUI_STUDY_SWEEP_PAIRED_H
#define CF_TUI_STUDY_SWEEP_PAIRED_H

#include <stdbool.h>
#include <stddef.h>

enum { CF_PAIRED_LEAST = 10 };

typedef struct cf_paired {
    size_t n;                   /* prompts */
    size_t better, worse, same; /* prompts whose difference is > 0, < 0, 0 */
    double mean, deviation;     /* of the differences; 0 where n is 0 */
    bool has_interval;          /* CF_PAIRED_LEAST prompts or more differ */
    double low, high;           /* of the mean, at 95 % */
    double p;                   /* two-sided, that nothing differs; 1 where n is 0 */
} cf_paired;

/* `difference` has a number from -1 to 1 for each of n prompts. */
cf_paired cf_paired_find(const double *difference, size_t n);

/* The two-sided p of so many signs out of fair coins. */
double cf_paired_sign_test(size_t better, size_t worse);

/* Whether a probability is clear at 5 % among the n of its family (Holm). */
bool cf_paired_is_clear(double p, const double *family, size_t n);

/* How many prompts, if they went on like these, would be clear in four of five
 * sweeps at this level (the 5 %, shared by the comparisons of an axis);
 * 0: these say nothing about it, since their mean is 0. */
size_t cf_paired_needed(const cf_paired *v, double level);

/* Wilson's interval at 95 % of a share `passed` / n; n > 0, 0 <= passed <= n. */
void cf_paired_wilson(double passed, size_t n, double *low, double *high);

#endif
