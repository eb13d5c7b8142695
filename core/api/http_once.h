/*
 * http_once.h - libcurl's process-wide part, set up once.
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

/* To be called before anything else of libcurl. */
void cf_http_once(void);

CF_END_DECLS

#endif
