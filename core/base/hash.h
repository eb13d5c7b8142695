/*
 * hash.h - SHA-256 (FIPS 180-4, through nettle), for content addresses.
 *
 * Place in the flow:  messages, templates, prompts --> [hash] --> the store.
 * Knows: bytes.  Does not know: what they mean.
 *
 * Threads:  no state.
 * Memory:   results are written to the caller's array.
 */
#ifndef CF_CORE_BASE_HASH_H
#define CF_CORE_BASE_HASH_H

#include <stddef.h>

#include "core/base/decls.h"

CF_BEGIN_DECLS

enum { CF_HASH_TEXT = 64 };

/* Writes the SHA-256 of p[0..n) as 64 lower-case hex digits and a NUL. */
void cf_hash_hex(char out[CF_HASH_TEXT + 1], const void *p, size_t n);

CF_END_DECLS

#endif
