/*
 * law.h - limits as laws: aborts when work was done that was not counted.
 *
 * Code that reads hostile input counts its steps and stops at a bound.  That
 * helps only where time and memory follow the count.  A fuzz target brackets
 * the code with cf_law_begin() and cf_law_check(): processor time for each
 * counted step and memory for each counted byte must stay inside a band that
 * is wide enough for sanitizers and slow machines, and far too narrow for an
 * operation that is not counted, which is off by thousands.
 *
 * Threads:  one at a time.
 * Memory:   the allocator of core/base is replaced by one that counts.
 */
#ifndef CF_TESTS_SUPPORT_LAW_H
#define CF_TESTS_SUPPORT_LAW_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Puts the counting allocator in place; call before anything allocates.  More
 * calls do nothing. */
void cf_law_install(void);

/* Bytes in use now, and at most since the last cf_law_peak_reset(). */
size_t cf_law_live(void);
size_t cf_law_peak(void);
void cf_law_peak_reset(void);

typedef struct cf_law_band {
    const char *what;
    double seconds, seconds_per_step;
    size_t bytes, bytes_per_step;
} cf_law_band;

typedef struct cf_law {
    clock_t from;
    size_t live;
} cf_law;

/* Installs the allocator too, so that it may be the first call of a target. */
cf_law cf_law_begin(void);
/* Aborts with a line when the work since cf_law_begin() took more processor
 * time or more memory than `steps` allow. */
void cf_law_check(const cf_law *l, const cf_law_band *band, uint64_t steps);

#endif
