/*
 * fault.h - an allocator that counts blocks and fails on request.
 */
#ifndef CF_TESTS_SUPPORT_FAULT_H
#define CF_TESTS_SUPPORT_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/status.h"

/* Puts the counting allocator in place; call before anything allocates. */
void cf_fault_install(void);

/* The nth allocation from now fails (1: the next); persist: and all after. */
void cf_fault_arm(size_t nth, bool persist);
/* Stops failing; returns whether an allocation was made to fail. */
bool cf_fault_disarm(void);

size_t cf_fault_live(void);  /* blocks not freed */
size_t cf_fault_total(void); /* allocations since the program started */

/* Runs `body` with the 1st, 2nd, 3rd ... allocation failing until none does.
 * Each run must leak no block and return CF_ENOMEM, or CF_OK when
 * the failure was harmless; the last must return CF_OK.  Fails the test
 * otherwise. */
void cf_fault_every_alloc(cf_status (*body)(void *), void *ud, bool persist);

#endif
