/*
 * http_once.h - libcurl's process-wide state, set up once, and the options of
 * every transfer.
 *
 * Place in the flow:  whatever asks over HTTP --> [http once] --> libcurl.
 * Knows: that libcurl has such a part.  Does not know: who asks, or what.
 *
 * Threads:  any.
 * Memory:   libcurl's, until the process ends.
 */
#ifndef CF_CORE_API_HTTP_ONCE_H
#define CF_CORE_API_HTTP_ONCE_H

#include "core/base/decls.h"

CF_BEGIN_DECLS

/* Call before any other function of libcurl. */
void cf_http_once(void);

/* Options of a CURL handle, after it was made or reset: http and https only, no
 * redirects, no signals, and an end that waits for nothing. */
void cf_http_usual(void *easy);

CF_END_DECLS

#endif
