/*
 * xchg_markdown.h - what the writer and the reader of Markdown agree on.
 */
#ifndef CF_STORAGE_EXCHANGE_XCHG_MARKDOWN_H
#define CF_STORAGE_EXCHANGE_XCHG_MARKDOWN_H

#include "storage/exchange/xchg.h"

/* A line of text that begins like a comment or a front matter of ours, behind
 * any number of backslashes: the writer puts one more before it, the reader
 * takes one away. */
bool cf_md__needs_escape(cf_str line);

#endif
