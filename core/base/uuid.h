/*
 * uuid.h - UUIDs as 16 bytes and as text (RFC 9562).
 *
 * Place in the flow:  new turns and conversations --> [uuid] --> the store.
 * Knows: versions 7 and text forms.  Does not know: what an id names.
 *
 * Threads:  cf_uuid_new() may be called from any thread; two calls in one
 *           process never give the same value, and later calls sort later.
 * Memory:   values; allocates nothing.
 */
#ifndef CF_CORE_BASE_UUID_H
#define CF_CORE_BASE_UUID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/decls.h"

CF_BEGIN_DECLS

enum { CF_UUID_TEXT = 36 };

typedef struct cf_uuid {
    uint8_t b[16]; /* big-endian, as printed */
} cf_uuid;

/* A new version 7 UUID: 48 bits of cf_os_now_ms(), then random bits, made
 * to increase within a millisecond (RFC 9562, 6.2 method 2). */
cf_uuid cf_uuid_new(void);

/* Reads 36 characters, either case, any version.  False when malformed. */
bool cf_uuid_parse(cf_uuid *out, const char *text, size_t n);

/* Writes 36 lower-case characters and a NUL. */
void cf_uuid_format(char out[CF_UUID_TEXT + 1], cf_uuid id);

bool cf_uuid_eq(cf_uuid a, cf_uuid b);
bool cf_uuid_is_nil(cf_uuid id);

CF_END_DECLS

#endif
