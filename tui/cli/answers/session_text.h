/*
 * session_text.h - an agent's session as text and as JSON: its requests, what
 * they add up to, and the difference of two of them.
 */
#ifndef CF_TUI_CLI_ANSWERS_SESSION_TEXT_H
#define CF_TUI_CLI_ANSWERS_SESSION_TEXT_H

#include "core/api/tokenizer.h"
#include "storage/trail.h"

/* Appends a table of the requests, sums, findings and what was left out. */
void cf_session_text(cf_buf *out, const cf_trail *t, const cf_trail_steps *steps,
                     const cf_trail_findings *found);

/* Appends what entered, left and changed; `tokenizer` (NULL: bytes only)
 * counts tokens.  CF_ENOMEM. */
CF_MUST_USE cf_status cf_session_diff_text(cf_buf *out, const cf_trail_diff *d,
                                           const cf_tokenizer *tokenizer, cf_error *err);
CF_MUST_USE cf_status cf_session_diff_json(cf_buf *out, const cf_trail_diff *d,
                                           const cf_tokenizer *tokenizer, cf_error *err);

#endif
