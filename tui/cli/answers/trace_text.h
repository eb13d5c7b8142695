/*
 * trace_text.h - one draw of the sampler as a line of JSON.
 */
#ifndef CF_TUI_CLI_ANSWERS_TRACE_TEXT_H
#define CF_TUI_CLI_ANSWERS_TRACE_TEXT_H

#include "core/api/sampling.h"

/* Appends an object and a newline; `pos` is the token's place in the
 * timeline. */
void cf_trace_text_json(cf_buf *out, const cf_draw *d, const cf_tokenizer *tok, size_t pos);

#endif
