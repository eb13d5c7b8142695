/*
 * base64.h - bytes as letters, and back.
 *
 * Threads:  no state.
 */
#ifndef CF_CORE_BASE_BASE64_H
#define CF_CORE_BASE_BASE64_H

#include "core/base/buf.h"
#include "core/base/str.h"

void cf_base64_put(cf_buf *b, cf_str bytes);

/* Appends the bytes of `text`; false, with `b` as it was, when it is not what
 * cf_base64_put writes. */
bool cf_base64_get(cf_buf *b, cf_str text);

#endif
