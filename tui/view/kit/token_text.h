/*
 * token_text.h - the text of a token, as views display it.
 *
 * Threads:  the interface thread.
 */
#ifndef CF_TUI_VIEW_KIT_TOKEN_TEXT_H
#define CF_TUI_VIEW_KIT_TOKEN_TEXT_H

#include "tui/lab/lab.h"
#include "tui/lab/reply/lab_reply.h"

/* Appends the vocabulary's text of an id; nothing for CF_TOKEN_NONE, or where
 * no vocabulary is known. */
void cf_token_piece(const cf_lab *lab, cf_token id, cf_buf *out);

/* Appends the text of token `i` of a reply: the vocabulary's, or the raw bytes
 * up to the next token. */
void cf_token_text(const cf_lab *lab, const cf_reply *reply, size_t i, cf_buf *out);

#endif
