/*
 * http_once.h - libcurl's process-wide part, set up once.
 *
 * Threads:  any.
 */
#ifndef CF_CORE_BACKEND_HTTP_ONCE_H
#define CF_CORE_BACKEND_HTTP_ONCE_H

/* To be called before anything else of libcurl. */
void cf_http_once(void);

#endif
