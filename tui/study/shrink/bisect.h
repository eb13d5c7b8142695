/*
 * bisect.h - finds the single change that turns a good version into a bad one.
 *
 * Place in the flow:  two lists of items (lines of two templates, messages and
 *                     tools of two conversations) --> changes between them -->
 *                     [bisect] --> the change after which a predicate holds.
 * The first k changes are applied in order, and k is found by bisection, in a
 * number of steps that is logarithmic in the number of changes.  Adjacent items
 * that changed are one change at first; the one that is found is then cut into its
 * items in the same way.  The result turns good into bad after what was before it;
 * whether it suffices alone, and if not whether it still does so, is asked last.
 *
 * Threads:  one thread at a time.
 * Memory:   items are borrowed; a bisection owns its list of changes.
 */
#ifndef CF_TUI_STUDY_SHRINK_BISECT_H
#define CF_TUI_STUDY_SHRINK_BISECT_H

#include "core/base/buf.h"

/* Items [a, a + n_a) of the good version became [b, b + n_b) of the bad. */
typedef struct cf_change {
    size_t a, n_a, b, n_b;
} cf_change;

/* Whether the version with these items is bad. */
typedef cf_status (*cf_bisect_fn)(void *ud, const cf_str *items, size_t n, bool *is_bad,
                                  cf_error *err);

typedef struct cf_bisect {
    const cf_str *good, *bad; /* [n_good], [n_bad] */
    size_t n_good, n_bad;
    cf_change *change; /* [n_change] in order */
    size_t n_change, cap_change;
    char head;      /* an item that begins with it owns those after it, so that
                       changes with one are not cut; 0: none does */
    size_t found;   /* index of the change, which was cut; set by cf_bisect_run() */
    bool is_enough; /* it turns good into bad alone */
    bool holds;     /* the last answer: it turned good into bad when asked again */
    size_t n_runs;
    cf_bisect_fn fn; /* of the run */
    void *ud;
} cf_bisect;

/* Finds the changes between the two; free with cf_bisect_deinit().
 * CF_ENOMEM. */
CF_MUST_USE cf_status cf_bisect_init(cf_bisect *b, const cf_str *good, size_t n_good,
                                     const cf_str *bad, size_t n_bad, cf_error *err);
void cf_bisect_deinit(cf_bisect *b);

/* CF_EINVAL when the versions are equal, the good one is bad, or the bad one
 * is good; errors of `fn`. */
CF_MUST_USE cf_status cf_bisect_run(cf_bisect *b, cf_bisect_fn fn, void *ud, cf_error *err);

#endif
