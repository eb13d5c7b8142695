/*
 * safe_text.h - untrusted text for a terminal.
 *
 * Place in the flow:  text of a model, tool, file or template --> [safe_text]
 *                     --> the screen or standard output.
 * Knows: which code points a terminal must not get.  Does not know: cells,
 * colours, languages.
 *
 * Such text may hold characters that move the cursor, start an escape
 * sequence, reverse the reading direction or show nothing at all.  Each of
 * them is written out as a visible escape:
 *
 *   C0 except newline and tab, DEL, bytes that are not UTF-8    \x1b
 *   C1 (U+0080..U+009F)                                         \u{9b}
 *   line and paragraph separator, bidi controls                 \u{202e}
 *   interlinear marks, tag characters, noncharacters            \u{e0041}
 *
 * The backslash itself is left alone: the result is for reading, not for
 * parsing back.
 *
 * Threads:  no state.
 * Memory:   results are appended to the caller's buffer.
 */
#ifndef CF_CORE_BASE_SAFE_TEXT_H
#define CF_CORE_BASE_SAFE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/decls.h"

CF_BEGIN_DECLS

enum { CF_SAFE_ESCAPE_MAX = 10 }; /* "\u{10ffff}" */

/* Whether this code point must be escaped before it goes to a terminal.
 * Newline and tab count as safe. */
bool cf_safe_is_harmful(uint32_t cp);

/* Writes the visible escape of a code point to out (no NUL) and returns its
 * length; newline and tab become \n and \t. */
size_t cf_safe_escape(char out[CF_SAFE_ESCAPE_MAX], uint32_t cp);

/* The same for a byte that is not UTF-8: \xNN. */
size_t cf_safe_escape_byte(char out[CF_SAFE_ESCAPE_MAX], unsigned char byte);

/* Appends p[0..n) with everything harmful escaped.  A stream is cut at
 * character boundaries first (cf_utf8_incomplete_tail), or halves of a
 * character are escaped as bad bytes. */
void cf_safe_text(cf_buf *out, const char *p, size_t n);

/* The same for what must stay on one line: newline becomes \n, tab \t. */
void cf_safe_line(cf_buf *out, const char *p, size_t n);

CF_END_DECLS

#endif
