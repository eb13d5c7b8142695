/*
 * json_text.h - pieces of JSON answers that are written by hand.
 */
#ifndef CF_TUI_CLI_ANSWERS_JSON_TEXT_H
#define CF_TUI_CLI_ANSWERS_JSON_TEXT_H

#include "core/api/tokenizer.h"
#include "core/json/json.h"

/* A float with the fewest digits that read back to it; null when it is not
 * finite. */
void cf_json_text_float(cf_buf *b, float v);

/* [1,2,3] */
void cf_json_text_ids(cf_buf *b, const cf_token *ids, size_t n);

/* "NAME":"text"; where the bytes are not UTF-8 also "NAME_hex":"...", and
 * the text then has U+FFFD in their place. */
void cf_json_text_bytes(cf_buf *b, const char *name, cf_str bytes);

/* Reads "1,2,3" or "[1,2,3]" (blanks allowed) into *out, [*n], freed with
 * cf_free. CF_EINVAL, CF_ENOMEM. */
CF_MUST_USE cf_status cf_json_text_read_ids(cf_token **out, size_t *n, const char *text,
                                            cf_error *err);

#endif
