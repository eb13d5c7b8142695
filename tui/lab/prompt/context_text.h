/*
 * context_text.h - a render context as text, for the reader that keeps numbers exact
 * (templates/template.h, cf_context_read).
 */
#ifndef CF_TUI_LAB_PROMPT_CONTEXT_TEXT_H
#define CF_TUI_LAB_PROMPT_CONTEXT_TEXT_H

#include "core/api/tokenizer.h"
#include "core/base/buf.h"
#include "core/json/json.h"

/*
 * Finds the member `key` of the object in `text`: *value is its value in
 * `text`, the last one where the key comes twice, {NULL, 0} where it
 * does not.  Appends to `rest` the text with null in the place of the value.
 *
 * CF_EFORMAT with line and column for text that is not a JSON object, CF_ELIMIT
 * (depth), CF_ENOMEM.
 */
CF_MUST_USE cf_status cf_context_text_cut(cf_str text, const char *key, cf_str *value, cf_buf *rest,
                                          cf_error *err);

/* Appends `text`, a JSON object, with the variables of `tokens` (an object, may
 * be NULL) and the bos_token and eos_token of a vocabulary, each where it has no
 * such key yet.  Without both: the text as it is, not looked at.  Errors as
 * above. */
CF_MUST_USE cf_status cf_context_text_special(cf_buf *out, cf_str text, const json_t *tokens,
                                              const cf_tokenizer *tok, cf_error *err);

/* Whether the JSON object `text` has a member `key` that is not null. */
bool cf_context_text_has(cf_str text, const char *key);

#endif
