/*
 * http_header.h - one line of the head of an HTTP answer.
 *
 * Place in the flow:  a line from the network --> [http header] --> its value.
 * Knows: names, colons, white space.  Does not know: what a value means.
 *
 * Threads:  reads its arguments only.
 * Memory:   a value is borrowed from the line.
 */
#ifndef CF_CORE_NET_HTTP_HEADER_H
#define CF_CORE_NET_HTTP_HEADER_H

#include "core/base/str.h"

/* Whether `line`, with or without its end, is the header `name`, which is in
 * lower case; *value is then what follows the colon, without white space
 * around it.  RFC 9112, section 5. */
bool cf_http_header(cf_str line, const char *name, cf_str *value);

#endif
