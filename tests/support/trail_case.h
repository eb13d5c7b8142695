/*
 * trail_case.h - small sessions of every agent that confab reads, made for the
 * tests: branches, sub-agents, compactions, errors, records that are left out.
 */
#ifndef CF_TESTS_SUPPORT_TRAIL_CASE_H
#define CF_TESTS_SUPPORT_TRAIL_CASE_H

#include <stddef.h>

typedef struct trail_case {
    const char *format, *file; /* a name for the file */
    const char *text;          /* its contents */
    const char *events;        /* with findings, as JSON lines */
} trail_case;

extern const trail_case trail_cases[]; /* [n_trail_cases] */
extern const size_t n_trail_cases;

#endif
