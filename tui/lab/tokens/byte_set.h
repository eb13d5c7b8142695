/*
 * byte_set.h - a set of bytes as readable text, for what a constraint allows next.
 *
 * Threads:  a pure function.
 */
#ifndef CF_TUI_LAB_TOKENS_BYTE_SET_H
#define CF_TUI_LAB_TOKENS_BYTE_SET_H

#include "core/base/buf.h"

/* Appends the bytes whose bit is set as ranges: "a-z", '"', \x0a. */
void cf_byte_set_write(cf_buf *out, const uint32_t set[8]);

#endif
