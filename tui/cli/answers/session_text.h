/*
 * session_text.h - an agent's session as text and as JSON: its requests, what
 * they add up to, and the difference of two of them.
 */
#ifndef CF_TUI_CLI_ANSWERS_SESSION_TEXT_H
#define CF_TUI_CLI_ANSWERS_SESSION_TEXT_H

#include "tui/lab/talk/session_lines.h"

/* Appends a table of the requests, sums, findings and what was left out. */
void cf_session_text(cf_buf *out, const cf_trail *t, const cf_trail_steps *steps,
                     const cf_trail_findings *found);

/* Appends what entered, left and changed. */
void cf_session_diff_text(cf_buf *out, const cf_session_change *c);
void cf_session_diff_json(cf_buf *out, const cf_session_change *c);

#endif
