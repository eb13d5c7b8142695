/*
 * page_escape.h - untrusted text for the files of a report.
 *
 * Place in the flow:  text of models, tools, templates --> [page_escape] -->
 *                     HTML, SVG, Markdown.
 *
 * In HTML and SVG only letters, digits, blanks and a few harmless marks go out
 * as they are; every other ASCII character is a numeric reference.  So no text
 * can end an element or an attribute, and the page holds no "http:", no
 * "javascript:" and no "onclick=" that it did not write itself.  Characters
 * that control a terminal, change the reading direction or show nothing are
 * written as visible escapes (\x1b, \u{202e}), bytes that are not UTF-8 as
 * \xNN.
 *
 * Threads:  no state.
 * Memory:   results are appended to the caller's buffer.
 */
#ifndef CF_TUI_PAGE_PAGE_ESCAPE_H
#define CF_TUI_PAGE_PAGE_ESCAPE_H

#include "core/base/buf.h"

/* The content of an HTML element; escapes are in <b class=x>. */
void cf_escape_html(cf_buf *out, cf_str text);
/* The same with a visible mark before each newline. */
void cf_escape_html_token(cf_buf *out, cf_str text);
/* The value of an attribute in double quotes; a newline stays one. */
void cf_escape_attr(cf_buf *out, cf_str text);
/* The same of a C string. */
void cf_escape_attrs(cf_buf *out, const char *text);
/* The content of a text element of SVG, on one line. */
void cf_escape_xml(cf_buf *out, cf_str text);

/* Markdown: a block that nothing in the text can end, with `language` after
 * the fence; and text on one line, in which nothing is markup. */
void cf_escape_md_block(cf_buf *out, const char *language, cf_str text);
void cf_escape_md_line(cf_buf *out, cf_str text);

/* Whether a code point is written as an escape. */
bool cf_escape_hides(uint32_t cp);

#endif
