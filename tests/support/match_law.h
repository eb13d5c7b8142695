/*
 * match_law.h - the law of matching: time and memory follow the steps that
 * were counted.
 */
#ifndef CF_TESTS_SUPPORT_MATCH_LAW_H
#define CF_TESTS_SUPPORT_MATCH_LAW_H

#include "core/api/constraint.h"
#include "tests/support/law.h"

/* Matches p[0..n) against g, asks for the bytes that may follow, and aborts
 * where that was outside the band. */
void cf_match_law(const cf_grammar *g, const char *p, size_t n, const cf_law_band *band);

#endif
