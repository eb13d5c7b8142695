/*
 * origin.h - the scheme, host and port of an address, as libcurl would connect
 * to it.
 *
 * Place in the flow:  an address from a command line or a file --> [origin] -->
 *                     who may get the key.
 * Knows: libcurl's reading of addresses.  Does not know: who named them.
 *
 * Threads:  any.
 * Memory:   appends to the caller's buffer.
 */
#ifndef CF_CORE_NET_ORIGIN_H
#define CF_CORE_NET_ORIGIN_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/status.h"

/* Appends "scheme://host:port" in lower case, with the scheme's own port where
 * the address has none (RFC 6454, section 4).  CF_EINVAL for what is not an
 * http or https address; CF_ENOMEM. */
CF_MUST_USE cf_status cf_origin_of(cf_buf *out, const char *address, cf_error *err);

/* Whether two addresses have the same scheme, host and port; false where one is
 * not an address, or memory runs out. */
bool cf_origin_is_same(const char *a, const char *b);

#endif
