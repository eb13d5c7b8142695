/*
 * tokenizer_new.h - making a tokenizer from a file's metadata: the part of
 * core/api/tokenizer.h that only the engine needs.
 */
#ifndef CF_CORE_TOKEN_TOKENIZER_NEW_H
#define CF_CORE_TOKEN_TOKENIZER_NEW_H

#include "core/api/tokenizer.h"
#include "core/model/gguf.h"

/* Builds the tokenizer that `g` describes; it borrows strings from g, which
 * must outlive it.  CF_EFORMAT for missing or inconsistent keys,
 * CF_EUNSUPPORTED for a tokenizer model or pre-tokenizer confab does not
 * know, CF_ENOMEM. */
CF_MUST_USE cf_status cf_tokenizer_new(cf_tokenizer **out, const cf_gguf *g,
                                       cf_error *err);
void cf_tokenizer_free(cf_tokenizer *tok);

#endif
