/*
 * exchange_line.h - one line about an exchange: JSON, or columns to read.
 */
#ifndef CF_TUI_CLI_SERVE_EXCHANGE_LINE_H
#define CF_TUI_CLI_SERVE_EXCHANGE_LINE_H

#include "storage/traffic.h"

/* Appends the line; text of other programs is escaped. */
void cf_exchange_line_json(cf_buf *out, const cf_exchange *x);
void cf_exchange_line_text(cf_buf *out, const cf_exchange *x);

#endif
