/*
 * http_ask.h - a client of HTTP servers under test.
 */
#ifndef CF_TESTS_SUPPORT_HTTP_ASK_H
#define CF_TESTS_SUPPORT_HTTP_ASK_H

#include "core/base/buf.h"

/* Asks base + path, with headers separated by newlines (may be NULL).  `body`
 * NULL: GET.  The answer's body replaces what is in `out`.  Returns the
 * status; -1 when the answer broke off, or there was none. */
long http_ask(const char *base, const char *path, const char *headers, const char *body,
              cf_buf *out);

#endif
