/*
 * base64.h - bytes as base64 text, and back (RFC 4648), and such text as a URL.
 *
 * Place in the flow:  images and traces --> [base64] --> JSON, and back.
 * Knows: the alphabet and its padding.  Does not know: what the bytes are.
 *
 * Threads:  no state.
 * Memory:   results are appended to the caller's buffer.
 */
#ifndef CF_CORE_BASE_BASE64_H
#define CF_CORE_BASE_BASE64_H

#include "core/base/buf.h"
#include "core/base/decls.h"
#include "core/base/str.h"

CF_BEGIN_DECLS

void cf_base64_put(cf_buf *b, cf_str bytes);

/* Appends the bytes of `text`; false, with `b` as it was, when it is not what
 * cf_base64_put writes. */
bool cf_base64_get(cf_buf *b, cf_str text);

/* Appends "data:MIME;base64,TEXT" (RFC 2397), of bytes that are base64
 * already. */
void cf_data_url_put(cf_buf *b, cf_str mime, cf_str base64);
/* Takes such a text apart; false, with both as they were, for any other.
 * *mime has no parameters. */
bool cf_data_url_get(cf_str url, cf_str *mime, cf_str *base64);

CF_END_DECLS

#endif
